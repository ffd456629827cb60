/* SPDX-License-Identifier: MIT
 * Small model directories for tests. The model is a BERT of two layers. Its weights are multiples of 1/16 from -1/2 to
 * 1/2, which float32, float16 and bfloat16 represent exactly. Some options make the directory invalid.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "base/file_cache.h"
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

/* Options of a model directory. If all fields are zero, the directory is valid. It then has a tokenizer, and float32
 * weights in one file whose tensor names have no prefix. */
typedef struct test_model_spec {
    aoei_st_dtype dtype; /* data type of the tensors */
    const char *mixed;   /* name, without prefix, of a tensor that is stored as F16 instead of dtype; NULL: none */
    const char *prefix;  /* prefix of the tensor names; NULL: none */
    int older_names;     /* 1: the LayerNorm weights have the names LayerNorm.gamma and LayerNorm.beta */
    int shards;          /* 2: the weights are in two shards with an index; otherwise in one file */
    int misaligned;      /* 1: tensors begin at odd addresses */
    int pooler;          /* 1: the model has the tensors pooler.dense.weight and pooler.dense.bias */
    int no_tokenizer;
    const char *missing;   /* name of a tensor that is missing; NULL: none */
    const char *misshapen; /* name of a tensor with one row too many; NULL: none */
    const char *damaged;   /* name of a tensor whose element 5 is NaN; NULL: none */
    const char *config;    /* contents of config.json; NULL: test_config_json */
} test_model_spec;

/* Writes a model to dir, which must exist. If spec is NULL, all options are zero. */
void test_model_write(const char *dir, const test_model_spec *spec);
/* Sets *c to the configuration in test_config_json. */
void test_model_config(aoei_encoder_config *c);
/* Returns element i of a weight. slot: index of the weight in the encoder (encoder/slots.h), or 1000 for
 * pooler.dense.weight and 1001 for pooler.dense.bias. */
float test_model_value(size_t slot, size_t i);

/* A context with two threads. A test program that uses it calls cmocka_run_group_tests(tests, test_model_begin,
 * test_model_end). */
extern aoe_context *test_model_context;
int test_model_begin(void **state);
int test_model_end(void **state);

/* Opens the model in `dir` with options `o`, which may be NULL. Fails the test on an error. The caller closes the
 * model. */
aoe_model *test_model_open(aoe_context *ctx, const char *dir, const aoe_model_options *o);
/* Opens the model in the directory `dir` (const char *) with default options, and closes it. Returns the error code. It
 * is a function for test_alloc_failures; its context is test_model_context. */
int test_model_open_once(void *dir);

/* Returns the directory `path` with an empty cache, which is valid until the next call. */
aoei_model_dir test_model_dir(const char *path);

/* Makes test_dir_create use /dev/shm if possible, because tests that synchronize many small files are slow on a
 * disk. */
void test_use_memory(void);

/* Asserts that the message of err contains the fragment and is one line. */
#define FRAGMENT(err, fragment) test_message((err).message, fragment)
void test_message(const char *message, const char *fragment);

extern const char test_config_json[];
