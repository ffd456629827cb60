/* SPDX-License-Identifier: MIT
 * Implements masked-language-model pretraining as a task of the trainer (trainer.h). Sequences are drawn from a shuffle
 * buffer, and new masks are drawn for every step. The evaluation loss is computed on held-out texts. The encoder
 * processes the sequences of a step in chunks of at most batch_tokens tokens. The order of the sequences in an epoch
 * depends only on the seed, the epoch and the files. Therefore, a resumed run reads the epoch from its beginning up to
 * the current step.
 */
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/json.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/options.h"
#include "base/random.h"
#include "options/pretrain.h"
#include "train/mlm_step.h"
#include "train/masking.h"
#include "train/schedule.h"
#include "train/sequences.h"
#include "train/train_loop.h"

#include <math.h>
#include <string.h>

/* A list of token id sequences. Sequence i is ids[offsets[i], offsets[i + 1]). */
typedef struct sequence_list {
    int32_t *ids;    /* [capacity] token ids of all sequences; the first offsets[n] elements are used; owned */
    size_t *offsets; /* [offset_capacity] index in `ids` of the start of each sequence, and of the end of the last
                        sequence; owned */
    size_t n;        /* number of sequences */
    size_t capacity; /* allocated elements of `ids` */
    size_t offset_capacity; /* allocated elements of `offsets` */
} sequence_list;

/* The state of a pretraining run. */
typedef struct mlm_task {
    aoei_task task;                 /* functions that the trainer calls */
    const aoe_pretrain_options *o;  /* checked options; borrowed */
    const aoe_model *model;         /* start model; borrowed */
    aoei_sequences_options reading; /* files, maximum length and packing of the sequences */
    size_t tokens;                  /* number of tokens in an epoch */
    size_t longest;                 /* maximum number of tokens in a sequence in the training data */
    uint64_t fingerprint;           /* hash of all sequences, including the held-out sequences */
    sequence_list held_out;         /* held-out sequences, on which the model is evaluated */
    aoei_masking masking;           /* selects the tokens to predict */
    aoei_mlm_step step;             /* computes losses and gradients */
    /* State of the current epoch. */
    aoei_sequences *stream; /* reader of the sequences of the epoch; NULL before the first epoch; owned */
    size_t epoch;           /* index of the epoch, counted from 0; (size_t)-1 before the first epoch */
    size_t drawn;           /* number of sequences drawn in this epoch */
    aoei_rng rng;           /* random generator that selects elements of `buffer` */
    int32_t **buffer; /* [o->shuffle] shuffle buffer. Each element is an array that contains the number of tokens in a
                         sequence, followed by its token ids; all arrays are owned */
    size_t buffered;  /* number of sequences in the shuffle buffer */
    /* State of the current step. */
    sequence_list batch; /* masked sequences of the step */
    uint32_t *index; /* [capacity] masked positions of all sequences in `batch`; each is counted from the start of its
                        sequence; owned */
    int32_t *target; /* [capacity] original id of each masked token; owned */
    size_t capacity; /* allocated elements of `index` and of `target` */
} mlm_task;

AOEI_DEFAULTS(aoe_pretrain_options) {
    *o = (aoe_pretrain_options){.struct_size = sizeof *o};
    aoe_training_args_defaults(&o->args);
    aoe_table_options_defaults(&o->table);
    o->args.lr = 5e-4;
    o->batch_size = 256;
    o->pack = 1;
    o->mask_rate = 0.15;
    o->shuffle = 1 << 17;
    o->held_out = 0.005;
}

static int check_options(const aoe_pretrain_options *o, aoe_error *err) {
    if (!o || !o->args.model || !o->n_texts || !o->args.output)
        return aoei_fail(err, AOE_EARG, "pretraining needs options.model, options.texts and options.output");
    const int code = aoei_option_group_check(&aoei_pretrain_data_rows, o, AOEI_ALL_METHODS, err);
    return code ? code : aoei_option_group_check(&aoei_pretrain_batches_rows, o, AOEI_ALL_METHODS, err);
}

/* ------------------------------------------------------------ sequence lists */

static void list_free(sequence_list *l) {
    aoei_free(l->ids);
    aoei_free(l->offsets);
    memset(l, 0, sizeof *l);
}

static size_t list_tokens(const sequence_list *l) {
    return l->n ? l->offsets[l->n] : 0;
}

static int list_add(sequence_list *l, const int32_t *ids, size_t n, aoe_error *err) {
    const size_t used = list_tokens(l);
    if (!l->ids || l->capacity - used < n) {
        const size_t capacity = 2 * l->capacity + n;
        int32_t *grown = aoei_realloc_array(l->ids, capacity, sizeof *grown);
        if (!grown)
            return aoei_fail_nomem(err, capacity * sizeof *grown);
        l->ids = grown;
        l->capacity = capacity;
    }
    if (l->n + 1 >= l->offset_capacity) {
        const size_t offset_capacity = 2 * l->offset_capacity + 64;
        size_t *grown = aoei_realloc_array(l->offsets, offset_capacity, sizeof *grown);
        if (!grown)
            return aoei_fail_nomem(err, offset_capacity * sizeof *grown);
        l->offsets = grown;
        l->offset_capacity = offset_capacity;
    }
    l->offsets[0] = 0;
    memcpy(l->ids + used, ids, n * sizeof *ids);
    l->offsets[++l->n] = used + n;
    return AOE_OK;
}

/* ------------------------------------------------------------------ loading */

/* Reads all sequences of one part of the texts: the training texts if held_out is 0, or the held-out texts if it is 1.
 * *n is set to the number of sequences. If keep is not NULL, the sequences are appended to *keep. Fails if no sequence
 * contains a token that can be predicted. */
static int read_all(mlm_task *p, int held_out, sequence_list *keep, size_t *n, aoe_error *err) {
    aoei_sequences *s = NULL;
    const int32_t *ids;
    size_t count, maskable = 0;
    aoei_sequences_options o = p->reading;
    o.want_held_out = held_out;
    *n = 0;
    int rc = aoei_sequences_open(&s, p->model, &o, err);
    while (!rc && (rc = aoei_sequences_next(s, &ids, &count, err)) == 1) {
        p->fingerprint = aoei_hash(p->fingerprint, ids, count * sizeof *ids);
        p->longest = count > p->longest ? count : p->longest;
        p->tokens += held_out ? 0 : count;
        maskable += aoei_masking_maskable(&p->masking, ids, count);
        ++*n;
        rc = keep ? list_add(keep, ids, count, err) : AOE_OK;
    }
    if (!rc && !held_out && aoei_sequences_skipped(s))
        aoei_log_write(&p->model->ctx->log, AOE_LOG_WARNING, "skipped %zu bad row%s", aoei_sequences_skipped(s),
                       aoei_sequences_skipped(s) == 1 ? "" : "s");
    aoei_sequences_close(s);
    if (!rc && *n && !maskable)
        rc = aoei_fail(
            err, AOE_EFORMAT,
            "%s: the %zu sequences %s contain no token to predict, because the vocabulary of %s contains none of their "
            "words; create a model with a vocabulary from these texts",
            p->o->texts[0], *n, held_out ? "held out" : "to train on", p->model->files.dir);
    return rc;
}

static int load(aoei_task *task, aoei_trainer *t, aoe_error *err) {
    mlm_task *p = task->self;
    size_t n, n_held_out = 0;
    p->model = t->base;
    p->fingerprint = AOEI_HASH_START;
    p->reading = (aoei_sequences_options){.files = p->o->texts,
                                          .n_files = p->o->n_texts,
                                          .table = &p->o->table,
                                          .max_length = t->base->settings.max_length,
                                          .pack = p->o->pack,
                                          .held_out = p->o->held_out};
    int rc = aoei_masking_create(&p->masking, t->base, p->o->mask_rate, t->base->settings.max_length, err);
    if (!rc)
        rc = read_all(p, 0, NULL, &n, err);
    if (!rc && p->o->held_out > 0)
        rc = read_all(p, 1, &p->held_out, &n_held_out, err);
    if (rc)
        return rc;
    if (n == 0)
        return aoei_fail(err, AOE_EFORMAT, "%s: no text to train on; give files with one text per line",
                         p->o->texts[0]);
    if (p->o->held_out > 0 && n_held_out == 0)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: options.held_out %g selects no text; raise it, or set it to 0 to train without evaluation",
            p->o->texts[0], p->o->held_out);
    aoei_log_write(&t->ctx->log, AOE_LOG_INFO, "%zu training sequences with %zu tokens, and %zu held-out sequences", n,
                   p->tokens, n_held_out);
    task->examples = n;
    task->steps_per_epoch = (n + p->o->batch_size - 1) / p->o->batch_size;
    task->ibn_threshold = (double)NAN;
    return AOE_OK;
}

static int describe(const aoei_task *task, json_t *r) {
    const mlm_task *p = task->self;
    char fingerprint[24];
    snprintf(fingerprint, sizeof fingerprint, "%016llx", (unsigned long long)p->fingerprint);
    json_t *texts = json_array();
    int bad = !texts;
    for (size_t i = 0; i < p->o->n_texts; i++)
        bad |= json_array_append_new(texts, aoei_name_json(p->o->texts[i]));
    bad |= json_object_set_new(r, "task", json_string("masked-lm"));
    bad |= json_object_set_new(r, "texts", texts);
    bad |= json_object_set_new(r, "pack", json_boolean(p->o->pack));
    bad |= json_object_set_new(r, "held_out", json_real(p->o->held_out));
    bad |= json_object_set_new(r, "data_fingerprint", json_string(fingerprint));
    bad |= json_object_set_new(r, "sequences", json_integer((json_int_t)task->examples));
    bad |= json_object_set_new(r, "batch_size", json_integer((json_int_t)p->o->batch_size));
    /* batch_tokens is recorded because it affects rounding: the token embeddings receive two gradients from each chunk,
     * one from the head and one from the embedding layer */
    bad |= json_object_set_new(r, "batch_tokens", json_integer((json_int_t)p->o->args.batch_tokens));
    bad |= json_object_set_new(r, "mask_rate", json_real(p->o->mask_rate));
    bad |= json_object_set_new(r, "shuffle", json_integer((json_int_t)p->o->shuffle));
    return bad;
}

static int lay_out(aoei_task *task, aoei_trainer *t, aoe_error *err) {
    mlm_task *p = task->self;
    const size_t tokens = t->o->batch_tokens > p->longest ? t->o->batch_tokens : p->longest;
    const aoei_mlm_step_options step = {.tokens = tokens,
                                        .texts = tokens,
                                        .longest = p->longest,
                                        .type = t->base->type,
                                        .optimizer = aoei_optimizer_of(t->o->optimizer),
                                        .recompute = t->o->recompute,
                                        .shards = &t->shards};
    const int rc = aoei_mlm_step_create(&p->step, t->ctx, &t->base->config, &step, err);
    if (rc)
        return rc;
    task->params = &p->step.params;
    task->tree = &p->step.tree;
    p->epoch = (size_t)-1;
    p->buffer = aoei_calloc(p->o->shuffle, sizeof *p->buffer);
    return p->buffer ? AOE_OK : aoei_fail_nomem(err, p->o->shuffle * sizeof *p->buffer);
}

/* ------------------------------------------------------------------ drawing */

static void end_epoch(mlm_task *p) {
    aoei_sequences_close(p->stream);
    p->stream = NULL;
    while (p->buffered)
        aoei_free(p->buffer[--p->buffered]);
}

/* Reads the next sequence of the epoch. *out is set to a new array that contains the number of tokens, followed by the
 * token ids; the caller frees it. At the end of the epoch, *out is set to NULL. */
static int read_sequence(mlm_task *p, int32_t **out, aoe_error *err) {
    const int32_t *ids;
    size_t n;
    *out = NULL;
    const int rc = aoei_sequences_next(p->stream, &ids, &n, err);
    if (rc != 1)
        return rc;
    *out = aoei_malloc_array(n + 1, sizeof **out);
    if (!*out)
        return aoei_fail_nomem(err, (n + 1) * sizeof **out);
    **out = (int32_t)n;
    memcpy(*out + 1, ids, n * sizeof *ids);
    return AOE_OK;
}

static int begin_epoch(mlm_task *p, uint64_t seed, size_t epoch, aoe_error *err) {
    end_epoch(p);
    p->epoch = epoch;
    p->drawn = 0;
    aoei_rng_init(&p->rng, seed, AOEI_STREAM_SHUFFLE, (uint32_t)epoch);
    int rc = aoei_sequences_open(&p->stream, p->model, &p->reading, err);
    int32_t *sequence = NULL;
    while (!rc && p->buffered < p->o->shuffle && !(rc = read_sequence(p, &sequence, err)) && sequence)
        p->buffer[p->buffered++] = sequence;
    return rc;
}

/* Removes a random sequence from the shuffle buffer and sets *out to it; the caller frees *out. The next sequence of
 * the epoch takes its place in the buffer. */
static int draw(mlm_task *p, int32_t **out, aoe_error *err) {
    *out = NULL;
    if (p->buffered == 0)
        return aoei_fail(err, AOE_EIO, "%s: the texts have changed since the run began; start again with options.force",
                         p->o->texts[0]);
    const size_t i = aoei_rng_below(&p->rng, (uint32_t)p->buffered);
    int32_t *next;
    const int rc = read_sequence(p, &next, err);
    if (rc)
        return rc;
    *out = p->buffer[i];
    p->buffer[i] = next ? next : p->buffer[--p->buffered];
    p->drawn++;
    return AOE_OK;
}

/* Draws and discards sequences of an epoch until sequence `first` (counted from 0) is the next one to draw. */
static int seek(mlm_task *p, uint64_t seed, size_t epoch, size_t first, aoe_error *err) {
    int rc = AOE_OK;
    if (p->epoch != epoch || p->drawn > first)
        rc = begin_epoch(p, seed, epoch, err);
    while (!rc && p->drawn < first) {
        int32_t *sequence;
        rc = draw(p, &sequence, err);
        aoei_free(sequence);
    }
    return rc;
}

/* -------------------------------------------------------------------- steps */

/* Masks every sequence of the list in place.
 * - seed, stream, first: the masks of sequence i are drawn from the random stream (seed, stream, first + i)
 * - mask_offsets: [list->n + 1] receives offsets in p->index and p->target. p->index[mask_offsets[i], mask_offsets[i +
 *   1]) receives the masked positions of sequence i, counted from its first token, and p->target receives the original
 *   ids of these tokens. */
static int mask_all(mlm_task *p, sequence_list *list, uint64_t seed, uint32_t stream, uint64_t first,
                    size_t *mask_offsets, aoe_error *err) {
    const size_t need = list_tokens(list);
    if (p->capacity < need) {
        aoei_free(p->index);
        aoei_free(p->target);
        p->capacity = need;
        p->index = aoei_malloc_array(need, sizeof *p->index);
        p->target = aoei_malloc_array(need, sizeof *p->target);
        if (!p->index || !p->target) {
            p->capacity = 0;
            return aoei_fail_nomem(err, need * sizeof *p->index);
        }
    }
    mask_offsets[0] = 0;
    for (size_t i = 0; i < list->n; i++) {
        aoei_rng rng;
        const size_t at = list->offsets[i], n = list->offsets[i + 1] - at, mask_offset = mask_offsets[i];
        aoei_rng_init(&rng, seed, stream, (uint32_t)(first + i));
        mask_offsets[i + 1] = mask_offset + aoei_masking_apply(&p->masking, &rng, list->ids + at, n,
                                                               p->index + mask_offset, p->target + mask_offset);
    }
    return AOE_OK;
}

/* Fills p->step.buffer with the sequences [first, end) of the list until the chunk is full. Returns the index of the
 * first sequence that is not in the chunk. */
static size_t fill_chunk(mlm_task *p, const sequence_list *list, const size_t *mask_offsets, size_t first, size_t end) {
    aoei_mlm_step *s = &p->step;
    size_t i = first;
    aoei_batch_clear(&s->buffer);
    s->n_masked = 0;
    for (; i < end; i++) {
        const size_t at = list->offsets[i], n = list->offsets[i + 1] - at, base = s->buffer.batch.n_tokens;
        if (base + n > s->o.tokens)
            break;
        for (size_t k = mask_offsets[i]; k < mask_offsets[i + 1]; k++, s->n_masked++) {
            s->index[s->n_masked] = (uint32_t)base + p->index[k];
            s->target[s->n_masked] = p->target[k];
        }
        aoei_batch_add(&s->buffer, list->ids + at, n, (uint32_t)i);
    }
    return i;
}

/* Runs the model on the masked sequences [first, end) of the list, and adds their losses to *sums. */
static void run_range(mlm_task *p, const sequence_list *list, const size_t *mask_offsets, size_t first, size_t end,
                      const aoei_encoder_dropout *drop, double scale, aoei_mlm_sums *sums) {
    for (size_t i = first; i < end;) {
        i = fill_chunk(p, list, mask_offsets, i, end);
        aoei_mlm_step_gradient(&p->step, drop, scale, sums);
    }
}

static void set_result(aoei_task_result *result, const sequence_list *list, const size_t *mask_offsets,
                       const aoei_mlm_sums *sums) {
    const double n = (double)mask_offsets[list->n];
    result->loss.total = n > 0 ? sums->loss / n : 0;
    result->accuracy = n > 0 ? (double)sums->correct / n : 0;
    result->tokens = list_tokens(list);
    result->examples = list->n;
}

/* Divides the sequences of a step into shards: sets first[shards + 1] to the first sequence of each shard. */
static int divide(size_t *first, const aoei_shards *shards, const sequence_list *list, aoe_error *err) {
    uint32_t *tokens = aoei_malloc_array(list->n, sizeof *tokens);
    if (!tokens)
        return aoei_fail_nomem(err, list->n * sizeof *tokens);
    for (size_t i = 0; i < list->n; i++)
        tokens[i] = (uint32_t)(list->offsets[i + 1] - list->offsets[i]);
    aoei_shards_divide(first, shards->n, tokens, list->n);
    aoei_free(tokens);
    return AOE_OK;
}

/* Computes the gradients of the masked sequences of a step for the shards of this process. *result receives the loss of
 * all shards, which is added in the order of the shards. */
static int run_shards(mlm_task *p, const aoei_shards *shards, const size_t *mask_offsets,
                      const aoei_encoder_dropout *drop, aoei_task_result *result, aoe_error *err) {
    const sequence_list *list = &p->batch;
    const size_t masked = mask_offsets[list->n], ranks = (size_t)aoei_comm_ranks(shards->comm);
    const double scale = masked ? 1 / (double)masked : 0;
    size_t first[AOE_MAX_SHARDS + 1], offset[AOE_MAX_SHARDS + 1];
    aoei_mlm_sums sums[AOE_MAX_SHARDS], sum = {0};
    int code = divide(first, shards, list, err);
    memset(sums, 0, shards->n * sizeof *sums);
    for (size_t s = shards->begin; s < shards->end && !code; s++) {
        if (aoei_shards_are_several(shards))
            aoei_gradient_tree_bind(&p->step.tree, p->step.ctx, s);
        run_range(p, list, mask_offsets, first[s], first[s + 1], drop, scale, &sums[s]);
        if (aoei_shards_are_several(shards))
            aoei_gradient_tree_done(&p->step.tree, p->step.ctx, s);
    }
    for (size_t r = 0; r <= ranks; r++)
        offset[r] = aoei_shards_first(shards->n, r, ranks) * sizeof *sums;
    if (!code)
        code = aoei_comm_gather_all(shards->comm, sums, offset, err);
    for (size_t s = 0; s < shards->n; s++) {
        sum.loss += sums[s].loss;
        sum.correct += sums[s].correct;
    }
    set_result(result, list, mask_offsets, &sum);
    return code;
}

static int gradient(aoei_task *task, aoei_trainer *t, uint64_t step, const aoei_encoder_dropout *drop,
                    aoei_task_result *result, aoe_error *err) {
    mlm_task *p = task->self;
    const size_t epoch = step / task->steps_per_epoch, first = step % task->steps_per_epoch * p->o->batch_size;
    const size_t remaining = task->examples - first, n = remaining < p->o->batch_size ? remaining : p->o->batch_size;
    int rc = seek(p, t->o->seed, epoch, first, err);
    p->batch.n = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        int32_t *sequence;
        rc = draw(p, &sequence, err);
        if (!rc)
            rc = list_add(&p->batch, sequence + 1, (size_t)*sequence, err);
        aoei_free(sequence);
    }
    size_t *mask_offsets = rc ? NULL : aoei_malloc_array(n + 1, sizeof *mask_offsets);
    if (!rc && !mask_offsets)
        rc = aoei_fail_nomem(err, n * sizeof *mask_offsets);
    if (!rc)
        rc = mask_all(p, &p->batch, t->o->seed, AOEI_STREAM_MASK, step * p->o->batch_size, mask_offsets, err);
    if (!rc)
        rc = run_shards(p, &t->shards, mask_offsets, drop, result, err);
    aoei_free(mask_offsets);
    return rc;
}

static int evaluate(aoei_task *task, aoei_trainer *t, aoe_embedder *embedder, double *score, aoei_task_result *result,
                    aoe_error *err) {
    mlm_task *p = task->self;
    (void)embedder;
    sequence_list masked = {0};
    int rc = AOE_OK;
    size_t *mask_offsets = aoei_malloc_array(p->held_out.n + 1, sizeof *mask_offsets);
    if (!mask_offsets)
        rc = aoei_fail_nomem(err, p->held_out.n * sizeof *mask_offsets);
    for (size_t i = 0; i < p->held_out.n && !rc; i++)
        rc = list_add(&masked, p->held_out.ids + p->held_out.offsets[i],
                      p->held_out.offsets[i + 1] - p->held_out.offsets[i], err);
    if (!rc)
        rc = mask_all(p, &masked, t->o->seed, AOEI_STREAM_HELD_OUT, 0, mask_offsets, err);
    if (!rc) {
        aoei_mlm_sums sums = {0};
        run_range(p, &masked, mask_offsets, 0, masked.n, NULL, 0, &sums);
        set_result(result, &masked, mask_offsets, &sums);
        *score = -result->loss.total;
    }
    list_free(&masked);
    aoei_free(mask_offsets);
    return rc;
}

int aoe_pretrain(aoe_context *ctx, const aoe_pretrain_options *o, aoe_error *err) {
    AOEI_CHECK(err, ctx);
    AOEI_OPTIONS(aoe_pretrain_options, o, err);
    int rc = check_options(o, err);
    if (rc)
        return rc;
    mlm_task p = {.o = o};
    p.task = (aoei_task){.self = &p,
                         .load = load,
                         .describe = describe,
                         .lay_out = lay_out,
                         .gradient = gradient,
                         .evaluate = o->held_out > 0 ? evaluate : NULL,
                         .metric = o->held_out > 0 ? "negative_loss" : NULL,
                         .mlm_head = 1};
    rc = aoei_train_run(ctx, &o->args, &p.task, err);
    end_epoch(&p);
    aoei_free(p.buffer);
    list_free(&p.held_out);
    list_free(&p.batch);
    aoei_masking_destroy(&p.masking);
    aoei_mlm_step_destroy(&p.step);
    aoei_free(p.index);
    aoei_free(p.target);
    return rc;
}
