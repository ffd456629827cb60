/* SPDX-License-Identifier: MIT
 * The fingerprint of a set of pairs: lets a resumed run notice that a file of the same name has other contents.
 */
#include "aoe.h"
#include "base/hash.h"

static uint64_t hash_text(uint64_t h, aoe_text t) {
    h = aoei_hash(h, &t.len, sizeof t.len); /* so that a border between texts counts */
    return aoei_hash(h, t.data, t.len);
}

uint64_t aoe_pairs_fingerprint(const aoe_pairs *p) {
    uint64_t h = AOEI_HASH_START;
    for (size_t i = 0; i < aoe_pairs_count(p); i++) {
        const double label = aoe_pairs_label(p, i);
        h = hash_text(h, aoe_pairs_text1(p, i));
        h = hash_text(h, aoe_pairs_text2(p, i));
        h = aoei_hash(h, &label, sizeof label);
    }
    return h;
}
