/* SPDX-License-Identifier: MIT
 * Runs the steps of decoders. Each step reads one list of pieces and writes another one, which replaces the first. All
 * steps write valid UTF-8: bytes that form no character become U+FFFD.
 */
#include "tokenizer/decoder.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/byte_letters.h"

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

/* Ends the piece that was appended to p->text. */
static int end_piece(aoei_pieces *p, aoe_error *err) {
    if (p->text.failed || aoei_grow((void **)&p->end, &p->capacity, p->n, sizeof *p->end))
        return aoei_fail_nomem(err, p->text.len);
    p->end[p->n++] = p->text.len;
    return 0;
}

int aoei_pieces_add(aoei_pieces *p, const char *s, size_t len, aoe_error *err) {
    aoei_buffer_append(&p->text, s, len);
    return end_piece(p, err);
}

void aoei_pieces_free(aoei_pieces *p) {
    aoei_buffer_free(&p->text);
    aoei_free(p->end);
    memset(p, 0, sizeof *p);
}

/* Returns the piece with index i. */
static aoe_text piece(const aoei_pieces *p, size_t i) {
    const size_t start = i ? p->end[i - 1] : 0;
    return (aoe_text){p->text.data ? p->text.data + start : "", p->end[i] - start};
}

/* Replaces `from` by `to`, which is not longer, in the bytes of b from the offset `start`. */
static void shorten(aoei_buffer *b, size_t start, const char *from, const char *to) {
    const size_t from_len = strlen(from), to_len = strlen(to);
    size_t out = start;
    for (size_t i = start; i < b->len;) {
        const int found = b->len - i >= from_len && !memcmp(b->data + i, from, from_len);
        if (found)
            memcpy(b->data + out, to, to_len);
        else
            b->data[out] = b->data[i];
        i += found ? from_len : 1;
        out += found ? to_len : 1;
    }
    if (out < b->len)
        b->data[b->len = out] = 0;
}

/* Removes the spaces that WordPiece adds before punctuation and in English contractions. The order of the replacements
 * is the one of the reference. */
static void clean_up(aoei_buffer *b, size_t start) {
    static const char *const pairs[][2] = {{" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
                                           {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
                                           {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    if (b->failed || !b->data || !memchr(b->data + start, ' ', b->len - start))
        return;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        shorten(b, start, pairs[i][0], pairs[i][1]);
}

static int run_wordpiece(const aoei_token_decoder_step *s, const aoei_pieces *in, aoei_pieces *out, aoe_error *err) {
    int rc = 0;
    for (size_t i = 0; i < in->n && !rc; i++) {
        aoe_text t = piece(in, i);
        const size_t start = out->text.len;
        if (i && t.len >= s->content_len && !memcmp(t.data, s->content, s->content_len))
            t = (aoe_text){t.data + s->content_len, t.len - s->content_len};
        else if (i)
            aoei_buffer_putc(&out->text, ' ');
        aoei_buffer_append(&out->text, t.data, t.len);
        if (s->cleanup)
            clean_up(&out->text, start);
        rc = end_piece(out, err);
    }
    return rc;
}

/* Returns the text that replaces the matches in the piece with index i of n. */
static aoe_text inserted(const aoei_token_decoder_step *s, size_t i, size_t n) {
    if (s->type == AOEI_DECODE_REPLACE)
        return (aoe_text){s->content, s->content_len};
    const int removed = s->type == AOEI_DECODE_BPE ? i == n - 1 : i == 0 && !s->keep_first;
    return (aoe_text){" ", removed ? 0 : 1};
}

static int run_replace(const aoei_token_decoder_step *s, const aoei_pieces *in, aoei_pieces *out, aoe_error *err) {
    aoei_pattern_search search = {0};
    int rc = 0;
    for (size_t i = 0; i < in->n && !rc; i++) {
        const aoe_text t = piece(in, i), to = inserted(s, i, in->n);
        size_t start, end, at = 0;
        aoei_pattern_begin(&search, &s->pattern, t.data, t.len);
        while ((rc = aoei_pattern_next(&search, &start, &end, err)) > 0) {
            aoei_buffer_append(&out->text, t.data + at, start - at);
            aoei_buffer_append(&out->text, to.data, to.len);
            at = end;
        }
        aoei_buffer_append(&out->text, t.data + at, t.len - at);
        rc = rc ? rc : end_piece(out, err);
    }
    aoei_pattern_end(&search);
    return rc;
}

/* Removes at most `most` copies of the character c[len] at the start of *t, or at its end if at_end is 1. */
static void strip(aoe_text *t, const char *c, size_t len, size_t most, int at_end) {
    for (size_t i = 0; i < most && t->len >= len && len; i++) {
        if (memcmp(at_end ? t->data + t->len - len : t->data, c, len) != 0)
            return;
        t->data += at_end ? 0 : len;
        t->len -= len;
    }
}

static int run_strip(const aoei_token_decoder_step *s, const aoei_pieces *in, aoei_pieces *out, aoe_error *err) {
    int rc = 0;
    for (size_t i = 0; i < in->n && !rc; i++) {
        aoe_text t = piece(in, i);
        strip(&t, s->content, s->content_len, s->start, 0);
        strip(&t, s->content, s->content_len, s->stop, 1);
        rc = aoei_pieces_add(out, t.data, t.len, err);
    }
    return rc;
}

/* Returns the number of bytes at s[0, len) that can be replaced together by one U+FFFD: the longest prefix that is the
 * beginning of a character, or one byte. s[0, len) does not begin with a character. */
static size_t invalid_bytes(const unsigned char *s, size_t len) {
    /* a valid second byte is in [low, high]; later bytes are in [0x80, 0xBF] */
    const unsigned lead = s[0],
                   low = lead == 0xE0   ? 0xA0
                         : lead == 0xF0 ? 0x90
                                        : 0x80,
                   high = lead == 0xED   ? 0x9F
                          : lead == 0xF4 ? 0x8F
                                         : 0xBF;
    if (lead < 0xE0 || lead > 0xF4 || len < 2 || s[1] < low || s[1] > high)
        return 1;
    return lead >= 0xF0 && len > 2 && s[2] >= 0x80 && s[2] <= 0xBF ? 3 : 2;
}

/* Appends s[len], in which bytes that form no character become U+FFFD. */
static void append_lossy(aoei_buffer *out, const char *s, size_t len) {
    for (size_t at = 0; at < len;) {
        const size_t valid = aoei_utf8_valid(s + at, len - at);
        aoei_buffer_append(out, s + at, valid);
        at += valid;
        if (at < len) {
            aoei_buffer_append(out, replacement, sizeof replacement - 1);
            at += invalid_bytes((const unsigned char *)s + at, len - at);
        }
    }
}

/* Appends the bytes for which the letters of a token stand. If one character is not such a letter, appends the token
 * itself. */
static void append_letters(aoei_buffer *out, aoe_text t) {
    const size_t start = out->len;
    for (size_t i = 0; i < t.len && !out->failed;) {
        uint32_t cp = 0;
        i += aoei_utf8_decode(t.data + i, t.len - i, &cp);
        const int byte = aoei_letter_byte(cp);
        if (byte < 0) {
            out->len = start;
            aoei_buffer_append(out, t.data, t.len);
            return;
        }
        aoei_buffer_putc(out, (char)byte);
    }
}

static int run_byte_level(const aoei_pieces *in, aoei_pieces *out, aoe_error *err) {
    aoei_buffer bytes = {0};
    for (size_t i = 0; i < in->n; i++)
        append_letters(&bytes, piece(in, i));
    append_lossy(&out->text, bytes.data, bytes.len);
    const int rc = bytes.failed ? aoei_fail_nomem(err, in->text.len) : end_piece(out, err);
    aoei_buffer_free(&bytes);
    return rc;
}

/* Returns the value of a hexadecimal digit, or -1. */
static int digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/* Returns the byte for which a token such as <0x41> stands, or -1. The reference also accepts <0x+1>. */
static int fallback_byte(aoe_text t) {
    if (t.len != 6 || memcmp(t.data, "<0x", 3) != 0 || t.data[5] != '>')
        return -1;
    const int high = t.data[3] == '+' ? 0 : digit(t.data[3]), low = digit(t.data[4]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

/* Appends a run of bytes as one piece, or as one U+FFFD per byte if it is not valid UTF-8. */
static int end_bytes(aoei_buffer *bytes, aoei_pieces *out, aoe_error *err) {
    const size_t n = bytes->len;
    int rc = bytes->failed ? aoei_fail_nomem(err, n) : 0;
    if (rc || n == 0)
        return rc;
    if (aoei_utf8_valid(bytes->data, n) == n)
        rc = aoei_pieces_add(out, bytes->data, n, err);
    else
        for (size_t i = 0; i < n && !rc; i++)
            rc = aoei_pieces_add(out, replacement, sizeof replacement - 1, err);
    aoei_buffer_clear(bytes);
    return rc;
}

static int run_byte_fallback(const aoei_pieces *in, aoei_pieces *out, aoe_error *err) {
    aoei_buffer bytes = {0};
    int rc = 0;
    for (size_t i = 0; i < in->n && !rc; i++) {
        const aoe_text t = piece(in, i);
        const int byte = fallback_byte(t);
        if (byte >= 0)
            aoei_buffer_putc(&bytes, (char)byte);
        else if (!(rc = end_bytes(&bytes, out, err)))
            rc = aoei_pieces_add(out, t.data, t.len, err);
    }
    rc = rc ? rc : end_bytes(&bytes, out, err);
    aoei_buffer_free(&bytes);
    return rc;
}

static int run_step(const aoei_token_decoder_step *s, const aoei_pieces *in, aoei_pieces *out, aoe_error *err) {
    switch (s->type) {
    case AOEI_DECODE_WORDPIECE:
        return run_wordpiece(s, in, out, err);
    case AOEI_DECODE_BYTE_LEVEL:
        return run_byte_level(in, out, err);
    case AOEI_DECODE_STRIP:
        return run_strip(s, in, out, err);
    case AOEI_DECODE_FUSE:
        return aoei_pieces_add(out, in->text.data, in->text.len, err);
    case AOEI_DECODE_BYTE_FALLBACK:
        return run_byte_fallback(in, out, err);
    default:
        return run_replace(s, in, out, err);
    }
}

/* Joins all pieces with spaces. */
static int run_join(const aoei_pieces *in, aoei_pieces *out, aoe_error *err) {
    for (size_t i = 0; i < in->n; i++) {
        const aoe_text t = piece(in, i);
        aoei_buffer_append(&out->text, " ", i > 0);
        aoei_buffer_append(&out->text, t.data, t.len);
    }
    return end_piece(out, err);
}

int aoei_token_decoder_run(const aoei_token_decoder *d, aoei_pieces *p, aoe_error *err) {
    int rc = d->reason ? aoei_fail(err, d->reason->code, "%s", d->reason->message) : 0;
    for (size_t i = 0; i < (d->exists ? d->n : 1) && !rc; i++) {
        aoei_pieces out = {0};
        rc = d->exists ? run_step(&d->step[i], p, &out, err) : run_join(p, &out, err);
        aoei_pieces_free(p);
        *p = out;
    }
    return rc;
}

void aoei_token_decoder_free(aoei_token_decoder *d) {
    for (size_t i = 0; i < d->n; i++) {
        aoei_free(d->step[i].content);
        aoei_pattern_free(&d->step[i].pattern);
    }
    aoei_free(d->step);
    aoei_free(d->reason);
    memset(d, 0, sizeof *d);
}
