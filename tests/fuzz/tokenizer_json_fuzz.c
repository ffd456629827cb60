/* SPDX-License-Identifier: MIT
 * Fuzzes tokenizer.json and tokenizer_config.json. One input contains both files, separated by U+0001;
 * tokenizer_config.json may be missing. If the files are accepted, the tokenizer must encode texts to non-negative ids,
 * and decode ids to valid UTF-8. Otherwise, there must be an error message of one line. A smaller tokenizer with some
 * of the tokens must have these tokens, or must be rejected. No block may be leaked.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tokenizers.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include "tokenizer/tokenizer_files.h"

/* Decodes the ids, and some ids that may not exist. The text must be valid UTF-8. */
static void decode(const aoe_tokenizer *t, const aoe_ids *ids) {
    static const int32_t some[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, -1, INT32_MAX};
    aoe_decoded d = {0};
    aoe_error err = {0};
    for (int i = 0; i < 4; i++) {
        const int rc = i < 2    ? aoe_tokenizer_decode(t, some, sizeof some / sizeof *some, i, &d, &err)
                       : ids->n ? aoe_tokenizer_decode(t, ids->id, ids->n, i - 2, &d, &err)
                                : 0;
        if (rc ? rc != err.code || d.text : d.len && aoei_utf8_valid(d.text, d.len) != d.len)
            abort();
    }
    aoe_decoded_free(&d);
}

static void use(const aoe_tokenizer *t) {
    static const char text[] = "a ab\xc3\xa9 [MASK]<x> b\xe4\xb8\xad, zz";
    aoe_ids ids = {0};
    aoe_error err = {0};
    aoe_encode_options o = {.struct_size = sizeof(aoe_encode_options), .prompt = "b {text} a", .max_length = 6};
    for (int prompted = 0; prompted < 2; prompted++) {
        int rc = aoe_tokenizer_encode(t, aoe_text_of(text), prompted ? &o : NULL, &ids, &err);
        if (rc && rc != AOE_EFORMAT && rc != AOE_EARG)
            abort();
        if (prompted && ids.n > o.max_length)
            abort();
        /* the post-processor may add ids that are not in the vocabulary, so ids may exceed the size of the
         * vocabulary */
        for (size_t i = 0; i < ids.n; i++)
            if (ids.id[i] < 0)
                abort();
        decode(t, &ids);
    }
    aoe_ids_free(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t live = aoei_alloc_live();
    aoe_tokenizer *t;
    aoe_error err = {0};
    const char *json = (const char *)data, *separator = size ? memchr(json, 1, size) : NULL;
    const size_t len = separator ? (size_t)(separator - json) : size;
    const aoe_text config = {separator ? separator + 1 : NULL, separator ? size - len - 1 : 0};
    int rc = aoei_tokenizer_parse_json(&t, json, len, config, "input", &err);
    if (rc != err.code || (rc == 0) != (t != NULL) || (rc && !strstr(err.message, "input")))
        abort();
    if (t) {
        aoe_tokenizer *small = test_smaller_tokenizer(t, "dir");
        use(t);
        if (small)
            use(small);
        aoe_tokenizer_close(small);
    }
    aoe_tokenizer_close(t);
    if (aoei_alloc_live() != live)
        abort();
    return 0;
}
