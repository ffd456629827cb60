/* SPDX-License-Identifier: MIT
 * The lists form a ring, from which the threads take one text after the other; a list whose texts are all taken leaves
 * the ring. A thread takes at most its share of the waiting tokens, so that threads which wait can take the rest. If a
 * text of a batch fails, its list fails, and the thread computes the other texts of the batch again.
 */
#include "serve/text_queue.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/thread.h"
#include "serve/metrics.h"

#include <string.h>

enum {
    CHECK_TEXTS = 64,     /* texts after which a list is checked again */
    MAX_BATCH = 1024,     /* texts of a batch */
    MIN_SHARE = 128,      /* tokens below which a batch is not divided among threads */
    EMPTY_TEXT_TOKENS = 1 /* what a text without tokens counts, so that batches are finite */
};

/* A text that a thread took. */
typedef struct taken {
    aoei_task_list *list;
    size_t index;
} taken;

struct aoei_text_queue {
    aoe_embedder *all, *one; /* borrowed */
    size_t max_tokens;
    aoei_metrics *metrics;     /* borrowed; NULL: none */
    aoei_mutex lock;           /* protects the following fields and those of the lists */
    aoei_condition added;      /* signalled when a list was added */
    aoei_task_list *head;      /* list whose text is taken next; NULL: the ring is empty */
    size_t texts, tokens;      /* sizes of the texts that wait */
    size_t waiting, computing; /* threads that wait, and that compute */
    int is_stopping;
    aoei_thread *thread; /* [n_threads], owned */
    size_t n_threads;
};

static size_t tokens_of(const aoei_task *t) {
    return t->tokens ? t->tokens : EMPTY_TEXT_TOKENS;
}

/* ---------------------------------------------------------------- ring */

static void ring_add(aoei_text_queue *q, aoei_task_list *l) {
    if (!q->head) {
        q->head = l->next = l->previous = l;
        return;
    }
    l->next = q->head;
    l->previous = q->head->previous;
    l->previous->next = l;
    q->head->previous = l;
}

static void ring_remove(aoei_text_queue *q, aoei_task_list *l) {
    if (q->head == l)
        q->head = l->next == l ? NULL : l->next;
    l->previous->next = l->next;
    l->next->previous = l->previous;
}

/* Moves l->taken to the next text without a result. */
static void skip_results(aoei_task_list *l) {
    while (l->taken < l->n && !l->task[l->taken].sequence)
        l->taken++;
}

/* Takes the texts that were not taken out of the queue, because the list failed. */
static void drop_rest(aoei_text_queue *q, aoei_task_list *l) {
    if (l->taken >= l->n)
        return;
    for (; l->taken < l->n; l->taken++)
        if (l->task[l->taken].sequence) {
            q->texts--;
            q->tokens -= tokens_of(&l->task[l->taken]);
            l->left--;
        }
    ring_remove(q, l);
}

/* Checks whether somebody waits for the results, before the first text and again after every CHECK_TEXTS texts. Returns
 * 1 if the list leaves the ring. It is then complete, unless other threads compute texts of it. */
static int is_dropped(aoei_text_queue *q, aoei_task_list *l, aoei_task_list **done) {
    if (!l->is_gone || l->taken < l->next_check)
        return 0;
    if (!l->next_check)
        l->started = aoei_now();
    l->next_check = l->taken + CHECK_TEXTS;
    if (!l->is_gone(l))
        return 0;
    l->code = AOE_ECANCELLED;
    drop_rest(q, l);
    if (!l->left) {
        l->next = *done;
        *done = l;
    }
    return 1;
}

/* Returns 1 if texts of both lists can be computed in one batch. */
static int match(const aoei_task_list *a, const aoei_task_list *b) {
    return a->kind == b->kind && a->activation == b->activation && a->kind != AOEI_TASK_STATES;
}

/* Takes texts for a batch, and returns their number. *done: lists of clients that are gone are added to it. */
static size_t take(aoei_text_queue *q, taken *batch, aoei_task_list **done) {
    const size_t share = q->tokens / (q->waiting + 1) + 1, least = share < MIN_SHARE ? MIN_SHARE : share;
    const size_t limit = least < q->max_tokens ? least : q->max_tokens;
    size_t n = 0, sum = 0;
    while (q->head && n < MAX_BATCH) {
        aoei_task_list *l = q->head;
        if (is_dropped(q, l, done))
            continue;
        const size_t tokens = tokens_of(&l->task[l->taken]);
        if (n && (sum + tokens > limit || !match(batch[0].list, l)))
            break;
        batch[n++] = (taken){l, l->taken++};
        sum += tokens;
        q->texts--;
        q->tokens -= tokens;
        skip_results(l);
        if (l->taken == l->n)
            ring_remove(q, l);
        else
            q->head = l->next;
    }
    return n;
}

/* ------------------------------------------------------------- threads */

/* Computes a batch. Returns the index of the text that failed in *failed. */
static int compute(aoe_embedder *e, const taken *batch, size_t n, size_t *failed, aoe_error *err) {
    const aoe_sequence *sequences[MAX_BATCH];
    float *out[MAX_BATCH];
    const aoei_task_list *first = batch[0].list;
    for (size_t i = 0; i < n; i++) {
        const aoei_task *t = &batch[i].list->task[batch[i].index];
        sequences[i] = t->sequence;
        out[i] = t->out;
    }
    const int code = first->kind == AOEI_TASK_STATES ? aoe_embed_tokens(e, sequences[0], out[0], err)
                     : first->kind == AOEI_TASK_SCORE
                         ? aoe_score_sequences(e, sequences, n, first->activation, out, err)
                         : aoe_embed_sequences(e, sequences, n, out, err);
    *failed = code ? aoe_embed_failed_text(e) : SIZE_MAX;
    return code;
}

/* Marks the list of a text as failed. */
static void fail_list(aoei_text_queue *q, taken text, int code, const aoe_error *err) {
    aoei_mutex_lock(&q->lock);
    if (!text.list->code) {
        text.list->code = code;
        text.list->failed = text.index;
        text.list->err = *err;
    }
    const size_t before = q->texts;
    drop_rest(q, text.list);
    if (q->metrics)
        aoei_metrics_gauge(q->metrics, AOEI_QUEUE_SIZE, -(int64_t)(before - q->texts));
    aoei_mutex_unlock(&q->lock);
}

/* Computes a batch, and computes it again without the list of a text that fails. */
static void compute_all(aoei_text_queue *q, aoe_embedder *e, const taken *batch, size_t n) {
    taken rest[MAX_BATCH];
    memcpy(rest, batch, n * sizeof *rest);
    while (n) {
        aoe_error err = {0};
        size_t failed, kept = 0;
        const int code = compute(e, rest, n, &failed, &err);
        if (!code)
            return;
        if (failed >= n) { /* not because of one text, such as a lack of memory */
            for (size_t i = 0; i < n; i++)
                fail_list(q, rest[i], code, &err);
            return;
        }
        const taken wrong = rest[failed];
        fail_list(q, wrong, code, &err);
        for (size_t i = 0; i < n; i++)
            if (rest[i].list != wrong.list)
                rest[kept++] = rest[i];
        n = kept;
    }
}

/* Counts the results of a batch. Lists that are complete are added to *done. The lock is held. */
static void count_results(const taken *batch, size_t n, aoei_task_list **done) {
    for (size_t i = 0; i < n; i++) {
        aoei_task_list *l = batch[i].list;
        if (--l->left)
            continue;
        l->next = *done;
        *done = l;
    }
}

static void finish(aoei_task_list *done) {
    for (aoei_task_list *next; done; done = next) {
        next = done->next;
        done->done(done);
    }
}

static void observe_batch(const aoei_text_queue *q, const taken *batch, size_t n) {
    size_t tokens = 0;
    for (size_t i = 0; i < n; i++)
        tokens += batch[i].list->task[batch[i].index].tokens;
    if (!q->metrics)
        return;
    aoei_metrics_observe(q->metrics, AOEI_BATCH_NEXT_SIZE, (double)n);
    aoei_metrics_observe(q->metrics, AOEI_BATCH_NEXT_TOKENS, (double)tokens);
}

static void run(void *arg) {
    aoei_text_queue *q = arg;
    taken batch[MAX_BATCH];
    aoei_mutex_lock(&q->lock);
    for (;;) {
        aoei_task_list *done = NULL;
        while (!q->head && !q->is_stopping) {
            q->waiting++;
            aoei_condition_wait(&q->added, &q->lock);
            q->waiting--;
        }
        if (!q->head)
            break;
        const size_t before = q->texts, n = take(q, batch, &done), after = q->texts;
        if (q->head && q->waiting)
            aoei_condition_signal(&q->added);
        const int is_alone = !q->computing && !q->head;
        q->computing++;
        aoei_mutex_unlock(&q->lock);
        finish(done);
        done = NULL;
        if (q->metrics)
            aoei_metrics_gauge(q->metrics, AOEI_QUEUE_SIZE, -(int64_t)(before - after));
        if (n) {
            observe_batch(q, batch, n);
            compute_all(q, is_alone ? q->all : q->one, batch, n);
        }
        aoei_mutex_lock(&q->lock);
        q->computing--;
        count_results(batch, n, &done);
        aoei_mutex_unlock(&q->lock);
        finish(done);
        aoei_mutex_lock(&q->lock);
    }
    aoei_mutex_unlock(&q->lock);
}

/* --------------------------------------------------------------- queue */

int aoei_text_queue_create(aoei_text_queue **queue, aoe_embedder *all, aoe_embedder *one, size_t threads,
                           size_t max_tokens, aoei_metrics *metrics, aoe_error *err) {
    aoei_text_queue *q = *queue = aoei_calloc(1, sizeof *q);
    if (!q)
        return aoei_fail_nomem(err, sizeof *q);
    aoei_mutex_init(&q->lock);
    aoei_condition_init(&q->added);
    q->all = all;
    q->one = one;
    q->max_tokens = max_tokens;
    q->metrics = metrics;
    q->thread = aoei_calloc(threads, sizeof *q->thread);
    int code = q->thread ? AOE_OK : aoei_fail_nomem(err, threads * sizeof *q->thread);
    while (q->n_threads < threads && !code)
        code = aoei_thread_start(&q->thread[q->n_threads++], run, q, err);
    if (code) {
        aoei_text_queue_destroy(q);
        *queue = NULL;
    }
    return code;
}

void aoei_text_queue_destroy(aoei_text_queue *queue) {
    if (!queue)
        return;
    aoei_mutex_lock(&queue->lock);
    queue->is_stopping = 1;
    aoei_condition_broadcast(&queue->added);
    aoei_mutex_unlock(&queue->lock);
    for (size_t i = 0; i < queue->n_threads; i++)
        aoei_thread_join(&queue->thread[i]);
    aoei_free(queue->thread);
    aoei_condition_destroy(&queue->added);
    aoei_mutex_destroy(&queue->lock);
    aoei_free(queue);
}

void aoei_text_queue_add(aoei_text_queue *queue, aoei_task_list *list) {
    list->code = 0;
    list->failed = SIZE_MAX;
    list->taken = list->left = 0;
    list->next_check = 0;
    list->added = list->started = aoei_now();
    size_t tokens = 0;
    for (size_t i = 0; i < list->n; i++)
        if (list->task[i].sequence) {
            list->left++;
            tokens += tokens_of(&list->task[i]);
        }
    if (!list->left) {
        list->done(list);
        return;
    }
    skip_results(list);
    if (queue->metrics)
        aoei_metrics_gauge(queue->metrics, AOEI_QUEUE_SIZE, (int64_t)list->left);
    aoei_mutex_lock(&queue->lock);
    ring_add(queue, list);
    queue->texts += list->left;
    queue->tokens += tokens;
    aoei_condition_signal(&queue->added);
    aoei_mutex_unlock(&queue->lock);
}

size_t aoei_text_queue_size(aoei_text_queue *queue) {
    aoei_mutex_lock(&queue->lock);
    const size_t texts = queue->texts;
    aoei_mutex_unlock(&queue->lock);
    return texts;
}
