/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests /predict with tiny cross-encoders of one and two outputs, with and without names of the outputs, for single
 * texts and pairs. The scores must be those of aoe_score_sequences, bit by bit, in descending order. Other tests cover
 * POST /, whose meaning depends on the model, the limits, and errors.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/serve_client.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "../support/tiny_reranker.h"

enum { INPUTS = 5, CLASSES = 2 };

static char *dirs[4], *names[4];
static const char *const model[4] = {"classifier", "plain", "ranker", "embedding"};

/* NULL: the first text alone */
static const char *const first[INPUTS] = {"w1 w2", "w3", "w3", "w5 w6 w7", ""};
static const char *const second[INPUTS] = {"w4", NULL, "", "w8 w9", NULL};
#define INPUT_LIST "[[\"w1 w2\",\"w4\"],[\"w3\"],[\"w3\",\"\"],[\"w5 w6 w7\",\"w8 w9\"],[\"\"]]"

static int set_up(void **state) {
    const int code = test_dir_set_up(state);
    const tiny_model shape = tiny_defaults();
    for (size_t i = 0; i < 4; i++) {
        dirs[i] = test_path(test_dir, model[i]);
        names[i] = malloc(strlen(dirs[i]) + strlen(model[i]) + 2);
        sprintf(names[i], "%s=%s", model[i], dirs[i]);
    }
    tiny_classifier_write(dirs[0], "{\"0\": \"bad\", \"1\": \"go\\\"od\"}");
    tiny_classifier_write(dirs[1], NULL);
    tiny_reranker_write(dirs[2]);
    tiny_model_write(dirs[3], &shape);
    return code;
}

static int tear_down(void **state) {
    for (size_t i = 0; i < 4; i++) {
        free(dirs[i]);
        free(names[i]);
    }
    return test_dir_tear_down(state);
}

/* Checks the prediction of one input: the outputs in descending order, with their names. */
static void check_prediction(const json_t *list, const float *expected, size_t classes, const char *const *labels) {
    float last = 0;
    size_t seen = 0;
    assert_int_equal(json_array_size(list), classes);
    for (size_t i = 0; i < classes; i++) {
        const json_t *item = json_array_get(list, i);
        const float score = (float)json_number_value(json_object_get(item, "score"));
        const char *label = json_string_value(json_object_get(item, "label"));
        assert_non_null(label);
        for (size_t k = 0; k < classes; k++)
            if (!strcmp(label, labels[k])) {
                assert_memory_equal(&score, &expected[k], sizeof score);
                seen |= (size_t)1 << k;
            }
        assert_true(!i || score <= last);
        last = score;
    }
    assert_int_equal(seen, ((size_t)1 << classes) - 1);
}

/* Sends all inputs in one request, and each alone. settings: further keys of the body */
static void check_model(const aoe_server *server, size_t m, const char *settings, int activation,
                        const char *const *labels) {
    const size_t classes = m == 2 ? 1 : CLASSES;
    float expected[INPUTS * CLASSES];
    char body[512];
    tiny_reranker_scores(dirs[m], first, second, INPUTS, activation, expected);
    snprintf(body, sizeof body, "{\"model\":\"%s\",\"inputs\":" INPUT_LIST "%s}", model[m], settings);
    json_t *answer = serve_call(server, "POST", "/predict", body, 200);
    assert_int_equal(json_array_size(answer), INPUTS);
    for (size_t i = 0; i < INPUTS; i++)
        check_prediction(json_array_get(answer, i), expected + i * classes, classes, labels);
    json_decref(answer);
    for (size_t i = 0; i < INPUTS; i++) {
        if (second[i])
            snprintf(body, sizeof body, "{\"model\":\"%s\",\"inputs\":[\"%s\",\"%s\"]%s}", model[m], first[i],
                     second[i], settings);
        else
            snprintf(body, sizeof body, "{\"model\":\"%s\",\"inputs\":\"%s\"%s}", model[m], first[i], settings);
        answer = serve_call(server, "POST", "/predict", body, 200);
        check_prediction(answer, expected + i * classes, classes, labels);
        json_decref(answer);
    }
}

static void test_scores(void **state) {
    (void)state;
    aoe_server *server = serve_start((const char *const *)names, 4, NULL);
    static const char *const named[] = {"bad", "go\"od"}, *const plain[] = {"LABEL_0", "LABEL_1"};
    check_model(server, 0, "", AOE_SCORE_SOFTMAX, named);
    check_model(server, 0, ",\"raw_scores\":true", AOE_SCORE_LOGIT, named);
    check_model(server, 1, ",\"raw_scores\":false,\"truncate\":null", AOE_SCORE_SOFTMAX, plain);
    check_model(server, 2, ",\"truncation_direction\":\"right\"", AOE_SCORE_SIGMOID, plain);
    check_model(server, 2, ",\"raw_scores\":true,\"truncate\":false", AOE_SCORE_LOGIT, plain);
    json_t *info = serve_call(server, "GET", "/info?model=plain", "", 200);
    const json_t *classifier = json_object_get(json_object_get(info, "model_type"), "classifier");
    assert_string_equal(json_string_value(json_object_get(json_object_get(classifier, "id2label"), "1")), "LABEL_1");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(classifier, "label2id"), "LABEL_1")), 1);
    json_decref(info);
    serve_stop(server);
}

/* POST / computes what the default model or the named model can. */
static void test_root(void **state) {
    (void)state;
    aoe_server *server = serve_start((const char *const *)names, 4, NULL);
    json_t *answer = serve_call(server, "POST", "/", "{\"inputs\":[\"w1\",\"w2\"]}", 200);
    assert_int_equal(json_array_size(answer), CLASSES);
    assert_non_null(json_object_get(json_array_get(answer, 0), "label"));
    json_decref(answer);
    answer = serve_call(server, "POST", "/", "{\"query\":\"w1\",\"texts\":[\"w2\",\"w3\"],\"model\":\"ranker\"}", 200);
    assert_int_equal(json_array_size(answer), 2);
    assert_non_null(json_object_get(json_array_get(answer, 0), "index"));
    json_decref(answer);
    answer = serve_call(server, "POST", "/", "{\"inputs\":\"the cat\",\"model\":\"embedding\"}", 200);
    assert_int_equal(json_array_size(json_array_get(answer, 0)), 16);
    json_decref(answer);
    answer = serve_call(server, "POST", "/",
                        "{\"inputs\":{\"source_sentence\":\"the cat\",\"sentences\":[\"dog\",\"the cat\"]},"
                        "\"model\":\"embedding\"}",
                        200);
    assert_int_equal(json_array_size(answer), 2);
    assert_true(json_number_value(json_array_get(answer, 1)) > 0.999);
    json_decref(answer);
    serve_fail(server, "/", "{\"inputs\":{\"sentences\":[\"dog\"]},\"model\":\"embedding\"}", 422, "error",
               "`inputs.source_sentence` is missing");
    serve_fail(server, "/", "{\"inputs\":[1,2]}", 422, "error", "`inputs`[0] must be");
    serve_fail(server, "/", "{\"inputs\":\"a\",\"model\":3}", 422, "error", "`model` must be");
    serve_fail(server, "/", "{\"inputs\":\"a\",\"model\":\"other\"}", 404, "error", "no model has the name");
    serve_stop(server);
    const char *const embedding = names[3];
    server = serve_start(&embedding, 1, NULL);
    answer = serve_call(server, "POST", "/", "{\"inputs\":[\"the cat\",\"dog\"]}", 200);
    assert_int_equal(json_array_size(answer), 2);
    json_decref(answer);
    serve_fail(server, "/", "{\"query\":\"a\",\"texts\":[\"a\"]}", 422, "error", "`inputs` is missing");
    serve_stop(server);
}

static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *body;
        int status;
        const char *message;
    } cases[] = {
        {"{\"inputs\":[]}", 400, "`inputs` cannot be empty"},
        {"{}", 422, "`inputs` is missing"},
        {"{\"inputs\":7}", 422, "`inputs` must be"},
        {"{\"inputs\":[\"a\",\"b\",\"c\"]}", 422, "`inputs`"},
        {"{\"inputs\":[[\"a\"],\"b\"]}", 422, "`inputs`[1]"},
        {"{\"inputs\":[[\"a\"],[]]}", 422, "`inputs`[1]"},
        {"{\"inputs\":[[\"a\",2]]}", 422, "`inputs`[0]"},
        {"{\"inputs\":\"a\",\"raw_scores\":\"yes\"}", 422, "`raw_scores` must be"},
        {"{\"inputs\":\"a\",\"truncation_direction\":\"up\"}", 422, "`truncation_direction`"},
        {"{\"inputs\":\"a\",\"model\":\"embedding\"}", 424, "is an embedding model"},
        {"{\"inputs\":\"a\",\"model\":\"none\"}", 404, "no model has the name"},
        {"{\"inputs\":[[\"a\"],[\"a\"],[\"a\"],[\"a\"]]}", 422, "batch size 4 > maximum allowed batch size 3"},
        {"{\"inputs\":\"w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w w "
         "w w w w w w w w w w w w w w w w w w\",\"truncate\":false}",
         422, "must have less than 64 tokens. Given: 67"},
    };
    aoe_serve_options o;
    aoe_serve_options_defaults(&o);
    o.max_texts = 3;
    aoe_server *server = serve_start((const char *const *)names, 4, &o);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        serve_fail(server, "/predict", cases[i].body, cases[i].status, "error", cases[i].message);
    serve_stop(server);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_scores),
        cmocka_unit_test(test_root),
        cmocka_unit_test(test_errors),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
