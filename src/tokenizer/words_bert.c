/* SPDX-License-Identifier: MIT
 * Implements BertPreTokenizer as an iterator over batches of words. Encoding can therefore stop early, and needs no
 * memory for a list of all words. The class of an ASCII character is read from a table. A branch on word boundaries
 * would often be mispredicted and would dominate the time. The loop therefore has no such branch: it writes every
 * position as a possible start and a possible end of a word, and advances to the next array element only if the
 * position really is a start or an end.
 */
#include "tokenizer/words_bert.h"

#include <stdint.h>

#include "base/utf8.h"
#include "tokenizer/unicode.h"

enum { WORD, SPACE, PUNCTUATION };

static const unsigned char ascii_class[128] = {
    0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, /* white space: 9 to 13 */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* control characters */
    1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, /* space, ! to / */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, /* : to ? */
    2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* @ */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, /* [ to _ */
    2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, /* ` */
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 0, /* { to ~ */
};

static int class_at(const char *s, size_t len, size_t *bytes) {
    unsigned char c = (unsigned char)s[0];
    *bytes = 1;
    if (c < 0x80)
        return ascii_class[c];
    uint32_t cp = 0;
    *bytes = aoei_utf8_decode(s, len, &cp);
    return aoei_unicode_is_space(cp) ? SPACE : aoei_unicode_is_punctuation(cp) ? PUNCTUATION : WORD;
}

size_t aoei_words_bert(const char *s, size_t len, size_t *pos, aoei_words *words) {
    /* The first index is the class of the previous character, the second index the class of the current character. An
     * element of `starts` (`ends`) is 1 if a word starts (ends) at the current character. */
    static const unsigned char starts[3][3] = {[WORD] = {0, 0, 1}, [SPACE] = {1, 0, 1}, [PUNCTUATION] = {1, 0, 1}};
    static const unsigned char ends[3][3] = {[WORD] = {0, 1, 1}, [PUNCTUATION] = {1, 1, 1}};
    size_t i = *pos, bytes = 1, n_starts = 0, n_ends = 0;
    int before = SPACE;
    for (; i < len && n_starts <= AOEI_WORDS; i += bytes) {
        const int class = class_at(s + i, len - i, &bytes);
        words->start[n_starts] = words->end[n_ends] = i;
        n_starts += starts[before][class];
        n_ends += ends[before][class];
        before = class;
    }
    if (n_starts > AOEI_WORDS) { /* the last word does not fit into *words; the next call begins with this word */
        n_starts--;
        i = words->start[n_starts];
    } else if (n_ends < n_starts) {
        words->end[n_ends] = len;
    }
    *pos = i;
    return words->n = n_starts;
}
