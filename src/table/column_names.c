/* SPDX-License-Identifier: MIT
 * Rules about names of columns.
 */
#include "table/column_names.h"

#include <string.h>
#include <strings.h>

enum { MAX_DIGITS = 6 /* maximum number of digits of a negative */ };

/* Returns 1 if the name begins with the given word, whose length is stored in *len. */
static int begins_with(aoe_text name, const char *word, size_t *len) {
    *len = strlen(word);
    return name.len >= *len && strncasecmp(name.data, word, *len) == 0;
}

static int equals(aoe_text name, const char *word) {
    return name.len == strlen(word) && strncasecmp(name.data, word, name.len) == 0;
}

static int is_one_of(aoe_text name, const char *const *words) {
    for (; *words; words++)
        if (equals(name, *words))
            return 1;
    return 0;
}

static aoe_text skip(aoe_text name, size_t n) {
    return (aoe_text){name.data + n, name.len - n};
}

static int is_separator(char c) {
    return c == '_' || c == '-' || c == ' ' || c == '.';
}

int aoei_negative_number(aoe_text name, size_t *number) {
    static const char *const words[] = {"negatives", "negative", "negs", "neg", "rejected"}; /* a word follows the words
                                                                                                it begins */
    size_t len, k = 0;
    *number = 0;
    if (equals(name, "contradiction"))
        return 1;
    if (begins_with(name, "hard", &len)) {
        name = skip(name, len);
        name = skip(name, name.len && is_separator(*name.data) ? 1 : 0);
    }
    while (k < sizeof words / sizeof *words && !begins_with(name, words[k], &len))
        k++;
    if (k == sizeof words / sizeof *words)
        return 0;
    name = skip(name, len);
    if (name.len == 0)
        return 1;
    name = skip(name, is_separator(*name.data) ? 1 : 0);
    if (name.len == 0 || name.len > MAX_DIGITS)
        return 0;
    for (size_t i = 0; i < name.len; i++) {
        if (name.data[i] < '0' || name.data[i] > '9')
            return 0;
        *number = 10 * *number + (size_t)(name.data[i] - '0');
    }
    ++*number;
    return 1;
}

int aoei_is_negatives_list(aoe_text name) {
    static const char *const names[] = {"neg", "negs", "negatives", "hard_negs", "hard_negatives", NULL};
    return is_one_of(name, names);
}

static int is_lower(char c) {
    return c >= 'a' && c <= 'z';
}

static int is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}

/* Sets *word to the next word of the rest of a name, and removes it from the rest. A word ends before a separator, and
 * before an uppercase letter that follows a lowercase letter, as in isDuplicate. Returns 0 if there is none. */
static int next_word(aoe_text *rest, aoe_text *word) {
    while (rest->len && is_separator(*rest->data))
        *rest = skip(*rest, 1);
    size_t n = 0;
    while (n < rest->len && !is_separator(rest->data[n]) &&
           !(n && is_lower(rest->data[n - 1]) && is_upper(rest->data[n])))
        n++;
    *word = (aoe_text){rest->data, n};
    *rest = skip(*rest, n);
    return n > 0;
}

/* Returns 1 if a word of the name is one of `words`. last: receives the last word of the name. */
static int has_word(aoe_text name, const char *const *words, aoe_text *last) {
    int found = 0;
    *last = (aoe_text){"", 0};
    for (aoe_text word; next_word(&name, &word); *last = word)
        found |= is_one_of(word, words);
    return found;
}

static const char *const negative_words[] = {"neg", "negs", "negative", "negatives", NULL};

int aoei_looks_like_label(aoe_text name) {
    static const char *const endings[] = {"label", "labels",  "score",       "scores",    "similarity", "similarities",
                                          "sim",   "cosine",  "relatedness", "relevance", "rating",     "ratings",
                                          "grade", "grades",  "judgment",    "judgments", "judgement",  "judgements",
                                          "class", "classes", "target",      "targets",   NULL};
    static const char *const relations[] = {"duplicate",  "paraphrase", "similar", "relevant", "related",
                                            "equivalent", "match",      "same",    NULL}; /* last word of is_NAME */
    static const char *const texts[] = {"pos",   "positive", "positives", "neg",   "negs",   "negative", "negatives",
                                        "query", "id",       "text1",     "text2", "chosen", "rejected", NULL};
    aoe_text rest = name, first, last;
    if (has_word(name, texts, &last))
        return 0;
    return is_one_of(last, endings) || (next_word(&rest, &first) && equals(first, "is") && is_one_of(last, relations));
}

int aoei_looks_like_negative(aoe_text name) {
    static const char *const others[] = {"id",    "ids",      "score",  "scores",  "similarity", "similarities",
                                         "label", "labels",   "source", "sources", "url",        "urls",
                                         "title", "titles",   "index",  "rank",    "ranks",      "model",
                                         "count", "distance", NULL};
    size_t number;
    aoe_text last;
    if (aoei_negative_number(name, &number))
        return 1;
    return has_word(name, negative_words, &last) && !is_one_of(last, others);
}
