/* SPDX-License-Identifier: MIT
 * aoe_index_is_current: compares the files of all sources with their records, and stops at the first difference. A file
 * for which an update would log a message is a difference, too. Only reads, so that it needs neither the lock of the
 * writer nor a commit.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "index/reader.h"
#include "index/update_folder.h"
#include "index/update_plan.h"

/* The comparison of one source. Files and records have the same order. */
typedef struct comparison {
    aoei_filters *filters;
    const aoei_update_source *s;
    size_t i; /* next file of the folder */
} comparison;

enum { DIFFERENT = 1 }; /* the result of a function that found a difference; codes of errors are negative */

/* Skips files that belong to other sources. */
static void skip_nested(comparison *c) {
    const aoei_folder *folder = c->s->folder;
    while (c->i < folder->n && !folder->file[c->i].skip && aoei_source_is_nested(c->s, &folder->file[c->i]))
        c->i++;
}

static int compare_record(void *user, const aoei_file_record *r, aoe_error *err) {
    (void)err;
    comparison *c = user;
    const aoei_folder *folder = c->s->folder;
    skip_nested(c);
    if (c->i == folder->n)
        return DIFFERENT;
    const aoei_file *file = &folder->file[c->i++];
    return !file->skip && strcmp(file->path, r->path) == 0 && aoei_update_is_same(r, file) &&
                   aoei_update_is_final(c->filters, file, r)
               ? 0
               : DIFFERENT;
}

static int compare_source(aoei_filters *filters, aoe_index *index, const aoei_update_source *s, aoe_error *err) {
    comparison c = {.filters = filters, .s = s};
    if (s->is_new_record || s->force)
        return DIFFERENT;
    const int code = aoei_files_read(index, s->record.id, compare_record, &c, err);
    skip_nested(&c);
    return code || c.i == s->folder->n ? code : DIFFERENT;
}

/* Reads the number of commits, with which aoe_index_update finds out whether the list of files is still valid. */
static int read_commits(aoei_update_plan *p, aoe_error *err) {
    aoei_reader *r;
    if (p->u.index->writer)
        return 0;
    const int code = aoei_reader_begin(&r, p->u.index, err);
    if (code)
        return code;
    p->commits = r->view->commits;
    aoei_reader_end(r);
    return 0;
}

/* Returns 0 if nothing differs, DIFFERENT, or the code of an error. */
static int compare(aoei_update_plan *p, aoe_error *err) {
    const aoe_index_update_options *o = p->u.o;
    int code = aoei_filters_init(&p->u.filters, o->filter, o->n_filters, err);
    if (code == 0)
        code = read_commits(p, err);
    if (code == 0)
        code = aoei_update_plan_make(p, NULL, 0, err);
    for (size_t i = 0; i < p->n && code == 0; i++)
        if (p->source[i].folder)
            code = compare_source(&p->u.filters, p->u.index, &p->source[i], err);
    return code;
}

int aoe_index_is_current(aoe_index *index, const aoe_index_update_options *o, int *is_current, aoe_error *err) {
    AOEI_CHECK(err, index, is_current);
    *is_current = 0;
    AOEI_OPTIONS(aoe_index_update_options, o, err);
    const aoe_index_filter no_filter = {.struct_size = sizeof no_filter};
    AOEI_ARRAY(aoe_index_filter, o, filter, n_filters, &no_filter, err);
    aoei_update_plan_destroy(index->compared);
    index->compared = NULL;
    aoei_update_plan *p = aoei_calloc(1, sizeof *p);
    if (!p)
        return aoei_fail_nomem(err, sizeof *p);
    p->u = (aoei_update){.index = index, .o = o, .progress = {.struct_size = sizeof p->u.progress}};
    const int code = compare(p, err);
    aoei_filters_free(&p->u.filters);
    p->u = (aoei_update){.index = index};
    if (code == DIFFERENT && !index->writer)
        index->compared = p;
    else
        aoei_update_plan_destroy(p);
    *is_current = code == 0;
    return code == DIFFERENT ? 0 : code;
}
