/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* report.c: what the interpreter says when a check fails: one error at the operation, with
 * the tensor, the element, the program and the place in the tile, and a note where it began. */
#include "ir/desc.h"
#include "ir/effects.h"
#include "ir/interp/machine.h"

#include <inttypes.h>

static const char *report_strand(Run *r, const Program *p, int strand) {
    const char *role = strand ? strand_name(r, strand) : NULL;
    return arena_printf(&r->s->arena, "%s%sprogram (%u, %u, %u)", role ? role : "",
                        role ? " of " : "", (unsigned)p->id[0], (unsigned)p->id[1],
                        (unsigned)p->id[2]);
}

const char *report_program(Run *r, const Program *p) {
    return report_strand(r, p, p->current);
}

/* Whoever waits for memory has read it; another role may have had its turn since. */
static const char *report_reader(Run *r, const Program *p) {
    return report_strand(r, p, 1 + role_of_block(p->last_read->block));
}

const char *report_place(Run *r, const Program *p, Type tile, int64_t lane) {
    if (tile.rank == 0 || lane < 0) return report_program(r, p);
    Buf b = buf_new(&r->s->arena);
    buf_printf(&b, "%s, tile index [", report_program(r, p));
    int below = type_log2_numel(tile);
    for (int i = 0; i < tile.rank; i++) {
        below -= tile.log2[i];
        int64_t at = (lane >> below) & (type_dim(tile, i) - 1);
        buf_printf(&b, "%s%" PRId64, i ? ", " : "", at);
    }
    buf_putc(&b, ']');
    return b.data;
}

static const char *param_name(const Run *r, int param) {
    return param < 0 ? NULL : r->launch->func->param[param].name;
}

/* The buffer an address was meant for: its parameter's, else the nearest. */
static const InterpBuffer *meant(const Run *r, const Step *st, uint64_t address) {
    const InterpLaunch *l = r->launch;
    if (st->param >= 0 && r->param_buffer[st->param] >= 0)
        return &l->buffer[r->param_buffer[st->param]];
    const InterpBuffer *best = NULL;
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < l->nbuffers; i++) {
        uint64_t from = (uint64_t)(uintptr_t)l->buffer[i].base, to = from + l->buffer[i].bytes;
        uint64_t far = address < from ? from - address : address >= to ? address - to : 0;
        if (far < least) least = far, best = &l->buffer[i];
    }
    return best;
}

/* All that it does with memory. */
static bool is_only(const Op *op, unsigned effect) {
    return ir_operand_effects(op, 0) == effect;
}

static const char *access_name(const Op *op) {
    if (op->code == OP_ASYNC_COPY || desc_moves_buffer(op)) return "copy";
    return is_only(op, EFFECT_WRITES_GLOBAL)  ? "store"
           : is_only(op, EFFECT_READS_GLOBAL) ? "load"
                                              : "atomic";
}

/* "load of 'x_ptr'" */
static const char *access_text(Run *r, const Step *st, const InterpBuffer *b) {
    const char *name = param_name(r, st->param);
    if (!name && b) name = b->name;
    if (!name) return access_name(st->op);
    const char *between = is_only(st->op, EFFECT_WRITES_GLOBAL)  ? "to"
                          : is_only(st->op, EFFECT_READS_GLOBAL) ? "of"
                                                                 : "on";
    return arena_printf(&r->s->arena, "%s %s '%s'", access_name(st->op), between, name);
}

static Type pointer_type(const Step *st) {
    Type t = ir_operand(st->op, 0)->type;
    return t.space == SPACE_DESC ? desc_pointer_type(st->op) : t;
}

static const InterpBuffer *freed_at(const Run *r, uint64_t address) {
    const InterpLaunch *l = r->launch;
    for (int i = l->nbuffers; i < l->nbuffers + l->nfreed; i++)
        if (address - (uint64_t)(uintptr_t)l->buffer[i].base < l->buffer[i].bytes)
            return &l->buffer[i];
    return NULL;
}

bool report_bounds(Run *r, const Program *p, const Step *st, uint64_t address, int64_t lane) {
    const InterpBuffer *b = meant(r, st, address);
    Type t = pointer_type(st);
    const char *where = report_place(r, p, t, lane), *what = access_text(r, st, b);
    Diags *d = &r->s->diags;
    const InterpBuffer *freed = freed_at(r, address);
    if (freed) {
        diag(d, C_FREED, st->op->span,
             "use after free: %s in %s: its buffer of %" PRIu64 " bytes was freed",
             access_text(r, st, NULL), where, freed->bytes);
        return false;
    }
    if (st->param >= 0 && r->launch->arg[st->param].p == 0) {
        diag(d, C_BOUNDS, st->op->span, "out of bounds: %s in %s: its address is 0", what, where);
        return false;
    }
    if (!b) {
        diag(d, C_BOUNDS, st->op->span, "out of bounds: %s in %s: this launch has no buffers", what,
             where);
        return false;
    }
    int64_t size = type_elem_bytes(type_pointee(t));
    int64_t byte = (int64_t)(address - (uint64_t)(uintptr_t)b->base);
    int64_t element = byte >= 0 ? byte / size : -((size - 1 - byte) / size);
    diag(d, C_BOUNDS, st->op->span,
         "out of bounds: %s at element %" PRId64 " (byte %" PRId64 " of %" PRIu64 ") in %s", what,
         element, byte, b->bytes, where);
    return false;
}

bool report_align(Run *r, const Program *p, const Step *st, uint64_t address, int64_t lane) {
    const InterpBuffer *b = meant(r, st, address);
    Type t = pointer_type(st), element = type_element(type_pointee(t));
    int64_t byte = b ? (int64_t)(address - (uint64_t)(uintptr_t)b->base) : 0;
    diag(&r->s->diags, C_ALIGN, st->op->span,
         "misaligned: %s at byte %" PRId64 " in %s: the address of %s must be a multiple of %d",
         access_text(r, st, b), byte, report_place(r, p, t, lane),
         type_user_text(&r->s->arena, element), type_elem_bytes(element));
    return false;
}

static const char *const uses[] = {
    [USED_STORED] = "is stored here",         [USED_ADDRESS] = "is part of this address",
    [USED_MASK] = "is used as a mask here",   [USED_BRANCH] = "is branched on here",
    [USED_BOUND] = "is a bound of this loop", [USED_COMPARED] = "is compared here",
    [USED_ASSERTED] = "is asserted here",
};

bool report_taint(Run *r, const Program *p, const Step *st, TaintUse use, uint16_t taint, Type tile,
                  int64_t lane) {
    int at = (taint & ~ORIGIN_UNINIT) - 1;
    Origin none = {.op = st->op};
    Origin o = at >= 0 && at < r->origins.n ? r->origins.at[at] : none;
    const char *where = report_place(r, p, tile, lane);
    const char *line =
        o.op->span.line ? arena_printf(&r->s->arena, " at line %u", (unsigned)o.op->span.line) : "";
    Diags *d = &r->s->diags;
    switch (o.kind) {
    case ORIGIN_WRAPPED:
        diag(d, C_OVERFLOW, st->op->span,
             "%s overflow in an offset: the %s%s wrapped and is part of the "
             "address of this %s "
             "in %s",
             elem_info[stored_elem(o.op->result[0]->type)].triton, op_info[o.op->code].text, line,
             access_text(r, st, NULL), where);
        diag(d, CODE_NONE, o.op->span, "it wrapped here; compute large offsets in int64");
        break;
    case ORIGIN_MASKED_OFF:
        diag(d, C_MASKED, st->op->span, "a masked-off lane of the %s%s%s %s, in %s",
             access_name(o.op), line, o.op->code == OP_LOAD ? ", which has no `other`," : "",
             uses[use], where);
        diag(d, CODE_NONE, o.op->span, "masked off here: its value is undefined");
        break;
    case ORIGIN_UNWRITTEN:
        diag(d, C_UNINIT, st->op->span,
             "uninitialised memory: an element that nobody wrote, loaded%s, %s, in "
             "%s",
             line, uses[use], where);
        diag(d, CODE_NONE, o.op->span, "loaded here");
        break;
    case ORIGIN_UNDEFINED: {
        bool shift = o.op->code == OP_SHL || o.op->code == OP_SHR;
        const char *type = elem_info[stored_elem(o.op->result[0]->type)].triton;
        diag(d, C_UNDEFINED, st->op->span, "undefined: %s %s%s %s, in %s", type,
             shift ? "shifted by its width or more" : "divided by 0", line, uses[use], where);
        diag(d, CODE_NONE, o.op->span, shift ? "shifted here" : "divided here");
        break;
    }
    }
    return false;
}

bool report_bin(Run *r, const Program *p, const Step *st, Type tile, int64_t value, int64_t lane) {
    diag(&r->s->diags, C_UNDEFINED, st->op->span,
         "undefined: a value of %" PRId64 " for %" PRId64 " bins in %s", value, st->lanes,
         report_place(r, p, tile, lane));
    diag(&r->s->diags, CODE_NONE, (Span){0},
         "what is no bin counts nowhere with tl.histogram(x, bins, mask=(x >= 0) & (x < bins))");
    return false;
}

bool report_shared(Run *r, const Program *p, const Step *st, const char *what, int64_t byte) {
    diag(&r->s->diags, C_SHARED, st->op->span, "%s: byte %" PRId64 " of shared memory in %s", what,
         byte, report_program(r, p));
    return false;
}

/* ---- between programs ---- */

static const char *const doing[] = {"reads", "does an atomic on", "writes"};

static const char *program_text(Run *r, uint32_t number) {
    const uint32_t *grid = r->launch->grid;
    return arena_printf(&r->s->arena, "program (%u, %u, %u)", (unsigned)(number % grid[0]),
                        (unsigned)(number / grid[0] % grid[1]),
                        (unsigned)(number / grid[0] / grid[1]));
}

bool report_race(const Access *a, RaceKind kind, const InterpBuffer *b, uint64_t at,
                 const Op *other, uint32_t other_program) {
    Run *r = a->r;
    const char *name = b->name, *them = program_text(r, other_program);
    /* Elements are counted from where the buffer begins: the parameter's, if it is that one's. */
    if (a->st->param >= 0 && r->param_buffer[a->st->param] == b - r->launch->buffer)
        name = param_name(r, a->st->param);
    const char *did = is_only(other, EFFECT_WRITES_GLOBAL)  ? "wrote"
                      : is_only(other, EFFECT_READS_GLOBAL) ? "read"
                                                            : "did an atomic on";
    diag(&r->s->diags, C_RACE, a->st->op->span,
         "race: %s %s %s%s%selement %" PRIu64 ", which %s %s, and nothing puts the two in order",
         report_program(r, a->p), doing[kind], name ? "'" : "", name ? name : "", name ? "' " : "",
         at / a->size, them, did);
    diag(&r->s->diags, CODE_NONE, other->span, "%s %s it here", them, did);
    return false;
}

bool report_twice(const Access *a, int64_t lane, int64_t other) {
    Run *r = a->r;
    const char *name = param_name(r, a->st->param);
    diag(&r->s->diags, C_RACE, a->st->op->span,
         "race: %s writes to the same place%s%s%s as [%" PRId64
         "] does, another value: which one stays is not defined",
         report_place(r, a->p, a->type, lane), name ? " of '" : "", name ? name : "",
         name ? "'" : "", other);
    return false;
}

bool report_endless(Run *r, const Program *p, const Step *st) {
    diag(&r->s->diags, C_ENDLESS, st->op->span,
         "endless loop: %s goes round it, and nothing changes", report_program(r, p));
    return false;
}

bool report_deadlock(Run *r, Program *const *waiting, int n, bool more) {
    enum { SHOWN = 4 };
    Span where = waiting[0]->last_read->span;
    if (more)
        diag(&r->s->diags, C_DEADLOCK, where,
             "%d programs wait at once, more than can be set aside, and none can "
             "go on",
             n);
    else if (n == 1)
        diag(&r->s->diags, C_DEADLOCK, where,
             "deadlock: %s waits, and no other program is left that could end it",
             report_reader(r, waiting[0]));
    else
        diag(&r->s->diags, C_DEADLOCK, where, "deadlock: %d programs wait for each other", n);
    for (int i = 0; i < n && i < SHOWN; i++)
        diag(&r->s->diags, CODE_NONE, waiting[i]->last_read->span, "%s waits here%s",
             report_reader(r, waiting[i]),
             waiting[i]->foreign ? ", for other launches, which have not written for too long"
                                 : "");
    if (n > SHOWN) diag(&r->s->diags, CODE_NONE, (Span){0}, "and %d more", n - SHOWN);
    return false;
}
