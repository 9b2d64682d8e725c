/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_shared.c: memory that processes share, on the CPU device: a second process opens it, both
 * run kernels on it, and handles of every wrong sort are refused. The second process is a child
 * that makes a context of its own; the two talk by a pair of sockets. */
#include "tests/check/peer_fixture.h"
#include "tests/run_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static Peer a;

static void open_one(void) {
    peer_open(&a, "cpu", NULL);
}

static void close_one(void) {
    peer_close(&a);
}

#define fails(call, status, words)                                                                 \
    do {                                                                                           \
        ck_assert_int_eq((call), (status));                                                        \
        ck_assert_msg(strstr(tile_error(a.ctx), (words)), "%s", tile_error(a.ctx));                \
    } while (0)

/* ---- another process ---- */

typedef struct Other {
    pid_t pid;
    int socket;
} Other;

/* What it does with its end; it exits with 0 when all of it holds. */
typedef void Life(int socket);

static Other start(Life *life) {
    int end[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, end), 0);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        close(end[0]);
        life(end[1]);
        _exit(0);
    }
    close(end[1]);
    return (Other){pid, end[0]};
}

static void finish(const Other *o) {
    int how;
    ck_assert_int_eq(waitpid(o->pid, &how, 0), o->pid);
    ck_assert_msg(WIFEXITED(how) && WEXITSTATUS(how) == 0, "the other process ended with %d", how);
    close(o->socket);
}

static void tell(int socket, const void *p, size_t n) {
    ck_assert_int_eq(write(socket, p, n), (int)n);
}

static void hear(int socket, void *p, size_t n) {
    for (size_t got = 0; got < n;) {
        ssize_t k = read(socket, (char *)p + got, n - got);
        ck_assert_int_gt(k, 0);
        got += (size_t)k;
    }
}

static void tell_handle(int socket, tile_ptr at) {
    tile_shared_handle h;
    ck_assert_int_eq(tile_shared_export(a.ctx, at, &h), TILE_OK);
    tell(socket, &h, sizeof h);
}

/* A check that ends the child, not the suite. */
#define must(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, tile_error(p.ctx));         \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static tile_ptr hear_handle(const Peer *peer, int socket, size_t bytes) {
    tile_shared_handle h;
    tile_ptr at = 0;
    size_t got = 0;
    hear(socket, &h, sizeof h);
    Peer p = *peer;
    must(tile_shared_open(p.ctx, &h, sizeof h, &at, &got) == TILE_OK);
    must(got == bytes);
    return at;
}

/* ---- both use it ---- */

static void writes_half(int socket) {
    Peer p;
    char word = 0;
    peer_open(&p, "cpu", NULL);
    tile_ptr at = hear_handle(&p, socket, 4 * PEER_N), own = peer_numbers(&p, 500, 0);
    must(peer_number(&p, at, 0) == 7);                        /* what the first process wrote */
    must(peer_copy(&p, own, at + 4, 1) == TILE_CHECK_FAILED); /* which it did not */
    must(strstr(tile_error(p.ctx), "nobody wrote"));
    must(peer_copy(&p, at, own, PEER_N / 2) == TILE_OK);
    must(peer_copy(&p, own, at + 4, PEER_N) == TILE_CHECK_FAILED);
    must(strstr(tile_error(p.ctx), "out of bounds"));
    tile_shared_handle h;
    must(tile_shared_export(p.ctx, at, &h) == TILE_INVALID);
    must(strstr(tile_error(p.ctx), "pass on the handle"));
    tell(socket, &word, 1);
    hear(socket, &word, 1); /* the first has freed it, and this one still has it */
    must(peer_number(&p, at, 1) == 501);
    must(tile_free(p.ctx, at) == TILE_OK);
    must(tile_free(p.ctx, at) == TILE_INVALID);
    must(strstr(tile_error(p.ctx), "freed already"));
    peer_close(&p);
}

START_TEST(two_processes) {
    Other o = start(writes_half);
    tile_ptr at, own = peer_numbers(&a, 0, 0);
    int seven = 7;
    char word;
    ck_assert_int_eq(tile_alloc_shared(a.ctx, 4 * PEER_N, &at), TILE_OK);
    ck_assert_int_eq(tile_copy_to_device(a.ctx, at, &seven, sizeof seven), TILE_OK);
    fails(peer_copy(&a, own, at, 2), TILE_CHECK_FAILED, "nobody wrote");
    tell_handle(o.socket, at);
    hear(o.socket, &word, 1);
    ck_assert_int_eq(peer_copy(&a, own, at, PEER_N / 2), TILE_OK);
    ck_assert_int_eq(peer_number(&a, own, 31), 531);
    fails(peer_copy(&a, own, at, PEER_N), TILE_CHECK_FAILED, "nobody wrote"); /* the other half */
    fails(peer_copy(&a, own, at + 4, PEER_N), TILE_CHECK_FAILED, "out of bounds");
    ck_assert_int_eq(tile_free(a.ctx, at), TILE_OK);
    tell(o.socket, &word, 1);
    finish(&o);
}
END_TEST

enum { ROUNDS = 40, EXCHANGED = 4 * PEER_N };

/* The kernels of both processes wait for each other in the memory of both. */
static void run_exchange(const Peer *p, tile_ptr mine, tile_ptr theirs, tile_ptr sent,
                         tile_ptr got) {
    tile_ptr out = peer_numbers(p, 0, 0);
    tile_arg args[] = {tile_pointer(mine), tile_pointer(theirs), tile_pointer(sent),
                       tile_pointer(got),  tile_pointer(out),    tile_i32(ROUNDS)};
    tile_status st = peer_run(p, "exchange", args, 6);
    ck_assert_msg(st == TILE_OK, "%s", tile_error(p->ctx));
    ck_assert_int_eq(peer_number(p, out, 9), ROUNDS * 100 + 9);
    ck_assert_int_eq(tile_free(p->ctx, out), TILE_OK);
}

static void exchanges(int socket) {
    Peer p;
    peer_open(&p, "cpu", NULL);
    tile_ptr flags = hear_handle(&p, socket, 4 * PEER_N);
    tile_ptr first = hear_handle(&p, socket, 2 * EXCHANGED);
    tile_ptr second = hear_handle(&p, socket, 2 * EXCHANGED);
    run_exchange(&p, flags + 64, flags, second, first);
    peer_close(&p);
}

START_TEST(kernels_of_two_processes) {
    Other o = start(exchanges);
    tile_ptr flags = peer_numbers(&a, 0, 1), first, second;
    ck_assert_int_eq(tile_fill(a.ctx, flags, 0, 4 * PEER_N), TILE_OK);
    ck_assert_int_eq(tile_alloc_shared(a.ctx, 2 * EXCHANGED, &first), TILE_OK);
    ck_assert_int_eq(tile_alloc_shared(a.ctx, 2 * EXCHANGED, &second), TILE_OK);
    tell_handle(o.socket, flags);
    tell_handle(o.socket, first);
    tell_handle(o.socket, second);
    run_exchange(&a, flags, flags + 64, first, second);
    finish(&o);
}
END_TEST

/* ---- handles ---- */

static void opens_none(int socket) {
    Peer p;
    tile_shared_handle h;
    tile_ptr at = 1;
    size_t bytes = 1;
    char word = 0;
    peer_open(&p, "cpu", NULL);
    hear(socket, &h, sizeof h);
    for (size_t size = 0; size < 2 * sizeof h; size++)
        if (size != sizeof h) must(tile_shared_open(p.ctx, &h, size, &at, &bytes) == TILE_INVALID);
    must(strstr(tile_error(p.ctx), "a handle has 128 bytes, and this has 255"));
    must(at == 0 && bytes == 0);
    must(tile_shared_open(p.ctx, NULL, sizeof h, &at, NULL) == TILE_INVALID);
    must(tile_shared_open(p.ctx, &h, sizeof h, NULL, NULL) == TILE_INVALID);
    /* Any bit that is not as it was. */
    for (size_t i = 0; i < sizeof h; i++)
        for (int bit = 0; bit < 8; bit++) {
            tile_shared_handle wrong = h;
            wrong.bytes[i] ^= (unsigned char)(1 << bit);
            tile_status st = tile_shared_open(p.ctx, &wrong, sizeof wrong, &at, &bytes);
            must(st == TILE_INVALID || st == TILE_NOT_FOUND);
            must(at == 0 && *tile_error(p.ctx));
        }
    static const tile_shared_handle zero;
    must(tile_shared_open(p.ctx, &zero, sizeof zero, &at, NULL) == TILE_INVALID);
    must(tile_shared_open(p.ctx, &h, sizeof h, &at, NULL) == TILE_OK);
    must(tile_free(p.ctx, at) == TILE_OK);
    must(tile_shared_open(p.ctx, &h, sizeof h, &at, NULL) == TILE_OK); /* once more */
    tell(socket, &word, 1);
    hear(socket, &word, 1); /* it is freed now */
    must(tile_shared_open(p.ctx, &h, sizeof h, &at, NULL) == TILE_NOT_FOUND);
    must(strstr(tile_error(p.ctx), "has no such memory"));
    peer_close(&p);
}

START_TEST(hostile_handles) {
    Other o = start(opens_none);
    tile_ptr at = peer_numbers(&a, 0, 1);
    char word;
    tell_handle(o.socket, at);
    hear(o.socket, &word, 1);
    ck_assert_int_eq(tile_free(a.ctx, at), TILE_OK);
    at = peer_numbers(&a, 0, 1); /* the next one has the same number of a file */
    tell(o.socket, &word, 1);
    finish(&o);
}
END_TEST

START_TEST(misuse) {
    tile_shared_handle h;
    tile_ptr plain = peer_numbers(&a, 0, 0), shared = peer_numbers(&a, 0, 1), empty, at;
    fails(tile_shared_export(a.ctx, plain, &h), TILE_INVALID, "not of tile_alloc_shared");
    fails(tile_shared_export(a.ctx, shared + 4, &h), TILE_INVALID, "not the start of a buffer");
    fails(tile_shared_export(a.ctx, 0, &h), TILE_INVALID, "not the start of a buffer");
    fails(tile_shared_export(a.ctx, shared, NULL), TILE_INVALID, "NULL");
    fails(tile_alloc_shared(a.ctx, 4, NULL), TILE_INVALID, "NULL");
    ck_assert_int_eq(tile_shared_export(a.ctx, shared, &h), TILE_OK);
    fails(tile_shared_open(a.ctx, &h, sizeof h, &at, NULL), TILE_INVALID, "this process's own");
    static const size_t too_much[] = {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 8, (size_t)1 << 46};
    for (size_t i = 0; i < sizeof too_much / sizeof *too_much; i++)
        fails(tile_alloc_shared(a.ctx, too_much[i], &at), TILE_NO_MEMORY, "no memory for a shared");
    ck_assert_int_eq(tile_alloc_shared(a.ctx, 0, &empty), TILE_OK);
    ck_assert_int_eq(tile_shared_export(a.ctx, empty, &h), TILE_OK);
    ck_assert_int_eq(tile_free(a.ctx, shared), TILE_OK);
    fails(tile_free(a.ctx, shared), TILE_INVALID, "freed already");
    fails(tile_shared_export(a.ctx, shared, &h), TILE_INVALID, "not the start of a buffer");
}
END_TEST

int main(void) {
    Suite *s = suite_create("shared");
    TCase *t = tcase_create("shared");
    tcase_add_checked_fixture(t, open_one, close_one);
    tcase_add_test(t, two_processes);
    tcase_add_test(t, kernels_of_two_processes);
    tcase_add_test(t, hostile_handles);
    tcase_add_test(t, misuse);
    return run_suite(s, t);
}
