/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* target.c: the table of targets (see target.h). */
#include "ir/target.h"

#include <string.h>

const Target target_table[] = {
#define TARGET(id, name_, sm_, ptx, shared, reserved, regs, fp8, async_, wg, stm)                  \
    {.name = name_,                                                                                \
     .sm = sm_,                                                                                    \
     .ptx_feature = ptx,                                                                           \
     .max_shared = shared,                                                                         \
     .reserved_shared = reserved,                                                                  \
     .registers = regs,                                                                            \
     .fp8_cvt = fp8,                                                                               \
     .async_copy = async_,                                                                         \
     .wgmma = wg,                                                                                  \
     .stmatrix = stm},
#include "ir/target.def"
#undef TARGET
};
const int target_count = (int)(sizeof target_table / sizeof *target_table);

const Target *target_find(const char *name) {
    for (int i = 0; i < target_count; i++)
        if (strcmp(target_table[i].name, name) == 0) return &target_table[i];
    return NULL;
}
