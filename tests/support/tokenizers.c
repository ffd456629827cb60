/* SPDX-License-Identifier: MIT
 * Creates small tokenizers for tests; see tokenizers.h.
 */
#include "tokenizers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "tokenizer/subset_files.h"
#include "tokenizer/token_subset.h"
#include "tokenizer/tokenizer_files.h"

static const char *or_else(const char *s, const char *fallback) {
    return s ? s : fallback;
}

char *test_tokenizer_json(const test_tokenizer_spec *spec) {
    static const char uncased[] = "{\"type\":\"BertNormalizer\",\"clean_text\":true,\"handle_chinese_chars\":true,"
                                  "\"strip_accents\":null,\"lowercase\":true}";
    static const char specials[] = "[{\"id\":0,\"content\":\"[PAD]\",\"normalized\":false,\"special\":true},"
                                   "{\"id\":1,\"content\":\"[UNK]\",\"normalized\":false,\"special\":true},"
                                   "{\"id\":2,\"content\":\"[CLS]\",\"normalized\":false,\"special\":true},"
                                   "{\"id\":3,\"content\":\"[SEP]\",\"normalized\":false,\"special\":true},"
                                   "{\"id\":4,\"content\":\"[MASK]\",\"normalized\":false,\"special\":true}]";
    static const char template[] =
        "{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"[CLS]\"}},"
        "{\"Sequence\":{\"id\":\"A\"}},{\"SpecialToken\":{\"id\":\"[SEP]\"}}],\"special_tokens\":"
        "{\"[CLS]\":{\"id\":\"[CLS]\",\"ids\":[2],\"tokens\":[\"[CLS]\"]},"
        "\"[SEP]\":{\"id\":\"[SEP]\",\"ids\":[3],\"tokens\":[\"[SEP]\"]}}}";
    char *json = NULL, *words = strdup(spec->words), *save = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&json, &size);
    assert_non_null(f);
    assert_non_null(words);
    fprintf(f,
            "{\"version\":\"1.0\",\"truncation\":{\"max_length\":2},\"padding\":null,\"added_tokens\":%s,"
            "\"normalizer\":%s,",
            or_else(spec->added_tokens, specials), or_else(spec->normalizer, uncased));
    fprintf(f, "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"post_processor\":%s,\"decoder\":null,",
            or_else(spec->post_processor, template));
    fprintf(f,
            "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\","
            "\"max_input_chars_per_word\":100,\"vocab\":{\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3,\"[MASK]\":4");
    int id = 5;
    for (char *w = strtok_r(words, " ", &save); w; w = strtok_r(NULL, " ", &save))
        fprintf(f, ",\"%s\":%d", w, id++);
    fprintf(f, "}}}");
    assert_int_equal(fclose(f), 0);
    free(words);
    return json;
}

aoe_tokenizer *test_tokenizer_of(const char *json) {
    aoe_tokenizer *t;
    aoe_error err = {0};
    if (aoei_tokenizer_parse_json(&t, json, strlen(json), (aoe_text){NULL, 0}, "tokenizer.json", &err))
        fail_msg("%s", err.message);
    return t;
}

aoe_tokenizer *test_tokenizer(const test_tokenizer_spec *spec) {
    char *json = test_tokenizer_json(spec);
    aoe_tokenizer *t = test_tokenizer_of(json);
    free(json);
    return t;
}

aoe_tokenizer *test_smaller_tokenizer(const aoe_tokenizer *t, const char *dir) {
    aoei_token_subset s;
    aoe_tokenizer *small = NULL;
    aoe_error err = {0};
    int rc = aoei_token_subset_create(&s, t, dir, &err);
    if (!rc)
        rc = aoei_subset_add_settings(&s, dir, &err);
    uint8_t *used = calloc(s.n + 1, 1);
    for (size_t i = 0; i < s.n && !rc && used; i += 2) {
        used[i] = 1;
        rc = aoei_token_subset_add(&s, (int32_t)i, SIZE_MAX, &err) < 0;
    }
    if (!rc && used)
        rc = aoei_token_subset_add_alphabet(&s, used, &err);
    if (!rc && !(rc = aoei_token_subset_number(&s, &err)))
        rc = aoei_subset_tokenizer(&small, &s, dir, &err);
    if (rc != err.code || (rc == 0) != (small != NULL) || (rc && strncmp(err.message, dir, strlen(dir)) != 0) ||
        (small && aoe_tokenizer_vocab_size(small) != s.n_kept))
        abort();
    free(used);
    aoei_token_subset_free(&s);
    return small;
}

const char *test_tokens_n(const aoe_tokenizer *t, const char *text, size_t len, const aoe_encode_options *o) {
    static char out[4096];
    aoe_ids ids = {0};
    int rc = aoe_tokenizer_encode(t, (aoe_text){text, len}, o, &ids, NULL);
    size_t at = 0;
    out[0] = 0;
    if (rc)
        snprintf(out, sizeof out, "error %d", rc);
    for (size_t i = 0; i < ids.n && at < sizeof out; i++) {
        aoe_text token = aoe_tokenizer_token(t, ids.id[i]);
        at += (size_t)snprintf(out + at, sizeof out - at, "%s%.*s", i ? " " : "", (int)token.len,
                               token.data ? token.data : "");
    }
    aoe_ids_free(&ids);
    return out;
}

const char *test_tokens(const aoe_tokenizer *t, const char *text, const aoe_encode_options *o) {
    return test_tokens_n(t, text, strlen(text), o);
}
