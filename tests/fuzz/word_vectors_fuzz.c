/* SPDX-License-Identifier: MIT
 * Fuzzes the import of text files with word vectors. If a file is accepted, the new model must open and compute an
 * embedding of its first word. Otherwise, there must be an error message and no output directory.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "aoe_convert.h"
#include "aoe_train.h"
#include "aoe_tokenizer.h"
#include "base/dir.h"
#include "base/path.h"

static char root[256], path[300], out[300];
static aoe_context *ctx;

/* Asserts that the model can be opened and that its vectors have r->dims components. Embedding its first word must
 * succeed or return AOE_ENUMERIC. */
static void check(const aoe_word_vectors_result *r) {
    aoe_model *m;
    aoe_embedder *e;
    aoe_error err;
    if (aoe_model_open(&m, ctx, out, NULL, &err) || aoe_model_dims(m) != r->dims || r->words < 1)
        abort();
    const aoe_text word = aoe_tokenizer_token(aoe_model_tokenizer(m), 0);
    float *v = malloc(r->dims * sizeof *v);
    if (!v || !word.data || aoe_embedder_create(&e, m, NULL, NULL))
        abort();
    if (aoe_embed(e, &word, 1, v, NULL, &err) && err.code != AOE_ENUMERIC)
        abort();
    free(v);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const aoe_word_vectors_options o = {
        .struct_size = sizeof(aoe_word_vectors_options), .force = 1, .lowercase = size % 2};
    aoe_word_vectors_result r = {.struct_size = sizeof r};
    aoe_error err = {0};
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f))
        abort();
    const int rc = aoe_word_vectors(ctx, path, out, &o, &r, &err);
    if (rc && (err.code != rc || !*err.message || strchr(err.message, '\n') || aoei_exists(out)))
        abort();
    if (!rc)
        check(&r);
    if (!rc && aoei_remove_tree(out, NULL))
        abort();
    return 0;
}

static void set_up(void) {
    const aoe_context_options o = {.struct_size = sizeof(aoe_context_options), .threads = 1};
    const char *base = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/aoe-fuzz-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(root) || aoe_context_create(&ctx, &o, NULL))
        abort();
    snprintf(path, sizeof path, "%s/vectors.txt", root);
    snprintf(out, sizeof out, "%s/out", root);
}

static void clean_up(void) {
    aoe_context_destroy(ctx);
    (void)aoei_remove_tree(root, NULL);
}

const size_t fuzz_mutations = 400;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    test_use_memory();
    set_up();
    atexit(clean_up);
    return 0;
}
