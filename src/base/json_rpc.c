/* SPDX-License-Identifier: MIT
 * Reads and writes messages of JSON-RPC 2.0. Duplicate keys are errors, because other programs may use the other value.
 */
#include "base/json_rpc.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/json_decode.h"

json_t *aoei_rpc_parse(const char *line, size_t len, char *text, size_t size, int *no_memory) {
    json_error_t error;
    json_t *value =
        aoei_json_decode(line, len, JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &error, no_memory);
    if (!value)
        snprintf(text, size, "invalid JSON: %s at byte %d", error.text, error.position);
    return value;
}

/* Returns 1 if v is a valid id. */
static int is_id(const json_t *v) {
    return json_is_string(v) || json_is_integer(v);
}

void aoei_rpc_read(aoei_rpc_message *m, json_t *value) {
    *m = (aoei_rpc_message){.kind = AOEI_RPC_INVALID};
    json_t *id = json_object_get(value, "id"), *method = json_object_get(value, "method"),
           *version = json_object_get(value, "jsonrpc"), *params = json_object_get(value, "params");
    if (is_id(id))
        m->id = id;
    if (!json_is_object(value))
        m->wrong = "a message must be an object";
    else if (!json_is_string(version) || strcmp(json_string_value(version), "2.0") != 0)
        m->wrong = "jsonrpc must be \"2.0\"";
    else if (!method && (json_object_get(value, "result") || json_object_get(value, "error")))
        m->kind = AOEI_RPC_RESPONSE;
    else if (!json_is_string(method))
        m->wrong = "method must be a string";
    else if (id && !m->id)
        m->wrong = "id must be a string or an integer";
    else if (params && !json_is_object(params))
        m->wrong = "params must be an object";
    else {
        m->kind = id ? AOEI_RPC_REQUEST : AOEI_RPC_NOTIFICATION;
        m->method = json_string_value(method);
        m->params = params;
    }
}

static json_t *id_or_null(json_t *id) {
    return id ? json_incref(id) : json_null();
}

json_t *aoei_rpc_result(json_t *id, json_t *result) {
    return json_pack("{s:s,s:o,s:o}", "jsonrpc", "2.0", "id", id_or_null(id), "result", result);
}

json_t *aoei_rpc_error(json_t *id, int code, const char *text, json_t *data) {
    json_t *error = json_pack("{s:i,s:o}", "code", code, "message", aoei_name_json(text));
    if (data && json_object_set_new(error, "data", data)) {
        json_decref(error);
        error = NULL;
    }
    return json_pack("{s:s,s:o,s:o}", "jsonrpc", "2.0", "id", id_or_null(id), "error", error);
}
