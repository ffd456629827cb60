/* SPDX-License-Identifier: MIT
 * A binary heap of neighbors. The root is the worst neighbor, so that a better one replaces it in O(log k) steps.
 */
#include "vectors/best.h"

#include <math.h>

int aoei_neighbor_is_worse(aoei_neighbor a, aoei_neighbor b, aoei_order_fn order, void *user) {
    if (a.score < b.score || a.score > b.score)
        return a.score < b.score;
    if (order && a.text != b.text && a.text != AOEI_NO_TEXT && b.text != AOEI_NO_TEXT)
        return !order(user, a.text, b.text);
    return a.text > b.text;
}

/* Replaces the root of a heap of n > 0 elements by x and restores the heap order. */
static void replace_root(aoei_neighbor *heap, size_t n, aoei_neighbor x, aoei_order_fn order, void *user) {
    size_t at = 0;
    for (size_t child = 1; child < n; child = 2 * at + 1) {
        if (child + 1 < n && aoei_neighbor_is_worse(heap[child + 1], heap[child], order, user))
            child++;
        if (!aoei_neighbor_is_worse(heap[child], x, order, user))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = x;
}

void aoei_best_clear(aoei_neighbor *heap, size_t k) {
    for (size_t i = 0; i < k; i++)
        heap[i] = (aoei_neighbor){-INFINITY, AOEI_NO_TEXT};
}

void aoei_best_add(aoei_neighbor *heap, size_t k, aoei_neighbor x, aoei_order_fn order, void *user) {
    if (aoei_neighbor_is_worse(*heap, x, order, user))
        replace_root(heap, k, x, order, user);
}

void aoei_best_sort(aoei_neighbor *heap, size_t k, aoei_order_fn order, void *user) {
    for (; k > 1; k--) {
        const aoei_neighbor worst = heap[0];
        replace_root(heap, k - 1, heap[k - 1], order, user);
        heap[k - 1] = worst;
    }
}
