/* SPDX-License-Identifier: MIT
 * Clusters of n items (disjoint sets, Tarjan 1975), and the random assignment of clusters to parts. Initially, every
 * item is a cluster. Joining two items merges their clusters. All items of a cluster are assigned to one part; the
 * sizes of the parts follow given split ratios. Items are the indices 0 to n - 1; the caller defines whether they
 * represent texts, issues or rows. Invariant: a cluster is identified by its first member, so the order of joins does
 * not matter.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef struct aoei_clusters {
    size_t *parent; /* [n] for each item, an earlier member of its cluster, or the item itself if it is the first
                       member; owned */
    size_t n;       /* number of items */
} aoei_clusters;

int aoei_clusters_create(aoei_clusters *c, size_t n, aoe_error *err); /* creates n clusters that contain one item each;
                                                                         errors: AOE_ENOMEM */
void aoei_clusters_free(aoei_clusters *c);                            /* accepts a zeroed struct */
size_t aoei_clusters_first(aoei_clusters *c, size_t item); /* returns the first (smallest) member of the cluster that
                                                              contains `item` */
void aoei_clusters_join(aoei_clusters *c, size_t a, size_t b); /* merges the clusters that contain the items a and b */
/* Numbers the clusters from 0 in the order of their first members. of[i] is set to the number of the cluster that
 * contains item i; `of` has n elements. Returns the number of clusters. */
size_t aoei_clusters_number(aoei_clusters *c, size_t *of);

/* Assigns clusters to parts.
 * - part: [n_clusters] receives the part of each cluster
 * - weight: [n_clusters] number of rows or items in each cluster, at least 1
 * - share: [n_parts] split ratios, which are not negative; their sum may have any positive value
 * Clusters are assigned in order of decreasing weight. A cluster is assigned to a random part that has enough remaining
 * capacity; the probability of a part is proportional to its remaining capacity. If no part has enough capacity, the
 * cluster is assigned to the part with the largest remaining capacity. A part with ratio 0 receives no cluster. Because
 * light clusters are assigned last, they even out the sizes of the parts. Because the choice is random, every part
 * receives clusters of different weights. The result depends only on the arguments. Time: O(n log n). Errors:
 * - AOE_EARG if no ratio is positive, a ratio is negative or not finite, or n_clusters is 2^32 or more
 * - AOE_ENOMEM */
int aoei_clusters_split(size_t *part, const size_t *weight, size_t n_clusters, const double *share, size_t n_parts,
                        uint64_t seed, aoe_error *err);
