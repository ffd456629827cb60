/* SPDX-License-Identifier: MIT
 * Chooses how a text is encoded: rendered with the chat template of the model, or as it is.
 */
#include "tokenizer/encode.h"

#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "tokenizer/chat_encode.h"
#include "tokenizer/tokenizer.h"

AOEI_DEFAULTS(aoe_encode_options) {
    *o = (aoe_encode_options){.struct_size = sizeof *o};
}

static int encode(const aoe_tokenizer *t, aoe_text text, const aoe_encode_options *o, aoe_ids *ids, size_t *before,
                  size_t *after, aoe_error *err) {
    return o->chat_template ? aoei_chat_encode(t, text, NULL, o, ids, before, after, err)
                            : aoei_tokenizer_encode_plain(t, text, o, ids, before, after, err);
}

int aoe_tokenizer_encode(const aoe_tokenizer *t, aoe_text text, const aoe_encode_options *o, aoe_ids *ids,
                         aoe_error *err) {
    AOEI_CHECK(err, t, ids);
    AOEI_OPTIONS(aoe_encode_options, o, err);
    if (!text.data && text.len)
        return aoei_fail(err, AOE_EARG, "text.data is NULL, but text.len is %zu", text.len);
    return encode(t, text, o, ids, NULL, NULL, err);
}

int aoei_tokenizer_encode_marked(const aoe_tokenizer *t, aoe_text text, const aoe_encode_options *o, aoe_ids *ids,
                                 size_t *before, size_t *after, aoe_error *err) {
    AOEI_OPTIONS(aoe_encode_options, o, err);
    return encode(t, text, o, ids, before, after, err);
}

int aoe_tokenizer_encode_pair(const aoe_tokenizer *t, aoe_text first, aoe_text second, const aoe_encode_options *o,
                              aoe_ids *ids, aoe_error *err) {
    AOEI_CHECK(err, t, ids);
    return aoei_tokenizer_encode_pair_side(t, first, second, o, 0, ids, err);
}

int aoei_tokenizer_encode_pair_side(const aoe_tokenizer *t, aoe_text first, aoe_text second,
                                    const aoe_encode_options *o, int left, aoe_ids *ids, aoe_error *err) {
    AOEI_OPTIONS(aoe_encode_options, o, err);
    if ((!first.data && first.len) || (!second.data && second.len))
        return aoei_fail(err, AOE_EARG, "the data of a text of the pair is NULL, but its len is not 0");
    return o->chat_template ? aoei_chat_encode(t, first, &second, o, ids, NULL, NULL, err)
                            : aoei_tokenizer_encode_plain_pair(t, first, second, o, left, ids, err);
}
