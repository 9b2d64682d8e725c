/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_ptx_refused.c: PTX that the machine refuses, and what it says: operands and types that an
 * instruction has not, declarations, what goes wrong while it runs. */
#include "tests/check/ptx_fixture.h"
#include "tests/run_suite.h"

#define REPLACE "tensormap.replace.tile."

START_TEST(operands_are_those_of_the_row) {
    static const PtxSaid rows[] = {
        {"add.u32 %r1, %r9, 1;", NULL},
        {"add.u32 %r1, %r9;", "PTX line 10: too few operands:"},
        {"add.u32 %r1, %r9, 1, 2;", "too many operands: '2'"},
        {"add.u32 %r1, %r9, %rd9;", "wider than the type: '%rd9'"},
        {"add.u64 %rd1, %rd9, %r9;", "narrower than the type: '%r9'"},
        {"add.u32 1, %r9, %r9;", "no register: '1'"},
        {"add.u32 _, %r9, %r9;", "there has to be something: '_'"},
        {"add.u32 %r1, [%rd9], %r9;", "no value: '[%rd9]'"},
        {"add.u32 %r1, {%r9, %r9}, %r9;", "a vector where one value belongs"},
        {"add.u32 %r1, !%r9, %r9;", "only predicates are negated"},
        {"add.u32 %r1|%p1, %r9, %r9;", "a pair where one value belongs"},
        {"add.u32 %f1, %r9, %r9;", "another type: '%f1'"},
        {"add.f32 %f1, %r9, %r9;", NULL}, /* bits go with everything */
        {"add.u32 %r1, %p1, %r9;", "a predicate where none belongs: '%p1'"},
        {"add.u32 %r1, %r9, L;\nL:", "no value: 'L'"},
        {"add.u32 %tid.x, %r9, %r9;", "no register: '%tid.x'"},
        {"add.u8 %h1, %h1, %h1;", "no such type of 'add.u8'"},
        {"add %r1, %r9, %r9;", "too few types"},
        {"add.u32.u32 %r1, %r9, %r9;", "too many types"},
        {"add.u32.u32.u32.u32.u32 %r1, %r9, %r9;", "too many types"},
        {"add.b128 %r1, %r9, %r9;", "no such type"},
        {"mul.u32 %r1, %r9, 2;", "does not know this form"},
        {"sub.u16x2 %r1, %r9, %r9;", "no such type of 'sub.u16x2'"},
        {"mul.lo.s16x2 %r1, %r9, %r9;", "no such type of 'mul.lo.s16x2'"},
        {"add.sat.u32 %r1, %r9, %r9;", "does not know this form"},
        {"add.sat.s16x2 %r1, %r9, %r9;", "does not know this form"},
        {"add.cc.u16x2 %r1, %r9, %r9;", "does not know this form"},
        {"max.relu.u32 %r1, %r9, %r9;", "does not know this form"},
        {"min.abs.f32 %f1, %f2, %f3;", "does not know this form"},
        {"min.xorsign.f32 %f1, %f2, %f3;", "does not know this form"},
        {"max.xorsign.abs.f64 %fd1, %fd2, %fd3;", "does not know this form"},
        {"max.s16x2 %h1, %h2, %h3;", "narrower than the type: '%h1'"},
        {"prmt.b32.f5e %r1, %r9, %r9, %r9;", "does not know the word 'f5e'"},
        {"set.lt.u32.f16x2 %r1, %r9, %r9;", "does not know this form"},
        {"mov.b32 %r1, 1.5;", "a double where none belongs: '1.5'"},
        {"add.f16 %h1, %h2, 1.5;", "a double where none belongs: '1.5'"},
        {"st.global.v2.b32 [%rd8], {1, 2.5};", "a double where none belongs: '2.5'"},
        {"mov.f32 %f1, 1.5.5;", "not understood: '1.5.5'"},
        {"mov.f32 %f1, 1e;", "not understood: '1e'"},
        {"mov.f32 %f1, .;", "not understood: '.'"},
        {"mul.wide.u64 %rd1, %rd9, 2;", "narrower than the type"},
        {"mul.wide.u32 %r1, %r9, 2;", "narrower than the type"},
        {"and.pred %r1, %p1, %p2;", "no predicate: '%r1'"},
        {"setp.eq.u32 %r1, %r9, 0;", "no predicate: '%r1'"},
        {"setp.eq.u32 %p1|%r1, %r9, 0;", "no predicate: '%p1|%r1'"},
        {"setp.u32 %p1, %r9, 0;", "does not know this form"},
        {"setp.eq.u32 %p1, %r9, 0, %p2;", "does not know this form"},
        {"selp.b32 %r1, %r9, %r9, %r9;", "no predicate: '%r9'"},
        {"@%r9 bra L;\nL:", "no predicate: '%r9'"},
        {"@%q bra L;\nL:", "no predicate: '%q'"},
        {"@! bra L;\nL:", "no predicate: '!'"},
        {"bra %r9;", "no label to go to"},
        {"bra 3;", "no label to go to"},
        {"bra nowhere;", "not understood: 'nowhere'"},
        {"T: .branchtargets L;\nL: bra T;", "no label to go to: 'T'"},
        {"T: .branchtargets L;\nbrx.idx 1, T;\nL:", "no entry 1"},
        {"T: .branchtargets ,;\nbrx.idx 0, T;\nL:", "no entry 0"},
        {"brx.idx 0, L;\nL:", "no table of labels: 'L'"},
        {"bfe.u32 %r1, %r9, %rd9, 1;", "wider than the type: '%rd9'"},
        {"mov.b64 {%r1, %r2, %r3}, %rd9;", "a vector of another length"},
        {"mov.b64 {%r1, %h2}, %rd9;", "narrower than the type: '%h2'"},
        {"mov.b64 _, %rd9;", "there has to be something: '_'"},
        {"mov.b64 {_, %r1}, %rd9;", NULL},
        {"mov.b64 {}, %rd9;", "a vector of another length"},
        {"mov.b32 {%h1, {%h2, %h3}}, %r9;", "a vector in a vector"},
        {"mov.b32 {%h1, %h2|%p1}, %r9;", "a pair where one value belongs"},
        {"ld.global.v2.u32 %r1, [%rd9];", "a vector of another length"},
        {"ld.global.u32 {%r1, %r2}, [%rd9];", "a vector of another length"},
        {"ld.global.v4.u32 {%r1, %r2}, [%rd9];", "a vector of another length"},
        {"ld.global.v2.u32 {%r1, 5}, [%rd9];", "no register: '5'"},
        {"ld.global.v2.u32 {%r1, _}, [%rd9];", NULL},
        {"ld.global.b128 %rd1, [%rd9];", "no such type"},
        {"ld.global.v4.b64 {%rd1,%rd2,%rd3,%rd4}, [%rd9];", NULL},
        {"ld.global.v8.b64 {%rd1,%rd2,%rd3,%rd4,%rd1,%rd2,%rd3,%rd4}, [%rd9];", "too much"},
        {"st.global.v2.u32 [%rd9], {%r9, [%rd9]};", "a vector in a vector"},
        {"st.global.u32 %rd9, %r9;", "no address: '%rd9'"},
        {"ld.global.u32 %r1, [%f1];", "holds no address"},
        {"ld.global.u32 %r1, [%h1];", "holds no address"},
        {"ld.global.u32 %r1, [%tid.x];", "an address that is not understood"},
        {"ld.global.u32 %r1, [L];\nL:", "an address that is not understood"},
        {"ld.global.u32 %r1, [%rd9, {%r9}];", "another number of coordinates"},
        {"ld.global.u32 %r1, [%rd9 + %r9];", "an address that is not understood"},
        {"ld.global.u32 %r1, [%rd9, ;", "not understood"},
        {"ld.global.u32 %r1, [;", "not understood: '['"},
        {"ld.global.u32 %r1, [];", "an address that is not understood"},
        {"atom.global.add.u32 %r1, [%rd9];", "too few operands"},
        {"atom.global.cas.b32 %r1, [%rd9], 1;", "does not know this form"},
        {"atom.global.add.noftz.v2.f16 %h1, [%rd9], {%h1, %h2};", "a vector of another length"},
        {"atom.global.and.f32 %f1, [%rd9], %f2;", "does not know this form"},
        {"shfl.sync.b32 %r1, %r9, 0, 31, -1;", "does not know this form"},
        {"vote.sync.any.b32 %r1, %p1, -1;", "does not know this form"},
        {"vote.sync.ballot.b32 %r1, %r9, -1;", "no predicate: '%r9'"},
        {"cp.async.wait_group %r9;", "no number: '%r9'"},
        {"cp.async.ca.shared.global [sm], [%rd9], %r9;", "no number"},
        {"lop3.b32 %r1, %r9, %r9, %r9, %r9;", "no number"},
        {"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2}, [sm];", "another length"},
        {"ldmatrix.sync.aligned.m8n8.x2.shared.b16 %r1, [sm];", "another length"},
        {"ldmatrix.sync.aligned.m8n8.x1.global.b16 %r1, [%rd9];", "no address of shared memory"},
        {"mbarrier.init.shared.b64 %r9, 1;", "no address: '%r9'"},
        {"mbarrier.init.global.b64 [%rd9], 1;", "no address of shared memory"},
        {"mbarrier.init.b64 [%rd9], 1;", "no address of shared memory"},
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 %f1, {%r1,%r2,%r3,%r4}, {%r1,%r2}, "
         "{%f1,%f2,%f3,%f4};",
         "no vector: '%f1'"},
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, "
         "{%r1,%r2}, {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8};",
         "does not know this form"},
        {"mma.sync.aligned.m16n8k16.row.col.f32.f16.bf16.f32 {%f1,%f2,%f3,%f4}, "
         "{%r1,%r2,%r3,%r4}, {%r1,%r2}, {%f1,%f2,%f3,%f4};",
         "does not know this form"},
        {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1,%f2,%f3,1}, %rd9, %rd9, %p1, 1, "
         "1, 0, 0;",
         "no register: '1'"},
        /* Of integers there are 48 columns, and not 40. */
        {"wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.s8 {"
         "%r1,%r1,%r1,%r1,%r1,%r1,%r1,%r1,%r1,%r1,%r1,%r1,%r1,%r1,%r1,%r1,%r1,%r1,%r1,%r1}, "
         "%rd9, %rd9, %p1;",
         "does not know this form"},
        {"call (%r1), vprintf, (%r1, %r2);", "no function"},
        {"call vprintf;", "not what the function takes: 'vprintf'"},
        {REPLACE "box_dim.shared::cta.b1024.b32 [sm], %r9, 4;", "no number: '%r9'"},
        {REPLACE "box_dim.shared::cta.b1024.b32 [sm], 4;", "too few operands"},
        {REPLACE "rank.shared::cta.b1024.b32 [sm], 0, 1;", "too many operands: '1'"},
        {REPLACE "rank.shared::cta.b1024.b64 [sm], 1;", "no such type"},
        {REPLACE "elemtype.shared::cta.b1024.u32 [sm], 1;", "no such type"},
        {REPLACE "elemtype.shared::cta.b1024.b32 [sm], %r9;", "no number: '%r9'"},
        {REPLACE "global_address.shared::cta.b1024.b64 [sm], %r9;", "narrower than the type"},
        {REPLACE "swizzle_atomicity.shared::cta.b1024.b32 [sm], 0;",
         "does not know the instruction"},
        {"tensormap.replace.im2col.rank.b1024.b32 [%rd9], 1;", "does not know the instruction"},
        {"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "
         "[%rd9], [sm];",
         "too few operands"},
        {"fence.acquire.async::generic.cluster;", "does not know the word 'async::generic'"},
        {"bfind.carefully.u32 %r1, 1;", "does not know the word 'carefully'"},
        {"bfind.sat.u32 %r1, 1;", "does not know, of this instruction, the word 'sat'"},
        {"frobnicate.u32 %r1;", "does not know the instruction 'frobnicate.u32'"},
        {"add.quick.u32 %r1, %r9, 1;", "does not know the word 'quick'"},
        {"add..u32 %r1, %r9, 1;", "does not know the word ''"},
        {"mov.u32 %r1, 99999999999999999999999;", "not understood: '99999999999999999999999'"},
        {"mov.u32 %r1, 18446744073709551615;", NULL},
        {"mov.u32 %r1, 18446744073709551616;", "not understood"},
        {"mov.u32 %r1, 0x;", "not understood"},
        {"mov.f32 %f1, 0f3F80000;", "not understood"},
        {"mov.u32 %r1, 09;", "not understood"},
        {"mov.u32 %r1, %r99;", "not understood: '%r99'"},
        {"mov.u32 %r1, %r01;", "not understood: '%r01'"},
        {"mov.u32 %r1, %r;", "not understood: '%r'"},
    };
    SAY_ALL(rows, 32);
}
END_TEST

START_TEST(declarations_are_checked) {
    static const PtxSaid rows[] = {
        {".reg .b32 %x;", NULL},
        {".reg .b32 %x<0>;", "not understood"},
        {".reg .b32 %x<;", "not understood"},
        {".reg .b32 %x<5;", "not understood"},
        {".reg .b32 <5>;", "not understood"},
        {".reg .b32 %x<-1>;", "not understood"},
        {".reg .b32 %x<65537>;", "65536 registers at most"},
        {".reg .b32 %x<4294967297>;", "not understood"},
        {".reg .b8 %x;", NULL},
        {".reg .b8 %x; add.u16 %x, %h1, %h1;", "narrower than the type: '%x'"},
        {".reg .b128 %x;", "not understood"},
        {".reg .v4 .b32 %x;", "not understood"},
        {".reg %x;", "not understood"},
        {".shared .align 0 .b8 x[4];", "not understood"},
        {".shared .align 3 .b8 x[4];", "not understood"},
        {".shared .align 8192 .b8 x[4];", "not understood"},
        {".shared .b8 x[;", "not understood"},
        {".shared .b8 x[4;", "not understood"},
        {".shared .b8 x[4][4];", "not understood"},
        {".shared .pred x;", "not understood"},
        {".shared .b8 x[300000];", "more than 233472 bytes"},
        {".shared .b64 x[1073741824];", "more than 233472 bytes"},
        {".local .b8 x[600000];", "more than 524288 bytes"},
    };
    SAY_ALL(rows, 32);
    static PtxTest t;
    memset(&t, 0, sizeof t);
    int wrong = 0;
    static const PtxSaid outside[] = {
        {".global .b32 x[2] = {1, 2};", NULL},
        {".global .b128 x = 5;", "a variable too large"},
        {".global .pred x;", "a variable too large"},
        {".global .b64 x[1073741824];", "a variable too large"},
        {".global .b32 x[2] = {1, y};", "PTX line 4: an initial value that is not understood: 'y'"},
        {".global .b32 x[;", "not understood"},
        {".shared .align 16 .b8 x[300000];", "more than"},
        {".extern .shared .align 16 .b8 x[];", NULL},
    };
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        t.outside = outside[i].body;
        wrong += ptx_says(&t, "", outside[i].said);
    }
    ck_assert_int_eq(wrong, 0);
}
END_TEST

START_TEST(prints_only_what_it_knows) {
    static const struct {
        const char *format, *said, *printed;
    } rows[] = {
        {"%d", NULL, "7"},
        {"%5.3dx", NULL, "  007x"},
        {"%c%%", NULL, "\a%"},
        {"%lld", NULL, "7"},
        {"%n", "it prints '%n'", NULL},
        {"%n d", "it prints '%n d'", NULL},
        {"%*d", "it prints '%*d'", NULL},
        {"%999999d", "it prints '%999999d'", NULL},
        {"%.999999d", "it prints '%.999999d'", NULL},
        {"%", "it prints '%'", NULL},
        {"%1$d", "it prints '%1$d'", NULL},
        {"%s", "out of bounds", NULL},
        {"%lld %lld %lld %lld", "out of bounds", NULL},
    };
    static PtxTest t;
    memset(&t, 0, sizeof t);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char outside[400], *at = outside;
        at += sprintf(at, ".global .b8 format[32] = {");
        for (const char *p = rows[i].format; *p; p++) at += sprintf(at, "%d,", *p);
        sprintf(at, "0};");
        t.outside = outside;
        const char *said = run_body(
            &t, "setp.eq.u32 %p1, %r9, 0; @!%p1 bra E; .local .align 8 .b8 args[8];\n"
                "mov.b64 %rd1, 7; st.local.b64 [args], %rd1; mov.u64 %rd2, args;\n"
                "cvta.local.u64 %rd2, %rd2; mov.u64 %rd3, format; cvta.global.u64 %rd3, %rd3;\n"
                "{ .param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %rd3;\n"
                "st.param.b64 [b], %rd2; call (c), vprintf, (a, b); ld.param.b32 %r1, [c]; }\nE:");
        if (!rows[i].said) {
            ck_assert_msg(!said, "%s: %s", rows[i].format, said ? said : "");
            ck_assert_str_eq(t.printed, rows[i].printed);
        } else {
            ck_assert_msg(said && strstr(said, rows[i].said), "%s: %s", rows[i].format,
                          said ? said : "nothing");
        }
        ptx_test_end(&t);
    }
}
END_TEST

START_TEST(what_a_kernel_does_is_checked) {
    static const PtxSaid rows[] = {
        {"trap;", "it stops here"},
        {"ld.global.u32 %r1, [%rd9+8192];",
         "out of bounds: it reads 4 bytes at byte 8192 of 'out'"},
        {"ld.global.u32 %r1, [%rd9+-4];", "out of bounds"},
        {"ld.global.u32 %r1, [16];", "which lie in no buffer"},
        {"ld.global.u32 %r1, [%rd9+2];", "misaligned"},
        {"ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%rd9+8];", "misaligned"},
        {"ld.shared.u32 %r1, [sm+8192];", "out of bounds"},
        {"ld.shared.u32 %r1, [0];", "out of bounds"},
        {"ld.shared::cluster.u32 %r1, [0xFF000400];", "no address of shared memory"},
        {"ld.param.u32 %r1, [out+8];", "out of bounds"},
        {"ld.local.u32 %r1, [0];", "out of bounds"},
        {"ld.global.u32 %r1, [%rd1];", "%rd1, an address, is not known"},
        {"st.global.u32 [%rd8], %r1;", "%r1, which is stored, is not known"},
        {"cvt.rn.f16x2.f32 %r1, %f1, 0f00000000; mov.b32 {_, %h1}, %r1; st.global.b16 [%rd8], %h1;",
         "%h1, which is stored, is not known"},
        {"cvt.rn.satfinite.e4m3x2.f32 %h1, 0f00000000, %f1; st.global.b8 [%rd8], %h1;",
         "%h1, which is stored, is not known"},
        {"bfi.b32 %r2, 5, %r1, 1, 31; st.global.u32 [%rd8], %r2;",
         "%r2, which is stored, is not known"},
        {"bfi.b32 %r2, 5, 0, 0, %r1; st.global.u32 [%rd8], %r2;",
         "%r2, which is stored, is not known"},
        {"@%p1 mov.u32 %r1, 1;", "%p1, which decides whether this is done, is not known"},
        {"bar.sync 16;", "there is no barrier 16"},
        {"bar.sync 0, 33;", "33 threads are not whole warps"},
        {"bar.sync 0, 64;", "deadlock: it waits here for ever"},
        {"setp.eq.u32 %p1, %r9, 0; @%p1 bar.sync 0;", "not all threads of the warp are here"},
        {"shfl.sync.idx.b32 %r1, %r9, 0, 31, 1;", "the mask 0x1"},
        {"mbarrier.arrive.shared.b64 _, [sm];", "this is no barrier"},
        {"mbarrier.init.shared.b64 [sm], 0;", "a barrier for 0 arrivals"},
        {"mbarrier.init.shared.b64 [sm], 1048576;", "a barrier for 1048576 arrivals"},
        {"mbarrier.init.shared.b64 [sm], 1;\nmbarrier.arrive.shared.b64 _, [sm], 2;",
         "more arrive than the 1"},
        {"mbarrier.init.shared.b64 [sm+4], 1;", "misaligned"},
        {"mapa.shared::cluster.u32 %r1, %r9, 1;", "the cluster has no block 1"},
        {"cp.async.ca.shared.global [sm], [%rd9], 5;", "does not know this form"},
        {"cp.async.ca.shared.global [sm], [%rd9], 4, 5;", "it reads 5 of 4 bytes"},
        {"cp.async.ca.shared.global [sm], [%rd9], 4;", "nobody has waited for this"},
        {"cp.async.bulk.tensor.shared::cluster.global.tile.mbarrier::complete_tx::bytes [sm], "
         "[%rd9], [sm];",
         "does not know this form"},
        {"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [sm], "
         "[%rd9, {1, 1}], [sm];",
         "no map of a tensor"},
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [0xFE000400], [%rd9], "
         "16, [sm];",
         "names blocks that the cluster has not"},
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sm], [%rd9], 16, "
         "[1020];",
         "there is no barrier at byte -4"},
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sm], [%rd9], 16, "
         "[sm+8188];",
         "there is no barrier at byte 8188"},
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sm], [%rd9], 15, "
         "[sm];",
         "misaligned"},
        {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sm], [%rd9], "
         "4294967280, [sm];",
         "out of bounds"},
    };
    SAY_ALL(rows, 32);
}
END_TEST

#define GIVE "{ .param .b32 a; .param .b64 b; .param .b32 c; st.param.b32 [a], %r9; "
#define FUNCTION(takes, body) ".func (.param .b32 r) f(" takes ") {" body "}"

START_TEST(calls_are_checked) {
    static const struct {
        const char *outside, *body, *said;
    } rows[] = {
        {FUNCTION(".param .b32 x", "st.param.b32 [r], 1;"), GIVE "call (c), f, (a); }", NULL},
        {FUNCTION(".param .b32 x", "st.param.b32 [r], 1;"),
         GIVE "ld.param.b32 %r1, [c]; st.global.b32 [%rd8], %r1; call (c), f, (a); }",
         "%r1, which is stored, is not known"},
        {FUNCTION(".param .b32 x", "trap;"), GIVE "call (c), f, (a); }", "it stops here"},
        {FUNCTION(".param .b32 x", "exit;"), GIVE "call (c), f, (a); trap; }", NULL},
        {FUNCTION(".param .b32 x", ""), GIVE "call (c), g, (a); }", "there is no function 'g'"},
        {".func (.param .b32 r) f(.param .b32 x);", GIVE "call (c), f, (a); }",
         "there is no function 'f'"},
        {FUNCTION(".param .b32 x", ""), GIVE "call (c), f, (b); }",
         "not what the function takes: 'b'"},
        {FUNCTION(".param .b32 x", ""), GIVE "call (b), f, (a); }",
         "not what the function takes: 'b'"},
        {FUNCTION(".param .b32 x", ""), GIVE "call (c), f, (out); }",
         "not what the function takes: 'out'"},
        {FUNCTION(".param .b32 x", ""), GIVE "call (c), f, (z); }",
         "not what the function takes: 'z'"},
        {FUNCTION(".param .b32 x", ""), GIVE "call (c), f; }", "the function takes more than 'f'"},
        {FUNCTION(".param .b32 x", ""), GIVE "call f, (a); }", "the function takes more than 'f'"},
        {FUNCTION(".param .b32 x", ""), GIVE "call (c), f, (a, b); }",
         "the function does not take 'b'"},
        {FUNCTION(".reg .b32 x", ""), GIVE "call (c), f, (a); }",
         "a declaration that is not understood: '.reg .b32 x'"},
        {FUNCTION(".param .b32 x", ""), "call (%r1), f, (%r2);",
         "not what the function takes: '%r1'"},
        {FUNCTION(".param .b32 x", "add.u32 %r1, %r9, 1;"), GIVE "call (c), f, (a); }",
         "not understood: '%r1'"},
        {FUNCTION(".param .b32 x", "bra L;"),
         GIVE "call (c), f, (a); }\nL:", "not understood: 'L'"},
        {FUNCTION(".param .b32 x", "call (r), f, (x);"), GIVE "call (c), f, (a); }",
         "calls more than 32 deep: 'f'"},
        {".func f() { call g; call g; } .func g() { call h; call h; } .func h() { call i; call i; }"
         ".func i() { ret; }",
         "call f;", NULL},
        {".func f() { call g; call g; call g; call g; } .func g() { call f; }", "call f;",
         "calls more than 32 deep"},
        {FUNCTION("", "") FUNCTION("", ""), "", NULL},
        {".extern .func __assertfail(.param .b64 p, .param .b64 q);", "call __assertfail;",
         "not what the function takes: '__assertfail'"},
        {"", "call %r9;", "there is no function '%r9'"},
        {"", "call (c), (c), (c);", "no function: '(c)'"},
        {".global .b8 x[5] = {120, 60, 49, 46, 0};",
         "{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;"
         "mov.u64 %rd1, x; cvta.global.u64 %rd1, %rd1; st.param.b64 [a], %rd1;"
         "st.param.b64 [b], %rd1; st.param.b32 [c], 12; st.param.b64 [d], %rd1; st.param.b64 [e], "
         "1;"
         "call.uni __assertfail, (a, b, c, d, e); }",
         "assertion failed: x<1., line 12 of x<1."},
    };
    static PtxTest t;
    int wrong = 0;
    memset(&t, 0, sizeof t);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        t.outside = rows[i].outside;
        wrong += ptx_says(&t, rows[i].body, rows[i].said);
    }
    ck_assert_int_eq(wrong, 0);
}
END_TEST

/* 128 bytes of zeros in shared memory; a map in `out` of 8 words behind it, by thread 0, which
 * alone goes on; a load and a reduction by it. */
#define ZEROS                                                                                      \
    "mov.u32 %r3, sm; mad.lo.u32 %r2, %r9, 4, %r3; st.shared.b32 [%r2], 0; bar.warp.sync -1;\n"
#define PUBLISH                                                                                    \
    "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned "      \
    "[%rd9], [sm], 128;\n"
#define MAP                                                                                        \
    "setp.ne.u32 %p1, %r9, 0; @%p1 ret; add.u64 %rd1, %rd9, 1024;\n" REPLACE                       \
    "global_address.b1024.b64 [%rd9], %rd1;\n" REPLACE "box_dim.b1024.b32 [%rd9], 0, 4;\n" REPLACE \
    "global_dim.b1024.b32 [%rd9], 0, 8;\n" REPLACE "elemtype.b1024.b32 [%rd9], 2;\n"
#define USE(word)                                                                                  \
    "mbarrier.init.shared.b64 [sm+1024], 1;\n"                                                     \
    "mbarrier.arrive.expect_tx.shared.b64 _, [sm+1024], 16;\n"                                     \
    "cp.async.bulk.tensor.1d.shared::cluster.global." word                                         \
    ".mbarrier::complete_tx::bytes [sm], [%rd9, {0}], [sm+1024];\n"                                \
    "W: mbarrier.try_wait.parity.shared.b64 %p2, [sm+1024], 0; @!%p2 bra W;"
#define REDUCE(word)                                                                               \
    "st.shared.v4.b32 [sm], {1, 2, 3, 4}; fence.proxy.async;\n"                                    \
    "cp.reduce.async.bulk.tensor.1d.global.shared::cta." word ".bulk_group [%rd9, {0}], [sm];\n"   \
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
#define STORE(at)                                                                                  \
    "st.shared.v4.b32 [sm], {1, 2, 3, 4}; fence.proxy.async;\n"                                    \
    "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%rd9, {" at "}], [sm];\n"         \
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"

START_TEST(maps_are_checked) {
    static const PtxSaid rows[] = {
        {REPLACE "rank.shared::cta.b1024.b32 [sm], 1;", "[sm], a map of a tensor, is not known"},
        {ZEROS REPLACE "rank.shared::cta.b1024.b32 [sm], %r1;", "%r1 is not known"},
        {ZEROS REPLACE "rank.shared::cta.b1024.b32 [sm], 5;", "no maps with 5 there"},
        {ZEROS REPLACE "rank.shared::cta.b32 [sm], 1;", "does not know this form"},
        {ZEROS REPLACE "box_dim.shared::cta.b1024.b32 [sm], 5, 1;", "no maps with 1 there"},
        {ZEROS REPLACE "box_dim.shared::cta.b1024.b32 [sm], -1, 1;", "no maps with 1 there"},
        {ZEROS REPLACE "box_dim.shared::cta.b1024.b32 [sm], 0, 257;", "no maps with 257 there"},
        {ZEROS REPLACE "global_stride.shared::cta.b1024.b64 [sm], 4, 16;", "no maps with 16 there"},
        {ZEROS REPLACE "element_stride.shared::cta.b1024.b32 [sm], 0, 2;", "no maps with 2 there"},
        {ZEROS REPLACE "elemtype.shared::cta.b1024.b32 [sm], 13;", "no maps with 13 there"},
        {ZEROS REPLACE "interleave_layout.shared::cta.b1024.b32 [sm], 1;", "no maps with 1 there"},
        {ZEROS REPLACE "swizzle_mode.shared::cta.b1024.b32 [sm], 4;", "no maps with 4 there"},
        {ZEROS REPLACE "fill_mode.shared::cta.b1024.b32 [sm], 2;", "no maps with 2 there"},
        {ZEROS "st.shared.b32 [%r2], %r9; bar.warp.sync -1;" REPLACE
               "rank.shared::cta.b1024.b32 [sm], 1;",
         "this is no map of a tensor"},
        {REPLACE "rank.shared::cta.b1024.b32 [sm+64], 1;", "misaligned"},
        {REPLACE "rank.shared::cta.b1024.b32 [sm+8192], 1;", "out of bounds"},
        {REPLACE "rank.b1024.b32 [0], 1;", "which lie in no buffer"},
        {ZEROS "@%p1 " PUBLISH, "not known"},
        {ZEROS "setp.eq.u32 %p1, %r9, 0; @%p1 " PUBLISH, "not all threads of the warp are here"},
        {PUBLISH, "[sm], a map of a tensor, is not known"},
        {ZEROS "cvt.u64.u32 %rd1, %r9; mad.lo.u64 %rd9, %rd1, 128, %rd9;" PUBLISH,
         "its addresses are not those of all lanes"},
        {MAP "" USE("tile"), NULL},
        {MAP REPLACE "fill_mode.b1024.b32 [%rd9], 1;" USE("tile"), "fills integers with NaN"},
        {MAP REPLACE "rank.b1024.b32 [%rd9], 1;" USE("tile"), "a size other than 1 to 2^32"},
        {MAP REPLACE "rank.b1024.b32 [%rd9], 1;" REPLACE
                     "global_dim.b1024.b32 [%rd9], 1, 4;" USE("tile"),
         "whose box is not of 1 to 256 elements"},
        {MAP REPLACE "box_dim.b1024.b32 [%rd9], 0, 3;" USE("tile"), "as wide as no row"},
        {MAP REPLACE "global_address.b1024.b64 [%rd9], 8;" USE("tile"), "no multiple of 16"},
        {MAP REPLACE "global_address.b1024.b64 [%rd9], 16;" USE("tile"), "which lie in no buffer"},
        {MAP REDUCE("add"), NULL},
        {MAP REPLACE "elemtype.b1024.b32 [%rd9], 3;" REDUCE("inc"),
         "no such operation of a map of s32"},
        {MAP STORE("-4"), "it stores from coordinate -4 on, and must not begin below 0"},
        {MAP STORE("2"), "misaligned: it stores from byte 8 of a row on"},
        {MAP STORE("4"), NULL},
        {MAP STORE("8"), NULL},
        {MAP REDUCE("cas"), "no such operation of a map of u32"},
        {MAP REDUCE("tile"), "does not know this form"},
    };
    SAY_ALL(rows, 32);
}
END_TEST

/* Whatever is left out, or stands where it does not belong. */
START_TEST(pieces_of_files_are_no_harm) {
    static const char *const texts[] = {"",
                                        ".entry",
                                        ".entry k",
                                        ".entry k(",
                                        ".entry k(.param",
                                        ".entry k(.param .u64 x){",
                                        ".entry k(){@",
                                        ".entry k(){@%p",
                                        ".entry k(){a:",
                                        ".entry k(){a:.branchtargets",
                                        ".entry k(){add",
                                        ".entry k(){::",
                                        ".entry k(){add:::",
                                        ".entry k(){//",
                                        ".entry k(){.loc 99999999999999999999 1",
                                        ".target",
                                        ".func",
                                        ".func (",
                                        ".func (.param .b32 r) f(",
                                        ".func f() // {",
                                        ".func f(){",
                                        ".func f(){ret",
                                        ".func f(){call f;} .entry k(){call f;",
                                        ".global",
                                        ".global .b32",
                                        ".global .b32 x = {",
                                        "\xff\xfe\x80{}();"};
    for (volatile size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        static Session s;
        if (setjmp(s.bail)) ck_abort_msg("out of memory");
        session_init(&s);
        const PtxModule *m = ptx_load(&s, texts[i], strlen(texts[i]));
        ck_assert_msg(m || s.diags.errors, "%s: neither a module nor an error", texts[i]);
        session_free(&s);
    }
}
END_TEST

int main(void) {
    Suite *s = suite_create("ptx_refused");
    TCase *c = tcase_create("ptx_refused");
    tcase_set_timeout(c, 60);
    tcase_add_test(c, operands_are_those_of_the_row);
    tcase_add_test(c, declarations_are_checked);
    tcase_add_test(c, prints_only_what_it_knows);
    tcase_add_test(c, what_a_kernel_does_is_checked);
    tcase_add_test(c, calls_are_checked);
    tcase_add_test(c, maps_are_checked);
    tcase_add_test(c, pieces_of_files_are_no_harm);
    return run_suite(s, c);
}
