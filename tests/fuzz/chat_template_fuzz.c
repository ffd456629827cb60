/* SPDX-License-Identifier: MIT
 * Fuzzes chat templates. The input is a template, then U+0001, then a text. The template is parsed and renders the text
 * as a string and as a list of parts, alone and in a pair. If a step fails, there must be an error message. No block
 * may be leaked.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/json.h"
#include "tokenizer/chat_template.h"

const size_t fuzz_mutations = 4000; /* some templates perform as many operations as the limit allows */

static void render(const aoei_chat *c, aoe_text text) {
    const aoe_text second = aoe_text_of("second text");
    const aoei_chat_texts texts[] = {
        {.text = text}, {.prompt = aoe_text_of("prompt"), .text = text}, {.text = second, .second = &text}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        aoei_buffer out = {0};
        aoe_error err = {0};
        const int rc = aoei_chat_render(c, &out, &texts[i], &err);
        if (rc != err.code || (rc && !*err.message))
            abort();
        aoei_buffer_free(&out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static json_t *tokens;
    if (!tokens && !(tokens = json_pack("{s:s, s:s}", "bos_token", "<s>", "eos_token", "</s>")))
        abort();
    const int64_t live = aoei_alloc_live();
    const char *s = (const char *)data, *cut = size ? memchr(s, 1, size) : NULL;
    const size_t len = cut ? (size_t)(cut - s) : size;
    char *template = aoei_strndup(size ? s : "", len), name[] = "template";
    aoei_chat_source source = {.text = template, .found = 1, .name = name};
    const aoe_text text = cut ? (aoe_text){cut + 1, size - len - 1} : aoe_text_of("a text");
    for (int structured = 0; structured < 2 && template; structured++) {
        aoei_chat *c;
        aoe_error err = {0};
        const aoei_chat_form form = {.structured = structured, .tokens = tokens};
        const int rc = aoei_chat_create(&c, &source, &form, &err);
        if (rc != err.code || (rc && (c || !*err.message)))
            abort();
        if (!rc)
            render(c, text);
        aoei_chat_free(c);
    }
    aoei_free(template);
    if (aoei_alloc_live() != live)
        abort();
    return 0;
}
