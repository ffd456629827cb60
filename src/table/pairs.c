/* SPDX-License-Identifier: MIT
 * Stores labeled pairs for evaluation. The pairs are examples of the kind AOE_EXAMPLES_PAIRS with one text per role.
 */
#include "table/pairs.h"

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/options.h"
#include "table/examples.h"
#include <math.h>

struct aoe_pairs {
    aoei_examples examples;
};

int aoei_pairs_create(aoe_pairs **out, const char *name, aoe_error *err) {
    *out = NULL;
    aoe_pairs *p = aoei_calloc(1, sizeof *p);
    if (!p)
        return aoei_fail_nomem(err, sizeof *p);
    const int rc = aoei_examples_create(&p->examples, name, AOE_EXAMPLES_PAIRS, err);
    if (rc)
        aoe_pairs_free(p);
    else
        *out = p;
    return rc;
}

int aoei_pairs_append(aoe_pairs *p, aoe_text text1, aoe_text text2, double label, size_t line, aoe_error *err) {
    return aoei_examples_append(&p->examples, (const aoe_text[2]){text1, text2}, (const size_t[2]){1, 1}, label, line,
                                err);
}

const char *aoei_pairs_name(const aoe_pairs *p) {
    return p->examples.name;
}

void aoei_pairs_label_range(const aoe_pairs *p, double *low, double *high) {
    for (size_t i = 0; i < p->examples.n; i++) {
        *low = fmin(*low, p->examples.label[i]);
        *high = fmax(*high, p->examples.label[i]);
    }
}

int aoei_pairs_read(aoe_pairs **out, aoei_table *t, const aoe_table_options *o, aoe_error *err) {
    *out = NULL;
    aoe_pairs *p = aoei_calloc(1, sizeof *p);
    if (!p)
        return aoei_fail_nomem(err, sizeof *p);
    int rc = aoei_examples_read(&p->examples, t, AOE_EXAMPLES_PAIRS, 0, o, err);
    if (!rc && !(o && o->classes))
        rc = aoei_examples_check_scores(&p->examples, err);
    if (rc)
        aoe_pairs_free(p);
    else
        *out = p;
    return rc;
}

AOEI_DEFAULTS(aoe_table_options) {
    *o = (aoe_table_options){.struct_size = sizeof *o};
}

int aoe_pairs_load(aoe_pairs **p, const char *path, const aoe_table_options *o, aoe_error *err) {
    if (p)
        *p = NULL;
    AOEI_CHECK(err, p, path);
    AOEI_OPTIONS(aoe_table_options, o, err);
    aoei_table *t;
    int rc = aoei_table_open(&t, path, o, err);
    if (rc)
        return rc;
    rc = aoei_pairs_read(p, t, o, err);
    aoei_table_close(t);
    return rc;
}

void aoe_pairs_free(aoe_pairs *p) {
    if (!p)
        return;
    aoei_examples_free(&p->examples);
    aoei_free(p);
}

size_t aoe_pairs_count(const aoe_pairs *p) {
    if (!p)
        return 0;
    return p->examples.n;
}

aoe_text aoe_pairs_text1(const aoe_pairs *p, size_t i) {
    if (!p)
        return (aoe_text){NULL, 0};
    return p->examples.text[2 * i];
}

aoe_text aoe_pairs_text2(const aoe_pairs *p, size_t i) {
    if (!p)
        return (aoe_text){NULL, 0};
    return p->examples.text[2 * i + 1];
}

double aoe_pairs_label(const aoe_pairs *p, size_t i) {
    if (!p)
        return (double)NAN;
    return p->examples.label[i];
}

size_t aoe_pairs_line(const aoe_pairs *p, size_t i) {
    if (!p)
        return 0;
    return p->examples.line[i];
}

size_t aoe_pairs_skipped(const aoe_pairs *p) {
    if (!p)
        return 0;
    return p->examples.skipped;
}

size_t aoe_pairs_dropped(const aoe_pairs *p) {
    if (!p)
        return 0;
    return p->examples.dropped;
}

static uint64_t hash_text(uint64_t h, aoe_text t) {
    h = aoei_hash(h, &t.len, sizeof t.len); /* the length is hashed, so that ("ab", "c") and ("a", "bc") have different
                                               hashes */
    return aoei_hash(h, t.data, t.len);
}

uint64_t aoe_pairs_fingerprint(const aoe_pairs *p) {
    if (!p)
        return 0;
    uint64_t h = AOEI_HASH_START;
    for (size_t i = 0; i < aoe_pairs_count(p); i++) {
        const double label = aoe_pairs_label(p, i);
        h = hash_text(h, aoe_pairs_text1(p, i));
        h = hash_text(h, aoe_pairs_text2(p, i));
        h = aoei_hash(h, &label, sizeof label);
    }
    return h;
}
