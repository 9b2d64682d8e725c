/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* tilec_ptxas.c: PTX -> machine code, or registers, stack and spills of each kernel, by ptxas.
 *
 * What goes in and comes out lies in temporary files, so that neither side waits for the other;
 * they are gone at the end. */
#include "tools/tilec_ptxas.h"

#include "base/file.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = 1000 };

/* Runs a program, its input from one file (NULL: ours), all it prints into another; *failed: it
 * says that it could not. False when there is no such program. */
static bool run(char *const *argv, FILE *in, FILE *out, bool *failed) {
    extern char **environ;
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;
    if (posix_spawn_file_actions_init(&actions)) return false;
    bool ok = (!in || !posix_spawn_file_actions_adddup2(&actions, fileno(in), STDIN_FILENO)) &&
              !posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO) &&
              !posix_spawn_file_actions_adddup2(&actions, fileno(out), STDERR_FILENO) &&
              !posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (!ok || waitpid(pid, &status, 0) < 0) return false;
    rewind(out);
    *failed = !WIFEXITED(status) || WEXITSTATUS(status);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 127; /* 127: it was not there after all */
}

/* "ptxas 13.0" of "…, release 13.0, V13.0.88" */
static void read_version(FILE *text, char version[32]) {
    char line[LINE];
    while (fgets(line, sizeof line, text)) {
        const char *at = strstr(line, "release ");
        if (!at) continue;
        at += strlen("release ");
        snprintf(version, 32, "ptxas %.*s", (int)strcspn(at, ",\n"), at);
    }
}

/* What the assembler says of each kernel; what it warns of goes to `warnings`, if not NULL. */
static void read_kernels(FILE *text, tile_assembled *kernels, int n, FILE *warnings) {
    char line[LINE], kernel[LINE] = "";
    tile_assembled now = {0};
    while (fgets(line, sizeof line, text)) {
        const char *used = strstr(line, "Used ");
        if (warnings && (strstr(line, "error") || strstr(line, "arning") || strstr(line, "(C7")))
            fputs(line, warnings);
        sscanf(line, " ptxas info : Compiling entry function '%999[^']'", kernel);
        sscanf(line, " %d bytes stack frame, %d bytes spill stores, %d bytes spill loads",
               &now.stack_bytes, &now.spilled_bytes, &now.read_back_bytes);
        if (!used || sscanf(used, "Used %d registers", &now.registers) != 1) continue;
        for (int i = 0; i < n; i++) {
            if (strcmp(kernels[i].entry, kernel)) continue;
            now.entry = kernels[i].entry;
            now.found = 1;
            kernels[i] = now;
        }
    }
}

/* The GPU that the PTX is for: the word behind `.target`. */
static bool find_target(const char *ptx, char *arch, size_t size) {
    const char *at = strstr(ptx, "\n.target ");
    if (!at) return false;
    at += strlen("\n.target ");
    snprintf(arch, size, "-arch=%.*s", (int)strcspn(at, ", \n"), at);
    return true;
}

bool ptxas_numbers(const char *ptx, size_t len, tile_assembled *kernels, int n, char version[32],
                   FILE *warnings) {
    char arch[40], name[] = "ptxas", about_it[] = "--version", verbose[] = "-v", to[] = "-o";
    char nowhere[] = "/dev/null", standard_input[] = "-";
    char *ask[] = {name, about_it, NULL};
    char *assemble[] = {name, verbose, arch, to, nowhere, standard_input, NULL};
    FILE *in = tmpfile(), *about = tmpfile(), *report = tmpfile();
    bool failed; /* what it prints says why */
    bool ran = in && about && report && find_target(ptx, arch, sizeof arch) &&
               fwrite(ptx, 1, len, in) == len && !fflush(in) && !fseek(in, 0, SEEK_SET) &&
               run(ask, in, about, &failed) && run(assemble, in, report, &failed);
    version[0] = '\0';
    if (ran) {
        read_version(about, version);
        read_kernels(report, kernels, n, warnings);
    }
    if (in) fclose(in);
    if (about) fclose(about);
    if (report) fclose(report);
    return ran;
}

static void fill_in(void *user, const char *ptx, size_t len, tile_assembled *kernels, int n,
                    char version[32]) {
    (void)user;
    ptxas_numbers(ptx, len, kernels, n, version, NULL);
}

const tile_assembler *ptxas_assembler(void) {
    static const tile_assembler assembler = {fill_in, NULL};
    return &assembler;
}

/* The name behind `.entry ` at *at, malloc'ed, and *at behind it; NULL: there is none. */
static char *next_entry(const char **at) {
    const char *entry = strstr(*at, ".entry ");
    if (!entry) return NULL;
    entry += strlen(".entry ");
    size_t n = strcspn(entry, "( \t\n");
    *at = entry + n;
    return strndup(entry, n);
}

void ptxas_report(const char *ptx, size_t len, FILE *out) {
    enum { MOST = 256 };
    tile_assembled kernel[MOST] = {0};
    char *name[MOST], version[32];
    const char *at = ptx;
    int n = 0;
    while (n < MOST && (name[n] = next_entry(&at))) kernel[n].entry = name[n], n++;
    if (ptxas_numbers(ptx, len, kernel, n, version, out)) {
        fprintf(out, "%s\n", version);
        for (int i = 0; i < n; i++)
            if (kernel[i].found)
                fprintf(out,
                        "ptxas %s: %d registers, %d bytes of stack, %d bytes spilled, %d read "
                        "back\n",
                        kernel[i].entry, kernel[i].registers, kernel[i].stack_bytes,
                        kernel[i].spilled_bytes, kernel[i].read_back_bytes);
    }
    for (int i = 0; i < n; i++) free(name[i]);
}

/* ---- machine code ---- */

enum { CUBIN_LIMIT_MB = 256 };

/* Runs ptxas, what it says into `report`: the one in PATH, else the toolkit's. */
static bool run_ptxas(char *const *argv, FILE *report, bool *failed) {
    const char *home = getenv("CUDA_HOME");
    char path[4096];
    char *own[8] = {path};
    if (run(argv, NULL, report, failed)) return true;
    if (!home || !*home) return false;
    for (int i = 1; i < 8 && (own[i] = argv[i]); i++) {
    }
    snprintf(path, sizeof path, "%s/bin/ptxas", home);
    return run(own, NULL, report, failed);
}

/* The first line of what ptxas said that is not empty. */
static void first_line(FILE *report, PtxasError *error) {
    char line[LINE];
    while (fgets(line, sizeof line, report)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (!*line) continue;
        snprintf(error->text, sizeof error->text, "ptxas: %.900s", line);
        return;
    }
    snprintf(error->text, sizeof error->text,
             "ptxas made nothing of the PTX, and does not say why");
}

typedef struct Temporary { /* a file that ptxas finds by its name */
    char path[4096];
    FILE *file; /* NULL: there is none */
} Temporary;

static const char *temporary_folder(void) {
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

static bool open_temporary(Temporary *t) {
    int n = snprintf(t->path, sizeof t->path, "%s/tilec-XXXXXX", temporary_folder());
    if (n >= (int)sizeof t->path) {
        errno = ENAMETOOLONG;
        return false;
    }
    int fd = mkstemp(t->path);
    if (fd < 0) return false;
    t->file = fdopen(fd, "w+");
    if (t->file) return true;
    close(fd);
    unlink(t->path);
    return false;
}

static void close_temporary(Temporary *t) {
    if (!t->file) return;
    fclose(t->file);
    unlink(t->path);
}

static void no_file(PtxasError *error, const char *why) {
    error->io = true;
    snprintf(error->text, sizeof error->text,
             "cannot keep temporary files in '%.400s': %s; TMPDIR=FOLDER names another folder",
             temporary_folder(), why);
}

/* ptxas says of a full disk whatever follows from half a file. */
static bool is_full(const char *path) {
    struct statvfs s;
    return !statvfs(path, &s) && s.f_bavail == 0;
}

static char *assemble(const char *ptx, Temporary *in, Temporary *out, FILE *report, size_t *size,
                      PtxasError *error) {
    char arch[40] = "", name[] = "ptxas", to[] = "-o", *code = NULL;
    char *argv[] = {name, arch, to, out->path, in->path, NULL};
    bool failed = true;
    FileError failure;
    find_target(ptx, arch, sizeof arch);
    if (!run_ptxas(argv, report, &failed))
        snprintf(error->text, sizeof error->text,
                 "a cubin is made by ptxas, of NVIDIA's CUDA toolkit, and it is neither in PATH "
                 "nor in $CUDA_HOME/bin; --emit=ptx needs none");
    else if (failed && is_full(out->path))
        no_file(error, strerror(ENOSPC));
    else if (failed)
        first_line(report, error);
    else if (!file_read(out->path, (size_t)CUBIN_LIMIT_MB << 20, &code, size, &failure)) {
        error->io = true;
        snprintf(error->text, sizeof error->text, "%.500s", failure.text);
    } else if (*size == 0) {
        free(code);
        code = NULL;
        first_line(report, error);
    }
    return code;
}

char *ptxas_assemble(const char *ptx, size_t len, size_t *size, PtxasError *error) {
    Temporary in = {.file = NULL}, out = {.file = NULL}, report = {.file = NULL};
    char *code = NULL;
    *error = (PtxasError){.io = false};
    if (!open_temporary(&in) || !open_temporary(&out) || !open_temporary(&report) ||
        fwrite(ptx, 1, len, in.file) != len || fflush(in.file))
        no_file(error, strerror(errno));
    else
        code = assemble(ptx, &in, &out, report.file, size, error);
    close_temporary(&in);
    close_temporary(&out);
    close_temporary(&report);
    return code;
}
