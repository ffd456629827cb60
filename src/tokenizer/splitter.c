/* SPDX-License-Identifier: MIT
 * Splits a text into parts. A part is a match, or the text between two matches. A piece, which the splitter returns,
 * consists of one part or of several merged parts. A piece is returned only after the next part has been found, because
 * this part may have to be merged with the piece.
 */
#include "tokenizer/splitter.h"

#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/unicode.h"

int aoei_split_behavior_read(aoei_split_behavior *b, const char *name, const char *file, aoe_error *err) {
    static const char *const names[] = {[AOEI_SPLIT_REMOVED] = "Removed",
                                        [AOEI_SPLIT_ISOLATED] = "Isolated",
                                        [AOEI_SPLIT_MERGED_WITH_PREVIOUS] = "MergedWithPrevious",
                                        [AOEI_SPLIT_MERGED_WITH_NEXT] = "MergedWithNext",
                                        [AOEI_SPLIT_CONTIGUOUS] = "Contiguous"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            *b = (aoei_split_behavior)i;
            return 0;
        }
    }
    return aoei_fail(
        err, AOE_EUNSUPPORTED,
        "%s: \"behavior\" \"%s\" is not supported (supported: Removed, Isolated, MergedWithPrevious, MergedWithNext, "
        "Contiguous)",
        file, name);
}

static int is_match(aoei_split_at at, uint32_t cp) {
    switch (at) {
    case AOEI_SPLIT_SPACE:
        return aoei_unicode_is_space(cp);
    case AOEI_SPLIT_PUNCTUATION:
        return aoei_unicode_is_punctuation(cp);
    case AOEI_SPLIT_NUMERIC:
        return aoei_unicode_is_numeric(cp);
    case AOEI_SPLIT_WORD:
        return aoei_unicode_is_word(cp);
    default:
        return 0;
    }
}

/* Finds the next matching character and returns 1. Returns 0 if no further character matches. */
static int next_character(aoei_splitter *p) {
    for (size_t i = p->split->at == AOEI_SPLIT_NOWHERE ? p->len : p->at; i < p->len;) {
        uint32_t cp = 0;
        const size_t bytes = aoei_utf8_decode(p->s + i, p->len - i, &cp);
        if (is_match(p->split->at, cp)) {
            p->match_start = i;
            p->match_end = i + bytes;
            return 1;
        }
        i += bytes;
    }
    return 0;
}

/* Finds the next part, s[*start, *end), and sets *match to 1 if the part is a match. Returns 1 if there is a part, 0 at
 * the end of the text, or an error code. */
static int next_part(aoei_splitter *p, size_t *start, size_t *end, int *match, aoe_error *err) {
    if (!p->matched) {
        const int rc = p->split->at == AOEI_SPLIT_PATTERN
                           ? aoei_pattern_next(&p->search, &p->match_start, &p->match_end, err)
                           : next_character(p);
        if (rc < 0)
            return rc;
        if (rc == 0) {
            p->match_start = p->match_end = p->len;
            if (p->at == p->len)
                return 0;
        }
        p->matched = rc;
    }
    *start = p->at;
    *match = p->matched && p->at == p->match_start;
    if (*match)
        p->matched = 0;
    *end = p->at = *match ? p->match_end : p->match_start;
    return 1;
}

void aoei_splitter_begin(aoei_splitter *p, const aoei_split *split, const char *s, size_t len) {
    p->split = split;
    p->s = s;
    p->len = len;
    p->at = 0;
    p->matched = p->has_pending = p->was_match = 0;
    if (split->at == AOEI_SPLIT_PATTERN)
        aoei_pattern_begin(&p->search, &split->pattern, s, len);
}

/* Returns 1 if the next part must be merged with the pending piece. `match` is 1 if the next part is a match. */
static int must_merge(const aoei_splitter *p, int match) {
    switch (p->split->behavior) {
    case AOEI_SPLIT_MERGED_WITH_PREVIOUS:
        return match && !p->was_match;
    case AOEI_SPLIT_MERGED_WITH_NEXT:
        return !match && p->was_match;
    case AOEI_SPLIT_CONTIGUOUS:
        return match == p->was_match;
    default:
        return 0;
    }
}

int aoei_splitter_next(aoei_splitter *p, size_t *start, size_t *end, aoe_error *err) {
    size_t from = 0, to = 0;
    int match = 0, rc;
    while ((rc = next_part(p, &from, &to, &match, err)) > 0) {
        match ^= p->split->invert;
        const int ready = p->has_pending && !must_merge(p, match);
        if (p->has_pending && !ready)
            p->end = to;
        *start = p->start;
        *end = p->end;
        p->was_match = match;
        if (!p->has_pending || ready) {
            p->has_pending = !(match && p->split->behavior == AOEI_SPLIT_REMOVED);
            p->start = from;
            p->end = to;
        }
        if (ready && *start < *end)
            return 1;
    }
    if (rc < 0 || !p->has_pending)
        return rc;
    p->has_pending = 0;
    *start = p->start;
    *end = p->end;
    return *start < *end;
}

void aoei_splitter_end(aoei_splitter *p) {
    aoei_pattern_end(&p->search);
    memset(p, 0, sizeof *p);
}
