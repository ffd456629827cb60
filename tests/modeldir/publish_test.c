/* SPDX-License-Identifier: MIT
 * Tests what happens if the process is killed while it saves a model over an older one. A save moves the files of the
 * older model to a staging folder and then moves the new files to their place. The process is killed before each step
 * that changes the directory. Afterwards, the directory must contain the complete older model, the complete newer
 * model, or no model. In the last case, recovery must restore the older model. The test replaces rename() and
 * unlinkat() by functions that count the steps.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "../support/tiny_adapters.h"
#include "base/dir.h"
#include "model/model.h"
#include "modeldir/publish.h"
#include "model/open.h"
#include "model/save.h"
#include "modeldir/layout.h"

/* staging folder of a process that does not exist: no process id is this large */
#define DEAD ".staging-99999999"

enum { KILLED = 77, DONE = 78 };

static int steps_left; /* the process is killed, or calls begin to fail, at this step, counted from now; 0: never */
static int adapters;   /* 1: adapters are saved instead of a full model */
static int failing;    /* 1: the process is not killed, but all further calls of rename() fail */

/* Counts a step. At the step that steps_left selects, kills the process or, if `failing` is 1, returns -1 with errno
 * set, which makes the calling function fail. Otherwise, returns 0. */
static int step(void) {
    if (!steps_left || --steps_left)
        return 0;
    if (!failing)
        _exit(KILLED);
    steps_left = 1;
    errno = EIO;
    return -1;
}

int rename(const char *from, const char *to) {
    return step() ? -1 : renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int unlinkat(int parent, const char *name, int flags) {
    /* if `failing` is 1, unlinkat() succeeds, because the worst case is a save that can still remove files but cannot
     * rename them */
    if (!failing)
        step();
    return (int)syscall(SYS_unlinkat, parent, name, flags);
}

/* Calls fn(dir) in a child process and kills the process before its n-th step. Returns 1 if fn returned before that
 * step. */
static int run_killed(void (*fn)(const char *dir), const char *dir, int n) {
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        steps_left = n;
        fn(dir);
        _exit(DONE);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && (WEXITSTATUS(status) == KILLED || WEXITSTATUS(status) == DONE));
    return WEXITSTATUS(status) == DONE;
}

static aoe_context *child_context(void) {
    aoe_context *ctx;
    if (aoe_context_create(&ctx, &(aoe_context_options){.struct_size = sizeof(aoe_context_options), .threads = 1},
                           NULL))
        _exit(1);
    return ctx;
}

/* Saves the model of dir/new to dir/to, where it replaces the older model. */
static void save_new(const char *dir) {
    char *from = test_path(dir, "new"), *to = test_path(dir, "to");
    aoe_context *ctx = child_context();
    aoe_model *m;
    if (aoei_model_open_trainable(&m, ctx, from, NULL, NULL))
        _exit(1);
    if (aoei_model_save(m, to, NULL, NULL))
        _exit(failing ? KILLED : 1);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    free(from);
    free(to);
}

/* Runs the recovery of dir/to without log messages. */
static void recover_quietly(const char *dir) {
    char *to = test_path(dir, "to");
    if (aoei_publish_recover(&(aoei_log){0}, to, NULL))
        _exit(1);
    free(to);
}

/* Writes the older model and files that belong to no model to the directory `to`. */
static void write_older(const char *to, int shards) {
    free(test_write_text(to, "notes.txt", "mine"));
    test_model_write(to, &(test_model_spec){.shards = shards, .dtype = AOEI_ST_F16});
    free(test_write_text(to, "tokenizer.json.bak", "mine"));
    free(test_write_text(to, "special_tokens_map.json", "{}"));
    char *folder = test_path(to, "1_Pooling");
    assert_int_equal(mkdir(folder, 0777), 0);
    free(test_write_text(folder, "config.json", "{\"pooling_mode_max_tokens\":true}"));
    free(folder);
}

/* Writes the newer model to the directory `from`. If `adapters` is 1, writes adapters, and their base model to
 * dir/base. */
static void write_newer(const char *dir, const char *from) {
    if (!adapters) {
        test_model_write(from, NULL);
        return;
    }
    char *base = test_path(dir, "base");
    assert_int_equal(mkdir(base, 0777), 0);
    test_model_write(base, NULL);
    tiny_adapters_write(test_model_context, from, base, 2, "query");
    free(base);
}

/* Asserts that the directory `to` contains all files of one model and no file of the other model. Returns 1 for the
 * newer model, 0 for the older model. n: step at which the save was killed, for messages. */
static int check_complete(const char *to, int n) {
    aoe_model *m;
    aoe_model_info info = {.struct_size = sizeof info};
    aoe_error err;
    if (aoe_model_open(&m, test_model_context, to, NULL, &err))
        fail_msg("step %d: %s", n, err.message);
    aoe_model_get_info(m, &info);
    int newer = !strcmp(m->files.storage, "F32");
    assert_int_equal(info.pooling, newer ? AOE_POOLING_LAST_AVG : AOE_POOLING_LAST_MAX);
    assert_int_equal(aoei_entry_exists(to, "special_tokens_map.json"), !newer);
    assert_int_equal(aoei_entry_exists(to, "aoe.json"), newer);
    assert_int_equal(aoei_entry_exists(to, "README.md"), newer);
    assert_int_equal(aoei_entry_exists(to, "modules.json"), newer);
    assert_int_equal(aoei_entry_exists(to, "adapter_config.json"), newer && adapters);
    assert_true(aoei_entry_exists(to, "notes.txt") && aoei_entry_exists(to, "tokenizer.json.bak"));
    aoe_model_close(m);
    return newer;
}

/* Kills a save before its n-th step or, if `failing` is 1, makes its renames fail from the n-th step. The weights of
 * the older model are in two shards if shards is 2, otherwise in one file. Then runs recovery again and again, killing
 * it after one step, until it completes. Increments *missing if the directory contains no model after the save.
 * Increments *older if it contains the older model after the recovery. Returns 1 if the save completed. */
static int kill_at(int n, int shards, size_t *older, size_t *missing) {
    char *dir = test_dir_create(), *to = test_path(dir, "to"), *from = test_path(dir, "new"), *stranded;
    aoe_model *m;
    aoe_error err;
    assert_int_equal(mkdir(to, 0777), 0);
    assert_int_equal(mkdir(from, 0777), 0);
    write_older(to, shards);
    write_newer(dir, from);
    size_t entries = test_count_entries(to);
    int finished = run_killed(save_new, dir, n), newer;
    const int failed = failing;
    failing = 0;
    assert_int_equal(aoei_find_previous_model(&stranded, to, NULL), 0);
    if (aoei_is_model_dir(to)) {
        newer = check_complete(to, n);
        assert_null(stranded);
    } else {
        newer = 0;
        assert_int_equal(aoe_model_open(&m, test_model_context, to, NULL, &err), AOE_ENOENT);
        FRAGMENT(err,
                 ": the directory contains no model, because saving a model was interrupted; the previous model is in "
                 ".staging-");
        FRAGMENT(err, stranded);
        assert_int_equal(aoei_model_dir_check(to, 0, &err), AOE_EEXIST);
        FRAGMENT(err, stranded);
        ++*missing;
    }
    assert_true(finished <= newer);
    while (!run_killed(recover_quietly, dir, 2))
        ;
    assert_int_equal(check_complete(to, n), newer);
    if (!newer) {
        assert_int_equal(test_count_entries(to), entries);
        ++*older;
    }
    failing = failed;
    free(stranded);
    free(from);
    free(to);
    test_dir_remove(dir);
    return finished;
}

static void check_every_step(void) {
    for (int shards = 0; shards < 3; shards += 2) {
        size_t older = 0, missing = 0;
        int n = 1;
        while (!kill_at(n, shards, &older, &missing))
            n++;
        assert_true(missing > 10 && older > missing && (size_t)n > older);
    }
}

static void recovers_after_a_kill(void **state) {
    (void)state;
    check_every_step();
}

static void recovers_after_a_kill_with_adapters(void **state) {
    (void)state;
    adapters = 1;
    check_every_step();
    adapters = 0;
}

/* Tests saves in which every rename() fails after the first error. The save then cannot move the files of the older
 * model back, so they remain in the staging folder. Recovery must restore these files. */
static void recovers_after_failed_renames(void **state) {
    (void)state;
    failing = 1;
    check_every_step();
    failing = 0;
}

static char last_log[256];

static void keep_log(void *user, aoe_log_level level, const char *message) {
    (void)user;
    assert_int_equal(level, AOE_LOG_WARNING);
    snprintf(last_log, sizeof last_log, "%s", message);
}

/* Moves the file `name` from the directory `from` to the directory `to`. */
static void move(const char *from, const char *to, const char *name) {
    char *a = test_path(from, name), *b = test_path(to, name);
    assert_int_equal(rename(a, b), 0);
    free(a);
    free(b);
}

/* Tests recovery if the staging folder contains only the weights of the older model, because the process was killed
 * between the first two steps. In the second pass, the directory also contains an index of sharded weights. */
static void restores_moved_weights(void **state) {
    (void)state;
    for (int both = 0; both < 2; both++) {
        char *dir = test_dir_create(), *old = test_path(dir, DEAD "/old"), *staging = test_path(dir, DEAD), *stranded;
        test_model_write(dir, &(test_model_spec){.dtype = AOEI_ST_F16});
        assert_int_equal(aoei_make_dir(old, NULL), 0);
        if (both)
            free(test_write_text(dir, "model.safetensors.index.json", "{}"));
        free(test_write_text(staging, "model.safetensors", "the new one's"));
        free(test_write_text(staging, "config.json", "{}"));
        move(dir, old, "model.safetensors");
        assert_int_equal(aoei_find_previous_model(&stranded, dir, NULL), 0);
        assert_string_equal(stranded, DEAD "/old");
        free(stranded);
        assert_int_equal(aoei_publish_recover(&(aoei_log){keep_log, NULL}, dir, NULL), 0);
        test_message(last_log, ": restored the model, which an interrupted save had moved");
        *last_log = 0;
        aoe_model *m;
        assert_int_equal(aoe_model_open(&m, test_model_context, dir, NULL, NULL), 0);
        assert_string_equal(m->files.storage, "F16");
        aoe_model_close(m);
        assert_false(aoei_entry_exists(dir, DEAD));
        free(staging);
        free(old);
        test_dir_remove(dir);
    }
}

/* Tests that recovery removes a staging folder without a message if it contains no files of an older model, or if a
 * newer model has replaced the older model. */
static void removes_unneeded_staging_folders(void **state) {
    (void)state;
    static const char *const folders[] = {DEAD, DEAD "/old", DEAD "/replaced"};
    for (size_t i = 0; i < 3; i++) {
        char *dir = test_dir_create(), *folder = test_path(dir, folders[i]), *stranded;
        test_model_write(dir, NULL);
        assert_int_equal(aoei_make_dir(folder, NULL), 0);
        free(test_write_text(folder, "config.json", "{}"));
        assert_int_equal(aoei_find_previous_model(&stranded, dir, NULL), 0);
        assert_null(stranded);
        size_t entries = test_count_entries(dir);
        assert_int_equal(aoei_publish_recover(&(aoei_log){keep_log, NULL}, dir, NULL), 0);
        assert_int_equal(test_count_entries(dir), entries - 1);
        assert_string_equal(last_log, "");
        assert_true(aoei_is_model_dir(dir));
        free(folder);
        test_dir_remove(dir);
    }
}

/* Tests that recovery keeps the staging folder of a running process. */
static void keeps_staging_folders_of_running_processes(void **state) {
    (void)state;
    char *dir = test_dir_create(), name[64], *old, *stranded;
    snprintf(name, sizeof name, ".staging-%ld/old", (long)getppid());
    old = test_path(dir, name);
    assert_int_equal(aoei_make_dir(old, NULL), 0);
    free(test_write_text(old, "model.safetensors", "x"));
    assert_int_equal(aoei_find_previous_model(&stranded, dir, NULL), 0);
    assert_null(stranded);
    assert_int_equal(aoei_publish_recover(&(aoei_log){0}, dir, NULL), 0);
    assert_int_equal(test_count_entries(old), 1);
    free(old);
    test_dir_remove(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recovers_after_a_kill),
        cmocka_unit_test(recovers_after_a_kill_with_adapters),
        cmocka_unit_test(recovers_after_failed_renames),
        cmocka_unit_test(restores_moved_weights),
        cmocka_unit_test(removes_unneeded_staging_folders),
        cmocka_unit_test(keeps_staging_folders_of_running_processes),
    };
    test_use_memory();
    return cmocka_run_group_tests(tests, test_model_begin, test_model_end);
}
