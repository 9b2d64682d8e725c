/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* arguments.c: a launch's arguments -> the parameters of the kernel's PTX: the source's own, and
 * behind them the hidden ones: the grid's axes, numbers, tensor maps, how programs share out loops.
 */
#include "runtime/runtime.h"

#include <stdio.h>
#include <string.h>

static tile_status make_maps(EncodeMap *encode, tile_kernel *k, const InterpArg *arg,
                             const LaunchGrid *asked, TensorMap *map, int *driver) {
    char text[200];
    for (int i = 0; i < k->nmaps && !*driver; i++) {
        const KernelMap *m = &k->map[i];
        const char *why = rt_make_map(encode, k, i, arg, &map[i], text, sizeof text, driver);
        if (why && asked->ask && asked->stands_in)
            snprintf(asked->ask->why, sizeof asked->ask->why,
                     "no tensor map of '%s' with the sizes and strides %s: %s",
                     k->param[m->base].name, m->text, why);
        if (why && asked->stands_in) return TILE_BAD_LAUNCH;
        if (why)
            return rt_fail(k->module->ctx, TILE_BAD_LAUNCH,
                           "kernel '%s': no descriptor of '%s' with the sizes and strides %s: %s",
                           k->name, k->param[m->base].name, m->text, why);
    }
    return TILE_OK;
}

static tile_status make_numbers(tile_kernel *k, const InterpArg *arg, bool stands_in,
                                int64_t *number) {
    ExprError e;
    if (!k->nnumbers) return TILE_OK;
    int64_t places;
    if (stands_in) return rt_is_for(k, arg, number, &places) ? TILE_OK : TILE_BAD_LAUNCH;
    const char *why = rt_why_no_numbers(k, arg, number, &e);
    return why ? rt_fail(k->module->ctx, TILE_BAD_LAUNCH, "kernel '%s': its hidden numbers: %s",
                         k->name, why)
               : TILE_OK;
}

static void **put_split(const LaunchGrid *asked, LaunchArgs *out, void **param) {
    memcpy(out->stream_k, asked->stream_k, sizeof out->stream_k);
    *param++ = &out->workspace;
    *param++ = &out->mark;
    for (int i = 0; i < STREAM_K_SHARES; i++) *param++ = &out->stream_k[i];
    return param;
}

tile_status rt_arguments(EncodeMap *encode, tile_kernel *k, const LaunchGrid *asked, InterpArg *arg,
                         LaunchArgs *out, int *driver) {
    void **param = out->param;
    int maps = 0, numbers = 0, axes = 0;
    out->workspace = out->mark = 0;
    tile_status st = make_numbers(k, arg, asked->stands_in, out->number);
    if (!st) st = make_maps(encode, k, arg, asked, out->map, driver);
    for (int i = 0; i < k->nparams; i++) {
        bool number = k->param[i].check == ARG_FLOAT;
        if (number) out->floats[i] = elem_from_double(k->param[i].elem, arg[i].f);
        *param++ = number ? (void *)&out->floats[i] : (void *)&arg[i];
    }
    memcpy(out->work, (uint32_t[]){asked->work.x, asked->work.y, asked->work.z}, sizeof out->work);
    for (int i = 0; i < k->nkinds; i++) switch ((HiddenKind)k->hidden[i]) {
        case HIDDEN_MAP: *param++ = &out->map[maps++]; break;
        case HIDDEN_NUMBER: *param++ = &out->number[numbers++]; break;
        case HIDDEN_AXIS: *param++ = &out->work[axes++]; break;
        case HIDDEN_SPLIT: param = put_split(asked, out, param); break;
        }
    return st;
}
