/* SPDX-License-Identifier: MIT
 * The tokens of a passage, with the special tokens and the prompt that the model adds, must not exceed the maximum
 * length of the model, because the model would ignore the rest.
 */
#include "index/split.h"

#include <string.h>

#include "base/error.h"

enum {
    UNLIMITED = 1 << 20, /* tokens of a passage of a model without a maximum length */
    LEAST = 32,          /* minimum of aoei_passage_options.longest */
    BYTES_PER_TOKEN = 4, /* estimate for models without a tokenizer */
    REPORT_BYTES = 1 << 16
};

static int count_tokens(void *user, aoe_text text, size_t *tokens, aoe_error *err) {
    aoei_splitter *s = user;
    s->unreported += text.len;
    if (s->report && s->unreported >= REPORT_BYTES) {
        s->unreported = 0;
        const int code = s->report(s->report_user, 0, err);
        if (code)
            return code;
    }
    if (!s->tokenizer) {
        *tokens = text.len / BYTES_PER_TOKEN + 1;
        return 0;
    }
    aoe_encode_options o;
    aoe_encode_options_defaults(&o);
    o.no_special_tokens = 1;
    const int rc = aoe_tokenizer_encode(s->tokenizer, text, &o, &s->ids, err);
    *tokens = s->ids.n;
    return rc;
}

/* Sets *tokens to the number of tokens that the model adds to a document. */
static int count_added(aoei_splitter *s, const char *prompt, size_t *tokens, aoe_error *err) {
    const aoe_text text = aoe_text_of("a");
    size_t alone;
    int rc = count_tokens(s, text, &alone, err);
    aoe_encode_options o;
    aoe_encode_options_defaults(&o);
    o.prompt = prompt && prompt[0] ? prompt : NULL;
    if (!rc)
        rc = aoe_tokenizer_encode(s->tokenizer, text, &o, &s->ids, err);
    *tokens = rc || s->ids.n < alone ? 0 : s->ids.n - alone;
    return rc;
}

int aoei_splitter_start(aoei_splitter *s, aoe_embedder *e, size_t tokens, aoe_error *err) {
    const aoe_model *m = aoe_embedder_model(e);
    aoe_model_info info = {.struct_size = sizeof info};
    aoe_model_get_info(m, &info);
    s->tokenizer = aoe_model_tokenizer(m);
    s->tokens = tokens;
    size_t added = 0;
    const char *prompt = aoe_model_prompt(m, "document");
    const int rc = s->tokenizer ? count_added(s, prompt ? prompt : info.prompt, &added, err) : 0;
    const size_t most = info.max_length == 0 || info.max_length > UNLIMITED ? UNLIMITED : info.max_length;
    s->longest = most < added + LEAST ? LEAST : most - added;
    return rc;
}

void aoei_splitter_free(aoei_splitter *s) {
    aoe_ids_free(&s->ids);
    *s = (aoei_splitter){0};
}

int aoei_splitter_split(aoei_splitter *s, aoei_passages *p, const aoe_index_document *d, int is_file, aoe_error *err) {
    static const aoei_document_kind kinds[] = {[AOE_INDEX_AUTO] = AOEI_DOCUMENT_AUTO,
                                               [AOE_INDEX_TEXT] = AOEI_DOCUMENT_TEXT,
                                               [AOE_INDEX_MARKDOWN] = AOEI_DOCUMENT_MARKDOWN,
                                               [AOE_INDEX_HTML] = AOEI_DOCUMENT_HTML,
                                               [AOE_INDEX_CODE] = AOEI_DOCUMENT_CODE};
    const aoei_passage_options o = {.kind = kinds[d->kind],
                                    .name = d->name,
                                    .title = d->title,
                                    .name_as_title = is_file,
                                    .tokens = s->tokens,
                                    .longest = s->longest,
                                    .count = count_tokens,
                                    .user = s};
    aoei_passages_free(p); /* aoei_passages_split does not free the earlier contents */
    return aoei_passages_split(p, d->text, &o, err);
}
