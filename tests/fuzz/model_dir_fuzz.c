/* SPDX-License-Identifier: MIT
 * Fuzzes a complete model directory. The first byte of the input selects a file, and the remaining bytes are its
 * contents; the other files are valid. If the model can be opened, its embeddings must be finite, and a copy of the
 * model that aoe_convert writes must give the same embeddings. Otherwise, there must be an error message.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "aoe_convert.h"
#include "aoe_train.h"
#include "base/dir.h"

static const char *const files[] = {"config.json",
                                    "tokenizer.json",
                                    "tokenizer_config.json",
                                    "special_tokens_map.json",
                                    "modules.json",
                                    "1_Pooling/config.json",
                                    "sentence_bert_config.json",
                                    "config_sentence_transformers.json",
                                    "added_tokens.json",
                                    "chat_template.jinja",
                                    "adapter_config.json",
                                    "aoe.json",
                                    "vocab.txt",
                                    "model.safetensors.index.json"};
enum { N_FILES = sizeof files / sizeof *files, TEXTS = 3 };
const size_t fuzz_mutations = 1000;

static char *root, *in, *out;
static aoe_context *context;

static void require(int condition) {
    if (!condition)
        abort();
}

/* Embeds texts with the model in `dir`. Returns NULL if this fails; otherwise [TEXTS, *dims] values, which the caller
 * frees. */
static float *embed(const char *dir, size_t *dims) {
    const aoe_text texts[TEXTS] = {aoe_text_of("a"), aoe_text_of("c b A d e f e d a c a b a"),
                                   aoe_text_of("[MASK] b\t\xc3\xa4 ")};
    aoe_model *m;
    aoe_embedder *e = NULL;
    aoe_error err = {0};
    float *vectors = NULL;
    int rc = aoe_model_open(&m, context, dir, NULL, &err);
    require(!rc || (err.code == rc && err.message[0]));
    if (rc)
        return NULL;
    rc = aoe_embedder_create(&e, m, NULL, &err);
    if (!rc) {
        *dims = aoe_embedder_dims(e);
        vectors = malloc(TEXTS * *dims * sizeof *vectors);
        require(vectors != NULL);
        rc = aoe_embed(e, texts, TEXTS, vectors, NULL, &err);
    }
    require(!rc || (err.code == rc && err.message[0]));
    for (size_t i = 0; !rc && i < TEXTS * *dims; i++)
        require(isfinite(vectors[i]));
    if (rc) {
        free(vectors);
        vectors = NULL;
    }
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    return vectors;
}

/* Asserts that a copy of the model, if it can be written, gives the same embeddings. */
static void check_copy(const float *vectors, size_t dims) {
    aoe_convert_options o;
    aoe_error err = {0};
    size_t copied_dims = 0;
    aoe_convert_options_defaults(&o);
    o.force = 1;
    const int rc = aoe_convert(context, in, out, &o, NULL, &err);
    require(!rc || (err.code == rc && err.message[0]));
    if (!rc) {
        float *copied = embed(out, &copied_dims);
        require(copied && copied_dims == dims && !memcmp(copied, vectors, TEXTS * dims * sizeof *vectors));
        free(copied);
    }
    require(!aoei_remove_tree(out, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char pooling[] = "{\"word_embedding_dimension\": 8, \"pooling_mode_mean_tokens\": true}";
    if (!size)
        return 0;
    const char *name = files[data[0] % N_FILES];
    char *path = test_path(in, name);
    size_t saved_size = 0, dims = 0;
    char *saved = test_read(path, &saved_size);
    free(test_write(in, "1_Pooling/config.json", pooling, sizeof pooling - 1));
    free(test_write(in, name, data + 1, size - 1));
    float *vectors = embed(in, &dims);
    if (vectors)
        check_copy(vectors, dims);
    free(vectors);
    if (saved)
        free(test_write(in, name, saved, saved_size));
    else
        unlink(path);
    free(saved);
    free(path);
    return 0;
}

static void clean_up(void) {
    aoe_context_destroy(context);
    free(in);
    free(out);
    test_dir_remove(root);
}

static char *make_dir(const char *parent, const char *name) {
    char *path = test_path(parent, name);
    require(!mkdir(path, 0700));
    return path;
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    aoe_context_options o;
    aoe_context_options_defaults(&o);
    o.threads = 1;
    test_use_memory();
    require(!aoe_context_create(&context, &o, NULL));
    root = test_dir_create();
    in = make_dir(root, "in");
    out = test_path(root, "out");
    free(make_dir(in, "1_Pooling"));
    test_model_write(in, NULL);
    atexit(clean_up);
    return 0;
}
