/* SPDX-License-Identifier: MIT
 * config.json on hostile input. What is accepted must describe weights whose
 * sizes can be multiplied and added, and must survive being written and read.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/json.h"
#include "encoder/config.h"

/* The sum of all weights, checked. */
static void check_sizes(const aoei_encoder_config *c) {
    size_t total = 0, n;
    for (size_t i = 0; i < aoei_slot_count(c); i++) {
        aoei_slot slot;
        if (aoei_slot_describe(c, i, &slot) || (!slot.absent && (!*slot.name || !slot.rows || !slot.cols)))
            abort();
        if (!slot.absent && (aoei_mul_size(slot.rows, slot.cols, &n) || aoei_add_size(total, n, &total)))
            abort();
    }
    if (aoei_mul_size(total, 64, &n) || total != aoei_parameter_count(c))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_t *root = NULL, *again = json_object();
    aoei_encoder_config c, read_back;
    aoe_error err;
    if (aoei_json_parse(&root, (const char *)data, size, "fuzz", NULL) == 0) {
        int rc = aoei_config_read(&c, root, "fuzz", &err);
        if (rc && (err.code != rc || !*err.message))
            abort();
        if (!rc) {
            check_sizes(&c);
            if (c.arch->write(&c, again) || aoei_config_read(&read_back, again, "fuzz", NULL) ||
                memcmp(&c, &read_back, sizeof c))
                abort();
        }
    }
    json_decref(root);
    json_decref(again);
    return 0;
}

#ifndef AOE_LIBFUZZER
#define SIZES                                                                                                                   \
    "\"hidden_size\": 8, \"num_attention_heads\": 2, \"intermediate_size\": 12, \"num_hidden_layers\": 2, \"vocab_size\": 16, " \
    "\"max_position_embeddings\": 10"
int main(void) {
    static const aoei_fuzz_seed seeds[] = {
        AOEI_FUZZ_SEED("{\"model_type\": \"bert\", " SIZES "}"),
        AOEI_FUZZ_SEED(
            "{\"model_type\": \"bert\", \"type_vocab_size\": 0, \"layer_norm_eps\": 1e-12, \"hidden_act\": \"gelu\", "
            "\"hidden_dropout_prob\": 0.1, \"attention_probs_dropout_prob\": 0.0, \"position_embedding_type\": null, "
            "\"is_decoder\": false, " SIZES "}"),
        AOEI_FUZZ_SEED("{\"model_type\": \"bert\", \"hidden_act\": \"relu\", " SIZES "}"),
        AOEI_FUZZ_SEED("{\"model_type\": \"roberta\", \"pad_token_id\": 1, \"type_vocab_size\": 1, " SIZES "}"),
        AOEI_FUZZ_SEED(
            "{\"model_type\": \"llama\", \"num_key_value_heads\": 1, \"head_dim\": 4, \"rms_norm_eps\": 1e-5, "
            "\"rope_theta\": 5e5, \"rope_scaling\": {\"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": 1.0, "
            "\"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 8192}, \"attention_bias\": true, " SIZES "}"),
        AOEI_FUZZ_SEED(
            "{\"model_type\": \"mistral\", \"num_key_value_heads\": 2, \"sliding_window\": 6, \"layer_types\": "
            "[\"full_attention\", \"sliding_attention\"], \"rope_parameters\": {\"rope_type\": \"linear\", \"factor\": "
            "2, \"rope_theta\": 1e4}, " SIZES "}"),
        AOEI_FUZZ_SEED(
            "{\"model_type\": \"qwen2\", \"num_key_value_heads\": 1, \"use_sliding_window\": true, \"sliding_window\": "
            "6, \"max_window_layers\": 1, \"rope_scaling\": {\"type\": \"dynamic\", \"factor\": 2.0}, " SIZES "}"),
        AOEI_FUZZ_SEED(
            "{\"model_type\": \"ran\", \"head_size\": 6, \"window_size\": 16, \"min_window_size\": 4, \"norm_variant\": "
            "\"langml\", \"cell_pooling\": \"last\", \"memory_review\": true, \"dropout\": 0.2, \"layer_norm_eps\": 1e-7, " SIZES
            "}"),
        AOEI_FUZZ_SEED("{\"model_type\": \"model2vec\", \"hidden_size\": 64, \"vocab_size\": 100, \"normalize\": true}"),
    };
    aoei_json_init();
    return aoei_fuzz_main(LLVMFuzzerTestOneInput, seeds, sizeof seeds / sizeof *seeds);
}
#endif
