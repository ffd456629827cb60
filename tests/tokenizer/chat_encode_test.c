/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: tokenizer/chat_tokens tokenizer/encode
 * Tests texts that are rendered with a chat template and tokenized. The ends of the template are computed once per
 * prompt, so the ids must not depend on the texts that were encoded before, and several threads must be able to use one
 * template, whose variables they share.
 */
#include <stdio.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tokenizers.h"
#include "base/alloc.h"
#include "base/json.h"
#include "base/pool.h"
#include "tokenizer/chat_encode.h"
#include "tokenizer/encode.h"
#include "tokenizer/tokenizer_parts.h"

enum { THREADS = 4, TEXTS = 64, LENGTH = 12 };

/* The template iterates over a list among its variables, which all threads share. */
static const char source[] = "{% for i in [1, 2] %}{% for name in names %}{{ name }} {% endfor %}{% endfor %}"
                             "{% for m in messages %}{{ m.role }} {{ m.content }} {% endfor %}{{ names | first }} end";

static aoe_tokenizer *open_tokenizer(const char *template, const char *settings) {
    const test_tokenizer_spec spec = {.words = "a b c d e f system user query document end x y 0 1 2 3 4"};
    aoe_tokenizer *t = test_tokenizer(&spec);
    json_t *json = json_loads(settings, 0, NULL);
    aoe_error err = {0};
    aoei_kept_file *file = &t->file[AOEI_FILE_CHAT_TEMPLATE];
    file->data = aoei_strdup(template);
    assert_non_null(file->data);
    assert_non_null(json);
    file->size = strlen(template);
    if (aoei_tokenizer_use_chat(t, json, 0, "dir", &err))
        fail_msg("%s", err.message);
    json_decref(json);
    return t;
}

static aoe_tokenizer *open_shared(void) {
    return open_tokenizer(source, "{\"options\":{\"names\":[\"x\",\"y\"]}}");
}

/* Returns the tokens of a text with the options. */
static const char *tokens(const aoe_tokenizer *t, const char *text, const char *prompt, size_t max_length) {
    return test_tokens(
        t, text,
        &(aoe_encode_options){
            .struct_size = sizeof(aoe_encode_options), .chat_template = 1, .prompt = prompt, .max_length = max_length});
}

static void test_ends(void **state) {
    (void)state;
    aoe_tokenizer *t = open_shared();
    for (int i = 0; i < 2; i++) { /* the second pass uses the stored ends */
        assert_string_equal(tokens(t, "a b", NULL, 0), "x y x y user a b x end");
        assert_string_equal(tokens(t, "a b c d e f", NULL, 10), "x y x y user a b c x end");
        assert_string_equal(tokens(t, "a b c d e f", "f {text}", 12), "x y x y system f user a b c x end");
        assert_string_equal(tokens(t, "a b c d e f", "f e {text}", 12), "x y x y system f e user a b x end");
        assert_string_equal(tokens(t, "a b c d e f", "{text}", 1), "end");
    }
    aoe_tokenizer_close(t);
    t = open_tokenizer(source, "{\"options\":{\"names\":[\"x\"],\"restore_suffix\":false}}");
    assert_string_equal(tokens(t, "a b c d e f", NULL, 7), "x x user a b c d");
    aoe_tokenizer_close(t);
}

/* A new template replaces the ends of the previous one. */
static void test_other_template(void **state) {
    (void)state;
    static const char other[] = "{% for m in messages %}{{ m.content }}{% endfor %} y f";
    aoe_tokenizer *t = open_shared();
    aoe_error err = {0};
    aoei_kept_file *file = &t->file[AOEI_FILE_CHAT_TEMPLATE];
    assert_string_equal(tokens(t, "a b c d e f", NULL, 10), "x y x y user a b c x end");
    aoei_free(file->data);
    file->data = aoei_strdup(other);
    assert_non_null(file->data);
    file->size = strlen(other);
    json_t *settings = json_object();
    assert_int_equal(aoei_tokenizer_use_chat(t, settings, 0, "dir", &err), 0);
    json_decref(settings);
    assert_string_equal(tokens(t, "a b c d e f", NULL, 4), "a b y f");
    aoe_tokenizer_close(t);
}

/* Encodes text i with one of many prompts, as a text or as a pair, truncated or with the numbers of tokens of the
 * template. */
static void encode(const aoe_tokenizer *t, size_t i, aoe_ids *ids, size_t counts[2]) {
    static const char *const words[] = {"a", "b", "c", "d", "e", "f"};
    char prompt[64], text[128] = "";
    for (size_t k = 0; k < 3 + i % 7; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s ", words[(i + k) % 6]);
    snprintf(prompt, sizeof prompt, "%s %s {text}", words[i % 6], words[i / 6 % 5]);
    aoe_encode_options o = {.struct_size = sizeof o, .chat_template = 1, .max_length = i % 3 ? LENGTH : 0};
    o.prompt = i % 4 ? prompt : NULL;
    aoe_error err = {0};
    counts[0] = counts[1] = 0;
    const int rc = i % 5 == 0
                       ? aoei_tokenizer_encode_marked(t, aoe_text_of(text), &o, ids, &counts[0], &counts[1], &err)
                   : i % 5 < 3 ? aoe_tokenizer_encode(t, aoe_text_of(text), &o, ids, &err)
                               : aoe_tokenizer_encode_pair(t, aoe_text_of(text), aoe_text_of("e f"), &o, ids, &err);
    if (rc)
        ids->n = 0; /* the caller compares the ids with those of another tokenizer, which are not empty */
}

typedef struct job {
    aoe_tokenizer *shared;
    aoe_ids ids[TEXTS];
    size_t counts[TEXTS][2];
} job;

static void encode_task(void *arg, size_t task, size_t worker) {
    job *j = arg;
    (void)worker;
    encode(j->shared, task, &j->ids[task], j->counts[task]);
}

/* Threads that use one tokenizer obtain the ids of a tokenizer that was opened for one text. */
static void test_threads(void **state) {
    (void)state;
    static job j;
    aoei_pool *pool;
    assert_int_equal(aoei_pool_create(&pool, THREADS, NULL), 0);
    j.shared = open_shared();
    aoei_parallel_for(pool, TEXTS, encode_task, &j);
    for (size_t i = 0; i < TEXTS; i++) {
        aoe_tokenizer *t = open_shared();
        aoe_ids ids = {0};
        size_t counts[2];
        encode(t, i, &ids, counts);
        assert_true(ids.n > 0 && ids.n == j.ids[i].n);
        assert_memory_equal(ids.id, j.ids[i].id, ids.n * sizeof *ids.id);
        assert_memory_equal(counts, j.counts[i], sizeof counts);
        aoe_ids_free(&ids);
        aoe_ids_free(&j.ids[i]);
        aoe_tokenizer_close(t);
    }
    aoe_tokenizer_close(j.shared);
    aoei_pool_destroy(pool);
}

/* Every failed allocation is an error, and the next text has the right ids. */
static int encode_truncated(void *arg) {
    aoe_ids ids = {0};
    size_t before, after;
    aoe_error err = {0};
    aoe_encode_options o = {.struct_size = sizeof o, .chat_template = 1, .prompt = "f f {text}", .max_length = 13};
    const int rc = aoei_tokenizer_encode_marked(arg, aoe_text_of("a b c d e f"), &o, &ids, &before, &after, &err);
    assert_int_equal(rc, err.code);
    assert_int_equal(ids.n, rc ? 0 : 13);
    aoe_ids_free(&ids);
    return rc;
}

static void test_failed_allocations(void **state) {
    (void)state;
    aoe_tokenizer *t = open_shared();
    for (char c = 'a'; c < 'j'; c++) /* more prompts than stored ends, so that new ends replace those of another
                                        prompt */
        assert_non_null(strstr(tokens(t, "a b", (char[]){c, ' ', '{', 't', 'e', 'x', 't', '}', 0}, 9), " user x end"));
    assert_true(test_alloc_failures(encode_truncated, t, 500) > 5);
    assert_string_equal(tokens(t, "a b c d e f", "f f {text}", 13), "x y x y system f f user a b c x end");
    aoe_tokenizer_close(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_ends), cmocka_unit_test(test_other_template),
                                       cmocka_unit_test(test_threads), cmocka_unit_test(test_failed_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
