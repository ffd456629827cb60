/* SPDX-License-Identifier: MIT
 * The options of evaluations.
 */
#pragma once

#include "options/option.h"

extern const aoei_option_group aoei_retrieval_metrics, aoei_retrieval_input;             /* aoe_retrieval_options */
extern const aoei_option_group aoei_rerank_lists, aoei_rerank_output, aoei_rerank_input; /* aoe_rerank_options */
extern const aoei_option_group aoei_binary_classes;                                      /* aoe_binary_options */
extern const aoei_option_group aoei_suite;                                               /* aoe_suite_options */
extern const aoei_option_group aoei_triplets;                                            /* aoe_triplet_options */
