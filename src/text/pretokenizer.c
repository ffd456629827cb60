/* SPDX-License-Identifier: MIT
 * BertPreTokenizer as an iterator, so that encoding can stop early and nothing
 * is allocated. A table answers for ASCII, which is most of most texts.
 */
#include "text/pretokenizer.h"

#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "text/json_type.h"
#include "text/unicode.h"

enum { WORD, SPACE, PUNCTUATION };

static const unsigned char ascii_class[128] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, /* white space: 9 to 13 */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* */
    1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, /* space, ! to / */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, /* : to ? */
    2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* @ */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, /* [ to _ */
    2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* ` */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 0, /* { to ~ */
};

static int class_at(const char *s, size_t len, size_t *bytes) {
    unsigned char c = (unsigned char)s[0];
    *bytes = 1;
    if (c < 0x80)
        return ascii_class[c];
    uint32_t cp = 0;
    *bytes = aoei_utf8_decode(s, len, &cp);
    return aoei_unicode_is_space(cp) ? SPACE : aoei_unicode_is_punctuation(cp) ? PUNCTUATION : WORD;
}

static int next_bert(const char *s, size_t len, size_t *pos, size_t *start, size_t *end) {
    size_t i = *pos, bytes = 0;
    int class = SPACE;
    while (i < len && (class = class_at(s + i, len - i, &bytes)) == SPACE)
        i += bytes;
    *start = i;
    if (i < len) {
        i += bytes;
        while (class == WORD && i < len && class_at(s + i, len - i, &bytes) == WORD)
            i += bytes;
    }
    *pos = *end = i;
    return i > *start;
}

int aoei_pretokenizer_next(const aoei_pretokenizer *p, const char *s, size_t len, size_t *pos, size_t *start, size_t *end) {
    if (p->type == AOEI_PRETOKENIZER_BERT)
        return next_bert(s, len, pos, start, end);
    *start = *pos;
    *pos = *end = len;
    return *start < len;
}

int aoei_pretokenizer_read(aoei_pretokenizer *p, const json_t *section, const char *file, aoe_error *err) {
    const char *type;
    int rc;
    *p = (aoei_pretokenizer){0};
    if (!section || json_is_null(section))
        return 0;
    if ((rc = aoei_json_type(&type, section, "pre_tokenizer", file, err)))
        return rc;
    if (strcmp(type, "BertPreTokenizer") != 0)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: pre_tokenizer \"%s\" is not supported (BertPreTokenizer is)", file, type);
    p->type = AOEI_PRETOKENIZER_BERT;
    return 0;
}
