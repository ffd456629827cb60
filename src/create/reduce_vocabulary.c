/* SPDX-License-Identifier: MIT
 * Reduces the vocabulary of a model. The texts are read twice: once to count the tokens, and once to count the tokens
 * of the smaller tokenizer. Texts are tokenized in parallel in batches, without prompts, special tokens or truncation.
 */
#include "create/reduce_vocabulary.h"

#include <stdlib.h>
#include <string.h>

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/context.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/pool.h"
#include "encoder/arch.h"
#include "table/lines.h"
#include "table/table.h"
#include "tokenizer/subset_files.h"
#include "tokenizer/tokenizer.h"

enum { BATCH = 1024 /* number of texts that are tokenized at a time */ };
#define BATCH_BYTES ((size_t)1 << 20) /* size of the texts above which a batch is complete */

/* The texts of a batch and the numbers of their tokens. */
typedef struct counter {
    const aoe_model *m;
    const aoe_tokenizer *t; /* tokenizer that encodes the texts; borrowed */
    aoei_buffer text;       /* concatenated texts of the batch, owned */
    size_t end[BATCH + 1];  /* [n + 1] byte offset in `text` of the end of each text; the first element is 0 */
    size_t n;               /* number of texts in the batch */
    aoe_ids ids[BATCH];     /* [n] tokens of the texts, owned; the memory is used for all batches */
    int code[BATCH];        /* [n] result of aoe_tokenizer_encode */
    uint64_t *count; /* [tokens of the tokenizer] number of occurrences of each token; NULL: not counted; borrowed */
    size_t texts, tokens; /* number of texts and of their tokens so far */
} counter;

int aoei_vocabulary_check(int *reduces, const aoe_convert_options *o, aoe_error *err) {
    *reduces = o->vocabulary || o->vocab_size;
    if (o->vocabulary && o->vocab_size)
        return aoei_fail(err, AOE_EARG,
                         "options.vocabulary and options.vocab_size both select tokens; give only one of them");
    if (o->vocab_size && !o->n_count_on)
        return aoei_fail(err, AOE_EARG,
                         "options.vocab_size requires texts whose most frequent tokens are kept; set options.count_on");
    if (o->n_count_on && !*reduces)
        return aoei_fail(err, AOE_EARG, "options.count_on requires options.vocab_size or options.vocabulary");
    for (size_t i = 0; i < o->n_count_on; i++)
        if (!strcmp(o->count_on[i], "-"))
            return aoei_fail(
                err, AOE_EARG,
                "options.count_on: the texts are read twice, which standard input does not support; give a file");
    return AOE_OK;
}

/* ----------------------------------------------------------------- counting */

static aoe_text text_at(const counter *c, size_t i) {
    return (aoe_text){c->text.data ? c->text.data + c->end[i] : "", c->end[i + 1] - c->end[i]};
}

/* Tokenizes text `task` of the batch. */
static int encode_text(const counter *c, size_t task, aoe_ids *ids, aoe_error *err) {
    const aoei_arch *arch = c->m->config.arch;
    aoe_encode_options o;
    aoe_encode_options_defaults(&o);
    o.no_special_tokens = 1;
    o.drop_unknown = arch->plain_tokens && !arch->keeps_unknown;
    o.lowercase = c->m->settings.lowercase;
    return aoe_tokenizer_encode(c->t, text_at(c, task), &o, ids, err);
}

static void encode_task(void *arg, size_t task, size_t worker) {
    counter *c = arg;
    (void)worker;
    c->code[task] = encode_text(c, task, &c->ids[task], NULL);
}

/* Tokenizes the texts of the batch, counts their tokens and empties the batch. */
static int count_batch(counter *c, aoe_error *err) {
    int rc = 0;
    aoei_parallel_for(c->m->ctx->pool, c->n, encode_task, c);
    for (size_t i = 0; i < c->n && !rc; i++) {
        if (c->code[i])
            rc = encode_text(c, i, &c->ids[i], err); /* sets the message */
        for (size_t k = 0; k < c->ids[i].n && c->count && !rc; k++)
            c->count[c->ids[i].id[k]]++;
        c->tokens += c->ids[i].n;
    }
    c->texts += c->n;
    c->n = 0;
    aoei_buffer_clear(&c->text);
    return rc;
}

/* The callback of aoe_texts_read. */
static int add_text(void *user, aoe_text text, aoe_error *err) {
    counter *c = user;
    if (aoei_buffer_append(&c->text, text.data, text.len))
        return aoei_fail_nomem(err, c->text.len + text.len);
    c->end[++c->n] = c->text.len;
    return c->n == BATCH || c->text.len >= BATCH_BYTES ? count_batch(c, err) : 0;
}

/* Encodes the texts of all files with the tokenizer t. count: see counter. *texts and *tokens are set to their
 * numbers. */
static int count_files(const aoe_model *m, const aoe_tokenizer *t, const aoe_convert_options *o, uint64_t *count,
                       size_t *texts, size_t *tokens, aoe_error *err) {
    counter *c = aoei_calloc(1, sizeof *c);
    int rc = 0;
    if (!c)
        return aoei_fail_nomem(err, sizeof *c);
    c->m = m;
    c->t = t;
    c->count = count;
    for (size_t i = 0; i < o->n_count_on && !rc; i++) {
        rc = aoe_texts_read(o->count_on[i], &o->table, add_text, c, err);
        if (!rc && (rc = count_batch(c, err)))
            aoei_error_prefix(err, "%s", o->count_on[i]);
    }
    *texts = c->texts;
    *tokens = c->tokens;
    for (size_t i = 0; i < BATCH; i++)
        aoe_ids_free(&c->ids[i]);
    aoei_buffer_free(&c->text);
    aoei_free(c);
    return rc;
}

/* ------------------------------------------------------- selection of tokens */

/* The state of aoei_vocabulary_reduce. */
typedef struct reducer {
    const aoe_model *m;
    const aoe_convert_options *o;
    aoei_token_subset *subset;
    uint64_t *count; /* [subset->n] number of occurrences of each token in the texts, owned */
    uint8_t *used;   /* [subset->n] 1: the token is in the file options.vocabulary, or occurs in the texts; owned */
    aoe_error *err;
} reducer;

/* Adds a token without a limit. Returns 0 or an error. */
static int add(const reducer *r, int32_t id) {
    const int rc = aoei_token_subset_add(r->subset, id, SIZE_MAX, r->err);
    return rc < 0 ? rc : 0;
}

/* Adds the token on a line of the file. */
static int add_line(const reducer *r, const aoei_lines *l, const aoei_line *line) {
    char shown[AOEI_EXCERPT];
    const aoe_text token = {line->data, line->len};
    const int32_t id = aoei_tokenizer_id(r->m->tokenizer, token.data, token.len);
    const char *problem = !token.len ? "the line is empty; remove the line"
                          : id < 0 || (size_t)id >= r->subset->n
                              ? "is not a token of the model; correct or remove the line"
                          : r->used[id] ? "occurs twice; remove one of the lines"
                                        : NULL;
    if (problem && !token.len)
        return aoei_fail(r->err, AOE_EFORMAT, "%s:%zu: %s", aoei_lines_name(l), line->number, problem);
    if (problem)
        return aoei_fail(r->err, AOE_EFORMAT, "%s:%zu: '%s' %s", aoei_lines_name(l), line->number,
                         aoei_excerpt(shown, token), problem);
    r->used[id] = 1;
    return add(r, id);
}

/* Adds the tokens of the file options.vocabulary. */
static int add_file(const reducer *r) {
    aoei_lines *l = NULL;
    aoei_line line = {.number = 0};
    int rc = aoei_lines_open(&l, r->o->vocabulary, r->err);
    while (!rc && (rc = aoei_lines_next(l, &line, r->err)) == 1)
        rc = add_line(r, l, &line);
    if (!rc && !line.number)
        rc = aoei_fail(r->err, AOE_EFORMAT, "%s: the file contains no tokens; write one token per line",
                       r->o->vocabulary);
    aoei_lines_close(l);
    return rc;
}

/* Returns 1 if the key of config.json is the id of a special token, such as pad_token_id. */
static int is_id_key(const char *key) {
    static const char suffix[] = "_token_id";
    const size_t len = strlen(key), tail = sizeof suffix - 1;
    return len > tail && !strcmp(key + len - tail, suffix);
}

/* Adds the special tokens whose ids are in config.json. A value is an id or a list of ids. */
static int add_config_ids(const reducer *r) {
    const char *key;
    json_t *value;
    int rc = 0;
    json_object_foreach(r->m->files.config_json, key, value) {
        if (is_id_key(key) && json_is_integer(value) && json_integer_value(value) < (json_int_t)r->subset->n)
            rc = rc ? rc : add(r, (int32_t)json_integer_value(value));
        for (size_t i = 0; is_id_key(key) && i < json_array_size(value) && !rc; i++)
            if (json_integer_value(json_array_get(value, i)) < (json_int_t)r->subset->n)
                rc = add(r, (int32_t)json_integer_value(json_array_get(value, i)));
    }
    return rc;
}

/* Adds the tokens of a prompt template, which contains {text}, and of the chat template. */
static int add_prompt(const reducer *r, const char *prompt) {
    const int chat = r->m->settings.chat != NULL;
    const aoe_encode_options o = {.struct_size = sizeof o,
                                  .prompt = prompt && *prompt ? prompt : NULL,
                                  .no_special_tokens = 1,
                                  .lowercase = r->m->settings.lowercase,
                                  .chat_template = chat};
    aoe_ids ids = {0};
    const aoe_text text = aoe_text_of(chat ? "0" : ""); /* a chat template may reject an empty text */
    int rc = 0;
    if (chat && r->m->config.modules.classes)
        rc = aoe_tokenizer_encode_pair(r->m->tokenizer, text, text, &o, &ids, r->err);
    else if (o.prompt || chat)
        rc = aoe_tokenizer_encode(r->m->tokenizer, text, &o, &ids, r->err);
    for (size_t i = 0; i < ids.n && !rc; i++)
        rc = add(r, ids.id[i]);
    aoe_ids_free(&ids);
    return rc;
}

static int add_prompts(const reducer *r) {
    const char *name;
    json_t *prompt;
    int rc = add_prompt(r, NULL);
    if (!rc)
        rc = add_prompt(r, r->m->settings.prompt);
    json_object_foreach(r->m->settings.prompts, name, prompt) if (!rc) rc = add_prompt(r, json_string_value(prompt));
    return rc;
}

/* A token and its number of occurrences. */
typedef struct counted {
    uint64_t count;
    int32_t id;
    int unused; /* 1: a placeholder such as [unused1] */
} counted;

/* Compares two tokens: the more frequent token is first. Among equally frequent tokens, placeholders are last, and
 * otherwise the token with the lower id is first. */
static int by_count(const void *a, const void *b) {
    const counted *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? 1 : -1;
    return x->unused != y->unused ? x->unused - y->unused : x->id < y->id ? -1 : x->id > y->id;
}

/* Returns 1 if the token is a placeholder that vocabularies reserve for new tokens, such as [unused1] of BERT. */
static int is_unused(aoe_text token) {
    static const char prefix[] = "[unused";
    return token.len >= sizeof prefix && !memcmp(token.data, prefix, sizeof prefix - 1) &&
           token.data[token.len - 1] == ']';
}

/* Adds the most frequent tokens until the subset has options.vocab_size tokens. */
static int add_frequent(const reducer *r) {
    aoei_token_subset *s = r->subset;
    const size_t size = r->o->vocab_size;
    if (size < s->n_kept)
        return aoei_fail(
            r->err, AOE_EARG,
            "options.vocab_size is %zu, but must be at least %zu: the special and added tokens, and the single "
            "characters of the texts, are always kept",
            size, s->n_kept);
    counted *list = aoei_malloc_array(s->n + 1, sizeof *list);
    int rc = list ? 0 : aoei_fail_nomem(r->err, s->n * sizeof *list);
    for (size_t i = 0; i < s->n && list; i++)
        list[i] = (counted){r->count[i], (int32_t)i, is_unused(aoe_tokenizer_token(s->t, (int32_t)i))};
    if (list)
        qsort(list, s->n, sizeof *list, by_count);
    for (size_t i = 0; i < s->n && s->n_kept < size && rc >= 0; i++)
        if (aoe_tokenizer_token(s->t, list[i].id).len)
            rc = aoei_token_subset_add(s, list[i].id, size, r->err);
    aoei_free(list);
    return rc < 0 ? rc : 0;
}

/* Adds the tokens that are always kept and those of the file. The texts have been counted. */
static int add_required(const reducer *r) {
    int rc = aoei_subset_add_settings(r->subset, r->m->files.dir, r->err);
    if (rc || (rc = add_config_ids(r)) || (rc = add_prompts(r)) || (r->o->vocabulary && (rc = add_file(r))))
        return rc;
    for (size_t i = 0; i < r->subset->n; i++)
        r->used[i] |= r->count[i] > 0;
    return aoei_token_subset_add_alphabet(r->subset, r->used, r->err);
}

/* Selects all tokens and counts the texts. */
static int select_tokens(reducer *r, aoei_reduced_vocabulary *v) {
    const size_t n = r->subset->n;
    r->count = aoei_calloc(n + 1, sizeof *r->count);
    r->used = aoei_calloc(n + 1, sizeof *r->used);
    int rc = r->count && r->used ? count_files(r->m, r->m->tokenizer, r->o, r->count, &v->texts, &v->tokens, r->err)
                                 : aoei_fail_nomem(r->err, n * sizeof *r->count);
    if (!rc)
        rc = add_required(r);
    if (!rc && r->o->vocab_size)
        rc = add_frequent(r);
    if (!rc)
        rc = aoei_token_subset_number(r->subset, r->err);
    for (size_t i = 0; i < n && !rc; i++) {
        v->tokens_kept += r->subset->keep[i] ? (size_t)r->count[i] : 0;
        v->found += r->subset->keep[i] && r->count[i] > 0;
    }
    aoei_free(r->count);
    aoei_free(r->used);
    return rc;
}

/* Checks that the vocabulary of the model can be reduced. */
static int check_model(const aoe_model *m, const aoe_convert_options *o, aoe_error *err) {
    if (!m->tokenizer)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: the model has no tokenizer, so its vocabulary cannot be reduced",
                         m->files.dir);
    if (m->config.bigrams)
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the vocabulary of a model with bigram embeddings cannot be reduced, because the ids of tokens "
            "determine the rows of the bigrams",
            m->files.dir);
    const size_t n = aoe_tokenizer_vocab_size(m->tokenizer);
    return o->vocab_size <= n
               ? AOE_OK
               : aoei_fail(err, AOE_EARG, "options.vocab_size is %zu, but the vocabulary of %s has only %zu tokens",
                           o->vocab_size, m->files.dir, n);
}

int aoei_vocabulary_reduce(aoei_reduced_vocabulary *v, const aoe_model *m, const aoe_convert_options *o,
                           aoe_error *err) {
    *v = (aoei_reduced_vocabulary){.rows = 0};
    reducer r = {.m = m, .o = o, .subset = &v->subset, .err = err};
    size_t texts = 0;
    int rc = check_model(m, o, err);
    if (!rc)
        rc = aoei_token_subset_create(&v->subset, m->tokenizer, m->files.dir, err);
    if (!rc)
        rc = select_tokens(&r, v);
    if (rc || (rc = aoei_subset_tokenizer(&v->tokenizer, &v->subset, m->files.dir, err)) ||
        (rc = count_files(m, v->tokenizer, o, NULL, &texts, &v->tokens_after, err)))
        return rc;
    if (texts != v->texts)
        return aoei_fail(
            err, AOE_EIO,
            "options.count_on: the files contained %zu texts and then %zu texts; the texts are read twice, so give "
            "files that do not change",
            v->texts, texts);
    while (v->rows < v->subset.n_kept && (size_t)v->subset.old_id[v->rows] < m->config.vocab)
        v->rows++;
    if (o->vocab_size && v->found < v->subset.n_kept / 2)
        aoei_log_write(
            &m->ctx->log, AOE_LOG_WARNING,
            "options.vocab_size: only %zu of the %zu tokens occur in the texts of options.count_on, and the others "
            "are kept in the order of their ids; give more texts, or lower options.vocab_size",
            v->found, v->subset.n_kept);
    return AOE_OK;
}

void aoei_reduced_vocabulary_free(aoei_reduced_vocabulary *v) {
    aoe_tokenizer_close(v->tokenizer);
    aoei_token_subset_free(&v->subset);
    memset(v, 0, sizeof *v);
}

/* ----------------------------------------------------------------- config.json */

/* Returns the value of a key of config.json with new ids: an id or a list of ids. Values that are not ids of tokens are
 * unchanged. */
static json_t *renumbered(const aoei_token_subset *s, json_t *value) {
    if (json_is_array(value)) {
        json_t *list = json_array();
        for (size_t i = 0; i < json_array_size(value); i++)
            if (json_array_append_new(list, renumbered(s, json_array_get(value, i)))) {
                json_decref(list);
                return NULL;
            }
        return list;
    }
    const json_int_t id = json_integer_value(value);
    return json_is_integer(value) && id >= 0 && id < (json_int_t)s->n ? json_integer(s->new_id[id])
                                                                      : json_incref(value);
}

json_t *aoei_reduced_config(const aoei_reduced_vocabulary *v, const json_t *config) {
    json_t *copy = aoei_json_copy(config);
    const char *key;
    json_t *value;
    int failed = 0;
    json_object_foreach((json_t *)(uintptr_t)config, key, value) if (copy && is_id_key(key)) failed |=
        json_object_set_new(copy, key, renumbered(&v->subset, value));
    if (failed)
        json_decref(copy);
    return failed ? NULL : copy;
}
