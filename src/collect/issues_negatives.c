/* SPDX-License-Identifier: MIT
 * The labels or title words of all candidates are stored in one list, sorted by label or word, then by candidate. The
 * similarity of two titles is the cosine of their word vectors, with the weight ln((1 + candidates) / candidates with the word)
 * for each word that a title contains. Words of very many titles are ignored, so the time per query is bounded.
 */
#include "collect/issues_negatives.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"

enum {
    TRIES = 32,      /* number of random draws among the candidates with a label */
    FOLLOWED = 2000, /* maximum number of titles with a word; more frequent words are ignored */
    WORDS = 64       /* maximum number of words per title */
};

/* A label or word of a candidate. */
typedef struct use {
    uint64_t feature; /* index of the label in aoei_issues.label_name, or hash of the word */
    uint32_t place;   /* index of the candidate in `member` */
} use;

struct aoei_candidates {
    aoei_candidate_group g; /* options of the group; its member array is not used */
    uint32_t *member;       /* [n] indices of the candidate issues, in random order, owned */
    unsigned char *used;    /* [n] 1: the candidate was already chosen; owned */
    size_t next;            /* index in `member` of the next random candidate */
    use *use;               /* [n_uses] labels or words, sorted by feature, then by place; owned */
    size_t n_uses;
    float *norm;     /* [n] Euclidean norm of each title's word vector, owned */
    float *score;    /* [n] dot product of each title with the query's title, zero between queries; owned */
    uint32_t *found; /* [n] places of the candidates with a positive score, owned */
    aoei_rng rng;
};

static int by_feature(const void *pa, const void *pb) {
    const use *a = pa, *b = pb;
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

/* Computes the hashes of the distinct words of a title, with ASCII letters lowercased. Returns their number. */
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

/* Returns the number of elements of c->use with a smaller feature. */
static size_t uses_below(const aoei_candidates *c, uint64_t feature) {
    size_t low = 0, high = c->n_uses;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (c->use[middle].feature < feature)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Sets *first to the first element of c->use with this feature and returns the number of such elements. */
static size_t find_uses(const aoei_candidates *c, uint64_t feature, const use **first) {
    const size_t low = uses_below(c, feature), high = feature == UINT64_MAX ? c->n_uses : uses_below(c, feature + 1);
    *first = c->use + low;
    return high - low;
}

static double weight_of(const aoei_candidates *c, size_t uses) {
    return log((1.0 + (double)c->g.n) / (double)uses);
}

static int index_labels(aoei_candidates *c, aoe_error *err) {
    for (size_t i = 0; i < c->g.n; i++)
        c->n_uses += c->g.s->issue[c->member[i]].n_labels;
    c->use = aoei_malloc_array(c->n_uses, sizeof *c->use);
    if (!c->use)
        return aoei_fail_nomem(err, c->n_uses * sizeof *c->use);
    use *u = c->use;
    for (size_t i = 0; i < c->g.n; i++) {
        const aoei_issue *issue = &c->g.s->issue[c->member[i]];
        for (size_t k = 0; k < issue->n_labels; k++)
            *u++ = (use){c->g.s->label[issue->first_label + k], (uint32_t)i};
    }
    qsort(c->use, c->n_uses, sizeof *c->use, by_feature);
    return AOE_OK;
}

static int index_words(aoei_candidates *c, aoe_error *err) {
    uint64_t word[WORDS];
    for (size_t i = 0; i < c->g.n; i++)
        c->n_uses += words_of(c->g.s->issue[c->member[i]].title, word);
    c->use = aoei_malloc_array(c->n_uses, sizeof *c->use);
    c->norm = aoei_calloc(c->g.n, sizeof *c->norm);
    c->score = aoei_calloc(c->g.n, sizeof *c->score);
    c->found = aoei_malloc_array(c->g.n, sizeof *c->found);
    if (!c->use || !c->norm || !c->score || !c->found)
        return aoei_fail_nomem(err, c->n_uses * sizeof *c->use);
    use *u = c->use;
    for (size_t i = 0; i < c->g.n; i++) {
        const size_t n = words_of(c->g.s->issue[c->member[i]].title, word);
        for (size_t k = 0; k < n; k++)
            *u++ = (use){word[k], (uint32_t)i};
    }
    qsort(c->use, c->n_uses, sizeof *c->use, by_feature);
    for (size_t first = 0, end; first < c->n_uses; first = end) {
        for (end = first + 1; end < c->n_uses && c->use[end].feature == c->use[first].feature;)
            end++;
        const double w = weight_of(c, end - first);
        for (size_t i = first; i < end; i++)
            c->norm[c->use[i].place] += (float)(w * w);
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
        for (size_t i = 0; i < g->n; i++) { /* Fisher-Yates shuffle, inside-out variant */
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
    aoei_free(c->use);
    aoei_free(c->norm);
    aoei_free(c->score);
    aoei_free(c->found);
    aoei_free(c);
}

/* A query and the issues that must not be chosen for it. */
typedef struct question {
    uint32_t query;        /* index of the issue */
    const uint32_t *taken; /* [n] indices of the negatives that the query already has */
    size_t n;
} question;

enum { NOWHERE = UINT32_MAX }; /* place: no candidate */

static int may_be(const aoei_candidates *c, const question *q, uint32_t place) {
    const uint32_t issue = c->member[place];
    if (c->g.cluster[issue] == c->g.cluster[q->query])
        return 0;
    for (size_t i = 0; i < q->n; i++)
        if (q->taken[i] == issue)
            return 0;
    return 1;
}

static uint32_t any(aoei_candidates *c, const question *q) {
    for (size_t i = 0; i < c->g.n; i++) {
        const uint32_t place = (uint32_t)((c->next + i) % c->g.n);
        if (may_be(c, q, place)) {
            c->next = place + 1;
            return place;
        }
    }
    return NOWHERE;
}

/* Returns the place of a candidate that shares a label with the query, or NOWHERE. The rarest label with a candidate that was
 * not chosen before has precedence; otherwise any candidate with a common label is chosen. */
static uint32_t with_label(aoei_candidates *c, const question *q) {
    const aoei_issue *issue = &c->g.s->issue[q->query];
    uint32_t second = NOWHERE;
    const uint32_t *label = c->g.s->label + issue->first_label;
    size_t last = 0;
    for (uint32_t round = 0; round < issue->n_labels; round++) {
        const use *first = NULL, *list;
        size_t n = 0;
        for (uint32_t k = 0; k < issue->n_labels; k++) { /* finds the next more frequent label; issues have few labels */
            const size_t uses = find_uses(c, label[k], &list);
            if (uses > last && (!first || uses < n)) {
                first = list;
                n = uses;
            }
        }
        last = n;
        for (int i = 0; first && i < TRIES; i++) {
            const uint32_t place = first[aoei_rng_below(&c->rng, (uint32_t)n)].place;
            if (!may_be(c, q, place))
                continue;
            if (!c->used[place])
                return place;
            second = second == NOWHERE ? place : second;
        }
    }
    return second;
}

/* Sets the score of each title that shares words with the query to the sum of the squared weights of these words, and lists the
 * titles in c->found. Returns their number. */
static size_t score_titles(aoei_candidates *c, uint32_t query) {
    uint64_t word[WORDS];
    const size_t n = words_of(c->g.s->issue[query].title, word);
    size_t n_found = 0;
    for (size_t i = 0; i < n; i++) {
        const use *first;
        const size_t uses = find_uses(c, word[i], &first);
        if (uses == 0 || uses > FOLLOWED)
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

static uint32_t nearest(aoei_candidates *c, const question *q) {
    const size_t n = score_titles(c, q->query);
    uint32_t best = NOWHERE;
    float best_score = 0;
    int best_used = 1;
    for (size_t i = 0; i < n; i++) {
        const uint32_t place = c->found[i];
        const float score = c->score[place] / c->norm[place];
        c->score[place] = 0;
        const int used = c->used[place];
        const int better = used != best_used ? !used : score > best_score || (!(score < best_score) && place < best);
        if ((best == NOWHERE || better) && may_be(c, q, place)) {
            best = place;
            best_score = score;
            best_used = used;
        }
    }
    return best;
}

uint32_t aoei_candidates_choose(aoei_candidates *c, uint32_t query, const uint32_t *taken, size_t n, int *easier) {
    const question q = {.query = query, .taken = taken, .n = n};
    uint32_t place = NOWHERE;
    *easier = 0;
    if (c->g.kind == AOE_ISSUE_NEGATIVES_LABEL)
        place = with_label(c, &q);
    else if (c->g.kind == AOE_ISSUE_NEGATIVES_NEAR)
        place = nearest(c, &q);
    if (place == NOWHERE && c->g.n) {
        place = any(c, &q);
        *easier = place != NOWHERE && c->g.kind != AOE_ISSUE_NEGATIVES_RANDOM;
    }
    if (place == NOWHERE)
        return AOEI_NO_ISSUE;
    c->used[place] = 1;
    return c->member[place];
}
