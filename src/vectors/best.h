/* SPDX-License-Identifier: MIT
 * The k best texts of a search, in a heap whose root is the worst of them, or selected from an array. A text with a
 * higher score ranks before one with a lower score. If scores are equal, a callback decides or, without a callback, the
 * text with the lower row index ranks first. The result therefore does not depend on the order in which texts are
 * added.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define AOEI_NO_TEXT UINT32_MAX /* value of aoei_neighbor.text for a missing neighbor */

typedef struct aoei_neighbor {
    float score;   /* inner product; -infinity if `text` is AOEI_NO_TEXT */
    uint32_t text; /* row of the text, or AOEI_NO_TEXT if there are fewer than k texts */
} aoei_neighbor;

/* Returns 1 if row a ranks before row b, otherwise 0. a and b are different rows with equal scores, and the function
 * must define a total order of all rows. Several threads may call it at the same time. */
typedef int (*aoei_order_fn)(void *user, uint32_t a, uint32_t b);

/* Returns 1 if a ranks after b. Missing neighbors rank last. `order` may be NULL. */
int aoei_neighbor_is_worse(aoei_neighbor a, aoei_neighbor b, aoei_order_fn order, void *user);
/* Fills heap[k] with missing neighbors. */
void aoei_best_clear(aoei_neighbor *heap, size_t k);
/* Adds x to heap[k] and removes the worst element. k is at least 1, and the score of x is not NaN. */
void aoei_best_add(aoei_neighbor *heap, size_t k, aoei_neighbor x, aoei_order_fn order, void *user);
/* Moves the k best elements of x[n] to its start, in any order. If the callback defines no total order, the result is
 * any order of the elements. */
void aoei_best_select(aoei_neighbor *x, size_t n, size_t k, aoei_order_fn order, void *user);
/* Converts heap[k] to an array that is sorted from the best text to the worst. */
void aoei_best_sort(aoei_neighbor *heap, size_t k, aoei_order_fn order, void *user);
