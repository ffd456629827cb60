/* SPDX-License-Identifier: MIT
 * Writes the parts of JSON answers to a buffer: numbers, vectors in every encoding that clients ask for, strings, and
 * errors in the forms of the APIs that the server offers. The functions do not report a lack of memory. The buffer
 * records it (`failed`), and a caller tests this once at the end.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "base/buffer.h"

/* Families of routes, which differ in the form of their errors. */
typedef enum aoei_family {
    AOEI_TEI,    /* text-embeddings-inference: {"error": message, "error_type": kind} */
    AOEI_OPENAI, /* {"error": {"message", "type", "param", "code"}} */
    AOEI_COHERE, /* Cohere, Jina: {"message": message} */
    AOEI_OLLAMA  /* {"error": message} */
} aoei_family;

/* Kinds of errors. The first six are those of text-embeddings-inference. */
typedef enum aoei_error_kind {
    AOEI_UNHEALTHY,    /* the model could not be opened, or the server is stopping */
    AOEI_BACKEND,      /* the model does not support the request, or its computation failed */
    AOEI_OVERLOADED,   /* too many requests */
    AOEI_VALIDATION,   /* the request is wrong */
    AOEI_TOKENIZER,    /* a text cannot be tokenized */
    AOEI_EMPTY,        /* there are no texts */
    AOEI_MALFORMED,    /* the body is not valid JSON */
    AOEI_UNAUTHORIZED, /* the API key is missing or wrong */
    AOEI_FORBIDDEN,    /* the server does not allow the request */
    AOEI_NOT_FOUND,    /* the path, the model or the index does not exist */
    AOEI_METHOD,       /* the path exists, but not with this method */
    AOEI_TOO_LARGE,    /* the body is too large */
    AOEI_CONFLICT,     /* the state of an index does not allow the change */
    AOEI_INTERNAL      /* out of memory, or a fault of the server */
} aoei_error_kind;

/* Encodings of a vector. */
typedef enum aoei_encoding {
    AOEI_ENCODE_FLOAT,  /* list of numbers, each with the fewest digits that are read back as the same float32 */
    AOEI_ENCODE_BASE64, /* base64 of float32 values, little endian, as a string */
    AOEI_ENCODE_INT8,  /* list of integers in [-127, 127]: component / largest magnitude of the vector * 127, rounded */
    AOEI_ENCODE_UINT8, /* list of integers in [1, 255]: the values of AOEI_ENCODE_INT8 plus 128 */
    AOEI_ENCODE_BINARY, /* list of integers in [-128, 127]: the values of AOEI_ENCODE_UBINARY minus 128 */
    AOEI_ENCODE_UBINARY /* list of integers in [0, 255]: one bit per component, 1 if it is positive; the first component
                           is the highest bit; missing bits of the last integer are 0 */
} aoei_encoding;

/* Appends v with the fewest digits that are read back as the same float32, such as 0.0123; null if it is not finite. */
void aoei_answer_float(aoei_buffer *b, float v);
/* Like aoei_answer_float for a double. */
void aoei_answer_double(aoei_buffer *b, double v);
/* Appends v[n] as a list of numbers. */
void aoei_answer_vector(aoei_buffer *b, const float *v, size_t n);
/* Appends v[n] in an encoding. */
void aoei_answer_encoded(aoei_buffer *b, const float *v, size_t n, aoei_encoding encoding);
/* Appends the base64 text of bytes[n] as a JSON string, with its quotation marks. */
void aoei_answer_base64(aoei_buffer *b, const void *bytes, size_t n);
/* Appends a text as a JSON string, with its quotation marks. Each byte that is not valid UTF-8 becomes U+FFFD. */
void aoei_answer_string(aoei_buffer *b, aoe_text text);
/* Like aoei_answer_string for a C string; NULL: null */
void aoei_answer_cstring(aoei_buffer *b, const char *s);

/* Returns the HTTP status of an error, which depends on the family: an invalid request is 422 for
 * text-embeddings-inference and 400 for the others. */
int aoei_answer_status(aoei_family family, aoei_error_kind kind);
/* Appends the body of an error. status: HTTP status of the answer. */
void aoei_answer_error(aoei_buffer *b, aoei_family family, int status, aoei_error_kind kind, const char *message);
/* Like aoei_answer_error. param: key of the request that is wrong, which AOEI_OPENAI names in the body; NULL or "":
 * none */
void aoei_answer_error_of(aoei_buffer *b, aoei_family family, int status, aoei_error_kind kind, const char *message,
                          const char *param);
