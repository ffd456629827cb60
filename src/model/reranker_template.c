/* SPDX-License-Identifier: MIT
 * Inserts text pairs into the template of a reranker that is a language model. The parts of the template are tokenized
 * separately, as in the model card of Qwen3-Reranker.
 */
#include "model/reranker_template.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "modeldir/settings.h"

static const char start[] =
    "<|im_start|>system\nJudge whether the Document meets the requirements based on the Query and the Instruct "
    "provided. Note that "
    "the answer can only be \"yes\" or \"no\".<|im_end|>\n<|im_start|>user\n";
static const char end[] = "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";
static const char default_instruction[] = "Given a web search query, retrieve relevant passages that answer the query";

static int encode_plain(const aoe_tokenizer *t, int lowercase, aoe_ids *out, aoe_text text, aoe_error *err) {
    const aoe_encode_options o = {.struct_size = sizeof o, .no_special_tokens = 1, .lowercase = lowercase};
    return aoe_tokenizer_encode(t, text, &o, out, err);
}

int aoei_reranker_template_create(aoei_reranker_template *r, const aoe_tokenizer *t, int lowercase, aoe_error *err) {
    *r = (aoei_reranker_template){{0}, {0}};
    const int code = encode_plain(t, lowercase, &r->start, aoe_text_of(start), err);
    return code ? code : encode_plain(t, lowercase, &r->end, aoe_text_of(end), err);
}

void aoei_reranker_template_free(aoei_reranker_template *r) {
    aoe_ids_free(&r->start);
    aoe_ids_free(&r->end);
}

static void append_string(aoei_buffer *b, const char *text) {
    aoei_buffer_append(b, text, strlen(text));
}

/* Appends the text between the constant parts of the template to `body`. */
static void append_body(aoei_buffer *body, const char *prompt, aoe_text query, aoe_text document) {
    const char *mark = strstr(prompt, AOEI_PLACEHOLDER);
    const size_t before = mark ? (size_t)(mark - prompt) : strlen(prompt);
    append_string(body, "<Instruct>: ");
    aoei_buffer_append(body, prompt, before);
    if (mark)
        append_string(body, mark + strlen(AOEI_PLACEHOLDER));
    append_string(body, "\n<Query>: ");
    aoei_buffer_append(body, query.data, query.len);
    append_string(body, "\n<Document>: ");
    aoei_buffer_append(body, document.data, document.len);
}

/* Sets *ids to the tokens of the start, the first `n` tokens of the body and the tokens of the end. */
static int join(aoe_ids *ids, const aoei_reranker_template *r, const aoe_ids *body, size_t n, aoe_error *err) {
    const aoe_ids *part[] = {&r->start, body, &r->end};
    const size_t count[] = {r->start.n, n, r->end.n}, total = r->start.n + n + r->end.n;
    if (ids->capacity < total) {
        int32_t *grown = aoei_realloc_array(ids->id, total, sizeof *grown);
        if (!grown)
            return aoei_fail_nomem(err, total * sizeof *grown);
        ids->id = grown;
        ids->capacity = total;
    }
    ids->n = 0;
    for (size_t i = 0; i < 3; i++) {
        if (count[i])
            memcpy(ids->id + ids->n, part[i]->id, count[i] * sizeof *ids->id);
        ids->n += count[i];
    }
    ids->truncated = n < body->n;
    return AOE_OK;
}

int aoei_reranker_template_encode(const aoei_reranker_template *r, const aoe_tokenizer *t, aoe_text query,
                                  aoe_text document, const aoe_encode_options *o, aoe_ids *ids, aoe_error *err) {
    const size_t fixed = r->start.n + r->end.n;
    aoei_buffer text = {0};
    aoe_ids body = {0};
    if (o->max_length && fixed >= o->max_length)
        return aoei_fail(err, AOE_EARG,
                         "options.max_length is %zu, but the template of the model alone has %zu tokens; increase it",
                         o->max_length, fixed);
    append_body(&text, o->prompt ? o->prompt : default_instruction, query, document);
    int code = text.failed ? aoei_fail_nomem(err, text.len)
                           : encode_plain(t, o->lowercase, &body, (aoe_text){text.data, text.len}, err);
    if (!code)
        code =
            join(ids, r, &body, o->max_length && body.n > o->max_length - fixed ? o->max_length - fixed : body.n, err);
    aoe_ids_free(&body);
    aoei_buffer_free(&text);
    return code;
}
