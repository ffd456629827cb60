/* SPDX-License-Identifier: MIT
 * Fuzzes regular expressions. The input is a pattern, then U+0001, then a text. If the pattern is accepted, its matches
 * must be inside the text and in ascending order. Otherwise, there must be an error message. No block may be leaked.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include "tokenizer/pattern.h"

const size_t fuzz_mutations = 4000; /* some expressions need a second before the match limit stops them */

static void find_matches(const aoei_pattern *p, const char *s, size_t len) {
    aoei_pattern_search search = {.n_matches = 0};
    size_t start, end, last = 0;
    int rc;
    aoe_error err = {0};
    aoei_pattern_begin(&search, p, s, len);
    while ((rc = aoei_pattern_next(&search, &start, &end, &err)) > 0) {
        if (start < last || end < start || end > len)
            abort();
        last = end;
    }
    if (rc != err.code)
        abort();
    aoei_pattern_end(&search);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const int64_t live = aoei_alloc_live();
    const char *s = (const char *)data, *cut = size ? memchr(s, 1, size) : NULL;
    const size_t len = cut ? (size_t)(cut - s) : size, rest = cut ? size - len - 1 : 0;
    aoei_pattern p = {.jit = 0};
    aoe_error err = {0};
    /* the callers of the parser check that the pattern and the text are valid UTF-8 */
    if (aoei_utf8_valid(s, size) < size)
        return 0;
    const int rc = aoei_pattern_regex(&p, s, len, &err);
    if (rc != err.code || (rc && rc != AOE_EUNSUPPORTED))
        abort();
    if (!rc && rest)
        find_matches(&p, cut + 1, rest);
    aoei_pattern_free(&p);
    if (aoei_alloc_live() != live)
        abort();
    return 0;
}
