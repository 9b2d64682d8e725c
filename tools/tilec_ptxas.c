/* tilec_ptxas.c: PTX -> machine code, or registers, stack and spills of each kernel, by ptxas.
 *
 * What goes in and comes out lies in files without a name, so that neither side waits for the other
 * and nothing is left behind. */
#include "tools/tilec_ptxas.h"

#include "base/file.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = 1000 };

/* Runs a program, its input from one file, all it prints into another. False when there is none. */
static bool run(char *const *argv, FILE *in, FILE *out) {
    extern char **environ;
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;
    if (posix_spawn_file_actions_init(&actions)) return false;
    bool ok = !posix_spawn_file_actions_adddup2(&actions, fileno(in), STDIN_FILENO) &&
              !posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO) &&
              !posix_spawn_file_actions_adddup2(&actions, fileno(out), STDERR_FILENO) &&
              !posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (!ok || waitpid(pid, &status, 0) < 0) return false;
    rewind(out);
    return !WIFEXITED(status) || WEXITSTATUS(status) != 127; /* 127: it was not there after all */
}

/* "13.0" of "…, release 13.0, V13.0.88" */
static void print_version(FILE *text, FILE *out) {
    char line[LINE];
    while (fgets(line, sizeof line, text)) {
        const char *at = strstr(line, "release ");
        if (!at) continue;
        at += strlen("release ");
        fprintf(out, "ptxas %.*s\n", (int)strcspn(at, ",\n"), at);
    }
}

static void print_kernels(FILE *text, FILE *out) {
    char line[LINE], kernel[LINE] = "";
    int stack = 0, stores = 0, loads = 0, registers;
    while (fgets(line, sizeof line, text)) {
        const char *used = strstr(line, "Used ");
        if (strstr(line, "error") || strstr(line, "arning") || strstr(line, "(C7"))
            fputs(line, out);
        sscanf(line, " ptxas info : Compiling entry function '%999[^']'", kernel);
        sscanf(line, " %d bytes stack frame, %d bytes spill stores, %d bytes spill loads", &stack,
               &stores, &loads);
        if (used && sscanf(used, "Used %d registers", &registers) == 1)
            fprintf(out,
                    "ptxas %s: %d registers, %d bytes of stack, %d bytes spilled, %d read back\n",
                    kernel, registers, stack, stores, loads);
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

void ptxas_report(const char *ptx, size_t len, FILE *out) {
    char arch[40], name[] = "ptxas", version[] = "--version", verbose[] = "-v", to[] = "-o";
    char nowhere[] = "/dev/null", standard_input[] = "-";
    char *ask[] = {name, version, NULL};
    char *assemble[] = {name, verbose, arch, to, nowhere, standard_input, NULL};
    FILE *in = tmpfile(), *about = tmpfile(), *report = tmpfile();
    if (in && about && report && find_target(ptx, arch, sizeof arch) &&
        fwrite(ptx, 1, len, in) == len && !fflush(in) && !fseek(in, 0, SEEK_SET) &&
        run(ask, in, about) && run(assemble, in, report)) {
        print_version(about, out);
        print_kernels(report, out);
    }
    if (in) fclose(in);
    if (about) fclose(about);
    if (report) fclose(report);
}

/* ---- machine code ---- */

enum { CUBIN_LIMIT_MB = 256 };

/* Runs ptxas on `in`, what it says into `report`: the one in PATH, else the toolkit's. */
static bool run_ptxas(char *const *argv, FILE *in, FILE *report) {
    const char *home = getenv("CUDA_HOME");
    char path[4096];
    char *own[8] = {path};
    if (run(argv, in, report)) return true;
    if (!home || !*home) return false;
    for (int i = 1; i < 8 && (own[i] = argv[i]); i++) {
    }
    snprintf(path, sizeof path, "%s/bin/ptxas", home);
    return !fseek(in, 0, SEEK_SET) && run(own, in, report);
}

/* The first line of what ptxas said that is not empty. */
static void first_line(FILE *report, char *error, size_t size) {
    char line[LINE];
    while (fgets(line, sizeof line, report)) {
        line[strcspn(line, "\r\n")] = '\0';
        if (!*line) continue;
        snprintf(error, size, "ptxas: %s", line);
        return;
    }
    snprintf(error, size, "ptxas made nothing of the PTX, and does not say why");
}

char *ptxas_assemble(const char *ptx, size_t len, size_t *size, char *error, size_t error_size) {
    const char *folder = getenv("TMPDIR");
    char arch[40], name[] = "ptxas", to[] = "-o", standard_input[] = "-", path[4096];
    snprintf(path, sizeof path, "%s/tilec-XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = mkstemp(path);
    FILE *in = tmpfile(), *report = tmpfile();
    char *assemble[] = {name, arch, to, path, standard_input, NULL}, *code = NULL;
    FileError failure;
    if (fd < 0 || !in || !report || !find_target(ptx, arch, sizeof arch) ||
        fwrite(ptx, 1, len, in) != len || fflush(in) || fseek(in, 0, SEEK_SET))
        snprintf(error, error_size, "cannot hand the PTX to ptxas: %s", strerror(errno));
    else if (!run_ptxas(assemble, in, report))
        snprintf(error, error_size,
                 "a cubin is made by ptxas, of NVIDIA's CUDA toolkit, and it is neither in PATH "
                 "nor in $CUDA_HOME/bin; --emit=ptx needs none");
    else if (!file_read(path, (size_t)CUBIN_LIMIT_MB << 20, &code, size, &failure))
        snprintf(error, error_size, "%.500s", failure.text);
    else if (*size == 0) {
        free(code);
        code = NULL;
        first_line(report, error, error_size);
    }
    if (in) fclose(in);
    if (report) fclose(report);
    if (fd >= 0) {
        close(fd);
        unlink(path);
    }
    return code;
}
