/* SPDX-License-Identifier: MIT
 * The options of evaluations.
 */
#pragma once

#include "options/option.h"

extern const char *const aoei_bench_mode_names[]; /* names of the values of aoe_bench_mode, NULL-terminated */

/* The rows of each struct, one group per heading of the help. */
/* aoe_sts_options */
extern const aoei_option_group aoei_sts_similarity_rows;
/* aoe_retrieval_options */
extern const aoei_option_group aoei_retrieval_metrics_rows;
extern const aoei_option_group aoei_retrieval_search_rows;
extern const aoei_option_group aoei_retrieval_input_rows;
/* aoe_rerank_options */
extern const aoei_option_group aoei_rerank_lists_rows;
extern const aoei_option_group aoei_rerank_output_rows;
extern const aoei_option_group aoei_rerank_input_rows;
/* aoe_binary_options */
extern const aoei_option_group aoei_binary_classes_rows;
extern const aoei_option_group aoei_binary_similarity_rows;
/* aoe_suite_options */
extern const aoei_option_group aoei_suite_rows;
/* aoe_triplet_options */
extern const aoei_option_group aoei_triplets_rows;
extern const aoei_option_group aoei_triplet_similarity_rows;
/* aoe_bench_options */
extern const aoei_option_group aoei_bench_rows;
