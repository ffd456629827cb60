/* SPDX-License-Identifier: MIT
 * Answers messages of the Model Context Protocol. The server keeps no state except the revision of `initialize`, and
 * each message is answered before the next one is read. Therefore, a request to cancel an earlier request comes too
 * late and is ignored, like all other notifications.
 */
#include "cli/search/mcp_server.h"

#include <aoe.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/json_rpc.h"
#include "base/utf8.h"

#define STATELESS "2026-07-28" /* revision in which each request states its revision */
#define BATCHES   "2025-03-26" /* the only revision that permits arrays of messages */
#define LATEST    "2025-11-25" /* latest revision with `initialize` */
#define PREFIX    "io.modelcontextprotocol/"
#define HOUR      3600000 /* milliseconds for which clients may keep the list of tools, which never changes */

enum { UNSUPPORTED_REVISION = -32022 };

static const char *const with_initialize[] = {LATEST, "2025-06-18", BATCHES, "2024-11-05"};
enum { N_WITH_INITIALIZE = sizeof with_initialize / sizeof *with_initialize };

/* A request that is being answered. */
typedef struct request {
    cli_mcp *m;
    json_t *id, *params; /* borrowed; params may be NULL */
    int stateless;       /* 1: the request states its revision */
} request;

static json_t *server_info(void) {
    return json_pack("{s:s,s:s,s:s}", "name", "aoe", "title", "aoe search", "version", aoe_version());
}

/* Returns the answer with a result. In the stateless revision, each result has a type and names the server. */
static json_t *answer(const request *r, json_t *result) {
    if (r->stateless && result &&
        (json_object_set_new(result, "resultType", json_string("complete")) ||
         json_object_set_new(result, "_meta", json_pack("{s:o}", PREFIX "serverInfo", server_info())))) {
        json_decref(result);
        result = NULL;
    }
    return aoei_rpc_result(r->id, result);
}

/* As answer, for a result that clients may keep. */
static json_t *answer_lasting(const request *r, json_t *result) {
    if (r->stateless && result &&
        (json_object_set_new(result, "ttlMs", json_integer(HOUR)) ||
         json_object_set_new(result, "cacheScope", json_string("public")))) {
        json_decref(result);
        result = NULL;
    }
    return answer(r, result);
}

static json_t *fail(const request *r, int code, const char *text) {
    return aoei_rpc_error(r->id, code, text, NULL);
}

/* ------------------------------------------------------------------ schemas */

static json_t *object_schema(const cli_mcp_field *fields, int is_input);

static json_t *strings(const char *const *s, size_t n) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(list, json_string(s[i]))) {
            json_decref(list);
            return NULL;
        }
    return list;
}

/* Returns the schema of a parameter or result. */
static json_t *field_schema(const cli_mcp_field *f, int is_input) {
    static const char *const types[] = {"string", "integer", "number", "array"};
    json_t *schema = json_pack("{s:s,s:s}", "type", types[f->type], "description", f->description);
    size_t n = 0;
    int failed = !schema;
    if (f->type == CLI_MCP_OBJECTS)
        failed = failed || json_object_set_new(schema, "items", object_schema(f->fields, is_input));
    if (f->type == CLI_MCP_INTEGER && is_input)
        failed = failed || json_object_set_new(schema, "minimum", json_integer(f->min)) ||
                 json_object_set_new(schema, "maximum", json_integer(f->max));
    while (f->choices && f->choices[n])
        n++;
    if (n)
        failed = failed || json_object_set_new(schema, "enum", strings(f->choices, n));
    if (failed) {
        json_decref(schema);
        return NULL;
    }
    return schema;
}

/* Returns the schema of an object. */
static json_t *object_schema(const cli_mcp_field *fields, int is_input) {
    json_t *properties = json_object(), *required = json_array();
    int failed = !properties || !required;
    for (const cli_mcp_field *f = fields; f->name && !failed; f++) {
        failed = json_object_set_new(properties, f->name, field_schema(f, is_input)) != 0;
        if (f->required)
            failed = failed || json_array_append_new(required, json_string(f->name));
    }
    json_t *schema = failed ? NULL
                            : json_pack("{s:s,s:O,s:O,s:b}", "type", "object", "properties", properties, "required",
                                        required, "additionalProperties", 0);
    json_decref(properties);
    json_decref(required);
    return schema;
}

static json_t *tool_json(const cli_mcp_tool *t) {
    return json_pack("{s:s,s:s,s:s,s:o,s:o,s:{s:s,s:b,s:b,s:b,s:b}}", "name", t->name, "title", t->title, "description",
                     t->description, "inputSchema", object_schema(t->parameters, 1), "outputSchema",
                     object_schema(t->results, 0), "annotations", "title", t->title, "readOnlyHint", 1,
                     "destructiveHint", 0, "idempotentHint", 1, "openWorldHint", 0);
}

/* -------------------------------------------------------------------- tools */

static json_t *list_tools(const request *r) {
    json_t *tools = json_array();
    for (size_t i = 0; i < r->m->n_tools; i++)
        if (json_array_append_new(tools, tool_json(&r->m->tools[i]))) {
            json_decref(tools);
            tools = NULL;
        }
    return answer_lasting(r, json_pack("{s:o}", "tools", tools));
}

/* Checks the value of a parameter. Returns 0 and describes the error if it is not valid. */
static int check_value(const cli_mcp_field *f, const json_t *v, aoei_buffer *text) {
    if (f->type == CLI_MCP_INTEGER) {
        const double n = json_is_number(v) ? json_number_value(v) : 0.5; /* 5.0 is an integer in JSON Schema */
        if (n == floor(n) && n >= (double)f->min && n <= (double)f->max)
            return 1;
        aoei_buffer_printf(text, "the argument %s must be an integer from %lld to %lld", f->name, (long long)f->min,
                           (long long)f->max);
        return 0;
    }
    const char *s = json_string_value(v);
    if (!s || json_string_length(v) > f->longest || strlen(s) != json_string_length(v)) {
        aoei_buffer_printf(text, "the argument %s must be a string of at most %zu bytes without NUL", f->name,
                           f->longest);
        return 0;
    }
    if (f->required && aoei_utf8_is_blank(s, strlen(s))) {
        aoei_buffer_printf(text, "the argument %s is empty", f->name);
        return 0;
    }
    for (size_t i = 0; f->choices; i++) {
        if (!f->choices[i]) {
            aoei_buffer_printf(text, "the argument %s must be ", f->name);
            for (i = 0; f->choices[i]; i++)
                aoei_buffer_printf(text, "%s%s", !i ? "" : f->choices[i + 1] ? ", " : " or ", f->choices[i]);
            return 0;
        }
        if (!strcmp(f->choices[i], s))
            break;
    }
    return 1;
}

/* Checks the arguments of a tool. Returns 0 and describes the first error if they are not valid. */
static int check_arguments(const cli_mcp_tool *t, const json_t *arguments, aoei_buffer *text) {
    const char *key;
    json_t *value;
    for (const cli_mcp_field *f = t->parameters; f->name; f++)
        if (f->required && !json_object_get(arguments, f->name)) {
            aoei_buffer_printf(text, "the argument %s is missing", f->name);
            return 0;
        }
    json_object_foreach((json_t *)arguments, key, value) {
        const cli_mcp_field *f = t->parameters;
        while (f->name && strcmp(f->name, key) != 0)
            f++;
        if (!f->name) {
            aoei_buffer_printf(text, "%s has no argument '%.100s'", t->name, key);
            for (f = t->parameters; f->name; f++)
                aoei_buffer_printf(text, "%s %s", f == t->parameters ? "; its arguments are" : "", f->name);
            return 0;
        }
        if (!check_value(f, value, text))
            return 0;
    }
    return 1;
}

/* Returns a text as JSON. Bytes that are not ASCII become '?' if the text is not valid UTF-8. */
static json_t *text_json(aoei_buffer *text) {
    if (!text->data)
        return json_string("");
    const int valid = aoei_utf8_valid(text->data, text->len) == text->len;
    for (size_t i = 0; i < text->len && !valid; i++)
        if ((unsigned char)text->data[i] >= 0x80)
            text->data[i] = '?';
    return json_stringn(text->data, text->len);
}

static json_t *result_json(cli_mcp_result *result) {
    json_t *o = json_pack("{s:[{s:s,s:o}],s:b}", "content", "type", "text", "text", text_json(&result->text), "isError",
                          result->failed);
    if (o && !result->failed && json_object_set(o, "structuredContent", result->structured)) {
        json_decref(o);
        o = NULL;
    }
    return result->text.failed ? (json_decref(o), NULL) : o;
}

static json_t *call_tool(const request *r) {
    const char *name = json_string_value(json_object_get(r->params, "name"));
    json_t *arguments = json_object_get(r->params, "arguments"), *empty = NULL;
    const cli_mcp_tool *t = NULL;
    char text[256];
    if (!name)
        return fail(r, AOEI_RPC_INVALID_PARAMS, "params.name must be the name of a tool");
    for (size_t i = 0; i < r->m->n_tools; i++)
        if (!strcmp(name, r->m->tools[i].name))
            t = &r->m->tools[i];
    if (!t) {
        snprintf(text, sizeof text, "unknown tool '%.100s'; tools/list lists the tools", name);
        return fail(r, AOEI_RPC_INVALID_PARAMS, text);
    }
    if (!arguments || json_is_null(arguments))
        arguments = empty = json_object();
    if (empty || json_is_object(arguments)) {
        cli_mcp_result result = {0};
        if (check_arguments(t, arguments, &result.text))
            t->call(r->m->user, arguments, &result);
        else
            result.failed = 1;
        json_t *a = answer(r, result_json(&result));
        json_decref(result.structured);
        json_decref(empty);
        aoei_buffer_free(&result.text);
        return a;
    }
    return fail(r, AOEI_RPC_INVALID_PARAMS, "params.arguments must be an object");
}

/* ---------------------------------------------------------------- revisions */

static json_t *initialize(const request *r) {
    const char *wanted = json_string_value(json_object_get(r->params, "protocolVersion"));
    if (!wanted)
        return fail(r, AOEI_RPC_INVALID_PARAMS, "params.protocolVersion must be a revision such as \"" LATEST "\"");
    r->m->revision = LATEST;
    for (size_t i = 0; i < N_WITH_INITIALIZE; i++)
        if (!strcmp(wanted, with_initialize[i]))
            r->m->revision = with_initialize[i];
    return answer(r, json_pack("{s:s,s:{s:{}},s:o,s:s}", "protocolVersion", r->m->revision, "capabilities", "tools",
                               "serverInfo", server_info(), "instructions", r->m->instructions));
}

static json_t *discover(request *r) {
    r->stateless = 1; /* the request exists only in this revision; a client may send it before it knows the revision */
    return answer_lasting(r, json_pack("{s:[s],s:{s:{}},s:s}", "supportedVersions", STATELESS, "capabilities", "tools",
                                       "instructions", r->m->instructions));
}

/* Reads the revision of a request. Returns NULL, or the answer if the request cannot be served. */
static json_t *read_revision(request *r) {
    const json_t *meta = json_object_get(r->params, "_meta");
    const json_t *revision = json_object_get(meta, PREFIX "protocolVersion");
    if (meta && !json_is_object(meta))
        return fail(r, AOEI_RPC_INVALID_PARAMS, "params._meta must be an object");
    if (!revision)
        return NULL;
    r->stateless = 1;
    if (!json_is_string(revision))
        return fail(r, AOEI_RPC_INVALID_PARAMS, "params._meta[\"" PREFIX "protocolVersion\"] must be a string");
    if (strcmp(json_string_value(revision), STATELESS) != 0) {
        json_t *supported = strings(with_initialize, N_WITH_INITIALIZE);
        if (json_array_insert_new(supported, 0, json_string(STATELESS))) {
            json_decref(supported);
            supported = NULL;
        }
        return aoei_rpc_error(r->id, UNSUPPORTED_REVISION, "Unsupported protocol version",
                              json_pack("{s:o,s:O}", "supported", supported, "requested", revision));
    }
    if (!json_is_object(json_object_get(meta, PREFIX "clientCapabilities")))
        return fail(r, AOEI_RPC_INVALID_PARAMS,
                    "params._meta[\"" PREFIX "clientCapabilities\"] is missing or not an object");
    return NULL;
}

/* Returns the answer to a request. */
static json_t *serve(cli_mcp *m, const aoei_rpc_message *message) {
    request r = {.m = m, .id = message->id, .params = message->params};
    const char *method = message->method;
    char text[256];
    if (!strcmp(method, "initialize"))
        return initialize(&r);
    json_t *rejection = read_revision(&r);
    if (rejection)
        return rejection;
    if (!strcmp(method, "server/discover"))
        return discover(&r);
    if (!strcmp(method, "tools/list"))
        return list_tools(&r);
    if (!strcmp(method, "tools/call"))
        return call_tool(&r);
    if (!strcmp(method, "ping") && !r.stateless)
        return answer(&r, json_object());
    snprintf(text, sizeof text, "unknown method '%.100s'", method);
    return fail(&r, AOEI_RPC_UNKNOWN_METHOD, text);
}

/* Returns the answer to a message, or NULL if it needs none or if memory ran out. *answered: 1 if it needs one. */
static json_t *answer_message(cli_mcp *m, json_t *value, int *answered) {
    aoei_rpc_message message;
    aoei_rpc_read(&message, value);
    *answered = message.kind == AOEI_RPC_REQUEST || message.kind == AOEI_RPC_INVALID;
    if (message.kind == AOEI_RPC_REQUEST)
        return serve(m, &message);
    return *answered ? aoei_rpc_error(message.id, AOEI_RPC_INVALID_REQUEST, message.wrong, NULL) : NULL;
}

/* Returns the answers to an array of messages. */
static json_t *answer_batch(cli_mcp *m, json_t *batch, int *answered) {
    json_t *answers = json_array();
    int failed = !answers;
    for (size_t i = 0; i < json_array_size(batch) && !failed; i++) {
        int needed;
        json_t *a = answer_message(m, json_array_get(batch, i), &needed);
        if (needed)
            failed = json_array_append_new(answers, a) != 0;
    }
    *answered = failed || json_array_size(answers) > 0;
    if (failed || !*answered) {
        json_decref(answers);
        return NULL;
    }
    return answers;
}

/* Appends an answer, which may be NULL if memory ran out, and takes ownership of it. */
static void append(aoei_buffer *out, json_t *a) {
    char *text = a ? aoei_json_text(a, JSON_COMPACT) : NULL;
    if (text)
        aoei_buffer_append(out, text, strlen(text));
    else
        aoei_buffer_printf(out,
                           "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":%d,\"message\":\"out of memory\"}}",
                           AOEI_RPC_INTERNAL_ERROR);
    aoei_buffer_putc(out, '\n');
    aoei_free(text);
    json_decref(a);
}

void cli_mcp_answer(cli_mcp *m, const char *line, size_t len, aoei_buffer *out) {
    char text[256];
    int no_memory, answered = 1;
    json_t *a, *value;
    if (aoei_utf8_is_blank(line, len))
        return;
    value = aoei_rpc_parse(line, len, text, sizeof text, &no_memory);
    if (!value)
        a = no_memory ? NULL : aoei_rpc_error(NULL, AOEI_RPC_PARSE_ERROR, text, NULL);
    else if (!json_is_array(value))
        a = answer_message(m, value, &answered);
    else if (m->revision && !strcmp(m->revision, BATCHES) && json_array_size(value))
        a = answer_batch(m, value, &answered);
    else
        a = aoei_rpc_error(NULL, AOEI_RPC_INVALID_REQUEST,
                           "arrays of messages exist only in the revision " BATCHES ", and must not be empty", NULL);
    if (answered)
        append(out, a);
    json_decref(value);
}

void cli_mcp_answer_long(size_t limit, aoei_buffer *out) {
    char text[100];
    snprintf(text, sizeof text, "the message has more than %zu bytes", limit);
    append(out, aoei_rpc_error(NULL, AOEI_RPC_INVALID_REQUEST, text, NULL));
}
