/* SPDX-License-Identifier: MIT
 * Extracts the requested sentences from the response of a chat model. The response is first converted to plain text
 * without code fences. The parser then tries several formats and uses the first one in which it finds sentences. It
 * tries JSON, then Markdown tables, then lines with markers such as "1." or "- ", then plain lines. Lines with markers
 * form a list if the markers are of one kind and their numbers increase.
 */
#include "annotate/parse_sentences.h"

#include <string.h>

#include "base/alloc.h"
#include "annotate/parse_json.h"
#include "annotate/list_marker.h"
#include "annotate/phrases.h"
#include "annotate/reply_text.h"

typedef struct line {
    aoe_text text;      /* text of the line without white space at both ends */
    size_t indent;      /* number of leading spaces */
    aoei_marker marker; /* marker at the start of the text */
} line;

typedef struct lines {
    line *line; /* [n] the lines of the response that are not blank, owned */
    size_t n, capacity;
    const char *end; /* end of the text that contains the lines */
    int truncated;   /* 1: the response was truncated at the token limit */
} lines;

/* Returns 1 if item 1 in line i is followed by item 2. If there is a next line, it must start with item 2. If line i is
 * the last line, item 2 must be in `text`, the part of line i that starts with item 1. */
static int has_item_two(const lines *l, size_t i, aoe_text text) {
    if (i + 1 < l->n)
        return l->line[i + 1].marker.kind == AOEI_MARKER_NUMBER && l->line[i + 1].marker.number == 2;
    for (size_t k = 1; k < text.len; k++)
        if (text.data[k - 1] == ' ' && aoei_text_starts_with(aoei_text_skip(text, k), "2"))
            if (aoei_marker_read(aoei_text_skip(text, k)).kind == AOEI_MARKER_NUMBER)
                return 1;
    return 0;
}

/* Splits a line such as "Yes! 1. A" into the lines "Yes!" and "1. A" if an item such as "2. B" follows. */
static int split_introduction(lines *l) {
    for (size_t i = 0; i < l->n; i++) {
        const aoe_text s = l->line[i].text;
        for (size_t k = 2; k < s.len && l->line[i].marker.kind == AOEI_MARKER_NONE; k++) {
            if (s.data[k - 1] != ' ' || !strchr(".!?:", s.data[k - 2]) || !memchr("1(*", s.data[k], 3))
                continue;
            const aoe_text item = aoei_text_skip(s, k);
            const aoei_marker m = aoei_marker_read(item);
            if (m.kind != AOEI_MARKER_NUMBER || m.number != 1)
                continue;
            if (!has_item_two(l, i, item)) /* if the first "1." of a line has no item 2 after it, the line is not
                                              split */
                break;
            if (aoei_grow((void **)&l->line, &l->capacity, l->n, sizeof *l->line))
                return AOE_ENOMEM;
            memmove(l->line + i + 1, l->line + i, (l->n - i) * sizeof *l->line);
            l->n++;
            l->line[i].text = aoei_text_trim((aoe_text){s.data, k});
            l->line[i + 1] = (line){item, 0, m};
            return 0;
        }
    }
    return 0;
}

static int split_lines(lines *l, aoe_text text, int truncated) {
    aoe_text rest = text, one;
    *l = (lines){.end = text.data + text.len, .truncated = truncated};
    while (aoei_text_next_line(&rest, &one)) {
        const aoe_text trimmed = aoei_text_trim(one);
        if (!trimmed.len)
            continue;
        if (aoei_grow((void **)&l->line, &l->capacity, l->n, sizeof *l->line))
            return AOE_ENOMEM;
        l->line[l->n++] = (line){trimmed, (size_t)(trimmed.data - one.data), aoei_marker_read(trimmed)};
    }
    return l->line ? split_introduction(l) : 0;
}

/* Returns 1 if the text is an incomplete sentence at the end of a truncated response. */
static int is_unfinished(const lines *l, aoe_text text) {
    const aoe_text rest = {text.data + text.len, (size_t)(l->end - (text.data + text.len))};
    return l->truncated && !aoei_text_trim(rest).len && !aoei_text_ends_sentence(text);
}

static int add(aoei_sentences *list, const lines *l, aoe_text text) {
    return is_unfinished(l, text) ? 0 : aoei_sentences_add(list, text);
}

/* ---- lines with markers */

/* Returns 1 if the line may be the next item of a list whose markers have this kind. last: number of the previous item,
 * or 0 before the first item. Sets *number to the number of this item. */
static int follows(const line *x, aoei_marker_kind kind, size_t last, size_t *number) {
    const aoei_marker *m = &x->marker;
    *number = m->number;
    if (kind == AOEI_MARKER_BULLET)
        return m->kind == kind;
    if (kind == AOEI_MARKER_LETTER && m->kind == AOEI_MARKER_ROMAN && m->letter)
        *number = m->letter;
    else if (m->kind != kind)
        return 0;
    if (*number == last + 1 || *number == 1)
        return 1;
    /* a list may start at 0 and may skip up to two numbers */
    return kind != AOEI_MARKER_BARE && (last ? *number > last && *number <= last + 3 : *number == 0);
}

static int is_heading(aoe_text s) {
    return aoei_text_ends_with(s, ":") || aoei_text_ends_with(s, ":**") || aoei_text_ends_with(s, "\xEF\xBC\x9A") ||
           aoei_text_starts_with(s, "#") || (aoei_text_starts_with(s, "**") && aoei_text_ends_with(s, "**"));
}

/* Returns the index of the line at which the list of this kind ends. A heading after the first item ends the list if a
 * second list of this kind follows the heading. Bullets after the heading are a second list, and so are numbers that
 * start again. If there is no such heading, the list ends at l->n. */
static size_t list_end(const lines *l, aoei_marker_kind kind) {
    size_t last = 0, number, items = 0, heading = 0;
    for (size_t i = 0; i < l->n; i++) {
        const aoe_text s = l->line[i].text;
        if (!follows(&l->line[i], kind, last, &number)) {
            heading = items && !heading && is_heading(s) ? i : heading;
            continue;
        }
        if (heading && (kind == AOEI_MARKER_BULLET || number <= last))
            return heading;
        items += !is_heading(aoei_text_skip(s, l->line[i].marker.bytes));
        last = number;
        heading = 0;
    }
    return l->n;
}

/* Returns the number of items in the list of this kind. Headings such as "1. Synonyms:" are not counted. */
static size_t count_list(const lines *l, aoei_marker_kind kind) {
    const size_t end = list_end(l, kind);
    size_t n = 0, last = 0, number;
    for (size_t i = 0; i < end; i++)
        if (follows(&l->line[i], kind, last, &number)) {
            last = number;
            n += !aoei_text_ends_with(l->line[i].text, ":") || l->line[i].text.len == l->line[i].marker.bytes;
        }
    return n;
}

static aoei_marker_kind choose_kind(const lines *l) {
    static const struct {
        aoei_marker_kind kind;
        /* minimum number of items of a list; fewer lines of this kind may be sentences whose first word looks like a
         * marker */
        size_t least;
    } order[] = {{AOEI_MARKER_NUMBER, 1}, {AOEI_MARKER_LABEL, 1},  {AOEI_MARKER_ROMAN, 2},
                 {AOEI_MARKER_LETTER, 2}, {AOEI_MARKER_BULLET, 1}, {AOEI_MARKER_BARE, 2}};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (count_list(l, order[i].kind) >= order[i].least)
            return order[i].kind;
    return AOEI_MARKER_NONE;
}

/* Adds the text after the marker with the number `number`. The text may contain further items: if "A 2. B 3. C" follows
 * marker 1, the sentences A, B and C are added. */
static int add_inline(aoei_sentences *list, const lines *l, aoe_text text, size_t number) {
    for (size_t i = 1; i < text.len; i++) {
        const aoe_text here = aoei_text_skip(text, i);
        if (text.data[i - 1] != ' ' || here.data[0] == ' ')
            continue;
        const aoei_marker m = aoei_marker_read(here);
        if (m.kind != AOEI_MARKER_NUMBER || m.number != number + 1 || here.data[0] == '-')
            continue;
        const int rc = add(list, l, (aoe_text){text.data, i});
        return rc ? rc : add_inline(list, l, aoei_text_skip(here, m.bytes), m.number);
    }
    return add(list, l, text);
}

/* Returns 1 if line i belongs to the previous item. This is the case if `item`, the text of the previous item, is still
 * empty, or if line i continues a wrapped line. indent: indentation of the line with the item's marker. */
static int continues(const lines *l, size_t i, aoe_text item, size_t indent) {
    if (i >= l->n)
        return 0;
    const line *x = &l->line[i];
    if (!item.len)
        return x->marker.kind == AOEI_MARKER_NONE || x->marker.kind == AOEI_MARKER_BARE;
    if (x->marker.kind != AOEI_MARKER_NONE || aoei_text_ends_sentence(item) || aoei_is_remark(x->text))
        return 0;
    const char *gap = item.data + item.len;
    const size_t between = (size_t)(x->text.data - gap);
    const char *first = memchr(gap, '\n', between);
    const int blank = first && memchr(first + 1, '\n', (size_t)(x->text.data - first - 1)) != NULL;
    const char c = x->text.data[0];
    return !blank && (x->indent > indent || (c >= 'a' && c <= 'z'));
}

/* Adds the items of the list whose markers have this kind. Sets *first to the index of the first line of the list, or
 * to l->n if there is no list. */
static int add_marked(aoei_sentences *list, const lines *l, aoei_marker_kind kind, size_t *first) {
    const size_t marked = count_list(l, kind), end = list_end(l, kind);
    size_t last = 0, number;
    *first = l->n;
    for (size_t i = 0; i < end; i++) {
        const line *x = &l->line[i];
        if (!follows(x, kind, last, &number))
            continue;
        last = number;
        *first = *first < i ? *first : i;
        aoe_text item = aoei_text_skip(x->text, x->marker.bytes);
        while (i + 1 < end && continues(l, i + 1, item, x->indent)) {
            const aoe_text more = l->line[++i].text;
            item = item.len ? (aoe_text){item.data, (size_t)(more.data + more.len - item.data)} : more;
        }
        if (aoei_text_ends_with(item, ":") || aoei_text_ends_with(item, ":**"))
            continue;
        const int rc =
            marked == 1 && kind == AOEI_MARKER_NUMBER ? add_inline(list, l, item, number) : add(list, l, item);
        if (rc)
            return rc;
    }
    return 0;
}

/* ---- tables */

static int is_row(aoe_text s) {
    return s.len > 2 && s.data[0] == '|' && s.data[s.len - 1] == '|';
}

static int is_rule(aoe_text s) {
    for (size_t i = 0; i < s.len; i++)
        if (!strchr("|-: ", s.data[i]))
            return 0;
    return 1;
}

static aoe_text longest_cell(aoe_text row) {
    aoe_text best = {row.data, 0};
    for (size_t begin = 1, i = 1; i < row.len; i++)
        if (row.data[i] == '|') {
            const aoe_text cell = aoei_text_trim((aoe_text){row.data + begin, i - begin});
            best = cell.len > best.len ? cell : best;
            begin = i + 1;
        }
    return best;
}

/* Adds the longest cell of each row after the separator line of a Markdown table. */
static int add_table(aoei_sentences *list, const lines *l) {
    int body = 0, rc = 0;
    for (size_t i = 0; i < l->n && !rc; i++) {
        const aoe_text s = l->line[i].text;
        if (!is_row(s))
            body = 0;
        else if (is_rule(s))
            body = i > 0 && is_row(l->line[i - 1].text);
        else if (body)
            rc = aoei_sentences_add(list, longest_cell(s));
    }
    return rc;
}

/* ---- plain lines */

/* Returns the length in bytes of the first sentence of s. */
static size_t sentence_bytes(aoe_text s) {
    static const char *const wide[] = {"\xE3\x80\x82", "\xEF\xBC\x81", "\xEF\xBC\x9F", NULL};
    for (size_t i = 0; i < s.len; i++) {
        const aoe_text here = aoei_text_skip(s, i);
        if (strchr(".!?", here.data[0]) && here.data[0] && (here.len == 1 || here.data[1] == ' '))
            return i + 1;
        if (aoei_text_starts_with_any(here, wide))
            return i + 3;
    }
    return s.len;
}

/* Returns the part of a line that may be a list of quoted strings. For example, the line `Output: "A", "B", "C".`
 * becomes `"A", "B", "C"`. A label or an announcement before a colon, and a full stop at the end, are removed. */
static aoe_text find_strings(aoe_text s) {
    const char *colon = memmem(s.data, s.len, ": ", 2);
    aoe_text rest = aoei_strip_label(s);
    if (colon && rest.len == s.len && aoei_is_announcement((aoe_text){s.data, (size_t)(colon - s.data)}))
        rest = aoei_text_trim(aoei_text_skip(s, (size_t)(colon + 2 - s.data)));
    if (rest.len > 2 && rest.data[rest.len - 1] == '.' && !aoei_text_has_word((aoe_text){rest.data + rest.len - 2, 1}))
        rest.len--;
    return rest;
}

/* Adds the sentences of a response that consists of the single line s. If s contains several unquoted sentences and
 * more than one sentence is requested, they are added only if their number is the requested number. */
static int add_line(aoei_sentences *list, const lines *l, aoe_text s) {
    size_t n = 0, strings;
    const aoe_text quoted = find_strings(s);
    if (aoei_count_strings(&strings, quoted))
        return AOE_ENOMEM;
    if (strings > 1)
        return aoei_json_list_read(list, quoted);
    for (aoe_text rest = s; rest.len; n++)
        rest = aoei_text_trim(aoei_text_skip(rest, sentence_bytes(rest)));
    if (n <= 1 || list->max_sentences == 1)
        return add(list, l, s);
    int rc = 0;
    for (aoe_text rest = s; rest.len && n == list->max_sentences && !rc;) {
        const size_t bytes = sentence_bytes(rest);
        rc = add(list, l, (aoe_text){rest.data, bytes});
        rest = aoei_text_trim(aoei_text_skip(rest, bytes));
    }
    return rc;
}

static int add_plain(aoei_sentences *list, const lines *l) {
    size_t begin = 0, end = l->n;
    while (end > 1 && aoei_is_remark(l->line[end - 1].text))
        end--;
    while (begin + 1 < end && aoei_is_announcement(l->line[begin].text))
        begin++;
    if (end - begin == 1 && !aoei_text_ends_with(l->line[begin].text, ":"))
        return add_line(list, l, l->line[begin].text);
    int rc = 0;
    for (size_t i = begin; i < end && !rc; i++)
        if (!aoei_text_ends_with(l->line[i].text, ":") && !aoei_is_remark(l->line[i].text) && !is_rule(l->line[i].text))
            rc = add(list, l, l->line[i].text);
    return rc;
}

/* Returns 1 if `sentence`, the only sentence found in `text`, is a refusal. A sentence that is quoted in the text is
 * not a refusal. */
static int is_plain_refusal(aoe_text text, aoe_text sentence) {
    static const char *const quotes[] = {"\"", "'", "\xE2\x80\x9C", "\xE2\x80\x98", "\xC2\xAB", "\xE3\x80\x8C", NULL};
    const char *at = memmem(text.data, text.len, sentence.data, sentence.len);
    const aoe_text before = {text.data, at ? (size_t)(at - text.data) : 0};
    for (size_t i = 0; quotes[i]; i++)
        if (aoei_text_ends_with(before, quotes[i]))
            return 0;
    return aoei_is_refusal(sentence);
}

static int read_lines(aoei_sentences *list, aoei_parse_outcome *outcome, aoe_text text, int truncated) {
    lines l;
    size_t first = 0;
    int rc = split_lines(&l, text, truncated);
    if (rc || !l.line) {
        aoei_free(l.line);
        return rc;
    }
    rc = add_table(list, &l);
    if (!rc && !list->n) {
        const aoei_marker_kind kind = choose_kind(&l);
        rc = kind == AOEI_MARKER_NONE ? 0 : add_marked(list, &l, kind, &first);
        /* the text before the list may be a refusal: "I cannot do that. Instead I could: 1. ..." */
        if (!rc && list->n && first) {
            const char *answer = l.line[first].text.data;
            if (aoei_is_refusal((aoe_text){text.data, (size_t)(answer - text.data)})) {
                aoei_sentences_clear(list);
                *outcome = AOEI_CHAT_REFUSED;
            }
        } else if (!rc && !list->n && l.n) {
            if (aoei_is_refusal(text))
                *outcome = AOEI_CHAT_REFUSED;
            else if (kind == AOEI_MARKER_NONE)
                rc = add_plain(list, &l);
            if (!rc && list->n == 1 && is_plain_refusal(text, aoei_sentences_item(list, 0))) {
                aoei_sentences_clear(list);
                *outcome = AOEI_CHAT_REFUSED;
            }
        }
    }
    aoei_free(l.line);
    return rc;
}

/* Returns the first response in the text. Some models continue after their response and write the next turn of the
 * conversation, such as "Input: ..."; this part is removed. */
static aoe_text first_turn(aoe_text text) {
    static const char *const turns[] = {
        "input:",    "input sentence:",        "**input", "user:", "human:", "### input", "### instruction", "### user",
        "### human", "you are a highly smart", NULL};
    int answered = 0;
    aoe_text rest = text, one;
    while (aoei_text_next_line(&rest, &one)) {
        const aoe_text s = aoei_text_trim(one);
        if (answered && aoei_text_starts_with_any(s, turns))
            return (aoe_text){text.data, (size_t)(s.data - text.data)};
        const int echo = aoei_is_echo(s);
        for (size_t i = 2; i < s.len && !echo; i++)
            if (s.data[i - 1] == ' ' && strchr(".!?", s.data[i - 2]) &&
                (aoei_text_starts_with(aoei_text_skip(s, i), "Input: ") ||
                 aoei_text_starts_with(aoei_text_skip(s, i), "Input sentence: ")))
                return (aoe_text){text.data, (size_t)(s.data + i - text.data)};
        answered |= s.len && !echo && !aoei_is_announcement(s);
    }
    return text;
}

int aoei_parse_sentences(aoei_sentences *l, aoei_parse_outcome *outcome, aoe_text reply, size_t max_sentences,
                         int truncated) {
    aoei_buffer plain = {0};
    aoei_sentences_clear(l);
    l->max_sentences = max_sentences;
    *outcome = AOEI_CHAT_NOTHING;
    int rc = aoei_reply_plain(&plain, reply);
    if (!rc && plain.len) {
        const aoe_text whole = aoei_text_trim(aoei_reply_unfence((aoe_text){plain.data, plain.len}, NULL));
        const aoe_text text = aoei_text_trim(first_turn(whole));
        const char *json = aoei_json_list_find(text);
        if (json)
            rc = aoei_json_list_read(l, (aoe_text){json, (size_t)(text.data + text.len - json)});
        if (!rc && !l->n)
            rc = read_lines(l, outcome, text, truncated && text.data + text.len == whole.data + whole.len);
    }
    aoei_buffer_free(&plain);
    if (!rc && l->n)
        *outcome = AOEI_CHAT_LIST;
    return rc;
}
