/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gen_scan.c: prefix combinations along an axis within a warp; between warps: passes/scan.c.
 *
 * The bits of the axis, from the lowest, come in runs held by registers or lanes. A lowest
 * run of registers is scanned in place; each further run then says what comes before a block of the
 * runs below it. The one idea: of the runs above the lowest, only block totals move, and what comes
 * before an element (`prefix`) is gathered per block and combined into the elements once, at the
 * end. Scanning backwards is the same with the axis's bits of register, lane and warp numbers
 * inverted: all numbers here are such "virtual" ones. Order is kept: combinations need not commute.
 */
#include "codegen/gen.h"

#include <string.h>

typedef struct Run {
    LayoutIn in;
    int n;                    /* bits */
    int bit[LAYOUT_MAX_BITS]; /* their positions in the number of the register, lane or warp */
    uint32_t mask;
} Run;

/* Arrays are indexed by register * n + operand, those of blocks by the block's first register. */
typedef struct Scan {
    const Op *op;
    int n, regs;          /* operands, registers of each */
    LLVMValueRef *x;      /* elements, scanned within the lowest run */
    LLVMValueRef *total;  /* of a block of the runs so far: the same in all its lanes */
    LLVMValueRef *prefix; /* what comes before a block of the lowest run */
    LLVMValueRef *has;    /* [register]: whether there is a prefix; NULL: never */
    LLVMValueRef *temp;   /* [operand] */
    Run lowest;           /* of registers; of no bits: there is none */
    uint32_t done;        /* register bits of all runs so far */
    LLVMValueRef lane;    /* its virtual number */
    uint32_t flip_lane;
} Scan;

/* into = combine(before, after), by the op's region; they may be the same. */
static void combine(Gen *g, const Scan *s, const LLVMValueRef *before, const LLVMValueRef *after,
                    LLVMValueRef *into) {
    const Block *region = s->op->region[0];
    for (int i = 0; i < s->n; i++) {
        gen_new_tile(g, region->args[i]).at[0] = before[i];
        gen_new_tile(g, region->args[s->n + i]).at[0] = after[i];
    }
    gen_block(g, region);
    for (int i = 0; i < s->n; i++) into[i] = gen_scalar(g, region->last->operand[i].value);
}

/* into = c ? combine(before, after) : after */
static void combine_if(Gen *g, Scan *s, LLVMValueRef c, const LLVMValueRef *before,
                       LLVMValueRef *after) {
    combine(g, s, before, after, s->temp);
    for (int i = 0; i < s->n; i++)
        after[i] =
            LLVMIsConstant(c) ? s->temp[i] : LLVMBuildSelect(g->b, c, s->temp[i], after[i], "");
}

/* `before`, where c holds, comes before all that comes before the block at `lead` so far. */
static void add_prefix(Gen *g, Scan *s, int lead, const LLVMValueRef *before, LLVMValueRef c) {
    LLVMValueRef *prefix = &s->prefix[lead * s->n], *has = &s->has[lead], more[16], *now = more;
    if (s->n > 16) now = arena_array(&g->s->arena, (size_t)s->n, sizeof *now);
    if (!*has) {
        memcpy(prefix, before, (size_t)s->n * sizeof *prefix);
        *has = c;
        return;
    }
    combine(g, s, before, prefix, now);
    for (int i = 0; i < s->n; i++) {
        if (!LLVMIsConstant(*has)) now[i] = LLVMBuildSelect(g->b, *has, now[i], before[i], "");
        prefix[i] = LLVMIsConstant(c) ? now[i] : LLVMBuildSelect(g->b, c, now[i], prefix[i], "");
    }
    if (LLVMIsConstant(c))
        *has = c;
    else if (!LLVMIsConstant(*has))
        *has = LLVMBuildOr(g->b, *has, c, "");
}

/* To every block of the lowest run within the block at `block`. */
static void add_prefix_to_block(Gen *g, Scan *s, int block, const LLVMValueRef *before,
                                LLVMValueRef c) {
    for (int r = 0; r < s->regs; r++)
        if (((uint32_t)r & ~s->done) == (uint32_t)block && !((uint32_t)r & s->lowest.mask))
            add_prefix(g, s, r, before, c);
}

/* The j-th register along a run: j's bits at the run's positions. */
static int spread(const Run *run, int j) {
    int r = 0;
    for (int i = 0; i < run->n; i++)
        if (j >> i & 1) r |= 1 << run->bit[i];
    return r;
}

/* ---- runs ---- */

/* LLVM's ScalarEvolution looks at a whole chain of sums from each of its links, so that it takes
 * seconds for those of a thousand. Pieces of them it sees one by one. */
enum { LONGEST_CHAIN = 256 };

static void cut_chain(Gen *g, const Scan *s, LLVMValueRef *x) {
    for (int i = 0; i < s->n; i++) x[i] = gen_opaque(g, x[i]);
}

static void scan_lowest(Gen *g, Scan *s, const Run *run) {
    for (int r = 0; r < s->regs; r++) {
        if ((uint32_t)r & run->mask) continue;
        for (int j = 1; j < 1 << run->n; j++) {
            LLVMValueRef *at = &s->x[(r | spread(run, j)) * s->n];
            combine(g, s, &s->x[(r | spread(run, j - 1)) * s->n], at, at);
            if (j % LONGEST_CHAIN == 0) cut_chain(g, s, at);
        }
        memcpy(&s->total[r * s->n], &s->x[(r | (int)run->mask) * s->n],
               (size_t)s->n * sizeof *s->total);
    }
    s->lowest = *run;
    s->done = run->mask;
}

static void scan_registers(Gen *g, Scan *s, const Run *run) {
    LLVMValueRef always = LLVMConstInt(g->i1, 1, 0);
    for (int r = 0; r < s->regs; r++) {
        if ((uint32_t)r & (s->done | run->mask)) continue;
        LLVMValueRef *sum = &s->total[r * s->n];
        for (int j = 1; j < 1 << run->n; j++) {
            int block = r | spread(run, j);
            add_prefix_to_block(g, s, block, sum, always);
            combine(g, s, sum, &s->total[block * s->n], sum);
        }
    }
    s->done |= run->mask;
}

static LLVMValueRef from_lane(Gen *g, const Scan *s, LLVMValueRef x, LLVMValueRef lane) {
    if (s->flip_lane) lane = LLVMBuildXor(g->b, lane, gen_i32(g, s->flip_lane), "");
    return gen_shuffle_from(g, x, lane);
}

static LLVMValueRef with_bits(Gen *g, LLVMValueRef v, uint32_t set, uint32_t clear) {
    if (set) v = LLVMBuildOr(g->b, v, gen_i32(g, set), "");
    return clear ? LLVMBuildAnd(g->b, v, gen_i32(g, ~clear), "") : v;
}

static LLVMValueRef any_bit(Gen *g, LLVMValueRef v, uint32_t mask) {
    return LLVMBuildICmp(g->b, LLVMIntNE, LLVMBuildAnd(g->b, v, gen_i32(g, mask), ""),
                         gen_i32(g, 0), "");
}

/* Totals are scanned over the lanes; each then takes its predecessor's. Positions ascend, so the
 * predecessor along the run is one less in the run's bits. In the lowest run a total is the element
 * itself, so that its sum is the result, and nothing is asked of the predecessor. */
static void scan_lanes(Gen *g, Scan *s, const Run *run, bool lowest_run, bool last) {
    LLVMValueRef lowest = gen_i32(g, 1u << run->bit[0]);
    LLVMValueRef mine = LLVMBuildAnd(g->b, s->lane, gen_i32(g, run->mask), "");
    LLVMValueRef before = LLVMBuildSub(g->b, mine, lowest, "");
    before = LLVMBuildAnd(g->b, before, gen_i32(g, run->mask), "");
    before = LLVMBuildOr(g->b, before, with_bits(g, s->lane, 0, run->mask), "");
    LLVMValueRef end = with_bits(g, s->lane, run->mask, 0), not_first = any_bit(g, mine, run->mask);
    LLVMValueRef *other = arena_array(&g->s->arena, (size_t)s->n, sizeof *other);
    for (int r = 0; r < s->regs; r++) {
        if ((uint32_t)r & s->done) continue;
        LLVMValueRef *sum = &s->total[r * s->n];
        uint32_t below = 0;
        for (int i = 0; i < run->n; i++) {
            uint32_t bit = 1u << run->bit[i];
            LLVMValueRef source = with_bits(g, s->lane, below, bit);
            for (int k = 0; k < s->n; k++) other[k] = from_lane(g, s, sum[k], source);
            combine_if(g, s, any_bit(g, s->lane, bit), other, sum);
            below |= bit;
        }
        if (lowest_run) {
            memcpy(&s->x[r * s->n], sum, (size_t)s->n * sizeof *sum);
        } else {
            for (int k = 0; k < s->n; k++) other[k] = from_lane(g, s, sum[k], before);
            add_prefix_to_block(g, s, r, other, not_first);
        }
        for (int k = 0; k < s->n && !last; k++) sum[k] = from_lane(g, s, sum[k], end);
    }
}

/* ---- the op ---- */

/* The register before r in the lowest run; -1: r is the first. */
static int register_before(const Scan *s, int r) {
    int j = 0;
    for (int i = 0; i < s->lowest.n; i++) j |= (r >> s->lowest.bit[i] & 1) << i;
    return j ? (r & ~(int)s->lowest.mask) | spread(&s->lowest, j - 1) : -1;
}

static void give_results(Gen *g, Scan *s, uint32_t flip) {
    bool exclusive = ir_attr_int(s->op, AT_EXCLUSIVE, 0);
    LLVMValueRef *v = arena_array(&g->s->arena, (size_t)s->n, sizeof *v);
    for (int k = 0; k < s->n; k++) gen_new_tile(g, s->op->result[k]);
    for (int r = 0; r < s->regs; r++) {
        int lead = r & ~(int)s->lowest.mask, of = exclusive ? register_before(s, r) : r;
        const LLVMValueRef *prefix = &s->prefix[lead * s->n];
        bool alone = of < 0 && s->has[lead]; /* nothing of the lowest run is before it */
        memcpy(v, alone ? prefix : &s->x[(of < 0 ? r : of) * s->n], (size_t)s->n * sizeof *v);
        if (s->has[lead] && !alone) combine_if(g, s, s->has[lead], prefix, v);
        for (int k = 0; k < s->n; k++) gen_tile(g, s->op->result[k]).at[(uint32_t)r ^ flip] = v[k];
    }
}

/* As a reduction's: the axis's registers are gone, its lanes hold copies. */
static void give_totals(Gen *g, const Scan *s) {
    const Value *first = s->op->operand[0].value;
    Layout kept = first->layout ? *first->layout : layout_new(first->type);
    kept = layout_without_dim(&kept, first->type, (int)ir_attr_int(s->op, AT_AXIS, 0));
    uint32_t copies = layout_broadcast_bits(&kept, IN_REG);
    for (int k = s->n; k < s->op->nresults; k++) {
        Tile out = gen_new_tile(g, s->op->result[k]);
        for (int r = 0, at = 0; r < s->regs && at < out.n; r++)
            if (!((uint32_t)r & copies)) out.at[at++] = s->total[r * s->n + k - s->n];
    }
}

/* The next run of the axis from bit *b on; lanes and warps of one run ascend. */
static bool next_run(const Layout *l, Type t, int axis, int *b, Run *run) {
    *run = (Run){0};
    for (; *b < t.log2[axis]; (*b)++) {
        LayoutIn in;
        int k;
        if (!layout_find_bit(l, t, axis, *b, &in, &k)) return false;
        if (run->n && (in != run->in || (in != IN_REG && k < run->bit[run->n - 1]))) return true;
        run->in = in;
        run->bit[run->n++] = k;
        run->mask |= 1u << k;
    }
    return run->n > 0;
}

static LLVMValueRef inverted(Gen *g, LLVMValueRef number, uint32_t bits) {
    return bits ? LLVMBuildXor(g->entry, number, gen_i32(g, bits), "") : number;
}

void gen_scan(Gen *g, const Op *op) {
    const Value *first = op->operand[0].value;
    Type t = first->type;
    Layout l = first->layout ? *first->layout : layout_new(t);
    Arena *a = &g->s->arena;
    Scan s = {.op = op, .n = op->noperands, .regs = gen_registers(first)};
    int axis = (int)ir_attr_int(op, AT_AXIS, 0), bit = 0;
    size_t all = (size_t)s.n * (size_t)s.regs;
    s.x = arena_array(a, all, sizeof *s.x);
    s.total = arena_array(a, all, sizeof *s.total);
    s.prefix = arena_array(a, all, sizeof *s.prefix);
    s.has = arena_array(a, (size_t)s.regs, sizeof *s.has);
    s.temp = arena_array(a, (size_t)s.n, sizeof *s.temp);
    uint32_t flip[IN_DIMS] = {0};
    Run run;
    while (next_run(&l, t, axis, &bit, &run))
        if (ir_attr_int(op, AT_REVERSE, 0)) flip[run.in] |= run.mask;
    s.lane = inverted(g, g->lane, flip[IN_LANE]);
    s.flip_lane = flip[IN_LANE];
    for (int k = 0; k < s.n; k++) {
        Tile x = gen_tile(g, op->operand[k].value);
        for (int r = 0; r < s.regs; r++)
            s.x[r * s.n + k] = s.total[r * s.n + k] = x.at[(uint32_t)r ^ flip[IN_REG]];
    }
    bit = 0;
    for (int i = 0; next_run(&l, t, axis, &bit, &run); i++) {
        bool last = bit == t.log2[axis] && op->nresults == op->noperands;
        if (run.in == IN_REG && i == 0)
            scan_lowest(g, &s, &run);
        else if (run.in == IN_REG)
            scan_registers(g, &s, &run);
        else if (run.in == IN_LANE)
            scan_lanes(g, &s, &run, i == 0 && !ir_attr_int(op, AT_EXCLUSIVE, 0), last);
        else
            break;
    }
    if (bit != t.log2[axis] || run.in > IN_LANE)
        gen_error(g, E_BUG, op, "the tile's layout does not suit a scan; this is a bug in tilec");
    give_results(g, &s, flip[IN_REG]);
    give_totals(g, &s);
}
