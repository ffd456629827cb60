/* SPDX-License-Identifier: MIT
 * Tests the OpenAPI document of a small table of routes: its operations, schemas of every kind of field, parameters,
 * statuses of errors, and references. If the variable AOE_OPENAPI_OUT is set, the document is written to this file, so
 * that a validator can check it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/json.h"
#include "serve/openapi.h"

static const aoei_field parameters[] = {
    {.name = "truncate", .kind = AOEI_FIELD_BOOL, .required = 1},
    {.name = "note", .kind = AOEI_FIELD_ANY, .help = "Any \"value\"."},
};
static const aoei_field fields[] = {
    {.name = "inputs", .kind = AOEI_FIELD_INPUTS, .required = 1, .help = "The texts."},
    {.name = "name", .kind = AOEI_FIELD_STRING},
    {.name = "query", .kind = AOEI_FIELD_TEXT, .required = 1},
    {.name = "normalize", .kind = AOEI_FIELD_BOOL},
    {.name = "dimensions", .kind = AOEI_FIELD_COUNT, .min = 1},
    {.name = "threshold", .kind = AOEI_FIELD_NUMBER},
    {.name = "direction", .kind = AOEI_FIELD_CHOICE, .choices = "Left|Right"},
    {.name = "types", .kind = AOEI_FIELD_CHOICES, .choices = "float|int8"},
    {.name = "texts", .kind = AOEI_FIELD_TEXTS},
    {.name = "input", .kind = AOEI_FIELD_TEXTS, .may_be_empty = 1},
    {.name = "documents", .kind = AOEI_FIELD_DOCUMENTS},
    {.name = "ids", .kind = AOEI_FIELD_IDS},
    {.name = "pairs", .kind = AOEI_FIELD_PAIRS},
    {.name = "strings", .kind = AOEI_FIELD_STRINGS},
    {.name = "options", .kind = AOEI_FIELD_OBJECT},
    {.name = "parameters", .kind = AOEI_FIELD_OBJECT, .fields = parameters, .n_fields = 2},
};
enum { N_FIELDS = sizeof fields / sizeof *fields };
static const aoei_field other_fields[] = {{.name = "documents", .kind = AOEI_FIELD_DOCUMENTS, .required = 1}};
static const aoei_field query_fields[] = {
    {.name = "model", .kind = AOEI_FIELD_STRING, .required = 1, .help = "The name of a model."},
    {.name = "n", .kind = AOEI_FIELD_COUNT},
};

static const aoei_route routes[] = {
    {.method = "POST",
     .path = "/embed",
     .fields = fields,
     .n_fields = N_FIELDS,
     .summary = "Computes embeddings.",
     .answer = "{\"type\":\"array\",\"items\":{\"type\":\"array\",\"items\":{\"type\":\"number\"}}}"},
    {.method = "GET", .path = "/", .type = "text/html", .flags = AOEI_ROUTE_OPEN},
    {.method = "POST", .path = "/rerank", .fields = fields, .n_fields = 1, .answer = "{\"type\":\"array\"}"},
    {.method = "POST", .path = "/", .fields = fields, .n_fields = 1},
    {.method = "POST",
     .path = "/rerank",
     .fields = other_fields,
     .n_fields = 1,
     .answer = "{\"type\":\"object\"}",
     .family = AOEI_COHERE},
    {.method = "POST", .path = "/v1/embeddings", .fields = fields, .n_fields = 1, .family = AOEI_OPENAI},
    {.method = "GET", .path = "/v1/models", .fields = query_fields, .n_fields = 2, .family = AOEI_OPENAI},
    {.method = "DELETE", .path = "/index/{name}/{id}", .flags = AOEI_ROUTE_WRITES},
};
enum { N_ROUTES = sizeof routes / sizeof *routes };

static json_t *document;

static int set_up(void **state) {
    (void)state;
    aoei_buffer b = {0};
    aoe_error err = {0};
    aoei_openapi(&b, routes, N_ROUTES);
    if (b.failed || aoei_json_parse(&document, b.data, b.len, "openapi.json", &err))
        fail_msg("%s: %s", err.message, b.data);
    const char *path = getenv("AOE_OPENAPI_OUT");
    if (path) {
        FILE *f = fopen(path, "w");
        assert_non_null(f);
        fwrite(b.data, 1, b.len, f);
        fclose(f);
    }
    aoei_buffer_free(&b);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    json_decref(document);
    return 0;
}

/* Returns the value at a path of keys and indices, separated by spaces. */
static const json_t *at(const char *path) {
    const json_t *v = document;
    char copy[200], *rest = copy;
    snprintf(copy, sizeof copy, "%s", path);
    for (const char *key; v && (key = strtok_r(rest, " ", &rest));)
        v = json_is_array(v) ? json_array_get(v, (size_t)strtoul(key, NULL, 10)) : json_object_get(v, key);
    return v;
}

static void assert_at(const char *path, const char *want) {
    char *text = at(path) ? aoei_json_text(at(path), JSON_COMPACT) : aoei_strdup("nothing");
    if (strcmp(text, want) != 0)
        fail_msg("%s is %s instead of %s", path, text, want);
    aoei_free(text);
}

static void test_operations(void **state) {
    (void)state;
    assert_at("openapi", "\"3.0.3\"");
    assert_at("security", "[{},{\"key\":[]}]");
    assert_int_equal(json_object_size(at("paths")), 6);
    assert_at("paths /embed post operationId", "\"post_embed\"");
    assert_at("paths /embed post summary", "\"Computes embeddings.\"");
    assert_at("paths /embed post security", "nothing");
    assert_at("paths / get security", "[]");
    assert_at("paths / get operationId", "\"get_\"");
    assert_at("paths / post operationId", "\"post_\"");
    assert_at("paths / get requestBody", "nothing");
    assert_at("paths / get responses 200 content", "{\"text/html\":{\"schema\":{\"type\":\"string\"}}}");
    assert_at("paths /embed post responses 200 content application/json schema items items type", "\"number\"");
    assert_at("paths /embed post requestBody required", "true");
}

/* the alternative null of a value of several types */
#define NOTHING "{\"type\":\"string\",\"enum\":[null],\"nullable\":true}"

static void test_fields(void **state) {
    (void)state;
    char path[200];
    static const struct {
        const char *key, *want;
    } cases[] = {
        {"name", "{\"type\":\"string\",\"nullable\":true}"},
        {"query", "{\"type\":\"string\"}"},
        {"normalize", "{\"type\":\"boolean\",\"nullable\":true}"},
        {"dimensions", "{\"type\":\"integer\",\"minimum\":1,\"maximum\":2147483648,\"nullable\":true}"},
        {"threshold", "{\"type\":\"number\",\"nullable\":true}"},
        {"direction", "{\"type\":\"string\",\"enum\":[\"Left\",\"Right\",null],\"nullable\":true}"},
        {"types",
         "{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"float\",\"int8\"]},\"nullable\":true}"},
        {"input",
         "{\"anyOf\":[" NOTHING ",{\"type\":\"string\"},{\"type\":\"array\",\"items\":{\"type\":\"string\"}}]}"},
        {"texts",
         "{\"anyOf\":[" NOTHING ",{\"type\":\"string\"},{\"type\":\"array\",\"minItems\":1,\"items\":{\"type\":"
         "\"string\"}}]}"},
        {"inputs anyOf 3 items minItems", "1"},
        {"documents minItems", "1"},
        {"strings", "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"nullable\":true}"},
        {"options", "{\"type\":\"object\",\"nullable\":true}"},
        {"parameters",
         "{\"type\":\"object\",\"required\":[\"truncate\"],\"properties\":{\"truncate\":{\"type\":\"boolean\"},"
         "\"note\":{\"description\":\"Any \\\"value\\\".\"}},\"nullable\":true}"},
        {"inputs description", "\"The texts.\""},
        {"inputs anyOf 2 items maximum", "2147483647"},
        {"inputs anyOf 3 items items type", "\"integer\""},
        {"documents items anyOf 1 required", "[\"text\"]"},
        {"ids anyOf 1 items type", "\"integer\""},
        {"pairs anyOf 2 maxItems", "2"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(path, sizeof path, "paths /embed post requestBody content application/json schema properties %s",
                 cases[i].key);
        assert_at(path, cases[i].want);
    }
    assert_at("paths /embed post requestBody content application/json schema required", "[\"inputs\",\"query\"]");
    assert_int_equal(json_object_size(at("paths /embed post requestBody content application/json schema properties")),
                     N_FIELDS);
}

static void test_alternatives(void **state) {
    (void)state;
    assert_at("paths /rerank post requestBody content application/json schema anyOf 0 required", "[\"inputs\"]");
    assert_at("paths /rerank post requestBody content application/json schema anyOf 1 required", "[\"documents\"]");
    assert_at("paths /rerank post responses 200 content application/json schema",
              "{\"anyOf\":[{\"type\":\"array\"},{\"type\":\"object\"}]}");
    assert_int_equal(json_object_size(at("paths /rerank")), 1);
}

static void test_parameters(void **state) {
    (void)state;
    assert_at("paths /embed post parameters", "[]");
    assert_at("paths /index/{name}/{id} delete parameters",
              "[{\"in\":\"path\",\"required\":true,\"schema\":{\"type\":\"string\"},\"name\":\"name\"},"
              "{\"in\":\"path\",\"required\":true,\"schema\":{\"type\":\"string\"},\"name\":\"id\"}]");
    assert_at("paths /v1/models get parameters",
              "[{\"in\":\"query\",\"name\":\"model\",\"required\":true,\"schema\":{\"type\":\"string\","
              "\"description\":\"The name of a model.\"}},{\"in\":\"query\",\"name\":\"n\",\"schema\":{\"type\":"
              "\"integer\",\"minimum\":0,\"maximum\":2147483648}}]");
}

/* Checks that every reference below v exists. Returns the number of references. */
static size_t check_references(const json_t *v) {
    size_t n = 0, i;
    const char *key;
    json_t *item;
    if (json_is_object(v)) {
        json_object_foreach((json_t *)v, key, item) {
            if (!strcmp(key, "$ref")) {
                char path[200];
                snprintf(path, sizeof path, "%s", json_string_value(item) + 2);
                for (char *s = path; (s = strchr(s, '/'));)
                    *s = ' ';
                assert_true(!strncmp(json_string_value(item), "#/", 2) && at(path));
                n++;
            }
            n += check_references(item);
        }
    }
    json_array_foreach((json_t *)v, i, item) {
        n += check_references(item);
    }
    return n;
}

static void test_errors(void **state) {
    (void)state;
    assert_true(check_references(document) > 20);
    static const char ref[] = "{\"$ref\":\"#/components/responses/%s\"}";
    char want[100];
    snprintf(want, sizeof want, ref, "TextEmbeddingsInferenceError");
    static const char *const statuses[] = {"400", "401", "404", "413", "422", "424", "429", "500", "503"};
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++) {
        char path[60];
        snprintf(path, sizeof path, "paths /embed post responses %s", statuses[i]);
        assert_at(path, want);
    }
    assert_int_equal(json_object_size(at("paths /embed post responses")), 10);
    snprintf(want, sizeof want, ref, "OpenAIError");
    assert_at("paths /v1/embeddings post responses 404", want);
    assert_at("paths /v1/embeddings post responses 422", "nothing");
    assert_at("paths / get responses 401", "nothing");
    assert_at("paths /rerank post responses 400 content application/json schema",
              "{\"anyOf\":[{\"$ref\":\"#/components/schemas/TextEmbeddingsInferenceError\"},{\"$ref\":"
              "\"#/components/schemas/CohereError\"}]}");
    assert_non_null(at("paths /index/{name}/{id} delete responses 403"));
    assert_non_null(at("paths /index/{name}/{id} delete responses 404"));
    assert_non_null(at("paths /index/{name}/{id} delete responses 409"));
    assert_at("paths /search post responses 409", "nothing");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations), cmocka_unit_test(test_fields), cmocka_unit_test(test_alternatives),
        cmocka_unit_test(test_parameters), cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
