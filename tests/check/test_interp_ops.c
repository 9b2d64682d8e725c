/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_interp_ops.c: every elementwise operation over every element type it takes, on values that
 * matter and random ones, against formulas of another kind: integers in 128 bits and wrapped at the
 * end, floats in a type so wide that the one rounding left is the right one. */
#include "interp_fixture.h"

#include <math.h>

__extension__ typedef __int128 Wide;
__extension__ typedef unsigned __int128 UWide;

enum { LANES = 64 };

typedef struct Lanes {
    Elem elem;
    uint64_t bits[LANES]; /* integers: extended; floats: their bits */
    uint64_t memory[LANES];
} Lanes;

static void pack(Lanes *l) {
    size_t size = (size_t)elem_info[l->elem].bytes;
    for (size_t i = 0; i < LANES; i++) memcpy((char *)l->memory + i * size, &l->bits[i], size);
}

static void unpack(Lanes *l) {
    size_t size = (size_t)elem_info[l->elem].bytes;
    for (size_t i = 0; i < LANES; i++) {
        uint64_t bits = 0;
        memcpy(&bits, (char *)l->memory + i * size, size);
        l->bits[i] = (uint64_t)elem_wrap(l->elem, (int64_t)bits);
    }
}

static bool is_float(Elem e) {
    return elem_info[e].class_ == ELEM_F;
}
static bool is_signed(Elem e) {
    return elem_info[e].class_ == ELEM_I;
}
static int width(Elem e) {
    return elem_info[e].bits;
}
static double real(const Lanes *l, int i) {
    return elem_to_double(l->elem, l->bits[i]);
}
static Wide whole(const Lanes *l, int i) {
    return is_signed(l->elem) ? (Wide)(int64_t)l->bits[i] : (Wide)l->bits[i];
}

static Lanes lanes(Elem e, uint64_t seed) {
    static const double special[] = {0.0,  -0.0, 1,   -1,   2,    0.5,  -3,    5.5,   100,   300,
                                     -448, 1e-3, 1e5, -7e4, 3e-8, 1e38, 1e-40, 2.5e9, -2.5e9};
    enum { SPECIAL = sizeof special / sizeof *special };
    Lanes l = {.elem = e};
    for (int i = 0; i < LANES; i++) {
        uint64_t r = random_bits(&seed);
        uint64_t top = (uint64_t)1 << (width(e) - 1);
        const uint64_t edge[] = {0, 1, top, top - 1, UINT64_MAX, 2, 3, 7};
        if (!is_float(e))
            l.bits[i] = i < 24 ? edge[r % 8] : i < 40 ? r % 16 : r >> (r % 40);
        else if (i < 8)
            l.bits[i] = elem_from_double(e, r % 3 == 0   ? (double)NAN
                                            : r % 3 == 1 ? (double)INFINITY
                                                         : -(double)INFINITY);
        else if (i < 40)
            l.bits[i] = elem_from_double(e, special[r % SPECIAL]);
        else
            l.bits[i] = elem_from_double(e, ((double)(r % 20001) - 10000) / 77);
        if (!is_float(e)) l.bits[i] = (uint64_t)elem_wrap(e, (int64_t)l.bits[i]);
    }
    pack(&l);
    return l;
}

/* out = op over the operands; `op` is written in terms of %a, %b, %c and ends before its span. */
static Lanes apply(const char *op, Elem result, Lanes *operand[], int n) {
    char text[4096], *at = text;
    const char *r = elem_info[result].text;
    Lanes out = {.elem = result};
    Fixture f = fixture();
    f.checks = CHECK_ALL & ~(unsigned)(CHECK_OVERFLOW | CHECK_UNDEFINED);
    at += sprintf(at, "kernel @k(");
    for (int i = 0; i < n; i++)
        at += sprintf(at, "%%p%d: ptr<%s>, ", i, elem_info[operand[i]->elem].text);
    at += sprintf(at, "%%out: ptr<%s>) {\n  %%i: i32[64] = arange start=0 end=64\n", r);
    for (int i = 0; i < n; i++) {
        const char *t = elem_info[operand[i]->elem].text;
        at += sprintf(at, "  %%s%d: ptr<%s>[64] = splat %%p%d\n", i, t, i);
        at += sprintf(at, "  %%q%d: ptr<%s>[64] = addptr %%s%d, %%i\n", i, t, i);
        at += sprintf(at, "  %%%c: %s[64] = load %%q%d\n", "abc"[i], t, i);
        give_buffer(&f, "p", operand[i]->memory, sizeof operand[i]->memory, NULL);
    }
    at += sprintf(at, "  %%r: %s[64] = %s\n  %%so: ptr<%s>[64] = splat %%out\n", r, op, r);
    sprintf(at, "  %%qo: ptr<%s>[64] = addptr %%so, %%i\n  store %%qo, %%r\n  return\n}\n", r);
    give_buffer(&f, "out", out.memory, sizeof out.memory, NULL);
    expect_ok(&f, text);
    unpack(&out);
    return out;
}

static Lanes apply2(const char *name, const char *attrs, Elem result, Lanes *x, Lanes *y) {
    char op[128];
    snprintf(op, sizeof op, "%s %%a, %%b%s", name, attrs);
    return apply(op, result, (Lanes *[]){x, y}, 2);
}

static Lanes apply1(const char *name, const char *attrs, Elem result, Lanes *x) {
    char op[128];
    snprintf(op, sizeof op, "%s %%a%s", name, attrs);
    return apply(op, result, (Lanes *[]){x}, 1);
}

static bool same(Elem e, uint64_t got, uint64_t want) {
    if (got == want) return true;
    return is_float(e) && isnan(elem_to_double(e, got)) && isnan(elem_to_double(e, want));
}

#define EXPECT_LANE(out, i, want, what)                                                            \
    do {                                                                                           \
        uint64_t wanted = (want);                                                                  \
        if (!same((out).elem, (out).bits[i], wanted))                                              \
            ck_abort_msg("%s lane %d: %llx, not %llx", what, i, (unsigned long long)(out).bits[i], \
                         (unsigned long long)wanted);                                              \
    } while (0)

/* ---- integers ---- */

static uint64_t unsigned_of(Elem e, uint64_t bits) {
    return width(e) == 64 ? bits : bits & (((uint64_t)1 << width(e)) - 1);
}

static Wide shifted_right(Wide a, uint64_t by) { /* rounding down */
    for (; by && a != 0 && a != -1; by--) a = (a - (a & 1)) / 2;
    return a;
}

static Wide int_result(const char *op, Elem e, Wide a, Wide b) {
    uint64_t ua = unsigned_of(e, (uint64_t)a), ub = unsigned_of(e, (uint64_t)b);
    if (!strcmp(op, "add")) return a + b;
    if (!strcmp(op, "sub")) return a - b;
    if (!strcmp(op, "mul")) return (Wide)((UWide)a * (UWide)b);
    if (!strcmp(op, "div")) return b == 0 ? -1 : a / b;
    if (!strcmp(op, "rem")) return b == 0 ? a : a % b;
    if (!strcmp(op, "min")) return a < b ? a : b;
    if (!strcmp(op, "max")) return a < b ? b : a;
    if (!strcmp(op, "and")) return ua & ub;
    if (!strcmp(op, "or")) return ua | ub;
    if (!strcmp(op, "xor")) return ua ^ ub;
    if (!strcmp(op, "shl")) return ub >= (uint64_t)width(e) ? 0 : (Wide)((UWide)a << ub);
    if (!strcmp(op, "shr"))
        return ub >= (uint64_t)width(e) ? (a < 0 ? -1 : 0) : shifted_right(a, ub);
    if (!strcmp(op, "umulhi")) return (Wide)(((UWide)ua * ub) >> width(e));
    if (!strcmp(op, "neg")) return -a;
    ck_assert_str_eq(op, "abs");
    return a < 0 ? -a : a;
}

static const char *const int_ops[] = {"add", "sub", "mul", "div", "rem", "min",    "max", "and",
                                      "or",  "xor", "shl", "shr", "neg", "umulhi", "abs"};
enum { INT_OPS = sizeof int_ops / sizeof *int_ops };

START_TEST(integer_operations) {
    const char *op = int_ops[_i];
    for (int e = 0; e < ELEMS; e++) {
        if (is_float((Elem)e)) continue;
        Lanes x = lanes((Elem)e, 1), y = lanes((Elem)e, 2);
        bool unary = !strcmp(op, "neg") || !strcmp(op, "abs");
        Lanes out = unary ? apply1(op, "", x.elem, &x) : apply2(op, "", x.elem, &x, &y);
        for (int i = 0; i < LANES; i++) {
            Wide want = int_result(op, x.elem, whole(&x, i), whole(&y, i));
            EXPECT_LANE(out, i, (uint64_t)elem_wrap(x.elem, (int64_t)(uint64_t)want),
                        elem_info[e].text);
        }
    }
}
END_TEST

/* ---- floats ---- */

static double lesser(double a, double b, bool nan_wins) {
    if (isnan(a) || isnan(b))
        return nan_wins || (isnan(a) && isnan(b)) ? (double)NAN : isnan(a) ? b : a;
    if (a == b) return signbit(a) ? a : b;
    return a < b ? a : b;
}

static double greater(double a, double b, bool nan_wins) {
    double r = -lesser(-a, -b, nan_wins);
    return isnan(r) ? (double)NAN : r;
}

static double float_result(const char *op, double a, double b) {
    if (!strcmp(op, "add")) return a + b;
    if (!strcmp(op, "sub")) return a - b;
    if (!strcmp(op, "mul")) return a * b;
    if (!strcmp(op, "rem")) return isinf(b) ? a : fabs(fmod(a, b)) == 0 ? 0 : fmod(a, b);
    if (!strcmp(op, "min")) return lesser(a, b, false);
    if (!strcmp(op, "max")) return greater(a, b, false);
    if (!strcmp(op, "neg")) return copysign(a, signbit(a) ? 1 : -1);
    if (!strcmp(op, "abs")) return copysign(a, 1);
    ck_assert(!strncmp(op, "div", 3));
    return a / b;
}

static const char *const float_ops[] = {"add", "sub", "mul", "div", "div_rn",
                                        "rem", "min", "max", "neg", "abs"};
enum { FLOAT_OPS = sizeof float_ops / sizeof *float_ops };

START_TEST(float_operations) {
    const char *op = float_ops[_i];
    for (int e = 0; e < ELEMS; e++) {
        if (!is_float((Elem)e)) continue;
        Lanes x = lanes((Elem)e, 3), y = lanes((Elem)e, 4);
        bool unary = !strcmp(op, "neg") || !strcmp(op, "abs");
        x.bits[50] = y.bits[51] = elem_from_double(x.elem, 0.0);
        x.bits[51] = y.bits[50] = elem_from_double(x.elem, -0.0);
        pack(&x), pack(&y);
        Lanes out = unary ? apply1(op, "", x.elem, &x) : apply2(op, "", x.elem, &x, &y);
        for (int i = 0; i < LANES; i++) {
            double want = float_result(op, real(&x, i), real(&y, i));
            EXPECT_LANE(out, i, elem_from_double(x.elem, want), elem_info[e].text);
        }
    }
}
END_TEST

START_TEST(nan_may_win) {
    for (int e = EL_F8E4M3; e <= EL_F64; e++) {
        Lanes x = lanes((Elem)e, 5), y = lanes((Elem)e, 6);
        Lanes low = apply2("min", " nan=1", x.elem, &x, &y);
        Lanes high = apply2("max", " nan=1", x.elem, &x, &y);
        for (int i = 0; i < LANES; i++) {
            double a = real(&x, i), b = real(&y, i);
            EXPECT_LANE(low, i, elem_from_double(x.elem, lesser(a, b, true)), "min");
            EXPECT_LANE(high, i, elem_from_double(x.elem, greater(a, b, true)), "max");
        }
    }
}
END_TEST

START_TEST(fma_rounds_once) {
    for (int e = EL_F8E4M3; e <= EL_F64; e++) {
        Lanes x = lanes((Elem)e, 7), y = lanes((Elem)e, 8), z = lanes((Elem)e, 9);
        Lanes out = apply("fma %a, %b, %c", x.elem, (Lanes *[]){&x, &y, &z}, 3);
        for (int i = 0; i < LANES; i++) {
            double a = real(&x, i), b = real(&y, i), c = real(&z, i);
            /* 64 bits hold the exact sum of these small ones; wider types have an fma of their own
             */
            double want = e == EL_F64   ? fma(a, b, c)
                          : e == EL_F32 ? (double)fmaf((float)a, (float)b, (float)c)
                                        : (double)((long double)a * b + c);
            EXPECT_LANE(out, i, elem_from_double(x.elem, want), elem_info[e].text);
        }
    }
    Lanes x = lanes(EL_BF16, 7), y = x, z = x;
    x.bits[0] = x.bits[1] = elem_from_double(EL_BF16, 1.0078125);
    y.bits[0] = y.bits[1] = elem_from_double(EL_BF16, 1.5); /* the product is a tie */
    z.bits[0] = elem_from_double(EL_BF16, 0x1p-100);
    z.bits[1] = elem_from_double(EL_BF16, -0x1p-100);
    pack(&x), pack(&y), pack(&z);
    Lanes out = apply("fma %a, %b, %c", EL_BF16, (Lanes *[]){&x, &y, &z}, 3);
    ck_assert(real(&out, 0) == 1.515625 && real(&out, 1) == 1.5078125);
    /* 257 * 65281 = 2^24 + 1: a tie again, and in fp64 the sum would be rounded to it first */
    x = lanes(EL_F32, 7), y = x, z = x;
    x.bits[0] = x.bits[1] = elem_from_double(EL_F32, 257 * 0x1p-12);
    y.bits[0] = y.bits[1] = elem_from_double(EL_F32, 65281 * 0x1p-12);
    z.bits[0] = elem_from_double(EL_F32, 0x1p-60);
    z.bits[1] = elem_from_double(EL_F32, -0x1p-60);
    pack(&x), pack(&y), pack(&z);
    out = apply("fma %a, %b, %c", EL_F32, (Lanes *[]){&x, &y, &z}, 3);
    ck_assert(real(&out, 0) == 1 + 0x1p-23 && real(&out, 1) == 1);
}
END_TEST

static double rsqrt_of(double x) {
    return 1 / sqrt(x);
}

static double exp10_of(double x) {
    return pow(10, x);
}

static double rcp_of(double x) {
    return 1 / x;
}

START_TEST(math_functions) {
    static const struct {
        const char *name;
        double (*fn)(double);
    } fns[] = {{"exp", exp},     {"exp2", exp2},    {"exp10", exp10_of}, {"expm1", expm1},
               {"log", log},     {"log2", log2},    {"log10", log10},    {"log1p", log1p},
               {"sin", sin},     {"cos", cos},      {"tan", tan},        {"asin", asin},
               {"acos", acos},   {"atan", atan},    {"sinh", sinh},      {"cosh", cosh},
               {"tanh", tanh},   {"asinh", asinh},  {"acosh", acosh},    {"atanh", atanh},
               {"sqrt", sqrt},   {"sqrt_rn", sqrt}, {"rsqrt", rsqrt_of}, {"cbrt", cbrt},
               {"floor", floor}, {"ceil", ceil},    {"trunc", trunc},    {"rint", rint},
               {"round", round}, {"erf", erf},      {"erfc", erfc},      {"rcp", rcp_of}};
    ck_assert_int_eq(MATHS, sizeof fns / sizeof *fns);
    for (int k = 0; k < MATHS; k++)
        for (int e = EL_F8E4M3; e <= EL_F64; e++) {
            char attr[64];
            snprintf(attr, sizeof attr, " func=%s", fns[k].name);
            Lanes x = lanes((Elem)e, 10), out = apply1("math", attr, x.elem, &x);
            for (int i = 0; i < LANES; i++) {
                double want = fns[k].fn(real(&x, i));
                if (e != EL_F64) want = (double)(float)want;
                EXPECT_LANE(out, i, elem_from_double(x.elem, want), fns[k].name);
            }
        }
}
END_TEST

START_TEST(math_functions_of_two) {
    static const struct {
        const char *name;
        double (*fn)(double, double);
    } fns[] = {
        {"pow", pow}, {"fmod", fmod}, {"atan2", atan2}, {"hypot", hypot}, {"copysign", copysign}};
    ck_assert_int_eq(MATH2S, sizeof fns / sizeof *fns);
    for (int k = 0; k < MATH2S; k++)
        for (int e = EL_F8E4M3; e <= EL_F64; e++) {
            char attr[64];
            snprintf(attr, sizeof attr, " func2=%s", fns[k].name);
            Lanes x = lanes((Elem)e, 16), y = lanes((Elem)e, 17);
            Lanes out = apply2("math2", attr, x.elem, &x, &y);
            for (int i = 0; i < LANES; i++) {
                double want = fns[k].fn(real(&x, i), real(&y, i));
                if (e != EL_F64) want = (double)(float)want;
                EXPECT_LANE(out, i, elem_from_double(x.elem, want), fns[k].name);
            }
        }
}
END_TEST

/* ---- comparison, choice, conversion ---- */

START_TEST(comparisons) {
    static const char *const preds[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    for (int e = 0; e < ELEMS; e++)
        for (int k = 0; k < 6; k++) {
            char attr[32];
            snprintf(attr, sizeof attr, " pred=%s", preds[k]);
            Lanes x = lanes((Elem)e, 11), y = lanes((Elem)e, 12);
            for (int i = 40; i < 50; i++) y.bits[i] = x.bits[i];
            pack(&y);
            Lanes out = apply2("cmp", attr, EL_I1, &x, &y);
            for (int i = 0; i < LANES; i++) {
                bool real_ = is_float((Elem)e);
                bool unordered = real_ && (isnan(real(&x, i)) || isnan(real(&y, i)));
                int order = real_ ? (real(&x, i) > real(&y, i)) - (real(&x, i) < real(&y, i))
                                  : (whole(&x, i) > whole(&y, i)) - (whole(&x, i) < whole(&y, i));
                const bool ordered[] = {order == 0, order != 0, order<0, order <= 0, order> 0,
                                        order >= 0};
                EXPECT_LANE(out, i, unordered ? k == 1 : ordered[k], preds[k]);
            }
        }
}
END_TEST

START_TEST(selections) {
    for (int e = 0; e < ELEMS; e++) {
        Lanes c = lanes(EL_I1, 13), x = lanes((Elem)e, 14), y = lanes((Elem)e, 15);
        Lanes out = apply("select %a, %b, %c", x.elem, (Lanes *[]){&c, &x, &y}, 3);
        for (int i = 0; i < LANES; i++)
            ck_assert_uint_eq(out.bits[i], c.bits[i] ? x.bits[i] : y.bits[i]);
    }
}
END_TEST

/* False: the value needs more bits than this formula has. */
static bool cast_result(const Lanes *x, int i, Elem to, uint64_t *want) {
    Elem from = x->elem;
    if (!is_float(to) && !is_float(from)) {
        Wide v = whole(x, i);
        *want = to == EL_I1 ? v != 0 : (uint64_t)elem_wrap(to, (int64_t)(uint64_t)v);
    } else if (!is_float(to)) {
        double v = real(x, i);
        Wide least = is_signed(to) ? -((Wide)1 << (width(to) - 1)) : 0;
        Wide most = is_signed(to) ? -least - 1 : ((Wide)1 << width(to)) - 1;
        Wide whole_v = isnan(v) ? 0 : v > 1e30 ? most : v < -1e30 ? least : (Wide)v;
        if (whole_v < least) whole_v = least;
        if (whole_v > most) whole_v = most;
        *want = to == EL_I1 ? v != 0 : (uint64_t)whole_v;
    } else if (!is_float(from)) {
        long double v = (long double)whole(x, i); /* 64 bits of it: exact */
        if (to == EL_F32)
            *want = elem_from_double(to, (double)(float)v);
        else if (to != EL_F64 && fabsl(v) > 0x1p53L)
            return false;
        else
            *want = elem_from_double(to, (double)v);
    } else {
        *want = elem_from_double(to, real(x, i));
    }
    return true;
}

START_TEST(casts) {
    Elem from = (Elem)_i;
    for (int to = 0; to < ELEMS; to++) {
        Lanes x = lanes(from, 16), out = apply1("cast", "", (Elem)to, &x);
        uint64_t want = 0;
        for (int i = 0; i < LANES; i++)
            if (cast_result(&x, i, (Elem)to, &want)) EXPECT_LANE(out, i, want, elem_info[to].text);
    }
}
END_TEST

START_TEST(casts_toward_zero) {
    static const Elem from[] = {EL_F32, EL_F64}, to[] = {EL_F16, EL_BF16, EL_F32};
    for (int f = 0; f < 2; f++)
        for (int t = 0; t < 3; t++) {
            if (from[f] == to[t]) continue;
            Lanes x = lanes(from[f], 17), out = apply1("cast", " rtz=1", to[t], &x);
            for (int i = 0; i < LANES; i++) {
                double v = real(&x, i), got = elem_to_double(to[t], out.bits[i]);
                if (isnan(v) || isinf(v)) {
                    ck_assert(isnan(v) ? isnan(got) : got == v);
                    continue;
                }
                /* not beyond v, and the number after it is */
                double next = elem_to_double(to[t], (uint64_t)(out.bits[i] + 1));
                ck_assert(fabs(got) <= fabs(v) && !(fabs(next) <= fabs(v)));
            }
        }
}
END_TEST

START_TEST(bitcasts) {
    for (int from = 0; from < ELEMS; from++)
        for (int to = 0; to < ELEMS; to++) {
            if (width((Elem)from) != width((Elem)to)) continue;
            Lanes x = lanes((Elem)from, 18), out = apply1("bitcast", "", (Elem)to, &x);
            size_t size = (size_t)elem_info[from].bytes;
            ck_assert_mem_eq(out.memory, x.memory, LANES * size);
        }
}
END_TEST

START_TEST(offsets_widen_by_their_sign) {
    static uint8_t bytes[1024];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 37);
    for (int e = 0; e < ELEMS; e++) {
        if (is_float((Elem)e)) continue;
        Lanes x = lanes((Elem)e, 19);
        for (int i = 0; i < LANES; i++)
            x.bits[i] = (uint64_t)elem_wrap(x.elem, is_signed(x.elem) ? i * 3 - 96 : i * 3);
        pack(&x);
        char text[1024];
        const char *t = elem_info[e].text;
        uint8_t out[LANES];
        snprintf(text, sizeof text,
                 "kernel @k(%%x: ptr<%s>, %%m: ptr<u8>, %%o: ptr<u8>) {\n"
                 "  %%i: i32[64] = arange start=0 end=64\n  %%xs: ptr<%s>[64] = splat %%x\n"
                 "  %%xp: ptr<%s>[64] = addptr %%xs, %%i\n  %%v: %s[64] = load %%xp\n"
                 "  %%ms: ptr<u8>[64] = splat %%m\n  %%mp: ptr<u8>[64] = addptr %%ms, %%v\n"
                 "  %%r: u8[64] = load %%mp\n  %%os: ptr<u8>[64] = splat %%o\n"
                 "  %%op: ptr<u8>[64] = addptr %%os, %%i\n  store %%op, %%r\n  return\n}\n",
                 t, t, t, t);
        Fixture f = fixture();
        give_buffer(&f, "x", x.memory, sizeof x.memory, NULL);
        f.arg[f.nargs++].p = (uint64_t)(uintptr_t)(bytes + 512);
        f.buffer[f.nbuffers++] = (InterpBuffer){.name = "m", .base = bytes, .bytes = sizeof bytes};
        give_buffer(&f, "o", out, sizeof out, NULL);
        expect_ok(&f, text);
        for (int i = 0; i < LANES; i++) ck_assert_uint_eq(out[i], bytes[512 + (int64_t)x.bits[i]]);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("interp_ops");
    TCase *t = tcase_create("ops");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, integer_operations, 0, INT_OPS);
    tcase_add_loop_test(t, float_operations, 0, FLOAT_OPS);
    tcase_add_test(t, nan_may_win);
    tcase_add_test(t, fma_rounds_once);
    tcase_add_test(t, math_functions);
    tcase_add_test(t, math_functions_of_two);
    tcase_add_test(t, comparisons);
    tcase_add_test(t, selections);
    tcase_add_loop_test(t, casts, 0, ELEMS);
    tcase_add_test(t, casts_toward_zero);
    tcase_add_test(t, bitcasts);
    tcase_add_test(t, offsets_widen_by_their_sign);
    suite_add_tcase(s, t);
    return run_suite(s);
}
