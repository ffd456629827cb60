/* SPDX-License-Identifier: MIT
 * Copies structs of programs that were compiled with other headers: structs whose inner structs or last fields are
 * smaller or larger than those of the library.
 */
#include <stddef.h>
#include <string.h>

#include "../support/support.h"
#include "aoe_data.h"
#include "aoe_eval.h"
#include "aoe_train.h"
#include "base/options.h"
#include "base/struct_layout.h"

enum { LESS = 8, GUARD = 64, PATTERN = 0xA5 };

/* The structs inside a struct are in ascending order and do not overlap. */
static void layouts(void **state) {
    (void)state;
    static const aoei_struct_layout *const all[] = {
#define AOEI_X(type) &aoei_layout_##type,
        AOEI_EXTENSIBLE_STRUCTS(AOEI_X)
#undef AOEI_X
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        size_t end = sizeof(size_t);
        for (size_t k = 0; all[i]->nested[k].layout; k++) {
            if (all[i]->nested[k].offset < end)
                fail_msg("%s: expected inner structs in ascending order", all[i]->name);
            end = all[i]->nested[k].offset + all[i]->nested[k].layout->size;
        }
        assert_true(end <= all[i]->size);
    }
}

typedef struct old_options {
    size_t size;
    unsigned char bytes[sizeof(aoe_train_options) + GUARD];
} old_options;

/* Sets *old to *o as an older program has it: aoe_objective_options, which is inside, and aoe_train_options have LESS
 * bytes less. */
static void make_old(old_options *old, const aoe_train_options *o) {
    const size_t begin = offsetof(aoe_train_options, objective), end = begin + sizeof o->objective;
    const size_t inner = sizeof o->objective - LESS;
    memset(old->bytes, PATTERN, sizeof old->bytes);
    memcpy(old->bytes, o, end - LESS);
    memcpy(old->bytes + begin, &inner, sizeof inner);
    memcpy(old->bytes + end - LESS, (const char *)o + end, sizeof *o - end - LESS);
    old->size = sizeof *o - 2 * LESS;
    memcpy(old->bytes, &old->size, sizeof old->size);
}

static void reads_and_writes(void **state) {
    (void)state;
    old_options old;
    aoe_train_options o, full;
    aoe_error err;
    aoe_train_options_defaults(&o);
    o.args.lr = 0.25;
    o.objective.tau_ibn = 0.5;
    o.objective.w_similarities = 7; /* the last field of the inner struct */
    o.batch_size = 17;
    o.lora.r = 3;
    o.dev_name = "name";
    o.dev_metric = "metric"; /* the last field */
    make_old(&old, &o);
    aoe_train_options_defaults(&full);
    assert_int_equal(aoei_options_read(&full, old.bytes, &aoei_layout_aoe_train_options, "test", &err), 0);
    assert_true(full.args.lr == 0.25 && full.objective.tau_ibn == 0.5 && full.batch_size == 17 && full.lora.r == 3);
    assert_string_equal(full.dev_name, "name");
    assert_true(full.objective.w_similarities == 1);
    assert_null(full.dev_metric);
    assert_int_equal(full.struct_size, sizeof full);
    assert_int_equal(full.objective.struct_size, sizeof full.objective);
    full.args.lr = 0.125;
    full.batch_size = 19;
    full.dev_metric = "other";
    aoei_struct_write(old.bytes, &full, &aoei_layout_aoe_train_options);
    for (size_t i = old.size; i < sizeof old.bytes; i++)
        assert_int_equal(old.bytes[i], PATTERN);
    aoe_train_options again;
    aoe_train_options_defaults(&again);
    aoei_struct_read(&again, old.bytes, &aoei_layout_aoe_train_options);
    assert_true(again.args.lr == 0.125 && again.batch_size == 19 && again.objective.tau_ibn == 0.5);
    assert_null(again.dev_metric);
}

/* A method's defaults are written to the fields that the program has. */
static void method_defaults(void **state) {
    (void)state;
    old_options old;
    aoe_train_options o, full;
    aoe_train_options_defaults(&o);
    make_old(&old, &o);
    aoe_train_options *program = (void *)old.bytes;
    aoe_train_method_defaults(program, AOE_METHOD_CONSERT);
    aoe_train_options_defaults(&full);
    aoei_struct_read(&full, old.bytes, &aoei_layout_aoe_train_options);
    aoe_train_method_defaults(&o, AOE_METHOD_CONSERT);
    assert_int_equal(full.method, AOE_METHOD_CONSERT);
    assert_memory_equal(full.views, o.views, sizeof o.views);
    assert_int_equal(aoe_train_batch_texts(program, 2), aoe_train_batch_texts(&o, 2));
    for (size_t i = old.size; i < sizeof old.bytes; i++)
        assert_int_equal(old.bytes[i], PATTERN);
}

static void expect_error(const void *o, const aoei_struct_layout *layout, const char *fragment) {
    aoe_error err = {0};
    assert_int_equal(aoei_struct_check(o, layout, "test", &err), AOE_EARG);
    if (!strstr(err.message, fragment))
        fail_msg("expected a message with '%s', found: %s", fragment, err.message);
}

static void invalid_sizes(void **state) {
    (void)state;
    aoe_sts_options o;
    aoe_sts_options_defaults(&o);
    assert_int_equal(aoei_struct_check(&o, &aoei_layout_aoe_sts_options, "test", NULL), 0);
    o.table.struct_size = 0;
    expect_error(&o, &aoei_layout_aoe_sts_options,
                 "struct_size of aoe_table_options is not set; call aoe_table_options_defaults first");
    o.table.struct_size = sizeof o;
    expect_error(&o, &aoei_layout_aoe_sts_options, "struct_size of aoe_table_options is not set");
    aoe_sts_options_defaults(&o);
    o.table.struct_size += LESS; /* a newer program, whose inner struct is larger */
    o.struct_size += LESS;
    expect_error(&o, &aoei_layout_aoe_sts_options, "aoe_table_options has");
    aoe_sts_options_defaults(&o);
    o.struct_size += LESS;
    expect_error(&o, &aoei_layout_aoe_sts_options, "headers of this library version");
    o.struct_size = sizeof o - 1;
    expect_error(&o, &aoei_layout_aoe_sts_options, "struct_size of aoe_sts_options is not set");
    aoe_mine_result r = {0};
    expect_error(&r, &aoei_layout_aoe_mine_result,
                 "struct_size of aoe_mine_result is not set; set it to sizeof(aoe_mine_result)");
}

/* The elements of an array are as large as in the program. */
static void arrays(void **state) {
    (void)state;
    unsigned char bytes[2 * sizeof(aoe_train_data)];
    const size_t size = sizeof(aoe_train_data) - LESS;
    aoe_train_data d, defaults;
    void *copy;
    aoe_error err;
    aoe_train_data_defaults(&defaults, NULL);
    for (size_t i = 0; i < 2; i++) {
        aoe_train_data_defaults(&d, i ? "second" : "first");
        d.weight = 3 + (double)i;
        d.ibn_threshold = 5; /* the last field */
        d.struct_size = size;
        memcpy(bytes + i * size, &d, size);
    }
    assert_int_equal(aoei_options_array(&copy, bytes, 2, &defaults, &aoei_layout_aoe_train_data, "test", &err), 0);
    const aoe_train_data *files = copy;
    assert_string_equal(files[0].path, "first");
    assert_string_equal(files[1].path, "second");
    assert_true(files[0].weight == 3 && files[1].weight == 4);
    assert_true(files[0].ibn_threshold == defaults.ibn_threshold && files[1].ibn_threshold == defaults.ibn_threshold);
    aoei_options_free(&copy);
    assert_int_equal(aoei_options_array(&copy, NULL, 2, &defaults, &aoei_layout_aoe_train_data, "test", &err),
                     AOE_EARG);
    assert_string_equal(err.message, "test: the array of aoe_train_data is NULL");
}

/* A function writes only the fields that the program's result has. */
static void results(void **state) {
    (void)state;
    struct {
        aoe_objective_result r;
        unsigned char guard[GUARD];
    } old;
    const double label[] = {0, 1};
    const float x[] = {1, 0, 0, 1}, y[] = {1, 1, 0, 2};
    aoe_objective_result full = {.struct_size = sizeof full};
    assert_int_equal(aoe_objective(NULL, x, y, 2, label, NULL, 2, 2, NULL, NULL, &full, NULL), 0);
    memset(&old, PATTERN, sizeof old);
    old.r.struct_size = offsetof(aoe_objective_result, ordered_pairs);
    assert_int_equal(aoe_objective(NULL, x, y, 2, label, NULL, 2, 2, NULL, NULL, &old.r, NULL), 0);
    assert_true(old.r.total == full.total);
    assert_int_equal(old.r.struct_size, offsetof(aoe_objective_result, ordered_pairs));
    const unsigned char *bytes = (const unsigned char *)&old;
    for (size_t i = offsetof(aoe_objective_result, ordered_pairs); i < sizeof old; i++)
        assert_int_equal(bytes[i], PATTERN);
    aoe_error err;
    old.r.struct_size = 0;
    assert_int_equal(aoe_objective(NULL, x, y, 2, label, NULL, 2, 2, NULL, NULL, &old.r, &err), AOE_EARG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts),       cmocka_unit_test(reads_and_writes), cmocka_unit_test(method_defaults),
        cmocka_unit_test(invalid_sizes), cmocka_unit_test(arrays),           cmocka_unit_test(results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
