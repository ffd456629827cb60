/* SPDX-License-Identifier: MIT
 * Sequences (aoe_sequence.h): tokenization and embedding as two steps. A sequence is one allocation, which contains its
 * token ids and copies of the settings that its embedding needs. Sequences are joined to lists of tokens for the
 * embedder, which sorts them by length and divides them into batches as for aoe_embed, so the bits are the same. If the
 * model subtracts the embedding of its empty prompt, sequences with different prompts are embedded separately.
 */
#include <aoe_sequence.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/context.h"
#include "base/error.h"
#include "base/options.h"
#include "base/struct_layout.h"
#include "encoder/arch.h"
#include "model/embedder.h"
#include "model/text_batch.h"

#include <stdlib.h>
#include <string.h>

enum { SERIAL_TEXTS = 128 /* fewer texts are tokenized by the calling thread, without waiting for other callers */ };

struct aoe_sequence {
    const aoe_model *model; /* for the comparison with the model of the embedder; not dereferenced after creation */
    size_t n;               /* number of tokens */
    uint32_t skipped;       /* number of tokens at the beginning that the pooling excludes */
    uint8_t truncated, is_pair, unit, unit_truncated; /* unit, unit_truncated: see aoei_embed_finish */
    uint8_t has_types;                                /* 1: the token types follow the ids */
    size_t dims;                                      /* number of components of the embedding, or of scores */
    size_t max_length;                                /* maximum number of tokens */
    size_t token_dims;                                /* number of components of a state */
    const char *prompt; /* prompt template, inside this allocation; NULL: that of the model */
    int32_t ids[];      /* [n] token ids, then [n] token types of one byte, then the prompt */
};

AOEI_DEFAULTS(aoe_sequence_options) {
    *o = (aoe_sequence_options){.struct_size = sizeof *o};
    o->normalize = AOE_AUTO;
}

void aoe_sequence_destroy(aoe_sequence *s) {
    aoei_free(s);
}

void aoe_sequence_get_info(const aoe_sequence *s, aoe_sequence_info *info) {
    if (!s || !info)
        return;
    const aoe_sequence_info full = {.struct_size = sizeof full,
                                    .tokens = s->n,
                                    .truncated = s->truncated,
                                    .dims = s->dims,
                                    .max_length = s->max_length,
                                    .token_dims = s->token_dims};
    aoei_struct_write(info, &full, &aoei_layout_aoe_sequence_info);
}

const int32_t *aoe_sequence_ids(const aoe_sequence *s, size_t *n) {
    if (n)
        *n = s ? s->n : 0;
    return s ? s->ids : NULL;
}

/* ------------------------------------------------------------------- create */

/* Writes the names of the prompts of a model to names[size]. */
static void list_prompts(const aoe_model *m, char *names, size_t size) {
    const char *name;
    size_t at = 0;
    *names = 0;
    for (size_t i = 0; (name = aoe_model_prompt_name(m, i)) && at < size; i++)
        at += (size_t)snprintf(names + at, size - at, "%s%.40s", i ? ", " : "", name);
}

/* Sets *prompt to the template that the options select; "": no prompt; NULL: that of the model. */
static int choose_prompt(const aoe_model *m, const aoe_sequence_options *o, const char **prompt, aoe_error *err) {
    char names[256];
    *prompt = o->prompt;
    if (!o->prompt_name)
        return AOE_OK;
    if (o->prompt)
        return aoei_fail(err, AOE_EARG, "options.prompt and options.prompt_name are both set; omit one of them");
    const char *found = aoei_prompt_find(m->settings.prompts, o->prompt_name);
    const int is_standard = !strcmp(o->prompt_name, "query") || !strcmp(o->prompt_name, "document");
    if (!found && !is_standard) {
        list_prompts(m, names, sizeof names);
        return aoei_fail(err, AOE_EARG, "the model has no prompt '%s'; its prompts: %s", o->prompt_name,
                         *names ? names : "none");
    }
    *prompt = found && strcmp(found, AOEI_PLACEHOLDER) != 0 ? found : "";
    return AOE_OK;
}

/* Checks the options and replaces their defaults by values. */
static int check_options(const aoe_embedder *e, aoe_sequence_options *o, aoe_error *err) {
    const aoe_model *m = aoe_embedder_model(e);
    const size_t all = aoe_model_dims(m), longest = m->settings.max_length;
    if (o->truncation < AOE_TRUNCATE_END || o->truncation > AOE_TRUNCATE_NONE)
        return aoei_fail(err, AOE_EARG, "options.truncation is %d, but must be an aoe_truncation", o->truncation);
    if (o->normalize != 0 && o->normalize != 1 && o->normalize != AOE_AUTO)
        return aoei_fail(err, AOE_EARG, "options.normalize is %d, but must be 0, 1 or AOE_AUTO", o->normalize);
    if (o->dims > all)
        return aoei_fail(err, AOE_EARG, "the embeddings have %zu components; they cannot be truncated to %zu", all,
                         o->dims);
    if (o->max_length > longest)
        return aoei_fail(err, AOE_EARG, "options.max_length is %zu, but the model reads at most %zu tokens",
                         o->max_length, longest);
    if (o->truncation == AOE_TRUNCATE_START && m->settings.chat)
        return aoei_fail(err, AOE_EARG,
                         "the model reads texts in a chat template, so their beginning cannot be truncated; truncate "
                         "their end");
    if (aoei_embedder_chunk(e) != AOE_CHUNK_FIRST)
        return aoei_fail(err, AOE_EARG, "the embedder divides texts into chunks; create one without options.chunk");
    o->max_length = o->max_length ? o->max_length : longest;
    o->dims = o->dims ? o->dims : aoe_embedder_dims(e);
    return AOE_OK;
}

/* Creates a sequence with n tokens whose ids and types are not set. */
static aoe_sequence *allocate(const aoe_model *m, size_t n, int has_types, const char *prompt,
                              const aoe_sequence_options *o) {
    const size_t per_token = sizeof(int32_t) + (has_types != 0);
    const size_t prompt_bytes = prompt ? strlen(prompt) + 1 : 0;
    aoe_sequence *s =
        n < (SIZE_MAX / 2 - prompt_bytes) / per_token ? aoei_malloc(sizeof *s + n * per_token + prompt_bytes) : NULL;
    if (!s)
        return NULL;
    *s = (aoe_sequence){.model = m,
                        .n = n,
                        .unit = (uint8_t)(o->normalize == AOE_AUTO ? m->settings.normalize : o->normalize),
                        .unit_truncated =
                            (uint8_t)(o->normalize == AOE_AUTO ? m->settings.unit_truncated : o->normalize),
                        .has_types = has_types != 0,
                        .dims = o->dims,
                        .max_length = o->max_length,
                        .token_dims = aoei_token_width(&m->config)};
    if (prompt)
        s->prompt = memcpy((char *)s->ids + n * per_token, prompt, prompt_bytes);
    return s;
}

static uint8_t *types_of(const aoe_sequence *s) {
    return (uint8_t *)(uintptr_t)(s->ids + s->n);
}

/* Creates the sequence of text i. If the text has more than max_length tokens and truncation is AOE_TRUNCATE_START, the
 * first tokens after the special tokens and the prompt are left out. */
static aoe_sequence *copy_text(const aoe_model *m, const aoei_token_lists *lists, size_t i, const char *prompt,
                               const aoe_sequence_options *o) {
    const size_t n = aoei_token_count(lists, i);
    const int cut = o->truncation == AOE_TRUNCATE_START && lists->affixes && n > o->max_length;
    const size_t kept = cut ? o->max_length : n, prefix = cut ? lists->affixes[i].prefix : kept;
    aoe_sequence *s = allocate(m, kept, lists->types != NULL, prompt, o);
    if (!s)
        return NULL;
    const int32_t *ids = lists->ids + lists->offsets[i];
    if (kept)
        memcpy(s->ids, ids, prefix * sizeof *ids);
    if (cut)
        memcpy(s->ids + prefix, ids + n - (kept - prefix), (kept - prefix) * sizeof *ids);
    if (kept && lists->types)
        memcpy(types_of(s), lists->types + lists->offsets[i], kept);
    s->skipped = lists->skipped ? lists->skipped[i] : 0;
    s->truncated = (uint8_t)(lists->truncated[i] || cut);
    return s;
}

/* Creates the sequences of all texts of `lists`. */
static int copy_texts(const aoe_model *m, const aoei_token_lists *lists, const char *prompt, int is_pair,
                      const aoe_sequence_options *o, aoe_sequence **sequences, aoe_error *err) {
    const char *stored = m->settings.subtract_empty_prompt ? prompt : NULL;
    for (size_t i = 0; i < lists->n; i++) {
        sequences[i] = copy_text(m, lists, i, stored, o);
        if (!sequences[i]) {
            while (i--) {
                aoe_sequence_destroy(sequences[i]);
                sequences[i] = NULL;
            }
            return aoei_fail_nomem(err, aoei_token_count(lists, 0) * sizeof(int32_t));
        }
        sequences[i]->is_pair = (uint8_t)is_pair;
    }
    return AOE_OK;
}

/* Checks that each text that is too long keeps a token besides its prompt and special tokens. */
static int check_text_fits(const aoei_token_lists *lists, size_t max_length, aoe_error *err) {
    for (size_t i = 0; i < lists->n; i++) {
        const aoei_affix_lengths a = lists->affixes[i];
        if (aoei_token_count(lists, i) > max_length && a.prefix + a.suffix >= max_length)
            return aoei_fail(err, AOE_EARG,
                             "options.max_length is %zu, but prompt and special tokens alone have %zu tokens; increase "
                             "it",
                             max_length, a.prefix + a.suffix);
    }
    return AOE_OK;
}

int aoe_sequences_create(aoe_embedder *e, const aoe_text *texts, size_t n, const aoe_sequence_options *o,
                         aoe_sequence **sequences, aoe_error *err) {
    AOEI_CHECK(err, e);
    if (n)
        AOEI_CHECK(err, texts, sequences);
    AOEI_OPTIONS(aoe_sequence_options, o, err);
    aoei_embedder_set_failed(e, (size_t)-1);
    if (!n)
        return AOE_OK;
    const aoe_model *m = aoe_embedder_model(e);
    const aoe_context serial = {0}, *ctx = n < SERIAL_TEXTS ? &serial : m->ctx;
    const char *prompt = NULL;
    aoei_token_lists lists = {0};
    size_t failed = (size_t)-1;
    aoe_sequence_options used = *o;
    int code = aoei_embedder_check_kind(e, 0, err);
    if (code || (code = check_options(e, &used, err)) || (code = choose_prompt(m, o, &prompt, err)))
        return code;
    code = used.truncation == AOE_TRUNCATE_END
               ? aoei_encode_for_inference(ctx, m, texts, n, prompt, used.max_length, &lists, &failed, err)
               : aoei_encode_for_chunks(ctx, m, texts, n, prompt, &lists, &failed, err);
    if (!code && used.truncation == AOE_TRUNCATE_START)
        code = check_text_fits(&lists, used.max_length, err);
    if (!code)
        code = copy_texts(m, &lists, prompt, 0, &used, sequences, err);
    aoei_token_lists_free(&lists);
    aoei_embedder_set_failed(e, failed);
    return code;
}

int aoe_sequences_create_pairs(aoe_embedder *e, const aoe_text *first, const aoe_text *second, size_t n,
                               const aoe_sequence_options *o, aoe_sequence **sequences, aoe_error *err) {
    AOEI_CHECK(err, e);
    if (n)
        AOEI_CHECK(err, first, sequences);
    AOEI_OPTIONS(aoe_sequence_options, o, err);
    aoei_embedder_set_failed(e, (size_t)-1);
    if (!n)
        return AOE_OK;
    const aoe_model *m = aoe_embedder_model(e);
    const aoe_context serial = {0}, *ctx = n < SERIAL_TEXTS ? &serial : m->ctx;
    const char *prompt = NULL;
    aoei_token_lists lists = {0};
    size_t failed = (size_t)-1;
    aoe_sequence_options used = *o;
    int code = aoei_embedder_check_kind(e, 1, err);
    if (code)
        return code;
    if (o->normalize != AOE_AUTO || o->dims)
        return aoei_fail(err, AOE_EARG, "options.normalize and options.dims have no meaning for pairs; omit them");
    if (o->truncation == AOE_TRUNCATE_START && m->settings.reranker_template)
        return aoei_fail(err, AOE_EARG,
                         "the model reads pairs in a template, so their beginning cannot be truncated; truncate their "
                         "end");
    if (!second && (m->settings.reranker_template || m->settings.chat))
        return aoei_fail(err, AOE_EARG, "the model scores only pairs; a text has no second text");
    used.dims = 1; /* embedding sizes are not those of a cross-encoder */
    if ((code = check_options(e, &used, err)) || (code = choose_prompt(m, o, &prompt, err)))
        return code;
    used.dims = aoe_model_classes(m);
    const int left = used.truncation == AOE_TRUNCATE_START;
    if (left && !second) {
        code = aoei_encode_for_chunks(ctx, m, first, n, prompt, &lists, &failed, err);
        code = code ? code : check_text_fits(&lists, used.max_length, err);
    } else {
        code = aoei_encode_pairs(ctx, m, first, second, n, prompt,
                                 used.truncation == AOE_TRUNCATE_NONE ? SIZE_MAX : used.max_length, left, &lists,
                                 &failed, err);
    }
    if (!code)
        code = copy_texts(m, &lists, prompt, 1, &used, sequences, err);
    aoei_token_lists_free(&lists);
    aoei_embedder_set_failed(e, failed);
    return code;
}

/* Checks the ids of a client, before they are used as indices of embeddings. */
static int check_ids(const aoe_model *m, const int32_t *ids, size_t n, aoe_error *err) {
    for (size_t i = 0; i < n; i++)
        if (ids[i] < 0 || (size_t)ids[i] >= m->config.vocab)
            return aoei_fail(err, AOE_EARG,
                             "token id %d is not in the vocabulary of the model, whose ids are 0 to %zu; use the "
                             "tokenizer of this model",
                             (int)ids[i], m->config.vocab - 1);
    if (!n && !aoei_allows_no_tokens(m))
        return aoei_fail(err, AOE_EARG, "a sequence of token ids is empty; every sequence needs at least one token");
    if (m->settings.subtract_empty_prompt || m->settings.pooling == AOE_POOLING_MASK)
        return aoei_fail(err, AOE_EARG, "the embeddings of this model depend on its prompt; send texts, not token ids");
    return AOE_OK;
}

int aoe_sequence_create_ids(aoe_embedder *e, const int32_t *ids, size_t n, const aoe_sequence_options *o,
                            aoe_sequence **sequence, aoe_error *err) {
    AOEI_CHECK(err, e, sequence);
    if (n)
        AOEI_CHECK(err, ids);
    AOEI_OPTIONS(aoe_sequence_options, o, err);
    *sequence = NULL;
    const aoe_model *m = aoe_embedder_model(e);
    aoe_sequence_options used = *o;
    int code = aoei_embedder_check_kind(e, 0, err);
    if (code || (code = check_options(e, &used, err)) || (code = check_ids(m, ids, n, err)))
        return code;
    if (o->prompt || o->prompt_name)
        return aoei_fail(err, AOE_EARG, "a prompt cannot be added to token ids; send texts, or omit the prompt");
    const size_t kept = used.truncation != AOE_TRUNCATE_NONE && n > used.max_length ? used.max_length : n;
    aoe_sequence *s = allocate(m, kept, 0, NULL, &used);
    if (!s)
        return aoei_fail_nomem(err, kept * sizeof *ids);
    if (kept)
        memcpy(s->ids, ids + (used.truncation == AOE_TRUNCATE_START ? n - kept : 0), kept * sizeof *ids);
    s->truncated = kept < n;
    *sequence = s;
    return AOE_OK;
}

/* -------------------------------------------------------------------- embed */

/* Checks that a sequence can be embedded, or scored if is_pair is 1, by the embedder. */
static int check_sequence(const aoe_embedder *e, const aoe_sequence *s, int is_pair, aoe_error *err) {
    if (!s)
        return aoei_fail(err, AOE_EARG, "a sequence is NULL");
    if (s->model != aoe_embedder_model(e))
        return aoei_fail(err, AOE_EARG, "a sequence was created for another model; create it for this one");
    if (s->is_pair != is_pair)
        return aoei_fail(err, AOE_EARG,
                         is_pair ? "a sequence is a text, but a cross-encoder scores pairs"
                                 : "a sequence is a pair, which has no embedding; use aoe_score_sequences");
    if (s->n > s->max_length)
        return aoei_fail(err, AOE_EARG, "the text has %zu tokens, but the model reads at most %zu; truncate it", s->n,
                         s->max_length);
    return AOE_OK;
}

/* Joins the tokens of n sequences to lists, which the caller frees. */
static int join(const aoe_sequence *const *sequences, size_t n, aoei_token_lists *lists, aoe_error *err) {
    size_t total = 0;
    int has_types = 0, skips = 0;
    for (size_t i = 0; i < n; i++) {
        total += sequences[i]->n;
        has_types |= sequences[i]->has_types;
        skips |= sequences[i]->skipped != 0;
    }
    *lists = (aoei_token_lists){.n = n};
    lists->ids = aoei_malloc_array(total ? total : 1, sizeof *lists->ids);
    lists->offsets = aoei_malloc_array(n + 1, sizeof *lists->offsets);
    lists->truncated = aoei_calloc(n + 1, sizeof *lists->truncated);
    lists->types = has_types ? aoei_calloc(total ? total : 1, sizeof *lists->types) : NULL;
    lists->skipped = skips ? aoei_calloc(n, sizeof *lists->skipped) : NULL;
    if (!lists->ids || !lists->offsets || !lists->truncated || (has_types && !lists->types) ||
        (skips && !lists->skipped)) {
        aoei_token_lists_free(lists);
        return aoei_fail_nomem(err, total * sizeof *lists->ids);
    }
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        const aoe_sequence *s = sequences[i];
        lists->offsets[i] = at;
        if (s->n)
            memcpy(lists->ids + at, s->ids, s->n * sizeof *s->ids);
        if (s->n && s->has_types && lists->types)
            memcpy(lists->types + at, types_of(s), s->n);
        if (skips)
            lists->skipped[i] = s->skipped;
        at += s->n;
    }
    lists->offsets[n] = at;
    return AOE_OK;
}

/* Computes the complete embeddings of n sequences with the same prompt. vectors: [n, aoei_vector_dims]. */
static int embed_group(aoe_embedder *e, const aoe_sequence *const *sequences, size_t n, const uint8_t *unit,
                       float *vectors, aoe_error *err) {
    aoei_token_lists lists;
    int code = join(sequences, n, &lists, err);
    if (code)
        return code;
    code = aoei_embed_prompted(e, &lists, n ? sequences[0]->prompt : NULL, unit, vectors, err);
    aoei_token_lists_free(&lists);
    return code;
}

static int same_prompt(const aoe_sequence *a, const aoe_sequence *b) {
    return a->prompt == b->prompt || (a->prompt && b->prompt && !strcmp(a->prompt, b->prompt));
}

/* Returns the number of sequences at the beginning of sequences[n] that have the same prompt. */
static size_t count_same(const aoe_sequence *const *sequences, size_t n) {
    size_t same = n > 0;
    while (same < n && same_prompt(sequences[0], sequences[same]))
        same++;
    return same;
}

/* Computes the complete vectors of n sequences. is_pair: 1: scores before the activation function. */
static int embed_all(aoe_embedder *e, const aoe_sequence *const *sequences, size_t n, int is_pair, float *complete,
                     aoe_error *err) {
    const size_t all = aoei_vector_dims(&aoe_embedder_model(e)->config);
    for (size_t i = 0; i < n; i++) {
        const int code = check_sequence(e, sequences[i], is_pair, err);
        if (code) {
            aoei_embedder_set_failed(e, i);
            return code;
        }
    }
    uint8_t *unit = aoei_malloc_array(n, sizeof *unit);
    if (!unit)
        return aoei_fail_nomem(err, n);
    for (size_t i = 0; i < n; i++)
        unit[i] = sequences[i]->unit;
    int code = AOE_OK;
    for (size_t i = 0, group; i < n && !code; i += group) {
        group = count_same(sequences + i, n - i);
        code = embed_group(e, sequences + i, group, unit + i, complete + i * all, err);
        const size_t failed = aoe_embed_failed_text(e);
        if (code && failed != (size_t)-1)
            aoei_embedder_set_failed(e, i + failed);
    }
    aoei_free(unit);
    return code;
}

int aoe_embed_sequences(aoe_embedder *e, const aoe_sequence *const *sequences, size_t n, float *const *vectors,
                        aoe_error *err) {
    AOEI_CHECK(err, e);
    aoei_embedder_set_failed(e, (size_t)-1);
    if (!n)
        return AOE_OK;
    AOEI_CHECK(err, sequences, vectors);
    const aoe_model *m = aoe_embedder_model(e);
    const aoe_context serial = {0};
    const size_t all = aoei_vector_dims(&m->config);
    float *complete = aoei_malloc_array(n, all * sizeof *complete);
    int code = complete ? embed_all(e, sequences, n, 0, complete, err) : aoei_fail_nomem(err, n * all);
    for (size_t i = 0; i < n && !code; i++)
        aoei_embed_finish(&serial, m, vectors[i], sequences[i]->dims, complete + i * all, sequences[i]->unit,
                          sequences[i]->unit_truncated);
    aoei_free(complete);
    return code;
}

int aoe_score_sequences(aoe_embedder *e, const aoe_sequence *const *sequences, size_t n, int activation,
                        float *const *scores, aoe_error *err) {
    AOEI_CHECK(err, e);
    aoei_embedder_set_failed(e, (size_t)-1);
    if (!n)
        return AOE_OK;
    AOEI_CHECK(err, sequences, scores);
    const aoe_model *m = aoe_embedder_model(e);
    const size_t classes = aoe_model_classes(m);
    int code = aoei_embedder_check_kind(e, 1, err);
    if (code)
        return code;
    if (activation == AOE_AUTO)
        activation = (int)m->settings.activation;
    if (!aoe_score_activation_name((aoe_score_activation)activation))
        return aoei_fail(err, AOE_EARG, "activation is %d, but must be an aoe_score_activation or AOE_AUTO",
                         activation);
    float *complete = aoei_malloc_array(n, classes * sizeof *complete);
    code = complete ? embed_all(e, sequences, n, 1, complete, err) : aoei_fail_nomem(err, n * classes);
    for (size_t i = 0; i < n && !code; i++) {
        memcpy(scores[i], complete + i * classes, classes * sizeof *complete);
        aoei_activate_scores((aoe_score_activation)activation, scores[i], classes);
    }
    aoei_free(complete);
    return code;
}

int aoe_embed_tokens(aoe_embedder *e, const aoe_sequence *s, float *states, aoe_error *err) {
    AOEI_CHECK(err, e, s, states);
    aoei_token_lists lists;
    int code = check_sequence(e, s, s->is_pair, err);
    if (!code)
        code = join(&s, 1, &lists, err);
    if (code)
        return code;
    code = aoei_embed_states(e, &lists, states, err);
    aoei_token_lists_free(&lists);
    return code;
}
