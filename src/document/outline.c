/* SPDX-License-Identifier: MIT
 * Implements the lines and sections of a document (outline.h). Offsets are 32-bit numbers, because a document may have
 * as many lines as bytes.
 */
#include "document/outline.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"

enum { TITLE = 100 /* bytes of a title in a path, with the NUL */, DEPTH = 8 /* parts of a path */ };

/* Sets start, length and indentation of the line text[start, end). Returns 0 if the line is blank. */
static int measure_line(const char *s, size_t start, size_t end, aoei_outline_line *line) {
    size_t indent = 0, i = start;
    while (end > start && (s[end - 1] == ' ' || s[end - 1] == '\t'))
        end--;
    for (; i < end && (s[i] == ' ' || s[i] == '\t'); i++)
        indent = s[i] == '\t' ? (indent / 8 + 1) * 8 : indent + 1;
    line->start = (uint32_t)start;
    line->len = (uint32_t)(end - start);
    line->indent = (uint16_t)(indent > 1000 ? 1000 : indent);
    return i < end && !aoei_utf8_is_blank(s + i, end - i);
}

int aoei_outline_lines(aoei_outline *o, aoe_error *err) {
    const char *s = o->text.data;
    const size_t len = o->text.len;
    if (len >= UINT32_MAX)
        return aoei_fail(err, AOE_EUNSUPPORTED, "the document has %zu bytes; the maximum is 4 GiB", len);
    uint32_t number = 1, first;
    int blank = 0;
    int rc = aoei_outline_section(o, 0, 0, "", 0, &first, err);
    for (size_t i = 0; i < len && !rc; number++) {
        const char *newline = memchr(s + i, '\n', len - i);
        const size_t end = newline ? (size_t)(newline - s) : len;
        aoei_outline_line line = {.line = number};
        if (!measure_line(s, i, end, &line)) {
            blank = 1;
        } else {
            line.flags = (uint8_t)(AOEI_LINE_PROSE | (blank ? AOEI_LINE_BLANK : 0));
            blank = 0;
            if (aoei_grow((void **)&o->line, &o->lines_capacity, o->n_lines, sizeof *o->line))
                rc = aoei_fail_nomem(err, o->n_lines * sizeof *o->line);
            else
                o->line[o->n_lines++] = line;
        }
        i = end + 1;
    }
    return rc;
}

void aoei_outline_title(const char *s, size_t len, char *out, size_t size) {
    size_t n = 0, i = 0;
    int cut = 0; /* 1: out[n] is a byte that was written */
    uint32_t cp;
    for (size_t bytes; i < len && n + 1 < size; i += bytes) {
        bytes = aoei_utf8_decode(s + i, len - i, &cp);
        const int space = bytes ? aoei_utf8_is_space(cp) : 1;
        bytes = bytes ? bytes : 1;
        if (space && (n == 0 || out[n - 1] == ' '))
            continue;
        if (n + bytes >= size)
            break;
        memcpy(out + n, space ? " " : s + i, space ? 1 : bytes);
        n += space ? 1 : bytes;
    }
    if (i < len && !aoei_utf8_is_blank(s + i, len - i) && size > 8) { /* "..." replaces the end */
        for (; n > size - 4 || (n && cut && ((unsigned char)out[n] & 0xC0) == 0x80); cut = 1)
            n--;
        memcpy(out + n, "...", 3);
        n += 3;
    }
    while (n && out[n - 1] == ' ')
        n--;
    out[n] = 0;
}

int aoei_outline_section(aoei_outline *o, uint32_t parent, uint32_t level, const char *title, size_t len,
                         uint32_t *section, aoe_error *err) {
    char name[TITLE];
    aoei_outline_title(title, len, name, sizeof name);
    if (aoei_grow((void **)&o->section, &o->sections_capacity, o->n_sections, sizeof *o->section))
        return aoei_fail_nomem(err, o->n_sections * sizeof *o->section);
    assert(o->n_sections == 0 || parent < o->n_sections);
    o->section[o->n_sections] = (aoei_section){parent, level, (uint32_t)o->titles.len, (uint32_t)strlen(name)};
    if (aoei_buffer_append(&o->titles, name, strlen(name) + 1))
        return aoei_fail_nomem(err, o->titles.len);
    *section = (uint32_t)o->n_sections++;
    return 0;
}

int aoei_outline_heading(aoei_outline *o, size_t i, uint32_t level, const char *title, size_t len, uint32_t *section,
                         aoe_error *err) {
    uint32_t parent = *section;
    while (parent && o->section[parent].level >= level)
        parent = o->section[parent].parent;
    const int rc = aoei_outline_section(o, parent, level, title, len, section, err);
    o->line[i].section = *section;
    o->line[i].flags |= AOEI_LINE_HEADING;
    return rc;
}

/* Returns 1 if a sentence ends at the end of the line. */
static int ends_sentence(const char *s, size_t len) {
    static const char *const wide[] = {"\xE3\x80\x82", "\xEF\xBC\x81", "\xEF\xBC\x9F"}; /* CJK full stop, ! and ? */
    while (len && strchr(")]\"'*_`", s[len - 1]) && s[len - 1])
        len--;
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (len >= 3 && memcmp(s + len - 3, wide[i], 3) == 0)
            return 1;
    return len && (s[len - 1] == '.' || s[len - 1] == '!' || s[len - 1] == '?');
}

/* Weight of a break between two lines of a block that does not fit into a passage. */
static int weigh_in_block(const aoei_outline_line *line) {
    const int indent = line->indent / 2;
    if (line->flags & AOEI_LINE_BLANK)
        return 30 - 2 * (indent < 8 ? indent : 8);
    return AOEI_BREAK_LINE + 4 - (indent < 4 ? indent : 4);
}

static int weigh(const aoei_outline *o, const aoei_outline_line *line, unsigned level, unsigned previous_level) {
    const aoei_outline_line *previous = line - 1;
    const char *end = o->text.data + previous->start + previous->len;
    const int heading = (line->flags & AOEI_LINE_HEADING) != 0;
    if (previous->flags & AOEI_LINE_HEADING && (!heading || !level || level > previous_level))
        return AOEI_BREAK_BAD; /* a heading stays with its text, and with the first heading below it */
    if (heading)
        return AOEI_BREAK_HEADING + 5 * (6 - (int)(level <= 6 ? level : 6));
    if (line->block != previous->block) {
        const int introduced = line->block && previous->len && (end[-1] == ':' || end[-1] == '-');
        return introduced ? AOEI_BREAK_INTRO : AOEI_BREAK_BLOCK;
    }
    if (line->block)
        return weigh_in_block(line);
    if (line->flags & AOEI_LINE_RULE)
        return AOEI_BREAK_RULE;
    if (line->flags & AOEI_LINE_BLANK)
        return line->indent >= 2 ? AOEI_BREAK_BLANK - 10 : AOEI_BREAK_BLANK; /* indented: inside an item of a list */
    if (line->flags & AOEI_LINE_ITEM)
        return AOEI_BREAK_ITEM;
    return ends_sentence(end - previous->len, previous->len) ? AOEI_BREAK_SENTENCE : AOEI_BREAK_LINE;
}

void aoei_outline_weigh(aoei_outline *o, const uint8_t *level) {
    unsigned previous = 0; /* level of the last heading line */
    for (size_t i = 0; i < o->n_lines; i++) {
        aoei_outline_line *line = &o->line[i];
        const unsigned own = level ? level[i] : 0;
        line->weight = (uint8_t)(i ? weigh(o, line, own, previous) : AOEI_BREAK_HEADING);
        if (own && line->weight >= AOEI_BREAK_HEADING)
            line->flags |= AOEI_LINE_FRESH;
        if (own)
            previous = own;
    }
}

/* Returns 1 if the title `whole` is the title `part` with an addition such as " - Name of the site", before or after
 * it. */
static int is_title_part(const char *whole, const char *part) {
    const size_t n = strlen(part), len = strlen(whole);
    if (n == 0 || n >= len)
        return n == len && strcmp(whole, part) == 0;
    const char *after = whole + n, *before = whole + len - n;
    while (*after == ' ')
        after++;
    while (before > whole && before[-1] == ' ')
        before--;
    const unsigned char next = (unsigned char)*after, previous = before > whole ? (unsigned char)before[-1] : 0;
    return (memcmp(whole, part, n) == 0 && (strchr("-|:/", next) || next >= 0x80)) ||
           (strcmp(whole + len - n, part) == 0 && previous && (strchr("-|:/", previous) || previous >= 0x80));
}

void aoei_outline_path(const aoei_outline *o, const char *first, uint32_t section, char *path, size_t size) {
    const char *part[DEPTH + 1];
    char title[TITLE];
    size_t n = 0, need = 0;
    for (uint32_t i = section; i && n < DEPTH; i = o->section[i].parent)
        if (o->section[i].len)
            part[n++] = o->titles.data + o->section[i].title;
    if (first && *first) {
        aoei_outline_title(first, strlen(first), title, sizeof title);
        while (n && is_title_part(title, part[n - 1]))
            n--;
        part[n++] = title;
    }
    for (size_t i = 0; i < n; i++)
        need += strlen(part[i]) + 3;
    while (n > 2 && need > size) { /* removes the second part */
        need -= strlen(part[n - 2]) + 3;
        part[n - 2] = part[n - 1];
        n--;
    }
    char joined[(TITLE + 3) * (DEPTH + 1)] = "";
    size_t used = 0;
    while (n--)
        used += (size_t)snprintf(joined + used, sizeof joined - used, "%s%s", used ? " > " : "", part[n]);
    aoei_outline_title(joined, strlen(joined), path, size);
}

void aoei_outline_free(aoei_outline *o) {
    aoei_buffer_free(&o->text);
    aoei_buffer_free(&o->titles);
    aoei_free(o->line);
    aoei_free(o->section);
    aoei_free(o->title);
    *o = (aoei_outline){0};
}
