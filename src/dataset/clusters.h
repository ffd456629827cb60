/* SPDX-License-Identifier: MIT
 * Clusters of n items that are joined pair by pair (disjoint sets, Tarjan 1975), and their
 * seeded split into parts by shares, no cluster crossing parts. Items are numbers; what they
 * stand for (texts, issues, rows) is the caller's business.
 * Invariant: a cluster is known by its first member, so that the order of joins does not matter.
 */
#ifndef AOEI_DATASET_CLUSTERS_H
#define AOEI_DATASET_CLUSTERS_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

typedef struct aoei_clusters {
    size_t *parent; /* owned [n] an earlier member of the same cluster; of the first member itself */
    size_t n;       /* items */
} aoei_clusters;

int aoei_clusters_create(aoei_clusters *c, size_t n, aoe_error *err); /* each item alone. AOE_ENOMEM */
void aoei_clusters_free(aoei_clusters *c);                            /* accepts a zeroed one */
size_t aoei_clusters_first(aoei_clusters *c, size_t item);            /* the first member of the item's cluster */
void aoei_clusters_join(aoei_clusters *c, size_t a, size_t b);
/* of: [n] the number of each item's cluster, in the order of first members, from 0. Returns how many clusters there are. */
size_t aoei_clusters_number(aoei_clusters *c, size_t *of);

/* Puts n_clusters clusters into parts. weight: [n_clusters] of each, at least 1 (rows, or items); share: [n_parts] of the whole
 * weight, not negative, in any unit. part: [n_clusters] becomes the part of each. Heavy clusters are placed first, each in a
 * part drawn by the room left among those that it fits into, so that light ones even out the sizes and each part gets clusters
 * of all weights; one that fits nowhere goes where most room is left. A part of share 0 gets none. The same seed, the same
 * split. Takes n log n. Errors: AOE_EARG (no part with a share, or a share that is no number; 2^32 clusters or more),
 * AOE_ENOMEM. */
int aoei_clusters_split(size_t *part, const size_t *weight, size_t n_clusters, const double *share, size_t n_parts,
                        uint64_t seed, aoe_error *err);

#endif
