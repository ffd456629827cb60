/* SPDX-License-Identifier: MIT
 * Tests that the mining of hard negatives handles a failed allocation. The test mines repeatedly, and in each call a
 * different allocation fails. The call must report that memory ran out and must not leak a block. The embedder must
 * remain usable.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_data.h"
#include "model/open.h"

static char *dir, *pairs, *lists, *corpus;
static aoe_context *ctx;
static aoe_model *model;
static aoe_embedder *embedder;

static int set_up(void **state) {
    (void)state;
    tiny_model shape = tiny_defaults();
    shape.hidden = 8;
    shape.layers = 1;
    dir = tiny_dir_create();
    char *path = test_path(dir, "model");
    tiny_model_write(path, &shape);
    pairs = tiny_table(dir, "pairs.tsv", 12, 1);
    lists = test_write_text(dir, "lists.jsonl",
                            "{\"query\": [\"the cat\", \"a dog\"], \"positive\": [\"old\", \"a dog\"]}\n");
    corpus = test_write_text(dir, "corpus.txt", "the bird\n\na dog runs\n");
    ctx = tiny_context(2);
    const int failed = aoei_model_open_for(&model, ctx, path, NULL, &(aoei_open_mode){.packed = 1}, NULL) ||
                       aoe_embedder_create(&embedder, model, NULL, NULL);
    free(path);
    return failed;
}

static int tear_down(void **state) {
    (void)state;
    aoe_embedder_destroy(embedder);
    aoe_model_close(model);
    aoe_context_destroy(ctx);
    free(pairs);
    free(lists);
    free(corpus);
    test_dir_remove(dir);
    return 0;
}

static int mine(void *arg) {
    const char *const files[] = {pairs, lists}, *const texts[] = {corpus};
    const int with_corpus = *(const int *)arg;
    aoe_mine_options o;
    aoe_mine_result result = {.struct_size = sizeof result};
    aoe_error err = {0};
    aoe_mine_options_defaults(&o);
    o.files = files;
    o.n_files = 2;
    o.corpus = texts;
    o.n_corpus = with_corpus ? 1 : 0;
    o.from_queries = with_corpus;
    const int code = aoe_mine(embedder, &o, &result, &err);
    assert_int_equal(err.code, code);
    if (code)
        assert_true(strstr(err.message, "memory") && result.rows == 0);
    else
        assert_true(result.rows == 5 && result.triplets + result.without == 5);
    return code;
}

static void test_memory(void **state) {
    (void)state;
    assert_int_equal(mine(&(int){0}), 0); /* the first call builds the trie of the tokenizer, which is kept */
    for (int with_corpus = 0; with_corpus < 2; with_corpus++)
        assert_true(test_alloc_failures(mine, &with_corpus, 0) > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_memory)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
