/* SPDX-License-Identifier: MIT
 * A message about one of several queries contains its number, counted from 1.
 */
#include "index/search_check.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/utf8.h"
#include "index/fusion.h"

int aoei_search_check_options(const aoe_index_search_options *o, aoe_error *err) {
    if (o->k == 0)
        return aoei_fail(err, AOE_EARG, "options.k is 0; it must be at least 1");
    if ((unsigned)o->mode > AOE_INDEX_LEXICAL)
        return aoei_fail(err, AOE_EARG, "options.mode is %d; it must be a value of aoe_index_mode", (int)o->mode);
    if (!(o->dense_weight >= 0) || !(o->lexical_weight >= 0) || !isfinite(o->dense_weight + o->lexical_weight) ||
        o->dense_weight + o->lexical_weight <= 0)
        return aoei_fail(err, AOE_EARG,
                         "options.dense_weight is %g and options.lexical_weight is %g; they must not be negative, and "
                         "one must be positive",
                         o->dense_weight, o->lexical_weight);
    const double most = aoei_fusion_most(o->dense_weight, o->lexical_weight);
    if (o->mode == AOE_INDEX_HYBRID && o->min_score > most)
        return aoei_fail(err, AOE_EARG,
                         "options.min_score is %g, but no score of a hybrid search is above %.4f; use the mode dense, "
                         "in which the score is a cosine",
                         o->min_score, most);
    return 0;
}

int aoei_search_check_query(aoe_text query, size_t i, size_t n, aoe_error *err) {
    char place[48] = "the query";
    const size_t valid = query.len ? aoei_utf8_valid(query.data, query.len) : 0;
    if (n > 1)
        (void)snprintf(place, sizeof place, "query %zu", i + 1);
    if (valid < query.len)
        return aoei_fail(err, AOE_EARG, "%s is not valid UTF-8 at byte %zu", place, valid + 1);
    if (aoei_utf8_is_blank(query.data, query.len))
        return aoei_fail(err, AOE_EARG, "%s is empty; write what to search for", place);
    return 0;
}
