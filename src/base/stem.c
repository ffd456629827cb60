/* SPDX-License-Identifier: MIT
 * The steps of Porter's algorithm (stem.h). Each step removes or replaces the longest suffix of a list. The conditions
 * depend on the rest, the word without this suffix: its measure is the number of changes from a vowel to a consonant.
 */
#include "base/stem.h"

#include <string.h>

enum { SHORTEST = 3, LONGEST = 64 };

/* A suffix, and what replaces it if the measure of the rest is large enough. */
typedef struct rule {
    const char *suffix, *with;
} rule;

static const rule step2[] = {
    {"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"},   {"anci", "ance"}, {"izer", "ize"},
    {"logi", "log"},    {"bli", "ble"},     {"alli", "al"},     {"entli", "ent"}, {"eli", "e"},
    {"ousli", "ous"},   {"ization", "ize"}, {"ation", "ate"},   {"ator", "ate"},  {"alism", "al"},
    {"iveness", "ive"}, {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"},  {"iviti", "ive"},
    {"biliti", "ble"},
};
static const rule step3[] = {
    {"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""},
};
static const rule step4[] = {
    {"al", ""},  {"ance", ""},  {"ence", ""}, {"er", ""},  {"ic", ""},  {"able", ""}, {"ible", ""},
    {"ant", ""}, {"ement", ""}, {"ment", ""}, {"ent", ""}, {"ion", ""}, {"ou", ""},   {"ism", ""},
    {"ate", ""}, {"iti", ""},   {"ous", ""},  {"ive", ""}, {"ize", ""},
};

/* Returns 1 if the letter is a vowel. after_consonant: 1: the letter before it is a consonant, so y is a vowel. */
static int is_vowel(uint32_t c, int after_consonant) {
    return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' || (c == 'y' && after_consonant);
}

/* Number of changes from a vowel to a consonant in w[n]. */
static size_t measure(const uint32_t *w, size_t n) {
    size_t changes = 0;
    int consonant = 0, vowel = 0; /* of the letter before */
    for (size_t i = 0; i < n; i++) {
        consonant = !is_vowel(w[i], consonant);
        changes += consonant && vowel;
        vowel = !consonant;
    }
    return changes;
}

static int has_vowel(const uint32_t *w, size_t n) {
    int consonant = 0;
    for (size_t i = 0; i < n; i++) {
        consonant = !is_vowel(w[i], consonant);
        if (!consonant)
            return 1;
    }
    return 0;
}

/* Returns 1 if w[n] ends with a consonant, a vowel and a consonant other than w, x and y, as "hop" does. */
static int ends_short(const uint32_t *w, size_t n) {
    unsigned last = 0; /* bits of the last three letters: 1 is a consonant */
    int consonant = 0;
    for (size_t i = 0; i < n; i++) {
        consonant = !is_vowel(w[i], consonant);
        last = (last << 1 | (unsigned)consonant) & 7;
    }
    return n >= 3 && last == 5 && w[n - 1] != 'w' && w[n - 1] != 'x' && w[n - 1] != 'y';
}

/* Returns the length of the suffix if w[n] ends with it and is longer, otherwise 0. */
static size_t suffix_of(const uint32_t *w, size_t n, const char *suffix) {
    const size_t len = strlen(suffix);
    if (n <= len)
        return 0;
    for (size_t i = 0; i < len; i++)
        if (w[n - len + i] != (unsigned char)suffix[i])
            return 0;
    return len;
}

static size_t append(uint32_t *w, size_t n, const char *with) {
    while (*with)
        w[n++] = (unsigned char)*with++;
    return n;
}

/* Applies the rule with the longest suffix of w[n] if the measure of the rest is above `least`. */
static size_t apply(uint32_t *w, size_t n, const rule *r, size_t rules, size_t least) {
    const rule *best = NULL;
    size_t longest = 0;
    for (size_t i = 0; i < rules; i++) {
        const size_t len = suffix_of(w, n, r[i].suffix);
        if (len > longest) {
            longest = len;
            best = &r[i];
        }
    }
    if (!best || measure(w, n - longest) <= least)
        return n;
    const size_t rest = n - longest;
    if (strcmp(best->suffix, "ion") == 0 && w[rest - 1] != 's' && w[rest - 1] != 't')
        return n;
    return append(w, rest, best->with);
}

/* Plurals: "caresses", "ponies", "cats". */
static size_t step_1a(const uint32_t *w, size_t n) {
    if (w[n - 1] != 's' || w[n - 2] == 's')
        return n;
    return suffix_of(w, n, "sses") || suffix_of(w, n, "ies") ? n - 2 : n - 1;
}

/* "agreed", "plastered", "hopping". */
static size_t step_1b(uint32_t *w, size_t n) {
    if (suffix_of(w, n, "eed"))
        return measure(w, n - 3) ? n - 1 : n;
    const size_t len = suffix_of(w, n, "ed") ? 2 : suffix_of(w, n, "ing");
    if (!len || !has_vowel(w, n - len))
        return n;
    n -= len;
    if (suffix_of(w, n, "at") || suffix_of(w, n, "bl") || suffix_of(w, n, "iz"))
        return append(w, n, "e");
    const uint32_t c = w[n - 1];
    if (n >= 2 && c == w[n - 2] && !is_vowel(c, 0))
        return c == 'l' || c == 's' || c == 'z' ? n : n - 1;
    return measure(w, n) == 1 && ends_short(w, n) ? append(w, n, "e") : n;
}

/* A last "e", and one "l" of two. */
static size_t step_5(const uint32_t *w, size_t n) {
    if (w[n - 1] == 'e') {
        const size_t m = measure(w, n - 1);
        n -= m > 1 || (m == 1 && !ends_short(w, n - 1));
    }
    return n > 1 && w[n - 1] == 'l' && w[n - 2] == 'l' && measure(w, n - 1) > 1 ? n - 1 : n;
}

size_t aoei_stem(uint32_t *word, size_t n) {
    if (n < SHORTEST || n > LONGEST)
        return n;
    n = step_1a(word, n);
    n = step_1b(word, n);
    if (word[n - 1] == 'y' && has_vowel(word, n - 1))
        word[n - 1] = 'i';
    n = apply(word, n, step2, sizeof step2 / sizeof *step2, 0);
    n = apply(word, n, step3, sizeof step3 / sizeof *step3, 0);
    n = apply(word, n, step4, sizeof step4 / sizeof *step4, 1);
    return step_5(word, n);
}
