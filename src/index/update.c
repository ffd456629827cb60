/* SPDX-License-Identifier: MIT
 * aoe_index_update: plans the sources, lists all their files before anything is changed, and then updates one source
 * after the other. If a source does not exist, nothing is changed, so that a folder that is not mounted does not remove
 * its documents.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/log.h"
#include "base/options.h"
#include "base/path.h"
#include "index/index_write.h"
#include "index/update_folder.h"
#include "index/update_run.h"
#include "index/update_source.h"
#include "index/update_table.h"

typedef struct plan {
    aoei_update u;
    char *base;                 /* folder that contains the directory of the index, owned */
    aoei_update_source *source; /* [n] owned */
    size_t n;
    size_t n_given; /* arguments of aoe_index_update */
} plan;

/* -------------------------------------------------------------------------- plan */

/* Returns 1 if path is dir or inside it. Both are absolute, without symbolic links. */
static int is_inside(const char *path, const char *dir) {
    const size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir);
    return strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

/* Takes the recorded sources over. */
static int read_sources(plan *p, size_t given, aoe_error *err) {
    aoei_source_record *records;
    size_t n;
    int code = aoei_sources_read(p->u.index, &records, &n, err);
    if (code)
        return code;
    p->source = aoei_calloc(n + given + 1, sizeof *p->source);
    if (!p->source) {
        aoei_sources_free(records, n);
        return aoei_fail_nomem(err, (n + given) * sizeof *p->source);
    }
    for (size_t i = 0; i < n; i++)
        p->source[p->n++].record = records[i];
    aoei_free(records);
    return 0;
}

/* Adds an argument of aoe_index_update, or replaces the recorded source of the same path by it. */
static int add_source(plan *p, const aoe_index_source *given, aoe_error *err) {
    aoei_update_source s = {.is_new_record = 1};
    int code = aoei_source_describe(&s, given, err);
    if (code) {
        aoei_source_free(&s);
        return code;
    }
    for (size_t i = 0; i < p->n; i++) {
        aoei_source_record *old = &p->source[i].record;
        if (strcmp(old->path, s.record.path) != 0)
            continue;
        const int same_kind = (old->kind & AOEI_SOURCE_KIND) == s.record.kind;
        if (!given->exclude && old->excludes && !(s.record.excludes = aoei_strdup(old->excludes))) {
            aoei_source_free(&s);
            return aoei_fail_nomem(err, strlen(old->excludes) + 1);
        }
        s.record.id = old->id;
        s.record.kind |= old->kind & AOEI_SOURCE_LONG;
        s.is_new_record = !same_kind || !aoei_source_equal(old, &s.record) || p->source[i].is_new_record;
        s.force = p->source[i].force || !same_kind || (s.is_new_record && aoei_source_kind(&s) == AOEI_SOURCE_TABLE);
        aoei_source_free(&p->source[i]);
        p->source[i] = s;
        return 0;
    }
    p->source[p->n++] = s;
    return 0;
}

/* Sets the prefix of a source. A source whose names change is read again. */
static int set_names(plan *p, aoei_update_source *s, aoe_error *err) {
    const int is_long = p->n > 1 ? AOEI_SOURCE_LONG : 0;
    if ((s->record.kind & AOEI_SOURCE_LONG) != is_long) {
        s->force |= s->record.id != 0;
        s->is_new_record = 1;
        s->record.kind = aoei_source_kind(s) | is_long;
    }
    return aoei_source_set_prefix(s, p->base, p->n == 1, err);
}

/* Sets s->nested to the sources inside a folder. */
static int set_nested(plan *p, aoei_update_source *s, aoe_error *err) {
    const char *root = s->record.path;
    const size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (aoei_source_kind(s) != AOEI_SOURCE_FOLDER)
        return 0;
    s->nested = aoei_malloc_array(p->n, sizeof *s->nested);
    if (!s->nested)
        return aoei_fail_nomem(err, p->n * sizeof *s->nested);
    for (size_t i = 0; i < p->n; i++)
        if (&p->source[i] != s && is_inside(p->source[i].record.path, root))
            s->nested[s->n_nested++] = p->source[i].record.path + n + 1;
    return 0;
}

typedef struct listing {
    aoei_update *u;
    size_t before; /* files of the sources that are already listed */
} listing;

static int report_listing(void *user, size_t files) {
    const listing *l = user;
    l->u->progress.total_files = l->before + files;
    return aoei_update_report(l->u, NULL, 0, NULL) != 0;
}

static int list_source(plan *p, aoei_update_source *s, aoe_error *err) {
    listing l = {&p->u, p->u.progress.total_files};
    const int code = aoei_source_list(s, p->u.index->dir, report_listing, &l, err);
    if (code == AOE_ENOENT && p->n_given && !s->given) {
        aoei_log_write(&p->u.index->log, AOE_LOG_WARNING,
                       "%s does not exist; its documents stay in the index until this source is removed from it",
                       s->record.path);
        return 0;
    }
    if (code == AOE_ENOENT)
        return aoei_fail(err, AOE_ENOENT,
                         "%s does not exist, so the index was not updated; mount or restore it, or remove this source "
                         "from the index",
                         s->record.path);
    if (code)
        return code;
    p->u.progress.total_files = l.before + s->folder->n;
    for (size_t i = 0; i < s->folder->n; i++)
        p->u.progress.total_bytes += s->folder->file[i].size;
    return 0;
}

/* Returns 1 if options.own_only leaves the source out. A recorded path is trusted only if it is the real path of
 * something inside the folder of the index: it contains no link and no "..", so that realpath does not change it. */
static int is_foreign(const plan *p, const aoei_update_source *s) {
    char full[PATH_MAX];
    if (!p->u.o->own_only || s->given)
        return 0;
    if (!is_inside(s->record.path, p->base))
        return 1;
    return realpath(s->record.path, full) ? strcmp(full, s->record.path) != 0 : errno != ENOENT;
}

/* Checks again, after a source was listed, that options.own_only does not leave it out: the descriptor of the folder
 * shows where it is, even if a folder was replaced by a link in between. */
static int check_place(const plan *p, const aoei_update_source *s, aoe_error *err) {
    char link[64], full[PATH_MAX];
    if (!p->u.o->own_only || s->given)
        return 0;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", s->folder->fd);
    const ssize_t n = readlink(link, full, sizeof full - 1);
    full[n < 0 ? 0 : n] = 0;
    if (!is_inside(n < 0 ? s->folder->root : full, p->base) || is_foreign(p, s))
        return aoei_fail(err, AOE_EIO, "%s was replaced while it was listed; try again", s->record.path);
    return 0;
}

static int make_plan(plan *p, const aoe_index_source *given, size_t n, aoe_error *err) {
    char *dir = aoei_full_path(p->u.index->dir);
    p->base = dir ? aoei_path_parent(dir) : NULL;
    aoei_free(dir);
    if (!p->base)
        return aoei_fail_nomem(err, strlen(p->u.index->dir));
    int code = read_sources(p, n, err);
    p->n_given = n;
    for (size_t i = 0; i < n && code == 0; i++)
        code = add_source(p, &given[i], err);
    if (code == 0 && p->n == 0)
        code = aoei_fail(err, AOE_EARG, "%s: the index has no source; give a folder or a table", p->u.index->dir);
    for (size_t i = 0; i < p->n && code == 0; i++) {
        aoei_update_source *s = &p->source[i];
        if (is_foreign(p, s))
            continue;
        code = set_names(p, s, err);
        if (code == 0)
            code = set_nested(p, s, err);
        if (code == 0)
            code = list_source(p, s, err);
        if (code == 0)
            code = check_place(p, s, err);
    }
    return code;
}

static void free_plan(plan *p) {
    for (size_t i = 0; i < p->n; i++)
        aoei_source_free(&p->source[i]);
    aoei_free(p->source);
    aoei_free(p->base);
}

/* ------------------------------------------------------------------------ execution */

static int update_source(plan *p, aoei_update_source *s, aoe_error *err) {
    int code = 0;
    if (s->is_new_record) {
        p->u.changed = 1;
        code = aoei_source_write(p->u.index, &s->record, err);
    }
    if (code == 0 && s->force) { /* recorded, so that an update that is interrupted is continued by the next one */
        p->u.changed = 1;
        code = aoei_files_forget(p->u.index, s->record.id, err);
    }
    if (code == 0)
        code = aoei_source_kind(s) == AOEI_SOURCE_TABLE ? aoei_update_table(&p->u, s, err)
                                                        : aoei_update_folder(&p->u, s, err);
    return code ? code : aoei_update_commit(&p->u, err);
}

static int run(plan *p, const aoe_index_source *given, size_t n, aoe_error *err) {
    int code = make_plan(p, given, n, err);
    for (size_t i = 0; i < p->n && code == 0; i++)
        if (p->source[i].folder)
            code = update_source(p, &p->source[i], err);
    if (code == 0)
        code = aoei_update_report(&p->u, NULL, 1, err);
    if (code != AOE_ECANCELLED) {
        if (code)
            aoei_write_rollback(p->u.index);
        return code;
    }
    const int failed = aoei_update_commit(&p->u, err);
    return failed ? failed : code;
}

int aoe_index_update(aoe_index *index, const aoe_index_source *sources, size_t n, const aoe_index_update_options *o,
                     aoe_index_update_result *result, aoe_error *err) {
    AOEI_CHECK(err, index);
    AOEI_OPTIONS(aoe_index_update_options, o, err);
    AOEI_RESULT(aoe_index_update_result, result, err);
    const aoe_index_source no_source = {.struct_size = sizeof no_source};
    const aoe_index_filter no_filter = {.struct_size = sizeof no_filter};
    AOEI_ARRAY(aoe_index_filter, o, filter, n_filters, &no_filter, err);
    AOEI_CLEANUP(aoei_options_free) void *memory = NULL;
    if (n && !sources)
        return aoei_fail(err, AOE_EARG, "%s: argument 'sources' is NULL, but n is %zu", __func__, n);
    int code = aoei_check_option("options.budget", o->budget, err);
    if (code == 0)
        code = aoei_check_option("options.commit_seconds", o->commit_seconds, err);
    if (code == 0)
        code = aoei_options_array(&memory, sources, n, &no_source, &aoei_layout_aoe_index_source, __func__, err);
    if (code == 0 && !index->writer)
        code = aoei_fail(err, AOE_EARG, "%s: the index is open for reading; open it with AOE_INDEX_WRITE", index->dir);
    if (code == 0)
        code = aoe_index_commit(index, err); /* an error of the update does not undo earlier changes */
    if (code)
        return code;
    plan p = {.n = 0};
    code = aoei_update_begin(&p.u, index, o, result, err);
    if (code)
        return code;
    code = run(&p, memory, n, err);
    aoei_update_end(&p.u);
    free_plan(&p);
    return code;
}

/* ------------------------------------------------------------------ removed sources */

/* Returns 1 if `path`, as the user gives it, is the recorded path of a source. The source need not exist any more. */
static int is_path_of(const char *path, const char *recorded) {
    char full[PATH_MAX];
    if (strcmp(path, recorded) == 0)
        return 1;
    if (realpath(path, full))
        return strcmp(full, recorded) == 0;
    char *parent = aoei_path_parent(path);
    const int found = parent && realpath(parent, full) && is_inside(recorded, full) &&
                      strcmp(aoei_path_name(path), aoei_path_name(recorded)) == 0 &&
                      strlen(recorded) == strlen(full) + (full[1] != 0) + strlen(aoei_path_name(path));
    aoei_free(parent);
    return found;
}

int aoe_index_remove_source(aoe_index *index, const char *path, size_t *removed, aoe_error *err) {
    aoei_source_record *records;
    size_t n, found = SIZE_MAX;
    if (removed)
        *removed = 0;
    AOEI_CHECK(err, index, path);
    if (!index->writer)
        return aoei_fail(err, AOE_EARG, "%s: the index is open for reading; open it with AOE_INDEX_WRITE", index->dir);
    int code = aoei_sources_read(index, &records, &n, err);
    if (code)
        return code;
    for (size_t i = 0; i < n && found == SIZE_MAX; i++)
        if (is_path_of(path, records[i].path))
            found = i;
    const size_t before = aoei_write_counted(index).removed;
    if (found == SIZE_MAX)
        code = aoei_fail(err, AOE_ENOENT, "%s is not a source of the index %s; give the path of a source", path,
                         index->dir);
    else
        code = aoei_source_remove(index, records[found].id, err);
    if (code == 0 && removed)
        *removed = aoei_write_counted(index).removed - before;
    aoei_sources_free(records, n);
    return code;
}
