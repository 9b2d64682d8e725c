/* wants.c: what the arithmetic kernels of tests/run must compute, in plain C, and the table of all
 * feature kernels.
 *
 * Integers are 64 bits here and cut to their type when stored; floats are doubles and rounded once
 * when stored, which for + - * of up to 24 bits is what the type's own arithmetic gives. */
#include "tests/run/features.h"
#include "tests/run/wants.h"

#include <math.h>
#include <string.h>

#define ALL_INTS "i8 i16 i32 i64 u8 u16 u32 u64"
#define ALL_FLOATS "fp16 bf16 fp32 fp64"

/* ---- integers ---- */

static void want_integers(Slot *v) {
    size_t n = (size_t)v[4].value;
    tile_type t = v[0].type;
    bool is_signed = type_is_signed(t);
    for (size_t i = 0; i < n; i++) {
        uint64_t a = bits_get(t, v[0].data, i), b = bits_get(t, v[1].data, i);
        uint64_t shift = bits_get(t, v[2].data, i);
        int64_t sa = (int64_t)a, sb = (int64_t)b;
        bool less = is_signed ? sa < sb : a < b, equal = a == b;
        bool five = is_signed ? sa > 5 : a > 5, fifty = is_signed ? sb < 50 : b < 50;
        uint64_t row[] = {
            a + b,
            a - b,
            a * b,
            is_signed ? (uint64_t)(sa / sb) : a / b,
            is_signed ? (uint64_t)(sa % sb) : a % b,
            a & b,
            a | b,
            a ^ b,
            ~a,
            0 - a,
            a << shift,
            is_signed ? (uint64_t)(sa >> shift) : a >> shift,
            less ? a : b,
            less ? b : a,
            is_signed && sa < 0 ? 0 - a : a,
            equal,
            !equal,
            less,
            less || equal,
            !less && !equal,
            !less,
            less ? a : b * b,
            a + 3,
            100 - a,
            is_signed ? (uint64_t)(sa / 4) : a / 4,
            is_signed ? (uint64_t)(sa % 16) : a % 16,
            a * 8,
            (five && fifty) || equal,
        };
        for (size_t k = 0; k < sizeof row / sizeof *row; k++)
            bits_set(t, v[3].data, k * n + i, row[k]);
    }
}

static void want_integer_division(Slot *v) {
    tile_type t = v[0].type;
    for (size_t i = 0; i < v[0].n; i++) /* each is rounded to single precision, then divided */
        value_set(TILE_FP32, v[2].data, i,
                  (double)((float)value_get(t, v[0].data, i) / (float)value_get(t, v[1].data, i)));
}

/* ---- floats ---- */

/* The number of the two where one is NaN; -0 is less than 0. */
static double least(double a, double b) {
    if (isnan(a) || isnan(b)) return isnan(a) ? b : a;
    if (a == 0 && b == 0) return signbit(a) ? a : b;
    return a < b ? a : b;
}

static void want_floats(Slot *v) {
    size_t n = (size_t)v[3].value;
    tile_type t = v[0].type;
    for (size_t i = 0; i < n; i++) {
        double a = value_get(t, v[0].data, i), b = value_get(t, v[1].data, i);
        double row[] = {a + b,
                        a - b,
                        a * b,
                        -a,
                        fabs(a),
                        least(a, b),
                        -least(-a, -b),
                        a < b ? a : b,
                        a == b,
                        a != b,
                        a<b, a <= b, a>
                            b,
                        a >= b,
                        a < 0.5,
                        a == a && b == b,
                        a != 0,
                        a * 0.5};
        for (size_t k = 0; k < sizeof row / sizeof *row; k++)
            value_set(t, v[2].data, k * n + i, row[k]);
    }
}

static void want_division(Slot *v) {
    size_t n = (size_t)v[3].value;
    tile_type t = v[0].type;
    for (size_t i = 0; i < n; i++) {
        double a = value_get(t, v[0].data, i), b = value_get(t, v[1].data, i);
        value_set(t, v[2].data, i, a / b);
        value_set(t, v[2].data, n + i, fmod(a, b));
        value_set(t, v[2].data, 2 * n + i, a / 3);
    }
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

static void want_math(Slot *v) {
    size_t n = (size_t)v[2].value;
    tile_type t = v[0].type;
    for (size_t i = 0; i < n; i++) {
        double x = value_get(t, v[0].data, i), p = value_round(t, fabs(x) + 0.125);
        double row[] = {exp(x),  exp2(x),     log(p),   log2(p), sin(x),       cos(x),
                        sqrt(p), 1 / sqrt(p), floor(x), ceil(x), fma(x, p, x), sigmoid(x)};
        for (size_t k = 0; k < sizeof row / sizeof *row; k++)
            value_set(t, v[1].data, k * n + i, row[k]);
    }
}

/* ---- types ---- */

/* Narrow floats from wide integers may be rounded twice, and floats beyond an integer's range give
 * anything: the inputs stay where there is one answer. */
static void tame(tile_type from, tile_type to, void *data, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!type_is_float(from)) {
            uint64_t x = bits_get(from, data, i);
            if (to == TILE_FP16 || to == TILE_BF16)
                bits_set(from, data, i,
                         type_is_signed(from) ? (uint64_t)((int64_t)x % 2000) : x % 2000);
        } else if (!type_is_float(to) && to != TILE_I1) {
            double x = value_get(from, data, i) * 30;
            if (!(fabs(x) < 120)) x = 2.75;
            value_set(from, data, i, type_is_signed(to) ? x : fabs(x));
        }
    }
}

static void want_casts(Slot *v) {
    tile_type from = v[0].type, to = v[1].type;
    tame(from, to, v[0].data, v[0].n);
    for (size_t i = 0; i < v[0].n; i++) {
        double x = value_get(from, v[0].data, i);
        if (to == TILE_I1)
            bits_set(to, v[1].data, i, x != 0);
        else if (!type_is_float(from) && !type_is_float(to))
            bits_set(to, v[1].data, i, bits_get(from, v[0].data, i));
        else if (to == TILE_FP32 && !type_is_float(from)) /* 64 bits to 24 at once */
            value_set(to, v[1].data, i,
                      type_is_signed(from) ? (double)(float)(int64_t)bits_get(from, v[0].data, i)
                                           : (double)(float)bits_get(from, v[0].data, i));
        else
            value_set(to, v[1].data, i, x);
    }
}

/* The type of a + b for tiles of these types. */
static tile_type promoted(tile_type a, tile_type b) {
    static const tile_type floats[] = {TILE_FP64, TILE_FP32, TILE_FP16};
    for (int i = 0; i < 3; i++)
        if (a == floats[i] || b == floats[i]) return floats[i];
    if (a == TILE_BF16 || b == TILE_BF16) return a == b ? TILE_BF16 : TILE_FP32;
    if (type_is_signed(a) == type_is_signed(b)) return type_size(a) >= type_size(b) ? a : b;
    tile_type u = type_is_signed(a) ? b : a, s = type_is_signed(a) ? a : b;
    return type_size(u) >= type_size(s) ? u : s;
}

static double as_double(tile_type t, uint64_t bits) {
    uint64_t kept = 0;
    bits_set(t, &kept, 0, bits);
    return value_get(t, &kept, 0);
}

static void want_promotion(Slot *v) {
    tile_type a = v[0].type, b = v[1].type, r = promoted(a, b);
    size_t n = (size_t)v[3].value;
    if (type_is_float(r)) {
        tame(a, TILE_FP16, v[0].data, n);
        tame(b, TILE_FP16, v[1].data, n);
    }
    for (size_t i = 0; i < n; i++) {
        double row[3];
        if (type_is_float(r)) {
            double x = value_round(r, value_get(a, v[0].data, i));
            double y = value_round(r, value_get(b, v[1].data, i));
            row[0] = value_round(r, x + y);
            row[1] = value_round(r, x * y);
            row[2] = i % 2 == 0 ? x : y;
        } else {
            uint64_t x = bits_get(a, v[0].data, i), y = bits_get(b, v[1].data, i);
            row[0] = as_double(r, x + y);
            row[1] = as_double(r, x * y);
            row[2] = as_double(r, i % 2 == 0 ? x : y);
        }
        for (size_t k = 0; k < 3; k++) value_set(TILE_FP64, v[2].data, k * n + i, row[k]);
    }
}

/* ---- matrices ---- */

static void want_dot(Slot *v) {
    enum { M = 32, N = 32, K = 64 };
    size_t k = (size_t)v[3].value;
    tile_type t = v[0].type;
    static const size_t size = M * N;
    double c[M][N];
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            c[i][j] = 0;
            for (size_t p = 0; p < k && p < K; p++)
                c[i][j] += value_get(t, v[0].data, i * k + p) * value_get(t, v[1].data, p * N + j);
        }
    for (size_t i = 0; i < M; i++)
        for (size_t j = 0; j < N; j++) {
            double column = 0;
            for (size_t p = 0; p < M; p++) column += value_round(t, c[p][j]);
            value_set(TILE_FP32, v[2].data, i * N + j, c[i][j]);
            value_set(TILE_FP32, v[2].data, size + i * N + j, 2 * c[i][j] + 1);
            value_set(TILE_FP32, v[2].data, 2 * size + i * N + j, c[i][j]);
            value_set(TILE_FP32, v[2].data, 3 * size + i * N + j, column);
        }
}

static void want_reduce(Slot *v) {
    enum { H = 16, W = 32 };
    tile_type t = v[0].type;
    double all = 0, widest = 0, x[H][W];
    for (size_t i = 0; i < H; i++)
        for (size_t j = 0; j < W; j++) x[i][j] = value_get(t, v[0].data, i * W + j);
    for (size_t j = 0; j < W; j++) {
        double sum = 0, most = x[0][j];
        for (size_t i = 0; i < H; i++) {
            sum += x[i][j];
            most = x[i][j] > most ? x[i][j] : most;
        }
        value_set(t, v[1].data, j, sum);
        value_set(t, v[1].data, W + j, most);
        all += sum;
    }
    for (size_t i = 0; i < H; i++) {
        double sum = 0, low = x[i][0], high = x[i][0];
        for (size_t j = 0; j < W; j++) {
            sum += x[i][j];
            low = x[i][j] < low ? x[i][j] : low;
            high = x[i][j] > high ? x[i][j] : high;
        }
        value_set(t, v[1].data, 2 * W + i, sum);
        value_set(t, v[1].data, 2 * W + H + i, low);
        widest = high - low > widest ? high - low : widest;
    }
    value_set(t, v[1].data, 2 * W + 2 * H, all);
    value_set(t, v[1].data, 2 * W + 2 * H + 1, widest);
}

/* ---- the table ---- */

const Feature features[] = {
    {"integers",
     NULL,
     "T[777]:bits T[777]:divisor T[777]:log2 >T[21756] i32=777",
     ALL_INTS,
     NULL,
     {0, 0, 0},
     want_integers,
     0,
     0},
    {"integer-division",
     NULL,
     "T[500]:bits T[500]:divisor >fp32[500] i32=500",
     ALL_INTS,
     NULL,
     {0, 0, 0},
     want_integer_division,
     4,
     0},
    {"floats",
     NULL,
     "T[1021]:special T[1021]:special >T[18378] i32=1021",
     ALL_FLOATS,
     NULL,
     {0, 0, 0},
     want_floats,
     0,
     0},
    /* The remainder of single precision is a - trunc(a / b) b, off by as much as a's last place. */
    {"division",
     NULL,
     "T[500]:normal T[500]:normal >T[1500] i32=500",
     ALL_FLOATS,
     NULL,
     {0, 0, 0},
     want_division,
     4,
     1e-6},
    /* The GPU's own approximations, handbook gpu.md: within some last places and 2^-20. */
    {"math",
     NULL,
     "T[600]:normal >T[7200] i32=600",
     "fp32",
     NULL,
     {0, 0, 0},
     want_math,
     8,
     0x1p-20},
    {"casts",
     NULL,
     "T[300]:special >U[300] i32=300",
     "i1 " ALL_INTS " " ALL_FLOATS,
     "i1 " ALL_INTS " " ALL_FLOATS,
     {0, 0, 0},
     want_casts,
     0,
     0},
    {"promotion",
     NULL,
     "T[100] U[100] >fp64[300] i32=100",
     ALL_INTS " " ALL_FLOATS,
     ALL_INTS " " ALL_FLOATS,
     {0, 0, 0},
     want_promotion,
     0,
     0},
    {"control", NULL, "i32[17]:count >i32[442] i32=17", NULL, NULL, {0, 0, 0}, want_control, 0, 0},
    {"exits", NULL, "i32[17]:count >i32[476] i32=17", NULL, NULL, {0, 0, 0}, want_exits, 0, 0},
    {"calls",
     "HOW=double DTYPE=i8",
     "i32[200]:whole >i32[1200] i32=200",
     NULL,
     NULL,
     {0, 0, 0},
     want_calls_double,
     0,
     0},
    {"calls",
     "HOW=negate DTYPE=fp16",
     "i32[200]:whole >i32[1200] i32=200",
     NULL,
     NULL,
     {0, 0, 0},
     want_calls_negate,
     0,
     0},
    {"constants",
     "A=-7 B=2 NAME=left B_OR_NOT=None",
     ">i32[11]",
     NULL,
     NULL,
     {0, 0, 0},
     want_constants_left,
     0,
     0},
    {"constants",
     "A=-13 B=5 NAME=right B_OR_NOT=41",
     ">i32[11]",
     NULL,
     NULL,
     {0, 0, 0},
     want_constants_right,
     0,
     0},
    {"shapes", "H=16 W=32", "i32[512]:bits >i32[5120]", NULL, NULL, {0, 0, 0}, want_shapes, 0, 0},
    {"masks",
     NULL,
     "T[300]:bits i8[300]:small >T[2100] i32=300",
     "i32 u8 fp16 i64",
     NULL,
     {0, 0, 0},
     want_masks,
     0,
     0},
    {"walk",
     NULL,
     "i32[3000]:bits >i32[402] i32=30 i32=50 i32=100",
     NULL,
     NULL,
     {0, 0, 0},
     want_walk,
     0,
     0},
    {"gather",
     NULL,
     "i32[512]:bits T[100]:whole >i32[101] i32=100",
     ALL_INTS,
     NULL,
     {0, 0, 0},
     want_gather,
     0,
     0},
    {"gather",
     "MIDDLE=144",
     "i32[512]:bits T[100]:bits >i32[101] i32=100",
     "i8 u8",
     NULL,
     {0, 0, 0},
     want_gather,
     0,
     0},
    {"grid", NULL, ">i32[120]", NULL, NULL, {2, 3, 5}, want_grid, 0, 0},
    {"swizzle", NULL, ">i32[15]", NULL, NULL, {5, 3, 1}, want_swizzle, 0, 0},
    {"swizzle", NULL, ">i32[21]", NULL, NULL, {3, 7, 1}, want_swizzle, 0, 0},
    {"swizzle", NULL, ">i32[128]", NULL, NULL, {8, 8, 2}, want_swizzle, 0, 0},
    {"swizzle", NULL, ">i32[198]", NULL, NULL, {11, 6, 3}, want_swizzle, 0, 0},
    {"swizzle", NULL, ">i32[9]", NULL, NULL, {9, 1, 1}, want_swizzle, 0, 0},
    {"swizzle", NULL, ">i32[9]", NULL, NULL, {1, 9, 1}, want_swizzle, 0, 0},
    {"dot",
     "M=32 N=32 K=64",
     "T[1600]:small T[1600]:small >fp32[4096] i32=50",
     "fp16 bf16 fp32",
     NULL,
     {0, 0, 0},
     want_dot,
     0,
     0},
    {"dot",
     "M=32 N=32 K=64",
     "T[2048]:small T[2048]:small >fp32[4096] i32=64",
     "fp16 bf16 fp32",
     NULL,
     {0, 0, 0},
     want_dot,
     0,
     0},
    /* Up to 64 products of normal numbers, then 32 of those sums. */
    {"dot",
     "M=32 N=32 K=64 PRECISION=ieee",
     "T[2048]:normal T[2048]:normal >fp32[4096] i32=64",
     "fp32",
     NULL,
     {0, 0, 0},
     want_dot,
     0,
     2e-4},
    {"pipeline",
     "M=64 N=32 K=32 STAGES=3",
     "T[16384]:small T[8192]:small i8[8192]:small i32[256]:small >fp32[8192] >fp32[1024] "
     ">i32[32] i32=0",
     "fp16 bf16",
     NULL,
     {0, 0, 0},
     want_pipeline,
     0,
     0},
    {"pipeline",
     "M=64 N=32 K=32 STAGES=3",
     "T[16384]:small T[8192]:small i8[8192]:small i32[256]:small >fp32[8192] >fp32[1024] "
     ">i32[64] i32=1",
     "fp16 bf16",
     NULL,
     {0, 0, 0},
     want_pipeline,
     0,
     0},
    {"pipeline",
     "M=64 N=32 K=32 STAGES=3",
     "T[16384]:small T[8192]:small i8[8192]:small i32[256]:small >fp32[8192] >fp32[1024] "
     ">i32[96] i32=2",
     "fp16 bf16",
     NULL,
     {0, 0, 0},
     want_pipeline,
     0,
     0},
    {"pipeline",
     "M=64 N=32 K=32 STAGES=4",
     "T[16384]:small T[8192]:small i8[8192]:small i32[256]:small >fp32[8192] >fp32[1024] "
     ">i32[128] i32=3",
     "fp16 bf16",
     NULL,
     {0, 0, 0},
     want_pipeline,
     0,
     0},
    {"pipeline",
     "M=64 N=32 K=32 STAGES=3",
     "T[16384]:small T[8192]:small i8[8192]:small i32[256]:small >fp32[8192] >fp32[1024] "
     ">i32[288] i32=8",
     "fp16 bf16",
     NULL,
     {0, 0, 0},
     want_pipeline,
     0,
     0},
    {"pipeline",
     "M=64 N=32 K=32 STAGES=2",
     "T[16384]:small T[8192]:small i8[8192]:small i32[256]:small >fp32[8192] >fp32[1024] "
     ">i32[256] i32=7",
     "fp16 bf16",
     NULL,
     {0, 0, 0},
     want_pipeline,
     0,
     0},
    {"pipeline",
     "M=64 N=32 K=32 STAGES=5",
     "T[16384]:small T[8192]:small i8[8192]:small i32[256]:small >fp32[8192] >fp32[1024] "
     ">i32[192] i32=5",
     "fp16 bf16",
     NULL,
     {0, 0, 0},
     want_pipeline,
     0,
     0},
    {"reduce",
     "H=16 W=32",
     "T[512]:whole >T[98]",
     "i32 fp32 i64",
     NULL,
     {0, 0, 0},
     want_reduce,
     0,
     0},
    {"sort",
     "H=8 W=32 K=4",
     "T[256]:whole >T[840]",
     "i8 u16 i32 i64 fp16 bf16 fp32 fp64",
     NULL,
     {0, 0, 0},
     want_sort,
     0,
     0},
    {"moves",
     "H=8 W=16",
     "T[128]:whole T[128]:whole i32[128]:bits >T[1539]",
     "i8 i32 i64 fp16 bf16 fp32 fp64",
     NULL,
     {0, 0, 0},
     want_moves,
     0,
     0},
    {"extremes",
     "H=16 W=32",
     "T[512]:whole >T[82] >i32[113]",
     "i8 u32 i64 fp16 bf16 fp32 fp64",
     NULL,
     {0, 0, 0},
     want_extremes,
     0,
     0},
    {"scan",
     "H=16 W=32",
     "T[512]:whole >T[2560]",
     "i32 i64 fp32 fp64",
     NULL,
     {0, 0, 0},
     want_scan,
     0,
     0},
    {"histogram",
     "SIZE=256 BINS=16",
     "T[256]:whole >i32[48] i32=200",
     "i8 i32 u32 i64",
     NULL,
     {0, 0, 0},
     want_histogram,
     0,
     0},
    {"random",
     "SIZE=64",
     ">u32[512] >fp32[320] T=1234567 i64=30000000000",
     "i32 i64",
     NULL,
     {0, 0, 0},
     want_random,
     8,
     1e-6},
    {"random",
     "SIZE=64",
     ">u32[512] >fp32[320] i64=-5000000000 i64=-77",
     NULL,
     NULL,
     {0, 0, 0},
     want_random,
     8,
     1e-6},
    {"block_pointer",
     "B=16",
     "fp32[1813]:whole >fp32[1850] i32=37 i32=49",
     NULL,
     NULL,
     {0, 0, 0},
     want_block_pointer,
     0,
     0},
    {"descriptor",
     "H=8 W=16",
     "fp32[703]:whole >fp32[1534] i32=19 i32=37",
     NULL,
     NULL,
     {0, 0, 0},
     want_descriptor,
     0,
     0},
    {"atomics",
     "BLOCK=128 INTEGER=True",
     ">T[704] i32=5",
     "i32 u32 i64 u64",
     NULL,
     {0, 0, 0},
     want_atomics,
     0,
     0},
    {"atomics",
     "BLOCK=128 INTEGER=False",
     ">T[704] i32=5",
     "fp32 fp64",
     NULL,
     {0, 0, 0},
     want_atomics,
     0,
     0},
    {"libdevice",
     "SIZE=128",
     "i32[256]:bits fp32[128]:special >i32[1920]",
     NULL,
     NULL,
     {0, 0, 0},
     want_libdevice,
     0,
     0},
    {"libdevice_floats",
     "SIZE=128",
     "T[128]:normal >T[1792]",
     "fp32 fp64",
     NULL,
     {0, 0, 0},
     want_libdevice_floats,
     64,
     1e-12},
    {"batch",
     "B=4 M=16 N=32 K=32",
     "T[2048]:small T[4096]:small >fp32[4096]",
     "fp16 bf16 fp32",
     NULL,
     {0, 0, 0},
     want_batch,
     0,
     0},
    {"stdlib",
     "H=16 W=32",
     "T[512]:normal >fp32[1536] >i32[20]",
     "fp16 fp32",
     NULL,
     {0, 0, 0},
     want_stdlib,
     64,
     1e-7},
    {"dot-types",
     "M=64 N=32 K=64",
     "T[4096]:small T[2048]:small >fp32[4096]",
     "fp16 bf16 fp8e4nv fp8e5 fp32",
     NULL,
     {0, 0, 0},
     want_dot_types,
     0,
     0},
    {"dot-types",
     "M=16 N=16 K=32",
     "T[512]:small T[512]:small >fp32[512]",
     "fp16 bf16 fp8e4nv fp8e5 fp32",
     NULL,
     {0, 0, 0},
     want_dot_types,
     0,
     0},
    {"dot-types",
     "M=1 N=2 K=32",
     "T[32]:small T[64]:small >fp32[4]",
     "fp16 bf16 fp8e4nv fp8e5 fp32",
     NULL,
     {0, 0, 0},
     want_dot_types,
     0,
     0},
    {"dot-types",
     "M=4 N=64 K=32",
     "T[128]:small T[2048]:small >fp32[512]",
     "fp16 bf16 fp8e4nv fp8e5 fp32",
     NULL,
     {0, 0, 0},
     want_dot_types,
     0,
     0},
    {"dot-types",
     "M=128 N=8 K=32",
     "T[4096]:small T[256]:small >fp32[2048]",
     "fp16 bf16 fp8e4nv fp8e5 fp32",
     NULL,
     {0, 0, 0},
     want_dot_types,
     0,
     0},
    {"dot-types",
     "M=32 N=64 K=32",
     "T[1024]:small T[2048]:small >fp16[4096]",
     "fp16 fp8e4nv fp8e5",
     NULL,
     {0, 0, 0},
     want_dot_types,
     0,
     0},
    {"dot-types",
     "M=64 N=32 K=64",
     "T[4096]:small T[2048]:small >i32[4096]",
     "i8",
     NULL,
     {0, 0, 0},
     want_dot_types,
     0,
     0},
    {"dot-types",
     "M=2 N=16 K=32",
     "T[64]:small T[512]:small >i32[64]",
     "i8",
     NULL,
     {0, 0, 0},
     want_dot_types,
     0,
     0},
    {"dot-types",
     "M=32 N=32 K=16",
     "T[512]:small T[512]:small >fp64[2048]",
     "fp64",
     NULL,
     {0, 0, 0},
     want_dot_types,
     0,
     0},
    {"dot-types",
     "M=1 N=8 K=4",
     "T[4]:small T[32]:small >fp64[16]",
     "fp64",
     NULL,
     {0, 0, 0},
     want_dot_types,
     0,
     0},
    {"dot-types",
     "M=16 N=16 K=8",
     "T[128]:small T[128]:small >fp32[512]",
     "fp32",
     NULL,
     {0, 0, 0},
     want_dot_types,
     0,
     0},
    {"dot-types",
     "M=32 N=32 K=32 PRECISION=ieee",
     "T[1024]:small T[1024]:small >fp32[2048]",
     "fp32",
     NULL,
     {0, 0, 0},
     want_dot_types,
     0,
     0},
    {"dot-types",
     "M=4 N=2 K=32 PRECISION=ieee",
     "T[128]:small T[64]:small >fp32[16]",
     "fp32",
     NULL,
     {0, 0, 0},
     want_dot_types,
     0,
     0},
    {"dot-types",
     "M=32 N=32 K=32 PRECISION=tf32x3",
     "T[1024]:small T[1024]:small >fp32[2048]",
     "fp32",
     NULL,
     {0, 0, 0},
     want_dot_types,
     0,
     0},
    {"dot-types",
     "M=32 N=32 K=32 PRECISION=bf16x3",
     "T[1024]:small T[1024]:small >fp32[2048]",
     "fp32",
     NULL,
     {0, 0, 0},
     want_dot_types,
     0,
     0},
    {"dot-types",
     "M=32 N=32 K=32 PRECISION=bf16x6",
     "T[1024]:small T[1024]:small >fp32[2048]",
     "fp32",
     NULL,
     {0, 0, 0},
     want_dot_types,
     0,
     0},
    {"dot-types",
     "M=16 N=16 K=8 PRECISION=bf16x3",
     "T[128]:small T[128]:small >fp32[512]",
     "fp32",
     NULL,
     {0, 0, 0},
     want_dot_types,
     0,
     0},
    {"dot-batch",
     "M=16 N=32 K=32",
     "T[1024]:small T[2048]:small >fp32[1024]",
     "fp16 bf16 fp8e4nv fp8e5 fp32",
     NULL,
     {0, 0, 0},
     want_dot_batch,
     0,
     0},
    {"dot-batch",
     "M=16 N=16 K=32",
     "T[1024]:small T[1024]:small >i32[512]",
     "i8",
     NULL,
     {0, 0, 0},
     want_dot_batch,
     0,
     0},
    {"dot-batch",
     "M=8 N=8 K=8",
     "T[128]:small T[128]:small >fp64[128]",
     "fp64",
     NULL,
     {0, 0, 0},
     want_dot_batch,
     0,
     0},
    {"atomic-numbers",
     NULL,
     "T[300]:small >T[16] >i32[300] >i32[5] >i32[3] i32=300",
     "i32 u32 i64 u64 fp16 bf16 fp32 fp64",
     NULL,
     {0, 0, 0},
     want_atomic_numbers,
     0,
     0},
    {"atomic-extremes",
     "SCALE=1",
     "T[700]:bits >T[16] >T[16] i32=700",
     "i32 u32 i64 u64",
     NULL,
     {0, 0, 0},
     want_atomic_extremes,
     0,
     0},
    {"atomic-extremes",
     "SCALE=1e12",
     "T[700]:normal >T[16] >T[16] i32=700",
     "fp32",
     NULL,
     {0, 0, 0},
     want_atomic_extremes_fp32,
     0,
     0},
    {"atomic-extremes",
     "SCALE=1e80",
     "T[700]:normal >T[16] >T[16] i32=700",
     "fp64",
     NULL,
     {0, 0, 0},
     want_atomic_extremes_fp64,
     0,
     0},
    {"atomic-bits",
     NULL,
     "T[200]:bits >T[16] >T[16] >T[16] >T[200] >T[200] i32=200",
     "i32 u32 i64 u64",
     NULL,
     {0, 0, 0},
     want_atomic_bits,
     0,
     0},
    {"lock", NULL, ">i32[256] >i32[4]", NULL, NULL, {60, 1, 1}, want_lock, 0, 0},
    {"casts",
     NULL,
     "T[300]:special >U[300] i32=300",
     "i1 i8 i16 i32 i64 u8 u16 u32 u64 fp16 bf16 fp32 fp64",
     "fp8e4nv fp8e5",
     {0, 0, 0},
     want_casts_to_fp8,
     0,
     0},
    {"casts",
     NULL,
     "T[300]:special >U[300] i32=300",
     "fp8e4nv fp8e5",
     "i1 i8 i16 i32 i64 u8 u16 u32 u64 fp16 bf16 fp32 fp64",
     {0, 0, 0},
     want_casts,
     0,
     0},
    {"axis",
     "H=16 W=64 WARPS=4",
     "T[1024]:whole i32[1024]:bits >T[12288] >i32[113] i32=64",
     "i32 i64 fp32 fp64",
     NULL,
     {0, 0, 0},
     want_axis,
     0,
     0},
    {"axis",
     "H=8 W=32 WARPS=1",
     "T[256]:whole i32[256]:bits >T[3072] >i32[105] i32=32",
     "i32",
     NULL,
     {0, 0, 0},
     want_axis,
     0,
     0},
    {"axis",
     "H=64 W=16 WARPS=8",
     "T[1024]:whole i32[1024]:bits >T[12288] >i32[113] i32=16",
     "i32 fp32",
     NULL,
     {0, 0, 0},
     want_axis,
     0,
     0},
    {"axis",
     "H=1 W=64 WARPS=4",
     "T[64]:whole i32[64]:bits >T[768] >i32[98] i32=64",
     "i32",
     NULL,
     {0, 0, 0},
     want_axis,
     0,
     0},
    {"axis",
     "H=64 W=1 WARPS=2",
     "T[64]:whole i32[64]:bits >T[768] >i32[98] i32=1",
     "i32 fp32",
     NULL,
     {0, 0, 0},
     want_axis,
     0,
     0},
    {"axis",
     "H=2 W=1 WARPS=1",
     "T[2]:whole i32[2]:bits >T[24] >i32[36] i32=1",
     "i32",
     NULL,
     {0, 0, 0},
     want_axis,
     0,
     0},
    {"axis",
     "H=4 W=8 WARPS=16",
     "T[32]:whole i32[32]:bits >T[384] >i32[45] i32=8",
     "i32 i64",
     NULL,
     {0, 0, 0},
     want_axis,
     0,
     0},
    {"axis",
     "H=1 W=2048 WARPS=8",
     "T[2048]:whole i32[2048]:bits >T[24576] >i32[2082] i32=2048",
     "i32 fp32",
     NULL,
     {0, 0, 0},
     want_axis,
     0,
     0},
    {"axis",
     "H=32 W=32 WARPS=16",
     "T[1024]:whole i32[1024]:bits >T[12288] >i32[129] i32=32",
     "i32 fp32",
     NULL,
     {0, 0, 0},
     want_axis,
     0,
     0},
    {"axis",
     "H=32 W=64 WARPS=8",
     "T[2048]:whole i32[2048]:bits >T[24576] >i32[129] i32=64",
     "fp32",
     NULL,
     {0, 0, 0},
     want_axis,
     0,
     0},
    {"turn",
     "H=64 W=32 WARPS=4",
     "T[2048]:whole >T[2048] i32=32",
     "i1 i8 fp16 bf16 fp32 i64 fp8e4nv",
     NULL,
     {0, 0, 0},
     want_turn,
     0,
     0},
    {"turn",
     "H=32 W=64 WARPS=1",
     "T[2048]:bits >T[2048] i32=64",
     "i8 fp32",
     NULL,
     {0, 0, 0},
     want_turn,
     0,
     0},
    {"turn",
     "H=8 W=8 WARPS=8",
     "T[64]:bits >T[64] i32=8",
     "i8 fp16 i32 i64",
     NULL,
     {0, 0, 0},
     want_turn,
     0,
     0},
    {"turn",
     "H=2 W=256 WARPS=16",
     "T[512]:bits >T[512] i32=256",
     "i16 fp32",
     NULL,
     {0, 0, 0},
     want_turn,
     0,
     0},
    {"turn",
     "H=128 W=256 WARPS=16",
     "T[32768]:bits >T[32768] i32=256",
     "fp32",
     NULL,
     {0, 0, 0},
     want_turn,
     0,
     0},
    {"turn",
     "H=128 W=256 WARPS=8",
     "T[32768]:bits >T[32768] i32=256",
     "fp32",
     NULL,
     {0, 0, 0},
     want_turn,
     0,
     0},
    {"turn",
     "H=256 W=128 WARPS=8",
     "T[32768]:bits >T[32768] i32=128",
     "fp16",
     NULL,
     {0, 0, 0},
     want_turn,
     0,
     0},
};
const int feature_count = sizeof features / sizeof *features;
