/* SPDX-License-Identifier: MIT
 * Parses places and gets their passages.
 */
#include "cli/search/place.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/path.h"
#include "cli/common/output.h"
#include "cli/common/words.h"

/* Reads the number after the last colon of text[*len] and shortens the text. Returns 0 if there is none, or if it is
 * not a number from 1 to 999999999. */
static size_t take_number(const char *text, size_t *len) {
    size_t at = *len, value = 0;
    while (at && isdigit((unsigned char)text[at - 1]))
        at--;
    if (at < 2 || text[at - 1] != ':' || at == *len || *len - at > 9)
        return 0;
    for (size_t i = at; i < *len; i++)
        value = 10 * value + (size_t)(text[i] - '0');
    if (value)
        *len = at - 1;
    return value;
}

void cli_place_parse(cli_place *p, const char *text) {
    size_t len = strlen(text);
    const size_t last = take_number(text, &len), first = last ? take_number(text, &len) : 0;
    *p = (cli_place){
        .text = cli_strdup(text), .name = cli_strdup(text), .line = first ? first : last, .count = first ? last : 0};
    p->name[len] = 0;
}

void cli_place_free(cli_place *p) {
    free(p->text);
    free(p->name);
    *p = (cli_place){0};
}

/* ------------------------------------------------------------------- lines */

/* Returns the absolute path of a file, which may have been removed. The caller frees it with free(). */
static char *absolute_path(const char *name) {
    char here[PATH_MAX];
    char *full = aoei_full_path(name);
    char *path = full && full[0] == '/'                        ? cli_strdup(full)
                 : name[0] != '/' && getcwd(here, sizeof here) ? cli_format("%s/%s", here, name)
                                                               : cli_strdup(name);
    aoei_free(full);
    return path;
}

/* Gets the passages that a place names. A file may also be named by its path relative to the current folder, and the
 * name of a document in a table may end like a place. */
static int get(aoe_index *index, cli_place *p, aoe_index_hits *hits, aoe_error *err) {
    aoe_error other;
    const size_t count = p->count ? p->count : 1;
    const int code = aoe_index_get(index, p->name, p->line, count, hits, err);
    if (code != AOE_ENOENT)
        return code;
    char *path = absolute_path(p->name);
    const int found = !aoe_index_get(index, path, p->line, count, hits, &other);
    if (!found && !aoe_index_get(index, path, 0, 0, hits, NULL)) { /* the document does not have this line */
        aoe_index_hits_free(hits);
        *err = other;
        free(path);
        return AOE_ENOENT;
    }
    free(path);
    if (found)
        return 0;
    if (!p->line || aoe_index_get(index, p->text, 0, 0, hits, &other))
        return code;
    p->line = p->count = 0;
    return 0;
}

int cli_lines_get(cli_lines *l, aoe_index *index, cli_place *p, size_t context, aoe_error *err) {
    *l = (cli_lines){.hits = {.struct_size = sizeof l->hits}};
    int code = get(index, p, &l->hits, err);
    if (code)
        return code;
    const aoe_index_hit *hit = l->hits.hit;
    l->first = p->count ? p->line : hit[0].line;
    l->last = p->count ? p->line + p->count - 1 : hit[l->hits.n - 1].last_line;
    l->first = l->first > context ? l->first - context : 1;
    l->last += context;
    const int surroundings = p->line || strcmp(hit[0].id, p->text) == 0; /* not the whole document */
    if (context && surroundings && hit[0].line) {                        /* the passages before and after */
        char *name = cli_strdup(hit[0].name);
        aoe_index_hits_free(&l->hits);
        code = aoe_index_get(index, name, l->first, l->last - l->first + 1, &l->hits, err);
        free(name);
    }
    return code;
}

void cli_lines_free(cli_lines *l) {
    aoe_index_hits_free(&l->hits);
    *l = (cli_lines){0};
}

/* Returns 1 if each line of the passage is a line of its document. */
static int has_lines(const aoe_index_hit *hit) {
    size_t lines = 1;
    for (size_t i = 0; i < hit->text.len; i++)
        lines += hit->text.data[i] == '\n' && i + 1 < hit->text.len;
    return hit->line && lines == hit->last_line - hit->line + 1;
}

/* Appends the lines [first, last] of a passage whose text has the lines of its document. */
static void append_lines(aoei_buffer *b, const aoe_index_hit *hit, size_t first, size_t last) {
    const char *at = hit->text.data, *end = at + hit->text.len;
    for (size_t line = hit->line; at < end && line <= last; line++) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        const char *next = nl ? nl : end;
        const cli_snippet whole = {0};
        if (line >= first && next == at)
            aoei_buffer_putc(b, '\n');
        else if (line >= first)
            cli_append_snippet(b, (aoe_text){at, (size_t)(next - at)}, &whole);
        at = nl ? nl + 1 : end;
    }
}

/* Limits a passage to the lines [from, to]. Returns 0 if no line remains. A passage whose text does not have the lines
 * of its document is not changed. */
static int limit_lines(aoe_index_hit *hit, size_t from, size_t to) {
    if (!has_lines(hit))
        return 1;
    hit->line = hit->line > from ? hit->line : from;
    hit->last_line = hit->last_line < to ? hit->last_line : to;
    return hit->line <= hit->last_line;
}

/* Returns the last line of the passages from i on that continue each other under one heading. */
static size_t continued_to(const cli_lines *l, size_t i) {
    const aoe_index_hit *hit = &l->hits.hit[i];
    size_t last = hit->last_line;
    for (size_t k = i + 1; k < l->hits.n && has_lines(hit) && has_lines(&hit[k - i]); k++) {
        if (hit[k - i].line > last + 1 || strcmp(hit[k - i].heading, hit->heading) != 0)
            break;
        last = hit[k - i].last_line > last ? hit[k - i].last_line : last;
    }
    return last < l->last || !has_lines(hit) ? last : l->last;
}

void cli_append_lines(aoei_buffer *b, const cli_hit_output *o, const cli_lines *l) {
    size_t done = 0; /* last line that was written */
    const char *heading = NULL;
    for (size_t i = 0; i < l->hits.n; i++) {
        aoe_index_hit hit = l->hits.hit[i];
        const cli_snippet whole = {0};
        const int lines = has_lines(&hit);
        if (!limit_lines(&hit, done + 1 > l->first ? done + 1 : l->first, l->last))
            continue;
        if (!done || !lines || hit.line != done + 1 || !heading || strcmp(heading, hit.heading) != 0) {
            aoe_index_hit place = hit;
            place.last_line = continued_to(l, i);
            cli_append_hit_place(b, o, &place);
            aoei_buffer_putc(b, '\n');
        }
        heading = hit.heading;
        if (lines)
            append_lines(b, &l->hits.hit[i], hit.line, hit.last_line);
        else
            cli_append_snippet(b, hit.text, &whole);
        done = lines ? hit.last_line : 0;
    }
}
