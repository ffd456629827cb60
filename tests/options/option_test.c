/* SPDX-License-Identifier: MIT
 * Tests reading and writing the values of options, the names of their fields, and the record of a group of options.
 * covers: options/table options/annotate options/collect options/create options/dataset options/evaluate
 * covers: options/experiment options/pretrain options/rows
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "aoe_experiment.h"
#include "aoe_train.h"
#include "options/annotate.h"
#include "options/collect.h"
#include "options/create.h"
#include "options/dataset.h"
#include "options/evaluate.h"
#include "options/experiment.h"
#include "options/model.h"
#include "options/option.h"
#include "options/pretrain.h"
#include "options/rows.h"
#include "options/table.h"
#include "options/training.h"

typedef struct values {
    int flag, choice, named;
    unsigned set;
    size_t size;
    uint64_t seed;
    double real;
    const char *text;
} values;

#define AT(member) .offset = offsetof(values, member)

static json_t *twice(const void *target) {
    return json_integer(2 * *(const int *)target);
}

static const aoei_option table[] = {
    {.name = "no-flag", .field = "flag", .kind = AOEI_OPTION_FLAG, AT(flag), .clears = 1},
    {.name = "choice", .kind = AOEI_OPTION_CHOICE, AT(choice), .choices = AOEI_CHOICES("low", "high"), .noun = "level"},
    {.name = "named-value", .kind = AOEI_OPTION_NAMED, .value = "X,...", AT(named), .json_of = twice},
    {.name = "set", .kind = AOEI_OPTION_SET, AT(set), .choices = AOEI_CHOICES("a", "b", "all"), .noun = "letter"},
    {.name = "size", .kind = AOEI_OPTION_SIZE, AT(size), .methods = AOEI_METHOD_BIT(AOE_METHOD_CT)},
    {.name = "seed", .kind = AOEI_OPTION_SEED, AT(seed), .record = AOEI_RECORD_CHANGED},
    {.name = "real", .kind = AOEI_OPTION_REAL, AT(real), .record = AOEI_RECORD_ALWAYS, .methods = 1},
    {.name = "text", .kind = AOEI_OPTION_TEXT, AT(text), .record = AOEI_RECORD_NEVER},
};
enum { N = sizeof table / sizeof *table };

static const aoei_option_group group = {.title = "all", .type = "values", .options = table, .n = N};

/* The JSON values of a struct, with numbers and with names. */
static void values_as_json(void **state) {
    (void)state;
    const values v = {
        .flag = 1, .choice = 1, .named = 3, .set = 3, .size = AOE_AUTO, .seed = 1ull << 40, .real = 0.5, .text = "t"};
    static const char *const numbers[N] = {"1", "1", "6", "3", "\"auto\"", "1099511627776", "0.5", "\"t\""};
    static const char *const names[N] = {"true", "\"high\"",      "6",   "[\"a\",\"b\"]",
                                         "null", "1099511627776", "0.5", "\"t\""};
    for (size_t i = 0; i < N; i++) {
        for (int named = 0; named < 2; named++) {
            json_t *value = aoei_option_json(&table[i], (const char *)&v + table[i].offset, named);
            char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
            assert_string_equal(text, named ? names[i] : numbers[i]);
            json_decref(value);
            free(text);
        }
    }
    static const int unset[] = {-1, 2, AOE_AUTO}; /* a choice that was not given */
    for (size_t i = 0; i < sizeof unset / sizeof *unset; i++) {
        json_t *none = aoei_option_json(&table[1], &unset[i], 1);
        assert_true(json_is_null(none));
        json_decref(none);
    }
    const double infinite = INFINITY;
    json_t *value = aoei_option_json(&table[6], &infinite, 0);
    assert_true(json_is_null(value));
    json_decref(value);
}

static void record_of(int method, const values *v, const char *expected) {
    const values defaults = {.seed = 7};
    json_t *record = json_object();
    assert_int_equal(aoei_option_group_record(record, &group, v, &defaults, method), 0);
    char *text = json_dumps(record, JSON_COMPACT);
    assert_string_equal(text, expected);
    json_decref(record);
    free(text);
}

/* A record contains the options that the method uses, and the others as aoei_option.record says. */
static void records_of_methods(void **state) {
    (void)state;
    record_of(AOE_METHOD_CT, &(values){.size = 4, .seed = 7},
              "{\"flag\":false,\"choice\":\"low\",\"named_value\":0,\"set\":[],\"size\":4,\"real\":0.0}");
    record_of(AOE_METHOD_ANGLE, &(values){.size = 4, .seed = 8, .set = 2},
              "{\"flag\":false,\"choice\":\"low\",\"named_value\":0,\"set\":[\"b\"],\"seed\":8,\"real\":0.0}");
}

static void sets_and_choices(void **state) {
    (void)state;
    aoe_error err;
    char text[AOEI_NAME_SIZE];
    unsigned set = 0;
    assert_int_equal(aoei_parse_set(&set, &table[3], "b,a", &err), 0);
    assert_int_equal(set, 3);
    assert_string_equal(aoei_set_text(text, &table[3], set), "a,b");
    assert_int_equal(aoei_parse_set(&set, &table[3], "all", &err), 0);
    assert_int_equal(set, 3);
    assert_int_equal(aoei_parse_set(&set, &table[3], "a,c", &err), AOE_EARG);
    assert_string_equal(err.message, "unknown letter 'c'; choose a, b or all");
    assert_int_equal(aoei_choose(table[1].choices, "high", "level", &err), 1);
    assert_int_equal(aoei_choose(table[1].choices, "", "level", &err), 2);
    assert_string_equal(err.message, "unknown level ''; choose low or high");
}

static void names_of_fields_and_values(void **state) {
    (void)state;
    char field[AOEI_NAME_SIZE];
    assert_string_equal(aoei_option_field(field, &table[0]), "flag");
    assert_string_equal(aoei_option_field(field, &table[2]), "named_value");
    assert_null(aoei_option_value(&table[0]));
    assert_string_equal(aoei_option_value(&table[1]), "NAME");
    assert_string_equal(aoei_option_value(&table[2]), "X,...");
    assert_string_equal(aoei_option_value(&table[4]), "N");
    assert_string_equal(aoei_option_value(&table[6]), "X");
}

/* Checks that a row of the library has a help text, a field and, unless it is a flag, a name of its value. The rows of
 * a CHOICE and of a SET have names and a noun. */
static void row_is_complete(const aoei_option *o) {
    const int choice = o->kind == AOEI_OPTION_CHOICE || o->kind == AOEI_OPTION_SET,
              named = o->kind == AOEI_OPTION_NAMED;
    if (!o->help || !o->member || (o->kind != AOEI_OPTION_FLAG && !aoei_option_value(o)) ||
        (!named && choice != !!o->choices) || choice != !!o->noun || named != !!o->parse)
        fail_msg("--%s is not complete", o->name);
}

/* No two options of a training run have the same name or letter. */
static void rows_of_training(void **state) {
    (void)state;
    aoei_option_group groups[AOEI_TRAIN_GROUPS + 2] = {
        [AOEI_TRAIN_GROUPS] = {.options = aoei_model_table, .n = AOEI_MODEL_ROWS},
        [AOEI_TRAIN_GROUPS + 1] = {.options = aoei_table_table, .n = AOEI_TABLE_ROWS},
    };
    const char *names[256];
    char letters[256] = {0};
    size_t n = 0;
    memcpy(groups, aoei_train_groups, sizeof aoei_train_groups);
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        assert_true(g >= AOEI_TRAIN_GROUPS || (groups[g].title && groups[g].type));
        for (size_t i = 0; i < groups[g].n; i++) {
            const aoei_option *o = &groups[g].options[i];
            row_is_complete(o);
            for (size_t k = 0; k < n; k++)
                if (strcmp(names[k], o->name) == 0)
                    fail_msg("two rows have the name %s", o->name);
            if (o->letter)
                assert_int_equal(letters[(unsigned char)o->letter]++, 0);
            names[n++] = o->name;
        }
    }
    assert_true(n > 90 && n < sizeof names / sizeof *names);
}

static void rows_of_other_structs(void **state) {
    (void)state;
    static const aoei_option_group *const groups[] = {
        &aoei_annotate_rows,
        &aoei_annotate_data_rows,
        &aoei_score_rows,
        &aoei_score_data_rows,
        &aoei_chat_output_rows,
        &aoei_chat_models_rows,
        &aoei_chat_calls_rows,
        &aoei_github_source_rows,
        &aoei_github_output_rows,
        &aoei_github_choice_rows,
        &aoei_convert_model_rows,
        &aoei_merge_rows,
        &aoei_convert_vocabulary_rows,
        &aoei_whiten_rows,
        &aoei_whiten_texts_rows,
        &aoei_flow_rows,
        &aoei_flow_training_rows,
        &aoei_flow_texts_rows,
        &aoei_init_rows,
        &aoei_shape_sizes_rows,
        &aoei_init_vocabulary_rows,
        &aoei_mine_data_rows,
        &aoei_mine_candidates_rows,
        &aoei_mine_choice_rows,
        &aoei_data_convert_output_rows,
        &aoei_data_convert_form_rows,
        &aoei_data_check_rows,
        &aoei_data_dedup_rows,
        &aoei_data_split_rows,
        &aoei_data_stats_rows,
        &aoei_retrieval_metrics_rows,
        &aoei_retrieval_input_rows,
        &aoei_rerank_lists_rows,
        &aoei_rerank_output_rows,
        &aoei_rerank_input_rows,
        &aoei_binary_classes_rows,
        &aoei_suite_rows,
        &aoei_bench_rows,
        &aoei_triplets_rows,
        &aoei_experiment_rows,
        &aoei_compare_tests_rows,
        &aoei_embedding_size_rows,
        &aoei_encode_rows,
        &aoei_pretrain_data_rows,
        &aoei_pretrain_batches_rows,
    };
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        assert_true(groups[g]->title && groups[g]->type && groups[g]->n && !groups[g]->offset);
        for (size_t i = 0; i < groups[g]->n; i++)
            row_is_complete(&groups[g]->options[i]);
    }
    for (size_t i = 0; i < AOEI_EMBEDDER_ROWS; i++)
        row_is_complete(&aoei_embedder_table[i]);
}

static void number_gives(const aoei_option *o, double x, const char *message) {
    aoe_error err;
    const size_t n = (size_t)x;
    const void *target = o->kind == AOEI_OPTION_SIZE ? (const void *)&n : (const void *)&x;
    assert_int_equal(aoei_option_check(o, target, &err), message ? AOE_EARG : AOE_OK);
    if (message)
        assert_string_equal(err.message, message);
}

/* Ranges with closed and with open ends, without limits, and with AOE_AUTO. The command line accepts a narrower range.
 */
static void ranges(void **state) {
    (void)state;
    const aoei_option count = {.name = "max-n", .kind = AOEI_OPTION_SIZE, .min = 1, .max = 9, .least = 2, .most = 5},
                      any = {.name = "n", .kind = AOEI_OPTION_SIZE, .min = 1},
                      part = {.name = "p", .kind = AOEI_OPTION_REAL, .max = AOEI_BELOW_1, .most = 0.99, .automatic = 1},
                      rate = {.name = "r", .field = "a.r", .kind = AOEI_OPTION_REAL, .min = AOEI_ABOVE_0, .max = 1},
                      weight = {.name = "w", .kind = AOEI_OPTION_REAL},
                      label = {.name = "l", .kind = AOEI_OPTION_REAL, .min = -INFINITY, .max = INFINITY};
    char out[AOEI_NAME_SIZE];
    number_gives(&count, 0, "options.max_n is 0; give an integer from 1 to 9");
    number_gives(&count, 10, "options.max_n is 10; give an integer from 1 to 9");
    number_gives(&count, 9, NULL);
    assert_string_equal(aoei_option_range(out, &count, 1), "an integer from 2 to 5");
    number_gives(&any, 0, "options.n is 0; give an integer of at least 1");
    number_gives(&any, 0x1p63, NULL);
    number_gives(&part, 1, "options.p is 1; give a number of at least 0 and below 1");
    number_gives(&part, -0.5, "options.p is -0.5; give a number of at least 0 and below 1");
    number_gives(&part, 0.999, NULL);
    number_gives(&part, AOE_AUTO, NULL);
    assert_string_equal(aoei_option_range(out, &part, 1), "a number from 0 to 0.99");
    number_gives(&rate, 0, "options.a.r is 0; give a number above 0 and at most 1");
    number_gives(&rate, AOE_AUTO, "options.a.r is 2.14748e+09; give a number above 0 and at most 1");
    number_gives(&rate, 1e-300, NULL);
    number_gives(&weight, INFINITY, "options.w is inf; give a number of at least 0");
    number_gives(&weight, 1e300, NULL);
    number_gives(&label, -INFINITY, NULL);
    number_gives(&label, NAN, "options.l is nan; give a number");
}

/* A group is checked completely, or only the options of a method. */
static void checks_of_groups(void **state) {
    (void)state;
    aoe_error err;
    const aoei_option rows[] = {
        {.name = "choice", .kind = AOEI_OPTION_CHOICE, AT(choice), .choices = AOEI_CHOICES("low", "mid", "high")},
        {.name = "size", .kind = AOEI_OPTION_SIZE, AT(size), .min = 1, .methods = AOEI_METHOD_BIT(AOE_METHOD_CT)},
        {.name = "text", .kind = AOEI_OPTION_TEXT, AT(text)},
    };
    const aoei_option_group of_rows = {.options = rows, .n = 3};
    values v = {.choice = 2};
    assert_int_equal(aoei_option_group_check(&of_rows, &v, AOE_METHOD_ANGLE, &err), AOE_OK);
    assert_int_equal(aoei_option_group_check(&of_rows, &v, AOE_METHOD_CT, &err), AOE_EARG);
    assert_int_equal(aoei_option_group_check(&of_rows, &v, AOEI_ALL_METHODS, &err), AOE_EARG);
    assert_string_equal(err.message, "options.size is 0; give an integer of at least 1");
    v.choice = 3;
    assert_int_equal(aoei_option_group_check(&of_rows, &v, AOE_METHOD_ANGLE, &err), AOE_EARG);
    assert_string_equal(err.message, "options.choice is 3; give 0 (low), 1 (mid) or 2 (high)");
    v.choice = AOE_AUTO;
    assert_int_equal(aoei_option_group_check(&of_rows, &v, AOE_METHOD_ANGLE, &err), AOE_EARG);
}

/* Lists of names have the order of the values of their enums. */
static void names_of_enums(void **state) {
    (void)state;
    assert_string_equal(aoei_dtype_names[AOE_DTYPE_INT8], "int8");
    assert_string_equal(aoei_layer_prior_names[AOE_LAYER_PRIOR_LINEAR], "linear");
    assert_string_equal(aoei_distill_names[AOE_DISTILL_KL], "kl");
    assert_string_equal(aoei_teacher_map_names[AOE_TEACHER_MAP_KEPT], "kept");
    assert_string_equal(aoei_table_formats[AOE_TABLE_JSON], "json");
    assert_string_equal(aoei_forms[AOE_EXAMPLES_TRIPLETS], "triplets");
    assert_string_equal(aoei_correction_names[AOE_CORRECTION_NONE], "none");
    assert_string_equal(aoei_bench_mode_names[AOE_BENCH_PRETRAIN], "pretrain");
}

/* The parsers of the rows, which are independent of the program. */
static void delimiters_and_poolings(void **state) {
    (void)state;
    aoe_error err;
    char c = 0;
    aoe_pooling p = AOE_POOLING_AUTO;
    const aoei_option *delimiter = NULL;
    for (size_t i = 0; i < AOEI_TABLE_ROWS; i++)
        if (strcmp(aoei_table_table[i].name, "delimiter") == 0)
            delimiter = &aoei_table_table[i];
    assert_non_null(delimiter);
    assert_int_equal(delimiter->parse(&c, "tab", &err), 0);
    assert_int_equal(c, '\t');
    assert_int_equal(delimiter->parse(&c, ";", &err), 0);
    assert_int_equal(c, ';');
    assert_int_equal(delimiter->parse(&c, "ab", &err), AOE_EARG);
    assert_string_equal(err.message, "expected one character or tab, not 'ab'");
    assert_int_equal(delimiter->parse(&c, "", &err), AOE_EARG);
    assert_int_equal(aoei_parse_pooling(&p, "cls", &err), 0);
    assert_int_equal(p, AOE_POOLING_CLS);
    assert_int_equal(aoei_parse_pooling(&p, "cls+cls", &err), AOE_EARG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_as_json),
        cmocka_unit_test(records_of_methods),
        cmocka_unit_test(sets_and_choices),
        cmocka_unit_test(ranges),
        cmocka_unit_test(names_of_enums),
        cmocka_unit_test(checks_of_groups),
        cmocka_unit_test(names_of_fields_and_values),
        cmocka_unit_test(rows_of_training),
        cmocka_unit_test(rows_of_other_structs),
        cmocka_unit_test(delimiters_and_poolings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
