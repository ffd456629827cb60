/* SPDX-License-Identifier: MIT
 *
 * aoe_tokenizer.h: token ids of texts and of text pairs, and the texts of token ids.
 */
#ifndef AOE_TOKENIZER_H
#define AOE_TOKENIZER_H

#include "aoe.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tokenizer. Its results never change, and several threads may use it at the same time. */
typedef struct aoe_tokenizer aoe_tokenizer;

typedef struct aoe_encode_options {
    size_t struct_size; /* set by aoe_encode_options_defaults */
    size_t max_length;  /* maximum tokens per text, special tokens included; 0 (default): no truncation */
    const char *prompt; /* prompt template, in which {text} stands for the text; NULL (default): no prompt. Truncation
                           shortens the text, never the prompt */
    int no_special_tokens; /* 1: do not add special tokens; default 0 */
    int drop_unknown;      /* 1: drop unknown tokens, so that the result may be empty; default 0 */
    int lowercase; /* 1: lowercase texts before they are normalized, as do_lower_case of sentence-transformers does;
                      special tokens in texts are not changed; default 0 */
    /* 1: render each text with the chat template of the model, as the message of a user, and encode the result without
     * special tokens, as sentence-transformers does for models whose modality_config contains "message". The prompt is
     * then the system message and must end with {text}; a pair has one message of the role "query" and one of the role
     * "document". Truncation keeps the end of the template, unless the model sets restore_suffix to false. Default 0;
     * requires a model directory for which aoe_encode_options_of sets 1. */
    int chat_template;
} aoe_encode_options;

AOE_OPTIONS(aoe_encode_options);

typedef struct aoe_ids {
    int32_t *id;     /* [n] token ids, owned by this struct; aoe_ids_free frees them */
    size_t n;        /* number of tokens */
    size_t capacity; /* allocated elements of id */
    int truncated;   /* 1: the text was truncated to max_length */
    uint8_t *type;   /* [n] token types, which aoe_tokenizer_encode_pair sets; owned by this struct; NULL: all types are
                        0 */
} aoe_ids;

/* The part of a text from which a token comes. */
typedef struct aoe_token_span {
    size_t start, stop;           /* the characters (code points) [start, stop) of the text */
    size_t start_byte, stop_byte; /* the same range in bytes */
    int special;                  /* 1: a special token that was added to the text, or a token of the prompt; the ranges
                                     are then empty and begin at 0 */
} aoe_token_span;

typedef struct aoe_token_spans {
    aoe_token_span *span; /* [n], owned by this struct; aoe_token_spans_free frees it */
    size_t n;             /* number of tokens */
    size_t capacity;      /* allocated elements of span */
} aoe_token_spans;

/* The text of token ids. */
typedef struct aoe_decoded {
    char *text;     /* [len] UTF-8, owned by this struct, followed by a NUL; aoe_decoded_free frees it */
    size_t len;     /* length in bytes; the text may contain NUL characters */
    size_t unknown; /* number of ids that no token has; they were left out */
} aoe_decoded;

/* Opens the tokenizer of the model directory `dir`, or of the default model if dir is NULL. The directory must contain
 * tokenizer.json, or vocab.txt with tokenizer_config.json, or vocab.json with merges.txt. Errors: AOE_ENOENT,
 * AOE_EFORMAT, AOE_EUNSUPPORTED (names the feature, for example a construct of a chat template). */
AOE_API int aoe_tokenizer_open(aoe_tokenizer **t, const char *AOE_NULLABLE dir, aoe_error *AOE_NULLABLE err);
AOE_API void aoe_tokenizer_close(aoe_tokenizer *AOE_NULLABLE t);
/* Replaces the contents of *ids with the token ids of one text. Set all bytes of *ids to 0 before the first call. The
 * ids equal those of the Hugging Face tokenizers library. Errors: AOE_EFORMAT (invalid UTF-8, with the byte offset),
 * AOE_EARG (max_length is too small for the template and the special tokens; the prompt does not contain {text}),
 * AOE_EUNSUPPORTED (WordPiece: the vocabulary has more than 16 million different prefixes). The first word that
 * WordPiece splits takes several milliseconds, because an index of the vocabulary is then built; other threads that
 * split words wait for it. */
AOE_API int aoe_tokenizer_encode(const aoe_tokenizer *t, aoe_text text, const aoe_encode_options *AOE_NULLABLE o,
                                 aoe_ids *ids, aoe_error *AOE_NULLABLE err);
/* Encodes a text as aoe_tokenizer_encode does, and also replaces the contents of *spans with the span of each token.
 * Set all bytes of *ids and *spans to 0 before the first call. The characters [start, stop) are the `offsets` of the
 * encoding in the Hugging Face tokenizers library. With o->prompt, they are those of `text`, without the prompt. Tokens
 * of one character, such as its bytes, have the same span, and a span may be empty. docs/tokenizers.md describes the
 * ranges, and where they differ. This function is slower than aoe_tokenizer_encode. Errors: see aoe_tokenizer_encode;
 * AOE_EUNSUPPORTED if o->chat_template is 1. */
AOE_API int aoe_tokenizer_encode_spans(const aoe_tokenizer *t, aoe_text text, const aoe_encode_options *AOE_NULLABLE o,
                                       aoe_ids *ids, aoe_token_spans *spans, aoe_error *AOE_NULLABLE err);
/* Replaces the contents of *ids with the token ids and token types of a text pair, as a cross-encoder reads it, for
 * example [CLS] first [SEP] second [SEP]. If the pair has more than o->max_length tokens, the longer text is truncated
 * first; this is the strategy longest_first of the Hugging Face tokenizers library. o->prompt is inserted into the
 * first text. Errors: see aoe_tokenizer_encode; AOE_EUNSUPPORTED (the tokenizer has no template for pairs). */
AOE_API int aoe_tokenizer_encode_pair(const aoe_tokenizer *t, aoe_text first, aoe_text second,
                                      const aoe_encode_options *AOE_NULLABLE o, aoe_ids *ids,
                                      aoe_error *AOE_NULLABLE err);
/* Sets the fields of *o to the options with which the model in `dir` tokenizes texts; o->struct_size must be set, for
 * example by aoe_encode_options_defaults. If dir is NULL, the function uses the default
 * model. A static model adds no special tokens and drops unknown tokens. o->lowercase is the setting `lowercase` of the
 * model (do_lower_case of sentence-transformers), and o->chat_template is 1 if the model renders texts with its chat
 * template. Otherwise, and if `dir` contains no known model, *o is set to the defaults. Reads no weights. */
AOE_API int aoe_encode_options_of(aoe_encode_options *o, const char *AOE_NULLABLE dir, aoe_error *AOE_NULLABLE err);
AOE_API void aoe_ids_free(aoe_ids *AOE_NULLABLE ids);
AOE_API void aoe_token_spans_free(aoe_token_spans *AOE_NULLABLE spans);
/* Replaces the contents of *out with the text of ids[n]. Set all bytes of *out to 0 before the first call. If
 * skip_special_tokens is 1, the special tokens, such as [CLS], are left out. The text equals that of
 * Tokenizer.decode(ids, skip_special_tokens) of the Hugging Face tokenizers library, and is usually not the text that
 * was encoded: normalization cannot be undone, and WordPiece does not record where spaces were. Bytes that form no
 * character become U+FFFD. Ids that no token has are left out. Errors: AOE_EUNSUPPORTED and AOE_EFORMAT if the
 * tokenizer has a decoder of an unknown type or with a wrong value, which are named; AOE_ENOMEM. */
AOE_API int aoe_tokenizer_decode(const aoe_tokenizer *t, const int32_t *ids, size_t n, int skip_special_tokens,
                                 aoe_decoded *out, aoe_error *AOE_NULLABLE err);
AOE_API void aoe_decoded_free(aoe_decoded *AOE_NULLABLE d);
AOE_API size_t aoe_tokenizer_vocab_size(const aoe_tokenizer *t); /* largest token id + 1 */
/* Returns the text of a token, which is borrowed and not NUL-terminated. For an unknown id, data is NULL and len is
 * 0. */
AOE_API aoe_text aoe_tokenizer_token(const aoe_tokenizer *t, int32_t id);
AOE_API const char *aoe_tokenizer_kind(const aoe_tokenizer *t); /* "WordPiece", "BPE" or "Unigram"; static string */
AOE_API const aoe_tokenizer *aoe_model_tokenizer(const aoe_model *m); /* borrowed; NULL if the model has no tokenizer */

#ifdef __cplusplus
}
#endif

#endif
