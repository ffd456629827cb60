/* SPDX-License-Identifier: MIT
 * Masks the parts of a Markdown text that are not statements of the author. Code blocks, quoted lines and HTML comments
 * are masked line by line. Code spans are masked paragraph by paragraph. The rules are simplified rules of CommonMark;
 * for example, an indented code block must follow a blank line and is not recognized in a list. The running time is
 * linear in the length of the text.
 */
#include "collect/markdown.h"

#include <stdint.h>
#include <string.h>

/* State after the lines that were read. */
typedef struct scan {
    char mark;    /* fence character of the open code block, '`' or '~'; 0: no code block is open */
    size_t fence; /* number of fence characters that opened the code block */
    int comment;  /* 1: an HTML comment is open */
    int blank;    /* 1: the previous line was blank, or no line was read */
    int indented; /* 1: the previous line was indented code */
    int list;     /* 1: the last line without indentation was a list item */
} scan;

static size_t leading_spaces(const char *s, size_t len) {
    size_t n = 0, at = 0;
    for (; at < len && (s[at] == ' ' || s[at] == '\t'); at++)
        n += s[at] == '\t' ? 4 : 1;
    return n;
}

static size_t skip_blanks(const char *s, size_t len) {
    size_t at = 0;
    while (at < len && (s[at] == ' ' || s[at] == '\t'))
        at++;
    return at;
}

static int is_blank_line(const char *s, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (s[i] != ' ' && s[i] != '\t' && s[i] != '\r')
            return 0;
    return 1;
}

static size_t run_of(const char *s, size_t len, char c) {
    size_t n = 0;
    while (n < len && s[n] == c)
        n++;
    return n;
}

size_t aoei_markdown_comment(const char *s, size_t len) {
    if (len < 4 || memcmp(s, "<!--", 4) != 0)
        return 0;
    const char *end = memmem(s + 4, len - 4, "-->", 3);
    return end ? (size_t)(end - s) + 3 : len;
}

size_t aoei_markdown_fence(const char *line, size_t len, char *mark) {
    const size_t at = skip_blanks(line, len);
    if (at == len || (line[at] != '`' && line[at] != '~'))
        return 0;
    const size_t n = run_of(line + at, len - at, line[at]);
    if (n < 3 || (line[at] == '`' && memchr(line + at + n, '`', len - at - n)))
        return 0;
    *mark = line[at];
    return n;
}

int aoei_markdown_fence_ends(const char *line, size_t len, char mark, size_t n) {
    const size_t at = skip_blanks(line, len);
    const size_t run = run_of(line + at, len - at, mark);
    return run >= n && is_blank_line(line + at + run, len - at - run);
}

static int is_list_item(const char *s, size_t len) {
    size_t at = skip_blanks(s, len);
    const size_t digits = at;
    while (at < len && s[at] >= '0' && s[at] <= '9')
        at++;
    if (at > digits)
        return at + 1 < len && (s[at] == '.' || s[at] == ')') && s[at + 1] == ' ';
    return at + 1 < len && (s[at] == '-' || s[at] == '*' || s[at] == '+') && s[at + 1] == ' ';
}

static void mask_bytes(char *s, size_t len) {
    for (size_t i = 0; i < len; i++)
        if (s[i] != '\n')
            s[i] = AOEI_MASKED;
}

/* Masks the HTML comments that begin or continue in a line. */
static void mask_comments(scan *m, char *s, size_t len) {
    for (size_t i = 0; i < len;) {
        if (m->comment) {
            const char *end = memmem(s + i, len - i, "-->", 3);
            const size_t n = end ? (size_t)(end - (s + i)) + 3 : len - i;
            mask_bytes(s + i, n);
            m->comment = !end;
            i += n;
        } else if (len - i >= 4 && memcmp(s + i, "<!--", 4) == 0) {
            mask_bytes(s + i, 4); /* after "<!--", the next "-->" ends the comment; in "<!-->", the comment does not
                                     end */
            m->comment = 1;
            i += 4;
        } else {
            const char *next = memchr(s + i + 1, '<', len - i - 1);
            i = next ? (size_t)(next - s) : len;
        }
    }
}

/* Masks a line completely if it is a line of a code block or a quoted line. Otherwise masks the HTML comments in the
 * line. */
static void mask_line(scan *m, char *s, size_t len) {
    const int blank = is_blank_line(s, len);
    const size_t indent = leading_spaces(s, len);
    if (m->mark) {
        const int ends = aoei_markdown_fence_ends(s, len, m->mark, m->fence);
        mask_bytes(s, len);
        m->mark = ends ? 0 : m->mark;
        m->blank = 0;
        return;
    }
    if (m->comment) {
        mask_comments(m, s, len);
        return;
    }
    m->fence = indent < 4 || m->list ? aoei_markdown_fence(s, len, &m->mark) : 0;
    if (m->fence) {
        mask_bytes(s, len);
        return;
    }
    m->mark = 0;
    m->indented = !blank && indent >= 4 && !m->list && (m->blank || m->indented);
    m->blank = blank;
    if (blank)
        return;
    if (indent < 2)
        m->list = is_list_item(s, len);
    if (m->indented || s[skip_blanks(s, len)] == '>')
        mask_bytes(s, len);
    else
        mask_comments(m, s, len);
}

/* Masks the code spans in the paragraph s[0, len). A code span starts with a run of backticks and ends with the next
 * run of the same length. If no such run follows, the first run is ordinary text. missing[n] is 1 if a search for a
 * closing run of n backticks has failed. The search is not repeated for a later run, because the text after it cannot
 * contain a closing run either. */
static void mask_spans(char *s, size_t len) {
    enum { RUNS = 32 };
    uint8_t missing[RUNS] = {0};
    for (size_t i = 0; i < len;) {
        const char *tick = memchr(s + i, '`', len - i);
        if (!tick)
            return;
        i = (size_t)(tick - s);
        const size_t n = run_of(s + i, len - i, '`');
        size_t end = i + n;
        int found = 0;
        while (n < RUNS && !missing[n] && !found && end < len) {
            const char *next = memchr(s + end, '`', len - end);
            end = next ? (size_t)(next - s) : len;
            const size_t run = run_of(s + end, len - end, '`');
            found = next && run == n;
            end += run;
        }
        if (found)
            mask_bytes(s + i, end - i);
        else if (n < RUNS)
            missing[n] = 1;
        i = found ? end : i + n;
    }
}

void aoei_markdown_mask(char *text, size_t len) {
    scan m = {.blank = 1};
    size_t paragraph = 0;
    for (size_t at = 0; at < len;) {
        const char *end = memchr(text + at, '\n', len - at);
        const size_t n = end ? (size_t)(end - (text + at)) : len - at;
        const int blank = is_blank_line(text + at, n);
        mask_line(&m, text + at, n);
        at += n + (end != NULL);
        if (blank || at >= len) {
            mask_spans(text + paragraph, at - paragraph);
            paragraph = at;
        }
    }
}
