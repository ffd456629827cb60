/* SPDX-License-Identifier: MIT
 * tokenizer.json from anywhere: it is refused with one line, or the tokenizer
 * encodes, and gives ids that it has tokens for. No block is left.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "tokenizer/tokenizer.h"

static void use(const aoe_tokenizer *t) {
    static const char text[] = "a ab\xc3\xa9 [MASK]<x> b\xe4\xb8\xad, zz";
    aoe_ids ids = {0};
    aoe_error err = {0};
    aoe_encode_options o = {.prompt = "b {text} a", .max_length = 6};
    for (int prompted = 0; prompted < 2; prompted++) {
        int rc = aoe_tokenizer_encode(t, aoe_text_of(text), prompted ? &o : NULL, &ids, &err);
        if (rc && rc != AOE_EFORMAT && rc != AOE_EARG)
            abort();
        if (prompted && ids.n > o.max_length)
            abort();
        for (size_t i = 0; i < ids.n; i++) /* ids of the post-processor are the file's word */
            if (ids.id[i] < 0)
                abort();
    }
    aoe_ids_free(&ids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t live = aoei_alloc_live();
    aoe_tokenizer *t;
    aoe_error err = {0};
    int rc = aoei_tokenizer_parse_json(&t, (const char *)data, size, "input", &err);
    if (rc != err.code || (rc == 0) != (t != NULL) || (rc && !strstr(err.message, "input")))
        abort();
    if (t)
        use(t);
    aoe_tokenizer_close(t);
    if (aoei_alloc_live() != live)
        abort();
    return 0;
}

#ifndef AOE_LIBFUZZER
#define BPE                                                                                                                        \
    "\"model\":{\"type\":\"BPE\",\"unk_token\":\"[UNK]\",\"fuse_unk\":true,\"byte_fallback\":true,\"vocab\":{\"[UNK]\":0,\"a\":1," \
    "\"b\":2,\"ab\":3,\"\xc4\xa0\":4,\"<0x7A>\":5,\"\xe2\x96\x81\":6},\"merges\":[\"a b\",[\"b\",\"b\"]]}"
#define UNIGRAM                                                                                                                \
    "\"model\":{\"type\":\"Unigram\",\"unk_id\":0,\"vocab\":[[\"?\",0],[\"a\",-1.5],[\"\xe2\x96\x81\",-2],[\"ab\",-1e3]]}"
#define MODEL "\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"[UNK]\":0,\"a\":1,\"##b\":2,\"b\":3,\"[MASK]\":4,\",\":5}}"
int main(void) {
    static const aoei_fuzz_seed seeds[] = {
        AOEI_FUZZ_SEED("{" MODEL "}"),
        AOEI_FUZZ_SEED("{" BPE "}"),
        AOEI_FUZZ_SEED(
            "{\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":true},\"model\":{\"type\":\"BPE\",\"vocab\":{"
            "\"a\":0,\"\xc4\xa0\":1,\"\xc4\xa0"
            "a\":2},\"merges\":[\"\xc4\xa0 a\"],\"ignore_merges\":true}}"),
        AOEI_FUZZ_SEED(
            "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Prepend\",\"prepend\":\"\xe2\x96\x81\"},"
            "{\"type\":\"Replace\",\"pattern\":{\"String\":\" \"},\"content\":\"\xe2\x96\x81\"}]}," BPE "}"),
        AOEI_FUZZ_SEED(
            "{\"pre_tokenizer\":{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":"
            "\"\\\\s+(?!\\\\S)|[^\\\\p{L}]{1,3}\"},\"behavior\":\"MergedWithNext\",\"invert\":true},{\"type\":\"Digits\"}]}," BPE
            "}"),
        AOEI_FUZZ_SEED(
            "{\"normalizer\":{\"type\":\"NFKC\"},\"pre_tokenizer\":{\"type\":\"Metaspace\",\"replacement\":\"\xe2\x96\x81\","
            "\"prepend_scheme\":\"first\",\"split\":false}," UNIGRAM "}"),
        AOEI_FUZZ_SEED(
            "{\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"Precompiled\",\"precompiled_charsmap\":"
            "\"EAAAAAAEAABhAAAAYgEAAAAAAIBhAA==\"},{\"type\":\"Strip\"},{\"type\":\"Nmt\"}]},\"pre_tokenizer\":{\"type\":"
            "\"Whitespace\"}," UNIGRAM "}"),
        AOEI_FUZZ_SEED("{\"post_processor\":{\"type\":\"Sequence\",\"processors\":[{\"type\":\"ByteLevel\"},{\"type\":"
                       "\"RobertaProcessing\",\"sep\":[\"b\",3],\"cls\":[\"a\",1]}]}," MODEL "}"),
        AOEI_FUZZ_SEED("{\"version\":\"1.0\",\"normalizer\":{\"type\":\"BertNormalizer\",\"strip_accents\":null},"
                       "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}," MODEL "}"),
        AOEI_FUZZ_SEED(
            "{\"added_tokens\":[{\"id\":4,\"content\":\"[MASK]\",\"normalized\":false,\"special\":true},"
            "{\"id\":9,\"content\":\"<x>\",\"single_word\":true,\"lstrip\":true,\"rstrip\":true,\"normalized\":true}],"
            "\"normalizer\":{\"type\":\"BertNormalizer\",\"lowercase\":true}," MODEL "}"),
        AOEI_FUZZ_SEED("{\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":\"[UNK]\"}},"
                       "{\"Sequence\":{\"id\":\"A\"}}],\"special_tokens\":{\"[UNK]\":{\"ids\":[0]}}}," MODEL "}"),
        AOEI_FUZZ_SEED("{\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"b\",3],\"cls\":[\"a\",1]}," MODEL "}"),
    };
    return aoei_fuzz_main(LLVMFuzzerTestOneInput, seeds, sizeof seeds / sizeof *seeds);
}
#endif
