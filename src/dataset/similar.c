/* SPDX-License-Identifier: MIT
 * Implements aoe_find_similar: passes the similar pairs of vectors on, and joins them to groups.
 */
#include <stdint.h>

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "dataset/clusters.h"
#include "vectors/similar_pairs.h"

typedef struct search {
    const aoe_similar_options *o;
    size_t n;               /* number of vectors */
    aoei_clusters clusters; /* the groups; owned */
    size_t pairs;           /* pairs that were found */
} search;

AOEI_DEFAULTS(aoe_similar_options) {
    *o = (aoe_similar_options){.struct_size = sizeof *o, .threshold = 0.9};
}

/* Returns the number of pairs of n items. */
static double pairs_of(size_t n) {
    return (double)n * ((double)n - 1) / 2;
}

static int take_pairs(void *user, const aoei_similar_pair *pairs, size_t n, size_t rows, aoe_error *err) {
    search *s = user;
    s->pairs += n;
    for (size_t i = 0; i < n; i++) {
        aoei_clusters_join(&s->clusters, pairs[i].first, pairs[i].second);
        if (s->o->report && s->o->report(s->o->user, pairs[i].first, pairs[i].second, (double)pairs[i].score))
            return aoei_fail(err, AOE_ECANCELLED, "the search for similar vectors was cancelled");
    }
    if (s->o->progress && s->o->progress(s->o->user, rows == s->n ? 1 : 1 - pairs_of(s->n - rows) / pairs_of(s->n)))
        return aoei_fail(err, AOE_ECANCELLED, "the search for similar vectors was cancelled");
    return 0;
}

/* Numbers the groups with at least two vectors, and counts them and their vectors. */
static int number_groups(search *s, size_t *group, aoe_similar_result *r, aoe_error *err) {
    size_t *number = aoei_malloc_array(s->n, sizeof *number); /* number of the group with this first vector */
    if (!number)
        return aoei_fail_nomem(err, s->n * sizeof *number);
    for (size_t i = 0; i < s->n; i++)
        number[i] = SIZE_MAX;
    for (size_t i = 0; i < s->n; i++) {
        const size_t first = aoei_clusters_first(&s->clusters, i);
        if (first != i && number[first] == SIZE_MAX) {
            number[first] = 0;
            r->grouped++;
        }
        r->grouped += first != i;
    }
    for (size_t i = 0; i < s->n; i++) {
        const size_t first = aoei_clusters_first(&s->clusters, i);
        if (first == i && number[i] != SIZE_MAX)
            number[i] = r->groups++;
        if (group)
            group[i] = number[first];
    }
    aoei_free(number);
    return 0;
}

int aoe_find_similar(aoe_context *ctx, const float *vectors, size_t n, size_t dims, const aoe_similar_options *o,
                     size_t *group, aoe_similar_result *result, aoe_error *err) {
    AOEI_CHECK(err, ctx);
    if (n)
        AOEI_CHECK(err, vectors);
    AOEI_RESULT(aoe_similar_result, result, err);
    AOEI_OPTIONS(aoe_similar_options, o, err);
    search s = {.o = o, .n = n};
    if (!(o->threshold > 0 && o->threshold <= 1))
        return aoei_fail(err, AOE_EARG, "options.threshold is %g; it must be above 0 and at most 1", o->threshold);
    if (!dims || n >= UINT32_MAX)
        return aoei_fail(err, AOE_EARG, "aoe_find_similar: dims must be at least 1 and n less than %u", UINT32_MAX);
    if (!n)
        return 0;
    aoe_similar_result found = {.struct_size = sizeof found};
    int rc = aoei_clusters_create(&s.clusters, n, err);
    if (!rc)
        rc = aoei_similar_pairs(ctx, vectors, n, dims, o->threshold, take_pairs, &s, err);
    if (!rc)
        rc = number_groups(&s, group, &found, err);
    if (!rc) {
        found.pairs = s.pairs;
        *result = found;
    }
    aoei_clusters_free(&s.clusters);
    return rc;
}
