/* SPDX-License-Identifier: MIT
 * Finds near duplicates (near_duplicates.h) with a set-similarity join. The set of a text contains its distinct words.
 * - Prefix filtering (Chaudhuri et al. 2006; Bayardo et al., "Scaling up all pairs similarity search", 2007): the words
 *   of each set are sorted by increasing frequency. Two similar sets share at least one of their first words, which are
 *   rare. Therefore, only texts that share a rare word are compared.
 * - Positional filtering (Xiao et al. 2008): the positions of the common word limit the number of further common words.
 * Invariant: texts are processed in order of increasing set size, so the index contains only sets that are not larger
 * than the current set.
 */
#include "dataset/near_duplicates.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/sort.h"
#include "base/utf8.h"
#include "dataset/text_equality.h"

/* The set of words of a text. */
typedef struct set {
    size_t text;  /* index of the text */
    size_t first; /* index of the set's first word in join.word */
    size_t n;     /* number of distinct words */
} set;

/* An entry in the list of sets that contain a certain word. */
typedef struct posting {
    size_t set, at; /* index of the set in join.set, and position of the word in the set */
    size_t next;    /* index in join.posting of the list's next entry, plus 1; 0 at the end of the list */
} posting;

/* State of aoei_near_duplicates_join. */
typedef struct join {
    double threshold;    /* minimum Jaccard index */
    aoei_distinct words; /* distinct words of all texts; owned, like all arrays below */
    size_t *word; /* [n_words] sorted words of the first set, then of the second set, and so on. At first, a word is an
                     index in `words`; rank_words replaces it by its frequency rank */
    size_t n_words, word_capacity;       /* used and allocated elements of `word` */
    set *set;                            /* [n] sets in text order; rank_words sorts them by size */
    size_t n, set_capacity;              /* used and allocated elements of `set` */
    posting *posting;                    /* [n_postings] entries of the lists of all words */
    size_t n_postings, posting_capacity; /* used and allocated elements of `posting` */
    size_t *head, *tail; /* [words.n] for each word, the index in `posting` of its list's first and last entry, plus 1;
                            0 for an empty list */
    size_t *last_compared; /* [n] for each set, the index of the last set with which it was compared, plus 1; 0: none */
} join;

/* Sorts word[n] and removes duplicate words. Returns the number of remaining words. */
static size_t sort_set(size_t *word, size_t n) {
    size_t kept = 0;
    qsort(word, n, sizeof *word, aoei_compare_sizes);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || word[i] != word[i - 1])
            word[kept++] = word[i];
    return kept;
}

/* Appends the words of a text to j->word as indices in j->words. key: the text after case folding (aoei_text_key). */
static int add_words(join *j, const aoei_buffer *key, aoe_error *err) {
    size_t from = 0;
    for (size_t at = 0, step; at <= key->len; at += step) {
        uint32_t cp = 0;
        step = at < key->len ? aoei_utf8_decode(key->data + at, key->len - at, &cp) : 1;
        if (at < key->len && aoei_is_letter_or_digit((int32_t)cp))
            continue;
        if (at > from) {
            if (aoei_grow((void **)&j->word, &j->word_capacity, j->n_words, sizeof *j->word))
                return aoei_fail_nomem(err, j->n_words * sizeof *j->word);
            const int rc =
                aoei_distinct_add(&j->words, (aoe_text){key->data + from, at - from}, 0, &j->word[j->n_words], err);
            if (rc)
                return rc;
            j->n_words++;
        }
        from = at + step;
    }
    return 0;
}

static int add_sets(join *j, const aoei_distinct *texts, const size_t *class, aoe_error *err) {
    aoei_text_key_scratch scratch = {0};
    aoei_buffer key = {0};
    int rc = 0;
    for (size_t i = 0; i < texts->n && !rc; i++) {
        if (class[i] != i)
            continue;
        const size_t first = j->n_words;
        if (aoei_text_key(&key, texts->text[i], AOE_TEXT_EQUAL_CASE, &scratch) ||
            aoei_grow((void **)&j->set, &j->set_capacity, j->n, sizeof *j->set))
            rc = aoei_fail_nomem(err, key.len);
        else
            rc = add_words(j, &key, err);
        if (rc || j->n_words == first)
            continue;
        const size_t n = sort_set(j->word + first, j->n_words - first);
        j->n_words = first + n;
        j->set[j->n++] = (set){i, first, n};
    }
    aoei_free(scratch.point);
    aoei_buffer_free(&key);
    return rc;
}

static int by_size(const void *a, const void *b) {
    const set *x = a, *y = b;
    if (x->n != y->n)
        return x->n < y->n ? -1 : 1;
    return (x->text > y->text) - (x->text < y->text);
}

/* A word and the number of sets that contain it. */
typedef struct frequency {
    size_t count, word;
} frequency;

static int by_frequency(const void *a, const void *b) {
    const frequency *x = a, *y = b;
    if (x->count != y->count)
        return x->count < y->count ? -1 : 1;
    return (x->word > y->word) - (x->word < y->word);
}

/* Replaces each word in j->word by its frequency rank; the rarest word has rank 0. Then sorts the sets by size. */
static int rank_words(join *j, aoe_error *err) {
    const size_t n = j->words.n;
    frequency *f = aoei_calloc(n, sizeof *f);
    size_t *rank = aoei_malloc_array(n, sizeof *rank);
    const int rc = f && rank ? 0 : aoei_fail_nomem(err, n * sizeof *f);
    if (!rc) {
        for (size_t i = 0; i < n; i++)
            f[i].word = i;
        for (size_t i = 0; i < j->n_words; i++)
            f[j->word[i]].count++;
        qsort(f, n, sizeof *f, by_frequency);
        for (size_t i = 0; i < n; i++)
            rank[f[i].word] = i;
        for (size_t i = 0; i < j->n_words; i++)
            j->word[i] = rank[j->word[i]];
        for (size_t i = 0; i < j->n; i++)
            qsort(j->word + j->set[i].first, j->set[i].n, sizeof *j->word, aoei_compare_sizes);
        qsort(j->set, j->n, sizeof *j->set, by_size);
    }
    aoei_free(f);
    aoei_free(rank);
    return rc;
}

/* Returns the minimum number of words that a set of n words has in common with any set whose Jaccard index is at least
 * `threshold`. Rounding may make the result too small by one, but never too large. */
static size_t min_common_words(double threshold, size_t n) {
    const double x = ceil(threshold * (double)n - 1e-9);
    return x < 1 ? 1 : (size_t)x;
}

static int is_near(const join *j, const set *a, const set *b) {
    const size_t *x = j->word + a->first, *y = j->word + b->first;
    size_t i = 0, k = 0, common = 0;
    while (i < a->n && k < b->n) {
        common += x[i] == y[k];
        const int next = x[i] <= y[k];
        k += x[i] >= y[k];
        i += (size_t)next;
    }
    return (double)common >= j->threshold * (double)(a->n + b->n - common);
}

/* Returns 1 if the Jaccard index of sets a and b may reach the threshold. The first common word is at position i in set
 * a and at position k in set b, so only the words from these positions can be common. */
static int may_be_near(const join *j, const set *a, size_t i, const set *b, size_t k) {
    const size_t left = a->n - i < b->n - k ? a->n - i : b->n - k;
    return (double)left * (1 + j->threshold) >= j->threshold * (double)(a->n + b->n) - 1e-9;
}

/* Compares set s with the sets in the list of its i-th word. Sets that are too small to be near duplicates of set s are
 * removed from the list, because all following sets are at least as large as set s. */
static void compare_with(join *j, size_t s, size_t i, aoei_clusters *c, const size_t *item, size_t *joined) {
    const set *a = &j->set[s];
    const size_t word = j->word[a->first + i];
    const size_t smallest = min_common_words(j->threshold, a->n);
    while (j->head[word] && j->set[j->posting[j->head[word] - 1].set].n < smallest)
        j->head[word] = j->posting[j->head[word] - 1].next;
    for (size_t at = j->head[word]; at; at = j->posting[at - 1].next) {
        const size_t other = j->posting[at - 1].set;
        const set *b = &j->set[other];
        if (j->last_compared[other] == s + 1)
            continue;
        j->last_compared[other] = s + 1;
        if (!may_be_near(j, a, i, b, j->posting[at - 1].at))
            continue;
        const size_t x = aoei_clusters_first(c, item[a->text]), y = aoei_clusters_first(c, item[b->text]);
        if (x != y && is_near(j, a, b)) {
            aoei_clusters_join(c, x, y);
            ++*joined;
        }
    }
}

/* Adds set s to the list of its i-th word. */
static int add_posting(join *j, size_t s, size_t i, aoe_error *err) {
    const size_t word = j->word[j->set[s].first + i];
    if (aoei_grow((void **)&j->posting, &j->posting_capacity, j->n_postings, sizeof *j->posting))
        return aoei_fail_nomem(err, j->n_postings * sizeof *j->posting);
    j->posting[j->n_postings++] = (posting){s, i, 0};
    if (j->head[word])
        j->posting[j->tail[word] - 1].next = j->n_postings;
    else
        j->head[word] = j->n_postings;
    j->tail[word] = j->n_postings;
    return 0;
}

/* Compares each set with the sets before it that share a word of its prefix, and joins near duplicates. The sets are
 * sorted by size, so each set is compared only with smaller or equally large ones. */
static int join_sets(join *j, aoei_clusters *c, const size_t *item, size_t *joined, aoe_error *err) {
    int rc = 0;
    j->head = aoei_calloc(j->words.n, sizeof *j->head);
    j->tail = aoei_calloc(j->words.n, sizeof *j->tail);
    j->last_compared = aoei_calloc(j->n, sizeof *j->last_compared);
    if (!j->head || !j->tail || !j->last_compared)
        return aoei_fail_nomem(err, j->n * sizeof *j->last_compared);
    for (size_t s = 0; s < j->n && !rc; s++) {
        const size_t n = j->set[s].n, prefix = n - min_common_words(j->threshold, n) + 1;
        const size_t listed = n - min_common_words(2 * j->threshold / (1 + j->threshold), n) +
                              1; /* number of words to index; it does not exceed `prefix`, because all following sets
                                    have at least n words */
        for (size_t i = 0; i < prefix; i++)
            compare_with(j, s, i, c, item, joined);
        for (size_t i = 0; i < listed && !rc; i++)
            rc = add_posting(j, s, i, err);
    }
    return rc;
}

int aoei_near_duplicates_join(aoei_clusters *c, const aoei_distinct *texts, const size_t *class, const size_t *item,
                              double threshold, size_t *joined, aoe_error *err) {
    join j = {.threshold = threshold};
    *joined = 0;
    if (!(threshold > 0 && threshold <= 1))
        return aoei_fail(err, AOE_EARG, "options.near_duplicates is %g; it must be 0 (off), or above 0 and at most 1",
                         threshold);
    int rc = add_sets(&j, texts, class, err);
    if (!rc)
        rc = rank_words(&j, err);
    if (!rc)
        rc = join_sets(&j, c, item, joined, err);
    aoei_distinct_free(&j.words);
    aoei_free(j.word);
    aoei_free(j.set);
    aoei_free(j.posting);
    aoei_free(j.head);
    aoei_free(j.tail);
    aoei_free(j.last_compared);
    return rc;
}
