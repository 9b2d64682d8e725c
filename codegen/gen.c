/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen.c: one function of tile IR -> one LLVM kernel: parameters, constants, indices, shapes, and
 * the table that sends every op to the file that knows it. */
#include "codegen/gen.h"
#include "ir/effects.h"

#include <string.h>

/* bf16 is an integer to LLVM, whose back end aborts on some of what may be done to its bfloat. */
LLVMTypeRef gen_elem_type(Gen *g, Type t) {
    if (type_is_pointer(t)) return g->ptr;
    switch ((Elem)t.elem) {
    case EL_F16: return g->f16;
    case EL_F32: return g->f32;
    case EL_F64: return g->f64;
    default: return LLVMIntTypeInContext(g->c, (unsigned)elem_info[t.elem].bits);
    }
}

LLVMValueRef gen_i32(Gen *g, uint32_t v) {
    return LLVMConstInt(g->i32, v, 0);
}

int gen_registers(const Value *v) {
    if (type_is_token(v->type)) return 0;
    if (v->type.space != SPACE_REGISTER) return 1; /* an address */
    return v->layout ? 1 << v->layout->bits[IN_REG] : 1;
}

Tile gen_new_tile(Gen *g, const Value *v) {
    Tile t = {.n = gen_registers(v)};
    t.at = arena_array(&g->s->arena, (size_t)t.n, sizeof *t.at);
    return g->tile[v->id] = t;
}

Tile gen_tile(Gen *g, const Value *v) {
    return g->tile[v->id];
}
LLVMValueRef gen_scalar(Gen *g, const Value *v) {
    return g->tile[v->id].at[0];
}

static void add_attribute(Gen *g, LLVMValueRef call, const char *name, uint64_t value) {
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                             LLVMCreateEnumAttribute(g->c, kind, value));
}

void gen_convergent(Gen *g, LLVMValueRef call) {
    add_attribute(g, call, "convergent", 0);
}

LLVMValueRef gen_asm(Gen *g, const char *text, const char *constraints, LLVMTypeRef ret,
                     LLVMValueRef *args, int nargs, unsigned flags) {
    LLVMTypeRef *types = arena_array(&g->s->arena, (size_t)nargs, sizeof *types);
    for (int i = 0; i < nargs; i++) types[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef t = LLVMFunctionType(ret, types, (unsigned)nargs, 0);
    LLVMValueRef f = LLVMGetInlineAsm(t, text, strlen(text), constraints, strlen(constraints),
                                      !(flags & ASM_PURE), 0, LLVMInlineAsmDialectATT, 0);
    LLVMValueRef call = LLVMBuildCall2(g->b, t, f, args, (unsigned)nargs, "");
    add_attribute(g, call, "nounwind", 0);
    if (flags & ASM_PURE) add_attribute(g, call, "memory", 0); /* touches none */
    if (flags & ASM_CONVERGENT) gen_convergent(g, call);
    return call;
}

LLVMValueRef gen_opaque(Gen *g, LLVMValueRef x) {
    static const struct {
        const char *text, *constraints;
    } move[] = {{"mov.b16 $0, $1;", "=h,h"},
                {"mov.b32 $0, $1;", "=r,r"},
                {"mov.b64 $0, $1;", "=l,l"},
                {"mov.f32 $0, $1;", "=f,f"},
                {"mov.f64 $0, $1;", "=d,d"}};
    LLVMTypeRef t = LLVMTypeOf(x);
    int kind = t == g->i16   ? 0
               : t == g->i32 ? 1
               : t == g->i64 ? 2
               : t == g->f32 ? 3
               : t == g->f64 ? 4
                             : -1;
    return kind < 0
               ? x
               : gen_asm(g, move[kind].text, move[kind].constraints, t, &x, 1,
                         ASM_PURE | ASM_CONVERGENT); /* convergent: licm leaves it in its loop */
}

void gen_error(Gen *g, Code code, const Op *op, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(&g->s->arena, fmt, ap);
    va_end(ap);
    diag(&g->s->diags, code, op->span, "%s", text);
}

/* ---- simple ops ---- */

static void gen_constant(Gen *g, const Op *op) {
    Tile out = gen_new_tile(g, op->result[0]);
    LLVMValueRef v = gen_const(g, type_element(op->result[0]->type), ir_attr_int(op, AT_VALUE, 0));
    for (int i = 0; i < out.n; i++) out.at[i] = v;
}

static void gen_arange(Gen *g, const Op *op) {
    Tile out = gen_new_tile(g, op->result[0]);
    LLVMValueRef start = gen_i32(g, (uint32_t)ir_attr_int(op, AT_START, 0));
    for (int i = 0; i < out.n; i++) {
        out.at[i] = op->result[0]->layout ? gen_index(g, op->result[0]->layout, i) : gen_i32(g, 0);
        out.at[i] = LLVMBuildAdd(g->b, out.at[i], start, "");
    }
}

static void gen_program(Gen *g, const Op *op) {
    Intrinsic x = op->code == OP_NUM_PROGRAMS ? INTRINSIC_NCTAID_X : INTRINSIC_CTAID_X;
    Tile out = gen_new_tile(g, op->result[0]);
    out.at[0] = gen_intrinsic(g, x + (Intrinsic)ir_attr_int(op, AT_AXIS, 0), NULL, 0, NULL, 0);
}

/* A hidden parameter (compiler/manifest.c). */
LLVMValueRef gen_places(Gen *g, int axis) {
    return LLVMGetParam(g->func, (unsigned)(g->f->nparams + axis));
}

static void gen_work_size(Gen *g, const Op *op) {
    int axis = (int)ir_attr_int(op, AT_AXIS, 0);
    gen_new_tile(g, op->result[0]).at[0] = gen_places(g, axis);
}

static void gen_launch_number(Gen *g, const Op *op) {
    LLVMValueRef v = LLVMGetParam(g->func, (unsigned)(gen_first_number(g) + g->nnumbers++));
    gen_new_tile(g, op->result[0]).at[0] = v;
}

/* WORKSPACE, LAUNCH_MARK and STREAM_K */
static void gen_launch_value(Gen *g, const Op *op) {
    unsigned which = op->code == OP_WORKSPACE     ? 0
                     : op->code == OP_LAUNCH_MARK ? 1
                                                  : 2 + (unsigned)ir_attr_int(op, AT_SHARE, 0);
    unsigned first = (unsigned)(gen_first_map(g) + g->hidden.maps);
    gen_new_tile(g, op->result[0]).at[0] = LLVMGetParam(g->func, first + which);
}

/* What a program has is what it was launched with; its buffers are allocated by now. */
static void gen_single_cta(Gen *g, const Op *op) {
    int64_t bytes = g->f->shared_single_cta;
    LLVMValueRef yes = LLVMConstInt(g->i1, 0, 0);
    if (bytes) {
        LLVMValueRef has =
            gen_asm(g, "mov.u32 $0, %dynamic_smem_size;", "=r", g->i32, NULL, 0, ASM_PURE);
        yes = LLVMBuildICmp(g->b, LLVMIntUGE, has, gen_i32(g, (uint32_t)bytes), "");
    }
    gen_new_tile(g, op->result[0]).at[0] = yes;
}

static void gen_splat(Gen *g, const Op *op) {
    LLVMValueRef v = gen_scalar(g, op->operand[0].value);
    Tile out = gen_new_tile(g, op->result[0]);
    for (int i = 0; i < out.n; i++) out.at[i] = v;
}

/* What each hardware index of the result of a shape op holds, said in elements of its operand. */
static Layout operand_view(const Op *op) {
    const Value *r = op->result[0], *x = op->operand[0].value;
    Layout l = r->layout ? *r->layout : layout_new(r->type);
    if (op->code == OP_BROADCAST) return layout_before_broadcast(&l, r->type, x->type);
    if (op->code != OP_TRANS) return l;
    uint8_t back[TILE_MAX_RANK];
    const Attr *order = ir_attr(op, AT_ORDER);
    for (int d = 0; d < r->type.rank; d++) back[order->dims[d]] = (uint8_t)d;
    return layout_transposed(&l, r->type, back);
}

static void gen_shape(Gen *g, const Op *op) {
    const Value *x = op->operand[0].value;
    Tile in = gen_tile(g, x), out = gen_new_tile(g, op->result[0]);
    Layout at = operand_view(op), from = x->layout ? *x->layout : layout_new(x->type);
    if (gen_move(g, &at, &from, in, &out)) return;
    gen_error(
        g, E_BUG, op,
        "a change of layout between warps was left to code generation; this is a bug in tilec");
    for (int i = 0; i < out.n; i++)
        out.at[i] = LLVMGetPoison(gen_elem_type(g, op->result[0]->type));
}

/* A hint changes nothing: axis analysis has heard it. What all threads get from one of them ptxas
 * knows to be the same. */
static void gen_hint(Gen *g, const Op *op) {
    Tile x = gen_tile(g, op->operand[0].value);
    if (ir_attr_int(op, AT_UNIFORM, 0) && !LLVMIsConstant(x.at[0])) {
        Tile out = gen_new_tile(g, op->result[0]);
        for (int i = 0; i < out.n; i++) out.at[i] = gen_shuffle_from(g, x.at[i], gen_i32(g, 0));
        x = out;
    }
    if (ir_attr_int(op, AT_OPAQUE, 0)) {
        Tile out = gen_new_tile(g, op->result[0]);
        for (int i = 0; i < out.n; i++) out.at[i] = gen_opaque(g, x.at[i]);
        x = out;
    }
    g->tile[op->result[0]->id] = x;
}

static void gen_buffer_alloc(Gen *g, const Op *op) {
    Space space = (Space)op->result[0]->type.space;
    if (space == SPACE_TENSOR)
        gen_error(g, E_GPU_LACKS, op, "no target of this tilec has %s memory", space_text[space]);
}

static void gen_nothing(Gen *g, const Op *op) {
    (void)g;
    (void)op;
}

void gen_poison(Gen *g, const Op *op) {
    for (int i = 0; i < op->nresults; i++) {
        Tile t = gen_new_tile(g, op->result[i]);
        for (int k = 0; k < t.n; k++)
            t.at[k] = LLVMGetPoison(gen_elem_type(g, op->result[i]->type));
    }
}

void gen_not_yet(Gen *g, const Op *op) {
    gen_error(g, E_GPU_LACKS, op,
              "'%s' runs on the CPU device only: code for GPUs is not generated yet",
              op_info[op->code].text);
    gen_poison(g, op);
}

/* What works register by register is not here, but in gen_range_of. */
static void (*const handler[OPS])(Gen *g, const Op *op) = {
    [OP_CONST] = gen_constant,
    [OP_ARANGE] = gen_arange,
    [OP_PROGRAM_ID] = gen_program,
    [OP_NUM_PROGRAMS] = gen_program,
    [OP_WORK_SIZE] = gen_work_size,
    [OP_STREAM_K] = gen_launch_value,
    [OP_LAUNCH_NUMBER] = gen_launch_number,
    [OP_WORKSPACE] = gen_launch_value,
    [OP_LAUNCH_MARK] = gen_launch_value,
    [OP_FRAGMENT_ADD] = gen_fragment_add,
    [OP_MBAR_FRAGMENT_LOAD] = gen_mbar_fragment_load,
    [OP_SINGLE_CTA] = gen_single_cta,
    [OP_CLUSTER_RANK] = gen_cluster,
    [OP_CLUSTER_SIZE] = gen_cluster,
    [OP_CLUSTER_ID] = gen_cluster,
    [OP_NUM_CLUSTERS] = gen_cluster,
    [OP_CLUSTER_PLACE] = gen_cluster_place,
    [OP_SPLAT] = gen_splat,
    [OP_BROADCAST] = gen_shape,
    [OP_RESHAPE] = gen_shape,
    [OP_TRANS] = gen_shape,
    [OP_CONVERT] = gen_shape,
    [OP_DOT] = gen_dot,
    [OP_ATOMIC] = gen_atomic,
    [OP_ATOMIC_CAS] = gen_atomic,
    [OP_ATOMIC_LOAD] = gen_atomic_access,
    [OP_ATOMIC_STORE] = gen_atomic_access,
    [OP_ATOMIC_POLL] = gen_atomic_access,
    [OP_GRID_WAIT] = gen_grid,
    [OP_GRID_LAUNCH] = gen_grid,
    [OP_INLINE_ASM] = gen_inline_asm,
    [OP_BUFFER_ALLOC] = gen_buffer_alloc,
    [OP_SHARED_STORE] = gen_shared_store,
    [OP_SHARED_LOAD] = gen_shared_load,
    [OP_SHARED_GATHER] = gen_shared_gather,
    [OP_SHARED_COUNT] = gen_shared_count,
    [OP_BARRIER] = gen_barrier,
    [OP_WARP_BARRIER] = gen_warp_barrier,
    [OP_CLUSTER_BARRIER] = gen_cluster_barrier,
    [OP_ORDER_WAIT] = gen_order,
    [OP_ORDER_ARRIVE] = gen_order,
    [OP_BUFFER_SLICE] = gen_buffer_slice,
    [OP_BUFFER_TRANS] = gen_nothing,
    [OP_BUFFER_REINTERPRET] = gen_nothing,
    [OP_ASYNC_COPY] = gen_async_copy,
    [OP_TOKEN_DONE] = gen_nothing,
    [OP_ASYNC_COMMIT] = gen_async_commit,
    [OP_ASYNC_WAIT] = gen_async_wait,
    [OP_ASYNC_FENCE] = gen_async_fence,
    [OP_DOT_WAIT] = gen_dot_wait,
    [OP_WARPS] = gen_warps,
    [OP_ASYNC_ARRIVE] = gen_async_arrive,
    [OP_MBAR_INIT] = gen_mbar_init,
    [OP_MBAR_EXPECT] = gen_mbar_expect,
    [OP_MBAR_ARRIVE] = gen_mbar_arrive,
    [OP_MBAR_WAIT] = gen_mbar_wait,
    [OP_MAKE_DESC] = gen_make_desc,
    [OP_MBAR_DESC_LOAD] = gen_mbar_desc_load,
    [OP_ASYNC_DESC_STORE] = gen_async_desc_store,
    [OP_ASYNC_DESC_REDUCE] = gen_async_desc_store,
    [OP_FOR] = gen_for,
    [OP_REDUCE] = gen_reduce,
    [OP_SCAN] = gen_scan,
    [OP_MAP] = gen_map,
    [OP_JOIN] = gen_join,
    [OP_SPLIT] = gen_split,
    [OP_HINT] = gen_hint,
    [OP_PRINT] = gen_print,
    [OP_ASSERT] = gen_assert,
    [OP_ASSUME] = gen_nothing,
    [OP_IF] = gen_if,
    [OP_WHILE] = gen_while,
    [OP_RETURN] = gen_nothing,
    [OP_YIELD] = gen_nothing,
    [OP_CONDITION] = gen_nothing,
};

int gen_twin(const Tile *in, int operands, int i) {
    for (int rest = i; rest; rest &= rest - 1) {
        int k = i & ~(rest & -rest);
        bool same = true;
        for (int o = 0; o < operands && same; o++) same = in[o].at[k] == in[o].at[i];
        if (same) return k;
    }
    return -1;
}

GenRange gen_range_of(const Op *op) {
    switch (op->code) {
    case OP_CAST: return gen_cast;
    case OP_MATH: return gen_math;
    case OP_LOAD: return gen_load;
    case OP_STORE: return gen_store;
    case OP_FRAGMENT_STORE: return gen_fragment_store;
    case OP_FRAGMENT_LOAD: return gen_fragment_load;
    default: return !handler[op->code] && op_is_pure_elementwise(op) ? gen_elementwise : NULL;
    }
}

void gen_op(Gen *g, const Op *op) {
    GenRange range = gen_range_of(op);
    SizeMark mark;
    gen_debug_at(g, op);
    gen_size_begin(g, op, &mark);
    if (!gen_may_be_alone(op)) g->alone = NULL;
    if (range) {
        if (op->nresults) gen_new_tile(g, op->result[0]);
        range(g, op, 0, gen_registers(op->nresults ? op->result[0] : op->operand[1].value));
    } else if (handler[op->code]) {
        handler[op->code](g, op);
    } else {
        gen_not_yet(g, op);
    }
    gen_size_end(g, op, &mark);
}
