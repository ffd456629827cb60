/* SPDX-License-Identifier: MIT
 * covers: base/hub_cache
 * Tests aoe_model_find: names and revisions of models, the directories of the cache, and hostile contents of the cache.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/atomic_write.h"
#include "base/dir.h"
#include "base/hub_cache.h"

#define COMMIT "0123456789abcdef0123456789abcdef01234567"

static int set_up(void **state) {
    static const char *const variables[] = {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME",
                                            "SENTENCE_TRANSFORMERS_HOME"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    *state = test_dir_create();
    return setenv("HF_HUB_CACHE", *state, 1);
}

static int tear_down(void **state) {
    test_dir_remove(*state);
    return 0;
}

/* Writes a file below the cache and creates its directory. */
static void put(const char *root, const char *dir, const char *name, const char *text) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", root, dir);
    assert_int_equal(aoei_make_dir(path, NULL), 0);
    snprintf(path, sizeof path, "%s/%s/%s", root, dir, name);
    assert_int_equal(aoei_write_file(path, text, strlen(text), NULL), 0);
}

static void expect_found(const char *root, const char *name, const char *relative) {
    char expected[1024], dir[1024];
    aoe_error err = {0};
    snprintf(expected, sizeof expected, "%s/%s", root, relative);
    if (aoe_model_find(dir, sizeof dir, name, &err))
        fail_msg("%s: %s", name, err.message);
    assert_string_equal(dir, expected);
}

static void test_names(void **state) {
    (void)state;
    static const char *const good[] = {"a",         "a/b",          "org-1/Model_v1.5", "a/b@main", "a/b@refs/pr/1",
                                       "gpt2@v1.0", "a/b@feature/x"};
    static const char *const bad[] = {"",         "/a",     "a/",       "a/b/c",     "./a",      "../a",  "a--b",
                                      "a/b..c",   "a/-b",   "a/b-",     "a/.b",      "a/b.git",  "a b",   "a/b@",
                                      "a/b@../x", "a/b@/x", "a/b@x//y", "a/b@x/./y", "a/b@x\\y", "@main", "a\n"};
    aoei_hub_name name;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        assert_true(aoei_hub_name_parse(&name, good[i]));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (aoei_hub_name_parse(&name, bad[i]))
            fail_msg("'%s' was accepted", bad[i]);
    char longest[200];
    memset(longest, 'a', sizeof longest);
    longest[AOEI_HUB_ID_MAX] = 0;
    assert_true(aoei_hub_name_parse(&name, longest));
    longest[AOEI_HUB_ID_MAX] = 'a';
    longest[AOEI_HUB_ID_MAX + 1] = 0;
    assert_false(aoei_hub_name_parse(&name, longest));
    assert_true(aoei_hub_name_parse(&name, "a/b"));
    assert_string_equal(name.revision, "main");
}

static void test_finds(void **state) {
    const char *root = *state;
    put(root, "models--org--name/snapshots/" COMMIT, "model.safetensors", "x");
    put(root, "models--org--name/refs", "main", COMMIT);
    put(root, "models--org--name/refs/refs/pr", "1", COMMIT "\n");
    put(root, "models--plain/snapshots/" COMMIT "/0_Transformer", "pytorch_model.bin", "x");
    put(root, "models--plain/refs", "main", COMMIT);
    expect_found(root, "org/name", "models--org--name/snapshots/" COMMIT);
    expect_found(root, "org/name@refs/pr/1", "models--org--name/snapshots/" COMMIT);
    expect_found(root, "org/name@" COMMIT, "models--org--name/snapshots/" COMMIT);
    expect_found(root, "plain", "models--plain/snapshots/" COMMIT);
    /* a name without organization is completed, unless the cache contains a model with this name */
    put(root, "models--sentence-transformers--plain/snapshots/" COMMIT, "model.safetensors", "x");
    put(root, "models--sentence-transformers--plain/refs", "main", COMMIT);
    put(root, "models--sentence-transformers--short/snapshots/" COMMIT, "model.safetensors", "x");
    put(root, "models--sentence-transformers--short/refs", "main", COMMIT);
    expect_found(root, "plain", "models--plain/snapshots/" COMMIT);
    expect_found(root, "short", "models--sentence-transformers--short/snapshots/" COMMIT);
    expect_found(root, "short@main", "models--sentence-transformers--short/snapshots/" COMMIT);
}

static void expect_missing(const char *name, const char *part) {
    char dir[1024];
    aoe_error err = {0};
    assert_int_equal(aoe_model_find(dir, sizeof dir, name, &err), AOE_ENOENT);
    if (!strstr(err.message, part))
        fail_msg("'%s' is not in: %s", part, err.message);
}

static void test_missing(void **state) {
    const char *root = *state;
    char dir[1024];
    expect_missing("org/other", "to download it: aoe pull org/other");
    put(root, "models--org--part/snapshots/" COMMIT, "config.json", "{}");
    put(root, "models--org--part/refs", "main", COMMIT);
    expect_missing("org/part", "only a part of this model; to download the rest: aoe pull org/part");
    /* the contents of refs are not a commit */
    put(root, "models--org--bad/refs", "main", "../../../../etc");
    expect_missing("org/bad", "aoe pull org/bad");
    put(root, "models--org--long/refs", "main", COMMIT COMMIT COMMIT COMMIT COMMIT COMMIT COMMIT);
    expect_missing("org/long", "aoe pull org/long");
    expect_missing("org/part@v2", "aoe pull org/part@v2");
    /* texts that are not names are copied */
    assert_int_equal(aoe_model_find(dir, sizeof dir, "a/b/c", NULL), 0);
    assert_string_equal(dir, "a/b/c");
    assert_int_equal(aoe_model_find(dir, sizeof dir, "missing", NULL), 0);
    assert_string_equal(dir, "missing");
    assert_int_equal(aoe_model_find(dir, 4, "missing", NULL), AOE_EARG);
}

/* A snapshot without a reference, folders of the cache instead of snapshots, and a link to a missing file. */
static void test_folders(void **state) {
    const char *root = *state;
    char path[1024], dir[1024];
    aoe_error err = {0};
    put(root, "models--org--loose/snapshots/" COMMIT, "model.safetensors", "x");
    expect_missing("org/loose", "but not its revision 'main'; name a commit that it contains: org/loose@" COMMIT);
    expect_missing("org/loose@v2", "but not its revision 'v2'; name a commit that it contains: org/loose@" COMMIT);
    expect_found(root, "org/loose@" COMMIT, "models--org--loose/snapshots/" COMMIT);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/models--org--loose%s", root, i ? "/snapshots/" : "");
        assert_int_equal(aoe_model_find(dir, sizeof dir, path, &err), AOE_ENOENT);
        if (!strstr(err.message, "contains 1 revision of a model; give a revision: ") ||
            !strstr(err.message, "/models--org--loose/snapshots/" COMMIT))
            fail_msg("%s", err.message);
    }
    put(root, "models--org--loose/refs", "main", COMMIT);
    snprintf(path, sizeof path, "%s/models--org--loose/snapshots/" COMMIT "/tokenizer.json", root);
    assert_int_equal(symlink("../../blobs/missing", path), 0);
    expect_missing("org/loose", "only a part of this model");
}

/* The second cache, which sentence-transformers uses. */
static void test_second_cache(void **state) {
    const char *root = *state;
    char other[1024];
    snprintf(other, sizeof other, "%s/other", root);
    put(other, "models--org--name/snapshots/" COMMIT, "model.safetensors", "x");
    put(other, "models--org--name/refs", "main", COMMIT);
    expect_missing("org/name", "to download it");
    setenv("SENTENCE_TRANSFORMERS_HOME", other, 1);
    expect_found(other, "org/name", "models--org--name/snapshots/" COMMIT);
    expect_missing("org/none", other);
    setenv("SENTENCE_TRANSFORMERS_HOME", "~/other", 1); /* sentence-transformers does not expand it */
    expect_missing("org/name", "expands ~ in SENTENCE_TRANSFORMERS_HOME");
    setenv("SENTENCE_TRANSFORMERS_HOME", root, 1); /* the same directory is searched once */
    put(root, "models--org--twice/snapshots/" COMMIT, "model.safetensors", "x");
    put(root, "models--org--twice/refs", "main", "");
    expect_missing("org/twice", "contains: org/twice@" COMMIT ", or");
    unsetenv("SENTENCE_TRANSFORMERS_HOME");
}

/* Folders that look like models but are not named like them. */
static void test_other_folders(void **state) {
    const char *root = *state;
    char other[1024], want[2048];
    snprintf(other, sizeof other, "%s/other", root);
    put(other, "org_old", "config.json", "{}");
    setenv("SENTENCE_TRANSFORMERS_HOME", other, 1);
    snprintf(want, sizeof want, "give the directory %s/org_old, or download the model: aoe pull org/old", other);
    expect_missing("org/old", want);
    unsetenv("SENTENCE_TRANSFORMERS_HOME");
    expect_missing("org/old", "does not contain this model");
    expect_missing("models--org--my--name", "give the name of the model: org/my--name");
    expect_missing("models--gpt2", "give the name of the model: gpt2");
}

static void test_path_first(void **state) {
    const char *root = *state;
    char dir[1024], before[1024];
    put(root, "models--org--name/snapshots/" COMMIT, "model.safetensors", "x");
    put(root, "models--org--name/refs", "main", COMMIT);
    put(root, "work/org/name", "config.json", "{}");
    assert_non_null(getcwd(before, sizeof before));
    snprintf(dir, sizeof dir, "%s/work", root);
    assert_int_equal(chdir(dir), 0);
    assert_int_equal(aoe_model_find(dir, sizeof dir, "org/name", NULL), 0);
    assert_int_equal(chdir(before), 0);
    assert_string_equal(dir, "org/name");
}

static void expect_root(const char *expected) {
    char *root = aoei_hub_root();
    assert_string_equal(root, expected);
    aoei_free(root);
}

static void test_environment(void **state) {
    (void)state;
    setenv("HOME", "/h", 1);
    unsetenv("HF_HUB_CACHE");
    expect_root("/h/.cache/huggingface/hub");
    setenv("XDG_CACHE_HOME", "/x", 1);
    expect_root("/x/huggingface/hub");
    setenv("HF_HOME", "~/hf", 1);
    expect_root("/h/hf/hub");
    setenv("HUGGINGFACE_HUB_CACHE", "/old", 1);
    expect_root("/old");
    setenv("HF_HUB_CACHE", "/new", 1);
    expect_root("/new");
    /* variables in a value are expanded as in Python; unknown variables and incomplete names are kept */
    setenv("BASE_DIR", "/data", 1);
    unsetenv("NO_SUCH_VARIABLE");
    setenv("HF_HUB_CACHE", "$BASE_DIR/a${BASE_DIR}b", 1);
    expect_root("/data/a/datab");
    setenv("HF_HUB_CACHE", "/x/$NO_SUCH_VARIABLE/${BASE_DIR/$", 1);
    expect_root("/x/$NO_SUCH_VARIABLE/${BASE_DIR/$");
    setenv("HF_HUB_CACHE", "~", 1);
    expect_root("/h");
    unsetenv("HF_HUB_CACHE");
    unsetenv("HUGGINGFACE_HUB_CACHE");
    setenv("HF_HOME", "$HOME/hf", 1);
    expect_root("/h/hf/hub");
}

static void test_no_memory(void **state) {
    const char *root = *state;
    char dir[1024];
    int rc = AOE_ENOMEM;
    put(root, "models--org--name/snapshots/" COMMIT, "model.safetensors", "x");
    put(root, "models--org--name/refs", "main", COMMIT);
    const int64_t live = aoei_alloc_live();
    for (uint64_t n = 1; rc && n < 100; n++) {
        aoei_alloc_fail_at(n);
        rc = aoe_model_find(dir, sizeof dir, "org/name", NULL);
        aoei_alloc_fail_at(0);
        assert_true(rc == 0 || rc == AOE_ENOMEM || rc == AOE_ENOENT);
        assert_int_equal(aoei_alloc_live(), live);
    }
    assert_int_equal(rc, 0);
}

static void test_names_of_snapshots(void **state) {
    const char *root = *state;
    static const char *const other[] = {"/models--acme--tiny/snapshots/" COMMIT "/1_Pooling",
                                        "/models--acme--tiny/snapshots",
                                        "/models--acme--tiny/blobs/" COMMIT,
                                        "/datasets--acme--tiny/snapshots/" COMMIT,
                                        "/models--acme--none/snapshots/" COMMIT,
                                        "",
                                        "/models----/snapshots/" COMMIT};
    char path[1024];
    aoei_hub_name name;
    put(root, "models--acme--tiny/snapshots/" COMMIT, "model.safetensors", "x");
    put(root, "models--gpt2/snapshots/" COMMIT, "model.safetensors", "x");
    put(root, "copy/models--acme--tiny/snapshots/" COMMIT, "model.safetensors", "x");
    snprintf(path, sizeof path, "%s/models--acme--tiny/snapshots/" COMMIT "/", root);
    char *text = aoei_hub_model_name(path);
    assert_string_equal(text, "acme/tiny@" COMMIT);
    aoei_free(text);
    snprintf(path, sizeof path, "%s/models--gpt2/snapshots/" COMMIT, root);
    text = aoei_hub_model_name(path);
    assert_string_equal(text, "gpt2@" COMMIT);
    aoei_free(text);
    for (size_t i = 0; i <= sizeof other / sizeof *other; i++) {
        if (i < sizeof other / sizeof *other)
            snprintf(path, sizeof path, "%s%s", root, other[i]);
        else /* in another cache, in which the name does not find it */
            snprintf(path, sizeof path, "%s/copy/models--acme--tiny/snapshots/" COMMIT, root);
        assert_int_equal(aoei_hub_name_of(&name, path), 0);
        assert_string_equal(name.id, "");
        text = aoei_hub_model_name(path);
        assert_string_equal(text, path);
        aoei_free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_finds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_missing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_folders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_second_cache, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_other_folders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_path_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_memory, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_environment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_of_snapshots, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
