/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* inside.c: what archives that lie inside the extension module need of glibc, for which the module
 * asks in other ways (the linker's --wrap), so that pip takes it on older systems and it needs no
 * library but glibc. */
#include <stdint.h>
#include <sys/random.h>

extern void *const __wrap_stdin;
uint32_t __wrap_arc4random(void);

/* Debian's archive of jansson is for programs: it takes the place of stdin for its own, which a
 * shared library cannot. json_loadf compares with it, which nobody here calls. */
void *const __wrap_stdin = 0;

/* libstdc++ and LLVM know of arc4random, which came with glibc 2.36; this is in 2.25. */
uint32_t __wrap_arc4random(void) {
    uint32_t value = 0;
    while (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value) {
    }
    return value;
}
