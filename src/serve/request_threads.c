/* SPDX-License-Identifier: MIT
 * A queue of requests and its threads.
 */
#include "serve/request_threads.h"

#include "base/alloc.h"
#include "base/error.h"

static void run(void *arg) {
    aoei_request_threads *t = arg;
    aoei_mutex_lock(&t->lock);
    for (;;) {
        while (t->n == 0 && !t->stops)
            aoei_condition_wait(&t->wake, &t->lock);
        if (t->n == 0)
            break;
        aoei_exchange *x = t->queue[t->first];
        t->first = (t->first + 1) % t->capacity;
        t->n--;
        aoei_mutex_unlock(&t->lock);
        t->handle(t->user, x);
        aoei_mutex_lock(&t->lock);
    }
    aoei_mutex_unlock(&t->lock);
}

int aoei_request_threads_start(aoei_request_threads *t, size_t n_threads, size_t capacity,
                               void (*handle)(void *user, aoei_exchange *x), void *user, aoe_error *err) {
    *t = (aoei_request_threads){.handle = handle, .user = user, .n_threads = n_threads, .capacity = capacity};
    t->thread = aoei_calloc(n_threads, sizeof *t->thread);
    t->queue = aoei_calloc(capacity, sizeof *t->queue);
    aoei_mutex_init(&t->lock);
    aoei_condition_init(&t->wake);
    int rc = t->thread && t->queue ? 0 : aoei_fail_nomem(err, capacity * sizeof *t->queue);
    for (size_t i = 0; rc == 0 && i < n_threads; i++)
        rc = aoei_thread_start(&t->thread[i], run, t, err);
    if (rc)
        aoei_request_threads_stop(t);
    return rc;
}

int aoei_request_threads_add(aoei_request_threads *t, aoei_exchange *x) {
    aoei_mutex_lock(&t->lock);
    const int is_full = t->n == t->capacity;
    if (!is_full) {
        t->queue[(t->first + t->n++) % t->capacity] = x;
        aoei_condition_signal(&t->wake);
    }
    aoei_mutex_unlock(&t->lock);
    return is_full;
}

void aoei_request_threads_stop(aoei_request_threads *t) {
    if (!t->capacity)
        return;
    aoei_mutex_lock(&t->lock);
    t->stops = 1;
    aoei_condition_broadcast(&t->wake);
    aoei_mutex_unlock(&t->lock);
    for (size_t i = 0; t->thread && i < t->n_threads; i++)
        aoei_thread_join(&t->thread[i]);
    aoei_condition_destroy(&t->wake);
    aoei_mutex_destroy(&t->lock);
    aoei_free(t->thread);
    aoei_free(t->queue);
    *t = (aoei_request_threads){0};
}
