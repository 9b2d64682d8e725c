/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* test_peers.c: several contexts of one process on the CPU device: who may use whose memory, copies
 * between them, kernels that wait for each other's, and every misuse. */
#include "runtime/runtime.h"
#include "tests/check/peer_fixture.h"
#include "tests/run_suite.h"

#include <pthread.h>
#include <stdio.h>

static Peer a, b;

static void open_both(void) {
    peer_open(&a, "cpu", NULL);
    peer_open(&b, "cpu", NULL);
}

static void close_both(void) {
    peer_close(&a);
    peer_close(&b);
}

#define fails(call, status, words)                                                                 \
    do {                                                                                           \
        ck_assert_int_eq((call), (status));                                                        \
        ck_assert_msg(strstr(tile_error(a.ctx), (words)), "%s", tile_error(a.ctx));                \
    } while (0)

/* ---- who may use what ---- */

START_TEST(access_is_asked_for) {
    tile_ptr mine = peer_numbers(&a, 0, 0), theirs = peer_numbers(&b, 1000, 0);
    fails(peer_copy(&a, mine, theirs, PEER_N), TILE_CHECK_FAILED, "out of bounds");
    fails(tile_copy_on_device(a.ctx, mine, theirs, 4, NULL), TILE_INVALID, "do not lie");
    ck_assert_int_eq(tile_context_enable_peer(a.ctx, b.ctx), TILE_OK);
    ck_assert_int_eq(tile_context_enable_peer(a.ctx, b.ctx), TILE_OK); /* already */
    ck_assert_int_eq(tile_context_enable_peer(a.ctx, a.ctx), TILE_OK); /* always */
    ck_assert_int_eq(peer_copy(&a, mine, theirs, PEER_N), TILE_OK);
    ck_assert_int_eq(peer_number(&a, mine, 63), 1063);
    /* Later memory, too, and to write as well as to read; by copies, too. */
    tile_ptr later = peer_numbers(&b, 5, 0);
    ck_assert_int_eq(peer_copy(&a, later, mine, 10), TILE_OK);
    ck_assert_int_eq(peer_number(&b, later, 9), 1009);
    ck_assert_int_eq(peer_number(&b, later, 10), 15);
    ck_assert_int_eq(tile_copy_on_device(a.ctx, mine, later + 80, 4, NULL), TILE_OK);
    ck_assert_int_eq(peer_number(&a, mine, 0), 25);
    ck_assert_int_eq(peer_number(&a, later, 20), 25); /* from a's side */
    /* Not the other way round. */
    ck_assert_int_eq(peer_copy(&b, theirs, mine, 1), TILE_CHECK_FAILED);
    /* A stray index is found as in memory of one's own. */
    fails(peer_copy(&a, mine, later + 4, PEER_N), TILE_CHECK_FAILED, "out of bounds");
    ck_assert_int_eq(tile_free(b.ctx, later), TILE_OK);
    fails(peer_copy(&a, mine, later, 1), TILE_CHECK_FAILED, "out of bounds");
}
END_TEST

START_TEST(a_peer_goes_first) {
    Peer c;
    peer_open(&c, "cpu", NULL);
    tile_ptr mine = peer_numbers(&a, 0, 0), theirs = peer_numbers(&c, 7, 0);
    ck_assert_int_eq(tile_context_enable_peer(a.ctx, c.ctx), TILE_OK);
    ck_assert_int_eq(tile_context_enable_peer(c.ctx, a.ctx), TILE_OK);
    ck_assert_int_eq(peer_copy(&a, mine, theirs, 4), TILE_OK);
    peer_close(&c);
    fails(peer_copy(&a, mine, theirs, 4), TILE_CHECK_FAILED, "out of bounds");
    fails(tile_copy_on_device(a.ctx, mine, theirs, 4, NULL), TILE_INVALID, "do not lie");
    ck_assert_int_eq(peer_copy(&a, mine, mine, 4), TILE_OK);
}
END_TEST

/* The same memory in both is one buffer of the launch. */
START_TEST(memory_of_both) {
    static int x[PEER_N];
    tile_ptr in_a, in_b;
    ck_assert_int_eq(tile_wrap(a.ctx, x, sizeof x, &in_a), TILE_OK);
    ck_assert_int_eq(tile_wrap(b.ctx, x, sizeof x, &in_b), TILE_OK);
    ck_assert_int_eq(tile_context_enable_peer(a.ctx, b.ctx), TILE_OK);
    ck_assert_int_eq(peer_copy(&a, in_a, peer_numbers(&b, 3, 0), PEER_N), TILE_OK);
    ck_assert_int_eq(x[63], 66);
}
END_TEST

START_TEST(misuse) {
    tile_context *none, *many[TILE_MAX_PEERS + 1];
    fails(tile_context_enable_peer(a.ctx, NULL), TILE_INVALID, "NULL");
    ck_assert_int_eq(tile_context_enable_peer(NULL, a.ctx), TILE_INVALID);
    ck_assert_int_eq(tile_context_create("nothing", &none), TILE_INVALID);
    fails(tile_context_enable_peer(a.ctx, none), TILE_INVALID, "could not be opened");
    fails(tile_copy_peer(a.ctx, 16, none, 16, 4, NULL), TILE_INVALID, "could not be opened");
    tile_context_destroy(none);
    tile_ptr p = peer_numbers(&a, 0, 0), q = peer_numbers(&b, 0, 0);
    fails(tile_copy_peer(a.ctx, p, b.ctx, 0, 4, NULL), TILE_INVALID, "NULL");
    fails(tile_copy_peer(a.ctx, p, b.ctx, q + 1, 4 * PEER_N, NULL), TILE_INVALID, "of the source");
    fails(tile_copy_peer(a.ctx, p + 1, b.ctx, q, 4 * PEER_N, NULL), TILE_INVALID,
          "do not lie in one buffer");
    fails(tile_copy_peer(a.ctx, p, b.ctx, p, 4, NULL), TILE_INVALID, "of the source");
    ck_assert_int_eq(tile_copy_peer(a.ctx, p, b.ctx, 0, 0, NULL), TILE_OK);
    fails(tile_stream_create(a.ctx, NULL), TILE_INVALID, "NULL");
    void *stream = &none;
    ck_assert_int_eq(tile_stream_create(a.ctx, &stream), TILE_OK);
    ck_assert_ptr_null(stream);
    ck_assert_int_eq(tile_stream_destroy(a.ctx, stream), TILE_OK);
    for (int i = 0; i <= TILE_MAX_PEERS; i++) {
        ck_assert_int_eq(tile_context_create("cpu", &many[i]), TILE_OK);
        if (i < TILE_MAX_PEERS) ck_assert_int_eq(tile_context_enable_peer(a.ctx, many[i]), TILE_OK);
    }
    fails(tile_context_enable_peer(a.ctx, many[TILE_MAX_PEERS]), TILE_INVALID, "64 peers");
    ck_assert_int_eq(tile_context_enable_peer(a.ctx, many[0]), TILE_OK); /* it has that one */
    for (int i = 0; i <= TILE_MAX_PEERS; i++) tile_context_destroy(many[i]);
}
END_TEST

/* Bytes that nobody wrote stay so on their way from one context to another. */
START_TEST(copies) {
    tile_ptr p = peer_numbers(&a, 0, 0), q = peer_numbers(&b, 10, 0), fresh;
    ck_assert_int_eq(tile_copy_peer(a.ctx, p, b.ctx, q, 4 * PEER_N, NULL), TILE_OK);
    ck_assert_int_eq(peer_number(&a, p, 1), 11);
    ck_assert_int_eq(tile_alloc(b.ctx, 4 * PEER_N, &fresh), TILE_OK);
    ck_assert_int_eq(tile_copy_peer(a.ctx, p, b.ctx, fresh, 4, NULL), TILE_OK);
    fails(peer_copy(&a, p + 8, p, 1), TILE_CHECK_FAILED, "nobody wrote");
    ck_assert_int_eq(peer_copy(&a, p + 8, p + 4, 1), TILE_OK);
}
END_TEST

/* The PTX machine has the same memory. */
START_TEST(a_table_of_addresses) {
    static const char *const devices[] = {"cpu", "ptx:sm_80", "ptx:sm_90a"};
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        Peer p;
        peer_open(&p, devices[d], NULL);
        int64_t row[2] = {(int64_t)peer_numbers(&a, 100, 0), (int64_t)peer_numbers(&b, 200, 0)};
        tile_ptr table, out;
        ck_assert_int_eq(tile_alloc(p.ctx, sizeof row, &table), TILE_OK);
        ck_assert_int_eq(tile_copy_to_device(p.ctx, table, row, sizeof row), TILE_OK);
        ck_assert_int_eq(tile_alloc(p.ctx, 2 * 4 * PEER_N, &out), TILE_OK);
        tile_arg args[] = {tile_pointer(table), tile_pointer(out), tile_i32(2)};
        ck_assert_int_eq(tile_context_enable_peer(p.ctx, a.ctx), TILE_OK);
        ck_assert_int_eq(peer_run(&p, "gather", args, 3), TILE_CHECK_FAILED); /* b's is not */
        ck_assert_int_eq(tile_context_enable_peer(p.ctx, b.ctx), TILE_OK);
        tile_status st = peer_run(&p, "gather", args, 3);
        ck_assert_msg(st == TILE_OK, "%s: %s", devices[d], tile_error(p.ctx));
        ck_assert_int_eq(peer_number(&p, out, 5), 105);
        ck_assert_int_eq(peer_number(&p, out, PEER_N + 63), 263);
        peer_close(&p);
    }
}
END_TEST

/* ---- launches of several threads ---- */

typedef struct Side {
    Peer *p;
    tile_arg args[6];
    const char *kernel;
    int nargs;
    tile_status st;
    char text[400];
} Side;

static void *launch(void *arg) {
    Side *s = arg;
    s->st = peer_run(s->p, s->kernel, s->args, s->nargs);
    snprintf(s->text, sizeof s->text, "%s", tile_error(s->p->ctx));
    return NULL;
}

static void launch_both(Side *s) {
    pthread_t other;
    ck_assert_int_eq(pthread_create(&other, NULL, launch, &s[1]), 0);
    launch(&s[0]);
    pthread_join(other, NULL);
    for (int i = 0; i < 2; i++) ck_assert_msg(s[i].st == TILE_OK, "%d: %s", i, s[i].text);
}

static void be_peers(void) {
    ck_assert_int_eq(tile_context_enable_peer(a.ctx, b.ctx), TILE_OK);
    ck_assert_int_eq(tile_context_enable_peer(b.ctx, a.ctx), TILE_OK);
}

START_TEST(no_count_is_lost) {
    tile_ptr at = peer_numbers(&b, 0, 0);
    Side s[2] = {{.p = &a}, {.p = &b}};
    be_peers();
    for (int i = 0; i < 2; i++) {
        s[i].kernel = "count";
        s[i].args[0] = tile_pointer(at);
        s[i].nargs = 1;
    }
    launch_both(s);
    ck_assert_int_eq(peer_number(&b, at, 0), 2 * 32 * 64);
}
END_TEST

/* Each says how far it is, waits until the other has come as far, and reads what it wrote. */
static void exchange(int rounds) {
    Side s[2] = {{.p = &a}, {.p = &b}};
    tile_ptr flag[2], sent[2], out[2];
    be_peers();
    for (int i = 0; i < 2; i++) {
        flag[i] = peer_numbers(s[i].p, 0, 0);
        ck_assert_int_eq(tile_alloc(s[i].p->ctx, 2 * 4 * PEER_N, &sent[i]), TILE_OK);
        out[i] = peer_numbers(s[i].p, 0, 0);
    }
    for (int i = 0; i < 2; i++) {
        tile_arg args[] = {tile_pointer(flag[i]), tile_pointer(flag[1 - i]),
                           tile_pointer(sent[i]), tile_pointer(sent[1 - i]),
                           tile_pointer(out[i]),  tile_i32(rounds)};
        s[i].kernel = "exchange";
        memcpy(s[i].args, args, sizeof args);
        s[i].nargs = 6;
    }
    launch_both(s);
    for (int i = 0; i < 2; i++) ck_assert_int_eq(peer_number(s[i].p, out[i], 3), rounds * 100 + 3);
}

START_TEST(waiting_for_each_other) {
    exchange(50);
}
END_TEST

START_TEST(waiting_by_volatile_loads) {
    close_both();
    peer_open(&a, "cpu", "VOLATILE=True");
    peer_open(&b, "cpu", "VOLATILE=True");
    exchange(50);
}
END_TEST

static void *wait_for_5(void *arg) {
    Side *s = arg;
    s->st = tile_stream_wait_value(s->p->ctx, NULL, s->args[0].value.p, 5);
    return NULL;
}

/* What comes behind a number that is waited for sees what was there before it. */
START_TEST(waiting_for_a_number) {
    be_peers();
    tile_ptr at = peer_numbers(&a, 0, 0);
    Side s = {.p = &a, .args = {tile_pointer(at)}};
    pthread_t other;
    ck_assert_int_eq(pthread_create(&other, NULL, wait_for_5, &s), 0);
    ck_assert_int_eq(tile_stream_write_value(b.ctx, NULL, at, 4), TILE_OK);
    ck_assert_int_eq(tile_stream_write_value(b.ctx, NULL, at + 4, 77), TILE_OK);
    ck_assert_int_eq(tile_stream_write_value(b.ctx, NULL, at, 6), TILE_OK);
    pthread_join(other, NULL);
    ck_assert_int_eq(s.st, TILE_OK);
    ck_assert_int_eq(peer_number(&a, at, 1), 77);
    /* a count that wraps */
    ck_assert_int_eq(tile_stream_wait_value(a.ctx, NULL, at, 0xfffffff0), TILE_OK);
    ck_assert_int_eq(tile_stream_wait_value(a.ctx, NULL, at, 0x80000007), TILE_OK);
    a.ctx->patience_ms = 30;
    fails(tile_stream_wait_value(a.ctx, NULL, at, 7), TILE_CHECK_FAILED,
          "deadlock: tile_stream_wait_value waits for 7, and the number is 6");
    fails(tile_stream_wait_value(a.ctx, NULL, at, 0x80000006), TILE_CHECK_FAILED, "deadlock");
}
END_TEST

/* Nobody ever writes: after the limit it is a deadlock, and says whom it waited for. Where nobody
 * else could write it is one at once. */
START_TEST(waiting_in_vain) {
    tile_kernel *k;
    ck_assert_int_eq(tile_kernel_get(a.module, "exchange", &k), TILE_OK);
    InterpArg arg[6] = {{0}};
    tile_ptr p[5];
    for (int i = 0; i < 5; i++) {
        p[i] = peer_numbers(&a, 0, 0);
        arg[i].p = p[i];
    }
    arg[5].i = 1;
    for (int foreign = 0; foreign < 2; foreign++) {
        InterpBuffer buffer[5];
        for (int i = 0; i < 5; i++)
            buffer[i] = (InterpBuffer){
                .base = (uint8_t *)(uintptr_t)p[i], .bytes = 4 * PEER_N, .foreign = foreign};
        InterpLaunch launch = {.module = k->module->ir,
                               .func = k->func,
                               .arg = arg,
                               .buffer = buffer,
                               .nbuffers = 5,
                               .grid = {1, 1, 1},
                               .checks = CHECK_ALL & ~CHECK_BOUNDS,
                               .foreign_ms = 30};
        Session s;
        ck_assert_int_eq(setjmp(s.bail), 0);
        session_init(&s);
        ck_assert(!interp_run(&s, &launch));
        Buf text = buf_new(&s.arena);
        diag_render(&s.diags, &k->module->ir->source, false, &text);
        ck_assert_msg(strstr(text.data, "deadlock"), "%s", text.data);
        ck_assert_msg(!strstr(text.data, "have not written for too long") == !foreign, "%s",
                      text.data);
        session_free(&s);
        ck_assert_int_eq(tile_fill(a.ctx, p[0], 0, 4), TILE_OK);
    }
}
END_TEST

/* The same of PTX. */
START_TEST(ptx_waiting_in_vain) {
    Peer p;
    tile_kernel *k;
    peer_open(&p, "ptx:sm_80", NULL);
    ck_assert_int_eq(tile_kernel_get(p.module, "exchange", &k), TILE_OK);
    ck_assert_int_eq(k->nhidden, 0);
    tile_ptr at[5];
    int rounds = 1;
    const void *param[6];
    for (int i = 0; i < 5; i++) {
        at[i] = peer_numbers(&p, 0, 0);
        param[i] = &at[i];
    }
    param[5] = &rounds;
    for (int foreign = 0; foreign < 2; foreign++) {
        PtxBuffer buffer[5];
        for (int i = 0; i < 5; i++)
            buffer[i] = (PtxBuffer){
                .base = (uint8_t *)(uintptr_t)at[i], .bytes = 4 * PEER_N, .foreign = foreign};
        PtxLaunch launch = {.program = k->program,
                            .param = param,
                            .grid = {1, 1, 1},
                            .block = {(uint32_t)k->num_warps * 32, 1, 1},
                            .dynamic_shared = (uint32_t)k->shared,
                            .buffer = buffer,
                            .nbuffers = 5,
                            .checks = PTX_CHECK_ALIGN,
                            .foreign_ms = 30};
        Session s;
        ck_assert_int_eq(setjmp(s.bail), 0);
        session_init(&s);
        ck_assert(!ptx_run(&s, &launch));
        ck_assert_msg(strstr(s.diags.first->text, "deadlock"), "%s", s.diags.first->text);
        session_free(&s);
        ck_assert_int_eq(tile_fill(p.ctx, at[0], 0, 4), TILE_OK);
    }
    peer_close(&p);
}
END_TEST

int main(void) {
    Suite *s = suite_create("peers");
    TCase *t = tcase_create("peers");
    tcase_add_checked_fixture(t, open_both, close_both);
    tcase_add_test(t, access_is_asked_for);
    tcase_add_test(t, a_peer_goes_first);
    tcase_add_test(t, memory_of_both);
    tcase_add_test(t, misuse);
    tcase_add_test(t, copies);
    tcase_add_test(t, a_table_of_addresses);
    tcase_add_test(t, no_count_is_lost);
    tcase_add_test(t, waiting_for_each_other);
    tcase_add_test(t, waiting_by_volatile_loads);
    tcase_add_test(t, waiting_for_a_number);
    tcase_add_test(t, waiting_in_vain);
    tcase_add_test(t, ptx_waiting_in_vain);
    return run_suite(s, t);
}
