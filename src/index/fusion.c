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

/* Returns the lexical weight of exact matches that are few. */
static double exact_weight(double dense, double lexical) {
    const double weight = AOEI_EXACT_FACTOR * dense;
    return lexical > 0 && lexical < weight ? weight : lexical;
}

double aoei_fusion_most(double dense_weight, double lexical_weight) {
    return (dense_weight + exact_weight(dense_weight, lexical_weight)) / (AOEI_FUSION_CONSTANT + 1);
}

/* Returns 1 if the query has few words, and few passages contain all of them. */
static int are_few_exact(const aoei_fusion_list *lexical) {
    size_t exact = 0;
    for (size_t i = 0; i < lexical->n; i++)
        exact += lexical->best[i].words == lexical->words;
    return lexical->names <= AOEI_EXACT_WORDS && exact <= AOEI_EXACT_MOST;
}

size_t aoei_fuse(aoei_found *found, aoei_fusion_list dense, aoei_fusion_list lexical) {
    size_t all = dense.n + lexical.n, n = 0;
    const double exact = are_few_exact(&lexical) ? exact_weight(dense.weight, lexical.weight) : lexical.weight;
    aoei_found_dense(found, dense.best, dense.n);
    aoei_found_lexical(found + dense.n, lexical.best, lexical.n);
    if (all)
        qsort(found, all, sizeof *found, compare_passages);
    for (size_t i = 0; i < all; i++) {
        aoei_found x = found[i];
        if (i + 1 < all && found[i + 1].ranked.passage == x.ranked.passage) {
            i++;
            x.lexical_rank = found[i].lexical_rank;
            x.bm25 = found[i].bm25;
            x.ranked.words = found[i].ranked.words;
        }
        x.ranked.score = reciprocal(x.dense_rank, dense.weight) +
                         reciprocal(x.lexical_rank, x.ranked.words == lexical.words ? exact : lexical.weight);
        if (x.ranked.score > 0)
            found[n++] = x;
    }
    if (n)
        qsort(found, n, sizeof *found, compare_scores);
    return n;
}
