/* SPDX-License-Identifier: MIT
 * Clusters of n items that are joined pair by pair (disjoint sets, Tarjan 1975), and their random split into parts with
 * given ratios. A cluster is never divided. Items are numbers; the caller defines what they represent (texts, issues, rows).
 * Invariant: a cluster is identified by its first member, so the order of joins does not matter.
 */
#ifndef AOEI_DATASET_CLUSTERS_H
#define AOEI_DATASET_CLUSTERS_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef struct aoei_clusters {
    size_t
        *parent; /* [n] parent of each item: an earlier member of its cluster, or the item itself for the first member; owned */
    size_t n;    /* number of items */
} aoei_clusters;

int aoei_clusters_create(aoei_clusters *c, size_t n, aoe_error *err); /* creates one cluster per item; errors: AOE_ENOMEM */
void aoei_clusters_free(aoei_clusters *c);                            /* accepts a zeroed struct */
size_t aoei_clusters_first(aoei_clusters *c, size_t item);            /* first member of the item's cluster */
void aoei_clusters_join(aoei_clusters *c, size_t a, size_t b);
/* Numbers the clusters from 0 in the order of their first members. of: [n] receives the cluster of each item. Returns the
 * number of clusters. */
size_t aoei_clusters_number(aoei_clusters *c, size_t *of);

/* Assigns n_clusters clusters to parts. weight: [n_clusters] rows or items per cluster, at least 1. share: [n_parts] split
 * ratios, not negative, of any sum. part: [n_clusters] receives the part of each cluster. Clusters are assigned in order of
 * decreasing weight. Each goes to a random part among those with enough remaining capacity, with probability proportional to
 * the capacity, so that light clusters balance the sizes and every part gets clusters of all weights. A cluster that fits
 * into no part goes to the part with the largest remaining capacity. A part with ratio 0 gets no cluster. The seed
 * determines the result. Time: O(n log n). Errors: AOE_EARG (no ratio is positive, a ratio is NaN or negative, 2^32 clusters
 * or more), AOE_ENOMEM. */
int aoei_clusters_split(size_t *part, const size_t *weight, size_t n_clusters, const double *share, size_t n_parts,
                        uint64_t seed, aoe_error *err);

#endif
