/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_llvm.c: intrinsics and kernels -> what LLVM 22 and LLVM 19 call them. All that differs
 * between the two in tilec's code is here, in intrinsics.def, and in target.def's processors. */
#include <inttypes.h>
#include <limits.h>
#include <llvm/Config/llvm-config.h>
#include <stdio.h>
#include <string.h>

#include "codegen/gen.h"

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
        diag(&g->s->diags, DIAG_ERROR, (Span){0},
             "LLVM %s has no %s, which tilec needs: build it on LLVM 19 or 22",
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
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(g->mod, id, overload, (size_t)noverload);
    LLVMTypeRef t = LLVMIntrinsicGetType(g->c, id, overload, (size_t)noverload);
    return LLVMBuildCall2(g->b, t, f, args, (unsigned)nargs, "");
}

/* ---- kernels ---- */

#if LLVM_VERSION_MAJOR >= 22

enum { PTX_KERNEL = 71 }; /* a calling convention (llvm/IR/CallingConv.h) */

static void set_attribute(Gen *g, const char *name, const char *value) {
    LLVMAttributeRef a = LLVMCreateStringAttribute(g->c, name, (unsigned)strlen(name), value,
                                                   (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(g->func, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, a);
}

void gen_make_kernel(Gen *g, uint32_t threads) {
    char size[40];
    snprintf(size, sizeof size, "%" PRIu32 ",1,1", threads);
    LLVMSetFunctionCallConv(g->func, PTX_KERNEL);
    set_attribute(g, "nvvm.maxntid", size);
    set_attribute(g, "nvvm.minctasm", "1");
}

#else

static void annotate(Gen *g, const char *key, uint32_t value) {
    LLVMMetadataRef at[3] = {LLVMValueAsMetadata(g->func),
                             LLVMMDStringInContext2(g->c, key, strlen(key)),
                             LLVMValueAsMetadata(gen_i32(g, value))};
    LLVMMetadataRef node = LLVMMDNodeInContext2(g->c, at, 3);
    LLVMAddNamedMetadataOperand(g->mod, "nvvm.annotations", LLVMMetadataAsValue(g->c, node));
}

void gen_make_kernel(Gen *g, uint32_t threads) {
    annotate(g, "kernel", 1);
    annotate(g, "maxntidx", threads);
    annotate(g, "minctasm", 1);
}

#endif
