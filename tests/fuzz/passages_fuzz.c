/* SPDX-License-Identifier: MIT
 * Fuzzes the division of documents into passages. The first byte selects the kind of the document and the limits. All
 * promises of document/passages.h are checked: the passages are in order and cover the text except front matter, they
 * do not exceed the limits, and text and headings are valid UTF-8. No block may be leaked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include "document/passages.h"

/* One token per character that is not a space. */
static int count_tokens(void *user, aoe_text text, size_t *tokens, aoe_error *err) {
    (void)user;
    (void)err;
    *tokens = 0;
    for (size_t i = 0; i < text.len; i++)
        *tokens += ((unsigned char)text.data[i] & 0xC0) != 0x80 && text.data[i] != ' ' && text.data[i] != '\t';
    return 0;
}

static size_t tokens_of(const char *s, size_t len) {
    size_t n = 0;
    count_tokens(NULL, (aoe_text){s, len}, &n, NULL);
    return n;
}

static void check(const aoei_passages *p, size_t tokens, size_t longest) {
    const char *covered = p->outline.n_lines ? p->outline.text.data + p->outline.line[0].start : NULL, *last = NULL;
    for (size_t i = 0; i < p->n; i++) {
        const aoei_passage *x = &p->passage[i];
        const char *end = x->text.data + x->text.len;
        const size_t heading = strlen(x->heading);
        if (!x->text.len || x->text.data <= last || end <= covered || x->line > x->last_line ||
            aoei_utf8_valid(x->text.data, x->text.len) != x->text.len ||
            aoei_utf8_valid(x->heading, heading) != heading)
            abort();
        if (x->text.data > covered && !aoei_utf8_is_blank(covered, (size_t)(x->text.data - covered)))
            abort();
        const size_t n = tokens_of(x->text.data, x->text.len);
        if (n > tokens || n + tokens_of(x->heading, heading) + (heading > 0) > longest)
            abort();
        last = x->text.data;
        covered = end;
    }
    if (covered && !aoei_utf8_is_blank(covered, (size_t)(p->outline.text.data + p->outline.text.len - covered)))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const size_t limits[][2] = {{32, 40}, {100, 64}, {400, 510}, {50, 500}};
    static const aoei_document_kind kinds[] = {AOEI_DOCUMENT_MARKDOWN, AOEI_DOCUMENT_CODE, AOEI_DOCUMENT_TEXT,
                                               AOEI_DOCUMENT_HTML};
    if (size == 0)
        return 0;
    const int64_t live = aoei_alloc_live();
    const size_t *limit = limits[data[0] / 4 % 4];
    aoei_passages p;
    aoe_error err = {0};
    const aoei_passage_options o = {.kind = kinds[data[0] % 4],
                                    .name = data[0] & 16 ? "folder/name.c" : NULL,
                                    .name_as_title = (data[0] & 32) != 0,
                                    .tokens = limit[0],
                                    .longest = limit[1],
                                    .count = count_tokens};
    if (aoei_passages_split(&p, (aoe_text){(const char *)data + 1, size - 1}, &o, &err))
        abort();
    check(&p, limit[0], limit[1]);
    aoei_passages_free(&p);
    if (aoei_alloc_live() != live)
        abort();
    return 0;
}
