/* SPDX-License-Identifier: MIT
 * Cleans the sentences that a chat model wrote, and stores them in a list. Labels, quotes, comments and tags around a
 * sentence are removed repeatedly, until nothing more can be removed.
 */
#include "annotate/sentences.h"

#include <string.h>

#include "base/alloc.h"
#include "annotate/reply_text.h"

/* Beginnings of the labels before text that is not a requested sentence, such as "Input:". */
static const char *const echoes[] = {"input",
                                     "given sentence",
                                     "given input",
                                     "original",
                                     "source sentence",
                                     "note",
                                     "notes",
                                     "explanation",
                                     "reason",
                                     "reasoning",
                                     "meaning",
                                     "comment",
                                     "disclaimer",
                                     "context",
                                     "\xE8\xBE\x93\xE5\x85\xA5", /* 输入 */
                                     "\xE5\x8E\x9F\xE5\x8F\xA5", /* 原句 */
                                     "\xE6\xB3\xA8\xE6\x84\x8F", /* 注意 */
                                     "\xE8\xA7\xA3\xE9\x87\x8A", /* 解释 */
                                     NULL};
/* Words in the labels before a requested sentence, such as "Output:". */
static const char *const announces[] = {"output",
                                        "synonym",
                                        "antonym",
                                        "opposite",
                                        "same-meaning",
                                        "same meaning",
                                        "paraphrase",
                                        "rephrase",
                                        "rewritten",
                                        "sentence",
                                        "answer",
                                        "result",
                                        "response",
                                        "version",
                                        "option",
                                        "variation",
                                        "alternative",
                                        "negation",
                                        "contradiction",
                                        "generated",
                                        "positive",
                                        "negative",
                                        "\xE8\xBE\x93\xE5\x87\xBA" /* 输出 */,
                                        "\xE5\x90\x8C\xE4\xB9\x89" /* 同义 */,
                                        "\xE5\x8F\x8D\xE4\xB9\x89" /* 反义 */,
                                        NULL};

enum { MAX_LABEL = 40, MAX_SENTENCE = 16384 };

/* Returns the length of the label at the start of s, including its colon, and sets *label to the text before the colon.
 * Returns 0 if there is no label. A label is a short text and a colon, and may be emphasized. A space, a quote or the
 * end of s follows the colon. */
static size_t label_bytes(aoe_text s, aoe_text *label) {
    static const char *const marks = "*_#> ";
    size_t begin = 0, i;
    while (begin < s.len && strchr(marks, s.data[begin]))
        begin++;
    for (i = begin; i < s.len && i < begin + MAX_LABEL; i++) {
        const aoe_text at = aoei_text_skip(s, i);
        const size_t colon = at.data[0] == ':' ? 1 : aoei_text_starts_with(at, "\xEF\xBC\x9A") ? 3 : 0;
        if (strchr(".!?\"", at.data[0]))
            return 0;
        if (!colon)
            continue;
        size_t end = i + colon;
        while (end < s.len && (s.data[end] == '*' || s.data[end] == '_'))
            end++;
        if (colon == 1 && end < s.len && s.data[end] != ' ' && s.data[end] != '"')
            return 0;
        *label = (aoe_text){s.data + begin, i - begin};
        while (label->len && strchr("*_ ", label->data[label->len - 1]))
            label->len--;
        return end;
    }
    return 0;
}

int aoei_is_echo(aoe_text line) {
    aoe_text label;
    return label_bytes(line, &label) && aoei_text_starts_with_any(label, echoes);
}

aoe_text aoei_strip_label(aoe_text s) {
    aoe_text label;
    const size_t n = label_bytes(s, &label);
    return n && aoei_text_contains_any(label, announces) ? aoei_text_trim(aoei_text_skip(s, n)) : s;
}

/* Returns 1 if the text is only a placeholder such as "Sentence 1". */
static int is_heading(aoe_text s) {
    size_t n = s.len;
    while (n && s.data[n - 1] >= '0' && s.data[n - 1] <= '9')
        n--;
    return n && n < s.len && n <= MAX_LABEL && strchr(" #", s.data[n - 1]) && !memchr(s.data, '.', n) &&
           aoei_text_starts_with_any(s, announces);
}

size_t aoei_quote_bytes(aoe_text s, size_t *at_end) {
    static const char *const pairs[][2] = {{"\"", "\""},
                                           {"``", "''"},
                                           {"''", "''"},
                                           {"'", "'"},
                                           {"`", "`"},
                                           {"\xE2\x80\x9C", "\xE2\x80\x9D"}, /* “ ” */
                                           {"\xE2\x80\x9D", "\xE2\x80\x9D"}, /* ” ” */
                                           {"\xE2\x80\x9E", "\xE2\x80\x9C"}, /* „ “ */
                                           {"\xE2\x80\x9E", "\xE2\x80\x9D"}, /* „ ” */
                                           {"\xE2\x80\x98", "\xE2\x80\x99"}, /* ‘ ’ */
                                           {"\xE2\x80\x9A", "\xE2\x80\x98"}, /* ‚ ‘ */
                                           {"\xC2\xAB", "\xC2\xBB"},         /* « » */
                                           {"\xC2\xBB", "\xC2\xAB"},         /* » « */
                                           {"\xE3\x80\x8C", "\xE3\x80\x8D"}, /* 「」 */
                                           {"\xE3\x80\x8E", "\xE3\x80\x8F"}, /* 『』 */
                                           {"\xE3\x80\x8A", "\xE3\x80\x8B"}, /* 《》 */
                                           {"***", "***"},
                                           {"**", "**"},
                                           {"__", "__"},
                                           {"*", "*"},
                                           {"_", "_"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const size_t a = strlen(pairs[i][0]), b = strlen(pairs[i][1]);
        if (s.len <= a + b || !aoei_text_starts_with(s, pairs[i][0]) || !aoei_text_ends_with(s, pairs[i][1]))
            continue;
        const aoe_text inside = {s.data + a, s.len - a - b};
        /* if the closing quote also occurs inside, s is not quoted as a whole, as in "Yes," he said, "I will." An
         * apostrophe may occur inside, as in 'it's true'. */
        const int apostrophe = b == 1 && pairs[i][1][0] == '\'';
        if (!apostrophe && memmem(inside.data, inside.len, pairs[i][1], b))
            continue;
        *at_end = b;
        return a;
    }
    return 0;
}

/* ---- cleaning */

static aoe_text strip_quotes(aoe_text s) {
    size_t b;
    const size_t a = aoei_quote_bytes(s, &b);
    return a ? aoei_text_trim((aoe_text){s.data + a, s.len - a - b}) : s;
}

/* Removes a comma or a semicolon after a quoted text. Removes a full stop after a quoted text if the quoted text itself
 * ends with a full stop or similar punctuation. */
static aoe_text strip_mark_after_quotes(aoe_text s) {
    static const char *const quotes[] = {"\"", "\xE2\x80\x9D", "'", "\xC2\xBB", "\xE3\x80\x8D", NULL};
    if (s.len < 2 || !strchr(",;.", s.data[s.len - 1]))
        return s;
    const aoe_text shorter = {s.data, s.len - 1};
    for (size_t i = 0; quotes[i]; i++) {
        size_t b;
        if (!aoei_text_ends_with(shorter, quotes[i]) || !aoei_quote_bytes(shorter, &b))
            continue;
        if (s.data[s.len - 1] != '.' || aoei_text_ends_sentence(shorter))
            return shorter;
    }
    return s;
}

/* Removes a comment in parentheses after the end of the sentence: "It rains. (more formal)". */
static aoe_text strip_comment(aoe_text s) {
    if (!s.len || s.data[s.len - 1] != ')')
        return s;
    for (size_t i = s.len - 1; i > 1; i--)
        if (s.data[i] == '(') {
            const aoe_text before = aoei_text_trim((aoe_text){s.data, i});
            return s.data[i - 1] == ' ' && aoei_text_ends_sentence(before) ? before : s;
        }
    return s;
}

/* Removes a comment after a dash: "It rains. - same meaning". If the text before the dash does not end like a sentence,
 * the comment is removed only if it contains a phrase such as "synonym" or "passive voice". */
static aoe_text strip_dash_comment(aoe_text s) {
    static const char *const dashes[] = {" - ", " \xE2\x80\x93 ", " \xE2\x80\x94 "};
    static const char *const subjects[] = {
        "same meaning", "synonym",   "antonym",      "opposite meaning", "more formal",  "less formal", "more informal",
        "rephras",      "paraphras", "the original", "passive voice",    "active voice", "word order",  NULL};
    for (size_t i = s.len; i-- > 1;)
        for (size_t d = 0; d < sizeof dashes / sizeof *dashes; d++) {
            const aoe_text here = aoei_text_skip(s, i);
            if (!aoei_text_starts_with(here, dashes[d]))
                continue;
            const aoe_text before = {s.data, i}, comment = aoei_text_skip(here, strlen(dashes[d]));
            const int small = comment.len && comment.data[0] >= 'a' && comment.data[0] <= 'z';
            return (small && aoei_text_ends_sentence(before)) || aoei_text_contains_any(comment, subjects) ? before : s;
        }
    return s;
}

/* Removes an opening and a closing tag such as <sentence> and </sentence> around the text. */
static aoe_text strip_tags(aoe_text s) {
    if (s.len < 7 || s.data[0] != '<' || s.data[s.len - 1] != '>')
        return s;
    const char *end = memchr(s.data, '>', s.len), *last = memrchr(s.data, '<', s.len);
    if (!end || end >= last || last[1] != '/')
        return s;
    return aoei_text_trim((aoe_text){end + 1, (size_t)(last - end - 1)});
}

static aoe_text clean(aoe_text s) {
    s = aoei_text_trim(s);
    for (size_t before = s.len + 1; s.len && s.len < before;) {
        before = s.len;
        s = strip_tags(strip_quotes(strip_mark_after_quotes(strip_dash_comment(strip_comment(aoei_strip_label(s))))));
    }
    return s;
}

static int is_placeholder(aoe_text s) {
    const char first = s.data[0], last = s.data[s.len - 1];
    return (first == '[' && last == ']') || (first == '<' && last == '>') || (first == '{' && last == '}');
}

/* Appends the text to `out`. Several spaces and line ends in succession become one space, and "**" is removed. */
static int append_clean(aoei_buffer *out, aoe_text s) {
    for (size_t i = 0; i < s.len; i++) {
        const char c = s.data[i];
        if ((c == ' ' || c == '\n') && i && (s.data[i - 1] == ' ' || s.data[i - 1] == '\n'))
            continue;
        if (c == '*' && i + 1 < s.len && s.data[i + 1] == '*') {
            i++;
            continue;
        }
        (void)aoei_buffer_putc(out, c == '\n' ? ' ' : c);
    }
    return out->failed ? AOE_ENOMEM : 0;
}

aoe_text aoei_sentences_item(const aoei_sentences *l, size_t i) {
    const size_t begin = i ? l->end[i - 1] : 0;
    return (aoe_text){l->text.data + begin, l->end[i] - begin};
}

int aoei_sentences_add(aoei_sentences *l, aoe_text raw) {
    const size_t begin = l->text.len;
    if (l->n >= l->max_sentences || raw.len > MAX_SENTENCE || aoei_is_echo(aoei_text_trim(raw)))
        return 0;
    const aoe_text s = clean(raw);
    if (!aoei_text_has_word(s) || is_placeholder(s) || is_heading(s))
        return 0;
    if (append_clean(&l->text, s) || aoei_grow((void **)&l->end, &l->capacity, l->n, sizeof *l->end))
        return AOE_ENOMEM;
    l->end[l->n] = l->text.len;
    const aoe_text added = aoei_sentences_item(l, l->n);
    for (size_t i = 0; i < l->n; i++) {
        const aoe_text other = aoei_sentences_item(l, i);
        if (other.len == added.len && memcmp(other.data, added.data, added.len) == 0) {
            l->text.len = begin;
            l->repeated++;
            return 0;
        }
    }
    l->n++;
    return 0;
}

void aoei_sentences_clear(aoei_sentences *l) {
    aoei_buffer_clear(&l->text);
    l->n = l->repeated = 0;
}

void aoei_sentences_free(aoei_sentences *l) {
    aoei_buffer_free(&l->text);
    aoei_free(l->end);
    *l = (aoei_sentences){0};
}
