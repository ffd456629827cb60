/* SPDX-License-Identifier: MIT
 * Tests the parser of request bodies: every kind of field with the values it accepts, the messages about values that it
 * rejects, limits, keys without a field, and failed allocations.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "serve/request.h"

typedef struct settings {
    int truncate;
    const char *prompt_name;
} settings;

typedef struct body {
    aoei_inputs inputs;
    const char *name;
    aoe_text query;
    int normalize;
    size_t dimensions;
    double threshold;
    int direction;
    unsigned types;
    aoei_inputs texts, documents, ids;
    aoei_pairs pairs;
    aoei_strings strings;
    json_t *options;
    settings parameters;
} body;

static const aoei_field settings_fields[] = {
    {.name = "truncate", .kind = AOEI_FIELD_BOOL, .offset = offsetof(settings, truncate)},
    {.name = "prompt_name", .kind = AOEI_FIELD_STRING, .offset = offsetof(settings, prompt_name), .required = 1},
};

static const aoei_field fields[] = {
    {.name = "inputs", .kind = AOEI_FIELD_INPUTS, .offset = offsetof(body, inputs), .required = 1},
    {.name = "name", .kind = AOEI_FIELD_STRING, .offset = offsetof(body, name)},
    {.name = "query", .kind = AOEI_FIELD_TEXT, .offset = offsetof(body, query)},
    {.name = "normalize", .kind = AOEI_FIELD_BOOL, .offset = offsetof(body, normalize)},
    {.name = "dimensions", .kind = AOEI_FIELD_COUNT, .offset = offsetof(body, dimensions)},
    {.name = "threshold", .kind = AOEI_FIELD_NUMBER, .offset = offsetof(body, threshold)},
    {.name = "direction", .kind = AOEI_FIELD_CHOICE, .offset = offsetof(body, direction), .choices = "Left|Right|Both"},
    {.name = "types", .kind = AOEI_FIELD_CHOICES, .offset = offsetof(body, types), .choices = "float|int8"},
    {.name = "texts", .kind = AOEI_FIELD_TEXTS, .offset = offsetof(body, texts)},
    {.name = "documents", .kind = AOEI_FIELD_DOCUMENTS, .offset = offsetof(body, documents)},
    {.name = "ids", .kind = AOEI_FIELD_IDS, .offset = offsetof(body, ids)},
    {.name = "pairs", .kind = AOEI_FIELD_PAIRS, .offset = offsetof(body, pairs)},
    {.name = "strings", .kind = AOEI_FIELD_STRINGS, .offset = offsetof(body, strings)},
    {.name = "options", .kind = AOEI_FIELD_OBJECT, .offset = offsetof(body, options)},
    {.name = "parameters",
     .kind = AOEI_FIELD_OBJECT,
     .offset = offsetof(body, parameters),
     .fields = settings_fields,
     .n_fields = 2},
};
enum { N_FIELDS = sizeof fields / sizeof *fields };

static aoei_request request;
static body out;
static aoe_error err;

static int parse_bytes(const char *data, size_t len) {
    aoei_request_free(&request);
    out = (body){.normalize = 7, .dimensions = 77, .direction = 1, .name = "default"};
    err = (aoe_error){0};
    /* a copy of the exact size, so that the address sanitizer detects reads after its end */
    char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, data, len);
    const int rc = aoei_request_parse(&request, (aoe_text){copy, len}, fields, N_FIELDS, &out, &err);
    free(copy);
    assert_int_equal(rc, err.code);
    return rc;
}

static void parse(const char *text) {
    if (parse_bytes(text, strlen(text)))
        fail_msg("%s: %s", text, err.message);
}

static int tear_down(void **state) {
    (void)state;
    aoei_request_free(&request);
    return 0;
}

static int is_text(aoe_text t, const char *want) {
    return t.len == strlen(want) && !memcmp(t.data, want, t.len);
}

static void test_inputs(void **state) {
    (void)state;
    parse("{\"inputs\": \"one\"}");
    assert_true(out.inputs.n == 1 && out.inputs.is_single && out.inputs.is_set && !out.inputs.ids);
    assert_true(is_text(out.inputs.text[0], "one") && out.inputs.total_bytes == 3);
    parse("{\"inputs\": [\"one\", \"\", \"\\u0000\xC3\xA4\"]}");
    assert_true(out.inputs.n == 3 && !out.inputs.is_single && is_text(out.inputs.text[1], ""));
    assert_true(out.inputs.text[2].len == 3 && !memcmp(out.inputs.text[2].data, "\0\xC3\xA4", 3));
    assert_int_equal(out.inputs.total_bytes, 6);
    parse("{\"inputs\": [101, 0, 2147483647]}");
    assert_true(out.inputs.n == 1 && out.inputs.is_single && !out.inputs.text && out.inputs.n_ids[0] == 3);
    assert_true(out.inputs.ids[0][0] == 101 && out.inputs.ids[0][2] == 2147483647 && out.inputs.total_ids == 3);
    parse("{\"inputs\": [[1, 2], [], [3]]}");
    assert_true(out.inputs.n == 3 && !out.inputs.is_single && out.inputs.n_ids[1] == 0 && out.inputs.ids[2][0] == 3);
    assert_int_equal(out.inputs.total_ids, 3);
    parse("{\"inputs\": []}");
    assert_true(out.inputs.n == 0 && out.inputs.is_set && !out.inputs.text && !out.inputs.ids);
    parse("{\"inputs\": [[]]}");
    assert_true(out.inputs.n == 1 && !out.inputs.is_single && out.inputs.n_ids[0] == 0);
}

static void test_other_lists(void **state) {
    (void)state;
    parse("{\"inputs\": \"\", \"texts\": [\"a\"], \"documents\": [\"a\", {\"text\": \"b\", \"id\": 1}], \"ids\": [1], "
          "\"strings\": [\"x\", \"y\"]}");
    assert_true(out.texts.n == 1 && out.documents.n == 2 && is_text(out.documents.text[1], "b"));
    assert_true(out.ids.n == 1 && out.ids.is_single && out.ids.ids[0][0] == 1);
    assert_true(out.strings.n == 2 && !strcmp(out.strings.value[1], "y"));
    parse("{\"inputs\": \"\", \"texts\": \"a\", \"documents\": [], \"ids\": [[1], [2, 3]], \"strings\": []}");
    assert_true(out.texts.is_single && out.documents.is_set && out.documents.n == 0 && out.ids.n == 2);
    assert_true(!out.strings.value && !out.pairs.is_set);
    parse("{\"inputs\": \"\", \"documents\": [{\"text\": \"b\"}]}");
    assert_true(is_text(out.documents.text[0], "b") && !out.texts.is_set);
}

static void test_pairs(void **state) {
    (void)state;
    parse("{\"inputs\": \"\", \"pairs\": \"a\"}");
    assert_true(out.pairs.n == 1 && out.pairs.is_single && is_text(out.pairs.first[0], "a"));
    assert_null(out.pairs.second[0].data);
    parse("{\"inputs\": \"\", \"pairs\": [\"a\", \"b\"]}");
    assert_true(out.pairs.n == 1 && out.pairs.is_single && is_text(out.pairs.second[0], "b"));
    parse("{\"inputs\": \"\", \"pairs\": [\"a\"]}");
    assert_true(out.pairs.n == 1 && out.pairs.is_single && !out.pairs.second[0].data);
    parse("{\"inputs\": \"\", \"pairs\": [[\"a\"], [\"b\", \"\"]]}");
    assert_true(out.pairs.n == 2 && !out.pairs.is_single && is_text(out.pairs.first[1], "b"));
    assert_true(!out.pairs.second[0].data && out.pairs.second[1].data && out.pairs.second[1].len == 0);
    parse("{\"inputs\": \"\", \"pairs\": []}");
    assert_true(out.pairs.n == 0 && out.pairs.is_set);
}

static void test_values(void **state) {
    (void)state;
    parse("{\"inputs\": \"\", \"name\": \"n\", \"query\": \"a\\u0000b\", \"normalize\": false, \"dimensions\": 256, "
          "\"threshold\": -1.5, \"direction\": \"left\", \"types\": [\"int8\"], \"options\": {\"a\": {}}, "
          "\"parameters\": {\"truncate\": true, \"prompt_name\": \"query\"}}");
    assert_true(!strcmp(out.name, "n") && out.query.len == 3 && out.normalize == 0 && out.dimensions == 256);
    assert_true(out.threshold + 1.5 == 0 && out.direction == 0 && out.types == 2 && json_is_object(out.options));
    assert_true(out.parameters.truncate == 1 && !strcmp(out.parameters.prompt_name, "query"));
    assert_string_equal(request.ignored, "");
    parse("{\"inputs\": \"\", \"dimensions\": 3.0, \"threshold\": 2}");
    assert_true(out.dimensions == 3 && out.threshold == 2);
    parse("{\"inputs\": \"\", \"dimensions\": 2147483648}");
    assert_true(out.dimensions == 2147483648);
}

static void test_null_keeps_the_default(void **state) {
    (void)state;
    parse("{\"inputs\": \"\", \"name\": null, \"normalize\": null, \"dimensions\": null, \"direction\": null, "
          "\"parameters\": null, \"x\": null}");
    assert_true(!strcmp(out.name, "default") && out.normalize == 7 && out.dimensions == 77 && out.direction == 1);
    assert_true(request.n_ignored == 0 && !*request.ignored);
}

static void test_ignored_keys(void **state) {
    (void)state;
    parse("{\"user\": 1, \"inputs\": \"\", \"a,b\\n\xC3\xA4\": [], \"parameters\": {\"prompt_name\": \"\", \"z\": 1}}");
    assert_string_equal(request.ignored, "user, a?b???, parameters.z");
    assert_int_equal(request.n_ignored, 3);
    parse("{\"\": 1, \"inputs\": \"\"}");
    assert_string_equal(request.ignored, "\"\"");
    aoei_buffer text = {0};
    (void)aoei_buffer_printf(&text, "{\"inputs\": \"\"");
    for (int i = 0; i < 500; i++)
        (void)aoei_buffer_printf(&text, ", \"key%d\": %d", i, i);
    (void)aoei_buffer_printf(&text, ", \"%0300d\": 0}", 0);
    parse(text.data);
    aoei_buffer_free(&text);
    assert_int_equal(request.n_ignored, 501);
    const size_t n = strlen(request.ignored);
    assert_true(n < sizeof request.ignored && !strcmp(request.ignored + n - 5, ", ..."));
}

static void test_messages(void **state) {
    (void)state;
    static const struct {
        const char *text, *want, *key;
    } cases[] = {
        {"", "the body is empty; send a JSON object such as {\"inputs\": [\"a text\", \"another text\"]}", ""},
        {"[1]", "the body is a list, not an object; send a JSON object such as {\"inputs\": [", ""},
        {"\"a\"", "the body is a string, not an object; send", ""},
        {"{}", "`inputs` is missing; send a JSON object such as {\"inputs\": [\"a text\", \"another text\"]}",
         "inputs"},
        {"{\"inputs\": null}", "`inputs` is missing; ", "inputs"},
        {"{\"inputs\": 1}",
         "`inputs` must be a text, a list of texts, a list of token ids, or a list of such lists; it is a number",
         "inputs"},
        {"{\"inputs\": {}}", "`inputs` must be a text, a list", "inputs"},
        {"{\"inputs\": [true]}", "`inputs` must be a text, a list of texts", "inputs"},
        {"{\"inputs\": [\"a\", 1]}", "`inputs`[1] must be a text; it is a number", "inputs"},
        {"{\"inputs\": [\"a\", [1]]}", "`inputs`[1] must be a text; it is a list", "inputs"},
        {"{\"inputs\": [1, \"a\"]}", "`inputs`[1] must be a token id, an integer from 0 to 2147483647; it is a string",
         "inputs"},
        {"{\"inputs\": [1, [2]]}", "`inputs`[1] must be a token id, an integer from 0 to 2147483647; it is a list",
         "inputs"},
        {"{\"inputs\": [1, 2147483648]}", "`inputs`[1] must be a token id", "inputs"},
        {"{\"inputs\": [-1]}", "`inputs`[0] must be a token id", "inputs"},
        {"{\"inputs\": [1.0]}", "`inputs`[0] must be a token id", "inputs"},
        {"{\"inputs\": [[1], 2]}", "`inputs`[1] must be a list of token ids; it is a number", "inputs"},
        {"{\"inputs\": [[1], [2, null]]}",
         "`inputs`[1][1] must be a token id, an integer from 0 to 2147483647; it is null", "inputs"},
        {"{\"inputs\": [[\"a\"]]}", "`inputs`[0][0] must be a token id", "inputs"},
        {"{\"inputs\": \"\", \"name\": 1}", "`name` must be a string; it is a number", "name"},
        {"{\"inputs\": \"\", \"name\": \"\\u0000\"}", "`name` must be a string without NUL; it is a string with NUL",
         "name"},
        {"{\"inputs\": \"\", \"query\": []}", "`query` must be a string; it is an empty list", "query"},
        {"{\"inputs\": \"\", \"normalize\": 1}", "`normalize` must be true or false; it is a number", "normalize"},
        {"{\"inputs\": \"\", \"normalize\": \"true\"}", "`normalize` must be true or false; it is a string",
         "normalize"},
        {"{\"inputs\": \"\", \"dimensions\": -1}", "`dimensions` must be an integer from 0 to 2147483648; it is -1",
         "dimensions"},
        {"{\"inputs\": \"\", \"dimensions\": 1.5}", "`dimensions` must be an integer from 0 to 2147483648; it is 1.5",
         "dimensions"},
        {"{\"inputs\": \"\", \"dimensions\": 2147483649}",
         "`dimensions` must be an integer from 0 to 2147483648; it is 2147483649", "dimensions"},
        {"{\"inputs\": \"\", \"dimensions\": 1e300}",
         "`dimensions` must be an integer from 0 to 2147483648; it is 1e+300", "dimensions"},
        {"{\"inputs\": \"\", \"dimensions\": 99999999999999999999}",
         "the body has a number that is out of range: ", ""},
        {"{\"inputs\": \"\", \"dimensions\": \"256\"}",
         "`dimensions` must be an integer from 0 to 2147483648; it is a string", "dimensions"},
        {"{\"inputs\": \"\", \"threshold\": true}", "`threshold` must be a number; it is true", "threshold"},
        {"{\"inputs\": \"\", \"threshold\": 1e999}", "the body has a number that is out of range: ", ""},
        {"{\"inputs\": \"\", \"direction\": \"up\"}",
         "`direction` must be \"Left\", \"Right\" or \"Both\"; it is \"up\"", "direction"},
        {"{\"inputs\": \"\", \"direction\": \"Left|Right\"}",
         "`direction` must be \"Left\", \"Right\" or \"Both\"; it is", "direction"},
        {"{\"inputs\": \"\", \"direction\": \"\"}", "`direction` must be \"Left\", \"Right\" or \"Both\"; it is \"\"",
         "direction"},
        {"{\"inputs\": \"\", \"direction\": 0}", "`direction` must be a string; it is a number", "direction"},
        {"{\"inputs\": \"\", \"types\": [\"float\", \"int4\"]}",
         "`types`[1] must be \"float\" or \"int8\"; it is \"int4\"", "types"},
        {"{\"inputs\": \"\", \"types\": \"float\"}", "`types` must be a list of strings; it is a string", "types"},
        {"{\"inputs\": \"\", \"texts\": [1]}", "`texts` must be a text or a list of texts; it is a list of numbers",
         "texts"},
        {"{\"inputs\": \"\", \"documents\": \"a\"}", "`documents` must be a list of texts or of objects", "documents"},
        {"{\"inputs\": \"\", \"documents\": [{\"text\": 1}]}",
         "`documents`[0] must be a text or an object with the key", "documents"},
        {"{\"inputs\": \"\", \"documents\": [{}]}",
         "`documents`[0] must be a text or an object with the key \"text\"; it "
         "is an object",
         "documents"},
        {"{\"inputs\": \"\", \"ids\": [\"a\"]}", "`ids` must be a list of token ids, or a list of such lists; it is",
         "ids"},
        {"{\"inputs\": \"\", \"pairs\": [\"a\", \"b\", \"c\"]}", "`pairs` must be a text, two texts, or a list",
         "pairs"},
        {"{\"inputs\": \"\", \"pairs\": [[\"a\"], []]}",
         "`pairs`[1] must be a list of one or two texts; it is an empty list", "pairs"},
        {"{\"inputs\": \"\", \"pairs\": [[\"a\"], \"b\"]}",
         "`pairs`[1] must be a list of one or two texts; it is a string", "pairs"},
        {"{\"inputs\": \"\", \"pairs\": 3}", "`pairs` must be a text, two texts", "pairs"},
        {"{\"inputs\": \"\", \"strings\": [\"a\", null]}", "`strings`[1] must be a string without NUL; it is null",
         "strings"},
        {"{\"inputs\": \"\", \"options\": 1}", "`options` must be an object; it is a number", "options"},
        {"{\"inputs\": \"\", \"parameters\": []}", "`parameters` must be an object; it is an empty list", "parameters"},
        {"{\"inputs\": \"\", \"parameters\": {}}",
         "`parameters.prompt_name` is missing; add it, such as \"prompt_name\": \"a text\"", "parameters.prompt_name"},
        {"{\"inputs\": \"\", \"parameters\": {\"truncate\": 1}}",
         "`parameters.truncate` must be true or false; it is a number", "parameters.truncate"},
        {"{\"inputs\": \"a\", \"inputs\": \"b\"}", "the body has a key twice: line 1: duplicate object key", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (parse_bytes(cases[i].text, strlen(cases[i].text)) != AOE_EFORMAT ||
            strncmp(err.message, cases[i].want, strlen(cases[i].want)) != 0)
            fail_msg("%s: %d %s", cases[i].text, err.code, err.message);
        assert_string_equal(request.key, cases[i].key);
        assert_int_equal(request.is_malformed, !*cases[i].text);
        assert_null(request.root);
    }
}

static void test_malformed(void **state) {
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"{\"inputs\": \"a\"", "the body is not valid JSON: line 1: '}' expected near end of file (byte 14)"},
        {"inputs=a", "the body is not valid JSON: line 1: "},
        {"{\"inputs\": \"a\"} x", "the body is not valid JSON: line 1: end of file expected"},
        {"{\"inputs\": \"\xFF\"}", "the body is not valid UTF-8 (byte 12); encode the JSON text in UTF-8"},
        {"{\"inputs\": \"\\ud800\"}", "the body is not valid JSON: line 1: invalid Unicode"},
        {"\xEF\xBB\xBF{}", "the body is not valid JSON: "},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (parse_bytes(cases[i].text, strlen(cases[i].text)) != AOE_EFORMAT ||
            strncmp(err.message, cases[i].want, strlen(cases[i].want)) != 0)
            fail_msg("%s: %s", cases[i].text, err.message);
        assert_int_equal(request.is_malformed, 1);
    }
    assert_int_equal(parse_bytes("{\"inputs\": \"a\0\"}", 16), AOE_EFORMAT);
    assert_int_equal(parse_bytes("{\"inputs\": \"a\"}\0", 16), AOE_EFORMAT);
}

static void test_depth(void **state) {
    (void)state;
    char text[100002];
    const int in = snprintf(text, sizeof text, "{\"inputs\": \"[[[[\\\"[[{{{[[[[[[[[[[[[[[[[[[[[[[[[[[[[\", \"x\": ");
    memset(text + in, '[', 31);
    memset(text + in + 31, ']', 31);
    memcpy(text + in + 62, "}", 2);
    parse(text);
    memset(text + in, '[', 32);
    memset(text + in + 32, ']', 32);
    memcpy(text + in + 64, "}", 2);
    assert_int_equal(parse_bytes(text, strlen(text)), AOE_EFORMAT);
    assert_string_equal(err.message, "the body is nested 33 deep; the maximum is 32");
    memset(text, '[', sizeof text);
    assert_int_equal(parse_bytes(text, sizeof text), AOE_EFORMAT);
    assert_string_equal(err.message, "the body is nested 100002 deep; the maximum is 32");
}

static void test_many_texts(void **state) {
    (void)state;
    aoei_buffer text = {0};
    (void)aoei_buffer_printf(&text, "{\"inputs\": [");
    for (int i = 0; i < 2048; i++)
        (void)aoei_buffer_printf(&text, "%s\"text %d\"", i ? "," : "", i);
    (void)aoei_buffer_printf(&text, "]}");
    parse(text.data);
    assert_int_equal(out.inputs.n, 2048);
    for (int i = 0; i < 2048; i++) {
        char want[32];
        snprintf(want, sizeof want, "text %d", i);
        assert_true(is_text(out.inputs.text[i], want));
    }
    aoei_buffer_free(&text);
}

/* Texts and arrays do not belong to the document, and are still there when it is freed. */
static void test_document_is_freed(void **state) {
    (void)state;
    parse("{\"inputs\": [\"a\", \"\", \"b\\u0000c\"], \"name\": \"a name\", \"query\": \"q\\u0000\", \"ids\": [[1, 2], "
          "[3]], \"documents\": [{\"text\": \"d\"}, \"e\"], \"pairs\": [[\"f\", \"\"], [\"g\"]], \"strings\": [\"s\", "
          "\"\"], \"parameters\": {\"prompt_name\": \"p\"}}");
    aoei_request_free_document(&request);
    assert_null(request.root);
    assert_true(is_text(out.inputs.text[0], "a") && is_text(out.inputs.text[1], ""));
    assert_memory_equal(out.inputs.text[2].data, "b\0c", 4);
    assert_int_equal(out.inputs.text[2].len, 3);
    assert_string_equal(out.name, "a name");
    assert_int_equal(out.query.len, 2);
    assert_memory_equal(out.query.data, "q\0", 3);
    assert_int_equal(out.ids.ids[1][0], 3);
    assert_true(is_text(out.documents.text[0], "d") && is_text(out.documents.text[1], "e"));
    assert_true(is_text(out.pairs.first[0], "f") && is_text(out.pairs.second[0], "") &&
                is_text(out.pairs.first[1], "g"));
    assert_non_null(out.pairs.second[0].data);
    assert_null(out.pairs.second[1].data);
    assert_string_equal(out.strings.value[0], "s");
    assert_string_equal(out.strings.value[1], "");
    assert_string_equal(out.parameters.prompt_name, "p");
}

static int parse_all(void *arg) {
    static const char text[] = "{\"inputs\": [[1, 2], [3]], \"documents\": [\"a\"], \"pairs\": [[\"a\"]], \"strings\": "
                               "[\"a\"], \"types\": [\"int8\"], \"parameters\": {\"prompt_name\": \"q\"}, \"x\": 1}";
    const char *body_text = arg ? arg : text;
    aoei_request r;
    body into = {0};
    aoe_error e = {0};
    const int rc = aoei_request_parse(&r, aoe_text_of(body_text), fields, N_FIELDS, &into, &e);
    aoei_request_free(&r);
    assert_int_equal(rc, e.code);
    return arg && rc == AOE_EFORMAT ? 0 : rc;
}

static void test_out_of_memory(void **state) {
    (void)state;
    assert_true(test_alloc_failures(parse_all, NULL, 0) > 20);
    static char missing[] = "{}", choice[] = "{\"direction\": \"x\"}";
    test_alloc_failures(parse_all, missing, 0);
    test_alloc_failures(parse_all, choice, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inputs),        cmocka_unit_test(test_other_lists),
        cmocka_unit_test(test_pairs),         cmocka_unit_test(test_values),
        cmocka_unit_test(test_ignored_keys),  cmocka_unit_test(test_null_keeps_the_default),
        cmocka_unit_test(test_messages),      cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_depth),         cmocka_unit_test(test_many_texts),
        cmocka_unit_test(test_out_of_memory), cmocka_unit_test(test_document_is_freed),
    };
    return cmocka_run_group_tests(tests, NULL, tear_down);
}
