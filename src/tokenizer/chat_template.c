/* SPDX-License-Identifier: MIT
 * Finds, checks and renders chat templates. The conversation of a text has an optional system message, which is the
 * prompt, and one message of the user. The conversation of a pair has a message of the role "query" and one of the role
 * "document".
 */
#include "tokenizer/chat_template.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/json_decode.h"
#include "base/path.h"
#include "jinja/eval.h"
#include "jinja/parse.h"

enum { MAX_TEMPLATE = 1 << 20, MAX_TREE = 64 << 20, MAX_MEMORY = 32 << 20, MAX_WORK = 4000000 };

struct aoei_chat {
    aoei_jinja_arena arena; /* memory of the syntax tree and of the variables */
    aoei_jinja_node *statements;
    aoei_jinja_dict variables;
    char *name; /* owned */
    char *text; /* the template, owned */
    int structured, restores_end;
};

/* ------------------------------------------------------------------ source */

static int set_source(aoei_chat_source *s, const char *text, size_t len, char *name, aoe_error *err) {
    aoei_free(s->text);
    aoei_free(s->name);
    s->text = aoei_strndup(text, len);
    s->name = name;
    s->found = 1;
    return s->text && s->name ? 0 : aoei_fail_nomem(err, len);
}

/* Reads the key "chat_template": a template, a list of objects with "name" and "template", or an object of
 * templates. */
static int read_key(aoei_chat_source *s, const char *dir, aoe_text config, aoe_error *err) {
    static const char file[] = "tokenizer_config.json";
    json_error_t error;
    int no_memory = 0;
    json_t *root = config.data ? aoei_json_decode(config.data, config.len, 0, &error, &no_memory) : NULL;
    const json_t *key = json_object_get(root, "chat_template"), *text = key;
    int rc = no_memory ? aoei_fail_nomem(err, config.len) : 0;
    if (json_is_array(key) || json_is_object(key)) {
        s->found = s->named = 1;
        text = json_object_get(key, "default");
        for (size_t i = 0; i < json_array_size(key); i++) {
            const json_t *item = json_array_get(key, i);
            const char *name = json_string_value(json_object_get(item, "name"));
            if (!name || !json_is_string(json_object_get(item, "template")))
                rc = aoei_fail(err, AOE_EFORMAT,
                               "%s/%s: an element of chat_template has no \"name\" or \"template\"; correct it", dir,
                               file);
            else if (!strcmp(name, "default"))
                text = json_object_get(item, "template");
        }
    }
    if (!rc && text && !json_is_null(text) && !json_is_string(text))
        rc = aoei_fail(err, AOE_EFORMAT, "%s/%s: chat_template is not a string; correct it", dir, file);
    if (!rc && json_is_string(text))
        rc = set_source(s, json_string_value(text), json_string_length(text),
                        aoei_path_join(dir, "tokenizer_config.json (chat_template)"), err);
    json_decref(root);
    return rc;
}

int aoei_chat_source_find(aoei_chat_source *s, const char *dir, aoe_text file, aoe_text config, aoe_error *err) {
    *s = (aoei_chat_source){.text = NULL};
    return file.data ? set_source(s, file.data, file.len, aoei_path_join(dir, AOEI_CHAT_FILE), err)
                     : read_key(s, dir, config, err);
}

void aoei_chat_source_free(aoei_chat_source *s) {
    aoei_free(s->text);
    aoei_free(s->name);
    *s = (aoei_chat_source){.text = NULL};
}

int aoei_chat_source_is_structured(const aoei_chat_source *s) {
    static const char *const signs[] = {"content[0]", ".type", "'type'", "\"type\"", "item.type", "message.content["};
    if (s->named || !s->text || !*s->text)
        return 1;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (strstr(s->text, signs[i]))
            return 1;
    return 0;
}

/* --------------------------------------------------------------- variables */

/* Adds the members of a JSON object to the variables. */
static int add_variables(aoei_chat *c, const json_t *object) {
    const char *key;
    json_t *v;
    aoei_jinja_value converted;
    json_object_foreach((json_t *)(uintptr_t)object, key, v) {
        const aoe_text name = aoei_jinja_copy(&c->arena, aoe_text_of(key));
        if (!name.data || aoei_jinja_of_json(&c->arena, &converted, v) ||
            aoei_jinja_set(&c->arena, &c->variables, aoei_jinja_string(name), converted))
            return AOE_ENOMEM;
    }
    return 0;
}

static int set_variables(aoei_chat *c, const aoei_chat_form *form) {
    static const char *const constants[] = {"tools", "documents"};
    const aoei_jinja_value none = {.type = AOEI_JINJA_NONE};
    aoei_jinja_arena *a = &c->arena;
    int rc = aoei_jinja_set_name(a, &c->variables, "add_generation_prompt", aoei_jinja_bool(0));
    for (size_t i = 0; i < 2 && !rc; i++)
        rc = aoei_jinja_set_name(a, &c->variables, constants[i], none);
    const aoei_jinja_value empty = aoei_jinja_new_dict(a, AOEI_JINJA_DICT);
    if (!rc)
        rc = empty.type == AOEI_JINJA_DICT ? aoei_jinja_set_name(a, &c->variables, "common_kwargs", empty) : AOE_ENOMEM;
    if (!rc)
        rc = add_variables(c, form->tokens);
    return rc ? rc : add_variables(c, form->options);
}

int aoei_chat_create(aoei_chat **out, const aoei_chat_source *s, const aoei_chat_form *form, aoe_error *err) {
    *out = NULL;
    const json_t *restore = json_object_get(form->options, "restore_suffix");
    aoei_chat *c = aoei_calloc(1, sizeof *c);
    if (!c || !(c->name = aoei_strdup(s->name ? s->name : AOEI_CHAT_FILE)) || !(c->text = aoei_strdup(s->text))) {
        aoei_chat_free(c);
        return aoei_fail_nomem(err, sizeof *c);
    }
    c->arena.limit = MAX_TREE;
    c->structured = form->structured;
    c->restores_end = !restore || json_is_true(restore);
    int rc = strlen(s->text) > MAX_TEMPLATE
                 ? aoei_fail(err, AOE_EUNSUPPORTED, "%s: the chat template is larger than 1 MiB", c->name)
                 : aoei_jinja_parse(&c->statements, &c->arena, aoe_text_of(s->text), c->name, err);
    if (!rc && set_variables(c, form))
        rc = aoei_fail_nomem(err, c->arena.used);
    if (rc)
        aoei_chat_free(c);
    else
        *out = c;
    return rc;
}

void aoei_chat_free(aoei_chat *c) {
    if (!c)
        return;
    aoei_jinja_arena_free(&c->arena);
    aoei_free(c->name);
    aoei_free(c->text);
    aoei_free(c);
}

int aoei_chat_equal(const aoei_chat *a, const aoei_chat *b) {
    return !strcmp(a->text, b->text);
}

int aoei_chat_restores_end(const aoei_chat *c) {
    return c->restores_end;
}

/* ---------------------------------------------------------------- rendering */

/* Appends a message to the list. kind: type of its part, if its content is structured. Returns 0 or AOE_ENOMEM. */
static int add_message(const aoei_chat *c, aoei_jinja_arena *a, aoei_jinja_list *messages, const char *role,
                       aoe_text text) {
    const aoei_jinja_value message = aoei_jinja_new_dict(a, AOEI_JINJA_DICT);
    aoei_jinja_value content = aoei_jinja_string(text.data ? text : aoe_text_of(""));
    if (message.type != AOEI_JINJA_DICT)
        return AOE_ENOMEM;
    if (c->structured) {
        const aoei_jinja_value part = aoei_jinja_new_dict(a, AOEI_JINJA_DICT),
                               list = aoei_jinja_new_list(a, AOEI_JINJA_FORM_LIST);
        if (part.type != AOEI_JINJA_DICT || list.type != AOEI_JINJA_LIST ||
            aoei_jinja_set_name(a, part.as.dict, "type", aoei_jinja_string(aoe_text_of("text"))) ||
            aoei_jinja_set_name(a, part.as.dict, "text", content) || aoei_jinja_append(a, list.as.list, part))
            return AOE_ENOMEM;
        content = list;
    }
    return aoei_jinja_set_name(a, message.as.dict, "role", aoei_jinja_string(aoe_text_of(role))) ||
                   aoei_jinja_set_name(a, message.as.dict, "content", content)
               ? AOE_ENOMEM
               : aoei_jinja_append(a, messages, message);
}

/* Sets *variables to the variables of the template and the conversation. */
static int set_conversation(const aoei_chat *c, aoei_jinja_arena *a, aoei_jinja_dict *variables,
                            const aoei_chat_texts *texts) {
    const aoei_jinja_value messages = aoei_jinja_new_list(a, AOEI_JINJA_FORM_LIST);
    int rc = messages.type == AOEI_JINJA_LIST ? aoei_jinja_set_name(a, variables, "messages", messages) : AOE_ENOMEM;
    for (size_t i = 0; i < c->variables.n && !rc; i++)
        rc = aoei_jinja_set(a, variables, c->variables.key[i], c->variables.value[i]);
    if (!rc && texts->prompt.data)
        rc = add_message(c, a, messages.as.list, "system", texts->prompt);
    if (!rc)
        rc = add_message(c, a, messages.as.list, texts->second ? "query" : "user", texts->text);
    return rc || !texts->second ? rc : add_message(c, a, messages.as.list, "document", *texts->second);
}

int aoei_chat_render(const aoei_chat *c, aoei_buffer *out, const aoei_chat_texts *texts, aoe_error *err) {
    const size_t size = texts->text.len + texts->prompt.len + (texts->second ? texts->second->len : 0);
    aoei_jinja_run run = {.name = c->name, .max_work = MAX_WORK + size, .err = err};
    aoei_jinja_dict variables = {0};
    run.arena.limit = size < SIZE_MAX / 16 - MAX_MEMORY ? MAX_MEMORY + 16 * size : SIZE_MAX;
    int rc = set_conversation(c, &run.arena, &variables, texts);
    rc = rc ? aoei_fail_nomem(err, size) : aoei_jinja_render(&run, out, c->statements, &variables);
    aoei_jinja_arena_free(&run.arena);
    return rc;
}

int aoei_chat_check(const aoei_chat *c, int pairs, aoe_error *err) {
    static const char *const probes[][2] = {{"alpha", "bravo"}, {"charlie", "bravo"}, {"alpha", "foxtrot"}};
    static const char *const roles[] = {"the text", "the query", "the document"};
    aoei_buffer text[3] = {{0}, {0}, {0}};
    int rc = 0, missing = 0;
    for (size_t i = 0; i < (pairs ? 3 : 2) && !rc; i++) {
        const aoe_text second = aoe_text_of(probes[i][1]);
        rc = aoei_chat_render(
            c, &text[i], &(aoei_chat_texts){.text = aoe_text_of(probes[i][0]), .second = pairs ? &second : NULL}, err);
        if (!rc && i && text[i].len == text[0].len &&
            (!text[i].len || !memcmp(text[i].data, text[0].data, text[i].len)))
            missing = pairs ? (int)i : -1;
    }
    for (size_t i = 0; i < 3; i++)
        aoei_buffer_free(&text[i]);
    if (rc || !missing)
        return rc;
    return aoei_fail(
        err, AOE_EUNSUPPORTED,
        "%s: the chat template prints the same string for different texts: it does not print %s%s; change the template",
        c->name, roles[missing < 0 ? 0 : missing], pairs ? " of a pair (roles query and document)" : "");
}
