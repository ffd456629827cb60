/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: serve/search_routes serve/indexes serve/hit_json serve/documents serve/models
 * Tests search over HTTP, with a tiny model and small indexes. The passages must be those of aoe_index_search, with
 * equal scores, also while documents are added and removed and while the models are opened anew. Other tests cover
 * changes by requests and by other programs, damaged indexes, the models of indexes, and errors.
 */
#include <aoe_index.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../support/serve_client.h"
#include "../support/support.h"
#include "../support/tiny_model.h"

enum { DOCUMENTS = 40, CLIENTS = 4, ROUNDS = 25, PATH = 4096 };

static char *model_dir, *named;
static aoe_embedder *embedder;
static char *texts[DOCUMENTS];

static int set_up(void **state) {
    const tiny_model shape = tiny_defaults();
    const int code = test_dir_set_up(state);
    aoe_error err = {0};
    model_dir = test_path(test_dir, "model");
    tiny_model_write(model_dir, &shape);
    named = malloc(strlen(model_dir) + 8);
    snprintf(named, strlen(model_dir) + 8, "tiny=%s", model_dir);
    for (uint32_t i = 0; i < DOCUMENTS; i++) {
        char text[400];
        snprintf(text, sizeof text, "number%u %s", (unsigned)i, tiny_text(i));
        texts[i] = strdup(text);
    }
    if (aoe_embedder_open(&embedder, model_dir, &err))
        fail_msg("%s", err.message);
    return code;
}

static int tear_down(void **state) {
    aoe_embedder_destroy(embedder);
    for (size_t i = 0; i < DOCUMENTS; i++)
        free(texts[i]);
    free(named);
    free(model_dir);
    return test_dir_tear_down(state);
}

/* Adds the documents first to end - 1 to an index, which is created if necessary. model: the name that it records. */
static void add_documents(const char *dir, const char *model, size_t first, size_t end) {
    aoe_index *index;
    aoe_index_options o;
    aoe_error err = {0};
    aoe_index_options_defaults(&o);
    o.model = model;
    int code = aoe_index_open(&index, dir, AOE_INDEX_WRITE, embedder, &o, &err);
    for (size_t i = first; i < end && !code; i++) {
        char name[32], year[16];
        snprintf(name, sizeof name, "%s/d%02zu.md", i % 2 ? "odd" : "even", i);
        snprintf(year, sizeof year, "%zu", 2000 + i);
        const aoe_index_field field[] = {{"year", aoe_text_of(year)},
                                         {"tag", aoe_text_of("x")},
                                         {"code", aoe_text_of("007")},
                                         {"tag", aoe_text_of("a \"b\"")},
                                         {"price", aoe_text_of("1.50")}};
        const aoe_index_document d = {.struct_size = sizeof d,
                                      .name = name,
                                      .text = aoe_text_of(texts[i]),
                                      .title = i % 3 ? NULL : "Title",
                                      .field = field,
                                      .n_fields = 5};
        code = aoe_index_add(index, &d, 1, &err);
    }
    if (code || aoe_index_commit(index, &err))
        fail_msg("%s", err.message);
    aoe_index_close(index);
}

/* Starts a server with the tiny model and two indexes; the second may be NULL. */
static aoe_server *start(const char *first, const char *second, int writable) {
    char one[PATH], two[PATH];
    const char *const models[] = {named}, *const indexes[] = {one, two};
    aoe_serve_options o;
    snprintf(one, sizeof one, "one=%s", first);
    snprintf(two, sizeof two, "two=%s", second ? second : "");
    aoe_serve_options_defaults(&o);
    o.indexes = indexes;
    o.n_indexes = second ? 2 : 1;
    o.writable = writable;
    return serve_start(models, 1, &o);
}

static const char *string_of(const json_t *o, const char *key) {
    return json_string_value(json_object_get(o, key));
}

/* Returns the number of documents of an index, or -1 if it cannot be used. */
static long long count(const aoe_server *server, size_t i) {
    json_t *answer = serve_call(server, "GET", "/indexes", "", 200);
    const json_t *n = json_object_get(json_array_get(json_object_get(answer, "indexes"), i), "documents");
    const long long documents = json_is_integer(n) ? (long long)json_integer_value(n) : -1;
    json_decref(answer);
    return documents;
}

/* Returns the name of the best hit of a search by words in an index; "": none. The next call overwrites the result. */
static const char *best(const aoe_server *server, const char *index, const char *query) {
    static char name[200];
    char body[400];
    snprintf(body, sizeof body, "{\"query\":\"%s\",\"index\":\"%s\",\"mode\":\"lexical\",\"k\":1}", query, index);
    json_t *answer = serve_call(server, "POST", "/search", body, 200);
    const json_t *hit = json_array_get(json_object_get(answer, "hits"), 0);
    snprintf(name, sizeof name, "%s", hit ? string_of(hit, "name") : "");
    json_decref(answer);
    return name;
}

/* ------------------------------------------------------------------ search */

/* Compares a number, which is null if it is not finite. */
static void check_number(const json_t *value, double expected) {
    if (isfinite(expected)) {
        assert_true(json_is_number(value));
        assert_true(fabs(json_number_value(value) - expected) <= 0);
    } else {
        assert_true(json_is_null(value));
    }
}

static void check_hit(const json_t *h, const aoe_index_hit *hit, int explain) {
    assert_string_equal(string_of(h, "id"), hit->id);
    assert_string_equal(string_of(h, "name"), hit->name);
    assert_string_equal(string_of(h, "heading"), hit->heading);
    assert_int_equal(json_string_length(json_object_get(h, "text")), hit->text.len);
    assert_memory_equal(string_of(h, "text"), hit->text.data, hit->text.len);
    assert_true(json_is_null(json_object_get(h, "path")));
    assert_int_equal(json_integer_value(json_object_get(h, "line")), hit->line);
    assert_int_equal(json_integer_value(json_object_get(h, "last_line")), hit->last_line);
    check_number(json_object_get(h, "score"), hit->score);
    if (explain) {
        check_number(json_object_get(h, "cosine"), hit->cosine);
        check_number(json_object_get(h, "bm25"), hit->bm25);
        assert_int_equal(json_integer_value(json_object_get(h, "dense_rank")), hit->dense_rank);
        assert_int_equal(json_integer_value(json_object_get(h, "lexical_rank")), hit->lexical_rank);
    } else {
        assert_null(json_object_get(h, "cosine"));
    }
    const json_t *fields = json_object_get(h, "fields"), *tags = json_object_get(fields, "tag");
    assert_int_equal(json_object_size(fields), 4);
    assert_int_equal(json_integer_value(json_object_get(fields, "year")), atoi(hit->field[0].value.data));
    assert_string_equal(string_of(fields, "code"), "007");
    assert_true(json_is_real(json_object_get(fields, "price")));
    assert_string_equal(json_string_value(json_array_get(tags, 1)), "a \"b\"");
}

/* Searches with the keys of a body, and with the same options through the library. */
static void check_search(const aoe_server *server, aoe_index *index, const char *query, const char *keys,
                         const aoe_index_search_options *o, int explain) {
    char body[1000];
    aoe_index_hits hits = {.struct_size = sizeof hits};
    aoe_error err = {0};
    if (aoe_index_search(index, aoe_text_of(query), o, &hits, &err))
        fail_msg("%s", err.message);
    snprintf(body, sizeof body, "{\"query\":\"%s\"%s}", query, keys);
    json_t *answer = serve_call(server, "POST", "/search", body, 200), *list = json_object_get(answer, "hits");
    assert_string_equal(string_of(answer, "query"), query);
    assert_true(hits.n > 0);
    assert_int_equal(json_array_size(list), hits.n);
    for (size_t i = 0; i < hits.n; i++)
        check_hit(json_array_get(list, i), &hits.hit[i], explain);
    json_decref(answer);
    aoe_index_hits_free(&hits);
}

static void test_search(void **state) {
    (void)state;
    char *dir = test_path(test_dir, "search");
    aoe_index *index;
    aoe_error err = {0};
    aoe_index_search_options o;
    add_documents(dir, model_dir, 0, DOCUMENTS);
    aoe_server *server = start(dir, NULL, 0);
    if (aoe_index_open(&index, dir, AOE_INDEX_READ, embedder, NULL, &err))
        fail_msg("%s", err.message);
    aoe_index_search_options_defaults(&o);
    check_search(server, index, "number7 the cat", "", &o, 0);
    check_search(server, index, "number7 the cat", ",\"index\":\"one\",\"explain\":true", &o, 1);
    o.k = 3;
    o.mode = AOE_INDEX_DENSE;
    check_search(server, index, texts[5], ",\"k\":3,\"mode\":\"dense\",\"explain\":true", &o, 1);
    o.min_score = 0.2;
    check_search(server, index, texts[5], ",\"k\":3,\"mode\":\"dense\",\"min_score\":0.2", &o, 0);
    o.fast = 1;
    check_search(server, index, texts[5], ",\"k\":3,\"mode\":\"dense\",\"min_score\":0.2,\"fast\":true", &o, 0);
    aoe_index_search_options_defaults(&o);
    o.k = 1000;
    o.where = "year >= 2010 and tag = 'x'";
    check_search(server, index, "the", ",\"k\":1000,\"where\":\"year >= 2010 and tag = 'x'\"", &o, 0);
    const char *const path[] = {"even/", "!even/d04.md"};
    o.where = NULL;
    o.path = path;
    o.n_paths = 2;
    o.mode = AOE_INDEX_LEXICAL;
    check_search(server, index, "the",
                 ",\"k\":1000,\"where\":\"\",\"mode\":\"LEXICAL\",\"path\":[\"even/\",\"!even/d04.md\"]", &o, 0);
    json_t *answer = serve_call(server, "POST", "/search", "{\"query\":\"number3\",\"mode\":\"lexical\"}", 200);
    const json_t *hit = json_array_get(json_object_get(answer, "hits"), 0);
    char *marks = json_dumps(json_object_get(hit, "highlights"), JSON_COMPACT);
    assert_string_equal(marks, "[[0,7]]");
    free(marks);
    json_decref(answer);
    aoe_index_close(index);
    serve_stop(server);
    free(dir);
}

static void test_highlights(void **state) {
    (void)state;
    char *dir = test_path(test_dir, "marks");
    aoe_server *server = start(dir, NULL, 1);
    json_decref(serve_call(server, "POST", "/index/one",
                           "[{\"id\":\"a\",\"text\":\"\\ud83d\\ude00 Caf\\u00e9 and <b> READ_files reading\"}]", 200));
    json_t *answer = serve_call(server, "POST", "/search", "{\"query\":\"cafe reads\",\"mode\":\"lexical\"}", 200);
    char *marks =
        json_dumps(json_object_get(json_array_get(json_object_get(answer, "hits"), 0), "highlights"), JSON_COMPACT);
    assert_string_equal(marks, "[[2,6],[15,19],[26,33]]"); /* characters, not bytes or UTF-16 units */
    free(marks);
    json_decref(answer);
    serve_stop(server);
    free(dir);
}

static void test_errors(void **state) {
    (void)state;
    char *dir = test_path(test_dir, "errors");
    static const struct {
        const char *body;
        int status;
        const char *message;
    } cases[] = {
        {"{}", 422, "query"},
        {"{\"query\":1}", 422, "query"},
        {"{\"query\":\" \"}", 422, "the query is empty"},
        {"{\"query\":\"a\",\"k\":0}", 422, "`k` is 0"},
        {"{\"query\":\"a\",\"k\":1001}", 422, "from 1 to 1000"},
        {"{\"query\":\"a\",\"k\":-1}", 422, "k"},
        {"{\"query\":\"a\",\"mode\":\"fuzzy\"}", 422, "mode"},
        {"{\"query\":\"a\",\"where\":\"year >\"}", 422, "a number or a text in quotes is missing"},
        {"{\"query\":\"a\",\"where\":\"nokey = 1\"}", 422, "`where`: no document has the key \"nokey\""},
        {"{\"query\":\"a\",\"where\":\"path like '/%'\"}", 422, "absolute paths"},
        {"{\"query\":\"a\",\"where\":\"year = 1 or not `path` exists\"}", 422, "absolute paths"},
        {"{\"query\":\"a\",\"path\":[\"/etc\"]}", 422, "absolute paths"},
        {"{\"query\":\"a\",\"path\":[\"!/etc\"]}", 422, "absolute paths"},
        {"{\"query\":\"a\",\"min_score\":2}", 422, "`min_score` is 2"},
        {"{\"query\":\"a\",\"path\":[\"\"]}", 422, "pattern 1 of `path` is empty"},
        {"{\"query\":\"a\",\"index\":\"three\"}", 404, "no index has the name 'three'; indexes: one"},
        {"{\"query\":\"a\",\"index\":\"../one\"}", 404, "no index has the name"},
        {"{\"query\":\"a\"", 400, ""},
    };
    add_documents(dir, model_dir, 0, 3);
    aoe_server *server = start(dir, NULL, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        serve_fail(server, "/search", cases[i].body, cases[i].status, "error", cases[i].message);
    /* texts and other keys may contain the word */
    json_decref(serve_call(server, "POST", "/search",
                           "{\"query\":\"a\",\"where\":\"name != 'path' and not tag = \\\"path\\\"\"}", 200));
    serve_fail(server, "/index/one", "[]", 403, "error", "only reads indexes");
    json_decref(serve_call(server, "DELETE", "/index/one/odd/d01.md", "", 403));
    json_decref(serve_call(server, "GET", "/index/one", "", 405));
    json_t *answer = serve_call(server, "POST", "/search", "{\"query\":\"number1\",\"mode\":\"lexical\"}", 200);
    assert_int_equal(json_array_size(json_object_get(answer, "hits")), 1);
    json_decref(answer);
    serve_stop(server);
    aoe_serve_options o;
    const char *const models[] = {named};
    aoe_serve_options_defaults(&o);
    server = serve_start(models, 1, &o);
    serve_fail(server, "/search", "{\"query\":\"a\"}", 404, "error", "the server has no index");
    answer = serve_call(server, "GET", "/indexes", "", 200);
    assert_int_equal(json_array_size(json_object_get(answer, "indexes")), 0);
    json_decref(answer);
    serve_stop(server);
    free(dir);
}

/* ------------------------------------------------------------------- write */

static void test_writing(void **state) {
    (void)state;
    char *dir = test_path(test_dir, "written"), *files = test_path(test_dir, "files"), *folder;
    static const char body[] = "{\"documents\":[{\"id\":\"a/b\",\"text\":\"alpha one\",\"year\":2021,\"ok\":true,"
                               "\"list\":[1,\"x\"],\"none\":null,\"name\":\"n\",\"fields\":{\"more\":1.25}},"
                               "{\"id\":7,\"text\":\"beta two\",\"title\":\"T\"}]}";
    aoe_server *server = start(dir, NULL, 1); /* creates the index */
    json_t *answer = serve_call(server, "POST", "/index/one", body, 200);
    assert_int_equal(json_integer_value(json_object_get(answer, "added")), 2);
    assert_int_equal(json_integer_value(json_object_get(answer, "documents")), 2);
    json_decref(answer);
    answer = serve_call(server, "POST", "/search", "{\"query\":\"alpha\",\"where\":\"year = 2021 and more > 1\"}", 200);
    const json_t *hit = json_array_get(json_object_get(answer, "hits"), 0);
    assert_string_equal(string_of(hit, "name"), "a/b");
    char *fields = json_dumps(json_object_get(hit, "fields"), JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(fields, "{\"list\":[1,\"x\"],\"meta.name\":\"n\",\"more\":1.25,\"ok\":\"true\",\"year\":2021}");
    free(fields);
    json_decref(answer);
    answer = serve_call(server, "POST", "/index/one", " [{\"id\":\"7\",\"text\":\"gamma three\"}]", 200);
    assert_int_equal(json_integer_value(json_object_get(answer, "replaced")), 1);
    json_decref(answer);
    assert_string_equal(best(server, "one", "beta"), "");
    assert_string_equal(best(server, "one", "gamma"), "7");
    answer = serve_call(server, "DELETE", "/index/one/a/b", "", 200);
    assert_int_equal(json_integer_value(json_object_get(answer, "removed")), 1);
    json_decref(answer);
    json_decref(serve_call(server, "DELETE", "/index/one/a/b", "", 404));
    json_decref(serve_call(server, "DELETE", "/index/one/a/", "", 422));
    json_decref(serve_call(server, "DELETE", "/index/two/a", "", 404));
    assert_int_equal(count(server, 0), 1);
    static const struct {
        const char *body;
        int status;
        const char *message;
    } cases[] = {
        {"[]", 400, "cannot be empty"},
        {"{\"documents\":{}}", 422, "must be a list"},
        {"{}", 422, "documents"},
        {"[1]", 422, "document 1 must be an object"},
        {"[{\"id\":\"x\",\"text\":\"y\"},{\"text\":\"y\"}]", 422, "document 2: `id` is missing"},
        {"[{\"id\":\"x\"}]", 422, "`text` is missing"},
        {"[{\"id\":\"x\",\"text\":\" \"}]", 422, "`text` is empty"},
        {"[{\"id\":\"/x\",\"text\":\"y\"}]", 422, "begin or end with '/'"},
        {"[{\"id\":\"x\\u0000y\",\"text\":\"y\"}]", 422, "control characters"},
        {"[{\"id\":\"\",\"text\":\"y\"}]", 422, "1 to 1000 bytes"},
        {"[{\"id\":true,\"text\":\"y\"}]", 422, "`id` must be"},
        {"[{\"id\":\"x\",\"text\":\"y\",\"title\":2}]", 422, "`title` must be"},
        {"[{\"id\":\"x\",\"text\":\"y\",\"a\":{}}]", 422, "`a` must be a text"},
        {"[{\"id\":\"x\",\"text\":\"y\",\"a\":[[]]}]", 422, "`a` must be a text"},
        {"[{\"id\":\"x\",\"text\":\"y\",\"fields\":3}]", 422, "`fields` must be an object"},
        {"[{\"id\":\"x\",\"text\":\"y\",\"\":3}]", 422, "must not be empty"},
        {"[{\"id\":\"x\",\"text\":\"y\"},{\"id\":\"x\",\"text\":\"z\"}]", 422, "another document"},
        {"[{\"id\":\"x\",\"text\":\"y\"}", 400, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        serve_fail(server, "/index/one", cases[i].body, cases[i].status, "error", cases[i].message);
    assert_int_equal(count(server, 0), 1);
    serve_stop(server);
    folder = test_path(test_dir, "sources");
    assert_int_equal(mkdir(folder, 0700), 0);
    free(test_write_text(folder, "a.md", "# A\n\nalpha beta\n"));
    aoe_index *index;
    aoe_error err = {0};
    const aoe_index_source source = {.struct_size = sizeof source, .path = folder};
    if (aoe_index_open(&index, files, AOE_INDEX_WRITE, embedder, NULL, &err) ||
        aoe_index_update(index, &source, 1, NULL, NULL, &err))
        fail_msg("%s", err.message);
    aoe_index_close(index);
    server = start(files, dir, 1);
    serve_fail(server, "/index/one", "[{\"id\":\"x\",\"text\":\"y\"}]", 409, "error", "made of files or tables");
    json_decref(serve_call(server, "DELETE", "/index/one/a.md", "", 409));
    assert_string_equal(best(server, "one", "alpha"), "a.md");
    assert_string_equal(best(server, "two", "gamma"), "7");
    serve_stop(server);
    free(folder);
    free(files);
    free(dir);
}

/* Another process changes an index, or creates it anew. */
static void test_changes(void **state) {
    (void)state;
    char *dir = test_path(test_dir, "changed"), *other = test_path(test_dir, "other");
    add_documents(dir, model_dir, 0, 3);
    aoe_server *server = start(dir, NULL, 1);
    assert_string_equal(best(server, "one", "number9"), "");
    add_documents(dir, model_dir, 9, 10);
    assert_string_equal(best(server, "one", "number9"), "odd/d09.md");
    assert_int_equal(count(server, 0), 4);
    add_documents(other, model_dir, 20, 22);
    char *moved = test_path(test_dir, "moved");
    assert_int_equal(rename(dir, moved), 0);
    serve_fail(server, "/search", "{\"query\":\"number9\"}", 503, "error", "cannot be opened, because it or its model");
    assert_int_equal(count(server, 0), -1);
    assert_int_equal(rename(other, dir), 0);
    assert_string_equal(best(server, "one", "number9"), "");
    assert_string_equal(best(server, "one", "number21"), "odd/d21.md");
    assert_int_equal(count(server, 0), 2);
    aoe_index *writer;
    aoe_error err = {0};
    if (aoe_index_open(&writer, dir, AOE_INDEX_WRITE, embedder, NULL, &err))
        fail_msg("%s", err.message);
    serve_fail(server, "/index/one", "[{\"id\":\"x\",\"text\":\"y\"}]", 503, "error", "another process writes");
    aoe_index_close(writer);
    json_decref(serve_call(server, "POST", "/index/one", "[{\"id\":\"x\",\"text\":\"y\"}]", 200));
    serve_stop(server);
    free(moved);
    free(other);
    free(dir);
}

/* ----------------------------------------------------------------- threads */

typedef struct client {
    const aoe_server *server;
    const _Atomic int *ends;
    size_t number;
    int failures, searches;
} client;

static char expected[DOCUMENTS][32]; /* name of the best document by meaning for each text */

/* Sets `expected` with an index that contains only the documents. */
static void expect(const char *dir) {
    aoe_index *index;
    aoe_index_search_options o;
    aoe_error err = {0};
    aoe_index_search_options_defaults(&o);
    o.mode = AOE_INDEX_DENSE;
    if (aoe_index_open(&index, dir, AOE_INDEX_READ, embedder, NULL, &err))
        fail_msg("%s", err.message);
    for (size_t i = 0; i < DOCUMENTS; i++) {
        aoe_index_hits hits = {.struct_size = sizeof hits};
        if (aoe_index_search(index, aoe_text_of(texts[i]), &o, &hits, &err))
            fail_msg("%s", err.message);
        snprintf(expected[i], sizeof expected[i], "%s", hits.hit[0].name);
        aoe_index_hits_free(&hits);
    }
    aoe_index_close(index);
}

/* Searches documents that are not changed, by meaning and by words, until the writer ends. */
static void *run_client(void *arg) {
    client *c = arg;
    for (size_t i = c->number; !atomic_load(c->ends) || c->searches < ROUNDS; i++) {
        char body[1000], word[40];
        const size_t n = i % DOCUMENTS;
        const int by_words = i % 2;
        snprintf(word, sizeof word, "number%zu", n);
        snprintf(body, sizeof body, "{\"query\":\"%s\",\"k\":2,\"mode\":\"%s\",\"where\":\"exists year\"}",
                 by_words ? word : texts[n], by_words ? "lexical" : "dense");
        snprintf(word, sizeof word, "%s/d%02zu.md", n % 2 ? "odd" : "even", n);
        json_t *answer = serve_call(c->server, "POST", "/search", body, 200);
        const json_t *hit = json_array_get(json_object_get(answer, "hits"), 0);
        c->failures += !hit || strcmp(string_of(hit, "name"), by_words ? word : expected[n]) != 0;
        c->failures += by_words && hit && strcmp(string_of(hit, "text"), texts[n]) != 0;
        c->searches++;
        json_decref(answer);
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    char *dir = test_path(test_dir, "threads");
    aoe_error err = {0};
    client clients[CLIENTS];
    pthread_t threads[CLIENTS];
    _Atomic int ends = 0;
    add_documents(dir, model_dir, 0, DOCUMENTS);
    expect(dir);
    aoe_server *server = start(dir, NULL, 1);
    for (size_t i = 0; i < CLIENTS; i++) {
        clients[i] = (client){server, &ends, i * 7, 0, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, run_client, &clients[i]), 0);
    }
    for (int i = 0; i < ROUNDS; i++) {
        char body[200], path[64];
        snprintf(body, sizeof body,
                 "[{\"id\":\"new%d\",\"text\":\"fresh%d the cat\"},{\"id\":\"same\",\"text\":\"v%d\"}]", i, i, i);
        json_decref(serve_call(server, "POST", "/index/one", body, 200));
        snprintf(body, sizeof body, "fresh%d", i);
        snprintf(path, sizeof path, "new%d", i);
        assert_string_equal(best(server, "one", body), path); /* the writer sees its change */
        if (i % 2) {
            snprintf(path, sizeof path, "/index/one/new%d", i);
            json_decref(serve_call(server, "DELETE", path, "", 200));
        }
        if (i % 8 == 5 && aoe_server_reload(server, &err))
            fail_msg("%s", err.message);
    }
    atomic_store(&ends, 1);
    for (size_t i = 0; i < CLIENTS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(clients[i].failures, 0);
        assert_true(clients[i].searches >= ROUNDS);
    }
    assert_int_equal(count(server, 0), DOCUMENTS + 1 + (ROUNDS + 1) / 2);
    serve_stop(server);
    free(dir);
}

/* ------------------------------------------------------ damage and models */

static void test_damaged(void **state) {
    (void)state;
    char *dir = test_path(test_dir, "damaged"), *well = test_path(test_dir, "well"),
         *copy = test_path(test_dir, "copy");
    char *database = test_path(dir, "index.db"), *saved = test_path(copy, "index.db");
    size_t size;
    add_documents(dir, model_dir, 0, 5);
    add_documents(well, model_dir, 5, 8);
    assert_int_equal(mkdir(copy, 0700), 0);
    test_copy_dir(dir, copy);
    free(test_write_text(dir, "index.db", "this is not a database, but it was one before, and it is long enough\n"));
    aoe_server *server = start(dir, well, 1);
    for (int i = 0; i < 2; i++) {
        int status;
        char *answer = serve_request(server, "POST", "/search", "{\"query\":\"number1\"}", &status);
        assert_int_equal(status, 503);
        assert_non_null(strstr(answer, "the index 'one' is damaged; the log of the server has the details"));
        assert_null(strstr(answer, test_dir));
        free(answer);
    }
    serve_fail(server, "/index/one", "[{\"id\":\"x\",\"text\":\"y\"}]", 503, "error", "damaged");
    assert_int_equal(count(server, 0), -1);
    assert_int_equal(count(server, 1), 3);
    assert_string_equal(best(server, "two", "number6"), "even/d06.md");
    char *data = test_read(saved, &size);
    free(test_write(dir, "index.db", data, size));
    assert_string_equal(best(server, "one", "number1"), "odd/d01.md"); /* it is tried again */
    json_decref(serve_call(server, "POST", "/search", "{\"query\":\"number1\"}", 200));
    free(data);
    serve_stop(server);
    aoe_serve_options o;
    aoe_error err = {0};
    char text[8192];
    const char *const models[] = {named}, *const indexes[] = {dir};
    aoe_serve_options_defaults(&o);
    o.models = models;
    o.n_models = 1;
    o.indexes = indexes;
    o.n_indexes = 1;
    assert_int_equal(aoe_server_check(&o, text, sizeof text, &err), 0);
    assert_non_null(strstr(text, "{\"name\":\"damaged\""));
    free(test_write_text(dir, "index.db", "this is not a database, but it was one before, and it is long enough\n"));
    assert_int_equal(aoe_server_check(&o, text, sizeof text, &err), AOE_EFORMAT);
    free(saved);
    free(database);
    free(copy);
    free(well);
    free(dir);
}

static void test_models(void **state) {
    (void)state;
    char *folder = test_path(test_dir, "project"), *dir = test_path(test_dir, "project/index");
    char *own = test_path(test_dir, "project/model"), *second = test_path(test_dir, "second"), *moved;
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(mkdir(own, 0700), 0);
    test_copy_dir(model_dir, own);
    add_documents(dir, own, 0, 4);     /* records a model that the server does not list */
    add_documents(second, NULL, 4, 8); /* records none: the first model of the server */
    aoe_server *server = start(dir, second, 0);
    json_t *answer = serve_call(server, "GET", "/indexes", "", 200);
    const json_t *first = json_array_get(json_object_get(answer, "indexes"), 0);
    assert_string_equal(string_of(first, "model"), "model");
    assert_null(strstr(string_of(first, "model"), "/"));
    json_decref(answer);
    for (int i = 0; i < 2; i++) {
        aoe_error err = {0};
        json_decref(serve_call(server, "POST", "/search", "{\"query\":\"number1\",\"mode\":\"dense\"}", 200));
        json_decref(
            serve_call(server, "POST", "/search", "{\"query\":\"a\",\"mode\":\"dense\",\"index\":\"two\"}", 200));
        assert_int_equal(aoe_server_reload(server, &err), 0);
    }
    answer = serve_call(server, "GET", "/v1/models", "", 200);
    assert_int_equal(json_array_size(json_object_get(answer, "data")), 1);
    json_decref(answer);
    serve_fail(server, "/embed", "{\"inputs\":\"a\",\"model\":\"model\"}", 404, "error", "models: tiny");
    serve_stop(server);
    moved = test_path(test_dir, "project/moved"); /* a copy, whose recorded model is in the folder of the index */
    assert_int_equal(mkdir(moved, 0700), 0);
    test_copy_dir(dir, moved);
    server = start(moved, NULL, 0);
    serve_fail(server, "/search", "{\"query\":\"number1\"}", 503, "error", "cannot be used with the model");
    assert_string_equal(best(server, "one", "number1"), "odd/d01.md"); /* words need no model */
    serve_stop(server);
    const char *const models[] = {named, own}, *const indexes[] = {moved};
    aoe_serve_options o;
    aoe_serve_options_defaults(&o);
    o.indexes = indexes;
    o.n_indexes = 1;
    server = serve_start(models, 2, &o); /* the operator trusts it */
    json_decref(serve_call(server, "POST", "/search", "{\"query\":\"number1\"}", 200));
    serve_stop(server);
    free(moved);
    free(second);
    free(own);
    free(dir);
    free(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_search),  cmocka_unit_test(test_highlights), cmocka_unit_test(test_errors),
        cmocka_unit_test(test_writing), cmocka_unit_test(test_changes),    cmocka_unit_test(test_threads),
        cmocka_unit_test(test_damaged), cmocka_unit_test(test_models),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
