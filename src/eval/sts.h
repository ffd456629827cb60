/* SPDX-License-Identifier: MIT
 * Semantic textual similarity over anything that turns texts into vectors. The
 * public functions (aoe.h) put an embedder behind this; tests put their own.
 */
#ifndef AOEI_EVAL_STS_H
#define AOEI_EVAL_STS_H

#include <stddef.h>

#include "aoe.h"

typedef struct aoei_sts_encoder {
    size_t dims;
    /* vectors: [n, dims]. On failure *failed is the text it was about, or (size_t)-1. */
    int (*embed)(void *user, const aoe_text *texts, size_t n, float *vectors, size_t *failed, aoe_error *err);
    /* Number of tokens of a text, specials included. NULL: every text has tokens. */
    int (*count_tokens)(void *user, aoe_text text, size_t *n, aoe_error *err);
    void *user;
} aoei_sts_encoder;

/* As aoe_eval_sts and aoe_eval_pairs. All inputs are read, and no text is without tokens, before the first report. */
int aoei_sts_run(const aoei_sts_encoder *e, const char *const *paths, size_t n_paths, const aoe_table_options *o,
                 aoe_sts_fn report, void *user, aoe_error *err);
int aoei_sts_pairs(const aoei_sts_encoder *e, const aoe_pairs *p, aoe_sts_result *result, aoe_error *err);

#endif
