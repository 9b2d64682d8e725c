/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_ir_refused.c: tile IR that breaks a rule is refused, with the reason: each rule of the
 * verifier and of the reader by a small body or module, and texts that are too deep. */
#include "check/ir_fixture.h"
#include "tests/run_suite.h"

#include <stdio.h>

static void check_refused(const char *text, const char *why) {
    Session *s = new_session();
    if (setjmp(s->bail)) ck_abort_msg("out of memory");
    session_init(s);
    ck_assert_msg(!ir_parse(s, text, strlen(text)), "taken, but should be refused (%s):\n%s", why,
                  text);
    ck_assert_msg(strstr(all_said(s), why), "said\n%sand should say\n%s\nof\n%s", all_said(s), why,
                  text);
    ck_assert_int_eq(s->diags.errors, 1);
    end_session(s);
}

typedef struct Refused {
    const char *body, *why;
} Refused;

/* Bodies of `kernel @k(%p: ptr<f32>, %n: i32, %c: i1, %h: f16)`, each followed by a return. */
static const Refused bodies[] = {
    /* operands */
    {"%x: i32 = add %n", "too few operands"},
    {"%x: i32 = neg %n, %n", "too many operands"},
    {"%x: i32 = and %h, %h", "operand 0 has the wrong kind: f16"},
    {"%x: f16 = fma %n, %n, %n", "operand 0 has the wrong kind: i32"},
    {"%x: ptr<f32> = addptr %n, %n", "operand 0 has the wrong kind: i32"},
    {"%x: ptr<f32> = add %p, %p", "operand 0 has the wrong kind: ptr<f32>"},
    {"%x: i32 = select %n, %n, %n", "operand 0 has the wrong kind: i32"},
    {"%x: i32 = add %n, %y", "%y is not defined here"},
    {"%x: i32 = add %x, %n", "%x is not defined here"},
    {"%n: i32 = neg %n", "%n is defined twice"},
    {"%x: i64 = cast %n\n  %y: i64 = add %x, %n", "operands 0 and 1 differ in type: i64 and i32"},
    {"%x: i32[4] = splat %n\n  %y: i1[4] = cmp %x, %n pred=lt", "differ in type: i32[4] and i32"},
    {"%x: i1[4] = splat %c\n  %y: i32 = select %x, %n, %n", "differ in shape: i1[4] and i32"},
    {"%x: i64 = cast %n\n  %y: i32 = select %c, %n, %x",
     "operands 1 and 2 differ in type: i32 and i64"},
    /* results */
    {"%x: i64 = add %n, %n", "the result is i64 and should be i32"},
    {"%x: i32 = cmp %n, %n pred=lt", "the result is i32 and should be i1"},
    {"%x: f16 = load %p", "the result is f16 and should be f32"},
    {"%x: i32, %y: i32 = add %n, %n", "expected 1 result(s), not 2"},
    {"add %n, %n", "expected 1 result(s), not 0"},
    {"%x: i32 = store %p, %n", "expected 0 result(s), not 1"},
    /* attributes */
    {"%x: i1 = cmp %n, %n", "attribute 'pred' is missing"},
    {"%x: i1 = cmp %n, %n pred=no", "'pred' takes no such value"},
    {"%x: i1 = cmp %n, %n pred=lt pred=lt", "attribute 'pred' is given twice"},
    {"%x: i32 = add %n, %n axis=0", "'add' has no attribute 'axis'"},
    {"%x: i32 = add %n, %n nothing=0", "'add' has no attribute 'nothing'"},
    {"%x: i8 = const value=128", "128 does not fit i8"},
    {"%x: u8 = const value=-1", "-1 does not fit u8"},
    {"%x: i64 = const value=9223372036854775808", "does not fit i64"},
    {"%x: i64 = const value=99999999999999999999999", "is not a 64-bit integer"},
    {"%x: ptr<f32> = const value=1", "a constant pointer is 0"},
    /* shapes */
    {"%x: i32[3] = splat %n", "dimension 3 is not a power of two"},
    {"%x: i32[2097152] = splat %n", "out of range"},
    {"%x: i32[1024,2048] = splat %n", "more than 2^20 elements"},
    {"%x: i32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] = splat %n", "more than 20 dimensions"},
    {"%x: i32[4] = arange start=0 end=5", "the result must be i32[end - start]"},
    {"%x: i64[4] = arange start=0 end=4", "the result must be i32[end - start]"},
    {"%x: i32[4] = arange start=9223372036854775807 end=-9223372036854775805", "i32[end - start]"},
    {"%x: i32 = program_id axis=3", "axis must be 0, 1 or 2"},
    {"%x: i64 = program_id axis=0", "the result must be i32"},
    {"%x: i32[4] = splat %n\n  %y: i32[8] = splat %x", "takes a scalar to a tile of its type"},
    {"%x: i64[4] = splat %n", "takes a scalar to a tile of its type"},
    {"%x: i32[4] = splat %n\n  %y: i32[8] = broadcast %x", "only dimensions of size 1 repeat"},
    {"%x: i32[4] = splat %n\n  %y: i32[4,4] = broadcast %x", "keeps element type and rank"},
    {"%x: i32[4] = splat %n\n  %y: i32[8] = reshape %x",
     "keeps element type and number of elements"},
    {"%x: i32[4,8] = splat %n\n  %y: i32[8,4] = trans %x order=[1]",
     "one order entry per dimension"},
    {"%x: i32[4,8] = splat %n\n  %y: i32[8,4] = trans %x order=[1,1]", "no permutation"},
    {"%x: i32[4,8] = splat %n\n  %y: i32[8,4] = trans %x order=[1,40]", "no permutation"},
    {"%x: i32[4,8] = splat %n\n  %y: i32[4,8] = trans %x order=[1,0]", "no permutation"},
    {"%x: i32[4] = cast %n", "keeps the shape"},
    {"%x: i32 = cast %p", "pointers convert to and from 64-bit integers only"},
    {"%x: ptr<f32> = cast %n", "pointers convert to and from 64-bit integers only"},
    {"%x: i16 = bitcast %n", "keeps the shape and the size"},
    {"%x: f32 = load %p\n  %y: f32 = rounded %x arith=add direction=rz",
     "another number of operands"},
    {"%x: f32 = load %p\n  %y: f64 = rounded %x, %x arith=mul direction=rm",
     "gives the type of its operands"},
    {"%y: i32 = rounded %n, %n arith=mul direction=rp", "gives f32 or f64"},
    {"%x: i16 = cast %n\n  %y: f32 = rounded %x arith=cvt direction=rp",
     "keeps the shape, and converts f64 and integers of 32 and 64 bits"},
    {"%y: f32 = rounded %n arith=cvt", "direction"},
    /* memory */
    {"store %p, %n", "the value must be f32"},
    {"%x: f32 = load %p, %c, %n", "the other value must be f32"},
    {"%x: f32 = load %p cache=wb", "has no cache modifier 'wb'"},
    {"%x: f32 = load %p\n  store %p, %x cache=ca", "has no cache modifier 'ca'"},
    {"%x: i32 = buffer_alloc", "the result must be a buffer"},
    {"%x: shared<f32[4]> = buffer_alloc\n  %y: f32[8] = shared_load %x",
     "the result must be the tile of a shared buffer"},
    {"%x: shared<i32[4]> = buffer_alloc\n  shared_store %n, %x", "tile and buffer differ"},
    {"%x: shared<i32[4]> = buffer_alloc\n  %y: i32[4] = neg %x",
     "operand 0 has the wrong kind: shared<i32[4]>"},
    {"%x: shared<shared<i32[4]>> = buffer_alloc", "a buffer of a buffer"},
    {"%x: tensor<tensor<i32[4]>> = buffer_alloc", "a buffer of a buffer"},
    {"%x: tensor<i32[4]> = buffer_alloc\n  %y: i32[4] = shared_load %x",
     "the result must be the tile of a shared buffer"},
    {"%x: shared<0 x i32[4]> = buffer_alloc", "out of range: expected 1 to 1024"},
    {"%x: shared<1025 x i32[4]> = buffer_alloc", "out of range: expected 1 to 1024"},
    {"%x: shared<3 i32[4]> = buffer_alloc", "expected 'x'"},
    {"%x: shared<3 x i32[4]> = buffer_alloc slices=2", "of one slice 1 to 1024 are made"},
    {"%x: shared<i32[4]> = buffer_alloc slices=2000", "of one slice 1 to 1024 are made"},
    {"%x: shared<i32[4]> = buffer_alloc slices=0", "of one slice 1 to 1024 are made"},
    {"%x: i32 = add %n, %n stage=1 cluster=0", "only what a `for` is made of has a stage"},
    {"for %n, %n, %n { (%i: i32)\n yield stage=1 cluster=0\n }", "only what a `for` is made of"},
    {"for %n, %n, %n { (%i: i32)\n %x: i32 = add %n, %n stage=1\n yield\n }",
     "a stage and a cluster come together"},
    {"for %n, %n, %n { (%i: i32)\n %x: i32 = add %n, %n stage=-1 cluster=0\n yield\n }",
     "stages are 0 to 1024, clusters 0 to 65535"},
    {"for %n, %n, %n { (%i: i32)\n %x: i32 = add %n, %n stage=1 cluster=65536\n yield\n }",
     "stages are 0 to 1024, clusters 0 to 65535"},
    {"for %n, %n, %n { (%i: i32)\n %x: i32 = add %n, %n stage=1 cluster=0 role=1\n yield\n }",
     "role 0, all warps, is the only one yet"},
    {"%x: shared<3 x i32[4]> = buffer_alloc stride=15", "slices of 16 bytes do not lie so"},
    {"%x: shared<3 x i32[4]> = buffer_alloc stride=9000000000000000000",
     "slices of 16 bytes do not lie so"},
    {"%x: shared<3 x i32[4]> = buffer_alloc\n  %y: i32[4] = shared_load %x",
     "operand 0 is a buffer of 3 slices, one of which is to be named"},
    {"%x: shared<i32[4]> = buffer_alloc\n  %y: shared<i32[4]> = buffer_slice %x, %n",
     "operand 0 has no slices"},
    {"%x: shared<2 x i32[4]> = buffer_alloc\n  %y: shared<i32[8]> = buffer_slice %x, %n",
     "the result must be one slice of operand 0"},
    {"async_wait", "waits for no token and for no group"},
    {"async_wait %c pending=1", "operand 0 has the wrong kind: i1"},
    {"async_wait pending=-1", "0 to 1024 may be pending, not -1"},
    {"async_wait pending=1025", "0 to 1024 may be pending, not 1025"},
    {"%t: i32 = token_done", "the result must be a token"},
    {"%t: i32 = async_commit", "the result must be a token"},
    {"%t: token = token_done\n  %u: token = neg %t", "operand 0 has the wrong kind: token"},
    {"%t: shared<token> = buffer_alloc", "a buffer of tokens"},
    {"%x: f16[4] = splat %h\n  %y: f16[4] = dot_wait %x pending=8", "0 to 7 may be pending"},
    {"%x: shared<f32[4]> = buffer_alloc\n  %q: ptr<f32>[4] = splat %p\n  %t: i1[4] = splat %c\n"
     "  %u: token = async_copy %q, %x, %t",
     "whether it copies is a scalar"},
    {"%x: i32 = single_cta", "the result must be i1"},
    {"%x: f16[16,8] = splat %h\n  %y: f16[16,8] = dot %x, %x, %x", "shapes do not fit"},
    {"%x: f16[16] = splat %h\n  %y: f16[16] = dot %x, %x, %x", "shapes do not fit"},
    {"%x: f16[16,16] = splat %h\n  %y: f16[16,16] = dot %x, %x, %x warps_m=-2147483642",
     "warps cannot share it"},
    {"%x: f16[16,16] = splat %h\n  %y: f16[16,16] = dot %x, %x, %x warps_m=3 warps_n=3",
     "warps cannot share it"},
    /* structure */
    {"return", "must be the last of its block"},
    {"if %c {\n  yield\n  }", "needs 2 region(s)"},
    {"if %c {\n  yield\n  } {\n  yield\n  } {\n  yield\n  }", "needs 2 region(s)"},
    {"if %c {\n  } {\n  yield\n  }", "region 0 must end in 'yield'"},
    {"if %c {\n  return\n  } {\n  yield\n  }", "region 0 must end in 'yield'"},
    {"if %c {\n  yield\n  } {\n  yield %n\n  }", "0 values where 1 are expected"},
    {"%x: i32 = if %c {\n  yield %n\n  } {\n  yield %h\n  }", "value 0 is i32 and should be f16"},
    {"if %c { (%z: i32)\n  yield\n  } {\n  yield\n  }", "its regions take no arguments"},
    {"%x: i1[4] = splat %c\n  if %x {\n  yield\n  } {\n  yield\n  }",
     "the condition must be a scalar"},
    {"if %c {\n  %x: i32 = neg %n\n  yield\n  } {\n  yield\n  }\n  %y: i32 = neg %x",
     "not defined before its use"},
    {"%x: i32 = neg %n {\n  yield\n  }", "has no regions"},
    {"for %n, %n, %n {\n  yield\n  }", "bounds, step and index must have one type"},
    {"for %n, %n, %n { (%i: i64)\n  yield\n  }", "bounds, step and index must have one type"},
    {"for %n, %n, %n, %h { (%i: i32)\n  yield\n  }",
     "initial values: 1 values where 0 are expected"},
    {"for %n, %n, %n, %h { (%i: i32, %a: f16)\n  yield\n  }",
     "yield: 0 values where 1 are expected"},
    {"for %n, %n, %n, %h { (%i: i32, %a: f16)\n  yield %a\n  }",
     "results: 0 values where 1 are expected"},
    {"for %h, %h, %h { (%i: f16)\n  yield\n  }", "operand 0 has the wrong kind: f16"},
    {"while {\n  yield\n  } {\n  yield\n  }", "region 0 must end in 'condition'"},
    {"while %n { (%a: i32)\n  condition %c, %a\n  } { (%b: i32)\n  yield\n  }",
     "yield: 0 values where 1"},
    {"%x: i32[4] = splat %n\n  %y: i32 = reduce %x axis=1 { (%a: i32, %b: i32)\n  yield %a\n  }",
     "axis or shapes do not fit"},
    {"%x: i32[4] = splat %n\n  %y: i32 = reduce %x axis=0 { (%a: i32)\n  yield %a\n  }",
     "takes two of each operand and yields one"},
    {"%x: i32[4] = splat %n\n  %y: i32[4] = reduce %x axis=0 { (%a: i32, %b: i32)\n  yield %a\n  }",
     "result 0 should be i32"},
    {"%x: i32[4] = splat %n\n  %y: i32 = reduce %x axis=0 { (%a: i32, %b: i32)\n  yield %h\n  }",
     "works on scalars of the operands' types"},
    /* several results, regions of scalars, indices */
    {"%x: i32[4] = splat %n\n  %y: i32[2], %z: i32[2] = split %x",
     "makes two tiles of one with a last dimension of 2"},
    {"%x: i32[4,2] = const value=0\n  %y: i32[4], %z: i64[4] = split %x",
     "result 1 has the wrong type"},
    {"%x: i32[4] = splat %n\n  %y: i32 = inline_asm %x text=\"\" constraints=\"=r,r\" pack=1",
     "operands and results have one shape"},
    {"%x: i32[4] = splat %n\n  %y: i32[4] = map %x { (%a: i32, %b: i32)\n  yield %a\n  }",
     "takes one of each operand and yields one of each result"},
    {"%y: i32 = map %n { (%a: i32)\n  yield %a\n  }", "operand 0 is no tile of that shape"},
    {"%x: i32[4] = splat %n\n  %z: i32[8] = splat %n\n  %y: i32[4] = map %x, %z { (%a: i32, %b: "
     "i32)\n  yield %a\n  }",
     "operand 1 is no tile of that shape"},
    {"%x: i32[4] = splat %n\n  %y: i64[4] = map %x { (%a: i32)\n  yield %a\n  }",
     "result 0 is not the tile of what the region yields"},
    {"%x: i32[4] = splat %n\n  %i: i32[4,4] = const value=0\n  %y: i32[4,4] = gather %x, %i axis=0",
     "takes elements along an axis, in the index's shape"},
    {"%x: i32[4] = splat %n\n  %y: i32[4] = gather %x, %x axis=1",
     "takes elements along an axis, in the index's shape"},
    {"%x: i32[4,8] = const value=0\n  %i: i32[4,4] = const value=0\n  %y: i32[4,4] = gather %x, %i "
     "axis=0",
     "operand and index differ in another dimension than the axis"},
    {"%x: i32[4] = splat %n\n  %y: i64[8] = histogram %x",
     "counts a tile of rank 1 into i32[bins]"},
    {"%x: i32[4,4] = const value=0\n  %y: i32[8] = histogram %x",
     "counts a tile of rank 1 into i32[bins]"},
    {"%x: f32 = load %p\n  atomic_store %p, %x sem=acquire", "releases, or is relaxed"},
    {"%x: f32 = atomic_load %p sem=release", "acquires, or is relaxed"},
    {"atomic_store %p, %n sem=relaxed", "operand 1 must be f32"},
    {"%x: i32 = work_size axis=0", "the kernel is not persistent along this axis"},
    {"%x: i32 = program_id axis=0\n  %y: i32 = launch_number %x",
     "takes a sum, product or quotient of parameters"},
    {"%x: i16 = cast %n\n  %y: i16 = launch_number %x", "the result must be i32 or i64"},
#define FOUR_NUMBERS(a)                                                                            \
    "%" a "0: i32 = launch_number %n\n%" a "1: i32 = launch_number %n\n"                           \
    "%" a "2: i32 = launch_number %n\n%" a "3: i32 = launch_number %n\n"
    {FOUR_NUMBERS("a") FOUR_NUMBERS("b") FOUR_NUMBERS("c")
         FOUR_NUMBERS("d") "%x: i32 = launch_number %n",
     "a launch works out 16 numbers at most"},
    /* roles, barriers, descriptors */
    {"warps roles=\"a b\" num_warps=[1,1] {\n yield\n}", "as many names"},
    {"warps roles=\"a\" num_warps=[1,1] {\n yield\n}", "as many names"},
    {"warps roles=\"a b\" num_warps=[1] {\n yield\n}", "as many names"},
    {"warps roles=\"a\" num_warps=[3] {\n yield\n}", "power of two"},
    {"warps roles=\"a\" num_warps=[0] {\n yield\n}", "power of two"},
    {"warps roles=\"a\" num_warps=[12] {\n %ps: ptr<f32>[4] = splat %p\n %x: f32[4] = load %ps\n "
     "yield\n}",
     "warps that its role does not have"},
    {"warps roles=\"a b\" num_warps=[32,1] {\n yield\n} {\n yield\n}", "more than 32 warps"},
    {"warps roles=\"a\" num_warps=[1] {\n yield %n\n}", "takes and yields nothing"},
    {"warps roles=\"a\" num_warps=[4] registers=[20] {\n yield\n}", "24 to 240 registers"},
    {"warps roles=\"a b\" num_warps=[2,4] registers=[40,40] {\n yield\n} {\n yield\n}",
     "whole warpgroups"},
    {"warps roles=\"a b\" num_warps=[1,1] registers=[48,40] {\n yield\n} {\n yield\n}",
     "whole warpgroups"},
    {"warps roles=\"a\" num_warps=[1] {\n yield\n}\nwarps roles=\"b\" num_warps=[1] {\n yield\n}",
     "a kernel has one"},
    {"%t: i32[4] = splat %n\nwarps roles=\"a\" num_warps=[1] {\n yield\n}", "tiles in them only"},
    {"%s: i64 = stream_k %n share=places", "must be i32"},
    {"%s: i64 = cluster_id", "must be i32"},
    {"%s: i1 = num_clusters", "must be i32"},
    {"%s: i32 = cluster_place %n, %n", "makes i32 and i1 of two i32"},
    {"%s: i32, %t: i32 = cluster_place %n, %n", "makes i32 and i1 of two i32"},
    {"%s: i32 = stream_k %n share=all", "share"},
    {"%s: i32 = stream_k %n share=places part_clocks=-1", "clocks are 0 to 2^30"},
    {"%w: ptr<i32> = workspace bytes=16", "must be ptr<i64>"},
    {"%w: ptr<i64> = workspace bytes=24", "a multiple of 16"},
    {"%w: ptr<i64> = workspace bytes=33554432", "16 to 16777216 bytes"},
    {"%w: ptr<i64> = workspace bytes=16\n%v: ptr<i64> = workspace bytes=16", "a kernel has one"},
    {"%m: i32 = launch_mark", "must be i64"},
    {"%w: ptr<i64> = workspace bytes=16\n%t: i16[4] = const value=0\nfragment_store %w, %t",
     "a multiple of 16 bytes, not i16[4]"},
    {"%w: ptr<i64> = workspace bytes=16\n%t: ptr<i64>[4] = splat %w\n%u: i32[4] = splat "
     "%n\nfragment_store %t, %u",
     "at one address"},
    {"%b: shared<i32[4]> = buffer_alloc\n%t: i32[16] = const value=0\n"
     "%u: i32[16] = fragment_add %t, %b chunk=0 chunks=2",
     "smaller than a run"},
    {"%b: shared<i32[4]> = buffer_alloc\n%t: i32[16] = const value=0\n"
     "%u: i32[16] = fragment_add %t, %b chunk=4 chunks=4",
     "power of two of runs"},
    {"%b: shared<i32[4]> = buffer_alloc\n%m: barrier = buffer_alloc\n%w: ptr<i64> = workspace "
     "bytes=32\n"
     "mbar_fragment_load %w, %b, %m bytes=32",
     "for which the buffer has room"},
    {"%b: shared<i32[4]> = buffer_alloc live=[4]", "where not all do"},
    {"%1: i32 = const value=1\n%d: desc<f32[8]> = make_desc %p, %n, %1 front=2",
     "front is a bit for each dimension"},
    {"%b: shared<i32[4]> = buffer_alloc live=[1,1]", "of each dimension"},
    {"%b: shared<i32[4]> = buffer_alloc packed=1", "live says what does"},
    {"%ps: ptr<f32>[4] = splat %p\n%y: i1 = const value=1\n%b: shared<f32[8]> = buffer_alloc\n%t: "
     "token = async_copy %ps, %b, %y",
     "tile and buffer differ"},
    {"%b: shared<i32[4]> = buffer_alloc live=[2] packed=1\n%x: i32[4] = shared_load %b",
     "blocks that are stored, and nothing else"},
    {"%1: i32 = const value=1\n%d: desc<f32[8]> = make_desc %p, %n, %1 live=[6]\n%m: "
     "shared<f32[8]> = "
     "buffer_alloc live=[4]\n%b: barrier = buffer_alloc\nmbar_desc_load %d, %m, %b, %n",
     "more of the descriptor's block matters"},
    {"%x: f16[16,16] = splat %h\n%y: f32[16,16] = const value=0\n%z: f32[16,16] = dot %x, %x, %y "
     "columns=12",
     "a multiple of 8, not 12"},
    {"%x: f16[16,16] = splat %h\n%y: f32[16,16] = const value=0\n%z: f32[16,16] = dot %x, %x, %y "
     "columns=16",
     "some of a dot's columns"},
    {"barrier id=16 warps=4", "0 to 15"},
    {"barrier id=1 warps=5", "5 warps of the program's 4"},
    {"barrier id=1", "id and warps go together"},
    {"mbar_arrive %n", "operand 0 has the wrong kind"},
    {"%b: barrier<2> = buffer_alloc\nmbar_arrive %b", "one of which is to be named"},
    {"%b: barrier = buffer_alloc\nmbar_init %b count=0", "1 to 1048575 arrivals"},
    {"%b: barrier = buffer_alloc\nmbar_expect %b bytes=-1", "0 to 1048575 bytes"},
    {"%b: barrier = buffer_alloc\nmbar_wait %b, %c", "the phase is an i32"},
    {"%b: barrier<1025> = buffer_alloc", "expected 1 to 1024"},
    {"%d: desc<f32[4]> = make_desc %p, %n, %n\n%m: shared<f32[4]> = buffer_alloc\n%b: barrier = "
     "buffer_alloc\nmbar_desc_load %d, %m, %b, %n",
     "the descriptor's last stride must be 1"},
    {"%1: i32 = const value=1\n%d: desc<f32[2,4]> = make_desc %p, %n, %n, %n, %1\n%m: "
     "shared<f32[4]> = buffer_alloc\n%b: barrier = buffer_alloc\nmbar_desc_load %d, %m, %b, %n, %n "
     "order=[1]",
     "of the descriptor's block"},
    {"%1: i32 = const value=1\n%d: desc<f32[2,4]> = make_desc %p, %n, %n, %n, %1\n%m: "
     "shared<f32[4]> = buffer_alloc\n%b: barrier = buffer_alloc\nmbar_desc_load %d, %m, %b, %n, %n "
     "order=[1,1]",
     "of the descriptor's block"},
    {"%1: i32 = const value=1\n%d: desc<f32[2,4]> = make_desc %p, %n, %n, %n, %1\n%m: "
     "shared<f32[4]> = buffer_alloc\n%b: barrier = buffer_alloc\nmbar_desc_load %d, %m, %b, %n, %n "
     "order=[7]",
     "of the descriptor's block"},
    {"%1: i32 = const value=1\n%d: desc<f32[4]> = make_desc %p, %n, %1 padding=nan\n%m: "
     "shared<f32[4]> = buffer_alloc\n%b: barrier = buffer_alloc\nmbar_desc_load %d, %m, %b, %n",
     "padded with zeros"},
    {"%p2: ptr<i32> = bitcast %p\n%d: desc<i32[4]> = make_desc %p2, %n, %n padding=nan",
     "only floats are padded with NaN"},
    {"%d: desc<f32[4]> = make_desc %p, %n, %n\n%x: f32[4] = desc_load %d",
     "an index for each dimension"},
    {"%d: desc<f32[4]> = make_desc %p, %n, %n\n%x: f32[4] = desc_load %d, %c", "are no int1"},
    {"%d: desc<f32[4]> = make_desc %p, %n, %n\n%x: f32[8] = desc_load %d, %n",
     "a tile of the descriptor's block"},
    {"%d: desc<f32[4]> = make_desc %p, %n, %n\n%i: i32[4] = splat %n\n%x: f32[4] = desc_load %d, "
     "%i",
     "indices are scalars, but"},
    {"%d: desc<f32[4]> = make_desc %p, %n, %n\n%x: f32[4] = desc_load %d, %n in_bounds=[1]",
     "in_bounds names dimensions"},
    {"%d: desc<f32[4]> = make_desc %p, %n, %n\n%x: f32[4] = desc_load %d, %n cache=wb",
     "no cache modifier 'wb'"},
    {"%d: desc<f32[4]> = make_desc %p, %n, %n\n%x: f16[4] = splat %h\ndesc_store %d, %x, %n",
     "a tile of the descriptor's block"},
    {"%1: i32 = const value=1\n%d: desc<f32[4]> = make_desc %p, %n, %1\n%m: shared<f32[8]> = "
     "buffer_alloc\n%t: token = async_desc_store %d, %m, %n",
     "of the descriptor's block"},
    {"%1: i32 = const value=1\n%d: desc<f32[4]> = make_desc %p, %n, %1\n%m: shared<f32[4]> = "
     "buffer_alloc\n%t: token = async_desc_reduce %d, %m, %n rmw=max",
     "does not combine such elements so"},
    {"%1: i32 = const value=1\n%d: desc<f32[4]> = make_desc %p, %n, %1\n%m: shared<f32[4]> = "
     "buffer_alloc\n%t: token = async_desc_store %d, %m, %n\n%g: token = async_commit %t",
     "groups copies into buffers"},
    {"%t: token = token_done\nasync_wait %t stores=1025", "0 to 1024 may be pending"},
    {"%a: shared<2 x f32[4]> = buffer_alloc\n%b: shared<2 x f32[4]> = buffer_alloc\n%x: "
     "shared<f32[4]> = buffer_slice %a, %n\n%y: shared<f32[4]> = buffer_slice %b, %n\n%z: "
     "shared<f32[4]> = if %c {\n  yield %x\n} {\n  yield %y\n}",
     "not always a slice of the same buffer of several"},
    {"%a: shared<f32[4]> = buffer_alloc\n%z: shared<f32[4]> = for %n, %n, %n, %a { (%i: i32, %s: "
     "shared<f32[4]>)\n  yield %s\n}",
     "not always a slice of the same buffer of several"},
    {"%a: shared<2 x f32[4]> = buffer_alloc\n%z: shared<2 x f32[4]> = for %n, %n, %n, %a { (%i: "
     "i32, %s: shared<2 x f32[4]>)\n  yield %s\n}",
     "operand 3 has the wrong kind"},
    {"%a: shared<2 x f32[4,4]> = buffer_alloc\n%x: shared<f32[4,4]> = buffer_slice %a, %n\n%y: "
     "shared<f32[4,4]> = buffer_trans %x order=[1,0]\n%z: shared<f32[4,4]> = if %c {\n  yield "
     "%x\n} {\n  yield %y\n}",
     "a view of a slice: hand on the slice"},
    {"%a: shared<f32[4,8]> = buffer_alloc\n%y: shared<f32[4,8]> = buffer_trans %a order=[1,0]",
     "no permutation that gives this shape"},
    {"%a: shared<2 x f32[4,4]> = buffer_alloc\n%y: shared<f32[4,4]> = buffer_trans %a order=[1,0]",
     "buffer of 2 slices"},
    {"%a: shared<2 x f32[4]> = buffer_alloc\n%y: shared<f32[4]> = buffer_reinterpret %a",
     "keeps the type, of a buffer or of one slice"},
    {"%a: shared<f32[4]> = buffer_alloc\n%y: shared<f32[8]> = buffer_reinterpret %a",
     "keeps the type, of a buffer or of one slice"},
    {"%a: barrier<2> = buffer_alloc\n%x: barrier = buffer_slice %a, %n\n%y: barrier = select %c, "
     "%x, %x",
     "choose the number of a slice"},
    {"%x: desc<f32[4]> = const value=0", "desc is no constant"},
    {"%d: desc<f16[4]> = make_desc %p, %n, %n", "a pointer to the descriptor's elements"},
    {"%d: desc<f32[4,4]> = make_desc %p, %n, %n", "a size and a stride for each"},
    {"%d: f32[4] = make_desc %p, %n, %n", "the result must be a descriptor"},
    {"%x: shared<desc<f32[4]>> = buffer_alloc", "a buffer of descriptors"},
    {"%1: i32 = const value=1\n%d: desc<f32[4]> = make_desc %p, %n, %1\n%m: shared<f32[8]> = "
     "buffer_alloc\n%b: barrier = buffer_alloc\nmbar_desc_load %d, %m, %b, %n",
     "of the descriptor's block"},
    {"%1: i32 = const value=1\n%d: desc<f32[4]> = make_desc %p, %n, %1\n%m: shared<f32[4]> = "
     "buffer_alloc\n%b: barrier = buffer_alloc\nmbar_desc_load %d, %m, %b",
     "an index for each dimension"},
    {"warps roles=\"a\" num_warps=[1]", "1 to 15 roles"},
    {"%b: barrier<2> = buffer_alloc\norder_wait %b, %n", "take turns, of two or more"},
    {"warps roles=\"a\" num_warps=[4] {\n %b: barrier<2> = buffer_alloc\n order_wait %b, %n\n "
     "yield\n}",
     "take turns, of two or more"},
    {"warps roles=\"a\" num_warps=[16] {\n %b: barrier<2> = buffer_alloc\n order_arrive %b\n "
     "yield\n}",
     "a barrier for each of 4 warpgroups"},
    {"warps roles=\"a\" num_warps=[8] {\n %b: barrier<2> = buffer_alloc\n order_wait %b, %c\n "
     "yield\n}",
     "the phase is an i32"},
    {"warps roles=\"a\" num_warps=[8] {\n %b: barrier<2> = buffer_alloc\n order_wait %b, %n\n "
     "barrier\n order_arrive %b\n yield\n}",
     "a barrier where the next warpgroup waits for this one"},
    {"%b: barrier = buffer_alloc\nmbar_arrive %b, %c", "ranks are i32"},
    {"%1: i32 = const value=1\n%d: desc<f32[8]> = make_desc %p, %n, %1 front=1 padding=zero",
     "a tensor that goes on in front is not padded there"},
    {"%1: i32 = const value=1\n%d: desc<f32[4]> = make_desc %p, %n, %1\n%m: shared<f32[4]> = "
     "buffer_alloc\n%t: token = async_desc_reduce %d, %m, %n rmw=and",
     "does not combine such elements so"},
    {"%1: i32 = const value=1\n%d: desc<f32[4]> = make_desc %p, %n, %1\n%m: shared<f32[4]> = "
     "buffer_alloc\n%t: token = async_desc_reduce %d, %m, %n rmw=xchg",
     "does not combine such elements so"},
    /* text */
    {"%x: i32 = frobnicate %n", "unknown operation 'frobnicate'"},
    {"%x: q7 = neg %n", "expected a type"},
    {"%x: i32@L0 = neg %n", "no layout @L0"},
    {"%x: i32 = neg %n @1", "a place is written @line:col-end"},
    {"%: i32 = neg %n", "a name must follow '%'"},
    {"%x: i32, %y: i32 = const value=1", "a constant has one result"},
    {"warps roles=3 num_warps=[1] {\n  yield\n  }", "expected a string without NUL"},
    {"%x: i32[4] = splat %n\n  %y: i32[4] = trans %x "
     "order=[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]",
     "more than 20 dimensions"},
    {"%\"x", "unterminated string"},
    {"%\"\\q\": i32 = neg %n", "unknown escape"},
};

START_TEST(unsound_bodies_are_refused) {
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "kernel @k(%%p: ptr<f32>, %%n: i32, %%c: i1, %%h: f16) num_warps=4 num_stages=3 "
                 "{\n  %s\n  return\n}\n",
                 bodies[i].body);
        check_refused(text, bodies[i].why);
    }
}
END_TEST

static const Refused modules[] = {
    {"", "there is no kernel in this file"},
    {"source \"x\" {\n}\n", "there is no kernel in this file"},
    {"function @f() {}", "expected 'kernel' or 'source'"},
    {"kernel @k() num_warps=4 num_stages=3 {\n}\n", "an empty block"},
    {"kernel @k() num_warps=4 num_stages=3 {\n  barrier\n}\n", "a block must end in a terminator"},
    {"kernel @k(%p: f32[4]) num_warps=4 num_stages=3 {\n  return\n}\n", "a parameter is a scalar"},
    {"kernel @k(p: i32) num_warps=4 num_stages=3 {\n  return\n}\n", "one and none go without"},
    {"kernel @k(%p: i32 one) num_warps=4 num_stages=3 {\n  return\n}\n", "one and none go without"},
    {"kernel @k(%p: i32, %p: i32) num_warps=4 num_stages=3 {\n  return\n}\n",
     "parameter 'p' is there twice"},
    {"kernel @k(%p: i32 divisible=3) num_warps=4 num_stages=3 {\n  return\n}\n",
     "must be a power of two"},
    {"kernel @k(%p: i32 divisible=0) num_warps=4 num_stages=3 {\n  return\n}\n", "out of range"},
    {"kernel @k() num_warps=0 num_stages=3 {\n  return\n}\n",
     "num_warps must be 1, 2, 4, 8, 16 or 32, not 0"},
    {"kernel @k() num_warps=3 num_stages=3 {\n  return\n}\n",
     "num_warps must be 1, 2, 4, 8, 16 or 32, not 3"},
    {"kernel @k() num_warps=4096 num_stages=3 {\n  return\n}\n", "not 4096"},
    {"kernel @k() num_warps=4 num_stages=17 {\n  return\n}\n",
     "num_stages must be between 1 and 16, not 17"},
    {"kernel @k() num_warps num_stages=3 {\n  return\n}\n", "expected '='"},
    {"kernel @k() target=4 {\n  return\n}\n", "expected a string"},
    {"kernel @k() colour=4 {\n  return\n}\n", "a kernel has no 'colour'"},
    {"kernel @k() grid=\"1\" grid=\"1\" grid=\"1\" grid=\"1\" {\n  return\n}\n",
     "a kernel has 'grid' at most 3 times"},
    {"kernel @k() num_warps=4 num_stages=3 {\n  return\n}\nkernel @k() num_warps=4 num_stages=3 "
     "{\n  return\n}\n",
     "kernel @k is there twice"},
    {"kernel @k() num_warps=4 num_stages=3 {\n  yield\n}\n", "does not end this kind of block"},
    /* layouts */
    {"kernel @k() num_warps=4 num_stages=3 {\n  layout @L1 reg=[] lane=[] warp=[] block=[] out=0\n "
     " return\n}\n",
     "layouts are numbered from @L0 in order"},
    {"kernel @k() num_warps=4 num_stages=3 {\n  layout @L0 reg=[4] lane=[] warp=[] block=[] "
     "out=2\n  return\n}\n",
     "a basis vector lies outside the tile"},
    {"kernel @k() num_warps=4 num_stages=3 {\n  layout @L0 "
     "reg=[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1] lane=[] "
     "warp=[] block=[] out=2\n  return\n}\n",
     "more than 20 bits"},
    {"kernel @k() num_warps=1 num_stages=3 {\n  layout @L0 reg=[1] lane=[2,0,0,0,0] warp=[] "
     "block=[] out=2\n"
     "  %x: i32[8]@L0 = const value=0\n  return\n}\n",
     "does not fit a tile of this size"},
    {"kernel @k() num_warps=4 num_stages=3 {\n  layout @L0 reg=[1] lane=[2,0,0,0,0] warp=[] "
     "block=[] out=2\n"
     "  %x: i32[4]@L0 = const value=0\n  return\n}\n",
     "the layout of value 0 is for other threads"},
    {"kernel @k() num_warps=1 num_stages=3 {\n  layout @L0 reg=[1] lane=[2,0,0,0] warp=[] block=[] "
     "out=2\n"
     "  %x: i32[4]@L0 = const value=0\n  return\n}\n",
     "the layout of value 0 is for other threads"},
    {"kernel @k() num_warps=1 num_stages=3 {\n  layout @L0 reg=[1] lane=[0,0,0,0,0] warp=[] "
     "block=[] out=2\n"
     "  %x: i32[4]@L0 = const value=0\n  return\n}\n",
     "the layout of value 0 leaves elements out"},
    {"kernel @k() num_warps=1 num_stages=3 {\n  layout @L0 reg=[1] lane=[2] warp=[] block=[] "
     "out=2\n"
     "  %x: shared<i32[4]>@L0 = buffer_alloc\n  return\n}\n",
     "the layout of value 0 is for other threads"},
    {"kernel @k(%p: ptr<i32>) num_warps=1 num_stages=3 {\n  layout @L0 reg=[1,2] lane=[0,0,0,0,0] "
     "warp=[] block=[] out=2\n  layout @L1 reg=[1,2] lane=[] warp=[] block=[] out=2\n  %q: "
     "ptr<i32>[4]@L0 = splat %p\n  %x: i32[4]@L0 = load %q\n  %t: i1 = const value=1\n  %b: "
     "shared<i32[4]>@L1 = buffer_alloc\n  %y: i32[4]@L0 = load %q vector=8\n  return\n}\n",
     "no 8 elements in a row"},
    {"kernel @k(%p: ptr<i32>) num_warps=1 num_stages=3 {\n  layout @L0 reg=[1,2] lane=[0,0,0,0,0] "
     "warp=[] block=[] out=2\n  layout @L1 reg=[1,2] lane=[] warp=[] block=[] out=2\n  %q: "
     "ptr<i32>[4]@L0 = splat %p\n  %x: i32[4]@L0 = load %q\n  %t: i1 = const value=1\n  %b: "
     "shared<i32[4]>@L1 = buffer_alloc\n  store %q, %x vector=3\n  return\n}\n",
     "no 3 elements in a row"},
    {"kernel @k(%p: ptr<i32>) num_warps=1 num_stages=3 {\n  layout @L0 reg=[1,2] lane=[0,0,0,0,0] "
     "warp=[] block=[] out=2\n  layout @L1 reg=[1,2] lane=[] warp=[] block=[] out=2\n  %q: "
     "ptr<i32>[4]@L0 = splat %p\n  %x: i32[4]@L0 = load %q\n  %t: i1 = const value=1\n  %b: "
     "shared<i32[4]>@L1 = buffer_alloc\n  %c: token = async_copy %q, %b, %t vector=4 cache=ca "
     "by_row=1\n  return\n}\n",
     "by_row is a way to copy with cache=cg"},
    {"kernel @k(%p: ptr<i32>) num_warps=1 num_stages=3 {\n  layout @L0 reg=[1,2] lane=[0,0,0,0,0] "
     "warp=[] block=[] out=2\n  layout @L1 reg=[1,2] lane=[] warp=[] block=[] out=2\n  %q: "
     "ptr<i32>[4]@L0 = splat %p\n  %x: i32[4]@L0 = load %q\n  %t: i1 = const value=1\n  %b: "
     "shared<i32[4]>@L1 = buffer_alloc\n  shared_store %x, %b matrix=1\n  return\n}\n",
     "threads do not hold matrices"},
    {"kernel @k() num_warps=1 num_stages=3 {\n"
     "  layout @L0 reg=[1,128,8] lane=[2,4,16,32,64] warp=[] block=[] out=8\n"
     "  layout @L1 reg=[1,2,4,8,16,32,64,128] lane=[] warp=[] block=[] out=8\n"
     "  %a: shared<f32[16,16]>@L1 = buffer_alloc\n  %c: f32[16,16]@L0 = const value=0\n"
     "  %d: f32[16,16]@L0 = dot %a, %a, %c mma=TF32_F32 ldmatrix=2\n  return\n}\n",
     "operand 1 has no matrices that ldmatrix reads"},
    {"kernel @k() num_warps=1 num_stages=3 {\n"
     "  layout @L0 reg=[1,128,8] lane=[2,4,16,32,64] warp=[] block=[] out=8\n"
     "  layout @L1 reg=[1,2,4,8,16,32,64,128] lane=[] warp=[] block=[] out=8\n"
     "  %a: shared<f32[16,16]>@L1 = buffer_alloc\n  %c: f32[16,16]@L0 = const value=0\n"
     "  %d: f32[16,16]@L0 = dot %a, %a, %c mma=TF32_F32 ldmatrix=4\n  return\n}\n",
     "a dot reads two operands"},
    {"kernel @k() num_warps=1 num_stages=3 {\n"
     "  layout @L0 reg=[1,128,8] lane=[2,4,16,32,64] warp=[] block=[] out=8\n"
     "  layout @L1 reg=[1,2,4,8,16,32,64,128] lane=[] warp=[] block=[] out=8\n"
     "  %a: shared<f32[16,16]>@L1 = buffer_alloc\n  %c: f32[16,16]@L0 = const value=0\n"
     "  %d: f32[16,16]@L0 = dot %a, %a, %c mma=TF32_F32 ldmatrix=1 vectors=[0,1]\n  return\n}\n",
     "no 2^1 elements of operand 1 in a row"},
    {"kernel @k() num_warps=1 num_stages=3 {\n"
     "  layout @L0 reg=[1,128,8] lane=[2,4,16,32,64] warp=[] block=[] out=8\n"
     "  layout @L1 reg=[1,2,4,8,16,32,64,128] lane=[] warp=[] block=[] out=8\n"
     "  %a: shared<f32[16,16]>@L1 = buffer_alloc\n  %c: f32[16,16]@L0 = const value=0\n"
     "  %d: f32[16,16]@L0 = dot %a, %a, %c mma=TF32_F32 n_first=1\n  return\n}\n",
     "n_first is a way to read for multiply-adds"},
    {"kernel @k() num_warps=1 num_stages=3 {\n"
     "  layout @L0 reg=[1,128,8] lane=[2,4,16,32,64] warp=[] block=[] out=8\n"
     "  layout @L1 reg=[1,2,4,8,16,32,64,128] lane=[] warp=[] block=[] out=8\n"
     "  %a: shared<f32[16,16]>@L1 = buffer_alloc\n  %c: f32[16,16]@L0 = const value=0\n"
     "  %d: f32[16,16]@L0 = dot %a, %a, %c vectors=[3,0]\n  return\n}\n",
     "no 2^3 elements of operand 0 in a row"},
    {"kernel @k(%p: ptr<i32>) num_warps=1 num_stages=3 {\n  layout @L0 reg=[1,2] lane=[0,0,0,0,0] "
     "warp=[] block=[] out=2\n  layout @L1 reg=[2,1] lane=[] warp=[] block=[] out=2\n  %x: "
     "i32[4]@L0 = const value=0\n  %b: "
     "shared<i32[4]>@L1 = buffer_alloc\n  shared_store %x, %b vector=2\n  return\n}\n",
     "no 2 elements in a row"},
    {"kernel @k(%p: ptr<i32>) num_warps=1 num_stages=3 {\n  layout @L0 reg=[1,2] lane=[0,0,0,0,0] "
     "warp=[] block=[] out=2\n  layout @L1 reg=[2,1] lane=[] warp=[] block=[] out=2\n  %b: "
     "shared<i32[4]>@L1 = buffer_alloc\n  "
     "%x: i32[4]@L0 = shared_load %b vector=2\n  return\n}\n",
     "no 2 elements in a row"},
    {"kernel @k(%p: ptr<i32>) num_warps=1 num_stages=3 {\n  layout @L0 reg=[1,2] lane=[0,0,0,0,0] "
     "warp=[] block=[] out=2\n  layout @L1 reg=[2,1] lane=[] warp=[] block=[] out=2\n  %q: "
     "ptr<i32>[4]@L0 = splat %p\n  %t: i1 = const value=1\n  %b: "
     "shared<i32[4]>@L1 = buffer_alloc\n  %c: token = async_copy %q, %b, %t vector=2 cache=ca\n  "
     "return\n}\n",
     "no 2 elements in a row"},
    {"kernel @k(%p: ptr<i32>) num_warps=1 num_stages=3 {\n  layout @L0 reg=[1,2] lane=[0,0,0,0,0] "
     "warp=[] block=[] out=2\n  layout @L1 reg=[1,2] lane=[] warp=[] block=[] out=2\n  %q: "
     "ptr<i32>[4]@L0 = splat %p\n  %x: i32[4]@L0 = load %q\n  %t: i1 = const value=1\n  %b: "
     "shared<i32[4]>@L1 = buffer_alloc\n  %c: i1[4]@L0 = cmp %x, %x pred=eq redundant=4\n  "
     "return\n}\n",
     "there are fewer registers than 'redundant' says"},
    {"kernel @k() num_warps=1 num_stages=3 {\n  layout @L0 reg=[] lane=[0,0,0,0,0] warp=[] "
     "block=[] out=0\n"
     "  layout @L1 reg=[1,2] lane=[0,0,0,0,0] warp=[] block=[] out=2\n"
     "  %x: i32@L0 = const value=0\n  %y: i32[4]@L1 = const value=0\n  return\n}\n",
     "a scalar has a layout"},
    {"kernel @k() num_warps=1 num_stages=3 {\n  layout @L0 reg=[1] lane=[2,0,0,0,0] warp=[] "
     "block=[] out=2\n"
     "  %x: i32[4]@L0 = const value=0\n  %y: i32[4] = const value=0\n  return\n}\n",
     "has no layout"},
    {"kernel @k() num_warps=1 num_stages=3 {\n  layout @L0 reg=[1] lane=[2,0,0,0,0] warp=[] "
     "block=[] out=2\n"
     "  layout @L1 reg=[2] lane=[1,0,0,0,0] warp=[] block=[] out=2\n"
     "  %x: i32[4]@L0 = const value=0\n  %y: i32[4]@L1 = const value=0\n  %z: i32[4]@L0 = add %x, "
     "%y\n  return\n}\n",
     "operands 0 and 1 have different layouts"},
    {"kernel @k() num_warps=1 num_stages=3 {\n  layout @L0 reg=[1] lane=[2,0,0,0,0] warp=[] "
     "block=[] out=2\n"
     "  layout @L1 reg=[2] lane=[1,0,0,0,0] warp=[] block=[] out=2\n"
     "  %x: i32[4]@L0 = const value=0\n  %z: i32[4]@L1 = neg %x\n  return\n}\n",
     "the result's layout differs from the operands'"},
};

START_TEST(unsound_modules_are_refused) {
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        check_refused(modules[i].body, modules[i].why);
}
END_TEST

/* Regions nested n deep. */
static char *nested(int n) {
    static const char head[] = "kernel @k(%c: i1) num_warps=4 num_stages=3 {\n";
    static const char open[] = "if %c {\n", close[] = "yield\n} {\nyield\n}\n",
                      tail[] = "return\n}\n";
    size_t size = sizeof head + sizeof tail + (size_t)n * (sizeof open + sizeof close);
    char *text = malloc(size), *p = text;
    ck_assert_ptr_nonnull(text);
    p += sprintf(p, "%s", head);
    for (int i = 0; i < n; i++) p += sprintf(p, "%s", open);
    for (int i = 0; i < n; i++) p += sprintf(p, "%s", close);
    sprintf(p, "%s", tail);
    return text;
}

START_TEST(depth_has_a_limit) {
    char *text = nested(200);
    Session *s = new_session();
    if (setjmp(s->bail)) ck_abort_msg("out of memory");
    session_init(s);
    ck_assert_ptr_nonnull(ir_parse(s, text, strlen(text)));
    end_session(s);
    free(text);
    text = nested(201);
    check_refused(text, "regions are nested more than 200 deep");
    free(text);
    text = nested(100000);
    check_refused(text, "regions are nested more than 200 deep");
    free(text);
}
END_TEST

START_TEST(pointers_have_a_limit) {
    enum { DEEP = 100000 };
    static const char head[] = "kernel @k(%p: ";
    char *text = malloc(DEEP * 4 + sizeof head);
    ck_assert_ptr_nonnull(text);
    memcpy(text, head, sizeof head - 1);
    for (int i = 0; i < DEEP; i++) memcpy(text + sizeof head - 1 + i * 4, "ptr<", 4);
    text[sizeof head - 1 + DEEP * 4] = 0;
    check_refused(text, "more than 3 levels of pointer");
    free(text);
}
END_TEST

int main(void) {
    Suite *s = suite_create("ir refused");
    TCase *c = tcase_create("ir refused");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, unsound_bodies_are_refused);
    tcase_add_test(c, unsound_modules_are_refused);
    tcase_add_test(c, depth_has_a_limit);
    tcase_add_test(c, pointers_have_a_limit);
    return run_suite(s, c);
}
