/* SPDX-License-Identifier: MIT
 * The Model Context Protocol: answers messages of a client, without reading or writing files. It supports the revisions
 * with the request `initialize` (2024-11-05 to 2025-11-25) and the revision 2026-07-28, in which each request states
 * its revision in params._meta. Both kinds of requests may be mixed. The tools are functions of the caller.
 */
#pragma once

#include <stddef.h>

#include <jansson.h>

#include "base/buffer.h"

/* Type of a parameter or result of a tool. */
typedef enum cli_mcp_type { CLI_MCP_STRING, CLI_MCP_INTEGER, CLI_MCP_NUMBER, CLI_MCP_OBJECTS } cli_mcp_type;

/* A parameter or a result of a tool. The schemas contain no unions of types, which some clients do not accept. */
typedef struct cli_mcp_field {
    const char *name, *description;
    cli_mcp_type type;
    int required;
    json_int_t min, max;                /* INTEGER: range of a parameter; not used for results */
    size_t longest;                     /* STRING: maximum length of a parameter in bytes; not used for results */
    const char *const *choices;         /* STRING: NULL-terminated list of valid values; NULL: any */
    const struct cli_mcp_field *fields; /* OBJECTS: fields of each object; the last one has no name */
} cli_mcp_field;

/* Result of a tool. */
typedef struct cli_mcp_result {
    aoei_buffer text;   /* text for the language model: the answer, or the error; owned */
    json_t *structured; /* object with the results of the tool; owned; not used after an error. NULL: out of memory */
    int failed;         /* 1: the text describes an error that the language model may be able to correct */
} cli_mcp_result;

/* Calls the tool. arguments: an object whose values are valid. */
typedef void (*cli_mcp_call_fn)(void *user, const json_t *arguments, cli_mcp_result *result);

typedef struct cli_mcp_tool {
    const char *name, *title, *description;
    const cli_mcp_field *parameters, *results; /* the last one of each array has no name */
    cli_mcp_call_fn call;
} cli_mcp_tool;

typedef struct cli_mcp {
    const cli_mcp_tool *tools; /* [n_tools] borrowed, like all fields */
    size_t n_tools;
    const char *instructions; /* for the language model */
    void *user;               /* first argument of the tools */
    /* private */
    const char *revision; /* revision that `initialize` has chosen; NULL: none yet */
} cli_mcp;

/* Answers a line: appends one line with the answer to `out`, or nothing if the line needs no answer. If memory runs
 * out, the answer says so, or out->failed is set. */
void cli_mcp_answer(cli_mcp *m, const char *line, size_t len, aoei_buffer *out);
/* Appends the answer to a line that is longer than `limit` bytes. */
void cli_mcp_answer_long(size_t limit, aoei_buffer *out);
