/* SPDX-License-Identifier: MIT
 * Implements a chat endpoint for tests; see chat_model.h.
 */
#include "chat_model.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

enum { MOST_TEXT = 4096, MOST_SENTENCES = 16 };

typedef char line[MOST_TEXT];

static unsigned hash(const char *s, size_t n) {
    unsigned h = 2166136261u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)s[i]) * 16777619u;
    return h;
}

/* Copies the part of s between the strings `begin` and `end` to `out`. Returns 0 if one of the strings is missing,
 * otherwise
 * 1. */
static int between(const char *s, const char *begin, const char *end, line out) {
    const char *a = strstr(s, begin), *b = NULL;
    if (!a)
        return 0;
    a += strlen(begin);
    /* uses the last occurrence of `end`, because the copied part may also contain this string */
    for (const char *at = a; (at = strstr(at, end)) != NULL; at++)
        b = at;
    if (!b)
        return 0;
    snprintf(out, MOST_TEXT, "%.*s", (int)(b - a), a);
    return 1;
}

/* Writes the text to `out` and replaces one word of `words` by its synonym. `start` selects the entry of `words` that
 * is tried first. If the text contains none of the words, appends "Indeed.". */
static void swap_word(const char *text, unsigned start, line out) {
    static const char *const words[][2] = {
        {" is ", " is currently "}, {" the ", " that "},    {" a ", " one "},         {" are ", " are now "},
        {" was ", " had been "},    {" not ", " never "},   {" in ", " within "},     {" to ", " in order to "},
        {" has ", " possesses "},   {" very ", " really "}, {" and ", " as well as "}};
    enum { WORDS = sizeof words / sizeof *words };
    for (unsigned i = 0; i < WORDS; i++) {
        const char *const *w = words[(start + i) % WORDS], *at = strstr(text, w[0]);
        if (at) {
            snprintf(out, MOST_TEXT, "%.*s%s%s", (int)(at - text), text, w[1], at + strlen(w[0]));
            return;
        }
    }
    snprintf(out, MOST_TEXT, "%s Indeed.", text);
}

static void lower_first(const char *text, line out) {
    snprintf(out, MOST_TEXT, "%s", text);
    if (!isupper((unsigned char)out[1]))
        out[0] = (char)tolower((unsigned char)out[0]);
}

/* Writes the text to `out` and replaces all words of more than 3 letters, so that the sentence has another meaning. */
static void replace_words(const char *text, size_t start, line out) {
    static const char *const words[] = {"winter", "empty",   "refuses", "harbour", "silver",  "never",   "beneath",
                                        "stones", "forgets", "closed",  "distant", "quarrel", "ashes",   "sinking",
                                        "bitter", "nobody",  "lantern", "asleep",  "ruined",  "farewell"};
    enum { WORDS = sizeof words / sizeof *words };
    size_t at = 0, n = 0;
    while (*text && at < MOST_TEXT - 16) {
        const size_t letters = strcspn(text, " .,;:!?\"");
        if (letters > 3)
            at += (size_t)snprintf(out + at, MOST_TEXT - at, "%s", words[(start + 7 * n++) % WORDS]);
        else
            at += (size_t)snprintf(out + at, MOST_TEXT - at, "%.*s", (int)letters, text);
        text += letters;
        if (*text)
            out[at++] = *text++;
    }
    out[at] = 0;
}

/* Writes the i-th sentence that the model generates for a text. It is a paraphrase or, if `opposite` is set, a sentence
 * with another meaning. */
static void write_sentence(const char *model, const char *text, int opposite, size_t i, line out) {
    static const char *const openings[] = {"In other words, ", "To put it differently, ", "That is to say, ",
                                           "As it happens, ", "Once more: "};
    const unsigned own = hash(model, strlen(model));
    line low;
    if (opposite) {
        replace_words(text, own + 3 * i, out);
    } else if ((own + i) % 2) {
        lower_first(text, low);
        snprintf(out, MOST_TEXT, "%s%s", openings[(own / 2 + i) % 5], low);
    } else {
        swap_word(text, own / 8 + (unsigned)i, out);
    }
}

static json_t *json_of(const char *s) {
    json_t *v = json_string(s);
    return v ? v : json_string("not UTF-8");
}

/* Writes a list of `size` sentences in the format that the model's name selects. If there are more than 3 sentences,
 * the second-to-last sentence is the input, and the last sentence repeats the first. `aoe data annotate` must drop
 * both. */
static void write_list(const char *model, const char *text, int opposite, size_t size, char *out, size_t capacity) {
    size_t at = 0;
    json_t *array = json_array();
    line s;
    if (!strncmp(model, "numbered", 8))
        at += (size_t)snprintf(out, capacity, "Sure! Here are %zu sentences:\n\n", size);
    for (size_t i = 0; i < size; i++) {
        write_sentence(model, text, opposite, i, s);
        if (size > 3 && i == size - 2)
            snprintf(s, sizeof s, "%s", text);
        if (size > 3 && i == size - 1)
            write_sentence(model, text, opposite, 0, s);
        json_array_append_new(array, json_of(s));
        if (!strncmp(model, "bullets", 7))
            at += (size_t)snprintf(out + at, capacity - at, "- \"%s\"\n", s);
        else
            at += (size_t)snprintf(out + at, capacity - at, "%zu. %s\n", i + 1, s);
    }
    if (!strncmp(model, "numbered", 8))
        snprintf(out + at, capacity - at, "\nLet me know if you need more sentences!");
    if (!strncmp(model, "json", 4)) {
        char *text_of = json_dumps(array, 0);
        snprintf(out, capacity, "```json\n%s\n```", text_of);
        free(text_of);
    }
    if (!strncmp(model, "cut", 3) && at > 12)
        out[at - 12] = 0;
    json_decref(array);
}

static size_t count_words(const char *a, const char *b) {
    size_t n = 0;
    line copy;
    snprintf(copy, sizeof copy, "%s", a);
    char *save = NULL;
    for (char *w = strtok_r(copy, " .,", &save); w; w = strtok_r(NULL, " .,", &save))
        n += b ? strstr(b, w) != NULL : 1;
    return n;
}

/* Writes the text of the answer to the prompt. */
static void write_content(const char *model, const char *prompt, const char *key, char *out, size_t capacity) {
    line text, other, size;
    if (!strncmp(model, "refuses", 7)) {
        snprintf(out, capacity, "I'm sorry, but I can't help with that.");
    } else if (!strncmp(model, "silent", 6)) {
        snprintf(out, capacity, "The sentence is fine as it is. No other is needed, I think. Really.");
    } else if (!strncmp(model, "echo", 4)) {
        snprintf(out, capacity, "1. The key is %s indeed.\n2. It was %s.", key ? key : "none", key ? key : "none");
    } else if (between(prompt, "Sentence 1: ", "\nSentence 2: ", text) &&
               between(prompt, "\nSentence 2: ", "\nScore:", other)) {
        const double all = (double)count_words(text, NULL);
        const double score = all > 0 ? 5 * (double)count_words(text, other) / all : 0;
        snprintf(out, capacity, strncmp(model, "bullets", 7) ? "%.1f" : "I would rate this %.1f out of 5.", score);
    } else if (between(prompt, "Input sentence: ", ". Output:", text) &&
               between(prompt, "generate ", " sentences of", size)) {
        const int opposite = strstr(prompt, "opposite-meaning") != NULL;
        size_t n = (size_t)atoi(size);
        write_list(model, text, opposite, n < MOST_SENTENCES ? n : MOST_SENTENCES, out, capacity);
    } else {
        snprintf(out, capacity, "1. %s Indeed.", prompt);
    }
}

static void answer_stream(test_answer *a, const char *content, int cut) {
    test_answer_header(a, "Content-Type: text/event-stream");
    const size_t n = strlen(content);
    for (size_t i = 0; i < n && (!cut || i < n / 2);) {
        size_t step = n - i < 7 ? n - i : 7;
        while (i + step < n && ((unsigned char)content[i + step] & 0xC0) == 0x80)
            step++;
        json_t *e = json_pack("{s:[{s:i,s:{s:s%}}]}", "choices", "index", 0, "delta", "content", content + i, step);
        char *text = json_dumps(e, JSON_COMPACT);
        test_answer_printf(a, "data: %s\n\n", text);
        free(text);
        json_decref(e);
        i += step;
    }
    if (!cut)
        test_answer_printf(
            a, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n"
               "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":50,\"completion_tokens\":40}}\n\ndata: [DONE]\n\n");
}

static void answer_whole(test_answer *a, const char *model, const char *content) {
    const int filtered = !strncmp(model, "filtered", 8), declines = !strncmp(model, "declines", 8);
    const char *reason = filtered ? "content_filter" : !strncmp(model, "cut", 3) ? "length" : "stop";
    json_t *root = json_pack("{s:s,s:[{s:i,s:{s:s,s:o,s:o},s:s}],s:{s:i,s:i,s:i}}", "object", "chat.completion",
                             "choices", "index", 0, "message", "role", "assistant", "content",
                             filtered || declines ? json_null() : json_of(content), "refusal",
                             declines ? json_string("I can't help with that.") : json_null(), "finish_reason", reason,
                             "usage", "prompt_tokens", 50, "completion_tokens", 40, "total_tokens", 90);
    char *text = json_dumps(root, JSON_COMPACT);
    test_answer_header(a, "Content-Type: application/json");
    test_answer_write(a, text, strlen(text));
    free(text);
    json_decref(root);
}

/* Returns how many earlier requests had the same body. */
static unsigned times(chat_model *m, const test_request *q) {
    const unsigned h = hash(q->body, q->body_len);
    for (size_t i = 0; i < m->n_seen; i++)
        if (m->seen[i][0] == h)
            return m->seen[i][1]++;
    if (m->n_seen < CHAT_PROMPTS) {
        m->seen[m->n_seen][0] = h;
        m->seen[m->n_seen++][1] = 1;
    }
    return 0;
}

static void fail(test_answer *a, int status, const char *message, const char *code) {
    a->status = status;
    test_answer_printf(a, "{\"error\":{\"message\":\"%s\",\"type\":\"error\",\"code\":\"%s\"}}", message, code);
}

/* Simulates the failure with index `nth` (from 0) among the failures that m->trouble enables. Returns 0 if fewer
 * failures are enabled, otherwise 1. */
static int simulate_failure(const chat_model *m, unsigned nth, test_answer *a) {
    for (unsigned i = 0; i < CHAT_TROUBLES; i++) {
        const unsigned kind = m->trouble & (1u << i);
        if (!kind || nth-- > 0)
            continue;
        if (kind == CHAT_429) {
            fail(a, 429, "Rate limit reached", "rate_limit_exceeded");
            if (m->requests % 2)
                test_answer_header(a, "Retry-After: 1");
        } else if (kind == CHAT_500) {
            fail(a, 500, "The server had an error", "server_error");
        } else if (kind == CHAT_MALFORMED) {
            test_answer_printf(a, "{\"choices\": [{\"message\": {\"content\": \"1. A");
        } else if (kind == CHAT_CUT) {
            test_answer_printf(a, "{\"choices\": [{\"message\": {\"content\": \"1. A sentence\"}}]}");
            a->cut = 1;
            a->cut_at = 20;
        } else {
            answer_stream(a, "1. A sentence that breaks off here", 1);
        }
        return 1;
    }
    return 0;
}

/* Answers with an error in three cases: the API key is missing or wrong, the model's name selects an error, or the
 * request number reached fail_after. Otherwise returns 0. */
static int answer_error(const chat_model *m, const test_request *q, const char *model, const char *prompt,
                        test_answer *a) {
    const char *authorization = test_request_header(q, "authorization");
    char want[256];
    snprintf(want, sizeof want, "Bearer %s", m->key ? m->key : "");
    if (m->key && (!authorization || strcmp(authorization, want) != 0))
        fail(a, 401, "Incorrect API key provided", "invalid_api_key");
    else if (!strncmp(model, "unknown", 7))
        fail(a, 404, "The model does not exist", "model_not_found");
    else if (!strncmp(model, "quota", 5))
        fail(a, 429, "You exceeded your current quota", "insufficient_quota");
    else if (!strncmp(model, "tells", 5)) {
        char message[512];
        snprintf(message, sizeof message, "%0243d%s", 0, m->key ? m->key : "");
        fail(a, 400, message, "bad");
    } else if (!strncmp(model, "long", 4) && strstr(prompt, "too long"))
        fail(a, 400, "This model's maximum context length is 10 tokens", "context_length_exceeded");
    else if (m->fail_after && m->requests >= m->fail_after)
        fail(a, 500, "The server had an error", "server_error");
    else
        return 0;
    return 1;
}

static void handle(void *user, const test_request *q, test_answer *a) {
    chat_model *m = user;
    char content[8 * MOST_TEXT] = "";
    json_t *root = json_loadb(q->body, q->body_len, 0, NULL);
    const json_t *messages = json_object_get(root, "messages");
    const char *model = json_string_value(json_object_get(root, "model"));
    const char *prompt =
        json_string_value(json_object_get(json_array_get(messages, json_array_size(messages) - 1), "content"));
    m->requests++;
    a->delay = m->delay;
    if (!model || !prompt) {
        fail(a, 400, "no model or message", "invalid_request_error");
    } else if (!answer_error(m, q, model, prompt, a) && !simulate_failure(m, m->trouble ? times(m, q) : 0, a)) {
        write_content(model, prompt, m->key, content, sizeof content);
        m->answers++;
        if (!strncmp(model, "stream", 6))
            answer_stream(a, content, 0);
        else
            answer_whole(a, model, content);
    }
    json_decref(root);
}

void chat_model_route(test_server *s, chat_model *m) {
    test_server_route(s, "POST", "/v1/chat/completions", handle, m);
}
