/* SPDX-License-Identifier: MIT
 * Reads the decoders of tokenizer.json and converts them to steps. The names and default values are the ones that
 * Hugging Face tokenizers use.
 */
#include "tokenizer/decoder_read.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "tokenizer/json_type.h"

enum { MAX_DEPTH = 8 }; /* maximum nesting depth of decoders of the type Sequence */

/* The input of the functions that read a step. */
typedef struct reader {
    aoei_token_decoder *d;
    const json_t *section;
    const char *file;
    aoe_error *err;
} reader;

static aoei_token_decoder_step *append(aoei_token_decoder *d, aoei_token_decoder_type type, aoe_error *err) {
    d->exists = 1;
    if (aoei_grow((void **)&d->step, &d->capacity, d->n, sizeof *d->step)) {
        aoei_fail_nomem(err, d->n * 2 * sizeof *d->step);
        return NULL;
    }
    d->step[d->n] = (aoei_token_decoder_step){.type = type};
    return &d->step[d->n++];
}

static int set_content(aoei_token_decoder_step *s, const char *text, size_t len, aoe_error *err) {
    s->content = aoei_strndup(text, len);
    s->content_len = len;
    return s->content ? 0 : aoei_fail_nomem(err, len);
}

int aoei_token_decoder_add_wordpiece(aoei_token_decoder *d, aoe_error *err) {
    aoei_token_decoder_step *s = append(d, AOEI_DECODE_WORDPIECE, err);
    if (!s)
        return AOE_ENOMEM;
    s->cleanup = 1;
    return set_content(s, "##", 2, err);
}

int aoei_token_decoder_add_byte_level(aoei_token_decoder *d, aoe_error *err) {
    return append(d, AOEI_DECODE_BYTE_LEVEL, err) ? 0 : AOE_ENOMEM;
}

/* Reads the string under `key` into *text, which the section owns. *text is unchanged if the key is missing. */
static int read_string(const reader *r, const char *key, aoe_text *text) {
    return aoei_json_string(r->section, key, &text->data, &text->len, r->file, r->err);
}

/* Reads the string under `key`, which must consist of one character. */
static int read_character(const reader *r, const char *key, aoe_text *text) {
    uint32_t cp;
    const int rc = read_string(r, key, text);
    return rc || (text->len && aoei_utf8_decode(text->data, text->len, &cp) == text->len)
               ? rc
               : aoei_fail(r->err, AOE_EFORMAT, "%s: \"%s\" of a decoder is not one character; correct the value",
                           r->file, key);
}

static int read_wordpiece(const reader *r, aoei_token_decoder_step *s) {
    aoe_text prefix = {"##", 2};
    s->cleanup = 1;
    int rc = read_string(r, "prefix", &prefix);
    rc = rc ? rc : aoei_json_bool(r->section, "cleanup", &s->cleanup, r->file, r->err);
    return rc ? rc : set_content(s, prefix.data, prefix.len, r->err);
}

static int read_metaspace(const reader *r, aoei_token_decoder_step *s) {
    aoe_text letter = {NULL, 0}, scheme = {NULL, 0};
    int add = 1, rc;
    if ((rc = read_character(r, "replacement", &letter)) || (rc = read_string(r, "prepend_scheme", &scheme)) ||
        (rc = aoei_json_bool(r->section, "add_prefix_space", &add, r->file, r->err)))
        return rc;
    s->keep_first = scheme.data ? !strcmp(scheme.data, "never") : !add;
    if (scheme.data && !s->keep_first && strcmp(scheme.data, "always") != 0 && strcmp(scheme.data, "first") != 0)
        return aoei_fail(r->err, AOE_EUNSUPPORTED,
                         "%s: \"prepend_scheme\" \"%.80s\" is not supported (supported: always, first, never)", r->file,
                         scheme.data);
    return aoei_pattern_literal(&s->pattern, letter.data, letter.len, r->err);
}

static int read_bpe(const reader *r, aoei_token_decoder_step *s) {
    aoe_text suffix = {"</w>", 4};
    const int rc = read_string(r, "suffix", &suffix);
    return rc ? rc : aoei_pattern_literal(&s->pattern, suffix.data, suffix.len, r->err);
}

static int read_replace(const reader *r, aoei_token_decoder_step *s) {
    aoe_text content = {"", 0};
    int rc = read_string(r, "content", &content);
    rc = rc ? rc : set_content(s, content.data, content.len, r->err);
    return rc ? rc : aoei_pattern_read(&s->pattern, json_object_get(r->section, "pattern"), r->file, r->err);
}

static int read_strip(const reader *r, aoei_token_decoder_step *s) {
    aoe_text character = {NULL, 0};
    int rc = read_character(r, "content", &character);
    rc = rc ? rc : aoei_json_size(r->section, "start", &s->start, r->file, r->err);
    rc = rc ? rc : aoei_json_size(r->section, "stop", &s->stop, r->file, r->err);
    return rc ? rc : set_content(s, character.data, character.len, r->err);
}

static int read_component(reader r, int depth);

static int read_sequence(const reader *r, int depth) {
    const json_t *list = json_object_get(r->section, "decoders");
    int rc = 0;
    if (!json_is_array(list) || depth >= MAX_DEPTH)
        return aoei_fail(r->err, AOE_EFORMAT,
                         "%s: a decoder of the type Sequence has no array \"decoders\", or it is nested more than %d "
                         "times; download the file again",
                         r->file, MAX_DEPTH);
    r->d->exists = 1;
    for (size_t i = 0; i < json_array_size(list) && !rc; i++)
        rc = read_component((reader){r->d, json_array_get(list, i), r->file, r->err}, depth + 1);
    return rc;
}

static int read_component(reader r, int depth) {
    static const struct {
        const char *name;
        aoei_token_decoder_type type;
        int (*read)(const reader *r, aoei_token_decoder_step *s); /* NULL: the type has no settings for decoding */
    } types[] = {{"WordPiece", AOEI_DECODE_WORDPIECE, read_wordpiece},
                 {"ByteLevel", AOEI_DECODE_BYTE_LEVEL, NULL},
                 {"Metaspace", AOEI_DECODE_METASPACE, read_metaspace},
                 {"BPEDecoder", AOEI_DECODE_BPE, read_bpe},
                 {"Replace", AOEI_DECODE_REPLACE, read_replace},
                 {"Strip", AOEI_DECODE_STRIP, read_strip},
                 {"Fuse", AOEI_DECODE_FUSE, NULL},
                 {"ByteFallback", AOEI_DECODE_BYTE_FALLBACK, NULL}};
    const char *name;
    const int rc = aoei_json_type(&name, r.section, "decoder", r.file, r.err);
    if (rc)
        return rc;
    if (!strcmp(name, "Sequence"))
        return read_sequence(&r, depth);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(name, types[i].name) != 0)
            continue;
        aoei_token_decoder_step *s = append(r.d, types[i].type, r.err);
        return !s ? AOE_ENOMEM : types[i].read ? types[i].read(&r, s) : 0;
    }
    return aoei_fail(r.err, AOE_EUNSUPPORTED,
                     "%s: decoder \"%.80s\" is not supported; docs/tokenizers.md lists the supported types", r.file,
                     name);
}

int aoei_token_decoder_read(aoei_token_decoder *d, const json_t *section, const char *file, aoe_error *err) {
    aoe_error reason = {0};
    if (!section || json_is_null(section))
        return 0;
    const int rc = read_component((reader){d, section, file, &reason}, 0);
    if (rc == 0)
        return 0;
    if (rc == AOE_ENOMEM)
        return aoei_fail(err, rc, "%s", reason.message);
    aoei_token_decoder_free(d);
    d->reason = aoei_malloc(sizeof reason);
    if (!d->reason)
        return aoei_fail_nomem(err, sizeof reason);
    *d->reason = reason;
    return 0;
}
