/* SPDX-License-Identifier: MIT
 * Evaluation of retrieval with any model (eval_model.h). The public function is in aoe_eval.h.
 */
#ifndef AOEI_EVAL_RETRIEVAL_H
#define AOEI_EVAL_RETRIEVAL_H

#include "aoe_eval.h"
#include "eval/eval_model.h"

/* Implements aoe_eval_retrieval. queries and docs may be the same model. o is not NULL; o->doc_embedder is ignored. All inputs
 * are read and checked before the first report. */
int aoei_retrieval_run(const aoei_eval_model *queries, const aoei_eval_model *docs, const char *const *paths, size_t n_paths,
                       const aoe_retrieval_options *o, aoe_retrieval_fn report, void *user, aoe_error *err);

#endif
