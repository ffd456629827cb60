/* SPDX-License-Identifier: MIT
 * covers: index/update_run index/update_source index/update_folder
 * Tests updates of an index from folders and tables: only what changed is embedded, what is gone is removed, nothing is
 * lost if a source is missing or the update is interrupted, and the result equals that of a new index.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../support/update_index.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/dir.h"
#include "index/index_write.h"
#include "index/records.h"
#include "index/update_run.h"

static void embeds_only_what_changed(void **state) {
    (void)state;
    begin("changes");
    add("docs/a.md", "a b c");
    add("docs/b.md", "b c d");
    add("docs/sub/c.txt", "c d e");
    aoe_index_update_result r = counts("docs", 3, 0, 0, 0);
    assert_int_equal(r.passages, 3);
    assert_int_equal(r.reused, 0);
    assert_true(r.tokens > 0);
    assert_names("a.md;b.md;sub/c.txt;");
    r = counts("docs", 0, 0, 0, 3);
    assert_int_equal(r.passages, 0);
    r = counts(NULL, 0, 0, 0, 3); /* the recorded source */
    aoe_index_stats stats = {.struct_size = sizeof stats};
    check(aoe_index_get_stats(index_, &stats, &err));
    assert_int_equal(stats.commits, 1); /* an update without changes does not commit */
    add("docs/b.md", "b c e");
    add("docs/d.md", "d e f");
    delete ("docs/a.md");
    r = counts(NULL, 1, 1, 1, 1);
    assert_int_equal(r.passages, 2);
    assert_int_equal(r.reused, 0);
    assert_names("b.md;d.md;sub/c.txt;");
    /* new times, equal contents */
    char *path = test_path(base, "docs/b.md");
    set_time(path, 1700000000);
    free(path);
    r = counts(NULL, 0, 0, 0, 3);
    assert_int_equal(r.passages, 0);
    add("docs/b.md", "b c e");
    assert_equals_new("docs");
    end();
}

static void renamed_files_keep_their_vectors(void **state) {
    (void)state;
    begin("renames");
    add("docs/a.md", "# a\n\na b c");
    add("docs/old/b.md", "# b\n\nb c d");
    add("docs/old/c.md", "# c\n\nd e f");
    (void)counts("docs", 3, 0, 0, 0);
    move("docs/a.md", "docs/z.md");
    move("docs/old", "docs/new");
    aoe_index_update_result r = counts(NULL, 3, 0, 3, 0);
    assert_int_equal(r.passages, 3);
    assert_int_equal(r.reused, 3);
    assert_int_equal(r.tokens, 0);
    assert_names("new/b.md;new/c.md;z.md;");
    /* if there is no time, the old document stays */
    aoe_index_update_options o;
    aoe_index_update_options_defaults(&o);
    o.budget = 1e-9;
    move("docs/z.md", "docs/a.md");
    check(update(NULL, &o, &r));
    assert_int_equal(r.left_out, 1);
    assert_int_equal(r.removed, 0);
    assert_names("new/b.md;new/c.md;z.md;");
    r = counts(NULL, 1, 0, 1, 2);
    assert_int_equal(r.reused, 1);
    assert_equals_new("docs");
    end();
}

static void leaves_out_what_is_no_document(void **state) {
    (void)state;
    begin("others");
    add("docs/a.md", "a b c");
    add("docs/empty.md", "");
    add("docs/two\nlines.md", "a");
    add("docs/.hidden/x.md", "a");
    add("docs/ignored.md", "a");
    add("docs/.aoeignore", "ignored.md\n");
    add("secret.md", "f f f");
    char *path = test_path(base, "docs/bin"), *fifo = test_path(base, "docs/fifo"),
         *link = test_path(base, "docs/link.md"), *loop = test_path(base, "docs/loop"),
         *dots = test_path(base, "docs/dots.md");
    free(test_write(base, "docs/bin", "a\0b", 3));
    set_time(path, 1600000000);
    /* links to hidden files */
    static const char *const unlisted[][2] = {{".hidden/x.md", "docs/env.md"}, {".hidden", "docs/open"}};
    for (size_t i = 0; i < sizeof unlisted / sizeof *unlisted; i++) {
        char *from = test_path(base, unlisted[i][1]);
        assert_int_equal(symlink(unlisted[i][0], from), 0);
        free(from);
    }
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(symlink("a.md", link), 0);
    assert_int_equal(symlink(".", loop), 0);
    assert_int_equal(symlink("../secret.md", dots), 0);
    free(fifo);
    free(link);
    free(loop);
    free(dots);
    aoe_index_update_result r = counts("docs", 2, 0, 0, 0);
    assert_int_equal(r.skipped_binary, 1);
    assert_int_equal(r.skipped_other, 3); /* the FIFO, the name with two lines, and the link out of the folder */
    assert_int_equal(r.skipped_special, 1);
    assert_int_equal(r.skipped_link, 1);
    assert_int_equal(r.skipped_name, 1);
    assert_int_equal(r.skipped_large, 0);
    assert_names("a.md;empty.md;");
    assert_has(messages, "docs/dots.md is a symbolic link to a missing file or to a file outside the folder");
    assert_has(messages, "docs/fifo is a device, a FIFO or a socket; it was left out\n");
    assert_has(messages, "docs/two?lines.md has a name with control characters");
    r = counts(NULL, 0, 0, 0, 2);
    assert_int_equal(r.skipped_binary, 1);
    assert_int_equal(r.skipped_other, 3);
    /* a document becomes a binary file, and a binary file a document */
    free(test_write(base, "docs/a.md", "a\0b", 3));
    add("docs/bin", "a");
    (void)counts(NULL, 1, 0, 1, 1);
    assert_names("bin;empty.md;");
    /* a document becomes ignored, or a FIFO */
    add("docs/.aoeignore", "bin\n");
    free(path);
    path = test_path(base, "docs/empty.md");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    (void)counts(NULL, 1, 0, 2, 0);
    assert_names("ignored.md;");
    free(path);
    end();
}

/* A file that was modified just now is compared by its contents, because it can change again in the same tick. */
static int64_t recorded_time, recorded_change;

static int find_record(void *user, const aoei_file_record *f, aoe_error *e) {
    (void)e;
    if (strcmp(f->path, user) == 0)
        recorded_time = f->mtime_ns, recorded_change = f->ctime_ns;
    return 0;
}

static void does_not_trust_recent_times(void **state) {
    (void)state;
    begin("recent");
    add("docs/a.md", "a b c");
    char *path = test_path(base, "docs/a.md"), name[] = "a.md";
    assert_int_equal(utimensat(AT_FDCWD, path, NULL, 0), 0);
    (void)counts("docs", 1, 0, 0, 0);
    aoei_source_record *s;
    size_t n;
    check(aoei_sources_read(index_, &s, &n, &err));
    assert_int_equal(n, 1);
    check(aoei_files_read(index_, s[0].id, find_record, name, &err));
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(recorded_time, st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
    assert_int_equal(recorded_change, -1);
    set_time(path, 1600000000);
    (void)counts(NULL, 0, 0, 0, 1);
    check(aoei_files_read(index_, s[0].id, find_record, name, &err));
    assert_int_equal(recorded_time, INT64_C(1600000000000000000));
    assert_true(recorded_change > 0);
    aoei_sources_free(s, n);
    free(path);
    end();
}

static void reads_front_matter(void **state) {
    (void)state;
    begin("matter");
    add("docs/a.md", "---\ntags:\n  - x\n  - 2\nouter:\n  in ner: b\nmap: {a: b}\n---\nc d\n");
    add("docs/b.md", "---\ntags: [y, z]\ntext: |\n  e\nref: *a\n---\nf g\n");
    (void)counts("docs", 2, 0, 0, 0);
    assert_has(messages, "front matter: 3 entries in 2 files did not become metadata, first a.md:7;");
    char *dump = tiny_index_dump(index_);
    assert_has(dump, "  outer.in ner=b text\n");
    assert_has(dump, "  tags=x text\n");
    assert_has(dump, "  tags=y text\n");
    assert_has(dump, "  tags=z text\n");
    assert_null(strstr(dump, "  map="));
    free(dump);
    add("docs/c.md", "---\nname: n\npath: p\next: 7\nmodified: [2020-01-01, m]\nouter:\n  path: q\n---\nh i\n");
    (void)counts("docs", 1, 0, 0, 2);
    dump = tiny_index_dump(index_);
    assert_has(dump, "  ext=md text\n");
    assert_has(dump, "  meta.ext=7 ");
    assert_has(dump, "  meta.modified=2020-01-01 text\n");
    assert_has(dump, "  meta.modified=m text\n");
    assert_has(dump, "  meta.name=n text\n");
    assert_has(dump, "  meta.path=p text\n");
    assert_has(dump, "  outer.path=q text\n");
    assert_null(strstr(dump, "  path="));
    assert_null(strstr(dump, "  name="));
    free(dump);
    (void)counts("docs", 0, 0, 0, 3);
    assert_null(strstr(messages, "front matter"));
    end();
}

static void does_not_count_removed_documents(void **state) {
    (void)state;
    begin("uncounted");
    aoe_index_update_result r;
    add("docs/a.md", "a b c");
    add("docs/b.md", "b c d");
    (void)counts("docs", 2, 0, 0, 0);
    check(aoe_index_remove(index_, &(const char *){"a.md"}, 1, NULL, &err));
    (void)counts("docs", 0, 0, 0, 1);
    assert_names("b.md;");
    check(update(NULL, NULL, &r));
    assert_int_equal(r.unchanged, 1);
    /* another source changes the names of all documents, but the removed one stays out */
    add("more/c.md", "c d e");
    (void)counts("more", 2, 0, 1, 0);
    assert_names("docs/b.md;more/c.md;");
    char *more = test_path(base, "more");
    check(aoe_index_remove_source(index_, more, NULL, &err));
    free(more);
    (void)counts("docs", 1, 0, 1, 0);
    assert_names("b.md;");
    add("docs/a.md", "a b c d");
    (void)counts("docs", 1, 0, 0, 1);
    assert_names("a.md;b.md;");
    end();
}

/* A table with an error, which would change the names of all documents, changes nothing. */
/* A file that was just changed is compared by its contents. A time in the future is not the present. */
static void knows_recent_times(void **state) {
    (void)state;
    const int64_t second = 1000000000, now = (int64_t)time(NULL) * second;
    assert_true(aoei_update_is_recent(now));
    assert_false(aoei_update_is_recent(now - 3600 * second));
    assert_false(aoei_update_is_recent(now + 3600 * second));
}

/* A program that is given later converts files that are already in the index as text, but not removed documents. */
static void converts_indexed_files(void **state) {
    (void)state;
    begin("later");
    add("docs/a.up", "a b c");
    add("docs/b.up", "b c d");
    add("docs/c.txt", "c d e");
    (void)counts("docs", 3, 0, 0, 0);
    check(aoe_index_remove(index_, &(const char *){"b.up"}, 1, NULL, &err));
    const char *const cat[] = {"head", "-c3", "-"};
    const aoe_index_filter f[] = {{sizeof *f, "*.up", cat, 3}};
    aoe_index_update_options o;
    aoe_index_update_options_defaults(&o);
    o.filter = f;
    o.n_filters = 1;
    aoe_index_update_result r;
    check(update(NULL, &o, &r));
    assert_int_equal(r.changed, 1);
    assert_int_equal(r.unchanged, 1);
    assert_names("a.up;c.txt;");
    char *dump = tiny_index_dump(index_);
    assert_null(strstr(dump, "a b c"));
    free(dump);
    check(update(NULL, &o, &r));
    assert_int_equal(r.changed, 0);
    assert_int_equal(r.unchanged, 2);
    end();
}

static void rejects_bad_sources_at_once(void **state) {
    (void)state;
    begin("bad_source");
    static const char *const bad[] = {"foo\tbar\na\tb\n", "text\tb\na b\tc\na\n"};
    add("docs/a.md", "a b c");
    (void)counts("docs", 1, 0, 0, 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        aoe_index_update_result r;
        add("bad.tsv", bad[i]);
        assert_int_equal(update("bad.tsv", NULL, &r), AOE_EFORMAT);
        assert_names("a.md;");
        (void)counts(NULL, 0, 0, 0, 1);
    }
    end();
}

static void keeps_documents_of_missing_sources(void **state) {
    (void)state;
    begin("missing");
    aoe_index_update_result r;
    size_t removed;
    add("docs/a.md", "a b c");
    add("more/b.md", "b c d");
    (void)counts("docs", 1, 0, 0, 0);
    /* with several sources, the names begin with the paths of the sources, so the document a.md becomes docs/a.md */
    (void)counts("more", 2, 0, 1, 0);
    assert_names("docs/a.md;more/b.md;");
    move("docs", "gone");
    add("more/b.md", "b c e");
    assert_int_equal(update(NULL, NULL, &r), AOE_ENOENT);
    assert_has(err.message, "/docs does not exist, so the index was not updated");
    assert_names("docs/a.md;more/b.md;");
    /* an empty folder, such as one on which nothing is mounted */
    char *path = test_path(base, "docs");
    check(aoei_make_dir(path, &err));
    assert_int_equal(update(NULL, NULL, &r), AOE_ENOENT);
    assert_has(err.message, "/docs contains no files any more, but the index contains 1 of them, which were kept");
    assert_names("docs/a.md;more/b.md;");
    check(aoei_remove_tree(path, &err));
    /* sources that are given are updated although another one is missing */
    (void)counts("more", 0, 1, 0, 0);
    assert_has(messages, "/docs does not exist; its documents stay in the index");
    assert_names("docs/a.md;more/b.md;");
    assert_int_equal(aoe_index_remove_source(index_, "docs", &removed, &err), AOE_ENOENT);
    check(aoe_index_remove_source(index_, path, &removed, &err));
    assert_int_equal(removed, 1);
    check(aoe_index_commit(index_, &err));
    assert_names("more/b.md;");
    check(update(NULL, NULL, &r));
    assert_names("b.md;");
    assert_equals_new("more");
    char *more = test_path(base, "more");
    check(aoe_index_remove_source(index_, more, &removed, &err));
    check(aoe_index_commit(index_, &err));
    assert_int_equal(update(NULL, NULL, &r), AOE_EARG);
    assert_has(err.message, "the index has no source");
    free(more);
    free(path);
    end();
}

static void removes_files_by_path(void **state) {
    (void)state;
    static const struct {
        const char *path;
        size_t removed;
    } cases[] = {{"docs/a.md", 1}, {"docs/a.md", 0}, {"docs/sub", 0}, {"docs/sub/", 2}, {"docs", 0}, {"t.tsv", 0}};
    begin("paths");
    aoe_index_hits hits = {.struct_size = sizeof hits};
    add("docs/a.md", "a b c");
    add("docs/sub/b.md", "b c d");
    add("docs/sub/empty.md", "");
    add("docs/subway.md", "c d e");
    add("t.tsv", "text\na b\n");
    (void)counts("docs", 4, 0, 0, 0);
    (void)counts("t.tsv", 5, 0, 4, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t removed;
        char *path = test_path(base, cases[i].path);
        check(aoe_index_remove(index_, &(const char *){path}, 1, &removed, &err));
        if (removed != cases[i].removed)
            fail_msg("%s: %zu documents were removed", path, removed);
        free(path);
    }
    check(aoe_index_commit(index_, &err));
    assert_names("docs/subway.md;t.tsv:2;");
    /* a similar name is suggested */
    assert_int_equal(aoe_index_get(index_, "docs/subwya.md", 1, 1, &hits, &err), AOE_ENOENT);
    assert_has(err.message, "did you mean \"docs/subway.md\"?");
    assert_int_equal(aoe_index_get(index_, "/elsewhere/subwya.md", 1, 1, &hits, &err), AOE_ENOENT);
    assert_has(err.message, "did you mean \"docs/subway.md\"?");
    assert_int_equal(aoe_index_get(index_, "other", 1, 1, &hits, &err), AOE_ENOENT);
    assert_null(strstr(err.message, "did you mean"));
    assert_int_equal(aoe_index_get(index_, "", 1, 1, &hits, &err), AOE_ENOENT);
    assert_null(strstr(err.message, "did you mean"));
    end();
}

/* Files get new names in several updates. */
static void continues_a_change_of_names(void **state) {
    (void)state;
    begin("names");
    add("docs/a.md", "a b c");
    add("docs/b.md", "b c d");
    add("more/c.md", "c d e");
    add("t.tsv", "text\tlang\na\tb\n");
    (void)counts("docs", 2, 0, 0, 0);
    (void)counts("more", 3, 0, 2, 0);
    assert_names("docs/a.md;docs/b.md;more/c.md;");
    char *more = test_path(base, "more"), *table = test_path(base, "t.tsv");
    check(aoe_index_remove_source(index_, more, NULL, &err));
    check(aoe_index_commit(index_, &err));
    aoe_index_update_options o;
    aoe_index_update_options_defaults(&o);
    o.budget = 1e-9;
    aoe_index_update_result r;
    check(update(NULL, &o, &r));
    assert_int_equal(r.left_out, 2);
    assert_names("docs/a.md;docs/b.md;");
    check(update(NULL, NULL, &r));
    assert_names("a.md;b.md;");
    assert_equals_new("docs");
    (void)counts("t.tsv", 3, 0, 2, 0);
    const aoe_index_source s = {.struct_size = sizeof s, .path = table, .text_column = "lang"};
    r = (aoe_index_update_result){.struct_size = sizeof r};
    check(aoe_index_update(index_, &s, 1, &o, &r, &err));
    assert_int_equal(r.left_out, 1);
    check(update(NULL, NULL, &r));
    assert_int_equal(r.changed, 1);
    char *dump = tiny_index_dump(index_);
    assert_has(dump, "  text=a text\n");
    free(dump);
    free(more);
    free(table);
    end();
}

/* The documents of a folder without permission stay. As the superuser can read all folders, the test is another user
 * meanwhile. */
static void keeps_documents_of_closed_folders(void **state) {
    (void)state;
    begin("closed");
    add("docs/a.md", "a b c");
    add("docs/closed/b.md", "b c d");
    add("docs/closed2/b.md", "b c d");
    add("docs/closed2/c.md", "b c e");
    (void)counts("docs", 4, 0, 0, 0);
    char *closed[] = {test_path(base, "docs/closed"), test_path(base, "docs/closed2")};
    assert_int_equal(chmod(closed[0], 0) + chmod(closed[1], 0) + chmod(tiny_index_dir, 0755), 0);
    if (geteuid() == 0 && setegid(65534) + seteuid(65534))
        skip();
    aoe_index_update_result r;
    const int code = update(NULL, NULL, &r);
    if (getuid() == 0)
        assert_int_equal(seteuid(0) + setegid(0), 0);
    assert_int_equal(chmod(closed[0], 0700) + chmod(closed[1], 0700), 0);
    check(code);
    assert_int_equal(r.removed, 0);
    assert_int_equal(r.unchanged, 1);
    assert_int_equal(r.skipped_unreadable, 2);
    (void)counts(NULL, 0, 0, 0, 4);
    delete ("docs/closed2");
    (void)counts(NULL, 0, 0, 2, 2);
    free(closed[0]);
    free(closed[1]);
    end();
}

static void several_sources(void **state) {
    (void)state;
    begin("several");
    add("docs/a.md", "a b c");
    add("docs/sub/b.md", "b c d");
    add("docs/data.csv", "text,year\nd e,2020\n");
    add("readme.md", "---\nyear: 1999\npath: x\n---\n\na b c\n");
    char *paths[4] = {test_path(base, "docs"), test_path(base, "docs/sub"), test_path(base, "docs/data.csv"),
                      test_path(base, "readme.md")};
    aoe_index_source s[4];
    for (int i = 0; i < 4; i++)
        s[i] = (aoe_index_source){.struct_size = sizeof *s, .path = paths[i]};
    check(aoe_index_update(index_, s, 4, NULL, NULL, &err));
    /* each file belongs to one source: the innermost one */
    assert_names("docs/a.md;docs/data.csv:2;docs/sub/b.md;readme.md;");
    char *dump = tiny_index_dump(index_);
    assert_has(dump, "readme.md");
    assert_has(dump, "  ext=md text\n  modified=2020-09-13T12:26:40Z text\n  year=1999 integer\n");
    assert_has(dump, "  year=2020 integer\n");
    assert_null(strstr(dump, "  path="));
    free(dump);
    aoe_index_update_result r = {.struct_size = sizeof r};
    check(aoe_index_update(index_, s, 4, NULL, &r, &err));
    assert_int_equal(r.unchanged, 4);
    assert_int_equal(r.passages, 0);
    for (int i = 0; i < 4; i++)
        free(paths[i]);
    end();
}

/* options.own_only leaves out recorded sources outside the folder of the index. */
static void leaves_out_foreign_sources(void **state) {
    (void)state;
    begin("own");
    char *outside = test_path(tiny_index_dir, "outside");
    check(aoei_make_dir(outside, &err));
    free(test_write_text(outside, "x.md", "a b c"));
    add("docs/a.md", "a b c");
    (void)counts("docs", 1, 0, 0, 0);
    (void)counts("../outside", 2, 0, 1, 0);
    free(test_write_text(outside, "x.md", "a b d"));
    add("docs/a.md", "a b d");
    aoe_index_update_result r;
    aoe_index_update_options o;
    aoe_index_update_options_defaults(&o);
    o.own_only = 1;
    check(update(NULL, &o, &r));
    assert_int_equal(r.changed, 1);
    (void)counts(NULL, 0, 1, 0, 1);
    char *dump = tiny_index_dump(index_);
    assert_has(dump, "/outside/x.md|");
    free(dump);
    /* records of an untrusted index: their paths seem to be inside */
    char *link = test_path(base, "link"), *dots = test_path(base, "docs/../../outside"),
         *table = test_path(base, "table.tsv");
    free(test_write_text(outside, "y.md", "d e f"));
    free(test_write_text(outside, "t.tsv", "text\nd e f\n"));
    assert_int_equal(symlink("../outside", link), 0);
    assert_int_equal(symlink("../outside/t.tsv", table), 0);
    for (int i = 0; i < 3; i++) {
        aoei_source_record s = {.path = i == 0 ? link : i == 1 ? dots : table, .kind = i == 2 ? 2 : 1};
        check(aoei_source_write(index_, &s, &err));
    }
    check(aoe_index_commit(index_, &err));
    check(update(NULL, &o, &r));
    assert_int_equal(r.added, 0);
    assert_int_equal(r.changed, 0);
    free(link);
    free(dots);
    free(table);
    free(outside);
    end();
}

static int stop_at;
static size_t last_files, last_total;
static uint64_t last_bytes, last_total_bytes;

static int stop(void *user, const aoe_index_progress *p) {
    (void)user;
    assert_int_equal(p->struct_size, sizeof *p);
    assert_true(p->files <= p->total_files || p->file == NULL);
    last_files = p->files;
    last_total = p->total_files;
    last_bytes = p->bytes;
    last_total_bytes = p->total_bytes;
    return stop_at-- == 0;
}

static void can_be_cancelled_and_continued(void **state) {
    (void)state;
    begin("cancel");
    char name[64];
    for (uint32_t i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "docs/%02u.md", i);
        add(name, tiny_index_text(i, 0));
    }
    aoe_index_update_options o;
    aoe_index_update_options_defaults(&o);
    o.progress = stop;
    aoe_index_update_result r;
    size_t documents = 0;
    aoe_index_stats stats = {.struct_size = sizeof stats};
    int cancelled = 0;
    /* progress is reported at most every 50 ms, so the number of calls depends on the machine */
    for (int i = 0; i < 3; i++) {
        stop_at = i;
        const int code = update("docs", &o, &r);
        if (code && code != AOE_ECANCELLED)
            check(code);
        cancelled += code == AOE_ECANCELLED;
        check(aoe_index_get_stats(index_, &stats, &err));
        assert_true(stats.documents >= documents);
        documents = stats.documents;
    }
    assert_true(cancelled > 0);
    stop_at = 1 << 30;
    check(update("docs", &o, &r));
    assert_int_equal(last_files, 30);
    assert_int_equal(last_total, 30);
    assert_int_equal(last_bytes, last_total_bytes);
    assert_true(last_bytes > 0);
    assert_equals_new("docs");
    end();
}

/* Returns a text of n different lines, which begin with a number of five letters. */
static char *long_text(const char *start, size_t n, uint32_t first) {
    aoei_buffer b = {0};
    (void)aoei_buffer_printf(&b, "%s", start);
    for (size_t i = 0; i < n; i++) {
        size_t number = i + first;
        for (int k = 0; k < 8; k++, number /= 6) {
            (void)aoei_buffer_putc(&b, (char)('a' + number % 6));
            (void)aoei_buffer_putc(&b, k < 7 ? ' ' : start[0] ? ',' : '\n');
        }
    }
    assert_int_equal(b.failed, 0);
    return b.data;
}

static int stop_in_large(void *user, const aoe_index_progress *p) {
    size_t *passages = user;
    usleep(60000); /* so that the next slice is reported */
    if (!p->file || !strstr(p->file, "large") || p->passages < *passages + 10)
        return 0;
    *passages = p->passages;
    return 1;
}

/* Stops while a large file is divided into passages: their number stays the same. */
static int stop_in_division(void *user, const aoe_index_progress *p) {
    static int calls;
    size_t *passages = user;
    usleep(60000);
    calls = p->file && strstr(p->file, "large") && p->passages == *passages ? calls + 1 : 0;
    *passages = p->passages;
    return calls == 4;
}

/* Cancels the update while a large file is embedded. */
static void cancel_in_large(const char *source) {
    size_t passages = 0;
    aoe_index_update_options o;
    aoe_index_update_options_defaults(&o);
    o.progress = stop_in_large;
    o.user = &passages;
    aoe_index_update_result r;
    assert_int_equal(update(source, &o, &r), AOE_ECANCELLED);
    assert_true(passages >= 10);
    check(aoe_index_verify(index_, 0, &err));
}

static void can_be_cancelled_in_a_large_file(void **state) {
    (void)state;
    begin("large");
    char *text = long_text("", 30000, 0), *other = long_text("", 30000, 50000), *row = long_text("text\n", 30000, 0);
    add("docs/a.md", "a b c");
    add("docs/large.txt", text);
    add("docs/z.md", "d e f");
    cancel_in_large("docs");
    assert_names("a.md;"); /* the finished file */
    size_t passages = 0;
    aoe_index_update_options o;
    aoe_index_update_options_defaults(&o);
    o.progress = stop_in_division;
    o.user = &passages;
    aoe_index_update_result r;
    assert_int_equal(update(NULL, &o, &r), AOE_ECANCELLED);
    assert_names("a.md;");
    assert_int_equal(counts(NULL, 2, 0, 0, 1).left_out, 0);
    assert_equals_new("docs");
    /* the new text of a file that is in the index */
    char *before = tiny_index_dump(index_);
    add("docs/large.txt", other);
    cancel_in_large(NULL);
    char *after = tiny_index_dump(index_);
    assert_string_equal(after, before);
    (void)counts(NULL, 0, 1, 0, 2);
    assert_equals_new("docs");
    end();
    begin("large-row");
    add("large.tsv", row);
    cancel_in_large("large.tsv");
    assert_names("");
    (void)counts(NULL, 1, 0, 0, 0);
    assert_equals_new("large.tsv");
    free(text);
    free(other);
    free(row);
    free(before);
    free(after);
    end();
}

/* Commits after each document, also between the rows of a table, give the same result. */
static void commits_often(void **state) {
    (void)state;
    begin("commits");
    char name[64], table[2000] = "text,id\n";
    for (uint32_t i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "docs/%02u.md", i);
        add(name, tiny_index_text(i, 0));
        snprintf(table + strlen(table), sizeof table - strlen(table), "row %u a b,%u\n", i, i);
    }
    aoe_index_update_options o;
    aoe_index_update_options_defaults(&o);
    o.commit_seconds = 1e-9;
    aoe_index_update_result r;
    check(update("docs", &o, &r));
    assert_int_equal(r.added, 10);
    aoe_index_stats stats = {.struct_size = sizeof stats};
    check(aoe_index_get_stats(index_, &stats, &err));
    assert_true(stats.commits >= 10);
    assert_equals_new("docs");
    char *path = test_path(base, "docs");
    check(aoe_index_remove_source(index_, path, NULL, &err));
    free(path);
    add("t.csv", table);
    check(update("t.csv", &o, &r));
    assert_int_equal(r.added, 10);
    memcpy(strstr(table, "row 3"), "raw 3", 5);
    add("t.csv", table);
    check(update("t.csv", &o, &r));
    assert_int_equal(r.changed, 1);
    assert_int_equal(r.unchanged, 9);
    assert_equals_new("t.csv");
    end();
}

static void respects_the_budget(void **state) {
    (void)state;
    begin("budget");
    char name[64];
    for (uint32_t i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "docs/%02u.md", i);
        add(name, tiny_index_text(i, 0));
    }
    (void)counts("docs", 20, 0, 0, 0);
    for (uint32_t i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "docs/%02u.md", i);
        add(name, tiny_index_text(i, 1));
    }
    delete ("docs/19.md");
    aoe_index_update_options o;
    aoe_index_update_options_defaults(&o);
    o.budget = 1e-9;
    aoe_index_update_result r;
    check(update(NULL, &o, &r));
    assert_int_equal(r.left_out, 10);
    assert_int_equal(r.changed, 0);
    assert_int_equal(r.removed, 1);
    assert_int_equal(r.unchanged, 9);
    o.budget = 1000;
    check(update(NULL, &o, &r));
    assert_int_equal(r.left_out, 0);
    assert_int_equal(r.changed, 10);
    assert_equals_new("docs");
    o.budget = NAN;
    assert_int_equal(update(NULL, &o, &r), AOE_EARG);
    end();
}

/* Returns the number of reads of the files that an inotify instance watches, since the last call. */
static size_t count_reads(int watcher) {
    char events[4096];
    size_t n = 0;
    for (ssize_t size; (size = read(watcher, events, sizeof events)) > 0;)
        n += (size_t)size / sizeof(struct inotify_event);
    return n;
}

/* Files whose program is missing are not read, also not after they changed. */
static void does_not_read_without_program(void **state) {
    (void)state;
    const int watcher = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    begin("missing");
    add("bin/nothing", "");
    add("docs/a.md", "a b c");
    add("docs/b.pdf", "%PDF");
    char *pdf = test_path(base, "docs/b.pdf"), *md = test_path(base, "docs/a.md"), *bin = test_path(base, "bin"),
         *old = strdup(getenv("PATH"));
    const int text = watcher < 0 ? -1 : inotify_add_watch(watcher, md, IN_ACCESS);
    if (text < 0 || inotify_add_watch(watcher, pdf, IN_ACCESS) < 0) {
        printf("SKIP: this system cannot watch files with inotify\n");
        skip();
    }
    setenv("PATH", bin, 1);
    (void)counts("docs", 1, 0, 0, 0);
    assert_true(count_reads(watcher) > 0); /* a.md */
    assert_int_equal(inotify_rm_watch(watcher, text), 0);
    (void)count_reads(watcher);
    for (int i = 0; i < 3; i++) {
        set_time(pdf, 1600000000 + i);
        aoe_index_update_result r = counts("docs", 0, 0, 0, 1);
        assert_int_equal(r.missing_programs, 1);
        assert_int_equal(count_reads(watcher), 0);
    }
    size_t size;
    free(test_read(pdf, &size));
    assert_true(count_reads(watcher) > 0);
    setenv("PATH", old, 1);
    (void)close(watcher);
    free(pdf);
    free(md);
    free(bin);
    free(old);
    end();
}

static void converts_files(void **state) {
    (void)state;
    begin("filters");
    char *bin = test_path(base, "bin"), *path = test_path(base, "bin/upper"), *old = strdup(getenv("PATH"));
    add("bin/upper", "#!/bin/sh\ntr a-z A-Z <\"$1\"\n");
    assert_int_equal(chmod(path, 0755), 0);
    add("docs/a.md", "a b c");
    add("docs/b.pdf", "%PDF");
    add("docs/c.docx", "PK");
    add("docs/d.odt", "PK");
    add("docs/e.up", "d e f");
    setenv("PATH", bin, 1);
    aoe_index_update_result r = counts("docs", 2, 0, 0, 0);
    assert_int_equal(r.skipped_program, 3);
    char expected[2000];
    snprintf(expected, sizeof expected,
             "%s/docs/b.pdf was left out, because the program pdftotext is missing; install the Debian package "
             "poppler-utils\n2 files were left out, such as %s/docs/c.docx, because the program pandoc is missing; "
             "install the Debian package pandoc\n",
             base, base);
    assert_string_equal(messages, expected);
    r = counts("docs", 0, 0, 0, 2);
    assert_int_equal(r.skipped_program, 3);
    assert_string_equal(messages, expected); /* also for files that are not read again */
    const char *const argv[] = {"upper", "-"};
    const aoe_index_filter f[] = {{sizeof *f, "*.up", argv, 2}, {sizeof *f, "*.pdf", argv, 2}};
    aoe_index_update_options o;
    aoe_index_update_options_defaults(&o);
    o.filter = f;
    o.n_filters = 2;
    add("docs/e.up", "d e f g");
    char with[1000];
    snprintf(with, sizeof with, "%s:/usr/bin:/bin", bin);
    setenv("PATH", with, 1);
    check(update(NULL, &o, &r));
    assert_int_equal(r.added, 1);
    assert_int_equal(r.changed, 1);
    char *dump = tiny_index_dump(index_);
    assert_has(dump, "D E F G");
    assert_has(dump, "%PDF");
    free(dump);
    /* without the program, its text stays, whether the file changed or not */
    r = counts(NULL, 0, 0, 0, 3);
    add("docs/e.up", "changed");
    check(update(NULL, NULL, &r));
    assert_has(messages, "docs/e.up was left out: it changed, but the program that converted it was not given");
    dump = tiny_index_dump(index_);
    assert_has(dump, "D E F G");
    free(dump);
    /* a program that fails is not started again before the file changes */
    add("bin/upper", "#!/bin/sh\necho run >>\"$0.log\"; echo broken >&2; exit 1\n");
    assert_int_equal(chmod(path, 0755), 0);
    check(update(NULL, &o, &r));
    assert_int_equal(r.removed, 1);
    assert_has(messages, "docs/e.up was left out: upper failed with exit status 1: broken");
    setenv("PATH", old, 1);
    free(old);
    free(path);
    free(bin);
    end();
}

static void rejects_bad_arguments(void **state) {
    (void)state;
    begin("arguments");
    aoe_index_update_result r;
    assert_int_equal(update(NULL, NULL, &r), AOE_EARG);
    assert_int_equal(update("nothing", NULL, &r), AOE_ENOENT);
    char *fifo = test_path(base, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_int_equal(update("fifo", NULL, &r), AOE_EARG);
    free(fifo);
    add("docs/a.md", "a");
    const char *const bad[] = {NULL};
    char *path = test_path(base, "docs");
    aoe_index_source s = {.struct_size = sizeof s, .path = path, .exclude = bad, .n_exclude = 1};
    assert_int_equal(aoe_index_update(index_, &s, 1, NULL, NULL, &err), AOE_EARG);
    s.exclude = NULL;
    assert_int_equal(aoe_index_update(index_, &s, 1, NULL, NULL, &err), AOE_EARG);
    assert_int_equal(aoe_index_update(index_, NULL, 1, NULL, NULL, &err), AOE_EARG);
    const char *const good[] = {"*.md"};
    s.exclude = good;
    check(aoe_index_update(index_, &s, 1, NULL, NULL, &err));
    assert_names("");
    s.n_exclude = 0;
    s.exclude = NULL; /* the recorded patterns stay */
    check(aoe_index_update(index_, &s, 1, NULL, NULL, &err));
    assert_names("");
    s.exclude = good; /* other patterns replace the recorded ones */
    check(aoe_index_update(index_, &s, 1, NULL, NULL, &err));
    assert_names("a.md;");
    check(update(NULL, NULL, &r));
    aoe_index_close(index_);
    char *dir = test_path(base, ".aoe-index");
    index_ = tiny_index_open(dir, AOE_INDEX_READ, NULL);
    assert_int_equal(update(NULL, NULL, &r), AOE_EARG);
    assert_has(err.message, "the index is open for reading");
    free(dir);
    free(path);
    end();
}

static int update_again(void *arg) {
    aoe_error e = {0};
    const aoe_index_source s = {.struct_size = sizeof s, .path = arg};
    const int code = aoe_index_update(index_, &s, 1, NULL, NULL, &e);
    assert_int_equal(code, e.code);
    return code;
}

static void survives_failed_allocations(void **state) {
    (void)state;
    begin("alloc");
    add("docs/b.md", "b c d");
    add("docs/a.md", "a b c");
    (void)counts("docs", 2, 0, 0, 0);
    char *path = test_path(base, "docs");
    uint32_t version = 0;
    for (uint64_t n = 1; n < 400; n += 1 + n / 8) {
        add("docs/a.md", tiny_index_text(1, version++));
        aoei_alloc_fail_at(n);
        (void)update_again(path);
        aoei_alloc_fail_at(0);
    }
    (void)update_again(path);
    assert_equals_new("docs");
    free(path);
    end();
}

/* Compares 10,000 files that did not change. The time is printed, because it depends on the machine. */
static void compares_many_files(void **state) {
    (void)state;
    begin("many");
    char name[64];
    aoe_index_update_result r;
    const uint32_t n = TEST_SANITIZED ? 500 : 10000;
    for (uint32_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "docs/d%02u/%05u.txt", i / 100, i);
        add(name, i % 50 ? "a b" : tiny_index_text(i, 0));
    }
    double start = aoei_now();
    check(update("docs", NULL, &r));
    print_message("%zu files indexed: %.2f s\n", r.added, aoei_now() - start);
    assert_int_equal(r.added, n);
    double best = 1e9, cpu = 1e9;
    for (int i = 0; i < 5; i++) {
        const clock_t ticks = clock();
        start = aoei_now();
        check(update(NULL, NULL, &r));
        best = fmin(best, aoei_now() - start);
        cpu = fmin(cpu, (double)(clock() - ticks) / CLOCKS_PER_SEC);
        assert_int_equal(r.unchanged, n);
    }
    for (uint32_t i = 0; i < n; i += 2) {
        snprintf(name, sizeof name, "docs/d%02u/%05u.txt", i / 100, i);
        delete (name);
    }
    start = aoei_now();
    check(update(NULL, NULL, &r));
    print_message("%zu files removed: %.2f s\n", r.removed, aoei_now() - start);
    assert_int_equal(r.removed, n / 2);
    print_message("%u unchanged files: %.1f ms, of these %.1f ms of CPU time\n", n, best * 1e3, cpu * 1e3);
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(embeds_only_what_changed),
        cmocka_unit_test(renamed_files_keep_their_vectors),
        cmocka_unit_test(leaves_out_what_is_no_document),
        cmocka_unit_test(does_not_trust_recent_times),
        cmocka_unit_test(knows_recent_times),
        cmocka_unit_test(converts_indexed_files),
        cmocka_unit_test(rejects_bad_sources_at_once),
        cmocka_unit_test(keeps_documents_of_missing_sources),
        cmocka_unit_test(removes_files_by_path),
        cmocka_unit_test(continues_a_change_of_names),
        cmocka_unit_test(keeps_documents_of_closed_folders),
        cmocka_unit_test(several_sources),
        cmocka_unit_test(leaves_out_foreign_sources),
        cmocka_unit_test(can_be_cancelled_and_continued),
        cmocka_unit_test(can_be_cancelled_in_a_large_file),
        cmocka_unit_test(commits_often),
        cmocka_unit_test(respects_the_budget),
        cmocka_unit_test(does_not_read_without_program),
        cmocka_unit_test(converts_files),
        cmocka_unit_test(reads_front_matter),
        cmocka_unit_test(does_not_count_removed_documents),
        cmocka_unit_test(rejects_bad_arguments),
        cmocka_unit_test(survives_failed_allocations),
        cmocka_unit_test(compares_many_files),
    };
    return cmocka_run_group_tests(tests, tiny_index_begin, tiny_index_end);
}
