/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilerun_tune.c: --tune and --tuning: the config that a run is compiled with, measured now or read
 * from a tuning file. */
#include "tools/tilerun.h"

#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGE = 600 };

static void print_record(const Messages *m, const tile_tuned *r) {
    char median[DURATION_TEXT], low[DURATION_TEXT], high[DURATION_TEXT];
    if (m->json && r->failure)
        message(m, N_CONFIG, "%s: %s", r->config, r->failure);
    else if (m->json)
        message(m, N_CONFIG, "%s: %s", r->config, duration_text(r->median_ms, median));
    else if (r->failure)
        fprintf(stderr, "%s: %s\n", r->config, r->failure);
    else
        fprintf(stderr, "%s: %s (%s to %s, %d run%s)\n", r->config,
                duration_text(r->median_ms, median), duration_text(r->low_ms, low),
                duration_text(r->high_ms, high), r->runs, r->runs == 1 ? "" : "s");
}

static void on_progress(void *user, const tile_tune_progress *p) {
    Run *r = user;
    if (p->record) {
        progress_clear(&r->progress);
        print_record(&r->o.messages, p->record);
    }
    progress_tune(&r->progress, p);
}

static tile_status on_bind(void *user, tile_kernel *kernel, tile_arg *args, size_t *bytes) {
    Run *r = user;
    tile_kernel_info info;
    tile_status st = tile_kernel_describe(kernel, &info);
    if (st) return st;
    if (run_bind(r, kernel, &info, args) >= 0) return TILE_INVALID; /* it has said why */
    for (int i = 0; i < info.num_params; i++)
        for (int k = 0; args[i].type == TILE_POINTER && k < r->o.nvalues; k++)
            if (value_is_buffer(&r->o.value[k]) && r->o.value[k].ptr == args[i].value.p)
                bytes[i] = r->o.value[k].array.bytes;
    return TILE_OK;
}

/* ---- what is said at the end ---- */

static json_t *json_of(const tile_tuned *t) {
    if (t->failure) return json_pack("{s:s, s:s}", "config", t->config, "failed", t->failure);
    return json_pack("{s:s, s:f, s:f, s:f, s:i}", "config", t->config, "ms", t->median_ms, "low",
                     t->low_ms, "high", t->high_ms, "runs", t->runs);
}

static int report_tuned(Run *r, const tile_tuning *tuning, const tile_tuned *best, double seconds) {
    json_t *list = r->report ? json_array() : NULL;
    char median[DURATION_TEXT], low[DURATION_TEXT], high[DURATION_TEXT];
    int all = 0, bad = 0;
    tile_tuned t;
    for (int i = 0; tile_tuning_get(tuning, i, &t) == TILE_OK; i++) {
        if (strcmp(t.kernel, best->kernel) || strcmp(t.device, best->device) ||
            strcmp(t.target, best->target) || strcmp(t.types, best->types) ||
            strcmp(t.key, best->key))
            continue;
        all++;
        bad += t.failure != NULL;
        if (list && json_array_append_new(list, json_of(&t)))
            return complain(&r->o.messages, EXIT_RUN, "out of memory");
    }
    if (r->report) {
        json_t *o = json_pack("{s:s, s:s, s:f, s:o}", "key", best->key, "best", best->config,
                              "seconds", seconds, "configs", list);
        return json_object_set_new(r->report, "tune", o)
                   ? complain(&r->o.messages, EXIT_RUN, "out of memory")
                   : -1;
    }
    printf("%s: best of %d config%s", best->kernel, all, all == 1 ? "" : "s");
    if (bad) printf(" (%d failed)", bad);
    if (*best->key) printf(" for %s", best->key);
    printf(" in %.1f s: %s: median %s (%s to %s)\n", seconds, best->config,
           duration_text(best->median_ms, median), duration_text(best->low_ms, low),
           duration_text(best->high_ms, high));
    return -1;
}

/* ---- the two ways ---- */

static int keep_config(Run *r, const char *config) {
    free(r->tuned);
    r->tuned = strdup(config); /* the tuning's own text goes away with it */
    r->o.compile.config_text = r->tuned;
    return r->tuned ? -1 : complain(&r->o.messages, EXIT_RUN, "out of memory");
}

/* Can a record be kept there? Said before the first is measured. */
static bool can_keep(const char *path) {
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    if (access(path, W_OK) == 0) return true;
    if (errno != ENOENT) return false;
    if (!slash) return access(".", W_OK | X_OK) == 0;
    int n = snprintf(folder, sizeof folder, "%.*s", (int)(slash - path + 1), path);
    return (size_t)n >= sizeof folder || access(folder, W_OK | X_OK) == 0;
}

static int measure(Run *r, tile_tuning *tuning, const tile_compile_options *compile) {
    char why[MESSAGE] = "";
    double seconds = 0;
    tile_tuned best;
    if (r->o.tuning && !can_keep(r->o.tuning)) {
        message(&r->o.messages, R_IO, "cannot write '%s': %s", r->o.tuning, strerror(errno));
        return exit_code(TILE_IO);
    }
    tile_tune_options o = {
        .compile = compile,
        .space = r->o.space,
        .grid = r->o.grid,
        .bind = on_bind,
        .progress = on_progress,
        .user = r,
        .again = r->o.retune,
        .most = r->o.most,
        .message = why,
        .message_size = sizeof why,
    };
    progress_start(&r->progress, "tuning");
    seconds = run_seconds();
    tile_status st = tile_tune(r->ctx, &o, tuning, &best);
    seconds = run_seconds() - seconds;
    progress_stop(&r->progress);
    if (st == TILE_INVALID && !*why) return EXIT_USAGE; /* binding has said why */
    if (st) {
        message(&r->o.messages, st == TILE_NOT_FOUND ? E_TUNING : message_code(st), "tuning: %s",
                *why ? why : tile_status_text(st));
        return st == TILE_NOT_FOUND ? EXIT_RUN : exit_code(st);
    }
    int code = report_tuned(r, tuning, &best, seconds);
    return code < 0 ? keep_config(r, best.config) : code;
}

static int look_up(Run *r, const tile_tuning *tuning, const tile_compile_options *compile) {
    if (access(r->o.tuning, F_OK)) {
        message(&r->o.messages, R_IO, "cannot read '%s': %s", r->o.tuning, strerror(errno));
        return EXIT_FILES;
    }
    tile_tuned found;
    tile_compile_options o = *compile;
    if (r->on_cpu) o.target = "cpu";
    tile_status st = tile_tune_find(&o, tuning, tile_context_device_name(r->ctx), &found);
    if (st == TILE_NOT_FOUND) {
        message(&r->o.messages, E_TUNING,
                "%s has no config for this kernel, these types and this device: measure "
                "with --tune",
                r->o.tuning);
        return EXIT_RUN;
    }
    if (st == TILE_INVALID)
        return complain(&r->o.messages, EXIT_USAGE,
                        "--tuning is for one kernel: choose it with --kernel");
    /* What is wrong with the source is better told by the compilation that follows. */
    if (st) return -1;
    message(&r->o.messages, N_CONFIG, "config %s, tuned for %s", found.config,
            *found.key ? found.key : "all sizes");
    return keep_config(r, found.config);
}

static int forecast(Run *r, const tile_compile_options *compile) {
    char why[MESSAGE] = "", config[MESSAGE];
    tile_compile_options o = *compile;
    if (r->on_cpu) o.target = NULL; /* as good as any other: it is for finding mistakes */
    tile_status st = tile_tune_forecast(&o, r->o.grid, 0, config, sizeof config, why, sizeof why);
    if (st == TILE_COMPILE_ERROR) return -1; /* that is better told by the compilation */
    if (st) {
        message(&r->o.messages, E_TUNING, "--config=auto: %s", why);
        return st == TILE_NOT_FOUND ? EXIT_RUN : exit_code(st);
    }
    message(&r->o.messages, N_CONFIG, "config %s, by forecast", config);
    return keep_config(r, config);
}

int tune_config(Run *r, const tile_compile_options *compile) {
    tile_tuning *tuning;
    if (r->o.forecast) return forecast(r, compile);
    tile_status st = tile_tuning_open(r->o.tuning, &tuning);
    int code = -1;
    if (st) {
        message(&r->o.messages, message_code(st), "%s", tile_tuning_error(tuning));
        code = exit_code(st);
    } else if (r->o.tune) {
        code = measure(r, tuning, compile);
    } else {
        code = look_up(r, tuning, compile);
    }
    tile_tuning_close(tuning);
    return code;
}
