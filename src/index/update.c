/* SPDX-License-Identifier: MIT
 * aoe_index_update: lists the files of all sources before anything is changed, and then updates one source after the
 * other.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "base/path.h"
#include "index/index_write.h"
#include "index/place.h"
#include "index/update_folder.h"
#include "index/update_plan.h"
#include "index/update_table.h"
#include "index/writer.h"

/* Updates the documents of a source. The new names of the documents of a recorded source are not committed at once, so
 * that they are undone if a new source, because of which they change, has an error. */
static int update_source(aoei_update_plan *p, aoei_update_source *s, aoe_error *err) {
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
    return code || (p->n_given && s->force && !s->given) ? code : aoei_update_commit(&p->u, err);
}

/* Checks the columns of new tables before anything is changed. */
static int check_tables(const aoei_update_plan *p, aoe_error *err) {
    int code = 0;
    for (size_t i = 0; i < p->n && code == 0; i++) {
        aoei_update_source *s = &p->source[i];
        if (s->folder && s->given && aoei_source_kind(s) == AOEI_SOURCE_TABLE)
            code = aoei_update_table_check(s, err);
    }
    return code;
}

/* Records that a copy of an index belongs to its place, after the user has given all sources outside its folder. The
 * record of its model is replaced too, because it may also come from somebody else. */
static int record_place(aoei_update_plan *p, aoe_error *err) {
    aoe_index *index = p->u.index;
    const aoei_update_source *other = aoei_update_plan_foreign(p);
    if (!p->is_copy || !p->n_given || aoei_place_is_foreign(index->dir, index->path))
        return 0;
    if (other) {
        aoei_log_write(&index->log, AOE_LOG_WARNING,
                       "%s was copied or moved here, and remains a copy, because its source %s was not given; give all "
                       "of its sources outside the folder that contains it together, or remove those that you do not "
                       "need",
                       index->dir, other->record.path);
        return 0;
    }
    int code = aoei_write_begin(index, err);
    if (!code)
        code = aoei_index_place_write(&index->writer->db, p->place, index->model ? index->model : index->settings.model,
                                      err);
    if (!code)
        code = aoei_write_commit(index, err);
    if (code)
        return code;
    aoei_mutex_lock(&index->lock);
    char *old = index->settings.place;
    index->settings.place = p->place;
    p->place = old;
    aoei_mutex_unlock(&index->lock);
    aoei_log_write(&index->log, AOE_LOG_INFO, "%s was copied or moved here, and is now used as if it was created here",
                   index->dir);
    return 0;
}

static int run(aoei_update_plan *p, const aoe_index_source *given, size_t n, aoe_error *err) {
    int code = aoei_update_plan_make(p, given, n, err);
    if (code == 0)
        code = check_tables(p, err);
    for (size_t i = 0; i < p->n && code == 0; i++)
        if (p->source[i].folder)
            code = update_source(p, &p->source[i], err);
    if (code == 0)
        code = aoei_update_commit(&p->u, err);
    if (code == 0)
        code = record_place(p, err);
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
    aoei_update_plan p = {.n = 0};
    code = aoei_update_begin(&p.u, index, o, result, err);
    if (code)
        return code;
    code = run(&p, memory, n, err);
    aoei_update_end(&p.u);
    aoei_update_plan_free(&p);
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
    const int found = parent && realpath(parent, full) && aoei_update_is_inside(recorded, full) &&
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
