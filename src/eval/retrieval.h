/* SPDX-License-Identifier: MIT
 * Evaluates retrieval with any model (eval_model.h). The public function aoe_eval_retrieval is declared in aoe_eval.h.
 */
#pragma once

#include "aoe_eval.h"
#include "eval/eval_model.h"
#include "eval/retrieval_data.h"

/* Implements aoe_eval_retrieval. `queries` embeds the queries, and `docs` embeds the texts to search; they may be the
 * same model. o must not be NULL; o->doc_embedder is ignored. All inputs are read and checked before the first call of
 * report. */
int aoei_retrieval_run(const aoei_eval_model *queries, const aoei_eval_model *docs, const char *const *paths,
                       size_t n_paths, const aoe_retrieval_options *o, aoe_retrieval_fn report, void *user,
                       aoe_error *err);

/* Finds the `top` nearest texts of each query of d, which is a BEIR folder. list: [d->n_queries, top] receives the
 * indices of the texts, the nearest first; missing elements are AOEI_NO_TEXT. A text with the id of the query is
 * excluded. queries, docs: as in aoei_retrieval_run. p: progress; d->texts.n + d->n_queries units are added. */
int aoei_retrieval_lists(uint32_t *list, const aoei_retrieval_data *d, const aoei_eval_model *queries,
                         const aoei_eval_model *docs, size_t top, aoei_eval_progress *p, aoe_error *err);
