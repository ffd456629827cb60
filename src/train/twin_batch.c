/* SPDX-License-Identifier: MIT
 * Fills batches of texts for two encoders.
 */
#include "train/twin_batch.h"

#include "base/random.h"

/* Each pair uses its own range of random numbers. A range is long enough for all repetitions of a draw. */
#define RANDOM_BLOCKS ((uint64_t)1 << 20)

int aoei_twin_has_negatives(const aoei_dataset *d) {
    for (size_t i = 1; i < d->tokens.n; i++)
        if (d->groups[i] != d->groups[0])
            return 1;
    return 0;
}

/* Draws pair number `pair` of the step: two texts that differ. */
static void draw_pair(size_t pair_of[2], const aoei_twin_plan *p, size_t pair) {
    aoei_rng r;
    aoei_rng_init(&r, p->seed, AOEI_STREAM_TWIN, (uint32_t)p->step);
    r.index = pair * RANDOM_BLOCKS;
    pair_of[0] = aoei_rng_below(&r, (uint32_t)p->data->tokens.n);
    do
        pair_of[1] = aoei_rng_below(&r, (uint32_t)p->data->tokens.n);
    while (p->data->groups[pair_of[1]] == p->data->groups[pair_of[0]]);
}

size_t aoei_twin_batch_fill(aoei_batch_buffer *b, double *labels, const aoei_twin_plan *p, const size_t *texts,
                            size_t n, size_t first) {
    const aoei_token_lists *l = &p->data->tokens;
    const size_t per_example = 1 + p->negatives, base = first / 2;
    aoei_batch_clear(b);
    for (size_t encoder = 0; encoder < 2; encoder++)
        for (size_t i = 0; i < n * per_example; i++) {
            size_t pair[2] = {texts[i / per_example], texts[i / per_example]};
            if (i % per_example)
                draw_pair(pair, p, base + i);
            const size_t k = pair[encoder];
            aoei_batch_add_types(b, l->ids + l->offsets[k], l->types ? l->types + l->offsets[k] : NULL,
                                 aoei_token_count(l, k), (uint32_t)first++);
            aoei_batch_skip(b, l, k);
            labels[i] = i % per_example ? 0 : 1;
        }
    return first;
}
