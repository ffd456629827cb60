/* SPDX-License-Identifier: MIT
 * tags: threads
 * Tests the models of a server: their names, and that a reload does not wait for the users of an old model, which stays
 * usable until its last user has released it. A function that waits for too long ends the test.
 */
#include "serve/models.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../support/support.h"
#include "../support/tiny_model.h"

enum { D = 16, LONGEST = 60 /* seconds */ };

static char *model_dir;

static int set_up(void **state) {
    const tiny_model shape = tiny_defaults();
    const int code = test_dir_set_up(state);
    model_dir = test_path(test_dir, "model");
    tiny_model_write(model_dir, &shape);
    return code;
}

static int tear_down(void **state) {
    free(model_dir);
    return test_dir_tear_down(state);
}

static aoei_models *create(aoei_metrics *metrics) {
    aoe_serve_options o;
    aoe_error err = {0};
    aoei_models *models;
    aoei_metrics_init(metrics, 0);
    aoe_serve_options_defaults(&o);
    o.models = (const char *const[]){model_dir};
    o.n_models = 1;
    o.threads = 2;
    if (aoei_models_create(&models, &o, metrics, &err))
        fail_msg("%s", err.message);
    return models;
}

static aoei_served *acquire(aoei_models *models) {
    int would_wait = 0;
    aoei_served *served = aoei_models_acquire(models, "model", 0, &would_wait, NULL);
    assert_non_null(served);
    return served;
}

static void check_embedding(const aoei_served *served) {
    float v[D];
    const aoe_text text = aoe_text_of("the cat");
    aoe_error err = {0};
    if (aoe_embed(served->one, &text, 1, v, NULL, &err))
        fail_msg("%s", err.message);
}

static void count_call(void *user) {
    ++*(int *)user;
}

static void test_reload(void **state) {
    (void)state;
    aoei_metrics metrics;
    aoei_models *models = create(&metrics);
    aoe_error err = {0};
    int swapped = 0;
    aoei_served *used[4]; /* each one is a model that a reload has replaced */
    for (size_t i = 0; i < 4; i++) {
        used[i] = acquire(models);
        aoei_models_retain(used[i]);
        assert_int_equal(aoei_models_reload(models, count_call, &swapped, &err), 0);
    }
    assert_int_equal(swapped, 4);
    aoei_served *now = acquire(models);
    for (size_t i = 0; i < 4; i++) {
        assert_true(used[i] != now && used[i]->serial != now->serial);
        check_embedding(used[i]);
    }
    check_embedding(now);
    aoei_models_release(models, now);
    for (size_t i = 4; i-- > 0;) { /* not in the order of the reloads */
        aoei_models_release(models, used[i]);
        check_embedding(used[i]);
        aoei_models_release(models, used[i]);
    }
    assert_int_equal(aoei_models_reload(models, NULL, NULL, &err), 0);
    aoei_models_destroy(models);
}

static void test_failed_reload(void **state) {
    (void)state;
    aoei_metrics metrics;
    aoei_models *models = create(&metrics);
    aoe_error err = {0};
    int swapped = 0;
    char *moved = test_path(test_dir, "moved");
    const uint64_t serial = aoei_models_serial(models, 0);
    assert_int_equal(rename(model_dir, moved), 0);
    assert_int_not_equal(aoei_models_reload(models, count_call, &swapped, &err), 0);
    assert_int_equal(rename(moved, model_dir), 0);
    assert_int_equal(swapped, 0);
    aoei_served *served = acquire(models);
    assert_int_equal(served->serial, serial);
    check_embedding(served);
    aoei_models_release(models, served);
    free(moved);
    aoei_models_destroy(models);
}

static void test_names(void **state) {
    (void)state;
    aoei_metrics metrics;
    aoei_models *models = create(&metrics);
    aoe_error err = {0};
    int would_wait = 0;
    assert_int_equal(aoei_models_count(models), 1);
    assert_true(aoei_models_has(models, "model") && aoei_models_has(models, NULL) && !aoei_models_has(models, "other"));
    assert_null(aoei_models_acquire(models, "other", 0, &would_wait, &err));
    assert_int_equal(err.code, AOE_ENOENT);
    aoei_served *served = aoei_models_acquire_dir(models, model_dir, &err);
    assert_non_null(served);
    assert_string_equal(served->name, "model");
    aoei_models_release(models, served);
    aoei_models_destroy(models);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reload),
        cmocka_unit_test(test_failed_reload),
        cmocka_unit_test(test_names),
    };
    alarm(LONGEST);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
