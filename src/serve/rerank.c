/* SPDX-License-Identifier: MIT
 * Both forms score the pairs of the query and each text with a cross-encoder that has one output. They differ in their
 * fields, limits, answers and errors. max_tokens_per_doc shortens only the document: it is cut after its last token
 * that fits, and the pair is then tokenized as any other.
 */
#include "serve/rerank.h"

#include "base/alloc.h"
#include "serve/job.h"
#include "serve/scores.h"
#include "serve/tei_embed.h"

#include <string.h>

/* What a job needs besides the pairs; one allocation with the arrays. */
typedef struct ranking {
    int returns_text; /* 1: the answer contains the texts */
    size_t top;       /* number of results in the answer */
    size_t n;
    const aoe_text *texts; /* [n] texts of the body, borrowed from the request */
    aoe_text *first;       /* [n] the query */
    aoe_text *second;      /* [n] the texts, shortened by max_tokens_per_doc */
    aoei_ranked *order;    /* [n] */
    uint8_t *is_cut;       /* [n] 1: max_tokens_per_doc has shortened the text */
} ranking;

/* Creates the ranking of n texts. Returns NULL if memory runs out. */
static ranking *create_ranking(aoe_text query, const aoe_text *texts, size_t n) {
    const size_t each = 2 * sizeof(aoe_text) + sizeof(aoei_ranked) + 1;
    ranking *r = n < (SIZE_MAX - sizeof *r) / each ? aoei_calloc(1, sizeof *r + n * each) : NULL;
    if (!r)
        return NULL;
    r->n = r->top = n;
    r->texts = texts;
    r->first = (aoe_text *)(r + 1);
    r->second = r->first + n;
    r->order = (aoei_ranked *)(r->second + n);
    r->is_cut = (uint8_t *)(r->order + n);
    for (size_t i = 0; i < n; i++) {
        r->first[i] = query;
        r->second[i] = texts[i];
    }
    return r;
}

/* Returns a cross-encoder with one output, or NULL after answering an error, or with c->would_wait set. */
static aoei_served *find_reranker(aoei_call *c, const char *name) {
    aoei_served *served = aoei_call_model(c, name, AOEI_TASK_SCORE);
    if (!served || served->dims == 1)
        return served;
    aoei_metrics_count(c->server->metrics, AOEI_REQUEST_FAILURE, AOEI_FAILED_MODEL_TYPE);
    aoei_call_fail(c, AOEI_BACKEND,
                   "the model '%.100s' is a classifier with %zu outputs, which is no reranker; use /predict",
                   served->name, served->dims);
    aoei_models_release(c->server->models, served);
    return NULL;
}

/* Creates the job of a request. Returns NULL after answering an error, or with c->would_wait set. */
static aoei_job *create_job(aoei_call *c, const char *model, aoe_text query, const aoei_inputs *texts,
                            const aoei_tei_settings *settings, int raw, aoei_job_answer_fn answer) {
    aoei_served *served = find_reranker(c, model);
    aoei_job *j = served ? aoei_job_create(c, served, texts->n, AOEI_TASK_SCORE, answer) : NULL;
    if (!j)
        return NULL;
    ranking *r = j->user = create_ranking(query, texts->text, texts->n);
    if (!r) {
        aoei_job_fail(j, AOEI_INTERNAL, "out of memory for the texts");
        return NULL;
    }
    j->first = r->first;
    j->second = r->second;
    j->list.activation = aoei_scores_activation(served, raw);
    aoei_tei_apply(j, settings);
    return j;
}

static ranking *sort_scores(const aoei_job *j) {
    ranking *r = j->user;
    for (size_t i = 0; i < r->n; i++)
        r->order[i] = (aoei_ranked){j->row[i][0], (uint32_t)i};
    aoei_scores_sort(r->order, r->n);
    return r;
}

/* ----------------------------------------------------------------- texts */

typedef struct texts_body {
    aoe_text query;
    aoei_inputs texts;
    aoei_tei_settings settings;
    int raw_scores, return_text;
    const char *model;
} texts_body;

const aoei_field aoei_rerank_texts_fields[AOEI_RERANK_TEXTS_FIELDS] = {
    {.name = "query",
     .kind = AOEI_FIELD_TEXT,
     .offset = offsetof(texts_body, query),
     .required = 1,
     .help = "Text with which all texts are scored."},
    {.name = "texts",
     .kind = AOEI_FIELD_TEXTS,
     .offset = offsetof(texts_body, texts),
     .required = 1,
     .help = "Texts that are ranked."},
    AOEI_TEI_TRUNCATION_FIELDS(texts_body, settings),
    {.name = "raw_scores",
     .kind = AOEI_FIELD_BOOL,
     .offset = offsetof(texts_body, raw_scores),
     .help = "Return the outputs of the model without an activation function (default false)."},
    {.name = "return_text",
     .kind = AOEI_FIELD_BOOL,
     .offset = offsetof(texts_body, return_text),
     .help = "Also return the texts (default false)."},
    {.name = "model",
     .kind = AOEI_FIELD_STRING,
     .offset = offsetof(texts_body, model),
     .help = "Name of the model; without it, the first model of the server."},
};

static void answer_texts(aoei_job *j, aoei_buffer *b) {
    const ranking *r = sort_scores(j);
    aoei_buffer_putc(b, '[');
    for (size_t i = 0; i < r->n; i++) {
        aoei_buffer_printf(b, "%s{\"index\":%zu,", i ? "," : "", (size_t)r->order[i].index);
        if (r->returns_text) {
            aoei_buffer_printf(b, "\"text\":");
            aoei_answer_string(b, r->texts[r->order[i].index]);
            aoei_buffer_putc(b, ',');
        }
        aoei_buffer_printf(b, "\"score\":");
        aoei_answer_float(b, r->order[i].score);
        aoei_buffer_putc(b, '}');
    }
    aoei_buffer_putc(b, ']');
}

void aoei_route_rerank_texts(aoei_call *c) {
    texts_body body = {.settings = aoei_tei_defaults};
    if (aoei_call_parse(c, &body) || aoei_call_check_count(c, body.texts.n, 1, "texts"))
        return;
    aoei_job *j = create_job(c, body.model, body.query, &body.texts, &body.settings, body.raw_scores, answer_texts);
    if (!j)
        return;
    ((ranking *)j->user)->returns_text = body.return_text;
    aoei_job_start(j);
}

/* ------------------------------------------------------------- documents */

typedef struct documents_body {
    aoe_text query;
    aoei_inputs documents;
    size_t top_n, max_tokens_per_doc; /* AOE_AUTO: not given */
    int return_documents;
    aoei_tei_settings settings;
    const char *model;
} documents_body;

const aoei_field aoei_rerank_documents_fields[AOEI_RERANK_DOCUMENTS_FIELDS] = {
    {.name = "query",
     .kind = AOEI_FIELD_TEXT,
     .offset = offsetof(documents_body, query),
     .required = 1,
     .help = "Text with which all documents are scored."},
    {.name = "documents",
     .kind = AOEI_FIELD_DOCUMENTS,
     .offset = offsetof(documents_body, documents),
     .required = 1,
     .help = "Documents that are ranked: texts, or objects with the key text."},
    {.name = "top_n",
     .kind = AOEI_FIELD_COUNT,
     .min = 1,
     .offset = offsetof(documents_body, top_n),
     .help = "Number of results (default: all documents)."},
    {.name = "return_documents",
     .kind = AOEI_FIELD_BOOL,
     .offset = offsetof(documents_body, return_documents),
     .help = "Also return the texts of the documents (default false)."},
    {.name = "max_tokens_per_doc",
     .kind = AOEI_FIELD_COUNT,
     .min = 1,
     .offset = offsetof(documents_body, max_tokens_per_doc),
     .help = "Tokens of each document that are read; the rest of the document is not scored."},
    AOEI_TEI_TRUNCATION_FIELDS(documents_body, settings),
    {.name = "model",
     .kind = AOEI_FIELD_STRING,
     .offset = offsetof(documents_body, model),
     .help = "Name of the model; without it, the first model of the server."},
};

static void answer_documents(aoei_job *j, aoei_buffer *b) {
    const ranking *r = sort_scores(j);
    aoei_buffer_printf(b, "{\"object\":\"list\",\"model\":");
    aoei_answer_cstring(b, j->served->name);
    aoei_buffer_printf(b, ",\"results\":[");
    for (size_t i = 0; i < r->top; i++) {
        aoei_buffer_printf(b, "%s{\"index\":%zu,\"relevance_score\":", i ? "," : "", (size_t)r->order[i].index);
        aoei_answer_float(b, r->order[i].score);
        if (r->returns_text) {
            aoei_buffer_printf(b, ",\"document\":{\"text\":");
            aoei_answer_string(b, r->texts[r->order[i].index]);
            aoei_buffer_putc(b, '}');
        }
        aoei_buffer_putc(b, '}');
    }
    aoei_buffer_printf(b,
                       "],\"usage\":{\"prompt_tokens\":%zu,\"total_tokens\":%zu},\"meta\":{\"api_version\":{"
                       "\"version\":\"2\"},\"tokens\":{\"input_tokens\":%zu}}}",
                       j->tokens, j->tokens, j->tokens);
}

/* Shortens a text to its first `max` tokens. The beginning of a text may have other tokens than the whole text, so
 * that further tokens are removed until at most `max` are left. *is_cut: 1 if the text was shortened. */
static int shorten(const aoe_tokenizer *t, const aoe_encode_options *o, size_t max, aoe_text *text, uint8_t *is_cut,
                   aoe_error *err) {
    aoe_ids ids = {0};
    aoe_token_spans spans = {0};
    int code = aoe_tokenizer_encode(t, *text, o, &ids, err);
    if (!code && ids.n > max) {
        *is_cut = 1;
        code = aoe_tokenizer_encode_spans(t, *text, o, &ids, &spans, err);
    }
    for (size_t keep = max; !code && *is_cut && ids.n > max; keep -= keep > 0) {
        text->len = 0;
        for (size_t i = 0; i < keep && i < spans.n; i++)
            text->len = spans.span[i].stop_byte > text->len ? spans.span[i].stop_byte : text->len;
        code = aoe_tokenizer_encode(t, *text, o, &ids, err);
        if (!keep)
            break;
    }
    aoe_ids_free(&ids);
    aoe_token_spans_free(&spans);
    return code;
}

/* Applies max_tokens_per_doc to the texts of a job. Returns 0, or 1 after answering an error. */
static int shorten_all(aoei_job *j, size_t max) {
    ranking *r = j->user;
    const aoe_tokenizer *t = aoe_model_tokenizer(j->served->model);
    aoe_encode_options o = j->served->encode;
    aoe_error err = {0};
    int code = AOE_OK;
    o.no_special_tokens = 1;
    o.chat_template = 0; /* only the document is tokenized here, not the message that contains it */
    for (size_t i = 0; i < r->n && t && !code; i++)
        code = shorten(t, &o, max, &r->second[i], &r->is_cut[i], &err);
    if (!code)
        return 0;
    aoei_job_fail(j, code == AOE_EFORMAT ? AOEI_TOKENIZER : aoei_call_error_kind(code), err.message);
    return 1;
}

void aoei_route_rerank_documents(aoei_call *c) {
    documents_body body = {.settings = aoei_tei_defaults, .top_n = AOE_AUTO, .max_tokens_per_doc = AOE_AUTO};
    if (aoei_call_parse(c, &body) || aoei_call_check_count(c, body.documents.n, 0, "documents"))
        return;
    if (!body.top_n || !body.max_tokens_per_doc) {
        aoei_call_fail(c, AOEI_VALIDATION, "`%s` must be at least 1", body.top_n ? "max_tokens_per_doc" : "top_n");
        return;
    }
    aoei_job *j = create_job(c, body.model, body.query, &body.documents, &body.settings, 0, answer_documents);
    if (!j || (body.max_tokens_per_doc != AOE_AUTO && shorten_all(j, body.max_tokens_per_doc)))
        return;
    ranking *r = j->user;
    r->returns_text = body.return_documents;
    r->top = body.top_n < r->n ? body.top_n : r->n;
    j->is_shortened = r->is_cut;
    j->max_tokens = c->server->o.max_request_tokens;
    aoei_job_start(j);
}

/* -------------------------------------------------------------- dispatch */

/* A body with `texts` has the form of text-embeddings-inference, and otherwise one with `documents` the other. Errors
 * of other bodies have the form of the API to which the path belongs. */
void aoei_route_rerank(aoei_call *c) {
    const aoei_route *texts = c->route, *documents = aoei_call_next_route(c);
    const int is_native = !strcmp(texts->path, "/rerank");
    c->route = is_native ? texts : documents;
    if (aoei_call_load(c))
        return;
    const int has_texts = json_object_get(c->request.root, "texts") != NULL;
    const int has_documents = json_object_get(c->request.root, "documents") != NULL;
    c->route = has_texts || (is_native && !has_documents) ? texts : documents;
    c->route == texts ? aoei_route_rerank_texts(c) : aoei_route_rerank_documents(c);
}
