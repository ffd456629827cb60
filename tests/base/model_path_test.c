/* SPDX-License-Identifier: MIT
 * Tests the messages for model paths that are not directories.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "base/model_path.h"

static void accepts_a_directory(void **state) {
    (void)state;
    aoe_error err;
    char *dir = test_dir_create();
    assert_int_equal(aoei_check_model_dir(dir, &err), 0);
    assert_int_equal(aoei_check_model_dir("nowhere", &err), AOE_ENOENT);
    test_message(err.message, "nowhere: no such directory; give the path of a model directory");
    test_dir_remove(dir);
}

static void names_the_kind_of_a_file(void **state) {
    (void)state;
    static const struct {
        const char *name, *message;
    } cases[] = {{"model.safetensors", "model.safetensors is a file; give its directory"},
                 {"model.Q4_K_M.gguf", "model.Q4_K_M.gguf has the format GGUF, which aoe does not read"},
                 {"MODEL.ONNX", "MODEL.ONNX has the format ONNX, which aoe does not read"},
                 {"tf_model.h5", "tf_model.h5 has the format TensorFlow, which aoe does not read"},
                 {"model.tar.gz", "model.tar.gz is an archive; unpack it"},
                 {"model.TGZ", "model.TGZ is an archive; unpack it"},
                 {"model.zip", "model.zip is an archive; unpack it"},
                 {"zip", "zip is a file; give its directory"}};
    char *dir = test_dir_create();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoe_error err;
        char *path = test_write_text(dir, cases[i].name, "x");
        assert_int_equal(aoei_check_model_dir(path, &err), AOE_EARG);
        test_message(err.message, cases[i].message);
        free(path);
    }
    test_dir_remove(dir);
}

static void recognizes_formats(void **state) {
    (void)state;
    assert_string_equal(aoei_foreign_format("a.gguf"), "GGUF");
    assert_string_equal(aoei_foreign_format("flax_model.msgpack"), "Flax");
    assert_null(aoei_foreign_format("model.safetensors"));
    assert_null(aoei_foreign_format(".gguf"));
    assert_null(aoei_foreign_format("gguf"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(accepts_a_directory),
                                       cmocka_unit_test(names_the_kind_of_a_file),
                                       cmocka_unit_test(recognizes_formats)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
