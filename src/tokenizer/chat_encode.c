/* SPDX-License-Identifier: MIT
 * The start and the end of a template are the tokens that two conversations with different texts have in common, as in
 * sentence-transformers (_chat_template_suffix_ids in base/modules/transformer.py, version 6). They do not depend on
 * the text, so they are computed once per prompt.
 */
#include "tokenizer/chat_encode.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/mutex.h"
#include "base/utf8.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/chat_tokens.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_parts.h"

enum { MAX_ENDS = 8 };

/* The tokens of the template before and after the texts. They depend on the first four fields, which are the key of the
 * entry.
 */
typedef struct template_ends {
    char *prompt; /* content of the system message, owned; NULL: there is none */
    int is_pair, lowercase, drop_unknown;
    aoe_ids ids[2];       /* tokens of two conversations with different texts */
    size_t before, after; /* number of equal tokens at the start and at the end of both conversations */
} template_ends;

struct aoei_chat_ends {
    aoei_mutex lock;               /* protects the fields below */
    template_ends entry[MAX_ENDS]; /* [n] */
    size_t n, next;                /* number of entries, and the index of the entry that is replaced next */
};

/* -------------------------------------------------------------------- template */

static aoe_text kept(const aoe_tokenizer *t, int which) {
    return (aoe_text){t->file[which].data, t->file[which].size};
}

/* Sets *structured to the form of the content of messages. */
static int find_form(int *structured, const json_t *settings, const aoei_chat_source *s, const char *dir,
                     aoe_error *err) {
    const json_t *value = json_object_get(settings, "format");
    const char *format = json_string_value(value);
    if (!value || (format && !strcmp(format, "auto")))
        *structured = aoei_chat_source_is_structured(s);
    else if (format && (!strcmp(format, "flat") || !strcmp(format, "structured")))
        *structured = !strcmp(format, "structured");
    else
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the format of \"message\" in modality_config is not supported (supported: auto, flat, structured)",
            dir);
    return 0;
}

static void free_ends(template_ends *e) {
    aoei_free(e->prompt);
    aoe_ids_free(&e->ids[0]);
    aoe_ids_free(&e->ids[1]);
    *e = (template_ends){.prompt = NULL};
}

void aoei_chat_ends_free(aoei_chat_ends *c) {
    if (!c)
        return;
    for (size_t i = 0; i < c->n; i++)
        free_ends(&c->entry[i]);
    aoei_mutex_destroy(&c->lock);
    aoei_free(c);
}

int aoei_tokenizer_use_chat(aoe_tokenizer *t, const json_t *settings, int pairs, const char *dir, aoe_error *err) {
    aoei_chat_source source = {.text = NULL};
    aoei_chat_form form = {.options = json_object_get(settings, "options")};
    json_t *tokens = NULL;
    aoei_chat *chat = NULL;
    aoei_chat_ends *ends = NULL;
    int rc = aoei_chat_source_find(&source, dir, kept(t, AOEI_FILE_CHAT_TEMPLATE), kept(t, AOEI_FILE_CONFIG), err);
    if (!rc && !source.text)
        rc = aoei_fail(
            err, AOE_EFORMAT,
            source.found
                ? "%s: no template in chat_template of tokenizer_config.json has the name \"default\"; give "
                  "the template of texts this name"
                : "%s: modality_config contains \"message\", but there is no chat template: neither " AOEI_CHAT_FILE
                  " nor chat_template in tokenizer_config.json; download the model again",
            dir);
    if (!rc)
        rc = find_form(&form.structured, settings, &source, dir, err);
    if (!rc)
        rc = aoei_chat_tokens_read(&tokens, source.text, kept(t, AOEI_FILE_CONFIG), kept(t, AOEI_FILE_SPECIAL_MAP), dir,
                                   err);
    form.tokens = tokens;
    if (!rc)
        rc = aoei_chat_create(&chat, &source, &form, err);
    if (!rc)
        rc = aoei_chat_check(chat, pairs, err);
    if (!rc && !(ends = aoei_calloc(1, sizeof *ends)))
        rc = aoei_fail_nomem(err, sizeof *ends);
    json_decref(tokens);
    aoei_chat_source_free(&source);
    if (rc) {
        aoei_chat_free(chat);
        return rc;
    }
    aoei_mutex_init(&ends->lock);
    aoei_chat_free(t->chat);
    aoei_chat_ends_free(t->chat_ends);
    t->chat = chat;
    t->chat_ends = ends;
    return 0;
}

/* ----------------------------------------------------------------------- texts */

/* Sets *prompt to the content of the system message. Its data is NULL if there is no prompt. */
static int read_prompt(aoe_text *prompt, const aoe_encode_options *o, aoe_error *err) {
    static const char mark[] = "{text}";
    const char *at = o->prompt ? strstr(o->prompt, mark) : NULL;
    *prompt = (aoe_text){NULL, 0};
    if (!o->prompt)
        return 0;
    if (!at || at[sizeof mark - 1])
        return aoei_fail(
            err, AOE_EARG,
            "the prompt \"%.80s\" does not end with {text}; a model with a chat template receives the prompt as a "
            "message of its own, so write {text} once, at the end",
            o->prompt);
    if (at > o->prompt)
        *prompt = (aoe_text){o->prompt, (size_t)(at - o->prompt)};
    return 0;
}

static int check_utf8(const char *what, aoe_text text, aoe_error *err) {
    const size_t bad = text.len ? aoei_utf8_valid(text.data, text.len) : 0;
    if (bad == text.len)
        return 0;
    return aoei_fail(err, AOE_EFORMAT, "invalid UTF-8 at byte %zu of the %s; convert it to UTF-8", bad, what);
}

/* Renders the conversation and encodes the result. */
static int render(const aoe_tokenizer *t, const aoei_chat_texts *texts, const aoe_encode_options *o, aoe_ids *ids,
                  aoe_error *err) {
    aoei_buffer rendered = {0};
    int rc = aoei_chat_render(t->chat, &rendered, texts, err);
    if (!rc && rendered.failed)
        rc = aoei_fail_nomem(err, rendered.len);
    if (!rc)
        rc = aoei_tokenizer_encode_plain(t, (aoe_text){rendered.data, rendered.len}, o, ids, NULL, NULL, err);
    aoei_buffer_free(&rendered);
    return rc;
}

/* Returns 1 if conversations with these texts and options have the ends e. */
static int matches(const template_ends *e, const aoei_chat_texts *texts, const aoe_encode_options *o) {
    const aoe_text prompt = texts->prompt;
    const int same_prompt =
        prompt.data ? e->prompt && strlen(e->prompt) == prompt.len && !memcmp(e->prompt, prompt.data, prompt.len)
                    : !e->prompt;
    return same_prompt && e->is_pair == (texts->second != NULL) && e->lowercase == o->lowercase &&
           e->drop_unknown == o->drop_unknown;
}

/* Renders two conversations with different texts. e->after is 0 if both have the same tokens. */
static int make_ends(template_ends *e, const aoe_tokenizer *t, const aoei_chat_texts *texts,
                     const aoe_encode_options *o, aoe_error *err) {
    static const char *const fillers[] = {"0", "1 2 3 4"};
    aoe_encode_options whole = *o;
    whole.max_length = 0;
    *e = (template_ends){.is_pair = texts->second != NULL, .lowercase = o->lowercase, .drop_unknown = o->drop_unknown};
    if (texts->prompt.data && !(e->prompt = aoei_strndup(texts->prompt.data, texts->prompt.len)))
        return aoei_fail_nomem(err, texts->prompt.len);
    for (size_t i = 0; i < 2; i++) {
        const aoe_text filler = aoe_text_of(fillers[i]);
        const int rc = render(
            t, &(aoei_chat_texts){.prompt = texts->prompt, .text = filler, .second = texts->second ? &filler : NULL},
            &whole, &e->ids[i], err);
        if (rc)
            return rc;
    }
    const aoe_ids *a = &e->ids[0], *b = &e->ids[1];
    const size_t least = a->n < b->n ? a->n : b->n;
    while (e->before < least && a->id[e->before] == b->id[e->before])
        e->before++;
    while (e->after < least && a->id[a->n - 1 - e->after] == b->id[b->n - 1 - e->after])
        e->after++;
    if (e->after == least)
        e->after = 0;
    return 0;
}

/* Returns the stored ends, or NULL. */
static const template_ends *find_ends(const aoei_chat_ends *c, const aoei_chat_texts *texts,
                                      const aoe_encode_options *o) {
    for (size_t i = 0; i < c->n; i++)
        if (matches(&c->entry[i], texts, o))
            return &c->entry[i];
    return NULL;
}

/* Replaces the last tokens of a text of the maximum length by the end of the template. */
static void restore_end(const template_ends *e, aoe_ids *ids) {
    const size_t n = e->after < ids->n ? e->after : ids->n;
    if (n)
        memcpy(ids->id + ids->n - n, e->ids[0].id + e->ids[0].n - n, n * sizeof *ids->id);
}

/* Sets *before and *after to the number of tokens at the start and at the end of `ids` that belong to the template. */
static void count_ends(const template_ends *e, const aoe_ids *ids, size_t *before, size_t *after) {
    const aoe_ids *a = &e->ids[0];
    *before = *after = 0;
    while (*before < e->before && *before < ids->n && ids->id[*before] == a->id[*before])
        ++*before;
    while (*after < e->after && *after < ids->n - *before && ids->id[ids->n - 1 - *after] == a->id[a->n - 1 - *after])
        ++*after;
}

/* Stores the ends, which belong to the cache afterwards. */
static const template_ends *store_ends(aoei_chat_ends *c, template_ends made) {
    template_ends *e = &c->entry[c->next];
    free_ends(e);
    *e = made;
    c->next = (c->next + 1) % MAX_ENDS;
    c->n += c->n < MAX_ENDS;
    return e;
}

/* Restores the end of the template in `ids` if `restores` is 1, and sets *before and *after if `before` is not NULL. */
static int apply_ends(const aoe_tokenizer *t, const aoei_chat_texts *texts, const aoe_encode_options *o, int restores,
                      aoe_ids *ids, size_t *before, size_t *after, aoe_error *err) {
    aoei_chat_ends *c = t->chat_ends;
    template_ends made;
    aoei_mutex_lock(&c->lock);
    const template_ends *e = find_ends(c, texts, o);
    if (!e) {
        aoei_mutex_unlock(&c->lock);
        const int rc = make_ends(&made, t, texts, o, err);
        if (rc) {
            free_ends(&made);
            return rc;
        }
        aoei_mutex_lock(&c->lock);
        if ((e = find_ends(c, texts, o))) /* another thread computed the same ends */
            free_ends(&made);
        else
            e = store_ends(c, made);
    }
    if (restores)
        restore_end(e, ids);
    if (before)
        count_ends(e, ids, before, after);
    aoei_mutex_unlock(&c->lock);
    return 0;
}

int aoei_chat_encode(const aoe_tokenizer *t, aoe_text text, const aoe_text *second, const aoe_encode_options *o,
                     aoe_ids *ids, size_t *before, size_t *after, aoe_error *err) {
    aoei_chat_texts texts = {.text = text, .second = second};
    aoe_encode_options plain = *o;
    int rc = 0;
    ids->n = 0;
    plain.prompt = NULL;
    plain.no_special_tokens = 1;
    plain.chat_template = 0;
    if (!t->chat)
        return aoei_fail(err, AOE_EARG,
                         "options.chat_template is 1, but the model does not render texts with a chat template; "
                         "set it to 0");
    if ((rc = read_prompt(&texts.prompt, o, err)) || (rc = check_utf8("prompt", texts.prompt, err)) ||
        (rc = check_utf8("text", text, err)) || (second && (rc = check_utf8("second text", *second, err))) ||
        (rc = render(t, &texts, &plain, ids, err))) {
        ids->n = 0;
        return rc;
    }
    const int restores = o->max_length && ids->n >= o->max_length && aoei_chat_restores_end(t->chat);
    if (before || restores)
        rc = apply_ends(t, &texts, &plain, restores, ids, before, after, err);
    if (rc)
        ids->n = 0;
    return rc;
}
