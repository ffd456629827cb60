/* SPDX-License-Identifier: MIT
 * A folder with an index and its sources, for tests of updates: writes files, updates the index, and compares counts,
 * names and the whole index with a new one.
 */
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "checks.h"
#include "support.h"
#include "tiny_index.h"

static char *base; /* folder of the current test, which contains the index and the sources */
static aoe_index *index_;
static char messages[8192]; /* messages of the log, one per line */

static inline void record(void *user, aoe_log_level level, const char *message) {
    (void)user;
    (void)level;
    const size_t len = strlen(messages);
    snprintf(messages + len, sizeof messages - len, "%s\n", message);
}

static inline void assert_has(const char *text, const char *part) {
    if (!strstr(text, part))
        fail_msg("\"%s\" does not contain \"%s\"", text, part);
}

static inline void open_index(void) {
    aoe_index_options o;
    aoe_index_options_defaults(&o);
    o.log = record;
    char *path = test_path(base, ".aoe-index");
    index_ = tiny_index_open(path, AOE_INDEX_WRITE, &o);
    free(path);
    messages[0] = 0;
}

static inline void begin(const char *name) {
    base = test_path(tiny_index_dir, name);
    check(aoei_make_dir(base, &err));
    open_index();
}

static inline void end(void) {
    aoe_index_close(index_);
    free(base);
}

static inline void set_time(const char *path, long seconds) {
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Writes base/name, which was last modified in 2020. */
static inline void add(const char *name, const char *text) {
    char *path = test_path(base, name), *slash = strrchr(path, '/');
    *slash = 0;
    check(aoei_make_dir(path, &err));
    free(test_write_text(path, slash + 1, text));
    *slash = '/';
    set_time(path, 1600000000);
    free(path);
}

static inline void delete (const char *name) {
    char *path = test_path(base, name);
    check(aoei_remove_tree(path, &err));
    free(path);
}

static inline void move(const char *from, const char *to) {
    char *a = test_path(base, from), *b = test_path(base, to);
    assert_int_equal(rename(a, b), 0);
    free(a);
    free(b);
}

/* Updates the index. name: source below the folder of the test; NULL: the recorded sources. */
static inline int update(const char *name, const aoe_index_update_options *o, aoe_index_update_result *r) {
    char *path = name ? test_path(base, name) : NULL;
    const aoe_index_source s = {.struct_size = sizeof s, .path = path};
    messages[0] = 0;
    *r = (aoe_index_update_result){.struct_size = sizeof *r};
    const int code = aoe_index_update(index_, &s, path != NULL, o, r, &err);
    free(path);
    return code;
}

/* Updates the index and compares the counts. */
static inline aoe_index_update_result counts(const char *name, size_t added, size_t changed, size_t removed,
                                             size_t unchanged) {
    aoe_index_update_result r;
    check(update(name, NULL, &r));
    if (r.added != added || r.changed != changed || r.removed != removed || r.unchanged != unchanged)
        fail_msg("added %zu, changed %zu, removed %zu, unchanged %zu", r.added, r.changed, r.removed, r.unchanged);
    return r;
}

/* Compares the names of all documents, each followed by ';'. */
static inline void assert_names(const char *expected) {
    char *dump = tiny_index_dump(index_), names[4096] = "";
    const char *last = "";
    size_t last_len = 0;
    for (char *line = dump; *line;) {
        const size_t len = strcspn(line, "\n"), name = strcspn(line, "|");
        if (*line != ' ' && name < len && !(name == last_len && memcmp(line, last, name) == 0)) {
            const size_t n = strlen(names);
            snprintf(names + n, sizeof names - n, "%.*s;", (int)name, line);
            last = line;
            last_len = name;
        }
        line += len + (line[len] != 0);
    }
    assert_string_equal(names, expected);
    free(dump);
}

/* Compares the index with a new index of the same sources. */
static inline void assert_equals_new(const char *source) {
    char *mine = tiny_index_dump(index_), *path = test_path(base, ".new-index"), *from = test_path(base, source);
    check(aoei_remove_tree(path, &err));
    aoe_index *fresh = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    const aoe_index_source s = {.struct_size = sizeof s, .path = from};
    check(aoe_index_update(fresh, &s, 1, NULL, NULL, &err));
    char *other = tiny_index_dump(fresh);
    aoe_index_close(fresh);
    assert_string_equal(mine, other);
    free(mine);
    free(other);
    free(path);
    free(from);
}
