/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_run.c: a block of ops -> code, in runs that go register by register.
 *
 * Code that follows the ops, each for all registers of its tile, keeps every tile between the first
 * op and the last in registers: of a long expression over a large tile all its parts at once. ptxas
 * moves instructions, but not over such distances. So ops that need of each other only the same
 * registers are a run, and it is done for a few registers after the others. It ends with a store,
 * whose addresses are then made beside it, or with what needs more. A load takes from the run what
 * its addresses need, and no more: what is computed of earlier loads waits, so that loads follow
 * each other and what came out of them is kept as it came; but not for many loads, which would all
 * be kept. Ops in between that need nothing of the run, such as the row that a broadcast repeats,
 * are done before it. Parts of sums are loaded where they are added: what a warp waits for there
 * others do. Accesses of memory keep their order, but for such loads behind loads. */
#include "codegen/gen.h"
#include "ir/effects.h"

typedef VEC(const Op *) Ops;

typedef struct Run {
    Gen *g;
    Ops ops;       /* that wait, in order; in g->run their results have their numbers, from 1 */
    int registers; /* of each */
    int64_t kept;  /* bytes of a thread that were loaded while they wait */
} Run;

enum {
    STEP = 4, /* registers at a time: neighbours share words and hide each other's latency */
    LEAST_REGISTERS = 2 * STEP,
    MOST_KEPT = 256
};

static int registers_of(const Op *op) {
    return gen_registers(op->nresults ? op->result[0] : op->operand[1].value);
}

static bool needs(const Run *run, const Op *op) {
    for (int i = 0; i < op->noperands; i++)
        if (run->g->run[op->operand[i].value->id]) return true;
    return false;
}

static void add(Run *run, const Op *op) {
    vec_push(&run->g->s->arena, &run->ops, op);
    if (op->nresults) run->g->run[op->result[0]->id] = run->ops.n;
}

/* ---- making code ---- */

static void gen_ops(Gen *g, const Ops *ops, int registers) {
    int64_t *made = arena_array(&g->s->arena, (size_t)ops->n, sizeof *made);
    SizeMark mark;
    int step = STEP;
    for (int k = 0; k < ops->n; k++) {
        const Op *op = ops->at[k];
        gen_size_begin(g, op, &mark);
        if (op->nresults) {
            gen_new_tile(g, op->result[0]);
            g->run[op->result[0]->id] = 0;
        }
        int vector = ir_is_pure(op) ? 1 : (int)ir_attr_int(op, AT_VECTOR, 1);
        if (vector > step) step = vector;
    }
    for (int i = 0; i < registers; i += step)
        for (int k = 0; k < ops->n; k++) {
            const Op *op = ops->at[k];
            gen_debug_at(g, op);
            gen_size_mark(g, &mark);
            gen_range_of(op)(g, op, i, step);
            made[k] += gen_size_made(g, &mark);
            gen_size_is(g, op, made[k]);
        }
}

static void gen_waiting(Run *run) {
    gen_ops(run->g, &run->ops, run->registers);
    run->ops.n = 0;
    run->kept = 0;
}

static void want_operands(const Run *run, const Op *op, bool *wanted) {
    for (int i = 0; i < op->noperands; i++) {
        int number = run->g->run[op->operand[i].value->id];
        if (number) wanted[number - 1] = true;
    }
}

/* The load, and before it what it needs of the run. */
static void gen_load_of_run(Run *run, const Op *load) {
    Gen *g = run->g;
    Ops now = {0}, later = run->ops;
    bool *wanted = arena_array(&g->s->arena, (size_t)later.n + 1, sizeof *wanted);
    want_operands(run, load, wanted);
    for (int k = later.n - 1; k >= 0; k--)
        if (wanted[k]) want_operands(run, later.at[k], wanted);
    run->ops = (Ops){0};
    for (int k = 0; k < later.n; k++) {
        if (wanted[k])
            vec_push(&g->s->arena, &now, later.at[k]);
        else
            add(run, later.at[k]);
    }
    vec_push(&g->s->arena, &now, load);
    gen_ops(g, &now, run->registers);
}

static void gen_load_between(Run *run, const Op *load, bool fits) {
    int64_t bytes = (int64_t)registers_of(load) * type_elem_bytes(load->result[0]->type);
    bool all_fits = fits || !needs(run, load);
    if (run->ops.n && (run->kept + bytes > MOST_KEPT || !all_fits)) gen_waiting(run);
    if (fits)
        gen_load_of_run(run, load);
    else
        gen_op(run->g, load);
    if (run->ops.n) run->kept += bytes;
}

/* What costs next to nothing, or is of few registers. */
static bool may_be_early(const Run *run, const Op *op) {
    switch (op->code) {
    case OP_CONST:
    case OP_SPLAT:
    case OP_ARANGE:
    case OP_BROADCAST:
    case OP_RESHAPE:
    case OP_TRANS: return !needs(run, op);
    default: return gen_range_of(op) && ir_is_pure(op) && !needs(run, op);
    }
}

/* It waits for those that need it. */
static bool may_wait(const Op *op) {
    return op->code == OP_FRAGMENT_LOAD || ir_is_pure(op);
}

/* The run that begins with op; what follows it is returned. */
static const Op *gen_run(Run *run, const Op *op) {
    for (; op; op = op->next) {
        bool fits = gen_range_of(op) && registers_of(op) == run->registers;
        if (op->code == OP_LOAD) {
            gen_load_between(run, op, fits);
        } else if (fits && may_wait(op)) {
            add(run, op);
        } else if (fits && needs(run, op)) {
            add(run, op);
            op = op->next;
            break;
        } else if (may_be_early(run, op)) {
            gen_op(run->g, op);
        } else {
            break;
        }
    }
    gen_waiting(run);
    return op;
}

void gen_from(Gen *g, const Op *first) {
    for (const Op *op = first; op;) {
        bool starts = gen_range_of(op) && (may_wait(op) || op->code == OP_LOAD);
        Run run = {.g = g, .registers = starts ? registers_of(op) : 0};
        if (run.registers >= LEAST_REGISTERS) {
            op = gen_run(&run, op);
            continue;
        }
        if (!gen_leaves_to_roles(g, op)) gen_op(g, op);
        op = op->next;
    }
}

void gen_block(Gen *g, const Block *b) {
    gen_from(g, b->first);
}
