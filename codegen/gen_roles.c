/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_roles.c: roles of warps, barriers that count, blocks by descriptors.
 *
 * A role is code behind a branch on the warp's number, in which threads and warps are counted from
 * the role's first. What one thread does for all is under a predicate. Forms: PTX ISA, "Parallel
 * Synchronization and Communication Instructions", and "Data Movement", cp.async.bulk.tensor. */
#include "codegen/gen.h"
#include "ir/buffer.h"
#include "ir/desc.h"
#include "ir/effects.h"
#include "ir/roles.h"

#include <inttypes.h>
#include <stdio.h>

static void ordered(Gen *g, const char *text, const char *constraints, LLVMValueRef *args, int n) {
    gen_asm(g, text, constraints, LLVMVoidTypeInContext(g->c), args, n,
            ASM_ORDERED | ASM_CONVERGENT);
}

static LLVMValueRef is_first_thread(Gen *g) {
    return LLVMBuildICmp(g->b, LLVMIntEQ, g->tid, gen_i32(g, 0), "");
}

static LLVMValueRef address_of(Gen *g, const Value *buffer) {
    return LLVMBuildPtrToInt(g->b, gen_buffer_pointer(g, buffer), g->i32, "");
}

static bool lacks(Gen *g, const Op *op, bool has) {
    if (has) return false;
    gen_error(g, E_GPU_LACKS, op, "%s has no '%s'", g->o->target->name, op_info[op->code].text);
    gen_poison(g, op);
    return true;
}

/* ---- roles ---- */

static void set_registers(Gen *g, int registers) {
    char text[64];
    int threads =
        warps_of_program(g->f) * 32 * (int)gen_programs(g, (uint32_t)warps_of_program(g->f) * 32);
    int has = (int)g->o->target->registers / threads / ROLE_REGISTERS_STEP * ROLE_REGISTERS_STEP;
    if (!registers || registers == has) return;
    snprintf(text, sizeof text, "setmaxnreg.%s.sync.aligned.u32 %d;",
             registers < has ? "dec" : "inc", registers);
    ordered(g, text, "", NULL, 0);
}

/* Waits of all threads, right in front of the roles. Each role does them behind what it works out
 * first: while one thread makes the barriers the others have nothing else to do. */
static bool is_wait_of_all(const Op *op) {
    return op->code == OP_BARRIER || op->code == OP_CLUSTER_BARRIER || op->code == OP_GRID_WAIT ||
           op->code == OP_GRID_LAUNCH;
}

bool gen_leaves_to_roles(const Gen *g, const Op *op) {
    enum { MOST_WAITS = 4 }; /* more in a row nobody makes: a look at each must not be one at all */
    if (!is_wait_of_all(op) || !g->o->target->tma) return false;
    for (int i = 0; i < MOST_WAITS && is_wait_of_all(op); i++) op = op->next;
    return op->code == OP_WARPS;
}

static void gen_waits(Gen *g, const Op *roles) {
    const Op *op = roles;
    while (op->prev && gen_leaves_to_roles(g, op->prev)) op = op->prev;
    for (; op != roles; op = op->next) gen_op(g, op);
}

/* Nothing that would wait in registers. */
static bool is_worked_out_first(const Op *op) {
    for (int i = 0; i < op->nresults; i++)
        if (op->result[i]->type.rank) return false;
    return op->nresults && (!op->nregions || op->code == OP_IF) && ir_is_pure(op);
}

/* LLVM would sink quotients to the loop that takes them, behind the waits. */
static void work_out_first(Gen *g, const Op *op) {
    gen_op(g, op);
    if (op->code != OP_DIV && op->code != OP_REM) return;
    LLVMValueRef *at = &gen_tile(g, op->result[0]).at[0];
    LLVMTypeRef t = LLVMTypeOf(*at);
    if (t == g->i32) *at = gen_asm(g, "mov.b32 $0, $1;", "=r,r", t, at, 1, ASM_ORDERED);
}

static bool is_loaded_by_this_role(const Op *load) {
    int role = role_of_block(load->block);
    for (const Use *u = load->operand[0].value->uses; u; u = u->next)
        if (role_of_block(u->op->block) != role) return false;
    return true;
}

/* Policies of what the role loads: LLVM would sink them to their loop, too, and ptxas all but what
 * a shuffle gives. Their lower words are 0. */
static void work_out_policy(Op *op, void *ctx) {
    enum { WORD = 32 };
    Gen *g = ctx;
    Tile *maps = op->code == OP_MBAR_DESC_LOAD ? &g->tile[op->operand[0].value->id] : NULL;
    LLVMValueRef policy = maps && maps->at ? maps->at[maps->n] : NULL;
    if (!policy || !LLVMIsASelectInst(policy) || !is_loaded_by_this_role(op)) return;
    LLVMValueRef shift = LLVMConstInt(g->i64, WORD, 0);
    LLVMValueRef word = LLVMBuildTrunc(g->b, LLVMBuildLShr(g->b, policy, shift, ""), g->i32, "");
    word = LLVMBuildZExt(g->b, gen_shuffle_from(g, word, gen_i32(g, 0)), g->i64, "");
    maps->at[maps->n] = LLVMBuildShl(g->b, word, shift, "");
}

static void gen_role(Gen *g, const Op *op, int r, LLVMValueRef warp, LLVMBasicBlockRef after) {
    LLVMBasicBlockRef head = LLVMAppendBasicBlockInContext(g->c, g->func, "role");
    LLVMBasicBlockRef body = LLVMAppendBasicBlockInContext(g->c, g->func, "body");
    LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(g->c, g->func, "next");
    LLVMBasicBlockRef entry = LLVMGetInsertBlock(g->entry);
    LLVMValueRef tid = g->tid, own_warp = g->warp;
    LanePart *parts = g->parts;
    uint32_t first_warp = (uint32_t)role_first_warp(op, r), n = (uint32_t)role_warps(op, r);
    LLVMValueRef from = LLVMBuildSub(g->b, warp, gen_i32(g, first_warp), "");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntULT, from, gen_i32(g, n), ""), head, next);
    /* What the role's warps and lanes make of their numbers goes to its head. */
    LLVMPositionBuilderAtEnd(g->entry, head);
    LLVMPositionBuilderAtEnd(g->b, head);
    if (!role_shares_group(op, r)) set_registers(g, role_registers(op, r));
    g->parts = NULL;
    g->tid = LLVMBuildSub(g->entry, tid, gen_i32(g, first_warp * 32), "");
    uint32_t numbers = (uint32_t)layout_warps_of_block(g->f, op->region[r]);
    g->warp = LLVMBuildAnd(g->entry, from, gen_i32(g, numbers - 1), "warp");
    LLVMPositionBuilderAtEnd(g->b, body);
    const Op *first = op->region[r]->first;
    for (; is_worked_out_first(first); first = first->next) work_out_first(g, first);
    ir_walk(op->region[r], work_out_policy, g);
    gen_waits(g, op);
    gen_from(g, first);
    LLVMBuildBr(g->b, after);
    LLVMBuildBr(g->entry, body);
    g->parts = parts;
    g->tid = tid;
    g->warp = own_warp;
    LLVMPositionBuilderAtEnd(g->entry, entry);
    LLVMPositionBuilderAtEnd(g->b, next);
}

void gen_warps(Gen *g, const Op *op) {
    LLVMBasicBlockRef after = LLVMAppendBasicBlockInContext(g->c, g->func, "after");
    LLVMValueRef warp = LLVMBuildLShr(g->b, g->tid, gen_i32(g, 5), "");
    warp = gen_shuffle_from(g, warp, gen_i32(g, 0)); /* ptxas knows then: the same for all lanes */
    for (int r = 0; r < op->nregions; r++) {
        if (role_registers(op, r) && lacks(g, op, g->o->target->wgmma)) return;
        /* The last warpgroup is left: all its warps give registers back, by one instruction. */
        bool group = role_shares_group(op, r) && role_first_warp(op, r) % WARPGROUP == 0;
        if (group) set_registers(g, role_registers(op, r));
        gen_role(g, op, r, warp, after);
    }
    gen_waits(g, op);
    LLVMBuildBr(g->b, after);
    LLVMPositionBuilderAtEnd(g->b, after);
}

void gen_warp_barrier(Gen *g, const Op *op) {
    LLVMValueRef all = LLVMConstInt(g->i32, UINT32_MAX, 0);
    (void)op;
    gen_intrinsic(g, INTRINSIC_WARP_BARRIER, NULL, 0, &all, 1);
}

void gen_barrier(Gen *g, const Op *op) {
    int id = barrier_id(op), warps = barrier_warps(g->f, op);
    LLVMValueRef args[] = {gen_i32(g, (uint32_t)id), gen_i32(g, (uint32_t)warps * 32)};
    if (id == 0 && warps == warps_of_program(g->f))
        gen_intrinsic(g, INTRINSIC_BARRIER, NULL, 0, args, 1);
    else if (warps == 1)
        gen_warp_barrier(g, op);
    else
        gen_intrinsic(g, INTRINSIC_BARRIER_COUNT, NULL, 0, args, 2);
}

static LLVMValueRef cluster_value(Gen *g, OpCode code) {
    const char *text = code == OP_CLUSTER_RANK   ? "mov.u32 $0, %cluster_ctarank;"
                       : code == OP_CLUSTER_SIZE ? "mov.u32 $0, %cluster_nctarank;"
                       : code == OP_CLUSTER_ID   ? "mov.u32 $0, %clusterid.x;"
                                                 : "mov.u32 $0, %nclusterid.x;";
    return gen_asm(g, text, "=r", g->i32, NULL, 0, ASM_PURE);
}

/* CLUSTER_RANK, CLUSTER_SIZE, CLUSTER_ID and NUM_CLUSTERS */
void gen_cluster(Gen *g, const Op *op) {
    if (lacks(g, op, g->o->target->tma)) return;
    gen_new_tile(g, op->result[0]).at[0] = cluster_value(g, op->code);
}

void gen_cluster_place(Gen *g, const Op *op) {
    if (lacks(g, op, g->o->target->tma)) return;
    LLVMValueRef all = gen_scalar(g, op->operand[1].value);
    LLVMValueRef first = gen_scalar(g, op->operand[0].value);
    first = LLVMBuildMul(g->b, first, cluster_value(g, OP_CLUSTER_SIZE), "");
    LLVMValueRef place = LLVMBuildAdd(g->b, first, cluster_value(g, OP_CLUSTER_RANK), "");
    LLVMValueRef there = LLVMBuildICmp(g->b, LLVMIntSLT, place, all, "");
    LLVMValueRef last = LLVMBuildSub(g->b, all, gen_i32(g, 1), "");
    gen_new_tile(g, op->result[0]).at[0] = LLVMBuildSelect(g->b, there, place, last, "");
    gen_new_tile(g, op->result[1]).at[0] = there;
}

/* Relaxed: with release ptxas has all that was ever written to memory seen by all first. What the
 * others are to see are barriers, which mbar_init makes seen, and that this program reads and
 * writes nothing of theirs any more. */
void gen_cluster_barrier(Gen *g, const Op *op) {
    if (lacks(g, op, g->o->target->tma)) return;
    ordered(g, "barrier.cluster.arrive.relaxed;\n\tbarrier.cluster.wait;", "~{memory}", NULL, 0);
}

/* ---- barriers that count ---- */

/* What one thread does for all at the begin lies behind one branch: under predicates all warps
 * would go through it, those who start copies, too. The block to go on in is returned. */
static LLVMBasicBlockRef begin_alone(Gen *g) {
    LLVMBasicBlockRef here = LLVMGetInsertBlock(g->b);
    LLVMValueRef end = g->alone ? LLVMGetBasicBlockTerminator(g->alone) : NULL;
    if (!end || LLVMGetSuccessor(end, 0) != here) {
        g->alone = LLVMAppendBasicBlockInContext(g->c, g->func, "alone");
        LLVMBasicBlockRef all = LLVMAppendBasicBlockInContext(g->c, g->func, "all");
        LLVMBuildCondBr(g->b, is_first_thread(g), g->alone, all);
        LLVMPositionBuilderAtEnd(g->b, g->alone);
        LLVMBuildBr(g->b, all);
        here = all;
    }
    LLVMPositionBuilderBefore(g->b, LLVMGetBasicBlockTerminator(g->alone));
    return here;
}

bool gen_may_be_alone(const Op *op) {
    return op->code == OP_MBAR_INIT || op->code == OP_MAKE_DESC ||
           (!op->nregions && ir_is_pure(op));
}

void gen_mbar_init(Gen *g, const Op *op) {
    const Op *alloc = buffer_alloc(op->operand[0].value);
    bool all = op->operand[0].value->def == alloc;
    int n = all ? buffer_slices(alloc) : 1;
    LLVMBasicBlockRef here = begin_alone(g);
    LLVMValueRef at = address_of(g, op->operand[0].value);
    for (int i = 0; i < n; i++) {
        int64_t by = i * buffer_stride(alloc);
        LLVMValueRef args[] = {LLVMBuildAdd(g->b, at, gen_i32(g, (uint32_t)by), ""),
                               gen_i32(g, (uint32_t)ir_attr_int(op, AT_COUNT, 1))};
        ordered(g, "mbarrier.init.shared.b64 [$0], $1;", "r,n,~{memory}", args, 2);
    }
    /* The copy engine is to see them, too. */
    if (g->o->target->tma) ordered(g, "fence.mbarrier_init.release.cluster;", "~{memory}", NULL, 0);
    LLVMPositionBuilderAtEnd(g->b, here);
}

void gen_mbar_expect(Gen *g, const Op *op) {
    if (lacks(g, op, g->o->target->tma)) return;
    LLVMValueRef args[] = {is_first_thread(g), address_of(g, op->operand[0].value),
                           gen_i32(g, (uint32_t)ir_attr_int(op, AT_BYTES, 0))};
    ordered(g, "@$0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [$1], $2;", "b,r,n,~{memory}",
            args, 3);
}

/* In lane i the rank i; behind the last any. */
static LLVMValueRef rank_of_lane(Gen *g, const Op *op) {
    LLVMValueRef rank = gen_scalar(g, op->operand[op->noperands - 1].value);
    for (int i = op->noperands - 3; i >= 0; i--) {
        LLVMValueRef mine = LLVMBuildICmp(g->b, LLVMIntULE, g->lane, gen_i32(g, (uint32_t)i), "");
        rank = LLVMBuildSelect(g->b, mine, gen_scalar(g, op->operand[1 + i].value), rank, "");
    }
    return rank;
}

/* A warp's threads first wait for each other, then the first arrives for them, or as many as there
 * are programs to tell. What programs of a cluster have in shared memory lies at the same place in
 * each. */
static void arrive(Gen *g, LLVMValueRef at, LLVMValueRef first, LLVMValueRef rank) {
    LLVMValueRef all = LLVMConstInt(g->i32, UINT32_MAX, 0), there[] = {at, rank};
    LLVMValueRef args[] = {LLVMBuildICmp(g->b, LLVMIntULT, g->lane, first, ""), at};
    gen_intrinsic(g, INTRINSIC_WARP_BARRIER, NULL, 0, &all, 1);
    if (rank)
        args[1] = gen_asm(g, "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r", g->i32, there, 2,
                          ASM_PURE);
    ordered(g,
            rank ? "@$0 mbarrier.arrive.shared::cluster.b64 _, [$1];"
                 : "{\n\t.reg .b64 s;\n\t@$0 mbarrier.arrive.shared.b64 s, [$1];\n\t}",
            "b,r,~{memory}", args, 2);
}

void gen_mbar_arrive(Gen *g, const Op *op) {
    int told = op->noperands - 1;
    if (told && lacks(g, op, g->o->target->tma)) return;
    arrive(g, address_of(g, op->operand[0].value), gen_i32(g, (uint32_t)(told ? told : 1)),
           told ? rank_of_lane(g, op) : NULL);
}

/* With assertions a wait that nobody ends traps: each try gives up by itself after some time.
 * asks: the lane that waits for its warp; NULL: all do. */
static void wait_for(Gen *g, LLVMValueRef at, LLVMValueRef phase, LLVMValueRef asks) {
    enum { MOST_TRIES = 1 << 22 };
    LLVMValueRef parity = LLVMBuildAnd(g->b, phase, gen_i32(g, 1), "");
    LLVMValueRef args[] = {at, parity, gen_i32(g, MOST_TRIES), asks};
    char text[480];
    bool bounded = g->o->debug || g->f->debug;
    snprintf(
        text, sizeof text,
        "{\n\t.reg .pred p%s%s\nwait_${:uid}:\n\tmbarrier.%s.parity.shared%s.b64 p, [$0], $1;\n\t"
        "%s@!p bra wait_${:uid};%s\n\t}",
        bounded ? ", q;\n\t.reg .b32 n;\n\tmov.b32 n, 0;" : ";",
        asks ? "\n\t@!$3 bra done_${:uid};" : "", g->o->target->tma ? "try_wait" : "test_wait",
        g->o->target->tma ? "::cta" : "",
        bounded ? "add.u32 n, n, 1;\n\tsetp.gt.u32 q, n, $2;\n\t@q trap;\n\t" : "",
        asks ? "\ndone_${:uid}:\n\tbar.warp.sync -1;" : "");
    ordered(g, text, asks ? "r,r,n,b,~{memory}" : "r,r,n,~{memory}", args, asks ? 4 : 3);
}

void gen_mbar_wait(Gen *g, const Op *op) {
    wait_for(g, address_of(g, op->operand[0].value), gen_scalar(g, op->operand[1].value), NULL);
}

/* ORDER_WAIT and ORDER_ARRIVE: a warpgroup waits at the barrier of its own number, where the one
 * before it arrives, the first for the phase before. The number is a shuffled one: ptxas knows that
 * it is a whole warp's. That one lane waits is worth 3 % of attention with heads of 64. */
void gen_order(Gen *g, const Op *op) {
    bool waits = op->code == OP_ORDER_WAIT;
    uint32_t n = (uint32_t)warps_of_block(g->f, op->block) / WARPGROUP;
    const Op *alloc = buffer_alloc(op->operand[0].value);
    LLVMValueRef at = LLVMBuildUDiv(g->b, g->warp, gen_i32(g, WARPGROUP), "");
    LLVMValueRef is_first = LLVMBuildICmp(g->b, LLVMIntEQ, at, gen_i32(g, 0), "");
    if (!waits)
        at = LLVMBuildAnd(g->b, LLVMBuildAdd(g->b, at, gen_i32(g, 1), ""), gen_i32(g, n - 1), "");
    at = LLVMBuildMul(g->b, at, gen_i32(g, (uint32_t)buffer_stride(alloc)), "");
    at = LLVMBuildAdd(g->b, address_of(g, op->operand[0].value), at, "");
    if (!waits) {
        arrive(g, at, gen_i32(g, 1), NULL);
        return;
    }
    LLVMValueRef turned = LLVMBuildZExt(g->b, is_first, g->i32, "");
    wait_for(g, at, LLVMBuildXor(g->b, gen_scalar(g, op->operand[1].value), turned, ""),
             LLVMBuildICmp(g->b, LLVMIntEQ, g->lane, gen_i32(g, 0), ""));
}

void gen_async_arrive(Gen *g, const Op *op) {
    LLVMValueRef at = address_of(g, op->operand[0].value);
    if (lacks(g, op, g->o->target->async_copy)) return;
    ordered(g, "cp.async.mbarrier.arrive.noinc.shared.b64 [$0];", "r,~{memory}", &at, 1);
}

/* ---- blocks by descriptors ---- */

static void count_hidden(Op *op, void *ctx) {
    GenHidden *h = ctx;
    h->numbers += op->code == OP_LAUNCH_NUMBER;
    if (op->code != OP_MAKE_DESC) return;
    h->maps += 1 + desc_has_front(op);
    h->policies += h->axes && ir_attr(op, AT_STREAMED);
}

void gen_count_hidden(const Func *f, GenHidden *h) {
    ir_walk(f->body, count_hidden, h);
}

/* What L2 is to do with lines that are loaded by a map: createpolicy's words for all of them to be
 * the first to go, or as any others. A launch knows whether the tensor is large. */
static LLVMValueRef policy_of(Gen *g) {
    static const uint64_t first = 0x12F0000000000000, normal = 0x1000000000000000;
    LLVMTypeRef i64 = LLVMInt64TypeInContext(g->c);
    LLVMValueRef places = LLVMConstInt(i64, 1, 0);
    for (int a = 0; a < g->f->persistent; a++)
        places = LLVMBuildMul(g->b, places, LLVMBuildZExt(g->b, gen_places(g, a), i64, ""), "");
    LLVMValueRef programs = gen_intrinsic(g, INTRINSIC_NCTAID_X, NULL, 0, NULL, 0);
    LLVMValueRef once =
        LLVMBuildICmp(g->b, LLVMIntULE, places, LLVMBuildZExt(g->b, programs, i64, ""), "");
    int number = gen_first_number(g) + g->hidden.numbers + g->npolicies++;
    LLVMValueRef large =
        LLVMBuildICmp(g->b, LLVMIntNE, LLVMGetParam(g->func, (unsigned)number), gen_i32(g, 0), "");
    return LLVMBuildSelect(g->b, LLVMBuildAnd(g->b, once, large, ""), LLVMConstInt(i64, first, 0),
                           LLVMConstInt(i64, normal, 0), "policy");
}

/* A tensor map is a parameter of its own, which the launch makes (compiler/manifest.c): a second
 * one where the tensor goes on in front of its first index. Behind them the policy for what is
 * loaded, or NULL. */
void gen_make_desc(Gen *g, const Op *op) {
    DescBox box;
    const Value *d = op->result[0];
    const char *wrong = d->layout ? desc_boxes(op, d->layout, &box) : NULL;
    if (wrong) gen_error(g, E_DESCRIPTOR_BLOCK, op, "this descriptor's block %s", wrong);
    Tile maps = {.at = arena_array(&g->s->arena, 3, sizeof *maps.at), .n = 1 + desc_has_front(op)};
    for (int i = 0; i < maps.n; i++)
        maps.at[i] = LLVMGetParam(g->func, (unsigned)(gen_first_map(g) + g->nmaps++));
    if (ir_attr(op, AT_STREAMED) && g->f->persistent) maps.at[maps.n] = policy_of(g);
    g->tile[d->id] = maps;
    if (!g->o->target->tma) return;
    LLVMBasicBlockRef here = begin_alone(g);
    ordered(g, "prefetch.tensormap [$0];", "l", maps.at, 1);
    LLVMPositionBuilderAtEnd(g->b, here);
}

/* Where a block's boxes are: in shared memory, and its coordinates, the innermost first. Operands:
 * {$FIRST, …} the coordinates, $0 the first thread, $1 the buffer, $2 the map; of loads $3 the
 * barrier, $4 the policy, if there is one. */
typedef struct BoxCopy {
    const Op *op;
    DescBox box;
    int rank, nargs;
    LLVMValueRef arg[5 + DESC_MAX_RANK];
    char coordinates[32], constraints[64];
    Tile maps;  /* the tensor's, and where it goes on in front the one that begins there */
    bool front; /* by the latter */
    bool loads, policy;
} BoxCopy;

/* barrier: of a load; else NULL. False: it cannot be, which was said where the
 * descriptor was made. */
static bool begin_box_copy(Gen *g, const Op *op, LLVMValueRef barrier, BoxCopy *c) {
    const Value *desc = op->operand[0].value;
    *c = (BoxCopy){.op = op, .rank = desc->type.rank, .nargs = barrier ? 4 : 3, .loads = barrier};
    if (lacks(g, op, g->o->target->tma) || !desc->layout ||
        desc_boxes(desc->def, desc->layout, &c->box))
        return false;
    const Op *alloc = buffer_alloc(op->operand[1].value);
    Packing packing = alloc ? buffer_packing(alloc) : (Packing){0};
    int elem = type_elem_bytes(desc->type);
    c->box.bytes = buffer_packed(packing, c->box.bytes / elem) * elem;
    c->arg[0] = is_first_thread(g);
    c->maps = gen_tile(g, desc);
    c->arg[2] = c->maps.at[0];
    c->arg[3] = barrier;
    c->policy = barrier && c->maps.at[c->maps.n];
    if (c->policy) c->arg[c->nargs++] = c->maps.at[c->maps.n];
    int n = 0, nc = snprintf(c->constraints, sizeof c->constraints, "b,r,l%s%s",
                             barrier ? ",r" : "", c->policy ? ",l" : "");
    for (int i = 0; i < c->rank; i++) {
        n += snprintf(c->coordinates + n, sizeof c->coordinates - (size_t)n, "%s$%d", i ? ", " : "",
                      c->nargs + i);
        nc += snprintf(c->constraints + nc, sizeof c->constraints - (size_t)nc, ",r");
    }
    snprintf(c->constraints + nc, sizeof c->constraints - (size_t)nc, ",~{memory}");
    return true;
}

/* A block that is stored may begin nowhere below 0, not even one that lies wholly beyond the tensor
 * along another dimension. */
static LLVMValueRef not_below_0(Gen *g, LLVMValueRef index) {
    LLVMValueRef zero = gen_i32(g, 0);
    LLVMValueRef below = LLVMBuildICmp(g->b, LLVMIntSLT, index, zero, "");
    return LLVMBuildSelect(g->b, below, zero, index, "");
}

/* text, once for each box. */
static void copy_boxes(Gen *g, BoxCopy *c, const char *text) {
    int first = desc_first_index(c->op);
    LLVMValueRef at = address_of(g, c->op->operand[1].value);
    for (int k = 0; k < c->box.boxes; k++) {
        c->arg[1] = LLVMBuildAdd(g->b, at, gen_i32(g, (uint32_t)(k * c->box.bytes)), "");
        for (int i = 0; i < c->rank; i++) {
            int d = c->rank - 1 - i;
            LLVMValueRef index = gen_scalar(g, c->op->operand[first + d].value);
            if (desc_goes_on(c->op->operand[0].value->def, d))
                index = c->front   ? LLVMBuildAdd(g->b, index, gen_i32(g, DESC_FRONT), "")
                        : c->loads ? index
                                   : not_below_0(g, index);
            uint32_t by = i == 0 ? (uint32_t)(k * c->box.dim[d]) : 0;
            c->arg[c->nargs + i] = LLVMBuildAdd(g->b, index, gen_i32(g, by), "");
        }
        ordered(g, text, c->constraints, c->arg, c->nargs + c->rank);
    }
}

/* Whether a block begins in front of its tensor's first index and nowhere beyond its last. */
static LLVMValueRef is_in_front(Gen *g, const BoxCopy *c) {
    const Op *desc = c->op->operand[0].value->def;
    int first = desc_first_index(c->op);
    LLVMValueRef any = gen_i32(g, 0), all = NULL;
    for (int i = 0; i < c->rank; i++) {
        LLVMValueRef index = gen_scalar(g, c->op->operand[first + i].value);
        LLVMValueRef size = LLVMBuildIntCast2(g->b, gen_scalar(g, desc_size(desc, i)),
                                              LLVMTypeOf(index), true, ""); /* below 2^31 */
        LLVMValueRef within = LLVMBuildICmp(g->b, LLVMIntSLT, index, size, "");
        all = all ? LLVMBuildAnd(g->b, all, within, "") : within;
        if (desc_goes_on(desc, i)) any = LLVMBuildOr(g->b, any, index, "");
    }
    any = LLVMBuildICmp(g->b, LLVMIntSLT, any, gen_i32(g, 0), "");
    return LLVMBuildAnd(g->b, any, all, "");
}

/* By the map of a tensor that goes on in front where a block begins there: indices count from its
 * first then. That one is not taken for all, nor for a block that lies wholly beyond the tensor
 * along another dimension: of such a box the engine looks at the map's first address, which may be
 * nobody's. A branch, since ptxas keeps two addresses that are chosen between in registers. */
static void copy_by_maps(Gen *g, BoxCopy *c, const char *text) {
    if (c->maps.n < 2) {
        copy_boxes(g, c, text);
        return;
    }
    LLVMBasicBlockRef block[3];
    for (int i = 0; i < 3; i++)
        block[i] = LLVMAppendBasicBlockInContext(g->c, g->func, i < 2 ? "copy" : "copied");
    LLVMBuildCondBr(g->b, is_in_front(g, c), block[1], block[0]);
    for (int i = 0; i < 2; i++) {
        LLVMPositionBuilderAtEnd(g->b, block[i]);
        c->arg[2] = c->maps.at[i];
        c->front = i > 0;
        copy_boxes(g, c, text);
        LLVMBuildBr(g->b, block[2]);
    }
    LLVMPositionBuilderAtEnd(g->b, block[2]);
}

/* Of one warp the lane is elected: told that it is thread 0, ptxas goes round a loop over lanes. */
#define ELECTED "{\n\t.reg .pred one;\n\telect.sync _|one, -1;\n\t@one"

/* A bit for each rank of the cluster. */
#define TO_ALL                                                                                     \
    "{\n\t.reg .b32 n;\n\t.reg .b16 m;\n\tmov.u32 n, %cluster_nctarank;\n\tshl.b32 n, 1, n;\n\t"   \
    "sub.u32 n, n, 1;\n\tcvt.u16.u32 m, n;\n\t"

void gen_mbar_desc_load(Gen *g, const Op *op) {
    BoxCopy c;
    char text[500];
    bool elect = warps_of_block(g->f, op->block) == 1;
    if (!begin_box_copy(g, op, address_of(g, op->operand[2].value), &c)) return;
    bool all = ir_attr_int(op, AT_MULTICAST, 0);
    snprintf(
        text, sizeof text,
        "%s%s cp.async.bulk.tensor.%dd.shared::cluster.global.mbarrier::complete_tx::bytes%s%s "
        "[$1], [$2, {%s}], [$3]%s%s;%s%s",
        all ? TO_ALL : "", elect ? ELECTED : "@$0", c.rank, all ? ".multicast::cluster" : "",
        c.policy ? ".L2::cache_hint" : "", c.coordinates, all ? ", m" : "", c.policy ? ", $4" : "",
        elect ? "\n\t}" : "", all ? "\n\t}" : "");
    copy_by_maps(g, &c, text);
}

/* One thread is told apart as for blocks. */
void gen_mbar_fragment_load(Gen *g, const Op *op) {
    bool elect = warps_of_block(g->f, op->block) == 1;
    if (lacks(g, op, g->o->target->tma)) return;
    LLVMValueRef args[] = {is_first_thread(g), address_of(g, op->operand[1].value),
                           gen_scalar(g, op->operand[0].value),
                           gen_i32(g, (uint32_t)ir_attr_int(op, AT_BYTES, 0)),
                           address_of(g, op->operand[2].value)};
    char text[240];
    snprintf(text, sizeof text,
             "%s cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [$1], [$2], $3, "
             "[$4];%s",
             elect ? ELECTED : "@$0", elect ? "\n\t}" : "");
    ordered(g, text, "b,r,l,n,r,~{memory}", args, 5);
}

/* The block's copies are a group. */
void gen_async_desc_store(Gen *g, const Op *op) {
    static const char *const combine[] = {
        [RMW_ADD] = "add", [RMW_MAX] = "max", [RMW_MIN] = "min", [RMW_AND] = "and",
        [RMW_OR] = "or",   [RMW_XOR] = "xor", [RMW_XCHG] = "",
    };
    BoxCopy c;
    char text[256];
    bool reduce = op->code == OP_ASYNC_DESC_REDUCE;
    const char *how = combine[ir_attr_int(op, AT_RMW, RMW_XCHG)];
    if (!begin_box_copy(g, op, NULL, &c)) return;
    snprintf(text, sizeof text,
             "@$0 cp%s.async.bulk.tensor.%dd.global.shared::cta%s%s.tile.bulk_group [$2, {%s}], "
             "[$1];",
             reduce ? ".reduce" : "", c.rank, reduce ? "." : "", how, c.coordinates);
    copy_by_maps(g, &c, text);
    ordered(g, "@$0 cp.async.bulk.commit_group;", "b,~{memory}", c.arg, 1);
}
