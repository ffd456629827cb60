/* SPDX-License-Identifier: MIT
 * Tests programs that convert files to text: arguments, environment, limits, failures, the search in PATH, and that
 * nothing is started from the current or the indexed folder. The programs are shell scripts in a folder of the test.
 *
 * covers: document/command
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/dir.h"
#include "base/error.h"
#include "document/filter.h"

static char *bin;  /* folder of the programs */
static char *docs; /* indexed folder */

static void add_program(const char *dir, const char *name, const char *script) {
    char text[1000];
    snprintf(text, sizeof text, "#!/bin/sh\n%s\n", script);
    char *path = test_write_text(dir, name, text);
    assert_int_equal(chmod(path, 0755), 0);
    free(path);
}

static int set_up(void **state) {
    if (test_dir_set_up(state))
        return -1;
    char path[600];
    bin = test_path(test_dir, "bin");
    docs = test_path(test_dir, "docs");
    snprintf(path, sizeof path, ".:%s::docs:%s:/usr/bin:/bin", docs, bin);
    return mkdir(bin, 0700) || mkdir(docs, 0700) || setenv("PATH", path, 1);
}

static int tear_down(void **state) {
    free(bin);
    free(docs);
    return test_dir_tear_down(state);
}

/* Runs a program of the caller for docs/name. Returns the output, owned by the caller, or NULL. */
static char *convert(const char *const *argv, size_t n, const char *name, aoei_filter_run *run) {
    const aoe_index_filter user = {sizeof user, "*.x", argv, n};
    aoei_filters f;
    char *text, *path = test_path(docs, name);
    size_t size;
    aoe_error err = {0};
    assert_int_equal(aoei_filters_init(&f, &user, 1, &err), 0);
    aoei_filter *row = aoei_filters_find(&f, name);
    assert_non_null(row);
    run->path = path;
    run->folder = docs;
    const int code = aoei_filter_convert(row, run, &text, &size, &err);
    if (code)
        fail_msg("%s", err.message);
    assert_int_equal(text == NULL, run->result != AOEI_FILTER_DONE);
    if (text)
        assert_int_equal(strlen(text), size);
    aoei_filters_free(&f);
    free(path);
    return text;
}

#define RUN(...)                                                                                                       \
    convert((const char *const[]){__VA_ARGS__}, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *), "a.x", &run)

static void passes_arguments_and_environment(void **state) {
    (void)state;
    char expected[2000];
    aoei_filter_run run = {.limits = AOEI_FILTER_LIMITS};
    add_program(bin, "show",
                "printf '%s|' \"$@\"; pwd; cat; tty; "
                "env | sed 's/=.*//' | sort | tr '\\n' ' '; echo note >&2");
    setenv("SECRET_TOKEN", "x", 1);
    setenv("HOME", "/root", 1);
    unsetenv("TMPDIR");
    unsetenv("USER");
    unsetenv("LD_LIBRARY_PATH");
    char *text = RUN("show", "-a", "$(id)", "a b", "-", "x-", "-");
    snprintf(expected, sizeof expected, "-a|$(id)|a b|%s/a.x|x-|%s/a.x|/\nnot a tty\nHOME LC_ALL PATH PWD ", docs,
             docs);
    assert_string_equal(text, expected);
    aoei_free(text);
    text = RUN("true", "-");
    assert_string_equal(text, "");
    aoei_free(text);
}

/* The current folder and the indexed folder are in PATH and contain the program, but it is not found there. */
static void searches_only_safe_folders(void **state) {
    (void)state;
    aoei_filter_run run = {.limits = AOEI_FILTER_LIMITS};
    char *marker = test_path(test_dir, "marker"), script[600], *before = getcwd(NULL, 0);
    snprintf(script, sizeof script, "echo x >'%s'", marker);
    add_program(docs, "evil", script);
    add_program(test_dir, "evil", script);
    assert_int_equal(chdir(test_dir), 0);
    assert_null(RUN("evil", "-"));
    assert_int_equal(run.result, AOEI_FILTER_MISSING);
    /* a link in a safe folder to a program in the indexed folder */
    char *link = test_path(bin, "evil"), *target = test_path(docs, "evil");
    assert_int_equal(symlink(target, link), 0);
    assert_null(RUN("evil", "-"));
    assert_int_equal(run.result, AOEI_FILTER_MISSING);
    assert_int_equal(access(marker, F_OK), -1);
    assert_int_equal(chdir(before), 0);
    free(link);
    free(target);
    free(before);
    free(marker);
    /* a file without permission to execute, and a folder */
    free(test_write_text(bin, "plain", "#!/bin/sh\n"));
    char *dir = test_path(bin, "folder");
    assert_int_equal(mkdir(dir, 0700), 0);
    free(dir);
    assert_null(RUN("plain", "-"));
    assert_int_equal(run.result, AOEI_FILTER_MISSING);
    assert_null(RUN("folder", "-"));
    assert_int_equal(run.result, AOEI_FILTER_MISSING);
}

static void reports_failures(void **state) {
    (void)state;
    aoei_filter_run run = {.limits = AOEI_FILTER_LIMITS};
    add_program(bin, "fails", "echo text; echo first >&2; printf 'last\\033[31m line\\n\\n' >&2; exit 3");
    assert_null(RUN("fails", "-"));
    assert_int_equal(run.result, AOEI_FILTER_FAILED);
    assert_string_equal(run.why, "fails failed with exit status 3: last?[31m line");
    add_program(bin, "dies", "kill -SEGV $$");
    assert_null(RUN("dies", "-"));
    assert_string_equal(run.why, "dies was killed by signal 11 (Segmentation fault)");
    free(test_write_text(bin, "broken", "#!/nonexistent\n"));
    char *path = test_path(bin, "broken");
    assert_int_equal(chmod(path, 0755), 0);
    assert_null(RUN("broken", "-"));
    assert_int_equal(run.result, AOEI_FILTER_FAILED);
    assert_non_null(strstr(run.why, "/broken cannot be started: No such file or directory"));
    free(path);
    /* much text on standard error does not block the program, and only its end is kept */
    add_program(bin, "noisy", "head -c 3000000 /dev/zero | tr '\\0' x >&2; echo; echo end >&2; exit 1");
    assert_null(RUN("noisy", "-"));
    assert_non_null(strstr(run.why, "noisy failed with exit status 1: xxx"));
}

/* Returns 1 if a process is running, and not only waiting for its parent. */
static int is_running(pid_t pid) {
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    (void)!fscanf(f, "%*d %*s %c", &state);
    fclose(f);
    return state != 'Z' && state != 'X';
}

/* Reads the number of a process from the file bin/pid, and waits until it is gone. */
static void check_killed(void) {
    char *path = test_path(bin, "pid"), *text = test_read(path, NULL);
    assert_non_null(text);
    const pid_t pid = (pid_t)atoi(text);
    assert_true(pid > 1);
    for (int i = 0; i < 500 && is_running(pid); i++)
        usleep(10000);
    assert_false(is_running(pid));
    assert_int_equal(unlink(path), 0);
    free(text);
    free(path);
}

static void enforces_limits(void **state) {
    (void)state;
    char script[700];
    aoei_filter_run run = {.limits = AOEI_FILTER_LIMITS};
    /* a program that ignores signals and starts another one in the background */
    snprintf(script, sizeof script, "trap '' TERM INT HUP\nsleep 100 & echo $! >'%s/pid'; sleep 100", bin);
    add_program(bin, "slow", script);
    run.limits.seconds = 0.3;
    const double start = aoei_now();
    assert_null(RUN("slow", "-"));
    assert_string_equal(run.why, "slow needed more than 0.3 seconds");
    assert_true(aoei_now() - start < 20);
    check_killed();
    run.limits = (aoei_filter_limits)AOEI_FILTER_LIMITS;
    run.limits.output = 1 << 20;
    assert_null(RUN("cat", "/dev/zero", "-"));
    assert_string_equal(run.why, "cat wrote more than 1 MiB of text");
    add_program(bin, "exact", "head -c $1 /dev/zero | tr '\\0' x");
    char *exact = RUN("exact", "1048576", "-");
    assert_int_equal(strlen(exact), 1 << 20);
    aoei_free(exact);
    assert_null(RUN("exact", "1048577", "-"));
    run.limits.output = (size_t)64 << 20;
    run.limits.memory = (size_t)64 << 20;
    add_program(bin, "greedy", "exec sort -S 100M --parallel=1 /dev/zero");
    run.limits.seconds = 20;
    assert_null(RUN("greedy", "-"));
    assert_int_equal(run.result, AOEI_FILTER_FAILED);
    if (!strstr(run.why, "memory"))
        fail_msg("%s", run.why);
}

/* A program that ends, but leaves a process that holds its output open. */
static void does_not_wait_for_background_processes(void **state) {
    (void)state;
    char script[700];
    aoei_filter_run run = {.limits = AOEI_FILTER_LIMITS};
    snprintf(script, sizeof script, "echo text; sleep 100 & echo $! >'%s/pid'", bin);
    add_program(bin, "leaves", script);
    const double start = aoei_now();
    char *text = RUN("leaves", "-");
    assert_string_equal(text, "text\n");
    assert_true(aoei_now() - start < 20);
    aoei_free(text);
    check_killed();
}

static int cancel(void *user) {
    return ++*(int *)user > 2;
}

static void can_be_cancelled(void **state) {
    (void)state;
    char script[700], *text, *path = test_path(docs, "a.x");
    int calls = 0;
    size_t size;
    aoe_error err = {0};
    const char *const argv[] = {"endless", "-"};
    const aoe_index_filter user = {sizeof user, "*.x", argv, 2};
    aoei_filters f;
    snprintf(script, sizeof script, "echo $$ >'%s/pid'; exec sleep 100", bin);
    add_program(bin, "endless", script);
    assert_int_equal(aoei_filters_init(&f, &user, 1, NULL), 0);
    aoei_filter_run run = {
        .path = path, .folder = docs, .limits = AOEI_FILTER_LIMITS, .cancelled = cancel, .user = &calls};
    assert_int_equal(aoei_filter_convert(&f.row[0], &run, &text, &size, &err), AOE_ECANCELLED);
    assert_null(text);
    assert_int_equal(calls, 3);
    check_killed();
    aoei_filters_free(&f);
    free(path);
}

/* If the process that waits is killed, the program is killed as well. */
static void dies_with_its_parent(void **state) {
    (void)state;
    char script[700], *pid_path = test_path(bin, "pid"), *text = NULL;
    snprintf(script, sizeof script, "echo $$ >'%s/tmp'; mv '%s/tmp' '%s/pid'; exec sleep 100", bin, bin, bin);
    add_program(bin, "orphan", script);
    const pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        aoei_filter_run run = {.limits = AOEI_FILTER_LIMITS};
        free(RUN("orphan", "-"));
        _exit(0);
    }
    for (int i = 0; i < 2000 && access(pid_path, F_OK); i++)
        usleep(10000);
    assert_int_equal(kill(pid, SIGKILL), 0);
    check_killed();
    free(text);
    free(pid_path);
}

static void has_predefined_programs(void **state) {
    (void)state;
    static const struct {
        const char *name, *program, *package;
    } cases[] = {{"a/b.pdf", "pdftotext", "poppler-utils"},
                 {"B.PDF", "pdftotext", "poppler-utils"},
                 {"x.docx", "pandoc", "pandoc"},
                 {"x.odt", "pandoc", "pandoc"},
                 {"x.epub", "pandoc", "pandoc"},
                 {"x.RTF", "pandoc", "pandoc"},
                 {"x.md", NULL, NULL},
                 {"pdf", NULL, NULL}};
    aoei_filters f;
    assert_int_equal(aoei_filters_init(&f, NULL, 0, NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const aoei_filter *row = aoei_filters_find(&f, cases[i].name);
        assert_int_equal(row != NULL, cases[i].program != NULL);
        if (!row)
            continue;
        assert_string_equal(row->argv[0], cases[i].program);
        assert_string_equal(row->package, cases[i].package);
        assert_string_equal(row->argv[row->n - 1 - (row->kind == AOE_INDEX_TEXT)], "FILE");
    }
    aoei_filters_free(&f);
    /* programs of the caller have priority */
    const char *const argv[] = {"mine", "-"};
    const aoe_index_filter user = {sizeof user, "*.Pdf", argv, 2};
    assert_int_equal(aoei_filters_init(&f, &user, 1, NULL), 0);
    assert_string_equal(aoei_filters_find(&f, "x.pdf")->argv[0], "mine");
    aoei_filters_free(&f);
}

static void runs_predefined_programs(void **state) {
    (void)state;
    char expected[1500], *path = test_path(docs, "-v.pdf");
    size_t size;
    char *text;
    aoei_filters f;
    add_program(bin, "pdftotext", "printf '%s|' \"$@\"");
    assert_int_equal(aoei_filters_init(&f, NULL, 0, NULL), 0);
    aoei_filter_run run = {.path = path, .folder = docs, .limits = AOEI_FILTER_LIMITS};
    assert_int_equal(aoei_filter_convert(aoei_filters_find(&f, "-v.pdf"), &run, &text, &size, NULL), 0);
    snprintf(expected, sizeof expected, "-enc|UTF-8|-nopgbrk|%s/-v.pdf|-|", docs);
    assert_string_equal(text, expected);
    aoei_free(text);
    aoei_filters_free(&f);
    free(path);
}

static void rejects_bad_rows(void **state) {
    (void)state;
    const char *const good[] = {"p", "-"}, *const relative[] = {"./p", "-"}, *const no_file[] = {"p", "--"};
    const struct {
        aoe_index_filter row;
        const char *message;
    } cases[] = {
        {{sizeof(aoe_index_filter), "", good, 2}, "options.filter[0]: the pattern is empty"},
        {{sizeof(aoe_index_filter), "!*.x", good, 2}, "begins with '!'"},
        {{sizeof(aoe_index_filter), NULL, good, 2}, "the pattern is empty"},
        {{sizeof(aoe_index_filter), "*.x", NULL, 0}, "no program for *.x"},
        {{sizeof(aoe_index_filter), "*.x", no_file, 2}, "needs an argument -"},
        {{sizeof(aoe_index_filter), "*.x", good, 1}, "needs an argument -"},
        {{sizeof(aoe_index_filter), "*.x", relative, 2}, "./p is a relative path"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_filters f;
        aoe_error err = {0};
        assert_int_equal(aoei_filters_init(&f, &cases[i].row, 1, &err), AOE_EARG);
        if (!strstr(err.message, cases[i].message))
            fail_msg("%s", err.message);
    }
}

static int convert_once(void *arg) {
    const char *const argv[] = {"echo", "-"};
    const aoe_index_filter user = {sizeof user, "*.x", argv, 2};
    aoei_filters f;
    aoe_error err = {0};
    char *text = NULL;
    size_t size;
    int code = aoei_filters_init(&f, &user, 1, &err);
    if (code == 0) {
        aoei_filter_run run = {.path = arg, .folder = docs, .limits = AOEI_FILTER_LIMITS};
        code = aoei_filter_convert(&f.row[0], &run, &text, &size, &err);
        aoei_free(text);
        aoei_filters_free(&f);
    }
    assert_int_equal(code, err.code);
    return code;
}

static void survives_failed_allocations(void **state) {
    (void)state;
    char *path = test_path(docs, "a.x");
    assert_true(test_alloc_failures(convert_once, path, 0) > 10);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_arguments_and_environment),
        cmocka_unit_test(searches_only_safe_folders),
        cmocka_unit_test(reports_failures),
        cmocka_unit_test(enforces_limits),
        cmocka_unit_test(does_not_wait_for_background_processes),
        cmocka_unit_test(can_be_cancelled),
        cmocka_unit_test(dies_with_its_parent),
        cmocka_unit_test(has_predefined_programs),
        cmocka_unit_test(runs_predefined_programs),
        cmocka_unit_test(rejects_bad_rows),
        cmocka_unit_test(survives_failed_allocations),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
