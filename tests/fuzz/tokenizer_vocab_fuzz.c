/* SPDX-License-Identifier: MIT
 * Fuzzes the older files of tokenizers: vocab.txt, or vocab.json and merges.txt, and the JSON files with settings. One
 * input contains all files, separated by U+0001. If the files are accepted, the tokenizer must encode texts. Otherwise,
 * there must be an error message of one line. A smaller tokenizer with some of the tokens must have these tokens, or
 * must be rejected. No block may be leaked.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tokenizers.h"
#include "base/alloc.h"
#include "tokenizer/tokenizer_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t live = aoei_alloc_live();
    aoe_text part[6] = {{NULL, 0}};
    const char *s = (const char *)data, *end = s + size;
    for (size_t i = 0; i < 6 && s < end; i++) {
        const char *stop = i < 5 ? memchr(s, 1, (size_t)(end - s)) : NULL;
        part[i] = (aoe_text){s, (size_t)((stop ? stop : end) - s)};
        s = stop ? stop + 1 : end;
    }
    aoei_vocab_files files = {.vocab = part[0].len ? part[0] : (aoe_text){NULL, 0},
                              .config = part[1],
                              .special_map = part[2],
                              .added_tokens = part[3],
                              .vocab_json = part[4],
                              .merges = part[5]};
    aoe_tokenizer *t;
    aoe_error err = {0};
    aoe_ids ids = {0};
    int rc = aoei_tokenizer_parse_vocab(&t, &files, "dir", &err);
    if (rc != err.code || (rc == 0) != (t != NULL) || (rc && strncmp(err.message, "dir/", 4) != 0))
        abort();
    if (t) {
        rc = aoe_tokenizer_encode(t, aoe_text_of("a ab [MASK] Zz b\xc3\x89."), NULL, &ids, &err);
        if (rc && rc != AOE_EFORMAT)
            abort();
        for (size_t i = 0; i < ids.n; i++)
            if (ids.id[i] < 0 || (size_t)ids.id[i] >= aoe_tokenizer_vocab_size(t))
                abort();
        aoe_tokenizer_close(test_smaller_tokenizer(t, "dir"));
    }
    aoe_ids_free(&ids);
    aoe_tokenizer_close(t);
    if (aoei_alloc_live() != live)
        abort();
    return 0;
}
