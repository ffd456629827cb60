/* SPDX-License-Identifier: MIT
 * The BERT architecture, and members of aoei_arch (arch.h) that RoBERTa also uses.
 */
#pragma once

#include "encoder/arch.h"

void aoei_bert_defaults(aoei_encoder_config *c);
/* Reads the keys hidden_act, the sizes, layer_norm_eps and the dropout probabilities. */
int aoei_bert_read_sizes(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err);
/* Reads all keys of BERT. is_decoder must not be true. */
int aoei_bert_read(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err);
/* Reads all keys of BERT. If is_decoder is true, attention is causal. */
int aoei_bert_read_causal(aoei_encoder_config *c, const json_t *config, const char *file, aoe_error *err);
int aoei_bert_write(const aoei_encoder_config *c, json_t *config);
void aoei_bert_name(char *out, size_t size, aoei_slot_group group, size_t kind, size_t layer);
size_t aoei_bert_max_length(const aoei_encoder_config *c);
