/* SPDX-License-Identifier: MIT
 * Near duplicates: texts whose sets of words are alike, |A and B| / |A or B| (the Jaccard index). Exact: every
 * such pair is found. Words are runs of letters and digits, case folded.
 */
#ifndef AOEI_DATASET_NEAR_DUPLICATES_H
#define AOEI_DATASET_NEAR_DUPLICATES_H

#include "dataset/clusters.h"
#include "dataset/distinct.h"

/* Joins the items of texts whose index is `threshold` (above 0) or more. class: [texts->n] as aoei_distinct_classes gives it:
 * one text of a class is looked at; item: [texts->n] in c. *joined: pairs that joined two clusters. Errors: AOE_EARG,
 * AOE_ENOMEM. */
int aoei_near_duplicates_join(aoei_clusters *c, const aoei_distinct *texts, const size_t *class, const size_t *item,
                              double threshold, size_t *joined, aoe_error *err);

#endif
