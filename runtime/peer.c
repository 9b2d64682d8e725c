/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* peer.c: contexts that use each other's memory: what the caller asked for -> calls of the device;
 * and for contexts on the host, which buffers a launch or a copy may reach.
 *
 * On a GPU the driver keeps the books. On the host a context knows others by a link that it holds
 * with them: who is destroyed empties its link, so that nobody looks into what is gone. A context's
 * own lock is never held while another's is taken: two may be each other's peers. */
#include "runtime/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a program calls ---- */

/* Both contexts are open, this process's, and of one sort. */
static tile_status check_pair(tile_context *ctx, tile_context *other, const char *call) {
    tile_status st = rt_enter(ctx);
    if (st) return st;
    st = rt_enter(other);
    if (st)
        return rt_fail(ctx, st, "%s: the other context is %s", call,
                       !other              ? "NULL"
                       : st == TILE_FORKED ? "of the parent process"
                                           : "one that could not be opened");
    if (ctx->on_host != other->on_host)
        return rt_fail(ctx, TILE_INVALID,
                       "%s: %s and %s have no memory in common; go by the host: tile_copy_to_host, "
                       "then tile_copy_to_device",
                       call, ctx->name, other->name);
    return TILE_OK;
}

tile_status tile_context_enable_peer(tile_context *ctx, tile_context *peer) {
    tile_status st = check_pair(ctx, peer, "tile_context_enable_peer");
    return st || ctx == peer ? st : ctx->ops->enable_peer(ctx, peer);
}

tile_status tile_copy_peer(tile_context *ctx, tile_ptr to, tile_context *source, tile_ptr from,
                           size_t bytes, void *stream) {
    tile_status st = check_pair(ctx, source, "tile_copy_peer");
    if (st || bytes == 0) return st;
    if (!from || !to) return rt_fail(ctx, TILE_INVALID, "tile_copy_peer: NULL");
    return ctx->ops->copy_peer(ctx, to, source, from, bytes, stream);
}

/* ---- links ---- */

static void let_go(PeerLink *link) {
    if (!link || atomic_fetch_sub(&link->holders, 1) != 1) return;
    pthread_mutex_destroy(&link->lock);
    free(link);
}

/* The link that others hold to `peer`, with one more holder; NULL: no memory. */
static PeerLink *link_of(tile_context *peer) {
    pthread_mutex_lock(&peer->lock);
    PeerLink *link = peer->link;
    if (!link && (link = calloc(1, sizeof *link))) {
        if (pthread_mutex_init(&link->lock, NULL)) {
            free(link);
            link = NULL;
        } else {
            link->ctx = peer;
            atomic_init(&link->holders, 1);
            peer->link = link;
        }
    }
    if (link) atomic_fetch_add(&link->holders, 1);
    pthread_mutex_unlock(&peer->lock);
    return link;
}

tile_status host_enable_peer(tile_context *ctx, tile_context *peer) {
    PeerLink *link = link_of(peer);
    if (!link) return rt_fail(ctx, TILE_NO_MEMORY, "no memory for another peer");
    pthread_mutex_lock(&ctx->lock);
    bool known = false, full = ctx->npeers == TILE_MAX_PEERS;
    for (size_t i = 0; i < ctx->npeers; i++) known = known || ctx->peer[i] == link;
    if (!known && !full) ctx->peer[ctx->npeers++] = link;
    pthread_mutex_unlock(&ctx->lock);
    if (known || full) let_go(link);
    if (full && !known)
        return rt_fail(ctx, TILE_INVALID,
                       "tile_context_enable_peer: the context has %d peers already, the most that "
                       "one may have",
                       TILE_MAX_PEERS);
    return TILE_OK;
}

void peers_close(tile_context *ctx) {
    if (ctx->link) {
        pthread_mutex_lock(&ctx->link->lock);
        ctx->link->ctx = NULL;
        pthread_mutex_unlock(&ctx->link->lock);
        let_go(ctx->link);
        ctx->link = NULL;
    }
    for (size_t i = 0; i < ctx->npeers; i++) let_go(ctx->peer[i]);
    ctx->npeers = 0;
}

/* The peers as they are now: only ctx's end takes one away. */
static size_t peers_of(tile_context *ctx, PeerLink **out) {
    pthread_mutex_lock(&ctx->lock);
    size_t n = ctx->npeers;
    memcpy(out, ctx->peer, n * sizeof *out);
    pthread_mutex_unlock(&ctx->lock);
    return n;
}

bool peers_find_buffer(tile_context *ctx, tile_ptr p, size_t bytes, Buffer *out) {
    if (rt_find_buffer(ctx, p, bytes, out)) return true;
    PeerLink *peer[TILE_MAX_PEERS];
    bool found = false;
    for (size_t i = 0, n = peers_of(ctx, peer); i < n && !found; i++) {
        pthread_mutex_lock(&peer[i]->lock);
        found = peer[i]->ctx && rt_find_buffer(peer[i]->ctx, p, bytes, out);
        pthread_mutex_unlock(&peer[i]->lock);
    }
    return found;
}

/* ---- what a launch may reach ---- */

/* Does the address lie in buffer i, or at its end, where no other begins? */
static bool lies_in(const tile_context *ctx, size_t i, tile_ptr p) {
    const Buffer *b = &ctx->buffer[i], *next = i + 1 < ctx->nbuffers ? b + 1 : NULL;
    if (p < b->start || p - b->start > b->bytes) return false;
    return p - b->start < b->bytes || !next || next->start != p;
}

static bool overlaps(const InterpBuffer *a, tile_ptr start, size_t bytes) {
    uint64_t base = (uint64_t)(uintptr_t)a->base;
    return base - start < bytes || start - base < a->bytes;
}

/* Adds the buffers of `of` to the `*n` of the list, with room behind them for a workspace and for
 * those that are gone. `foreign`: another context's; what two of them have is there once. */
static bool add_buffers(tile_context *of, const tile_kernel *k, const InterpArg *arg, bool foreign,
                        InterpBuffer **list, int *n) {
    pthread_mutex_lock(&of->lock);
    int own = *n;
    size_t room = (size_t)own + of->nbuffers + 1 + RT_FREED;
    InterpBuffer *more = realloc(*list, room * sizeof *more);
    if (more) *list = more;
    for (size_t i = 0; more && i < of->nbuffers; i++) {
        const Buffer *b = &of->buffer[i];
        bool there = false;
        for (int o = 0; o < own && foreign && !there; o++)
            there = overlaps(&more[o], b->start, b->bytes);
        if (there) continue;
        InterpBuffer *to = &more[(*n)++];
        *to = (InterpBuffer){.base = (uint8_t *)(uintptr_t)b->start,
                             .bytes = b->bytes,
                             .written = b->written,
                             .foreign = foreign || b->shared || of->link};
        for (int p = 0; p < k->nparams && !to->name; p++)
            if (k->param[p].depth && !k->param[p].none && lies_in(of, i, arg[p].p))
                to->name = k->param[p].name;
    }
    pthread_mutex_unlock(&of->lock);
    return more != NULL;
}

InterpBuffer *host_buffers(tile_context *ctx, const tile_kernel *k, const InterpArg *arg,
                           const Buffer *workspace, int *n) {
    PeerLink *peer[TILE_MAX_PEERS];
    InterpBuffer *buffer = NULL;
    *n = 0;
    bool ok = add_buffers(ctx, k, arg, false, &buffer, n);
    for (size_t i = 0, npeers = peers_of(ctx, peer); i < npeers && ok; i++) {
        pthread_mutex_lock(&peer[i]->lock);
        if (peer[i]->ctx) ok = add_buffers(peer[i]->ctx, k, arg, true, &buffer, n);
        pthread_mutex_unlock(&peer[i]->lock);
    }
    if (!ok) {
        free(buffer);
        return NULL;
    }
    if (workspace->start)
        buffer[(*n)++] = (InterpBuffer){.name = "workspace",
                                        .base = (uint8_t *)(uintptr_t)workspace->start,
                                        .bytes = workspace->bytes,
                                        .written = workspace->written};
    pthread_mutex_lock(&ctx->lock);
    for (int i = 0; i < RT_FREED; i++)
        buffer[*n + i] = (InterpBuffer){.base = (uint8_t *)(uintptr_t)ctx->freed[i].start,
                                        .bytes = ctx->freed[i].bytes};
    pthread_mutex_unlock(&ctx->lock);
    return buffer;
}
