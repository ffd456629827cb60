/* SPDX-License-Identifier: MIT
 * Plans an update: finds its sources, and lists their files. If a source does not exist, the plan fails, so that a
 * folder that is not mounted does not remove its documents.
 */
#include "index/update_plan.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/log.h"
#include "base/path.h"
#include "index/writer.h"
#include "index/place.h"

int aoei_update_is_inside(const char *path, const char *dir) {
    const size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir);
    return strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

/* Takes the recorded sources over. */
static int read_sources(aoei_update_plan *p, size_t given, aoe_error *err) {
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
static int add_source(aoei_update_plan *p, const aoe_index_source *given, aoe_error *err) {
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
static int set_names(aoei_update_plan *p, aoei_update_source *s, aoe_error *err) {
    const int is_long = p->n > 1 ? AOEI_SOURCE_LONG : 0;
    if ((s->record.kind & AOEI_SOURCE_LONG) != is_long) {
        s->force |= s->record.id != 0;
        s->is_new_record = 1;
        s->record.kind = aoei_source_kind(s) | is_long;
    }
    return aoei_source_set_prefix(s, p->base, p->n == 1, err);
}

/* Sets s->nested to the sources inside a folder. */
static int set_nested(aoei_update_plan *p, aoei_update_source *s, aoe_error *err) {
    const char *root = s->record.path;
    const size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);
    if (aoei_source_kind(s) != AOEI_SOURCE_FOLDER)
        return 0;
    s->nested = aoei_malloc_array(p->n, sizeof *s->nested);
    if (!s->nested)
        return aoei_fail_nomem(err, p->n * sizeof *s->nested);
    for (size_t i = 0; i < p->n; i++)
        if (&p->source[i] != s && aoei_update_is_inside(p->source[i].record.path, root))
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

/* Takes the list of files that options.compared has made for the source. It is valid if there was no commit since then:
 * another writer could have added files that it does not contain, and they would be removed. */
static aoei_folder *take_list(const aoei_update_plan *p, const aoei_update_source *s) {
    const aoe_index *compared = p->u.o->compared;
    aoei_update_plan *other = compared ? compared->compared : NULL;
    if (!other || !p->u.index->writer || strcmp(compared->dir, p->u.index->dir) != 0 ||
        compared->settings.id != p->u.index->settings.id ||
        other->commits != p->u.index->writer->committed.state.commits)
        return NULL;
    for (size_t i = 0; i < other->n; i++) {
        aoei_update_source *o = &other->source[i];
        if (strcmp(o->record.path, s->record.path) == 0 && aoei_source_kind(o) == aoei_source_kind(s) &&
            aoei_source_equal(&o->record, &s->record)) {
            aoei_folder *folder = o->folder;
            o->folder = NULL;
            return folder;
        }
    }
    return NULL;
}

static int list_source(aoei_update_plan *p, aoei_update_source *s, aoe_error *err) {
    listing l = {&p->u, p->u.progress.total_files};
    s->folder = take_list(p, s);
    const int code = s->folder ? 0 : aoei_source_list(s, p->u.index->dir, report_listing, &l, err);
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
static int is_outside(const aoei_update_plan *p, const aoei_update_source *s) {
    char full[PATH_MAX];
    if (s->given)
        return 0;
    if (!aoei_update_is_inside(s->record.path, p->base))
        return 1;
    return realpath(s->record.path, full) ? strcmp(full, s->record.path) != 0 : errno != ENOENT;
}

static int is_foreign(const aoei_update_plan *p, const aoei_update_source *s) {
    return p->u.o->own_only && is_outside(p, s);
}

const aoei_update_source *aoei_update_plan_foreign(const aoei_update_plan *p) {
    for (size_t i = 0; i < p->n; i++)
        if (is_outside(p, &p->source[i]))
            return &p->source[i];
    return NULL;
}

/* Checks again, after a source was listed, that options.own_only does not leave it out: the descriptor of the folder
 * shows where it is, even if a folder was replaced by a link in between. */
static int check_place(const aoei_update_plan *p, const aoei_update_source *s, aoe_error *err) {
    char link[64], full[PATH_MAX];
    if (!p->u.o->own_only || s->given)
        return 0;
    (void)snprintf(link, sizeof link, "/proc/self/fd/%d", s->folder->fd);
    const ssize_t n = readlink(link, full, sizeof full - 1);
    full[n < 0 ? 0 : n] = 0;
    if (!aoei_update_is_inside(n < 0 ? s->folder->root : full, p->base) || is_foreign(p, s))
        return aoei_fail(err, AOE_EIO, "%s was replaced while it was listed; try again", s->record.path);
    return 0;
}

int aoei_update_plan_make(aoei_update_plan *p, const aoe_index_source *given, size_t n, aoe_error *err) {
    char *dir = aoei_full_path(p->u.index->dir);
    p->base = dir ? aoei_path_parent(dir) : NULL;
    aoei_free(dir);
    p->place = aoei_place_identity(p->u.index->dir);
    if (!p->base || !p->place)
        return aoei_fail_nomem(err, strlen(p->u.index->dir));
    p->is_copy = strcmp(p->place, p->u.index->settings.place) != 0;
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
        s->force |= p->is_copy && s->given && s->record.id && p->n > 1; /* its names depend on the place of the index */
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

void aoei_update_plan_destroy(aoei_update_plan *p) {
    if (p)
        aoei_update_plan_free(p);
    aoei_free(p);
}

void aoei_update_plan_free(aoei_update_plan *p) {
    for (size_t i = 0; i < p->n; i++)
        aoei_source_free(&p->source[i]);
    aoei_free(p->source);
    aoei_free(p->base);
    aoei_free(p->place);
}
