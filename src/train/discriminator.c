/* SPDX-License-Identifier: MIT
 * Implements replaced token detection. Chunks are processed in the order of the batch. Every sum continues with the
 * next token in this order, so float32 results do not depend on the size of the chunks.
 */
#include "train/discriminator.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "encoder/arch.h"
#include "encoder/slots.h"
#include "encoder/transformer.h"
#include "loss/detection_objective.h"
#include "nn/elementwise.h"

enum { CLASSES = AOEI_DETECTION_CLASSES, ENCODER = 1 /* index of the discriminator among the encoders */ };
enum { KEY_OF_TOKENS, KEY_OF_DROPOUT }; /* purposes of random numbers */

void aoei_replacement_key(uint32_t key[2], const uint32_t step[2], uint32_t purpose) {
    const uint32_t counter[4] = {purpose, 0, 0, AOEI_STREAM_REPLACE};
    uint32_t out[4];
    aoei_philox(out, counter, step);
    memcpy(key, out, 2 * sizeof *key);
}

int aoei_discriminator_supports(const aoei_encoder_config *c) {
    return c->arch->encoder == &aoei_transformer_ops && !aoei_pools_mean_state(c) && !c->modules.n_kernels;
}

static int layout(aoei_added_loss *l, const aoe_context *ctx, const aoei_encoder_config *c, aoei_arena *arena,
                  size_t tokens, size_t texts, size_t longest, aoei_encoder_mode mode, aoe_error *err) {
    aoei_discriminator *d = (aoei_discriminator *)l;
    mode.taps = 0;
    d->first.value = aoei_tensor_take_typed(arena, mode.type, texts, c->hidden);
    d->first.grad = aoei_tensor_take(arena, texts, c->hidden);
    return aoei_encoder_layout(&d->state, ctx, c, arena, tokens, texts, longest, mode, err);
}

static int create(aoei_added_loss *l, const aoei_encoder_config *c, size_t tokens, aoe_error *err) {
    aoei_discriminator *d = (aoei_discriminator *)l;
    const size_t D = c->hidden, cells = CLASSES * (D + 1);
    d->ids = aoei_malloc_array(tokens, sizeof *d->ids);
    d->label = aoei_malloc_array(tokens, sizeof *d->label);
    d->host = aoei_malloc_array(tokens, D * sizeof *d->host);
    d->grad = aoei_malloc_array(tokens, D * sizeof *d->grad);
    d->work = aoei_malloc_array(tokens, AOEI_DETECTION_WORK * sizeof *d->work);
    d->head = aoei_malloc_array(cells, sizeof *d->head);
    d->values = aoei_malloc_array(cells, sizeof *d->values);
    d->sum = aoei_malloc_array(cells, sizeof *d->sum);
    return d->ids && d->label && d->host && d->grad && d->work && d->head && d->values && d->sum
               ? AOE_OK
               : aoei_fail(
                     err, AOE_ENOMEM,
                     "out of memory for a discriminator of %zu tokens; lower options.batch_size or options.cache_chunk",
                     tokens);
}

void aoei_discriminator_destroy(aoei_discriminator *d) {
    aoei_free(d->ids);
    aoei_free(d->label);
    aoei_free(d->host);
    aoei_free(d->grad);
    aoei_free(d->work);
    aoei_free(d->head);
    aoei_free(d->values);
    aoei_free(d->sum);
    *d = (aoei_discriminator){0};
}

/* Reads the classifier and sets all sums to zero. */
static void begin(aoei_added_loss *l, const aoe_context *ctx, const aoei_encoder_config *c, const aoei_params *p,
                  size_t tokens) {
    aoei_discriminator *d = (aoei_discriminator *)l;
    const size_t weights = CLASSES * c->hidden, slot = aoei_pooled_slot(c, AOEI_PW_HEAD);
    aoei_tensor_read(ctx, d->head, p->values[slot]);
    aoei_tensor_read(ctx, d->head + weights, p->values[slot + 1]);
    for (size_t i = 0; i < weights + CLASSES; i++)
        d->values[i] = (double)d->head[i];
    memset(d->sum, 0, (weights + CLASSES) * sizeof *d->sum);
    d->sums = (aoei_detection_sums){.tokens = tokens};
}

/* Replaces the tokens of the chunk, and sets the labels. Returns the batch with the new tokens. */
static aoei_batch replace_tokens(aoei_discriminator *d, const aoei_batch *chunk) {
    aoei_batch replaced = *chunk;
    uint32_t key[2];
    aoei_replacement_key(key, d->key, KEY_OF_TOKENS);
    d->replacement.replace(d->replacement.self, chunk, key, d->ids);
    for (size_t i = 0; i < chunk->n_texts; i++)
        d->ids[chunk->offsets[i]] = chunk->ids[chunk->offsets[i]];
    for (size_t t = 0; t < chunk->n_tokens; t++)
        d->label[t] = d->ids[t] != chunk->ids[t];
    replaced.ids = d->ids;
    replaced.cutoffs = NULL;
    return replaced;
}

/* Computes the loss of the hidden states in d->host, and its gradient in d->grad. */
static int detect(aoei_discriminator *d, const aoe_context *ctx, size_t n, size_t D, double scale, aoe_error *err) {
    const aoei_detector classifier = {
        .weight = d->values, .bias = d->values + CLASSES * D, .d_weight = d->sum, .d_bias = d->sum + CLASSES * D};
    const aoei_detection_batch batch = {.n = n,
                                        .D = D,
                                        .v = d->host,
                                        .grad = d->grad,
                                        .label = d->label,
                                        .factor = scale * d->replacement.weight / (double)d->sums.tokens,
                                        .work = d->work};
    return aoei_detection_objective(&classifier, &batch, &d->sums.loss, ctx, err);
}

/* The masks of dropout are a function of d->key. */
static int add_chunk(aoei_added_loss *l, const aoe_context *ctx, const aoei_encoder_config *c, const aoei_params *p,
                     const aoei_batch *chunk, aoei_tensor z, aoei_tensor dz, const aoei_encoder_dropout *drop,
                     double scale, aoe_error *err) {
    aoei_discriminator *d = (aoei_discriminator *)l;
    const size_t n = chunk->n_tokens, texts = chunk->n_texts;
    const aoei_batch batch = replace_tokens(d, chunk);
    aoei_encoder_dropout own = drop ? *drop : (aoei_encoder_dropout){0};
    aoei_replacement_key(own.key, d->key, KEY_OF_DROPOUT);
    drop = drop ? &own : NULL;
    const aoei_first_vectors first = {.value = aoei_tensor_rows(d->first.value, 0, texts),
                                      .grad = aoei_tensor_rows(d->first.grad, 0, texts)};
    aoei_tensor_copy(ctx, first.value, z);
    d->state.first = &first;
    const aoei_tensor last = aoei_encoder_forward(ctx, c, aoei_params_values(p, ENCODER), &batch, &d->state, drop);
    aoei_tensor_read(ctx, d->host, last);
    const int code = detect(d, ctx, n, c->hidden, scale, err);
    if (!code) {
        aoei_tensor_write(ctx, aoei_encoder_grad_last(&d->state, n), d->grad);
        aoei_encoder_backward(ctx, c, aoei_params_values(p, ENCODER), aoei_params_grads(p, ENCODER), &batch, &d->state,
                              drop, 0);
        aoei_add(ctx, dz, dz, first.grad);
    }
    d->state.first = NULL;
    return code;
}

/* Adds the gradients of the classifier. */
static double end(aoei_added_loss *l, const aoe_context *ctx, const aoei_encoder_config *c, const aoei_params *p,
                  double scale) {
    aoei_discriminator *d = (aoei_discriminator *)l;
    const size_t weights = CLASSES * c->hidden, slot = aoei_pooled_slot(c, AOEI_PW_HEAD);
    const double factor = scale * d->replacement.weight / (double)d->sums.tokens;
    aoei_tensor_read(ctx, d->head, p->grads[slot]);
    aoei_tensor_read(ctx, d->head + weights, p->grads[slot + 1]);
    for (size_t i = 0; i < weights + CLASSES; i++)
        d->head[i] = (float)((double)d->head[i] + factor * d->sum[i]);
    aoei_tensor_write(ctx, p->grads[slot], d->head);
    aoei_tensor_write(ctx, p->grads[slot + 1], d->head + weights);
    return d->sums.loss;
}

static void report(const aoei_added_loss *l, double sum, size_t tokens, aoe_objective_result *result) {
    const aoei_discriminator *d = (const aoei_discriminator *)l;
    result->detection = sum / (double)tokens;
    result->total += d->replacement.weight * result->detection;
}

static const aoei_added_loss_ops ops = {
    .layout = layout, .create = create, .begin = begin, .chunk = add_chunk, .end = end, .report = report};

void aoei_discriminator_init(aoei_discriminator *d, const aoei_replacement *replacement) {
    *d = (aoei_discriminator){.base = {.ops = &ops}, .replacement = *replacement};
}
