/* SPDX-License-Identifier: MIT
 * Messages of JSON-RPC 2.0, as the Model Context Protocol uses them: ids are strings or integers, and parameters are
 * objects. Neither the methods nor their parameters are known here.
 */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "base/buffer.h"

/* Error codes of JSON-RPC. */
enum {
    AOEI_RPC_PARSE_ERROR = -32700,
    AOEI_RPC_INVALID_REQUEST = -32600,
    AOEI_RPC_UNKNOWN_METHOD = -32601,
    AOEI_RPC_INVALID_PARAMS = -32602,
    AOEI_RPC_INTERNAL_ERROR = -32603
};

typedef enum aoei_rpc_kind {
    AOEI_RPC_REQUEST,      /* needs an answer */
    AOEI_RPC_NOTIFICATION, /* has no id and gets no answer */
    AOEI_RPC_RESPONSE,     /* the answer to a request */
    AOEI_RPC_INVALID       /* gets the error INVALID_REQUEST */
} aoei_rpc_kind;

typedef struct aoei_rpc_message {
    aoei_rpc_kind kind;
    json_t *id;         /* requests: string or integer; INVALID: the same if the message has a valid id, otherwise NULL.
                           Borrowed from the value, like the fields below */
    const char *method; /* requests and notifications; the name ends at its first NUL */
    json_t *params;     /* requests and notifications: an object; NULL: none */
    const char *wrong;  /* INVALID: what is wrong, a static string */
} aoei_rpc_message;

/* Parses a line that contains one JSON value. If it is invalid, returns NULL and describes the error in text[size],
 * which may contain bytes of the line. If memory runs out, *no_memory is 1. */
json_t *aoei_rpc_parse(const char *line, size_t len, char *text, size_t size, int *no_memory);
/* Reads a message from a value that is not an array. */
void aoei_rpc_read(aoei_rpc_message *m, json_t *value);

/* Return the answer to a request. They take ownership of result and data, but not of id. If memory runs out, also if
 * result is NULL, they return NULL. id: NULL for a message whose id is unknown; data: NULL for none. text may be any
 * bytes; invalid UTF-8 is replaced. */
json_t *aoei_rpc_result(json_t *id, json_t *result);
json_t *aoei_rpc_error(json_t *id, int code, const char *text, json_t *data);
