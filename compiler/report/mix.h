/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* mix.h: what code is made of: instructions by kind, as mix.def tells them apart. */
#ifndef TILE_COMPILER_REPORT_MIX_H
#define TILE_COMPILER_REPORT_MIX_H

#include "base/session.h"
#include "compiler/report/facts.h"
#include "ptx/read.h"

typedef struct MixCount {
    int group;
    const char *name; /* "cp.async.16"; one for each text */
    int n;
} MixCount;

typedef VEC(MixCount) Mix;
typedef bool MixWanted(const PtxInst *x, const void *user);

/* The kind of an instruction into *name, and its group. */
const char *mix_kind(const PtxInst *x, Buf *name);
/* Bytes of one access of a lane: 16 of ld.global.v4.b32; of cp.async [a], [b], 16. */
int mix_access_bytes(PtxWord op);
int mix_copied_bytes(PtxWord args);
/* Of those instructions that are wanted, by group and name. */
Mix mix_of(Session *s, const PtxKernel *k, MixWanted *wanted, const void *user);
/* Of those in a loop, but not in one inside it; -1: of all of the kernel. */
Mix mix_of_loop(Session *s, const PtxKernel *k, int loop);
const char *mix_group(const MixCount *c);
/* How many have that name, or begin with it and go on with a dot or a space. */
int mix_count(const Mix *mix, const char *name);
/* A group for each group, with a number for each name. */
void mix_facts(Session *s, const Mix *mix, Fact *in);

#endif
