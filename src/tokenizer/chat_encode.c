/* SPDX-License-Identifier: MIT
 * The start and the end of a template are the tokens that two conversations with different texts have in common, as in
 * sentence-transformers (_chat_template_suffix_ids in base/modules/transformer.py, version 6).
 */
#include "tokenizer/chat_encode.h"

#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/chat_tokens.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_parts.h"

/* -------------------------------------------------------------------- template */

static aoe_text kept(const aoe_tokenizer *t, int which) {
    return (aoe_text){t->file[which].data, t->file[which].size};
}

/* Sets *structured to the form of the content of messages. */
static int find_form(int *structured, const json_t *settings, const aoei_chat_source *s, const char *dir, aoe_error *err) {
    const json_t *value = json_object_get(settings, "format");
    const char *format = json_string_value(value);
    if (!value || (format && !strcmp(format, "auto")))
        *structured = aoei_chat_source_is_structured(s);
    else if (format && (!strcmp(format, "flat") || !strcmp(format, "structured")))
        *structured = !strcmp(format, "structured");
    else
        return aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: the format of \"message\" in modality_config is not supported (supported: auto, flat, structured)", dir);
    return 0;
}

int aoei_tokenizer_use_chat(aoe_tokenizer *t, const json_t *settings, int pairs, const char *dir, aoe_error *err) {
    aoei_chat_source source = {.text = NULL};
    aoei_chat_form form = {.options = json_object_get(settings, "options")};
    json_t *tokens = NULL;
    aoei_chat *chat = NULL;
    int rc = aoei_chat_source_find(&source, dir, kept(t, AOEI_FILE_CHAT_TEMPLATE), kept(t, AOEI_FILE_CONFIG), err);
    if (!rc && !source.text)
        rc = aoei_fail(err, AOE_EFORMAT,
                       source.found
                           ? "%s: no template in chat_template of tokenizer_config.json has the name \"default\"; give "
                             "the template of texts this name"
                           : "%s: modality_config contains \"message\", but there is no chat template: neither " AOEI_CHAT_FILE
                             " nor chat_template in tokenizer_config.json; download the model again",
                       dir);
    if (!rc)
        rc = find_form(&form.structured, settings, &source, dir, err);
    if (!rc)
        rc = aoei_chat_tokens_read(&tokens, source.text, kept(t, AOEI_FILE_CONFIG), kept(t, AOEI_FILE_SPECIAL_MAP), dir, err);
    form.tokens = tokens;
    if (!rc)
        rc = aoei_chat_create(&chat, &source, &form, err);
    if (!rc)
        rc = aoei_chat_check(chat, pairs, err);
    json_decref(tokens);
    aoei_chat_source_free(&source);
    if (rc) {
        aoei_chat_free(chat);
        return rc;
    }
    aoei_chat_free(t->chat);
    t->chat = chat;
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
        return aoei_fail(err, AOE_EARG,
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

/* The tokens of a conversation with another text. */
typedef struct skeleton {
    aoe_ids ids[2];
    size_t before, after; /* number of equal tokens at the start and at the end of both */
} skeleton;

/* Renders the conversation with two other texts. Finds no end if both are equal. */
static int find_ends(skeleton *s, const aoe_tokenizer *t, const aoei_chat_texts *texts, const aoe_encode_options *o,
                     aoe_error *err) {
    static const char *const fillers[] = {"0", "1 2 3 4"};
    aoe_encode_options whole = *o;
    whole.max_length = 0;
    for (size_t i = 0; i < 2; i++) {
        const aoe_text filler = aoe_text_of(fillers[i]);
        const int rc =
            render(t, &(aoei_chat_texts){.prompt = texts->prompt, .text = filler, .second = texts->second ? &filler : NULL},
                   &whole, &s->ids[i], err);
        if (rc)
            return rc;
    }
    const aoe_ids *a = &s->ids[0], *b = &s->ids[1];
    const size_t least = a->n < b->n ? a->n : b->n;
    while (s->before < least && a->id[s->before] == b->id[s->before])
        s->before++;
    while (s->after < least && a->id[a->n - 1 - s->after] == b->id[b->n - 1 - s->after])
        s->after++;
    if (s->after == least)
        s->after = 0;
    return 0;
}

static void free_skeleton(skeleton *s) {
    aoe_ids_free(&s->ids[0]);
    aoe_ids_free(&s->ids[1]);
}

/* Replaces the last tokens of a text of the maximum length by the end of the template. */
static void restore_end(const skeleton *s, aoe_ids *ids) {
    const size_t n = s->after < ids->n ? s->after : ids->n;
    if (n)
        memcpy(ids->id + ids->n - n, s->ids[0].id + s->ids[0].n - n, n * sizeof *ids->id);
}

/* Sets *before and *after to the number of tokens at the start and at the end of `ids` that belong to the template. */
static void count_ends(const skeleton *s, const aoe_ids *ids, size_t *before, size_t *after) {
    const aoe_ids *a = &s->ids[0];
    *before = *after = 0;
    while (*before < s->before && *before < ids->n && ids->id[*before] == a->id[*before])
        ++*before;
    while (*after < s->after && *after < ids->n - *before && ids->id[ids->n - 1 - *after] == a->id[a->n - 1 - *after])
        ++*after;
}

int aoei_chat_encode(const aoe_tokenizer *t, aoe_text text, const aoe_text *second, const aoe_encode_options *o, aoe_ids *ids,
                     size_t *before, size_t *after, aoe_error *err) {
    aoei_chat_texts texts = {.text = text, .second = second};
    aoe_encode_options plain = *o;
    skeleton s = {.before = 0};
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
        (rc = render(t, &texts, &plain, ids, err)))
        goto done;
    const int restores = o->max_length && ids->n >= o->max_length && aoei_chat_restores_end(t->chat);
    if (before || restores)
        rc = find_ends(&s, t, &texts, &plain, err);
    if (!rc && restores)
        restore_end(&s, ids);
    if (!rc && before)
        count_ends(&s, ids, before, after);
done:
    free_skeleton(&s);
    if (rc)
        ids->n = 0;
    return rc;
}
