/* SPDX-License-Identifier: MIT
 * Chooses negatives with the help of an inverted index: a list of (label, candidate) or (word, candidate) entries,
 * sorted by label or word. The similarity of two titles is the cosine of their vectors. A title's vector has one
 * component for each of its words. The component is ln((1 + N) / n), where N is the number of candidates and n is the
 * number of candidates whose titles contain the word. The dot product ignores words that occur in more than MAX_TITLES
 * titles, to limit the time per query.
 */
#include "collect/issues_negatives.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aoe_collect.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"

enum {
    TRIES = 32,        /* number of random draws among the candidates that have a label */
    MAX_TITLES = 2000, /* dot products of title vectors ignore words that occur in more titles than this */
    WORDS = 64         /* maximum number of words per title; later words are ignored */
};

/* An entry of the inverted index: a candidate that has a label, or whose title contains a word. */
typedef struct posting {
    uint64_t feature; /* index of the label in aoei_issues.label_name, or hash of the word */
    uint32_t place;   /* index of the candidate in aoei_candidates.member */
} posting;

struct aoei_candidates {
    aoei_candidate_group g; /* the group passed to aoei_candidates_create; its field `member` is NULL */
    uint32_t *member;       /* [n] indices of the candidate issues, in random order, owned */
    unsigned char *used;    /* [n] 1: the candidate was already chosen; owned */
    size_t next;            /* index in `member` at which the search for the next random candidate starts */
    posting *posting;       /* [n_postings] inverted index, sorted by feature, then by place; owned */
    size_t n_postings;
    float *norm; /* [n] Euclidean norm of the vector of each title, owned */
    /* [n] dot product of the query's title with each title, owned; all 0 between two queries */
    float *score;
    uint32_t *found; /* [n] indices in `member` of the candidates with a positive score, owned */
    aoei_rng rng;
};

static int by_feature(const void *pa, const void *pb) {
    const posting *a = pa, *b = pb;
    if (a->feature != b->feature)
        return a->feature < b->feature ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static int by_hash(const void *pa, const void *pb) {
    const uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;
    return (a > b) - (a < b);
}

static int is_word_byte(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c >= 0x80;
}

/* Stores the hashes of the distinct words of a title in `word`, and returns their number. ASCII letters are
 * lowercased. */
static size_t words_of(aoe_text title, uint64_t word[WORDS]) {
    size_t n = 0, kept = 0;
    for (size_t at = 0; at < title.len && n < WORDS;) {
        uint64_t h = AOEI_HASH_START;
        const size_t start = at;
        for (; at < title.len && is_word_byte((unsigned char)title.data[at]); at++) {
            const char c = title.data[at], lower = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
            h = aoei_hash(h, &lower, 1);
        }
        if (at > start)
            word[n++] = h;
        else
            at++;
    }
    qsort(word, n, sizeof *word, by_hash);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || word[i] != word[kept - 1])
            word[kept++] = word[i];
    return kept;
}

/* Returns the number of elements of c->posting whose feature is smaller than `feature`. */
static size_t postings_below(const aoei_candidates *c, uint64_t feature) {
    size_t low = 0, high = c->n_postings;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (c->posting[middle].feature < feature)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Sets *first to the first element of c->posting with this feature, and returns the number of elements with this
 * feature. */
static size_t find_postings(const aoei_candidates *c, uint64_t feature, const posting **first) {
    const size_t low = postings_below(c, feature),
                 high = feature == UINT64_MAX ? c->n_postings : postings_below(c, feature + 1);
    *first = c->posting + low;
    return high - low;
}

static double weight_of(const aoei_candidates *c, size_t uses) {
    return log((1.0 + (double)c->g.n) / (double)uses);
}

/* Creates the list of postings (label, index of an issue) of all issues, sorted by label. */
static int index_labels(aoei_candidates *c, aoe_error *err) {
    for (size_t i = 0; i < c->g.n; i++)
        c->n_postings += c->g.s->issue[c->member[i]].n_labels;
    c->posting = aoei_malloc_array(c->n_postings, sizeof *c->posting);
    if (!c->posting)
        return aoei_fail_nomem(err, c->n_postings * sizeof *c->posting);
    posting *u = c->posting;
    for (size_t i = 0; i < c->g.n; i++) {
        const aoei_issue *issue = &c->g.s->issue[c->member[i]];
        for (size_t k = 0; k < issue->n_labels; k++)
            *u++ = (posting){c->g.s->label[issue->first_label + k], (uint32_t)i};
    }
    qsort(c->posting, c->n_postings, sizeof *c->posting, by_feature);
    return AOE_OK;
}

/* Creates the inverted index of the words of all titles, and computes the norms of the vectors of the titles. */
static int index_words(aoei_candidates *c, aoe_error *err) {
    uint64_t word[WORDS];
    for (size_t i = 0; i < c->g.n; i++)
        c->n_postings += words_of(c->g.s->issue[c->member[i]].title, word);
    c->posting = aoei_malloc_array(c->n_postings, sizeof *c->posting);
    c->norm = aoei_calloc(c->g.n, sizeof *c->norm);
    c->score = aoei_calloc(c->g.n, sizeof *c->score);
    c->found = aoei_malloc_array(c->g.n, sizeof *c->found);
    if (!c->posting || !c->norm || !c->score || !c->found)
        return aoei_fail_nomem(err, c->n_postings * sizeof *c->posting);
    posting *u = c->posting;
    for (size_t i = 0; i < c->g.n; i++) {
        const size_t n = words_of(c->g.s->issue[c->member[i]].title, word);
        for (size_t k = 0; k < n; k++)
            *u++ = (posting){word[k], (uint32_t)i};
    }
    qsort(c->posting, c->n_postings, sizeof *c->posting, by_feature);
    for (size_t first = 0, end; first < c->n_postings; first = end) {
        for (end = first + 1; end < c->n_postings && c->posting[end].feature == c->posting[first].feature;)
            end++;
        const double w = weight_of(c, end - first);
        for (size_t i = first; i < end; i++)
            c->norm[c->posting[i].place] += (float)(w * w);
    }
    for (size_t i = 0; i < c->g.n; i++)
        c->norm[i] = sqrtf(c->norm[i]);
    return AOE_OK;
}

int aoei_candidates_create(aoei_candidates **out, const aoei_candidate_group *g, aoe_error *err) {
    *out = NULL;
    aoei_candidates *c = aoei_calloc(1, sizeof *c);
    if (!c)
        return aoei_fail_nomem(err, sizeof *c);
    c->g = *g;
    c->g.member = NULL;
    aoei_rng_init(&c->rng, g->seed, AOEI_STREAM_ISSUES, g->substream);
    c->member = aoei_malloc_array(g->n, sizeof *c->member);
    c->used = aoei_calloc(g->n, 1);
    int code = c->member && c->used ? AOE_OK : aoei_fail_nomem(err, g->n * sizeof *c->member);
    if (!code) {
        for (size_t i = 0; i < g->n; i++) { /* inside-out variant of the Fisher-Yates shuffle */
            const uint32_t j = aoei_rng_below(&c->rng, (uint32_t)i + 1);
            c->member[i] = c->member[j];
            c->member[j] = g->member[i];
        }
    }
    if (!code && g->kind == AOE_ISSUE_NEGATIVES_LABEL)
        code = index_labels(c, err);
    if (!code && g->kind == AOE_ISSUE_NEGATIVES_NEAR)
        code = index_words(c, err);
    if (code)
        aoei_candidates_destroy(c);
    else
        *out = c;
    return code;
}

void aoei_candidates_destroy(aoei_candidates *c) {
    if (!c)
        return;
    aoei_free(c->member);
    aoei_free(c->used);
    aoei_free(c->posting);
    aoei_free(c->norm);
    aoei_free(c->score);
    aoei_free(c->found);
    aoei_free(c);
}

/* A query and the issues that must not be chosen for it. */
typedef struct constraints {
    uint32_t query;        /* index of the query in aoei_issues.issue */
    const uint32_t *taken; /* [n] indices in aoei_issues.issue of the negatives that the query already has */
    size_t n;
} constraints;

enum { NO_CANDIDATE = UINT32_MAX }; /* value of a place: no candidate */

static int is_allowed(const aoei_candidates *c, const constraints *q, uint32_t place) {
    const uint32_t issue = c->member[place];
    if (c->g.cluster[issue] == c->g.cluster[q->query])
        return 0;
    for (size_t i = 0; i < q->n; i++)
        if (q->taken[i] == issue)
            return 0;
    return 1;
}

static uint32_t next_random(aoei_candidates *c, const constraints *q) {
    for (size_t i = 0; i < c->g.n; i++) {
        const uint32_t place = (uint32_t)((c->next + i) % c->g.n);
        if (is_allowed(c, q, place)) {
            c->next = place + 1;
            return place;
        }
    }
    return NO_CANDIDATE;
}

/* Returns the place (posting.place) of a candidate that has a label of the query, or NO_CANDIDATE. For each label of
 * the query, from the rarest to the most frequent, draws up to TRIES random candidates that have this label. If several
 * labels have equal numbers of candidates, only one of these labels is used. Returns the first drawn candidate that is
 * allowed and was not chosen before. If there is no such candidate, returns the first drawn candidate that is
 * allowed. */
static uint32_t random_with_label(aoei_candidates *c, const constraints *q) {
    const aoei_issue *issue = &c->g.s->issue[q->query];
    uint32_t second = NO_CANDIDATE;
    const uint32_t *label = c->g.s->label + issue->first_label;
    size_t last = 0;
    for (uint32_t round = 0; round < issue->n_labels; round++) {
        const posting *first = NULL, *list;
        size_t n = 0;
        /* finds the rarest label that has more candidates than the label of the previous round */
        for (uint32_t k = 0; k < issue->n_labels; k++) {
            const size_t uses = find_postings(c, label[k], &list);
            if (uses > last && (!first || uses < n)) {
                first = list;
                n = uses;
            }
        }
        last = n;
        for (int i = 0; first && i < TRIES; i++) {
            const uint32_t place = first[aoei_rng_below(&c->rng, (uint32_t)n)].place;
            if (!is_allowed(c, q, place))
                continue;
            if (!c->used[place])
                return place;
            second = second == NO_CANDIDATE ? place : second;
        }
    }
    return second;
}

/* Computes c->score of all titles that have a word in common with the query's title: the sum of the squared weights of
 * the common words. Stores the places of these titles in c->found and returns their number. */
static size_t score_titles(aoei_candidates *c, uint32_t query) {
    uint64_t word[WORDS];
    const size_t n = words_of(c->g.s->issue[query].title, word);
    size_t n_found = 0;
    for (size_t i = 0; i < n; i++) {
        const posting *first;
        const size_t uses = find_postings(c, word[i], &first);
        if (uses == 0 || uses > MAX_TITLES)
            continue;
        const double w = weight_of(c, uses);
        for (size_t k = 0; k < uses; k++) {
            const uint32_t place = first[k].place;
            if (!(c->score[place] > 0))
                c->found[n_found++] = place;
            c->score[place] += (float)(w * w);
        }
    }
    return n_found;
}

/* Returns the place of the allowed candidate whose title is most similar to the query's title, or NO_CANDIDATE. A
 * candidate that was not chosen before is preferred to every candidate that was chosen before. */
static uint32_t most_similar(aoei_candidates *c, const constraints *q) {
    const size_t n = score_titles(c, q->query);
    uint32_t best = NO_CANDIDATE;
    float best_score = 0;
    int best_used = 1;
    for (size_t i = 0; i < n; i++) {
        const uint32_t place = c->found[i];
        const float score = c->score[place] / c->norm[place];
        c->score[place] = 0;
        const int used = c->used[place];
        const int better = used != best_used ? !used : score > best_score || (!(score < best_score) && place < best);
        if ((best == NO_CANDIDATE || better) && is_allowed(c, q, place)) {
            best = place;
            best_score = score;
            best_used = used;
        }
    }
    return best;
}

uint32_t aoei_candidates_choose(aoei_candidates *c, uint32_t query, const uint32_t *taken, size_t n, int *easier) {
    const constraints q = {.query = query, .taken = taken, .n = n};
    uint32_t place = NO_CANDIDATE;
    *easier = 0;
    if (c->g.kind == AOE_ISSUE_NEGATIVES_LABEL)
        place = random_with_label(c, &q);
    else if (c->g.kind == AOE_ISSUE_NEGATIVES_NEAR)
        place = most_similar(c, &q);
    if (place == NO_CANDIDATE && c->g.n) {
        place = next_random(c, &q);
        *easier = place != NO_CANDIDATE && c->g.kind != AOE_ISSUE_NEGATIVES_RANDOM;
    }
    if (place == NO_CANDIDATE)
        return AOEI_NO_ISSUE;
    c->used[place] = 1;
    return c->member[place];
}
