/* SPDX-License-Identifier: MIT
 * covers: encoder/arch_bert encoder/arch_registry encoder/shapes encoder/slots
 * Tests config.json of all architectures: which keys are read, which values are rejected, and the error messages. Also
 * tests the list of the weights of a model, and model shapes that are selected by name.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "base/json.h"
#include "encoder/arch.h"
#include "encoder/arch_bert.h"
#include "encoder/arch_registry.h"
#include "encoder/shapes.h"
#include "encoder/slots.h"
#include "nn/rope.h"

static int read_text(aoei_encoder_config *c, const char *text, aoe_error *err) {
    json_t *root;
    assert_int_equal(aoei_json_parse(&root, text, strlen(text), "config.json", err), 0);
    int rc = aoei_config_read(c, root, "config.json", err);
    json_decref(root);
    return rc;
}

/* Reads the test configuration with one key set to the JSON text `value`, or removed if value is NULL. */
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
    assert_int_equal(c.arch->default_pooling, AOE_POOLING_LAST_AVG);
}

static void uses_defaults_for_missing_keys(void **state) {
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

/* Tests that all activations are recognized by all their names in config.json, and are written to config.json. */
static void reads_and_writes_activations(void **state) {
    (void)state;
    static const struct {
        const char *value, *written;
        aoei_activation activation;
    } cases[] = {{NULL, "gelu", AOEI_GELU},
                 {"\"gelu\"", "gelu", AOEI_GELU},
                 {"\"gelu_new\"", "gelu_new", AOEI_GELU_TANH},
                 {"\"gelu_pytorch_tanh\"", "gelu_new", AOEI_GELU_TANH},
                 {"\"gelu_fast\"", "gelu_new", AOEI_GELU_TANH},
                 {"\"gelu_accurate\"", "gelu_new", AOEI_GELU_TANH},
                 {"\"gelu_python\"", "gelu", AOEI_GELU},
                 {"\"quick_gelu\"", "quick_gelu", AOEI_QUICK_GELU},
                 {"\"silu\"", "silu", AOEI_SILU},
                 {"\"swish\"", "silu", AOEI_SILU},
                 {"\"relu\"", "relu", AOEI_RELU}};
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

static void rejects_values_for_bert(void **state) {
    (void)state;
    static const struct {
        const char *key, *value, *fragment;
        int code;
    } cases[] = {
        {"model_type", NULL, "config.json: no \"model_type\"; add it (supported: bert, roberta", AOE_EFORMAT},
        {"model_type", "\"t5\"", "model_type 't5' is not supported (supported: bert, roberta, xlm-roberta, ",
         AOE_EUNSUPPORTED},
        {"model_type", "7", "\"model_type\" is not a string", AOE_EFORMAT},
        {"hidden_act", "\"mish\"",
         "hidden_act \"mish\" is not supported (supported: gelu, gelu_new, gelu_pytorch_tanh, gelu_fast, "
         "quick_gelu, silu, "
         "relu)",
         AOE_EUNSUPPORTED},
        {"position_embedding_type", "\"relative_key\"", "position_embedding_type \"relative_key\" is not supported",
         AOE_EUNSUPPORTED},
        {"is_decoder", "3", "\"is_decoder\" is not true or false", AOE_EFORMAT},
        {"add_cross_attention", "true", "add_cross_attention is true", AOE_EUNSUPPORTED},
        {"is_causal", "true",
         "is_causal is true, which is not supported, because the attention of this bert model is bidirectional",
         AOE_EUNSUPPORTED},
        {"is_causal", "1", "\"is_causal\" is not true or false", AOE_EFORMAT},
        {"hidden_size", NULL, "\"hidden_size\" is missing", AOE_EFORMAT},
        {"hidden_size", "0", "\"hidden_size\" is 0; it must be between 1 and 65536", AOE_EFORMAT},
        {"hidden_size", "9", "hidden_size 9 is not a multiple of num_attention_heads 2", AOE_EFORMAT},
        {"hidden_size", "-8", "\"hidden_size\" is not a non-negative integer", AOE_EFORMAT},
        {"hidden_size", "8.5", "\"hidden_size\" is not a non-negative integer", AOE_EFORMAT},
        {"hidden_size", "\"8\"", "\"hidden_size\" is not a non-negative integer", AOE_EFORMAT},
        {"num_attention_heads", "0", "\"num_attention_heads\" is 0", AOE_EFORMAT},
        {"num_hidden_layers", "0", "\"num_hidden_layers\" is 0", AOE_EFORMAT},
        {"num_hidden_layers", "1000000000000", "\"num_hidden_layers\" is 1000000000000", AOE_EFORMAT},
        {"intermediate_size", "9223372036854775807", "\"intermediate_size\" is 9223372036854775807", AOE_EFORMAT},
        {"vocab_size", "0", "\"vocab_size\" is 0", AOE_EFORMAT},
        {"max_position_embeddings", "0", "\"max_position_embeddings\" is 0", AOE_EFORMAT},
        {"layer_norm_eps", "0", "\"layer_norm_eps\" is 0", AOE_EFORMAT},
        {"hidden_dropout_prob", "1", "\"hidden_dropout_prob\" is 1; it must be at least 0 and below 1", AOE_EFORMAT},
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

#define SIZES                                                                                                          \
    "\"hidden_size\": 32, \"num_attention_heads\": 4, \"intermediate_size\": 12, \"num_hidden_layers\": 3, "           \
    "\"vocab_size\": 16, \"max_position_embeddings\": 100"

/* Reads a configuration with the model type `type`, the sizes in SIZES, and the keys in `more`. */
static int read_type(aoei_encoder_config *c, const char *type, const char *more, aoe_error *err) {
    char text[1024];
    snprintf(text, sizeof text, "{\"model_type\": \"%s\", %s%s%s}", type, SIZES, *more ? ", " : "", more);
    return read_text(c, text, err);
}

static void reads_roberta(void **state) {
    (void)state;
    aoei_encoder_config c;
    assert_int_equal(read_type(&c, "xlm-roberta", "", NULL), 0);
    assert_string_equal(c.arch->class_name, "XLMRobertaModel");
    assert_true(c.position_offset == 2 && c.token_types == 2 && c.norm_eps == 1e-12 && !c.causal);
    assert_int_equal(read_type(&c, "roberta", "\"pad_token_id\": 3, \"type_vocab_size\": 1", NULL), 0);
    assert_string_equal(c.arch->class_name, "RobertaModel");
    assert_true(c.position_offset == 4 && c.token_types == 1);
    assert_int_equal(c.arch->max_length(&c), 96);
}

static void reads_mpnet(void **state) {
    (void)state;
    aoei_encoder_config c;
    aoei_slot s;
    aoe_error err;
    assert_int_equal(read_type(&c, "mpnet", "\"pad_token_id\": 3, \"type_vocab_size\": 2", NULL), 0);
    assert_true(c.position_offset == 2 && c.token_types == 0 && c.norm_eps == 1e-12 && c.score_buckets == 32);
    assert_int_equal(c.arch->max_length(&c), 98);
    aoei_slot_describe(&c, AOEI_W_SCORE_BIAS, &s);
    assert_string_equal(s.name, "encoder.relative_attention_bias.weight");
    assert_true(s.rows == 32 && s.cols == 4 && !s.absent && !s.decay && !s.linear);
    assert_int_equal(read_type(&c, "mpnet", "\"relative_attention_num_buckets\": 16", &err), AOE_EUNSUPPORTED);
    FRAGMENT(err, "config.json: relative_attention_num_buckets 16 is not supported (supported: 32)");
    assert_int_equal(read_type(&c, "bert", "", NULL), 0);
    aoei_slot_describe(&c, AOEI_W_SCORE_BIAS, &s);
    assert_true(s.absent);
}

/* JinaBERT has the model type of BERT and is recognized by other keys. */
static void reads_jina_bert(void **state) {
    (void)state;
    static const char *const recognized[] = {
        "\"position_embedding_type\": \"alibi\", \"feed_forward_type\": \"geglu\"",
        "\"position_embedding_type\": \"alibi\", \"feed_forward_type\": \"geglu\", \"_name_or_path\": "
        "\"jinaai/jina-bert-implementation\", \"hidden_act\": \"gelu_new\""};
    static const struct {
        const char *more, *fragment;
    } rejected[] = {
        {"\"position_embedding_type\": \"alibi\"", "\"feed_forward_type\" is missing; it must be \"geglu\""},
        {"\"position_embedding_type\": \"alibi\", \"feed_forward_type\": \"reglu\"",
         "feed_forward_type \"reglu\" is not supported (supported: geglu)"},
        {"\"feed_forward_type\": \"geglu\"", "\"position_embedding_type\" is missing; it must be \"alibi\""},
        {"\"auto_map\": {\"AutoConfig\": \"jinaai/jina-bert-implementation--configuration_bert.JinaBertConfig\"}",
         "\"position_embedding_type\" is missing"}};
    aoei_encoder_config c;
    aoei_slot s;
    for (size_t i = 0; i < sizeof recognized / sizeof *recognized; i++) {
        assert_int_equal(read_type(&c, "bert", recognized[i], NULL), 0);
        assert_true(c.alibi && c.gated && c.no_up_bias && !c.no_ffn_bias && c.activation == AOEI_GELU);
        aoei_slot_describe(&c, aoei_layer_slot(1, AOEI_LW_UP), &s);
        assert_string_equal(s.name, "encoder.layer.1.mlp.gated_layers.weight");
        aoei_slot_describe(&c, AOEI_W_POSITION, &s);
        assert_true(s.absent && c.arch->max_length(&c) == 100);
    }
    assert_int_equal(
        read_type(&c, "bert",
                  "\"position_embedding_type\": \"alibi\", \"feed_forward_type\": \"geglu\", \"_name_or_path\": "
                  "\"jinaai/jina-bert-v2-qk-post-norm\"",
                  NULL),
        0);
    aoei_slot_describe(&c, aoei_layer_slot(1, AOEI_LW_K_NORM_BIAS), &s);
    assert_string_equal(s.name, "encoder.layer.1.attention.self.layer_norm_k.bias");
    assert_true(c.second_norm && s.cols == 32 && !s.absent);
    assert_int_equal(read_type(&c, "bert", "\"feed_forward_type\": null", NULL), 0);
    assert_string_equal(c.arch->model_type, "bert");
    for (size_t i = 0; i < sizeof rejected / sizeof *rejected; i++) {
        aoe_error err;
        assert_int_equal(read_type(&c, "bert", rejected[i].more, &err), AOE_EUNSUPPORTED);
        FRAGMENT(err, rejected[i].fragment);
    }
    aoe_error err;
    assert_int_equal(read_type(&c, "roberta", "\"feed_forward_type\": \"geglu\"", &err), AOE_EUNSUPPORTED);
    FRAGMENT(err, "feed_forward_type \"geglu\" is not supported (supported: original)");
}

#define DEBERTA                                                                                                        \
    "\"relative_attention\": true, \"share_att_key\": true, \"position_buckets\": 16, \"norm_rel_ebd\": "              \
    "\"layer_norm\", "

static void reads_deberta(void **state) {
    (void)state;
    static const struct {
        const char *more, *fragment;
        int code;
    } rejected[] = {
        {"\"share_att_key\": true", "relative_attention is not true", AOE_EUNSUPPORTED},
        {"\"relative_attention\": true", "share_att_key is not true", AOE_EUNSUPPORTED},
        {DEBERTA "\"conv_kernel_size\": 3", "conv_kernel_size 3 is not supported", AOE_EUNSUPPORTED},
        {DEBERTA "\"embedding_size\": 16", "embedding_size 16 is not supported", AOE_EUNSUPPORTED},
        {DEBERTA "\"pos_att_type\": []", "pos_att_type contains neither \"c2p\" nor \"p2c\"", AOE_EUNSUPPORTED},
        {DEBERTA "\"max_relative_positions\": 9, \"pos_att_type\": \"c2p\"", "\"position_buckets\" is 16", AOE_EFORMAT},
        {DEBERTA "\"max_relative_positions\": 10000000, \"pos_att_type\": \"c2p\"",
         "\"max_relative_positions\" is 10000000", AOE_EFORMAT},
    };
    aoei_encoder_config c;
    aoei_slot s;
    assert_int_equal(
        read_type(&c, "deberta-v2", DEBERTA "\"pos_att_type\": \"p2c|c2p\", \"max_relative_positions\": -1", NULL), 0);
    assert_true(c.relative.span == 16 && c.relative.buckets == 16 && c.relative.max_distance == 100);
    assert_true(c.relative.keys && c.relative.queries && c.relative.norm && !c.no_position_table && c.token_types == 0);
    assert_true(fabs(c.attention_scale - 1 / sqrt(24.0)) < 1e-12);
    aoei_slot_describe(&c, AOEI_W_RELATIVE, &s);
    assert_string_equal(s.name, "encoder.rel_embeddings.weight");
    assert_true(s.rows == 32 && s.cols == 32 && s.decay && !s.absent);
    assert_int_equal(
        read_type(&c, "deberta-v2", DEBERTA "\"pos_att_type\": [\"c2p\"], \"position_biased_input\": false", NULL), 0);
    assert_true(c.relative.keys && !c.relative.queries && c.no_position_table);
    aoei_slot_describe(&c, AOEI_W_POSITION, &s);
    assert_true(s.absent);
    for (size_t i = 0; i < sizeof rejected / sizeof *rejected; i++) {
        aoe_error err;
        assert_int_equal(read_type(&c, "deberta-v2", rejected[i].more, &err), rejected[i].code);
        FRAGMENT(err, rejected[i].fragment);
    }
}

static void reads_llama(void **state) {
    (void)state;
    aoei_encoder_config c;
    assert_int_equal(read_type(&c, "llama", "", NULL), 0);
    assert_true(c.causal && c.bidirectional_from == AOEI_NO_LAYER && c.pre_norm && c.gated &&
                c.activation == AOEI_SILU);
    assert_true(c.no_qkv_bias && c.no_output_bias && c.no_ffn_bias && c.norm == AOEI_RMSNORM && c.norm_eps == 1e-6);
    assert_true(aoei_kv_heads(&c) == 4 && aoei_head_dim(&c) == 8 && c.rope.theta == 10000 && !c.window);
    assert_int_equal(c.arch->default_pooling, AOE_POOLING_LAST_TOKEN);
    assert_int_equal(c.default_pooling, AOE_POOLING_LAST_AVG);
    assert_int_equal(read_type(&c, "llama", "\"architectures\": [\"LlamaModel\"]", NULL), 0);
    assert_int_equal(c.default_pooling, AOE_POOLING_LAST_AVG);
    assert_int_equal(read_type(&c, "llama", "\"architectures\": [\"LlamaForCausalLM\"]", NULL), 0);
    assert_int_equal(c.default_pooling, AOE_POOLING_AUTO);
    assert_int_equal(
        read_type(&c, "llama",
                  "\"num_key_value_heads\": 2, \"head_dim\": 16, \"attention_bias\": true, \"mlp_bias\": true, "
                  "\"rope_theta\": 5e5, \"rms_norm_eps\": 1e-5",
                  NULL),
        0);
    assert_true(!c.no_qkv_bias && !c.no_output_bias && !c.no_ffn_bias && c.rope.theta == 5e5 && c.norm_eps == 1e-5);
    assert_true(aoei_query_width(&c) == 64 && aoei_key_width(&c) == 32);
    aoei_slot s;
    aoei_slot_describe(&c, aoei_layer_slot(1, AOEI_LW_K), &s);
    assert_string_equal(s.name, "layers.1.self_attn.k_proj.weight");
    assert_true(s.rows == 32 && s.cols == 32 && s.linear);
    aoei_slot_describe(&c, aoei_layer_slot(2, AOEI_LW_GATE_BIAS), &s);
    assert_string_equal(s.name, "layers.2.mlp.gate_proj.bias");
    aoei_slot_describe(&c, AOEI_W_FINAL_NORM, &s);
    assert_true(!strcmp(s.name, "norm.weight") && s.norm && !s.absent);
    aoei_slot_describe(&c, AOEI_W_POSITION, &s);
    assert_true(s.absent);
}

/* Tests both forms of config.json of NomicBERT: the keys of transformers, and the keys of published checkpoints. */
static void reads_nomic(void **state) {
    (void)state;
    aoei_encoder_config c;
    assert_int_equal(read_type(&c, "nomic_bert", "", NULL), 0);
    assert_true(c.gated && c.activation == AOEI_SILU && c.no_qkv_bias && c.no_output_bias && c.no_ffn_bias &&
                !c.pre_norm);
    assert_true(c.norm == AOEI_LAYERNORM && c.rope.theta == 1000 && c.token_types == 2 &&
                c.arch->max_length(&c) == 100);
    static const char published[] =
        "{\"model_type\": \"nomic_bert\", \"n_embd\": 24, \"n_head\": 3, \"n_layer\": 2, \"n_inner\": 300, "
        "\"n_positions\": "
        "8192, \"vocab_size\": 30522, \"pad_vocab_size_multiple\": 64, \"activation_function\": \"swiglu\", "
        "\"rotary_emb_fraction\": 1.0, \"rotary_emb_base\": 1000, \"rotary_scaling_factor\": null, "
        "\"max_trained_positions\": 2048, \"qkv_proj_bias\": false, \"mlp_fc1_bias\": false, \"mlp_fc2_bias\": false, "
        "\"rotary_emb_scale_base\": null, \"prenorm\": false}";
    static const struct {
        const char *key, *value, *fragment;
        int code;
    } cases[] = {
        {"prenorm", "false", NULL, 0},
        {"rotary_scaling_factor", "2", NULL, 0},
        {"mlp_fc2_bias", "true", NULL, 0},
        {"rotary_emb_fraction", "0.5", NULL, 0},
        {"rotary_scaling_factor", "0.5", "\"rotary_scaling_factor\" is 0.5", AOE_EFORMAT},
        {"prenorm", "true", "prenorm is true; this variant", AOE_EUNSUPPORTED},
        {"num_experts", "8", "num_experts is 8; this variant", AOE_EUNSUPPORTED},
        {"activation_function", "\"glu\"", "activation_function \"glu\" is not supported", AOE_EUNSUPPORTED},
        {"mlp_fc1_bias", "true", "mlp_fc1_bias true with mlp_fc2_bias false", AOE_EUNSUPPORTED},
        {"rotary_emb_fraction", "0.3", "rotary_emb_fraction 0.3 is not supported", AOE_EUNSUPPORTED},
        {"rotary_emb_fraction", "0", "rotary_emb_fraction 0 is not supported", AOE_EUNSUPPORTED},
        {"rotary_emb_fraction", "1.5", "rotary_emb_fraction 1.5 is not supported", AOE_EUNSUPPORTED},
        {"rotary_emb_base", "-1", "\"rotary_emb_base\" is -1; it must be at least 1", AOE_EFORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoe_error err = {0};
        json_t *root, *v;
        assert_int_equal(aoei_json_parse(&root, published, sizeof published - 1, "config.json", &err), 0);
        assert_int_equal(aoei_json_parse(&v, cases[i].value, strlen(cases[i].value), "value", &err), 0);
        json_object_set_new(root, cases[i].key, v);
        assert_int_equal(aoei_config_read(&c, root, "config.json", &err), cases[i].code);
        json_decref(root);
        if (cases[i].fragment)
            FRAGMENT(err, cases[i].fragment);
        else
            assert_true(c.hidden == 24 && c.heads == 3 && c.layers == 2 && c.intermediate == 512 &&
                        c.positions == 8192 && c.vocab == 30528 && c.gated && c.rope.theta == 1000 &&
                        c.no_up_bias == (i == 2) && c.no_ffn_bias == (i != 2) &&
                        c.rope.scaling == (i == 1 ? AOEI_ROPE_DYNAMIC : AOEI_ROPE_PLAIN) &&
                        c.rope.dims == (i == 3 ? 4 : 0));
    }
}

/* Tests config.json of GTE. The scaling "ntk" with factor f must become linear scaling. */
static void reads_gte(void **state) {
    (void)state;
    aoei_encoder_config c;
    aoe_error err;
    assert_int_equal(read_type(&c, "gte", "", NULL), 0);
    assert_true(c.gated && c.activation == AOEI_GELU && c.no_up_bias && !c.no_ffn_bias && !c.no_qkv_bias &&
                !c.pre_norm);
    assert_true(c.rope.theta == 160000 && c.token_types == 1 && c.arch->default_pooling == AOE_POOLING_CLS);
    assert_int_equal(
        read_type(&c, "new",
                  "\"position_embedding_type\": \"rope\", \"rope_theta\": 500, \"rope_scaling\": {\"type\": \"ntk\", "
                  "\"factor\": 16}, \"type_vocab_size\": 0",
                  NULL),
        0);
    assert_true(c.rope.scaling == AOEI_ROPE_LINEAR && c.rope.theta == 8000 && c.rope.factor == 2 && c.token_types == 0);
    assert_int_equal(c.arch->max_length(&c), 100); /* the scaling does not change the maximum length */
    static const struct {
        const char *more, *fragment;
        int code;
    } cases[] = {
        {"\"position_embedding_type\": \"absolute\"", "position_embedding_type \"absolute\" is not supported",
         AOE_EUNSUPPORTED},
        {"\"layer_norm_type\": \"rms_norm\"", "layer_norm_type \"rms_norm\" is not supported", AOE_EUNSUPPORTED},
        {"\"logn_attention_scale\": true", "logn_attention_scale is true", AOE_EUNSUPPORTED},
        {"\"rope_scaling\": {\"type\": \"ntk\", \"factor\": 2, \"mixed_b\": 0.5}", "\"mixed_b\" in rope_scaling",
         AOE_EUNSUPPORTED},
        {"\"rope_scaling\": {\"type\": \"ntk\", \"factor\": 0.5}", "the \"ntk\" factor is 0.5", AOE_EFORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(read_type(&c, "new", cases[i].more, &err), cases[i].code);
        FRAGMENT(err, cases[i].fragment);
    }
}

/* Tests config.json of DistilBERT and ELECTRA. */
static void reads_distilbert_and_electra(void **state) {
    (void)state;
    static const char distilbert[] =
        "{\"model_type\": \"distilbert\", \"dim\": 24, \"n_heads\": 3, \"n_layers\": 2, \"hidden_dim\": 48, "
        "\"vocab_size\": 16, "
        "\"max_position_embeddings\": 64, \"activation\": \"gelu_new\", \"dropout\": 0.25, "
        "\"attention_dropout\": 0.125}";
    aoei_encoder_config c;
    aoe_error err;
    assert_int_equal(read_text(&c, distilbert, NULL), 0);
    assert_true(c.hidden == 24 && c.heads == 3 && c.layers == 2 && c.intermediate == 48 && c.vocab == 16 &&
                c.positions == 64);
    assert_true(c.activation == AOEI_GELU_TANH && c.hidden_dropout == 0.25 && c.attention_dropout == 0.125);
    assert_true(c.token_types == 0 && c.norm_eps == 1e-12);
    assert_int_equal(read_text(&c, "{\"model_type\": \"distilbert\", \"activation\": \"tanh\"}", &err),
                     AOE_EUNSUPPORTED);
    FRAGMENT(err, "activation \"tanh\" is not supported");
    assert_int_equal(read_type(&c, "electra", "", NULL), 0);
    assert_true(c.embed_width == 128 && aoei_embed_width(&c) == 128);
    assert_int_equal(read_type(&c, "electra", "\"embedding_size\": 32", NULL), 0);
    assert_true(c.embed_width == 0 && aoei_embed_width(&c) == 32);
    assert_int_equal(read_type(&c, "electra", "\"embedding_size\": 0", &err), AOE_EFORMAT);
    FRAGMENT(err, "\"embedding_size\" is 0");
}

/* Tests config.json of ALBERT. The layers of a group must use the same weights. */
static void reads_albert(void **state) {
    (void)state;
    aoei_encoder_config c;
    aoe_error err;
    aoei_slot s;
    assert_int_equal(read_type(&c, "albert", "\"num_hidden_groups\": 2, \"embedding_size\": 12", NULL), 0);
    assert_true(c.layers == 3 && aoei_distinct_layers(&c) == 2 && c.embed_width == 12 &&
                c.activation == AOEI_GELU_TANH);
    assert_true(aoei_layer_group(&c, 0) == 0 && aoei_layer_group(&c, 1) == 0 && aoei_layer_group(&c, 2) == 1);
    assert_int_equal(aoei_slot_count(&c), aoei_layer_slot(2, 0));
    aoei_slot_describe(&c, aoei_layer_slot(1, AOEI_LW_UP), &s);
    assert_string_equal(s.name, "encoder.albert_layer_groups.1.albert_layers.0.ffn.weight");
    aoei_slot_describe(&c, AOEI_W_EMBED_PROJECTION, &s);
    assert_true(!strcmp(s.name, "encoder.embedding_hidden_mapping_in.weight") && s.rows == 32 && s.cols == 12 &&
                !s.absent);
    assert_int_equal(read_type(&c, "albert", "\"inner_group_num\": 2", &err), AOE_EUNSUPPORTED);
    FRAGMENT(err, "inner_group_num 2 is not supported (supported: 1)");
    assert_int_equal(read_type(&c, "albert", "\"num_hidden_groups\": 4", &err), AOE_EFORMAT);
    FRAGMENT(err, "\"num_hidden_groups\" is 4; it must be between 1 and 3");
}

static void reads_sliding_windows(void **state) {
    (void)state;
    aoei_encoder_config all;
    assert_int_equal(read_type(&all, "mistral", "\"num_key_value_heads\": null", NULL), 0);
    /* if num_key_value_heads is null, it equals num_attention_heads; if the key is missing, the default of the
     * architecture is used */
    assert_int_equal(aoei_kv_heads(&all), all.heads);
    static const struct {
        const char *type, *more;
        size_t window;
        unsigned layers; /* layers with a window, one bit per layer */
    } cases[] = {
        {"mistral", "", 4096, 7},
        {"mistral", "\"sliding_window\": null", 0, 0},
        {"mistral", "\"sliding_window\": 9", 9, 7},
        {"ministral",
         "\"sliding_window\": 9, \"layer_types\": [\"full_attention\", \"sliding_attention\", \"sliding_attention\"]",
         9, 6},
        {"ministral",
         "\"sliding_window\": 9, \"layer_types\": [\"sliding_attention\", \"full_attention\", \"sliding_attention\"]",
         9, 5},
        {"mistral", "\"sliding_window\": 9, \"is_causal\": false", 10, 7},
        {"qwen2",
         "\"num_key_value_heads\": 1, \"use_sliding_window\": true, \"sliding_window\": 9, \"is_causal\": false, "
         "\"layer_types\": [\"full_attention\", \"sliding_attention\", \"full_attention\"]",
         10, 2},
        {"qwen2", "\"num_key_value_heads\": 1", 0, 0},
        {"qwen2", "\"num_key_value_heads\": 1, \"use_sliding_window\": false, \"sliding_window\": 9", 0, 0},
        {"qwen2",
         "\"num_key_value_heads\": 1, \"use_sliding_window\": true, \"sliding_window\": 9, \"max_window_layers\": 2", 9,
         4},
        {"qwen2", "\"num_key_value_heads\": 1, \"use_sliding_window\": true, \"sliding_window\": null", 0, 0},
        {"llama", "\"sliding_window\": 9", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_encoder_config c, again;
        char more[512];
        snprintf(more, sizeof more, "%s%s%s", cases[i].more, *cases[i].more ? ", " : "",
                 strstr(cases[i].more, "num_key") ? "\"head_dim\": 8" : "\"num_key_value_heads\": 2");
        assert_int_equal(read_type(&c, cases[i].type, more, NULL), 0);
        assert_int_equal(c.window, cases[i].window);
        for (size_t l = 0; l < c.layers; l++)
            assert_int_equal(aoei_layer_window(&c, l), cases[i].layers >> l & 1 ? c.window : 0);
        assert_int_equal(c.causal, !strstr(cases[i].more, "is_causal"));
        assert_int_equal(c.no_qkv_bias, strcmp(cases[i].type, "qwen2") != 0);
        json_t *root = json_object();
        assert_int_equal(c.arch->write(&c, root), 0);
        assert_int_equal(aoei_config_read(&again, root, "config.json", NULL), 0);
        assert_memory_equal(&again, &c, sizeof c);
        json_decref(root);
    }
}

/* Tests the windows, rotary positions and factors of Gemma 3 and ModernBERT, in files of older and of newer versions of
 * transformers, and that a written file is read as the same configuration. */
static void reads_local_layers(void **state) {
    (void)state;
#define NESTED                                                                                                         \
    "\"rope_parameters\": {\"full_attention\": {\"rope_type\": \"linear\", \"factor\": 2, \"rope_theta\": 30}, "       \
    "\"sliding_attention\": {\"rope_type\": \"default\", \"rope_theta\": 20}}"
    static const struct {
        const char *type, *more;
        size_t window;
        unsigned layers; /* layers with a window, one bit per layer */
        double global, local;
        int causal, linear;
    } cases[] = {
        {"gemma3_text", "\"sliding_window\": 9", 9, 7, 1e6, 1e4, 1, 0},
        {"gemma3_text", "\"sliding_window\": 9, \"sliding_window_pattern\": 2", 9, 5, 1e6, 1e4, 1, 0},
        {"gemma3_text", "\"sliding_window\": 512, \"use_bidirectional_attention\": true", 257, 7, 1e6, 1e4, 0, 0},
        {"gemma3_text", "\"sliding_window\": 1, \"use_bidirectional_attention\": true", 1, 7, 1e6, 1e4, 0, 0},
        {"gemma3_text", "\"sliding_window\": 9, \"is_causal\": false", 10, 7, 1e6, 1e4, 0, 0},
        {"gemma3_text", "\"sliding_window\": 1073741824, \"is_causal\": false", ((size_t)1 << 29) + 1, 7, 1e6, 1e4, 0,
         0},
        {"gemma3_text", "\"rope_theta\": 10, \"rope_local_base_freq\": 5", 4096, 7, 10, 5, 1, 0},
        {"gemma3_text", "\"rope_theta\": 10, " NESTED, 4096, 7, 30, 20, 1, 1},
        {"modernbert", "", 65, 6, 160000, 10000, 0, 0},
        {"modernbert", "\"local_attention\": 10, \"global_attn_every_n_layers\": 2", 6, 2, 160000, 10000, 0, 0},
        {"modernbert", "\"layer_types\": [\"sliding_attention\", \"full_attention\", \"full_attention\"]", 65, 1,
         160000, 10000, 0, 0},
        {"modernbert", "\"global_rope_theta\": 10, \"local_rope_theta\": null", 65, 6, 10, 10, 0, 0},
        {"modernbert", "\"global_rope_theta\": null, \"local_rope_theta\": null, " NESTED, 65, 6, 30, 20, 0, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_encoder_config c, again;
        assert_int_equal(read_type(&c, cases[i].type, cases[i].more, NULL), 0);
        assert_true(c.window == cases[i].window && c.rope.theta == cases[i].global &&
                    c.rope_local.theta == cases[i].local);
        assert_true(c.causal == cases[i].causal && (c.rope.scaling == AOEI_ROPE_LINEAR) == cases[i].linear);
        assert_int_equal(c.rope_local.scaling, AOEI_ROPE_PLAIN);
        for (size_t l = 0; l < c.layers; l++)
            assert_int_equal(aoei_layer_window(&c, l), cases[i].layers >> l & 1 ? c.window : 0);
        json_t *root = json_object();
        assert_int_equal(c.arch->write(&c, root), 0);
        assert_int_equal(aoei_config_read(&again, root, "config.json", NULL), 0);
        assert_memory_equal(&again, &c, sizeof c);
        json_decref(root);
    }
    aoei_encoder_config c;
    aoei_slot s;
    assert_int_equal(read_type(&c, "gemma3_text", "\"query_pre_attn_scalar\": 100", NULL), 0);
    assert_true(c.attention_scale == 0.1 && c.embed_scale == sqrt(32) && aoei_head_dim(&c) == 256 &&
                aoei_kv_heads(&c) == 4);
    aoei_slot_describe(&c, aoei_layer_slot(1, AOEI_LW_NORM3), &s);
    assert_true(!strcmp(s.name, "layers.1.post_attention_layernorm.weight") && !s.norm && s.cols == 32);
    aoei_slot_describe(&c, aoei_layer_slot(1, AOEI_LW_K_NORM), &s);
    assert_true(!strcmp(s.name, "layers.1.self_attn.k_norm.weight") && s.cols == 256);
    assert_int_equal(read_type(&c, "modernbert", "", NULL), 0);
    aoei_slot_describe(&c, aoei_layer_slot(0, AOEI_LW_NORM1), &s);
    assert_true(s.absent);
    aoei_slot_describe(&c, aoei_layer_slot(1, AOEI_LW_UP), &s);
    assert_true(!strcmp(s.name, "layers.1.mlp.Wi.weight") && s.first == 12 && s.stored_rows == 24);
}

/* Tests that query_pre_attn_scalar is written so that the same attention scale is read, and as an integer if it is
 * one. */
static void writes_attention_scale(void **state) {
    (void)state;
    static const char *const scalars[] = {"1",      "168",    "1073741823", "0.3333333", "256.0000000001",
                                          "2.5e15", "1e-320", "1e308"};
    for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
        aoei_encoder_config c, again;
        char more[64];
        snprintf(more, sizeof more, "\"query_pre_attn_scalar\": %s", scalars[i]);
        assert_int_equal(read_type(&c, "gemma3_text", more, NULL), 0);
        json_t *root = json_object();
        assert_int_equal(c.arch->write(&c, root), 0);
        assert_int_equal(json_is_integer(json_object_get(root, "query_pre_attn_scalar")), i < 3);
        assert_int_equal(aoei_config_read(&again, root, "config.json", NULL), 0);
        assert_memory_equal(&again, &c, sizeof c);
        json_decref(root);
    }
}

/* Tests the older key "rope_scaling" and the newer key "rope_parameters". */
static void reads_rope_scaling(void **state) {
    (void)state;
    static const struct {
        const char *more;
        aoei_rope rope;
        size_t max_length;
    } cases[] = {
        {"\"rope_scaling\": null", {.theta = 1e4}, 100},
        {"\"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": 7.5}", {.theta = 7.5}, 100},
        {"\"rope_scaling\": {\"type\": \"linear\", \"factor\": 2.5}",
         {.theta = 1e4, .scaling = AOEI_ROPE_LINEAR, .factor = 2.5, .positions = 100},
         250},
        {"\"rope_theta\": 20, \"rope_scaling\": {\"rope_type\": \"dynamic\", \"factor\": 4}",
         {.theta = 20, .scaling = AOEI_ROPE_DYNAMIC, .factor = 4, .positions = 100},
         400},
        {"\"rope_parameters\": {\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 1, "
         "\"high_freq_factor\": 4, "
         "\"original_max_position_embeddings\": 32, \"rope_theta\": 500000}",
         {.theta = 5e5, .scaling = AOEI_ROPE_LLAMA3, .factor = 8, .low = 1, .high = 4, .positions = 32},
         100},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_encoder_config c;
        const aoei_rope *want = &cases[i].rope;
        assert_int_equal(read_type(&c, "llama", cases[i].more, NULL), 0);
        assert_true(c.rope.theta == want->theta && c.rope.scaling == want->scaling && c.rope.factor == want->factor &&
                    c.rope.low == want->low && c.rope.high == want->high && c.rope.positions == want->positions);
        assert_int_equal(c.arch->max_length(&c), cases[i].max_length);
    }
}

/* Tests the parameters of YaRN: the default magnitude is 0.1 ln(factor) + 1, and a written file is read again as it
 * was. */
static void reads_yarn(void **state) {
    (void)state;
    static const struct {
        const char *more;
        double factor, high, low, magnitude;
        int fractional;
    } cases[] = {
        {"\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4, \"original_max_position_embeddings\": 25}", 4, 32, 1,
         1.1386294361119891, 0},
        {"\"rope_scaling\": {\"rope_type\": \"yarn\", \"original_max_position_embeddings\": 50, \"beta_fast\": 8, "
         "\"beta_slow\": 2, "
         "\"attention_factor\": 1.5, \"truncate\": false}",
         2, 8, 2, 1.5, 1},
        {"\"rope_parameters\": {\"rope_type\": \"yarn\", \"factor\": 1, \"rope_theta\": 50}", 1, 32, 1, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_encoder_config c, again;
        assert_int_equal(read_type(&c, "llama", cases[i].more, NULL), 0);
        assert_true(c.rope.scaling == AOEI_ROPE_YARN && c.rope.factor == cases[i].factor &&
                    c.rope.high == cases[i].high && c.rope.low == cases[i].low &&
                    fabs(c.rope.magnitude - cases[i].magnitude) < 1e-15 && c.rope.fractional == cases[i].fractional &&
                    c.arch->max_length(&c) == 100);
        json_t *root = json_object();
        assert_int_equal(c.arch->write(&c, root), 0);
        assert_int_equal(aoei_config_read(&again, root, "config.json", NULL), 0);
        assert_memory_equal(&again, &c, sizeof c);
        json_decref(root);
    }
}

/* Tests the parameters of LongRoPE: the default magnitude is sqrt(1 + ln(factor) /
 * ln(original_max_position_embeddings)), and a written file is read again as it was. */
static void reads_longrope(void **state) {
    (void)state;
#define FACTORS "\"short_factor\": [1, 1.5, 2, 3], \"long_factor\": [2, 4, 8, 0.1]"
    static const struct {
        const char *more;
        double magnitude;
        size_t positions;
    } cases[] = {
        {"\"rope_scaling\": {\"type\": \"longrope\", \"original_max_position_embeddings\": 25, " FACTORS "}",
         1.1961089240003993, 25},
        {"\"rope_parameters\": {\"rope_type\": \"longrope\", \"factor\": 8, "
         "\"original_max_position_embeddings\": 50, " FACTORS "}",
         1.2375586694806326, 50},
        {"\"rope_parameters\": {\"rope_type\": \"longrope\", \"attention_factor\": 1.5, \"factor\": 8, " FACTORS "}",
         1.5, 100},
        {"\"rope_parameters\": {\"rope_type\": \"longrope\", \"factor\": null, " FACTORS "}", 1, 100},
        {"\"rope_scaling\": {\"rope_type\": \"longrope\", " FACTORS "}, \"rope_parameters\": {\"rope_theta\": 5}", 1,
         100},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_encoder_config c, again;
        assert_int_equal(read_type(&c, "llama", cases[i].more, NULL), 0);
        assert_true(c.rope.scaling == AOEI_ROPE_LONG && c.rope.theta == 1e4 && c.rope.positions == cases[i].positions &&
                    fabs(c.rope.magnitude - cases[i].magnitude) < 1e-15 && c.arch->max_length(&c) == 100);
        assert_true(c.rope.n_factors == 4 && c.rope.short_factor[1] == 1.5f && c.rope.long_factor[3] == 0.1f);
        json_t *root = json_object();
        assert_int_equal(c.arch->write(&c, root), 0);
        assert_int_equal(aoei_config_read(&again, root, "config.json", NULL), 0);
        assert_memory_equal(&again, &c, sizeof c);
        json_decref(root);
    }
}

/* Tests that is_decoder makes the attention of BERT and RoBERTa causal, and is written. */
static void reads_decoders(void **state) {
    (void)state;
    static const char *const types[] = {"bert", "roberta"};
    for (size_t i = 0; i < 2; i++) {
        aoei_encoder_config c, again;
        aoe_error err;
        assert_int_equal(read_type(&c, types[i], "\"is_decoder\": true", NULL), 0);
        assert_true(c.causal && c.bidirectional_from == AOEI_NO_LAYER);
        json_t *root = json_object();
        assert_int_equal(c.arch->write(&c, root), 0);
        assert_int_equal(aoei_config_read(&again, root, "config.json", NULL), 0);
        assert_memory_equal(&again, &c, sizeof c);
        json_decref(root);
        assert_int_equal(read_type(&c, types[i], "\"is_decoder\": false, \"is_causal\": false", NULL), 0);
        assert_true(!c.causal);
        assert_int_equal(read_type(&c, types[i], "\"is_decoder\": true, \"is_causal\": true", NULL), 0);
        assert_int_equal(read_type(&c, types[i], "\"is_decoder\": true, \"is_causal\": false", &err), AOE_EUNSUPPORTED);
        FRAGMENT(err, "is_causal is false");
    }
}

static void rejects_values_for_other_architectures(void **state) {
    (void)state;
    static const struct {
        const char *type, *more, *fragment;
        int code;
    } cases[] = {
        {"roberta", "\"pad_token_id\": 200", "\"max_position_embeddings\" is 100; it must be between 202 and",
         AOE_EFORMAT},
        {"roberta", "\"hidden_act\": \"tanh\"", "hidden_act \"tanh\" is not supported (supported: gelu,",
         AOE_EUNSUPPORTED},
        {"llama", "\"num_key_value_heads\": 3", "num_attention_heads 4 is not a multiple of num_key_value_heads 3",
         AOE_EFORMAT},
        {"llama", "\"num_key_value_heads\": 8", "\"num_key_value_heads\" is 8; it must be between 1 and 4",
         AOE_EFORMAT},
        {"llama", "\"num_key_value_heads\": 0", "\"num_key_value_heads\" is 0", AOE_EFORMAT},
        {"llama", "\"head_dim\": 0", "\"head_dim\" is 0", AOE_EFORMAT},
        {"llama", "\"head_dim\": 7", "\"head_dim\" is 7; it must be even", AOE_EFORMAT},
        {"llama", "\"rms_norm_eps\": 0", "\"rms_norm_eps\" is 0", AOE_EFORMAT},
        {"llama", "\"attention_dropout\": 1", "\"attention_dropout\" is 1", AOE_EFORMAT},
        {"llama", "\"rope_theta\": 0", "\"rope_theta\" is 0; it must be at least 1", AOE_EFORMAT},
        {"llama", "\"partial_rotary_factor\": 0.5, \"rope_scaling\": {\"type\": \"linear\", \"factor\": 2}",
         "partial_rotary_factor 0.5 with a scaling of rotary positions is not supported", AOE_EUNSUPPORTED},
        {"llama", "\"rope_scaling\": {\"type\": \"longrope\"}",
         "\"short_factor\" of rope_type \"longrope\" is not a list of 1 to 256 numbers", AOE_EFORMAT},
        {"llama", "\"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [1, \"x\"]}",
         "factor 1 of \"short_factor\" is not a number above 0", AOE_EFORMAT},
        {"llama", "\"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [1, 1], \"long_factor\": [1, 0]}",
         "factor 1 of \"long_factor\" is not a number above 0", AOE_EFORMAT},
        {"llama", "\"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [1, 1], \"long_factor\": [1]}",
         "lists short_factor and long_factor of equal length", AOE_EFORMAT},
        {"llama", "\"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [1, 1], \"long_factor\": [1, 1]}",
         "have 2 values, but a head has 4 pairs", AOE_EFORMAT},
        {"llama", "\"rope_scaling\": 3", "\"rope_scaling\" is not an object", AOE_EFORMAT},
        {"llama", "\"rope_scaling\": {\"type\": \"mrope\", \"factor\": 4}", "rope_type \"mrope\" is not supported",
         AOE_EUNSUPPORTED},
        {"llama", "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 0.5}", "rope_type \"yarn\" requires",
         AOE_EFORMAT},
        {"llama", "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 2, \"beta_fast\": 1, \"beta_slow\": 3}",
         "rope_type \"yarn\" requires", AOE_EFORMAT},
        {"llama", "\"rope_theta\": 1, \"rope_scaling\": {\"type\": \"yarn\", \"factor\": 2}",
         "rope_type \"yarn\" requires", AOE_EFORMAT},
        {"llama", "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 8, \"mscale\": -9, \"mscale_all_dim\": 1}",
         "mscale -9 and mscale_all_dim 1", AOE_EFORMAT},
        {"llama", "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 1e9, \"mscale\": 1e308, \"mscale_all_dim\": 1}",
         "mscale 1e+308 and mscale_all_dim 1", AOE_EFORMAT},
        {"llama", "\"rope_scaling\": {\"factor\": 4}", "\"factor\" but no \"rope_type\"", AOE_EUNSUPPORTED},
        {"llama", "\"rope_parameters\": {\"full_attention\": {\"rope_type\": \"linear\"}}", "\"full_attention\" but no",
         AOE_EUNSUPPORTED},
        {"llama", "\"rope_scaling\": {\"type\": \"linear\"}",
         "\"factor\" in rope_scaling or rope_parameters is missing or 0", AOE_EFORMAT},
        {"llama",
         "\"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8, \"low_freq_factor\": 4, "
         "\"high_freq_factor\": 4, "
         "\"original_max_position_embeddings\": 32}",
         "high_freq_factor above low_freq_factor", AOE_EFORMAT},
        {"llama", "\"rope_scaling\": {\"type\": \"dynamic\", \"factor\": 2, \"original_max_position_embeddings\": 0}",
         "\"original_max_position_embeddings\" is 0", AOE_EFORMAT},
        {"mistral",
         "\"num_key_value_heads\": 2, \"layer_types\": [\"sliding_attention\", \"full_attention\", \"full_attention\"]",
         "layer_types of a mistral model contradicts sliding_window", AOE_EUNSUPPORTED},
        {"mistral", "\"num_key_value_heads\": 2, \"sliding_window\": 0", "\"sliding_window\" is 0", AOE_EFORMAT},
        {"mistral", "\"num_key_value_heads\": 2, \"is_causal\": null", "is_causal is null", AOE_EUNSUPPORTED},
        {"gemma3_text", "\"is_causal\": null", "is_causal is null", AOE_EUNSUPPORTED},
        {"qwen3",
         "\"num_key_value_heads\": 2, \"layer_types\": [\"sliding_attention\", \"full_attention\", \"full_attention\"]",
         "layer_types has sliding_attention, but use_sliding_window is not true", AOE_EUNSUPPORTED},
        {"qwen3", "\"num_key_value_heads\": 2, \"layer_types\": [\"full_attention\"]", "\"layer_types\" is not a list",
         AOE_EFORMAT},
        {"modernbert", "\"embedding_dropout\": 1", "\"embedding_dropout\" is 1", AOE_EFORMAT},
        {"gemma3_text", "\"attn_logit_softcapping\": 50", "attn_logit_softcapping 50 is not supported",
         AOE_EUNSUPPORTED},
        {"gemma3_text", "\"attn_logit_softcapping\": 0", "attn_logit_softcapping 0 is not supported", AOE_EUNSUPPORTED},
        {"deberta-v2", "\"relative_attention\": true, \"attention_head_size\": 0", "\"attention_head_size\" is 0",
         AOE_EFORMAT},
        {"nomic_bert", "\"head_dim\": 0", "\"head_dim\" is 0", AOE_EFORMAT},
        {"gemma3_text", "\"use_bidirectional_attention\": \"all\"",
         "\"use_bidirectional_attention\" is not true or false", AOE_EFORMAT},
        {"gemma3_text", "\"sliding_window_pattern\": 0", "\"sliding_window_pattern\" is 0", AOE_EFORMAT},
        {"gemma3_text",
         "\"sliding_window\": null, \"layer_types\": [\"full_attention\", \"full_attention\", \"sliding_attention\"]",
         "the size of the window is missing", AOE_EFORMAT},
        {"gemma3_text", "\"query_pre_attn_scalar\": 0", "\"query_pre_attn_scalar\" is 0", AOE_EFORMAT},
        {"gemma3_text", "\"rope_parameters\": {\"rope_type\": \"default\"}",
         "rope_parameters has the key \"rope_type\"", AOE_EUNSUPPORTED},
        {"gemma3_text", "\"rope_parameters\": {\"full_attention\": 3}", "\"full_attention\" is not an object",
         AOE_EFORMAT},
        {"modernbert", "\"global_attn_every_n_layers\": 0", "\"global_attn_every_n_layers\" is 0", AOE_EFORMAT},
        {"modernbert", "\"global_rope_theta\": null", "\"global_rope_theta\" is null and rope_parameters is missing",
         AOE_EFORMAT},
        {"modernbert", "\"local_rope_theta\": 0.5", "\"local_rope_theta\" is 0.5; it must be at least 1", AOE_EFORMAT},
        {"modernbert",
         "\"global_attn_every_n_layers\": 3, \"layer_types\": [\"full_attention\", \"full_attention\", "
         "\"sliding_attention\"]",
         "layer_types contradicts global_attn_every_n_layers 3", AOE_EFORMAT},
        {"modernbert", "\"hidden_activation\": \"prelu\"", "hidden_activation \"prelu\" is not supported",
         AOE_EUNSUPPORTED},
        {"mistral", "\"num_key_value_heads\": 2, \"layer_types\": [\"full_attention\"]",
         "\"layer_types\" is not a list of 3 names", AOE_EFORMAT},
        {"mistral",
         "\"num_key_value_heads\": 2, \"layer_types\": [\"sliding_attention\", \"linear_attention\", "
         "\"sliding_attention\"]",
         "layer_types \"linear_attention\" of layer 1 is not supported", AOE_EUNSUPPORTED},
        {"qwen2", "", "\"num_key_value_heads\" is 32; it must be between 1 and 4", AOE_EFORMAT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_encoder_config c;
        aoe_error err;
        assert_int_equal(read_type(&c, cases[i].type, cases[i].more, &err), cases[i].code);
        FRAGMENT(err, cases[i].fragment);
    }
}

/* Tests the number of the random stream from which each weight is initialized. The number must not change when a later
 * version of the library has additional slots (kinds of weights), because a seed must always give equal weights. */
static void random_streams_are_stable(void **state) {
    (void)state;
    aoei_encoder_config c;
    test_model_config(&c);
    c.mlm_head = 1;
    assert_int_equal(aoei_slot_stream(&c, AOEI_W_EMBED_NORM_BIAS), 4);
    assert_int_equal(aoei_slot_stream(&c, aoei_layer_slot(0, AOEI_LW_Q)), 5);
    assert_int_equal(aoei_slot_stream(&c, aoei_layer_slot(1, AOEI_LW_NORM2_BIAS)), 5 + 31);
    assert_int_equal(aoei_slot_stream(&c, aoei_head_slot(&c, AOEI_HW_DECODER_BIAS)), 5 + 32 + 4);
    enum { LATER = 1 << 28, OUTER = 7, A_LAYER = 32, ADAPTERS = 18 };
    assert_int_equal(aoei_slot_stream(&c, AOEI_W_FINAL_NORM), LATER + 5);
    assert_int_equal(aoei_slot_stream(&c, aoei_layer_slot(1, AOEI_LW_GATE)), LATER + OUTER + A_LAYER + 16);
    assert_int_equal(aoei_slot_stream(&c, aoei_layer_slot(1, AOEI_LW_ADAPTERS + 3)),
                     LATER + OUTER + A_LAYER + ADAPTERS + 3);
    for (size_t a = 0; a < aoei_slot_count(&c); a++)
        for (size_t b = 0; b < a; b++)
            assert_true(aoei_slot_stream(&c, a) != aoei_slot_stream(&c, b));
}

static void lists_the_weights(void **state) {
    (void)state;
    aoei_encoder_config c;
    aoei_slot s;
    test_model_config(&c);
    /* the count includes the slots of adapters, although this model has no adapters */
    assert_int_equal(aoei_slot_count(&c), AOEI_W_LAYERS + 2 * AOEI_LW_COUNT);
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

static void lists_the_adapters(void **state) {
    (void)state;
    aoei_encoder_config c;
    aoei_slot s;
    test_model_config(&c);
    const size_t down = AOEI_LW_ADAPTERS + 2 * aoei_adapter_index(AOEI_LW_DOWN);
    aoei_slot_describe(&c, aoei_layer_slot(1, down), &s);
    assert_true(s.absent && !s.frozen);
    c.lora = (aoei_lora){.r = 3, .alpha = 6, .targets = 1u << aoei_adapter_index(AOEI_LW_DOWN)};
    aoei_slot_describe(&c, aoei_layer_slot(1, down), &s);
    assert_string_equal(s.name, "encoder.layer.1.output.dense.lora_A.weight");
    assert_true(!s.absent && !s.frozen && s.decay && s.linear && s.rows == 3 && s.cols == 12);
    aoei_slot_describe(&c, aoei_layer_slot(0, down + 1), &s);
    assert_string_equal(s.name, "encoder.layer.0.output.dense.lora_B.weight");
    assert_true(!s.absent && s.rows == 8 && s.cols == 3);
    aoei_slot_describe(&c, aoei_layer_slot(0, AOEI_LW_ADAPTERS), &s);
    assert_true(s.absent);
    aoei_slot_describe(&c, aoei_layer_slot(0, AOEI_LW_DOWN), &s);
    assert_true(!s.absent && s.frozen);
}

static void counts_the_parameters(void **state) {
    (void)state;
    aoe_shape s = {.struct_size = sizeof s};
    assert_int_equal(aoe_shape_named(&s, "bert-base", NULL), 0);
    aoei_encoder_config c = {.arch = &aoei_arch_bert,
                             .hidden = s.hidden,
                             .layers = s.layers,
                             .heads = s.heads,
                             .intermediate = s.intermediate,
                             .vocab = s.vocab,
                             .positions = s.positions,
                             .token_types = 2};
    /* the published number of parameters of BertModel is 109,482,240, which includes the pooler (768 * 768 + 768) */
    assert_int_equal(aoei_parameter_count(&c), 109482240 - 590592);
    static const struct {
        const char *name;
        /* published number of parameters, without the parameters of the pooler and of an untied output head */
        size_t parameters;
    } others[] = {{"roberta-base", 124645632 - 590592},
                  {"llama2-7b", 6738415616 - 131072000},
                  {"tinyllama-1.1b", 1100048384 - 65536000},
                  {"qwen2.5-0.5b", 494032768}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        assert_int_equal(aoe_shape_named(&s, others[i].name, NULL), 0);
        assert_int_equal(aoei_shape_config(&c, &s, NULL), 0);
        assert_int_equal(aoei_parameter_count(&c), others[i].parameters);
    }
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

static void finds_the_named_shapes(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t hidden, layers, heads, intermediate, vocab, positions;
    } cases[] = {
        {"bert-base", 768, 12, 12, 3072, 30522, 512},        {"bert-large", 1024, 24, 16, 4096, 30522, 512},
        {"bert-small", 512, 4, 8, 2048, 30522, 512},         {"bert-mini", 256, 4, 4, 1024, 30522, 512},
        {"bert-tiny", 128, 2, 2, 512, 30522, 512},           {"minilm-l6", 384, 6, 12, 1536, 30522, 512},
        {"minilm-l12", 384, 12, 12, 1536, 30522, 512},       {"aoe-mini", 256, 3, 4, 1024, 12000, 128},
        {"roberta-base", 768, 12, 12, 3072, 50265, 514},     {"llama2-7b", 4096, 32, 32, 11008, 32000, 4096},
        {"tinyllama-1.1b", 2048, 22, 32, 5632, 32000, 2048}, {"qwen2.5-0.5b", 896, 24, 14, 4864, 151936, 32768}};
    aoe_shape s = {.struct_size = sizeof s};
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
        cmocka_unit_test(uses_defaults_for_missing_keys),
        cmocka_unit_test(reads_and_writes_activations),
        cmocka_unit_test(rejects_values_for_bert),
        cmocka_unit_test(reads_roberta),
        cmocka_unit_test(reads_mpnet),
        cmocka_unit_test(reads_jina_bert),
        cmocka_unit_test(reads_deberta),
        cmocka_unit_test(reads_llama),
        cmocka_unit_test(reads_nomic),
        cmocka_unit_test(reads_gte),
        cmocka_unit_test(reads_distilbert_and_electra),
        cmocka_unit_test(reads_albert),
        cmocka_unit_test(reads_sliding_windows),
        cmocka_unit_test(reads_local_layers),
        cmocka_unit_test(writes_attention_scale),
        cmocka_unit_test(reads_yarn),
        cmocka_unit_test(reads_longrope),
        cmocka_unit_test(reads_decoders),
        cmocka_unit_test(reads_rope_scaling),
        cmocka_unit_test(rejects_values_for_other_architectures),
        cmocka_unit_test(random_streams_are_stable),
        cmocka_unit_test(lists_the_weights),
        cmocka_unit_test(lists_the_adapters),
        cmocka_unit_test(counts_the_parameters),
        cmocka_unit_test(writes_what_it_reads),
        cmocka_unit_test(finds_the_named_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
