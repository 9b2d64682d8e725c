/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_llvm.c: intrinsics and kernels -> what LLVM 22 and LLVM 19 call them. All that differs
 * between the two in tilec's code is here, in intrinsics.def, and in target.def's processors. */
#include <inttypes.h>
#include <limits.h>
#include <llvm-c/Support.h>
#include <llvm/Config/llvm-config.h>
#include <stdio.h>
#include <string.h>

#include "codegen/gen.h"
#include "ir/roles.h"

/* ---- intrinsics ---- */

/* What LLVM calls them, and how many of the arguments given it takes, if not all. */
static const struct {
    const char *name;
    int most;
} intrinsics[] = {
#if LLVM_VERSION_MAJOR >= 22
#define INTRINSIC(id, name, name_19, arguments_19) {name, INT_MAX},
#else
#define INTRINSIC(id, name, name_19, arguments_19)                                                 \
    {name_19[0] ? name_19 : name, name_19[0] ? arguments_19 : INT_MAX},
#endif
#include "codegen/intrinsics.def"
#undef INTRINSIC
};

bool gen_find_intrinsics(Gen *g) {
    for (int i = 0; i < NINTRINSICS; i++) {
        const char *name = intrinsics[i].name;
        g->intrinsic[i] = LLVMLookupIntrinsicID(name, strlen(name));
        if (g->intrinsic[i]) continue;
        diag(&g->s->diags, E_LLVM, (Span){0},
             "LLVM %s has no %s, which tilec needs: build it on LLVM 22 or 19",
             codegen_llvm_version(), name);
        return false;
    }
    return true;
}

Intrinsic gen_intrinsic_of(const Gen *g, LLVMValueRef v) {
    LLVMValueRef f = LLVMIsACallInst(v) ? LLVMGetCalledValue(v) : NULL;
    unsigned id = f && LLVMIsAFunction(f) ? LLVMGetIntrinsicID(f) : 0;
    Intrinsic i = id ? 0 : NINTRINSICS;
    while (i < NINTRINSICS && g->intrinsic[i] != id) i++;
    return i;
}

LLVMValueRef gen_intrinsic(Gen *g, Intrinsic which, LLVMTypeRef *overload, int noverload,
                           LLVMValueRef *args, int nargs) {
    unsigned id = g->intrinsic[which];
    if (nargs > intrinsics[which].most) nargs = intrinsics[which].most;
    if (!LLVMIntrinsicIsOverloaded(id)) noverload = 0;
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(g->mod, id, overload, (size_t)noverload);
    LLVMTypeRef t = LLVMIntrinsicGetType(g->c, id, overload, (size_t)noverload);
    return LLVMBuildCall2(g->b, t, f, args, (unsigned)nargs, "");
}

/* ---- passes ---- */

/* Passes of LLVM's back end that are left out: they cost, and change no PTX of scripts/replay, if
 * not said otherwise. Options are LLVM's own state, like the targets that are registered, and of
 * the LLVM that this library has inside. */
static const char *const left_out[] = {
    "tilec",
    /* Accesses are as wide as tilec made them. A quarter of the time of examples/filter.tl. */
    "-disable-nvptx-load-store-vectorizer",
    "-disable-constant-hoisting",        /* constants cost nothing in PTX */
    "-disable-partial-libcall-inlining", /* no code calls a libm, */
    "-disable-mergeicmps",               /* or compares memory */
    "-disable-ssc",                      /* registers are not allocated, nor stack slots */
    "-disable-lsr",                      /* codegen.c runs it, before its last EarlyCSE */
    /* Loop strength reduction keeps what it found where that is better by its own count, which
     * knows no end of registers: batch norm's backward over 1,024 elements a thread spilled 5,572
     * bytes, and without it 20. Left out altogether it is missed in recurrent kernels. */
    "-lsr-drop-solution",
#if LLVM_VERSION_MAJOR >= 22
    /* Straight-line strength reduction took 40 % of the back end for flash_attention. Over the
     * kernels of scripts/replay it saves 1.2 % of the instructions and 0.8 % of the registers, and
     * attention is as fast without. Nary reassociation saves nothing, and does not always end
     * (llvm_bugs.c). For gvn see gen_level. LLVM 19 has no such option. */
    "-opt-disable=slsr,nary-reassociate,canon-freeze,gvn",
#endif
};

void gen_leave_passes_out(void) {
    LLVMParseCommandLineOptions(sizeof left_out / sizeof *left_out, left_out, NULL);
}

/* The back end runs EarlyCSE three times, a tenth of the time of a long kernel, or, where it is
 * told to optimise most, GVN, which differs in name: so it can be left out without ours. Nothing
 * else in the NVPTX back end asks for the level. */
LLVMCodeGenOptLevel gen_level(void) {
    return LLVM_VERSION_MAJOR >= 22 ? LLVMCodeGenLevelAggressive : LLVMCodeGenLevelDefault;
}

/* ---- parameters ---- */

enum { MAP_BYTES = 128, MAP_ALIGN = 64 };

static void param_attribute(Gen *g, unsigned i, LLVMAttributeRef a) {
    LLVMAddAttributeAtIndex(g->func, (LLVMAttributeIndex)(i + 1), a);
}

static LLVMAttributeRef attribute_of(Gen *g, const char *name, uint64_t value, LLVMTypeRef type) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    return type ? LLVMCreateTypeAttribute(g->c, kind, type)
                : LLVMCreateEnumAttribute(g->c, kind, value);
}

static void map_bytes(Gen *g, unsigned i) {
    LLVMTypeRef bytes = LLVMArrayType2(g->i8, MAP_BYTES);
    param_attribute(g, i, attribute_of(g, "byval", 0, bytes));
    param_attribute(g, i, attribute_of(g, "align", MAP_ALIGN, NULL));
}

/* ---- instructions ---- */

void gen_each_instruction(Gen *g, void (*visit)(Gen *g, LLVMValueRef v)) {
    for (LLVMValueRef f = LLVMGetFirstFunction(g->mod); f; f = LLVMGetNextFunction(f))
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
            for (LLVMValueRef v = LLVMGetFirstInstruction(b), next; v; v = next) {
                next = LLVMGetNextInstruction(v);
                visit(g, v);
            }
}

void gen_replace(LLVMValueRef v, LLVMValueRef with) {
    LLVMReplaceAllUsesWith(v, with);
    LLVMInstructionEraseFromParent(v);
}

/* ---- targets and kernels ---- */

const char *gen_processor(const Target *t) {
    return LLVM_VERSION_MAJOR >= 22 ? t->processor : t->processor_19;
}

const char *gen_ptx_feature(const Target *t) {
    return LLVM_VERSION_MAJOR >= 22 ? t->ptx_feature : t->ptx_feature_19;
}

/* So many threads cannot have as many registers as an instruction can name. */
static bool is_large(const Gen *g, uint32_t threads) {
    enum { NAMES = 256 };
    return threads * NAMES > g->o->target->registers;
}

uint32_t gen_programs(const Gen *g, uint32_t threads) {
    enum { LANES = 32 };
    if (g->f->min_programs) return (uint32_t)g->f->min_programs;
    if (!roles_of(g->f) || g->f->shared_bytes <= 0) return 1;
    return (uint32_t)target_programs_with_registers(g->o->target, g->f->shared_bytes,
                                                    threads / LANES);
}

#if LLVM_VERSION_MAJOR >= 22

enum { PTX_KERNEL = 71 }; /* a calling convention (llvm/IR/CallingConv.h) */

static void set_attribute(Gen *g, const char *name, const char *value) {
    LLVMAttributeRef a = LLVMCreateStringAttribute(g->c, name, (unsigned)strlen(name), value,
                                                   (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(g->func, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, a);
}

void gen_map_param(Gen *g, unsigned i) {
    static const char name[] = "nvvm.grid_constant";
    map_bytes(g, i);
    param_attribute(g, i, LLVMCreateStringAttribute(g->c, name, sizeof name - 1, "", 0));
}

void gen_make_kernel(Gen *g, uint32_t threads) {
    char size[40];
    snprintf(size, sizeof size, "%" PRIu32 ",1,1", threads);
    LLVMSetFunctionCallConv(g->func, PTX_KERNEL);
    if (g->f->occupancy != OCCUPANCY_PROGRAMS || is_large(g, threads))
        set_attribute(g, "nvvm.maxntid", size);
    snprintf(size, sizeof size, "%" PRIu32, gen_programs(g, threads));
    if (g->f->occupancy != OCCUPANCY_PROGRAMS) set_attribute(g, "nvvm.minctasm", size);
    if (!g->f->maxnreg) return;
    snprintf(size, sizeof size, "%d", g->f->maxnreg);
    set_attribute(g, "nvvm.maxnreg", size);
}

#else

/* Parameters are counted from 1. */
void gen_map_param(Gen *g, unsigned i) {
    map_bytes(g, i);
    LLVMMetadataRef number = LLVMValueAsMetadata(gen_i32(g, i + 1));
    LLVMMetadataRef at[3] = {LLVMValueAsMetadata(g->func),
                             LLVMMDStringInContext2(g->c, "grid_constant", 13),
                             LLVMMDNodeInContext2(g->c, &number, 1)};
    LLVMMetadataRef node = LLVMMDNodeInContext2(g->c, at, 3);
    LLVMAddNamedMetadataOperand(g->mod, "nvvm.annotations", LLVMMetadataAsValue(g->c, node));
}

static void annotate(Gen *g, const char *key, uint32_t value) {
    LLVMMetadataRef at[3] = {LLVMValueAsMetadata(g->func),
                             LLVMMDStringInContext2(g->c, key, strlen(key)),
                             LLVMValueAsMetadata(gen_i32(g, value))};
    LLVMMetadataRef node = LLVMMDNodeInContext2(g->c, at, 3);
    LLVMAddNamedMetadataOperand(g->mod, "nvvm.annotations", LLVMMetadataAsValue(g->c, node));
}

void gen_make_kernel(Gen *g, uint32_t threads) {
    annotate(g, "kernel", 1);
    if (g->f->occupancy != OCCUPANCY_PROGRAMS || is_large(g, threads))
        annotate(g, "maxntidx", threads);
    if (g->f->occupancy != OCCUPANCY_PROGRAMS) annotate(g, "minctasm", gen_programs(g, threads));
    if (g->f->maxnreg) annotate(g, "maxnreg", (uint32_t)g->f->maxnreg);
}

#endif
