/* SPDX-License-Identifier: MIT
 * Retrieval over anything that turns texts into vectors; the public function is in aoe.h.
 */
#ifndef AOEI_EVAL_RETRIEVAL_H
#define AOEI_EVAL_RETRIEVAL_H

#include "aoe_eval.h"
#include "eval/eval_model.h"

/* As aoe_eval_retrieval; queries and docs may be the same, o may not be NULL and its doc_embedder is not looked at. All inputs
 * are read and checked before the first report. */
int aoei_retrieval_run(const aoei_eval_model *queries, const aoei_eval_model *docs, const char *const *paths, size_t n_paths,
                       const aoe_retrieval_options *o, aoe_retrieval_fn report, void *user, aoe_error *err);

#endif
