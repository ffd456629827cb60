/* SPDX-License-Identifier: MIT
 * Implements one training step on pairs or triplets.
 */
#include "train/pair_step.h"

#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "encoder/slots.h"
#include "nn/batch.h"
#include "nn/elementwise.h"

#include <string.h>

/* Returns the maximum number of texts in an example. */
static size_t max_arity(const aoei_pair_step_options *o) {
    return o->arity ? o->arity : 2;
}

/* Returns the number of modules that are applied to the embeddings before the loss. */
static size_t projection_length(const aoei_encoder_config *c) {
    const aoei_training_layers *training = aoei_training_layers_of(c);
    return training->projects_features ? 0 : training->n_projection;
}

/* Returns the number of components of the vectors from which the loss is computed. */
static size_t loss_dims(const aoei_pair_step *s) {
    const aoei_encoder_config *c = &s->config;
    return s->o.loss->of_tokens ? aoei_token_width(c)
                                : aoei_module_chain_dims(aoei_training_layers_of(c)->projection, projection_length(c),
                                                         aoei_vector_dims(c));
}

/* Returns the number of components of the rows that ranks exchange. */
static size_t gathered_dims(const aoei_pair_step *s) {
    const size_t pooled = aoei_pooled_dims(&s->config), dims = loss_dims(s);
    return pooled > dims ? pooled : dims;
}

/* Returns the maximum number of texts in a chunk. If the whole batch is one chunk, it includes the references. */
static size_t max_chunk_texts(const aoei_pair_step_options *o) {
    return max_arity(o) * o->chunk_pairs + (o->chunk_pairs == o->pairs ? o->references : 0);
}

size_t aoei_pair_step_chunk_tokens(const aoei_pair_step_options *o) {
    const size_t tokens = o->chunk_pairs && o->chunk_pairs < o->pairs ? o->chunk_tokens : o->tokens;
    if (!o->shards || !aoei_shards_are_several(o->shards))
        return tokens;
    /* The middles of the examples of a shard are in one of shards.n equal parts of the tokens, so that at most half of
     * its first and half of its last example are outside of this part. The same holds for the references. */
    const size_t texts = max_arity(o) + (o->references > 0), shard = o->tokens / o->shards->n + 1 + texts * o->longest;
    return tokens < shard ? tokens : shard;
}

static void lay_out_vectors(aoei_pair_step *s, aoei_arena *arena, size_t texts) {
    const aoei_encoder_config *c = &s->config;
    const size_t projection = projection_length(c);
    aoei_module_chain_layout(&s->chain, c->modules.list, c->modules.n, texts, aoei_pooled_dims(c), 1, arena);
    s->pooled = s->chain.value[0];
    s->projected = s->vectors = s->chain.value[c->modules.n];
    s->d_projected = s->d_vectors = s->chain.grad[c->modules.n];
    if (s->o.references)
        s->projected = s->difference = aoei_tensor_take(arena, texts, s->vectors.cols);
    if (!projection)
        return;
    aoei_module_chain_layout(&s->projection, aoei_training_layers_of(c)->projection, projection, texts, s->vectors.cols,
                             1, arena);
    s->projected = s->projection.value[projection];
    s->d_projected = s->projection.grad[projection];
}

/* Allocates the pooled vectors of hidden states, if there is a loss on them. */
static void lay_out_taps(aoei_pair_step *s, aoei_arena *arena, size_t texts) {
    const size_t n = aoei_layer_loss_states(s->o.layers, s->config.layers);
    if (!n)
        return;
    s->tap_grad = aoei_arena_take_array(arena, s->config.layers, sizeof *s->tap_grad);
    s->tap_pooled = aoei_arena_take_array(arena, n + 1, sizeof *s->tap_pooled);
    for (size_t i = 0; i <= n; i++) {
        const aoei_tensor t = aoei_tensor_take(arena, texts, aoei_pooled_dims(&s->config));
        if (s->tap_pooled)
            s->tap_pooled[i] = t;
    }
}

int aoei_pair_step_layout(aoei_pair_step *s, aoe_context *ctx, const aoei_encoder_config *c,
                          const aoei_pair_step_options *o, aoei_arena *arena, aoe_error *err) {
    s->ctx = ctx;
    s->config = *c;
    s->o = *o;
    s->arity = 2;
    s->o.loss = o->loss ? o->loss : &aoei_loss_of_labels;
    s->shards = o->shards ? *o->shards : aoei_shards_of(1, NULL);
    if (!o->chunk_pairs || o->chunk_pairs >= o->pairs)
        s->o.chunk_pairs = o->pairs;
    s->o.chunk_tokens = aoei_pair_step_chunk_tokens(o);
    const aoei_encoder_mode mode = {
        .type = o->type, .training = 1, .recompute = o->recompute, .taps = o->layers != NULL};
    int code = aoei_params_layout(&s->params, ctx, c,
                                  &(aoei_params_options){.type = o->type,
                                                         .optimizer = o->optimizer,
                                                         .second_encoder = o->twin || o->added,
                                                         .rank = (size_t)aoei_comm_rank(s->shards.comm),
                                                         .ranks = (size_t)aoei_comm_ranks(s->shards.comm)},
                                  arena, err);
    if (code)
        return code;
    aoei_gradient_tree_layout(&s->tree, &s->params, &s->shards, o->accumulates || o->added, arena);
    lay_out_vectors(s, arena, max_arity(o) * o->pairs + o->references);
    lay_out_taps(s, arena, max_arity(o) * o->pairs);
    const size_t texts = max_chunk_texts(&s->o);
    if (o->added &&
        (code = o->added->ops->layout(o->added, ctx, c, arena, s->o.chunk_tokens, texts, o->longest, mode, err)))
        return code;
    return aoei_encoder_layout(&s->state, ctx, c, arena, s->o.chunk_tokens, texts, o->longest, mode, err);
}

/* Returns the size in bytes of a workspace that is large enough for the loss, or 0 if the size overflows. */
static size_t workspace_size(const aoei_pair_step *s) {
    const aoei_training_layers *training = aoei_training_layers_of(&s->config);
    const aoei_loss_shape shape = {.examples = s->o.pairs,
                                   .dims = loss_dims(s),
                                   .tokens = s->o.tokens,
                                   .arity = s->o.arity,
                                   .head_rows = training->head_rows,
                                   .head_cols = training->head_cols,
                                   .training = training,
                                   .teacher_dims = s->o.teacher_dims};
    const size_t loss = s->o.loss->workspace(&shape),
                 distill = s->o.arity != 1 && (s->o.arity < 4 || s->o.teacher_dims)
                               ? aoei_distill_objective_workspace(shape.examples, shape.dims, max_arity(&s->o))
                               : 1;
    return !loss || !distill ? 0 : loss > distill ? loss : distill;
}

int aoei_pair_step_measure(size_t *arena_bytes, size_t *other_bytes, aoe_context *ctx, const aoei_encoder_config *c,
                           const aoei_pair_step_options *o, aoe_error *err) {
    aoei_pair_step s = {.ctx = ctx};
    aoei_arena arena;
    size_t vectors = 0, differences = 0;
    aoei_arena_measure(&arena);
    const int code = aoei_pair_step_layout(&s, ctx, c, o, &arena, err);
    if (code)
        return code;
    const size_t texts = max_arity(o) * o->pairs, workspace = workspace_size(&s), all = texts + o->references;
    size_t gathered = 0;
    *arena_bytes = arena.used;
    if (arena.overflow || !workspace ||
        aoei_mul_size(2 * sizeof(float) * loss_dims(&s), s.o.loss->of_tokens ? o->tokens : texts, &vectors) ||
        aoei_mul_size(o->references ? texts + o->references : 0, aoei_vector_dims(c) * sizeof(float), &differences) ||
        aoei_add_size(vectors, differences, &vectors) || aoei_add_size(vectors, workspace, other_bytes) ||
        (aoei_comm_ranks(s.shards.comm) > 1 && aoei_mul_size(all, gathered_dims(&s) * sizeof(float), &gathered)) ||
        aoei_add_size(*other_bytes, gathered, other_bytes))
        return aoei_fail(err, AOE_ENOMEM,
                         "the memory for a batch of %zu examples exceeds SIZE_MAX; lower options.batch_size", o->pairs);
    return AOE_OK;
}

/* Allocates the buffers outside the arena: the token ids of the batch, and the inputs and outputs of the objectives. */
static int create_buffers(aoei_pair_step *s, aoe_error *err) {
    const aoei_encoder_config *c = &s->config;
    const aoei_training_layers *training = aoei_training_layers_of(c);
    const size_t pairs = s->o.pairs, texts = max_arity(&s->o) * pairs;
    const size_t all = texts + s->o.references;
    const size_t dims = loss_dims(s), rows = s->o.loss->of_tokens ? s->o.tokens : texts;
    int code = aoei_batch_buffer_create(&s->buffer, s->o.tokens, all, err);
    if (code)
        return code;
    s->workspace_bytes = workspace_size(s);
    s->host = aoei_malloc_array(rows, dims * sizeof *s->host);
    s->host_grad = aoei_malloc_array(rows, dims * sizeof *s->host_grad);
    s->chunk_offsets = aoei_malloc_array(max_chunk_texts(&s->o) + 1, sizeof *s->chunk_offsets);
    s->workspace = s->workspace_bytes ? aoei_aligned(s->workspace_bytes) : NULL;
    s->shard_first = aoei_calloc(s->shards.n + 1, sizeof *s->shard_first);
    s->shard_first_reference = aoei_calloc(s->shards.n + 1, sizeof *s->shard_first_reference);
    s->shard_loss = aoei_calloc(s->shards.n, sizeof *s->shard_loss);
    s->example_tokens = aoei_malloc_array(pairs + s->o.references, sizeof *s->example_tokens);
    s->chunks = aoei_malloc_array(all, sizeof *s->chunks);
    if (aoei_comm_ranks(s->shards.comm) > 1)
        s->gathered = aoei_malloc_array(all, gathered_dims(s) * sizeof *s->gathered);
    if (s->o.references) {
        s->reference = aoei_malloc_array(texts, sizeof *s->reference);
        s->referenced = aoei_malloc_array(all, aoei_vector_dims(c) * sizeof *s->referenced);
    }
    if (!s->host || !s->host_grad || !s->chunk_offsets || !s->workspace || !s->shard_first ||
        !s->shard_first_reference || !s->shard_loss || !s->example_tokens || !s->chunks ||
        (aoei_comm_ranks(s->shards.comm) > 1 && !s->gathered) || (s->o.references && (!s->reference || !s->referenced)))
        return aoei_fail(err, AOE_ENOMEM, "out of memory for a batch of %zu examples; lower options.batch_size", pairs);
    if (s->o.added && (code = s->o.added->ops->create(s->o.added, c, s->o.chunk_tokens, err)))
        return code;
    if (s->o.prefixes &&
        (code = aoei_matryoshka_create(&s->matryoshka, texts, dims, training->head_rows, training->head_cols, err)))
        return code;
    return s->o.layers ? aoei_layer_loss_create(&s->layers, s->o.layers, c->layers, texts, dims, training->head_rows,
                                                training->head_cols, err)
                       : AOE_OK;
}

int aoei_pair_step_create(aoei_pair_step *s, aoe_context *ctx, const aoei_encoder_config *c,
                          const aoei_pair_step_options *o, aoe_error *err) {
    memset(s, 0, sizeof *s);
    aoei_arena plan;
    aoei_arena_measure(&plan);
    int code = aoei_pair_step_layout(s, ctx, c, o, &plan, err);
    if (!code)
        code = aoei_arena_create(&s->arena, plan.used, err);
    if (!code)
        code = aoei_pair_step_layout(s, ctx, c, o, &s->arena, err);
    if (!code)
        code = create_buffers(s, err);
    if (code)
        aoei_pair_step_destroy(s);
    return code;
}

void aoei_pair_step_destroy(aoei_pair_step *s) {
    aoei_batch_buffer_destroy(&s->buffer);
    aoei_arena_destroy(&s->arena);
    aoei_free(s->host);
    aoei_free(s->host_grad);
    aoei_free(s->chunk_offsets);
    aoei_free(s->shard_first);
    aoei_free(s->shard_first_reference);
    aoei_free(s->shard_loss);
    aoei_free(s->example_tokens);
    aoei_free(s->chunks);
    aoei_free(s->gathered);
    aoei_free(s->reference);
    aoei_free(s->referenced);
    aoei_matryoshka_destroy(&s->matryoshka);
    aoei_layer_loss_destroy(&s->layers);
    aoei_aligned_free(s->workspace);
    memset(s, 0, sizeof *s);
}

/* Returns the texts [first, first + n) of the batch as a separate batch, whose arrays are borrowed from s. */
static aoei_batch chunk_of(const aoei_pair_step *s, size_t first, size_t n) {
    const aoei_batch *all = &s->buffer.batch;
    const uint32_t begin = all->offsets[first];
    if (n == all->n_texts)
        return *all;
    aoei_batch b = {.n_tokens = all->offsets[first + n] - begin,
                    .n_texts = n,
                    .ids = all->ids + begin,
                    .types = all->types ? all->types + begin : NULL,
                    .positions = all->positions + begin,
                    .offsets = s->chunk_offsets,
                    .skipped = all->skipped ? all->skipped + first : NULL,
                    .text_index = all->text_index + first,
                    .cutoffs = all->cutoffs ? all->cutoffs + first : NULL};
    for (size_t i = 0; i <= n; i++)
        s->chunk_offsets[i] = all->offsets[first + i] - begin;
    for (size_t i = 0; i < n; i++) {
        const size_t length = s->chunk_offsets[i + 1] - s->chunk_offsets[i];
        b.longest = length > b.longest ? length : b.longest;
    }
    return b;
}

/* Returns the number of encoders among which the texts of the batch are divided. */
static size_t text_encoders(const aoei_pair_step *s) {
    return s->o.twin ? 2 : 1;
}

/* A range of texts that one encoder encodes at a time. */
typedef struct chunk {
    size_t encoder;   /* 0, or 1 for the second encoder */
    aoei_batch batch; /* the texts */
    size_t first;     /* index of the first text among the texts of the encoder */
    size_t shard;     /* shard of the texts */
} chunk;

/* Returns the number of texts in a full chunk. */
static size_t chunk_texts(const aoei_pair_step *s) {
    const size_t references = s->o.chunk_pairs == s->o.pairs ? s->o.references : 0;
    return s->arity * s->o.chunk_pairs / text_encoders(s) + references;
}

/* Appends the texts [first, end) of an encoder to the chunks. */
static void add_chunks(aoei_pair_step *s, size_t encoder, size_t first, size_t end, size_t shard) {
    const size_t step = chunk_texts(s);
    for (size_t n; first < end; first += n) {
        n = end - first < step ? end - first : step;
        s->chunks[s->n_chunks++] = (aoei_chunk){.encoder = encoder, .first = first, .texts = n, .shard = shard};
    }
}

/* Divides the examples and the references of the batch into shards. */
static void divide_batch(aoei_pair_step *s) {
    const aoei_batch *all = &s->buffer.batch;
    const size_t per_example = s->arity / text_encoders(s), texts = all->n_texts - s->n_references,
                 examples = texts / s->arity;
    for (size_t i = 0; i < examples; i++) {
        s->example_tokens[i] = 0;
        for (size_t e = 0; e < text_encoders(s); e++) {
            const uint32_t *at = all->offsets + e * examples * per_example + i * per_example;
            s->example_tokens[i] += at[per_example] - at[0];
        }
    }
    aoei_shards_divide(s->shard_first, s->shards.n, s->example_tokens, examples);
    for (size_t i = 0; i < s->n_references; i++)
        s->example_tokens[i] = all->offsets[texts + i + 1] - all->offsets[texts + i];
    aoei_shards_divide(s->shard_first_reference, s->shards.n, s->example_tokens, s->n_references);
}

/* Sets the chunks of the batch that this process computes. The references follow the texts of the examples. With one
 * shard, a chunk may contain both. */
static void list_chunks(aoei_pair_step *s) {
    const size_t encoders = text_encoders(s), per_example = s->arity / encoders,
                 texts = (s->buffer.batch.n_texts - s->n_references) / encoders;
    divide_batch(s);
    s->n_chunks = 0;
    for (size_t shard = s->shards.begin; shard < s->shards.end; shard++)
        for (size_t e = 0; e < encoders; e++) {
            const size_t first = per_example * s->shard_first[shard], end = per_example * s->shard_first[shard + 1],
                         reference = texts + s->shard_first_reference[shard],
                         reference_end = texts + s->shard_first_reference[shard + 1];
            if (end == reference && first < end) {
                add_chunks(s, e, first, reference_end, shard);
                continue;
            }
            add_chunks(s, e, first, end, shard);
            add_chunks(s, e, reference, reference_end, shard);
        }
}

/* Returns chunk k of this process. With a second encoder, the first half of the texts in the buffer belongs to the
 * first encoder and the second half to the second encoder, and the rows of s->pooled alternate between the encoders. */
static chunk chunk_at(const aoei_pair_step *s, size_t k) {
    const aoei_chunk *c = &s->chunks[k];
    const size_t texts = s->buffer.batch.n_texts / text_encoders(s);
    return (chunk){.encoder = c->encoder,
                   .batch = chunk_of(s, c->encoder * texts + c->first, c->texts),
                   .first = c->first,
                   .shard = c->shard};
}

/* Returns the chunk that is encoded at position i of the forward pass. The first chunk is encoded last, so that its
 * activations are available when the backward pass begins. */
static size_t forward_chunk(const aoei_pair_step *s, size_t i) {
    return i + 1 < s->n_chunks ? i + 1 : 0;
}

/* Binds the gradients of the parameters to the gradient of a shard. */
static void bind_shard(aoei_pair_step *s, size_t shard) {
    if (aoei_shards_are_several(&s->shards))
        aoei_gradient_tree_bind(&s->tree, s->ctx, shard);
}

/* The gradients of the shards before the shard `end` are complete for this batch. */
static void end_shards(aoei_pair_step *s, size_t end) {
    if (aoei_shards_are_several(&s->shards))
        for (size_t shard = s->tree.next; shard < end; shard++)
            aoei_gradient_tree_done(&s->tree, s->ctx, shard);
}

/* Returns the rows of t [arity * B, hidden] that belong to the texts of a chunk. */
static aoei_tensor chunk_rows(const aoei_pair_step *s, const chunk *c, aoei_tensor t) {
    const size_t encoders = text_encoders(s), n = c->batch.n_texts;
    return encoders == 1 ? aoei_tensor_rows(t, c->first, n)
                         : aoei_tensor_every(t, encoders * c->first + c->encoder, encoders, n);
}

/* Encodes the texts of a chunk. Returns their last hidden states. */
static aoei_tensor encode(aoei_pair_step *s, const chunk *c, const aoei_encoder_dropout *drop) {
    return aoei_encoder_forward(s->ctx, &s->config, aoei_params_values(&s->params, c->encoder), &c->batch, &s->state,
                                drop);
}

/* Computes the pooled vectors of the chunk that was encoded last, for the last hidden state and for the hidden states
 * of the loss on hidden states. last: last hidden states of the chunk. */
static void pool(aoei_pair_step *s, const chunk *c, aoe_pooling pooling, aoei_tensor last) {
    aoei_encoder_pool(s->ctx, &s->config, chunk_rows(s, c, s->pooled), pooling, last, &c->batch, &s->state);
    for (size_t i = 0; i < s->layers.n_states; i++)
        aoei_encoder_pool(s->ctx, &s->config, chunk_rows(s, c, s->tap_pooled[i]), pooling,
                          aoei_encoder_hidden(&s->state, &s->config, s->layers.state[i], c->batch.n_tokens), &c->batch,
                          &s->state);
}

/* Runs the backward pass for the chunk that was encoded last. s->pooled and s->tap_pooled contain the gradients of the
 * pooled vectors. last: last hidden states of the chunk. */
static void chunk_backward(aoei_pair_step *s, const chunk *c, aoe_pooling pooling, aoei_tensor last,
                           const aoei_encoder_dropout *drop) {
    const aoei_encoder_taps taps = {.pooling = pooling, .grad = s->tap_grad};
    const int with_first = aoei_encoder_pool_backward(s->ctx, &s->config, pooling, chunk_rows(s, c, s->pooled), last,
                                                      &c->batch, &s->state);
    if (s->o.layers) {
        memset(s->tap_grad, 0, s->config.layers * sizeof *s->tap_grad);
        for (size_t i = 0; i < s->layers.n_states; i++)
            s->tap_grad[s->layers.state[i]] = chunk_rows(s, c, s->tap_pooled[i]);
        s->state.taps = &taps;
    }
    aoei_encoder_backward(s->ctx, &s->config, aoei_params_values(&s->params, c->encoder),
                          aoei_params_grads(&s->params, c->encoder), &c->batch, &s->state, drop, with_first);
    s->state.taps = NULL;
}

/* Computes the loss of the embeddings v. dv receives the gradient of the loss with respect to v, multiplied by
 * scale. */
static int compute_loss(aoei_pair_step *s, aoei_tensor v, aoei_tensor dv, const aoe_objective_options *o,
                        const double *label, const uint32_t *group, double scale, aoe_objective_result *result,
                        aoe_error *err) {
    const size_t D = v.cols;
    aoei_tensor_read(s->ctx, s->host, v);
    aoei_loss_batch b = {
        .o = o,
        .examples = {.B = v.rows / s->arity, .D = D, .arity = s->arity, .v = s->host, .grad = s->host_grad},
        .label = label,
        .group = group,
        .teacher = s->distill.teacher,
        .teacher_dims = s->distill.dims,
        .distill = s->distill.weight > 0 ? &s->distill : NULL,
        .scale = scale,
        .workspace = s->workspace,
        .workspace_bytes = s->workspace_bytes,
        .ctx = s->ctx};
    if (aoei_training_layers_of(&s->config)->head_rows) {
        const size_t slot = aoei_pooled_slot(&s->config, AOEI_PW_HEAD);
        memcpy(b.head, s->params.values + slot, sizeof b.head);
        memcpy(b.d_head, s->params.grads + slot, sizeof b.d_head);
        b.training = s->config.training;
        b.projection = s->params.values + slot + AOEI_PW_PROJECTION - AOEI_PW_HEAD;
        b.d_projection = s->params.grads + slot + AOEI_PW_PROJECTION - AOEI_PW_HEAD;
    }
    const int code =
        s->o.layers     ? aoei_layer_loss_compute(&s->layers, &s->matryoshka, s->o.prefixes, s->o.loss, &b, result, err)
        : s->o.prefixes ? aoei_matryoshka_compute(&s->matryoshka, s->o.prefixes, s->o.loss, &b, result, err)
                        : aoei_step_loss_compute(s->o.loss, &b, result, err);
    if (code)
        return code;
    aoei_tensor_write(s->ctx, dv, s->host_grad);
    aoei_scale(s->ctx, dv, scale);
    return AOE_OK;
}

/* Computes s->difference: the vectors of the examples minus the vectors of their references. */
static void subtract_references(aoei_pair_step *s, size_t texts) {
    const size_t D = s->vectors.cols;
    aoei_tensor_read(s->ctx, s->referenced, aoei_tensor_rows(s->vectors, 0, texts + s->n_references));
    for (size_t i = 0; i < texts; i++)
        for (size_t k = 0; k < D; k++)
            s->referenced[i * D + k] -= s->referenced[s->reference[i] * D + k];
    aoei_tensor_write(s->ctx, aoei_tensor_rows(s->difference, 0, texts), s->referenced);
}

/* Computes the gradients of the vectors of the references: minus the sums of the gradients of their texts, which are
 * added in the order of the texts. */
static void reference_gradients(aoei_pair_step *s, size_t texts) {
    const aoei_tensor d = aoei_tensor_rows(s->d_vectors, 0, texts + s->n_references);
    const size_t D = d.cols;
    aoei_tensor_read(s->ctx, s->referenced, d);
    memset(s->referenced + texts * D, 0, s->n_references * D * sizeof *s->referenced);
    for (size_t i = 0; i < texts; i++)
        for (size_t k = 0; k < D; k++)
            s->referenced[s->reference[i] * D + k] -= s->referenced[i * D + k];
    aoei_tensor_write(s->ctx, d, s->referenced);
}

/* Runs the forward pass of the layers after the pooling (modules, subtraction of references, projection) for n texts of
 * examples. drop: dropout of the step, or NULL for none. */
static void layers_forward(aoei_pair_step *s, size_t n, const aoei_module_dropout *drop) {
    const aoei_tensor *w = s->params.values + aoei_pooled_slot(&s->config, 0);
    aoei_module_chain_forward(s->ctx, &s->chain, n + s->n_references, w, drop);
    if (s->n_references)
        subtract_references(s, n);
    if (!projection_length(&s->config))
        return;
    aoei_tensor_copy(s->ctx, aoei_tensor_rows(s->projection.value[0], 0, n),
                     aoei_tensor_rows(s->n_references ? s->difference : s->vectors, 0, n));
    aoei_module_chain_forward(s->ctx, &s->projection, n, w + AOEI_PW_PROJECTION, drop);
}

/* Runs the backward pass of the layers after the pooling for n texts of examples. s->pooled receives the gradient of
 * the pooling output. */
static void layers_backward(aoei_pair_step *s, size_t n, const aoei_module_dropout *drop) {
    const size_t slot = aoei_pooled_slot(&s->config, 0);
    const aoei_tensor *w = s->params.values + slot, *g = s->params.grads + slot;
    if (projection_length(&s->config)) {
        aoei_module_chain_backward(s->ctx, &s->projection, n, w + AOEI_PW_PROJECTION, g + AOEI_PW_PROJECTION, drop);
        aoei_tensor_copy(s->ctx, aoei_tensor_rows(s->d_vectors, 0, n), aoei_tensor_rows(s->projection.grad[0], 0, n));
    }
    if (s->n_references)
        reference_gradients(s, n);
    aoei_module_chain_backward(s->ctx, &s->chain, n + s->n_references, w, g, drop);
}

/* Applies the modules to the pooled vectors of the hidden states of the loss on hidden states, and stores the results
 * in s->layers. If there are modules, s->pooled is also copied to the last element of s->tap_pooled. */
static void taps_forward(aoei_pair_step *s, size_t n, const aoei_module_dropout *drop) {
    const aoei_tensor *w = s->params.values + aoei_pooled_slot(&s->config, 0),
                      pooled = aoei_tensor_rows(s->pooled, 0, n),
                      saved = aoei_tensor_rows(s->tap_pooled[s->layers.max], 0, n);
    if (s->chain.n)
        aoei_tensor_copy(s->ctx, saved, pooled);
    for (size_t i = 0; i < s->layers.n_states; i++) {
        const aoei_tensor tap = aoei_tensor_rows(s->tap_pooled[i], 0, n);
        if (s->chain.n) {
            aoei_tensor_copy(s->ctx, pooled, tap);
            aoei_module_chain_forward(s->ctx, &s->chain, n, w, drop);
        }
        aoei_tensor_read(s->ctx, aoei_layer_loss_vectors(&s->layers, i),
                         s->chain.n ? aoei_tensor_rows(s->vectors, 0, n) : tap);
    }
    if (s->chain.n)
        aoei_tensor_copy(s->ctx, pooled, saved);
}

/* Replaces s->tap_pooled by the gradients of the pooled vectors, which are multiplied by scale, and adds the gradients
 * of the modules. If there are modules, they are applied again, finally to s->pooled, for which d_vectors is then set
 * again. */
static void taps_backward(aoei_pair_step *s, size_t n, const aoei_module_dropout *drop, double scale) {
    const size_t slot = aoei_pooled_slot(&s->config, 0);
    const aoei_tensor *w = s->params.values + slot, *g = s->params.grads + slot,
                      pooled = aoei_tensor_rows(s->pooled, 0, n), d_vectors = aoei_tensor_rows(s->d_vectors, 0, n);
    for (size_t i = 0; i < s->layers.n_states; i++) {
        const aoei_tensor tap = aoei_tensor_rows(s->tap_pooled[i], 0, n);
        if (s->chain.n) {
            aoei_tensor_copy(s->ctx, pooled, tap);
            aoei_module_chain_forward(s->ctx, &s->chain, n, w, drop);
        }
        const aoei_tensor d = s->chain.n ? d_vectors : tap;
        aoei_tensor_write(s->ctx, d, aoei_layer_loss_grad(&s->layers, i));
        aoei_scale(s->ctx, d, scale);
        if (s->chain.n) {
            aoei_module_chain_backward(s->ctx, &s->chain, n, w, g, drop);
            aoei_tensor_copy(s->ctx, tap, pooled);
        }
    }
    if (!s->chain.n)
        return;
    aoei_tensor_copy(s->ctx, pooled, aoei_tensor_rows(s->tap_pooled[s->layers.max], 0, n));
    aoei_module_chain_forward(s->ctx, &s->chain, n, w, drop);
    aoei_tensor_write(s->ctx, d_vectors, s->host_grad);
    aoei_scale(s->ctx, d_vectors, scale);
}

/* Computes the loss of the token vectors of the batch, whose vectors are in s->host. s->host_grad receives its
 * gradient. */
static int token_loss(aoei_pair_step *s, const aoe_objective_options *o, aoe_objective_result *result, aoe_error *err) {
    const aoei_batch *all = &s->buffer.batch;
    const aoei_loss_batch b = {
        .o = o,
        .examples = {.B = all->n_tokens, .D = loss_dims(s), .arity = 1, .v = s->host, .grad = s->host_grad},
        .texts = all->n_texts,
        .offsets = all->offsets,
        .workspace = s->workspace,
        .workspace_bytes = s->workspace_bytes,
        .ctx = s->ctx};
    return aoei_step_loss_compute(s->o.loss, &b, result, err);
}

/* Gathers the token vectors of all ranks in s->host. */
static int gather_tokens(aoei_pair_step *s, aoe_error *err) {
    const uint32_t *offsets = s->buffer.batch.offsets;
    size_t *first = s->shard_first;
    if (aoei_comm_ranks(s->shards.comm) == 1)
        return AOE_OK;
    for (size_t shard = 0; shard <= s->shards.n; shard++) /* the division is not needed after this */
        first[shard] = offsets[first[shard] * s->arity];
    return aoei_shards_gather(&s->shards, s->host, loss_dims(s) * sizeof *s->host, first, 1, err);
}

/* Checks that all ranks have the same vectors and the same loss. vectors: [n] */
static int check_loss(aoei_pair_step *s, const float *vectors, size_t n, const aoe_objective_result *result,
                      aoe_error *err) {
    if (aoei_comm_ranks(s->shards.comm) == 1)
        return AOE_OK;
    uint64_t hash = aoei_hash(AOEI_HASH_START, &result->total, sizeof result->total);
    hash = aoei_hash_words(hash, vectors, n);
    const aoei_traffic_kind kind = aoei_comm_count(s->shards.comm, AOEI_TRAFFIC_AGREEMENT);
    const int code = aoei_comm_same_hash(s->shards.comm, "the gathered vectors and the loss", hash, err);
    aoei_comm_count(s->shards.comm, kind);
    return code;
}

/* Runs the forward and the backward pass for a token-level loss. The arguments are the same as in
 * aoei_pair_step_gradient. */
static int token_gradient(aoei_pair_step *s, const aoe_objective_options *o, const aoei_encoder_dropout *drop,
                          double scale, aoe_objective_result *result, aoe_error *err) {
    const size_t D = loss_dims(s);
    const uint32_t *offsets = s->buffer.batch.offsets;
    for (size_t i = 0; i < s->n_chunks; i++) {
        const chunk c = chunk_at(s, forward_chunk(s, i));
        aoei_tensor_read(s->ctx, s->host + offsets[c.first] * D, encode(s, &c, drop));
    }
    int code = gather_tokens(s, err);
    if (!code)
        code = token_loss(s, o, result, err);
    if (!code)
        code = check_loss(s, s->host, s->buffer.batch.n_tokens * D, result, err);
    for (size_t k = 0; k < s->n_chunks && !code; k++) {
        const chunk c = chunk_at(s, k);
        end_shards(s, c.shard);
        bind_shard(s, c.shard);
        if (k)
            encode(s, &c, drop);
        const aoei_tensor d = aoei_encoder_grad_tokens(&s->state, &s->config, c.batch.n_tokens);
        aoei_tensor_write(s->ctx, d, s->host_grad + offsets[c.first] * D);
        aoei_scale(s->ctx, d, scale);
        aoei_encoder_backward(s->ctx, &s->config, s->params.values, s->params.grads, &c.batch, &s->state, drop, 0);
    }
    return code;
}

/* Gathers the rows [arity * B, cols] of the texts of all ranks; also those of the references if there are any and
 * `references` is 1. */
static int gather_rows(aoei_pair_step *s, aoei_tensor rows, int references, aoe_error *err) {
    const size_t texts = s->buffer.batch.n_texts - s->n_references, cols = rows.cols, bytes = cols * sizeof(float);
    const size_t all = texts + (references ? s->n_references : 0);
    if (aoei_comm_ranks(s->shards.comm) == 1)
        return AOE_OK;
    aoei_tensor_read(s->ctx, s->gathered, aoei_tensor_rows(rows, 0, all));
    int code = aoei_shards_gather(&s->shards, s->gathered, bytes, s->shard_first, s->arity, err);
    if (!code && references && s->n_references)
        code = aoei_shards_gather(&s->shards, s->gathered + texts * cols, bytes, s->shard_first_reference, 1, err);
    if (!code)
        aoei_tensor_write(s->ctx, aoei_tensor_rows(rows, 0, all), s->gathered);
    return code;
}

/* Gathers the pooled vectors of all ranks. */
static int gather_vectors(aoei_pair_step *s, aoe_error *err) {
    int code = gather_rows(s, s->pooled, 1, err);
    for (size_t i = 0; i < s->layers.n_states && !code; i++)
        code = gather_rows(s, s->tap_pooled[i], 0, err);
    return code;
}

uint64_t aoei_pair_step_sent(const aoei_pair_step *s, size_t arity, const size_t *first, const size_t *first_reference,
                             size_t length) {
    const aoei_shards *shards = &s->shards;
    const size_t value = sizeof(float), pooled = aoei_pooled_dims(&s->config) * value;
    size_t shard[AOE_MAX_SHARDS + 1];
    if (s->o.loss->of_tokens)
        return aoei_shards_gather_sent(shards, loss_dims(s) * value, first, arity * length);
    uint64_t sent = (1 + aoei_layer_loss_states(s->o.layers, s->config.layers)) *
                    aoei_shards_gather_sent(shards, pooled, first, arity);
    if (s->o.references)
        sent += aoei_shards_gather_sent(shards, pooled, first_reference, 1);
    if (!s->o.added)
        return sent;
    for (size_t i = 0; i <= shards->n; i++)
        shard[i] = i;
    return sent + aoei_shards_gather_sent(shards, sizeof *s->shard_loss, shard, 1) +
           aoei_shards_gather_sent(shards, loss_dims(s) * value, first, arity);
}

/* Sets the weight gradients of the layers after the pooling, and of the training head, to zero unless this process has
 * shard 0, to which they belong. The gradients are bound to the first shard of this process. */
static void drop_copies(aoei_pair_step *s) {
    if (!s->shards.begin)
        return;
    const size_t first = aoei_pooled_slot(&s->config, 0);
    const aoei_tensor *g = s->params.grads + first;
    for (size_t kind = 0; first + kind < s->params.n_slots; kind++) {
        const int of_head = (kind == AOEI_PW_HEAD || kind == AOEI_PW_HEAD_BIAS) && !s->o.added,
                  of_modules = kind < AOEI_PW_HEAD || (kind >= AOEI_PW_PROJECTION && kind < AOEI_PW_TOKEN_MODULE);
        if (g[kind].data && (of_head || of_modules))
            aoei_tensor_zero(s->ctx, g[kind]);
    }
}

/* Computes the added loss, whose gradient is added to that of the vectors. */
static int compute_added(aoei_pair_step *s, const aoei_encoder_dropout *drop, double scale,
                         aoe_objective_result *result, aoe_error *err) {
    aoei_added_loss *l = s->o.added;
    const size_t tokens = s->buffer.batch.n_tokens;
    size_t offset[AOE_MAX_SHARDS + 1];
    int code = AOE_OK;
    for (size_t shard = s->shards.begin, k = 0; shard < s->shards.end && !code; shard++) {
        bind_shard(s, shard);
        l->ops->begin(l, s->ctx, &s->config, &s->params, tokens);
        for (; k < s->n_chunks && s->chunks[k].shard == shard && !code; k++) {
            const chunk c = chunk_at(s, k);
            code = l->ops->chunk(l, s->ctx, &s->config, &s->params, &c.batch, chunk_rows(s, &c, s->projected),
                                 chunk_rows(s, &c, s->d_projected), drop, scale, err);
        }
        if (!code)
            s->shard_loss[shard] = l->ops->end(l, s->ctx, &s->config, &s->params, scale);
    }
    const size_t ranks = (size_t)aoei_comm_ranks(s->shards.comm);
    for (size_t r = 0; r <= ranks; r++)
        offset[r] = aoei_shards_first(s->shards.n, r, ranks) * sizeof *s->shard_loss;
    if (!code)
        code = aoei_comm_gather_all(s->shards.comm, s->shard_loss, offset, err);
    if (!code)
        code = gather_rows(s, s->d_projected, 0, err);
    double sum = 0;
    for (size_t shard = 0; shard < s->shards.n; shard++)
        sum += s->shard_loss[shard];
    if (!code)
        l->ops->report(l, sum, tokens, result);
    return code;
}

int aoei_pair_step_gradient(aoei_pair_step *s, aoe_pooling pooling, const aoe_objective_options *o, const double *label,
                            const uint32_t *group, const aoei_encoder_dropout *drop, double scale,
                            aoe_objective_result *result, aoe_error *err) {
    list_chunks(s);
    if (s->o.loss->of_tokens)
        return token_gradient(s, o, drop, scale, result, err);
    const size_t texts = s->buffer.batch.n_texts - s->n_references;
    aoei_tensor last = {0};
    for (size_t i = 0; i < s->n_chunks; i++) {
        const chunk c = chunk_at(s, forward_chunk(s, i));
        last = encode(s, &c, drop);
        pool(s, &c, pooling, last);
    }
    int code = gather_vectors(s, err);
    if (code)
        return code;
    const aoei_module_dropout modules = {.key = {drop ? drop->key[0] : 0, drop ? drop->key[1] : 0}};
    bind_shard(s, s->shards.begin);
    if (s->o.layers)
        taps_forward(s, texts, drop ? &modules : NULL);
    layers_forward(s, texts, drop ? &modules : NULL);
    code = compute_loss(s, aoei_tensor_rows(s->projected, 0, texts), aoei_tensor_rows(s->d_projected, 0, texts), o,
                        label, group, scale, result, err);
    if (!code)
        code = check_loss(s, s->host, texts * loss_dims(s), result, err);
    if (!code && s->o.added)
        code = compute_added(s, drop, scale, result, err);
    if (code)
        return code;
    bind_shard(s, s->shards.begin);
    if (s->o.layers)
        taps_backward(s, texts, drop ? &modules : NULL, scale);
    layers_backward(s, texts, drop ? &modules : NULL);
    drop_copies(s);
    /* The gradient of a shard is summed in the order of its chunks. */
    for (size_t k = 0; k < s->n_chunks; k++) {
        const chunk c = chunk_at(s, k);
        end_shards(s, c.shard);
        bind_shard(s, c.shard);
        if (k)
            last = encode(s, &c, drop);
        chunk_backward(s, &c, pooling, last, drop);
    }
    return AOE_OK;
}
