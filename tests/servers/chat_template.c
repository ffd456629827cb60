/* SPDX-License-Identifier: MIT
 * Renders chat templates, for tests/peers/test_chat_templates.py. Each line of stdin is a JSON object with the keys
 *     template    source of the template
 *     structured  whether the content of a message is a list of parts
 *     tokens      object of special tokens, such as bos_token
 *     options     object of arguments of the template
 *     prompt      content of the system message, or null
 *     text        the text
 *     second      the second text of a pair, or null
 * For each line, prints an object with the key "text", the rendered string, or "error", the message of the error.
 * Compiles the template again for each line.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/utf8.h"
#include "tokenizer/chat_template.h"

static aoe_text text_of(const json_t *line, const char *key) {
    const json_t *v = json_object_get(line, key);
    return json_is_string(v) ? (aoe_text){json_string_value(v), json_string_length(v)} : (aoe_text){NULL, 0};
}

static int render(aoei_buffer *out, const json_t *line, aoe_error *err) {
    aoei_chat_source source = {.text = (char *)(uintptr_t)json_string_value(json_object_get(line, "template")),
                               .found = 1,
                               .name = (char *)(uintptr_t) "template"};
    const aoei_chat_form form = {.structured = json_is_true(json_object_get(line, "structured")),
                                 .options = json_object_get(line, "options"),
                                 .tokens = json_object_get(line, "tokens")};
    const aoe_text second = text_of(line, "second");
    const aoei_chat_texts texts = {
        .prompt = text_of(line, "prompt"), .text = text_of(line, "text"), .second = second.data ? &second : NULL};
    aoei_chat *chat;
    int rc = aoei_chat_create(&chat, &source, &form, err);
    if (!rc)
        rc = aoei_chat_render(chat, out, &texts, err);
    aoei_chat_free(chat);
    return rc;
}

int main(void) {
    char *input = NULL;
    size_t size = 0;
    while (getline(&input, &size, stdin) > 0) {
        aoei_buffer out = {0};
        aoe_error err = {0};
        json_t *line = json_loads(input, JSON_ALLOW_NUL, NULL);
        json_t *answer;
        if (!line)
            return 1;
        if (render(&out, line, &err))
            answer = json_pack("{s:s}", "error", err.message);
        else if (aoei_utf8_valid(out.data ? out.data : "", out.len) != out.len)
            answer = json_pack("{s:s}", "invalid", "the rendered string is not UTF-8");
        else
            answer = json_pack("{s:o}", "text", json_stringn_nocheck(out.data ? out.data : "", out.len));
        if (!answer || json_dumpf(answer, stdout, JSON_COMPACT) || putchar('\n') == EOF || fflush(stdout))
            return 1;
        json_decref(answer);
        json_decref(line);
        aoei_buffer_free(&out);
    }
    free(input); /* NOLINT(cppcoreguidelines-no-malloc): allocated by getline */
    return 0;
}
