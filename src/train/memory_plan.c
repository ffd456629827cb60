/* SPDX-License-Identifier: MIT
 * Computes the memory that inference and training need for a batch. The layout functions of the model, the embedder and
 * the trainer are called with measuring arenas, which only add up sizes (base/arena.h). The function that chooses the
 * storage of a weight is called for every weight. Therefore, the results equal the real allocations.
 */
#include "aoe_convert.h"
#include "aoe_plan.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/json.h"
#include "base/options.h"
#include "encoder/arch.h"
#include "encoder/classification_head.h"
#include "encoder/shapes.h"
#include "encoder/slots.h"
#include "model/weight_placement.h"
#include "modeldir/storage.h"
#include "nn/dtype.h"
#include "nn/pooling.h"
#include "train/methods.h"
#include "train/mlm_step.h"
#include "train/pair_step.h"
#include "train/partitioned_step.h"
#include "train/schedule.h"
#include "train/step_speed.h"
#include "train/teacher.h"
#include "train/teacher_map.h"
#include "train/traffic_plan.h"
#include "model/embedder.h"
#include "model/lora_options.h"
#include "model/packed_weights.h"
#include "model/weight_view.h"
#include "model/word_table.h"

#include <string.h>

/* Bytes of the activations of an encoder. `all`: all activations. `kept`: only the activations that the backward pass
 * needs. */
typedef struct encoder_bytes {
    size_t all, kept;
} encoder_bytes;

static int measure_encoder(encoder_bytes *bytes, const aoe_model *m, size_t n_tokens, size_t n_texts, size_t length,
                           aoei_encoder_mode mode, aoe_error *err) {
    aoei_arena arena;
    aoei_encoder_state state;
    aoei_arena_measure(&arena);
    mode.type = m->type;
    mode.int8 = m->dtype == AOE_DTYPE_INT8 && !mode.training;
    int rc = aoei_encoder_layout(&state, m->ctx, &m->config, &arena, n_tokens, n_texts, length, mode, err);
    *bytes = (encoder_bytes){arena.peak, state.kept_bytes};
    if (!rc && arena.overflow)
        rc = aoei_fail(err, AOE_ENOMEM, "the memory for a batch of %zu tokens exceeds SIZE_MAX; plan a smaller batch",
                       n_tokens);
    aoei_arena_destroy(&arena);
    return rc;
}

/* Sets the sizes of the parameters, and *bytes to the memory that a step takes for them, with their descriptions.
 * keeps_leaves: 1: the step keeps the gradients of all shards. */
static int measure_params(aoe_memory_plan *plan, size_t *bytes, const aoe_model *m, const aoei_params_options *o,
                          const aoei_shards *shards, int keeps_leaves, aoe_error *err) {
    aoei_arena arena;
    aoei_params params;
    aoei_gradient_tree tree;
    aoei_arena_measure(&arena);
    const int rc = aoei_params_layout(&params, m->ctx, &m->config, o, &arena, err);
    aoei_gradient_tree_layout(&tree, &params, shards, keeps_leaves, &arena);
    plan->parameters = plan->gradients = params.count * sizeof(float);
    plan->moments = (size_t)aoei_optimizer_moments(o->optimizer) * aoei_share_count(&params.share) * sizeof(float);
    plan->exchange = aoei_partitioned_step_bytes(shards, &params.share);
    if (aoei_shards_are_several(shards))
        plan->gradients *= tree.buffers;
    plan->training_packed = params.packed_bytes;
    *bytes = arena.used;
    aoei_arena_destroy(&arena);
    return rc;
}

/* Sets plan->evaluation to the bytes of the memory for evaluations of aoe_train: the copy of the best weights, and the
 * embedder. */
static int measure_evaluation(aoe_memory_plan *plan, const aoe_model *m, aoe_error *err) {
    aoe_embedder_options o;
    size_t embedder;
    aoe_embedder_options_defaults(&o);
    const int rc = aoei_embedder_bytes(&embedder, m, &o, err);
    if (!rc && aoei_add_size(plan->parameters, embedder, &plan->evaluation))
        return aoei_fail_nomem(err, embedder);
    return rc;
}

static int sum_training(aoe_memory_plan *plan, const encoder_bytes *encoder, size_t *sum, aoe_error *err) {
    const size_t parts[] = {plan->frozen,          plan->parameters, plan->gradients,  plan->moments,
                            plan->training_packed, encoder->all,     plan->objectives, plan->exchange};
    *sum = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (aoei_add_size(*sum, parts[i], sum))
            return aoei_fail_nomem(err, parts[i]);
    return 0;
}

/* Returns the data type in which a weight is stored. If m is an open model, this is the data type in its weight file.
 * If m has no weights, only a configuration, this is the data type that o->storage selects. */
static aoei_st_dtype stored_type(const aoe_model *m, const aoe_plan_options *o, size_t index, const aoei_slot *slot) {
    if (m->files.tensors)
        return m->files.tensors[index]->dtype;
    return o->storage == AOE_STORAGE_BF16                    ? AOEI_ST_BF16
           : o->storage == AOE_STORAGE_INT8 && !slot->vector ? AOEI_ST_I8
                                                             : AOEI_ST_F32;
}

/* Sets *in_file to the bytes of the weights that are read directly from the mapped file, and *allocated to the bytes of
 * the weights for which memory is allocated. Adapters are not included. only_frozen: 1: only weights that are not
 * trained are included. */
static void measure_weights(size_t *in_file, size_t *allocated, const aoe_model *m, const aoe_plan_options *o,
                            const aoei_open_mode *p, int only_frozen) {
    static const aoe_storage storage_of[] = {[AOEI_ST_F32] = AOE_STORAGE_F32,
                                             [AOEI_ST_F16] = AOE_STORAGE_BF16,
                                             [AOEI_ST_BF16] = AOE_STORAGE_BF16,
                                             [AOEI_ST_I8] = AOE_STORAGE_INT8};
    *in_file = *allocated = 0;
    for (size_t i = 0; i < aoei_slot_count(&m->config); i++) {
        aoei_slot slot;
        aoei_slot_describe(&m->config, i, &slot);
        if (slot.absent || slot.adapter || (only_frozen && !slot.frozen))
            continue;
        const aoei_st_dtype type = stored_type(m, o, i, &slot);
        const aoei_weight_placement place = aoei_weight_placement_of(m, p, i, &slot, type, 1);
        *allocated += place.bytes;
        if (place.mapped)
            *in_file += aoei_storage_bytes(storage_of[type], slot.rows, slot.cols, slot.vector);
    }
}

static int check(const aoe_model *m, const aoe_plan_options *o, size_t *n_tokens, aoe_error *err) {
    const size_t max_length = m->config.arch->max_length(&m->config);
    if (o->n_texts < 1 || o->length < 1 || aoei_mul_size(o->n_texts, o->length, n_tokens) || *n_tokens > UINT32_MAX)
        return aoei_fail(err, AOE_EARG,
                         "a batch of %zu texts of %zu tokens cannot be planned; use 1 to 2^32 - 1 tokens in total",
                         o->n_texts, o->length);
    if (o->ranks > 1 && o->batch_texts > UINT32_MAX / o->length)
        return aoei_fail(err, AOE_EARG, "a batch of %zu texts of %zu tokens cannot be planned; use fewer texts",
                         o->batch_texts, o->length);
    if (o->length > max_length)
        return aoei_fail(err, AOE_EARG,
                         "a text of %zu tokens is longer than the maximum length of the model, %zu; plan shorter texts",
                         o->length, max_length);
    return 0;
}

/* The model and the step of a training run. */
typedef struct run {
    const aoei_method *method;    /* static */
    const aoe_train_options *o;   /* options of the run, borrowed */
    aoe_model *model;             /* the model with the adapters and the layers that the run adds; owned */
    aoei_pair_step_options sizes; /* sizes of a step, without recompute */
    aoei_method_run state;        /* state of the method */
    size_t texts;                 /* maximum number of texts in a chunk, including references */
    size_t arity;                 /* number of texts per example */
    aoei_comm comm;               /* number of the rank and of all ranks, without a transport */
    aoei_shards shards;           /* shards of the rank */
} run;

static void set_traffic(aoe_memory_plan *plan, const aoei_traffic_plan *traffic) {
    plan->sent_vectors = traffic->vectors;
    plan->sent_gradients = traffic->gradients;
    plan->sent_norm = traffic->norm;
    plan->sent_weights = traffic->weights;
    plan->sent_agreement = traffic->agreement;
    plan->sent_check = traffic->check;
}

/* Computes the bytes that the rank sends in a step. */
static int plan_traffic(aoe_memory_plan *plan, const run *r, const aoe_plan_options *o, aoe_error *err) {
    aoei_pair_step step = {.ctx = r->model->ctx};
    aoei_arena arena;
    aoei_traffic_plan traffic;
    const aoei_traffic_batch batch = {.examples = r->sizes.pairs,
                                      .arity = r->arity,
                                      .length = o->length,
                                      .references = r->sizes.references,
                                      .batches = r->o->accumulate};
    if (aoei_comm_ranks(&r->comm) == 1)
        return AOE_OK;
    aoei_arena_measure(&arena);
    int rc = aoei_pair_step_layout(&step, r->model->ctx, &r->model->config, &r->sizes, &arena, err);
    if (!rc)
        rc = aoei_traffic_plan_pairs(&traffic, &step, &batch, err);
    if (rc)
        return rc;
    set_traffic(plan, &traffic);
    return AOE_OK;
}

/* Computes the memory for training. Sets *plan, except the fields for inference. */
static int plan_training(aoe_memory_plan *plan, const run *r, const aoe_plan_options *o, aoe_error *err) {
    const aoe_model *m = r->model;
    const int layers = r->sizes.layers != NULL;
    const size_t encoders = r->sizes.added ? 2 : 1; /* encoders with activations of their own */
    const aoei_encoder_mode without_recompute = {.training = 1, .taps = layers},
                            with_recompute = {.training = 1, .taps = layers, .recompute = 1};
    const aoei_params_options parameters = {.type = m->type,
                                            .optimizer = r->sizes.optimizer,
                                            .second_encoder = r->sizes.twin || r->sizes.added,
                                            .rank = o->rank,
                                            .ranks = o->ranks};
    const size_t tokens = aoei_pair_step_chunk_tokens(&r->sizes);
    encoder_bytes training = {0}, recompute = {0};
    size_t in_file, allocated, params = 0, arena = 0, other = 0;
    int rc;
    if ((rc = measure_encoder(&training, m, tokens, r->texts, r->sizes.longest, without_recompute, err)) ||
        (rc = measure_encoder(&recompute, m, tokens, r->texts, r->sizes.longest, with_recompute, err)) ||
        (rc = measure_params(plan, &params, m, &parameters, &r->shards, r->sizes.accumulates || r->sizes.added, err)) ||
        (rc = aoei_pair_step_measure(&arena, &other, m->ctx, &m->config, &r->sizes, err)) ||
        (rc = measure_evaluation(plan, m, err)) || (rc = plan_traffic(plan, r, o, err)))
        return rc;
    training = (encoder_bytes){encoders * training.all, encoders * training.kept};
    recompute = (encoder_bytes){encoders * recompute.all, encoders * recompute.kept};
    if (aoei_has_frozen_weights(&m->config)) {
        measure_weights(&in_file, &allocated, m, o, &(aoei_open_mode){.eight_bit = r->o->lora.load_8bit}, 1);
        plan->frozen = in_file + allocated;
    }
    plan->objectives = arena - params - training.all + other;
    plan->kept = training.kept;
    plan->kept_recompute = recompute.kept;
    plan->working = training.all - training.kept;
    rc = sum_training(plan, &training, &plan->training, err);
    return rc ? rc : sum_training(plan, &recompute, &plan->training_recompute, err);
}

/* Computes the memory for pretraining. Sets *plan, except the fields for inference. */
static int plan_pretraining(aoe_memory_plan *plan, const aoe_model *m, const aoe_plan_options *o, aoe_error *err) {
    const aoe_training_args *args = &o->pretrain->args;
    aoei_comm comm = {.c = {.struct_size = sizeof(aoe_comm), .rank = (int)o->rank, .ranks = (int)o->ranks}};
    const aoei_shards shards = aoei_shards_of(args->shards, &comm);
    aoei_encoder_config c = m->config;
    c.mlm_head = 1;
    c.modules = (aoei_module_config){.n = 0}; /* pretraining uses the last hidden states */
    c.training = NULL;
    const size_t tokens = args->batch_tokens > o->length ? args->batch_tokens : o->length;
    const aoei_mlm_step_options step = {.tokens = tokens,
                                        .texts = tokens,
                                        .longest = o->length,
                                        .type = m->type,
                                        .optimizer = aoei_optimizer_of(args->optimizer),
                                        .shards = &shards};
    const aoei_params_options parameters = {
        .type = m->type, .optimizer = step.optimizer, .rank = o->rank, .ranks = o->ranks};
    const aoe_model pretrained = {.ctx = m->ctx, .type = m->type, .dtype = m->dtype, .config = c};
    encoder_bytes training = {0}, recompute = {0};
    size_t params = 0, arena = 0, other = 0;
    aoei_traffic_plan traffic;
    aoei_arena measuring;
    aoei_params layout;
    int rc = AOE_OK;
    if (!c.arch->mlm_class_name || m->lora.r)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "options.pretrain: %s cannot be pretrained; plan for a model without adapters, of an "
                         "architecture such as bert, roberta, mpnet, modernbert or ran",
                         m->lora.r ? "adapters" : "this architecture");
    if ((rc = measure_encoder(&training, &pretrained, tokens, tokens, o->length, (aoei_encoder_mode){.training = 1},
                              err)) ||
        (rc = measure_encoder(&recompute, &pretrained, tokens, tokens, o->length,
                              (aoei_encoder_mode){.training = 1, .recompute = 1}, err)) ||
        (rc = measure_params(plan, &params, &pretrained, &parameters, &shards, 0, err)) ||
        (rc = aoei_mlm_step_measure(&arena, &other, m->ctx, &c, &step, err)))
        return rc;
    plan->objectives = arena - params - training.all + other;
    plan->kept = training.kept;
    plan->kept_recompute = recompute.kept;
    plan->working = training.all - training.kept;
    plan->evaluation = plan->parameters;
    if (o->ranks > 1) {
        aoei_arena_measure(&measuring);
        rc = aoei_params_layout(&layout, m->ctx, &c, &parameters, &measuring, err);
        if (rc)
            return rc;
        aoei_traffic_plan_pretraining(&traffic, &shards, &layout.share);
        set_traffic(plan, &traffic);
    }
    rc = sum_training(plan, &training, &plan->training, err);
    return rc ? rc : sum_training(plan, &recompute, &plan->training_recompute, err);
}

/* Adds a new classification head to the configuration of m, unless it has a head and o->classes is not set to another
 * number. */
static int add_head(aoe_model *m, const aoei_method *method, const aoe_train_options *o, aoe_error *err) {
    const size_t classes = aoei_method_scores(method, o), own = m->config.modules.classes;
    if (own && (o->classes == AOE_AUTO || own == classes))
        return AOE_OK;
    m->config.modules = (aoei_module_config){.n = 0};
    const int rc = aoei_head_read(&m->config, classes, m->files.config_json,
                                  m->files.config_json ? m->files.dir : "options.shape", err);
    m->config.modules.pooled_parts = rc ? 0 : aoei_pooling_parts(m->config.pooling);
    return rc;
}

/* Sets m->config.lora to the adapters that training would use. If o->lora.r is set, these are new adapters; otherwise,
 * they are the adapters of the model. */
static int add_adapters(aoe_model *m, const aoe_train_options *o, aoe_error *err) {
    if (o->lora.r)
        return aoei_lora_resolve(&m->config.lora, &o->lora, &m->config, err);
    m->config.lora = m->lora;
    return !o->lora.load_8bit || m->lora.r
               ? 0
               : aoei_fail(err, AOE_EARG, "options.lora.load_8bit requires adapters; set options.lora.r");
}

/* Creates a copy of m to which layers can be added. from: m with adapters, whose slots the copy has. */
static int copy_model(aoe_model **copy, const aoe_model *m, const aoe_model *from, aoe_error *err) {
    const size_t n = aoei_slot_count(&from->config), own = aoei_slot_count(&m->config);
    aoei_tensor *weights = aoei_calloc(n, sizeof *weights);
    const aoei_st_tensor **tensors = aoei_calloc(n, sizeof *tensors);
    int rc = weights && tensors ? AOE_OK : aoei_fail_nomem(err, n * sizeof *weights);
    if (!rc && m->weights)
        memcpy(weights, m->weights, (n < own ? n : own) * sizeof *weights);
    if (!rc)
        rc = aoei_model_view(copy, from, weights, err);
    if (!rc)
        (*copy)->base = m;
    if (!rc && m->files.base_dir) {
        (*copy)->files.base_dir = aoei_strdup(m->files.base_dir);
        rc = (*copy)->files.base_dir ? AOE_OK : aoei_fail_nomem(err, strlen(m->files.base_dir));
    }
    if (!rc && m->files.tensors) {
        memcpy(tensors, m->files.tensors, (n < own ? n : own) * sizeof *tensors);
        (*copy)->files.tensors = tensors;
        tensors = NULL;
    }
    if (!rc && m->files.config_json) {
        json_decref((*copy)->files.config_json);
        (*copy)->files.config_json = aoei_json_copy(m->files.config_json);
        rc = (*copy)->files.config_json ? AOE_OK : aoei_fail_nomem(err, 1);
    }
    aoei_free(weights);
    aoei_free(tensors);
    return rc;
}

/* Adds what the state of the method needs to the sizes of a step. arity: number of texts in an example. */
static int add_state(run *r, size_t arity, aoe_error *err) {
    const aoei_method_state *s = r->method->state;
    r->state = (aoei_method_run){.o = r->o, .model = r->model, .arity = arity, .longest = r->sizes.longest};
    const int rc = s && s->create ? s->create(&r->state, err) : AOE_OK;
    if (!rc && s && s->measure)
        s->measure(&r->state, &r->sizes);
    if (!r->sizes.chunk_pairs)
        r->texts += r->sizes.references;
    return rc;
}

static void destroy_run(run *r) {
    if (r->state.state)
        r->method->state->destroy(r->state.state);
    aoe_model_close(r->model);
}

/* Adds the linear map of a method that learns the teacher embeddings. If the options contain no teacher, the vectors
 * have the size of the embeddings. The teachers themselves are not part of the plan. */
static int add_teacher_map(run *r, aoe_error *err) {
    aoei_teacher t = {.dims = aoei_vector_dims(&r->model->config)};
    int rc =
        r->o->teachers[0] ? aoei_teacher_open(&t, r->model->ctx, r->o->teachers, AOE_DTYPE_AUTO, NULL, err) : AOE_OK;
    if (!rc)
        rc = aoei_teacher_map_add(r->o, r->model, t.dims, err);
    r->sizes.teacher_dims = t.dims;
    aoei_teacher_destroy(&t);
    return rc;
}

/* Creates the model of a training run and the sizes of its step. n_tokens: number of tokens in the texts of a batch. */
static int create_run(run *r, const aoe_model *m, const aoe_train_options *train, const aoe_plan_options *o,
                      size_t n_tokens, aoe_error *err) {
    aoe_model adapted = *m; /* a shallow copy; all pointers are borrowed from *m */
    *r = (run){.o = train,
               .comm = {.c = {.struct_size = sizeof(aoe_comm), .rank = (int)o->rank, .ranks = (int)o->ranks}}};
    r->shards = aoei_shards_of(train->args.shards, &r->comm);
    int rc = aoei_method_find(&r->method, train->method, err);
    if (!rc && r->method->cross_encoder)
        rc = add_head(&adapted, r->method, train, err);
    if (!rc)
        rc = add_adapters(&adapted, train, err);
    if (!rc)
        rc = copy_model(&r->model, m, &adapted, err);
    if (!rc && r->method->words)
        rc = aoei_word_table_select(r->model, r->method->words, 1, err);
    if (!rc && r->method->layer)
        rc = r->method->layer(train, r->model, 0, err);
    if (!rc && r->method->maps_vectors)
        rc = add_teacher_map(r, err);
    if (!rc && r->method->check_model)
        rc = r->method->check_model(train, r->model, !m->tokenizer || aoei_has_dropout(&train->args, &r->model->config),
                                    err);
    if (rc)
        return rc;
    const size_t arity = aoei_method_texts(r->method, 2);
    const int labels = (r->method->kinds & AOEI_KIND(PAIRS)) && !r->method->positives_only;
    const size_t chunk = (o->n_texts + arity - 1) / arity, whole = (o->batch_texts + arity - 1) / arity;
    const int chunks = o->ranks > 1 && whole > chunk; /* 1: n_texts is the number of texts in a chunk */
    r->arity = arity;
    r->sizes = (aoei_pair_step_options){.pairs = chunks ? whole : chunk,
                                        .arity = arity == 2 && labels ? 0 : arity,
                                        .tokens = chunks ? o->batch_texts * o->length : n_tokens,
                                        .chunk_pairs = chunks ? chunk : 0,
                                        .chunk_tokens = n_tokens,
                                        .longest = o->length,
                                        .type = r->model->type,
                                        .optimizer = aoei_optimizer_of(train->args.optimizer),
                                        .teacher_dims = r->sizes.teacher_dims,
                                        .shards = &r->shards,
                                        .accumulates = train->accumulate > 1,
                                        .loss = r->method->step_loss,
                                        .layers = train->layers.adaptive || train->layers.ese ? &train->layers : NULL};
    r->texts = arity * chunk;
    return add_state(r, arity, err);
}

/* Checks the ranks and the shards. */
static int check_ranks(const aoe_plan_options *o, size_t shards, aoe_error *err) {
    if (shards < 1 || shards > AOE_MAX_SHARDS || shards & (shards - 1))
        return aoei_fail(err, AOE_EARG, "options.shards is %zu; give a power of two of at most %d", shards,
                         AOE_MAX_SHARDS);
    if (o->ranks > shards)
        return aoei_fail(err, AOE_EARG,
                         "options.shards is %zu, but the plan is for %zu ranks; give a power of two that is at least "
                         "the number of ranks",
                         shards, o->ranks);
    if (o->ranks && o->rank >= o->ranks)
        return aoei_fail(err, AOE_EARG, "rank %zu of %zu ranks does not exist; count ranks from 0", o->rank, o->ranks);
    return AOE_OK;
}

AOEI_DEFAULTS(aoe_plan_options) {
    *o = (aoe_plan_options){.struct_size = sizeof *o};
    o->n_texts = 64;
    o->length = AOE_AUTO;
    o->storage = AOE_STORAGE_BF16;
}

int aoe_model_plan(const aoe_model *m, const aoe_plan_options *o, aoe_memory_plan *plan, aoe_error *err) {
    AOEI_CHECK(err, m, plan);
    AOEI_RESULT(aoe_memory_plan, plan, err);
    AOEI_OPTIONS(aoe_plan_options, o, err);
    aoe_plan_options resolved = *o;
    const aoe_train_options *train = o->train;
    const aoe_pretrain_options *pretrain = o->pretrain;
    if (train && pretrain)
        return aoei_fail(err, AOE_EARG, "options.train and options.pretrain are both set; set only one of them");
    AOEI_OPTIONS(aoe_train_options, train, err);
    AOEI_OPTIONS(aoe_pretrain_options, pretrain, err);
    if (o->length == AOE_AUTO)
        resolved.length = m->settings.max_length;
    if (o->pretrain) {
        resolved.pretrain = pretrain;
        resolved.batch_texts = 0;
    }
    o = &resolved;
    size_t n_tokens;
    encoder_bytes inference = {0};
    int rc = check_ranks(o, o->pretrain ? pretrain->args.shards : train->args.shards, err);
    if (rc)
        return rc;
    run r = {0};
    plan->dtype = aoei_dtype_in_use(m->dtype, m->type);
    rc = check(m, o, &n_tokens, err);
    if (!rc)
        rc = measure_encoder(&inference, m, n_tokens, o->n_texts, o->length,
                             (aoei_encoder_mode){.unpacked = aoei_model_packs_later(m)}, err);
    if (rc)
        return rc;
    plan->weights = m->files.stored_bytes;
    plan->packed = m->memory.converted_bytes + aoei_model_packed_bytes(m);
    plan->activations = inference.all;
    if (o->pretrain)
        rc = plan_pretraining(plan, m, o, err);
    else if (!(rc = create_run(&r, m, train, o, n_tokens, err)))
        rc = plan_training(plan, &r, o, err);
    if (!rc && o->measure_speed)
        rc = aoei_step_speed(&plan->tokens_per_second, m->ctx, r.model ? &r.model->config : &m->config, m->type, err);
    destroy_run(&r);
    return rc;
}

int aoe_shape_plan(aoe_context *ctx, const aoe_shape *s, const aoe_plan_options *o, aoe_memory_plan *plan,
                   aoe_error *err) {
    AOEI_CHECK(err, ctx, s, plan);
    AOEI_OPTIONS(aoe_plan_options, o, err);
    aoe_shape shape = {.struct_size = sizeof shape};
    int rc = aoei_options_read(&shape, s, &aoei_layout_aoe_shape, __func__, err);
    if (rc)
        return rc;
    s = &shape;
    const size_t length = o->length == AOE_AUTO ? s->positions : o->length;
    char dir[] = "", prompt[] = "";
    aoe_model m = {.ctx = ctx,
                   .files = {.dir = dir},
                   .type = aoei_context_type(ctx, o->dtype),
                   .dtype = o->dtype,
                   .settings = {.pooling = AOE_POOLING_LAST_AVG, .max_length = length, .prompt = prompt}};
    size_t in_file;
    rc = aoei_shape_checked(&m.config, s, err);
    if (!rc && m.dtype == AOE_DTYPE_INT8)
        rc = aoei_model_int8_check(&m.config, 1, "options.shape", err);
    if (rc)
        return rc;
    for (size_t i = 0; i < aoei_slot_count(&m.config); i++) {
        aoei_slot slot;
        aoei_slot_describe(&m.config, i, &slot);
        if (!slot.absent)
            m.files.stored_bytes += aoei_storage_bytes(o->storage, slot.rows, slot.cols, slot.vector);
    }
    measure_weights(&in_file, &m.memory.converted_bytes, &m, o, &(aoei_open_mode){.packed = 1}, 0);
    return aoe_model_plan(&m, o, plan, err);
}
