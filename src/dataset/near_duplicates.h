/* SPDX-License-Identifier: MIT
 * Near duplicates: texts whose sets of words A and B have a high Jaccard index |A and B| / |A or B|. The search is exact: it
 * finds all such pairs. Words are sequences of letters and digits; case is ignored.
 */
#ifndef AOEI_DATASET_NEAR_DUPLICATES_H
#define AOEI_DATASET_NEAR_DUPLICATES_H

#include "dataset/clusters.h"
#include "dataset/distinct.h"

/* Joins the clusters of all texts whose Jaccard index is at least `threshold`, which must be above 0 and at most 1. class:
 * [texts->n] from aoei_distinct_classes; only the first text of each class is compared. item: [texts->n] item of each text in
 * c. *joined is set to the number of pairs that joined two clusters. Errors: AOE_EARG, AOE_ENOMEM. */
int aoei_near_duplicates_join(aoei_clusters *c, const aoei_distinct *texts, const size_t *class, const size_t *item,
                              double threshold, size_t *joined, aoe_error *err);

#endif
