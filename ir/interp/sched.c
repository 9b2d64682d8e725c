/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* sched.c: which program goes on: in the grid's order, each to its end, until one waits.
 *
 * A program waits when it has gone round a `while` and everything is as it was: it changed no
 * memory, and what the loop carries is the same, so that it would go round for ever unless another
 * program changes memory. Then it is set aside with its tiles, and the next of the grid runs.
 * Those set aside are tried again, in order, whenever memory has changed since. A loop that goes
 * round for long and reads (a spin that counts its turns) gives way too, but may still end by
 * itself.
 * When all of the grid has been started, all that is left waits, and memory stays the same, no
 * program can go on: then time passes, to the first end of a poll's time; where there is none, it
 * is a deadlock.
 * One that looks at memory that other launches write, too, may go on at any time: the thread sleeps
 * a little, and all look again. That is a deadlock when nothing has come of it for long. */
#include "base/patience.h"
#include "ir/interp/machine.h"

#include <string.h>

enum {
    /* Turns of a loop before others may go first: of one that only reads; of one that reads by
     * atomics or volatile loads; of one that does so and writes, too. */
    PATIENCE = 1 << 16,
    PATIENCE_IN_POLLING = 256,
    PATIENCE_IN_WRITING = 1 << 14,
    IDLE_ROUNDS = 1024, /* of all programs, going round without any change of memory */
    STEPS_TOLD = 256    /* between two reports of progress within a program */
};

bool step_while_next(Run *r, Program *p, const Step *st) {
    Counter *c = &p->counter[st->loop];
    bool wrote = c->writes != p->writes, read = c->reads != p->reads, same = !wrote;
    bool polled = c->polls != p->polls;
    p->foreign = c->foreign_reads != p->foreign_reads;
    c->writes = p->writes, c->reads = p->reads, c->polls = p->polls;
    c->foreign_reads = p->foreign_reads;
    for (int i = 0; same && i < st->nsrc; i++) {
        Type t = ir_operand(st->op, i)->type;
        size_t bytes = (size_t)type_numel(t) * stored_bytes(t);
        same = memcmp(p->tile[st->src[i]].data, p->tile[st->dst[i]].data, bytes) == 0;
    }
    c->len = wrote || !read ? 0 : c->len + 1;
    if (same && !read) return report_endless(r, p, st);
    if (same)
        p->state = PROGRAM_WAITS;
    else if (c->len >= (polled ? PATIENCE_IN_POLLING : PATIENCE))
        p->state = PROGRAM_YIELDS, c->len = 0;
    else if (polled && ++c->at % PATIENCE_IN_WRITING == 0)
        p->state = PROGRAM_YIELDS;
    p->seen_changes = r->changes;
    return true;
}

static void tell_progress(const Run *r) {
    const InterpLaunch *l = r->launch;
    if (l->progress)
        l->progress(l->progress_user, r->ended, (uint64_t)l->grid[0] * l->grid[1] * l->grid[2]);
}

/* Goes on from the program's position until it is done or gives way. */
static bool resume(Run *r, Program *p) {
    uint64_t most = r->launch->max_steps ? r->launch->max_steps : UINT64_MAX;
    p->deadline = UINT64_MAX;
    for (p->state = PROGRAM_RUNS; p->state == PROGRAM_RUNS;) {
        const Step *st = &r->steps.at[p->at++];
        if (p->steps++ >= most) {
            diag(&r->s->diags, C_STEPS, st->op->span, "%s ran %llu steps: an endless loop?",
                 report_program(r, p), (unsigned long long)most);
            return false;
        }
        if (!st->run(r, p, st)) return false;
        if (p->state == PROGRAM_RUNS)
            p->idle = 0;
        else if (p->state != PROGRAM_DONE && !strand_switch(r, p))
            return false;
        if (p->steps % STEPS_TOLD == 0) tell_progress(r);
    }
    if (p->state == PROGRAM_DONE) {
        r->ended++;
        tell_progress(r);
    }
    return true;
}

typedef struct Schedule {
    Run *r;
    uint32_t next[3]; /* of the grid */
    bool all_started;
    VEC(Program *) waiting; /* in the order they were started */
    VEC(Program *) spare;
    Patience patience; /* with other launches */
} Schedule;

/* A program, or all of a cluster, which follow each other along x. */
static bool start_next(Schedule *s) {
    Run *r = s->r;
    const uint32_t *grid = r->launch->grid;
    Program *started[CLUSTER_PROGRAMS];
    for (int n = 0; n < r->cluster; n++) {
        Program *p = s->spare.n ? s->spare.at[--s->spare.n] : program_new(r);
        started[n] = p;
        program_start(r, p, s->next[0], s->next[1], s->next[2]);
        for (int i = 0; i < 3; i++) {
            if (++s->next[i] < grid[i]) break;
            s->next[i] = 0;
            s->all_started = i == 2;
        }
    }
    cluster_join(r, started);
    for (int n = 0; n < r->cluster; n++) {
        Program *p = started[n];
        if (!resume(r, p)) return false;
        if (p->state == PROGRAM_DONE)
            vec_push(&r->s->arena, &s->spare, p);
        else
            vec_push(&r->s->arena, &s->waiting, p);
    }
    return true;
}

/* Each program that may have something to do goes on once. */
static bool round_of_waiting(Schedule *s, bool *only_waits) {
    Run *r = s->r;
    int kept = 0;
    *only_waits = true;
    for (int i = 0; i < s->waiting.n; i++) {
        Program *p = s->waiting.at[i];
        if (p->state == PROGRAM_YIELDS || p->seen_changes != r->changes || p->deadline <= r->now) {
            if (!resume(r, p)) return false;
        }
        if (p->state == PROGRAM_DONE)
            vec_push(&r->s->arena, &s->spare, p);
        else
            s->waiting.at[kept++] = p;
        *only_waits &= p->state != PROGRAM_YIELDS;
    }
    s->waiting.n = kept;
    return true;
}

/* Nothing can happen before the first deadline of all that wait; false: there is none. */
static bool pass_time(Schedule *s) {
    uint64_t next = UINT64_MAX;
    for (int i = 0; i < s->waiting.n; i++)
        if (s->waiting.at[i]->deadline < next) next = s->waiting.at[i]->deadline;
    if (next != UINT64_MAX) s->r->now = next;
    return next != UINT64_MAX;
}

/* Gives other launches time to write what some wait for. False: none does, or it took too long. */
static bool wait_for_others(Schedule *s) {
    bool foreign = false;
    uint64_t slept;
    for (int i = 0; i < s->waiting.n; i++) foreign |= s->waiting.at[i]->foreign;
    if (!foreign || !patience_nap(&s->patience, s->r->launch->foreign_ms, &slept)) return false;
    s->r->now += slept;
    s->r->changes++; /* for all that it is known */
    tell_progress(s->r);
    return true;
}

static bool room_for_more(const Schedule *s) {
    uint64_t bytes = ((uint64_t)s->waiting.n + 1) * s->r->program_bytes;
    return s->waiting.n < INTERP_MAX_WAITING &&
           (!s->waiting.n || bytes <= (uint64_t)INTERP_WAITING_MB << 20);
}

/* What those wait for whose roles all do; else all wait for memory to change. */
static bool report_stuck(Schedule *s, bool more) {
    Run *r = s->r;
    int before = r->s->diags.errors;
    for (int i = 0; r->cluster > 1 && i < s->waiting.n && i < r->cluster; i++)
        strands_report(r, s->waiting.at[i], r->s->diags.errors == before);
    return r->s->diags.errors == before && report_deadlock(r, s->waiting.at, s->waiting.n, more);
}

bool interp_schedule(Run *r) {
    const uint32_t *grid = r->launch->grid;
    Schedule s = {.r = r, .all_started = !grid[0] || !grid[1] || !grid[2]};
    for (int idle = 0; !s.all_started || s.waiting.n;) {
        uint64_t before = r->changes;
        int waited = s.waiting.n;
        bool only_waits = true, more = !s.all_started;
        if (waited && !round_of_waiting(&s, &only_waits)) return false;
        bool stuck = r->changes == before && s.waiting.n == waited && waited;
        idle = stuck ? idle + 1 : 0;
        if (!stuck) s.patience.since = 0;
        if (more && room_for_more(&s)) {
            idle = 0;
            if (!start_next(&s)) return false;
        } else if (stuck && (only_waits || idle > IDLE_ROUNDS)) {
            idle = 0;
            if (wait_for_others(&s) || pass_time(&s)) continue;
            return report_stuck(&s, more);
        }
    }
    return true;
}
