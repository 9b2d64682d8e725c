/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* cluster.c: programs of a cluster: each knows the others, arrives at their barriers and has blocks
 * brought to their shared memory.
 *
 * They go on in turns, as other programs do: one that waits for another is set aside until
 * something has changed. Their clocks have components for all of them, so that what one does in
 * another's shared memory is checked as what it does in its own. */
#include "ir/interp/machine.h"

#include <string.h>

void cluster_join(const Run *r, Program *const *programs) {
    for (int i = 0; i < r->cluster; i++) {
        Program *p = programs[i];
        for (int k = 0; k < r->cluster; k++) p->cluster[k] = programs[k];
        p->rank = i;
        p->first_clock = i * clock_of_program(r);
        p->met = 0;
    }
}

Program *cluster_program(Run *r, Program *p, const Step *st, int64_t rank) {
    const char *wrong = NULL;
    if (rank < 0 || rank >= r->cluster)
        wrong = arena_printf(&r->s->arena, "its cluster has %d", r->cluster);
    else if (p->cluster[rank]->cluster[p->rank] != p || p->cluster[rank]->state == PROGRAM_DONE)
        wrong = "that has ended"; /* and may be another by now */
    if (!wrong) return p->cluster[rank];
    diag(&r->s->diags, C_CLUSTER, st->op->span,
         "program %lld of the cluster is asked for, in %s: %s", (long long)rank,
         report_program(r, p), wrong);
    return NULL;
}

/* CLUSTER_RANK, CLUSTER_SIZE, CLUSTER_ID and NUM_CLUSTERS */
bool step_cluster_value(Run *r, Program *p, const Step *st) {
    int32_t v = p->rank, size = r->cluster;
    if (st->op->code == OP_CLUSTER_SIZE) v = size;
    if (st->op->code == OP_CLUSTER_ID) v = (int32_t)p->id[0] / size;
    if (st->op->code == OP_NUM_CLUSTERS) v = (int32_t)r->launch->grid[0] / size;
    Tile *d = &p->tile[st->dst[0]];
    memcpy(d->data, &v, sizeof v);
    d->tainted = false;
    return true;
}

bool step_cluster_place(Run *r, Program *p, const Step *st) {
    int32_t in[2];
    uint16_t taint = 0;
    for (int i = 0; i < 2; i++) {
        const Tile *x = &p->tile[st->src[i]];
        memcpy(&in[i], x->data, sizeof in[i]);
        if (x->tainted && x->taint[0] > taint) taint = x->taint[0];
    }
    int64_t place = (int64_t)in[0] * r->cluster + p->rank;
    bool there = place < in[1];
    int32_t v = there ? (int32_t)place : (int32_t)((uint32_t)in[1] - 1);
    for (int i = 0; i < 2; i++) {
        if (taint) *slot_taint(r, p, st->dst[i]) = taint;
        p->tile[st->dst[i]].tainted = taint;
    }
    memcpy(p->tile[st->dst[0]].data, &v, sizeof v);
    memcpy(p->tile[st->dst[1]].data, &there, sizeof there);
    return true;
}

/* Each knows what all of them knew. */
static void meet(Run *r, Program *p) {
    for (int i = 0; i < r->cluster; i++) {
        Program *x = p->cluster[i];
        Strand *s = strand_of(x);
        s->knows[clock_of_strand(x, x->current)] = s->now++;
        s->released = x != p;
    }
    for (int i = 0; i < r->cluster; i++)
        for (int k = 0; k < r->cluster; k++)
            clock_max(strand_of(p->cluster[i])->knows, strand_of(p->cluster[k])->knows, r);
    p->cluster[0]->met = 0;
    r->changes++;
}

bool step_cluster_barrier(Run *r, Program *p, const Step *st) {
    Strand *s = strand_of(p);
    unsigned *met = &p->cluster[0]->met;
    s->settled = s->now;
    if (s->released) {
        s->released = false;
        return true;
    }
    *met |= 1u << p->rank;
    if (*met == (1u << r->cluster) - 1)
        meet(r, p);
    else
        strand_block(p, st);
    return true;
}
