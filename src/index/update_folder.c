/* SPDX-License-Identifier: MIT
 * Updates the documents of a folder. Files that are new or differ are indexed before the records of missing files are
 * removed, so that a renamed file finds its vectors in the index.
 */
#include "index/update_folder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/text_store.h"
#include "document/file_text.h"
#include "document/front_matter.h"
#include "document/kind.h"
#include "index/writer.h"

/* A file that must be read. */
typedef struct candidate {
    size_t file;   /* index in folder->file */
    uint64_t size; /* bytes */
    size_t known;  /* index of its record; SIZE_MAX: none */
    size_t twin;   /* index of the record of a missing file that was probably renamed to this one; SIZE_MAX: none */
} candidate;

typedef struct folder_update {
    aoei_update *u;
    aoei_update_source *s;
    aoei_file_record *known; /* [n_known] records, in the order of paths; owned */
    char *is_missing;        /* [n_known] 1: there is no such file any more; owned */
    size_t n_known, known_capacity;
    candidate *candidate; /* [n_candidates] owned */
    size_t n_candidates, candidate_capacity;
    int64_t *removed; /* [n_removed] ids of files whose document was removed with aoe_index_remove, sorted; owned */
    size_t n_removed, removed_capacity;
    aoei_chunks paths; /* paths of the records */
    aoei_front_matter matter;
    aoei_buffer name; /* name of the current document */
} folder_update;

/* ------------------------------------------------------------------------ records */

static int add_known(void *user, const aoei_file_record *r, aoe_error *err) {
    folder_update *f = user;
    const size_t len = strlen(r->path);
    char *path = aoei_chunks_take(&f->paths, len + 1);
    if (!path || aoei_grow((void **)&f->known, &f->known_capacity, f->n_known, sizeof *f->known))
        return aoei_fail_nomem(err, len + sizeof *f->known);
    memcpy(path, r->path, len + 1);
    f->known[f->n_known] = *r;
    f->known[f->n_known++].path = path;
    return 0;
}

/* Sets f->removed. */
static int read_removed(folder_update *f, aoe_error *err) {
    aoei_db *d = &f->u->index->writer->db;
    sqlite3_stmt *stmt;
    int code = aoei_db_prepare(d,
                               "SELECT id FROM files WHERE source = ?1 AND NOT EXISTS (SELECT 1 FROM documents WHERE "
                               "file = files.id) ORDER BY id",
                               &stmt, err);
    if (code)
        return code;
    (void)sqlite3_bind_int64(stmt, 1, f->s->record.id);
    while ((code = aoei_db_step(d, stmt, err)) == 1) {
        if (aoei_grow((void **)&f->removed, &f->removed_capacity, f->n_removed, sizeof *f->removed)) {
            code = aoei_fail_nomem(err, f->n_removed * sizeof *f->removed);
            break;
        }
        f->removed[f->n_removed++] = sqlite3_column_int64(stmt, 0);
    }
    aoei_db_reset(stmt);
    return code;
}

static int compare_ids(const void *a, const void *b) {
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Returns 1 if the document of a file was removed from the index. */
static int is_removed(const folder_update *f, int64_t id) {
    return f->n_removed && bsearch(&id, f->removed, f->n_removed, sizeof id, compare_ids);
}

/* Counts a document that did not change, unless it was removed from the index. */
static void count_unchanged(folder_update *f, int64_t id) {
    if (!is_removed(f, id))
        f->u->result->unchanged++;
}

int aoei_update_is_same(const aoei_file_record *r, const aoei_file *file) {
    return r->size == file->size && r->mtime_ns == file->mtime_ns && r->ctime_ns == file->ctime_ns &&
           r->inode == file->inode;
}

int aoei_update_record(aoei_update *u, const aoei_update_source *s, const aoei_file *file, const aoei_file_record *old,
                       uint64_t hash, aoei_file_state state, int64_t *id, aoe_error *err) {
    aoei_file_record r = {.id = old ? old->id : 0,
                          .source = s->record.id,
                          .path = file->path,
                          .size = file->size,
                          .mtime_ns = file->mtime_ns,
                          .ctime_ns = file->ctime_ns,
                          .inode = file->inode,
                          .hash = hash,
                          .state = state};
    if (aoei_update_is_recent(file->mtime_ns))
        r.ctime_ns = -1; /* differs from all times, so the next update compares the contents */
    *id = r.id;
    if (old && r.size == old->size && r.mtime_ns == old->mtime_ns && r.ctime_ns == old->ctime_ns &&
        r.inode == old->inode && r.hash == old->hash && r.state == old->state)
        return 0;
    u->changed = 1;
    const int code = aoei_file_write(u->index, &r, err);
    *id = r.id;
    return code;
}

static int is_indexed(aoei_file_state state) {
    return state == AOEI_FILE_INDEXED || state == AOEI_FILE_FILTERED;
}

/* ------------------------------------------------------------------------ one file */

/* Counts a file that is not indexed, and removes its document. */
static int leave_out(folder_update *f, const aoei_file *file, const aoei_file_record *old, uint64_t hash,
                     aoei_file_state state, aoe_error *err) {
    int64_t id;
    int code = 0;
    if (old && is_indexed(old->state)) {
        f->u->changed = 1;
        code = aoei_write_file_clear(f->u->index, old->id, err);
    }
    return code ? code : aoei_update_record(f->u, f->s, file, old, hash, state, &id, err);
}

static const char *reason(const aoei_file *file) {
    return file->errnum ? strerror(file->errnum) : NULL;
}

/* Handles a file that cannot be read. A file that changes too often keeps its old document. */
static int skip_file(folder_update *f, const aoei_file *file, const aoei_file_record *old, uint64_t hash,
                     aoe_error *err) {
    const aoei_file_state state = file->skip == AOEI_SKIP_BINARY       ? AOEI_FILE_BINARY
                                  : file->skip == AOEI_SKIP_UNREADABLE ? AOEI_FILE_UNREADABLE
                                                                       : AOEI_FILE_OTHER;
    if (file->skip == AOEI_SKIP_UNREADABLE && file->errnum == ENOENT)
        return 0; /* removed since it was listed */
    aoei_update_skip(f->u, f->s->folder->root, file->path, file->skip, reason(file));
    return file->skip == AOEI_SKIP_CHANGING ? 0 : leave_out(f, file, old, hash, state, err);
}

/* Handles a file whose program is missing. The hash 0 says that the program is searched again. */
static int leave_out_missing(folder_update *f, const aoei_file *file, const aoei_file_record *old, aoe_error *err) {
    f->u->result->skipped_program++;
    f->u->result->missing_programs++;
    return leave_out(f, file, old, 0, AOEI_FILE_PROGRAM, err);
}

/* Returns 1 if a file has a program that is not installed, and counts it in the row of the program. */
static int lacks_program(const folder_update *f, const char *path) {
    aoei_filter *filter = aoei_filters_find(&f->u->filters, path);
    if (!filter || !aoei_filter_is_missing(filter, f->s->folder->root))
        return 0;
    aoei_filter_leave_out(filter, f->s->folder->root, path);
    return 1;
}

typedef struct cancel_state {
    aoei_update *u;
    const char *file;
} cancel_state;

static int is_cancelled(void *user) {
    const cancel_state *c = user;
    return aoei_update_report(c->u, c->file, 0, NULL) != 0;
}

/* What became of the contents of a file. */
typedef enum outcome { OUTCOME_TEXT, OUTCOME_SKIPPED, OUTCOME_LATE } outcome;

/* Runs a program for a file. Sets *data and *size, or counts the file. */
static int run_filter(folder_update *f, aoei_filter *filter, aoei_file *file, const aoei_file_record *old,
                      uint64_t hash, char **data, size_t *size, outcome *result, aoe_error *err) {
    aoei_update *u = f->u;
    cancel_state cancel = {u, file->path};
    aoei_filter_run run = {
        .folder = f->s->folder->root, .limits = AOEI_FILTER_LIMITS, .cancelled = is_cancelled, .user = &cancel};
    const double left = u->o->budget > 0 ? u->started + u->o->budget - aoei_now() : run.limits.seconds;
    const int is_short = left < run.limits.seconds;
    char *path = aoei_folder_full_path(f->s->folder, file), *text = NULL;
    int is_binary = 0;
    if (!path)
        return aoei_fail_nomem(err, strlen(file->real));
    if (is_short)
        run.limits.seconds = left > 0.01 ? left : 0.01;
    run.path = path;
    const double start = aoei_now();
    int code = aoei_filter_convert(filter, &run, &text, size, err);
    const int timed_out = is_short && aoei_now() - start >= run.limits.seconds;
    aoei_free(path);
    if (code == 0 && text)
        code = aoei_file_text(&text, size, &is_binary, err);
    if (code || is_binary || run.result != AOEI_FILTER_DONE)
        aoei_free(text);
    if (code)
        return code;
    if (run.result == AOEI_FILTER_FAILED && timed_out) {
        *result = OUTCOME_LATE;
        return 0;
    }
    *result = OUTCOME_SKIPPED;
    if (run.result == AOEI_FILTER_MISSING)
        return leave_out_missing(f, file, old, err);
    if (run.result == AOEI_FILTER_FAILED || is_binary) {
        aoei_update_skip_program(u, f->s->folder->root, file->path,
                                 is_binary ? "the output of the program is not a text" : run.why);
        return leave_out(f, file, old, hash ? hash : 1, AOEI_FILE_PROGRAM, err);
    }
    aoei_file now = *file;
    aoei_folder_stat(f->s->folder, &now);
    if (now.skip || now.size != file->size || now.mtime_ns != file->mtime_ns || now.inode != file->inode) {
        file->skip = AOEI_SKIP_CHANGING;
        aoei_free(text);
        return skip_file(f, file, old, hash, err);
    }
    *result = OUTCOME_TEXT;
    *data = text;
    return 0;
}

/* Writes a time in ISO 8601 to text[size], or "" if it has no such form. */
static void iso_time(int64_t ns, char *text, size_t size) {
    struct tm tm;
    const time_t seconds = (time_t)(ns / 1000000000 - (ns % 1000000000 < 0));
    text[0] = 0;
    if (gmtime_r(&seconds, &tm) && tm.tm_year >= -1900 + 1 && tm.tm_year < 10000 - 1900)
        (void)strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

/* Returns the key under which an entry of front matter is stored: that of a built-in key of files gets a prefix. */
static const char *key_of(const char *key) {
    static const char *const prefixed[] = {"meta.name", "meta.path", "meta.ext", "meta.modified"};
    for (size_t i = 0; i < sizeof prefixed / sizeof *prefixed; i++)
        if (strcmp(prefixed[i] + strlen("meta."), key) == 0)
            return prefixed[i];
    return key;
}

/* Sets the fields of a document to the metadata of its file and of its front matter. */
static int set_fields(folder_update *f, const aoei_file *file, aoe_index_document *d, aoe_index_field *field, char *ext,
                      char *modified, aoe_error *err) {
    size_t n = 0;
    if (*ext)
        field[n++] = (aoe_index_field){"ext", aoe_text_of(ext)};
    if (*modified)
        field[n++] = (aoe_index_field){"modified", aoe_text_of(modified)};
    f->matter.n = f->matter.lost = 0;
    int code = 0;
    if (d->kind == AOE_INDEX_AUTO && aoei_document_kind_of(file->path, d->text) == AOEI_DOCUMENT_MARKDOWN)
        code = aoei_front_matter_read(&f->matter, d->text, err);
    aoei_update_lose_fields(f->u, d->name, f->matter.lost, f->matter.lost_line);
    for (size_t i = 0; i < f->matter.n; i++)
        field[n++] = (aoe_index_field){key_of(f->matter.field[i].key), f->matter.field[i].value};
    d->field = field;
    d->n_fields = n;
    return code;
}

static int write_document(folder_update *f, const aoei_file *file, int64_t id, aoe_text text, aoe_index_kind kind,
                          aoe_error *err) {
    aoe_index_field field[2 + AOEI_FRONT_MATTER_FIELDS];
    char ext[AOEI_EXTENSION_BYTES], modified[32];
    aoei_buffer_clear(&f->name);
    aoei_buffer_printf(&f->name, "%s%s", f->s->prefix, file->path);
    if (f->name.failed)
        return aoei_fail_nomem(err, f->name.len);
    aoe_index_document d = {.struct_size = sizeof d, .name = f->name.data, .text = text, .kind = kind};
    (void)aoei_path_extension(file->path, ext);
    iso_time(file->mtime_ns, modified, sizeof modified);
    int code = set_fields(f, file, &d, field, ext, modified, err);
    if (code == 0)
        code = aoei_write_file_begin(f->u->index, id, err);
    if (code == 0)
        code = aoei_update_write(f->u, &d, id, err);
    if (code == 0)
        return aoei_write_file_end(f->u->index, err);
    (void)aoei_write_file_begin(f->u->index, 0, NULL); /* a document that was not written is not removed */
    return code;
}

/* Records a file and writes its document. The record of a large file is incomplete until its document is written, so
 * that the next update reads the file again if this one is cancelled or killed meanwhile. */
static int write_file(folder_update *f, const aoei_file *file, const aoei_file_record *old, uint64_t hash,
                      aoei_file_state state, aoe_text text, aoe_index_kind kind, aoe_error *err) {
    aoei_update *u = f->u;
    int64_t id = 0;
    int code = 0;
    if (!aoei_update_is_large(u, text.len)) {
        code = aoei_update_record(u, f->s, file, old, hash, state, &id, err);
        return code ? code : write_document(f, file, id, text, kind, err);
    }
    aoei_file incomplete = *file;
    incomplete.ctime_ns = -1; /* differs from all times */
    code = aoei_update_begin_large(u, text.len, err);
    if (code == 0)
        code = aoei_update_record(u, f->s, &incomplete, old, 0, state, &id, err);
    if (code == 0)
        code = write_document(f, file, id, text, kind, err);
    u->may_drop = 0;
    const aoei_file_record written = {.id = id, .ctime_ns = -1};
    return code ? code : aoei_update_record(u, f->s, file, &written, hash, state, &id, err);
}

/* Returns the program for a file, or NULL. Sets *is_lost to 1 if the document of the file came from a program of the
 * caller, who did not give it in this update. */
static aoei_filter *find_filter(const folder_update *f, const aoei_file *file, const aoei_file_record *old,
                                int *is_lost) {
    aoei_filter *filter = aoei_filters_find(&f->u->filters, file->path);
    *is_lost = old && old->state == AOEI_FILE_FILTERED && (!filter || filter->package);
    return filter;
}

static void finish_file(aoei_update *u, const aoei_file *file) {
    u->progress.files++;
    u->progress.bytes += file->size;
}

/* Counts a file for which there is no time. If it was renamed, the old document stays until the next update, so that
 * its vectors are not lost. */
static void leave_for_later(folder_update *f, const candidate *c) {
    f->u->result->left_out++;
    if (c->twin != SIZE_MAX)
        f->is_missing[c->twin] = 0;
}

/* Indexes the contents of a file, which were read: data[file->size], owned by this function. */
static int index_contents(folder_update *f, aoei_file *file, const candidate *c, char *data, aoe_error *err) {
    aoei_update *u = f->u;
    const aoei_file_record *old = c->known == SIZE_MAX ? NULL : &f->known[c->known];
    const uint64_t hash = aoei_hash(AOEI_HASH_START, data, (size_t)file->size);
    size_t size = (size_t)file->size;
    int64_t id;
    int is_lost, is_binary = 0, code;
    outcome result = OUTCOME_TEXT;
    aoei_filter *filter = find_filter(f, file, old, &is_lost);
    const int is_new_program = old && old->state == AOEI_FILE_INDEXED && filter && !filter->package;
    if (old && old->hash == hash && is_indexed(old->state) && (!is_new_program || is_removed(f, old->id))) {
        count_unchanged(f, old->id);
        aoei_free(data);
        return aoei_update_record(u, f->s, file, old, hash, old->state, &id, err);
    }
    if (is_lost) {
        aoei_free(data);
        aoei_update_skip_program(u, f->s->folder->root, file->path,
                                 "it changed, but the program that converted it was not given; its old text stays in "
                                 "the index");
        return 0;
    }
    if (filter) {
        aoei_free(data);
        data = NULL;
        code = run_filter(f, filter, file, old, hash, &data, &size, &result, err);
    } else {
        code = aoei_file_text(&data, &size, &is_binary, err);
    }
    if (code == 0 && is_binary) {
        file->skip = AOEI_SKIP_BINARY;
        result = OUTCOME_SKIPPED;
        code = skip_file(f, file, old, hash, err);
    }
    if (code == 0 && result == OUTCOME_TEXT && !aoei_update_fits(u, size, (aoe_text){data, size}))
        result = OUTCOME_LATE;
    if (code == 0 && result == OUTCOME_LATE)
        leave_for_later(f, c);
    if (code == 0 && result == OUTCOME_TEXT) {
        const aoei_file_state state = filter && !filter->package ? AOEI_FILE_FILTERED : AOEI_FILE_INDEXED;
        const aoe_index_kind kind = filter ? filter->kind : AOE_INDEX_AUTO;
        code = write_file(f, file, old, hash, state, (aoe_text){data, size}, kind, err);
    }
    aoei_free(data);
    return code;
}

static int index_file(folder_update *f, const candidate *c, aoe_error *err) {
    aoei_file *file = &f->s->folder->file[c->file];
    aoei_update *u = f->u;
    char *data;
    int code = aoei_update_report(u, file->path, 0, err);
    if (code == 0 && aoei_update_is_late(u)) {
        leave_for_later(f, c);
        finish_file(u, file);
        return 0;
    }
    const aoei_file_record *old = c->known == SIZE_MAX ? NULL : &f->known[c->known];
    if (code == 0 && !file->skip && !(old && is_indexed(old->state)) && lacks_program(f, file->path)) {
        finish_file(u, file); /* such files are often large, so they are not read in vain */
        return leave_out_missing(f, file, old, err);
    }
    if (code == 0 && !file->skip)
        code = aoei_folder_read(f->s->folder, file, &data, err);
    if (code)
        return code;
    code = file->skip ? skip_file(f, file, old, 0, err) : index_contents(f, file, c, data, err);
    finish_file(u, file);
    return code;
}

/* ---------------------------------------------------------------------- comparison */

int aoei_update_is_final(const aoei_filters *filters, const aoei_file *file, const aoei_file_record *r) {
    const aoei_filter *filter;
    switch (r->state) {
    case AOEI_FILE_INDEXED:
        filter = aoei_filters_find(filters, file->path);
        return !filter || filter->package;
    case AOEI_FILE_FILTERED:
        return 1;
    case AOEI_FILE_BINARY:
        return !aoei_filters_find(filters, file->path);
    case AOEI_FILE_PROGRAM:
        filter = aoei_filters_find(filters, file->path);
        return r->hash != 0 && (!filter || filter->package);
    default:
        return 0;
    }
}

/* Returns 1 if a file must not be read again, and counts it. */
static int is_settled(folder_update *f, const aoei_file *file, const aoei_file_record *r) {
    aoei_update *u = f->u;
    if (!aoei_update_is_same(r, file))
        return 0;
    if (r->state == AOEI_FILE_PROGRAM && r->hash == 0 && lacks_program(f, file->path)) {
        u->result->skipped_program++;
        u->result->missing_programs++;
        return 1;
    }
    if (!aoei_update_is_final(&u->filters, file, r))
        return 0;
    if (r->state == AOEI_FILE_BINARY)
        aoei_update_skip(u, f->s->folder->root, file->path, AOEI_SKIP_BINARY, NULL);
    else if (r->state == AOEI_FILE_PROGRAM)
        u->result->skipped_program++;
    else
        count_unchanged(f, r->id);
    return 1;
}

static int add_candidate(folder_update *f, size_t file, size_t known, aoe_error *err) {
    if (aoei_grow((void **)&f->candidate, &f->candidate_capacity, f->n_candidates, sizeof *f->candidate))
        return aoei_fail_nomem(err, (f->n_candidates + 1) * sizeof *f->candidate);
    f->candidate[f->n_candidates++] = (candidate){file, f->s->folder->file[file].size, known, SIZE_MAX};
    return 0;
}

/* Returns 1 if a listed file can have a record: files with other reasons are counted, but never read. */
static int can_be_recorded(const aoei_file *file) {
    const size_t len = strlen(file->path);
    return !file->skip || file->skip == AOEI_SKIP_LARGE ||
           (file->skip == AOEI_SKIP_UNREADABLE && len && file->path[len - 1] != '/');
}

/* Marks the records before `path` as missing, except those below the folder `closed`, which cannot be read. */
static void mark_missing(folder_update *f, size_t *k, const char *path, const char *closed) {
    for (; *k < f->n_known && (!path || strcmp(f->known[*k].path, path) < 0); ++*k)
        f->is_missing[*k] = !closed || strncmp(f->known[*k].path, closed, strlen(closed)) != 0;
}

/* Merges the files with the records, which have the same order. Sets *n_files to the number of files that can be
 * read. */
static int compare(folder_update *f, size_t *n_files, aoe_error *err) {
    aoei_folder *folder = f->s->folder;
    const char *closed = NULL; /* last folder that cannot be read, with a slash at its end */
    size_t k = 0;
    int code = 0;
    *n_files = 0;
    for (size_t i = 0; i < folder->n && code == 0; i++) {
        const aoei_file *file = &folder->file[i];
        if (aoei_source_is_nested(f->s, file) || !can_be_recorded(file)) {
            if (!can_be_recorded(file))
                aoei_update_skip(f->u, folder->root, file->path, file->skip, reason(file));
            finish_file(f->u, file);
            if (file->skip == AOEI_SKIP_UNREADABLE && !can_be_recorded(file)) {
                mark_missing(f, &k, file->path, closed);
                closed = file->path;
            }
            continue;
        }
        ++*n_files;
        mark_missing(f, &k, file->path, closed);
        const int has_record = k < f->n_known && strcmp(f->known[k].path, file->path) == 0;
        if (has_record && !file->skip && is_settled(f, file, &f->known[k]))
            finish_file(f->u, file);
        else
            code = add_candidate(f, i, has_record ? k : SIZE_MAX, err);
        k += (size_t)has_record;
    }
    mark_missing(f, &k, NULL, closed);
    return code;
}

/* A missing file, for the search of renamed files. */
typedef struct missing {
    uint64_t inode;
    size_t known;
} missing;

static int compare_missing(const void *a, const void *b) {
    const missing *x = a, *y = b;
    return x->inode < y->inode ? -1 : x->inode > y->inode;
}

/* Finds the candidates that are renamed files: with the inode, the size and the time of a missing file. */
static int find_twins(folder_update *f, aoe_error *err) {
    missing *list = aoei_malloc_array(f->n_known + 1, sizeof *list);
    size_t n = 0;
    if (!list)
        return aoei_fail_nomem(err, f->n_known * sizeof *list);
    for (size_t k = 0; k < f->n_known; k++)
        if (f->is_missing[k])
            list[n++] = (missing){f->known[k].inode, k};
    qsort(list, n, sizeof *list, compare_missing);
    for (size_t i = 0; i < f->n_candidates && n; i++) {
        candidate *c = &f->candidate[i];
        const aoei_file *file = &f->s->folder->file[c->file];
        const missing key = {file->inode, 0}, *m = bsearch(&key, list, n, sizeof *list, compare_missing);
        if (c->known == SIZE_MAX && m && f->known[m->known].size == file->size &&
            f->known[m->known].mtime_ns == file->mtime_ns)
            c->twin = m->known;
    }
    aoei_free(list);
    return 0;
}

static int compare_sizes(const void *a, const void *b) {
    const candidate *x = a, *y = b;
    return x->size != y->size ? (x->size < y->size ? -1 : 1) : (x->file > y->file) - (x->file < y->file);
}

/* Removes the records and documents of missing files. */
static int remove_missing(folder_update *f, aoe_error *err) {
    int code = 0;
    for (size_t k = 0; k < f->n_known && code == 0; k++)
        if (f->is_missing[k]) {
            f->u->changed = 1;
            code = aoei_file_remove(f->u->index, f->known[k].id, err);
        }
    return code;
}

static int check_not_emptied(const folder_update *f, size_t n_files, aoe_error *err) {
    size_t n = 0;
    for (size_t k = 0; k < f->n_known; k++)
        n += f->is_missing[k] && is_indexed(f->known[k].state);
    const int has_new_patterns = f->s->given && f->s->is_new_record;
    if (n_files || !n || has_new_patterns || aoei_source_kind(f->s) != AOEI_SOURCE_FOLDER)
        return 0;
    return aoei_fail(err, AOE_ENOENT,
                     "%s contains no files any more, but the index contains %zu of them, which were kept; mount or "
                     "restore the folder, or remove it from the index",
                     f->s->record.path, n);
}

static int run(folder_update *f, aoe_error *err) {
    size_t n_files;
    int code = aoei_files_read(f->u->index, f->s->record.id, add_known, f, err);
    if (code == 0)
        code = read_removed(f, err);
    if (code)
        return code;
    f->is_missing = aoei_calloc(f->n_known + 1, 1);
    if (!f->is_missing)
        return aoei_fail_nomem(err, f->n_known);
    code = compare(f, &n_files, err);
    if (code == 0)
        code = check_not_emptied(f, n_files, err);
    if (code == 0)
        code = find_twins(f, err);
    if (f->u->o->budget > 0 && f->n_candidates) /* so that one large file does not keep all others out */
        qsort(f->candidate, f->n_candidates, sizeof *f->candidate, compare_sizes);
    for (size_t i = 0; i < f->n_candidates && code == 0; i++)
        code = index_file(f, &f->candidate[i], err);
    return code ? code : remove_missing(f, err);
}

int aoei_update_folder(aoei_update *u, aoei_update_source *s, aoe_error *err) {
    folder_update f = {.u = u, .s = s};
    const int code = run(&f, err);
    aoei_free(f.known);
    aoei_free(f.is_missing);
    aoei_free(f.candidate);
    aoei_free(f.removed);
    aoei_chunks_free(&f.paths);
    aoei_front_matter_free(&f.matter);
    aoei_buffer_free(&f.name);
    return code;
}
