/* SPDX-License-Identifier: MIT
 * tags: threads
 * Saves killed at every step that changes the directory: what is there then is
 * the older model, the new one or none, and recovery brings the older one back.
 * The calls that change names are taken over here, to end the process at a step.
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

#define DEAD ".staging-99999999" /* above the kernel's largest process id */

enum { KILLED = 77, DONE = 78 };

static int steps_left; /* until the end comes; 0: never */
static int adapters;   /* 1: what is saved are adapters alone */
static int failing;    /* 1: the end is not the process's, but no file is moved from then on */

/* 0, or -1 with errno set. */
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
    if (!failing) /* a disk that only removes files is the worst one */
        step();
    return (int)syscall(SYS_unlinkat, parent, name, flags);
}

/* Runs fn(dir) in a process that ends before its n-th step. 1: it got through. */
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
    if (aoe_context_create(&ctx, &(aoe_context_options){.struct_size = sizeof(aoe_context_options), .threads = 1}, NULL))
        _exit(1);
    return ctx;
}

/* Over the model in DIR/to, the one in DIR/new. */
static void save_new(const char *dir) {
    char *from = test_path(dir, "new"), *to = test_path(dir, "to");
    aoe_context *ctx = child_context();
    aoe_model *m;
    if (aoei_model_open_plain(&m, ctx, from, NULL, NULL))
        _exit(1);
    if (aoei_model_save(m, to, NULL, NULL))
        _exit(failing ? KILLED : 1);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    free(from);
    free(to);
}

static void recover_quietly(const char *dir) {
    char *to = test_path(dir, "to");
    if (aoei_publish_recover(&(aoei_log){0}, to, NULL))
        _exit(1);
    free(to);
}

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

/* DIR/new: a model, or adapters for DIR/base. */
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

/* Fails unless the directory holds the older model, or the new one, whole and nothing of the other. Returns 1: the newer. */
static int check_whole(const char *to, int n) {
    aoe_model *m;
    aoe_model_info info;
    aoe_error err;
    if (aoe_model_open(&m, test_model_context, to, NULL, &err))
        fail_msg("step %d: %s", n, err.message);
    aoe_model_get_info(m, &info);
    int newer = !strcmp(m->files.storage, "F32");
    assert_int_equal(info.pooling, newer ? AOE_POOLING_LAST_AVG : AOE_POOLING_LAST_MAX);
    assert_int_equal(aoei_entry_exists(to, "special_tokens_map.json"), !newer);
    assert_int_equal(aoei_entry_exists(to, "aoe.json"), newer);
    assert_int_equal(aoei_entry_exists(to, "README.md"), newer);
    assert_int_equal(aoei_entry_exists(to, "modules.json"), newer && !adapters);
    assert_int_equal(aoei_entry_exists(to, "adapter_config.json"), newer && adapters);
    assert_true(aoei_entry_exists(to, "notes.txt") && aoei_entry_exists(to, "tokenizer.json.bak"));
    aoe_model_close(m);
    return newer;
}

/* A save that ends before its n-th step, then recoveries each killed after one step, until one gets through. 1: the save got
 * through. */
static int kill_at(int n, int shards, size_t *older, size_t *refused) {
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
    assert_int_equal(aoei_model_stranded(&stranded, to, NULL), 0);
    if (aoei_is_model_dir(to)) {
        newer = check_whole(to, n);
        assert_null(stranded);
    } else {
        newer = 0;
        assert_int_equal(aoe_model_open(&m, test_model_context, to, NULL, &err), AOE_ENOENT);
        FRAGMENT(err, ": no model: an interrupted save left the one it was replacing in .staging-");
        FRAGMENT(err, stranded);
        assert_int_equal(aoei_model_dir_check(to, 0, &err), AOE_EEXIST);
        FRAGMENT(err, stranded);
        ++*refused;
    }
    assert_true(finished <= newer);
    while (!run_killed(recover_quietly, dir, 2))
        ;
    assert_int_equal(check_whole(to, n), newer);
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
        size_t older = 0, refused = 0;
        int n = 1;
        while (!kill_at(n, shards, &older, &refused))
            n++;
        assert_true(refused > 10 && older > refused && (size_t)n > older);
    }
}

static void a_kill_leaves_what_can_be_recovered(void **state) {
    (void)state;
    check_every_step();
}

static void so_does_one_while_adapters_are_saved(void **state) {
    (void)state;
    adapters = 1;
    check_every_step();
    adapters = 0;
}

/* The disk that failed fails for the way back too: the older model stays where it was put. */
static void so_does_a_disk_that_keeps_failing(void **state) {
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

static void move(const char *from, const char *to, const char *name) {
    char *a = test_path(from, name), *b = test_path(to, name);
    assert_int_equal(rename(a, b), 0);
    free(a);
    free(b);
}

/* DIR/.staging-PID/old with the weights alone, as a kill between the first two steps leaves it; then with both kinds of
 * weights in the directory before. */
static void puts_back_what_was_moved_aside(void **state) {
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
        assert_int_equal(aoei_model_stranded(&stranded, dir, NULL), 0);
        assert_string_equal(stranded, DEAD "/old");
        free(stranded);
        assert_int_equal(aoei_publish_recover(&(aoei_log){keep_log, NULL}, dir, NULL), 0);
        test_message(last_log, ": an interrupted save had moved the model aside; it is back");
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

/* A staging folder that holds nothing of an older model, or an older model that was replaced, goes without a word. */
static void removes_what_is_not_needed(void **state) {
    (void)state;
    static const char *const folders[] = {DEAD, DEAD "/old", DEAD "/replaced"};
    for (size_t i = 0; i < 3; i++) {
        char *dir = test_dir_create(), *folder = test_path(dir, folders[i]), *stranded;
        test_model_write(dir, NULL);
        assert_int_equal(aoei_make_dir(folder, NULL), 0);
        free(test_write_text(folder, "config.json", "{}"));
        assert_int_equal(aoei_model_stranded(&stranded, dir, NULL), 0);
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

/* Somebody who is still writing is left alone. */
static void leaves_the_living_alone(void **state) {
    (void)state;
    char *dir = test_dir_create(), name[64], *old, *stranded;
    snprintf(name, sizeof name, ".staging-%ld/old", (long)getppid());
    old = test_path(dir, name);
    assert_int_equal(aoei_make_dir(old, NULL), 0);
    free(test_write_text(old, "model.safetensors", "x"));
    assert_int_equal(aoei_model_stranded(&stranded, dir, NULL), 0);
    assert_null(stranded);
    assert_int_equal(aoei_publish_recover(&(aoei_log){0}, dir, NULL), 0);
    assert_int_equal(test_count_entries(old), 1);
    free(old);
    test_dir_remove(dir);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill_leaves_what_can_be_recovered), cmocka_unit_test(so_does_one_while_adapters_are_saved),
        cmocka_unit_test(so_does_a_disk_that_keeps_failing),   cmocka_unit_test(puts_back_what_was_moved_aside),
        cmocka_unit_test(removes_what_is_not_needed),          cmocka_unit_test(leaves_the_living_alone),
    };
    test_use_memory();
    return cmocka_run_group_tests(tests, test_model_begin, test_model_end);
}
