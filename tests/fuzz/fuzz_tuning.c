/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* fuzz_tuning.c: mutated tuning files.
 *
 * A file is refused with a sentence and stays as it is, or has records, each with texts and times;
 * one more is added, and found again when the file is read once more. */
#include "tests/fuzz/fuzz.h"
#include "tests/scratch.h"
#include "tile.h"

#include <string.h>

enum { OPEN, OPENED };

enum { INPUT_MAX = 1 << 13 };

static const char seed[] =
    "{\"tuning\": 1, \"entries\": [\n"
    " {\"kernel\": \"matmul\", \"device\": \"NVIDIA H200\", \"target\": \"sm_90a\",\n"
    "  \"types\": \"*fp16,*fp16,*fp16,i32,i32,i32\", \"key\": \"M=4096,N=4096,K=4096\",\n"
    "  \"source\": \"5f1c\", \"configs\": [\n"
    "  {\"config\": \"BM=128,BN=128\", \"ms\": 0.21, \"low\": 0.2, \"high\": 0.22, \"runs\": 90},\n"
    "  {\"config\": \"BM=256,BN=256\", \"failed\": \"more shared memory than the GPU has\"}]},\n"
    " {\"kernel\": \"matmul\", \"device\": \"NVIDIA H200\", \"target\": \"sm_90a\",\n"
    "  \"types\": \"*fp16,*fp16,*fp16,i32,i32,i32\", \"key\": \"M=64,N=4096,K=4096\",\n"
    "  \"source\": \"5f1c\", \"configs\": [\n"
    "  {\"config\": \"BM=16,BN=128\", \"ms\": 1, \"low\": 1, \"high\": 1e3, \"runs\": 3}]},\n"
    " {\"kernel\": \"add\", \"device\": \"CPU (interpreter)\", \"target\": \"cpu\", \"types\": "
    "\"\",\n"
    "  \"key\": \"\", \"source\": \"\", \"configs\": []}]}\n";

static char folder[SCRATCH_SIZE], path[SCRATCH_SIZE + 16];

static bool begin(FuzzCorpus *c) {
    if (!mkdtemp(scratch(folder, "tile-fuzz"))) return false;
    snprintf(path, sizeof path, "%s/tuning.json", folder);
    return fuzz_add(c, seed, sizeof seed - 1);
}

static void end(void) {
    scratch_empty(folder);
    rmdir(folder);
}

static void check_record(const tile_tuned *r) {
    const char *const texts[] = {r->kernel, r->device, r->target, r->types,
                                 r->key,    r->source, r->config};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (!texts[i]) fuzz_wrong("a record without a text", NULL);
        for (const char *at = texts[i]; *at; at++)
            if ((unsigned char)*at < 32 || *at == 127) fuzz_wrong("a control character", texts[i]);
    }
    if (!r->failure && !(r->median_ms >= 0 && r->low_ms >= 0 && r->high_ms >= 0 && r->runs > 0))
        fuzz_wrong("times that are none", r->config);
}

static int compare_file(const uint8_t *data, size_t n) {
    char now[INPUT_MAX + 1];
    size_t len = 0;
    return fuzz_read(path, now, sizeof now, &len) && len == n && memcmp(now, data, n) == 0;
}

/* The file has the record now. */
static void check_added(const tile_tuned *added, int count) {
    tile_tuning *t;
    tile_tuned found;
    if (tile_tuning_open(path, &t) != TILE_OK)
        fuzz_wrong("written, not read", tile_tuning_error(t));
    if (tile_tuning_count(t) != count) fuzz_wrong("records were lost", NULL);
    if (tile_tuning_find(t, added, &found) != TILE_OK) fuzz_wrong("a record is not found", NULL);
    if (!(found.median_ms <= added->median_ms)) fuzz_wrong("not the fastest", found.config);
    tile_tuning_close(t);
}

static int one(const uint8_t *data, size_t n) {
    FuzzRandom r = fuzz_choices(data, n);
    tile_tuning *t;
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(data, 1, n, out) != n || fclose(out)) fuzz_wrong("cannot write", path);
    if (tile_tuning_open(path, &t) != TILE_OK) {
        if (!*tile_tuning_error(t)) fuzz_wrong("refused without a word", NULL);
        if (!compare_file(data, n)) fuzz_wrong("a refused file has changed", NULL);
        tile_tuning_close(t);
        return OPEN;
    }
    for (int i = 0; i < tile_tuning_count(t); i++) {
        tile_tuned record, found;
        if (tile_tuning_get(t, i, &record) != TILE_OK) fuzz_wrong("a record is not there", NULL);
        check_record(&record);
        const tile_tuned like = {.kernel = record.kernel,
                                 .device = fuzz_below(&r, 2) ? record.device : NULL,
                                 .target = fuzz_below(&r, 2) ? record.target : NULL,
                                 .key = fuzz_below(&r, 2) ? record.key : "M=100,N=4000"};
        tile_status st = tile_tuning_find(t, &like, &found);
        if (st != TILE_OK && st != TILE_NOT_FOUND) fuzz_wrong("find", tile_status_text(st));
        if (st == TILE_OK) check_record(&found);
    }
    const tile_tuned added = {.kernel = "matmul",
                              .device = "NVIDIA H200",
                              .target = "sm_90a",
                              .types = "*fp16,*fp16,*fp16,i32,i32,i32",
                              .key = "M=4096,N=4096,K=4096",
                              .source = fuzz_below(&r, 2) ? "5f1c" : "another",
                              .config = fuzz_below(&r, 2) ? "BM=128,BN=128" : "BM=32",
                              .median_ms = 0.1,
                              .low_ms = 0.09,
                              .high_ms = 0.2,
                              .runs = 7};
    if (tile_tuning_add(t, &added) != TILE_OK) fuzz_wrong("not added", tile_tuning_error(t));
    check_added(&added, tile_tuning_count(t));
    tile_tuning_close(t);
    return OPENED;
}

static const char *const pieces[] = {"{",
                                     "}",
                                     "[",
                                     "]",
                                     "\"",
                                     ",",
                                     ":",
                                     "null",
                                     "true",
                                     "-1",
                                     "1e308",
                                     "1e-320",
                                     "0.0",
                                     "\\u0000",
                                     "\\u001b",
                                     "\\ud800",
                                     "\"ms\"",
                                     "\"low\"",
                                     "\"runs\"",
                                     "\"failed\"",
                                     "\"config\"",
                                     "\"entries\"",
                                     "\"tuning\"",
                                     "\"key\"",
                                     "\"M=1\"",
                                     "M=",
                                     "=",
                                     "2",
                                     "\"configs\": [",
                                     "\xff",
                                     "9999999999",
                                     "{}",
                                     "\"other\": {\"a\": [1]},",
                                     NULL};
static const char *const stages[] = {"opened", "added to", NULL};

const FuzzTarget fuzz_target = {.name = "tuning",
                                .suffix = ".json",
                                .most = INPUT_MAX,
                                .word = "",
                                .pieces = pieces,
                                .stages = stages,
                                .begin = begin,
                                .end = end,
                                .one = one};
