/* SPDX-License-Identifier: MIT
 * Converts token ids to text.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "tokenizer/decoder.h"
#include "tokenizer/tokenizer_parts.h"

/* Appends an added token to *p. As in the reference, the text of a token that is searched for in normalized text is its
 * normalized text. */
static int add_added(aoei_pieces *p, const aoe_tokenizer *t, const aoei_added_token *token, aoei_normalized *normalized,
                     aoe_error *err) {
    if (!token->flags.normalized)
        return aoei_pieces_add(p, token->content, token->len, err);
    const int rc = aoei_normalize(&t->normalizer, token->content, token->len, normalized, err);
    return rc ? rc : aoei_pieces_add(p, normalized->data, normalized->len, err);
}

/* Appends the tokens with the given ids to *p, and counts the ids that no token has. */
static int add_tokens(aoei_pieces *p, size_t *unknown, const aoe_tokenizer *t, const int32_t *ids, size_t n,
                      int skip_special, aoe_error *err) {
    const aoei_vocab *v = aoei_subword_vocab(&t->model);
    aoei_normalized normalized = {0};
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        const size_t added = aoei_added_tokens_find_id(&t->added, ids[i]);
        const aoe_text token = aoei_vocab_token(v, ids[i]);
        if (added == (size_t)-1 && token.data)
            rc = aoei_pieces_add(p, token.data, token.len, err);
        else if (added == (size_t)-1)
            ++*unknown;
        else if (!skip_special || !t->added.token[added].flags.special)
            rc = add_added(p, t, &t->added.token[added], &normalized, err);
    }
    aoei_normalized_free(&normalized);
    return rc;
}

int aoe_tokenizer_decode(const aoe_tokenizer *t, const int32_t *ids, size_t n, int skip_special_tokens,
                         aoe_decoded *out, aoe_error *err) {
    AOEI_CHECK(err, t, ids, out);
    aoei_pieces pieces = {0};
    size_t unknown = 0;
    aoe_decoded_free(out);
    int rc = add_tokens(&pieces, &unknown, t, ids, n, skip_special_tokens, err);
    rc = rc ? rc : aoei_token_decoder_run(&t->decoder, &pieces, err);
    if (!rc && aoei_buffer_append(&pieces.text, "", 0)) /* a text of length 0 is NUL-terminated too */
        rc = aoei_fail_nomem(err, 1);
    if (!rc) {
        *out = (aoe_decoded){.text = pieces.text.data, .len = pieces.text.len, .unknown = unknown};
        pieces.text = (aoei_buffer){0};
    }
    aoei_pieces_free(&pieces);
    return rc;
}

void aoe_decoded_free(aoe_decoded *d) {
    if (!d)
        return;
    aoei_free(d->text);
    memset(d, 0, sizeof *d);
}
