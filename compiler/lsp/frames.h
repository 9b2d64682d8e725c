/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* frames.h: bytes of a stream -> messages, as the base protocol of LSP frames them: header lines,
 * an empty line, so many bytes as Content-Length says.
 *
 * Whoever writes the bytes is not trusted. A message longer than MESSAGE_LIMIT_MB is stepped over
 * without being kept; headers that cannot be read end the stream, as nothing says where the next
 * message would begin. */
#ifndef TILE_COMPILER_LSP_FRAMES_H
#define TILE_COMPILER_LSP_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MESSAGE_LIMIT_MB = 64, /* a source of 8 MB, each byte of it escaped */
    HEADER_LIMIT = 8192,   /* bytes of all headers of a message */
};

typedef enum FrameState {
    FRAME_MORE,      /* more bytes are needed */
    FRAME_MESSAGE,   /* there is one */
    FRAME_TOO_LARGE, /* one is stepped over: said once */
    FRAME_BAD,       /* no headers of a message */
    FRAME_NO_MEMORY
} FrameState;

typedef struct Frames { /* zero-initialise; free with frames_free */
    char *data;
    size_t len, cap;
    size_t used;   /* bytes of data that were handed out */
    uint64_t skip; /* bytes to come that nobody wants */
} Frames;

/* Room for at least `least` more bytes, of which *room says how many; NULL: no memory. */
char *frames_room(Frames *f, size_t least, size_t *room);
/* n bytes were put there. */
void frames_filled(Frames *f, size_t n);
/* The next message, which lives until frames_room. */
FrameState frames_next(Frames *f, const char **message, size_t *len);
void frames_free(Frames *f);

#endif
