/* SPDX-License-Identifier: MIT
 * Reads decoders from tokenizer.json, and builds the decoders of tokenizers without this file.
 */
#pragma once

#include <jansson.h>

#include "tokenizer/decoder.h"

/* Reads the "decoder" section of tokenizer.json into a zeroed decoder. If `section` is NULL or JSON null, there is no
 * decoder. Texts can be encoded without a decoder, so an unknown type and a wrong value are no errors of this function:
 * the error, which names the file, is stored in d->reason. Errors: AOE_ENOMEM. */
int aoei_token_decoder_read(aoei_token_decoder *d, const json_t *section, const char *file, aoe_error *err);
/* Appends the decoder WordPiece with the prefix "##", or the decoder ByteLevel. Errors: AOE_ENOMEM. */
int aoei_token_decoder_add_wordpiece(aoei_token_decoder *d, aoe_error *err);
int aoei_token_decoder_add_byte_level(aoei_token_decoder *d, aoe_error *err);
