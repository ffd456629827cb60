/* SPDX-License-Identifier: MIT
 * Computes pairs of duplicate issues. Two issues are in one cluster if a link connects them or if their texts are
 * equal. Weak links also join clusters: they give no positive pairs, but the two issues must be in one split and must
 * not become a negative pair. Clusters are assigned to splits in two steps. First, the clusters with pairs are assigned
 * so that the numbers of pairs follow the split ratios. Then the other clusters, most of which contain a single issue,
 * are assigned so that the numbers of issues follow the split ratios.
 */
#include "collect/issues_pairs.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "dataset/clusters.h"
#include "collect/issues_negatives.h"

typedef struct builder {
    const aoei_issues *s;
    const aoei_issue_pair_options *o;
    aoei_issue_pairs *p;
    aoei_clusters clusters;
    size_t *cluster;  /* [s->n] cluster of each issue, owned */
    size_t *split_of; /* [n_clusters] split of each cluster, owned */
    size_t n_clusters;
    unsigned char *linked; /* [s->n] 1: the issue is the source of a link that is not weak; owned */
    /* [n_clusters] 1: the cluster contains an issue that is marked as a duplicate of an unknown original; owned */
    unsigned char *open;
} builder;

/* An issue with a sort key. The key is the hash of the issue's text, or the group of the issue (group_of). */
typedef struct entry {
    uint64_t key;
    uint32_t issue;
} entry;

static int by_key(const void *pa, const void *pb) {
    const entry *a = pa, *b = pb;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->issue > b->issue) - (a->issue < b->issue);
}

/* If two issues have equal texts that are not empty, merges the clusters that contain the two issues. */
static int join_equal_texts(builder *m, aoe_error *err) {
    entry *order = aoei_malloc_array(m->s->n, sizeof *order);
    size_t n = 0;
    if (!order)
        return aoei_fail_nomem(err, m->s->n * sizeof *order);
    for (size_t i = 0; i < m->s->n; i++)
        if (!m->s->issue[i].empty)
            order[n++] = (entry){m->s->issue[i].text_hash, (uint32_t)i};
    qsort(order, n, sizeof *order, by_key);
    for (size_t i = 1; i < n; i++)
        if (order[i].key == order[i - 1].key)
            aoei_clusters_join(&m->clusters, order[i].issue, order[i - 1].issue);
    aoei_free(order);
    return AOE_OK;
}

/* Returns 1 if the link gives a positive pair: the link is not weak, and the texts of the two issues are different and
 * not empty. */
static int is_pair(const aoei_issues *s, const aoei_issue_link *l) {
    const aoei_issue *a = &s->issue[l->from], *b = &s->issue[l->to];
    return !l->weak && l->from != l->to && !a->empty && !b->empty && a->text_hash != b->text_hash;
}

/* Creates the clusters. Sets `open` of every cluster that contains a duplicate of an unknown original. */
static int make_clusters(builder *m, aoe_error *err) {
    const aoei_issues *s = m->s;
    int code = aoei_clusters_create(&m->clusters, s->n, err);
    if (!code)
        code = join_equal_texts(m, err);
    if (code)
        return code;
    m->cluster = aoei_malloc_array(s->n, sizeof *m->cluster);
    m->linked = aoei_calloc(s->n, 1);
    if (!m->cluster || !m->linked)
        return aoei_fail_nomem(err, s->n * sizeof *m->cluster);
    for (size_t i = 0; i < s->n_links; i++) {
        const aoei_issue_link *l = &s->link[i];
        aoei_clusters_join(&m->clusters, l->from, l->to);
        if (!l->weak)
            m->linked[l->from] = 1;
    }
    m->n_clusters = aoei_clusters_number(&m->clusters, m->cluster);
    m->open = aoei_calloc(m->n_clusters, 1);
    if (!m->open)
        return aoei_fail_nomem(err, m->n_clusters);
    for (size_t i = 0; i < s->n; i++) {
        const int unknown = s->issue[i].marked && !m->linked[i];
        m->p->unknown += (size_t)unknown;
        m->open[m->cluster[i]] |= (unsigned char)unknown;
    }
    return AOE_OK;
}

/* Compares pairs by their two issues, ignoring which of them is the query. Pairs with the same two issues are ordered
 * by their links (first_negative is the index of the link). The first link therefore determines which issue is the
 * query. */
static int by_issues(const void *pa, const void *pb) {
    const aoei_issue_pair *a = pa, *b = pb;
    const uint32_t a_low = a->query < a->positive ? a->query : a->positive,
                   b_low = b->query < b->positive ? b->query : b->positive;
    const uint32_t a_high = a->query ^ a->positive ^ a_low, b_high = b->query ^ b->positive ^ b_low;
    if (a_low != b_low)
        return a_low < b_low ? -1 : 1;
    if (a_high != b_high)
        return a_high < b_high ? -1 : 1;
    return (a->first_negative > b->first_negative) - (a->first_negative < b->first_negative);
}

/* Creates the positive pairs. If there are several links between two issues, only one pair is created. */
static int make_pairs(builder *m, aoe_error *err) {
    aoei_issue_pairs *p = m->p;
    size_t kept = 0;
    p->pair = aoei_malloc_array(m->s->n_links, sizeof *p->pair);
    if (!p->pair)
        return aoei_fail_nomem(err, m->s->n_links * sizeof *p->pair);
    for (size_t i = 0; i < m->s->n_links; i++) {
        const aoei_issue_link *l = &m->s->link[i];
        if (is_pair(m->s, l))
            p->pair[p->n++] = (aoei_issue_pair){.query = l->from, .positive = l->to, .first_negative = i};
        else
            p->equal += !l->weak && l->from != l->to;
    }
    qsort(p->pair, p->n, sizeof *p->pair, by_issues);
    for (size_t i = 0; i < p->n; i++) {
        const aoei_issue_pair *q = &p->pair[i], *last = kept ? &p->pair[kept - 1] : NULL;
        const int again = last && ((q->query == last->query && q->positive == last->positive) ||
                                   (q->query == last->positive && q->positive == last->query));
        if (!again)
            p->pair[kept++] = *q;
    }
    p->n = kept;
    return AOE_OK;
}

/* Assigns a split to every cluster whose weight is not 0. weight: [n_clusters] number of pairs or issues in each
 * cluster; compact, part: [n_clusters] workspace. */
static int assign_splits(builder *m, const size_t *weight, size_t *compact, size_t *part, aoe_error *err) {
    size_t n = 0, at = 0;
    for (size_t i = 0; i < m->n_clusters; i++)
        if (weight[i])
            compact[n++] = weight[i];
    if (n == 0)
        return AOE_OK;
    const int code = aoei_clusters_split(part, compact, n, m->o->share, m->o->n_splits, m->o->seed, err);
    for (size_t i = 0; i < m->n_clusters && !code; i++)
        if (weight[i])
            m->split_of[i] = part[at++];
    return code;
}

/* Assigns a split to every cluster. */
static int split_clusters(builder *m, aoe_error *err) {
    aoei_issue_pairs *p = m->p;
    const size_t n = m->n_clusters;
    size_t *pairs = aoei_calloc(n, sizeof *pairs), *issues = aoei_calloc(n, sizeof *issues);
    size_t *compact = aoei_malloc_array(n, sizeof *compact), *part = aoei_malloc_array(n, sizeof *part);
    m->split_of = aoei_calloc(n, sizeof *m->split_of);
    int code = pairs && issues && compact && part && m->split_of ? AOE_OK : aoei_fail_nomem(err, n * sizeof *pairs);
    if (!code) {
        for (size_t i = 0; i < p->n; i++)
            pairs[m->cluster[p->pair[i].query]]++;
        for (size_t i = 0; i < m->s->n; i++)
            issues[m->cluster[i]]++;
        for (size_t i = 0; i < n; i++) {
            if (!pairs[i])
                continue;
            p->clusters++;
            p->clustered += issues[i];
            p->largest = issues[i] > p->largest ? issues[i] : p->largest;
            issues[i] = 0;
        }
        code = assign_splits(m, pairs, compact, part, err);
    }
    if (!code)
        code = assign_splits(m, issues, compact, part, err);
    aoei_free(pairs);
    aoei_free(issues);
    aoei_free(compact);
    aoei_free(part);
    return code;
}

/* Returns a number that identifies the repository and the split of an issue. The issues with one number are a group. */
static uint64_t group_of(const builder *m, uint32_t issue) {
    return (uint64_t)m->s->issue[issue].repo * m->o->n_splits + m->split_of[m->cluster[issue]];
}

/* Stores the issues that may be negatives in `order`, sorted by group, and returns their number. If a cluster contains
 * a duplicate of an unknown original, its issues are excluded, because the query may be this original. */
static size_t list_candidates(const builder *m, entry *order) {
    size_t n = 0;
    for (size_t i = 0; i < m->s->n; i++)
        if (!m->s->issue[i].empty && !m->open[m->cluster[i]])
            order[n++] = (entry){group_of(m, (uint32_t)i), (uint32_t)i};
    qsort(order, n, sizeof *order, by_key);
    return n;
}

/* Compares pairs by split and repository first, so that the pairs of a group are consecutive and the candidates of each
 * group are prepared only once. */
static int compare_pairs(const builder *m, const aoei_issue_pair *a, const aoei_issue_pair *b) {
    const aoei_issue *x = &m->s->issue[a->query], *y = &m->s->issue[b->query];
    const aoei_issue *u = &m->s->issue[a->positive], *v = &m->s->issue[b->positive];
    if (a->split != b->split)
        return a->split < b->split ? -1 : 1;
    if (x->repo != y->repo)
        return x->repo < y->repo ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    if (u->repo != v->repo)
        return u->repo < v->repo ? -1 : 1;
    return (u->number > v->number) - (u->number < v->number);
}

static int by_group(const void *a, const void *b, void *user) {
    return compare_pairs(user, a, b);
}

/* Chooses up to o->negatives negatives for the pair. */
static int choose_for_pair(builder *m, aoei_candidates *c, aoei_issue_pair *pair) {
    aoei_issue_pairs *p = m->p;
    pair->first_negative = p->n_negatives;
    pair->n_negatives = 0;
    while (c && pair->n_negatives < m->o->negatives) {
        int easier;
        const uint32_t issue =
            aoei_candidates_choose(c, pair->query, p->negative + pair->first_negative, pair->n_negatives, &easier);
        if (issue == AOEI_NO_ISSUE)
            break;
        p->negative[p->n_negatives++] = issue;
        p->easier += (size_t)easier;
        pair->n_negatives++;
    }
    p->without += pair->n_negatives < m->o->negatives;
    return AOE_OK;
}

/* Returns the index after the last pair of the group that starts at index `first` of p->pair. */
static size_t group_end(const builder *m, size_t first) {
    const aoei_issue_pair *pair = m->p->pair;
    size_t end = first;
    while (end < m->p->n && pair[end].split == pair[first].split &&
           m->s->issue[pair[end].query].repo == m->s->issue[pair[first].query].repo)
        end++;
    return end;
}

/* Chooses the negatives of pair[first, end), which are the pairs of one group. order: [n] candidates of all groups,
 * sorted by group; member: workspace for the candidates of this group. */
static int choose_for_group(builder *m, size_t first, size_t end, const entry *order, size_t n, uint32_t *member,
                            aoe_error *err) {
    aoei_issue_pair *pair = m->p->pair;
    const uint64_t key = group_of(m, pair[first].query);
    size_t low = 0, high = n, count = 0;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (order[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    while (low + count < n && order[low + count].key == key) {
        member[count] = order[low + count].issue;
        count++;
    }
    const aoei_candidate_group group = {.s = m->s,
                                        .cluster = m->cluster,
                                        .member = member,
                                        .n = count,
                                        .kind = m->o->kind,
                                        .seed = m->o->seed,
                                        .substream = (uint32_t)key};
    aoei_candidates *c;
    const int code = aoei_candidates_create(&c, &group, err);
    for (size_t i = first; i < end && !code; i++)
        choose_for_pair(m, c, &pair[i]);
    aoei_candidates_destroy(c);
    return code;
}

/* Sets the split of each pair, sorts the pairs, and chooses their negatives. A negative is an issue of the query's
 * repository and split. */
static int choose_negatives(builder *m, aoe_error *err) {
    aoei_issue_pairs *p = m->p;
    size_t capacity;
    int code = AOE_OK;
    for (size_t i = 0; i < p->n; i++)
        p->pair[i].split = (uint32_t)m->split_of[m->cluster[p->pair[i].query]];
    qsort_r(p->pair, p->n, sizeof *p->pair, by_group, m);
    entry *order = aoei_malloc_array(m->s->n, sizeof *order);
    uint32_t *member = aoei_malloc_array(m->s->n, sizeof *member);
    if (aoei_mul_size(p->n, m->o->negatives, &capacity) ||
        !(p->negative = aoei_malloc_array(capacity, sizeof *p->negative)) || !order || !member)
        code = aoei_fail_nomem(err, m->s->n * sizeof *order);
    const size_t n = code ? 0 : list_candidates(m, order);
    for (size_t first = 0, end; first < p->n && !code; first = end) {
        end = group_end(m, first);
        code = choose_for_group(m, first, end, order, n, member, err);
    }
    aoei_free(order);
    aoei_free(member);
    return code;
}

int aoei_issue_pairs_make(aoei_issue_pairs *p, const aoei_issues *s, const aoei_issue_pair_options *o, aoe_error *err) {
    builder m = {.s = s, .o = o, .p = p};
    *p = (aoei_issue_pairs){0};
    int code = make_clusters(&m, err);
    if (!code)
        code = make_pairs(&m, err);
    if (!code)
        code = split_clusters(&m, err);
    if (!code)
        code = choose_negatives(&m, err);
    aoei_clusters_free(&m.clusters);
    aoei_free(m.cluster);
    aoei_free(m.split_of);
    aoei_free(m.linked);
    aoei_free(m.open);
    return code;
}

void aoei_issue_pairs_free(aoei_issue_pairs *p) {
    aoei_free(p->pair);
    aoei_free(p->negative);
    *p = (aoei_issue_pairs){0};
}
