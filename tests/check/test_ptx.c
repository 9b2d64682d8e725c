/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_ptx.c: what instructions of PTX give on the PTX machine, against what the PTX ISA says: the
 * edges of each family. */
#include "tests/check/ptx_fixture.h"
#include "tests/run_suite.h"

typedef struct Gives { /* %rd1 at the end, of a lane */
    const char *body;
    int lane;
    uint64_t value;
} Gives;

static int give(PtxTest *t, const Gives *g) {
    char body[2000];
    snprintf(body, sizeof body, "%s\nst.global.b64 [%%rd8], %%rd1;", g->body);
    const char *said = run_body(t, body);
    bool ok = !said && t->out[g->lane] == g->value;
    if (!ok)
        fprintf(stderr, "%s: lane %d has 0x%llx, not 0x%llx%s%s\n", g->body, g->lane,
                (unsigned long long)t->out[g->lane], (unsigned long long)g->value, said ? ": " : "",
                said ? said : "");
    ptx_test_end(t);
    return !ok;
}

static void give_all(const Gives *g, size_t n) {
    static PtxTest t;
    int wrong = 0;
    memset(&t, 0, sizeof t);
    for (size_t i = 0; i < n; i++) wrong += give(&t, &g[i]);
    ck_assert_int_eq(wrong, 0);
}
#define GIVE_ALL(rows) give_all(rows, sizeof(rows) / sizeof *(rows))

/* An instruction of 32 bits whose result is %r1; of 16, %h1; of a predicate, %p1. */
#define W(text) text " cvt.u64.u32 %rd1, %r1;"
#define H(text) text " cvt.u64.u16 %rd1, %h1;"
#define P(text) text " selp.b64 %rd1, 1, 0, %p1;"
#define F(text) text " mov.b32 %r1, %f1; cvt.u64.u32 %rd1, %r1;"

START_TEST(integers) {
    static const Gives rows[] = {
        {W("mul.hi.s32 %r1, -2, 3;"), 0, 0xFFFFFFFF},
        {W("mul.hi.u32 %r1, 0xFFFFFFFE, 3;"), 0, 2},
        {"mul.wide.s32 %rd1, -2, 3;", 0, (uint64_t)-6},
        {"mul.wide.u32 %rd1, 0xFFFFFFFE, 3;", 0, 0x2FFFFFFFA},
        {"mul.hi.u64 %rd1, -1, -1;", 0, (uint64_t)-2},
        {"mul.hi.s64 %rd1, -1, 1;", 0, (uint64_t)-1},
        {"mad.wide.s32 %rd1, -2, 3, 7;", 0, 1},
        {W("mad.lo.s32 %r1, -2, 3, 7;"), 0, 1},
        {W("div.s32 %r1, -7, 2;"), 0, (uint32_t)-3},
        {W("rem.s32 %r1, -7, 2;"), 0, (uint32_t)-1},
        {W("div.s32 %r1, 0x80000000, -1;"), 0, 0x80000000},
        {W("min.s32 %r1, -1, 1;"), 0, 0xFFFFFFFF},
        {W("min.u32 %r1, -1, 1;"), 0, 1},
        {W("abs.s32 %r1, 0x80000000;"), 0, 0x80000000},
        {W("shl.b32 %r1, 1, 32;"), 0, 0},
        {W("shl.b32 %r1, 1, 0x101;"), 0, 0},
        {W("shr.u32 %r1, -1, 32;"), 0, 0},
        {W("shr.s32 %r1, 0x80000000, 64;"), 0, 0xFFFFFFFF},
        {"shl.b64 %rd1, 1, 64;", 0, 0},
        {"shr.s64 %rd1, -2, 200;", 0, (uint64_t)-1},
        {W("bfe.u32 %r1, 0xABCD1234, 8, 8;"), 0, 0x12},
        {W("bfe.s32 %r1, 0x00008000, 8, 8;"), 0, 0xFFFFFF80},
        {W("bfe.u32 %r1, -1, 0, 0;"), 0, 0},
        {W("bfe.s32 %r1, 0x80000000, 28, 8;"), 0, 0xFFFFFFF8},
        {W("bfe.s32 %r1, 0x80000000, 40, 8;"), 0, 0xFFFFFFFF},
        {W("bfe.u32 %r1, -1, 40, 8;"), 0, 0},
        {"bfe.u64 %rd1, -1, 32, 40;", 0, 0xFFFFFFFF},
        {W("bfi.b32 %r1, 0xF, 0, 4, 4;"), 0, 0xF0},
        {W("bfi.b32 %r1, -1, 0, 28, 8;"), 0, 0xF0000000},
        {W("bfi.b32 %r1, -1, 5, 32, 8;"), 0, 5},
        {W("bfi.b32 %r1, -1, 5, 0, 0;"), 0, 5},
        {W("bfind.u32 %r1, 0x10;"), 0, 4},
        {W("bfind.u32 %r1, 0;"), 0, 0xFFFFFFFF},
        {W("bfind.s32 %r1, -1;"), 0, 0xFFFFFFFF},
        {W("bfind.s32 %r1, 0xFFFFFF00;"), 0, 7},
        {W("clz.b32 %r1, 0;"), 0, 32},
        {W("clz.b64 %r1, 1;"), 0, 63},
        {W("popc.b64 %r1, -1;"), 0, 64},
        {W("brev.b32 %r1, 1;"), 0, 0x80000000},
        {W("prmt.b32 %r1, 0x33221100, 0x77665544, 0x7531;"), 0, 0x77553311},
        {W("prmt.b32 %r1, 0x80, 0x7F, 0x00C8;"), 0, 0x000000FF | 0x80800000},
        {W("shf.l.wrap.b32 %r1, 0x80000001, 0x1, 33;"), 0, 3},
        {W("shf.l.clamp.b32 %r1, 0x80000001, 0x1, 33;"), 0, 0x80000001},
        {W("shf.r.wrap.b32 %r1, 0x80000000, 0x1, 31;"), 0, 3},
        {W("shf.r.clamp.b32 %r1, 5, 7, 99;"), 0, 7},
        {W("lop3.b32 %r1, 0xF0, 0xCC, 0xAA, 0x80;"), 0, 0x80},
        {W("lop3.b32 %r1, 0xF0, 0xCC, 0xAA, 0x96;"), 0, 0xF0 ^ 0xCC ^ 0xAA},
        {W("cnot.b32 %r1, 0;"), 0, 1},
        {H("add.u16 %h1, 0xFFFF, 2;"), 0, 1},
        {W("add.u16x2 %r1, 0x0001FFFF, 0x00020001;"), 0, 0x00030000},
        {W("add.s16x2 %r1, 0x7FFF8000, 0x0001FFFF;"), 0, 0x80007FFF},
        {W("min.u16x2 %r1, 0x0001FFFF, 0xFFFF0001;"), 0, 0x00010001},
        {W("min.s16x2 %r1, 0x0001FFFF, 0xFFFE0001;"), 0, 0xFFFEFFFF},
        {W("max.s16x2 %r1, 0x0001FFFF, 0xFFFE0001;"), 0, 0x00010001},
        {W("max.u16x2 %r1, 0x0001FFFF, 0xFFFE0001;"), 0, 0xFFFEFFFF},
        {W("max.relu.s16x2 %r1, 0xFFFEFFFF, 0xFFFD0005;"), 0, 0x00000005},
        {W("min.relu.s32 %r1, -5, 3;"), 0, 0},
        {W("add.sat.s32 %r1, 0x7FFFFFFF, 1;"), 0, 0x7FFFFFFF},
        {W("add.sat.s32 %r1, -2, 1;"), 0, 0xFFFFFFFF},
        {W("sub.sat.s32 %r1, 0x80000000, 1;"), 0, 0x80000000},
        {W("sub.sat.s32 %r1, 0, 0x80000000;"), 0, 0x7FFFFFFF},
        /* the ISA's table of modes, as an H100 has it, too */
        {W("prmt.b32.f4e %r1, 0x33221100, 0x77665544, 6;"), 0, 0x55443322},
        {W("prmt.b32.b4e %r1, 0x33221100, 0x77665544, 1;"), 0, 0x66770011},
        {W("prmt.b32.rc8 %r1, 0x33221100, 0x77665544, 3;"), 0, 0x33333333},
        {W("prmt.b32.ecl %r1, 0x33221100, 0x77665544, 2;"), 0, 0x33222222},
        {W("prmt.b32.ecr %r1, 0x33221100, 0x77665544, 2;"), 0, 0x22221100},
        {W("prmt.b32.rc16 %r1, 0x33221100, 0x77665544, 7;"), 0, 0x33223322},
    };
    GIVE_ALL(rows);
}
END_TEST

START_TEST(conversions) {
    static const Gives rows[] = {
        {W("cvt.s32.s8 %r1, 0x80;"), 0, 0xFFFFFF80},
        {W("cvt.sat.s8.s32 %r1, 300;"), 0, 127},
        {W("cvt.sat.u8.s32 %r1, -5;"), 0, 0},
        {W("cvt.sat.s8.s32 %r1, -300;"), 0, 0xFFFFFF80},
        {W("cvt.rzi.s32.f32 %r1, 0fC0200000;"), 0, (uint32_t)-2},
        {W("cvt.rni.s32.f32 %r1, 0f40200000;"), 0, 2},
        {W("cvt.rmi.s32.f32 %r1, 0fC0200000;"), 0, (uint32_t)-3},
        {W("cvt.rpi.s32.f32 %r1, 0fC0200000;"), 0, (uint32_t)-2},
        {W("cvt.rzi.s32.f32 %r1, 0f7F800000;"), 0, 0x7FFFFFFF},
        {W("cvt.rzi.u32.f32 %r1, 0fBF800000;"), 0, 0},
        {W("cvt.rzi.s32.f32 %r1, 0f7FC00000;"), 0, 0},
        {"cvt.rzi.s64.f32 %rd1, 0f7FC00000;", 0, UINT64_C(1) << 63},
        {F("cvt.rn.f32.s32 %f1, 16777217;"), 0, 0x4B800000},
        {F("cvt.rp.f32.s32 %f1, 16777217;"), 0, 0x4B800001},
        {F("cvt.rz.f32.u32 %f1, 0xFFFFFFFF;"), 0, 0x4F7FFFFF},
        {H("cvt.rn.f16.f32 %h1, 0f477FF000;"), 0, 0x7C00}, /* 65520: a tie goes beyond */
        {H("cvt.rz.f16.f32 %h1, 0f477FF000;"), 0, 0x7BFF},
        {H("cvt.rn.f16.f32 %h1, 0f33000000;"), 0, 0}, /* half of the least */
        {H("cvt.rn.f16.f32 %h1, 0f33000001;"), 0, 1},
        {H("cvt.rn.bf16.f32 %h1, 0f3F808000;"), 0, 0x3F80},
        {H("cvt.rn.bf16.f32 %h1, 0f3F818000;"), 0, 0x3F82},
        {W("cvt.rna.tf32.f32 %r1, 0f3F801000;"), 0, 0x3F802000},
        {W("cvt.rn.f16x2.f32 %r1, 0f3F800000, 0f40000000;"), 0, 0x3C004000},
        {H("cvt.rn.satfinite.e4m3x2.f32 %h1, 0f44000000, 0f3F800000;"), 0, 0x7E38},
        {H("cvt.rn.satfinite.e5m2x2.f32 %h1, 0f7F800000, 0f3F800000;"), 0, 0x7B3C},
        {F("cvt.sat.f32.f32 %f1, 0f7FC00000;"), 0, 0},
        {F("cvt.sat.f32.f32 %f1, 0f40000000;"), 0, 0x3F800000},
        {F("cvt.rni.f32.f32 %f1, 0fBF000000;"), 0, 0x80000000},
        {F("cvt.f32.f16 %f1, 0x0001;"), 0, 0x33800000},
        /* Half of a pair is known where what it is made of is. */
        {F(".reg .s8 %s<4>; mov.b32 {%s0, %s1, %s2, %s3}, 0x0480FF02; cvt.rn.f32.s8 %f1, %s2;"), 0,
         0xC3000000},
        {F(".reg .u8 %s<4>; mov.b32 {%s0, %s1, %s2, %s3}, 0x0480FF02; cvt.rn.f32.u8 %f1, %s2;"), 0,
         0x43000000},
        {H("cvt.rn.f16x2.f32 %r1, %f39, 0f3F800000; mov.b32 {%h1, _}, %r1;"), 0, 0x3C00},
        {H("cvt.rn.satfinite.e4m3x2.f32 %h2, %f39, 0f3F800000; cvt.rn.f16x2.e4m3x2 %r1, %h2;"
           "mov.b32 {%h1, _}, %r1;"),
         0, 0x3C00},
    };
    GIVE_ALL(rows);
}
END_TEST

START_TEST(floats) {
    static const Gives rows[] = {
        {F("min.f32 %f1, 0f7FC00000, 0f3F800000;"), 0, 0x3F800000},
        {F("max.f32 %f1, 0f3F800000, 0fFFC00000;"), 0, 0x3F800000},
        {F("min.NaN.f32 %f1, 0f7FC00000, 0f3F800000;"), 0, 0x7FFFFFFF},
        {F("min.f32 %f1, 0f7FC00001, 0f7FC00000;"), 0, 0x7FFFFFFF},
        {F("min.f32 %f1, 0f00000000, 0f80000000;"), 0, 0x80000000},
        {F("max.f32 %f1, 0f80000000, 0f00000000;"), 0, 0},
        /* the smaller magnitude of -3 and 2, negative; the larger one of -3 and -2, positive */
        {F("min.xorsign.abs.f32 %f1, 0fC0400000, 0f40000000;"), 0, 0xC0000000},
        {F("max.xorsign.abs.f32 %f1, 0fC0400000, 0fC0000000;"), 0, 0x40400000},
        {"max.NaN.xorsign.abs.bf16x2 %r1, 0xC0403F80, 0xC000C000;\ncvt.u64.u32 %rd1, %r1;", 0,
         0x4040C000},
        {F("add.rn.f32 %f1, 0f7F800000, 0fFF800000;"), 0, 0x7FFFFFFF},
        {F("add.rz.f32 %f1, 0f3F800000, 0f33FFFFFF;"), 0, 0x3F800000},
        {F("add.rp.f32 %f1, 0f3F800000, 0f00000001;"), 0, 0x3F800001},
        {F("add.ftz.f32 %f1, 0f00000001, 0f00000001;"), 0, 0},
        {F("fma.rn.f32 %f1, 0f3F800001, 0f3F800001, 0fBF800002;"), 0, 0x28800000},
        {F("mul.sat.f32 %f1, 0f40000000, 0f40000000;"), 0, 0x3F800000},
        {F("neg.f32 %f1, 0f00000000;"), 0, 0x80000000},
        {F("abs.f32 %f1, 0f80000000;"), 0, 0},
        {F("copysign.f32 %f1, 0f80000000, 0f3F800000;"), 0, 0xBF800000},
        {F("ex2.approx.f32 %f1, 0fFF800000;"), 0, 0},
        {F("lg2.approx.f32 %f1, 0f00000000;"), 0, 0xFF800000},
        {F("sqrt.rn.f32 %f1, 0fBF800000;"), 0, 0x7FFFFFFF},
        {F("rcp.rn.f32 %f1, 0f80000000;"), 0, 0xFF800000},
        /* 4 (1 + 2^-40), of which .ftz takes the upper half alone */
        /* NaNs, as an H100 makes them. */
        {"add.rn.f64 %fd1, 0d7FF8111111111111, 0dFFF8222222222222; mov.b64 %rd1, %fd1;", 0,
         0xFFF8222222222222},
        {"add.rn.f64 %fd1, 0d7FF0333333333333, 0d3FF0000000000000; mov.b64 %rd1, %fd1;", 0,
         0x7FF8333333333333},
        {"mul.rn.f64 %fd1, 0d0000000000000000, 0d7FF0000000000000; mov.b64 %rd1, %fd1;", 0,
         0xFFF8000000000000},
        {"div.rn.f64 %fd1, 0d7FF8111111111111, 0dFFF8222222222222; mov.b64 %rd1, %fd1;", 0,
         0x7FF8111111111111},
        {"fma.rn.f64 %fd1, 0d7FF8111111111111, 0d3FF0000000000000, 0dFFF8222222222222;"
         " mov.b64 %rd1, %fd1;",
         0, 0xFFF8222222222222},
        {"max.f64 %fd1, 0d7FF0333333333333, 0d7FF8111111111111; mov.b64 %rd1, %fd1;", 0,
         0x7FF8111111111111},
        {"cvt.rmi.f64.f64 %fd1, 0d7FF0333333333333; mov.b64 %rd1, %fd1;", 0, 0x7FF8333333333333},
        {"cvt.f64.f32 %fd1, 0f7F800001; mov.b64 %rd1, %fd1;", 0, 0x7FF8000020000000},
        {"cvt.f64.f32 %fd1, 0fFFFFFFFF; mov.b64 %rd1, %fd1;", 0, 0xFFFFFFFFE0000000},
        {"mov.b16 %h1, 0x7E12; cvt.f64.f16 %fd1, %h1; mov.b64 %rd1, %fd1;", 0, 0x7FF8480000000000},
        {F("cvt.rn.f32.f64 %f1, 0d7FF8123456789ABC;"), 0, 0x7FC091A2},
        {F("cvt.rn.f32.f64 %f1, 0dFFF0000000000001;"), 0, 0xFFC00000},
        {H("cvt.rn.f16.f64 %h1, 0d7FF8123456789ABC;"), 0, 0x7E04},
        {F("cvt.rn.f32.f64 %f1, 0d7FF0000000000000;"), 0, 0x7F800000},
        {"rsqrt.approx.ftz.f64 %fd1, 0d4010000000001000; mov.b64 %rd1, %fd1;", 0,
         0x3FE0000000000000},
        {"rsqrt.approx.f64 %fd1, 0d4010000000001000; mov.b64 %rd1, %fd1;", 0, 0x3FDFFFFFFFFFF000},
        {"rsqrt.approx.f64 %fd1, 0d0000000000000001; mov.b64 %rd1, %fd1;", 0, 0x6180000000000000},
        {H("add.f16 %h1, 0x7BFF, 0x4C00;"), 0, 0x7C00},
        {H("fma.rn.relu.f16 %h1, 0xBC00, 0x3C00, 0x0000;"), 0, 0},
        {W("add.f16x2 %r1, 0x3C003C00, 0x40003C00;"), 0, 0x42004000},
        {P("setp.lt.f32 %p1, 0f7FC00000, 0f00000000;"), 0, 0},
        {P("setp.ltu.f32 %p1, 0f7FC00000, 0f00000000;"), 0, 1},
        {P("setp.ne.f32 %p1, 0f7FC00000, 0f00000000;"), 0, 0},
        {P("setp.neu.f32 %p1, 0f7FC00000, 0f7FC00000;"), 0, 1},
        {P("setp.num.f32 %p1, 0f7FC00000, 0f00000000;"), 0, 0},
        {P("setp.nan.f32 %p1, 0f7FC00000, 0f00000000;"), 0, 1},
        {P("setp.eq.f32 %p1, 0f80000000, 0f00000000;"), 0, 1},
        /* 2 < 1 and 1 < 2 of halves; NaN < 1 and -1 < 1 of bf16 */
        {P("setp.lt.f16x2 %p1|%p2, 0x3C004000, 0x40003C00;"), 0, 0},
        {P("setp.lt.f16x2 %p2|%p1, 0x3C004000, 0x40003C00;"), 0, 1},
        {P("setp.ltu.bf16x2 %p1|%p2, 0xBF807FC0, 0x3F803F80; and.pred %p1, %p1, %p2;"), 0, 1},
        {P("setp.lt.bf16x2 %p1, 0xBF807FC0, 0x3F803F80;"), 0, 0},
        {P("setp.eq.u32 %p3, 0, 1; setp.lt.or.f16x2 %p2|%p1, 0x3C004000, 0x40003C00, %p3;"), 0, 1},
        {P("setp.eq.u32 %p3, 0, 1; setp.lt.and.f16x2 %p2|%p1, 0x3C004000, 0x40003C00, %p3;"), 0, 0},
        /* numbers with a fraction are doubles until it is known what reads them */
        {F("mov.f32 %f1, 1.5;"), 0, 0x3FC00000},
        {F("add.f32 %f1, 0f3F800000, -0.25;"), 0, 0x3F400000},
        {F("mov.f32 %f1, 1e2;"), 0, 0x42C80000},
        {F("mov.f32 %f1, .5;"), 0, 0x3F000000},
        {F("mov.f32 %f1, 0d3FF8000000000000;"), 0, 0x3FC00000},
        {H("cvt.rn.f16.f32 %h1, 2.5;"), 0, 0x4100},
        {"mov.f64 %fd1, 0f3FC00000; mov.b64 %rd1, %fd1;", 0, 0x3FF8000000000000},
        {"mov.b64 %rd1, -1.5;", 0, 0xBFF8000000000000},
        {P("setp.hi.u32 %p1, -1, 0;"), 0, 1},
        {P("setp.lo.u32 %p1, -1, 0;"), 0, 0},
        {P("setp.gt.s32 %p1|%p2, -1, 0; mov.pred %p1, %p2;"), 0, 1},
        {P("setp.eq.u32 %p2, 1, 1; setp.eq.and.u32 %p1, 1, 1, !%p2;"), 0, 0},
        {W("set.eq.u32.f32 %r1, 0f3F800000, 0f3F800000;"), 0, 0xFFFFFFFF},
        {F("set.eq.f32.f32 %f1, 0f3F800000, 0f3F800000;"), 0, 0x3F800000},
    };
    GIVE_ALL(rows);
}
END_TEST

START_TEST(lanes_of_a_warp) {
    static const Gives rows[] = {
        {W("shfl.sync.up.b32 %r1, %r9, 1, 0, -1;"), 0, 0},
        {W("shfl.sync.up.b32 %r1, %r9, 3, 0, -1;"), 5, 2},
        {W("shfl.sync.up.b32 %r1, %r9, 1, 0x1800, -1;"), 8, 8}, /* segments of 8 */
        {W("shfl.sync.up.b32 %r1, %r9, 1, 0x1800, -1;"), 9, 8},
        {W("shfl.sync.down.b32 %r1, %r9, 1, 31, -1;"), 31, 31},
        {W("shfl.sync.down.b32 %r1, %r9, 1, 0x181F, -1;"), 7, 7},
        {W("shfl.sync.bfly.b32 %r1, %r9, 16, 31, -1;"), 3, 19},
        /* Half of the lanes wait for the others, who come from behind. */
        {W("setp.lt.u32 %p1, %r9, 16; bra.uni T; B: mov.b32 %r2, 1; M: mov.b32 %r3, 0; "
           "shfl.sync.bfly.b32 %r1, %r9, 16, 31, -1; bra.uni E; "
           "T: @%p1 bra B; mov.b32 %r2, 2; bra.uni M; E: mov.b32 %r3, 1;"),
         3, 19},
        {W("shfl.sync.idx.b32 %r1, %r9, 2, 0x181F, -1;"), 13, 10},
        {W("shfl.sync.idx.b32 %r1, %r9, 40, 31, -1;"), 0, 8},
        {P("shfl.sync.down.b32 %r1|%p1, %r9, 1, 31, -1;"), 31, 0},
        {P("shfl.sync.down.b32 %r1|%p1, %r9, 1, 31, -1;"), 30, 1},
        {W("setp.lt.u32 %p1, %r9, 3; vote.sync.ballot.b32 %r1, %p1, -1;"), 9, 7},
        {P("setp.lt.u32 %p2, %r9, 3; vote.sync.all.pred %p1, %p2, -1;"), 0, 0},
        {P("setp.lt.u32 %p2, %r9, 3; vote.sync.any.pred %p1, %p2, -1;"), 9, 1},
        {P("setp.lt.u32 %p2, %r9, 3; vote.sync.uni.pred %p1, !%p2, -1;"), 0, 0},
        {W("redux.sync.add.s32 %r1, %r9, -1;"), 7, 496},
        {W("redux.sync.max.s32 %r1, %r9, -1;"), 7, 31},
        {W("and.b32 %r2, %r9, 1; match.any.sync.b32 %r1, %r2, -1;"), 1, 0xAAAAAAAA},
        {W("match.all.sync.b32 %r1|%p1, 5, -1;"), 1, 0xFFFFFFFF},
        {P("match.all.sync.b32 %r1|%p1, %r9, -1;"), 1, 0},
        {P("elect.sync _|%p1, -1;"), 0, 1},
        {P("elect.sync %r1|%p1, -1;"), 1, 0},
        {W("activemask.b32 %r1;"), 0, 0xFFFFFFFF},
    };
    GIVE_ALL(rows);
}
END_TEST

#define AT "mov.u32 %r2, sm; mad.lo.u32 %r2, %r9, 16, %r2;" /* a lane's 16 bytes */

START_TEST(memory) {
    static const Gives rows[] = {
        {"ld.global.u64 %rd2, [%rd8]; atom.global.add.u64 %rd1, [%rd9], 1;", 5, 5},
        {W("atom.global.cas.b32 %r1, [%rd8+4096], 0, 7; ld.global.u32 %r1, [%rd8+4096];"), 3, 7},
        {W("atom.global.inc.u32 %r1, [%rd9+4096], 2;"), 4, 1},
        {W("atom.global.dec.u32 %r1, [%rd9+4096], 2;"), 1, 2},
        {W("atom.global.min.s32 %r1, [%rd8+4096], -1; ld.global.u32 %r1, [%rd8+4096];"), 0,
         0xFFFFFFFF},
        {W("atom.global.max.u32 %r1, [%rd8+4096], -1; ld.global.u32 %r1, [%rd8+4096];"), 0,
         0xFFFFFFFF},
        {W("atom.global.exch.b32 _, [%rd8+4096], 9; ld.global.u32 %r1, [%rd8+4096];"), 0, 9},
        {W("red.global.add.f32 [%rd8+4096], 0f3F800000; ld.global.b32 %r1, [%rd8+4096];"), 0,
         0x3F800000},
        {W(AT "st.shared.v4.b32 [%r2], {1, 2, 3, %r9}; ld.shared.v2.b32 {_, %r1}, [%r2+8];"), 6, 6},
        {W(AT "st.shared.b32 [%r2], 0x8081; ld.shared.s8 %r1, [%r2];"), 6, 0xFFFFFF81},
        {W(AT "st.shared.b32 [%r2], 0x8081; ld.shared.s16 %r1, [%r2];"), 6, 0xFFFF8081},
        {W(AT "st.shared.b32 [%r2], 0x8081; ld.shared.u8 %r1, [%r2+1];"), 6, 0x80},
        {"mov.b64 %rd2, 0x1122334455667788; mov.b64 {%h1,%h2,%h3,%h4}, %rd2; mov.b64 %rd1, "
         "{%h4,%h3,%h2,%h1};",
         0, 0x7788556633441122},
        {"mov.u64 %rd2, sm; cvta.shared.u64 %rd2, %rd2; cvta.to.shared.u64 %rd3, %rd2; mov.u64 "
         "%rd1, sm; sub.u64 %rd1, %rd1, %rd3;",
         0, 0},
        /* cp.async: what is not read is 0; whether it is ignored is a predicate, too */
        {W(AT "cp.async.ca.shared.global [%r2], [%rd9], 8, 4; cp.async.wait_all; ld.shared.b32 "
              "%r1, [%r2+4];"),
         0, 0},
        {W(AT "setp.eq.u32 %p1, 0, 0; cp.async.ca.shared.global [%r2], [%rd9], 4, %p1; "
              "cp.async.wait_all; ld.shared.b32 %r1, [%r2];"),
         0, 0},
        /* bar with a count, mbarriers: a phase ends with its arrivals and its bytes */
        {W("bar.sync 1, 32; mov.u32 %r1, 3;"), 0, 3},
        {P("setp.eq.u32 %p3, %r9, 0; @%p3 mbarrier.init.shared.b64 [sm], 32; bar.sync 0; "
           "mbarrier.arrive.shared.b64 %rd2, [sm]; bar.sync 0; mbarrier.test_wait.shared.b64 %p1, "
           "[sm], %rd2;"),
         4, 1},
        {P("setp.eq.u32 %p3, %r9, 0; @%p3 mbarrier.init.shared.b64 [sm], 33; bar.sync 0; "
           "mbarrier.arrive.shared.b64 %rd2, [sm]; bar.sync 0; mbarrier.test_wait.shared.b64 %p1, "
           "[sm], %rd2;"),
         4, 0},
        {P("setp.eq.u32 %p3, %r9, 0; @%p3 mbarrier.init.shared.b64 [sm], 1; @%p3 "
           "mbarrier.arrive.expect_tx.shared.b64 _, [sm], 16; bar.sync 0; "
           "mbarrier.test_wait.parity.shared.b64 %p1, [sm], 0;"),
         4, 0},
        {P("setp.eq.u32 %p3, %r9, 0; @%p3 mbarrier.init.shared.b64 [sm], 1; @%p3 "
           "mbarrier.arrive.shared.b64 _, [sm]; bar.sync 0; mbarrier.test_wait.parity.shared.b64 "
           "%p1, [sm], 1;"),
         4, 0},
        {P("setp.eq.u32 %p3, %r9, 0; @%p3 mbarrier.init.shared.b64 [sm], 1; @%p3 "
           "mbarrier.arrive.shared.b64 _, [sm]; bar.sync 0; mbarrier.test_wait.parity.shared.b64 "
           "%p1, [sm], 0;"),
         4, 1},
        /* matrices: row r of lane r's address holds 16 r + 0, 1, …, as halves */
        {W(AT "shl.b32 %r3, %r9, 4; mad.lo.u32 %r3, %r3, 0x10001, 0x10000; st.shared.v4.b32 [%r2], "
              "{%r3, %r3, %r3, %r3}; bar.sync 0; ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, "
              "[%r2];"),
         5, 0x110010},
        {W(AT "shl.b32 %r3, %r9, 4; mad.lo.u32 %r3, %r3, 0x10001, 0x10000; st.shared.v4.b32 [%r2], "
              "{%r3, %r3, %r3, %r3}; bar.sync 0; "
              "ldmatrix.sync.aligned.m8n8.x1.trans.shared.b16 {%r1}, [%r2];"),
         5, 0x310021},
        {W("shl.b32 %r3, %r9, 16; or.b32 %r3, %r3, %r9; "
           "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r3;"),
         5, 0x000C0008},
        {W(AT "stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r2], {%r9}; bar.sync 0; "
              "ld.shared.b32 %r1, [sm+20];"),
         1, 5},
    };
    GIVE_ALL(rows);
}
END_TEST

/* Row r of a and column c of b are small numbers that differ: of elements e to a register, held by
 * lane l as the PTX ISA's figures for m16n8 have them. */
static uint64_t bits_of_small(const char *type, int v) {
    static const uint16_t half[] = {0, 0x3C00, 0x4000, 0x4200};
    static const uint16_t brain[] = {0, 0x3F80, 0x4000, 0x4040};
    static const uint8_t e4m3[] = {0, 0x38, 0x40, 0x44}, e5m2[] = {0, 0x3C, 0x40, 0x42};
    static const uint32_t single[] = {0, 0x3F800000, 0x40000000, 0x40400000};
    return !strcmp(type, "f16")    ? half[v]
           : !strcmp(type, "bf16") ? brain[v]
           : !strcmp(type, "tf32") ? single[v]
           : !strcmp(type, "e4m3") ? e4m3[v]
           : !strcmp(type, "e5m2") ? e5m2[v]
                                   : (uint64_t)v;
}

static int a_at(int row, int k) {
    return (row * 5 + k * 3) % 4;
}

static int b_at(int k, int column) {
    return (k * 7 + column * 2 + k / 5) % 4;
}

/* As a lane's registers in `out`: 4 of a, 2 of b; d comes behind them. */
static int multiplies(const char *type, const char *sum, int k) {
    static PtxTest t;
    static uint32_t in[32 * 8];
    int per = !strcmp(type, "tf32") ? 1 : strstr(type, "16") ? 2 : 4, bits = 32 / per, wrong = 0;
    int na = 16 * k / per / 32, nb = 8 * k / per / 32;
    char body[3000], outside[9000], *at = outside;
    for (int l = 0; l < 32; l++) {
        for (int r = 0; r < 6; r++) in[l * 8 + r] = 0;
        for (int i = 0; i < na * per; i++) {
            int r = i / per, row = l / 4 + (r & 1 ? 8 : 0);
            int kk = (l % 4) * per + i % per + (r >= 2 ? 4 * per : 0);
            in[l * 8 + r] |= (uint32_t)bits_of_small(type, a_at(row, kk)) << (bits * (i % per));
        }
        for (int i = 0; i < nb * per; i++) {
            int r = i / per, kk = (l % 4) * per + i % per + (r ? 4 * per : 0);
            in[l * 8 + 4 + r] |= (uint32_t)bits_of_small(type, b_at(kk, l / 4))
                                 << (bits * (i % per));
        }
    }
    memset(&t, 0, sizeof t);
    at += sprintf(at, ".global .align 16 .b32 in[256] = {");
    for (int i = 0; i < 256; i++) at += sprintf(at, "%s%u", i ? "," : "", in[i]);
    sprintf(at, "};");
    t.outside = outside;
    snprintf(body, sizeof body,
             "mov.u64 %%rd1, in; mad.wide.u32 %%rd1, %%r9, 32, %%rd1;\n"
             "ld.global.v4.b32 {%%r10,%%r11,%%r12,%%r13}, [%%rd1];\n"
             "ld.global.v2.b32 {%%r14,%%r15}, [%%rd1+16]; mov.b32 %%r0, 0;\n"
             "mma.sync.aligned.m16n8k%d.row.col.%s.%s.%s.%s {%%r1,%%r2,%%r3,%%r4}, {%s}, {%s}, "
             "{%%r0,%%r0,%%r0,%%r0};\n"
             "mad.wide.u32 %%rd2, %%r9, 16, %%rd9; st.global.v4.b32 [%%rd2], "
             "{%%r1,%%r2,%%r3,%%r4};",
             k, sum, type, type, sum, na == 4 ? "%r10,%r11,%r12,%r13" : "%r10,%r11",
             nb == 2 ? "%r14,%r15" : "%r14");
    const char *said = run_body(&t, body);
    for (int l = 0; l < 32 && !said; l++)
        for (int i = 0; i < 4; i++) {
            int row = l / 4 + (i >= 2 ? 8 : 0), column = l % 4 * 2 + i % 2, want = 0;
            for (int n = 0; n < k; n++) want += a_at(row, n) * b_at(n, column);
            int32_t has = ((int32_t *)t.out)[l * 4 + i];
            float f;
            memcpy(&f, &has, sizeof f);
            wrong += !strcmp(sum, "f32") ? f != (float)want : has != want;
        }
    if (said || wrong) fprintf(stderr, "%s k%d: %d wrong %s\n", type, k, wrong, said ? said : "");
    ptx_test_end(&t);
    return said || wrong;
}

START_TEST(products_of_every_type) {
    int wrong = multiplies("f16", "f32", 8) + multiplies("f16", "f32", 16) +
                multiplies("bf16", "f32", 8) + multiplies("bf16", "f32", 16) +
                multiplies("tf32", "f32", 4) + multiplies("tf32", "f32", 8) +
                multiplies("e4m3", "f32", 32) + multiplies("e5m2", "f32", 32) +
                multiplies("s8", "s32", 16) + multiplies("s8", "s32", 32) +
                multiplies("u8", "s32", 16) + multiplies("u8", "s32", 32);
    ck_assert_int_eq(wrong, 0);
}
END_TEST

int main(void) {
    Suite *s = suite_create("ptx");
    TCase *c = tcase_create("ptx");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, integers);
    tcase_add_test(c, conversions);
    tcase_add_test(c, floats);
    tcase_add_test(c, lanes_of_a_warp);
    tcase_add_test(c, memory);
    tcase_add_test(c, products_of_every_type);
    return run_suite(s, c);
}
