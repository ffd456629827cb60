/* SPDX-License-Identifier: MIT
 * Fuzzes the extraction of visible text from HTML. The text must be valid UTF-8 without control characters, lines must
 * have ascending line numbers of the source, and the outline must not fail. No block may be leaked.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include "document/clean_text.h"
#include "document/html_outline.h"
#include "document/html_text.h"

static void check_text(const aoei_html_text *h, const aoei_buffer *html) {
    size_t lines = h->text.len > 0, source_lines = 1;
    for (size_t i = 0; i < html->len; i++)
        source_lines += html->data[i] == '\n';
    for (size_t i = 0; i < h->text.len; i++) {
        const unsigned char c = (unsigned char)h->text.data[i];
        lines += c == '\n';
        if ((c < ' ' && c != '\n' && c != '\t') || c == 0x7F)
            abort();
    }
    if (lines != h->n_lines || aoei_utf8_valid(h->text.data, h->text.len) != h->text.len)
        abort();
    for (size_t i = 0; i < h->n_lines; i++)
        if (h->line[i].source_line < (i ? h->line[i - 1].source_line : 1) || h->line[i].source_line > source_lines ||
            h->line[i].block > h->n_blocks || h->line[i].level > 6)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const int64_t live = aoei_alloc_live();
    aoei_outline o = {0};
    aoei_html_text h = {0};
    aoe_error err = {0};
    size_t shortened;
    if (aoei_clean_text(&o.text, (aoe_text){(const char *)data, size}, &err) ||
        aoei_html_text_read(&h, (aoe_text){o.text.data, o.text.len}, &err))
        abort();
    check_text(&h, &o.text);
    if (aoei_html_outline(&o, &shortened, &err))
        abort();
    for (size_t i = 0; i < o.n_lines; i++)
        if (o.line[i].section >= o.n_sections || (i && o.line[i].line < o.line[i - 1].line))
            abort();
    aoei_html_text_free(&h);
    aoei_outline_free(&o);
    if (aoei_alloc_live() != live)
        abort();
    return 0;
}
