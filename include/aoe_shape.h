/* SPDX-License-Identifier: MIT
 *
 * aoe_shape.h: sizes of encoders.
 */
#ifndef AOE_SHAPE_H
#define AOE_SHAPE_H

#include "aoe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sizes of an encoder. */
typedef struct aoe_shape {
    size_t struct_size; /* set by the caller */
    size_t hidden, layers, heads, intermediate, vocab;
    size_t positions; /* maximum tokens of a text. A RAN has no position embeddings; for a RAN, this is only the length
                         to which texts are truncated */
    size_t kv_heads;  /* number of heads of keys and values; 0: equal to `heads` */
    const char *architecture; /* name as in aoe_model_info, borrowed; NULL: "bert" */
    size_t head_size, window; /* RAN: components per head, tokens per window; otherwise 0 */
} aoe_shape;
/* Sets the fields of *s to the sizes of the encoder with the given name: bert-base, bert-large, bert-small, bert-mini,
 * bert-tiny, minilm-l6, minilm-l12, aoe-mini, roberta-base, llama2-7b, tinyllama-1.1b, qwen2.5-0.5b, ran-base or
 * ran-mini. Errors: AOE_EARG (unknown name; the message lists the valid names). */
AOE_API int aoe_shape_named(aoe_shape *s, const char *name, aoe_error *AOE_NULLABLE err);
AOE_API const char *aoe_shape_names(void); /* all names, comma-separated; static string */

#ifdef __cplusplus
}
#endif

#endif
