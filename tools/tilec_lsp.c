/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_lsp.c: standard input and output -> the stream of a language server (see tilec_lsp.h).
 *
 * The descriptors are used as they are: buffers of stdio would hide whether more has come. */
#include "tools/tilec_lsp.h"

#include "base/file.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

static ptrdiff_t read_input(void *user, char *to, size_t room, int wait) {
    (void)user;
    struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
    if (!wait && poll(&p, 1, 0) <= 0) return -1;
    ssize_t n;
    do n = read(STDIN_FILENO, to, room);
    while (n < 0 && errno == EINTR);
    return n;
}

static int write_output(void *user, const char *bytes, size_t len) {
    (void)user;
    FileError error;
    return !file_write_fd(STDOUT_FILENO, "standard output", bytes, len, &error);
}

tile_status lsp_command(const Messages *m, const tile_compile_options *o, bool *orderly) {
    const tile_stream stream = {read_input, write_output, NULL};
    tile_compiled *why;
    int shut_down = 0;
    signal(SIGPIPE, SIG_IGN); /* an editor that is gone is an error of write() */
    tile_status st = tile_language_server(o, &stream, &shut_down, &why);
    if (st == TILE_INVALID) messages_compiled(m, why);
    if (st == TILE_IO)
        message(m, message_code(st), "--lsp: the editor is gone, or sends what is no message");
    if (st == TILE_NO_MEMORY) message(m, message_code(st), "--lsp: out of memory");
    tile_compiled_free(why);
    *orderly = shut_down;
    return st;
}
