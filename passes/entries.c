/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* entries.c: a kernel whose dots add up what pointers and masks name -> it, and a further entry in
 * which the copy engine brings that: by a warp of its own, in programs that stay, whose stores go
 * on under their next products.
 *
 * The kernel's own entry is what its source says: any launcher can launch it. The further one takes
 * parameters that the launch makes, and is for launches whose tensors the copy engine takes: who
 * launches chooses (docs/abi.md). */
#include "ir/analysis/divergence.h"
#include "ir/buffer.h"
#include "ir/desc.h"
#include "ir/effects.h"
#include "ir/mma.h"
#include "ir/roles.h"
#include "ir/target.h"
#include "passes/cost.h"
#include "passes/forecast.h"
#include "passes/layout_choice.h"
#include "passes/live_words.h"
#include "passes/min_places.h"
#include "passes/pass.h"
#include "passes/role_registers.h"
#include "passes/schedule.h"

#include <string.h>

typedef struct Dots {
    int sums, others; /* what a loop does with others' results keeps its warps busy as it is */
    int64_t products; /* of the largest of the others */
    const Op *asked;  /* a loop that is to have a warp of its own for its blocks */
    bool uneven;      /* loops around some go round as often as the program's number says */
    bool waits;       /* for others: programs that stay might be whom they wait for */
} Dots;

/* A program for each place of the grid, as the source has it. */
static bool are_alone(const Dots *d) {
    return d->uneven || (d->waits && d->asked);
}

typedef struct Count {
    const uint8_t *divergent;
    Dots d;
} Count;

/* It looks again and again at what others write. */
static bool is_spin(const Op *op) {
    bool looks = op_orders(op) || (ir_effects(op) & EFFECT_OUTPUT) || op->code == OP_INLINE_ASM;
    const Op *at = op->block->parent;
    while (at && at->code != OP_WHILE) at = at->block->parent;
    return looks && at;
}

static void count(Op *op, void *ctx) {
    Count *c = ctx;
    Dots *d = &c->d;
    if (ir_attr_int(op, AT_WARP_SPECIALIZE, 0) && !d->asked) d->asked = op;
    d->waits |= op->code == OP_ATOMIC_POLL || is_spin(op);
    if (op->code != OP_DOT) return;
    for (const Op *at = op->block->parent; at; at = at->block->parent)
        for (int i = 0; at->code == OP_FOR && i < 3; i++)
            d->uneven |= c->divergent[at->operand[i].value->id] != 0;
    if (dot_chained(op) >= 0) {
        d->sums++;
        return;
    }
    Type a = op->operand[0].value->type, b = op->operand[1].value->type;
    int64_t products = type_numel(a) * type_dim(b, b.rank - 1);
    d->others++;
    if (products > d->products) d->products = products;
}

static bool is_taken(const Module *m, const char *name) {
    const Func *f = m->funcs;
    while (f && strcmp(f->name, name)) f = f->next;
    return f;
}

static Dots count_dots(const PassCtx *ctx) {
    Count c = {.divergent = divergence_analyse(ctx->s, ctx->f, NULL)};
    ir_walk(ctx->f->body, count, &c);
    c.d.uneven &= c.d.others > 0; /* of sums the parts of K are alike, wherever they begin */
    return c.d;
}

/* Why there is to be none: of a loop that asks for a warp of its own. */
static const char *why_not(const PassCtx *ctx, const Dots *d) {
    const Func *f = ctx->f;
    if (!ctx->target->tma)
        return arena_printf(&ctx->s->arena, "%s has no copy engine for it to start",
                            ctx->target->name);
    if (f->single_entry) return "the source's entry is to be the only one";
    if (roles_of(f)) return "the kernel says what its warps do";
    return d->sums + d->others ? NULL : "no dot takes blocks that it would bring";
}

static bool is_wanted(const PassCtx *ctx, const Dots *d) {
    const Func *f = ctx->f;
    bool worth =
        (d->sums && !d->others) || d->asked || (d->others && f->num_warps >= COST_FEEDING_WARPS);
    return !why_not(ctx, d) && !f->entry_of && !f->persistent && worth;
}

/* A load of the dots' loop that is left to the warps would have nobody to pipeline it. A dot of the
 * first turn alone may stand beside such a loop. */
static void look_for_load(Op *op, void *found) {
    const Op *loop = op->block->parent;
    if (op->code != OP_DOT || !loop || loop->code != OP_FOR || ir_attr_int(loop, AT_PARALLEL, 0))
        return;
    for (const Op *x = op->block->first; x; x = x->next) *(bool *)found |= x->code == OP_LOAD;
}

static bool is_made(const Func *f, bool alone) {
    bool left = false;
    ir_walk(f->body, look_for_load, &left);
    return (f->persistent || alone) && roles_of(f) && !left;
}

static void say_refused(const PassCtx *ctx, const Op *loop, const char *why) {
    diag(&ctx->s->diags, P_ROLES, loop->span,
         "no warp of its own brings this loop's blocks, as warp_specialize asks: %s", why);
}

static void look_for_view(Op *op, void *found) {
    *(bool *)found |=
        op->code == OP_MBAR_DESC_LOAD && op_is(op->operand[1].value, OP_BUFFER_REINTERPRET);
}

static bool transposes(const Func *f) {
    bool found = false;
    ir_walk(f->body, look_for_view, &found);
    return found;
}

static void look_for_pairs(Op *op, void *found) {
    *(bool *)found |= op->code == OP_DOT && ir_attr_int(op, AT_PAIRS, 0);
}

/* The kernel's own warps would transpose blocks in turns. */
static bool spares_transposing(const Func *f) {
    bool pairs = false;
    ir_walk(f->body, look_for_pairs, &pairs);
    return pairs || transposes(f);
}

/* Where all programs go along their tensors together, nobody comes back for what was taken: it
 * need not drive out of L2 what others left there. */
static void mark_streamed(Op *op, void *s) {
    if (op->code == OP_MAKE_DESC && !desc_is_stored(op))
        ir_set_attr(s, op, AT_STREAMED, COST_STREAMED_BYTES);
}

/* Places that take unequal time are left to the hardware, which starts a program where one ends:
 * programs that stay would take them in turn. The longest come first. */
void pass_entries(PassCtx *ctx) {
    static void (*const pass[])(PassCtx *) = {
        pass_cse,          pass_persistent, pass_licm, pass_dce,
        pass_stream_k,     pass_cse,        pass_licm, pass_dce,
        pass_overlap,      pass_cse,        pass_dce,  pass_warp_specialize,
        pass_stage_stores, pass_lower_desc, pass_fold, pass_cse,
        pass_licm,         pass_dce,
    };
    Func *f = ctx->f;
    const Dots d = count_dots(ctx);
    const char *why = d.asked ? why_not(ctx, &d) : NULL;
    const char *name = arena_printf(&ctx->s->arena, "%s__%s", f->name,
                                    are_alone(&d) ? "warp_specialized" : "persistent");
    if (why && !f->entry_of) say_refused(ctx, d.asked, why);
    if (!is_wanted(ctx, &d) || is_taken(ctx->module, name)) return;
    PassCtx own = *ctx;
    own.f = ir_clone_func(ctx->module, f, name);
    own.f->entry_of = f->name;
    pass_raise_desc(&own);
    pass_swap_ab(&own);
    forecast(&own);
    f->cost_lines = forecast_lines(&own); /* which are not seen in pointers */
    bool always =
        d.asked || d.uneven || d.products >= COST_LONG_TURN_PRODUCTS || !copies_as_well(&own);
    for (size_t i = 0; own.changed && i < sizeof pass / sizeof *pass; i++)
        (are_alone(&d) && pass[i] == pass_persistent ? pass_longest_first : pass[i])(&own);
    if (always || spares_transposing(own.f)) {
        own.f->min_places = 1;
    } else {
        own.f->min_places = 2;
        own.f->worth_places = worth_places(&own);
    }
    if (own.f->persistent) ir_walk(own.f->body, mark_streamed, ctx->s);
    ctx->changed = is_made(own.f, are_alone(&d));
    if (ctx->changed) return;
    if (d.asked) say_refused(ctx, d.asked, "its loads, or the rest of the kernel, do not let it");
    f->next = own.f->next;
}

/* ---- what came of it ---- */

static void look_at_box(Op *op, void *wrong) {
    DescBox box;
    const Value *d = op->code == OP_MAKE_DESC ? op->result[0] : NULL;
    if (d && d->layout && !*(const char **)wrong)
        *(const char **)wrong = desc_boxes(op, d->layout, &box);
}

static void add_stages(Op *op, void *bytes) {
    Type t = op->code == OP_BUFFER_ALLOC ? op->result[0]->type : type_token();
    if (t.space == SPACE_SHARED) *(int64_t *)bytes += t.slices * buffer_slice_bytes(op);
}

/* Some of a dot's columns are one instruction's to leave out. */
static void look_for_threads(Op *op, void *found) {
    *(bool *)found |=
        op->code == OP_DOT &&
        (!ir_attr(op, AT_WGMMA) || (ir_attr(op, AT_COLUMNS) && ir_attr_int(op, AT_WARPS_N, 0)));
}

static void look_for_large(Op *op, void *found) {
    *(bool *)found |= op->code == OP_STORE && cost_is_stored_as_held(op->operand[1].value->type);
}

/* Roles that have to give each other registers cannot, or who consumes has more tiles than what it
 * is given is for. */
static bool lacks_registers(const PassCtx *ctx) {
    bool helped = transposes(ctx->f), large = false;
    ir_walk(ctx->f->body, look_for_large, &large);
    if (!roles_of(ctx->f) || (!helped && !large)) return false;
    RoleRegisters r = role_registers_left(ctx);
    int64_t wants =
        live_words(ctx->s, ctx->f, roles_of(ctx->f)->region[0]) + COST_FEEDING_REGISTERS;
    return (helped && !r.given) || wants > r.of[0];
}

/* The most registers that an instruction takes. */
static void look_at_wgmma(Op *op, void *most) {
    if (op->code != OP_DOT || !ir_attr(op, AT_WGMMA)) return;
    int64_t columns = wgmma_columns(op);
    const WgmmaInfo *row = wgmma_row((int)ir_attr_int(op, AT_WGMMA, 0));
    columns = wgmma_n(row, ir_attr_int(op, AT_COLUMNS, columns));
    int64_t takes = wgmma_registers(columns);
    if (takes > *(int64_t *)most) *(int64_t *)most = takes;
}

typedef struct Parts {                         /* of sums, in the workspace */
    const Layout *layout[LAYOUT_MAX_BITS + 1]; /* by the size of the tile */
    bool wrong; /* some are held in several ways, or an element by several threads */
} Parts;

static void look_at_part(Op *op, void *ctx) {
    Parts *p = ctx;
    bool adds = op->code == OP_FRAGMENT_ADD;
    if (op->code != OP_FRAGMENT_STORE && op->code != OP_FRAGMENT_LOAD && !adds) return;
    const Layout *l = op->operand[!adds].value->layout;
    for (int in = IN_REG; in <= IN_WARP; in++)
        p->wrong |= layout_broadcast_bits(l, (LayoutIn)in) != 0;
    p->wrong |= p->layout[l->out] && p->layout[l->out] != l;
    p->layout[l->out] = l;
}

/* Who waits may wait for any program that the source's entry would have run beside it. That has as
 * many as shared memory and warps let; this one as many as it is sure of. */
static const char *may_wait_for_ever(const PassCtx *ctx) {
    const Func *f = ctx->f, *own = ctx->module->funcs;
    while (own && strcmp(own->name, f->entry_of)) own = own->next;
    if (!own) return "it waits, and the source's entry is not there";
    int64_t beside = target_programs(ctx->target, own->shared_bytes),
            most = COST_MOST_WARPS / own->num_warps,
            sure =
                target_programs_with_registers(ctx->target, f->shared_bytes, warps_of_program(f));
    if (beside > most) beside = most;
    if (sure >= beside) return NULL;
    return arena_printf(&ctx->s->arena,
                        "it waits, and of its programs a multiprocessor is sure to run %lld, of "
                        "the source's entry it may run %lld; of larger tiles they may be as "
                        "many",
                        (long long)sure, (long long)beside);
}

/* Why the kernel's own entry is the better one, whatever the launch; NULL: it is not. */
static const char *refuse(const PassCtx *ctx) {
    const Func *f = ctx->f;
    const Target *sm = ctx->target;
    const char *wrong = NULL;
    bool by_threads = false;
    int64_t programs = target_programs(sm, f->shared_bytes);
    if (f->shared_bytes > sm->max_shared) return "it needs more shared memory than there is";
    Dots d = count_dots(ctx);
    if (programs * f->num_warps < COST_ROLES_CONSUMERS && !d.asked)
        return "it has too few warps on a multiprocessor to fill each other's waits";
    const char *for_ever = d.waits && !f->persistent ? may_wait_for_ever(ctx) : NULL;
    if (for_ever) return for_ever;
    int64_t stages = 0;
    ir_walk(f->body, add_stages, &stages);
    if (programs * stages < COST_ROLES_IN_FLIGHT && !d.asked)
        return "its stages are too few beside what is stored through shared memory";
    ir_walk(f->body, look_for_threads, &by_threads);
    if (by_threads) return "its dots are not made of wgmma, which reads what the engine brought";
    int64_t most = 0;
    ir_walk(f->body, look_at_wgmma, &most);
    if (most > target_thread_registers(sm, warps_of_program(f)))
        return "its instructions take more registers than threads of so many warps have";
    if (lacks_registers(ctx))
        return "its sums and what it works on beside them take more registers than its roles leave";
    Parts parts = {0};
    ir_walk(f->body, look_at_part, &parts);
    if (parts.wrong) return "parts of its sums are not held in one way";
    ir_walk(f->body, look_at_box, &wrong);
    return wrong ? arena_printf(&ctx->s->arena, "a block %s", wrong) : NULL;
}

void pass_drop_entries(PassCtx *ctx) {
    Func *f = ctx->f, *before = ctx->module->funcs;
    const char *why = f->entry_of ? refuse(ctx) : NULL;
    if (!why || before == f) return;
    while (before->next != f) before = before->next;
    before->next = f->next;
    ctx->changed = true;
    diag(&ctx->s->diags, P_ENTRY, f->span,
         "kernel '%s' has no further entry whose blocks the copy engine brings: %s", f->entry_of,
         why);
}
