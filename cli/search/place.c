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
#include "base/error.h"
#include "base/file.h"
#include "base/hit_lines.h"
#include "base/path.h"
#include "base/utf8.h"
#include "cli/common/output.h"
#include "cli/common/words.h"

enum {
    SOURCE_BYTES = 64 << 20, /* largest file that is read to join passages */
    LINE_BYTES = 1 << 16,    /* longest line that is searched in it */
    LONG_OVERLAP = 16        /* bytes; so many equal bytes are no coincidence */
};

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

char *cli_absolute_path(const char *name) {
    char here[PATH_MAX];
    char *full = aoei_full_path(name);
    char *path = full && full[0] == '/'                        ? cli_strdup(full)
                 : name[0] != '/' && getcwd(here, sizeof here) ? cli_format("%s/%s", here, name)
                                                               : cli_strdup(name);
    aoei_free(full);
    return path;
}

/* Gets the row of a table at a line. row: a document of the table. Returns 1 if it exists. */
static int get_row(aoe_index *index, const aoe_index_hit *row, size_t line, aoe_index_hits *hits) {
    const char *colon = strrchr(row->name, ':');
    size_t first, last;
    if (aoei_hit_lines(row, &first, &last) || !first)
        return 0;
    char *name = cli_format("%.*s:%zu", (int)(colon - row->name), row->name, line);
    aoe_index_hits_free(hits);
    const int found = !aoe_index_get(index, name, 0, 0, hits, NULL);
    free(name);
    return found;
}

/* Gets the passages of a file, which is named by its path. Sets *exists to 1 if there is such a document. Returns 0, or
 * AOE_ENOENT after setting *err. */
static int get_path(aoe_index *index, cli_place *p, aoe_index_hits *hits, int *exists, aoe_error *err) {
    size_t first, last;
    char *path = cli_absolute_path(p->name);
    int code = aoe_index_get(index, path, p->line, p->count ? p->count : 1, hits, err) ? AOE_ENOENT : 0;
    *exists = !code || (p->line && !aoe_index_get(index, path, 0, 0, hits, NULL));
    if (*exists && p->line && hits->n && !aoei_hit_lines(&hits->hit[0], &first, &last)) {
        code = get_row(index, &hits->hit[0], p->line, hits) ? 0 : AOE_ENOENT;
        if (code)
            (void)aoei_fail(err, code, "%s: the index contains no row of this table at line %zu", path, p->line);
        p->line = p->count = 0;
    }
    free(path);
    return code;
}

/* Returns 1 if the text before one of the last colons is the name of a document: the rest is not a place. */
static int is_malformed(aoe_index *index, const cli_place *p) {
    int found = 0;
    char *name = cli_strdup(p->name);
    for (size_t i = 0; i < 3 && !found; i++) {
        aoe_index_hits hits = {.struct_size = sizeof hits};
        char *colon = strrchr(name, ':');
        if (!colon || colon == name)
            break;
        *colon = 0;
        char *path = cli_absolute_path(name);
        found = !aoe_index_get(index, name, 0, 0, &hits, NULL) || !aoe_index_get(index, path, 0, 0, &hits, NULL);
        aoe_index_hits_free(&hits);
        free(path);
    }
    free(name);
    return found;
}

/* Gets the passages that a place names. The name of a document in a table may end like a place. A file may also be
 * named by its path relative to the current folder. */
static int get(aoe_index *index, cli_place *p, aoe_index_hits *hits, aoe_error *err) {
    aoe_error other;
    int exists;
    if (p->line && !aoe_index_get(index, p->text, 0, 0, hits, NULL)) {
        p->line = p->count = 0;
        return 0;
    }
    const int code = aoe_index_get(index, p->name, p->line, p->count ? p->count : 1, hits, err);
    if (code != AOE_ENOENT)
        return code;
    const int missing = get_path(index, p, hits, &exists, &other);
    if (exists) {
        if (missing)
            *err = other;
        return missing;
    }
    if (!is_malformed(index, p))
        return code;
    return aoei_fail(err, AOE_EARG,
                     "'%s' is not a place in a document; write NAME:LINE or NAME:LINE:COUNT with numbers from 1 to "
                     "999999999",
                     p->text);
}

/* Fails if passages of several documents have the id that was given. */
static int check_document(const aoe_index_hits *hits, const cli_place *p, aoe_error *err) {
    aoei_buffer places = {0};
    size_t others = 0;
    for (size_t i = 0; i < hits->n; i++) {
        others += strcmp(hits->hit[i].name, hits->hit[0].name) != 0;
        aoei_buffer_printf(&places, "%s%s:%zu", i ? ", " : "", hits->hit[i].name, hits->hit[i].line);
    }
    const int code = others
                         ? aoei_fail(err, AOE_EARG, "%s: %zu passages have this id; give the place of one of them: %s",
                                     p->text, hits->n, places.failed ? "" : places.data)
                         : 0;
    aoei_buffer_free(&places);
    return code;
}

/* Selects all passages; for the id of a passage, not those that only have other parts of its first or its last line,
 * such as one of a book without line ends. */
static void select_passages(cli_lines *l, const cli_place *p) {
    const aoe_index_hit *hit = l->hits.hit;
    size_t at = 0;
    while (at < l->hits.n && strcmp(hit[at].id, p->text) != 0)
        at++;
    l->begin = 0;
    l->end = l->hits.n;
    if (at == l->hits.n)
        return;
    for (l->begin = at; l->begin && hit[l->begin - 1].line < hit[at].line;)
        l->begin--;
    for (l->end = at + 1; l->end < l->hits.n && hit[l->end].last_line > hit[at].last_line;)
        l->end++;
}

int cli_lines_get(cli_lines *l, aoe_index *index, cli_place *p, size_t context, aoe_error *err) {
    *l = (cli_lines){.hits = {.struct_size = sizeof l->hits}};
    int code = get(index, p, &l->hits, err);
    if (!code)
        code = check_document(&l->hits, p, err);
    if (code)
        return code;
    if (!l->hits.n)
        return aoei_fail(err, AOE_ENOENT, "%s: the document is empty", p->text);
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
    if (code)
        return code;
    select_passages(l, p);
    aoe_index_stats stats = {.struct_size = sizeof stats};
    l->may_read = !aoe_index_get_stats(index, &stats, NULL) && stats.created_here;
    return 0;
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
static void append_lines(aoei_buffer *b, const aoe_index_hit *hit, size_t first, size_t last, int numbers) {
    const char *at = hit->text.data, *end = at + hit->text.len;
    for (size_t line = hit->line; at < end && line <= last; line++) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        const char *next = nl ? nl : end;
        const cli_snippet whole = {0};
        if (line >= first) {
            if (numbers)
                aoei_buffer_printf(b, "%6zu  ", line);
            const size_t before = b->len;
            cli_append_snippet(b, (aoe_text){at, (size_t)(next - at)}, &whole);
            if (b->len == before) { /* a blank line */
                b->len -= numbers ? 2 : 0;
                aoei_buffer_putc(b, '\n');
            }
        }
        at = nl ? nl + 1 : end;
    }
}

/* Consecutive passages under one heading, joined. */
typedef struct joined {
    const aoe_index_hit *first; /* NULL: none */
    aoei_buffer text;           /* lines [line, last], of which the first and the last one may be incomplete */
    size_t line, last;
} joined;

/* The file of a document. The index does not store where in a line a passage begins, nor the white space between two
 * passages of one line, so the file is read, if it still exists, to join them as they were. The paths in an index of
 * somebody else are not read. */
typedef struct source {
    int may_read; /* cli_lines.may_read */
    int complete; /* 1: the passages begin with the first one of their first line */
    char *data;   /* [size] contents, owned; NULL if the file cannot be read */
    size_t size;
    size_t at, line;      /* the line [at] is line `line`; 0: the file has not been opened */
    size_t end_line, end; /* the passage before ends at byte `end` of this line; NOWHERE: it is not known where */
} source;

#define NOWHERE SIZE_MAX

/* Returns a line of the file, from the first line of a passage on, or an empty text. */
static aoe_text source_line(source *s, const aoe_index_hit *hit, size_t line) {
    aoe_error err;
    if (!s->line && s->may_read && aoei_hit_is_file(hit) &&
        aoei_read_regular(&s->data, &s->size, hit->path, SOURCE_BYTES, &err))
        s->size = 0;
    if (!s->line || hit->line < s->line) {
        s->at = 0;
        s->line = 1;
    }
    size_t at = s->at;
    for (size_t i = s->line; i < line && at < s->size;) {
        const char *nl = memchr(s->data + at, '\n', s->size - at);
        at = nl ? (size_t)(nl - s->data) + 1 : s->size;
        if (++i == hit->line) {
            s->at = at;
            s->line = i;
        }
    }
    if (at >= s->size)
        return (aoe_text){NULL, 0};
    const char *nl = memchr(s->data + at, '\n', s->size - at);
    size_t len = nl ? (size_t)(nl - s->data) - at : s->size - at;
    len -= len && s->data[at + len - 1] == '\r';
    return (aoe_text){s->data + at, len <= LINE_BYTES ? len : 0};
}

/* Returns the part of the first line of a passage, or of its last line. */
static aoe_text first_part(const aoe_index_hit *hit) {
    const char *s = hit->text.data, *nl = memchr(s, '\n', hit->text.len);
    return (aoe_text){s, nl ? (size_t)(nl - s) : hit->text.len};
}

static aoe_text last_part(const aoe_index_hit *hit) {
    const char *s = hit->text.data;
    size_t end = hit->text.len, at;
    end -= end && s[end - 1] == '\n';
    for (at = end; at && s[at - 1] != '\n';)
        at--;
    return (aoe_text){s + at, end - at};
}

static int is_blank(char c) {
    return c == ' ' || c == '\t';
}

static int is_at(aoe_text line, size_t at, aoe_text part) {
    return line.data && at <= line.len && part.len <= line.len - at && memcmp(line.data + at, part.data, part.len) == 0;
}

/* Returns the last position of `part` in a line from which on, except for white space, no text between `end` and it is
 * left out. The line can repeat itself, as the rule below the names of a table does. Each part is then at its true
 * position or later, so that no text is lost: the last part of the line cannot be later. It can then be before `end`,
 * by less than its length. */
static size_t find_after(aoe_text line, aoe_text part, size_t end, int ends_line) {
    const size_t least = end > 2 * part.len ? end - 2 * part.len : 0;
    size_t at = end, last = line.len; /* the text of the line ends at `last` */
    while (last && is_blank(line.data[last - 1]))
        last--;
    while (at < line.len && is_blank(line.data[at]))
        at++;
    for (at++; at-- > least;)
        if (is_at(line, at, part) && (!ends_line || at + part.len >= last))
            return at;
    return NOWHERE;
}

/* Returns the position of `part` if the line contains it once. */
static size_t find_single(aoe_text line, aoe_text part) {
    size_t found = NOWHERE;
    for (size_t at = 0; at + part.len <= line.len; at++)
        if (is_at(line, at, part)) {
            if (found != NOWHERE)
                return NOWHERE;
            found = at;
        }
    return found;
}

/* Returns the position of a passage in its first line, or NOWHERE. */
static size_t find_passage(source *s, const aoe_index_hit *hit) {
    const aoe_text line = source_line(s, hit, hit->line), part = first_part(hit);
    size_t at = NOWHERE;
    if (!line.len || !part.len)
        return NOWHERE;
    if (hit->line == s->end_line && s->end != NOWHERE)
        at = find_after(line, part, s->end, hit->last_line > hit->line);
    else if (hit->line > s->end_line && s->complete)
        at = find_after(line, part, 0, hit->last_line > hit->line);
    return at == NOWHERE ? find_single(line, part) : at;
}

/* Continues after a passage. at: find_passage. */
static void pass(source *s, const aoe_index_hit *hit, size_t at) {
    const aoe_text part = last_part(hit);
    if (hit->last_line > hit->line)
        s->end = is_at(source_line(s, hit, hit->last_line), 0, part) ? part.len : NOWHERE;
    else if (at == NOWHERE || hit->line > s->end_line || s->end == NOWHERE || at + part.len > s->end)
        s->end = at == NOWHERE ? NOWHERE : at + part.len;
    s->end_line = hit->last_line;
    s->complete = 1;
}

/* Returns the number of bytes at the beginning of a passage that are the end of `j`, without the file: an overlap must
 * begin with a word or be long. */
static size_t overlap(const joined *j, const aoe_index_hit *hit) {
    const char *start = j->text.data, *end = start + j->text.len, *at = end;
    for (size_t l = j->last;; l--, at--) { /* moves to the beginning of the line in which the passage begins */
        while (at > start && at[-1] != '\n')
            at--;
        if (l <= hit->line || at == start)
            break;
    }
    const char *nl = memchr(at, '\n', (size_t)(end - at)), *stop = nl ? nl : end;
    if ((size_t)(end - at) > hit->text.len)
        at = end - hit->text.len;
    for (; at <= stop && at < end; at++) {
        const size_t n = (size_t)(end - at);
        if (memcmp(at, hit->text.data, n) == 0 && (n >= LONG_OVERLAP || at == start || !isalnum((unsigned char)at[-1])))
            return n;
    }
    return 0;
}

/* Returns the number of bytes at the beginning of a passage that `j` contains: passages overlap. at: find_passage. Sets
 * *between to the white space between passages of one line, which is empty in a long word; its data is NULL if it is
 * not known. */
static size_t shared_bytes(const joined *j, const aoe_index_hit *hit, source *s, size_t at, aoe_text *between) {
    *between = (aoe_text){NULL, 0};
    if (!j->first || hit->line > j->last || !j->text.len)
        return 0;
    if (hit->line < j->last || at == NOWHERE || s->end == NOWHERE || s->end_line != hit->line)
        return overlap(j, hit);
    const aoe_text line = source_line(s, hit, hit->line), part = first_part(hit);
    if (at < s->end)
        return s->end - at < part.len ? s->end - at : part.len;
    for (size_t i = s->end; i < at; i++)
        if (!is_blank(line.data[i]))
            return 0;
    *between = (aoe_text){line.data + s->end, at - s->end};
    return 0;
}

/* Appends the rest of a passage, without its first `skip` bytes. Passages end without white space. between: see
 * shared_bytes. */
static void join(joined *j, const aoe_index_hit *hit, size_t skip, aoe_text between) {
    size_t len = hit->text.len;
    len -= len > skip && hit->text.data[len - 1] == '\n';
    for (size_t line = j->last; line < hit->line; line++)
        aoei_buffer_putc(&j->text, '\n');
    const int words = len && j->text.len && isgraph((unsigned char)j->text.data[j->text.len - 1]) &&
                      isgraph((unsigned char)hit->text.data[0]);
    if (between.data)
        aoei_buffer_append(&j->text, between.data, between.len);
    else if (!skip && hit->line == j->last && words)
        aoei_buffer_putc(&j->text, ' ');
    aoei_buffer_append(&j->text, hit->text.data + skip, len - skip);
    j->last = hit->last_line;
}

/* Begins with a passage, without its first `skip` bytes. Nothing remains of a passage without other bytes. */
static void begin_joined(joined *j, const aoe_index_hit *hit, size_t skip) {
    aoei_buffer_clear(&j->text);
    j->first = hit;
    j->line = hit->line;
    for (size_t i = 0; i < skip; i++)
        j->line += hit->text.data[i] == '\n';
    if (skip && skip < hit->text.len && hit->text.data[skip] == '\n') {
        j->line++;
        skip++;
    }
    j->last = j->line;
    aoe_index_hit rest = *hit;
    rest.line = j->line;
    join(j, &rest, skip, (aoe_text){NULL, 0});
}

/* Appends the lines [first, last] of the joined passages, with their place. */
static void append_joined(aoei_buffer *b, const cli_hit_output *o, const joined *j, const cli_lines *l, int numbers) {
    size_t from, to;
    if (!j->first || !j->text.len || j->line > l->last || j->last < l->first)
        return;
    aoe_index_hit place = *j->first;
    place.line = j->line > l->first ? j->line : l->first;
    place.last_line = j->last < l->last ? j->last : l->last;
    cli_append_hit_place(b, o, &place);
    aoei_buffer_putc(b, '\n');
    aoe_index_hit all = *j->first;
    all.text = (aoe_text){j->text.data, j->text.len};
    all.line = j->line;
    append_lines(b, &all, place.line, place.last_line, numbers && aoei_hit_lines(&place, &from, &to));
}

void cli_append_lines(aoei_buffer *b, const cli_hit_output *o, const cli_lines *l, int numbers) {
    joined j = {.first = NULL};
    source file = {.may_read = l->may_read, .complete = !l->begin};
    aoe_text between;
    const cli_snippet whole = {0};
    for (size_t i = l->begin; i < l->end; i++) {
        const aoe_index_hit *hit = &l->hits.hit[i];
        const int lines = has_lines(hit);
        const size_t at = lines ? find_passage(&file, hit) : NOWHERE;
        const size_t skip = lines ? shared_bytes(&j, hit, &file, at, &between) : 0;
        if (lines)
            pass(&file, hit, at);
        const int follows = lines && j.first && hit->line <= j.last + 1 && (skip || hit->line >= j.last);
        if (follows && strcmp(hit->heading, j.first->heading) == 0) {
            join(&j, hit, skip, between);
            continue;
        }
        append_joined(b, o, &j, l, numbers);
        if (lines) {
            begin_joined(&j, hit, skip);
            continue;
        }
        j.first = NULL;
        cli_append_hit_place(b, o, hit);
        aoei_buffer_putc(b, '\n');
        cli_append_snippet(b, hit->text, &whole);
    }
    append_joined(b, o, &j, l, numbers);
    aoei_buffer_free(&j.text);
    aoei_free(file.data);
}
