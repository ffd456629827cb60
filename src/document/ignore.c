/* SPDX-License-Identifier: MIT
 * Parses and compares patterns of .gitignore files. A pattern is divided into segments at its slashes. A segment is
 * compared with one component of a path. The segment ** stands for any number of components.
 * Both levels use the same method: after a mismatch, only the last * (or **) is extended by one character (or
 * component). Earlier ones need no second attempt, because what follows them has already matched as early as possible.
 * Unlike git, which compares bytes, ? and [...] match one character of UTF-8.
 */
#include "document/ignore.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/utf8.h"

typedef enum segment_kind {
    SEGMENT_LITERAL, /* no special characters */
    SEGMENT_SUFFIX,  /* * and then no special characters */
    SEGMENT_GLOB,    /* other wildcards or escapes */
    SEGMENT_ANY,     /* ** */
} segment_kind;

struct aoei_ignore_segment {
    const char *text; /* [len] borrowed from the pattern; SEGMENT_SUFFIX: without the star */
    size_t len;
    segment_kind kind;
};

struct aoei_ignore_pattern {
    char *text;      /* its bytes, owned */
    size_t first, n; /* its segments */
    char negated;    /* 1: starts with ! */
    char dir_only;   /* 1: ends with a slash */
    char by_name;    /* 1: contains no other slash; the pattern is compared with the last component of a path */
};

/* ------------------------------------------------------------------- one character */

/* Reads a character of [s, end). Each invalid byte is one character. Returns its length in bytes. */
static size_t next_char(const char *s, const char *end, uint32_t *c) {
    const size_t n = aoei_utf8_decode(s, (size_t)(end - s), c);
    if (n)
        return n;
    *c = 0x110000 + (uint32_t)(unsigned char)*s; /* differs from all code points */
    return 1;
}

/* Returns 1 if the character c belongs to the POSIX class `name`, 0 if not, and -1 if the class is unknown. The classes
 * contain only ASCII characters. */
static int in_class(aoe_text name, uint32_t c) {
    const int upper = c >= 'A' && c <= 'Z', lower = c >= 'a' && c <= 'z', digit = c >= '0' && c <= '9';
    const int hex = digit || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
    const int graph = c > ' ' && c < 127;
    const struct {
        const char *name;
        int value;
    } classes[] = {
        {"alnum", upper || lower || digit},
        {"alpha", upper || lower},
        {"blank", c == ' ' || c == '\t'},
        {"cntrl", c < ' ' || c == 127},
        {"digit", digit},
        {"graph", graph},
        {"lower", lower},
        {"print", graph || c == ' '},
        {"punct", graph && !upper && !lower && !digit},
        {"space", c == ' ' || (c >= '\t' && c <= '\r')},
        {"upper", upper},
        {"xdigit", hex},
    };
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strlen(classes[i].name) == name.len && memcmp(classes[i].name, name.data, name.len) == 0)
            return classes[i].value;
    return -1;
}

/* If a class such as [:alpha:] begins at p, sets *name and returns its end, otherwise NULL. */
static const char *class_at(const char *p, const char *end, aoe_text *name) {
    if (end - p < 4 || p[0] != '[' || p[1] != ':')
        return NULL;
    const char *close = memchr(p + 2, ']', (size_t)(end - p - 2));
    if (!close || close - p < 3 || close[-1] != ':')
        return NULL;
    *name = (aoe_text){p + 2, (size_t)(close - 1 - (p + 2))};
    return close + 1;
}

/* Compares the set of characters that begins at p, which is '[', with c. Sets *result to 1 if the set contains c.
 * Returns the end of the set, or NULL if the set is invalid: it has no end, or an unknown class. */
static const char *match_set(const char *p, const char *end, uint32_t c, int *result) {
    int found = 0, negated = 0, first = 1;
    p++;
    if (p < end && (*p == '!' || *p == '^')) {
        negated = 1;
        p++;
    }
    uint32_t low = 0;
    int has_low = 0; /* 1: `low` can begin a range */
    for (; p < end && (first || *p != ']'); first = 0) {
        aoe_text name;
        const char *after = class_at(p, end, &name);
        if (after) {
            const int in = in_class(name, c);
            if (in < 0)
                return NULL;
            found |= in;
            has_low = 0;
            p = after;
            continue;
        }
        const int range = *p == '-' && has_low && p + 1 < end && p[1] != ']';
        if (range)
            p++;
        if (*p == '\\' && ++p == end)
            return NULL;
        uint32_t high;
        p += next_char(p, end, &high);
        found |= range ? low <= c && c <= high : c == high;
        low = high;
        has_low = !range;
    }
    *result = found != negated;
    return p < end ? p + 1 : NULL;
}

/* Compares the element of a pattern at *p, which is not *, with the character at s. If they match, moves *p after the
 * element and returns the length of the character in bytes, otherwise 0. */
static size_t match_one(const char **p, const char *p_end, const char *s, const char *s_end) {
    uint32_t c, want;
    const char *q = *p;
    const size_t n = next_char(s, s_end, &c);
    if (*q == '?') {
        *p = q + 1;
        return n;
    }
    if (*q == '[') {
        int in = 0;
        q = match_set(q, p_end, c, &in);
        if (!q || !in)
            return 0;
        *p = q;
        return n;
    }
    if (*q == '\\' && ++q == p_end)
        return 0;
    q += next_char(q, p_end, &want);
    if (c != want)
        return 0;
    *p = q;
    return n;
}

/* ------------------------------------------------------------- segments and paths */

static int match_glob(const char *p, const char *p_end, const char *s, const char *s_end) {
    const char *after_star = NULL; /* pattern after the last * */
    const char *retry = NULL;      /* end of the characters that the last * matches */
    while (s < s_end) {
        if (p < p_end && *p == '*') {
            after_star = ++p;
            retry = s;
            continue;
        }
        const size_t n = p < p_end ? match_one(&p, p_end, s, s_end) : 0;
        if (n) {
            s += n;
        } else if (after_star) {
            uint32_t c;
            retry += next_char(retry, s_end, &c);
            s = retry;
            p = after_star;
        } else {
            return 0;
        }
    }
    while (p < p_end && *p == '*')
        p++;
    return p == p_end;
}

static int match_segment(const aoei_ignore_segment *g, const char *s, size_t len) {
    switch (g->kind) {
    case SEGMENT_LITERAL:
        return g->len == len && memcmp(g->text, s, len) == 0;
    case SEGMENT_SUFFIX:
        return g->len <= len && memcmp(g->text, s + len - g->len, g->len) == 0;
    case SEGMENT_ANY:
        return 1; /* a pattern without slashes; match_path handles the others */
    default:
        return match_glob(g->text, g->text + g->len, s, s + len);
    }
}

/* Returns the length of the path component at s. */
static size_t component(const char *s, const char *end) {
    const char *slash = memchr(s, '/', (size_t)(end - s));
    return slash ? (size_t)(slash - s) : (size_t)(end - s);
}

/* Returns the begin of the component after the one at s, or `end`. */
static const char *next_component(const char *s, const char *end) {
    s += component(s, end);
    return s < end ? s + 1 : end;
}

static int match_path(const aoei_ignore_segment *g, size_t n, const char *s, const char *end) {
    size_t i = 0, after_any = 0; /* segment after the last **; 0: none */
    const char *retry = NULL;    /* end of the components that the last ** matches */
    while (s < end) {
        if (i < n && g[i].kind == SEGMENT_ANY) {
            if (i + 1 == n)
                return 1; /* at the end, ** needs at least one component */
            after_any = ++i;
            retry = s;
            continue;
        }
        if (i < n && match_segment(&g[i], s, component(s, end))) {
            i++;
            s = next_component(s, end);
        } else if (after_any) {
            s = retry = next_component(retry, end);
            i = after_any;
        } else {
            return 0;
        }
    }
    return i == n;
}

aoei_ignore_match aoei_ignore_find(const aoei_ignore *list, aoe_text path, int is_dir) {
    const char *end = path.data + path.len, *name = end;
    while (name > path.data && name[-1] != '/')
        name--;
    for (size_t i = list->n; i-- > 0;) {
        const aoei_ignore_pattern *p = &list->pattern[i];
        if (p->dir_only && !is_dir)
            continue;
        const aoei_ignore_segment *g = list->segment + p->first;
        const int matches =
            p->by_name ? match_segment(g, name, (size_t)(end - name)) : match_path(g, p->n, path.data, end);
        if (matches)
            return p->negated ? AOEI_IGNORE_INCLUDED : AOEI_IGNORE_EXCLUDED;
    }
    return AOEI_IGNORE_NONE;
}

/* ------------------------------------------------------------------------- parser */

/* Returns the length of a line without the spaces at its end. A space after a backslash belongs to the pattern. */
static size_t trimmed_length(aoe_text line) {
    size_t len = 0;
    for (size_t i = 0; i < line.len; i++) {
        if (line.data[i] == '\\' && i + 1 < line.len)
            i++;
        else if (line.data[i] == ' ')
            continue;
        len = i + 1;
    }
    return len;
}

/* Returns the end of the segment at p: the next slash that is not inside a set of characters, or `end`. Sets *kind. A
 * slash after a backslash also ends a segment. Returns NULL if the segment is invalid. */
static const char *segment_end(const char *p, const char *end, segment_kind *kind) {
    const char *begin = p;
    int special = 0, stars = 0;
    while (p < end && *p != '/') {
        if (*p == '[') {
            int in;
            p = match_set(p, end, 0, &in);
            if (!p)
                return NULL;
            special = 1;
            continue;
        }
        if (*p == '\\') {
            if (p + 1 == end)
                return NULL;
            if (p[1] == '/')
                break;
            special = 1;
            p++;
        } else if (*p == '*') {
            stars++;
        } else if (*p == '?') {
            special = 1;
        }
        p++;
    }
    if (stars >= 2 && stars == p - begin)
        *kind = SEGMENT_ANY;
    else if (special || stars > 1 || (stars == 1 && *begin != '*'))
        *kind = SEGMENT_GLOB;
    else
        *kind = stars ? SEGMENT_SUFFIX : SEGMENT_LITERAL;
    return p;
}

/* Appends the segments of a pattern. Returns 1, 0 if the pattern is invalid and matches nothing, or AOE_ENOMEM. */
static int add_segments(aoei_ignore *list, const char *p, const char *end, aoe_error *err) {
    for (;;) {
        segment_kind kind = SEGMENT_LITERAL;
        const char *stop = segment_end(p, end, &kind);
        if (!stop)
            return 0;
        if (aoei_grow((void **)&list->segment, &list->segment_capacity, list->n_segments, sizeof *list->segment))
            return aoei_fail_nomem(err, (list->n_segments + 1) * sizeof *list->segment);
        const size_t star = kind == SEGMENT_SUFFIX;
        list->segment[list->n_segments++] = (aoei_ignore_segment){p + star, (size_t)(stop - p) - star, kind};
        if (stop == end)
            return 1;
        p = stop + (*stop == '\\') + 1;
    }
}

int aoei_ignore_add(aoei_ignore *list, aoe_text line, aoe_error *err) {
    aoei_ignore_pattern pattern = {.first = list->n_segments};
    line.len = trimmed_length(line);
    if (!line.len || *line.data == '#')
        return 0;
    if (line.len > AOEI_IGNORE_LONGEST)
        return aoei_fail(err, AOE_EFORMAT, "a pattern has %zu bytes, but at most %d are supported; shorten it",
                         line.len, AOEI_IGNORE_LONGEST);
    if (*line.data == '!') {
        pattern.negated = 1;
        line = (aoe_text){line.data + 1, line.len - 1};
    }
    if (line.len && line.data[line.len - 1] == '/') {
        pattern.dir_only = 1;
        line.len--;
    }
    if (!line.len)
        return 0;
    pattern.by_name = !memchr(line.data, '/', line.len);
    if (*line.data == '/')
        line = (aoe_text){line.data + 1, line.len - 1};
    if (aoei_grow((void **)&list->pattern, &list->capacity, list->n, sizeof *list->pattern) ||
        !(pattern.text = aoei_strndup(line.data, line.len)))
        return aoei_fail_nomem(err, line.len + sizeof *list->pattern);
    const int code = add_segments(list, pattern.text, pattern.text + line.len, err);
    if (code <= 0) {
        list->n_segments = pattern.first;
        aoei_free(pattern.text);
        return code;
    }
    pattern.n = list->n_segments - pattern.first;
    list->pattern[list->n++] = pattern;
    return 0;
}

int aoei_ignore_add_file(aoei_ignore *list, aoe_text text, const char *name, aoe_error *err) {
    const char *p = text.data, *end = text.data + text.len;
    if (text.len >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    for (size_t number = 1; p < end; number++) {
        const char *lf = memchr(p, '\n', (size_t)(end - p)), *stop = lf ? lf : end;
        const size_t cr = lf && stop > p && stop[-1] == '\r';
        const int code = aoei_ignore_add(list, (aoe_text){p, (size_t)(stop - p) - cr}, err);
        if (code) {
            (void)aoei_error_prefix(err, "%s:%zu", name, number);
            return code;
        }
        p = lf ? lf + 1 : end;
    }
    return 0;
}

void aoei_ignore_free(aoei_ignore *list) {
    for (size_t i = 0; i < list->n; i++)
        aoei_free(list->pattern[i].text);
    aoei_free(list->pattern);
    aoei_free(list->segment);
    *list = (aoei_ignore){.n = 0};
}
