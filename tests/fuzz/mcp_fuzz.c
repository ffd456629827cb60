/* SPDX-License-Identifier: MIT
 * Fuzzes the server of the Model Context Protocol with the lines of a client. Each line gets no answer or one line of
 * valid JSON, which is a message of JSON-RPC with a result or an error, or an array of such messages. The tools are
 * only called with valid arguments, and no block may be leaked.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/json.h"
#include "base/json_rpc.h"
#include "cli/search/mcp_server.h"

static const char *const modes[] = {"hybrid", "dense", "lexical", NULL};
static const cli_mcp_field parameters[] = {
    {.name = "query", .description = "q", .type = CLI_MCP_STRING, .required = 1, .longest = 100},
    {.name = "k", .description = "k", .type = CLI_MCP_INTEGER, .min = 1, .max = 50},
    {.name = "mode", .description = "m", .type = CLI_MCP_STRING, .longest = 100, .choices = modes},
    {0},
};
static const cli_mcp_field results[] = {{.name = "query", .description = "q", .type = CLI_MCP_STRING}, {0}};

/* Returns the query, and fails if it begins with '!'. */
static void search(void *user, const json_t *arguments, cli_mcp_result *result) {
    const json_t *k = json_object_get(arguments, "k"), *mode = json_object_get(arguments, "mode");
    const char *query = json_string_value(json_object_get(arguments, "query"));
    (void)user;
    if (!query || strlen(query) > 100 || (k && !(json_number_value(k) >= 1 && json_number_value(k) <= 50)) ||
        (mode && strcmp(json_string_value(mode), "hybrid") != 0 && strcmp(json_string_value(mode), "dense") != 0 &&
         strcmp(json_string_value(mode), "lexical") != 0))
        abort();
    result->failed = query[0] == '!';
    aoei_buffer_append(&result->text, query, strlen(query) / 2); /* may end inside a character */
    result->structured = json_pack("{s:s}", "query", query);
}

static const cli_mcp_tool tools[] = {{"search", "Search", "Searches.", parameters, results, search}};

/* Checks an answer. */
static void check(const json_t *a) {
    const json_t *id = json_object_get(a, "id"), *error = json_object_get(a, "error");
    if (!json_is_object(a) || strcmp(json_string_value(json_object_get(a, "jsonrpc")), "2.0") != 0 ||
        !(json_is_string(id) || json_is_integer(id) || json_is_null(id)) ||
        (error != NULL) == json_is_object(json_object_get(a, "result")))
        abort();
    if (error &&
        (!json_is_integer(json_object_get(error, "code")) || !json_is_string(json_object_get(error, "message"))))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const int64_t live = aoei_alloc_live();
    cli_mcp m = {.tools = tools, .n_tools = 1, .instructions = "Search."};
    aoei_buffer out = {0};
    for (const char *at = (const char *)data, *end = at + size; at < end;) {
        const char *nl = memchr(at, '\n', (size_t)(end - at));
        const size_t len = (size_t)((nl ? nl : end) - at);
        json_t *a = NULL;
        aoei_buffer_clear(&out);
        cli_mcp_answer(&m, at, len, &out);
        if (out.failed || (out.len && (out.data[out.len - 1] != '\n' || memchr(out.data, '\n', out.len - 1) ||
                                       aoei_json_parse(&a, out.data, out.len, "answer", NULL))))
            abort();
        for (size_t i = 0; json_is_array(a) && i < json_array_size(a); i++)
            check(json_array_get(a, i));
        if (a && !json_is_array(a))
            check(a);
        json_decref(a);
        at += len + 1;
    }
    aoei_buffer_free(&out);
    if (aoei_alloc_live() != live)
        abort();
    return 0;
}
