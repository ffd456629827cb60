/* SPDX-License-Identifier: MIT
 * Evaluates retrieval with any model (eval_model.h). The public function aoe_eval_retrieval is declared in aoe_eval.h.
 */
#ifndef AOEI_EVAL_RETRIEVAL_H
#define AOEI_EVAL_RETRIEVAL_H

#include "aoe_eval.h"
#include "eval/eval_model.h"

/* Implements aoe_eval_retrieval. `queries` embeds the queries, and `docs` embeds the texts to search; they may be the same
 * model. o must not be NULL; o->doc_embedder is ignored. All inputs are read and checked before the first call of report. */
int aoei_retrieval_run(const aoei_eval_model *queries, const aoei_eval_model *docs, const char *const *paths, size_t n_paths,
                       const aoe_retrieval_options *o, aoe_retrieval_fn report, void *user, aoe_error *err);

#endif
