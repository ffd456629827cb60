/* SPDX-License-Identifier: MIT
 * Creates the JSON of chat requests and reads the JSON of chat responses.
 */
#include "annotate/completion.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/json.h"
#include "annotate/reply_text.h"
#include "base/options.h"
#include "net/secret.h"

#define NAME "the response"

static int append_string(aoei_buffer *out, const json_t *v) {
    return json_is_string(v) ? aoei_buffer_append(out, json_string_value(v), json_string_length(v)) : 0;
}

/* Appends the value of "content": a string, null, or an array of objects whose key "text" contains a part of the
 * text. */
static int append_content(aoei_buffer *out, const json_t *content) {
    size_t i;
    json_t *part;
    json_array_foreach(content, i, part) if (append_string(out, json_object_get(part, "text"))) return AOE_ENOMEM;
    return append_string(out, content);
}

/* Reads one choice of a response and appends its text to r->content. A choice of a normal response contains the
 * complete message. A choice of a streamed event contains a part of the message. `message`: key of the message in
 * `choice` ("message" or "delta"). Sets *ended to 1 if the choice has a finish_reason. */
static int read_choice(aoei_chat_reply *r, const json_t *choice, const char *message, int *ended) {
    const json_t *m = json_object_get(choice, message), *refusal = json_object_get(m, "refusal");
    const char *reason = json_string_value(json_object_get(choice, "finish_reason"));
    if (append_content(&r->content, json_object_get(m, "content")))
        return AOE_ENOMEM;
    if (json_is_string(refusal) && json_string_length(refusal)) {
        r->refused = 1;
        if (append_string(&r->content, refusal))
            return AOE_ENOMEM;
    }
    if (!reason)
        return 0;
    *ended = 1;
    r->truncated = strcmp(reason, "length") == 0;
    r->refused |= strcmp(reason, "content_filter") == 0;
    return 0;
}

static void read_usage(aoei_chat_reply *r, const json_t *root) {
    const json_t *usage = json_object_get(root, "usage");
    const json_t *in = json_object_get(usage, "prompt_tokens"), *out = json_object_get(usage, "completion_tokens");
    if (json_is_integer(in) && json_integer_value(in) >= 0)
        r->prompt_tokens = json_integer_value(in);
    if (json_is_integer(out) && json_integer_value(out) >= 0)
        r->completion_tokens = json_integer_value(out);
}

static int fail_error(const json_t *root, aoe_error *err) {
    const char *message = json_string_value(json_object_get(json_object_get(root, "error"), "message"));
    return aoei_fail(err, AOE_EFORMAT, NAME " is an error: %s; try again later",
                     message ? message : "it contains no message");
}

static int read_whole(aoei_chat_reply *r, aoe_text body, aoe_error *err) {
    json_t *root;
    int ended = 0, rc = aoei_json_parse(&root, body.data, body.len, NAME, err);
    if (rc)
        return rc;
    const json_t *choice = json_array_get(json_object_get(root, "choices"), 0);
    if (json_object_get(root, "error") && !json_is_null(json_object_get(root, "error")))
        rc = fail_error(root, err);
    else if (!json_is_object(json_object_get(choice, "message")))
        rc = aoei_fail(err, AOE_EFORMAT, NAME " has no choices[0].message; check that the URL is a chat endpoint");
    else if (read_choice(r, choice, "message", &ended))
        rc = aoei_fail_nomem(err, body.len);
    read_usage(r, root);
    json_decref(root);
    return rc;
}

/* Reads one event of a stream. Sets *ended to 1 if the event completes the message. */
static int read_event(aoei_chat_reply *r, aoe_text data, int *ended, aoe_error *err) {
    json_t *root;
    int rc = aoei_json_parse(&root, data.data, data.len, NAME, err);
    if (rc)
        return rc;
    if (json_object_get(root, "error") && !json_is_null(json_object_get(root, "error")))
        rc = fail_error(root, err);
    else if (read_choice(r, json_array_get(json_object_get(root, "choices"), 0), "delta", ended))
        rc = aoei_fail_nomem(err, data.len);
    read_usage(r, root);
    json_decref(root);
    return rc;
}

/* Reads server-sent events. Each event is a line "data: JSON" and an empty line. The last event is "data: [DONE]". */
static int read_stream(aoei_chat_reply *r, aoe_text body, aoe_error *err) {
    aoe_text line;
    int ended = 0, rc = 0;
    while (!rc && aoei_text_next_line(&body, &line)) {
        line = aoei_text_trim(line);
        if (!aoei_text_starts_with(line, "data:"))
            continue;
        line = aoei_text_trim(aoei_text_skip(line, strlen("data:")));
        if (aoei_text_starts_with(line, "[DONE]"))
            ended = 1;
        else if (line.len)
            rc = read_event(r, line, &ended, err);
    }
    return rc || ended ? rc : aoei_fail(err, AOE_EFORMAT, NAME " is an incomplete stream; try again");
}

int aoei_chat_reply_read(aoei_chat_reply *r, aoe_text body, aoe_error *err) {
    const aoe_text s = aoei_text_trim(body);
    aoei_buffer_clear(&r->content);
    r->refused = r->truncated = 0;
    r->prompt_tokens = r->completion_tokens = -1;
    return aoei_text_starts_with(s, "data:") || aoei_text_starts_with(s, "event:") || aoei_text_starts_with(s, ":")
               ? read_stream(r, s, err)
               : read_whole(r, s, err);
}

void aoei_chat_reply_free(aoei_chat_reply *r) {
    aoei_buffer_free(&r->content);
    *r = (aoei_chat_reply){.prompt_tokens = -1};
}

/* ---- responses in the cache */

/* Appends the JSON text of root and releases root. Returns 0 or AOE_ENOMEM. */
static int append_json(aoei_buffer *out, json_t *root) {
    const int rc = aoei_json_append(out, root, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(15));
    json_decref(root);
    return rc;
}

int aoei_chat_reply_store(const aoei_chat_reply *r, aoei_buffer *out) {
    return append_json(out, json_pack("{s:o,s:b,s:b,s:I,s:I}", "content",
                                      json_stringn(r->content.data ? r->content.data : "", r->content.len), "refused",
                                      r->refused, "cut", r->truncated, "prompt_tokens", (json_int_t)r->prompt_tokens,
                                      "completion_tokens", (json_int_t)r->completion_tokens));
}

int aoei_chat_reply_load(aoei_chat_reply *r, aoe_text stored, aoe_error *err) {
    json_t *root;
    aoei_buffer_clear(&r->content);
    int rc = aoei_json_parse(&root, stored.data, stored.len, "a cached response", err);
    if (rc)
        return rc;
    const json_t *content = json_object_get(root, "content");
    r->refused = json_is_true(json_object_get(root, "refused"));
    r->truncated = json_is_true(json_object_get(root, "cut"));
    r->prompt_tokens = json_integer_value(json_object_get(root, "prompt_tokens"));
    r->completion_tokens = json_integer_value(json_object_get(root, "completion_tokens"));
    if (!json_is_string(content))
        rc = aoei_fail(err, AOE_EFORMAT, "a cached response has no content; choose another file for options.cache");
    else if (append_string(&r->content, content))
        rc = aoei_fail_nomem(err, stored.len);
    json_decref(root);
    return rc;
}

/* ---- requests */

/* Merges the JSON object `more` into the request body. A key of `more` replaces the same key of the body; if its value
 * is null, the key is removed from the body. */
static int merge(json_t *body, const char *more, aoe_error *err) {
    json_t *o, *value;
    const char *key;
    int rc = aoei_json_parse(&o, more, strlen(more), "options.request", err);
    if (rc)
        return rc == AOE_ENOMEM ? rc : AOE_EARG;
    if (!json_is_object(o))
        rc = aoei_fail(err, AOE_EARG, "options.request is not a JSON object; write for example {\"top_p\": 0.9}");
    else
        json_object_foreach(o, key, value) {
            if (json_is_null(value))
                json_object_del(body, key);
            else if (json_object_set(body, key, value))
                rc = aoei_fail_nomem(err, strlen(more));
        }
    json_decref(o);
    return rc;
}

int aoei_chat_request(aoei_buffer *out, const aoei_chat_settings *s, aoe_text prompt, aoe_error *err) {
    json_t *messages = json_array();
    int bad = !messages;
    if (s->system && *s->system)
        bad |= json_array_append_new(messages, json_pack("{s:s,s:s}", "role", "system", "content", s->system)) != 0;
    bad |= json_array_append_new(
               messages, json_pack("{s:s,s:o}", "role", "user", "content", json_stringn(prompt.data, prompt.len))) != 0;
    json_t *body = json_pack("{s:s,s:o}", "model", s->model, "messages", messages);
    if (!aoei_is_auto(s->temperature))
        bad |= json_object_set_new(body, "temperature", json_real(s->temperature)) != 0;
    if (s->max_tokens)
        bad |= json_object_set_new(body, "max_tokens", json_integer((json_int_t)s->max_tokens)) != 0;
    if (bad || !body) {
        json_decref(body);
        return aoei_fail_nomem(err, prompt.len);
    }
    const int rc = s->more ? merge(body, s->more, err) : 0;
    if (rc) {
        json_decref(body);
        return rc;
    }
    return append_json(out, body) ? aoei_fail_nomem(err, prompt.len) : 0;
}

static void take_larger(double *x, const json_t *body, const char *key) {
    const json_t *v = json_object_get(body, key);
    if (json_is_number(v) && json_number_value(v) > *x)
        *x = json_number_value(v);
}

int aoei_chat_read_limits(aoei_chat_limits *l, const aoei_chat_settings *s, aoe_error *err) {
    aoei_buffer text = {0};
    json_t *body = NULL;
    *l = (aoei_chat_limits){.tokens = 0, .responses = 1};
    int rc = aoei_chat_request(&text, s, aoe_text_of(""), err);
    if (!rc)
        rc = aoei_json_parse(&body, text.data, text.len, "the request", err);
    take_larger(&l->tokens, body, "max_tokens");
    take_larger(&l->tokens, body, "max_completion_tokens");
    take_larger(&l->responses, body, "n");
    take_larger(&l->responses, body, "best_of");
    json_decref(body);
    aoei_buffer_free(&text);
    return rc;
}

/* ---- errors and estimates */

/* Copies s with the secret redacted. The copy is truncated after redaction, because a truncated secret would not be
 * found. */
static void copy_redacted(char *out, size_t size, const char *s, const char *secret) {
    aoei_buffer b = {0};
    if (s && !aoei_buffer_append(&b, s, strlen(s))) {
        aoei_redact(b.data, b.len, secret);
        snprintf(out, size, "%.*s", (int)(b.len < size ? b.len : size), b.data ? b.data : "");
        aoei_one_line(out, strlen(out));
    }
    aoei_buffer_free(&b);
}

void aoei_chat_error_read(aoei_chat_error *e, aoe_text body, const char *secret) {
    json_t *root = NULL;
    *e = (aoei_chat_error){"", ""};
    if (aoei_json_parse(&root, body.data, body.len, NAME, NULL))
        return;
    const json_t *o = json_object_get(root, "error");
    const char *message = json_string_value(json_is_string(o) ? o : json_object_get(o, "message"));
    const char *code = json_string_value(json_object_get(o, "code")),
               *type = json_string_value(json_object_get(o, "type"));
    if (!message)
        message = json_string_value(json_object_get(root, "message"));
    copy_redacted(e->message, sizeof e->message, message, secret);
    copy_redacted(e->code, sizeof e->code, code ? code : type, secret);
    json_decref(root);
}

size_t aoei_estimate_tokens(aoe_text s) {
    size_t ascii = 0, other = 0;
    for (size_t i = 0; i < s.len; i++) {
        const unsigned char c = (unsigned char)s.data[i];
        ascii += c < 0x80;
        other += c >= 0xC0;
    }
    return (ascii + 3) / 4 + other;
}
