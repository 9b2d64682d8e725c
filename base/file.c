/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* file.c: whole files in and out, with limits and without torn outputs (see file.h).
 *
 * The hard part is which file a rename should replace: symbolic links are followed first, so that
 * the link stays a link, and an existing file keeps its permissions. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool fail(FileError *e, const char *verb, const char *path, int code) {
    e->too_large = false;
    e->out_of_memory = code == ENOMEM;
    snprintf(e->text, sizeof e->text, "cannot %s '%.300s': %s", verb, path, strerror(code));
    return false;
}

static bool refuse_size(FileError *e, const char *path, size_t limit) {
    e->too_large = true;
    e->out_of_memory = false;
    snprintf(e->text, sizeof e->text, "'%.300s' is larger than %zu %s, the limit", path,
             limit >= 1u << 20 ? limit >> 20 : limit, limit >= 1u << 20 ? "MB" : "bytes");
    return false;
}

static bool read_fd(int fd, const char *path, const char *begins, size_t limit, char **data,
                    size_t *len, FileError *error) {
    size_t nbegins = strlen(begins);
    struct stat st;
    if (fstat(fd, &st)) return fail(error, "read", path, errno);
    if (S_ISDIR(st.st_mode)) return fail(error, "read", path, EISDIR);
    if (S_ISREG(st.st_mode) && st.st_size > 0 && (uintmax_t)st.st_size > limit)
        return refuse_size(error, path, limit);
    size_t cap = S_ISREG(st.st_mode) && st.st_size > 0 ? (size_t)st.st_size + 2 : 65536;
    size_t n = 0;
    char *buf = malloc(cap);
    if (!buf) return fail(error, "read", path, ENOMEM);
    for (;;) {
        if (n + 1 >= cap) {
            char *more = cap > SIZE_MAX / 2 ? NULL : realloc(buf, cap * 2);
            if (!more) {
                free(buf);
                return fail(error, "read", path, ENOMEM);
            }
            buf = more;
            cap *= 2;
        }
        ssize_t got = read(fd, buf + n, cap - n - 1);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            int code = errno;
            free(buf);
            return fail(error, "read", path, code);
        }
        if (got == 0) break;
        n += (size_t)got;
        if (memcmp(buf, begins, n < nbegins ? n : nbegins)) break;
        if (n > limit) {
            free(buf);
            return refuse_size(error, path, limit);
        }
    }
    buf[n] = 0;
    *data = buf;
    *len = n;
    return true;
}

bool file_read_as(const char *path, const char *begins, size_t limit, char **data, size_t *len,
                  FileError *error) {
    if (strcmp(path, "-") == 0)
        return read_fd(STDIN_FILENO, "standard input", begins, limit, data, len, error);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fail(error, "read", path, errno);
    bool ok = read_fd(fd, path, begins, limit, data, len, error);
    close(fd);
    return ok;
}

bool file_read(const char *path, size_t limit, char **data, size_t *len, FileError *error) {
    return file_read_as(path, "", limit, data, len, error);
}

bool file_write_fd(int fd, const char *name, const char *data, size_t len, FileError *error) {
    while (len) {
        ssize_t put = write(fd, data, len);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return fail(error, "write", name, errno);
        data += put;
        len -= (size_t)put;
    }
    return true;
}

/* A new file in the folder of `path`. Its name starts with a dot and ends in ".tmp"; mode 0666 less
 * the umask, which mkstemp would not give. */
static int open_beside(const char *path, char **temp) {
    const char *base = file_base_name(path);
    size_t folder = (size_t)(base - path), size = folder + strlen(base) + 48;
    char *name = malloc(size);
    if (!name) {
        errno = ENOMEM;
        return -1;
    }
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        /* The base name is cut, for a name may be as long as the file system allows already. */
        snprintf(name, size, "%.*s.%.100s.%lx-%lx-%x.tmp", (int)folder, path, base,
                 (unsigned long)getpid(), (unsigned long)now.tv_nsec, attempt);
        int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST) {
            if (fd >= 0)
                *temp = name;
            else {
                int code = errno;
                free(name);
                errno = code;
            }
            return fd;
        }
    }
    free(name);
    errno = EEXIST;
    return -1;
}

bool file_draft(FileDraft *d, const char *path, const char *data, size_t len, FileError *error) {
    *d = (FileDraft){.fd = -1, .data = data, .len = len};
    struct stat st;
    bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode)) return fail(error, "write", path, EISDIR);
    if (exists && !S_ISREG(st.st_mode)) {
        int fd = open(path, O_WRONLY | O_CLOEXEC);
        if (fd < 0) return fail(error, "write", path, errno);
        d->path = strdup(path);
        d->fd = fd;
        if (d->path) return true;
        close(fd);
        return fail(error, "write", path, ENOMEM);
    }
    d->path = exists ? realpath(path, NULL) : strdup(path);
    if (!d->path) return fail(error, "write", path, errno);
    if (exists && access(d->path, W_OK)) { /* a rename would go past a read-only file */
        int code = errno;
        file_discard(d);
        return fail(error, "write", path, code);
    }
    int fd = open_beside(d->path, &d->temp);
    if (fd < 0) {
        int code = errno;
        file_discard(d);
        return fail(error, "write", path, code);
    }
    bool ok = file_write_fd(fd, path, data, len, error);
    if (ok && exists && fchmod(fd, st.st_mode & 07777)) ok = fail(error, "write", path, errno);
    if (close(fd) && ok) ok = fail(error, "write", path, errno);
    if (!ok) file_discard(d);
    return ok;
}

bool file_commit(FileDraft *d, FileError *error) {
    bool ok = true;
    if (d->fd >= 0) {
        ok = file_write_fd(d->fd, d->path, d->data, d->len, error);
        if (close(d->fd) && ok) ok = fail(error, "write", d->path, errno);
        d->fd = -1;
    } else if (rename(d->temp, d->path)) {
        ok = fail(error, "write", d->path, errno);
    } else {
        free(d->temp);
        d->temp = NULL;
    }
    file_discard(d);
    return ok;
}

void file_discard(FileDraft *d) {
    if (d->temp) unlink(d->temp);
    if (d->fd >= 0) close(d->fd);
    free(d->temp);
    free(d->path);
    *d = (FileDraft){.fd = -1};
}

bool file_write(const char *path, const char *data, size_t len, FileError *error) {
    FileDraft d;
    return file_draft(&d, path, data, len, error) && file_commit(&d, error);
}

bool file_same(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool file_regular(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

const char *file_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}
