/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* numbers.c: a launch's arguments -> whether a further entry is for it: its conditions, and the
 * numbers that the launch hands over; and how many places make it worth it.
 *
 * They follow from a few integers, which are mostly those of the launch before: what came out for
 * these is kept, and found by them. */
#include "runtime/runtime.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SLOTS = 16, KEPT = 4 };

typedef struct Kept {
    int64_t slot[MOST_SLOTS];
    int64_t number[RT_MAX_NUMBERS], places;
    bool there, is_for;
} Kept;

struct KeptNumbers {
    atomic_flag busy;     /* a launch that finds it so works them out itself */
    int slot[MOST_SLOTS]; /* the parameters that they follow from */
    int nslots;           /* more than MOST_SLOTS: nothing is kept */
    Kept kept[KEPT];
    int next;
};

static void find_slots(KeptNumbers *x, const ExprOp *op, int nops) {
    const char *name;
    for (int i = 0; i < nops && x->nslots <= MOST_SLOTS; i++) {
        int at = 0;
        if (expr_step(&op[i], &name) != STEP_PUSH_SLOT) continue;
        while (at < x->nslots && x->slot[at] != op[i].value) at++;
        if (at < x->nslots) continue;
        if (at < MOST_SLOTS) x->slot[at] = (int)op[i].value;
        x->nslots++;
    }
}

KeptNumbers *rt_keep_numbers(Arena *a, const tile_kernel *k) {
    KeptNumbers *x = arena_alloc(a, sizeof *x);
    atomic_flag_clear(&x->busy);
    find_slots(x, k->condition_code, k->condition_ops);
    find_slots(x, k->number_code, k->number_ops);
    find_slots(x, k->worth_code, k->worth_ops);
    return x;
}

static bool conditions_hold(const tile_kernel *k, const InterpArg *arg, ExprVerdict *verdict,
                            ExprError *e) {
    return !k->condition_ops ||
           (expr_test(k->condition_code, k->condition_ops, rt_value_of_slot, arg, verdict, e) &&
            verdict->holds);
}

bool rt_keeps_conditions(const tile_kernel *k, const InterpArg *arg) {
    ExprVerdict ignored;
    ExprError unread;
    return conditions_hold(k, arg, &ignored, &unread);
}

static bool work_out(const tile_kernel *k, const InterpArg *arg, int64_t *number, int64_t *places) {
    ExprError ignored;
    *places = k->min_places;
    return rt_keeps_conditions(k, arg) &&
           (!k->nnumbers || !rt_why_no_numbers(k, arg, number, &ignored)) &&
           (!k->worth_ops ||
            expr_run(k->worth_code, k->worth_ops, rt_value_of_slot, arg, places, &ignored) == 1);
}

bool rt_is_for(const tile_kernel *k, const InterpArg *arg, int64_t *number, int64_t *places) {
    KeptNumbers *x = k->kept;
    int64_t slot[MOST_SLOTS] = {0};
    *places = k->min_places;
    if (!k->condition_ops && !k->nnumbers && !k->worth_ops) return true;
    if (!x || x->nslots > MOST_SLOTS ||
        atomic_flag_test_and_set_explicit(&x->busy, memory_order_acquire))
        return work_out(k, arg, number, places);
    for (int i = 0; i < x->nslots; i++) slot[i] = arg[x->slot[i]].i;
    size_t bytes = (size_t)x->nslots * sizeof *slot, values = (size_t)k->nnumbers * sizeof *number;
    int at = 0;
    while (at < KEPT && !(x->kept[at].there && memcmp(x->kept[at].slot, slot, bytes) == 0)) at++;
    bool found = at < KEPT;
    if (!found) at = x->next;
    Kept *kept = &x->kept[at];
    if (!found) {
        x->next = (at + 1) % KEPT;
        memcpy(kept->slot, slot, sizeof slot);
        kept->is_for = work_out(k, arg, kept->number, &kept->places);
        kept->there = true;
    }
    bool is_for = kept->is_for;
    *places = kept->places;
    memcpy(number, kept->number, values);
    atomic_flag_clear_explicit(&x->busy, memory_order_release);
    return is_for;
}

/* Condition number i of those that are joined by commas; one in brackets joins none. */
static const char *condition_text(const tile_kernel *k, int i, int *len) {
    const char *at = k->conditions, *end = at;
    for (int depth = 0; *end; end++) {
        depth += (*end == '(') - (*end == ')');
        if (depth || *end != ',') continue;
        if (!i--) break;
        at = end + 1;
    }
    while (*at == ' ') at++;
    *len = (int)(end - at);
    return at;
}

void rt_why_not_for(const tile_kernel *k, const InterpArg *arg, char *text, size_t room) {
    ExprVerdict verdict = {.holds = true};
    ExprError e = {.text = ""};
    int64_t number[RT_MAX_NUMBERS];
    int len;
    if (conditions_hold(k, arg, &verdict, &e)) {
        const char *why = k->nnumbers ? rt_why_no_numbers(k, arg, number, &e) : NULL;
        snprintf(text, room, "its numbers: %s", why ? why : "how many programs are worth it");
    } else if (verdict.holds) {
        snprintf(text, room, "%s: %s", k->conditions, e.text);
    } else {
        const char *condition = condition_text(k, verdict.first, &len);
        snprintf(text, room, "%.*s does not hold: %lld and %lld", len, condition,
                 (long long)verdict.left, (long long)verdict.right);
    }
}

const char *rt_why_no_numbers(const tile_kernel *k, const InterpArg *arg, int64_t *number,
                              ExprError *e) {
    if (expr_run(k->number_code, k->number_ops, rt_value_of_slot, arg, number, e) != k->nnumbers)
        return e->text;
    for (int i = 0; i < k->nnumbers; i++)
        if (k->number[i].elem != EL_I64 && number[i] != (int32_t)number[i])
            return "a number does not fit 32 bits";
    return NULL;
}
