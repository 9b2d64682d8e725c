/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* gcov.c: a process that ends without exit() -> the counters of its lines, on disk.
 *
 * gcc's counters are written by a handler of exit(). Linked by --wrap into the programs of the
 * preset coverage, these write them where a process ends in another way, or becomes another
 * program. */
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

void __gcov_dump(void);
void __gcov_reset(void);

_Noreturn void __real__exit(int code);
_Noreturn void __real_abort(void);
int __real_raise(int number);
int __real_execv(const char *path, char *const argv[]);
_Noreturn void __wrap__exit(int code);
_Noreturn void __wrap_abort(void);
int __wrap_raise(int number);
int __wrap_execv(const char *path, char *const argv[]);

/* What was written is not counted again. */
static void write_counters(void) {
    __gcov_dump();
    __gcov_reset();
}

void __wrap__exit(int code) {
    write_counters();
    __real__exit(code);
}

void __wrap_abort(void) {
    write_counters();
    __real_abort();
}

int __wrap_raise(int number) {
    write_counters();
    return __real_raise(number);
}

int __wrap_execv(const char *path, char *const argv[]) {
    write_counters();
    return __real_execv(path, argv);
}
