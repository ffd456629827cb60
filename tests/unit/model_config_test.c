/* SPDX-License-Identifier: MIT
 * config.json of BERT: what is read, what is refused and how, the list of
 * weights, and the named shapes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "base/json.h"

static int read_text(aoei_encoder_config *c, const char *text, aoe_error *err) {
    json_t *root;
    assert_int_equal(aoei_json_parse(&root, text, strlen(text), "config.json", err), 0);
    int rc = aoei_config_read(c, root, "config.json", err);
    json_decref(root);
    return rc;
}

/* The test configuration with one key replaced (value NULL: removed). */
static int read_with(aoei_encoder_config *c, const char *key, const char *value, aoe_error *err) {
    json_t *root, *v = NULL;
    assert_int_equal(aoei_json_parse(&root, test_config_json, strlen(test_config_json), "config.json", err), 0);
    if (value) {
        assert_int_equal(aoei_json_parse(&v, value, strlen(value), "value", err), 0);
        json_object_set_new(root, key, v);
    } else {
        json_object_del(root, key);
    }
    int rc = aoei_config_read(c, root, "config.json", err);
    json_decref(root);
    return rc;
}

static void reads_bert(void **state) {
    (void)state;
    aoei_encoder_config c;
    assert_int_equal(read_text(&c, test_config_json, NULL), 0);
    assert_ptr_equal(c.arch, aoei_arch_find("bert"));
    assert_int_equal(c.hidden, 8);
    assert_int_equal(c.layers, 2);
    assert_int_equal(c.heads, 2);
    assert_int_equal(c.intermediate, 12);
    assert_int_equal(c.vocab, 16);
    assert_int_equal(c.positions, 10);
    assert_int_equal(c.position_offset, 0);
    assert_int_equal(c.token_types, 2);
    assert_true(c.norm_eps == 1e-12);
    assert_true(c.hidden_dropout == 0.25);
    assert_true(c.attention_dropout == 0.125);
    assert_int_equal(c.arch->max_length(&c), 10);
    assert_int_equal(c.arch->default_pooling, AOE_POOLING_CLS);
}

static void fills_in_what_older_files_lack(void **state) {
    (void)state;
    static const char *const optional[] = {"hidden_act",     "position_embedding_type", "type_vocab_size",
                                           "layer_norm_eps", "hidden_dropout_prob",     "attention_probs_dropout_prob"};
    aoei_encoder_config c;
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++) {
        assert_int_equal(read_with(&c, optional[i], NULL, NULL), 0);
        assert_int_equal(read_with(&c, optional[i], "null", NULL), 0);
    }
    assert_int_equal(read_with(&c, "layer_norm_eps", NULL, NULL), 0);
    assert_true(c.norm_eps == 1e-12);
    assert_int_equal(read_with(&c, "hidden_dropout_prob", NULL, NULL), 0);
    assert_true(c.hidden_dropout == 0.1);
    assert_int_equal(read_with(&c, "type_vocab_size", NULL, NULL), 0);
    assert_int_equal(c.token_types, 2);
}

/* Both forms of GELU, by all their names, and back into a config.json. */
static void knows_the_activations(void **state) {
    (void)state;
    static const struct {
        const char *value, *written;
        aoei_activation activation;
    } cases[] = {{NULL, "gelu", AOEI_GELU},
                 {"\"gelu\"", "gelu", AOEI_GELU},
                 {"\"gelu_new\"", "gelu_new", AOEI_GELU_TANH},
                 {"\"gelu_pytorch_tanh\"", "gelu_new", AOEI_GELU_TANH}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_encoder_config c;
        assert_int_equal(read_with(&c, "hidden_act", cases[i].value, NULL), 0);
        assert_int_equal(c.activation, cases[i].activation);
        json_t *written = json_object();
        assert_int_equal(c.arch->write(&c, written), 0);
        assert_string_equal(json_string_value(json_object_get(written, "hidden_act")), cases[i].written);
        json_decref(written);
    }
}

static void refuses_by_name(void **state) {
    (void)state;
    static const struct {
        const char *key, *value, *fragment;
        int code;
    } cases[] = {
        {"model_type", NULL, "config.json: no \"model_type\"; add it (supported: bert, model2vec)", AOE_EFORMAT},
        {"model_type", "\"t5\"", "architecture 't5' is not supported (supported: bert, model2vec)", AOE_EUNSUPPORTED},
        {"model_type", "7", "\"model_type\" is not a string", AOE_EFORMAT},
        {"hidden_act", "\"relu\"", "hidden_act \"relu\" is not supported (supported: gelu, gelu_new, gelu_pytorch_tanh)",
         AOE_EUNSUPPORTED},
        {"position_embedding_type", "\"relative_key\"", "position_embedding_type \"relative_key\" is not supported",
         AOE_EUNSUPPORTED},
        {"is_decoder", "true", "is_decoder is true", AOE_EUNSUPPORTED},
        {"add_cross_attention", "true", "add_cross_attention is true", AOE_EUNSUPPORTED},
        {"hidden_size", NULL, "\"hidden_size\" is missing", AOE_EFORMAT},
        {"hidden_size", "0", "\"hidden_size\" is 0, allowed are 1 to 65536", AOE_EFORMAT},
        {"hidden_size", "9", "hidden_size 9 is not a multiple of num_attention_heads 2", AOE_EFORMAT},
        {"hidden_size", "-8", "\"hidden_size\" is not a whole number", AOE_EFORMAT},
        {"hidden_size", "8.5", "\"hidden_size\" is not a whole number", AOE_EFORMAT},
        {"hidden_size", "\"8\"", "\"hidden_size\" is not a whole number", AOE_EFORMAT},
        {"num_attention_heads", "0", "\"num_attention_heads\" is 0", AOE_EFORMAT},
        {"num_hidden_layers", "0", "\"num_hidden_layers\" is 0", AOE_EFORMAT},
        {"num_hidden_layers", "1000000000000", "\"num_hidden_layers\" is 1000000000000", AOE_EFORMAT},
        {"intermediate_size", "9223372036854775807", "\"intermediate_size\" is 9223372036854775807", AOE_EFORMAT},
        {"vocab_size", "0", "\"vocab_size\" is 0", AOE_EFORMAT},
        {"max_position_embeddings", "0", "\"max_position_embeddings\" is 0", AOE_EFORMAT},
        {"layer_norm_eps", "0", "\"layer_norm_eps\" is 0", AOE_EFORMAT},
        {"hidden_dropout_prob", "1", "\"hidden_dropout_prob\" is 1, allowed is 0 to below 1", AOE_EFORMAT},
        {"attention_probs_dropout_prob", "-0.1", "\"attention_probs_dropout_prob\" is -0.1", AOE_EFORMAT},
        {"hidden_dropout_prob", "true", "\"hidden_dropout_prob\" is not a number", AOE_EFORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_encoder_config c;
        aoe_error err;
        assert_int_equal(read_with(&c, cases[i].key, cases[i].value, &err), cases[i].code);
        assert_int_equal(err.code, cases[i].code);
        FRAGMENT(err, cases[i].fragment);
        FRAGMENT(err, "config.json: ");
    }
    aoei_encoder_config c;
    aoe_error err;
    assert_int_equal(read_text(&c, "[1]", &err), AOE_EFORMAT);
    FRAGMENT(err, "config.json: not a JSON object");
}

static void lists_the_weights(void **state) {
    (void)state;
    aoei_encoder_config c;
    aoei_slot s;
    test_model_config(&c);
    assert_int_equal(aoei_slot_count(&c), 5 + 2 * 16);
    assert_int_equal(aoei_slot_describe(&c, AOEI_W_WORD, &s), 0);
    assert_string_equal(s.name, "embeddings.word_embeddings.weight");
    assert_int_equal(s.rows, 16);
    assert_int_equal(s.cols, 8);
    assert_true(s.decay && !s.vector && !s.absent);
    aoei_slot_describe(&c, AOEI_W_EMBED_NORM_BIAS, &s);
    assert_string_equal(s.name, "embeddings.LayerNorm.bias");
    assert_true(!s.decay && s.vector && s.rows == 1 && s.cols == 8);
    aoei_slot_describe(&c, aoei_layer_slot(1, AOEI_LW_UP_BIAS), &s);
    assert_string_equal(s.name, "encoder.layer.1.intermediate.dense.bias");
    assert_true(!s.decay && s.vector && s.cols == 12);
    aoei_slot_describe(&c, aoei_layer_slot(0, AOEI_LW_DOWN), &s);
    assert_string_equal(s.name, "encoder.layer.0.output.dense.weight");
    assert_true(s.decay && s.rows == 8 && s.cols == 12);
    aoei_slot_describe(&c, aoei_layer_slot(1, AOEI_LW_NORM2_BIAS), &s);
    assert_string_equal(s.name, "encoder.layer.1.output.LayerNorm.bias");
    assert_int_equal(aoei_slot_describe(&c, aoei_slot_count(&c), &s), AOE_EARG);
    c.token_types = 0;
    aoei_slot_describe(&c, AOEI_W_TOKEN_TYPE, &s);
    assert_true(s.absent);
}

static void counts_the_parameters(void **state) {
    (void)state;
    aoe_shape s;
    assert_int_equal(aoe_shape_named(&s, "bert-base", NULL), 0);
    aoei_encoder_config c = {.arch = &aoei_arch_bert,
                             .hidden = s.hidden,
                             .layers = s.layers,
                             .heads = s.heads,
                             .intermediate = s.intermediate,
                             .vocab = s.vocab,
                             .positions = s.positions,
                             .token_types = 2};
    /* the published 109,482,240 of BertModel without its pooler (768 * 768 + 768) */
    assert_int_equal(aoei_parameter_count(&c), 109482240 - 590592);
}

static void writes_what_it_reads(void **state) {
    (void)state;
    aoei_encoder_config c, again;
    test_model_config(&c);
    json_t *root = json_object();
    assert_int_equal(c.arch->write(&c, root), 0);
    assert_int_equal(aoei_config_read(&again, root, "config.json", NULL), 0);
    assert_memory_equal(&again, &c, sizeof c);
    json_decref(root);
}

static void knows_the_named_shapes(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t hidden, layers, heads, intermediate, vocab, positions;
    } cases[] = {{"bert-base", 768, 12, 12, 3072, 30522, 512},  {"bert-large", 1024, 24, 16, 4096, 30522, 512},
                 {"bert-small", 512, 4, 8, 2048, 30522, 512},   {"bert-mini", 256, 4, 4, 1024, 30522, 512},
                 {"bert-tiny", 128, 2, 2, 512, 30522, 512},     {"minilm-l6", 384, 6, 12, 1536, 30522, 512},
                 {"minilm-l12", 384, 12, 12, 1536, 30522, 512}, {"aoe-mini", 256, 3, 4, 1024, 12000, 128}};
    aoe_shape s;
    aoe_error err;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(aoe_shape_named(&s, cases[i].name, NULL), 0);
        assert_int_equal(s.hidden, cases[i].hidden);
        assert_int_equal(s.layers, cases[i].layers);
        assert_int_equal(s.heads, cases[i].heads);
        assert_int_equal(s.intermediate, cases[i].intermediate);
        assert_int_equal(s.vocab, cases[i].vocab);
        assert_int_equal(s.positions, cases[i].positions);
        assert_non_null(strstr(aoe_shape_names(), cases[i].name));
    }
    assert_int_equal(aoe_shape_named(&s, "bert-huge", &err), AOE_EARG);
    FRAGMENT(err, "shape 'bert-huge' is unknown; use one of: bert-base, bert-large");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_bert),
        cmocka_unit_test(fills_in_what_older_files_lack),
        cmocka_unit_test(knows_the_activations),
        cmocka_unit_test(refuses_by_name),
        cmocka_unit_test(lists_the_weights),
        cmocka_unit_test(counts_the_parameters),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(knows_the_named_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
