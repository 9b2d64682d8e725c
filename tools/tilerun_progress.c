/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilerun_progress.c: what a launch and a tuning tell of themselves -> one line with a bar (see
 * tilerun_progress.h). */
#include "tools/tilerun_progress.h"

#include "tools/tilerun.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BAR_LEAST = 5, BAR_MOST = 20, LINE = 200, USUAL_COLUMNS = 80 };

/* Seconds: before the first line, and from one to the next. */
static const double first_after = 1.0, again_after = 0.1;

void progress_open(Progress *p) {
    const char *term = getenv("TERM");
    p->terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

void progress_start(Progress *p, const char *doing) {
    *p = (Progress){.terminal = p->terminal, .doing = doing, .started = run_seconds()};
    p->launched = p->started;
}

void progress_clear(Progress *p) {
    if (p->drawn > 0) fputs("\r\033[K", stderr);
    p->drawn = 0;
}

void progress_stop(Progress *p) {
    progress_clear(p);
    p->doing = NULL;
}

/* ---- what is left, in seconds; -1: nobody can tell ---- */

static double launch_left(const Progress *p, double now) {
    if (!p->ended) return -1;
    return (now - p->launched) / (double)p->ended * (double)(p->programs - p->ended);
}

/* Tuning tells what is left when a step is done: within one, that less the time since. The first
 * step has nothing to go by but its launch, which stands for all. */
static double tuning_left(const Progress *p, double now) {
    double launch = launch_left(p, now), left = p->tune.left - (now - p->told);
    if (p->tune.left >= 0) return left > launch ? left : launch > 0 ? launch : 0;
    if (launch < 0) return -1;
    double whole = now - p->launched + launch;
    return launch + whole * (p->tune.launches - 1);
}

/* ---- the line ---- */

typedef struct Line {
    char text[LINE];
    size_t n, most; /* most: columns */
} Line;

/* What does not fit as a whole is left out. */
__attribute__((format(printf, 2, 3))) static void put(Line *l, const char *fmt, ...) {
    size_t room = l->most + 1 - l->n;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(l->text + l->n, room, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < room) l->n += (size_t)n;
    l->text[l->n] = '\0';
}

static void put_time(Line *l, const char *before, double seconds, const char *after) {
    long s = (long)(seconds + 0.5);
    if (s >= 3600)
        put(l, "%s%ld:%02ld:%02ld%s", before, s / 3600, s / 60 % 60, s % 60, after);
    else
        put(l, "%s%ld:%02ld%s", before, s / 60, s % 60, after);
}

/* The columns that a line may fill without going on in the next, which could not be erased. */
static size_t columns(void) {
    struct winsize w;
    size_t n = USUAL_COLUMNS;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col) n = w.ws_col;
    return n > LINE ? LINE - 1 : n - 1;
}

/* What stands behind the bar. */
static void put_facts(Line *l, const Progress *p, double part, double spent, double left) {
    put(l, " %3d %%", (int)(part * 100));
    if (left >= 0)
        put_time(l, ", about ", left, " left");
    else
        put_time(l, ", ", spent, " so far");
    if (p->tunes) put(l, ", %d of %d steps", p->tune.done, p->tune.total);
    if (p->programs)
        put(l, ", %llu of %llu program%s", (unsigned long long)p->ended,
            (unsigned long long)p->programs, p->programs == 1 ? "" : "s");
    if (p->tunes && p->tune.best_ms > 0) {
        char best[DURATION_TEXT];
        put(l, ", best %s", duration_text(p->tune.best_ms, best));
    }
}

static void draw(Progress *p) {
    double now = run_seconds(), spent = now - p->started;
    if (!p->terminal || !p->doing || spent < first_after || now - p->drawn < again_after) return;
    double left = p->tunes ? tuning_left(p, now) : launch_left(p, now);
    double part = left >= 0 ? spent / (spent + left) : 0;
    if (!p->tunes && p->programs) part = (double)p->ended / (double)p->programs;
    size_t room = columns(), others = strlen(p->doing) + strlen(": []") + BAR_LEAST;
    Line l = {.most = room > others ? room - others : 0};
    put_facts(&l, p, part, spent, left);
    char bar[BAR_MOST + 1];
    size_t width = BAR_LEAST + l.most - l.n;
    if (width > BAR_MOST) width = BAR_MOST;
    for (size_t i = 0; i < width; i++) bar[i] = (double)(i + 1) <= part * (double)width ? '#' : '.';
    bar[width] = '\0';
    fprintf(stderr, "\r%s: [%s]%s\033[K", p->doing, bar, l.text);
    p->drawn = now;
}

void progress_launch(void *user, uint64_t ended, uint64_t programs) {
    Progress *p = user;
    p->ended = ended;
    p->programs = programs;
    draw(p);
    if (ended < programs) return;
    p->ended = p->programs = 0;
    p->launched = run_seconds(); /* another may follow at once */
}

void progress_tune(Progress *p, const tile_tune_progress *tune) {
    p->tunes = true;
    p->tune = *tune;
    p->told = p->launched = run_seconds();
    p->ended = p->programs = 0;
    if (tune->done < tune->total)
        draw(p);
    else
        progress_clear(p);
}
