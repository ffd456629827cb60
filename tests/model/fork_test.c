/* SPDX-License-Identifier: MIT
 * Tests that a child process of a process that has computed can compute with the same objects, and gets the same bits.
 * The children use the embedder, only exit, destroy the objects, or open the model again, also while another thread of
 * the parent computes with the same embedder. The thread sanitizer does not support new threads after a fork of a
 * process with threads, so the tests do not run with it. The allocator of the address sanitizer does not unlock its
 * locks in the child, so children of a process that allocates in another thread can hang; that test does not run with
 * it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/support.h"
#include "../support/tiny_model.h"

enum { TEXTS = 24, DIMS = 16, FORKS = 200 };

static char *dir, *model_dir;
static aoe_text text[TEXTS];
static float expected[TEXTS * DIMS];

static size_t embedder_threads; /* options.threads of the embedders */

typedef struct session {
    aoe_context *ctx;
    aoe_model *model;
    aoe_embedder *embedder;
} session;

static int open_session(session *s) {
    const aoe_context_options o = {.struct_size = sizeof o, .threads = 3};
    aoe_embedder_options e;
    aoe_embedder_options_defaults(&e);
    e.threads = embedder_threads;
    *s = (session){.ctx = NULL};
    return aoe_context_create(&s->ctx, &o, NULL) || aoe_model_open(&s->model, s->ctx, model_dir, NULL, NULL) ||
           aoe_embedder_create(&s->embedder, s->model, &e, NULL);
}

static void close_session(session *s) {
    aoe_embedder_destroy(s->embedder);
    aoe_model_close(s->model);
    aoe_context_destroy(s->ctx);
}

/* Returns 1 if the embeddings do not have the expected bits. */
static int differs(const session *s) {
    float vectors[TEXTS * DIMS] = {0};
    return aoe_embed(s->embedder, text, TEXTS, vectors, NULL, NULL) || memcmp(vectors, expected, sizeof vectors) != 0;
}

static int set_up(void **state) {
    (void)state;
    const tiny_model shape = tiny_defaults();
    session s;
    dir = tiny_dir_create();
    embedder_threads = AOE_AUTO;
    model_dir = test_path(dir, "model");
    tiny_model_write(model_dir, &shape);
    for (uint32_t i = 0; i < TEXTS; i++)
        text[i] = aoe_text_of(strdup(tiny_text(i)));
    if (open_session(&s) || aoe_model_dims(s.model) != DIMS || aoe_embed(s.embedder, text, TEXTS, expected, NULL, NULL))
        return 1;
    close_session(&s);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    for (size_t i = 0; i < TEXTS; i++)
        free((void *)(uintptr_t)text[i].data);
    free(model_dir);
    test_dir_remove(dir);
    return 0;
}

#ifndef __SANITIZE_THREAD__
/* The work of child number i. Returns 1 if a result is wrong. */
static int run_child(session *s, int i) {
    session own;
    int bad = 0;
    switch (i % 4) {
    case 0: /* only exits */
        return 0;
    case 1:
        return differs(s) || differs(s);
    case 2:
        bad = i % 8 == 2 && differs(s);
        close_session(s);
        return bad;
    default:
        bad = open_session(&own) || differs(&own) || differs(s);
        close_session(&own);
        return bad;
    }
}

static void fork_often(session *s) {
    for (int i = 0; i < FORKS; i++) {
        int status = 1;
        const pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            alarm(60);
            _exit(run_child(s, i));
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (status)
            fail_msg("child %d: status %d", i, status);
        if (i % 50 == 0)
            assert_false(differs(s));
    }
}

static void check_forks(size_t threads) {
    session s;
    embedder_threads = threads;
    assert_int_equal(open_session(&s), 0);
    assert_false(differs(&s));
    fork_often(&s);
    close_session(&s);
    embedder_threads = AOE_AUTO;
}

static void forks(void **state) {
    (void)state;
    check_forks(AOE_AUTO);
}

/* The embedder has its own threads. */
static void forks_with_own_threads(void **state) {
    (void)state;
    check_forks(2);
}

#if !TEST_SANITIZED
typedef struct busy {
    session s;
    _Atomic int stop, wrong;
} busy;

static void *embed_until_stopped(void *arg) {
    busy *b = arg;
    while (!atomic_load(&b->stop))
        if (differs(&b->s))
            atomic_store(&b->wrong, 1);
    return NULL;
}

/* Another thread uses the same embedder at the time of the fork. */
static void forks_while_computing(void **state) {
    (void)state;
    session s;
    busy b = {.stop = 0};
    pthread_t thread;
    assert_int_equal(open_session(&s), 0);
    b.s = s;
    assert_int_equal(pthread_create(&thread, NULL, embed_until_stopped, &b), 0);
    fork_often(&s);
    atomic_store(&b.stop, 1);
    pthread_join(thread, NULL);
    assert_int_equal(atomic_load(&b.wrong), 0);
    close_session(&s);
}
#endif
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(forks),
        cmocka_unit_test(forks_with_own_threads),
#if !TEST_SANITIZED
        cmocka_unit_test(forks_while_computing),
#endif
#endif
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
