/* SPDX-License-Identifier: MIT
 * Splits texts at whitespace and searches for the words in a vocabulary. Whitespace and lower case are those of
 * Python's str.
 */
#include "tokenizer/word_lookup.h"

#include <jansson.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"
#include "base/utf8.h"
#include "tokenizer/unicode.h"

#define CAPITAL_SIGMA 0x3A3
#define FINAL_SIGMA   0x3C2

/* Reads a list of words under the key `key`. */
static int read_words(aoei_vocab *v, const json_t *root, const char *key, const char *file, aoe_error *err) {
    const json_t *list = json_object_get(root, key);
    if (list && !json_is_array(list))
        return aoei_fail(err, AOE_EFORMAT, "%s: \"%s\" is not a list of words; download the file again", file, key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *word = json_array_get(list, i);
        if (!json_is_string(word))
            return aoei_fail(err, AOE_EFORMAT, "%s: element %zu of \"%s\" is not a string; download the file again",
                             file, i, key);
        const int rc = aoei_vocab_add(v, json_string_value(word), json_string_length(word), (int64_t)i, err);
        if (rc) {
            aoei_error_prefix(err, "%s", file);
            return rc;
        }
    }
    return AOE_OK;
}

int aoei_word_lookup_read(aoei_word_lookup *w, const char *data, size_t len, const char *file, aoe_error *err) {
    json_t *root;
    *w = (aoei_word_lookup){.lowercase = 0};
    int rc = aoei_json_parse(&root, data, len, file, err);
    if (rc)
        return rc;
    if (!json_is_array(json_object_get(root, "vocab")))
        rc = aoei_fail(err, AOE_EFORMAT, "%s: the file contains no list \"vocab\"; download the file again", file);
    w->empty = -1;
    for (size_t i = 0; i < json_array_size(json_object_get(root, "vocab")); i++)
        if (json_string_length(json_array_get(json_object_get(root, "vocab"), i)) == 0)
            w->empty = (int32_t)i;
    if (!rc && !(rc = read_words(&w->vocab, root, "vocab", file, err)) &&
        !(rc = read_words(&w->stop, root, "stop_words", file, err)))
        rc = aoei_json_bool(root, "do_lower_case", &w->lowercase, file, err);
    json_decref(root);
    return rc;
}

void aoei_word_lookup_free(aoei_word_lookup *w) {
    aoei_vocab_free(&w->vocab);
    aoei_vocab_free(&w->stop);
}

static int is_space(uint32_t cp) {
    return aoei_unicode_is_space(cp) || (cp >= 0x1C && cp <= 0x1F); /* the separators of ASCII, which only Python
                                                                       includes */
}

static int is_punctuation(char c) {
    return c > ' ' && c < 0x7F && !(c >= '0' && c <= '9') && !(c >= 'A' && c <= 'Z') && !(c >= 'a' && c <= 'z');
}

/* Removes the ASCII punctuation at both ends of a word. */
static aoe_text strip(aoe_text word) {
    while (word.len && is_punctuation(*word.data)) {
        word.data++;
        word.len--;
    }
    while (word.len && is_punctuation(word.data[word.len - 1]))
        word.len--;
    return word;
}

/* Returns 1 if the capital sigma that ends at byte `end` of the word is the last letter of a word with other letters
 * before it, so its lower case is the final sigma (Final_Sigma of the Unicode standard, section 3.13). cased: 1 if the
 * last character before it that is not case-ignorable is cased. */
static int is_final_sigma(aoe_text word, size_t end, int cased) {
    while (cased && end < word.len) {
        uint32_t cp;
        end += aoei_utf8_decode(word.data + end, word.len - end, &cp);
        if (!aoei_unicode_is_case_ignorable(cp))
            return !aoei_unicode_is_cased(cp);
    }
    return cased;
}

/* Writes the word in lower case to *lower. */
static int to_lower(aoei_buffer *lower, aoe_text word) {
    int cased = 0; /* see is_final_sigma */
    aoei_buffer_clear(lower);
    for (size_t i = 0; i < word.len;) {
        uint32_t cp, mapped[AOEI_LOWER_MAX];
        char bytes[4];
        i += aoei_utf8_decode(word.data + i, word.len - i, &cp);
        size_t n = aoei_unicode_lower(cp, mapped);
        if (cp == CAPITAL_SIGMA && is_final_sigma(word, i, cased))
            mapped[0] = FINAL_SIGMA;
        for (size_t k = 0; k < n; k++)
            aoei_buffer_append(lower, bytes, aoei_utf8_encode(mapped[k], bytes));
        if (!aoei_unicode_is_case_ignorable(cp))
            cased = aoei_unicode_is_cased(cp);
    }
    return lower->failed ? AOE_ENOMEM : AOE_OK;
}

enum { STOP_WORD = -2 };

/* Returns the id of a word, STOP_WORD for a stop word, or -1 for an unknown word. */
static int32_t find(const aoei_word_lookup *w, aoe_text word) {
    if (!word.len)
        return -1;
    return aoei_vocab_id(&w->stop, word.data, word.len) >= 0 ? STOP_WORD
                                                             : aoei_vocab_id(&w->vocab, word.data, word.len);
}

/* Sets *id to the result of `find` for the first form of the word that is a word of the vocabulary or a stop word. */
static int find_forms(const aoei_word_lookup *w, aoe_text word, int lowercase, aoei_buffer lower[2], int32_t *id) {
    int rc;
    if (w->lowercase || lowercase) {
        if ((rc = to_lower(&lower[0], word)))
            return rc;
        word = (aoe_text){lower[0].data, lower[0].len};
    }
    if ((*id = find(w, word)) != -1)
        return AOE_OK;
    word = strip(word);
    if (!word.len) {
        *id = w->stop.has_empty ? STOP_WORD : w->empty;
        return AOE_OK;
    }
    if ((*id = find(w, word)) != -1)
        return AOE_OK;
    if ((rc = to_lower(&lower[1], word)))
        return rc;
    *id = find(w, (aoe_text){lower[1].data, lower[1].len});
    return AOE_OK;
}

int aoei_word_lookup_encode(const aoei_word_lookup *w, const char *s, size_t len, int lowercase, size_t stop,
                            aoei_token_list *out, aoe_error *err) {
    aoei_buffer lower[2] = {{0}, {0}};
    int rc = AOE_OK;
    for (size_t start = 0, i = 0; i <= len && !rc && out->ids->n < stop;) {
        uint32_t cp = ' ';
        const size_t n = i < len ? aoei_utf8_decode(s + i, len - i, &cp) : 1;
        if (is_space(cp)) {
            int32_t id = -1;
            if (i > start && (rc = find_forms(w, (aoe_text){s + start, i - start}, lowercase, lower, &id)))
                aoei_fail_nomem(err, i - start);
            if (id >= 0 && !(rc = aoei_token_list_reserve(out, 1, err)))
                aoei_token_push(out, id, start, i);
            start = i + n;
        }
        i += n;
    }
    aoei_buffer_free(&lower[0]);
    aoei_buffer_free(&lower[1]);
    return rc;
}
