/* SPDX-License-Identifier: MIT
 * covers: net/digest
 * Tests downloads of a model on the Hub in which an allocation fails, a disk operation fails, or the process is killed.
 * After each failure, the cache contains no file with a wrong checksum under its final name, the name of the model is
 * visible only if all files are complete, and the next download completes the model.
 *
 * The program starts itself for two purposes: "hub_fault_test kill N" pulls a model and is killed at the N-th disk
 * operation, and "hub_fault_test serve URL_FILE /dev/null FOLDER" is the server, so that its allocations are not
 * counted.
 * tags: network
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/hub_server.h"
#include "../support/program.h"
#include "../support/support.h"
#include "aoe_hub.h"
#include "base/io_fault.h"
#include "net/digest.h"

#define NAME     "acme/tiny"
#define FOLDER   "hub/models--acme--tiny"
#define SNAPSHOT FOLDER "/snapshots/" TEST_HUB_COMMIT

static const char *const files[] = {"config.json", "tokenizer.json", "1_Pooling/config.json", "modules.json",
                                    "model.safetensors"};
static char *root;   /* directory that the server serves */
static char *served; /* directory of the files of the model */
static pid_t server; /* process of the server */

static int pull(aoe_error *err) {
    aoe_hub_result result = {.struct_size = sizeof result};
    return aoe_hub_pull(NAME, NULL, &result, err);
}

/* Uses a new, empty cache and returns its directory, which the caller frees. */
static char *new_cache(void) {
    static int n;
    char name[40];
    snprintf(name, sizeof name, "cache%d", n++);
    char *home = test_path(test_dir, name);
    setenv("HF_HOME", home, 1);
    return home;
}

/* ------------------------------------------------------------------- cache */

/* Checks that a blob has the checksum that is its name. */
static void check_blob(const char *path, const char *name) {
    char hex[AOEI_DIGEST_HEX], prefix[40];
    size_t size = 0;
    char *data = test_read(path, &size);
    aoei_digest *d;
    const int large = strlen(name) == 64, n = snprintf(prefix, sizeof prefix, "blob %zu", size) + 1;
    assert_non_null(data);
    assert_int_equal(aoei_digest_create(&d, large ? "SHA256" : "SHA1", NULL), 0);
    if (!large)
        assert_int_equal(aoei_digest_add(d, prefix, (size_t)n), 0);
    assert_int_equal(aoei_digest_add(d, data, size), 0);
    assert_int_equal(aoei_digest_end(d, hex), 0);
    aoei_digest_free(d);
    if (strcmp(hex, name) != 0)
        fail_msg("%s has the checksum %s", path, hex);
    free(data);
}

/* Checks all blobs under their final names. Returns the number of all files in the directory of the blobs. */
static size_t check_blobs(const char *home) {
    char *dir = test_path(home, FOLDER "/blobs");
    DIR *d = opendir(dir);
    size_t n = 0;
    for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        char *path = test_path(dir, e->d_name);
        n += e->d_name[0] != '.';
        if (e->d_name[0] != '.' && !strchr(e->d_name, '.'))
            check_blob(path, e->d_name);
        free(path);
    }
    if (d)
        closedir(d);
    free(dir);
    return n;
}

/* Returns 1 if the snapshot has the file. A file that it has must be equal to the file on the server. */
static int check_file(const char *home, const char *name) {
    char *snapshot = test_path(home, SNAPSHOT), *path = test_path(snapshot, name), *original = test_path(served, name);
    size_t size = 0, expected = 0;
    char *data = test_read(path, &size), *want = test_read(original, &expected);
    assert_non_null(want);
    if (data && (size != expected || memcmp(data, want, size) != 0))
        fail_msg("%s differs from the file on the server", path);
    const int found = data != NULL;
    free(data);
    free(want);
    free(original);
    free(path);
    free(snapshot);
    return found;
}

/* Checks that the cache contains no damaged file, and that all files exist if the name of the model is visible. */
static void check_cache(const char *home) {
    char *ref = test_path(home, FOLDER "/refs/main");
    const int visible = access(ref, F_OK) == 0;
    (void)check_blobs(home);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (!check_file(home, files[i]) && visible)
            fail_msg("the model is visible without %s", files[i]);
    free(ref);
}

/* Downloads the rest. links: 1 if the cache contains symbolic links. */
static void complete(const char *home, int links) {
    aoe_error err = {0};
    char *snapshot = test_path(home, SNAPSHOT), *ref = test_path(home, FOLDER "/refs/main");
    if (pull(&err))
        fail_msg("%s", err.message);
    assert_int_equal(access(ref, F_OK), 0);
    check_cache(home);
    /* no partial file is left; without links, a blob may be left that was complete when the process was killed */
    const size_t blobs = check_blobs(home);
    assert_true(links ? blobs == sizeof files / sizeof *files : blobs <= 1);
    assert_int_equal(test_count_entries(snapshot), sizeof files / sizeof *files);
    free(ref);
    free(snapshot);
}

/* ------------------------------------------------------------------- tests */

static int pull_into_new_cache(void *arg) {
    aoe_error err = {0};
    char *home = new_cache();
    (void)arg;
    const int rc = pull(&err);
    assert_int_equal(rc, err.code);
    if (rc)
        assert_true(*err.message && !strchr(err.message, '\n'));
    free(home);
    return rc;
}

static void test_allocations(void **state) {
    (void)state;
    assert_true(test_alloc_failures(pull_into_new_cache, NULL, 150) > 100);
}

/* After a failed disk operation, the same cache is completed. */
static void after_failure(void *arg, int code) {
    (void)arg;
    check_cache(getenv("HF_HOME"));
    if (code)
        complete(getenv("HF_HOME"), !getenv("HF_HUB_DISABLE_SYMLINKS"));
}

static void test_disk(void **state) {
    (void)state;
    assert_true(test_io_failures(pull_into_new_cache, after_failure, NULL, ENOSPC) > 40);
}

/* If the file system rejects a symbolic link, the file itself is in the snapshot. */
static void test_without_links(void **state) {
    (void)state;
    aoe_error err = {0};
    size_t copied = 0;
    for (uint64_t n = 1, last = 0; !last; n++) {
        char *home = new_cache(), *snapshot = test_path(home, SNAPSHOT);
        aoei_io_fail_at(n, EPERM);
        const int rc = pull(&err);
        last = aoei_io_count() < n;
        aoei_io_fail_at(0, 0);
        if (rc == 0 && !last) { /* operation n was the creation of a link */
            check_cache(home);
            for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
                char *path = test_path(snapshot, files[i]);
                struct stat st;
                copied += lstat(path, &st) == 0 && S_ISREG(st.st_mode);
                free(path);
            }
        } else {
            complete(home, 1);
        }
        free(snapshot);
        free(home);
    }
    assert_int_equal(copied, sizeof files / sizeof *files);
}

/* Starts this program, which pulls the model into an empty cache and is killed at the n-th disk operation. Returns 1 if
 * it was killed, and 0 if the download was complete before. */
static int killed_at(uint64_t n) {
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)n);
    const pid_t pid = fork();
    if (pid == 0) {
        execl("/proc/self/exe", "hub_fault_test", "kill", text, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status)) {
        assert_int_equal(WTERMSIG(status), SIGKILL);
        return 1;
    }
    assert_int_equal(WEXITSTATUS(status), 0);
    return 0;
}

static void kill_everywhere(int links) {
    for (uint64_t n = 1, again = 1; again; n += links ? 1 : 2) { /* most operations are the same without links */
        char *home = new_cache();
        again = (uint64_t)killed_at(n);
        if (again || n == 1)
            check_cache(home);
        complete(home, links);
        free(home);
        assert_true(n < 500);
        if (!again)
            assert_true(n > 40);
    }
}

static void test_kill(void **state) {
    (void)state;
    kill_everywhere(1);
}

static void test_kill_without_links(void **state) {
    (void)state;
    setenv("HF_HUB_DISABLE_SYMLINKS", "1", 1);
    kill_everywhere(0);
    unsetenv("HF_HUB_DISABLE_SYMLINKS");
}

/* --------------------------------------------------------------------- main */

static int start(void **state) {
    static const char *const variables[] = {
        "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE",  "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE",
        "HF_TOKEN",     "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH",  "HF_HUB_DISABLE_SYMLINKS"};
    test_dir_set_up(state);
    root = test_path(test_dir, "served");
    served = test_path(root, NAME);
    test_hub_write_model(root, NAME);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    char *url_file = test_path(test_dir, "url"), *url = NULL;
    server = fork();
    if (server == 0) {
        execl("/proc/self/exe", "hub_fault_test", "serve", url_file, "/dev/null", root, (char *)NULL);
        _exit(127);
    }
    while (!url && waitpid(server, NULL, WNOHANG) == 0) {
        usleep(10000);
        url = test_read(url_file, NULL);
    }
    assert_non_null(url);
    url[strcspn(url, "\n")] = 0;
    setenv("HF_ENDPOINT", url, 1);
    free(url);
    free(url_file);
    return 0;
}

static int stop(void **state) {
    kill(server, SIGTERM);
    (void)waitpid(server, NULL, 0);
    free(served);
    free(root);
    return test_dir_tear_down(state);
}

static test_hub hub;

static void set_up(test_server *s, int argc, char **argv) {
    hub.folder = argc > 0 ? argv[0] : ".";
    test_hub_routes(&hub, s);
}

int main(void) {
    if (test_argc == 3 && strcmp(test_argv[1], "kill") == 0) {
        aoe_error err = {0};
        aoei_io_fail_at(strtoull(test_argv[2], NULL, 10), AOEI_IO_KILL);
        return pull(&err) ? 1 : 0;
    }
    if (test_argc > 1 && strcmp(test_argv[1], "serve") == 0)
        return test_server_main(test_argc - 1, test_argv + 1, set_up);
    test_count_curl();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_allocations),        cmocka_unit_test(test_disk),
        cmocka_unit_test(test_without_links),      cmocka_unit_test(test_kill),
        cmocka_unit_test(test_kill_without_links),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
