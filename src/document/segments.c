/* SPDX-License-Identifier: MIT
 * Divides lines into segments (segments.h). Lines of prose are divided at the ends of sentences. A segment of more than
 * PIECE bytes is divided at spaces, or between characters if there are none.
 */
#include "document/segments.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"

enum {
    PIECE = 256,         /* longest segment in bytes, if its tokens permit */
    SHORT_SENTENCE = 24, /* bytes; a shorter sentence is joined with the next one */
    TOKEN = 16,          /* bytes that count as one token at least */
    NEWLINES = 2,        /* newlines that are counted with the segment before them */
    GAP = 4096,          /* bytes of a longer gap that are counted */
};

typedef struct filler {
    aoei_segments *s;
    const aoei_outline *o;
    size_t piece, longest; /* limits of a segment in bytes and tokens */
    aoei_count_tokens_fn count;
    void *user;
    uint64_t total; /* tokens so far */
    aoe_error *err;
} filler;

/* Moves a position in the text to the beginning of the character that contains it. */
static size_t character_start(const char *s, size_t at, size_t lowest) {
    while (at > lowest && ((unsigned char)s[at] & 0xC0) == 0x80)
        at--;
    return at;
}

/* Position in (start, end) at which a long text is divided, near start + size: after a space, or between characters. */
static size_t cut_position(const char *s, size_t start, size_t end, size_t size) {
    const size_t most = start + size;
    for (size_t at = most; at > start + size / 2; at--)
        if (s[at - 1] == ' ' || s[at - 1] == '\t')
            return at;
    for (size_t at = most; at > start + size / 2; at--)
        if (strchr(";,}>)|&/", s[at - 1]) && s[at - 1])
            return at;
    size_t at = character_start(s, most, start);
    if (at == start) /* one character is longer than size */
        for (at = start + 1; at < end && ((unsigned char)s[at] & 0xC0) == 0x80;)
            at++;
    return at;
}

/* Counts the tokens of the segment text[start, end), with up to NEWLINES newlines after it, which are tokens in some
 * models, but without spaces at the end. */
static int count_segment(filler *f, size_t start, size_t end, size_t *tokens) {
    const char *s = f->o->text.data;
    const size_t least = (end - start + TOKEN - 1) / TOKEN;
    size_t counted = end - start;
    for (size_t i = end, lines = 0; i < f->o->text.len && i < end + PIECE && lines < NEWLINES; i++) {
        if (s[i] == '\n') {
            counted = i + 1 - start;
            lines++;
        } else if (s[i] != ' ' && s[i] != '\t') {
            break;
        }
    }
    const int rc = f->count(f->user, (aoe_text){s + start, counted}, tokens, f->err);
    if (!rc && *tokens < least)
        *tokens = least;
    return rc;
}

static int append_segment(filler *f, aoei_segment segment, size_t tokens) {
    aoei_segments *s = f->s;
    if (s->n >= UINT32_MAX - 1)
        return aoei_fail(f->err, AOE_EUNSUPPORTED, "the document has more than 2^32 parts; divide it");
    if (aoei_grow((void **)&s->segment, &s->capacity, s->n + 1, sizeof *s->segment))
        return aoei_fail_nomem(f->err, s->n * sizeof *s->segment);
    s->segment[s->n++] = segment;
    f->total += tokens;
    return 0;
}

/* Appends the segment text[start, end), divided if it has too many bytes or tokens. White space at its end is not a
 * part of the segment. */
static int add_segment(filler *f, size_t line, size_t start, size_t end, uint32_t weight) {
    const char *s = f->o->text.data;
    size_t tokens = 0, at = end;
    const size_t whole = end;
    while (end > start && (s[end - 1] == ' ' || s[end - 1] == '\t'))
        end--;
    f->total += (whole - end) / TOKEN;
    if (aoei_utf8_is_blank(s + start, end - start)) {
        f->total += (end - start) / TOKEN;
        return 0;
    }
    if (end - start <= f->piece) {
        const int rc = count_segment(f, start, end, &tokens);
        if (rc)
            return rc;
        if (tokens > f->longest && end - start > 1)
            at = cut_position(s, start, end, (end - start) / 2);
        if (at >= end)
            return append_segment(f, (aoei_segment){(uint32_t)start, (uint32_t)end, (uint32_t)line, weight, f->total},
                                  tokens);
        const int failed = add_segment(f, line, start, at, weight);
        return failed ? failed : add_segment(f, line, at, end, AOEI_BREAK_BAD);
    }
    for (; start < end; start = at, weight = AOEI_BREAK_BAD) {
        at = end - start > f->piece ? cut_position(s, start, end, f->piece) : end;
        const int failed = add_segment(f, line, start, at, weight);
        if (failed)
            return failed;
    }
    return 0;
}

/* Returns 1 if the word that ends at the period s[at] is an abbreviation: one letter, or a common one. */
static int is_abbreviation(const char *s, size_t start, size_t at) {
    static const char *const known[] = {"Dr",  "Mr",  "Mrs", "Ms", "Prof", "St",  "Fig",    "fig",
                                        "No",  "no",  "vs",  "Nr", "cf",   "etc", "approx", "e.g",
                                        "i.e", "z.B", "bzw", "ca", "Vol",  "pp",  "Sec"};
    size_t word = at;
    while (word > start && s[word - 1] != ' ' && s[word - 1] != '(')
        word--;
    if (at - word <= 1)
        return 1;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i]) == at - word && memcmp(known[i], s + word, at - word) == 0)
            return 1;
    return 0;
}

/* Returns the end of the sentence that begins at `start`, with the space after it, or `end`. */
static size_t sentence_end(const char *s, size_t start, size_t end) {
    for (size_t i = start; i + 1 < end; i++) {
        const unsigned char c = (unsigned char)s[i];
        if (c < 0x80 ? !strchr(".!?", c) || !c : c != 0xE3 && c != 0xEF)
            continue;
        if (c >= 0x80) { /* CJK full stop, exclamation mark and question mark; no space follows them */
            if (i + 3 < end &&
                (!memcmp(s + i, "\xE3\x80\x82", 3) || !memcmp(s + i, "\xEF\xBC\x81", 3) ||
                 !memcmp(s + i, "\xEF\xBC\x9F", 3)) &&
                i + 3 - start >= SHORT_SENTENCE)
                return i + 3;
            continue;
        }
        size_t at = i + 1;
        while (at < end && strchr(")]\"'*_`", s[at]) && s[at])
            at++;
        if (at >= end || s[at] != ' ')
            continue;
        while (at < end && s[at] == ' ')
            at++;
        const int lowercase = at < end && s[at] >= 'a' && s[at] <= 'z';
        if (at < end && !lowercase && at - start >= SHORT_SENTENCE && !(c == '.' && is_abbreviation(s, start, i)))
            return at;
    }
    return end;
}

/* Counts the blank lines before line i, if there is more than one. */
static int add_gap(filler *f, size_t i) {
    const size_t start = i ? (size_t)f->o->line[i - 1].start + f->o->line[i - 1].len : 0;
    const size_t gap = f->o->line[i].start - start;
    size_t tokens;
    if (i == 0 || gap <= NEWLINES)
        return 0;
    const aoe_text text = {f->o->text.data + start, gap < GAP ? gap : GAP};
    const int rc = f->count(f->user, text, &tokens, f->err);
    f->total += rc ? 0 : tokens;
    return rc;
}

static int add_line(filler *f, size_t i) {
    const aoei_outline_line *line = &f->o->line[i];
    const size_t end = (size_t)line->start + line->len;
    uint32_t weight = line->weight;
    const int failed = add_gap(f, i);
    if (failed)
        return failed;
    for (size_t start = line->start; start < end;) {
        const int prose = line->flags & AOEI_LINE_PROSE && !(line->flags & AOEI_LINE_HEADING);
        const size_t at = prose ? sentence_end(f->o->text.data, start, end) : end;
        const int rc = add_segment(f, i, start, at, weight);
        if (rc)
            return rc;
        start = at;
        weight = AOEI_BREAK_SENTENCE;
    }
    return 0;
}

int aoei_segments_fill(aoei_segments *s, const aoei_outline *o, size_t longest, aoei_count_tokens_fn count, void *user,
                       aoe_error *err) {
    filler f = {s, o, longest < PIECE ? longest : PIECE, longest, count, user, 0, err};
    s->block_start = aoei_calloc((size_t)o->n_blocks + 2, sizeof *s->block_start);
    s->block_end = aoei_calloc((size_t)o->n_blocks + 2, sizeof *s->block_end);
    if (!s->block_start || !s->block_end ||
        aoei_grow((void **)&s->segment, &s->capacity, o->n_lines, sizeof *s->segment))
        return aoei_fail_nomem(err, o->n_lines * sizeof *s->segment);
    for (size_t i = 0; i < o->n_lines; i++) {
        const uint32_t block = o->line[i].block;
        if (block && !s->block_end[block])
            s->block_start[block] = (uint32_t)s->n;
        const int rc = add_line(&f, i);
        if (rc)
            return rc;
        if (block)
            s->block_end[block] = (uint32_t)s->n;
    }
    s->segment[s->n] = (aoei_segment){.start = (uint32_t)o->text.len,
                                      .end = (uint32_t)o->text.len,
                                      .line = (uint32_t)o->n_lines,
                                      .weight = AOEI_BREAK_HEADING,
                                      .before = f.total};
    return 0;
}

void aoei_segments_free(aoei_segments *s) {
    aoei_free(s->segment);
    aoei_free(s->block_start);
    aoei_free(s->block_end);
    *s = (aoei_segments){0};
}
