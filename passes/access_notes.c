/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* access_notes.c: a load or store that costs more than it has to -> a `perf:` note that says why:
 * which promise is missing, how far its elements lie apart, or what its tile is laid out for. */
#include <stdlib.h>
#include <string.h>

#include "ir/analysis/sectors.h"
#include "passes/access.h"
#include "passes/cost.h"

/* ---- promises ---- */

/* What axis analysis would say if every integer parameter but number `except` were promised to be
 * divisible by 16 (and every pointer aligned). Made once per function and parameter. */
static const AxisTable *what_if(Accesses *all, int except) {
    const Func *f = all->ctx->f;
    if (!all->what_if)
        all->what_if =
            arena_array(&all->ctx->s->arena, (size_t)f->nparams + 1, sizeof(AxisTable *));
    AxisTable **t = &all->what_if[except + 1];
    if (*t) return *t;
    Func promised = *f;
    promised.param = arena_copy(&all->ctx->s->arena, f->param, (size_t)f->nparams * sizeof(Param));
    for (int i = 0; i < f->nparams; i++)
        if (i != except && promised.param[i].divisible < 16) promised.param[i].divisible = 16;
    *t = arena_alloc(&all->ctx->s->arena, sizeof **t);
    **t = axis_analyse(all->ctx->s, &promised);
    return *t;
}

static int width_with(const AxisTable *t, const Op *op) {
    const Value *ptr = op->operand[0].value;
    const Value *mask = ir_operand(op, op->code == OP_LOAD ? 1 : 2);
    return (int)axis_access_width(t, ptr, mask, axis_fastest_dim(t, ptr));
}

/* The parameters without which the access would stay narrow: "M and stride_am"; NULL when promises
 * would not help. */
static const char *narrow_parameters(Accesses *all, const Op *op, int width) {
    int best = width_with(what_if(all, -1), op), n = 0;
    if (best <= width) return NULL;
    Buf b = buf_new(&all->ctx->s->arena);
    for (int i = 0; i < all->ctx->f->nparams; i++) {
        const Param *p = &all->ctx->f->param[i];
        if (p->divisible >= 16 || !p->value || width_with(what_if(all, i), op) == best) continue;
        buf_printf(&b, "%s%s", n++ ? " and " : "", p->name);
    }
    return n ? b.data : NULL;
}

/* ---- sectors ---- */

static const AffineTable *affine_table(Accesses *all) {
    if (!all->affine) {
        all->affine = arena_alloc(&all->ctx->s->arena, sizeof *all->affine);
        *all->affine = affine_analyse(all->ctx->s, all->ctx->f);
    }
    return all->affine;
}

/* Bytes between neighbouring elements, the least of all dimensions; 0: that is not known. */
static int64_t apart(const Affine *a, Type t) {
    int64_t least = 0;
    for (int d = 0; a && a->strided && d < t.rank; d++) {
        int64_t by = llabs(a->stride[d]);
        if (t.log2[d] && by && (!least || by < least)) least = by;
    }
    return least;
}

/* ---- what to say ---- */

static const char *access_name(const Op *op) {
    return op->code == OP_LOAD ? "load" : "store";
}

/* What gave the value, past operations element by element, if it is one load. */
static const Op *load_behind(const Value *v, int steps) {
    const Op *found = NULL;
    if (!v->def || !v->type.rank || steps == 0) return NULL;
    if (v->def->code == OP_LOAD) return v->def;
    if (!(op_traits(v->def) & TRAIT_E)) return NULL;
    for (int i = 0; i < v->def->noperands && !found; i++)
        found = load_behind(v->def->operand[i].value, steps - 1);
    return found;
}

/* Why neighbouring elements are not moved at once although no promise is missing. */
static const char *why_narrow(Accesses *all, const Op *op, int width) {
    const Value *ptr = op->operand[0].value;
    const Value *mask = ir_operand(op, op->code == OP_LOAD ? 1 : 2);
    int dim = axis_fastest_dim(&all->axis, ptr);
    if (axis_access_width(&all->axis, ptr, mask, dim) > width) {
        const Op *load = op->code == OP_STORE ? load_behind(op->operand[1].value, 8) : NULL;
        return load && load->span.line
                   ? arena_printf(
                         &all->ctx->s->arena,
                         "its addresses follow each other, but its tile is laid out for "
                         "the load in line %u",
                         (unsigned)source_line_number(&all->ctx->s->source, load->span.line))
                   : "its addresses follow each other, but its tile is laid out for other "
                     "operations";
    }
    if (mask && axis_access_width(&all->axis, ptr, NULL, dim) > width)
        return "its mask changes from element to element";
    return "its addresses are not known to follow each other";
}

void note_access(Accesses *all, const Op *op, const Layout *l, Type t, int possible) {
    int width = (int)ir_attr_int(op, AT_VECTOR, 1), size = type_elem_bytes(t), bytes = width * size;
    if (width >= possible || all->ctx->s->diags.no_perfs) return; /* the reason takes analyses */
    if (bytes < COST_WIDE_ACCESS_BYTES) {
        const char *why = narrow_parameters(all, op, width);
        if (why) {
            diag(
                &all->ctx->s->diags, P_NARROW, op->span,
                "this %s is %d byte%s per lane and could be %d: %s %s not known to be divisible by "
                "16",
                access_name(op), bytes, bytes == 1 ? "" : "s", possible * size, why,
                strstr(why, " and ") ? "are" : "is");
            return;
        }
    }
    const Value *ptr = op->operand[0].value;
    int64_t between = apart(affine_of(affine_table(all), ptr), t);
    Sectors touched = between ? sectors_of(&all->axis, affine_table(all), ptr, l, width)
                              : (Sectors){.known = false};
    if (touched.known && touched.touched >= COST_SPREAD_SECTORS * touched.least) {
        diag(&all->ctx->s->diags, P_SECTORS, op->span,
             "this %s asks for %lld sectors of %d bytes where a warp's elements fill %lld: "
             "neighbouring elements lie %lld bytes apart",
             access_name(op), (long long)(touched.touched / touched.requests), SECTOR,
             (long long)(touched.least / touched.requests), (long long)between);
        return;
    }
    if (bytes >= COST_WIDE_ACCESS_BYTES) return;
    diag(&all->ctx->s->diags, P_NARROW, op->span,
         "this %s is %d byte%s per lane and could be %d: %s", access_name(op), bytes,
         bytes == 1 ? "" : "s", possible * size, why_narrow(all, op, width));
}
