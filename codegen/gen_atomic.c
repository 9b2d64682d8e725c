/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_atomic.c: atomic reads, combinations and writes of global memory, as PTX.
 *
 * LLVM 19 drops the memory order and scope of its own atomics, so all of this is inline assembly.
 * Each element is done once, by the first thread that holds it, its owner; what others need of it,
 * and the barriers that its order asks for, are ops of their own (passes/exchange.c). */
#include "codegen/gen.h"
#include "ir/effects.h"

typedef struct Atomic {
    const Op *op;
    Type type; /* of the element */
    int bits;
    bool fenced; /* order comes from fences around relaxed operations */
    bool wanted; /* the old value has uses */
    bool red;    /* a reduction will do: nobody wants the old value, nothing is acquired by it */
    int vec;     /* log2 of the elements that one instruction takes */
    const char *sem, *scope;
} Atomic;

static const char *const sem_text[] = {"acq_rel", "relaxed", "acquire", "release"};
static const char *const scope_text[] = {"gpu", "cta", "sys"};

static LLVMTypeRef int_type(Gen *g, int bits) {
    return LLVMIntTypeInContext(g->c, (unsigned)bits);
}

static char letter_of(int bits) {
    return bits == 64 ? 'l' : bits == 32 ? 'r' : 'h';
}

/* "atom.global.gpu.acq_rel.", and of what compares and swaps "atom.global.acq_rel.gpu.": the order
 * of Triton's code, which its users look for. */
static void put_kind(Buf *b, const char *instruction, const Atomic *a, bool swaps) {
    buf_printf(b, "%s.global.%s.%s.", instruction, swaps ? a->sem : a->scope,
               swaps ? a->scope : a->sem);
}

/* One instruction: `name` as in add.u32, on up to two words, where mask (NULL: always) holds; the
 * old word, or what `keep` (NULL: anything) is where the mask does not hold. Where nobody wants the
 * old word, ptxas makes a reduction of it by itself. It does not go to `_`: for bf16, ptxas 13.0
 * crashes on that. */
static LLVMValueRef emit(Gen *g, const Atomic *a, const char *name, LLVMValueRef address,
                         const LLVMValueRef *word, int words, LLVMValueRef mask,
                         LLVMValueRef keep) {
    Buf text = buf_new(&g->s->arena), constraints = buf_new(&g->s->arena);
    LLVMValueRef args[5];
    LLVMTypeRef t = int_type(g, a->bits);
    char letter = letter_of(a->bits);
    int n = 0, at = 1, predicate = at + 1 + words;
    if (mask) buf_printf(&text, "@$%d ", predicate);
    put_kind(&text, "atom", a, words == 2);
    buf_printf(&text, "%s $0, [$%d]", name, at);
    buf_printf(&constraints, "=%c,l", letter);
    args[n++] = address;
    for (int i = 0; i < words; i++) {
        buf_printf(&text, ", $%d", at + 1 + i);
        buf_printf(&constraints, ",%c", letter);
        args[n++] = word[i];
    }
    buf_putc(&text, ';');
    if (mask) {
        buf_puts(&constraints, ",b");
        args[n++] = mask;
        if (a->wanted) {
            buf_puts(&constraints, ",0");
            args[n++] = keep ? keep : LLVMConstNull(t);
        }
    }
    buf_puts(&constraints, ",~{memory}");
    return gen_asm(g, text.data, constraints.data, t, args, n, ASM_ORDERED);
}

/* "{$2, $3}", or "$2". */
static void put_words(Buf *b, int first, int words) {
    for (int i = 0; i < words; i++)
        buf_printf(b, "%s$%d", i ? ", " : words > 1 ? "{" : "", first + i);
    if (words > 1) buf_putc(b, '}');
}

/* Adds 2^vec adjacent floats that share a mask, or takes the larger or smaller of each, as of more
 * than one word can be; nobody wants what was there. */
static void combine_vector(Gen *g, const Atomic *a, LLVMValueRef address, const LLVMValueRef *elem,
                           LLVMValueRef mask) {
    Buf text = buf_new(&g->s->arena), constraints = buf_new(&g->s->arena);
    int words = (a->bits << a->vec) / 32, at = a->red ? 0 : words, n = 0;
    LLVMValueRef args[6], word[4];
    LLVMTypeRef old[4] = {g->i32, g->i32, g->i32, g->i32}, ret = LLVMVoidTypeInContext(g->c);
    if (!a->red) ret = words == 1 ? g->i32 : LLVMStructTypeInContext(g->c, old, (unsigned)words, 0);
    gen_pack(g, a->type, elem, 1 << a->vec, 32, word);
    if (mask) buf_printf(&text, "@$%d ", at + 1 + words);
    int64_t rmw = ir_attr_int(a->op, AT_RMW, RMW_ADD);
    put_kind(&text, a->red ? "red" : "atom", a, false);
    buf_puts(&text, attr_words(AT_RMW)[rmw]);
    if (a->bits == 16) buf_puts(&text, ".noftz");
    if (words > 1) buf_printf(&text, ".v%d", words);
    buf_puts(&text, a->bits == 32 ? ".f32 " : a->type.elem == EL_F16 ? ".f16x2 " : ".bf16x2 ");
    if (!a->red) {
        put_words(&text, 0, words);
        buf_puts(&text, ", ");
        for (int i = 0; i < words; i++) buf_puts(&constraints, "=r,");
    }
    buf_printf(&text, "[$%d], ", at);
    put_words(&text, at + 1, words);
    buf_putc(&text, ';');
    buf_puts(&constraints, "l");
    args[n++] = address;
    for (int i = 0; i < words; i++) {
        buf_puts(&constraints, ",r");
        args[n++] = word[i];
    }
    if (mask) {
        buf_puts(&constraints, ",b");
        args[n++] = mask;
    }
    buf_puts(&constraints, ",~{memory}");
    gen_asm(g, text.data, constraints.data, ret, args, n, ASM_ORDERED);
}

/* Where the GPU does not do it, an element of 16 bits is combined by comparing and swapping until
 * nobody came between: `step` makes `next` of what is there, $0, and the operand, $2. */
static LLVMValueRef swap_until(Gen *g, const Atomic *a, const char *step, LLVMValueRef address,
                               LLVMValueRef word, LLVMValueRef mask) {
    const char *text =
        arena_printf(&g->s->arena,
                     "{\n.reg .pred again;\n.reg .b16 seen, next, zero;\n.reg .b32 wide, term;\n"
                     "mov.b16 zero, 0;\nmov.b16 $0, zero;\n@!$3 bra done;\n"
                     "ld.relaxed.%s.global.b16 $0, [$1];\nloop:\n%s"
                     "atom.global.relaxed.%s.cas.b16 seen, [$1], $0, next;\n"
                     "setp.ne.s16 again, seen, $0;\nmov.b16 $0, seen;\n@again bra loop;\ndone:\n}",
                     a->scope, step, a->scope);
    LLVMValueRef args[] = {address, word, mask ? mask : LLVMConstInt(g->i1, 1, 0)};
    return gen_asm(g, text, "=&h,l,h,b,~{memory}", g->i16, args, 3, ASM_ORDERED);
}

static const char *step_of(Gen *g, const Atomic *a, int64_t rmw) {
    if (rmw == RMW_ADD)
        return "mov.b32 wide, {zero, $0};\nmov.b32 term, {zero, $2};\n"
               "add.rn.f32 wide, wide, term;\ncvt.rn.bf16.f32 next, wide;\n";
    return arena_printf(&g->s->arena, "%s.%s next, $0, $2;\n", rmw == RMW_MAX ? "max" : "min",
                        a->type.elem == EL_F16 ? "f16" : "bf16");
}

/* Floats order as their bits do, as signed integers if the sign is clear; the other way round, as
 * unsigned ones, if it is set. Which of the two depends on the new value alone. */
static LLVMValueRef extreme_float(Gen *g, const Atomic *a, bool max, LLVMValueRef address,
                                  LLVMValueRef word, LLVMValueRef mask) {
    static const char *const names[2][2][2] = {{{"min.s32", "max.u32"}, {"max.s32", "min.u32"}},
                                               {{"min.s64", "max.u64"}, {"max.s64", "min.u64"}}};
    LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(word));
    LLVMValueRef negative = LLVMBuildICmp(g->b, LLVMIntSLT, word, zero, "");
    LLVMValueRef old = NULL;
    for (int sign = 0; sign < 2; sign++) {
        LLVMValueRef p = sign ? negative : LLVMBuildNot(g->b, negative, "");
        if (mask) p = LLVMBuildAnd(g->b, p, mask, "");
        old = emit(g, a, names[a->bits == 64][max][sign], address, &word, 1, p, old);
        if (!a->wanted) old = NULL;
    }
    return old;
}

static bool is_float_extreme(const Op *op, Type t) {
    int64_t rmw = ir_attr_int(op, AT_RMW, RMW_ADD);
    return op->code == OP_ATOMIC && type_is_float(t) && (rmw == RMW_MAX || rmw == RMW_MIN);
}

static bool by_swapping(const Gen *g, const Op *op, Type t) {
    if (is_float_extreme(op, t)) return type_elem_bits(t) == 16;
    return op->code == OP_ATOMIC && !t.depth && t.elem == EL_BF16 &&
           ir_attr_int(op, AT_RMW, RMW_ADD) == RMW_ADD && !g->o->target->atomic_bf16;
}

/* The instruction for this type; NULL when PTX has none. */
static const char *name_of(Gen *g, const Atomic *a, int64_t rmw) {
    static const char *const bitwise[] = {
        [RMW_AND] = "and", [RMW_OR] = "or", [RMW_XOR] = "xor", [RMW_XCHG] = "exch"};
    Type t = a->type;
    bool is_float = type_is_float(t);
    if (rmw >= RMW_AND) /* 16-bit words can be compared and swapped, nothing else */
        return a->bits < 32 ? NULL : arena_printf(&g->s->arena, "%s.b%d", bitwise[rmw], a->bits);
    if (t.depth || (!is_float && a->bits < 32) || a->bits < 16) return NULL;
    if (rmw == RMW_ADD && is_float)
        return a->bits == 16 ? (t.elem == EL_F16 ? "add.noftz.f16" : "add.noftz.bf16")
                             : arena_printf(&g->s->arena, "add.f%d", a->bits);
    if (is_float) return "";
    const char *verb = rmw == RMW_ADD ? "add" : rmw == RMW_MAX ? "max" : "min";
    char letter = type_is_signed(t) && rmw != RMW_ADD ? 's' : 'u';
    return arena_printf(&g->s->arena, "%s.%c%d", verb, letter, a->bits);
}

/* ---- order ---- */

static void fence(Gen *g, const char *scope) {
    const char *text = arena_printf(&g->s->arena, "fence.acq_rel.%s;", scope);
    gen_asm(g, text, "~{memory}", LLVMVoidTypeInContext(g->c), NULL, 0, ASM_ORDERED);
}

/* ---- the op ---- */

static bool supported(Gen *g, const Op *op, const Atomic *a, const char *name) {
    bool cas = op->code == OP_ATOMIC_CAS;
    if (cas ? a->bits >= 16 : name != NULL) return true;
    const char *what = cas ? "cas" : attr_words(AT_RMW)[ir_attr_int(op, AT_RMW, RMW_ADD)];
    gen_error(g, E_GPU_LACKS, op, "there is no atomic '%s' of %s on a GPU", what,
              type_user_text(&g->s->arena, a->type));
    return false;
}

static LLVMValueRef one_element(Gen *g, const Atomic *a, const char *name, LLVMValueRef address,
                                const LLVMValueRef *word, LLVMValueRef mask) {
    if (a->op->code == OP_ATOMIC_CAS)
        return emit(g, a, arena_printf(&g->s->arena, "cas.b%d", a->bits), address, word, 2, mask,
                    NULL);
    if (by_swapping(g, a->op, a->type))
        return swap_until(g, a, step_of(g, a, ir_attr_int(a->op, AT_RMW, RMW_ADD)), address,
                          word[0], mask);
    if (is_float_extreme(a->op, a->type))
        return extreme_float(g, a, ir_attr_int(a->op, AT_RMW, 0) == RMW_MAX, address, word[0],
                             mask);
    return emit(g, a, name, address, word, 1, mask, NULL);
}

/* How many elements each thread does itself, under l (NULL: a scalar's). */
static int elements_of(const Value *v) {
    uint32_t broadcast = v->layout ? layout_broadcast_bits(v->layout, IN_REG) : 0;
    return gen_registers(v) >> __builtin_popcount(broadcast);
}

/* Which instructions, and how they are ordered; the order that is left to them. */
static Atomic plan_of(Gen *g, const Op *op, bool acquire, bool release) {
    const Value *r = op->result[0];
    Atomic a = {.op = op, .type = type_element(r->type), .wanted = ir_has_uses(r)};
    a.red = !a.wanted && !acquire;
    a.bits = type_elem_bytes(r->type) * 8;
    a.vec = log2_of(ir_attr_int(op, AT_VECTOR, 1));
    a.fenced =
        elements_of(r) >> a.vec > 1 || by_swapping(g, op, a.type) || is_float_extreme(op, a.type);
    Sem sem = acquire && release ? SEM_ACQ_REL
              : acquire          ? SEM_ACQUIRE
              : release          ? SEM_RELEASE
                                 : SEM_RELAXED;
    a.sem = sem_text[a.fenced ? SEM_RELAXED : sem];
    a.scope = scope_text[ir_attr_int(op, AT_SCOPE, SCOPE_GPU)];
    return a;
}

void gen_atomic(Gen *g, const Op *op) {
    const Value *r = op->result[0];
    const Layout *l = r->layout;
    bool cas = op->code == OP_ATOMIC_CAS;
    Tile out = gen_new_tile(g, r), ptr = gen_tile(g, op->operand[0].value);
    Tile mask = {0}, in[2] = {gen_tile(g, op->operand[1].value)};
    if (cas)
        in[1] = gen_tile(g, op->operand[2].value);
    else if (op->noperands > 2)
        mask = gen_tile(g, op->operand[2].value);
    int64_t sem = ir_attr_int(op, AT_SEM, SEM_ACQ_REL);
    bool release = sem == SEM_ACQ_REL || sem == SEM_RELEASE;
    bool acquire = sem == SEM_ACQ_REL || sem == SEM_ACQUIRE;
    Atomic a = plan_of(g, op, acquire, release);
    const char *name = cas ? "" : name_of(g, &a, ir_attr_int(op, AT_RMW, RMW_ADD));
    for (int i = 0; i < out.n; i++) out.at[i] = LLVMGetPoison(gen_elem_type(g, r->type));
    if (!supported(g, op, &a, name)) return;
    if (release && a.fenced) fence(g, a.scope);
    LLVMValueRef first = gen_owner(g, r);
    LLVMValueRef *old = arena_array(&g->s->arena, (size_t)out.n, sizeof *old);
    uint32_t broadcast = l ? layout_broadcast_bits(l, IN_REG) : 0;
    for (int i = 0; i < out.n; i += 1 << a.vec) {
        if ((uint32_t)i & broadcast) {
            old[i] = old[(uint32_t)i & ~broadcast];
            continue;
        }
        LLVMValueRef word[2], p = mask.n ? mask.at[i] : NULL;
        if (first) p = p ? LLVMBuildAnd(g->b, p, first, "") : first;
        if (a.vec) {
            combine_vector(g, &a, ptr.at[i], &in[0].at[i], p);
            continue;
        }
        for (int k = 0; k < 1 + cas; k++) gen_pack(g, a.type, &in[k].at[i], 1, a.bits, &word[k]);
        old[i] = one_element(g, &a, name, ptr.at[i], word, p);
    }
    if (acquire && a.fenced) fence(g, a.scope);
    if (!a.wanted) return;
    if (first && !ir_attr_int(op, AT_OWNER, 0))
        gen_error(g, E_BUG, op,
                  "the result was left with its owners alone; this is a bug in tilec");
    for (int i = 0; i < out.n; i++) gen_unpack(g, a.type, &old[i], a.bits, &out.at[i], 1);
}

/* ---- reads and writes as one step ---- */

typedef struct OneStep { /* a load, store or poll of elements, one by one */
    const Op *op;
    Type type;
    int bits;
    const char *sem, *scope;
    LLVMValueRef start; /* of a poll that ends: the time when it began */
    Tile value, end;    /* what is stored or waited for; for how long */
} OneStep;

/* A byte travels in 16 bits. */
static LLVMTypeRef carrier(Gen *g, const OneStep *a) {
    return int_type(g, a->bits < 16 ? 16 : a->bits);
}

static LLVMValueRef carried(Gen *g, const OneStep *a, LLVMValueRef x) {
    LLVMValueRef word;
    gen_pack(g, a->type, &x, 1, a->bits, &word);
    return a->bits < 16 ? LLVMBuildZExt(g->b, word, g->i16, "") : word;
}

static LLVMValueRef load_one(Gen *g, const OneStep *a, LLVMValueRef address, LLVMValueRef p) {
    char letter = letter_of(a->bits);
    const char *text = arena_printf(&g->s->arena, "%sld.%s.%s.global.b%d $0, [$1];",
                                    p ? "@$2 " : "", a->sem, a->scope, a->bits);
    LLVMTypeRef t = carrier(g, a);
    LLVMValueRef args[] = {address, p, LLVMConstNull(t)}, x;
    x = gen_asm(g, text,
                arena_printf(&g->s->arena, p ? "=%c,l,b,0,~{memory}" : "=%c,l,~{memory}", letter),
                t, args, p ? 3 : 1, ASM_ORDERED);
    LLVMValueRef word = a->bits < 16 ? LLVMBuildTrunc(g->b, x, int_type(g, a->bits), "") : x;
    gen_unpack(g, a->type, &word, a->bits, &x, 1);
    return x;
}

static void store_one(Gen *g, const OneStep *a, LLVMValueRef address, LLVMValueRef x,
                      LLVMValueRef p) {
    char letter = letter_of(a->bits);
    const char *text = arena_printf(&g->s->arena, "%sst.%s.%s.global.b%d [$0], $1;",
                                    p ? "@$2 " : "", a->sem, a->scope, a->bits);
    LLVMValueRef args[] = {address, carried(g, a, x), p};
    gen_asm(g, text, arena_printf(&g->s->arena, p ? "l,%c,b,~{memory}" : "l,%c,~{memory}", letter),
            LLVMVoidTypeInContext(g->c), args, p ? 3 : 2, ASM_ORDERED);
}

/* Spins until the element is x; with `end`, for so many nanoseconds since the start. */
static LLVMValueRef poll_one(Gen *g, const OneStep *a, LLVMValueRef address, LLVMValueRef x,
                             LLVMValueRef end, LLVMValueRef p) {
    Buf text = buf_new(&g->s->arena);
    LLVMValueRef args[] = {address, carried(g, a, x), p ? p : LLVMConstInt(g->i1, 1, 0), a->start,
                           end};
    buf_printf(&text,
               "{\n.reg .pred same, early;\n.reg .b%d seen;\n.reg .b64 now;\n"
               "mov.pred same, 0;\n@!$3 bra done;\nagain:\nld.%s.%s.global.b%d seen, [$1];\n"
               "setp.eq.b%d same, seen, $2;\n",
               a->bits, a->sem, a->scope, a->bits, a->bits);
    if (end)
        buf_puts(&text, "@same bra done;\nmov.u64 now, %globaltimer;\nsub.u64 now, now, $4;\n"
                        "setp.lt.u64 early, now, $5;\n@early bra again;\n");
    else
        buf_puts(&text, "@!same bra again;\n");
    buf_puts(&text, "done:\nselp.u32 $0, 1, 0, same;\n}");
    LLVMValueRef seen = gen_asm(
        g, text.data,
        arena_printf(&g->s->arena, "=r,l,%c,b%s,~{memory}", letter_of(a->bits), end ? ",l,l" : ""),
        g->i32, args, end ? 5 : 3, ASM_ORDERED);
    return LLVMBuildICmp(g->b, LLVMIntNE, seen, gen_i32(g, 0), "");
}

static LLVMValueRef one_step(Gen *g, const OneStep *a, LLVMValueRef address, int i,
                             LLVMValueRef p) {
    switch (a->op->code) {
    case OP_ATOMIC_LOAD: return load_one(g, a, address, p);
    case OP_ATOMIC_STORE: store_one(g, a, address, a->value.at[i], p); return NULL;
    default: return poll_one(g, a, address, a->value.at[i], a->end.n ? a->end.at[i] : NULL, p);
    }
}

/* A release lies before the first store, an acquire behind the last load: one instruction has its
 * order itself, several have it from a fence, for which all threads wait. */
void gen_atomic_access(Gen *g, const Op *op) {
    const Value *pointers = op->operand[0].value, *masks = ir_access_mask(op);
    int64_t sem = ir_attr_int(op, AT_SEM, SEM_ACQ_REL);
    bool poll = op->code == OP_ATOMIC_POLL, ordered = sem != SEM_RELAXED;
    bool fenced = ordered && elements_of(pointers) > 1;
    OneStep a = {.op = op, .type = type_element(type_pointee(pointers->type))};
    a.bits = type_elem_bytes(a.type) * 8;
    a.sem = sem_text[fenced ? SEM_RELAXED : sem];
    a.scope = scope_text[ir_attr_int(op, AT_SCOPE, SCOPE_GPU)];
    Tile ptr = gen_tile(g, pointers), mask = {0}, out = {0};
    if (masks) mask = gen_tile(g, masks);
    if (op->code != OP_ATOMIC_LOAD) a.value = gen_tile(g, op->operand[1].value);
    if (poll && op->noperands > 2) {
        a.end = gen_tile(g, op->operand[2].value);
        a.start =
            gen_asm(g, "mov.u64 $0, %globaltimer;", "=l,~{memory}", g->i64, NULL, 0, ASM_ORDERED);
    }
    if (op->nresults) out = gen_new_tile(g, op->result[0]);
    if (fenced && sem == SEM_RELEASE) fence(g, a.scope);
    LLVMValueRef first = gen_owner(g, pointers);
    uint32_t broadcast = pointers->layout ? layout_broadcast_bits(pointers->layout, IN_REG) : 0;
    for (int i = 0; i < ptr.n; i++) {
        LLVMValueRef p = mask.n ? mask.at[i] : NULL, x = NULL;
        if (first) p = p ? LLVMBuildAnd(g->b, p, first, "") : first;
        if (!((uint32_t)i & broadcast)) x = one_step(g, &a, ptr.at[i], i, p);
        if (out.n) out.at[i] = x ? x : out.at[(uint32_t)i & ~broadcast];
    }
    if (fenced && sem == SEM_ACQUIRE) fence(g, a.scope);
    if (out.n && first && ir_has_uses(op->result[0]) && !ir_attr_int(op, AT_OWNER, 0))
        gen_error(g, E_BUG, op,
                  "the result was left with its owners alone; this is a bug in tilec");
}
