/* SPDX-License-Identifier: MIT
 * Any bytes as text. Invalid UTF-8 is refused with its offset; else the ids are
 * the same with and without a prompt of {text} alone, and every truncation, with
 * and without prompt, is a beginning of them: the fast path against the one that tracks spans.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/utf8.h"
#include "text/tokenizer.h"

static const char json[] =
    "{\"added_tokens\":[{\"content\":\"[MASK]\",\"normalized\":false,\"special\":true},"
    "{\"content\":\"<x>\",\"single_word\":true,\"lstrip\":true,\"rstrip\":true,\"normalized\":false},"
    "{\"content\":\"\\u00c9a\",\"normalized\":true,\"lstrip\":true}],"
    "\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,\"lowercase\":true},"
    "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
    "\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"a\":1,\"##b\":2,\"b\":3,\"[MASK]\":4,\",\":5,\"##a\":6,\"i\":7,"
    "\"\\u4e2d\":8,\"##\\u3016\":9,\"e\":10,\"##\\u302e\":11,\"##\\ud834\\udd65\":12,\"ab\":13,\"##e\":14,\"\\u1100\":15,"
    "\"##\\u1161\":16}}}";

static void compare(const aoe_tokenizer *t, aoe_text text, const aoe_ids *whole, const char *prompt, size_t max_length) {
    aoe_ids ids = {0};
    aoe_encode_options o = {.prompt = prompt, .max_length = max_length};
    if (aoe_tokenizer_encode(t, text, &o, &ids, NULL))
        abort();
    size_t n = max_length && max_length < whole->n ? max_length : whole->n;
    if (ids.n != n || ids.truncated != (n < whole->n) || (n && memcmp(ids.id, whole->id, n * sizeof *ids.id) != 0))
        abort();
    aoe_ids_free(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t live = aoei_alloc_live();
    aoe_text text = {(const char *)data, size};
    aoe_tokenizer *t;
    aoe_error err = {0};
    aoe_ids ids = {0};
    if (aoei_tokenizer_parse_json(&t, json, sizeof json - 1, "json", &err))
        abort();
    int rc = aoe_tokenizer_encode(t, text, NULL, &ids, &err);
    if (rc != (aoei_utf8_valid(text.data, text.len) < size ? AOE_EFORMAT : 0))
        abort();
    if (!rc) {
        compare(t, text, &ids, "{text}", 0);
        compare(t, text, &ids, "{text}", 1);
        compare(t, text, &ids, "{text}", ids.n / 2 + 1);
        compare(t, text, &ids, NULL, ids.n / 2 + 1);
    }
    aoe_ids_free(&ids);
    aoe_tokenizer_close(t);
    if (aoei_alloc_live() != live)
        abort();
    return 0;
}

#ifndef AOE_LIBFUZZER
int main(void) {
    static const aoei_fuzz_seed seeds[] = {
        AOEI_FUZZ_SEED("a ab, ba [MASK] <x> \xc3\x89\x61 b"),
        AOEI_FUZZ_SEED("\xe4\xb8\xad\xe6\x96\x87\xe3\x80\x80\xea\xb0\x80\xea\xb0\x81 \xc4\xb0 i\xcc\x87"),
        AOEI_FUZZ_SEED("a\xe3\x80\xae\xf0\x9d\x85\xa5\xcc\x81 e\xe3\x80\xae\xe0\xa5\x81\xf0\x9d\x85\xa5"),
        AOEI_FUZZ_SEED("  <x>  <x>[MASK]\t\xef\xbb\xbf\xe2\x80\x8b\xef\xbf\xbd\x7f.a.b"),
        AOEI_FUZZ_SEED(
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
    };
    return aoei_fuzz_main(LLVMFuzzerTestOneInput, seeds, sizeof seeds / sizeof *seeds);
}
#endif
