/* SPDX-License-Identifier: MIT
 * Small model directories for tests: a BERT of two layers with weights that
 * every stored type holds exactly, and the ways such a directory can be wrong.
 */
#ifndef AOE_TESTS_MODEL_DIR_H
#define AOE_TESTS_MODEL_DIR_H

#include <stddef.h>

#include "aoe.h"
#include "encoder/config.h"
#include "modeldir/safetensors.h"

enum { TEST_HIDDEN = 8, TEST_LAYERS = 2, TEST_HEADS = 2, TEST_WIDE = 12, TEST_VOCAB = 16, TEST_POSITIONS = 10, TEST_TYPES = 2 };

/* Everything zero: float32, no prefix, one file, with a tokenizer, nothing wrong. */
typedef struct test_model_spec {
    aoei_st_dtype dtype; /* of every tensor */
    const char *mixed;   /* tensor (without prefix) that is F16 instead; NULL: none */
    const char *prefix;  /* of the names; NULL: none */
    int older_names;     /* LayerNorm.gamma and .beta */
    int shards;          /* 2: two shards and an index */
    int misaligned;      /* tensors begin at odd addresses */
    int pooler;          /* pooler.dense.weight and .bias besides */
    int no_tokenizer;
    const char *missing;   /* tensor that is left out */
    const char *misshapen; /* tensor with a row too many */
    const char *damaged;   /* tensor with a NaN at element 5 */
    const char *config;    /* config.json; NULL: that of the sizes above */
} test_model_spec;

/* Fills dir, which exists. spec NULL: the plain one. */
void test_model_write(const char *dir, const test_model_spec *spec);
/* The configuration of the sizes above. */
void test_model_config(aoei_encoder_config *c);
/* Element i of weight `slot`; the pooler's weight and bias are slots 1000 and 1001. */
float test_model_value(size_t slot, size_t i);

/* The context of a test program: for cmocka_run_group_tests(tests, test_model_begin, test_model_end). */
extern aoe_context *test_model_context; /* of two threads */
int test_model_begin(void **state);
int test_model_end(void **state);

/* Puts temporary directories into memory where there is such a place: these tests write many small files that are all synced.
 */
void test_use_memory(void);

/* The message holds the fragment, and is one line. */
#define FRAGMENT(err, fragment) test_message((err).message, fragment)
void test_message(const char *message, const char *fragment);

extern const char test_config_json[];

#endif
