/* SPDX-License-Identifier: MIT
 * Tests the messages for directories that are not model directories.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "base/dir.h"
#include "modeldir/not_model.h"

static char *dir; /* the directory of the running test */

static int set_up(void **state) {
    (void)state;
    dir = test_dir_create();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    test_dir_remove(dir);
    return 0;
}

/* Writes dir/name, and creates the folder of `name` if it contains a slash. */
static void put(const char *name, const char *text) {
    const char *slash = strchr(name, '/');
    char folder[40] = "";
    if (slash) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - name), name);
        char *path = test_path(dir, folder);
        assert_int_equal(aoei_make_dir(path, NULL), 0);
        free(path);
    }
    free(test_write_text(dir, name, text));
}

static void expect(int (*reject)(const char *, aoe_error *), const char *message) {
    aoe_error err;
    assert_int_equal(reject(dir, &err), AOE_ENOENT);
    test_message(err.message, message);
}

static void names_what_a_directory_without_config_contains(void **state) {
    (void)state;
    expect(aoei_fail_no_config, ": the directory contains no config.json; give a model directory");
    put("notes.txt", "x");
    expect(aoei_fail_no_config, ": the directory contains no config.json; give a model directory");
    put("model.gguf", "x");
    expect(aoei_fail_no_config,
           "no config.json, but model.gguf (GGUF), which aoe does not read; give a model directory");
    put("1_Pooling/config.json", "{}"); /* a folder of a module is not a model, even with weights */
    put("1_Pooling/model.safetensors", "x");
    expect(aoei_fail_no_config, "no config.json, but model.gguf (GGUF)");
    put("snapshots/1234", "x");
    expect(aoei_fail_no_config, "no config.json, but model.gguf (GGUF)");
    put("adapters/adapter_config.json", "{}");
    expect(aoei_fail_no_config, "no config.json; the model may be the folder ");
    expect(aoei_fail_no_config, "/adapters");
    put("a/config.json", "{\"model_type\": \"bert\"}");
    expect(aoei_fail_no_config, "/a");
    put("checkpoints/step-5", "x");
    expect(aoei_fail_no_config, "is unfinished; resume it");
}

static void names_weights_that_are_not_read(void **state) {
    (void)state;
    put("training_args.bin", "x");
    put("config.json", "{}");
    expect(aoei_fail_no_weights, "pytorch_model.bin.index.json); download the weights in one of these formats");
    put("onnx/model.onnx", "x");
    expect(aoei_fail_no_weights,
           "; it contains the folder onnx, which has another name or format; download the weights");
    put("tf_model.h5", "x");
    expect(aoei_fail_no_weights, "; it contains tf_model.h5 (TensorFlow), which has another name or format");
    put("model.fp16.safetensors", "x");
    expect(aoei_fail_no_weights, "; it contains model.fp16.safetensors, which has another name or format");
    put("a.bin", "x");
    expect(aoei_fail_no_weights, "; it contains a.bin, which has another name or format");
}

static void rejects_the_folder_of_a_module(void **state) {
    (void)state;
    static const struct {
        const char *folder, *module; /* module: NULL: not rejected */
    } cases[] = {{"1_Pooling", "Pooling"},
                 {"2_Dense", "Dense"},
                 {"own", "Dense"},
                 {"0_Transformer", NULL},
                 {"0_StaticEmbedding", NULL},
                 {"0_WordEmbeddings", NULL},
                 {"3_Normalize", NULL /* not in modules.json */}};
    put("modules.json", "[{\"path\": \"0_Transformer\", \"type\": \"sentence_transformers.models.Transformer\"},"
                        "{\"path\": \"0_StaticEmbedding\", \"type\": \"sentence_transformers.models.StaticEmbedding\"},"
                        "{\"path\": \"0_WordEmbeddings\", \"type\": \"sentence_transformers.models.WordEmbeddings\"},"
                        "{\"path\": \"1_Pooling\", \"type\": \"sentence_transformers.models.Pooling\"},"
                        "{\"path\": \"2_Dense\", \"type\": \"sentence_transformers.models.Dense\"}, 5, {\"path\": 1},"
                        "{\"path\": \"own\", \"type\": \"Dense\"}, {\"path\": \"4_Other\"}]");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoe_error err;
        char name[40], want[80];
        snprintf(name, sizeof name, "%s/config.json", cases[i].folder);
        put(name, "{}");
        char *path = test_path(dir, cases[i].folder);
        assert_int_equal(aoei_reject_module_dir(path, &err), cases[i].module ? AOE_EARG : 0);
        snprintf(want, sizeof want, "/%s is the folder of the module %s, not a model; give the model directory",
                 cases[i].folder, cases[i].module ? cases[i].module : "");
        if (cases[i].module)
            test_message(err.message, want);
        free(path);
    }
    put("modules.json", "[{");
    char *path = test_path(dir, "1_Pooling");
    assert_int_equal(aoei_reject_module_dir(path, NULL), 0); /* an unreadable list says nothing about the folder */
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_what_a_directory_without_config_contains, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_weights_that_are_not_read, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rejects_the_folder_of_a_module, set_up, tear_down)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
