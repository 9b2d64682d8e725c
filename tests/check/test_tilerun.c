/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_tilerun.c: tilerun as a process: what each form of value puts into a buffer, .npy files in
 * and out, and the exit code and message of each mistake. All on the CPU device, from tile IR. */
#include "ir/ir.h"
#include "tests/scratch.h"
#include "tools/npy.c"
#include "tools/tilerun_duration.c"

/* After them: check.h has a macro named fail. */
#include "tests/run_suite.h"

#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

static const char copy_tir[] =
    "kernel @copy(%x: ptr<TYPE>, %y: ptr<TYPE>, %n: i32) num_warps=4 num_stages=3 "
    "grid=\"cdiv(n, B)\" constexpr B=\"8\" {\n"
    "  %pid: i32 = program_id axis=0\n"
    "  %b: i32 = const value=8\n"
    "  %base: i32 = mul %pid, %b\n"
    "  %r: i32[8] = arange start=0 end=8\n"
    "  %s: i32[8] = splat %base\n"
    "  %o: i32[8] = add %s, %r\n"
    "  %ns: i32[8] = splat %n\n"
    "  %m: i1[8] = cmp %o, %ns pred=lt\n"
    "  %xs: ptr<TYPE>[8] = splat %x\n"
    "  %xp: ptr<TYPE>[8] = addptr %xs, %o\n"
    "  %v: TYPE[8] = load %xp, %m\n"
    "  %ys: ptr<TYPE>[8] = splat %y\n"
    "  %yp: ptr<TYPE>[8] = addptr %ys, %o\n"
    "  store %yp, %v, %m\n"
    "  return\n"
    "}\n";

/* From a source: types and promises come from the values. */
static const char scale_tl[] = "import triton\n"
                               "import triton.language as tl\n"
                               "\n"
                               "# tile: grid = cdiv(n, BLOCK)\n"
                               "@triton.jit\n"
                               "def scale(x, y, n, by, stride, BLOCK: tl.constexpr = 8):\n"
                               "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n"
                               "    v = tl.load(x + i * stride, mask=i < n)\n"
                               "    tl.store(y + i, v * by, mask=i < n)\n";

/* One program of many steps. */
static const char slow_tl[] = "import triton\n"
                              "import triton.language as tl\n"
                              "\n"
                              "# tile: grid = 1\n"
                              "@triton.jit\n"
                              "def slow(p, n):\n"
                              "    a = 0\n"
                              "    for k in range(0, n):\n"
                              "        a += k % 3\n"
                              "    tl.store(p, a)\n";

/* Heuristics that read the arguments of the launch. */
static const char rule_tl[] =
    "import triton\n"
    "import triton.language as tl\n"
    "\n"
    "@triton.heuristics({'EVEN': lambda args: args['n'] % 16 == 0, 'ODD': lambda args: args['s'],\n"
    "                    'NONE': lambda args: args['w'] is None})\n"
    "@triton.jit\n"
    "def rule(x, n, s, w, EVEN: tl.constexpr, ODD: tl.constexpr, NONE: tl.constexpr):\n"
    "    tl.static_print('even', EVEN, 'odd', ODD, 'none', NONE)\n"
    "    tl.store(x, n)\n";

static char folder[SCRATCH_SIZE];
static char output[8192]; /* of the last command, both streams */

static void write_file(const char *name, const char *data, size_t len) {
    char path[200];
    FileError e;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ck_assert_msg(file_write(path, data, len, &e), "%s", e.text);
}

/* The kernel above for elements of this type, as copy.tir. */
static void write_kernel(const char *type) {
    char text[sizeof copy_tir + 200];
    size_t n = 0;
    for (const char *p = copy_tir; *p;) {
        if (strncmp(p, "TYPE", 4) == 0) {
            n += (size_t)sprintf(text + n, "%s", type);
            p += 4;
        } else {
            text[n++] = *p++;
        }
    }
    write_file("copy.tir", text, n);
}

/* Runs tilerun in the folder; words are separated by spaces. Returns the exit code. */
static int run(const char *line) {
    char words[1000], *argv[40];
    int argc = 0, out[2], status;
    argv[argc++] = (char[]){"tilerun"};
    snprintf(words, sizeof words, "%s", line);
    char *rest = words;
    for (char *w; (w = strtok_r(rest, " ", &rest)) && argc < 39;) argv[argc++] = w;
    argv[argc] = NULL;
    ck_assert_int_eq(pipe(out), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        dup2(out[1], 1);
        dup2(out[1], 2);
        close(out[0]);
        close(out[1]);
        if (chdir(folder) == 0) execv(TILE_BINARY_DIR "/bin/tilerun", argv);
        _exit(99);
    }
    close(out[1]);
    size_t n = 0;
    ssize_t got;
    while ((got = read(out[0], output + n, sizeof output - 1 - n)) > 0) n += (size_t)got;
    output[n] = '\0';
    close(out[0]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status), "tilerun %s: %s", line, output);
    return WEXITSTATUS(status);
}

static void in_folder(void) {
    ck_assert_ptr_nonnull(mkdtemp(scratch(folder, "tile-test")));
    write_kernel("f32");
    write_file("scale.tl", scale_tl, sizeof scale_tl - 1);
    write_file("rule.tl", rule_tl, sizeof rule_tl - 1);
}

static void remove_folder(void) {
    static const char *const names[] = {"copy.tir", "scale.tl", "rule.tl", "slow.tl",
                                        "y.npy",    "in.npy",   "big.npy", "x.ptx"};
    char path[200];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    ck_assert_int_eq(rmdir(folder), 0); /* nothing else was left behind */
}

/* ---- values ---- */

static char *file_text;
static double values[4096];

/* Copies a buffer through the kernel into y.npy and reads it: numbers in values[]. */
static NpyArray copied(const char *type, const char *value, int n) {
    char line[300], path[200];
    FileError e;
    size_t len;
    NpyArray a;
    Elem elem;
    ck_assert(elem_from_name(type, strlen(type), &elem));
    write_kernel(elem_info[elem].text);
    snprintf(line, sizeof line, "--device=cpu copy.tir x=%s y=empty:%s[n] n=%d --save y=y.npy",
             value, type, n);
    int code = run(line);
    ck_assert_msg(code == 0, "%s: %s", line, output);
    snprintf(path, sizeof path, "%s/y.npy", folder);
    free(file_text);
    file_text = NULL;
    ck_assert_msg(file_read(path, 1 << 20, &file_text, &len, &e), "%s", e.text);
    ck_assert_msg(npy_parse(file_text, len, &a, &e), "%s", e.text);
    ck_assert_int_eq(a.rank, 1);
    ck_assert_uint_eq(a.dim[0], (size_t)n);
    size_t size = (size_t)elem_info[elem].bytes;
    for (int i = 0; i < n; i++) {
        uint64_t bits = 0;
        memcpy(&bits, a.data + (size_t)i * size, size);
        bool is_float = elem_info[elem].class_ == ELEM_F;
        values[i] = is_float ? elem_to_double(elem, bits) : (double)elem_wrap(elem, (int64_t)bits);
    }
    return a;
}

START_TEST(fills) {
    copied("fp32", "zeros:fp32[20]", 20);
    for (int i = 0; i < 20; i++) ck_assert(values[i] == 0);
    copied("fp32", "full(-1.5):fp32[4,5]", 20);
    for (int i = 0; i < 20; i++) ck_assert(values[i] == -1.5);
    copied("i32", "arange:i32[20]", 20);
    for (int i = 0; i < 20; i++) ck_assert(values[i] == i);
    copied("i8", "arange(120):i8[20]", 20);
    for (int i = 0; i < 20; i++) ck_assert(values[i] == (double)(int8_t)(120 + i));
    copied("fp16", "arange(0.5):fp16[20]", 20);
    for (int i = 0; i < 20; i++) ck_assert(values[i] == i + 0.5);
    copied("i64", "full(-9223372036854775807):i64[3]", 3);
    ck_assert(values[2] == -9223372036854775807.0);
    copied("u8", "full(0xff):u8[n]", 9);
    ck_assert(values[8] == 255);
    copied("fp32", "full(inf):fp32[n*2]", 9);
    ck_assert(isinf(values[0]));
    NpyArray a = copied("bf16", "full(3):bf16[n]", 9);
    ck_assert_int_eq((int)a.elem, EL_U16); /* NumPy has no bf16 */
    ck_assert(values[4] == 3);
}
END_TEST

START_TEST(random_numbers) {
    enum { N = 4096 };
    double sum = 0, squares = 0, first;
    copied("fp32", "randn:fp32[4096]", N);
    for (int i = 0; i < N; i++) {
        sum += values[i];
        squares += values[i] * values[i];
    }
    ck_assert(fabs(sum / N) < 0.08 && fabs(squares / N - 1) < 0.1);
    first = values[0];
    copied("fp32", "randn:fp32[4096]", N); /* the same again */
    ck_assert(values[0] == first);
    copied("fp32", "randn:fp32[4096] --seed=1", N);
    ck_assert(values[0] != first);
    copied("fp32", "rand:fp32[4096]", N);
    sum = 0;
    for (int i = 0; i < N; i++) {
        ck_assert(values[i] >= 0 && values[i] <= 1);
        sum += values[i];
    }
    ck_assert(fabs(sum / N - 0.5) < 0.03);
    copied("fp64", "rand(-2,6):fp64[4096]", N);
    sum = 0;
    for (int i = 0; i < N; i++) {
        ck_assert(values[i] >= -2 && values[i] < 6);
        sum += values[i];
    }
    ck_assert(fabs(sum / N - 2) < 0.2);
    int seen[10] = {0};
    copied("fp16", "randint(-4,6):fp16[4096]", N);
    for (int i = 0; i < N; i++) {
        ck_assert(values[i] >= -4 && values[i] < 6 && values[i] == floor(values[i]));
        seen[(int)values[i] + 4]++;
    }
    for (int i = 0; i < 10; i++) ck_assert_int_gt(seen[i], 250);
    int bytes[256] = {0}, kinds = 0;
    copied("u8", "rand:u8[4096]", N);
    for (int i = 0; i < N; i++) kinds += bytes[(int)values[i]]++ == 0;
    ck_assert_int_gt(kinds, 250);
}
END_TEST

START_TEST(files) {
    static const uint16_t numbers[] = {0x3f80, 0xbf80, 0x4000}; /* bf16 1, -1, 2 */
    NpyArray a = {.elem = EL_U16, .rank = 1, .dim = {3}, .data = (const char *)numbers, .bytes = 6};
    size_t len;
    char *text = npy_format(&a, &len);
    ck_assert_ptr_nonnull(text);
    write_file("in.npy", text, len);
    free(text);
    copied("bf16", "@in.npy:bf16", 3);
    ck_assert(values[0] == 1 && values[1] == -1 && values[2] == 2);
    copied("u16", "@in.npy", 3);
    ck_assert(values[0] == 0x3f80);
    copied("i16", "@in.npy:i16", 3);
    ck_assert(values[1] == (double)(int16_t)0xbf80);
    /* a source gets its types from the file, with or without one behind it */
    ck_assert_msg(run("scale.tl --device=cpu x=@in.npy y=empty:u16[3] n=3 by=1:u16 stride=1 "
                      "--save y=y.npy") == 0,
                  "%s", output);
    ck_assert_msg(run("scale.tl --device=cpu x=@in.npy:bf16 y=empty:bf16[3] n=3 by=1.0 stride=1 "
                      "--save y=y.npy") == 0,
                  "%s", output);
}
END_TEST

/* 5 is an i32, a stride of 1 and of 2 are compiled differently, and the values agree. */
START_TEST(from_source) {
    char path[200];
    FileError e;
    size_t len;
    NpyArray a;
    for (int stride = 1; stride <= 2; stride++) {
        char line[200];
        snprintf(line, sizeof line,
                 "scale.tl --device=cpu x=arange:i64[40] y=empty:i64[n] n=20 by=5 stride=%d "
                 "--save y=y.npy",
                 stride);
        ck_assert_msg(run(line) == 0, "%s", output);
        snprintf(path, sizeof path, "%s/y.npy", folder);
        char *text;
        ck_assert_msg(file_read(path, 1 << 20, &text, &len, &e), "%s", e.text);
        ck_assert_msg(npy_parse(text, len, &a, &e), "%s", e.text);
        ck_assert_int_eq((int)a.elem, EL_I64);
        for (int i = 0; i < 20; i++) {
            int64_t v;
            memcpy(&v, a.data + i * 8, 8);
            ck_assert_int_eq(v, i * stride * 5);
        }
        free(text);
    }
}
END_TEST

/* A tuple's parts are arguments of their own, a descriptor's are worked out from its buffer. */
START_TEST(tuples_and_descriptors) {
    static const char text[] = "import triton, triton.language as tl\n"
                               "# tile: grid = n.1.0 // 10\n"
                               "@triton.jit\n"
                               "def parts(x, y, n):\n"
                               "    row, (add, none) = n\n"
                               "    tl.static_assert(none is None)\n"
                               "    i = tl.arange(0, 4)\n"
                               "    tl.store(y[0] + i, x.load([row, 4]).reshape(4) + add)\n";
    write_file("scale.tl", text, sizeof text - 1);
    char path[200], *data;
    FileError e;
    size_t len;
    NpyArray a;
    ck_assert_msg(run("scale.tl --device=cpu x=tensordesc<[1,4],nan>:arange:fp32[6,8] --save "
                      "y.0=y.npy y=(empty:fp32[4],) n=(5,(10,None))") == 0,
                  "%s", output);
    snprintf(path, sizeof path, "%s/y.npy", folder);
    ck_assert_msg(file_read(path, 1 << 20, &data, &len, &e), "%s", e.text);
    ck_assert_msg(npy_parse(data, len, &a, &e), "%s", e.text);
    for (int i = 0; i < 4; i++) {
        float v;
        memcpy(&v, a.data + i * 4, 4);
        ck_assert(v == (float)(5 * 8 + 4 + i + 10));
    }
    free(data);
    /* The address and the strides keep the promises of a descriptor. */
    ck_assert_int_eq(run("scale.tl --device=cpu x=tensordesc<[1,4]>:arange:fp32[6,7] "
                         "y=(empty:fp32[4],) n=(5,(10,None))"),
                     5);
    ck_assert_ptr_nonnull(
        strstr(output, "(x.strides.0) of kernel 'parts': 7 is not a multiple of 4"));
}
END_TEST

START_TEST(bench_prints_a_time) {
    ck_assert_int_eq(run("copy.tir --device=cpu x=zeros:fp32[9] y=empty:fp32[9] n=9 --bench"), 0);
    double time = -1;
    char unit[3], more[40];
    ck_assert_msg(sscanf(output, "copy: median %lf %2[ums] of %39[^\n]", &time, unit, more) == 3,
                  "%s", output);
    ck_assert(time > 0 && time < 1000);
    ck_assert_ptr_nonnull(strstr(more, " runs (p10 "));
    /* One that takes the CPU device more than half a second is timed once. */
    write_file("slow.tl", slow_tl, sizeof slow_tl - 1);
    ck_assert_int_eq(run("slow.tl --device=cpu --check=none p=empty:i64[1] n=15000000 --bench"), 0);
    ck_assert_msg(sscanf(output, "slow: %lf s, %39[^\n]", &time, more) == 2 ||
                      sscanf(output, "slow: %lf ms, %39[^\n]", &time, more) == 2,
                  "%s", output);
    ck_assert_str_eq(more, "1 run");
}
END_TEST

START_TEST(durations_have_a_unit) {
    static const struct {
        double ms;
        const char *text;
    } cases[] = {
        {0, "0.000 us"},       {0.0012345, "1.234 us"}, {0.21051, "210.5 us"},
        {0.99994, "999.9 us"}, {0.99996, "1.000 ms"},   {13.63355, "13.63 ms"},
        {999.96, "1.000 s"},   {1269.01933, "1.269 s"}, {72123.4, "72.12 s"},
        {9999000.0, "9999 s"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[DURATION_TEXT];
        ck_assert_str_eq(duration_text(cases[i].ms, text), cases[i].text);
    }
}
END_TEST

/* 8 floats as y.npy; the kernel copies arange: 0 1 2 … */
static void write_expected(float last) {
    float v[8] = {0, 1, 2, 3, 4, 5, 6, last};
    NpyArray a = {EL_F32, 1, {8}, (const char *)v, sizeof v};
    size_t len;
    char *text = npy_format(&a, &len);
    ck_assert_ptr_nonnull(text);
    write_file("y.npy", text, len);
    free(text);
}

START_TEST(results_are_compared) {
    static const char line[] =
        "copy.tir --device=cpu x=arange:fp32[2,4] y=empty:fp32[8] n=8 --expect y=y.npy";
    char tolerant[200];
    write_expected(7);
    ck_assert_msg(run(line) == 0 && strstr(output, "y: passed: 8 of 8 elements equal to y.npy\n"),
                  "%s", output);
    write_expected(6.875f); /* 0.125 off, which is 2^-3 / 2^(2 - 23) ulp */
    ck_assert_msg(run(line) == 5, "%s", output);
    ck_assert_msg(strstr(output, "y: failed: 7 of 8 elements within 3.05e-05 of y.npy; largest "),
                  "%s", output);
    ck_assert_msg(strstr(output, "absolute 0.125 at [7], relative 0.0182 at [7], 2.621e+05 ulp"),
                  "%s", output);
    ck_assert_msg(strstr(output, "1 of 8 elements are beyond the tolerance"), "%s", output);
    snprintf(tolerant, sizeof tolerant, "%s:0.02", line);
    ck_assert_msg(run(tolerant) == 0, "%s", output);
    ck_assert_msg(strstr(output, "y: passed: 8 of 8 elements within 0.02 of y.npy; largest error"),
                  "%s", output);
}
END_TEST

static double number_at(const char *key) {
    char quoted[40];
    double v = -1;
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(output, quoted);
    ck_assert_msg(at && sscanf(at + strlen(quoted), "%lf", &v) == 1, "%s: %s", key, output);
    return v;
}

START_TEST(json_has_times_and_rates) {
    static const char kernel[] =
        "import triton.language as tl\n# tile: grid = 1\n# tile: flops = 3 * n\n"
        "# tile: bytes = n * (x.itemsize + y.itemsize)\n"
        "@triton.jit\ndef scale(x, y, n, by):\n"
        "    i = tl.arange(0, 32)\n"
        "    tl.store(y + i, tl.load(x + i) * by)\n";
    write_expected(7);
    write_file("scale.tl", kernel, sizeof kernel - 1);
    ck_assert_msg(run("scale.tl --device=cpu x=zeros:fp16[32] y=zeros:fp32[32] n=3000 by=2.5 "
                      "--bench --json") == 0,
                  "%s", output);
    ck_assert_int_eq(output[0], '{');
    double us = number_at("median_us");
    ck_assert(us > 0 && number_at("p10_us") <= us && number_at("p90_us") >= us);
    ck_assert_double_eq_tol(number_at("tflops") * us, 9000e-6, 1e-8);
    ck_assert_double_eq_tol(number_at("gb_per_s") * us, 18000e-3, 1e-5);
    ck_assert(run("copy.tir --device=cpu x=arange:fp32[8] y=empty:fp32[8] n=8 --json "
                  "--expect y=y.npy") == 0);
    ck_assert_double_eq(number_at("max_ulp"), 0);
    ck_assert_ptr_nonnull(strstr(output, "\"ok\": true"));
}
END_TEST

/* ---- mistakes ---- */

#define GOOD "copy.tir --device=cpu x=zeros:fp32[20] y=zeros:fp32[20] n=20 "
#define SCALE "scale.tl --device=cpu x=arange:fp32[20] y=empty:fp32[n] n=20 "
static const struct {
    int code;
    const char *line, *words;
} runs[] = {
    {0, GOOD, ""},
    {0, GOOD "--grid=1", ""},
    {0, GOOD "--grid cdiv(n,B),1,1", ""},
    {0, GOOD "--kernel=copy", ""},
    {0, "copy.tir --device=cpu x=zeros:fp32[n] y=zeros:fp32[n//2,2] n=20", ""},
    {0, "--help", "--save"},
    {0, "--version", "tilerun 0."},
    {2, "", "which file"},
    {2, GOOD "--sav", "did you mean --save"},
    {2, GOOD "--grid", "--grid"},
    {2, GOOD "--check=bound", "--check has no 'bound'"},
    {2, GOOD "--seed=x", "--seed"},
    {2, GOOD "--num-warps=0", "--num-warps"},
    {2, GOOD "--device=gpu", "unknown device"},
    {2, GOOD "-DB=3", "need a source"},
    {2, GOOD "n=5", "given twice"},
    {2, GOOD "m=5", "no parameter m"},
    {2, GOOD "5", "NAME=VALUE"},
    {2, GOOD "--check=", "--check names nothing"},
    {2, "copy.tir n=99999999999999999999", "n: 99999999999999999999 is beyond 64 bits"},
    {3, GOOD "--expect y=/dev/zero", "not a .npy file"},
    {2, GOOD "--save y", "--save takes"},
    {2, GOOD "--save n=n.npy", "names no buffer"},
    {2, GOOD "--expect y", "--expect takes"},
    {2, GOOD "--expect y=y.npy:-1", "a tolerance is 0 or more"},
    {3, GOOD "--expect y=none.npy", "none.npy"},
    {3, GOOD "--expect y=copy.tir", "not a .npy file"},
    {2, "copy.tir --device=cpu x=zeros:fp32[20] n=20",
     "y (*fp32) of kernel 'copy' is missing: add y="},
    {2, "x.ptx --device=cpu --debug", "--debug is for what is compiled here"},
    {2, "copy.tir --device=cpu x=zeros:fp16[20] y=zeros:fp32[20] n=20", "the buffer holds fp16"},
    {2, "copy.tir --device=cpu x=5 y=zeros:fp32[20] n=20", "not a number"},
    {2, "copy.tir --device=cpu x=None y=zeros:fp32[20] n=20", "None"},
    {2, "copy.tir --device=cpu x=zeros:fp32[20] y=zeros:fp32[20] n=zeros:i32[2]", "not a buffer"},
    {2, "copy.tir --device=cpu x=zeros:fp32[20] y=zeros:fp32[20] n=0.5", "no integer"},
    {2, "copy.tir --device=cpu x=zeros:fp32[20] y=zeros:fp32[20] n=5:i64", "takes i32, not i64"},
    {2, "copy.tir x=zeros", "a type and a shape"},
    {2, "copy.tir x=zeros:f[3]", "element type"},
    {2, "copy.tir x=zeros:fp32", "a shape in brackets"},
    {2, "copy.tir x=ones:fp32[3]", "is no value"},
    {2, "copy.tir x=zeros(1):fp32[3]", "does not take 1 number"},
    {2, "copy.tir x=full:fp32[3]", "does not take 0 numbers"},
    {2, "copy.tir x=full(a):fp32[3]", "'a' is not a number"},
    {2, "copy.tir x=full(1:fp32[3]", "')' is missing"},
    {2, "copy.tir x=@", "a file name"},
    {2, "copy.tir x=5:q", "is no value"},
    {2, "copy.tir x=pointers()", "pointers need a buffer"},
    {2, "copy.tir x=pointers(5)", "pointers are of buffers"},
    {2, "copy.tir x=pointers(zeros:fp32[3],(zeros:fp32[3],5))", "pointers are of buffers"},
    {2, "copy.tir x=pointers(zeros:fp32[3]", "is no value"},
    {2, "copy.tir --device=cpu x=zeros:fp32[n] y=zeros:fp32[q] n=4", "unknown name 'q'"},
    {2, "copy.tir --device=cpu x=zeros:fp32[0-4] y=zeros:fp32[4] n=4", "negative"},
    {2, "copy.tir --device=cpu x=zeros:fp32[4000000000,4000000000,4] y=zeros:fp32[4] n=4", "large"},
    {3, "copy.tir --device=cpu x=@none.npy y=zeros:fp32[4] n=4", "none.npy"},
    {3, "copy.tir --device=cpu x=@copy.tir y=zeros:fp32[4] n=4", "not a .npy file"},
    {3, "none.tir --device=cpu", "none.tir"},
    {3, GOOD "--save y=no/such/folder.npy", "folder.npy"},
    {3, GOOD "--save y=/dev/full", "/dev/full"},
    {5, "copy.tir --device=cpu x=empty:fp32[20] y=zeros:fp32[20] n=20", "error: "},
    {0, "copy.tir --device=cpu x=empty:fp32[20] y=zeros:fp32[20] n=20 --check=bounds,align", ""},
    {5, "copy.tir --device=cpu x=zeros:fp32[20] y=zeros:fp32[20] n=21 --check=bounds", "'x'"},
    {5, "copy.tir --device=cpu x=zeros:fp32[20] y=zeros:fp32[20] n=99999999999", "fit i32"},
    {5, GOOD "--grid=q", "unknown name 'q'"},
    {5, GOOD "--grid=1,2,3,4", "more than 3"},
    {1, GOOD "--kernel=paste", "no kernel 'paste'"},
    {0, SCALE "by=2.5 stride=1", ""},
    {0, SCALE "by=2 stride=1:i64", ""},
    {0, SCALE "by=2.5 stride=1 -DBLOCK=16", ""},
    {0, SCALE "by=2.5 stride=0 --num-warps=1 --grid=cdiv(n,BLOCK)", ""},
    {1, SCALE "by=2.5", "the argument for parameter 'stride' is missing"},
    {1, SCALE "by=2.5", "give it as stride=VALUE"},
    {0, SCALE "by=2.5 stride=1 --debug", ""},
    {0, "rule.tl --device=cpu x=zeros:i32[1] n=32 s=7 w=None --grid=1",
     "even True odd 7 none True"},
    {0, "rule.tl --device=cpu x=zeros:i32[1] n=33 s=7:i64 w=0 --grid=1",
     "even False odd 7 none False"},
    {1, SCALE "by=2.5 stride=1 step=1", "'step'"},
    {1, SCALE "by=2.5 stride=1 -DBLOCK=9", "must be a power of 2"},
    {1, SCALE "by=2.5 stride=1 --kernel=scales", "scales"},
    {2, SCALE "by=2.5 stride=1 --target=sm_12", "sm_12"},
    {5, SCALE "by=2.5 stride=2", "scale.tl:8:9: error: "},
    {5, SCALE "by=2.5 stride=2", "    v = tl.load(x + i * stride, mask=i < n)"},
    {5, "x.ptx --device=cpu", "this is PTX"},
};

START_TEST(exit_codes) {
    static const char ptx[] =
        "// tilec manifest begin\n// {\"manifest\": 1, \"target\": \"sm_80\", \"kernels\": "
        "[{\"name\": "
        "\"k\", \"entry\": \"k\", \"params\": [], \"num_warps\": 4, \"num_stages\": 3, \"shared\": "
        "0}]}\n// tilec manifest end\n.version 7.0\n";
    write_file("x.ptx", ptx, sizeof ptx - 1);
    int code = run(runs[_i].line);
    ck_assert_msg(code == runs[_i].code && strstr(output, runs[_i].words), "%s: %d: %s",
                  runs[_i].line, code, output);
}
END_TEST

int main(void) {
    Suite *s = suite_create("tilerun");
    TCase *t = tcase_create("tilerun");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, in_folder, remove_folder);
    tcase_add_test(t, fills);
    tcase_add_test(t, random_numbers);
    tcase_add_test(t, files);
    tcase_add_test(t, from_source);
    tcase_add_test(t, tuples_and_descriptors);
    tcase_add_test(t, bench_prints_a_time);
    tcase_add_test(t, durations_have_a_unit);
    tcase_add_test(t, results_are_compared);
    tcase_add_test(t, json_has_times_and_rates);
    tcase_add_loop_test(t, exit_codes, 0, (int)(sizeof runs / sizeof *runs));
    return run_suite(s, t);
}
