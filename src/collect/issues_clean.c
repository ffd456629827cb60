/* SPDX-License-Identifier: MIT
 * Cleans the bodies of issues line by line. Lines of code are not changed. On request, HTML comments and images are
 * removed from the other lines. On request, the lines that an issue template has added are removed: checkboxes, "_No
 * response_", lines of the template, and headings without text below them. A line is considered a template line if at
 * least LEAST bodies, and at least 1 of SHARE bodies, contain it.
 */
#include "collect/issues_clean.h"

#include <string.h>
#include <strings.h>

#include "aoe_collect.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "collect/markdown.h"

enum { SHARE = 20, LEAST = 5, FIRST_SIZE = 256 };

struct aoei_line_count {
    uint64_t hash;   /* hash of the line */
    uint32_t bodies; /* number of bodies that contain the line; 0: the slot is free */
    uint32_t last;   /* sequence number (counted from 1) of the last body that contains the line */
};

static aoe_text trim(const char *s, size_t len) {
    while (len > 0 && strchr(" \t\r", s[len - 1]) && s[len - 1])
        len--;
    while (len > 0 && (*s == ' ' || *s == '\t')) {
        s++;
        len--;
    }
    return (aoe_text){s, len};
}

/* Returns the length of a checkbox such as "- [ ]" or "- [x]" at the start of the line, or 0 if the line starts
 * differently. */
static size_t checkbox(aoe_text line) {
    if (line.len < 5 || !strchr("-*+", line.data[0]) || line.data[1] != ' ' || line.data[2] != '[' ||
        line.data[4] != ']' || !strchr(" xX", line.data[3]))
        return 0;
    return 5;
}

static int has_letter(aoe_text line) {
    for (size_t i = 0; i < line.len; i++) {
        const unsigned char c = (unsigned char)line.data[i];
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c >= 0x80)
            return 1;
    }
    return 0;
}

static uint64_t hash_line(aoe_text line) {
    const size_t box = checkbox(line);
    const uint64_t h = aoei_hash(AOEI_HASH_START, line.data + box, line.len - box);
    return h ^ (h >> 29);
}

static struct aoei_line_count *find(const aoei_line_counts *c, uint64_t hash) {
    size_t at = (size_t)hash;
    while (c->slot[at & (c->size - 1)].bodies && c->slot[at & (c->size - 1)].hash != hash)
        at++;
    return &c->slot[at & (c->size - 1)];
}

static int grow(aoei_line_counts *c, aoe_error *err) {
    if (2 * c->n < c->size)
        return AOE_OK;
    aoei_line_counts larger = {.size = c->size ? 2 * c->size : FIRST_SIZE, .n = c->n, .bodies = c->bodies};
    larger.slot = aoei_calloc(larger.size, sizeof *larger.slot);
    if (!larger.slot)
        return aoei_fail_nomem(err, larger.size * sizeof *larger.slot);
    for (size_t i = 0; i < c->size; i++)
        if (c->slot[i].bodies)
            *find(&larger, c->slot[i].hash) = c->slot[i];
    aoei_free(c->slot);
    *c = larger;
    return AOE_OK;
}

/* Counts a line of the current body, unless the body has already contained this line. Lines without letters are not
 * counted. */
static int count_line(aoei_line_counts *c, aoe_text line, aoe_error *err) {
    if (!has_letter(line))
        return AOE_OK;
    const int code = grow(c, err);
    if (code)
        return code;
    const uint64_t hash = hash_line(line);
    struct aoei_line_count *slot = find(c, hash);
    if (slot->last == c->bodies)
        return AOE_OK;
    c->n += slot->bodies == 0;
    slot->hash = hash;
    slot->bodies++;
    slot->last = c->bodies;
    return AOE_OK;
}

/* Returns 1 if so many bodies contain the line that it is considered a template line. */
static int is_of_template(const aoei_line_counts *c, aoe_text line) {
    if (!c || !c->size || !has_letter(line))
        return 0;
    const uint32_t bodies = find(c, hash_line(line))->bodies;
    return bodies >= LEAST && (uint64_t)bodies * SHARE >= c->bodies;
}

void aoei_line_counts_free(aoei_line_counts *c) {
    aoei_free(c->slot);
    *c = (aoei_line_counts){0};
}

/* State of an iteration over the lines of a body. */
typedef struct pass {
    char mark;    /* fence character of the open code block, '`' or '~'; 0: no code block is open */
    size_t fence; /* number of fence characters that opened the code block */
    int comment;  /* 1: an HTML comment is open */
} pass;

/* Returns 1 if the line is in a fenced code block or is one of its two fences. */
static int is_code(pass *p, const char *line, size_t len) {
    if (p->mark) {
        if (aoei_markdown_fence_ends(line, len, p->mark, p->fence))
            p->mark = 0;
        return 1;
    }
    p->fence = p->comment ? 0 : aoei_markdown_fence(line, len, &p->mark);
    if (!p->fence)
        p->mark = 0;
    return p->fence != 0;
}

int aoei_line_counts_add(aoei_line_counts *c, aoe_text body, aoe_error *err) {
    pass p = {0};
    int code = AOE_OK;
    c->bodies++;
    for (size_t at = 0; at < body.len && !code;) {
        const char *end = memchr(body.data + at, '\n', body.len - at);
        const size_t n = end ? (size_t)(end - (body.data + at)) : body.len - at;
        if (!is_code(&p, body.data + at, n))
            code = count_line(c, trim(body.data + at, n), err);
        at += n + 1;
    }
    return code;
}

/* Returns the length of the image "![text](address)" or "<img ...>" at the start of s, or 0 if s starts differently. */
static size_t image(const char *s, size_t len) {
    if (len >= 5 && strncasecmp(s, "<img", 4) == 0 && strchr(" \t/>", s[4])) {
        const char *end = memchr(s, '>', len);
        return end ? (size_t)(end - s) + 1 : 0;
    }
    if (len < 5 || s[0] != '!' || s[1] != '[')
        return 0;
    const char *close = memchr(s, ']', len);
    if (!close || (size_t)(close - s) + 1 >= len || close[1] != '(')
        return 0;
    const char *end = memchr(close, ')', len - (size_t)(close - s));
    return end ? (size_t)(end - s) + 1 : 0;
}

/* Returns the length of the code span at the start of s. A code span starts with a run of backticks and ends with the
 * next run of the same length. If no such run follows, returns the length of the first run. */
static size_t code_span(const char *s, size_t len) {
    size_t n = 0;
    while (n < len && s[n] == '`')
        n++;
    for (size_t at = n; n && at < len;) {
        size_t run = 0;
        while (at + run < len && s[at + run] == '`')
            run++;
        if (run == n)
            return at + run;
        at += run ? run : 1;
    }
    return n;
}

/* Appends a line that is not code. Comments and images are removed if `clean` (a sum of AOE_ISSUE_CLEAN_*) requests
 * it. */
static void append_cleaned(aoei_buffer *out, pass *p, const char *s, size_t len, unsigned clean) {
    for (size_t i = 0; i < len;) {
        size_t n;
        if (p->comment) {
            const char *end = memmem(s + i, len - i, "-->", 3);
            p->comment = !end;
            i = end ? (size_t)(end - s) + 3 : len;
        } else if ((clean & AOE_ISSUE_CLEAN_COMMENTS) && (n = aoei_markdown_comment(s + i, len - i)) != 0) {
            p->comment = n == len - i && (n < 7 || memcmp(s + len - 3, "-->", 3) != 0);
            i += n;
        } else if ((clean & AOE_ISSUE_CLEAN_IMAGES) && (n = image(s + i, len - i)) != 0) {
            i += n;
        } else {
            n = s[i] == '`' ? code_span(s + i, len - i) : 1;
            aoei_buffer_append(out, s + i, n);
            i += n;
        }
    }
}

static int is_heading(aoe_text line) {
    size_t n = 0;
    while (n < line.len && line.data[n] == '#')
        n++;
    return n > 0 && n <= 6 && n < line.len && line.data[n] == ' ';
}

static int is_no_answer(aoe_text line) {
    static const char answer[] = "_No response_";
    return line.len == sizeof answer - 1 && strncasecmp(line.data, answer, line.len) == 0;
}

/* State while a body is written. */
typedef struct writer {
    aoei_buffer *out;
    aoei_buffer heading; /* last heading that was read; it is written only if text follows it */
    int blank;           /* 1: write a blank line before the next line */
    size_t start;        /* offset of the body in *out */
    int failed;          /* 1: memory allocation failed; stored here because clearing a buffer resets its error flag */
    unsigned clean;      /* sum of AOE_ISSUE_CLEAN_* */
} writer;

/* Appends a line. If a blank line or a heading is pending, appends these first. */
static void put_line(writer *w, const char *s, size_t len) {
    if (w->blank && w->out->len > w->start)
        aoei_buffer_putc(w->out, '\n');
    if (w->heading.len)
        aoei_buffer_append(w->out, w->heading.data, w->heading.len);
    aoei_buffer_append(w->out, s, len);
    aoei_buffer_putc(w->out, '\n');
    aoei_buffer_clear(&w->heading);
    w->blank = 0;
}

/* Writes a line. If template lines are removed, does not write template lines; a heading is then stored in w->heading
 * and written together with the next line. */
static void keep_line(writer *w, const char *s, size_t len, const aoei_line_counts *counts) {
    const aoe_text line = trim(s, len);
    const int templates = (w->clean & AOE_ISSUE_CLEAN_TEMPLATES) != 0;
    if (line.len == 0) {
        if (!w->clean && w->out->len > w->start && w->blank)
            aoei_buffer_putc(w->out, '\n'); /* if nothing is removed from the body, all its blank lines are kept */
        if (!w->heading.len)
            w->blank = 1;
        return;
    }
    if (templates && (checkbox(line) || is_no_answer(line) || is_of_template(counts, line)))
        return;
    if (templates && is_heading(line)) { /* no text followed the pending heading, so it is dropped */
        aoei_buffer_clear(&w->heading);
        aoei_buffer_append(&w->heading, s, len);
        w->failed |= aoei_buffer_putc(&w->heading, '\n') != 0;
        return;
    }
    put_line(w, s, len);
}

/* Returns the line at offset *at without its line end, and advances *at to the start of the next line. */
static aoe_text next_line(aoe_text body, size_t *at) {
    const char *s = body.data + *at, *end = memchr(s, '\n', body.len - *at);
    size_t n = end ? (size_t)(end - s) : body.len - *at;
    *at += n + 1;
    if (n && s[n - 1] == '\r')
        n--;
    return (aoe_text){s, n};
}

int aoei_issue_text(aoei_buffer *out, aoe_text title, aoe_text body, unsigned clean, const aoei_line_counts *counts,
                    aoe_error *err) {
    pass p = {0};
    aoei_buffer cut = {0};
    title = trim(title.data, title.len);
    aoei_buffer_append(out, title.data, title.len);
    aoei_buffer_putc(out, '\n');
    writer w = {.out = out, .start = out->len, .clean = clean};
    for (size_t at = 0; at < body.len;) {
        const aoe_text line = next_line(body, &at);
        if (is_code(&p, line.data, line.len)) {
            put_line(&w, line.data, line.len);
            continue;
        }
        aoei_buffer_clear(&cut);
        append_cleaned(&cut, &p, line.data, line.len, clean);
        w.failed |= cut.failed;
        if (cut.len || !line.len) /* a line that consisted only of comments and images is dropped */
            keep_line(&w, cut.len ? cut.data : "", cut.len, counts);
    }
    const int failed = out->failed || w.failed;
    while (!failed && out->len && strchr(" \t\r\n", out->data[out->len - 1]) && out->data[out->len - 1])
        out->data[--out->len] = 0;
    aoei_buffer_free(&cut);
    aoei_buffer_free(&w.heading);
    return failed ? aoei_fail_nomem(err, out->len) : AOE_OK;
}
