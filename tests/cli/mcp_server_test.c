/* SPDX-License-Identifier: MIT
 * Tests the server of the Model Context Protocol with a tool that returns its arguments: exchanges of all revisions,
 * every protocol error, arguments that are not valid, and arrays of messages. Other tests check the schemas, and make
 * every allocation fail.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "aoe.h"
#include "base/alloc.h"
#include "base/json.h"
#include "cli/search/mcp_server.h"

static const char *const colors[] = {"red", "green", "blue", NULL};
static const cli_mcp_field parameters[] = {
    {.name = "text", .description = "a text", .type = CLI_MCP_STRING, .required = 1, .longest = 20},
    {.name = "n", .description = "a number", .type = CLI_MCP_INTEGER, .min = 1, .max = 5},
    {.name = "color", .description = "a color", .type = CLI_MCP_STRING, .longest = 20, .choices = colors},
    {0},
};
static const cli_mcp_field inner[] = {{.name = "text", .description = "a text", .type = CLI_MCP_STRING}, {0}};
static const cli_mcp_field results[] = {
    {.name = "list", .description = "a list", .type = CLI_MCP_OBJECTS, .required = 1, .fields = inner},
    {.name = "score", .description = "a score", .type = CLI_MCP_NUMBER},
    {0},
};
static const cli_mcp_field none[] = {{0}};

static double number; /* argument `n` of the last call */

/* Returns the argument `text`. Fails if it is "fail". */
static void echo(void *user, const json_t *arguments, cli_mcp_result *result) {
    const char *text = json_string_value(json_object_get(arguments, "text"));
    ++*(int *)user;
    number = json_number_value(json_object_get(arguments, "n"));
    result->failed = !strcmp(text, "fail");
    aoei_buffer_printf(&result->text, result->failed ? "failed\n\xff" : "text: %s", text);
    result->structured = json_pack("{s:[{s:s}]}", "list", "text", text);
}

static void no_arguments(void *user, const json_t *arguments, cli_mcp_result *result) {
    ++*(int *)user;
    assert_int_equal(json_object_size(arguments), 0);
    result->structured = json_object();
}

static int calls;
static const cli_mcp_tool tools[] = {
    {"echo", "Echo", "Returns its text.", parameters, results, echo},
    {"none", "None", "Does nothing.", none, none, no_arguments},
};
static const cli_mcp start = {.tools = tools, .n_tools = 2, .instructions = "Use it.", .user = &calls};

/* Returns the answer to a line, or NULL. The caller calls json_decref. */
static json_t *ask(cli_mcp *m, const char *line) {
    aoei_buffer out = {0};
    json_t *a = NULL;
    cli_mcp_answer(m, line, strlen(line), &out);
    assert_false(out.failed);
    if (out.len) {
        assert_true(out.data[out.len - 1] == '\n' && !memchr(out.data, '\n', out.len - 1));
        assert_int_equal(aoei_json_parse(&a, out.data, out.len, "answer", NULL), 0);
    }
    aoei_buffer_free(&out);
    return a;
}

/* Fails unless the answer to a line has this error code; 0: a result. Returns the answer. */
static json_t *expect(cli_mcp *m, int code, const char *line) {
    json_t *a = ask(m, line), *error = json_object_get(a, "error"), *result = json_object_get(a, "result");
    if (!a || json_integer_value(json_object_get(error, "code")) != code || (code == 0) != (result != NULL))
        fail_msg("%s: expected the code %d", line, code);
    return a;
}

static const char *text_of(const json_t *a) {
    return json_string_value(
        json_object_get(json_array_get(json_object_get(json_object_get(a, "result"), "content"), 0), "text"));
}

#define REQUEST(method, params) "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"" method "\",\"params\":{" params "}}"
#define META                                                                                                           \
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","                                           \
    "\"io.modelcontextprotocol/clientCapabilities\":{}}"
#define CALL(arguments) REQUEST("tools/call", "\"name\":\"echo\",\"arguments\":{" arguments "}")

static void test_initialize(void **state) {
    (void)state;
    static const char *const revisions[][2] = {{"2024-11-05", "2024-11-05"},
                                               {"2025-03-26", "2025-03-26"},
                                               {"2025-06-18", "2025-06-18"},
                                               {"2025-11-25", "2025-11-25"},
                                               {"2026-07-28", "2025-11-25"},
                                               {"1999-01-01", "2025-11-25"},
                                               {"", "2025-11-25"}};
    for (size_t i = 0; i < sizeof revisions / sizeof *revisions; i++) {
        cli_mcp m = start;
        char line[300];
        snprintf(line, sizeof line,
                 REQUEST("initialize", "\"protocolVersion\":\"%s\",\"capabilities\":{},\"clientInfo\":{}"),
                 revisions[i][0]);
        json_t *a = expect(&m, 0, line), *result = json_object_get(a, "result");
        assert_string_equal(json_string_value(json_object_get(result, "protocolVersion")), revisions[i][1]);
        assert_true(json_is_object(json_object_get(json_object_get(result, "capabilities"), "tools")));
        assert_string_equal(json_string_value(json_object_get(json_object_get(result, "serverInfo"), "version")),
                            aoe_version());
        assert_string_equal(json_string_value(json_object_get(result, "instructions")), "Use it.");
        assert_null(json_object_get(result, "resultType"));
        json_decref(a);
        assert_null(ask(&m, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"));
        json_decref(expect(&m, 0, REQUEST("ping", "")));
        json_decref(expect(&m, 0, REQUEST("tools/list", "\"cursor\":\"x\"")));
    }
    cli_mcp m = start;
    json_decref(expect(&m, -32602, REQUEST("initialize", "\"protocolVersion\":1")));
    json_decref(expect(&m, -32602, REQUEST("initialize", "")));
}

static void test_stateless(void **state) {
    (void)state;
    cli_mcp m = start;
    for (int with_meta = 0; with_meta < 2; with_meta++) {
        json_t *a = expect(&m, 0, with_meta ? REQUEST("server/discover", META) : REQUEST("server/discover", "")),
               *result = json_object_get(a, "result"), *versions = json_object_get(result, "supportedVersions");
        assert_string_equal(json_string_value(json_array_get(versions, 0)), "2026-07-28");
        assert_string_equal(json_string_value(json_object_get(result, "resultType")), "complete");
        assert_true(json_is_integer(json_object_get(result, "ttlMs")));
        assert_string_equal(json_string_value(json_object_get(result, "cacheScope")), "public");
        assert_non_null(json_object_get(json_object_get(result, "_meta"), "io.modelcontextprotocol/serverInfo"));
        json_decref(a);
    }
    json_t *a = expect(&m, 0, REQUEST("tools/list", META)), *result = json_object_get(a, "result");
    assert_string_equal(json_string_value(json_object_get(result, "resultType")), "complete");
    assert_true(json_is_integer(json_object_get(result, "ttlMs")));
    json_decref(a);
    a = expect(&m, 0, REQUEST("tools/call", META ",\"name\":\"none\""));
    assert_string_equal(json_string_value(json_object_get(json_object_get(a, "result"), "resultType")), "complete");
    assert_null(json_object_get(json_object_get(a, "result"), "ttlMs"));
    json_decref(a);
    json_decref(expect(&m, -32601, REQUEST("ping", META)));
    json_decref(expect(&m, -32601, REQUEST("resources/list", META)));
    json_decref(expect(&m, -32602, REQUEST("tools/list", "\"_meta\":1")));
    json_decref(expect(
        &m, -32602, REQUEST("tools/list", "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"}")));
    json_decref(
        expect(&m, -32602, REQUEST("tools/list", "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":20260728}")));
    a = expect(&m, -32022,
               REQUEST("tools/list", "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2027-01-01\","
                                     "\"io.modelcontextprotocol/clientCapabilities\":{}}"));
    json_t *data = json_object_get(json_object_get(a, "error"), "data");
    assert_string_equal(json_string_value(json_object_get(data, "requested")), "2027-01-01");
    assert_int_equal(json_array_size(json_object_get(data, "supported")), 5);
    json_decref(a);
    /* the other revisions can be used on the same connection, and a token of the progress is no revision */
    json_decref(expect(&m, 0, REQUEST("initialize", "\"protocolVersion\":\"2025-06-18\"")));
    a = expect(&m, 0, REQUEST("tools/list", "\"_meta\":{\"progressToken\":1}"));
    assert_null(json_object_get(json_object_get(a, "result"), "resultType"));
    json_decref(a);
}

static void test_calls(void **state) {
    (void)state;
    cli_mcp m = start;
    calls = 0;
    json_t *a = expect(&m, 0, CALL("\"text\":\"a\\nb\",\"n\":5,\"color\":\"blue\"")),
           *result = json_object_get(a, "result");
    assert_string_equal(text_of(a), "text: a\nb");
    assert_true(json_is_false(json_object_get(result, "isError")));
    assert_int_equal(json_array_size(json_object_get(json_object_get(result, "structuredContent"), "list")), 1);
    assert_true(json_equal(json_object_get(a, "id"), json_object_get(a, "id")) &&
                json_integer_value(json_object_get(a, "id")) == 7);
    json_decref(a);
    a = expect(&m, 0, CALL("\"text\":\"fail\""));
    assert_true(json_is_true(json_object_get(json_object_get(a, "result"), "isError")));
    assert_null(json_object_get(json_object_get(a, "result"), "structuredContent"));
    assert_string_equal(text_of(a), "failed\n?");
    json_decref(a);
    assert_int_equal(calls, 2);
    json_decref(expect(&m, 0, REQUEST("tools/call", "\"name\":\"none\",\"arguments\":null")));
    assert_int_equal(calls, 3);
    json_decref(expect(&m, -32602, REQUEST("tools/call", "")));
    json_decref(expect(&m, -32602, REQUEST("tools/call", "\"name\":\"other\"")));
    json_decref(expect(&m, -32602, REQUEST("tools/call", "\"name\":\"echo\",\"arguments\":[]")));
    assert_int_equal(calls, 3);
}

/* Arguments that are not valid give errors that the language model sees. */
static void test_arguments(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {CALL(""), "the argument text is missing"},
        {CALL("\"text\":1"), "the argument text must be a string of at most 20 bytes without NUL"},
        {CALL("\"text\":null"), "the argument text must be a string of at most 20 bytes without NUL"},
        {CALL("\"text\":\"a\\u0000b\""), "the argument text must be a string of at most 20 bytes without NUL"},
        {CALL("\"text\":\"123456789012345678901\""),
         "the argument text must be a string of at most 20 bytes without NUL"},
        {CALL("\"text\":\" \\t\""), "the argument text is empty"},
        {CALL("\"text\":\"a\",\"n\":0"), "the argument n must be an integer from 1 to 5"},
        {CALL("\"text\":\"a\",\"n\":6"), "the argument n must be an integer from 1 to 5"},
        {CALL("\"text\":\"a\",\"n\":\"1\""), "the argument n must be an integer from 1 to 5"},
        {CALL("\"text\":\"a\",\"n\":1.5"), "the argument n must be an integer from 1 to 5"},
        {CALL("\"text\":\"a\",\"color\":\"pink\""), "the argument color must be red, green or blue"},
        {CALL("\"text\":\"a\",\"other\":1"), "echo has no argument 'other'; its arguments are text n color"},
    };
    calls = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cli_mcp m = start;
        json_t *a = expect(&m, 0, cases[i][0]);
        assert_true(json_is_true(json_object_get(json_object_get(a, "result"), "isError")));
        assert_string_equal(text_of(a), cases[i][1]);
        json_decref(a);
    }
    assert_int_equal(calls, 0);
    static const char *const integers[] = {CALL("\"text\":\"a\",\"n\":5"), CALL("\"text\":\"a\",\"n\":5.0"),
                                           CALL("\"text\":\"a\",\"n\":0.5e1")}; /* equal in JSON Schema */
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        cli_mcp m = start;
        json_t *a = expect(&m, 0, integers[i]);
        assert_false(json_is_true(json_object_get(json_object_get(a, "result"), "isError")));
        assert_true(number == 5);
        json_decref(a);
    }
    assert_int_equal(calls, 3);
}

static void test_errors(void **state) {
    (void)state;
    cli_mcp m = start;
    json_decref(expect(&m, -32700, "{"));
    json_decref(expect(&m, -32700, "\xff"));
    json_decref(expect(&m, -32600, "1"));
    json_decref(expect(&m, -32600, "{\"jsonrpc\":\"2.0\",\"id\":1}"));
    json_decref(expect(&m, -32600, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":[]}"));
    json_decref(expect(&m, -32601, REQUEST("no/such", "")));
    json_decref(expect(&m, -32601, REQUEST("notifications/initialized", "")));
    static const char *const silent[] = {"", "  \r", "{\"jsonrpc\":\"2.0\",\"method\":\"no/such\"}",
                                         "{\"jsonrpc\":\"2.0\",\"method\":\"tools/list\"}",
                                         "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"};
    for (size_t i = 0; i < sizeof silent / sizeof *silent; i++)
        assert_null(ask(&m, silent[i]));
    aoei_buffer out = {0};
    cli_mcp_answer_long(1000, &out);
    assert_non_null(strstr(out.data, "-32600"));
    assert_non_null(strstr(out.data, "more than 1000 bytes"));
    aoei_buffer_free(&out);
}

static void test_batches(void **state) {
    (void)state;
    cli_mcp m = start;
    static const char batch[] = "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"},"
                                "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"},2,[],"
                                "{\"jsonrpc\":\"2.0\",\"id\":\"b\",\"method\":\"tools/list\"}]";
    json_decref(expect(&m, -32600, batch));
    json_decref(expect(&m, 0, REQUEST("initialize", "\"protocolVersion\":\"2025-03-26\"")));
    json_t *a = ask(&m, batch);
    assert_int_equal(json_array_size(a), 4);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(a, 0), "id")), 1);
    for (size_t i = 1; i < 3; i++)
        assert_int_equal(json_integer_value(json_object_get(json_object_get(json_array_get(a, i), "error"), "code")),
                         -32600);
    assert_string_equal(json_string_value(json_object_get(json_array_get(a, 3), "id")), "b");
    json_decref(a);
    assert_null(ask(&m, "[{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}]"));
    json_decref(expect(&m, -32600, "[]"));
}

/* Fails if a schema contains a union of types. Returns the number of schemas. */
static size_t check_schema(const json_t *schema) {
    const char *key;
    json_t *property;
    size_t n = 1;
    assert_true(json_is_string(json_object_get(schema, "type")));
    static const char *const unions[] = {"anyOf", "oneOf", "allOf", "$ref"};
    for (size_t i = 0; i < sizeof unions / sizeof *unions; i++)
        assert_null(json_object_get(schema, unions[i]));
    json_object_foreach(json_object_get(schema, "properties"), key, property) n += check_schema(property);
    if (json_object_get(schema, "items"))
        n += check_schema(json_object_get(schema, "items"));
    return n;
}

static void test_schemas(void **state) {
    (void)state;
    cli_mcp m = start;
    json_t *a = expect(&m, 0, REQUEST("tools/list", "")),
           *list = json_object_get(json_object_get(a, "result"), "tools"), *tool = json_array_get(list, 0);
    assert_int_equal(json_array_size(list), 2);
    assert_int_equal(check_schema(json_object_get(tool, "inputSchema")), 4);
    assert_int_equal(check_schema(json_object_get(tool, "outputSchema")), 5);
    json_t *properties = json_object_get(json_object_get(tool, "inputSchema"), "properties");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(properties, "n"), "maximum")), 5);
    assert_int_equal(json_array_size(json_object_get(json_object_get(properties, "color"), "enum")), 3);
    assert_int_equal(json_array_size(json_object_get(json_object_get(tool, "inputSchema"), "required")), 1);
    assert_true(json_is_true(json_object_get(json_object_get(tool, "annotations"), "readOnlyHint")));
    json_decref(a);
}

static int answer_all(void *arg) {
    static const char *const lines[] = {REQUEST("initialize", "\"protocolVersion\":\"2025-03-26\""),
                                        REQUEST("server/discover", META),
                                        REQUEST("tools/list", META),
                                        CALL("\"text\":\"a\""),
                                        CALL("\"text\":\"\""),
                                        "[" REQUEST("ping", "") "," REQUEST("x", "") "]",
                                        "{"};
    cli_mcp m = start;
    aoei_buffer out = {0};
    (void)arg;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        cli_mcp_answer(&m, lines[i], strlen(lines[i]), &out);
    const int code =
        out.failed || !out.data || strstr(out.data, "out of memory") || strstr(out.data, "revision 2025-03")
            ? AOE_ENOMEM
            : 0;
    aoei_buffer_free(&out);
    return code;
}

static void test_memory(void **state) {
    (void)state;
    assert_true(test_alloc_failures(answer_all, NULL, 0) > 100);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_initialize), cmocka_unit_test(test_stateless), cmocka_unit_test(test_calls),
        cmocka_unit_test(test_arguments),  cmocka_unit_test(test_errors),    cmocka_unit_test(test_batches),
        cmocka_unit_test(test_schemas),    cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
