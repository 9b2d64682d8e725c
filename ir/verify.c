/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* verify.c: is this function sound tile IR?
 *
 * Operand letters, attributes, traits and result rules come from ops.def; only structured
 * operations and some others have rules of their own here, and results that are GIVEN in
 * verify_shape.c. A value must be defined before its use, in the same block or one around it. */
#include "base/expr.h"
#include "base/text.h"
#include "ir/buffer.h"
#include "ir/desc.h"
#include "ir/effects.h"
#include "ir/func_attrs.h"
#include "ir/roles.h"

#include <string.h>

typedef struct Verifier {
    Session *s;
    const Func *f;
    uint8_t *visible; /* by value id: defined before this point, in a block that encloses it */
    bool laid_out;    /* some tile has a layout: then all must */
    int workspaces, numbers;
    const char *error;
    Span where;
} Verifier;

static void bad(Verifier *v, const Op *op, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void bad(Verifier *v, const Op *op, const char *fmt, ...) {
    if (v->error) return;
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(&v->s->arena, fmt, ap);
    va_end(ap);
    v->error = op ? arena_printf(&v->s->arena, "%s: %s", op_info[op->code].text, text) : text;
    if (op) v->where = op->span;
}

bool ir_letter_fits(char letter, Type t) {
    if (letter == 'k') return type_is_token(t);
    if (letter == 'x') return t.space == SPACE_DESC;
    if (letter == 'v') return !t.slices && t.space != SPACE_TENSOR && t.space != SPACE_DESC;
    if (type_is_token(t) || t.space == SPACE_DESC) return false;
    if (letter == 'r') return t.space == SPACE_BARRIER;
    if (letter == 'm') return type_is_buffer(t);
    if (letter == 'd') return true;
    if (type_is_buffer(t)) return false;
    switch (letter) {
    case 't': return true;
    case 'n': return !t.depth;
    case 'i': return type_is_int(t);
    case 'f': return type_is_float(t);
    case 'b': return type_is_bool(t);
    case 'p': return t.depth > 0;
    case 's': return t.rank == 0 && type_is_int(t) && !type_is_bool(t);
    }
    return false;
}

static void check_operands(Verifier *v, const Op *op) {
    const char *spec = op_info[op->code].operands;
    int i = 0;
    for (; *spec; spec++) {
        bool optional = spec[1] == '?', many = spec[1] == '*';
        do {
            if (i == op->noperands) {
                if (!optional && !many) bad(v, op, "too few operands");
                break;
            }
            if (!ir_letter_fits(*spec, op->operand[i].value->type)) {
                bad(v, op, "operand %d has the wrong kind: %s", i,
                    type_text(&v->s->arena, op->operand[i].value->type));
                return;
            }
            i++;
        } while (many);
        if (optional || many) spec++;
    }
    if (i != op->noperands) bad(v, op, "too many operands");
}

static void check_attrs(Verifier *v, const Op *op) {
    int known = 0;
    for (const char *a = op_info[op->code].attrs; *a;) {
        size_t n = strcspn(a, " ?");
        const Attr *found = NULL;
        for (int i = 0; i < op->nattrs; i++) {
            const char *name = attr_info[op->attr[i].id].text;
            if (strlen(name) == n && memcmp(name, a, n) == 0) found = &op->attr[i];
        }
        if (found)
            known++;
        else if (a[n] != '?')
            bad(v, op, "attribute '%.*s' is missing", (int)n, a);
        a += n;
        a += strspn(a, " ?");
    }
    for (int i = 0; i < op->nattrs; i++) known += attr_is_of_schedule(op->attr[i].id);
    if (known != op->nattrs) bad(v, op, "an attribute does not belong here");
}

/* When an op of a scheduled loop is done. What the ops need of each other is checked by who expands
 * it (passes/schedule_check.c). */
static void check_schedule(Verifier *v, const Op *op) {
    enum { MOST_CLUSTERS = 1 << 16 };
    const Attr *stage = ir_attr(op, AT_STAGE), *cluster = ir_attr(op, AT_CLUSTER);
    if (!stage && !cluster && !ir_attr(op, AT_ROLE)) return;
    if (!op->block->parent || op->block->parent->code != OP_FOR || (op_traits(op) & TRAIT_T))
        bad(v, op, "only what a `for` is made of has a stage and a cluster");
    else if (!stage || !cluster)
        bad(v, op, "a stage and a cluster come together");
    else if (stage->i < 0 || stage->i > TYPE_MAX_SLICES || cluster->i < 0 ||
             cluster->i >= MOST_CLUSTERS)
        bad(v, op, "stages are 0 to %d, clusters 0 to %d", TYPE_MAX_SLICES, MOST_CLUSTERS - 1);
    else if (ir_attr_int(op, AT_ROLE, 0))
        bad(v, op, "role 0, all warps, is the only one yet");
}

static Type arg_type(const Op *op, int i) {
    return op->operand[i].value->type;
}

static void check_traits(Verifier *v, const Op *op) {
    unsigned traits = op_traits(op);
    for (int i = 1; i < op->noperands; i++) {
        if ((traits & TRAIT_S) && !type_equal(arg_type(op, i), arg_type(op, 0)))
            bad(v, op, "operands 0 and %d differ in type: %s and %s", i,
                type_text(&v->s->arena, arg_type(op, 0)), type_text(&v->s->arena, arg_type(op, i)));
        if ((traits & TRAIT_E) && !type_same_shape(arg_type(op, i), arg_type(op, 0)))
            bad(v, op, "operands 0 and %d differ in shape: %s and %s", i,
                type_text(&v->s->arena, arg_type(op, 0)), type_text(&v->s->arena, arg_type(op, i)));
    }
    /* Elementwise ops are lane by lane: one layout throughout. */
    if ((traits & TRAIT_E) && v->laid_out) {
        const Layout *first = op->noperands ? op->operand[0].value->layout : NULL;
        for (int i = 1; i < op->noperands; i++) {
            if (op->operand[i].value->layout != first)
                bad(v, op, "operands 0 and %d have different layouts", i);
        }
        for (int i = 0; i < op->nresults; i++) {
            if (op->result[i]->layout != first)
                bad(v, op, "the result's layout differs from the operands'");
        }
    }
}

static void check_results(Verifier *v, const Op *op) {
    ResultRule rule = op_info[op->code].result;
    if (rule == RESULT_MANY) return;
    if (op->nresults != (rule != RESULT_NONE)) {
        bad(v, op, "expected %d result(s), not %d", rule != RESULT_NONE, op->nresults);
        return;
    }
    if (rule == RESULT_NONE || rule == RESULT_GIVEN || v->error) return;
    Type want = arg_type(op, rule == RESULT_ARG1 ? 1 : rule == RESULT_ARG2 ? 2 : 0);
    if (rule == RESULT_BOOL0) want = type_with_elem(want, EL_I1);
    if (rule == RESULT_POINTEE0) want = type_pointee(want);
    if (!type_equal(op->result[0]->type, want))
        bad(v, op, "the result is %s and should be %s",
            type_text(&v->s->arena, op->result[0]->type), type_text(&v->s->arena, want));
}

/* ---- rules of single operations ---- */

/* Operand 1 is a buffer for tiles of the type. */
static void check_room(Verifier *v, const Op *op, Type tile) {
    Type t = arg_type(op, 1);
    if (!type_equal(type_in_space(t, SPACE_REGISTER), tile) || t.space != SPACE_SHARED)
        bad(v, op, "tile and buffer differ");
}

static void check_memory_op(Verifier *v, const Op *op) {
    Type p = arg_type(op, 0);
    if (op->code == OP_SHARED_STORE) {
        check_room(v, op, p);
        return;
    }
    const char *cache = ir_cache_error(v->s, op, op->code == OP_LOAD);
    if (cache) bad(v, op, "%s", cache);
    Type value = type_pointee(p);
    if (op->code == OP_STORE && !type_equal(arg_type(op, 1), value))
        bad(v, op, "the value must be %s", type_text(&v->s->arena, value));
    if (op->code == OP_LOAD && op->noperands == 3 && !type_equal(arg_type(op, 2), value))
        bad(v, op, "the other value must be %s", type_text(&v->s->arena, value));
}

static void check_count(Verifier *v, const Op *op, AttrId id, int most) {
    int64_t n = ir_attr_int(op, id, 0);
    if (n < 0 || n > most) bad(v, op, "0 to %d may be pending, not %lld", most, (long long)n);
}

static void check_token(Verifier *v, const Op *op) {
    if (!type_is_token(op->result[0]->type)) bad(v, op, "the result must be a token");
}

/* Asynchronous copies, dots and waits for them. */
static void check_columns(Verifier *v, const Op *op) {
    enum { UNIT = 8 };
    Type t = op->result[0]->type;
    int64_t n = ir_attr_int(op, AT_COLUMNS, UNIT);
    if (!ir_attr(op, AT_COLUMNS)) return;
    if (t.rank != 2 || n < UNIT || n % UNIT || n >= type_dim(t, 1))
        bad(v, op, "some of a dot's columns, a multiple of 8, not %lld", (long long)n);
}

static void check_async(Verifier *v, const Op *op) {
    enum { MOST_DOTS = 7 }; /* of wgmma */
    const Value *x = op->noperands ? op->operand[0].value : NULL;
    bool all = op->code == OP_MBAR_INIT || op->code == OP_ORDER_WAIT || op->code == OP_ORDER_ARRIVE;
    if (op->code != OP_BUFFER_SLICE && !all)
        for (int i = 0; i < op->noperands; i++)
            if (arg_type(op, i).slices)
                bad(v, op, "operand %d is a buffer of %d slices, one of which is to be named", i,
                    arg_type(op, i).slices);
    switch (op->code) {
    case OP_ASYNC_DESC_LOAD:
    case OP_ASYNC_COPY:
        check_token(v, op);
        if (type_is_tile(arg_type(op, 2)))
            bad(v, op, "whether it copies is a scalar, not %s",
                type_text(&v->s->arena, arg_type(op, 2)));
        if (op->code == OP_ASYNC_COPY) check_room(v, op, type_pointee(arg_type(op, 0)));
        break;
    case OP_DOT: check_columns(v, op); break;
    case OP_DOT_WAIT: check_count(v, op, AT_PENDING, MOST_DOTS); break;
    case OP_ASYNC_WAIT:
        check_count(v, op, AT_PENDING, TYPE_MAX_SLICES);
        check_count(v, op, AT_STORES, TYPE_MAX_SLICES);
        if (!x && !ir_attr(op, AT_PENDING) && !ir_attr(op, AT_STORES))
            bad(v, op, "waits for no token and for no group");
        break;
    case OP_TOKEN_DONE:
    case OP_ASYNC_DESC_STORE:
    case OP_ASYNC_DESC_REDUCE: check_token(v, op); break;
    case OP_ASYNC_COMMIT:
        check_token(v, op);
        for (int i = 0; i < op->noperands; i++)
            if (op->operand[i].value->def && op_is_async_store(op->operand[i].value->def))
                bad(v, op, "groups copies into buffers, which operand %d is no token of", i);
        break;
    default: break;
    }
}

/* What only the owners have may only be stored by them. A token is of what they all did. */
static void check_owner(Verifier *v, const Op *op) {
    if (op->nresults && type_is_token(op->result[0]->type)) return;
    for (const Use *u = op->nresults ? op->result[0]->uses : NULL; u; u = u->next)
        if (u->op->code != OP_SHARED_STORE || !ir_attr_int(u->op, AT_OWNER, 0))
            bad(v, op,
                "only the owners have the result: 'shared_store owner=1' may use it, not '%s'",
                op_info[u->op->code].text);
}

static void check_cluster_place(Verifier *v, const Op *op) {
    Type i32 = type_scalar(EL_I32);
    bool wrong = op->nresults != 2;
    for (int i = 0; i < 2 && !wrong; i++)
        wrong = !type_equal(arg_type(op, i), i32) ||
                !type_equal(op->result[i]->type, i ? type_scalar(EL_I1) : i32);
    if (wrong) bad(v, op, "makes i32 and i1 of two i32");
}

/* Ops with several results but no regions. */
static void check_many(Verifier *v, const Op *op) {
    Type x = op->noperands ? arg_type(op, 0) : (Type){0};
    if (op->code == OP_INLINE_ASM) {
        for (int i = 0; i < op->nresults; i++)
            if (op->noperands && !type_same_shape(op->result[i]->type, x))
                bad(v, op, "operands and results have one shape");
        return;
    }
    if (op->nresults != 2 || x.rank < 1 || x.log2[x.rank - 1] != 1) {
        bad(v, op, "makes two tiles of one with a last dimension of 2");
        return;
    }
    x.log2[--x.rank] = 0;
    for (int i = 0; i < 2; i++)
        if (!type_equal(op->result[i]->type, x)) bad(v, op, "result %d has the wrong type", i);
}

static void check_atomic(Verifier *v, const Op *op) {
    Type value = type_pointee(arg_type(op, 0));
    int64_t sem = ir_attr_int(op, AT_SEM, SEM_ACQ_REL);
    if (op->code == OP_ATOMIC_LOAD || op->code == OP_ATOMIC_POLL) {
        if (sem != SEM_ACQUIRE && sem != SEM_RELAXED) bad(v, op, "acquires, or is relaxed");
    } else if (op->code == OP_ATOMIC_STORE && sem != SEM_RELEASE && sem != SEM_RELAXED) {
        bad(v, op, "releases, or is relaxed");
    }
    int values = op->code == OP_ATOMIC_LOAD ? 0 : op->code == OP_ATOMIC_CAS ? 2 : 1;
    for (int i = 1; i <= values; i++)
        if (!type_equal(arg_type(op, i), value))
            bad(v, op, "operand %d must be %s", i, type_text(&v->s->arena, value));
}

static void check_dot(Verifier *v, const Op *op) {
    Type a = arg_type(op, 0), b = arg_type(op, 1), c = arg_type(op, 2);
    int r = c.rank;
    if (r < 2 || a.rank != r || b.rank != r || a.log2[r - 1] != b.log2[r - 2] ||
        a.log2[r - 2] != c.log2[r - 2] || b.log2[r - 1] != c.log2[r - 1])
        bad(v, op, "shapes do not fit: %s, %s, %s", type_text(&v->s->arena, a),
            type_text(&v->s->arena, b), type_text(&v->s->arena, c));
    for (int d = 0; d + 2 < r && d < a.rank && d < b.rank; d++)
        if (a.log2[d] != c.log2[d] || b.log2[d] != c.log2[d]) bad(v, op, "batch dimensions differ");
    if (a.depth || b.depth || c.depth) bad(v, op, "needs numbers");
    int64_t wm = ir_attr_int(op, AT_WARPS_M, 0), wn = ir_attr_int(op, AT_WARPS_N, 0);
    if (wm < 0 || wn < 0 || wm > LANE_BITS || wn > LANE_BITS ||
        1 << (wm + wn) > layout_warps_of_block(v->f, op->block))
        bad(v, op, "2^%lld times 2^%lld warps cannot share it", (long long)wm, (long long)wn);
    if (op->noperands > 3 && !type_equal(arg_type(op, 3), type_scalar(EL_I32)))
        bad(v, op, "how much of K there is is an i32");
    if (ir_attr_int(op, AT_PAIRS, 0) && (r != 2 || type_elem_bytes(a) != 1))
        bad(v, op, "reads pairs of rows of bytes alone");
}

/* A run of a tile's elements, out of a buffer that has room for it. */
static void check_fragment_add(Verifier *v, const Op *op) {
    int64_t n = ir_attr_int(op, AT_CHUNKS, 0), i = ir_attr_int(op, AT_CHUNK, -1);
    Type t = arg_type(op, 0), b = arg_type(op, 1);
    const Layout *l = op->operand[0].value->layout;
    if (!t.rank || n < 1 || (n & (n - 1)) || i < 0 || i >= n || n > type_numel(t))
        bad(v, op, "one of a power of two of runs of a tile");
    else if (b.space != SPACE_SHARED ||
             type_bytes(type_in_space(b, SPACE_REGISTER)) < type_bytes(t) / n)
        bad(v, op, "the buffer is smaller than a run");
    else if (l && n > (int64_t)1 << l->bits[IN_REG])
        bad(v, op, "threads hold fewer elements than there are runs");
    if (op->result[0]->layout != l) bad(v, op, "the result is held as operand 0 is");
}

static void check_fragment_copy(Verifier *v, const Op *op) {
    enum { UNIT = 16 };
    int64_t n = ir_attr_int(op, AT_BYTES, 0);
    Type b = arg_type(op, 1);
    if (type_is_tile(arg_type(op, 0))) bad(v, op, "copies from one address");
    if (b.space != SPACE_SHARED || n < UNIT || n % UNIT ||
        n > type_bytes(type_in_space(b, SPACE_REGISTER)))
        bad(v, op, "a multiple of 16 bytes, for which the buffer has room");
}

/* Tiles in memory as threads hold them. */
static void check_fragment(Verifier *v, const Op *op) {
    enum { UNIT = 16 };
    Type t = arg_type(op, 1);
    if (type_is_tile(arg_type(op, 0))) bad(v, op, "lies at one address");
    if (!t.rank || type_bytes(t) % UNIT)
        bad(v, op, "of a tile of a multiple of 16 bytes, not %s", type_text(&v->s->arena, t));
    for (int i = 0; i < op->nresults; i++)
        if (op->result[i]->layout != op->operand[1].value->layout)
            bad(v, op, "the result is held as operand 1 is");
}

static const Op *terminator(const Op *op, int region) {
    return op->region[region]->last;
}

/* values `n` of the terminator from its operand `first` on must have the types given */
static void check_types(Verifier *v, const Op *op, const char *what, Value *const *have, int nhave,
                        Value *const *want, int nwant) {
    if (nhave != nwant) {
        bad(v, op, "%s: %d values where %d are expected", what, nhave, nwant);
        return;
    }
    for (int i = 0; i < nhave; i++) {
        if (!type_equal(have[i]->type, want[i]->type))
            bad(v, op, "%s: value %d is %s and should be %s", what, i,
                type_text(&v->s->arena, have[i]->type), type_text(&v->s->arena, want[i]->type));
        const Layout *x = have[i]->layout, *y = want[i]->layout;
        if (v->laid_out && x != y) bad(v, op, "%s: value %d changes its layout", what, i);
    }
}

static Value **operands_from(Verifier *v, const Op *op, int first, int *n) {
    *n = op->noperands > first ? op->noperands - first : 0;
    Value **at = arena_array(&v->s->arena, (size_t)*n, sizeof *at);
    for (int i = 0; i < *n; i++) at[i] = op->operand[first + i].value;
    return at;
}

/* reduce and scan: in, what they take; out, what their region yields. */
static void check_combine(Verifier *v, const Op *op, Value *const *in, int n, Value *const *out,
                          int nout) {
    int64_t axis = ir_attr_int(op, AT_AXIS, -1);
    const Block *b = op->region[0];
    int scanned = op->code == OP_SCAN ? n : 0; /* results that keep the axis */
    int results = scanned && ir_attr_int(op, AT_TOTALS, 0) ? 2 * n : n;
    if (b->nargs != 2 * n || nout != n || op->nresults != results) {
        bad(v, op, "the region takes two of each operand and yields one");
        return;
    }
    for (int i = 0; i < results; i++) {
        Type x = in[i % n]->type, e = type_element(x);
        if (axis < 0 || axis >= x.rank || !type_same_shape(x, in[0]->type)) {
            bad(v, op, "axis or shapes do not fit");
            return;
        }
        if (i >= scanned) x = type_without_dim(x, (int)axis);
        if (!type_equal(op->result[i]->type, x))
            bad(v, op, "result %d should be %s", i, type_text(&v->s->arena, x));
        if (!type_equal(b->args[i % n]->type, e) || !type_equal(b->args[n + i % n]->type, e) ||
            !type_equal(out[i % n]->type, e))
            bad(v, op, "the region works on scalars of the operands' types");
    }
}

/* What an element's value is worked out by: scalars, and nothing that is seen elsewhere. */
const Op *ir_not_scalar_code(const Block *b) {
    for (const Op *op = b->first; op; op = op->next) {
        if (ir_effects(op) & ~(unsigned)EFFECT_ENDLESS) return op;
        for (int i = 0; i < op->nresults; i++)
            if (op->result[i]->type.rank || op->result[i]->type.space != SPACE_REGISTER) return op;
        for (int r = 0; r < op->nregions; r++) {
            const Op *inner = ir_not_scalar_code(op->region[r]);
            if (inner) return inner;
        }
    }
    return NULL;
}

static void check_map(Verifier *v, const Op *op, Value *const *in, int n, Value *const *out,
                      int nout) {
    const Block *b = op->region[0];
    if (b->nargs != n || nout != op->nresults || !nout) {
        bad(v, op, "the region takes one of each operand and yields one of each result");
        return;
    }
    for (int i = 0; i < n; i++)
        if (!type_same_shape(in[i]->type, in[0]->type) || !in[0]->type.rank ||
            !type_equal(b->args[i]->type, type_element(in[i]->type)))
            bad(v, op, "operand %d is no tile of that shape, or its element another", i);
    for (int i = 0; i < nout; i++)
        if (!type_equal(op->result[i]->type, type_with_shape(out[i]->type, in[0]->type)))
            bad(v, op, "result %d is not the tile of what the region yields", i);
    const Op *other = ir_not_scalar_code(b);
    if (other)
        bad(v, op, "its region only computes with scalars: no %s", op_info[other->code].text);
    for (int i = 0; v->laid_out && i < n + nout; i++)
        if ((i < n ? in[i] : op->result[i - n])->layout != in[0]->layout)
            bad(v, op, "operands and results have one layout");
}

/* What goes through a loop or a branch: slices of one buffer, of several. */
static void check_slices(Verifier *v, const Op *op, Value *const *x, Value *const *y, int n) {
    for (int i = 0; i < n && !v->error; i++) {
        if (!type_is_buffer(x[i]->type)) continue;
        const Op *from = buffer_alloc(x[i]);
        if (!from || from != buffer_alloc(y[i]) || !from->result[0]->type.slices)
            bad(v, op, "value %d is not always a slice of the same buffer of several", i);
        if (buffer_of_view(x[i]) != x[i] || buffer_of_view(y[i]) != y[i])
            bad(v, op, "value %d is a view of a slice: hand on the slice", i);
    }
}

static void check_structure(Verifier *v, const Op *op) {
    if (op->code == OP_WARPS) return; /* roles.c */
    int want_regions = op->code == OP_IF || op->code == OP_WHILE ? 2 : 1;
    if (op->nregions != want_regions) {
        bad(v, op, "needs %d region(s)", want_regions);
        return;
    }
    for (int r = 0; r < op->nregions; r++) {
        const Op *t = terminator(op, r);
        OpCode want = op->code == OP_WHILE && r == 0 ? OP_CONDITION : OP_YIELD;
        if (!t || t->code != want) {
            bad(v, op, "region %d must end in '%s'", r, op_info[want].text);
            return;
        }
    }
    int n, ny;
    Value **in = operands_from(v, op, op->code == OP_FOR ? 3 : 0, &n);
    Value **out = operands_from(v, terminator(op, op->nregions - 1), 0, &ny);
    const Block *b = op->region[0];
    switch (op->code) {
    case OP_FOR:
        if (b->nargs < 1 || !type_equal(b->args[0]->type, arg_type(op, 0)) ||
            !type_equal(arg_type(op, 0), arg_type(op, 1)) ||
            !type_equal(arg_type(op, 0), arg_type(op, 2))) {
            bad(v, op, "bounds, step and index must have one type");
            return;
        }
        check_types(v, op, "initial values", in, n, b->args + 1, b->nargs - 1);
        check_types(v, op, "yield", out, ny, b->args + 1, b->nargs - 1);
        check_types(v, op, "results", op->result, op->nresults, out, ny);
        if (!v->error) check_slices(v, op, in, out, n);
        break;
    case OP_WHILE: {
        int nc;
        Value **cond = operands_from(v, terminator(op, 0), 1, &nc);
        check_types(v, op, "initial values", in, n, b->args, b->nargs);
        check_types(v, op, "condition", cond, nc, op->region[1]->args, op->region[1]->nargs);
        check_types(v, op, "yield", out, ny, b->args, b->nargs);
        check_types(v, op, "results", op->result, op->nresults, cond, nc);
        if (!v->error) check_slices(v, op, in, out, n);
        if (!v->error) check_slices(v, op, cond, cond, nc);
        break;
    }
    case OP_IF: {
        int nt;
        Value **then = operands_from(v, terminator(op, 0), 0, &nt);
        if (arg_type(op, 0).rank) bad(v, op, "the condition must be a scalar");
        if (b->nargs || op->region[1]->nargs) bad(v, op, "its regions take no arguments");
        check_types(v, op, "results", op->result, op->nresults, then, nt);
        check_types(v, op, "results", op->result, op->nresults, out, ny);
        if (!v->error) check_slices(v, op, then, out, nt);
        break;
    }
    case OP_REDUCE:
    case OP_SCAN: check_combine(v, op, in, n, out, ny); break;
    case OP_MAP: check_map(v, op, in, n, out, ny); break;
    default: break;
    }
}

/* A tile's layout is for the threads there are, a buffer's for its offsets; both hold every
 * element. */
static void check_layout(Verifier *v, const Op *op, const Value *x) {
    const Layout *l = x->layout;
    bool idle = x->type.space == SPACE_DESC && !l; /* that nothing is copied by */
    if (v->laid_out && !idle && (x->type.rank == 0) != !l)
        bad(v, op, l ? "a scalar has a layout" : "value %d has no layout", x->index);
    if (!l) return;
    int warps = log2_of(warps_of_value(v->f, x));
    bool fits = x->type.space != SPACE_REGISTER
                    ? l->bits[IN_OFFSET] == l->out && !l->bits[IN_LANE] && !l->bits[IN_WARP]
                    : l->bits[IN_LANE] == LANE_BITS && l->bits[IN_WARP] == warps;
    if (l->out != type_log2_numel(x->type))
        bad(v, op, "the layout of value %d is for another size", x->index);
    else if (!fits || l->bits[IN_BLOCK])
        bad(v, op, "the layout of value %d is for other threads", x->index);
    else if (!layout_covers(l))
        bad(v, op, "the layout of value %d leaves elements out", x->index);
}

static void check_block(Verifier *v, const Block *b, const Op *parent);

static void check_op(Verifier *v, const Op *op, const Block *b) {
    if (op->block != b) bad(v, op, "is in two blocks");
    for (int i = 0; i < op->noperands; i++) {
        const Value *x = op->operand[i].value;
        if (!x)
            bad(v, op, "operand %d is missing", i);
        else if (x->id >= v->f->nvalues || !v->visible[x->id])
            bad(v, op, "operand %d is not defined before its use", i);
        if (v->error) return;
    }
    check_operands(v, op);
    check_attrs(v, op);
    check_schedule(v, op);
    if (op->code == OP_WORK_SIZE && ir_attr_int(op, AT_AXIS, 0) >= v->f->persistent)
        bad(v, op, "the kernel is not persistent along this axis");
    if (v->error) return;
    check_traits(v, op);
    check_results(v, op);
    for (int i = 0; i < op->nresults; i++) check_layout(v, op, op->result[i]);
    if (v->error) return;
    const char *shape = ir_shape_error(v->s, op);
    if (shape) bad(v, op, "%s", shape);
    if (op->code == OP_LOAD || op->code == OP_STORE || op->code == OP_SHARED_STORE)
        check_memory_op(v, op);
    check_async(v, op);
    if (op->code == OP_SELECT && type_is_buffer(arg_type(op, 1)))
        bad(v, op, "chooses no buffer: choose the number of a slice");
    if (op->code == OP_SELECT && !type_equal(arg_type(op, 1), arg_type(op, 2)))
        bad(v, op, "operands 1 and 2 differ in type: %s and %s",
            type_text(&v->s->arena, arg_type(op, 1)), type_text(&v->s->arena, arg_type(op, 2)));
    if (ir_attr_int(op, AT_OWNER, 0)) check_owner(v, op);
    if (op->code == OP_DOT) check_dot(v, op);
    if (op_is_atomic(op)) check_atomic(v, op);
    if (op->code == OP_FRAGMENT_STORE || op->code == OP_FRAGMENT_LOAD) check_fragment(v, op);
    if (op->code == OP_FRAGMENT_ADD) check_fragment_add(v, op);
    if (op->code == OP_MBAR_FRAGMENT_LOAD) check_fragment_copy(v, op);
    if (op->code == OP_WORKSPACE && v->workspaces++) bad(v, op, "a kernel has one");
    enum { MOST_LAUNCH_NUMBERS = 16 };
    if (op->code == OP_LAUNCH_NUMBER && v->numbers++ == MOST_LAUNCH_NUMBERS)
        bad(v, op, "a launch works out %d numbers at most", MOST_LAUNCH_NUMBERS);
    if (op->code == OP_SPLIT || op->code == OP_INLINE_ASM) check_many(v, op);
    if (op->code == OP_CLUSTER_PLACE && !v->error) check_cluster_place(v, op);
    const char *wrong = v->error ? NULL : roles_verify(v->s, v->f, op);
    if (!wrong) wrong = desc_verify(v->s, v->f, op);
    if (!wrong && !v->error) wrong = ir_access_error(v->s, op);
    if (wrong) bad(v, op, "%s", wrong);
    bool structured = op_traits(op) & TRAIT_K;
    if (structured)
        check_structure(v, op);
    else if (op->nregions)
        bad(v, op, "has no regions");
    for (int r = 0; r < op->nregions && !v->error; r++) check_block(v, op->region[r], op);
    for (int i = 0; i < op->nresults; i++) v->visible[op->result[i]->id] = 1;
}

static void check_block(Verifier *v, const Block *b, const Op *parent) {
    for (int i = 0; i < b->nargs; i++) {
        v->visible[b->args[i]->id] = 1;
        check_layout(v, parent, b->args[i]);
    }
    for (const Op *op = b->first; op && !v->error; op = op->next) {
        check_op(v, op, b);
        bool ends = op_traits(op) & TRAIT_T;
        if (!v->error && ends != !op->next)
            bad(v, op, ends ? "must be the last of its block" : "a block must end in a terminator");
        if (!v->error && ends && (op->code == OP_RETURN) != !parent)
            bad(v, op, "does not end this kind of block");
    }
    if (!b->first) bad(v, parent, "an empty block");
    /* What a region defines is not seen outside it. */
    if (!parent) return;
    for (int i = 0; i < b->nargs; i++) v->visible[b->args[i]->id] = 0;
    for (const Op *op = b->first; op; op = op->next)
        for (int i = 0; i < op->nresults; i++) v->visible[op->result[i]->id] = 0;
}

static bool any_layout(const Block *b) {
    for (const Op *op = b->first; op; op = op->next) {
        for (int i = 0; i < op->nresults; i++)
            if (op->result[i]->layout && op->result[i]->type.space == SPACE_REGISTER) return true;
        for (int r = 0; r < op->nregions; r++)
            if (any_layout(op->region[r])) return true;
    }
    return false;
}

/* A launch reads them, and a manifest has no control characters. */
static void check_func_texts(Verifier *v, const FuncAttr *a) {
    ExprError e;
    for (int i = 0; i < a->most; i++) {
        const char *text = func_text(v->f, a, i);
        if (!text) return;
        if (a->is == FUNC_TEXT_NAME) {
            if (!*text || !text_is_plain(text))
                bad(v, NULL, "%s must be plain characters, not empty", a->text);
        } else if (!expr_check(text, a->is == FUNC_TEXT_EXPRESSION, &e)) {
            bad(v, NULL, "%s=\"%s\" cannot be read: %s", a->text, text, e.text);
        }
    }
}

static void check_func_attrs(Verifier *v) {
    char must[RULE_TEXT];
    for (int i = 0; i < func_attrs; i++) {
        const FuncAttr *a = &func_attr[i];
        if (a->kind == FUNC_ATTR_TEXT) check_func_texts(v, a);
        if (a->kind != FUNC_ATTR_NUMBER) continue;
        int64_t n = func_number(v->f, a);
        if (n != a->absent && !rule_allows(&a->rule, n))
            bad(v, NULL, "%s must be %s, not %lld", a->text, rule_text(&a->rule, must),
                (long long)n);
    }
}

const char *ir_verify(Session *s, const Func *f, Span *where) {
    Verifier v = {.s = s, .f = f};
    check_func_attrs(&v);
    v.visible = arena_alloc(&s->arena, f->nvalues);
    v.laid_out = any_layout(f->body);
    for (int i = 0; i < f->nparams; i++)
        if (f->param[i].value) v.visible[f->param[i].value->id] = 1;
    check_block(&v, f->body, NULL);
    if (v.error && where) *where = v.where;
    return v.error;
}
