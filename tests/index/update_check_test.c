/* SPDX-License-Identifier: MIT
 * covers: index/update_check index/update_plan
 * tags: threads
 * Tests that aoe_index_is_current finds every difference that an update would find, without changing anything.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "../support/update_index.h"

static aoe_index *reader; /* the same index, open for reading without an embedder */

static void open_reader(void) {
    char *path = test_path(base, ".aoe-index");
    check(aoe_index_open(&reader, path, AOE_INDEX_READ, NULL, NULL, &err));
    free(path);
}

static int is_current_with(const aoe_index_update_options *o) {
    int result = -1;
    check(aoe_index_is_current(reader, o, &result, &err));
    return result;
}

static void add_source(const char *name) {
    aoe_index_update_result r;
    check(update(name, NULL, &r));
}

/* Asserts that there is a difference, and that none is left after an update. */
static void assert_finds_difference(void) {
    assert_int_equal(is_current_with(NULL), 0);
    add_source(NULL);
    assert_int_equal(is_current_with(NULL), 1);
}

static void finish(void) {
    aoe_index_close(reader);
    end();
}

static void rewrite(const char *name, const char *text, long seconds) {
    add(name, text);
    char *path = test_path(base, name);
    set_time(path, seconds);
    free(path);
}

static void finds_every_difference(void **state) {
    (void)state;
    begin("differences");
    add("docs/a.md", "a b c");
    add("docs/sub/b.md", "b c d");
    add("docs/sub-c.md", "c d e");
    add("docs/.hidden", "a");
    (void)counts("docs", 3, 0, 0, 0);
    open_reader();
    assert_int_equal(is_current_with(NULL), 1);
    aoe_index_stats before = {.struct_size = sizeof before}, after = before;
    check(aoe_index_get_stats(reader, &before, &err));
    add("docs/b.md", "c"); /* a new file */
    assert_finds_difference();
    add("docs/z.md", "c"); /* after the last record */
    assert_finds_difference();
    delete ("docs/z.md"); /* a missing file, the last record */
    assert_finds_difference();
    delete ("docs/b.md");
    assert_finds_difference();
    rewrite("docs/a.md", "a b d", 1600000000); /* equal size and time, other inode or time of change */
    assert_finds_difference();
    rewrite("docs/a.md", "a b d", 1600000001); /* another time, equal contents */
    assert_finds_difference();
    rewrite("docs/a.md", "a b d e", 1600000001); /* another size */
    assert_finds_difference();
    move("docs/sub", "docs/new");
    assert_finds_difference();
    add("docs/.aoeignore", "a.md\n");
    assert_finds_difference();
    delete ("docs/.aoeignore");
    assert_finds_difference();
    check(aoe_index_get_stats(reader, &after, &err));
    assert_int_equal(after.commits, before.commits + 10); /* those of the updates */
    finish();
}

static void recent_files_are_not_settled(void **state) {
    (void)state;
    begin("recent");
    free(test_write_text(base, "now.md", "a b c"));
    add("docs/a.md", "a");
    move("now.md", "docs/now.md");
    (void)counts("docs", 2, 0, 0, 0);
    open_reader();
    assert_int_equal(is_current_with(NULL), 0); /* it may change again without a change of its time */
    finish();
}

static void messages_are_differences(void **state) {
    (void)state;
    begin("messages");
    add("docs/a.md", "a b c");
    char *fifo = test_path(base, "docs/fifo"), *bin = test_path(base, "docs/bin");
    free(test_write(base, "docs/bin", "a\0b", 3));
    set_time(bin, 1600000000);
    (void)counts("docs", 1, 0, 0, 0);
    open_reader();
    assert_int_equal(is_current_with(NULL), 1); /* binary files are not read again, and not named */
    const char *const argv[] = {"/bin/cat", "-"};
    const aoe_index_filter filter = {.struct_size = sizeof filter, .pattern = "bin", .argv = argv, .n = 2};
    aoe_index_update_options o;
    aoe_index_update_options_defaults(&o);
    o.filter = &filter;
    o.n_filters = 1;
    assert_int_equal(is_current_with(&o), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    add_source(NULL);
    assert_int_equal(is_current_with(NULL), 0);
    assert_has(messages, "FIFO");
    free(fifo);
    free(bin);
    finish();
}

static void several_sources(void **state) {
    (void)state;
    begin("several");
    add("docs/a.md", "a b c");
    add("docs/in/b.md", "b c d");
    add("table.tsv", "text\tn\na b\t1\n");
    (void)counts("docs", 2, 0, 0, 0);
    add_source("docs/in");
    add_source("table.tsv");
    open_reader();
    add_source(NULL);
    assert_int_equal(is_current_with(NULL), 1);
    rewrite("table.tsv", "text\tn\na c\t1\n", 1600000002);
    assert_finds_difference();
    rewrite("docs/in/b.md", "b c e", 1600000002);
    assert_finds_difference();
    delete ("docs/in");
    int result = 1;
    assert_int_equal(aoe_index_is_current(reader, NULL, &result, &err), AOE_ENOENT);
    assert_int_equal(result, 0);
    finish();
}

static void folders_without_files(void **state) {
    (void)state;
    begin("emptied");
    add("docs/a.md", "a b c");
    (void)counts("docs", 1, 0, 0, 0);
    open_reader();
    delete ("docs/a.md");
    assert_int_equal(is_current_with(NULL), 0);
    finish();
}

static void foreign_sources_are_left_out(void **state) {
    (void)state;
    begin("foreign");
    add("docs/a.md", "a b c");
    add("../elsewhere/b.md", "b c d");
    (void)counts("docs", 1, 0, 0, 0);
    add_source("../elsewhere");
    open_reader();
    rewrite("../elsewhere/b.md", "b c e", 1600000002);
    aoe_index_update_options o;
    aoe_index_update_options_defaults(&o);
    o.own_only = 1;
    assert_int_equal(is_current_with(&o), 1);
    assert_int_equal(is_current_with(NULL), 0);
    finish();
}

/* The list of files of the comparison is used if there was no commit since then. */
static void lists_are_used_once(void **state) {
    (void)state;
    begin("lists");
    add("docs/a.md", "a b c");
    (void)counts("docs", 1, 0, 0, 0);
    open_reader();
    add("docs/b.md", "b c d");
    assert_int_equal(is_current_with(NULL), 0);
    add("docs/c.md", "c d e"); /* after the list was made */
    aoe_index_update_options o;
    aoe_index_update_options_defaults(&o);
    o.compared = reader;
    aoe_index_update_result r;
    check(update(NULL, &o, &r));
    assert_int_equal(r.added, 1);
    assert_names("a.md;b.md;");
    check(update(NULL, &o, &r)); /* the list is used up */
    assert_int_equal(r.added, 1);
    assert_int_equal(r.removed, 0);
    add("docs/d.md", "d e f");
    assert_int_equal(is_current_with(NULL), 0);
    add("docs/e.md", "e f a");
    add_source(NULL); /* a commit of another update, which adds d.md and e.md */
    check(update(NULL, &o, &r));
    assert_int_equal(r.removed, 0);
    assert_int_equal(r.unchanged, 5);
    assert_names("a.md;b.md;c.md;d.md;e.md;");
    finish();
}

static int cancel(void *user, const aoe_index_progress *p) {
    (void)user;
    (void)p;
    return 1;
}

static void reports_errors(void **state) {
    (void)state;
    begin("errors");
    open_reader();
    int result = 1;
    assert_int_equal(aoe_index_is_current(reader, NULL, &result, &err), AOE_EARG); /* there is no source */
    assert_int_equal(result, 0);
    assert_int_equal(aoe_index_is_current(NULL, NULL, &result, &err), AOE_EARG);
    assert_int_equal(aoe_index_is_current(reader, NULL, NULL, &err), AOE_EARG);
    add("docs/a.md", "a b c");
    (void)counts("docs", 1, 0, 0, 0);
    aoe_index_update_options o;
    aoe_index_update_options_defaults(&o);
    o.progress = cancel;
    assert_int_equal(aoe_index_is_current(reader, &o, &result, &err), AOE_ECANCELLED);
    finish();
}

typedef struct call {
    aoe_index *index;
    int code, is_current;
} call;

static void *compare_in_thread(void *arg) {
    call *c = arg;
    for (int i = 0; i < 5 && !c->code; i++) {
        c->code = aoe_index_is_current(c->index, NULL, &c->is_current, NULL);
        if (!c->code)
            c->code = aoe_index_preload(c->index, NULL);
    }
    return NULL;
}

/* As `aoe search` does: the index is compared while its model is opened. */
static void runs_while_the_embedder_is_set(void **state) {
    (void)state;
    begin("threads");
    for (int i = 0; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof name, "docs/%d/%d.md", i % 4, i);
        add(name, i % 2 ? "a b c" : "b c d");
    }
    (void)counts("docs", 40, 0, 0, 0);
    open_reader();
    call c = {.index = reader};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, compare_in_thread, &c), 0);
    check(aoe_index_set_embedder(reader, tiny_index_embedder, &err));
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(c.code, 0);
    assert_int_equal(c.is_current, 1);
    aoe_index_hits hits = {.struct_size = sizeof hits};
    check(aoe_index_search(reader, aoe_text_of("a b"), NULL, &hits, &err));
    assert_int_equal(hits.n, 10);
    aoe_index_hits_free(&hits);
    finish();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_every_difference),
        cmocka_unit_test(recent_files_are_not_settled),
        cmocka_unit_test(messages_are_differences),
        cmocka_unit_test(several_sources),
        cmocka_unit_test(folders_without_files),
        cmocka_unit_test(foreign_sources_are_left_out),
        cmocka_unit_test(lists_are_used_once),
        cmocka_unit_test(reports_errors),
        cmocka_unit_test(runs_while_the_embedder_is_set),
    };
    return cmocka_run_group_tests(tests, tiny_index_begin, tiny_index_end);
}
