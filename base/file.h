/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* file.h: whole files in and out.
 *
 * Reading takes a limit and never reads far past it. Writing is a draft beside the target that is
 * renamed over it, so that a reader sees the old file or the new one, whole, and a failure leaves
 * neither a torn output nor a temporary file. What exists and is not a regular file (a terminal, a
 * pipe, /dev/null) cannot be replaced, and is written directly. Failures come back as a sentence
 * in a FileError; nothing is printed. Data belongs to the caller, who frees it with free(). */
#ifndef TILE_BASE_FILE_H
#define TILE_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct FileError {
    bool too_large;     /* the file was refused for its size; else the system refused something */
    bool out_of_memory; /* that was memory */
    char text[512];     /* "cannot read 'x.tl': No such file or directory" */
} FileError;

/* Reads all of `path` ("-": standard input). *data ends in a NUL that *len does not count. */
bool file_read(const char *path, size_t limit, char **data, size_t *len, FileError *error);

/* The same of a format whose files begin with these bytes: another file is not read to its end, and
 * *data is its beginning. */
bool file_read_as(const char *path, const char *begins, size_t limit, char **data, size_t *len,
                  FileError *error);

/* An output that is written but not yet in place. Zero-initialise; discard or commit frees it. */
typedef struct FileDraft {
    char *path; /* where it goes, symbolic links followed */
    char *temp; /* where it is; NULL: committed, or direct */
    int fd;     /* of a direct output, else -1 */
    const char *data;
    size_t len;
} FileDraft;

/* Writes data beside `path`. For a direct output only opens it; commit writes, so data must live
 * until then. After a failure there is nothing to discard. */
bool file_draft(FileDraft *d, const char *path, const char *data, size_t len, FileError *error);
bool file_commit(FileDraft *d, FileError *error);
void file_discard(FileDraft *d);

/* Draft and commit in one. */
bool file_write(const char *path, const char *data, size_t len, FileError *error);
/* Writes everything to an open descriptor; `name` is for the error text. */
bool file_write_fd(int fd, const char *name, const char *data, size_t len, FileError *error);
/* Both paths lead to one existing file. */
bool file_same(const char *a, const char *b);
/* The path leads to a regular file. */
bool file_regular(const char *path);
/* The last component of a path, pointed into it. */
const char *file_base_name(const char *path);

#endif
