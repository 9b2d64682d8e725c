/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* nccl.h: the few functions of NCCL that an all-reduce takes, opened when a program asks for them:
 * nothing of it is needed to build. */
#ifndef EXAMPLES_NCCL_H
#define EXAMPLES_NCCL_H

#include "ranks.h"

typedef struct Nccl {
    void *library, *comm; /* NULL: not opened */
    int (*destroy)(void *comm);
    int (*all_reduce)(const void *from, void *to, size_t count, int type, int op, void *comm,
                      void *stream);
    const char *(*error)(int result);
} Nccl;

/* All ranks of a program call these together. */
void nccl_open(Nccl *n, Ranks *r);
/* Adds `count` halves of all ranks in place. */
void nccl_add_halves(Nccl *n, Ranks *r, tile_ptr at, size_t count, void *stream);
void nccl_close(Nccl *n);

#endif
