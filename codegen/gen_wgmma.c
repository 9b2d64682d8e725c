/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_wgmma.c: dots on a warpgroup's matrix instructions, whose operands stay in shared memory.
 *
 * An operand is named to the hardware by a 64-bit descriptor: address, two strides, the swizzle.
 * All offsets (a step of K, 64 rows further, a warpgroup's own part) are multiples of the swizzle's
 * period, so they are added to the address as they are. Encodings: PTX ISA, "Matrix descriptor". */
#include "codegen/gen.h"
#include "ir/buffer.h"

#include <string.h>

static int above(int bits, int used) {
    return bits > used ? bits - used : 0;
}

static void ordered_asm(Gen *g, const char *text) {
    gen_asm(g, text, "~{memory}", LLVMVoidTypeInContext(g->c), NULL, 0, ASM_CONVERGENT);
}

void gen_async_fence(Gen *g, const Op *op) {
    bool global = ir_attr_int(op, AT_GLOBAL, 0);
    /* On GPUs without units of their own there is nothing to tell. */
    if (g->o->target->wgmma)
        ordered_asm(g, global ? "fence.proxy.async.global;" : "fence.proxy.async.shared::cta;");
}

typedef struct Operand {     /* of a dot, in shared memory */
    LLVMValueRef first;      /* i64: the descriptor of its first element for this warpgroup */
    ConversionMap to_offset; /* from elements to offsets */
    int side_shift, k_shift, elem_log2;
    bool k_major;
} Operand;

/* The descriptor's fields but the address, for rows (K-major) or K-rows (else) of `span` bytes. */
static uint64_t descriptor_fields(bool k_major, int span_log2, int64_t block_bytes) {
    static const uint64_t mode[] = {[4] = 0, [5] = 3, [6] = 2, [7] = 1};
    uint64_t stride = (uint64_t)8 << span_log2; /* eight rows */
    uint64_t leading = k_major ? 16 : (uint64_t)block_bytes;
    return leading >> 4 << 16 | stride >> 4 << 32 | mode[span_log2] << 62;
}

static bool operand_of(Gen *g, const Op *op, int which, Operand *o) {
    const Value *buffer = op->operand[which].value;
    Type t = buffer->type;
    t = type_in_space(t, SPACE_REGISTER);
    memset(o, 0, sizeof *o);
    int side = which == 0 ? 0 : 1, k = 1 - side; /* A [M,K], B [K,N] */
    o->elem_log2 = log2_of(type_elem_bytes(t));
    o->side_shift = type_dim_shift(t, side);
    o->k_shift = type_dim_shift(t, k);
    o->k_major = buffer->layout->basis[IN_OFFSET][0] == (uint32_t)1 << o->k_shift;
    int fast = o->k_major ? k : side, slow = 1 - fast;
    Layout want = layout_wgmma_shared(t, fast, o->elem_log2);
    if (!layout_equal(&want, buffer->layout)) return false;
    int span = t.log2[fast] + o->elem_log2 < 7 ? t.log2[fast] + o->elem_log2 : 7;
    if (span < 5) return false;
    /* Which part of the side a warpgroup has: its number's bits walk the side's upper bits. */
    int gm = (int)ir_attr_int(op, AT_WARPS_M, 0), gn = (int)ir_attr_int(op, AT_WARPS_N, 0);
    int mine = which == 0 ? gm : gn, first = above(t.log2[side], mine);
    Layout at = layout_new(t);
    for (int i = 0; i < 2 + (which == 0 ? 0 : gm); i++) layout_push(&at, IN_WARP, 0);
    layout_push_dim(&at, IN_WARP, t, side, first, mine);
    SharedView view;
    if (!gen_shared_view(g, buffer, &at, &view)) return false;
    if (!layout_offset_map(t, buffer->layout, &o->to_offset)) return false;
    /* All lanes have the same share; told so, ptxas keeps descriptors in uniform registers. */
    LLVMValueRef lane = view.lane;
    if (!LLVMIsConstant(lane)) {
        LLVMBuilderRef here = g->b;
        g->b = g->entry;
        lane = gen_shuffle_from(g, lane, gen_i32(g, 0));
        g->b = here;
    }
    /* Addresses are multiples of 16 below 2^18, so a slice's is the buffer's plus so many 16ths.
     * All but that sum is worked out once. */
    const Value *of = buffer_of_view(buffer);
    const Op *slice = op_is(of, OP_BUFFER_SLICE) ? of->def : NULL;
    const Op *alloc = buffer_alloc(buffer);
    int64_t offset = ir_attr_int(alloc, AT_OFFSET, 0);
    uint64_t fields = descriptor_fields(o->k_major, span, (int64_t)1 << (t.log2[slow] + span));
    LLVMValueRef at0 = LLVMConstPtrToInt(g->shared, g->i32);
    at0 = LLVMBuildAdd(g->entry, at0, gen_i32(g, (uint32_t)offset), "");
    at0 = LLVMBuildAdd(g->entry, at0, lane, "");
    at0 = LLVMBuildAnd(g->entry, at0, gen_i32(g, 0x3FFF0), "");
    at0 = LLVMBuildLShr(g->entry, at0, gen_i32(g, 4), "");
    LLVMValueRef half[] = {LLVMBuildOr(g->entry, at0, gen_i32(g, (uint32_t)fields), ""),
                           gen_i32(g, (uint32_t)(fields >> 32))};
    if (slice) {
        int64_t bytes = buffer_stride(alloc);
        LLVMValueRef number = gen_scalar(g, slice->operand[1].value);
        LLVMValueRef by = LLVMBuildMul(g->b, number, gen_i32(g, (uint32_t)(bytes >> 4)), "");
        half[0] = LLVMBuildAdd(g->b, half[0], by, "");
    }
    /* Put together behind LLVM's back: the others are sums with it then, of 64 bits in one
     * instruction.
     */
    o->first = gen_asm(g, "mov.b64 $0, {$1, $2};", "=l,r,r", g->i64, half, 2, ASM_PURE);
    return true;
}

static LLVMValueRef descriptor(Gen *g, const Operand *o, uint32_t side, uint32_t k) {
    uint32_t element = side << o->side_shift | k << o->k_shift;
    uint32_t offset = layout_element_offset(&o->to_offset, element) << o->elem_log2;
    if (!offset) return o->first;
    return LLVMBuildAdd(g->b, o->first, LLVMConstInt(g->i64, offset >> 4, 0), "");
}

/* What is added to a descriptor for each step of K; 0: steps are not equally far apart. */
static uint64_t step_between(const Operand *o, int steps, int k) {
    uint32_t first = 0;
    for (int i = 1; i < steps; i++) {
        uint32_t element = (uint32_t)(i * k) << o->k_shift;
        uint32_t offset = layout_element_offset(&o->to_offset, element) << o->elem_log2;
        if (i == 1) first = offset;
        if (offset != first * (uint32_t)i) return 0;
    }
    return first >> 4;
}

static LLVMTypeRef result_type(Gen *g, const WgmmaInfo *w) {
    return w->c == EL_F32 ? g->f32 : g->i32;
}

/* A block of PTX whose n results are of type t. */
static void asm_results(Gen *g, const char *text, const char *constraints, LLVMTypeRef t,
                        LLVMValueRef *args, int nargs, unsigned flags, LLVMValueRef *out, int n) {
    LLVMTypeRef *fields = arena_array(&g->s->arena, (size_t)n, sizeof *fields);
    for (int i = 0; i < n; i++) fields[i] = t;
    LLVMTypeRef ret = n == 1 ? t : LLVMStructTypeInContext(g->c, fields, (unsigned)n, 0);
    LLVMValueRef v = gen_asm(g, text, constraints, ret, args, nargs, flags);
    for (int i = 0; i < n; i++)
        out[i] = n == 1 ? v : LLVMBuildExtractValue(g->b, v, (unsigned)i, "");
}

/* A dot by such instructions. */
typedef struct Product {
    const WgmmaInfo *w;
    bool saturate;
    int cols, all, tiles, steps; /* columns of an instruction, and held; rows in 64s; steps of K */
    const Operand *a, *b;        /* A is in registers where the instruction is told some */
} Product;

/* The instruction on accumulators that are operands from `first` on, and on A and B as they are
 * named. in_registers: A. */
static void put_wgmma(Buf *out, const Product *p, int first, const char *a, const char *b,
                      bool adds, bool in_registers) {
    const WgmmaInfo *w = p->w;
    buf_printf(out, "wgmma.mma_async.sync.aligned.m64n%dk%d.%s%s {", p->cols, w->k,
               p->saturate ? "satfinite." : "", w->text);
    for (int i = 0; i < p->cols / 2; i++) buf_printf(out, i ? ", $%d" : "$%d", first + i);
    buf_printf(out, "}, %s, %s, %d", a, b, adds);
    if (w->scales) buf_puts(out, ", 1, 1");
    if (w->majors && !in_registers) buf_printf(out, ", %d", !p->a->k_major);
    if (w->majors) buf_printf(out, ", %d", !p->b->k_major);
    buf_putc(out, ';');
}

static char letter_of(const WgmmaInfo *w) {
    return w->c == EL_F32 ? 'f' : 'r';
}

/* acc[0..n) += A * B, one instruction; = A * B where they begin as zeros. A is a descriptor (na 1),
 * or registers. */
static void wgmma_call(Gen *g, const Product *p, const LLVMValueRef *ra, int na, LLVMValueRef db,
                       LLVMValueRef *acc, bool zeros) {
    int n = p->cols / 2;
    Arena *arena = &g->s->arena;
    Buf text = buf_new(arena), constraints = buf_new(arena), from = buf_new(arena);
    LLVMValueRef *args = arena_array(arena, (size_t)(n + na) + 1, sizeof *args);
    for (int i = 0; i < n; i++) {
        buf_printf(&constraints, i ? ",=%c" : "=%c", letter_of(p->w));
        args[na + 1 + i] = acc[i];
    }
    for (int i = 0; i < na; i++) {
        buf_printf(&from, na == 1 ? "$%d" : i ? ", $%d" : "{$%d", n + i);
        buf_puts(&constraints, na > 1 ? ",r" : ",l");
        args[i] = ra[i];
    }
    if (na > 1) buf_putc(&from, '}');
    put_wgmma(&text, p, 0, from.data, arena_printf(arena, "$%d", n + na), !zeros, na > 1);
    buf_puts(&constraints, ",l");
    args[na] = db;
    for (int i = 0; i < n && !zeros; i++) buf_printf(&constraints, ",%d", i);
    asm_results(g, text.data, constraints.data, result_type(g, p->w), args,
                na + 1 + (zeros ? 0 : n), ASM_CONVERGENT, acc, n);
}

/* An instruction that values of one type pass through: nothing that makes them moves below it, and
 * nothing that reads them above. */
static void pass_through(Gen *g, const char *text, LLVMValueRef *x, int n) {
    LLVMTypeRef t = LLVMTypeOf(x[0]);
    Buf constraints = buf_new(&g->s->arena);
    for (int i = 0; i < n; i++)
        buf_printf(&constraints, i ? ",=%c" : "=%c", t == g->f32 ? 'f' : 'r');
    for (int i = 0; i < n; i++) buf_printf(&constraints, ",%d", i);
    buf_puts(&constraints, ",~{memory}");
    asm_results(g, text, constraints.data, t, x, n, ASM_CONVERGENT, x, n);
}

/* What is computed of the accumulators passes through: of each `all` columns `cols`. */
static void pass_accumulators(Gen *g, const char *text, LLVMValueRef *acc, int n, int all,
                              int cols) {
    LLVMValueRef *live = arena_array(&g->s->arena, (size_t)n, sizeof *live);
    int m = 0;
    for (int i = 0; i < n; i++)
        if (i % (all / 2) < cols / 2) live[m++] = acc[i];
    pass_through(g, text, live, m);
    for (int i = n; i-- > 0;)
        if (i % (all / 2) < cols / 2) acc[i] = live[--m];
}

static void wait_call(Gen *g, int pending, LLVMValueRef *acc, int n, int all, int cols) {
    const char *text = arena_printf(&g->s->arena, "wgmma.wait_group.sync.aligned %d;", pending);
    pass_accumulators(g, text, acc, n, all, cols);
}

enum { A_REGISTERS = 4 }; /* 16 rows by 16 elements of 2 bytes, over 32 lanes */

/* A's registers for every instruction: rows in 64s, then steps of K. */
static LLVMValueRef *a_registers(Gen *g, const Op *op, Tile *x) {
    *x = gen_tile(g, op->operand[0].value);
    LLVMValueRef *r = arena_array(&g->s->arena, (size_t)x->n / 2, sizeof *r);
    gen_pack(g, type_element(op->operand[0].value->type), x->at, x->n, 32, r);
    return r;
}

static LLVMValueRef bytes_of(Gen *g, LLVMValueRef x, LLVMValueRef y, LLVMValueRef which) {
    LLVMValueRef args[] = {x, y, which};
    return gen_asm(g, "prmt.b32 $0, $1, $2, $3;", "=r,r,r,r", g->i32, args, 3, ASM_PURE);
}

/* The same of bytes whose rows lie side by side: a transposed matrix of pairs of rows gives a lane
 * two of each, of two steps of K; the bytes of two such words are four steps of each row. NULL: the
 * buffer lies otherwise. */
static LLVMValueRef *a_pairs(Gen *g, const Op *op, int tiles, int steps) {
    enum { ROWS = 64, STEP = 32, HIGHER = 0x1111 };
    const Value *buffer = op->operand[0].value;
    Type t = type_in_space(buffer->type, SPACE_REGISTER);
    int gm = (int)ir_attr_int(op, AT_WARPS_M, 0), gn = (int)ir_attr_int(op, AT_WARPS_N, 0);
    Layout want = layout_wgmma_shared(t, 0, 0), at = layout_wgmma_pairs_a(t, gm, gn);
    ConversionMap to_offset;
    SharedView view;
    if (type_elem_bytes(t) != 1 || !layout_equal(&want, buffer->layout) ||
        !gen_shared_view(g, buffer, &at, &view) ||
        !layout_offset_map(t, buffer->layout, &to_offset))
        return NULL;
    LLVMValueRef upper = LLVMBuildAnd(g->entry, g->lane, gen_i32(g, 2), "");
    upper = LLVMBuildICmp(g->entry, LLVMIntNE, upper, gen_i32(g, 0), "");
    LLVMValueRef even =
        LLVMBuildSelect(g->entry, upper, gen_i32(g, 0x2064), gen_i32(g, 0x6420), "");
    LLVMValueRef odd = LLVMBuildAdd(g->entry, even, gen_i32(g, HIGHER), "");
    LLVMValueRef *r = arena_array(&g->s->arena, (size_t)(tiles * steps) * A_REGISTERS, sizeof *r);
    for (int i = 0; i < tiles * steps; i++) {
        uint32_t row = (uint32_t)(i / steps) * ROWS, k = (uint32_t)(i % steps) * STEP;
        uint32_t element = row << type_dim_shift(t, 0) | k << type_dim_shift(t, 1);
        LLVMValueRef x[4];
        gen_load_matrices(g, &view, layout_element_offset(&to_offset, element), true, x);
        for (int j = 0; j < A_REGISTERS; j++)
            r[i * A_REGISTERS + j] = bytes_of(g, x[j & 2], x[(j & 2) + 1], j & 1 ? odd : even);
    }
    return r;
}

/* A thread's registers follow each other by rows first where these are pairs, by columns first in
 * the instruction. */
static void swap_middle(LLVMValueRef *x, int n) {
    enum { FOUR = 4 };
    for (int i = 0; i + FOUR <= n; i += FOUR) {
        LLVMValueRef second = x[i + 1];
        x[i + 1] = x[i + 2];
        x[i + 2] = second;
    }
}

static bool are_zeros(const LLVMValueRef *x, int n) {
    for (int i = 0; i < n; i++)
        if (!LLVMIsNull(x[i])) return false;
    return true;
}

static const char wgmma_fence[] = "wgmma.fence.sync.aligned;",
                  wgmma_commit[] = "wgmma.commit_group.sync.aligned;";

/* As many steps as reach the `live` elements of K that are there, one at least, each a group of its
 * own: in another basic block than its instruction ptxas puts the fence in again (C7519), and an
 * empty instruction into the group. False: it cannot go on from one step to the next. */
static bool multiply_some(Gen *g, const Product *p, LLVMValueRef live, LLVMValueRef *acc) {
    enum { OTHERS = 2 }; /* arguments before A's descriptors: `live`, B's */
    uint64_t by_a = step_between(p->a, p->steps, p->w->k);
    uint64_t by_b = step_between(p->b, p->steps, p->w->k);
    int each = p->cols / 2, n = p->tiles * each, before = OTHERS + p->tiles;
    if (!by_a || !by_b) return false;
    Arena *arena = &g->s->arena;
    Buf text = buf_new(arena), constraints = buf_new(arena);
    LLVMValueRef *args = arena_array(arena, (size_t)(before + n), sizeof *args);
    LLVMValueRef *out = args + before;
    args[0] = live;
    args[1] = descriptor(g, p->b, 0, 0);
    buf_printf(&text,
               "{\n\t.reg .pred more;\n\t.reg .b32 left;\n\t.reg .b64 a<%d>, b;\n\t"
               "mov.b32 left, $%d;\n\tmov.b64 b, $%d;\n\t",
               p->tiles, n, n + 1);
    for (int i = 0; i < p->tiles; i++) {
        args[OTHERS + i] = descriptor(g, p->a, (uint32_t)i * 64, 0);
        buf_printf(&text, "mov.b64 a%d, $%d;\n\t", i, n + OTHERS + i);
        for (int k = 0; k < each; k++) out[i * each + k] = acc[i * p->all / 2 + k];
    }
    buf_printf(&text, ".pragma \"nounroll\";\nsteps_${:uid}:\n\t%s\n\t", wgmma_fence);
    for (int i = 0; i < p->tiles; i++) {
        put_wgmma(&text, p, i * each, arena_printf(arena, "a%d", i), "b", true, false);
        buf_printf(&text, "\n\tadd.s64 a%d, a%d, %llu;\n\t", i, i, (unsigned long long)by_a);
    }
    buf_printf(&text,
               "%s\n\tadd.s64 b, b, %llu;\n\tsub.s32 left, left, %d;\n\t"
               "setp.gt.s32 more, left, 0;\n\t@more bra steps_${:uid};\n\t}",
               wgmma_commit, (unsigned long long)by_b, p->w->k);
    for (int i = 0; i < n; i++) buf_printf(&constraints, i ? ",=%c" : "=%c", letter_of(p->w));
    buf_puts(&constraints, ",r,l");
    for (int i = 0; i < p->tiles; i++) buf_puts(&constraints, ",l");
    for (int i = 0; i < n; i++) buf_printf(&constraints, ",%d", i);
    buf_puts(&constraints, ",~{memory}");
    asm_results(g, text.data, constraints.data, result_type(g, p->w), args, before + n,
                ASM_CONVERGENT, out, n);
    for (int i = 0; i < n; i++) acc[i / each * p->all / 2 + i % each] = out[i];
    return true;
}

/* That one instruction computes: warps that share rows compute all. */
static int columns_of_dot(const Op *op, int all) {
    const WgmmaInfo *w = wgmma_row((int)ir_attr_int(op, AT_WGMMA, 0));
    if (ir_attr_int(op, AT_WARPS_N, 0)) return all;
    return (int)wgmma_n(w, ir_attr_int(op, AT_COLUMNS, all));
}

bool gen_dot_wgmma(Gen *g, const Op *op) {
    const WgmmaInfo *w = wgmma_row((int)ir_attr_int(op, AT_WGMMA, 0));
    Type ta = op->operand[0].value->type, tc = op->result[0]->type;
    int gm = (int)ir_attr_int(op, AT_WARPS_M, 0), gn = (int)ir_attr_int(op, AT_WARPS_N, 0);
    bool pairs = ir_attr_int(op, AT_PAIRS, 0);
    Layout want = (pairs ? layout_wgmma_pairs : layout_wgmma_c)(tc, gm, gn);
    Operand a = {.k_major = true}, b;
    LLVMValueRef *ra = NULL;
    Tile x = {0};
    if (!op->result[0]->layout || !layout_equal(&want, op->result[0]->layout) ||
        !operand_of(g, op, 1, &b))
        return false;
    int tiles = 1 << above(tc.log2[0], 6 + gm), all = 1 << (tc.log2[1] - gn);
    int cols = columns_of_dot(op, all);
    int steps = (int)type_dim(ta, 1) / w->k, nra = tiles * steps * A_REGISTERS;
    if (type_is_buffer(ta) && pairs) {
        ra = a_pairs(g, op, tiles, steps);
        if (!ra) return false;
    } else if (type_is_buffer(ta)) {
        if (!operand_of(g, op, 0, &a)) return false;
    } else {
        Layout held = layout_wgmma_a(ta, gm, gn);
        if (pairs || type_elem_bytes(ta) != 2 || !layout_equal(&held, op->operand[0].value->layout))
            return false;
        ra = a_registers(g, op, &x);
    }
    Tile c = gen_tile(g, op->operand[2].value), d = gen_new_tile(g, op->result[0]);
    memcpy(d.at, c.at, (size_t)d.n * sizeof *d.at);
    if (pairs) swap_middle(d.at, d.n);
    /* Registers that are written behind the fence have ptxas put another (C7519), and between two
     * instructions it waits for the first. LLVM copies a register there for each result that begins
     * as the same value, which only it may know of. */
    bool zeros = are_zeros(d.at, d.n);
    if (pairs) pass_through(g, "", ra, nra);
    const Product p = {w, ir_attr_int(op, AT_SATURATE, 0), cols, all, tiles, steps, &a, &b};
    LLVMValueRef live = op->noperands > 3 ? gen_scalar(g, op->operand[3].value) : NULL;
    bool some = live && !zeros && !ra && multiply_some(g, &p, live, d.at);
    if (zeros)
        ordered_asm(g, wgmma_fence);
    else if (!some)
        pass_accumulators(g, wgmma_fence, d.at, d.n, all, cols);
    for (int i = 0; i < tiles && !some; i++)
        for (int k = 0; k < steps; k++) {
            LLVMValueRef da = NULL, db = descriptor(g, &b, 0, (uint32_t)(k * w->k));
            if (!ra) da = descriptor(g, &a, (uint32_t)i * 64, (uint32_t)(k * w->k));
            wgmma_call(g, &p, ra ? &ra[(i * steps + k) * A_REGISTERS] : &da, ra ? A_REGISTERS : 1,
                       db, &d.at[i * all / 2], zeros && k == 0);
        }
    if (!some) ordered_asm(g, wgmma_commit);
    if (!ir_attr_int(op, AT_ASYNC, 0)) wait_call(g, 0, d.at, d.n, all, cols);
    if (pairs) swap_middle(d.at, d.n);
    return true;
}

/* That are computed of the sum of dots that v is, maybe by a loop's turns; else all. */
static int columns_of(const Value *v, int all) {
    enum { MOST_STEPS = 16 };
    for (int i = 0; i < MOST_STEPS; i++) {
        const Op *op = v->def ? v->def : v->block->parent;
        if (op && op->code == OP_DOT) return columns_of_dot(op, all);
        if (op && op->code == OP_DOT_WAIT)
            v = op->operand[0].value;
        else if (op && (op->code == OP_FOR || (op->code == OP_IF && v->def)) &&
                 (v->def || v->index > 0))
            v = op->region[0]->last->operand[v->def ? v->index : v->index - 1].value;
        else
            return all;
    }
    return all;
}

void gen_dot_wait(Gen *g, const Op *op) {
    Tile x = gen_tile(g, op->operand[0].value), out = gen_new_tile(g, op->result[0]);
    memcpy(out.at, x.at, (size_t)out.n * sizeof *out.at);
    if (!g->o->target->wgmma) return; /* its dots are done at once */
    Type t = op->result[0]->type;
    int all = (int)type_dim(t, 1), cols = columns_of(op->result[0], all);
    wait_call(g, (int)ir_attr_int(op, AT_PENDING, 0), out.at, out.n, all, cols);
}

/* ---- behind LLVM's passes ---- */

enum { MOST_HELD = 8 }; /* constants of a dot that are loaded once */

static bool is_asm_of(LLVMValueRef i, const char *begin) {
    LLVMValueRef f = LLVMIsACallInst(i) ? LLVMIsAInlineAsm(LLVMGetCalledValue(i)) : NULL;
    size_t len = 0;
    const char *text = f ? LLVMGetInlineAsmAsmString(f, &len) : NULL;
    return text && len >= strlen(begin) && !memcmp(text, begin, strlen(begin));
}

/* Of what A's registers hold the passes find that it is constant: where a mask leaves columns out.
 * LLVM would load that where an instruction reads it, behind the fence: it is loaded before. */
static void hold_constants(Gen *g, LLVMValueRef fence) {
    LLVMValueRef constant[MOST_HELD], held[MOST_HELD];
    int n = 0;
    if (!is_asm_of(fence, wgmma_fence)) return;
    LLVMPositionBuilderBefore(g->b, fence);
    for (LLVMValueRef i = LLVMGetNextInstruction(fence); i && !is_asm_of(i, wgmma_fence);
         i = LLVMGetNextInstruction(i)) {
        unsigned args = is_asm_of(i, "wgmma.mma_async") ? LLVMGetNumArgOperands(i) : 0;
        for (unsigned k = 0; k < args; k++) {
            LLVMValueRef x = LLVMGetOperand(i, k);
            int at = 0;
            if (!LLVMIsConstant(x) || LLVMTypeOf(x) != g->i32) continue;
            while (at < n && constant[at] != x) at++;
            if (at == MOST_HELD) at = n = 0;
            if (at == n) {
                constant[at] = held[at] = x;
                pass_through(g, "", &held[at], 1);
                n++;
            }
            LLVMSetOperand(i, k, held[at]);
        }
    }
}

void gen_hold_wgmma_constants(Gen *g) {
    gen_each_instruction(g, hold_constants);
}
