/* SPDX-License-Identifier: MIT
 * Reads the JSON body of a request by a table of fields. The same table describes the body in /openapi.json. Rules:
 * - the body is an object in valid UTF-8, nested at most AOEI_REQUEST_DEPTH deep, without duplicate keys
 * - a key whose value is null counts as missing, and the field keeps its default
 * - types are checked strictly; a message names the key, the expected type and the given one
 * - keys without a field are ignored, as text-embeddings-inference does, but listed for a header of the answer
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "aoe.h"

#define AOEI_REQUEST_DEPTH 32           /* maximum depth of nested values */
#define AOEI_COUNT_MAX     2147483648.0 /* largest value of an AOEI_FIELD_COUNT */

/* Kinds of fields. The type in brackets is the type of the member at `offset`. The request owns texts and arrays; they
 * are valid until aoei_request_free. Values of the type json_t * belong to the document. */
typedef enum aoei_field_kind {
    AOEI_FIELD_STRING,    /* string without NUL [const char *] */
    AOEI_FIELD_TEXT,      /* string, which may contain NUL [aoe_text] */
    AOEI_FIELD_BOOL,      /* true or false [int] */
    AOEI_FIELD_COUNT,     /* integer in [0, AOEI_COUNT_MAX], also written as 3.0 [size_t] */
    AOEI_FIELD_NUMBER,    /* number [double] */
    AOEI_FIELD_CHOICE,    /* one of the names in `choices`, in upper or lower case [int: index of the name] */
    AOEI_FIELD_CHOICES,   /* list of such names [unsigned: bit i is set if name i is in the list] */
    AOEI_FIELD_INPUTS,    /* text, list of texts, list of token ids, list of such lists [aoei_inputs] */
    AOEI_FIELD_TEXTS,     /* text, list of texts [aoei_inputs] */
    AOEI_FIELD_DOCUMENTS, /* list of texts or of objects with the key "text" [aoei_inputs] */
    AOEI_FIELD_IDS,       /* list of token ids, list of such lists [aoei_inputs] */
    AOEI_FIELD_PAIRS,     /* text; pair [first, second]; list of lists of one or two texts [aoei_pairs] */
    AOEI_FIELD_STRINGS,   /* list of strings without NUL [aoei_strings] */
    AOEI_FIELD_OBJECT,    /* object. With `fields`: a struct whose fields they are [struct]; without [json_t *] */
    AOEI_FIELD_ANY        /* any value [json_t *] */
} aoei_field_kind;

typedef struct aoei_field {
    const char *name;                /* key; borrowed */
    aoei_field_kind kind;            /* type of the value */
    int required;                    /* 1: the key must be present and not null */
    size_t offset;                   /* offset of the member in the struct of the fields; members of an object with
                                        `fields` are relative to this offset */
    size_t min;                      /* COUNT: smallest value; /openapi.json contains it, and the route checks it */
    int may_be_empty;                /* TEXTS: 1 if the route accepts an empty list, for /openapi.json */
    const char *choices;             /* CHOICE, CHOICES: names, separated by '|' */
    const char *help;                /* description for /openapi.json: one sentence; NULL: none */
    const struct aoei_field *fields; /* OBJECT: [n_fields] its fields; NULL: the value is not checked */
    size_t n_fields;                 /* OBJECT */
} aoei_field;

/* Texts or token ids of a client. */
typedef struct aoei_inputs {
    size_t n;           /* number of texts or of lists of ids; 0 for an empty list */
    int is_single;      /* 1: the client sent one text or one list of ids instead of a list of them; n is then 1 */
    int is_set;         /* 1: the key is present */
    aoe_text *text;     /* [n] texts; NULL if n = 0 or if the client sent ids */
    int32_t **ids;      /* [n] lists of ids, in [0, 2^31 - 1]; NULL if the client sent texts */
    size_t *n_ids;      /* [n] lengths of the lists */
    size_t total_ids;   /* sum of n_ids */
    size_t total_bytes; /* sum of the lengths of the texts in bytes */
} aoei_inputs;

/* Texts or pairs of a client. */
typedef struct aoei_pairs {
    size_t n;         /* number of elements; 0 for an empty list */
    int is_single;    /* 1: the client sent one element instead of a list; n is then 1 */
    int is_set;       /* 1: the key is present */
    aoe_text *first;  /* [n] first texts */
    aoe_text *second; /* [n] second texts; data is NULL for a single text */
} aoei_pairs;

typedef struct aoei_strings {
    size_t n;
    const char **value; /* [n] */
} aoei_strings;

/* A parsed body. */
typedef struct aoei_request {
    json_t *root;      /* document, owned */
    void **blocks;     /* [n_blocks] texts and arrays of the fields, owned */
    size_t n_blocks;   /* number of blocks */
    size_t capacity;   /* allocated elements of blocks */
    size_t n_ignored;  /* number of keys without a field */
    char ignored[200]; /* their names, separated by ", ", for a header: only printable ASCII; "..." ends a list that
                          is too long; keys of nested objects as "parameters.name" */
    char key[64];      /* after an error: the key whose value is wrong, printable ASCII; "" if it is not one key */
    int is_malformed;  /* after an error: 1 if the body is not a JSON document */
} aoei_request;

/* Parses a body into the struct `out`, whose members have their defaults; members of missing keys are not changed.
 * After a failure, out may be partly filled, and r is empty except `key` and `is_malformed`. Errors: AOE_EFORMAT,
 * AOE_ENOMEM. */
int aoei_request_parse(aoei_request *r, aoe_text body, const aoei_field *fields, size_t n_fields, void *out,
                       aoe_error *err);
/* The two steps of aoei_request_parse, for routes that choose the fields by the keys of the body. aoei_request_load
 * parses the document, which is an object, into r->root; the fields are only examples in messages. aoei_request_read
 * reads it once. After a failure, r is empty as above. */
int aoei_request_load(aoei_request *r, aoe_text body, const aoei_field *fields, size_t n_fields, aoe_error *err);
int aoei_request_read(aoei_request *r, const aoei_field *fields, size_t n_fields, void *out, aoe_error *err);
/* Frees the document. Texts and arrays stay valid, but not members of the type json_t *. */
void aoei_request_free_document(aoei_request *r);
/* Frees everything. Accepts a zeroed request, and one for which parsing failed. */
void aoei_request_free(aoei_request *r);
