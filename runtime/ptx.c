/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* ptx.c: the device `ptx`: PTX run on the CPU, thread by thread (ptx/machine/), launched as a GPU's
 * would be: with further entries, tensor maps, clusters. Memory is the CPU device's. */
#include "ir/target.h"
#include "ptx/live.h"
#include "runtime/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MULTIPROCESSORS = 4, /* so that few programs take several places each */
    WARP_THREADS = 32
};

/* Of a session that was left by a jump. */
static tile_status fail_left(tile_context *ctx, const Session *s, tile_status st) {
    const Diag *d = s->diags.first;
    if (s->out_of_memory || !d)
        return rt_fail(ctx, TILE_NO_MEMORY, "the PTX machine ran out of memory");
    return rt_fail(ctx, st, "%s [%s]", d->text,
                   code_text(d->code)); /* there is no memory for more */
}

static tile_status fail_with(tile_context *ctx, Session *s, tile_status st) {
    const Diag *d = s->diags.first;
    Buf text = buf_new(&s->arena);
    for (; d && text.len < 2000; d = d->next) {
        if (text.len) buf_putc(&text, '\n');
        diag_sentence(d, &text);
    }
    return rt_fail(ctx, st, "%s", text.len ? text.data : "a check failed");
}

static tile_status ptx_device_load(tile_module *m, const char *text) {
    Session *s = &m->session;
    if (m->ir)
        return rt_fail(m->ctx, TILE_BAD_MODULE,
                       "this is tile IR, which runs on the CPU device; the PTX machine takes PTX");
    const Target *t = target_find(m->target), *here = target_find(m->ctx->target);
    if (t && here && t != here && !target_runs(t, here->sm))
        return rt_fail(m->ctx, TILE_BAD_MODULE, "compiled for %s, and the machine is as %s",
                       t->name, here->name);
    if (setjmp(s->bail)) return fail_left(m->ctx, s, TILE_BAD_MODULE);
    const PtxModule *p = ptx_load(s, arena_strdup(&s->arena, text), strlen(text));
    if (!p) return fail_with(m->ctx, s, TILE_BAD_MODULE);
    for (int i = 0; i < m->nkernels; i++) {
        tile_kernel *k = &m->kernel[i];
        for (int n = 0; n < p->nprograms; n++)
            if (strcmp(p->program[n].name, k->entry) == 0) k->program = &p->program[n];
        if (!k->program)
            return rt_fail(m->ctx, TILE_BAD_MODULE,
                           "the PTX has no entry '%s', which its manifest names", k->entry);
        if (k->program->nparams != k->nparams + k->nhidden)
            return rt_fail(m->ctx, TILE_BAD_MODULE,
                           "the PTX's entry '%s' takes %d parameters, and its manifest lists %d",
                           k->entry, k->program->nparams, k->nparams + k->nhidden);
        tile_status st = rt_check_hidden(k);
        if (st && !k->of) return st;
        k->unusable |= st != TILE_OK;
        k->resident = 1;
    }
    m->ptx = p;
    return TILE_OK;
}

static void ptx_device_unload(tile_module *m) {
    (void)m;
}

/* Runs it with a session of its own. */
static tile_status run(tile_context *ctx, PtxLaunch *launch) {
    Session s;
    if (setjmp(s.bail)) {
        tile_status st = fail_left(ctx, &s, TILE_CHECK_FAILED);
        session_free(&s);
        return st;
    }
    session_init(&s);
    tile_status st = TILE_OK;
    if (!ptx_run(&s, launch)) st = fail_with(ctx, &s, TILE_CHECK_FAILED);
    session_free(&s);
    return st;
}

static void take_context(tile_context *ctx, PtxLaunch *l) {
    pthread_mutex_lock(&ctx->lock);
    unsigned c = ctx->checks;
    l->checks =
        (c & CHECK_BOUNDS ? PTX_CHECK_BOUNDS : 0u) | (c & CHECK_ALIGN ? PTX_CHECK_ALIGN : 0u) |
        (c & CHECK_UNINIT ? PTX_CHECK_UNINIT : 0u) | (c & CHECK_RACES ? PTX_CHECK_RACES : 0u);
    l->print = ctx->print;
    l->print_user = ctx->print_user;
    l->progress = ctx->progress;
    l->progress_user = ctx->progress_user;
    pthread_mutex_unlock(&ctx->lock);
}

/* The context's buffers and the module's own. */
static PtxBuffer *take_buffers(tile_kernel *k, const InterpArg *arg, const Buffer *workspace,
                               int *n) {
    const PtxModule *m = k->module->ptx;
    InterpBuffer *from = host_buffers(k->module->ctx, k, arg, workspace, n);
    PtxBuffer *to = from ? calloc((size_t)*n + (size_t)m->nglobals + 1, sizeof *to) : NULL;
    for (int i = 0; to && i < *n; i++)
        to[i] = (PtxBuffer){from[i].name, from[i].base, from[i].bytes, from[i].written,
                            from[i].foreign};
    for (int i = 0; to && i < m->nglobals; i++)
        if (m->global[i].base) to[(*n)++] = m->global[i];
    free(from);
    return to;
}

/* The loops are looked for in a copy: the module's is for everyone. */
static PtxKernel kernel_with_loops(Arena *a, const PtxKernel *from) {
    PtxKernel k = *from;
    if (!k.insts.n) return k;
    k.insts.at = arena_copy(a, k.insts.at, sizeof *k.insts.at * (size_t)k.insts.n);
    ptx_find_loops(a, &k);
    return k;
}

static tile_status tell_counts(tile_context *ctx, const PtxProgram *p, const PtxCount *count,
                               tile_count_fn fn, void *user) {
    Session s;
    if (setjmp(s.bail)) {
        session_free(&s);
        return rt_fail(ctx, TILE_NO_MEMORY, "no memory for the loops of a kernel");
    }
    session_init(&s);
    PtxKernel k = kernel_with_loops(&s.arena, p->kernel);
    bool few = k.insts.n <= PTX_LIVE_MOST;
    PtxLive live = few ? ptx_live(&s.arena, &k) : (PtxLive){.alive = NULL};
    for (int i = 0; i < p->ncode; i++) {
        const PtxCount *c = &count[i];
        const PtxInst *inst = &k.insts.at[i];
        const PtxLoop *loop = inst->loop < 0 ? NULL : &k.loops.at[inst->loop];
        const char *end =
            inst->args.len ? inst->args.text + inst->args.len : inst->op.text + inst->op.len;
        if (!c->warps) continue;
        fn(user, &(tile_count){.entry = p->name,
                               .text = inst->op.text,
                               .length = (size_t)(end - inst->op.text),
                               .ptx_line = ptx_line(p, &p->code[i]),
                               .line = inst->line,
                               .warps = c->warps,
                               .lanes = c->lanes,
                               .global_requests = c->global,
                               .sectors = c->sectors,
                               .global_bytes = c->global_bytes,
                               .shared_requests = c->shared,
                               .wavefronts = c->wavefronts,
                               .least_wavefronts = c->least_wavefronts,
                               .loop = inst->loop,
                               .loop_around = loop ? loop->parent : -1,
                               .loop_line = loop ? loop->line : 0,
                               .registers = live.alive ? live.alive[i] : -1});
    }
    session_free(&s);
    return TILE_OK;
}

static tile_status ptx_device_launch(tile_kernel *k, const LaunchGrid *asked, InterpArg *arg,
                                     void *stream) {
    (void)stream;
    tile_context *ctx = k->module->ctx;
    const tile_grid *grid = &asked->programs;
    LaunchArgs a;
    Buffer workspace = {0};
    int driver = 0;
    tile_status st = rt_arguments(ptx_encode_map, k, asked, arg, &a, &driver);
    if (st || asked->ask) return st;
    if (k->nsplit && asked->stream_k[STREAM_K_PLACES]) {
        st = host_ops.alloc(ctx, (size_t)k->split.bytes * grid->x, &workspace);
        if (st) return st;
        /* The flags of a new workspace are none of this launch's. */
        st = host_ops.fill(ctx, workspace.start, 0, workspace.bytes);
        a.workspace = workspace.start;
        a.mark = 1;
    }
    bool single = k->shared_single_cta && (uint64_t)grid->x * grid->y * grid->z <= MULTIPROCESSORS;
    PtxLaunch launch = {.program = k->program,
                        .param = (const void *const *)a.param,
                        .grid = {grid->x, grid->y, grid->z},
                        .block = {(uint32_t)k->num_warps * WARP_THREADS, 1, 1},
                        .cluster = {asked->cluster > 1 ? asked->cluster : k->cluster[0],
                                    k->cluster[1], k->cluster[2]},
                        .dynamic_shared = (uint32_t)(single ? k->shared_single_cta : k->shared)};
    launch.buffer = take_buffers(k, arg, &workspace, &launch.nbuffers);
    take_context(ctx, &launch);
    pthread_mutex_lock(&ctx->lock);
    tile_count_fn counts = ctx->counts;
    void *user = ctx->counts_user;
    pthread_mutex_unlock(&ctx->lock);
    if (counts) launch.count = calloc((size_t)k->program->ncode + 1, sizeof *launch.count);
    st = launch.buffer && (launch.count || !counts)
             ? run(ctx, &launch)
             : rt_fail(ctx, TILE_NO_MEMORY, "no memory for a launch");
    if (!st && counts) st = tell_counts(ctx, k->program, launch.count, counts, user);
    free(launch.count);
    host_ops.release(ctx, &workspace);
    free(launch.buffer);
    return st;
}

tile_status ptx_open(tile_context *ctx, const char *target) {
    const Target *t = target_find(target ? target : "sm_90a");
    if (!t) return rt_fail(ctx, TILE_INVALID, "there is no target '%.100s'", target);
    snprintf(ctx->name, sizeof ctx->name, "PTX machine (%s)", t->name);
    ctx->own_ops = host_ops;
    ctx->own_ops.load = ptx_device_load;
    ctx->own_ops.unload = ptx_device_unload;
    ctx->own_ops.launch = ptx_device_launch;
    ctx->ops = &ctx->own_ops;
    ctx->target = t->name;
    ctx->on_host = true;
    ctx->multiprocessors = MULTIPROCESSORS;
    atomic_init(&ctx->splits, true);
    return TILE_OK;
}
