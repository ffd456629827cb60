/* SPDX-License-Identifier: MIT
 * Builds the outline of HTML from its visible text and the attributes of the lines (html_text.h).
 */
#include "document/html_outline.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "document/clean_text.h"
#include "document/html_text.h"

/* Removes a link mark such as "#" or a pilcrow sign from the end of a heading. Returns its new length. */
static size_t title_len(const char *s, size_t len) {
    static const char *const marks[] = {" #", "\xC2\xB6", "\xF0\x9F\x94\x97", "\xEF\x83\x81"}; /* U+F0C1: icon fonts */
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const size_t n = strlen(marks[i]);
        if (len > n && memcmp(s + len - n, marks[i], n) == 0)
            return len - n;
    }
    return len;
}

/* Copies the attributes of each line to the outline. level: [o->n_lines]. */
static int set_lines(aoei_outline *o, const aoei_html_text *h, uint8_t *level, aoe_error *err) {
    uint32_t section = 0;
    int rc = 0;
    for (size_t i = 0; i < o->n_lines && !rc; i++) {
        aoei_outline_line *line = &o->line[i];
        const aoei_html_line *from = &h->line[line->line - 1];
        line->line = from->source_line;
        line->block = from->block;
        line->section = section;
        if (line->block)
            line->flags &= (uint8_t)~AOEI_LINE_PROSE;
        if (from->is_item)
            line->flags |= AOEI_LINE_ITEM;
        if (from->is_rule)
            line->flags |= AOEI_LINE_RULE;
        const char *s = o->text.data + line->start;
        level[i] = from->level;
        if (from->level)
            rc = aoei_outline_heading(o, i, from->level, s, title_len(s, line->len), &section, err);
    }
    return rc;
}

static int set_title(aoei_outline *o, const aoei_buffer *title, aoe_error *err) {
    char plain[200];
    aoei_outline_title(title->data ? title->data : "", title->len, plain, sizeof plain);
    if (!*plain)
        return 0;
    o->title = aoei_strdup(plain);
    return o->title ? 0 : aoei_fail_nomem(err, sizeof plain);
}

int aoei_html_outline(aoei_outline *o, size_t *shortened, aoe_error *err) {
    aoei_html_text h = {0};
    uint8_t *level = NULL;
    int rc = aoei_html_text_read(&h, (aoe_text){o->text.data, o->text.len}, err);
    if (!rc) {
        aoei_buffer_free(&o->text);
        o->text = h.text;
        h.text = (aoei_buffer){0};
        o->n_blocks = h.n_blocks;
        *shortened = aoei_shorten_data(&o->text, 0);
        rc = set_title(o, &h.title, err);
    }
    if (!rc)
        rc = aoei_outline_lines(o, err);
    if (!rc) {
        level = aoei_calloc(o->n_lines + 1, 1);
        rc = level ? set_lines(o, &h, level, err) : aoei_fail_nomem(err, o->n_lines);
    }
    if (!rc)
        aoei_outline_weigh(o, level);
    aoei_free(level);
    aoei_html_text_free(&h);
    return rc;
}
