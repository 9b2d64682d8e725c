/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_tuning_faults.c: tuning files while the n-th allocation fails, jansson's too, and while the
 * n-th file operation fails, for every n: a status and a sentence, a whole file with every record
 * that was acknowledged, nothing left behind. Leaks are AddressSanitizer's to find, in the asan
 * build. */
#include "tests/runtime/faults.h"
#include "tests/scratch.h"
#include "tile.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[SCRATCH_SIZE], path[SCRATCH_SIZE + 16];
static int passed, failed;

typedef struct Life {
    tile_status status;
    const char *step;
    char text[300];
    int kept; /* records that tile_tuning_add said are in the file */
} Life;

static const tile_tuned records[] = {
    {"k", "GPU", "sm_90a", "*i32,i32", "n=64", "source", "B=64", NULL, 2, 1, 3, 9},
    {"k", "GPU", "sm_90a", "*i32,i32", "n=64", "source", "B=32", NULL, 1, 1, 1, 9},
    {"k", "GPU", "sm_90a", "*i32,i32", "n=512", "source", "B=32", "it does not fit", 0, 0, 0, 0},
    {"other", "GPU", "sm_80", "*fp16", "", "source", "B=16", NULL, 3, 2, 4, 5},
};
enum { RECORDS = sizeof records / sizeof *records };

static bool step(Life *l, const char *name, tile_status st, const tile_tuning *t) {
    if (!st) return true;
    l->status = st;
    l->step = name;
    snprintf(l->text, sizeof l->text, "%s", t ? tile_tuning_error(t) : "");
    return false;
}

static void use(Life *l, tile_tuning *t) {
    tile_tuned found;
    for (int i = 0; i < RECORDS; i++) {
        if (!step(l, "adding", tile_tuning_add(t, &records[i]), t)) return;
        if (l->kept < RECORDS) l->kept++;
    }
    tile_tuned like = {.kernel = "k", .key = "n=60"};
    if (!step(l, "finding", tile_tuning_find(t, &like, &found), t)) return;
    if (strcmp(found.config, "B=32") != 0) l->step = "the wrong config";
}

static Life live(void) {
    Life l = {.status = TILE_OK, .step = ""};
    for (int again = 0; again < 2 && !l.status; again++) {
        tile_tuning *t;
        l.kept = again ? RECORDS : 0;
        tile_status st = tile_tuning_open(path, &t);
        if (step(&l, "opening", st, t)) use(&l, t);
        tile_tuning_close(t);
    }
    return l;
}

/* Files in the folder but the tuning file. */
static int strangers(void) {
    DIR *d = opendir(folder);
    int n = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.' ? strcmp(e->d_name, "tuning.json") != 0
                                 : strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    if (d) closedir(d);
    return n;
}

/* What is on disk, read without failures: how many records, -1: it is no tuning file. */
static int records_there(void) {
    tile_tuning *t;
    int n = tile_tuning_open(path, &t) ? -1 : tile_tuning_count(t);
    tile_tuning_close(t);
    return n;
}

static void check(bool good, const char *what, long n, const Life *l, int there) {
    passed += good;
    failed += !good;
    if (!good)
        printf("tuning faults: %s %ld: %s at %s: %s; %d kept, %d there\n", what, n,
               tile_status_text(l->status), l->step, l->text, l->kept, there);
}

static void every(FaultKind kind, const char *what, tile_status expected, bool on) {
    unlink(path);
    fault_arm(kind, 0, false);
    Life l = live();
    long count = fault_disarm();
    check(!l.status && !l.step[0] && count > 20, what, 0, &l, records_there());
    int seen = 0;
    for (long n = 1; n <= count; n++) {
        unlink(path);
        fault_arm(kind, n, on);
        l = live();
        fault_disarm();
        int there = records_there();
        bool good = (l.status == TILE_OK || l.status == expected) && there >= l.kept &&
                    there <= RECORDS && !strangers();
        /* There is nobody to say it where there is no memory for a tuning. */
        if (l.status && strcmp(l.step, "opening") != 0) good = good && l.text[0];
        seen += l.status != TILE_OK;
        check(good, what, n, &l, there);
    }
    check(seen > count / 3, "failures that were seen", seen, &l, (int)count);
}

int main(void) {
    fault_init();
    if (!mkdtemp(scratch(folder, "tile-tuning-faults"))) return 2;
    snprintf(path, sizeof path, "%s/tuning.json", folder);
    every(FAULT_MEMORY, "allocation", TILE_NO_MEMORY, false);
    every(FAULT_MEMORY, "from allocation", TILE_NO_MEMORY, true);
    every(FAULT_FILE, "file operation", TILE_IO, false);
    every(FAULT_FILE, "from file operation", TILE_IO, true);
    unlink(path);
    rmdir(folder);
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
