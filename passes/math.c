/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* math.c: functions of floats -> arithmetic, for those that no instruction computes.
 *
 * NVIDIA's own library of them is not used; the tables math_f32.def and math_f64.def say how each
 * is computed, docs/math.md how exactly. The CPU device does not run this pass: it has every
 * function rounded once, which is what the expansions are measured against (tests/math/ulp.c). */
#include "passes/math.h"
#include "passes/pass.h"

#include <string.h>

static const struct Native {
    MathFunc func;
    bool f32, f64;
} natives[] = {
    {MATH_EXP, true, false},    {MATH_EXP2, true, false},  {MATH_SQRT, true, true},
    {MATH_SQRT_RN, true, true}, {MATH_RSQRT, true, false}, {MATH_RCP, true, false},
    {MATH_FLOOR, true, true},   {MATH_CEIL, true, true},   {MATH_TRUNC, true, true},
    {MATH_RINT, true, true},
};
enum { NATIVES = sizeof natives / sizeof natives[0] };

bool math_is_native(Elem elem, MathFunc f) {
    for (int i = 0; i < NATIVES; i++)
        if (natives[i].func == f) return elem == EL_F32 ? natives[i].f32 : natives[i].f64;
    return false;
}

static const MathFn library[] = {
#define FN(name, params, body) {EL_F32, name, params, body},
#include "passes/math_f32.def"
#undef FN
#define FN(name, params, body) {EL_F64, name, params, body},
#include "passes/math_f64.def"
#undef FN
};
enum { FUNCTIONS = sizeof library / sizeof library[0] };

const MathFn *math_find(Elem elem, const char *name, size_t n) {
    for (int i = 0; i < FUNCTIONS; i++)
        if (library[i].elem == elem && strlen(library[i].name) == n &&
            memcmp(library[i].name, name, n) == 0)
            return &library[i];
    return NULL;
}

/* The name of what op computes; NULL when there is nothing to expand. */
static const char *function_of(const Op *op) {
    if (op->nresults != 1) return NULL;
    Type t = op->result[0]->type;
    if (t.depth || (t.elem != EL_F32 && t.elem != EL_F64)) return NULL;
    if (op->code == OP_REM) return "rem";
    if (op->code == OP_MATH2) return attr_words(AT_FUNC2)[ir_attr_int(op, AT_FUNC2, 0)];
    if (op->code != OP_MATH) return NULL;
    int64_t f = ir_attr_int(op, AT_FUNC, 0);
    return math_is_native((Elem)t.elem, (MathFunc)f) ? NULL : attr_words(AT_FUNC)[f];
}

static void expand(Op *op, void *ctx_) {
    PassCtx *ctx = ctx_;
    const char *name = function_of(op);
    if (!name) return;
    Elem elem = (Elem)op->result[0]->type.elem;
    const MathFn *fn = math_find(elem, name, strlen(name));
    if (!fn) {
        diag(&ctx->s->diags, E_GPU_LACKS, op->span, "there is no %s of %s for GPUs", name,
             elem_info[elem].triton);
        diag(&ctx->s->diags, CODE_NONE, (Span){0}, "the CPU device has it; fp32 is an alternative");
        return;
    }
    Builder b = {ctx->s, ctx->f, op->block, op, op->span};
    Value *x[] = {ir_operand(op, 0), ir_operand(op, 1)};
    Value *v = math_expand(&b, fn, x, op->noperands);
    if (!v) return;
    v->name = op->result[0]->name;
    ir_replace_uses(op->result[0], v);
    ir_erase(op);
    ctx->changed = true;
}

void pass_math(PassCtx *ctx) {
    ir_walk(ctx->f->body, expand, ctx);
}
