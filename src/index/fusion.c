/* SPDX-License-Identifier: MIT
 * Both lists are copied to one array and sorted by passage, so that the two elements of a passage are neighbors.
 */
#include "index/fusion.h"

#include <math.h>
#include <stdlib.h>

void aoei_found_dense(aoei_found *found, const aoei_ranked *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        found[i] = (aoei_found){.ranked = list[i], .dense_rank = i + 1, .cosine = list[i].score, .bm25 = NAN};
}

void aoei_found_lexical(aoei_found *found, const aoei_ranked *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        found[i] = (aoei_found){.ranked = list[i], .lexical_rank = i + 1, .bm25 = list[i].score, .cosine = NAN};
}

/* Order of the passage ids; dense elements first. */
static int compare_passages(const void *a, const void *b) {
    const aoei_found *x = a, *y = b;
    if (x->ranked.passage != y->ranked.passage)
        return x->ranked.passage < y->ranked.passage ? -1 : 1;
    return (x->dense_rank == 0) - (y->dense_rank == 0);
}

static int compare_scores(const void *a, const void *b) {
    const aoei_found *x = a, *y = b;
    return aoei_ranked_compare(&x->ranked, &y->ranked);
}

static double reciprocal(size_t rank, double weight) {
    return rank ? weight / (double)(AOEI_FUSION_CONSTANT + rank) : 0;
}

size_t aoei_fuse(aoei_found *found, const aoei_ranked *dense, size_t n_dense, double dense_weight,
                 const aoei_ranked *lexical, size_t n_lexical, double lexical_weight) {
    size_t all = n_dense + n_lexical, n = 0;
    aoei_found_dense(found, dense, n_dense);
    aoei_found_lexical(found + n_dense, lexical, n_lexical);
    if (all)
        qsort(found, all, sizeof *found, compare_passages);
    for (size_t i = 0; i < all; i++) {
        aoei_found x = found[i];
        if (i + 1 < all && found[i + 1].ranked.passage == x.ranked.passage) {
            i++;
            x.lexical_rank = found[i].lexical_rank;
            x.bm25 = found[i].bm25;
        }
        x.ranked.score = reciprocal(x.dense_rank, dense_weight) + reciprocal(x.lexical_rank, lexical_weight);
        if (x.ranked.score > 0)
            found[n++] = x;
    }
    if (n)
        qsort(found, n, sizeof *found, compare_scores);
    return n;
}
