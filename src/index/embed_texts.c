/* SPDX-License-Identifier: MIT
 * Embeds texts, and repeats the call without the texts that the model rejects.
 */
#include "index/embed_texts.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/utf8.h"

/* Embeds the texts with the indices which[*left]. Texts without tokens are removed from `which`. */
static int embed_some(aoe_embedder *e, const aoe_text *texts, size_t *which, size_t *left, aoe_text *some,
                      aoe_text_info *info, float *vectors, size_t *tokens, size_t *failed, aoe_error *err) {
    int rc = 0;
    while (*left) {
        for (size_t k = 0; k < *left; k++)
            some[k] = texts[which[k]];
        rc = aoe_embed_documents(e, some, *left, vectors, info, err);
        const size_t bad = rc ? aoe_embed_failed_text(e) : SIZE_MAX;
        if (rc != AOE_EFORMAT || bad >= *left) {
            *failed = rc && bad < *left ? which[bad] : SIZE_MAX;
            break;
        }
        memmove(which + bad, which + bad + 1, (*left - bad - 1) * sizeof *which);
        (*left)--;
        rc = 0;
    }
    for (size_t k = 0; !rc && k < *left; k++)
        *tokens += info[k].tokens;
    return rc;
}

int aoei_embed_texts(aoe_embedder *e, const aoe_text *texts, size_t n, float *vectors, size_t *tokens, size_t *failed,
                     aoe_error *err) {
    const size_t D = aoe_embedder_dims(e);
    *failed = SIZE_MAX;
    if (n == 0)
        return 0;
    size_t left = 0, *which = aoei_malloc_array(n, sizeof *which);
    aoe_text *some = aoei_malloc_array(n, sizeof *some);
    aoe_text_info *info = aoei_malloc_array(n, sizeof *info);
    int rc = 0;
    if (!which || !some || !info)
        rc = aoei_fail_nomem(err, n * sizeof *some);
    for (size_t i = 0; !rc && i < n; i++)
        if (!aoei_utf8_is_blank(texts[i].data, texts[i].len))
            which[left++] = i;
    if (!rc)
        rc = embed_some(e, texts, which, &left, some, info, vectors, tokens, failed, err);
    /* moves the vectors to their places, from the last to the first, because which[k] >= k */
    for (size_t i = n; !rc && i-- > 0;) {
        if (left && which[left - 1] == i) {
            left--;
            memmove(vectors + i * D, vectors + left * D, D * sizeof *vectors);
        } else {
            memset(vectors + i * D, 0, D * sizeof *vectors);
        }
    }
    aoei_free(which);
    aoei_free(some);
    aoei_free(info);
    return rc;
}
