/* SPDX-License-Identifier: MIT
 * covers: modeldir/peft_match
 * Tests reading and writing PEFT's adapter_config.json: round trips, the directory of the base model, names of target
 * modules, and messages for configurations that are not valid or not supported.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "../support/tiny_model.h"

#include "base/alloc.h"
#include "base/json.h"
#include "encoder/slot_layout.h"
#include "modeldir/peft.h"
#include "modeldir/layout.h"

static aoei_encoder_config bert(void) {
    aoei_encoder_config c;
    const tiny_model shape = tiny_defaults();
    tiny_config(&c, &shape);
    return c;
}

/* Returns the bit that represents the linear layer `kind` in aoei_lora.targets. */
static unsigned bit(size_t kind) {
    return 1u << aoei_adapter_index(kind);
}

static aoei_lora_layer layers[2 * AOEI_ADAPTERS]; /* adapters of the last configuration whose layers differ */

/* Writes text to adapter_config.json in the test directory and reads it. Returns 0 or the error code. */
static int read_text(aoei_lora *lora, const char *text, aoe_error *err) {
    const aoei_encoder_config c = bert();
    free(test_write_text(test_dir, AOEI_PEFT_CONFIG, text));
    aoei_lora_layer *each;
    const int rc = aoei_peft_read(lora, &each, test_model_dir(test_dir), NULL, &c, err);
    assert_true(lora->each == each || rc);
    for (size_t i = 0; i < sizeof layers / sizeof *layers && each; i++)
        layers[i] = each[i];
    aoei_free(each);
    return rc;
}

static void reads_configurations(void **state) {
    (void)state;
    aoei_lora l;
    aoe_error err = {0};
    assert_int_equal(
        read_text(&l,
                  "{\"peft_type\": \"LORA\", \"r\": 4, \"lora_alpha\": 8, \"lora_dropout\": 0.1, \"bias\": \"none\", "
                  "\"target_modules\": [\"query\", \"attention.output.dense\", \"lm_head\"], \"rank_pattern\": {}, "
                  "\"modules_to_save\": null}",
                  &err),
        0);
    assert_true(l.r == 4 && l.alpha == 8 && l.dropout == 0.1 && !l.rank_stabilized);
    assert_int_equal(l.targets, bit(AOEI_LW_Q) | bit(AOEI_LW_O));
    assert_int_equal(
        read_text(&l, "{\"peft_type\": \"LORA\", \"r\": 2, \"use_rslora\": true, \"target_modules\": [\"dense\"]}",
                  &err),
        0);
    assert_true(l.alpha == 8 && l.dropout == 0 && l.rank_stabilized);
    assert_int_equal(l.targets, bit(AOEI_LW_O) | bit(AOEI_LW_UP) | bit(AOEI_LW_DOWN));
    assert_int_equal(read_text(&l, "{\"peft_type\": \"LORA\", \"r\": 2, \"target_modules\": \"all-linear\"}", &err), 0);
    assert_int_equal(l.targets, (1u << AOEI_ADAPTERS) - 1 - bit(AOEI_LW_GATE));
    assert_int_equal(
        read_text(&l,
                  "{\"peft_type\": \"LORA\", \"r\": 2, \"target_modules\": [\"query\"], \"alora_invocation_tokens\": "
                  "null, \"loftq_config\": {}, \"init_lora_weights\": \"gaussian\"}",
                  &err),
        0);
}

/* Tests settings that select layers, ranks and alphas by names and regular expressions. */
static void reads_patterns(void **state) {
    (void)state;
    static const struct {
        const char *settings; /* settings in addition to "r" and "target_modules" */
        size_t r[2];          /* rank of the query layer in both encoder layers */
        double alpha[2];      /* alpha of the query layer in both encoder layers */
        size_t value;         /* rank of the value layer of the second encoder layer */
    } cases[] = {
        {"\"layers_to_transform\": [1]", {0, 4}, {0, 8}, 4},
        {"\"layers_to_transform\": 0, \"layers_pattern\": \"layer\"", {4, 0}, {8, 0}, 0},
        {"\"layers_to_transform\": [0], \"layers_pattern\": [\"blocks\", \"layer\"]", {4, 0}, {8, 0}, 0},
        {"\"exclude_modules\": [\"layer.1.attention.self.value\"]", {4, 4}, {8, 8}, 0},
        {"\"exclude_modules\": \".*layer\\\\.1.*value\"", {4, 4}, {8, 8}, 0},
        {"\"rank_pattern\": {\"0.attention.self.query\": 2}", {2, 4}, {8, 8}, 4},
        {"\"rank_pattern\": {\"layer\\\\.[1-9]\\\\..*\": 6}", {4, 6}, {8, 8}, 6},
        {"\"alpha_pattern\": {\"layer.1.attention.self.query\": 3}", {4, 4}, {8, 3}, 4},
        {"\"modules_to_save\": [\"encoder.layer.1.attention.self.value\"]", {4, 4}, {8, 8}, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        aoei_lora l;
        aoe_error err = {0};
        snprintf(text, sizeof text,
                 "{\"peft_type\": \"LORA\", \"r\": 4, \"target_modules\": [\"query\", \"value\"], %s}",
                 cases[i].settings);
        if (read_text(&l, text, &err))
            fail_msg("case %zu: %s", i, err.message);
        assert_non_null(l.each);
        for (size_t layer = 0; layer < 2; layer++) {
            const aoei_lora_layer *a = &layers[layer * AOEI_ADAPTERS + aoei_adapter_index(AOEI_LW_Q)];
            if (a->r != cases[i].r[layer] || (a->r && a->alpha != cases[i].alpha[layer]))
                fail_msg("case %zu, layer %zu: rank %zu, alpha %g", i, layer, a->r, a->alpha);
        }
        if (layers[AOEI_ADAPTERS + aoei_adapter_index(AOEI_LW_V)].r != cases[i].value)
            fail_msg("case %zu: wrong rank of the value layer", i);
    }
    aoei_lora l;
    assert_int_equal(
        read_text(&l, "{\"peft_type\": \"LORA\", \"r\": 4, \"target_modules\": \".*(query|value)\"}", NULL), 0);
    assert_int_equal(l.targets, bit(AOEI_LW_Q) | bit(AOEI_LW_V));
}

static void test_rejected(void **state) {
    (void)state;
    static const struct {
        const char *text, *fragment;
        int code;
    } cases[] = {
        {"[]", "not a JSON object", AOE_EFORMAT},
        {"{\"peft_type\": \"IA3\"}", "peft_type \"IA3\"", AOE_EUNSUPPORTED},
        {"{\"r\": 4}", "peft_type", AOE_EUNSUPPORTED},
        {"{\"peft_type\": \"LORA\", \"init_lora_weights\": \"pissa_niter_4\"}", "\"pissa_niter_4\"", AOE_EUNSUPPORTED},
        {"{\"peft_type\": \"LORA\", \"init_lora_weights\": \"olora\"}", "\"olora\"", AOE_EUNSUPPORTED},
        {"{\"peft_type\": \"LORA\", \"init_lora_weights\": \"loftq\"}", "\"loftq\"", AOE_EUNSUPPORTED},
        {"{\"peft_type\": \"LORA\", \"init_lora_weights\": \"corda\"}", "\"corda\"", AOE_EUNSUPPORTED},
        {"{\"peft_type\": \"LORA\", \"init_lora_weights\": \"lora_ga\"}", "\"lora_ga\"", AOE_EUNSUPPORTED},
        {"{\"peft_type\": \"LORA\", \"init_lora_weights\": \"new\"}", "\"new\"", AOE_EUNSUPPORTED},
        {"{\"peft_type\": \"LORA\", \"init_lora_weights\": 3}", "init_lora_weights", AOE_EUNSUPPORTED},
        {"{\"peft_type\": \"LORA\", \"alora_invocation_tokens\": [5]}", "alora_invocation_tokens", AOE_EUNSUPPORTED},
        {"{\"peft_type\": \"LORA\", \"arrow_config\": {\"top_k\": 3}}", "arrow_config", AOE_EUNSUPPORTED},
        {"{\"peft_type\": \"LORA\", \"use_bdlora\": {\"nblocks\": 1}}", "use_bdlora", AOE_EUNSUPPORTED},
        {"{\"peft_type\": \"LORA\", \"bias\": \"some\"}", "bias \"some\"", AOE_EUNSUPPORTED},
        {"{\"peft_type\": \"LORA\", \"r\": 4, \"target_modules\": \"(\"}", "", AOE_EUNSUPPORTED},
        {"{\"peft_type\": \"LORA\", \"r\": 4, \"target_modules\": \"query\"}", "'query'", AOE_EFORMAT},
        {"{\"peft_type\": \"LORA\", \"r\": 4, \"target_modules\": [\"query\"], \"rank_pattern\": {\"query\": 999}}",
         "rank 999", AOE_EFORMAT},
        {"{\"peft_type\": \"LORA\", \"r\": 4, \"target_modules\": [\"query\"], \"rank_pattern\": {\"query\": 0}}",
         "rank_pattern", AOE_EFORMAT},
        {"{\"peft_type\": \"LORA\", \"r\": 4, \"target_modules\": [\"query\"], \"alpha_pattern\": {\"query\": -1}}",
         "alpha_pattern", AOE_EFORMAT},
        {"{\"peft_type\": \"LORA\", \"r\": 4, \"target_modules\": [\"query\"], \"alpha_pattern\": [\"query\"]}",
         "alpha_pattern is not an object", AOE_EFORMAT},
        {"{\"peft_type\": \"LORA\", \"r\": 4, \"target_modules\": [\"query\"], \"rank_pattern\": 2}",
         "rank_pattern is not an object", AOE_EFORMAT},
        {"{\"peft_type\": \"LORA\", \"r\": 4, \"target_modules\": [\"query\"], \"exclude_modules\": [7]}",
         "exclude_modules", AOE_EFORMAT},
        {"{\"peft_type\": \"LORA\", \"target_modules\": [\"query\"]}", "\"r\"", AOE_EFORMAT},
        {"{\"peft_type\": \"LORA\", \"r\": 0, \"target_modules\": [\"query\"]}", "\"r\" is 0", AOE_EFORMAT},
        {"{\"peft_type\": \"LORA\", \"r\": 99999, \"target_modules\": [\"query\"]}", "\"r\" is 99999", AOE_EFORMAT},
        {"{\"peft_type\": \"LORA\", \"r\": 4, \"lora_dropout\": 1, \"target_modules\": [\"query\"]}", "lora_dropout",
         AOE_EFORMAT},
        {"{\"peft_type\": \"LORA\", \"r\": 4, \"lora_alpha\": 1e308, \"target_modules\": [\"query\"]}", "lora_alpha",
         AOE_EFORMAT},
        {"{\"peft_type\": \"LORA\", \"r\": 4, \"lora_alpha\": 0, \"target_modules\": [\"query\"]}", "lora_alpha",
         AOE_EFORMAT},
        {"{\"peft_type\": \"LORA\", \"r\": 4, \"target_modules\": [\"query\"], \"layers_to_transform\": -1}",
         "layers_to_transform is neither", AOE_EFORMAT},
        {"{\"peft_type\": \"LORA\", \"r\": 4, \"target_modules\": [\"query\"], \"layers_to_transform\": true}",
         "layers_to_transform is neither", AOE_EFORMAT},
        {"{\"peft_type\": \"LORA\", \"r\": 4, \"target_modules\": [\"query\"], \"exclude_modules\": [\"query\"]}",
         "exclude_modules leaves no linear layer", AOE_EFORMAT},
        {"{\"peft_type\": \"LORA\", \"kasa_config\": {}}", "kasa_config is set", AOE_EUNSUPPORTED},
        {"{\"peft_type\": \"LORA\", \"r\": 4}", "target_modules", AOE_EUNSUPPORTED},
        {"{\"peft_type\": \"LORA\", \"r\": 4, \"target_modules\": [7]}", "not a name", AOE_EFORMAT},
        {"{\"peft_type\": \"LORA\", \"r\": 4, \"target_modules\": [\"q_proj\"]}",
         "'q_proj'; its linear layers are query, key", AOE_EFORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_lora l;
        aoe_error err = {0};
        assert_int_equal(read_text(&l, cases[i].text, &err), cases[i].code);
        if (!strstr(err.message, cases[i].fragment) || !strstr(err.message, AOEI_PEFT_CONFIG))
            fail_msg("expected a message with \"%s\", found \"%s\"", cases[i].fragment, err.message);
    }
}

/* Tests target names that contain a layer number. Such a name selects the module in all layers. A name may begin with
 * the prefix that tensor names have in the checkpoint, such as "bert.". */
static void names_with_layer_numbers(void **state) {
    (void)state;
    static const struct {
        const char *name;
        unsigned kinds[2];
    } cases[] = {{"encoder.layer.1.output.dense", {AOEI_LW_DOWN, AOEI_LW_DOWN}},
                 {"bert.encoder.layer.0.attention.self.query", {AOEI_LW_Q, AOEI_LW_Q}},
                 {"0.output.dense", {AOEI_LW_DOWN, AOEI_LW_DOWN}},
                 {"output.dense", {AOEI_LW_O, AOEI_LW_DOWN}}};
    const aoei_encoder_config c = bert();
    unsigned targets;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(aoei_peft_targets(&targets, &cases[i].name, 1, &c, 0, NULL), 0);
        assert_int_equal(targets, bit(cases[i].kinds[0]) | bit(cases[i].kinds[1]));
    }
    const char *const wrong[] = {"encoder.layer.x.output.dense", "bert.bert.encoder.layer.0.output.dense", "layer.0"};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(aoei_peft_targets(&targets, &wrong[i], 1, &c, 0, NULL), AOE_EARG);
}

/* Tests that every set of targets can be written and read again without a change. */
static void test_round_trip(void **state) {
    (void)state;
    aoei_encoder_config c = bert();
    char *path = test_path(test_dir, AOEI_PEFT_CONFIG);
    for (unsigned targets = 1; targets < 1u << 6; targets++) {
        aoei_lora l;
        c.lora = (aoei_lora){
            .r = 5, .alpha = 7.5, .dropout = 0.25, .rank_stabilized = (int)(targets & 1), .targets = targets};
        json_t *j = aoei_peft_to_json(&c, "/models/base", "");
        assert_non_null(j);
        assert_int_equal(aoei_json_save(j, path, NULL), 0);
        json_decref(j);
        aoei_lora_layer *each;
        assert_int_equal(aoei_peft_read(&l, &each, test_model_dir(test_dir), NULL, &c, NULL), 0);
        assert_null(each);
        assert_true(l.r == 5 && l.alpha == 7.5 && l.dropout == 0.25 && l.rank_stabilized == c.lora.rank_stabilized);
        assert_int_equal(l.targets, targets);
    }
    free(path);
}

/* Tests the names that are written for a set of targets. PEFT adapts every module whose name ends with a target name,
 * so "output.dense" also selects the module "attention.output.dense". If a target name would select modules that are
 * not targets, it is written once per layer, with the number of the layer. The pooler is never a target. */
static void test_written_names(void **state) {
    (void)state;
    aoei_encoder_config c = bert();
    c.lora = (aoei_lora){.r = 1, .alpha = 1};
    static const struct {
        size_t kinds[2], n, names;
        const char *first, *last;
    } cases[] = {{{AOEI_LW_DOWN}, 1, 2, "0.output.dense", "1.output.dense"},
                 {{AOEI_LW_O}, 1, 1, "attention.output.dense", "attention.output.dense"},
                 {{AOEI_LW_O, AOEI_LW_DOWN}, 2, 1, "output.dense", "output.dense"},
                 {{AOEI_LW_UP, AOEI_LW_V}, 2, 2, "value", "intermediate.dense"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        c.lora.targets = 0;
        for (size_t k = 0; k < cases[i].n; k++)
            c.lora.targets |= bit(cases[i].kinds[k]);
        json_t *j = aoei_peft_to_json(&c, "base", ""), *names = json_object_get(j, "target_modules");
        assert_int_equal(json_array_size(names), cases[i].names);
        assert_string_equal(json_string_value(json_array_get(names, 0)), cases[i].first);
        assert_string_equal(json_string_value(json_array_get(names, cases[i].names - 1)), cases[i].last);
        json_decref(j);
    }
}

static void test_base_directory(void **state) {
    (void)state;
    aoe_error err = {0};
    char *inside = test_path(test_dir, "base"), *base;
    const tiny_model shape = tiny_defaults();
    tiny_model_write(inside, &shape);
    free(test_write_text(test_dir, AOEI_PEFT_CONFIG, "{\"base_model_name_or_path\": \"base\"}"));
    assert_true(aoei_is_adapter_dir(test_dir));
    assert_false(aoei_is_adapter_dir(inside));
    assert_int_equal(aoei_peft_base(&base, test_model_dir(test_dir), NULL, &err), 0);
    assert_string_equal(base + strlen(base) - 5, "/base");
    aoei_free(base);
    assert_int_equal(aoei_peft_base(&base, test_model_dir(test_dir), inside, &err), 0);
    assert_string_equal(base, inside);
    aoei_free(base);
    free(test_write_text(test_dir, AOEI_PEFT_CONFIG, "{\"base_model_name_or_path\": \"somebody/model\"}"));
    assert_int_equal(aoei_peft_base(&base, test_model_dir(test_dir), NULL, &err), AOE_ENOENT);
    assert_non_null(
        strstr(err.message, "the directory 'somebody/model' of the base model does not exist; set options.base"));
    free(test_write_text(test_dir, AOEI_PEFT_CONFIG, "{}"));
    assert_int_equal(aoei_peft_base(&base, test_model_dir(test_dir), NULL, &err), AOE_EFORMAT);
    free(inside);
}

static void test_names(void **state) {
    (void)state;
    const aoei_encoder_config c = bert();
    char name[256];
    unsigned targets;
    aoe_error err = {0};
    aoei_peft_name(name, sizeof name, "model.", "layers.0.self_attn.q_proj.lora_A.weight");
    assert_string_equal(name, "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight");
    assert_int_equal(aoei_peft_targets(&targets, (const char *const[]){"value", "uery"}, 2, &c, 0, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "no linear layer 'uery'"));
    assert_int_equal(aoei_peft_targets(&targets, (const char *const[]){"value"}, 1, &c, 0, &err), 0);
    assert_int_equal(targets, bit(AOEI_LW_V));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_configurations), cmocka_unit_test(reads_patterns),
        cmocka_unit_test(test_rejected),        cmocka_unit_test(names_with_layer_numbers),
        cmocka_unit_test(test_round_trip),      cmocka_unit_test(test_written_names),
        cmocka_unit_test(test_base_directory),  cmocka_unit_test(test_names)};
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
