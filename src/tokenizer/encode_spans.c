/* SPDX-License-Identifier: MIT
 * Encodes texts with the range of the text from which each token comes. The encoder returns byte ranges of the encoded
 * string, which is the text, or the prompt with the text in it. They are converted in these steps:
 * 1. Bytes become characters.
 * 2. White space at the ends of tokens is removed from their ranges if the post-processor says so.
 * 3. The prompt is subtracted, and characters become bytes of the text.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "base/utf8.h"
#include "tokenizer/byte_letters.h"
#include "tokenizer/prompt.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/tokenizer_parts.h"
#include "tokenizer/unicode.h"

/* The encoded string, and the position of the text in it. */
typedef struct encoded {
    const char *s;      /* [len] */
    size_t len;         /* length in bytes */
    size_t *character;  /* [len + 1] number of characters before each byte, owned */
    size_t *byte;       /* [n + 1] offset of each character, and `len`; owned */
    size_t start, stop; /* byte range of the text */
} encoded;

/* Sets the tables that map bytes to characters and back. */
static int map_characters(encoded *e, aoe_error *err) {
    size_t size;
    if (aoei_add_size(e->len, 1, &size) || !(e->character = aoei_malloc_array(size, sizeof *e->character)) ||
        !(e->byte = aoei_malloc_array(size, sizeof *e->byte)))
        return aoei_fail_nomem(err, e->len);
    size_t n = 0;
    for (size_t i = 0; i < e->len; i++) {
        const int first = ((unsigned char)e->s[i] & 0xC0) != 0x80;
        if (first)
            e->byte[n] = i;
        n += (size_t)first;
        e->character[i] = n - 1;
    }
    e->character[e->len] = n;
    e->byte[n] = e->len;
    return 0;
}

/* Returns the number of characters at the start of a token, or at its end if at_end is 1, that are white space or the
 * letter of a space. */
static size_t count_spaces(aoe_text token, int at_end) {
    static const size_t letter = sizeof AOEI_BYTE_LETTER_SPACE - 1;
    size_t n = 0;
    for (; token.len; n++) {
        size_t at = 0, bytes;
        uint32_t cp = 0;
        if (at_end)
            for (at = token.len - 1; at && ((unsigned char)token.data[at] & 0xC0) == 0x80;)
                at--;
        bytes = aoei_utf8_decode(token.data + at, token.len - at, &cp);
        if (!aoei_unicode_is_space(cp) &&
            (bytes != letter || memcmp(token.data + at, AOEI_BYTE_LETTER_SPACE, letter) != 0))
            break;
        token = (aoe_text){at_end ? token.data : token.data + bytes, token.len - bytes};
    }
    return n;
}

/* Trims the range of a token as the step `trim` does. is_first: 1 for the first token that this step sees. */
static void trim_span(aoe_token_span *span, aoe_text token, const aoei_span_trim *trim, int is_first) {
    size_t leading = count_spaces(token, 0);
    const size_t trailing = count_spaces(token, 1), stop = span->stop;
    if (leading == 1 && trim->add_prefix_space && (is_first || span->start == 0))
        leading = 0; /* the pre-tokenizer added the space */
    span->start = leading < stop - span->start ? span->start + leading : stop;
    if (trailing && stop >= trailing)
        span->stop = stop - trailing > span->start ? stop - trailing : span->start;
}

/* Returns the text of a token. The text of an added token includes the white space that the token strips. */
static aoe_text text_of(const aoe_tokenizer *t, int32_t id, const aoe_token_span *span, const encoded *e) {
    const size_t start = e->byte[span->start], stop = e->byte[span->stop], i = aoei_added_tokens_find_id(&t->added, id);
    const int strips = i != (size_t)-1 && (t->added.token[i].flags.lstrip || t->added.token[i].flags.rstrip);
    return strips && start < stop ? (aoe_text){e->s + start, stop - start} : aoe_tokenizer_token(t, id);
}

/* Trims the ranges of the tokens of the string itself, which are the tokens [first, end). */
static void trim_spans(const aoe_tokenizer *t, const aoe_ids *ids, aoe_token_span *span, size_t first, size_t end,
                       const encoded *e) {
    for (size_t k = 0; k < t->post.n_trims; k++) {
        const int seen = first && t->post.trim[k].n_before; /* 1: the first token that the step sees is special */
        for (size_t i = first; i < end; i++)
            trim_span(&span[i], text_of(t, ids->id[i], &span[i], e), &t->post.trim[k], !seen && i == first);
    }
}

/* Makes a range of characters of the encoded string a range of the text. */
static void to_text(aoe_token_span *span, const encoded *e) {
    const size_t from = e->character[e->start], to = e->character[e->stop];
    if (span->stop < from || span->start > to ||
        (span->start < span->stop && (span->stop == from || span->start == to))) {
        *span = (aoe_token_span){.special = 1};
        return;
    }
    span->start = span->start > from ? span->start : from;
    span->stop = span->stop < to ? span->stop : to;
    span->start_byte = e->byte[span->start] - e->start;
    span->stop_byte = e->byte[span->stop] - e->start;
    span->start -= from;
    span->stop -= from;
}

/* Sets *spans to the ranges of the tokens. range: [ids->n] their byte ranges in the encoded string. specials: 1 if
 * special tokens were added. */
static int convert(aoe_token_spans *spans, const aoe_tokenizer *t, const aoe_ids *ids, const aoei_span *range,
                   int specials, encoded *e, aoe_error *err) {
    const size_t first = specials ? t->post.n_before : 0, end = ids->n - (specials ? t->post.n_after : 0);
    if (ids->n > spans->capacity) {
        aoe_token_span *grown = aoei_realloc_array(spans->span, ids->n, sizeof *grown);
        if (!grown)
            return aoei_fail_nomem(err, ids->n);
        spans->span = grown;
        spans->capacity = ids->n;
    }
    const int rc = map_characters(e, err);
    if (rc)
        return rc;
    spans->n = ids->n;
    for (size_t i = 0; i < ids->n; i++)
        spans->span[i] = i < first || i >= end ? (aoe_token_span){.special = 1}
                                               : (aoe_token_span){.start = e->character[range[i].start],
                                                                  .stop = e->character[range[i].end]};
    trim_spans(t, ids, spans->span, first, end, e);
    for (size_t i = first; i < end; i++)
        to_text(&spans->span[i], e);
    return 0;
}

int aoe_tokenizer_encode_spans(const aoe_tokenizer *t, aoe_text text, const aoe_encode_options *o, aoe_ids *ids,
                               aoe_token_spans *spans, aoe_error *err) {
    AOEI_CHECK(err, t, ids, spans);
    AOEI_OPTIONS(aoe_encode_options, o, err);
    aoei_prompted p = {0};
    aoei_span *range = NULL;
    spans->n = 0;
    if (!text.data && text.len)
        return aoei_fail(err, AOE_EARG, "text.data is NULL, but text.len is %zu", text.len);
    if (o->chat_template)
        return aoei_fail(err, AOE_EUNSUPPORTED,
                         "spans of tokens are not available for texts that a chat template renders; set "
                         "options.chat_template to 0");
    int rc = aoei_tokenizer_encode_tracked(t, text, o, ids, &range, err);
    if (!rc && o->prompt)
        rc = aoei_prompt_format(&p, o->prompt, text, err);
    encoded e = {.s = o->prompt ? p.data : text.data,
                 .len = o->prompt ? p.len : text.len,
                 .start = o->prompt ? p.text_start : 0,
                 .stop = o->prompt ? p.text_end : text.len};
    if (!rc)
        rc = convert(spans, t, ids, range, !o->no_special_tokens, &e, err);
    if (rc)
        ids->n = 0;
    aoei_free(e.character);
    aoei_free(e.byte);
    aoei_free(range);
    aoei_prompt_free(&p);
    return rc;
}

void aoe_token_spans_free(aoe_token_spans *spans) {
    if (!spans)
        return;
    aoei_free(spans->span);
    memset(spans, 0, sizeof *spans);
}
