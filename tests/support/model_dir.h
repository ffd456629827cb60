/* SPDX-License-Identifier: MIT
 * Small model directories for tests: a BERT of two layers with weights that every stored type represents exactly, and
 * options that make the directory invalid in one way each.
 */
#ifndef AOE_TESTS_MODEL_DIR_H
#define AOE_TESTS_MODEL_DIR_H

#include <stddef.h>

#include "aoe.h"
#include "encoder/config.h"
#include "modeldir/safetensors.h"

enum {
    TEST_HIDDEN = 8,
    TEST_LAYERS = 2,
    TEST_HEADS = 2,
    TEST_INTERMEDIATE = 12,
    TEST_VOCAB = 16,
    TEST_POSITIONS = 10,
    TEST_TYPES = 2
};

/* Options of a model directory. If all fields are zero, the directory is valid: float32 weights in one file, tensor names
 * without a prefix, and a tokenizer. */
typedef struct test_model_spec {
    aoei_st_dtype dtype; /* type of every tensor */
    const char *mixed;   /* name (without prefix) of a tensor stored as F16 instead of dtype; NULL: none */
    const char *prefix;  /* prefix of the tensor names; NULL: none */
    int older_names;     /* 1: the norms are called LayerNorm.gamma and LayerNorm.beta */
    int shards;          /* 2: two shards and an index; otherwise one file */
    int misaligned;      /* 1: tensors begin at odd addresses */
    int pooler;          /* 1: with the tensors pooler.dense.weight and pooler.dense.bias */
    int no_tokenizer;
    const char *missing;   /* name of a tensor that is missing; NULL: none */
    const char *misshapen; /* name of a tensor with one row too many; NULL: none */
    const char *damaged;   /* name of a tensor with a NaN at element 5; NULL: none */
    const char *config;    /* contents of config.json; NULL: test_config_json */
} test_model_spec;

/* Writes a model directory to dir, which must exist. If spec is NULL, all options are zero. */
void test_model_write(const char *dir, const test_model_spec *spec);
/* Reads the configuration in test_config_json. */
void test_model_config(aoei_encoder_config *c);
/* Returns element i of the weight of a slot. The weight and the bias of the pooler have the slot numbers 1000 and 1001. */
float test_model_value(size_t slot, size_t i);

/* The context of a test program with two threads, for cmocka_run_group_tests(tests, test_model_begin, test_model_end). */
extern aoe_context *test_model_context;
int test_model_begin(void **state);
int test_model_end(void **state);

/* Moves temporary directories to memory (/dev/shm) if possible, because these tests write and synchronize many small files. */
void test_use_memory(void);

/* Asserts that the message contains the fragment and is one line. */
#define FRAGMENT(err, fragment) test_message((err).message, fragment)
void test_message(const char *message, const char *fragment);

extern const char test_config_json[];

#endif
