/* SPDX-License-Identifier: MIT
 * The shards of a training run. The examples of every batch are divided into `options.shards` contiguous shards, and
 * the weight gradient of a step is the sum of the gradients of the shards, added in the order of a binary tree
 * (gradient_tree.h). The division depends only on the batch. The ranks of a distributed run compute different shards.
 * Therefore, the bits of the sum do not depend on the number of ranks.
 */
#pragma once

#include <stdint.h>

#include "comm/collectives.h"

/* The shards of a run, and those that this process computes. */
typedef struct aoei_shards {
    size_t n;          /* number of shards of the run, a power of two */
    size_t begin, end; /* this process computes the shards [begin, end) */
    aoei_comm *comm;   /* ranks of the run; one rank if the process trains alone; borrowed */
} aoei_shards;

/* Returns the shards of a rank: n shards are divided as evenly as possible, in ascending order. n is at least the
 * number of ranks. */
aoei_shards aoei_shards_of(size_t n, aoei_comm *comm);
/* Returns the first shard of a rank; for `rank` equal to `ranks`, returns n. */
static inline size_t aoei_shards_first(size_t n, size_t rank, size_t ranks) {
    return rank * n / ranks;
}
/* Returns 1 if the gradient of a step is the sum of the gradients of several shards. */
static inline int aoei_shards_are_several(const aoei_shards *s) {
    return s->n > 1;
}

/* Divides the examples of a batch: shard s consists of the examples [first[s], first[s + 1]). An example belongs to the
 * shard that contains the middle of its tokens, if all tokens of the batch are divided evenly. Shards may be empty.
 * first: [n + 1]; tokens: [examples] number of tokens of each example, above 0 in total. */
void aoei_shards_divide(size_t *first, size_t n, const uint32_t *tokens, size_t examples);

/* Gathers rows that each rank has computed for its own shards in all ranks. rows: [first[n], bytes each] rows of all
 * shards; shard s has the rows [first[s], first[s + 1]), times `times`. Errors: AOE_ECOMM. */
int aoei_shards_gather(const aoei_shards *s, void *rows, size_t bytes, const size_t *first, size_t times,
                       aoe_error *err);
/* Returns the number of bytes that this rank sends in aoei_shards_gather. */
uint64_t aoei_shards_gather_sent(const aoei_shards *s, size_t bytes, const size_t *first, size_t times);
