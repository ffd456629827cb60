/* SPDX-License-Identifier: MIT
 * Tests the reading of JSON-RPC messages: requests, notifications, responses and every kind of invalid message, and the
 * answers. Answers are valid even if the text of an error has invalid UTF-8. Another test makes every allocation fail.
 */
#include <string.h>

#include "../support/support.h"
#include "aoe.h"
#include "base/alloc.h"
#include "base/json.h"
#include "base/json_rpc.h"

static void test_kinds(void **state) {
    (void)state;
    static const struct {
        const char *line;
        aoei_rpc_kind kind;
        const char *wrong; /* part of the message; NULL: valid */
        int has_id;
    } cases[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{}}", AOEI_RPC_REQUEST, NULL, 1},
        {"{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"m\"}", AOEI_RPC_REQUEST, NULL, 1},
        {"{\"jsonrpc\":\"2.0\",\"id\":-5,\"method\":\"m\"}", AOEI_RPC_REQUEST, NULL, 1},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"m\"}", AOEI_RPC_NOTIFICATION, NULL, 0},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", AOEI_RPC_RESPONSE, NULL, 1},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}", AOEI_RPC_RESPONSE, NULL, 0},
        {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}", AOEI_RPC_INVALID, "id must", 0},
        {"{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"m\"}", AOEI_RPC_INVALID, "id must", 0},
        {"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"m\"}", AOEI_RPC_INVALID, "id must", 0},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":2}", AOEI_RPC_INVALID, "method must", 1},
        {"{\"jsonrpc\":\"2.0\",\"id\":1}", AOEI_RPC_INVALID, "method must", 1},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[]}", AOEI_RPC_INVALID, "params must", 1},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":null}", AOEI_RPC_INVALID, "params must", 1},
        {"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"m\"}", AOEI_RPC_INVALID, "jsonrpc must", 1},
        {"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"m\"}", AOEI_RPC_INVALID, "jsonrpc must", 1},
        {"{\"id\":1,\"method\":\"m\"}", AOEI_RPC_INVALID, "jsonrpc must", 1},
        {"{}", AOEI_RPC_INVALID, "jsonrpc must", 0},
        {"1", AOEI_RPC_INVALID, "must be an object", 0},
        {"\"text\"", AOEI_RPC_INVALID, "must be an object", 0},
        {"null", AOEI_RPC_INVALID, "must be an object", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[100];
        int no_memory;
        aoei_rpc_message m;
        json_t *value = aoei_rpc_parse(cases[i].line, strlen(cases[i].line), text, sizeof text, &no_memory);
        assert_non_null(value);
        aoei_rpc_read(&m, value);
        if (m.kind != cases[i].kind || !m.wrong != !cases[i].wrong || (m.wrong && !strstr(m.wrong, cases[i].wrong)))
            fail_msg("%s: kind %d, %s", cases[i].line, (int)m.kind, m.wrong ? m.wrong : "valid");
        if (m.kind != AOEI_RPC_RESPONSE)
            assert_int_equal(m.id != NULL, cases[i].has_id);
        if (m.kind == AOEI_RPC_REQUEST || m.kind == AOEI_RPC_NOTIFICATION)
            assert_string_equal(m.method, "m");
        json_decref(value);
    }
}

static void test_invalid_json(void **state) {
    (void)state;
    static const char *const lines[] = {
        "", "{", "{\"a\":1,\"a\":2}", "{\"jsonrpc\":\"2.0\"} 1", "\"\xff\"", "{\"id\":99999999999999999999}"};
    char text[100];
    int no_memory;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_null(aoei_rpc_parse(lines[i], strlen(lines[i]), text, sizeof text, &no_memory));
        assert_true(!no_memory && strncmp(text, "invalid JSON: ", 14) == 0);
    }
    char deep[5000];
    memset(deep, '[', sizeof deep);
    assert_null(aoei_rpc_parse(deep, sizeof deep, text, sizeof text, &no_memory));
    assert_non_null(strstr(text, "depth"));
}

static void expect(json_t *answer, const char *want) {
    char *text = aoei_json_text(answer, JSON_COMPACT);
    assert_string_equal(text, want);
    aoei_free(text);
    json_decref(answer);
}

static void test_answers(void **state) {
    (void)state;
    json_t *id = json_string("a");
    expect(aoei_rpc_result(id, json_object()), "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"result\":{}}");
    expect(aoei_rpc_error(id, -32601, "no such method", NULL),
           "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"error\":{\"code\":-32601,\"message\":\"no such method\"}}");
    expect(aoei_rpc_error(NULL, 1, "x", json_integer(7)),
           "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1,\"message\":\"x\",\"data\":7}}");
    json_t *bytes = aoei_rpc_error(NULL, 1, "bad \xff\x80 bytes", NULL);
    assert_non_null(json_string_value(json_object_get(json_object_get(bytes, "error"), "message")));
    json_decref(bytes);
    assert_null(aoei_rpc_result(id, NULL));
    json_decref(id);
}

static int run_all(void *arg) {
    static const char line[] = "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"m\",\"params\":{\"x\":[1,\"y\"]}}";
    char text[100];
    int no_memory, code = 0;
    aoei_rpc_message m;
    (void)arg;
    json_t *value = aoei_rpc_parse(line, sizeof line - 1, text, sizeof text, &no_memory);
    if (!value) {
        assert_true(no_memory);
        return AOE_ENOMEM;
    }
    aoei_rpc_read(&m, value);
    json_t *data = json_string("d"), *result = aoei_rpc_result(m.id, json_object()),
           *error = aoei_rpc_error(m.id, 1, "text", json_incref(data));
    if (!result || !error || !data)
        code = AOE_ENOMEM;
    json_decref(data);
    json_decref(result);
    json_decref(error);
    json_decref(value);
    return code;
}

static void test_memory(void **state) {
    (void)state;
    assert_true(test_alloc_failures(run_all, NULL, 0) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_invalid_json),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
