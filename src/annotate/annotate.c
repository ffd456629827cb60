/* SPDX-License-Identifier: MIT
 * Implements aoe_annotate: chat models write training sentences for input texts. Every distinct input text is sent to
 * every model in two requests. The first request asks for sentences with the same meaning (positives). The second
 * request asks for sentences with the opposite meaning (negatives). The sentences in the responses are written as pairs
 * or triplets. calls.c sends the requests, and parse_sentences.c parses the responses.
 */
#include <string.h>

#include "aoe_annotate.h"
#include "aoe_data.h"
#include "base/alloc.h"
#include "base/error.h"
#include "annotate/calls.h"
#include "annotate/chat_options.h"
#include "annotate/parse_sentences.h"
#include "annotate/prompt.h"
#include "annotate/reply_text.h"
#include "base/options.h"
#include "base/distinct.h"
#include "dataset/text_equality.h"
#include "options/annotate.h"
#include "table/labels.h"
#include "table/table_write.h"
#include "table/texts.h"

enum { SIDES = 2, NO_CALL = 0 };

/* Meaning of the requested sentences. POSITIVE: the same meaning as the input. NEGATIVE: the opposite meaning. */
typedef enum side { POSITIVE, NEGATIVE } side;

/* Decision about a sentence of a response.
 * - KEPT: the sentence is written to the output.
 * - COPY: the sentence is omitted because it equals the input.
 * - REPEATED: the sentence is omitted because it equals an earlier sentence.
 * - CONFLICT: the sentence is omitted because it was returned as a positive and as a negative of the same input. */
typedef enum fate { KEPT, COPY, REPEATED, CONFLICT } fate;

/* A sentence that a response contains. */
typedef struct sentence {
    size_t begin, len;   /* offset of the sentence in job.bytes, and its length */
    size_t key, key_len; /* offset in job.bytes, and length, of the comparison key (dataset/text_equality.h) */
    size_t model;        /* index in o->chat.models of the model that wrote the sentence */
    side of;             /* meaning that the request asked for */
    fate fate;
} sentence;

typedef struct input {
    aoe_text text;    /* input text; points into job.file */
    const char *file; /* name of the file that contains the text, for error messages */
    size_t line;      /* line number of the text in this file, for error messages */
} input;

typedef struct job {
    const aoe_annotate_options *o;
    aoe_annotate_result *result;
    aoei_examples *file; /* [o->n_files] input files, owned */
    aoei_distinct keys;  /* distinct inputs, with normalized white space */
    input *input;        /* [keys.n] inputs, owned */
    size_t capacity;
    size_t *call; /* [keys.n, n_models, SIDES] index in `calls` plus 1, or NO_CALL if nothing was requested; owned */
    aoei_chat_calls *calls;
    aoei_sentences list; /* sentences of one response */
    /* [n_found] The first element is the current input. The other elements are the sentences in all responses for this
     * input. Owned. */
    sentence *found;
    size_t n_found, found_capacity;
    aoei_buffer bytes; /* bytes of the sentences in `found` and of their comparison keys */
    aoei_buffer key;   /* workspace: comparison key of one text */
    aoei_text_key_scratch scratch;
    aoei_table_writer writer;
} job;

/* ---- options */

AOEI_DEFAULTS(aoe_annotate_options) {
    *o = (aoe_annotate_options){
        .struct_size = sizeof *o, .positives = 5, .negatives = 5, .positive_label = 1, .negative_label = 0};
    aoe_table_options_defaults(&o->table);
    aoe_chat_options_defaults(&o->chat);
}

static const char *prompt_of(const aoe_annotate_options *o, side s) {
    const char *own = s == POSITIVE ? o->positive_prompt : o->negative_prompt;
    return own ? own : s == POSITIVE ? aoei_prompt_positive : aoei_prompt_negative;
}

static size_t n_requested(const aoe_annotate_options *o, side s) {
    return s == POSITIVE ? o->positives : o->negatives;
}

static int check_options(const aoe_annotate_options *o, aoe_error *err) {
    if (!o->positives && !o->negatives)
        return aoei_fail(err, AOE_EARG, "no sentences are requested; set options.positives or options.negatives");
    int rc = aoei_option_group_check(&aoei_annotate_rows, o, AOEI_ALL_METHODS, err);
    if (rc)
        return rc;
    if (o->kind == AOE_EXAMPLES_POSITIVES)
        return aoei_fail(err, AOE_EARG, "options.kind must be pairs or triplets");
    if (o->kind == AOE_EXAMPLES_TRIPLETS && !(o->positives && o->negatives))
        return aoei_fail(err, AOE_EARG, "triplets need both options.positives and options.negatives");
    if (!o->files || !o->n_files)
        return aoei_fail(err, AOE_EARG, "options.files is empty; give at least one file of texts");
    rc = aoei_check_output(&o->chat, o->name, o->write, err);
    if (!rc)
        rc = aoei_prompt_check(prompt_of(o, POSITIVE), 0, "options.positive_prompt", err);
    return rc ? rc : aoei_prompt_check(prompt_of(o, NEGATIVE), 0, "options.negative_prompt", err);
}

/* ---- inputs */

static int add_input(job *j, aoe_text text, const char *file, size_t line, aoe_error *err) {
    const size_t before = j->keys.n;
    size_t number;
    int rc = aoei_text_key(&j->key, text, AOE_TEXT_EQUAL_SPACE, &j->scratch) ? aoei_fail_nomem(err, text.len) : 0;
    if (!rc)
        rc = aoei_distinct_add(&j->keys, (aoe_text){j->key.data, j->key.len}, 0, &number, err);
    if (rc)
        return rc;
    if (j->keys.n == before) {
        j->result->repeated_inputs++;
        return 0;
    }
    if (aoei_grow((void **)&j->input, &j->capacity, before, sizeof *j->input))
        return aoei_fail_nomem(err, before * sizeof *j->input);
    j->input[before] = (input){aoei_text_trim(text), file, line};
    return aoei_check_tsv_text(j->input[before].text, j->o->name, file, line, err);
}

static int read_inputs(job *j, aoe_error *err) {
    int rc = 0;
    j->file = aoei_calloc(j->o->n_files + 1, sizeof *j->file);
    if (!j->file)
        return aoei_fail_nomem(err, j->o->n_files * sizeof *j->file);
    aoe_table_options t = j->o->table;
    t.label_map = NULL;
    t.allow_empty = 0;
    for (size_t f = 0; f < j->o->n_files && !rc; f++) {
        aoei_examples *e = &j->file[f];
        rc = aoei_texts_load(e, j->o->files[f], &t, err);
        for (size_t i = 0; i < e->n_texts && !rc; i++)
            rc = add_input(j, e->text[i], e->name, aoei_examples_line(e, i), err);
        j->result->skipped += e->skipped;
    }
    j->result->texts = j->keys.n;
    return rc;
}

/* ---- calls */

static size_t call_index(const job *j, size_t text, size_t model, side s) {
    return (text * j->o->chat.n_models + model) * SIDES + (size_t)s;
}

static int add_call(job *j, size_t text, size_t model, side s, aoei_buffer *prompt, aoe_error *err) {
    enum { LIST_TOKENS = 6 }; /* estimated tokens per sentence for the item number, the quotes and the line end */
    const aoei_prompt_values v = {.size = n_requested(j->o, s), .text1 = j->input[text].text};
    size_t number;
    aoei_buffer_clear(prompt);
    if (aoei_prompt_fill(prompt, prompt_of(j->o, s), &v))
        return aoei_fail_nomem(err, v.text1.len);
    const int rc = aoei_chat_calls_add(j->calls, model, (aoe_text){prompt->data, prompt->len},
                                       v.size * (aoei_estimate_tokens(v.text1) + LIST_TOKENS), &number, err);
    if (!rc)
        j->call[call_index(j, text, model, s)] = 1 + number;
    return rc;
}

static int add_calls(job *j, aoe_error *err) {
    aoei_buffer prompt = {0};
    size_t n;
    int rc = aoei_chat_calls_create(&j->calls, &j->o->chat, err);
    if (!rc &&
        (aoei_mul_size(j->keys.n, j->o->chat.n_models * SIDES, &n) || !(j->call = aoei_calloc(n + 1, sizeof *j->call))))
        rc = aoei_fail_nomem(err, j->keys.n);
    for (size_t i = 0; i < j->keys.n && !rc; i++)
        for (size_t m = 0; m < j->o->chat.n_models && !rc; m++)
            for (side s = POSITIVE; s <= NEGATIVE && !rc; s = (side)(s + 1))
                rc = n_requested(j->o, s) ? add_call(j, i, m, s, &prompt, err) : 0;
    aoei_buffer_free(&prompt);
    return rc;
}

/* ---- sentences for one input */

static aoe_text sentence_text(const job *j, const sentence *s) {
    return (aoe_text){j->bytes.data + s->begin, s->len};
}

static int is_equal(const job *j, const sentence *a, const sentence *b) {
    return a->key_len == b->key_len && !memcmp(j->bytes.data + a->key, j->bytes.data + b->key, a->key_len);
}

static int add_sentence(job *j, aoe_text text, size_t model, side of, aoe_error *err) {
    if (aoei_text_key(&j->key, text, AOE_TEXT_EQUAL_LETTERS, &j->scratch) ||
        aoei_grow((void **)&j->found, &j->found_capacity, j->n_found, sizeof *j->found))
        return aoei_fail_nomem(err, text.len);
    sentence *s = &j->found[j->n_found++];
    *s = (sentence){.begin = j->bytes.len, .len = text.len, .model = model, .of = of};
    (void)aoei_buffer_append(&j->bytes, text.data, text.len);
    s->key = j->bytes.len;
    s->key_len = j->key.len;
    (void)aoei_buffer_append(&j->bytes, j->key.data, j->key.len);
    return j->bytes.failed ? aoei_fail_nomem(err, text.len) : 0;
}

/* Parses one response and appends its sentences to j->found. text: index of the input; s: meaning that the request
 * asked for. Does nothing if there is no response. */
static int read_reply(job *j, size_t text, size_t model, side s, aoe_error *err) {
    const size_t call = j->call[call_index(j, text, model, s)];
    const aoei_chat_reply *r = call == NO_CALL ? NULL : aoei_chat_calls_reply(j->calls, call - 1);
    aoei_parse_outcome outcome = AOEI_CHAT_REFUSED;
    if (!r)
        return 0;
    aoei_sentences_clear(&j->list);
    if (!r->refused && aoei_parse_sentences(&j->list, &outcome, (aoe_text){r->content.data, r->content.len},
                                            n_requested(j->o, s), r->truncated))
        return aoei_fail_nomem(err, r->content.len);
    j->result->chat.refused += outcome == AOEI_CHAT_REFUSED;
    j->result->chat.unreadable += outcome == AOEI_CHAT_NOTHING;
    j->result->repeated += j->list.repeated;
    int rc = 0;
    for (size_t i = 0; i < j->list.n && !rc; i++)
        rc = add_sentence(j, aoei_sentences_item(&j->list, i), model, s, err);
    return rc;
}

/* Sets the fate of every sentence in j->found and counts the fates in j->result. */
static void select_sentences(job *j) {
    for (size_t i = 1; i < j->n_found; i++) {
        sentence *s = &j->found[i];
        s->fate = is_equal(j, s, &j->found[0]) ? COPY : KEPT;
        for (size_t k = 1; k < j->n_found && s->fate == KEPT; k++)
            if (k != i && is_equal(j, s, &j->found[k])) {
                if (j->found[k].of != s->of)
                    s->fate = CONFLICT;
                else if (k < i)
                    s->fate = REPEATED;
            }
        aoe_annotate_result *r = j->result;
        r->copies += s->fate == COPY;
        r->repeated += s->fate == REPEATED;
        r->conflicts += s->fate == CONFLICT;
        r->positives += s->fate == KEPT && s->of == POSITIVE;
        r->negatives += s->fate == KEPT && s->of == NEGATIVE;
    }
}

/* ---- rows */

static aoei_cell source_cell(const job *j, size_t model) {
    const aoe_chat_model *m = &j->o->chat.models[model];
    return (aoei_cell){.text = aoe_text_of(m->source ? m->source : m->name)};
}

static int write_pair(job *j, const input *in, const sentence *s, aoe_error *err) {
    char label[AOEI_NUMBER_TEXT];
    const size_t n = aoei_number_text(label, s->of == POSITIVE ? j->o->positive_label : j->o->negative_label);
    const aoei_cell cell[] = {{.text = in->text},
                              {.text = sentence_text(j, s)},
                              {.text = {label, n}, .is_number = 1},
                              source_cell(j, s->model)};
    j->result->rows++;
    return aoei_table_writer_row(&j->writer, cell, in->file, in->line, err);
}

static int write_pairs(job *j, const input *in, aoe_error *err) {
    int rc = 0;
    for (size_t i = 1; i < j->n_found && !rc; i++)
        rc = j->found[i].fate == KEPT ? write_pair(j, in, &j->found[i], err) : 0;
    return rc;
}

/* Returns the n-th sentence (counted from 0) in j->found that has the fate KEPT, this model and this side. Returns NULL
 * if there are not more than n such sentences. */
static const sentence *nth_kept(const job *j, size_t model, side of, size_t n) {
    for (size_t i = 1; i < j->n_found; i++) {
        const sentence *s = &j->found[i];
        if (s->fate == KEPT && s->model == model && s->of == of && n-- == 0)
            return s;
    }
    return NULL;
}

/* Writes the triplets of one input. For each model, its i-th positive and its i-th negative form a triplet. If a model
 * wrote fewer positives than negatives, its positives are used repeatedly until every negative is in a triplet, and
 * vice versa. A model without positives or without negatives contributes no triplets. */
static int write_triplets(job *j, const input *in, aoe_error *err) {
    int rc = 0;
    for (size_t m = 0; m < j->o->chat.n_models; m++) {
        size_t count[SIDES] = {0, 0};
        for (size_t i = 1; i < j->n_found; i++)
            count[j->found[i].of] += j->found[i].fate == KEPT && j->found[i].model == m;
        const size_t larger = count[POSITIVE] > count[NEGATIVE] ? count[POSITIVE] : count[NEGATIVE];
        for (size_t i = 0; i < larger && count[POSITIVE] && count[NEGATIVE] && !rc; i++) {
            const sentence *p = nth_kept(j, m, POSITIVE, i % count[POSITIVE]),
                           *n = nth_kept(j, m, NEGATIVE, i % count[NEGATIVE]);
            const aoei_cell cell[] = {
                {.text = in->text}, {.text = sentence_text(j, p)}, {.text = sentence_text(j, n)}, source_cell(j, m)};
            j->result->rows++;
            rc = aoei_table_writer_row(&j->writer, cell, in->file, in->line, err);
        }
    }
    return rc;
}

static int make_rows(job *j, size_t text, aoe_error *err) {
    const size_t before = j->result->rows;
    j->n_found = 0;
    aoei_buffer_clear(&j->bytes);
    int rc = add_sentence(j, j->input[text].text, 0, POSITIVE, err);
    for (size_t m = 0; m < j->o->chat.n_models && !rc; m++)
        for (side s = POSITIVE; s <= NEGATIVE && !rc; s = (side)(s + 1))
            rc = read_reply(j, text, m, s, err);
    if (rc)
        return rc;
    select_sentences(j);
    rc = j->o->kind == AOE_EXAMPLES_TRIPLETS ? write_triplets(j, &j->input[text], err)
                                             : write_pairs(j, &j->input[text], err);
    j->result->without += j->result->rows == before;
    return rc;
}

static int write_rows(job *j, aoe_error *err) {
    static const char *const pairs[] = {"text1", "text2", "label", "source"};
    static const char *const triplets[] = {"query", "positive", "negative", "source"};
    aoe_text name[4];
    for (size_t i = 0; i < 4; i++)
        name[i] = aoe_text_of(j->o->kind == AOE_EXAMPLES_TRIPLETS ? triplets[i] : pairs[i]);
    int rc = aoei_table_writer_open(&j->writer, j->o->name, name, 4, NULL, NULL, j->o->write, j->o->user, err);
    for (size_t i = 0; i < j->keys.n && !rc; i++)
        rc = make_rows(j, i, err);
    return rc ? rc : aoei_table_writer_end(&j->writer, err);
}

static void destroy(job *j) {
    for (size_t f = 0; j->file && f < j->o->n_files; f++)
        aoei_examples_free(&j->file[f]);
    aoei_chat_calls_destroy(j->calls);
    aoei_sentences_free(&j->list);
    aoei_table_writer_free(&j->writer);
    aoei_distinct_free(&j->keys);
    aoei_buffer_free(&j->bytes);
    aoei_buffer_free(&j->key);
    aoei_free(j->scratch.point);
    aoei_free(j->file);
    aoei_free(j->input);
    aoei_free(j->call);
    aoei_free(j->found);
}

int aoe_annotate(const aoe_annotate_options *o, aoe_annotate_result *result, aoe_error *err) {
    AOEI_RESULT(aoe_annotate_result, result, err);
    AOEI_OPTIONS(aoe_annotate_options, o, err);
    aoe_chat_model model;
    aoe_chat_model_defaults(&model);
    AOEI_ARRAY(aoe_chat_model, o, chat.models, chat.n_models, &model, err);
    job j = {.o = o, .result = result};
    int rc = check_options(o, err);
    if (!rc)
        rc = read_inputs(&j, err);
    if (!rc)
        rc = add_calls(&j, err);
    if (!rc)
        rc = aoei_chat_calls_run(j.calls, err);
    if (j.calls)
        aoei_chat_calls_result(j.calls, &j.result->chat);
    if (!rc && !o->chat.dry_run)
        rc = write_rows(&j, err);
    destroy(&j);
    return rc;
}
