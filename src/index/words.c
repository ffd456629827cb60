/* SPDX-License-Identifier: MIT
 * The text is read once, from left to right. Letters, digits and joiners are collected in a run, which ends at the
 * first other character. A run is divided into compounds: words with one accepted joiner between two of them. A
 * compound is split at its weakest joiners first (paths, then names, then hyphens, then capital letters), and every
 * part that differs from the whole is written. A run has at most RUN_MAX characters, so that the work and the memory
 * for each character are bounded.
 */
#include "index/words.h"

#include <string.h>

#include <utf8proc.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"

#define RUN_MAX    1024    /* characters of a run; the rest of a longer run is another run */
#define JOINER     0xe000  /* a joiner c is written as the private-use character U+E000 + c */
#define MARK       0xf0000 /* a combining mark m is written as the private-use character U+F0000 + m */
#define LEVELS     3       /* levels of joiners; level 1 is split first */
#define CAMEL_MAX  8       /* a name with more parts is not split at capital letters */
#define CAMEL_MEAN 3       /* nor a name with fewer characters per part on average */

typedef enum kind { OTHER, LETTER, MARKED, JOIN, PAIRED, KOREAN, IGNORED } kind;

typedef struct writer {
    aoei_buffer *out;
    uint32_t run[RUN_MAX]; /* letters, digits, marks and joiners */
    size_t n;
    uint32_t previous; /* the last character of a run of pairs; 0: none */
    size_t pairs;      /* pairs of this run that were written */
    kind script;       /* PAIRED or KOREAN: kind of `previous` */
    int is_query;      /* 1: the last character of a run of pairs is not written alone */
} writer;

/* ------------------------------------------------------------- characters */

/* Level of a joiner, or 0 if the character is not a joiner. */
static int joiner_level(uint32_t c) {
    switch (c) {
    case '/':
    case '\\':
    case '@':
    case '&':
        return 1;
    case '.':
    case ':':
    case '>':
    case '#':
        return 2;
    case '-':
    case '_':
    case '+':
        return 3;
    default:
        return 0;
    }
}

static int is_between(uint32_t c, uint32_t first, uint32_t last) {
    return c >= first && c <= last;
}

static int is_korean(uint32_t c) {
    return is_between(c, 0xac00, 0xd7a3) || is_between(c, 0x1100, 0x11ff) || is_between(c, 0x3131, 0x318e);
}

static int is_chinese_or_japanese(uint32_t c) {
    return is_between(c, 0x4e00, 0x9fff) || is_between(c, 0x3041, 0x3096) || is_between(c, 0x30a1, 0x30fa) ||
           is_between(c, 0x3400, 0x4dbf) || is_between(c, 0x3005, 0x3007) || is_between(c, 0x309d, 0x309f) ||
           is_between(c, 0x30fc, 0x30ff) || is_between(c, 0x31f0, 0x31ff) || is_between(c, 0xf900, 0xfaff) ||
           is_between(c, 0xff66, 0xff9d) || is_between(c, 0x20000, 0x323af);
}

/* Kind of a character that is not ASCII. Marks that only modify a letter are ignored, as unicode61 ignores accents.
 * Vowel signs of other scripts are letters to a reader, but not to unicode61, so they need a private-use character. */
static kind kind_of_other(uint32_t c) {
    if (c == 0xad || is_between(c, 0x200c, 0x200d) || is_between(c, 0x300, 0x36f) || is_between(c, 0x591, 0x5c7) ||
        is_between(c, 0x610, 0x61a) || is_between(c, 0x64b, 0x65f) || c == 0x670 || is_between(c, 0x3099, 0x309a) ||
        is_between(c, 0xfe00, 0xfe0f))
        return IGNORED;
    if (is_korean(c))
        return KOREAN;
    if (is_chinese_or_japanese(c))
        return PAIRED;
    switch (utf8proc_category((utf8proc_int32_t)c)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return LETTER;
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
        return c <= 0xffff ? MARKED : IGNORED;
    default:
        return OTHER;
    }
}

static kind kind_of(uint32_t c) {
    if (c >= 0x80)
        return kind_of_other(c);
    if (is_between(c | 0x20, 'a', 'z') || is_between(c, '0', '9'))
        return LETTER;
    return joiner_level(c) ? JOIN : OTHER;
}

/* Returns full-width Latin letters and digits and the Unicode hyphens as ASCII characters. */
static uint32_t simplify(uint32_t c) {
    if (is_between(c, 0xff01, 0xff5e))
        return c - 0xfee0;
    return c == 0x2010 || c == 0x2011 ? '-' : c;
}

static int is_upper(uint32_t c) {
    if (c < 0x80)
        return is_between(c, 'A', 'Z');
    return c < JOINER && utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_LU;
}

static int is_lower(uint32_t c) {
    if (c < 0x80)
        return is_between(c, 'a', 'z');
    return c < JOINER && utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_LL;
}

/* --------------------------------------------------------------- compounds */

/* Writes the word run[from, to), which is cut at AOEI_WORD_MAX characters. */
static void put_word(writer *w, size_t from, size_t to) {
    char word[AOEI_WORD_MAX * 4 + 1];
    size_t len = 0;
    for (size_t i = from; i < to && i - from < AOEI_WORD_MAX; i++) {
        const uint32_t c = w->run[i];
        len += aoei_utf8_encode(joiner_level(c) ? JOINER + c : c, word + len);
    }
    word[len++] = ' ';
    (void)aoei_buffer_append(w->out, word, len);
}

/* Writes run[from, to) unless it is a compound that is too long. */
static void put_whole(writer *w, size_t from, size_t to) {
    int is_compound = 0;
    for (size_t i = from; i < to; i++)
        is_compound |= joiner_level(w->run[i]);
    if (!is_compound || to - from <= AOEI_WORD_MAX)
        put_word(w, from, to);
}

/* Returns 1 if a part of a name ends before run[i]: aB, and the last capital letter of ABc. */
static int is_camel_start(const writer *w, size_t from, size_t i, size_t to) {
    if (i == from || !is_upper(w->run[i]))
        return 0;
    return !is_upper(w->run[i - 1]) || (i + 1 < to && is_lower(w->run[i + 1]));
}

/* Writes the parts of a name without joiners that begin with capital letters. */
static void put_camel(writer *w, size_t from, size_t to) {
    size_t parts = 1;
    if (to - from > AOEI_WORD_MAX)
        return;
    for (size_t i = from; i < to; i++)
        parts += (size_t)is_camel_start(w, from, i, to);
    if (parts == 1 || parts > CAMEL_MAX || to - from < CAMEL_MEAN * parts)
        return;
    for (size_t i = from + 1, start = from; i <= to; i++) {
        if (i < to && !is_camel_start(w, from, i, to))
            continue;
        put_word(w, start, i);
        start = i;
    }
}

/* Writes the parts of the compound run[from, to), without the compound itself. `end`: end
 * of the outermost compound, whose last joiners belong to the name, as in C++. */
static void put_parts(writer *w, size_t from, size_t to, size_t end, int level) {
    if (level > LEVELS) {
        put_camel(w, from, to);
        return;
    }
    for (size_t i = from, start = from; i <= to; i++) {
        if (i < to && joiner_level(w->run[i]) != level)
            continue;
        size_t last = i;
        while (last > start && last != end && joiner_level(w->run[last - 1]))
            last--;
        while (start < last && joiner_level(w->run[start]))
            start++;
        if (start < last) {
            if (last - start < to - from)
                put_whole(w, start, last);
            put_parts(w, start, last, end, level + 1);
        }
        start = i + 1;
    }
}

/* Returns the number of joiners at run[i] that join two words, or 0 if these joiners do not. */
static size_t joiners_at(const writer *w, size_t i) {
    size_t n = 0;
    while (i + n < w->n && joiner_level(w->run[i + n]))
        n++;
    if (n == 0 || i + n == w->n)
        return 0;
    const uint32_t *c = w->run + i;
    size_t same = 1;
    while (same < n && c[same] == c[0])
        same++;
    if (n == 1)
        return c[0] != '>';
    if (same == n && (c[0] == '_' || (n == 2 && (c[0] == ':' || c[0] == '+' || c[0] == '/'))))
        return n;
    if (n == 2 && c[0] == '-' && c[1] == '>')
        return n;
    return n == 3 && c[0] == ':' && c[1] == '/' && c[2] == '/' ? n : 0;
}

/* Returns the number of joiners at run[i] that belong to the word of `letters` characters before them: C++, C#. */
static size_t suffix_at(const writer *w, size_t i, size_t letters) {
    const size_t left = w->n - i;
    const uint32_t *c = w->run + i;
    if (left >= 2 && c[0] == '+' && c[1] == '+' && (left == 2 || c[2] != '+'))
        return 2;
    return left >= 1 && letters <= 2 && c[0] == '#' && (left == 1 || c[1] != '#');
}

static void flush_run(writer *w) {
    size_t i = 0;
    while (i < w->n) {
        while (i < w->n && joiner_level(w->run[i]))
            i++;
        const size_t from = i;
        size_t word = i; /* start of the current word */
        while (i < w->n) {
            if (!joiner_level(w->run[i])) {
                i++;
                continue;
            }
            const size_t joiners = joiners_at(w, i);
            if (!joiners) {
                i += suffix_at(w, i, i - word);
                break;
            }
            i += joiners;
            word = i;
        }
        if (from < i) {
            put_whole(w, from, i);
            put_parts(w, from, i, joiner_level(w->run[i - 1]) ? i : SIZE_MAX, 1);
        }
    }
    w->n = 0;
}

/* ------------------------------------------------------------------- pairs */

static void put_characters(writer *w, uint32_t a, uint32_t b) {
    char text[9];
    size_t len = aoei_utf8_encode(a, text);
    if (b)
        len += aoei_utf8_encode(b, text + len);
    text[len++] = ' ';
    (void)aoei_buffer_append(w->out, text, len);
}

/* Ends a run of pairs. The last character of a passage's run is also written alone. The query of one character searches
 * for words that begin with this character, and the last character of a run begins no pair. */
static void flush_pairs(writer *w) {
    if (w->previous && (w->pairs == 0 || !w->is_query))
        put_characters(w, w->previous, 0);
    w->previous = 0;
    w->pairs = 0;
}

static void add_paired(writer *w, uint32_t c, kind script) {
    if (w->previous && w->script != script)
        flush_pairs(w);
    if (w->previous) {
        put_characters(w, w->previous, c);
        w->pairs++;
    }
    w->previous = c;
    w->script = script;
}

/* ------------------------------------------------------------------ public */

static void add_character(writer *w, uint32_t c) {
    const kind k = kind_of(c);
    if (k == IGNORED)
        return;
    if (k != PAIRED && k != KOREAN)
        flush_pairs(w);
    if (k == LETTER || k == MARKED || k == JOIN) {
        if (w->n == RUN_MAX)
            flush_run(w);
        w->run[w->n++] = k == MARKED ? MARK + c : c;
        return;
    }
    flush_run(w);
    if (k == PAIRED || k == KOREAN)
        add_paired(w, c, k);
}

/* Returns 1 if a run ends before text[i]: at the end of the text or at an ASCII character that separates words. */
static int is_end(aoe_text text, size_t i) {
    return i == text.len || ((unsigned char)text.data[i] < 0x80 && kind_of((unsigned char)text.data[i]) == OTHER);
}

/* Returns the number of bytes of the word at text[i] if it is an ordinary one, which is written without a run: ASCII
 * letters and digits without capital letters inside, followed by a separator or by one joiner and a separator. Returns
 * 0 for other words. Most words of a text are ordinary. */
static size_t ordinary_at(aoe_text text, size_t i) {
    const size_t left = text.len - i, most = left < AOEI_WORD_MAX ? left : AOEI_WORD_MAX;
    size_t n = (size_t)is_between((unsigned char)text.data[i], 'A', 'Z');
    while (n < most && (is_between((unsigned char)text.data[i + n], 'a', 'z') ||
                        is_between((unsigned char)text.data[i + n], '0', '9')))
        n++;
    if (n == 0 || is_end(text, i + n))
        return n;
    const char next = text.data[i + n];
    const int is_simple = (unsigned char)next < 0x80 && joiner_level((unsigned char)next) && next != '+' && next != '#';
    return is_simple && is_end(text, i + n + 1) ? n : 0;
}

static int write_words(aoei_buffer *out, aoe_text text, int is_query, aoe_error *err) {
    writer w;
    w.out = out;
    w.n = w.pairs = 0;
    w.previous = 0;
    w.script = PAIRED;
    w.is_query = is_query;
    for (size_t i = 0; i < text.len;) {
        uint32_t c;
        const size_t ordinary = w.n || w.previous ? 0 : ordinary_at(text, i);
        if (ordinary) {
            (void)aoei_buffer_append(out, text.data + i, ordinary);
            (void)aoei_buffer_putc(out, ' ');
            i += ordinary + (i + ordinary < text.len); /* with the separator or joiner */
            continue;
        }
        const size_t n = aoei_utf8_decode(text.data + i, text.len - i, &c);
        add_character(&w, n ? simplify(c) : ' ');
        i += n ? n : 1;
    }
    flush_run(&w);
    flush_pairs(&w);
    return out->failed ? aoei_fail_nomem(err, text.len) : 0;
}

int aoei_words_text(aoei_buffer *out, aoe_text text, aoe_error *err) {
    return write_words(out, text, 0, err);
}

/* Returns 1 if two words are equal, apart from the case of their letters. */
static int is_equal(const char *a, size_t a_len, const char *b, size_t b_len) {
    size_t i = 0, j = 0;
    while (i < a_len && j < b_len) {
        uint32_t x = 0, y = 0;
        i += aoei_utf8_decode(a + i, a_len - i, &x);
        j += aoei_utf8_decode(b + j, b_len - j, &y);
        if (utf8proc_tolower((utf8proc_int32_t)x) != utf8proc_tolower((utf8proc_int32_t)y))
            return 0;
    }
    return i == a_len && j == b_len;
}

static int add_word(aoei_words *w, size_t at, size_t len, aoe_error *err) {
    const char *s = w->text.data;
    for (size_t i = 0; i < w->n; i++)
        if (is_equal(s + w->word[i].at, w->word[i].len, s + at, len))
            return 0;
    if (aoei_grow((void **)&w->word, &w->capacity, w->n, sizeof *w->word))
        return aoei_fail_nomem(err, (w->n + 1) * sizeof *w->word);
    uint32_t c = 0;
    const size_t first = aoei_utf8_decode(s + at, len, &c);
    const kind k = kind_of(c);
    int is_part = 0;
    for (size_t i = 0; i < w->n; i++)
        is_part |= memmem(s + w->word[i].at, w->word[i].len, s + at, len) != NULL;
    w->word[w->n++] = (aoei_word){
        .at = at, .len = len, .is_prefix = first == len && (k == PAIRED || k == KOREAN), .is_part = is_part};
    return 0;
}

int aoei_words_query(aoei_words *w, aoe_text query, aoe_error *err) {
    aoei_buffer_clear(&w->text);
    w->n = 0;
    int code = write_words(&w->text, query, 1, err);
    for (size_t at = 0; !code && at < w->text.len && w->n < AOEI_QUERY_WORDS;) {
        const char *space = memchr(w->text.data + at, ' ', w->text.len - at);
        const size_t end = (size_t)(space - w->text.data);
        code = add_word(w, at, end - at, err);
        at = end + 1;
    }
    return code;
}

void aoei_words_free(aoei_words *w) {
    aoei_buffer_free(&w->text);
    aoei_free(w->word);
    *w = (aoei_words){0};
}

void aoei_words_plain(aoei_buffer *out, const char *word, size_t len) {
    for (size_t i = 0; i < len;) {
        uint32_t c = 0;
        char text[4];
        i += aoei_utf8_decode(word + i, len - i, &c);
        if (c >= MARK)
            c -= MARK;
        else if (is_between(c, JOINER, JOINER + 0x7f))
            c -= JOINER;
        (void)aoei_buffer_append(out, text, aoei_utf8_encode(c, text));
    }
}

void aoei_words_quote(aoei_buffer *out, const aoei_words *w, const aoei_word *word) {
    (void)aoei_buffer_putc(out, '"');
    (void)aoei_buffer_append(out, w->text.data + word->at, word->len);
    (void)aoei_buffer_append(out, word->is_prefix ? "\"*" : "\"", word->is_prefix ? 2 : 1);
}
