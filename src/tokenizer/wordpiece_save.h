/* SPDX-License-Identifier: MIT
 * Saves the vocabulary of a WordPiece trainer.
 */
#pragma once

#include "tokenizer/wordpiece_trainer.h"

/* Writes vocab.txt, tokenizer.json, tokenizer_config.json and special_tokens_map.json into dir, which must exist.
 * Errors: AOE_EARG if the vocabulary is not trained; AOE_ENOMEM; AOE_EIO or another error if a file cannot be
 * written. */
int aoei_wordpiece_save(const aoei_wordpiece_trainer *tr, const char *dir, aoe_error *err);
