/* SPDX-License-Identifier: MIT
 * Trains a WordPiece vocabulary. The vocabulary contains these tokens, in this order:
 * - the special tokens
 * - the characters as initial pieces, such as "a"
 * - the characters as continuation pieces, such as "##a"
 * - the merged pieces, in the order in which they were merged
 * Words of more than 100 characters, and words with a character outside the alphabet, are ignored, because the model
 * would encode them as [UNK].
 */
#include "tokenizer/wordpiece_trainer.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"
#include "tokenizer/words_bert.h"

enum { MAX_WORD_CHARS = 100, CODE_POINTS = 0x110000 };

static const char prefix[] = "##";

typedef struct letter {
    uint64_t count;  /* number of occurrences in all words */
    int32_t cp;      /* code point */
    int32_t initial; /* id of the token for the character at the start of a word; -1: no such token */
    int32_t inner;   /* id of the token for the character inside a word, with the prefix "##"; -1: no such token */
    int seen_inner;  /* 1: the character occurs after the first character of a word */
} letter;

typedef struct alphabet {
    letter *letter; /* [n] distinct characters of the words, owned; limit_letters sorts them by code point */
    size_t n, capacity;
    uint32_t *index; /* [CODE_POINTS] 1 + the index of the code point in `letter`, or 0; owned */
} alphabet;

void aoei_wordpiece_options_defaults(aoei_wordpiece_options *o) {
    *o = (aoei_wordpiece_options){.vocab_size = 8000, .lowercase = 1, .min_frequency = 2, .limit_alphabet = 1000};
}

const char *aoei_wordpiece_special(int which) {
    static const char *const names[AOEI_SPECIAL_COUNT] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
    return names[which];
}

const char *aoei_wordpiece_special_at(const aoei_wordpiece_options *o, int id) {
    const int swap = o->pad_id != 0 && id <= AOEI_UNK; /* AOEI_PAD is 0, and AOEI_UNK is 1 */
    return aoei_wordpiece_special(swap ? 1 - id : id);
}

int aoei_wordpiece_trainer_create(aoei_wordpiece_trainer **out, const aoei_wordpiece_options *o, aoe_error *err) {
    aoei_wordpiece_options defaults;
    aoei_wordpiece_options_defaults(&defaults);
    o = o ? o : &defaults;
    *out = NULL;
    if (o->vocab_size < AOEI_SPECIAL_COUNT + 2 || o->vocab_size > AOEI_VOCAB_MAX_ID)
        return aoei_fail(err, AOE_EARG, "the vocabulary size is %zu; it must be between %d and %d", o->vocab_size,
                         AOEI_SPECIAL_COUNT + 2, AOEI_VOCAB_MAX_ID);
    aoei_wordpiece_trainer *tr = aoei_calloc(1, sizeof *tr);
    if (!tr)
        return aoei_fail_nomem(err, sizeof *tr);
    tr->options = *o;
    int rc = aoei_normalizer_add_bert(&tr->normalizer, 1, 1, -1, o->lowercase != 0, err);
    if (rc)
        aoei_wordpiece_trainer_destroy(tr);
    else
        *out = tr;
    return rc;
}

int aoei_wordpiece_trainer_add(aoei_wordpiece_trainer *tr, const char *data, size_t len, aoe_error *err) {
    size_t bad = len ? aoei_utf8_valid(data, len) : 0, pos = 0;
    aoei_words words;
    if (bad < len)
        return aoei_fail(err, AOE_EFORMAT, "invalid UTF-8 at byte %zu of the text; convert it to UTF-8", bad);
    int rc = len ? aoei_normalize(&tr->normalizer, data, len, &tr->normalized, err) : 0;
    if (rc || len == 0)
        return rc;
    const char *s = tr->normalized.data;
    while (!rc && aoei_words_bert(s, tr->normalized.len, &pos, &words)) {
        for (size_t i = 0; i < words.n && !rc; i++) {
            const char *word = s + words.start[i];
            const size_t bytes = words.end[i] - words.start[i];
            if (bytes <= MAX_WORD_CHARS ||
                (bytes <= (size_t)MAX_WORD_CHARS * 4 && aoei_utf8_chars(word, bytes) <= MAX_WORD_CHARS))
                rc = aoei_word_counts_add(&tr->words, word, bytes, err);
        }
    }
    return rc;
}

static int by_count(const void *a, const void *b) {
    const letter *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->cp < y->cp ? -1 : x->cp > y->cp;
}

static int by_code_point(const void *a, const void *b) {
    const letter *x = a, *y = b;
    return x->cp < y->cp ? -1 : x->cp > y->cp;
}

static void index_letters(alphabet *a) {
    for (size_t i = 0; i < a->n; i++)
        a->index[a->letter[i].cp] = (uint32_t)(i + 1);
}

/* Counts the characters of all words. Sets seen_inner for the characters that occur after the first character of a
 * word. */
static int count_letters(alphabet *a, const aoei_word_counts *words, aoe_error *err) {
    a->index = aoei_calloc(CODE_POINTS, sizeof *a->index);
    if (!a->index)
        return aoei_fail_nomem(err, CODE_POINTS * sizeof *a->index);
    for (size_t w = 0; w < words->n; w++) {
        const aoei_word_count *word = &words->word[w];
        const char *s = words->text.data + word->offset;
        for (size_t i = 0; i < word->len;) {
            uint32_t cp = 0;
            size_t at = i;
            i += aoei_utf8_decode(s + i, word->len - i, &cp);
            if (a->index[cp] == 0) {
                if (aoei_grow((void **)&a->letter, &a->capacity, a->n, sizeof *a->letter))
                    return aoei_fail_nomem(err, a->n * 2 * sizeof *a->letter);
                a->letter[a->n++] = (letter){.cp = (int32_t)cp, .initial = -1, .inner = -1};
                a->index[cp] = (uint32_t)a->n;
            }
            letter *l = &a->letter[a->index[cp] - 1];
            l->count += word->count;
            l->seen_inner |= at > 0;
        }
    }
    return 0;
}

/* Keeps only the most frequent letters and sorts them by code point. At most limit_alphabet letters are kept. Each
 * letter may need two tokens, so the number of letters is also at most (vocab_size - number of special tokens) / 2. */
static void limit_letters(alphabet *a, const aoei_wordpiece_options *o) {
    size_t limit = (o->vocab_size - AOEI_SPECIAL_COUNT) / 2;
    if (limit > o->limit_alphabet)
        limit = o->limit_alphabet;
    if (a->n == 0)
        return;
    qsort(a->letter, a->n, sizeof *a->letter, by_count);
    for (size_t i = limit; i < a->n; i++)
        a->index[a->letter[i].cp] = 0;
    a->n = a->n < limit ? a->n : limit;
    qsort(a->letter, a->n, sizeof *a->letter, by_code_point);
    index_letters(a);
}

static int add_token(aoei_wordpiece_trainer *tr, const char *token, size_t len, int32_t *id, aoe_error *err) {
    *id = (int32_t)tr->vocab.n_ids;
    return aoei_vocab_add(&tr->vocab, token, len, *id, err);
}

/* Adds the special tokens and one token for each letter. Then adds a token with the prefix "##" for each letter that
 * occurs after the first character of a word. */
static int add_alphabet(aoei_wordpiece_trainer *tr, alphabet *a, aoe_error *err) {
    int rc = 0;
    int32_t id;
    for (int i = 0; i < AOEI_SPECIAL_COUNT && !rc; i++) {
        const char *special = aoei_wordpiece_special_at(&tr->options, i);
        rc = add_token(tr, special, strlen(special), &id, err);
    }
    for (size_t i = 0; i < a->n && !rc; i++) {
        char utf8[4];
        rc = add_token(tr, utf8, aoei_utf8_encode((uint32_t)a->letter[i].cp, utf8), &a->letter[i].initial, err);
    }
    for (size_t i = 0; i < a->n && !rc; i++) {
        char utf8[sizeof prefix + 4];
        memcpy(utf8, prefix, 2);
        if (a->letter[i].seen_inner)
            rc = add_token(tr, utf8, 2 + aoei_utf8_encode((uint32_t)a->letter[i].cp, utf8 + 2), &a->letter[i].inner,
                           err);
    }
    return rc;
}

/* Passes the words to the merger as sequences of token ids. */
static int add_words(aoei_wordpiece_trainer *tr, const alphabet *a, aoe_error *err) {
    int rc = 0;
    for (size_t w = 0; w < tr->words.n && !rc; w++) {
        const aoei_word_count *word = &tr->words.word[w];
        const char *s = tr->words.text.data + word->offset;
        uint32_t symbol[MAX_WORD_CHARS];
        size_t n = 0, i = 0;
        while (i < word->len) {
            uint32_t cp = 0;
            size_t at = i;
            i += aoei_utf8_decode(s + i, word->len - i, &cp);
            if (a->index[cp] == 0)
                break;
            const letter *l = &a->letter[a->index[cp] - 1];
            symbol[n++] = (uint32_t)(at == 0 ? l->initial : l->inner);
            if (i == word->len)
                rc = aoei_pair_merger_add(&tr->merger, symbol, n, word->count, err);
        }
    }
    return rc;
}

/* Sets *id to the id of the token that consists of the pieces `left` and `right`. Adds the token if it does not
 * exist. */
static int join(aoei_wordpiece_trainer *tr, uint32_t left, uint32_t right, int32_t *id, aoe_error *err) {
    aoe_text l = aoei_vocab_token(&tr->vocab, (int32_t)left), r = aoei_vocab_token(&tr->vocab, (int32_t)right);
    char text[2 + MAX_WORD_CHARS * 4]; /* at most the text of one word */
    memcpy(text, l.data, l.len);
    memcpy(text + l.len, r.data + 2, r.len - 2); /* the right piece always has the prefix "##" */
    size_t len = l.len + r.len - 2;
    *id = aoei_vocab_id(&tr->vocab, text, len);
    return *id >= 0 ? 0 : add_token(tr, text, len, id, err);
}

static int merge_pairs(aoei_wordpiece_trainer *tr, aoe_error *err) {
    uint32_t left, right;
    uint64_t count;
    int rc = aoei_pair_merger_start(&tr->merger, err);
    while (!rc && tr->vocab.n_ids < tr->options.vocab_size &&
           aoei_pair_merger_best(&tr->merger, &left, &right, &count) && count >= tr->options.min_frequency) {
        int32_t merged;
        if (!(rc = join(tr, left, right, &merged, err)))
            rc = aoei_pair_merger_merge(&tr->merger, left, right, (uint32_t)merged, err);
    }
    return rc;
}

int aoei_wordpiece_train(aoei_wordpiece_trainer *tr, aoe_error *err) {
    alphabet a = {0};
    int rc;
    if (tr->words.n == 0)
        return aoei_fail(err, AOE_EARG, "the texts for vocabulary training contain no words; add texts");
    if ((rc = count_letters(&a, &tr->words, err)))
        goto done;
    limit_letters(&a, &tr->options);
    if (!(rc = add_alphabet(tr, &a, err)) && !(rc = add_words(tr, &a, err)))
        rc = merge_pairs(tr, err);
done:
    aoei_free(a.letter);
    aoei_free(a.index);
    aoei_pair_merger_free(&tr->merger);
    return rc;
}

size_t aoei_wordpiece_trainer_size(const aoei_wordpiece_trainer *tr) {
    return tr->vocab.n_ids;
}

aoe_text aoei_wordpiece_trainer_token(const aoei_wordpiece_trainer *tr, size_t id) {
    return id < tr->vocab.n_ids ? aoei_vocab_token(&tr->vocab, (int32_t)id) : (aoe_text){NULL, 0};
}

void aoei_wordpiece_trainer_destroy(aoei_wordpiece_trainer *tr) {
    if (!tr)
        return;
    aoei_normalizer_free(&tr->normalizer);
    aoei_normalized_free(&tr->normalized);
    aoei_word_counts_free(&tr->words);
    aoei_pair_merger_free(&tr->merger);
    aoei_vocab_free(&tr->vocab);
    aoei_free(tr);
}
