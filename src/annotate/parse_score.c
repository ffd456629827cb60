/* SPDX-License-Identifier: MIT
 * Finds the score in the response of a chat model. Every number in the response gets a rank, which depends on the words
 * near the number. The ranks from highest to lowest:
 * - RANK_FINAL: words such as "final score" precede the number.
 * - RANK_NAMED: a word such as "score" or "rating" precedes the number, a suffix such as "/5" or "out of 5" follows the
 *   number, or the response starts with the number and an explanation follows.
 * - RANK_PLAIN: any other number that may be a score.
 * Only the numbers of the highest rank that occurs in the response are used. The response has a score only if all these
 * numbers are equal.
 */
#include "annotate/parse_score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "annotate/phrases.h"
#include "annotate/reply_text.h"

typedef enum rank { RANK_NONE, RANK_PLAIN, RANK_NAMED, RANK_FINAL } rank;

typedef struct search {
    unsigned max_score; /* maximum score */
    rank best;          /* highest rank of the numbers read so far */
    double value;       /* number with the rank `best`; -1 if it is not a valid score */
    int several;        /* 1: different numbers have the rank `best` */
} search;

static void add_candidate(search *s, rank r, double value) {
    if (r < s->best || r == RANK_NONE)
        return;
    if (r == s->best && fabs(value - s->value) > 1e-9)
        s->several = 1;
    if (r > s->best)
        s->several = 0;
    s->best = r;
    s->value = value;
}

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & '\x80');
}

/* Reads a decimal number at the start of s: up to 3 digits, optionally followed by a point or a comma and up to 6
 * digits. Returns the length of the number, or 0 if s does not start with such a number. */
static size_t read_decimal(aoe_text s, double *value) {
    char digits[16];
    size_t n = 0, whole = 0, fraction = 0;
    while (whole < s.len && whole < 4 && is_digit(s.data[whole]))
        digits[n++] = s.data[whole++];
    if (!whole || whole > 3)
        return 0;
    size_t used = whole;
    if (used + 1 < s.len && (s.data[used] == '.' || s.data[used] == ',') && is_digit(s.data[used + 1])) {
        digits[n++] = '.';
        while (++used < s.len && is_digit(s.data[used]) && fraction < 6)
            digits[n + fraction++] = s.data[used];
        n += fraction;
    }
    digits[n] = 0;
    double scale = 1, v = 0;
    int after_point = 0;
    for (size_t i = 0; i < n; i++)
        if (digits[i] == '.')
            after_point = 1;
        else {
            v = 10 * v + (digits[i] - '0');
            scale *= after_point ? 10 : 1;
        }
    *value = v / scale;
    return used;
}

/* Returns s without spaces, Markdown emphasis, quotes, "=" and similar characters at its end. */
static aoe_text trim_end(aoe_text s) {
    while (s.len && strchr(" *_\"'`=:~[{(<>\n", s.data[s.len - 1]))
        s.len--;
    return s;
}

static int ends_with_any(aoe_text s, const char *const *list) {
    for (; *list; list++) {
        const size_t n = strlen(*list);
        if (aoei_text_ends_with(s, *list) && (s.len == n || !is_letter(s.data[s.len - n - 1])))
            return 1;
    }
    return 0;
}

/* Returns 1 if the number after the text `before` cannot be the score. Such a number is, for example, the number of a
 * sentence ("Sentence 1"), or the minimum or maximum of a scale. */
static int is_not_a_score(aoe_text before) {
    static const char *const other_contexts[] = {
        "sentence", "sentences", "text",  "pair",  "step",  "s", "example", "between", "from", "scale of", "scale",
        "than",     "over",      "above", "below", "under", "-", "to",      "and",     "or",   "#",        NULL};
    return ends_with_any(trim_end(before), other_contexts);
}

/* Returns the end of `before`, which is the text before a number. The result starts where the sentence or line of the
 * number starts, and has at most 60 bytes. Spaces, quotes and similar characters at its end (see trim_end) are
 * removed. */
static aoe_text clause(aoe_text before) {
    enum { MOST = 60 };
    const aoe_text s = trim_end(before);
    size_t begin = s.len;
    while (begin && s.len - begin < MOST && !strchr(".!?;\n", s.data[begin - 1]))
        begin--;
    return aoei_text_skip(s, begin);
}

/* Returns the rank of a number, determined by the words that precede the number in its sentence. before: text before
 * the number. */
static rank rank_of(aoe_text before) {
    static const char *const named[] = {"score",
                                        "rating",
                                        "similarity",
                                        "rate ",
                                        "rated",
                                        "give ",
                                        "assign",
                                        "answer",
                                        "label",
                                        "\xE5\x88\x86\xE6\x95\xB0",
                                        "\xE5\xBE\x97\xE5\x88\x86",
                                        "\xE7\x9B\xB8\xE4\xBC\xBC\xE5\xBA\xA6",
                                        "output",
                                        "result",
                                        NULL};
    static const char *const final[] = {"final", "overall", "therefore", "thus", NULL};
    const aoe_text words = clause(before);
    if (!aoei_text_contains_any(words, named))
        return RANK_PLAIN;
    return aoei_text_contains_any(words, final) ? RANK_FINAL : RANK_NAMED;
}

/* Reads a number written in words ("three", "four and a half") at the start of s. A word that only begins like a number
 * word, such as "oneself", is not a number. Returns the length of the number, or 0 if s does not start with a number
 * word. */
static size_t read_word(aoe_text s, double *value) {
    static const char *const words[] = {"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t n = strlen(words[i]);
        if (!aoei_text_starts_with(s, words[i]) || (s.len > n && is_letter(s.data[n])))
            continue;
        const aoe_text rest = aoei_text_skip(s, n);
        const size_t half = aoei_text_starts_with(rest, " and a half")   ? strlen(" and a half")
                            : aoei_text_starts_with(rest, " point five") ? strlen(" point five")
                                                                         : 0;
        *value = (double)i + (half ? 0.5 : 0);
        return n + half;
    }
    return 0;
}

/* Classifies the text after a number. Returns 1 if s starts with "out of MAX" or "/MAX", where MAX is max_score.
 * Returns -1 if s starts with another scale, the second number of a range, or a percent sign. Returns 0 for any other
 * text. Sets *bytes to the length of a suffix such as "out of 5", or to 0 if there is no suffix. */
static int scale_after(aoe_text s, unsigned max_score, size_t *bytes) {
    static const char *const of[] = {"/", "out of", "of", "on a scale of", NULL};
    static const char *const ranges[] = {"-", "\xE2\x80\x93", "\xE2\x80\x94", "to ", "or ", "(or ", "and ", "~", NULL};
    aoe_text rest = s;
    *bytes = 0;
    while (rest.len && strchr(" *_\"", rest.data[0]))
        rest = aoei_text_skip(rest, 1);
    for (size_t i = 0; of[i]; i++) {
        double value;
        size_t at = strlen(of[i]);
        if (!aoei_text_starts_with(rest, of[i]))
            continue;
        while (at < rest.len && rest.data[at] == ' ')
            at++;
        size_t n = read_decimal(aoei_text_skip(rest, at), &value);
        if (!n && i < 2)
            n = read_word(aoei_text_skip(rest, at), &value);
        *bytes = n ? (size_t)(rest.data - s.data) + at + n : 0;
        if (n && fabs(value - max_score) < 1e-9)
            return 1;
        return n && i < 2 ? -1 : 0;
    }
    for (size_t i = 0; ranges[i]; i++)
        if (aoei_text_starts_with(rest, ranges[i])) {
            size_t at = strlen(ranges[i]);
            while (at < rest.len && rest.data[at] == ' ')
                at++;
            return at < rest.len && is_digit(rest.data[at]) ? -1 : 0;
        }
    return aoei_text_starts_with(rest, "%") || aoei_text_starts_with(rest, "percent") ? -1 : 0;
}

/* Returns the length of the digits ("1999") or of the letters ("someone") at the start of s. Returns 1 if s starts with
 * another character. */
static size_t token_length(aoe_text s) {
    size_t n = 0;
    while (n < s.len && (is_digit(s.data[0]) ? is_digit(s.data[n]) : is_letter(s.data[n])))
        n++;
    return n ? n : 1;
}

/* Returns 1 if the clause before the number contains a negation, as in "I would not give it a 4". */
static int is_negated(aoe_text before) {
    static const char *const denials[] = {" not ", "n't ", "n\xE2\x80\x99t ", " never ", " cannot ", " neither ", NULL};
    static const char *const clause_starts[] = {" so ",    " but ",  " and ",       " because ", " since ",
                                                " hence ", " thus ", " therefore ", NULL};
    const char *end = before.data + before.len, *data = clause(before).data;
    /* `words` is the result of clause(), followed by the characters that clause() has removed at its end */
    const aoe_text words = {data, (size_t)(end - data)};
    size_t begin = 0;
    for (size_t i = 0; i < words.len; i++)
        if (strchr(",:(=", words.data[i]) || aoei_text_starts_with_any(aoei_text_skip(words, i), clause_starts))
            begin = i;
    return aoei_text_contains_any(aoei_text_skip(words, begin), denials);
}

/* Returns 1 if the response starts with this number and an explanation follows, as in "4 (one has 3 dogs)". before,
 * after: text of the response before and after the number. */
static int is_leading(aoe_text before, aoe_text after) {
    static const char *const hedges[] = {"or ", "maybe", "perhaps", "possibly", NULL};
    size_t n = 0;
    if (trim_end(before).len)
        return 0;
    while (n < after.len && strchr(" *_\"'`", after.data[n]))
        n++;
    const aoe_text rest = aoei_text_skip(after, n);
    if (rest.len && !strchr("(,;:-\n", rest.data[0]) && !aoei_text_starts_with(rest, "\xE2\x80\x93") &&
        !aoei_text_starts_with(rest, "\xE2\x80\x94"))
        return 0;
    for (n = 0; n < rest.len && !is_digit(rest.data[n]); n++)
        if (is_letter(rest.data[n]) && !(rest.data[n] & '\x80'))
            return !aoei_text_starts_with_any(aoei_text_skip(rest, n), hedges);
    return 0;
}

/* Returns 1 if a number word may be a score. Returns 0 if the word only says how many things there are, as in "these
 * two sentences". before, rest: text before and after the word; r: rank of the word. */
static int is_word_position(aoe_text before, aoe_text rest, rank r) {
    static const char *const determiners[] = {"the", "these", "those", "both", NULL};
    if (!aoei_text_has_word(before) && !aoei_text_has_word(rest))
        return 1;
    return r != RANK_PLAIN && !ends_with_any(trim_end(before), determiners) &&
           !(rest.len > 1 && rest.data[0] == ' ' && is_letter(rest.data[1])) && !(rest.len && rest.data[0] == '-');
}

/* If a number starts at offset i of the text, determines its rank and adds it to the candidates for the score. Returns
 * the length of the number, or the number of bytes to skip if no number starts at i. */
static size_t evaluate_number(search *s, aoe_text text, size_t i) {
    const aoe_text here = aoei_text_skip(text, i), before = {text.data, i};
    double value;
    size_t suffix, n = read_decimal(here, &value);
    const int word = !n;
    if (word)
        n = read_word(here, &value);
    if (!n)
        return token_length(here);
    const aoe_text after = aoei_text_skip(here, n);
    const int scale = scale_after(after, s->max_score, &suffix);
    rank r = rank_of(before);
    if (scale > 0)
        r = r < RANK_NAMED ? RANK_NAMED : r;
    else if (is_not_a_score(before) || (word && !is_word_position(before, after, r)))
        return n;
    else if (r < RANK_NAMED && is_leading(before, after))
        r = RANK_NAMED;
    const int negative = i > 0 && text.data[i - 1] == '-' && (i == 1 || !is_letter(text.data[i - 2]));
    /* an invalid number in the position of a score is added as -1, which makes the outcome AOEI_SCORE_AMBIGUOUS */
    if (scale < 0 || negative || value > s->max_score || is_negated(before))
        value = -1;
    add_candidate(s, r, value);
    return n + suffix;
}

/* Returns the length of a description of the scale at the start of s, such as "0 to 5" or "0-5", or 0 if s starts
 * differently.
 */
static size_t scale_description_length(aoe_text s, unsigned max_score) {
    static const char *const between[] = {"-", " - ", " to ", "\xE2\x80\x93", " and ", "~", " (not similar at all) to ",
                                          NULL};
    double low, high;
    const size_t n = read_decimal(s, &low);
    if (!n || low > 1)
        return 0;
    const aoe_text rest = aoei_text_skip(s, n);
    for (size_t i = 0; between[i]; i++) {
        const size_t at = strlen(between[i]);
        const size_t m = aoei_text_starts_with(rest, between[i]) ? read_decimal(aoei_text_skip(rest, at), &high) : 0;
        if (m && fabs(high - max_score) < 1e-9)
            return n + at + m;
    }
    return 0;
}

int aoei_parse_score(aoei_score_outcome *outcome, double *score, aoe_text reply, unsigned max_score) {
    aoei_buffer plain = {0};
    search s = {.max_score = max_score};
    *outcome = AOEI_SCORE_AMBIGUOUS;
    int rc = aoei_reply_plain(&plain, reply);
    if (!rc && plain.len) {
        const aoe_text text = aoei_text_trim(aoei_reply_unfence((aoe_text){plain.data, plain.len}, NULL));
        for (size_t i = 0; i < text.len;) {
            const aoe_text here = aoei_text_skip(text, i);
            const size_t described = scale_description_length(here, max_score);
            i += described ? described : evaluate_number(&s, text, i);
        }
        if (s.best != RANK_NONE && !s.several && s.value >= 0) {
            *score = s.value;
            *outcome = AOEI_SCORE_FOUND;
        } else if (s.best == RANK_NONE && aoei_is_refusal(text)) {
            *outcome = AOEI_SCORE_REFUSED;
        }
    }
    aoei_buffer_free(&plain);
    return rc;
}
