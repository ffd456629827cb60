/* SPDX-License-Identifier: MIT
 * Finds near duplicates, which are two texts with a high Jaccard index. The Jaccard index of two texts is the number of
 * distinct words that occur in both texts, divided by the number of distinct words that occur in at least one of them.
 * A word is a longest sequence of letters and digits. Case is ignored. The search is exact, so it finds every pair of
 * near duplicates. A text without words has no near duplicates.
 */
#pragma once

#include "dataset/clusters.h"
#include "base/distinct.h"

/* For each pair of near duplicates, merges the two clusters of c that contain their items. Two texts are near
 * duplicates if their Jaccard index is at least `threshold`.
 * - texts: distinct texts to compare
 * - class: [texts->n] result of aoei_text_classes; only the first text of each class is compared
 * - item: [texts->n] item[i] is the item of c (for example the row of a table) that represents text i
 * - threshold: above 0, and at most 1
 * - *joined: receives the number of times that two different clusters were merged
 * Errors: AOE_EARG, AOE_ENOMEM. */
int aoei_near_duplicates_join(aoei_clusters *c, const aoei_distinct *texts, const size_t *class, const size_t *item,
                              double threshold, size_t *joined, aoe_error *err);
