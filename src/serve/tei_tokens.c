/* SPDX-License-Identifier: MIT
 * Bodies and answers are those of text-embeddings-inference, with the further field `model`. A text is tokenized with
 * its prompt, without the chat template of the model, and is not truncated. The ranges of the tokens are bytes of the
 * text with its prompt. Both routes answer without a batch, in a thread that may wait, because the answer to a small
 * body can be large.
 */
#include "serve/tei_tokens.h"

#include "serve/job.h"

#include <stdio.h>
#include <string.h>

#define PLACEHOLDER "{text}"

/* Answers an error of the tokenizer. */
static void fail_tokenizer(aoei_call *c, int code, const aoe_error *err) {
    aoei_metrics_count(c->server->metrics, AOEI_REQUEST_FAILURE, AOEI_FAILED_TOKENIZATION);
    aoei_call_fail(c, code == AOE_EFORMAT ? AOEI_TOKENIZER : aoei_call_error_kind(code), "%s", err->message);
}

/* Returns the model with a tokenizer, or NULL after answering an error, or with c->would_wait set. */
static aoei_served *find_tokenizer(aoei_call *c, const char *name, const aoe_tokenizer **t) {
    aoei_served *served = aoei_call_model(c, name, AOEI_TASK_STATES);
    *t = served ? aoe_model_tokenizer(served->model) : NULL;
    if (!served || *t)
        return served;
    aoei_call_fail(c, AOEI_BACKEND, "the model '%.100s' has no tokenizer", served->name);
    aoei_models_release(c->server->models, served);
    return NULL;
}

/* Checks the total number of tokens or ids of a request. Returns 0, or 1 after answering the error. */
static int check_total(aoei_call *c, size_t n, const char *what) {
    const size_t max = c->server->o.max_request_tokens;
    if (n <= max)
        return 0;
    aoei_call_fail(c, AOEI_VALIDATION, "the request has %zu %s or more, but at most %zu are allowed; divide it", n,
                   what, max);
    return 1;
}

/* -------------------------------------------------------------- tokenize */

typedef struct tokenize_body {
    aoei_inputs inputs;
    int add_special_tokens;
    const char *prompt_name, *model;
} tokenize_body;

const aoei_field aoei_tokenize_fields[AOEI_TOKENIZE_FIELDS] = {
    {.name = "inputs",
     .kind = AOEI_FIELD_TEXTS,
     .offset = offsetof(tokenize_body, inputs),
     .required = 1,
     .help = "Text or list of texts."},
    {.name = "add_special_tokens",
     .kind = AOEI_FIELD_BOOL,
     .offset = offsetof(tokenize_body, add_special_tokens),
     .help = "Add the special tokens of the model, such as [CLS] (default true)."},
    {.name = "prompt_name",
     .kind = AOEI_FIELD_STRING,
     .offset = offsetof(tokenize_body, prompt_name),
     .help = "Name of a prompt of the model."},
    {.name = "model",
     .kind = AOEI_FIELD_STRING,
     .offset = offsetof(tokenize_body, model),
     .help = "Name of the model; without it, the first model of the server."},
};

/* Returns the template of a prompt, in which {text} stands for the text, or NULL after answering that there is no such
 * prompt. name: NULL: the prompt of the model. As for embeddings, "query" and "document" always exist. */
static const char *find_prompt(aoei_call *c, const aoei_served *served, const char *name) {
    char names[256] = "";
    size_t at = 0;
    if (!name)
        return served->info.prompt && *served->info.prompt ? served->info.prompt : PLACEHOLDER;
    const char *found = aoe_model_prompt(served->model, name), *other;
    if (found || !strcmp(name, "query") || !strcmp(name, "document"))
        return found && *found ? found : PLACEHOLDER;
    for (size_t i = 0; (other = aoe_model_prompt_name(served->model, i)) && at < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s%.40s", i ? ", " : "", other);
    aoei_call_fail(c, AOEI_VALIDATION, "the model has no prompt '%.100s'; its prompts: %s", name,
                   *names ? names : "none");
    return NULL;
}

/* Appends the tokens of one text. */
static void put_tokens(aoei_buffer *b, const aoe_tokenizer *t, aoe_text text, const aoe_ids *ids,
                       const aoe_token_spans *spans) {
    aoei_buffer_putc(b, '[');
    for (size_t i = 0; i < ids->n; i++) {
        const aoe_token_span *s = &spans->span[i];
        aoei_buffer_printf(b, "%s{\"id\":%d,\"text\":", i ? "," : "", (int)ids->id[i]);
        if (s->special) {
            aoei_answer_string(b, aoe_tokenizer_token(t, ids->id[i]));
            aoei_buffer_printf(b, ",\"special\":true,\"start\":null,\"stop\":null}");
        } else {
            aoei_answer_string(b, (aoe_text){text.data + s->start_byte, s->stop_byte - s->start_byte});
            aoei_buffer_printf(b, ",\"special\":false,\"start\":%zu,\"stop\":%zu}", s->start_byte, s->stop_byte);
        }
    }
    aoei_buffer_putc(b, ']');
}

/* Tokenizes the texts and appends their tokens. *tokens: number of all tokens. Returns 0, or 1 after answering an
 * error. */
static int tokenize(aoei_call *c, const aoei_inputs *inputs, const aoe_tokenizer *t, const char *prompt,
                    const aoe_encode_options *o, aoei_buffer *b, size_t *tokens) {
    const char *place = strstr(prompt, PLACEHOLDER);
    const size_t before = place ? (size_t)(place - prompt) : strlen(prompt);
    const char *after = place ? place + sizeof PLACEHOLDER - 1 : "";
    aoe_ids ids = {0};
    aoe_token_spans spans = {0};
    aoei_buffer text = {0};
    int failed = 0;
    aoei_buffer_putc(b, '[');
    for (size_t i = 0; i < inputs->n && !failed; i++) {
        aoe_error err = {0};
        text.len = 0;
        aoei_buffer_append(&text, prompt, before);
        aoei_buffer_append(&text, inputs->text[i].data, inputs->text[i].len);
        aoei_buffer_append(&text, after, strlen(after));
        const aoe_text whole = {text.data, text.len};
        const int code = text.failed ? AOE_ENOMEM : aoe_tokenizer_encode_spans(t, whole, o, &ids, &spans, &err);
        if (code) {
            fail_tokenizer(c, code, &err);
            failed = 1;
        } else {
            *tokens += ids.n;
            failed = check_total(c, *tokens, "tokens");
        }
        if (!failed) {
            aoei_buffer_append(b, ",", i > 0);
            put_tokens(b, t, whole, &ids, &spans);
        }
    }
    aoei_buffer_putc(b, ']');
    aoei_buffer_free(&text);
    aoe_ids_free(&ids);
    aoe_token_spans_free(&spans);
    return failed;
}

void aoei_route_tokenize(aoei_call *c) {
    tokenize_body body = {.add_special_tokens = 1};
    const aoe_tokenizer *t;
    aoei_buffer b = {0};
    size_t tokens = 0;
    if (aoei_call_parse(c, &body) || aoei_call_check_count(c, body.inputs.n, 1, "inputs"))
        return;
    aoei_served *served = find_tokenizer(c, body.model, &t);
    const char *prompt = served ? find_prompt(c, served, body.prompt_name) : NULL;
    if (prompt) {
        aoe_encode_options o = served->encode;
        o.no_special_tokens |= !body.add_special_tokens;
        o.chat_template = 0; /* ranges of tokens would be those of the rendered template */
        if (!tokenize(c, &body.inputs, t, prompt, &o, &b, &tokens)) {
            aoei_exchange_note(c->x, served->name, body.inputs.n, tokens);
            aoei_call_answer(c, &b);
        }
    }
    aoei_buffer_free(&b);
    aoei_models_release(c->server->models, served);
}

/* ---------------------------------------------------------------- decode */

typedef struct decode_body {
    aoei_inputs ids;
    int skip_special_tokens;
    const char *model;
} decode_body;

const aoei_field aoei_decode_fields[AOEI_DECODE_FIELDS] = {
    {.name = "ids",
     .kind = AOEI_FIELD_IDS,
     .offset = offsetof(decode_body, ids),
     .required = 1,
     .help = "Token ids, or a list of lists of token ids."},
    {.name = "skip_special_tokens",
     .kind = AOEI_FIELD_BOOL,
     .offset = offsetof(decode_body, skip_special_tokens),
     .help = "Omit special tokens, such as [CLS] (default true)."},
    {.name = "model",
     .kind = AOEI_FIELD_STRING,
     .offset = offsetof(decode_body, model),
     .help = "Name of the model; without it, the first model of the server."},
};

/* Appends the texts of the ids. Returns 0, or 1 after answering an error. */
static int decode(aoei_call *c, const decode_body *body, const aoe_tokenizer *t, aoei_buffer *b) {
    aoe_decoded text = {0};
    size_t unknown = 0;
    int failed = 0;
    aoei_buffer_putc(b, '[');
    for (size_t i = 0; i < body->ids.n && !failed; i++) {
        aoe_error err = {0};
        const int code =
            aoe_tokenizer_decode(t, body->ids.ids[i], body->ids.n_ids[i], body->skip_special_tokens, &text, &err);
        if (code) {
            fail_tokenizer(c, code, &err);
            failed = 1;
            break;
        }
        unknown += text.unknown;
        aoei_buffer_append(b, ",", i > 0);
        aoei_answer_string(b, (aoe_text){text.text, text.len});
    }
    aoei_buffer_putc(b, ']');
    aoe_decoded_free(&text);
    if (unknown && !failed)
        aoei_exchange_add_header(c->x, "x-aoe-unknown-ids", "%zu", unknown);
    return failed;
}

void aoei_route_decode(aoei_call *c) {
    decode_body body = {.skip_special_tokens = 1};
    const aoe_tokenizer *t;
    aoei_buffer b = {0};
    if (aoei_call_parse(c, &body) || aoei_call_check_count(c, body.ids.n, 1, "ids") ||
        check_total(c, body.ids.total_ids, "token ids"))
        return;
    aoei_served *served = find_tokenizer(c, body.model, &t);
    if (served && !decode(c, &body, t, &b)) {
        aoei_exchange_note(c->x, served->name, body.ids.n, body.ids.total_ids);
        aoei_call_answer(c, &b);
    }
    aoei_buffer_free(&b);
    aoei_models_release(c->server->models, served);
}
