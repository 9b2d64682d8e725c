/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* assemble.h: PTX that a test made -> whether ptxas takes it, where there is one. */
#ifndef TILE_TESTS_ASSEMBLE_H
#define TILE_TESTS_ASSEMBLE_H

#include "tests/scratch.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* 0: assembled, 77: there is no ptxas. */
static inline int assemble(const char *ptx, const char *arch) {
    char path[SCRATCH_SIZE], command[400];
    int fd = mkstemp(scratch(path, "tile-ptx"));
    ck_assert_int_ge(fd, 0);
    FILE *f = fdopen(fd, "w");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(ptx, f), 0);
    ck_assert_int_eq(fclose(f), 0);
    snprintf(command, sizeof command,
             "p=$(command -v ptxas || ls /usr/local/cuda*/bin/ptxas 2>/dev/null | head -1); "
             "[ -n \"$p\" ] || exit 77; \"$p\" -O1 -arch=%s -o /dev/null '%s'",
             arch, path);
    int status = system(command);
    remove(path);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
