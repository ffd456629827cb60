/* SPDX-License-Identifier: MIT
 * Tests the cache of text files: a file is read once, also if it is missing, until the cache is cleared or the contents
 * are moved, and errors name the file.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <sys/stat.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "base/alloc.h"
#include "base/file_cache.h"

static void reads_once(void **state) {
    (void)state;
    char *path = test_dir_create(), *file = test_write_text(path, "a.json", "{\"x\": 1}");
    const aoei_model_dir dir = test_model_dir(path);
    json_t *root, *again;
    const char *name;
    assert_int_equal(aoei_model_dir_json(&root, &name, dir, "a.json", NULL), 0);
    assert_string_equal(name, file);
    assert_int_equal(json_integer_value(json_object_get(root, "x")), 1);
    free(test_write_text(path, "a.json", "{\"x\": 2}"));
    assert_int_equal(aoei_model_dir_json(&again, NULL, dir, "a.json", NULL), 0);
    assert_ptr_equal(root, again);
    aoei_file_cache_clear(dir.cache);
    assert_int_equal(aoei_model_dir_json(&root, NULL, dir, "a.json", NULL), 0);
    assert_int_equal(json_integer_value(json_object_get(root, "x")), 2);
    assert_string_equal(name, file); /* the path is still valid */
    assert_int_equal(aoei_model_dir_json(&root, NULL, dir, "b.json", NULL), 0);
    assert_null(root);
    free(test_write_text(path, "b.json", "[]"));
    assert_int_equal(aoei_model_dir_json(&root, NULL, dir, "b.json", NULL), 0);
    assert_null(root);
    free(file);
    test_dir_remove(path);
}

static void moves_contents(void **state) {
    (void)state;
    char *path = test_dir_create(), *data;
    const aoei_model_dir dir = test_model_dir(path);
    size_t size;
    aoe_text text;
    json_t *root;
    const char *name;
    free(test_write_text(path, "a.json", "[1]"));
    assert_int_equal(aoei_model_dir_text(&text, &name, dir, "a.json", NULL), 0);
    assert_memory_equal(text.data, "[1]", 4);
    assert_int_equal(aoei_model_dir_json(&root, &name, dir, "a.json", NULL), 0);
    assert_int_equal(aoei_model_dir_take(&data, &size, dir, "a.json", NULL), 0);
    assert_ptr_equal(data, text.data);
    assert_int_equal(size, 3);
    aoei_free(data);
    assert_int_equal(json_array_size(root), 1); /* the parsed value remains in the cache */
    assert_int_equal(aoei_model_dir_take(&data, &size, dir, "a.json", NULL), 0); /* the file is read again */
    assert_memory_equal(data, "[1]", 4);
    aoei_free(data);
    assert_int_equal(aoei_model_dir_take(&data, &size, dir, "none", NULL), 0);
    assert_null(data);
    test_dir_remove(path);
}

static void reports_errors(void **state) {
    (void)state;
    char *path = test_dir_create(), *folder = test_path(path, "folder");
    aoei_model_dir dir = test_model_dir(path), sub;
    aoe_error err;
    json_t *root;
    const char *name;
    assert_int_equal(mkdir(folder, 0700), 0);
    free(test_write_text(folder, "a.json", "{"));
    assert_int_equal(aoei_model_dir_folder(&sub, dir, "", NULL), 0);
    assert_ptr_equal(sub.path, path);
    assert_int_equal(aoei_model_dir_folder(&sub, dir, "folder", NULL), 0);
    assert_string_equal(sub.path, folder);
    for (int i = 0; i < 2; i++) { /* the second time from the cache */
        assert_int_equal(aoei_model_dir_json(&root, &name, sub, "a.json", &err), AOE_EFORMAT);
        test_message(err.message, "folder/a.json:1:");
        assert_null(root);
    }
    assert_int_equal(aoei_model_dir_json(&root, &name, dir, "folder", &err), AOE_EFORMAT);
    assert_int_equal(aoei_model_dir_need_json(&root, &name, dir, "none.json", &err), AOE_ENOENT);
    test_message(err.message, "none.json");
    free(folder);
    test_dir_remove(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_once),
        cmocka_unit_test(moves_contents),
        cmocka_unit_test(reports_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
