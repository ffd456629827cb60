/* SPDX-License-Identifier: MIT
 * covers: modeldir/pooled_modules modeldir/settings_json modeldir/token_module
 * Fuzzes the settings files of a model directory (aoe.json and the files of sentence-transformers). The first byte of
 * the input selects the file, and the remaining bytes are its contents. Accepted settings must be complete, and must
 * not change when they are written and read again.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "base/alloc.h"
#include "base/dir.h"
#include "modeldir/layer_pooling.h"
#include "modeldir/pooled_modules.h"
#include "modeldir/settings.h"
#include "modeldir/settings_json.h"
#include "modeldir/settings_read.h"

static const char *const files[] = {"modules.json",
                                    "1_Pooling/config.json",
                                    "sentence_bert_config.json",
                                    "config_sentence_transformers.json",
                                    "aoe.json",
                                    "2_Dense/config.json",
                                    AOEI_LAYER_POOLING_FOLDER "/config.json"};
enum { DENSE = 5, LAYERS = 6 };
#define TYPE "\"type\":\"sentence_transformers."
static const char with_dense[] = "[{" TYPE "Transformer\",\"path\":\"\"},{" TYPE "Pooling\",\"path\":\"1_Pooling\"},"
                                 "{" TYPE "Dense\",\"path\":\"2_Dense\"}]";
static const char with_layers[] =
    "[{" TYPE "Transformer\",\"path\":\"\"},{" TYPE "WeightedLayerPooling\",\"path\":\"" AOEI_LAYER_POOLING_FOLDER
    "\"},{" TYPE "Pooling\",\"path\":\"1_Pooling\"}]";
#define N_FILES (sizeof files / sizeof *files)

static char root[256];

static void path_of(char *out, size_t size, const char *dir, const char *name) {
    snprintf(out, size, "%s/%s/%s", root, dir, name);
}

static void put(const char *dir, const char *name, const void *data, size_t size) {
    char path[512];
    path_of(path, sizeof path, dir, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f))
        abort();
}

static int read_settings(aoei_settings *s, const char *dir, const aoei_encoder_config *c, aoe_error *err) {
    char path[512];
    aoe_model_options o;
    json_t *record = NULL;
    aoe_model_options_defaults(&o);
    path_of(path, sizeof path, dir, "");
    int rc = aoei_settings_read(s, &record, test_model_dir(path), c, &o, err);
    json_decref(record);
    return rc;
}

/* Writes the settings to another directory and reads them again. */
static void round_trip(const aoei_settings *s, const aoei_encoder_config *c) {
    aoei_settings again;
    aoe_error err;
    json_t *own = aoei_settings_to_json(s, NULL);
    char *text = own ? json_dumps(own, 0) : NULL;
    if (!text)
        abort();
    put("out", "aoe.json", text, strlen(text));
    if (read_settings(&again, "out", c, &err))
        abort();
    if (again.pooling != s->pooling || again.max_length != s->max_length || strcmp(again.prompt, s->prompt) != 0 ||
        again.normalize != s->normalize || again.lowercase != s->lowercase || again.truncate_dim != s->truncate_dim ||
        again.exclude_prompt != s->exclude_prompt || again.similarity != s->similarity ||
        !again.layer_pooling != !s->layer_pooling ||
        aoei_settings_module_count(&again) != aoei_settings_module_count(s))
        abort();
    aoei_settings_free(&again);
    aoei_free(text);
    json_decref(own);
}

/* Opens the modules that the settings describe. Asserts that an error has a message. */
static void open_modules(const aoei_settings *s, const aoei_encoder_config *c) {
    aoei_encoder_config config = *c;
    aoei_model_files f = {0};
    aoe_error err = {0};
    char path[512];
    path_of(path, sizeof path, "in", "");
    int rc = aoei_layer_pooling_open(&config, &f, test_model_dir(path), s->layer_pooling, &err);
    if (rc && (err.code != rc || !*err.message))
        abort();
    rc = aoei_modules_open(&config, &f, test_model_dir(path), s->modules, &err);
    if (rc && (err.code != rc || !*err.message))
        abort();
    if (!rc && aoei_module_chain_dims(config.modules.list, config.modules.n, config.hidden) > 65536)
        abort();
    aoei_model_files_close(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    aoei_encoder_config c;
    aoei_settings s;
    aoe_error err;
    size_t file = size ? data[0] % N_FILES : 0;
    char path[512];
    test_model_config(&c);
    c.modules.output_hidden_states = 1;
    put("in", "1_Pooling/config.json", "{}", 2); /* modules.json refers to this module */
    if (file == DENSE)
        put("in", "modules.json", with_dense, sizeof with_dense - 1);
    if (file == LAYERS)
        put("in", "modules.json", with_layers, sizeof with_layers - 1);
    put("in", files[file], data + (size ? 1 : 0), size ? size - 1 : 0);
    int rc = read_settings(&s, "in", &c, &err);
    if (rc && (err.code != rc || !*err.message))
        abort();
    if (!rc) {
        if (s.pooling <= AOE_POOLING_AUTO || !aoe_pooling_name(s.pooling) || s.max_length < 1 ||
            s.max_length > TEST_POSITIONS || !s.prompt)
            abort();
        round_trip(&s, &c);
        open_modules(&s, &c);
        aoei_settings_free(&s);
    }
    path_of(path, sizeof path, "in", files[file]);
    unlink(path);
    path_of(path, sizeof path, "in", "modules.json");
    unlink(path);
    return 0;
}

static void make_dirs(void) {
    static const char *const dirs[] = {"in/1_Pooling", "in/2_Dense", ("in/" AOEI_LAYER_POOLING_FOLDER), "out"};
    char path[512];
    const char *base = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/aoe-fuzz-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(root))
        abort();
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        path_of(path, sizeof path, dirs[i], "");
        if (aoei_make_dir(path, NULL))
            abort();
    }
}

static void clean_up(void) {
    (void)aoei_remove_tree(root, NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    test_use_memory();
    make_dirs();
    atexit(clean_up);
    return 0;
}
