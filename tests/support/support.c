/* SPDX-License-Identifier: MIT
 * Implements helpers for all test programs; see support.h.
 */
#include "support.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/path.h"

/* Makes malloc return NULL if an allocation is too large. By default, AddressSanitizer ends the program instead. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}
const char *__tsan_default_options(void) {
    return "allocator_may_return_null=1";
}

char *test_dir;

int test_dir_set_up(void **state) {
    (void)state;
    test_dir = test_dir_create();
    return 0;
}

int test_dir_tear_down(void **state) {
    (void)state;
    test_dir_remove(test_dir);
    return 0;
}

char *test_path(const char *dir, const char *name) {
    size_t bytes = strlen(dir) + strlen(name) + 2;
    char *path = malloc(bytes);
    assert_non_null(path);
    snprintf(path, bytes, "%s/%s", dir, name);
    return path;
}

char *test_dir_create(void) {
    const char *base = getenv("TMPDIR");
    char *dir = test_path(base && *base ? base : "/tmp", "aoe-test-XXXXXX");
    assert_non_null(mkdtemp(dir));
    return dir;
}

void test_dir_remove(char *dir) {
    aoe_error err = {0};
    if (aoei_remove_tree(dir, &err))
        fail_msg("%s", err.message);
    free(dir);
}

char *test_write(const char *dir, const char *name, const void *data, size_t size) {
    char *path = test_path(dir, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    return path;
}

char *test_write_text(const char *dir, const char *name, const char *text) {
    return test_write(dir, name, text, strlen(text));
}

char *test_read(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    struct stat st;
    assert_int_equal(fstat(fileno(f), &st), 0);
    size_t bytes = (size_t)st.st_size;
    char *data = malloc(bytes + 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, bytes, f), bytes);
    data[bytes] = 0;
    fclose(f);
    if (size)
        *size = bytes;
    return data;
}

void test_copy_dir(const char *from, const char *to) {
    DIR *d = opendir(from);
    assert_non_null(d);
    for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
        struct stat info;
        size_t size;
        char *source = test_path(from, e->d_name), *target = test_path(to, e->d_name);
        assert_int_equal(stat(source, &info), 0);
        if (S_ISREG(info.st_mode)) {
            char *content = test_read(source, &size);
            free(test_write(to, e->d_name, content, size));
            free(content);
        } else if (e->d_name[0] != '.') {
            assert_int_equal(mkdir(target, 0700), 0);
            test_copy_dir(source, target);
        }
        free(source);
        free(target);
    }
    closedir(d);
}

size_t test_count_entries(const char *dir) {
    DIR *d = opendir(dir);
    assert_non_null(d);
    size_t n = 0;
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(d);
    return n;
}

const char *test_shared(void) {
    const char *dir = getenv("AOE_SHARED");
    if (!dir || !*dir)
        dir = "../shared";
    return aoei_is_dir(dir) ? dir : NULL;
}

char *test_shared_path(const char *relative) {
    const char *shared = test_shared();
    if (!shared) {
        printf("SKIP: the directory of the shared test data does not exist; set AOE_SHARED to its path\n");
        return NULL;
    }
    char *path = test_path(shared, relative);
    if (aoei_exists(path))
        return path;
    printf("SKIP: %s does not exist\n", path);
    free(path);
    return NULL;
}
