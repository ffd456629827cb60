/* SPDX-License-Identifier: MIT
 * Clusters of n items that are joined pair by pair (disjoint sets, Tarjan 1975), and the random assignment of whole clusters
 * to parts with given ratios. Items are the indices 0 to n - 1; the caller defines what they represent (texts, issues or
 * rows). Invariant: a cluster is identified by its first member, so the order of joins does not matter.
 */
#ifndef AOEI_DATASET_CLUSTERS_H
#define AOEI_DATASET_CLUSTERS_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef struct aoei_clusters {
    size_t *parent; /* [n] parent of each item: an earlier member of its cluster; the first member is its own parent; owned */
    size_t n;       /* number of items */
} aoei_clusters;

int aoei_clusters_create(aoei_clusters *c, size_t n,
                         aoe_error *err);                      /* creates n clusters of one item each; errors: AOE_ENOMEM */
void aoei_clusters_free(aoei_clusters *c);                     /* accepts a zeroed struct */
size_t aoei_clusters_first(aoei_clusters *c, size_t item);     /* returns the first member of the item's cluster */
void aoei_clusters_join(aoei_clusters *c, size_t a, size_t b); /* merges the clusters of items a and b */
/* Numbers the clusters from 0 in the order of their first members, and stores the number of the cluster of each item in of[n].
 * Returns the number of clusters. */
size_t aoei_clusters_number(aoei_clusters *c, size_t *of);

/* Assigns n_clusters clusters to parts. weight: [n_clusters] number of rows or items of each cluster, at least 1. share:
 * [n_parts] non-negative split ratios with any sum. part: [n_clusters] receives the part of each cluster. Clusters are
 * assigned in order of decreasing weight. Each is assigned to a random part among those with enough remaining capacity, with
 * probability proportional to the capacity. Light clusters therefore even out the sizes of the parts, and every part receives
 * clusters of all weights. A cluster that does not fit into any part is assigned to the part with the largest remaining
 * capacity. A part with ratio 0 receives no cluster. The result depends only on the arguments. Time: O(n log n). Errors:
 * AOE_EARG (no ratio is positive, a ratio is NaN or negative, or there are 2^32 clusters or more), AOE_ENOMEM. */
int aoei_clusters_split(size_t *part, const size_t *weight, size_t n_clusters, const double *share, size_t n_parts,
                        uint64_t seed, aoe_error *err);

#endif
