/* SPDX-License-Identifier: MIT
 * A binary heap of neighbors, whose root is the worst neighbor, so that a better one replaces it in O(log k) steps, and
 * Hoare's quickselect.
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

static void swap(aoei_neighbor *x, size_t a, size_t b) {
    const aoei_neighbor t = x[a];
    x[a] = x[b];
    x[b] = t;
}

/* Moves the median of the first, the middle and the last of n > 1 elements to the start of x. */
static void choose_pivot(aoei_neighbor *x, size_t n, aoei_order_fn order, void *user) {
    const size_t middle = n / 2, last = n - 1;
    if (aoei_neighbor_is_worse(x[middle], x[last], order, user))
        swap(x, middle, last);
    if (aoei_neighbor_is_worse(x[0], x[last], order, user))
        swap(x, 0, last); /* the last element is now the worst of the three */
    if (aoei_neighbor_is_worse(x[middle], x[0], order, user))
        swap(x, 0, middle);
}

/* A callback that fails may change its order. The bounds of i and j then keep them in the array. At first, i = 0 stays
 * and j is n - 2 at most after a swap, so each round ends with fewer elements for any order. */
void aoei_best_select(aoei_neighbor *x, size_t n, size_t k, aoei_order_fn order, void *user) {
    while (n > 1 && k && k < n) {
        choose_pivot(x, n, order, user);
        const aoei_neighbor pivot = x[0];
        size_t i = 0, j = n - 1;
        for (;; swap(x, i++, j--)) {
            while (i < n - 1 && aoei_neighbor_is_worse(pivot, x[i], order, user))
                i++;
            while (j > 0 && aoei_neighbor_is_worse(x[j], pivot, order, user))
                j--;
            if (i >= j)
                break;
        }
        /* No element of x[0, j] ranks after the pivot, and none of x[j + 1, n) ranks before it. */
        if (k <= j) {
            n = j + 1;
        } else {
            x += j + 1;
            n -= j + 1;
            k -= j + 1;
        }
    }
}
