/* SPDX-License-Identifier: MIT
 * Finds near duplicates: texts whose sets of words A and B have a high Jaccard index |A and B| / |A or B|. The search is exact,
 * so it finds every such pair. A word is a sequence of letters and digits. Case is ignored.
 */
#ifndef AOEI_DATASET_NEAR_DUPLICATES_H
#define AOEI_DATASET_NEAR_DUPLICATES_H

#include "dataset/clusters.h"
#include "dataset/distinct.h"

/* Joins the clusters of near duplicates in c. Two texts are near duplicates if their Jaccard index is at least `threshold`.
 * - item: [texts->n] for each text, its item in c
 * - class: [texts->n] result of aoei_distinct_classes; only the first text of each class is compared
 * - threshold: above 0, and at most 1
 * - *joined: receives the number of joins that merged two clusters
 * Errors: AOE_EARG, AOE_ENOMEM. */
int aoei_near_duplicates_join(aoei_clusters *c, const aoei_distinct *texts, const size_t *class, const size_t *item,
                              double threshold, size_t *joined, aoe_error *err);

#endif
