/* SPDX-License-Identifier: MIT
 * Implements disjoint sets and the assignment of clusters to parts. Each item has a parent (aoei_clusters.parent), and
 * the root of a set is its smallest member. While the path of parents from an item to the root is followed, it is
 * halved. m joins take O(m log n) time in the worst case, and about O(m) time in practice. Clusters are assigned
 * greedily in order of decreasing weight.
 */
#include "dataset/clusters.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"

int aoei_clusters_create(aoei_clusters *c, size_t n, aoe_error *err) {
    *c = (aoei_clusters){.n = n};
    c->parent = aoei_malloc_array(n, sizeof *c->parent);
    if (!c->parent)
        return aoei_fail_nomem(err, n * sizeof *c->parent);
    for (size_t i = 0; i < n; i++)
        c->parent[i] = i;
    return 0;
}

void aoei_clusters_free(aoei_clusters *c) {
    aoei_free(c->parent);
    *c = (aoei_clusters){0};
}

size_t aoei_clusters_first(aoei_clusters *c, size_t item) {
    while (c->parent[item] != item) {
        c->parent[item] = c->parent[c->parent[item]];
        item = c->parent[item];
    }
    return item;
}

void aoei_clusters_join(aoei_clusters *c, size_t a, size_t b) {
    a = aoei_clusters_first(c, a);
    b = aoei_clusters_first(c, b);
    if (a < b)
        c->parent[b] = a;
    else
        c->parent[a] = b;
}

size_t aoei_clusters_number(aoei_clusters *c, size_t *of) {
    size_t count = 0;
    for (size_t i = 0; i < c->n; i++) {
        const size_t first = aoei_clusters_first(c, i);
        of[i] = first == i ? count++ : of[first]; /* the first member of a cluster is numbered before its other
                                                     members */
    }
    return count;
}

/* A cluster that is to be assigned to a part. */
typedef struct entry {
    size_t weight, cluster; /* weight of the cluster, and its number (counted from 0) */
    size_t random_order;    /* random number that determines the order of clusters with equal weight */
} entry;

static int by_weight(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return (x->random_order > y->random_order) - (x->random_order < y->random_order);
}

/* Returns the part for a cluster with the given weight. If some parts have enough remaining capacity, one of them is
 * chosen at random; its probability is proportional to its remaining capacity. Otherwise, the part with the largest
 * remaining capacity is chosen. capacity: [n_parts] remaining capacity of each part. share: [n_parts] split ratios; a
 * part with ratio 0 is never chosen. */
static size_t choose(const double *capacity, const double *share, size_t n_parts, double weight, aoei_rng *rng) {
    double sum = 0;
    size_t largest = n_parts, last = n_parts;
    for (size_t p = 0; p < n_parts; p++) {
        if (!(share[p] > 0))
            continue;
        largest = largest == n_parts || capacity[p] > capacity[largest] ? p : largest;
        sum += capacity[p] >= weight ? capacity[p] : 0;
    }
    double random_point = aoei_rng_uniform(rng) * sum;
    for (size_t p = 0; p < n_parts; p++) {
        if (!(share[p] > 0) || capacity[p] < weight)
            continue;
        last = p;
        random_point -= capacity[p];
        if (random_point < 0)
            break;
    }
    return last == n_parts ? largest : last;
}

int aoei_clusters_split(size_t *part, const size_t *weight, size_t n_clusters, const double *share, size_t n_parts,
                        uint64_t seed, aoe_error *err) {
    double total = 0, share_sum = 0;
    for (size_t p = 0; p < n_parts; p++) {
        if (!isfinite(share[p]) || share[p] < 0)
            return aoei_fail(err, AOE_EARG, "split ratio %zu is %g; it must be a finite number that is not negative",
                             p + 1, share[p]);
        share_sum += share[p];
    }
    if (!(share_sum > 0) || !isfinite(share_sum) || n_clusters > UINT32_MAX)
        return aoei_fail(err, AOE_EARG,
                         "cannot split %zu clusters: the sum of the split ratios is %g; use ratios such as 0.8 and 0.2",
                         n_clusters, share_sum);
    size_t *random_order = aoei_malloc_array(n_clusters, sizeof *random_order);
    entry *order = aoei_malloc_array(n_clusters, sizeof *order);
    double *capacity = aoei_malloc_array(n_parts, sizeof *capacity);
    int rc = random_order && order && capacity ? 0 : aoei_fail_nomem(err, n_clusters * sizeof *order);
    if (!rc) {
        aoei_rng rng;
        aoei_rng_init(&rng, seed, AOEI_STREAM_SPLIT, 0);
        for (size_t i = 0; i < n_clusters; i++)
            random_order[i] = i;
        aoei_rng_shuffle(&rng, random_order, n_clusters);
        for (size_t i = 0; i < n_clusters; i++) {
            order[i] = (entry){weight[i], i, random_order[i]};
            total += (double)weight[i];
        }
        for (size_t p = 0; p < n_parts; p++)
            capacity[p] = share[p] / share_sum * total;
        qsort(order, n_clusters, sizeof *order, by_weight);
        for (size_t i = 0; i < n_clusters; i++) {
            const double w = (double)order[i].weight;
            const size_t p = choose(capacity, share, n_parts, w, &rng);
            part[order[i].cluster] = p;
            capacity[p] -= w;
        }
    }
    aoei_free(capacity);
    aoei_free(order);
    aoei_free(random_order);
    return rc;
}
