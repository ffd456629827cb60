/* SPDX-License-Identifier: MIT
 * Chooses the beginnings and ends of passages (passages.h). A passage is a range of segments. Among the breaks between
 * half of the limit and the limit, the one with the highest weight * (1 - 0.7 (distance to the limit / window)^2) is
 * the end, so that a heading wins against a blank line, unless the passage would become much shorter. The beginning of
 * the overlap is chosen in the same way around 15% of the limit.
 */
#include "document/passages.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"
#include "document/clean_text.h"
#include "document/code_outline.h"
#include "document/html_outline.h"
#include "document/markdown_outline.h"

enum { SHORTEST = 32, HEADING_BYTES = 240, NAME_BYTES = 100, FIRST_LINES = 10 };

static const double overlap = 0.15;

typedef struct splitter {
    aoei_passages *p;
    const aoei_passage_options *o;
    const aoei_outline *outline;
    aoei_segments s;
    const char *first;           /* first part of all headings; NULL: none */
    const aoei_heading *heading; /* of the current passage */
    size_t limit;                /* tokens of the text of the current passage */
} splitter;

/* Number of tokens of the segments [from, to). */
static uint64_t cost(const splitter *x, size_t from, size_t to) {
    return x->s.segment[to].before - x->s.segment[from].before;
}

static uint32_t block_of(const splitter *x, size_t segment) {
    const uint32_t line = x->s.segment[segment].line;
    return line < x->outline->n_lines ? x->outline->line[line].block : 0;
}

/* Returns the number of the block that a break before the segment divides, if the block fits into a passage that begins
 * with it, or 0. */
static uint32_t divided_block(const splitter *x, size_t segment) {
    const uint32_t block = block_of(x, segment);
    if (!block || x->s.block_start[block] == segment)
        return 0;
    return cost(x, x->s.block_start[block], x->s.block_end[block]) <= x->limit ? block : 0;
}

/* Returns 1 if the segment belongs to the section or to one of its subsections. */
static int in_section(const splitter *x, size_t segment, uint32_t section) {
    uint32_t i = x->outline->line[x->s.segment[segment].line].section;
    while (i > section) /* a parent has a lower index */
        i = x->outline->section[i].parent;
    return i == section;
}

/* Section that names the passage of the segments [start, end): the smallest one, with its subsections, that contains at
 * least two thirds of the tokens. It contains the middle of the passage, because sections are ranges of lines. */
static uint32_t main_section(const splitter *x, size_t start, size_t end) {
    const uint64_t all = cost(x, start, end);
    size_t middle = start;
    while (middle + 1 < end && cost(x, start, middle + 1) * 2 <= all)
        middle++;
    uint32_t section = x->outline->line[x->s.segment[middle].line].section;
    for (; section; section = x->outline->section[section].parent) {
        size_t from = middle, to = middle + 1;
        while (from > start && in_section(x, from - 1, section))
            from--;
        while (to < end && in_section(x, to, section))
            to++;
        if (cost(x, from, to) * 3 >= all * 2)
            break;
    }
    return section;
}

/* Sets the heading of the section. It has at most a quarter of the tokens. */
static int set_heading(splitter *x, uint32_t section, aoe_error *err) {
    aoei_heading *h = &x->p->headings[section];
    char path[HEADING_BYTES];
    size_t tokens = 0, size = sizeof path;
    x->heading = h;
    if (h->text)
        return 0;
    for (;; size /= 2) {
        aoei_outline_path(x->outline, x->first, section, path, size);
        if (!*path || size < 32) {
            *path = 0;
            tokens = 0;
            break;
        }
        const int rc = x->o->count(x->o->user, aoe_text_of(path), &tokens, err);
        if (rc)
            return rc;
        tokens++; /* the newline */
        if (tokens <= x->o->longest / 4)
            break;
    }
    h->text = aoei_strdup(path);
    h->tokens = tokens;
    return h->text ? 0 : aoei_fail_nomem(err, sizeof path);
}

/* Maximum of the sum over the segments and the heading. The tokens of the whole passage may differ a little from the
 * sum, because a tokenizer may join characters of two segments, so a tenth is left free. */
static size_t most_tokens(const aoei_passage_options *o) {
    return o->longest - o->longest / 10;
}

/* Sets the limit of the text of a passage with the current heading. */
static void set_limit(splitter *x) {
    const size_t left = most_tokens(x->o) - x->heading->tokens;
    x->limit = x->o->tokens < left ? x->o->tokens : left;
}

/* Returns the end of the passage that begins with segment `start`: more than `least`, or 0 if that is impossible. */
static size_t choose_end(const splitter *x, size_t start, size_t least) {
    const size_t limit = x->limit;
    const double window = (double)limit / 2;
    size_t most = least + 1, best;
    double best_score = 0;
    if (most > x->s.n || cost(x, start, most) > limit)
        return 0;
    while (most < x->s.n && cost(x, start, most + 1) <= limit)
        most++;
    if (most == x->s.n)
        return most;
    const uint32_t block = divided_block(x, most);
    if (block && x->s.block_start[block] > start)
        most = x->s.block_start[block];
    if (most <= least)
        return 0;
    best = most;
    for (size_t end = most; end > least && end > start; end--) {
        const double tokens = (double)cost(x, start, end), distance = ((double)limit - tokens) / window;
        if (tokens < window)
            break;
        const uint32_t inner = divided_block(x, end);
        const double weight = inner && x->s.block_start[inner] >= start ? 0 : x->s.segment[end].weight;
        const double score = weight * (1 - 0.7 * distance * distance);
        if (score > best_score) {
            best_score = score;
            best = end;
        }
    }
    return best;
}

/* Returns the beginning of the passage after a passage that consists of the segments [start, end). */
static size_t choose_start(const splitter *x, size_t start, size_t end) {
    const double wanted = overlap * (double)x->limit;
    size_t best = end;
    double best_score = 0;
    const aoei_outline_line *line = &x->outline->line[x->s.segment[end].line];
    if (line->flags & AOEI_LINE_FRESH && x->s.segment[end].start == line->start)
        return end;
    for (size_t from = end - 1; from > start; from--) {
        const double tokens = (double)cost(x, from, end), distance = (tokens - wanted) / wanted;
        if (distance > 1)
            break;
        if (divided_block(x, from))
            continue;
        const double score = (x->s.segment[from].weight + 1) * (1 - 0.9 * distance * distance);
        if (score > best_score) {
            best_score = score;
            best = from;
        }
    }
    return best;
}

/* Text of the segments [start, end). */
static aoe_text text_of(const splitter *x, size_t start, size_t end) {
    const char *s = x->outline->text.data;
    const uint32_t from = x->s.segment[start].start;
    const uint32_t to = x->s.segment[end - 1].end;
    return (aoe_text){s + from, to - from};
}

static int add_passage(splitter *x, size_t start, size_t end, aoe_error *err) {
    aoei_passages *p = x->p;
    if (aoei_grow((void **)&p->passage, &p->capacity, p->n, sizeof *p->passage))
        return aoei_fail_nomem(err, p->n * sizeof *p->passage);
    p->passage[p->n++] = (aoei_passage){.text = text_of(x, start, end),
                                        .heading = x->heading->text,
                                        .line = x->outline->line[x->s.segment[start].line].line,
                                        .last_line = x->outline->line[x->s.segment[end - 1].line].line,
                                        .tokens = (size_t)cost(x, start, end) + x->heading->tokens};
    return 0;
}

/* Chooses the end of the passage that begins with segment `start`, and its heading. Returns 0 in *end if no end after
 * `least` is possible. The limit depends on the heading, and the heading on the end: the first attempt uses the heading
 * of the section of `start`, and the second one the heading of the main section of the first result. */
static int choose_passage(splitter *x, size_t start, size_t least, size_t *end, aoe_error *err) {
    const uint32_t first = x->outline->line[x->s.segment[start].line].section;
    uint32_t section = first;
    for (int attempt = 0;; attempt++) {
        int rc = set_heading(x, section, err);
        if (rc)
            return rc;
        set_limit(x);
        *end = choose_end(x, start, least);
        const uint32_t main = *end ? main_section(x, start, *end) : section;
        if (main == section || attempt == 2)
            return 0;
        rc = set_heading(x, main, err);
        if (rc || cost(x, start, *end) + x->heading->tokens <= most_tokens(x->o))
            return rc;
        section = attempt == 0 ? main : first;
    }
}

static int split(splitter *x, aoe_error *err) {
    size_t start = 0, last = 0; /* beginning of the next passage, and end of the previous passage */
    while (last < x->s.n) {
        size_t end = 0;
        int rc = choose_passage(x, start, last, &end, err);
        if (rc)
            return rc;
        if (!end && start < last) { /* not even one new segment fits after the overlap */
            start = last;
            continue;
        }
        last = end ? end : start + 1;
        rc = add_passage(x, start, last, err);
        if (rc)
            return rc;
        if (last < x->s.n)
            start = choose_start(x, start, last);
    }
    return 0;
}

/* Returns the end of a file name that is longer than NAME_BYTES, at a slash if possible. */
static const char *short_name(const char *name) {
    const size_t len = strlen(name);
    if (len < NAME_BYTES)
        return name;
    const char *end = name + len - NAME_BYTES + 1, *slash = strchr(end, '/');
    if (slash && slash[1])
        return slash + 1;
    while (((unsigned char)*end & 0xC0) == 0x80)
        end++;
    return end;
}

/* Returns 1 if one of the first lines is a heading. */
static int begins_with_heading(const aoei_outline *o) {
    for (size_t i = 0; i < o->n_lines && i < FIRST_LINES; i++)
        if (o->line[i].flags & AOEI_LINE_HEADING)
            return 1;
    return 0;
}

/* Returns the first part of all headings, or NULL. */
static const char *first_part(const aoei_passages *p, const aoei_passage_options *o, aoei_document_kind kind) {
    if (kind == AOEI_DOCUMENT_CODE)
        return o->name ? short_name(o->name) : o->title;
    if (o->title)
        return o->title;
    if (p->outline.title)
        return p->outline.title;
    return o->name_as_title && o->name && !begins_with_heading(&p->outline) ? short_name(o->name) : NULL;
}

/* Fills p->outline. */
static int read_outline(aoei_passages *p, aoe_text text, aoei_document_kind kind, aoe_error *err) {
    const int rc = aoei_clean_text(&p->outline.text, text, err);
    if (rc)
        return rc;
    if (kind == AOEI_DOCUMENT_HTML)
        return aoei_html_outline(&p->outline, &p->shortened, err);
    p->shortened = aoei_shorten_data(&p->outline.text, kind == AOEI_DOCUMENT_CODE ? AOEI_LONGEST_CODE_LINE : 0);
    if (kind == AOEI_DOCUMENT_CODE)
        return aoei_code_outline(&p->outline, err);
    return kind == AOEI_DOCUMENT_MARKDOWN ? aoei_markdown_outline(&p->outline, err)
                                          : aoei_text_outline(&p->outline, err);
}

static int set_title(aoei_passages *p, const aoei_passage_options *o, aoei_document_kind kind, aoe_error *err) {
    const aoei_outline *x = &p->outline;
    const int has_heading = kind != AOEI_DOCUMENT_CODE && x->n_sections > 1;
    const char *title = o->title      ? o->title
                        : x->title    ? x->title
                        : has_heading ? x->titles.data + x->section[1].title
                                      : "";
    p->title = aoei_strdup(title);
    return p->title ? 0 : aoei_fail_nomem(err, strlen(title));
}

int aoei_passages_split(aoei_passages *p, aoe_text text, const aoei_passage_options *o, aoe_error *err) {
    const aoei_document_kind kind = o->kind ? o->kind : aoei_document_kind_of(o->name, text);
    splitter x = {.p = p, .o = o, .outline = &p->outline};
    *p = (aoei_passages){0};
    if (o->longest < SHORTEST || o->tokens < 1)
        return aoei_fail(err, AOE_EARG, "passages need at least %d tokens; the maximum is %zu", SHORTEST, o->longest);
    int rc = read_outline(p, text, kind, err);
    if (!rc)
        rc = set_title(p, o, kind, err);
    const size_t left = most_tokens(o) - o->longest / 4; /* a heading has at most a quarter */
    if (!rc)
        rc = aoei_segments_fill(&x.s, &p->outline, o->tokens < left ? o->tokens : left, o->count, o->user, err);
    x.first = first_part(p, o, kind);
    if (!rc)
        p->headings = aoei_calloc(p->outline.n_sections, sizeof *p->headings);
    if (!rc)
        rc = p->headings ? split(&x, err) : aoei_fail_nomem(err, p->outline.n_sections * sizeof *p->headings);
    aoei_segments_free(&x.s);
    if (rc)
        aoei_passages_free(p);
    return rc;
}

void aoei_passages_free(aoei_passages *p) {
    for (size_t i = 0; p->headings && i < p->outline.n_sections; i++)
        aoei_free(p->headings[i].text);
    aoei_free(p->headings);
    aoei_outline_free(&p->outline);
    aoei_free(p->passage);
    aoei_free(p->title);
    *p = (aoei_passages){0};
}
