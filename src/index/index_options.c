/* SPDX-License-Identifier: MIT
 * Default values of the options of an index.
 */
#include <math.h>
#include <string.h>

#include "aoe_index.h"
#include "base/options.h"
#include "index/fusion.h"
#include "index/reader.h"

AOEI_DEFAULTS(aoe_index_options) {
    memset(o, 0, sizeof *o);
    o->passage_tokens = AOE_AUTO;
    o->store = AOE_AUTO;
    o->stem = AOE_AUTO;
    o->wait = AOEI_WAIT_SECONDS;
}

AOEI_DEFAULTS(aoe_index_update_options) {
    memset(o, 0, sizeof *o);
    o->commit_seconds = 30;
}

AOEI_DEFAULTS(aoe_index_search_options) {
    memset(o, 0, sizeof *o);
    o->k = 10;
    o->min_score = NAN;
    o->dense_weight = AOEI_DENSE_WEIGHT;
    o->lexical_weight = AOEI_LEXICAL_WEIGHT;
}
