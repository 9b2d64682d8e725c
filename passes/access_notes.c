/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* access_notes.c: a load or store that costs more than it has to -> a `perf:` note that says why:
 * which promise is missing, how far its elements lie apart, or what its tile is laid out for. */
#include <stdlib.h>
#include <string.h>

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

enum { SECTOR = 32 }; /* bytes, that memory gives at once */

static const AffineTable *affine_table(Accesses *all) {
    if (!all->affine) {
        all->affine = arena_alloc(&all->ctx->s->arena, sizeof *all->affine);
        *all->affine = affine_analyse(all->ctx->s, all->ctx->f);
    }
    return all->affine;
}

typedef struct Spread {  /* of what the lanes of a warp ask for at once */
    int sectors, filled; /* that they touch; that their bytes would fill */
    int64_t apart;       /* bytes between neighbouring elements, the least of all dimensions */
} Spread;

static int64_t lane_offset(const Affine *a, const Layout *l, Type t, int lane) {
    uint32_t hw[IN_DIMS] = {0};
    hw[IN_LANE] = (uint32_t)lane;
    int64_t index = layout_apply(l, hw), offset = 0;
    for (int d = 0; d < t.rank; d++)
        offset += (index >> type_dim_shift(t, d) & (type_dim(t, d) - 1)) * a->stride[d];
    return offset;
}

/* False when the addresses are not known so well. */
static bool spread_of(Accesses *all, const Op *op, const Layout *l, Type t, int bytes,
                      Spread *out) {
    const Value *ptr = op->operand[0].value;
    const Affine *a = affine_of(affine_table(all), ptr);
    int64_t seen[1 << LANE_BITS], sector[1 << LANE_BITS];
    int nseen = 0, nsectors = 0;
    *out = (Spread){.apart = INT64_MAX};
    if (!a || !a->strided) return false;
    for (int d = 0; d < t.rank; d++)
        if (t.log2[d] && a->stride[d] && llabs(a->stride[d]) < out->apart)
            out->apart = llabs(a->stride[d]);
    for (int lane = 0; lane < 1 << LANE_BITS; lane++) {
        int64_t at = lane_offset(a, l, ptr->type, lane), in = (at - (at & (SECTOR - 1))) / SECTOR;
        int i = 0, k = 0;
        while (i < nseen && seen[i] != at) i++;
        while (k < nsectors && sector[k] != in) k++;
        if (i == nseen) seen[nseen++] = at;
        if (k == nsectors) sector[nsectors++] = in;
    }
    out->sectors = nsectors;
    out->filled = (nseen * bytes + SECTOR - 1) / SECTOR;
    return true;
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
    Spread spread;
    if (width >= possible || all->ctx->s->diags.no_perfs) return; /* the reason takes analyses */
    if (bytes < COST_WIDE_ACCESS_BYTES) {
        const char *why = narrow_parameters(all, op, width);
        if (why) {
            diag(
                &all->ctx->s->diags, DIAG_PERF, op->span,
                "this %s is %d byte%s per lane and could be %d: %s %s not known to be divisible by "
                "16",
                access_name(op), bytes, bytes == 1 ? "" : "s", possible * size, why,
                strstr(why, " and ") ? "are" : "is");
            return;
        }
    }
    if (spread_of(all, op, l, t, bytes, &spread) &&
        spread.sectors >= COST_SPREAD_SECTORS * spread.filled) {
        diag(
            &all->ctx->s->diags, DIAG_PERF, op->span,
            "this %s asks for %d sectors of %d bytes where a warp's elements fill %d: neighbouring "
            "elements lie %lld bytes apart",
            access_name(op), spread.sectors, SECTOR, spread.filled, (long long)spread.apart);
        return;
    }
    if (bytes >= COST_WIDE_ACCESS_BYTES) return;
    diag(&all->ctx->s->diags, DIAG_PERF, op->span,
         "this %s is %d byte%s per lane and could be %d: %s", access_name(op), bytes,
         bytes == 1 ? "" : "s", possible * size, why_narrow(all, op, width));
}
