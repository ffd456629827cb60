/* SPDX-License-Identifier: MIT
 * Tokenizes texts in parallel. Each task tokenizes a block of consecutive texts into a separate list, and the lists are
 * concatenated in order, so the result does not depend on the number of threads.
 */
#include "model/text_batch.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/utf8.h"
#include "encoder/arch.h"
#include "model/reranker_template.h"
#include "nn/batch.h"
#include "tokenizer/input_names.h"
#include "tokenizer/encode.h"
#include "tokenizer/tokenizer.h"

#include <assert.h>
#include <string.h>

enum { BLOCK_TEXTS = 128 /* texts per task */ };

/* The result of one task. */
typedef struct block {
    int32_t *ids;       /* [n] concatenated token ids of the texts, owned */
    uint8_t *types;     /* [n] pairs: concatenated token types, owned */
    size_t n, capacity; /* used and allocated elements of `ids` */
    size_t failed;      /* index of the text that could not be tokenized, or (size_t)-1 */
    aoe_error error;    /* error of this text */
} block;

/* The argument of the tasks. */
typedef struct job {
    const aoe_context *ctx; /* its threads run the tasks; borrowed */
    const aoe_model *model; /* borrowed */
    const aoe_text *texts;  /* [n] texts, borrowed */
    const aoe_text *second; /* [n] pairs: second text of each pair, borrowed; NULL: no pairs */
    int left; /* pairs: 1: long pairs are truncated at the start of their texts; 0: as the tokenizer does */
    const aoei_reranker_template *template; /* pairs: template into which they are inserted, borrowed; NULL: none */
    size_t n;                               /* number of texts */
    int types; /* 1: the tokens have token types: those of pairs, if the tokenizer passes them to the model */
    aoe_encode_options o[2];     /* tokenization options; the two elements differ in the prompt */
    const uint8_t *prompt_index; /* [n] index in `o` of the options of each text, borrowed; NULL: o[0] is used for all
                                    texts */
    int32_t mask;      /* id of the token that every text must contain exactly once (mask pooling); -1: there is none */
    int may_be_empty;  /* 1: a text may have no tokens */
    size_t max_length; /* maximum number of tokens in a chunk if texts are not truncated; 0 if texts are truncated */
    size_t max_chars;  /* number of characters to which a text is truncated before it is tokenized; 0: not truncated
                          there */
    size_t max_end;    /* number of tokens to which the end of a tokenized text is truncated; 0: not truncated there */
    aoei_affix_lengths *affixes; /* [n] numbers of prompt and special tokens of each text, set by the tasks, borrowed;
                                    NULL if texts are truncated */
    size_t *lengths;             /* [n] number of tokens in each text, set by the tasks, owned */
    uint8_t *truncated;          /* [n] 1 for each truncated text, set by the tasks, borrowed */
    block *blocks;               /* [number of tasks] results of the tasks, owned */
} job;

/* Appends the token ids and token types of a text or a pair to the result of a task. On failure, sets c->error. */
static int append_ids(const job *j, block *c, const aoe_ids *ids) {
    if (c->capacity - c->n < ids->n) {
        size_t capacity = 2 * c->capacity + ids->n + 1024;
        int32_t *grown = aoei_realloc_array(c->ids, capacity, sizeof *grown);
        if (!grown)
            return aoei_fail_nomem(&c->error, capacity * sizeof *grown);
        c->ids = grown;
        uint8_t *types = j->types ? aoei_realloc_array(c->types, capacity, sizeof *types) : NULL;
        if (j->types && !types)
            return aoei_fail_nomem(&c->error, capacity * sizeof *types);
        c->types = types;
        c->capacity = capacity;
    }
    if (ids->n)
        memcpy(c->ids + c->n, ids->id, ids->n * sizeof *ids->id);
    for (size_t t = 0; t < ids->n && j->types; t++)
        c->types[c->n + t] = ids->type && ids->type[t] < j->model->config.token_types ? ids->type[t] : 0;
    c->n += ids->n;
    return AOE_OK;
}

/* Returns AOE_EFORMAT for a token id for which the model has no embedding. A tokenizer may have such tokens, for
 * example a [PAD] that was added to Llama's vocabulary. They are an error only if a text contains them. */
static int fail_token(const aoe_model *m, int32_t id, aoe_error *err) {
    const aoe_text token = aoe_tokenizer_token(m->tokenizer, id);
    return aoei_fail(
        err, AOE_EFORMAT,
        "token '%.*s' has id %d, but the model has embeddings of only %zu tokens (vocab_size in config.json); remove "
        "the token from the text, or use the tokenizer that the model was trained with",
        (int)(token.len < 64 ? token.len : 64), token.data, (int)id, m->config.vocab);
}

/* Checks that text i contains exactly one token [MASK]. If the text is divided into chunks, this token must be in the
 * prompt, which every chunk contains. */
static int check_mask(const job *j, size_t i, const aoe_ids *ids, aoe_error *err) {
    const int divided = j->affixes && ids->n > j->max_length;
    size_t n = 0;
    for (size_t t = 0; t < ids->n; t++)
        if (ids->id[t] == j->mask)
            n += !divided || t < j->affixes[i].prefix || t >= ids->n - j->affixes[i].suffix ? 1 : 2;
    return n == 1
               ? AOE_OK
               : aoei_fail(err, AOE_EFORMAT,
                           "mask pooling requires exactly one token [MASK] in every text%s; set a prompt such as 'This "
                           "sentence of \"{text}\" means [MASK].'%s",
                           divided ? " and in every chunk" : "", n ? ", and remove the token from the text" : "");
}

/* Returns the median number of characters of the tokens, rounded down. */
static size_t median_token_length(const aoe_tokenizer *t) {
    enum { LONGEST = 255 };
    size_t count[LONGEST + 1] = {0}, n = 0, below = 0, sum = 0;
    for (size_t id = 0; id < aoe_tokenizer_vocab_size(t); id++) {
        const aoe_text token = aoe_tokenizer_token(t, (int32_t)id);
        const size_t chars = token.data ? aoei_utf8_chars(token.data, token.len) : 0;
        if (token.data)
            count[chars < LONGEST ? chars : LONGEST]++;
        n += token.data != NULL;
    }
    for (size_t chars = 0; chars <= LONGEST && n; chars++) {
        const size_t up_to = below + count[chars];
        sum +=
            (below <= (n - 1) / 2 && (n - 1) / 2 < up_to ? chars : 0) + (below <= n / 2 && n / 2 < up_to ? chars : 0);
        below = up_to;
    }
    return sum / 2;
}

/* Returns the number of characters to which Model2Vec truncates texts before it tokenizes them: the maximum sequence
 * length times the median length of the tokens. Returns 0 if no text can be longer. */
static size_t max_characters(const aoe_model *m, const aoe_text *texts, size_t n) {
    const size_t max = m->settings.max_length;
    if (m->config.arch->library != AOEI_LIBRARY_MODEL2VEC || !m->tokenizer)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (texts[i].len > max)
            return max * median_token_length(m->tokenizer);
    return 0;
}

/* Tokenizes text or pair i and appends its tokens to c, the result of the task. `ids` is a buffer that is used for all
 * texts of the task. */
static int encode_one(const job *j, block *c, size_t i, aoe_ids *ids) {
    const aoe_text second = j->second ? j->second[i] : (aoe_text){0};
    aoe_text text = j->texts[i];
    const aoe_encode_options *o = &j->o[j->prompt_index && j->prompt_index[i]];
    if ((!text.data && text.len) || (!second.data && second.len))
        return aoei_fail(&c->error, AOE_EARG, "the data of the text is NULL, but its len is not 0");
    const size_t len = j->max_chars ? aoei_utf8_prefix(text.data, text.len, j->max_chars) : text.len;
    const int cut = len < text.len;
    text.len = len;
    int code = j->second && j->template
                   ? aoei_reranker_template_encode(j->template, j->model->tokenizer, text, second, o, ids, &c->error)
               : j->second
                   ? aoei_tokenizer_encode_pair_side(j->model->tokenizer, text, second, o, j->left, ids, &c->error)
               : j->affixes ? aoei_tokenizer_encode_marked(j->model->tokenizer, text, o, ids, &j->affixes[i].prefix,
                                                           &j->affixes[i].suffix, &c->error)
                            : aoe_tokenizer_encode(j->model->tokenizer, text, o, ids, &c->error);
    if (code)
        return code;
    if (j->max_end && ids->n > j->max_end) {
        ids->n = j->max_end;
        ids->truncated = 1;
    }
    if (j->affixes && ids->n > j->max_length && j->affixes[i].prefix + j->affixes[i].suffix >= j->max_length)
        return aoei_fail(&c->error, AOE_EARG,
                         "options.max_length is %zu, but prompt and special tokens alone have %zu tokens; increase it",
                         j->max_length, j->affixes[i].prefix + j->affixes[i].suffix);
    if (ids->n == 0 && !j->may_be_empty)
        return aoei_fail(&c->error, AOE_EFORMAT, "the text has no tokens; remove the text");
    if (j->mask >= 0 && (code = check_mask(j, i, ids, &c->error)))
        return code;
    for (size_t t = 0; t < ids->n; t++)
        if (ids->id[t] < 0 || (size_t)ids->id[t] >= j->model->config.vocab)
            return fail_token(j->model, ids->id[t], &c->error);
    j->lengths[i] = ids->n;
    j->truncated[i] = (uint8_t)(ids->truncated != 0 || cut);
    return append_ids(j, c, ids);
}

/* The function of a task, which tokenizes one block of texts. */
static void encode_block(void *arg, size_t task, size_t worker) {
    (void)worker;
    const job *j = arg;
    block *c = &j->blocks[task];
    const size_t begin = task * BLOCK_TEXTS, end = begin + BLOCK_TEXTS < j->n ? begin + BLOCK_TEXTS : j->n;
    aoe_ids ids = {0};
    for (size_t i = begin; i < end && c->failed == (size_t)-1; i++)
        if (encode_one(j, c, i, &ids))
            c->failed = i;
    aoe_ids_free(&ids);
}

/* Concatenates the results of the tasks in `out`. If tokenization failed for some texts, returns the error of the first
 * such text. */
static int join_blocks(const job *j, size_t n_blocks, aoei_token_lists *out, size_t *failed, aoe_error *err) {
    size_t total = 0;
    for (size_t k = 0; k < n_blocks; k++) {
        const block *c = &j->blocks[k];
        if (c->failed != (size_t)-1) {
            if (failed)
                *failed = c->failed;
            return aoei_fail(err, c->error.code, "%s", c->error.message);
        }
        total += c->n;
    }
    out->ids = aoei_malloc_array(total ? total : 1, sizeof *out->ids);
    out->types = j->types ? aoei_malloc_array(total ? total : 1, sizeof *out->types) : NULL;
    if (!out->ids || (j->types && !out->types))
        return aoei_fail_nomem(err, total * sizeof *out->ids);
    size_t at = 0;
    for (size_t k = 0; k < n_blocks; k++) {
        if (j->blocks[k].n)
            memcpy(out->ids + at, j->blocks[k].ids, j->blocks[k].n * sizeof *out->ids);
        if (j->blocks[k].n && out->types)
            memcpy(out->types + at, j->blocks[k].types, j->blocks[k].n * sizeof *out->types);
        at += j->blocks[k].n;
    }
    at = 0;
    for (size_t i = 0; i < j->n; i++) {
        out->offsets[i] = at;
        at += j->lengths[i];
    }
    out->offsets[j->n] = at;
    out->n = j->n;
    return AOE_OK;
}

/* Tokenizes the texts of *j on all threads. The caller must set the fields ctx, model, texts, second, n, o,
 * prompt_index, may_be_empty and max_length of *j. */
static int encode_all(job *j, aoei_token_lists *out, size_t *failed, aoe_error *err) {
    const size_t n = j->n, n_blocks = (n + BLOCK_TEXTS - 1) / BLOCK_TEXTS;
    int code = AOE_ENOMEM;
    memset(out, 0, sizeof *out);
    if (failed)
        *failed = (size_t)-1;
    if (!j->model->tokenizer)
        return aoei_fail(
            err, AOE_ENOENT,
            "%s: the directory contains no tokenizer; add tokenizer.json, or vocab.txt with tokenizer_config.json",
            j->model->files.dir);
    out->offsets = aoei_malloc_array(n + 1, sizeof *out->offsets);
    out->truncated = aoei_calloc(n + 1, sizeof *out->truncated);
    if (j->max_length && !(j->affixes = out->affixes = aoei_calloc(n + 1, sizeof *out->affixes))) {
        aoei_fail_nomem(err, n * sizeof *out->affixes);
        goto done;
    }
    j->truncated = out->truncated;
    j->lengths = aoei_calloc(n + 1, sizeof *j->lengths);
    j->blocks = aoei_calloc(n_blocks + 1, sizeof *j->blocks);
    if (!out->offsets || !out->truncated || !j->lengths || !j->blocks) {
        aoei_fail_nomem(err, n * sizeof *out->offsets);
        goto done;
    }
    for (size_t k = 0; k < n_blocks; k++)
        j->blocks[k].failed = (size_t)-1;
    aoei_parallel_for(j->ctx->pool, n_blocks, encode_block, j);
    code = join_blocks(j, n_blocks, out, failed, err);
done:
    for (size_t k = 0; j->blocks && k < n_blocks; k++) {
        aoei_free(j->blocks[k].ids);
        aoei_free(j->blocks[k].types);
    }
    aoei_free(j->blocks);
    aoei_free(j->lengths);
    if (code)
        aoei_token_lists_free(out);
    return code;
}

enum {
    MAY_BE_EMPTY = 1, /* a text may have no tokens */
    COMPLETE = 2,     /* texts are not truncated, and aoei_token_lists.affixes is set */
    LEFT = 4          /* long pairs are truncated at the start of their texts */
};

/* Sets *n to the number of tokens at the beginning of a text that the pooling excludes, as in sentence-transformers:
 * the tokens of the prompt alone, with its special tokens, except a special token at the end. o: options with the
 * prompt. */
static int count_prompt_tokens(const aoe_model *m, const aoe_encode_options *o, size_t *n, aoe_error *err) {
    aoe_encode_options alone = *o;
    const char *end = o->prompt ? strstr(o->prompt, AOEI_PLACEHOLDER) : NULL;
    *n = 0;
    if (!end || end == o->prompt)
        return AOE_OK;
    aoe_ids ids = {0};
    alone.prompt = NULL;
    uint8_t *kind = aoei_malloc_array(m->config.vocab, sizeof *kind);
    int code =
        kind ? aoe_tokenizer_encode(m->tokenizer, (aoe_text){o->prompt, (size_t)(end - o->prompt)}, &alone, &ids, err)
             : aoei_fail_nomem(err, m->config.vocab);
    if (!code && ids.n) {
        const size_t last = (size_t)ids.id[ids.n - 1];
        aoei_tokenizer_kinds(m->tokenizer, kind, m->config.vocab);
        *n = ids.n - (last < m->config.vocab && kind[last] == AOEI_TOKEN_SPECIAL);
    }
    aoe_ids_free(&ids);
    aoei_free(kind);
    return code;
}

/* If the pooling of the model excludes the prompt, sets out->skipped. A prompt in a chat template is never excluded, as
 * in sentence-transformers. */
static int mark_prompts(const job *j, aoei_token_lists *out, aoe_error *err) {
    size_t n[2] = {0, 0};
    int code = AOE_OK;
    if (!j->model->settings.exclude_prompt || j->model->settings.chat || j->second)
        return AOE_OK;
    for (size_t i = 0; i < 2 && !code; i++)
        code = count_prompt_tokens(j->model, &j->o[i], &n[i], err);
    if (code || (!n[0] && !n[1]))
        return code;
    out->skipped = aoei_malloc_array(out->n ? out->n : 1, sizeof *out->skipped);
    if (!out->skipped)
        return aoei_fail_nomem(err, out->n * sizeof *out->skipped);
    for (size_t i = 0; i < out->n; i++)
        out->skipped[i] = (uint32_t)n[j->prompt_index && j->prompt_index[i]];
    return AOE_OK;
}

/* Tokenizes texts, or pairs if `second` is not NULL, with the settings of the model. `flags` is a combination of
 * MAY_BE_EMPTY, COMPLETE and LEFT. max_length: maximum number of tokens; 0: that of the model. For `prompts` and
 * `prompt_index`, see aoei_encode_with_prompts. */
static int encode_prompted(const aoe_context *ctx, const aoe_model *m, const aoe_text *texts, const aoe_text *second,
                           size_t n, const char *const prompts[2], const uint8_t *prompt_index, int flags,
                           size_t max_length, aoei_token_lists *out, size_t *failed, aoe_error *err) {
    const aoei_settings *s = &m->settings;
    const size_t limit = max_length ? max_length : s->max_length;
    const int plain = m->config.arch->plain_tokens;
    job j = {.ctx = ctx,
             .model = m,
             .texts = texts,
             .second = second,
             .left = (flags & LEFT) != 0,
             .n = n,
             .types = second && m->config.token_types > 1 && m->tokenizer &&
                      aoei_tokenizer_passes_types(m->tokenizer, m->files.config_json),
             .prompt_index = prompt_index,
             .mask = !second && s->pooling == AOE_POOLING_MASK ? m->config.mask_id : -1,
             .may_be_empty = flags & MAY_BE_EMPTY};
    j.max_length = flags & COMPLETE ? limit : 0;
    j.max_chars = flags & COMPLETE ? 0 : max_characters(m, texts, n);
    j.max_end = m->config.arch->truncates_end && !(flags & COMPLETE) ? limit : 0;
    aoei_reranker_template template = {{0}, {0}};
    int code = AOE_OK;
    memset(out, 0, sizeof *out);
    if (failed)
        *failed = (size_t)-1;
    if (second && s->reranker_template && m->tokenizer) {
        code = aoei_reranker_template_create(&template, m->tokenizer, s->lowercase, err);
        j.template = &template;
    }
    for (size_t i = 0; i < 2 && !code; i++) {
        const char *prompt = prompts[i] ? prompts[i] : s->prompt;
        j.o[i] = (aoe_encode_options){.struct_size = sizeof(aoe_encode_options),
                                      .max_length = flags & COMPLETE || j.max_end || limit == SIZE_MAX ? 0 : limit,
                                      .prompt = *prompt ? prompt : NULL,
                                      .lowercase = s->lowercase,
                                      .no_special_tokens = plain,
                                      .drop_unknown = plain && !m->config.arch->keeps_unknown,
                                      .chat_template = s->chat != NULL};
    }
    if (!code)
        code = encode_all(&j, out, failed, err);
    if (!code && (code = mark_prompts(&j, out, err)))
        aoei_token_lists_free(out);
    aoei_reranker_template_free(&template);
    return code;
}

int aoei_encode_with_prompts(const aoe_model *m, const aoe_text *texts, size_t n, const char *const prompts[2],
                             const uint8_t *prompt_index, aoei_token_lists *out, size_t *failed, aoe_error *err) {
    return encode_prompted(m->ctx, m, texts, NULL, n, prompts, prompt_index, 0, 0, out, failed, err);
}

static const char *const model_prompts[2] = {NULL, NULL};

int aoei_encode_texts(const aoe_model *m, const aoe_text *texts, size_t n, aoei_token_lists *out, size_t *failed,
                      aoe_error *err) {
    return encode_prompted(m->ctx, m, texts, NULL, n, model_prompts, NULL, 0, 0, out, failed, err);
}

int aoei_allows_no_tokens(const aoe_model *m) {
    return m->config.arch->allows_no_tokens;
}

int aoei_encode_for_inference(const aoe_context *ctx, const aoe_model *m, const aoe_text *texts, size_t n,
                              const char *prompt, size_t max_length, aoei_token_lists *out, size_t *failed,
                              aoe_error *err) {
    const char *const prompts[2] = {prompt, NULL};
    return encode_prompted(ctx, m, texts, NULL, n, prompts, NULL, aoei_allows_no_tokens(m) ? MAY_BE_EMPTY : 0,
                           max_length, out, failed, err);
}

int aoei_encode_for_chunks(const aoe_context *ctx, const aoe_model *m, const aoe_text *texts, size_t n,
                           const char *prompt, aoei_token_lists *out, size_t *failed, aoe_error *err) {
    const char *const prompts[2] = {prompt, NULL};
    return encode_prompted(ctx, m, texts, NULL, n, prompts, NULL,
                           COMPLETE | (aoei_allows_no_tokens(m) ? MAY_BE_EMPTY : 0), 0, out, failed, err);
}

int aoei_encode_pairs(const aoe_context *ctx, const aoe_model *m, const aoe_text *first, const aoe_text *second,
                      size_t n, const char *prompt, size_t max_length, int left, aoei_token_lists *out, size_t *failed,
                      aoe_error *err) {
    const char *const prompts[2] = {prompt, NULL};
    return encode_prompted(ctx, m, first, second, n, prompts, NULL, left ? LEFT : 0, max_length, out, failed, err);
}

int aoei_encode_with_options(const aoe_model *m, const aoe_text *texts, size_t n, const aoe_encode_options *o,
                             aoei_token_lists *out, size_t *failed, aoe_error *err) {
    job j = {.ctx = m->ctx, .model = m, .texts = texts, .n = n, .o = {*o, *o}, .mask = -1, .may_be_empty = 1};
    j.o[0].lowercase = j.o[1].lowercase = m->settings.lowercase;
    return encode_all(&j, out, failed, err);
}

void aoei_token_lists_free(aoei_token_lists *l) {
    aoei_free(l->ids);
    aoei_free(l->offsets);
    aoei_free(l->truncated);
    aoei_free(l->types);
    aoei_free(l->affixes);
    aoei_free(l->skipped);
    memset(l, 0, sizeof *l);
}

static int same_tokens(const aoei_token_lists *l, size_t a, size_t b) {
    const size_t n = aoei_token_count(l, a);
    return n == aoei_token_count(l, b) &&
           memcmp(l->ids + l->offsets[a], l->ids + l->offsets[b], n * sizeof *l->ids) == 0;
}

/* The texts are stored in a hash table with open addressing; the hash of a text is computed from its token ids. */
int aoei_token_classes(const aoei_token_lists *l, uint32_t *class_of, aoe_error *err) {
    size_t size = 16;
    while (size < 2 * l->n)
        size *= 2;
    uint32_t *table = aoei_calloc(size, sizeof *table); /* index of a text plus 1; 0: free */
    if (!table)
        return aoei_fail_nomem(err, size * sizeof *table);
    for (size_t i = 0; i < l->n; i++) {
        const size_t bytes = aoei_token_count(l, i) * sizeof *l->ids;
        size_t at = (size_t)aoei_hash(AOEI_HASH_START, l->ids + l->offsets[i], bytes) & (size - 1);
        while (table[at] && !same_tokens(l, table[at] - 1, i))
            at = (at + 1) & (size - 1);
        if (!table[at])
            table[at] = (uint32_t)i + 1;
        class_of[i] = table[at] - 1;
    }
    aoei_free(table);
    return AOE_OK;
}

int aoei_batch_buffer_create(aoei_batch_buffer *b, size_t max_tokens, size_t max_texts, aoe_error *err) {
    memset(b, 0, sizeof *b);
    if (max_tokens >= UINT32_MAX || max_texts >= UINT32_MAX)
        return aoei_fail(err, AOE_EARG, "a batch of %zu tokens is too large; use a smaller batch", max_tokens);
    b->ids = aoei_malloc_array(max_tokens, sizeof *b->ids);
    b->types = aoei_malloc_array(max_tokens, sizeof *b->types);
    b->positions = aoei_malloc_array(max_tokens, sizeof *b->positions);
    b->offsets = aoei_malloc_array(max_texts + 1, sizeof *b->offsets);
    b->text_index = aoei_malloc_array(max_texts, sizeof *b->text_index);
    b->skipped = aoei_malloc_array(max_texts, sizeof *b->skipped);
    if (!b->ids || !b->types || !b->positions || !b->offsets || !b->text_index || !b->skipped) {
        aoei_batch_buffer_destroy(b);
        return aoei_fail_nomem(err, max_tokens * (sizeof *b->ids + sizeof *b->positions));
    }
    b->max_tokens = max_tokens;
    b->max_texts = max_texts;
    aoei_batch_clear(b);
    return AOE_OK;
}

void aoei_batch_buffer_destroy(aoei_batch_buffer *b) {
    aoei_free(b->ids);
    aoei_free(b->types);
    aoei_free(b->positions);
    aoei_free(b->offsets);
    aoei_free(b->text_index);
    aoei_free(b->skipped);
    memset(b, 0, sizeof *b);
}

void aoei_batch_clear(aoei_batch_buffer *b) {
    memset(&b->batch, 0, sizeof b->batch);
    b->batch.ids = b->ids;
    b->batch.positions = b->positions;
    b->batch.offsets = b->offsets;
    b->batch.text_index = b->text_index;
    b->offsets[0] = 0;
}

void aoei_batch_add(aoei_batch_buffer *b, const int32_t *ids, size_t n, uint32_t text_index) {
    aoei_batch_add_types(b, ids, NULL, n, text_index);
}

void aoei_batch_add_types(aoei_batch_buffer *b, const int32_t *ids, const uint8_t *types, size_t n,
                          uint32_t text_index) {
    aoei_batch *batch = &b->batch;
    assert(n > 0 && batch->n_tokens + n <= b->max_tokens && batch->n_texts < b->max_texts);
    if (types) {
        memcpy(b->types + batch->n_tokens, types, n * sizeof *types);
        batch->types = b->types;
    }
    memcpy(b->ids + batch->n_tokens, ids, n * sizeof *ids);
    for (size_t t = 0; t < n; t++)
        b->positions[batch->n_tokens + t] = (uint32_t)t;
    b->text_index[batch->n_texts] = text_index;
    b->skipped[batch->n_texts] = 0;
    batch->n_tokens += n;
    batch->n_texts++;
    b->offsets[batch->n_texts] = (uint32_t)batch->n_tokens;
    if (n > batch->longest)
        batch->longest = n;
}

void aoei_batch_skip(aoei_batch_buffer *b, const aoei_token_lists *lists, size_t i) {
    if (!lists->skipped || !lists->skipped[i])
        return;
    b->skipped[b->batch.n_texts - 1] = lists->skipped[i];
    b->batch.skipped = b->skipped;
}
