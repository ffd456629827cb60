/* SPDX-License-Identifier: MIT
 * Tests that functions for recurrent attention networks (RAN) handle a failed allocation. The tested functions create a
 * RAN model, compute embeddings, and pretrain the model for one step. The test calls each function repeatedly, and in
 * each call a different allocation fails. The function must report one error and must not leak a block.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_convert.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/dir.h"

static aoe_context *ctx;
static char *dir, *bert, *ran, *out, *texts;

static int make(const char *to, aoe_error *err) {
    aoe_init_options o;
    aoe_init_options_defaults(&o);
    o.shape = (aoe_shape){.struct_size = sizeof(aoe_shape),
                          .hidden = 16,
                          .layers = 2,
                          .heads = 2,
                          .positions = 32,
                          .architecture = "ran",
                          .head_size = 6,
                          .window = 4};
    o.tokenizer_from = bert;
    return aoe_init(ctx, to, &o, NULL, err);
}

static int make_out(aoe_error *err) {
    return make(out, err);
}

static int embed(aoe_error *err) {
    aoe_model *m = NULL;
    aoe_embedder *e = NULL;
    float v[2][16];
    const aoe_text text[2] = {aoe_text_of("the old cat sleeps"), aoe_text_of("a bird")};
    int rc = aoe_model_open(&m, ctx, ran, NULL, err);
    if (!rc)
        rc = aoe_embedder_create(&e, m, NULL, err);
    if (!rc)
        rc = aoe_embed(e, text, 2, v[0], NULL, err);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    return rc;
}

static int pretrain(aoe_error *err) {
    aoe_pretrain_options o;
    aoe_pretrain_options_defaults(&o);
    o.args.model = ran;
    o.args.output = out;
    o.args.max_steps = 1;
    o.texts = (const char *const[]){texts};
    o.n_texts = 1;
    o.batch_size = 4;
    o.held_out = 0;
    return aoe_pretrain(ctx, &o, err);
}

static int set_up(void **state) {
    (void)state;
    ctx = tiny_context(1);
    dir = tiny_dir_create();
    bert = test_path(dir, "bert");
    ran = test_path(dir, "ran");
    out = test_path(dir, "out");
    texts = test_write_text(dir, "texts.txt", "the old cat sleeps\na bird eats fast\nthe dog runs\na new house\n");
    const tiny_model source = tiny_defaults();
    tiny_model_write(bert, &source);
    return make(ran, NULL);
}

static int tear_down(void **state) {
    (void)state;
    aoe_context_destroy(ctx);
    test_dir_remove(dir);
    free(bert);
    free(ran);
    free(out);
    free(texts);
    return 0;
}

/* Calls `run` repeatedly, and in each call a different allocation fails. Each of the first `dense` allocations fails in
 * one call. Of the later allocations, only every seventh fails. */
static void check(int (*run)(aoe_error *err), uint64_t dense) {
    size_t ignored_failures = 0;
    for (uint64_t n = 1;; n += n < dense ? 1 : 7) {
        aoe_error err = {0};
        assert_int_equal(aoei_remove_tree(out, NULL), 0);
        const int64_t live = aoei_alloc_live();
        aoei_alloc_fail_at(n);
        const int code = run(&err);
        const uint64_t count = aoei_alloc_count();
        aoei_alloc_fail_at(0);
        if (aoei_alloc_live() != live)
            fail_msg("allocation %llu failed: %lld blocks were leaked", (unsigned long long)n,
                     (long long)(aoei_alloc_live() - live));
        if (n > count) {
            assert_int_equal(code, 0);
            break;
        }
        ignored_failures += code == 0;
        if (code && (code != AOE_ENOMEM || !strstr(err.message, "memory") || strchr(err.message, '\n')))
            fail_msg("allocation %llu failed: code %d: %s", (unsigned long long)n, code, err.message);
    }
    /* a run may ignore a failed allocation only while it removes temporary files, because the next run removes them
     * again */
    assert_true(ignored_failures <= 3);
}

static void test_all(void **state) {
    (void)state;
    check(make_out, 100);
    check(embed, 400);
    check(pretrain, 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
