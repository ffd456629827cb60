/* SPDX-License-Identifier: MIT
 * Plans the batches of an epoch. For each source, a random order of its examples is drawn, and the examples are
 * assigned to batches. If there are several sources, the batches of all sources are then put in random order.
 */
#include "train/batch_plan.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"

#include <math.h>
#include <string.h>

/* Returns the number of examples that a source (a training file) contributes to one epoch. */
static size_t examples_of(const aoei_source *s) {
    const double n = nearbyint((double)s->data.n * s->weight);
    return n < 1 ? 1 : (size_t)n;
}

static size_t batches_of(const aoei_batches *b, size_t source) {
    return (examples_of(&b->sources[source]) + b->batch_size - 1) / b->batch_size;
}

int aoei_batches_create(aoei_batches *b, const aoei_source *sources, size_t n_sources, size_t batch_size, uint64_t seed,
                        aoe_error *err) {
    *b = (aoei_batches){
        .sources = sources, .n_sources = n_sources, .batch_size = batch_size, .seed = seed, .epoch = (size_t)-1};
    size_t max_examples = 0, texts = 0;
    double all = 0;
    for (size_t s = 0; s < n_sources; s++)
        all += (double)sources[s].data.n * sources[s].weight + 1;
    if (!(all < (double)UINT32_MAX))
        return aoei_fail(
            err, AOE_EARG,
            "the weights of the files result in %g examples per epoch, but at most 2^32 - 2 are supported; lower "
            "the weights",
            all);
    for (size_t s = 0; s < n_sources; s++) {
        const size_t n = examples_of(&sources[s]);
        b->examples += n;
        b->n += batches_of(b, s);
        max_examples = n > max_examples ? n : max_examples;
        b->width = sources[s].data.arity > b->width ? sources[s].data.arity : b->width;
        texts = sources[s].data.tokens.n > texts ? sources[s].data.tokens.n : texts;
    }
    b->batch = aoei_malloc_array(b->n, sizeof *b->batch);
    b->example = aoei_malloc_array(b->examples, sizeof *b->example);
    b->text = aoei_malloc_array(b->examples, b->width * sizeof *b->text);
    b->order = aoei_malloc_array(max_examples, sizeof *b->order);
    b->queue = aoei_malloc_array(max_examples, sizeof *b->queue);
    b->stamp = aoei_malloc_array(texts, sizeof *b->stamp);
    if (b->batch && b->example && b->text && b->order && b->queue && b->stamp)
        return AOE_OK;
    aoei_batches_destroy(b);
    return aoei_fail_nomem(err, b->examples * b->width * sizeof *b->text);
}

void aoei_batches_destroy(aoei_batches *b) {
    aoei_free(b->batch);
    aoei_free(b->example);
    aoei_free(b->text);
    aoei_free(b->order);
    aoei_free(b->queue);
    aoei_free(b->stamp);
    memset(b, 0, sizeof *b);
}

/* Sets b->order to the examples of a source in random order. Each example occurs floor(weight) times; a random subset
 * of the examples occurs once more. Returns the number of elements. */
static size_t order_source(aoei_batches *b, size_t source, uint32_t substream) {
    const size_t m = examples_of(&b->sources[source]), n = b->sources[source].data.n, whole = m / n * n;
    aoei_rng rng;
    aoei_rng_init(&rng, b->seed, AOEI_STREAM_SHUFFLE, substream);
    for (size_t i = 0; i < m; i++)
        b->order[i] = i % n;
    size_t remaining = m - whole; /* number of examples in the random subset that are not drawn yet */
    size_t at = whole;            /* index in b->order at which the next example of the random subset is stored */
    for (size_t i = 0; i < n && remaining; i++)
        if (aoei_rng_below(&rng, (uint32_t)(n - i)) < remaining) {
            b->order[at++] = i;
            remaining--;
        }
    aoei_rng_shuffle(&rng, b->order, m);
    return m;
}

/* Draws one of the alternative texts at a position of an example at random and returns the index of the text. position:
 * index in d->first. other: a group of identical texts (aoei_dataset.groups). A text of this group is drawn only if all
 * alternatives are in this group. */
static uint32_t draw(const aoei_dataset *d, aoei_rng *rng, size_t position, uint32_t other) {
    const size_t first = d->first[position], n = d->first[position + 1] - first;
    size_t allowed = 0;
    if (n == 1)
        return (uint32_t)first;
    for (size_t i = 0; i < n; i++)
        allowed += d->groups[first + i] != other;
    if (allowed == 0)
        return (uint32_t)(first + aoei_rng_below(rng, (uint32_t)n));
    size_t k = aoei_rng_below(rng, (uint32_t)allowed);
    for (size_t i = 0;; i++)
        if (d->groups[first + i] != other && k-- == 0)
            return (uint32_t)(first + i);
}

/* Draws one text for each position of an example and stores the indices of the texts in text[arity]. If possible, the
 * texts at later positions are not identical to the text at the first position. */
static void draw_example(const aoei_dataset *d, aoei_rng *rng, size_t example, uint32_t *text) {
    const size_t position = example * d->arity;
    text[0] = draw(d, rng, position, UINT32_MAX);
    for (size_t r = 1; r < d->arity; r++)
        text[r] = draw(d, rng, position + r, d->groups[text[0]]);
}

/* Marks the texts of an example as used in a batch and returns 1. If the batch already contains a text that is
 * identical to one of them, changes nothing and returns 0. batch: number of the batch, counted from 1. stamp:
 * aoei_batches.stamp. text: [arity]. */
static int add_to_batch(const aoei_dataset *d, uint32_t *stamp, uint32_t batch, const uint32_t *text) {
    for (size_t r = 0; r < d->arity; r++)
        if (stamp[d->groups[text[r]]] == batch)
            return 0;
    for (size_t r = 0; r < d->arity; r++)
        stamp[d->groups[text[r]]] = batch;
    return 1;
}

/* After TRIES * batch_size examples have been rejected for a batch, no further examples are tried, and the batch has
 * fewer than batch_size examples. This keeps the planning time linear in the number of examples. */
#define TRIES 64

/* Plans the batches of a source. *n_batches is the number of batches planned so far, and *n_picks the number of
 * examples planned so far. Both are increased. */
static void plan_source(aoei_batches *b, size_t source, size_t *n_batches, size_t *n_picks) {
    const aoei_dataset *d = &b->sources[source].data;
    const uint32_t substream = (uint32_t)(b->epoch * b->n_sources + source);
    const int distinct = b->sources[source].distinct;
    const size_t m = order_source(b, source, substream), n_planned = batches_of(b, source);
    size_t next = 0, begin = 0, end = 0; /* next: index in b->order of the next new example; b->queue[begin, end):
                                            examples that earlier batches rejected */
    aoei_rng rng;
    aoei_rng_init(&rng, b->seed, AOEI_STREAM_DRAW, substream);
    memset(b->stamp, 0, d->tokens.n * sizeof *b->stamp);
    for (size_t k = 0; k < n_planned; k++) {
        aoei_planned_batch *batch = &b->batch[*n_batches];
        *batch = (aoei_planned_batch){.source = (uint32_t)source, .first = *n_picks};
        size_t rejected_end = begin, i = begin; /* b->queue[begin, rejected_end): examples that this batch rejected */
        while (batch->n < b->batch_size && rejected_end - begin < TRIES * b->batch_size && (i < end || next < m)) {
            const size_t example = i < end ? b->queue[i++] : b->order[next++];
            uint32_t *text = b->text + *n_picks * b->width;
            draw_example(d, &rng, example, text);
            if (distinct && !add_to_batch(d, b->stamp, (uint32_t)k + 1, text)) {
                /* this overwrites no unread element of the queue, because rejected_end <= i until the whole queue is
                 * read */
                b->queue[rejected_end++] = example;
                continue;
            }
            b->example[(*n_picks)++] = (uint32_t)example;
            batch->n++;
        }
        if (i < end) { /* moves the rejected examples directly before the unread elements of the queue */
            memmove(b->queue + i - (rejected_end - begin), b->queue + begin, (rejected_end - begin) * sizeof *b->queue);
            begin = i - (rejected_end - begin);
        } else {
            end = rejected_end;
        }
        *n_batches += batch->n > 0;
    }
    b->unused += end - begin + (m - next);
}

void aoei_batches_plan(aoei_batches *b, size_t epoch) {
    if (b->epoch == epoch)
        return;
    size_t n_batches = 0, n_picks = 0;
    b->epoch = epoch;
    b->unused = 0;
    for (size_t s = 0; s < b->n_sources; s++)
        plan_source(b, s, &n_batches, &n_picks);
    if (b->n_sources == 1)
        return;
    aoei_rng rng;
    aoei_rng_init(&rng, b->seed, AOEI_STREAM_BATCHES, (uint32_t)epoch);
    for (size_t i = n_batches; i > 1; i--) {
        const size_t k = aoei_rng_below(&rng, (uint32_t)i);
        const aoei_planned_batch swap = b->batch[i - 1];
        b->batch[i - 1] = b->batch[k];
        b->batch[k] = swap;
    }
}
