/* SPDX-License-Identifier: MIT
 * Rules about names of columns: which names number the negatives of a row, and which names look like labels, scores or
 * negatives. The case of ASCII letters is ignored.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"

/* Returns 1 if a column with this name contains a negative: "contradiction", or "neg", "negs", "negative", "negatives"
 * or "rejected", with an optional prefix "hard_" and an optional number, such as negative_2, neg3 or hard_negative_1.
 * *number is set to the number plus 1, or to 0 if the name has no number. */
int aoei_negative_number(aoe_text name, size_t *number);
/* Returns 1 if each element of a JSON list in a column with this name is a negative of its own: neg, negs, negatives,
 * hard_negatives. In other columns, the elements of a list are alternatives. */
int aoei_is_negatives_list(aoe_text name);
/* Returns 1 if the name looks like a label or a score of a row: its last word is label, score, similarity, sim, cosine,
 * relatedness, relevance, rating, grade, judgment, class, target or a plural, as in gold_label or similarityScore, or
 * it is is_NAME with a relation of two texts, such as is_duplicate. Scores of single texts, such as neg_scores or
 * positive_score, are no scores of a row. */
int aoei_looks_like_label(aoe_text name);
/* Returns 1 if the name looks like negatives: one of its words is neg, negative or a plural. Numbers of texts and their
 * scores, such as negative_id or neg_scores, do not look like negatives. */
int aoei_looks_like_negative(aoe_text name);
