/* SPDX-License-Identifier: MIT
 * Implements `aoe index`: creates an index of folders and tables, or updates it, and maintains it. One run does one of
 * these tasks: update, remove documents, compact, verify, print statistics, export.
 */
#include "base/path.h"
#include "base/alloc.h"
#include "base/dir.h"
#include "base/lock.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/interrupt.h"
#include "cli/common/option_rows.h"
#include "cli/common/visible.h"
#include "cli/common/words.h"
#include "cli/search/index_export.h"
#include "cli/search/index_session.h"
#include "cli/search/place.h"
#include "cli/search/server.h"
#include "vectors/npy.h"

#include <stdlib.h>
#include <string.h>

typedef struct options {
    cli_general general;
    cli_model_options model;
    aoe_index_options index;
    const char *dir;                     /* directory of the index; NULL: the default */
    const char *text_column, *id_column; /* columns of tables; NULL: the defaults */
    aoei_text_list exclude, filter, remove;
    const char *vectors; /* .npy file with the embeddings of the rows of a table; NULL: none */
    int compact, stats, verify, repair;
    size_t recall; /* number of queries with which the recall is measured; 0: it is not measured */
    cli_export_format export_format;
    const char *export_to;
    cli_server_options server; /* --to */
} options;

typedef struct job {
    const options *o;
    cli_index index;
    int exists;               /* 1: the directory contained an index before */
    aoe_index_source *source; /* [n_sources] owned */
    size_t n_sources;
    aoe_index_filter *filter; /* [n_filters] owned */
    cli_words *filter_words;  /* [n_filters] pattern and command of each filter, owned */
    size_t n_filters;
    float *vectors; /* [n_vectors, dims] --vectors, owned */
    size_t n_vectors;
} job;

#define INDEX(name) AOEI_AT(aoe_index_options, name)

static const aoei_option index_rows[] = {
    {.name = "passage-tokens",
     .kind = AOEI_OPTION_SIZE,
     INDEX(passage_tokens),
     .automatic = 1,
     .min = 16,
     .most = 100000,
     .help = "new index: size of a passage in tokens; at most the maximum sequence length of the model is used",
     .fallback = "400"},
    {.name = "store",
     .kind = AOEI_OPTION_CHOICE,
     INDEX(store),
     .automatic = 1,
     .choices = AOEI_CHOICES("f32", "bf16", "int8"), /* names of the values of aoe_index_store */
     .noun = "type",
     .help = "new index: type of the stored vectors from which the scores are computed: f32 (exact), bf16 (half the "
             "size) or int8 (a quarter of the size)",
     .fallback = "f32"},
    {.name = "stem",
     .kind = AOEI_OPTION_FLAG,
     INDEX(stem),
     .excludes = "no-stem",
     .help = "new index: reduce words to their English stems, so that certificates finds certificate (the default)"},
    {.name = "no-stem",
     .kind = AOEI_OPTION_FLAG,
     INDEX(stem),
     .clears = 1,
     .help = "new index: do not reduce words to their stems"},
};

static const aoei_option place_table[] = {
    {.name = "output",
     .letter = 'o',
     .kind = AOEI_OPTION_TEXT,
     .value = "DIR",
     .offset = offsetof(options, dir),
     .help = "directory of the index",
     .fallback = CLI_INDEX_DIR " in this folder; without PATH, the nearest " CLI_INDEX_DIR " in this folder or above"},
};

static const aoei_option source_table[] = {
    {.name = "exclude",
     .kind = AOEI_OPTION_LIST,
     .value = "PATTERN",
     .offset = offsetof(options, exclude),
     .help = "leave out files that match the pattern, which is written as in .gitignore; may be repeated. "
             "Patterns are recorded, and new ones replace them",
     .fallback = "the recorded patterns"},
    {.name = "filter",
     .kind = AOEI_OPTION_LIST,
     .value = "PATTERN=COMMAND",
     .offset = offsetof(options, filter),
     .help = "convert files that match the pattern with a program that prints text, such as '*.ps=ps2ascii -'; the "
             "argument - stands for the path of the file. No shell is used, and the filter is not stored. May be "
             "repeated",
     .fallback = ""},
    {.name = "text-column",
     .kind = AOEI_OPTION_TEXT,
     .value = "NAME",
     .offset = offsetof(options, text_column),
     .help = "tables: column with the texts; the other columns are metadata",
     .fallback = "text, or the only column with a known name"},
    {.name = "id-column",
     .kind = AOEI_OPTION_TEXT,
     .value = "NAME",
     .offset = offsetof(options, id_column),
     .help = "tables: column with the names of the documents",
     .fallback = "FILE:LINE is the name"},
    {.name = "vectors",
     .kind = AOEI_OPTION_TEXT,
     .value = "FILE",
     .offset = offsetof(options, vectors),
     .help = "one table: .npy file with the embeddings of its rows, which are then not computed",
     .fallback = ""},
};

static const aoei_option task_table[] = {
    {.name = "remove",
     .kind = AOEI_OPTION_TEXTS,
     .value = "NAME...",
     .offset = offsetof(options, remove),
     .help = "remove documents, by the names that aoe search prints or by the paths of their files; a name that ends "
             "with / removes all documents below it, and the path of a folder or table that was indexed also removes "
             "it from the record of the index",
     .fallback = ""},
    {.name = "compact",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, compact),
     .help = "free the space of removed passages"},
    {.name = "stats",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, stats),
     .help = "print the size and the settings of the index"},
    {.name = "recall",
     .kind = AOEI_OPTION_SIZE,
     .offset = offsetof(options, recall),
     .min = 1,
     .most = 1000000,
     .help =
         "--stats: measure how many of the 10 best passages aoe search --fast finds, with N vectors of the index as "
         "queries",
     .fallback = "not measured"},
    {.name = "verify",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, verify),
     .help = "read the whole index and compare it with its checksums"},
    {.name = "repair",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, repair),
     .help = "verify, and embed the passages again whose vectors are damaged"},
    {.name = "export",
     .kind = AOEI_OPTION_CHOICE,
     .value = "FORMAT",
     .offset = offsetof(options, export_format),
     .choices = AOEI_CHOICES("none", "npy", "jsonl", "faiss"),
     .noun = "format",
     .help = "write the passages and their vectors: npy (numpy array; the passages in FILE.jsonl), jsonl (one object "
             "per passage) or faiss (index that faiss.read_index reads; the passages in FILE.jsonl)"},
    {.name = "export-to",
     .kind = AOEI_OPTION_TEXT,
     .value = "FILE",
     .offset = offsetof(options, export_to),
     .help = "file that --export writes",
     .fallback = "jsonl: stdout"},
};

static const aoei_option server_table[] = {
    {.name = "to",
     .kind = AOEI_OPTION_TEXT,
     .value = "URL",
     .offset = offsetof(cli_server_options, url),
     .help = "after the update, make a table of a PostgreSQL server with pgvector equal to the index; the URL is "
             "postgresql://USER@HOST:PORT/DATABASE, and the password is read from PGPASSWORD or ~/.pgpass",
     .fallback = ""},
    {.name = "replace",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(cli_server_options, replace),
     .help = "--to: drop a table with the passages of another index first"},
};

/* ------------------------------------------------------------------ inputs */

/* Sets the sources of the operands. */
static void set_sources(job *j, const cli_args *args) {
    const options *o = j->o;
    j->source = cli_calloc(args->n + 1, sizeof *j->source);
    j->n_sources = args->n;
    for (size_t i = 0; i < args->n; i++)
        j->source[i] = (aoe_index_source){.struct_size = sizeof *j->source,
                                          .path = args->operand[i],
                                          .text_column = o->text_column,
                                          .id_column = o->id_column,
                                          .exclude = o->exclude.item,
                                          .n_exclude = o->exclude.n,
                                          .vectors = j->vectors,
                                          .n_vectors = j->n_vectors};
}

/* Sets the filters. A filter is "PATTERN=PROGRAM ARGUMENT...". */
static int set_filters(job *j) {
    const aoei_text_list *list = &j->o->filter;
    j->filter = cli_calloc(list->n + 1, sizeof *j->filter);
    j->filter_words = cli_calloc(list->n + 1, sizeof *j->filter_words);
    j->n_filters = list->n;
    for (size_t i = 0; i < list->n; i++) {
        const char *equals = strchr(list->item[i], '=');
        cli_words *w = &j->filter_words[i];
        int input = 0;
        if (!equals || equals == list->item[i])
            return cli_usage("index", "--filter '%s' has no pattern; write PATTERN=PROGRAM ARGUMENT... -",
                             list->item[i]);
        cli_words_add(w, "%.*s", (int)(equals - list->item[i]), list->item[i]);
        if (cli_words_split(w, equals + 1))
            return cli_usage("index", "--filter '%s': a quote is not closed", list->item[i]);
        for (size_t k = 2; k < w->n; k++)
            input |= strcmp(w->word[k], "-") == 0;
        if (!input)
            return cli_usage("index", "--filter '%s' has no argument -, which stands for the path of the file",
                             list->item[i]);
        j->filter[i] = (aoe_index_filter){.struct_size = sizeof *j->filter,
                                          .pattern = w->word[0],
                                          .argv = (const char *const *)w->word + 1,
                                          .n = w->n - 1};
    }
    return 0;
}

/* Reads the file of --vectors. */
static int read_vectors(job *j) {
    aoei_npy a = {0};
    aoe_error err;
    size_t values;
    const size_t dims = aoe_embedder_dims(j->index.session.embedder);
    if (!j->o->vectors)
        return 0;
    if (aoei_npy_open(&a, j->o->vectors, &err))
        return cli_fail("%s", err.message);
    int code = a.columns != dims
                   ? cli_fail("%s: the vectors have %zu components, but the embeddings of the model have %zu; give the "
                              "model that computed them with -m",
                              j->o->vectors, a.columns, dims)
                   : 0;
    if (!code && aoei_mul_size(a.rows, dims, &values) == 0) {
        j->vectors = cli_calloc(values + 1, sizeof *j->vectors);
        j->n_vectors = a.rows;
        aoei_npy_rows(&a, 0, a.rows, j->vectors);
    }
    aoei_npy_close(&a);
    return code;
}

/* ----------------------------------------------------------------- results */

/* Prints a line with a number of skipped files. */
static void print_skipped(size_t n, const char *what, const char *more) {
    if (n)
        printf("skipped: %zu %s%s%s\n", n, what, cli_plural(n), more);
}

/* Prints a line with the files that were skipped for other reasons. */
static void print_skipped_other(const aoe_index_update_result *r) {
    const struct {
        size_t n;
        const char *why;
    } reason[] = {
        {r->skipped_large, "larger than 256 MiB"},
        {r->skipped_special, "not a regular file (device, FIFO or socket)"},
        {r->skipped_link, "a link to a missing file or out of the folder"},
        {r->skipped_name, "with control characters or invalid UTF-8 in the name"},
        {r->skipped_other - r->skipped_large - r->skipped_special - r->skipped_link - r->skipped_name,
         "changed while it was read"},
    };
    const char *separator = ": ";
    if (!r->skipped_other)
        return;
    printf("skipped: %zu other file%s", r->skipped_other, cli_plural(r->skipped_other));
    for (size_t i = 0; i < sizeof reason / sizeof *reason; i++)
        if (reason[i].n) {
            printf("%s%zu %s", separator, reason[i].n, reason[i].why);
            separator = ", ";
        }
    printf("\n");
}

static void print_result(const job *j, const aoe_index_update_result *r) {
    aoe_error err;
    aoe_index_stats s = {.struct_size = sizeof s};
    if (aoe_index_get_stats(j->index.index, &s, &err))
        s.documents = s.passages = 0;
    else if (!s.documents && j->n_sources)
        cli_note("no documents were found; hidden files are not read, and neither are files that .gitignore or "
                 ".aoeignore exclude, also those above a folder");
    if (j->o->general.json) {
        cli_print_json(json_pack("{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "index", j->index.dir,
                                 "added", (json_int_t)r->added, "changed", (json_int_t)r->changed, "removed",
                                 (json_int_t)r->removed, "unchanged", (json_int_t)r->unchanged, "passages",
                                 (json_int_t)r->passages, "reused", (json_int_t)r->reused, "tokens",
                                 (json_int_t)r->tokens, "skipped_binary", (json_int_t)r->skipped_binary,
                                 "skipped_unreadable", (json_int_t)r->skipped_unreadable, "skipped_program",
                                 (json_int_t)r->skipped_program, "skipped_other", (json_int_t)r->skipped_other,
                                 "all_documents", (json_int_t)s.documents, "all_passages", (json_int_t)s.passages));
        return;
    }
    printf("documents: %zu added, %zu changed, %zu removed, %zu unchanged\n", r->added, r->changed, r->removed,
           r->unchanged);
    printf("passages: %zu written, %zu of them with a vector that was already in the index\n", r->passages, r->reused);
    print_skipped(r->skipped_binary, "file", " without text (--filter converts other formats to text)");
    print_skipped(r->skipped_unreadable, "unreadable file", "; check their permissions, and that they are UTF-8");
    print_skipped(r->missing_programs, "file",
                  ", because no program for their format is installed (poppler-utils for PDF; pandoc for .docx, .odt, "
                  ".epub and .rtf)");
    print_skipped(r->skipped_program - r->missing_programs, "file", ", because the conversion to text failed");
    print_skipped_other(r);
    printf("%s: %zu document%s, %zu passage%s\n", j->index.dir, s.documents, cli_plural(s.documents), s.passages,
           cli_plural(s.passages));
}

static int print_stats(job *j) {
    aoe_error err;
    double recall = -1;
    static const char *const stores[] = {"f32", "bf16", "int8"};
    aoe_index_stats s = {.struct_size = sizeof s};
    if (aoe_index_get_stats(j->index.index, &s, &err) ||
        (j->o->recall && aoe_index_recall(j->index.index, 10, j->o->recall, &recall, &err)))
        return cli_fail("%s", err.message);
    const char *store = stores[s.store];
    if (j->o->general.json) {
        json_t *o = json_pack(
            "{s:s,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:s,s:I,s:b,s:o,s:s,s:s,s:I}", "index", j->index.dir, "documents",
            (json_int_t)s.documents, "passages", (json_int_t)s.passages, "dims", (json_int_t)s.dims, "removed_rows",
            (json_int_t)s.removed_rows, "sources", (json_int_t)s.sources, "database_bytes",
            (json_int_t)s.database_bytes, "vector_bytes", (json_int_t)s.vector_bytes, "store", store, "passage_tokens",
            (json_int_t)s.passage_tokens, "stem", s.stem, "model", cli_json_text(s.model, strlen(s.model)), "created",
            s.created, "updated", s.updated, "commits", (json_int_t)s.commits);
        if (j->o->recall)
            json_object_set_new(o, "recall_at_10", cli_json_real(recall));
        cli_print_json(o);
        return 0;
    }
    cli_table t;
    aoei_buffer model = {0}; /* the name is from the index, which can come from another user */
    cli_table_begin(&t, "ll");
#define ROW(name, ...) (cli_table_cell(&t, name), cli_table_cell(&t, __VA_ARGS__))
    ROW("index", "%s", j->index.dir);
    ROW("documents", "%zu", s.documents);
    ROW("passages", "%zu", s.passages);
    ROW("sources", "%zu", s.sources);
    cli_table_cell(&t, "model");
    cli_append_visible(&model, s.model, strlen(s.model));
    cli_table_cell(&t, "%s", model.len ? model.data : "unknown");
    aoei_buffer_free(&model);
    ROW("components", "%zu (%s)", s.dims, store);
    ROW("passage size", "%zu tokens", s.passage_tokens);
    ROW("words", "%s", s.stem ? "English stems" : "not stemmed");
    ROW("database", "%.1f MB", (double)s.database_bytes / 1e6);
    ROW("vectors", "%.1f MB", (double)s.vector_bytes / 1e6);
    ROW("removed vectors", "%zu (--compact frees them)", s.removed_rows);
    ROW("created", "%s", s.created);
    ROW("updated", "%s, %llu commit%s", s.updated, (unsigned long long)s.commits, cli_plural(s.commits));
    if (j->o->recall)
        ROW("recall@10 of --fast", "%.4f (%zu queries)", recall, j->o->recall);
#undef ROW
    cli_table_print(&t);
    return 0;
}

/* ------------------------------------------------------------------- tasks */

/* Opens the index for writing, and creates it if it does not exist. */
static int open_writer(job *j) {
    aoe_error err;
    aoe_index_options o = j->o->index;
    char *model = aoei_full_path(j->index.session.dir);
    o.model = model;
    o.log = cli_log_once;
    const int code = cli_index_reopen(&j->index, AOE_INDEX_WRITE, &o, &err);
    aoei_free(model);
    return code ? cli_fail("%s", err.message) : 0;
}

/* Returns 1 after reporting that a path does not exist. An index is not created then. */
static int check_paths(const cli_args *args) {
    for (size_t i = 0; i < args->n; i++)
        if (!aoei_exists(args->operand[i]))
            return cli_fail("%s: no such file or folder; check the path", args->operand[i]);
    return 0;
}

/* Removes an index that this run created, if it is still empty. The lock keeps other processes from writing to it
 * meanwhile; a process that waits for the lock then creates the index again. */
static void remove_created(job *j) {
    aoe_index_stats s = {.struct_size = sizeof s};
    aoei_lock lock;
    aoe_index_close(j->index.index);
    j->index.index = NULL;
    if (aoei_lock_dir(&lock, j->index.dir, NULL))
        return; /* another process writes to it */
    if (!aoe_index_open(&j->index.index, j->index.dir, AOE_INDEX_READ, NULL, NULL, NULL) &&
        !aoe_index_get_stats(j->index.index, &s, NULL) && !s.documents && !s.sources)
        (void)aoei_remove_tree(j->index.dir, NULL);
    aoe_index_close(j->index.index);
    j->index.index = NULL;
    aoei_unlock(&lock);
}

/* Reports that the update failed. */
static int fail_update(job *j, int created, int code, const aoe_error *err, int has_paths) {
    if (created)
        remove_created(j);
    if (code == AOE_ENOENT && !has_paths)
        return cli_fail("%s (`aoe index --remove PATH`; if it moved, then `aoe index NEW-PATH`)", err->message);
    return cli_fail("%s", err->message);
}

/* Copies the last commit to the server. Meanwhile, other processes can write to the index. */
static int copy_to_server(job *j) {
    aoe_error err;
    if (cli_index_reopen(&j->index, AOE_INDEX_READ, NULL, &err))
        return cli_fail("%s", err.message);
    return cli_server_write(&j->o->server, j->index.index, j->index.dir, j->o->general.json);
}

/* Creates or updates the index. */
static int update(job *j, const cli_args *args) {
    aoe_error err;
    aoe_index_update_options o;
    aoe_index_update_result r = {.struct_size = sizeof r};
    int code = set_filters(j);
    if (code)
        return code;
    if (!args->n && !j->exists)
        return cli_usage("index", "%s: no index; give the folders and files to index", j->index.dir);
    cli_watch_interrupts();
    if (check_paths(args) || (j->o->server.url && cli_server_check(&j->o->server)) || cli_index_load_model(&j->index))
        return 1;
    if (!j->o->model.verbose)
        cli_session_describe(&j->index.session, 0);
    const int created = !aoei_exists(j->index.dir);
    if (read_vectors(j) || open_writer(j))
        return 1;
    set_sources(j, args);
    aoe_index_update_options_defaults(&o);
    o.filter = j->filter;
    o.n_filters = j->n_filters;
    o.own_only = !j->index.recorded.created_here;
    if (o.own_only && !args->n)
        cli_warn("%s is a copy of an index, or belongs to another user; sources outside the folder that contains it "
                 "are not read; to read them, give all their paths",
                 j->index.dir);
    code = cli_index_update(&j->index, j->source, j->n_sources, &o, &r, &err);
    if (code && code != AOE_ECANCELLED)
        return fail_update(j, created, code, &err, args->n > 0);
    print_result(j, &r);
    if (!code)
        return j->o->server.url ? copy_to_server(j) : 0;
    cli_message("aoe: interrupted; the finished files are stored; run the command again to continue");
    return 128 + cli_interrupted();
}

/* Removes the documents of a file, or of the files below a folder, which is named by its path. */
static int remove_path(job *j, const char *name, size_t *n, aoe_error *err) {
    char *path = cli_absolute_path(name);
    const size_t len = strlen(path), end = strlen(name);
    char *full = end && name[end - 1] == '/' && path[len - 1] != '/' ? cli_format("%s/", path) : cli_strdup(path);
    const int code = aoe_index_remove(j->index.index, &(const char *){full}, 1, n, err);
    free(full);
    free(path);
    return code;
}

/* Removes what a name stands for: documents with this name, else the source with this path, else the files with this
 * path. An absolute path may be both that of a source and of its files, so the source has priority. *n: number of
 * documents. Returns AOE_ENOENT if there is nothing with this name. */
static int remove_name(job *j, const char *name, size_t *n, aoe_error *err) {
    int code = 0;
    if (name[0] != '/')
        code = aoe_index_remove(j->index.index, &name, 1, n, err);
    if (code || *n)
        return code;
    code = aoe_index_remove_source(j->index.index, name, n, err);
    if (code != AOE_ENOENT)
        return code;
    code = aoe_index_remove(j->index.index, &name, 1, n, err);
    if (!code && !*n)
        code = remove_path(j, name, n, err);
    return code || *n ? code : AOE_ENOENT;
}

static int remove_documents(job *j) {
    aoe_error err;
    size_t removed = 0;
    int failed = 0;
    const aoei_text_list *names = &j->o->remove;
    for (size_t i = 0; i < names->n; i++) {
        size_t n = 0;
        const int code = remove_name(j, names->item[i], &n, &err);
        if (code == AOE_ENOENT)
            failed = cli_fail("%s: the index contains neither a document nor a source with the name or path %s",
                              j->index.dir, names->item[i]);
        else if (code)
            return cli_fail("%s", err.message);
        removed += n;
    }
    if (aoe_index_commit(j->index.index, &err))
        return cli_fail("%s", err.message);
    if (j->o->general.json)
        cli_print_json(json_pack("{s:s,s:I}", "index", j->index.dir, "removed", (json_int_t)removed));
    else
        printf("documents: %zu removed\n", removed);
    return failed;
}

static int verify(job *j) {
    aoe_error err;
    if (aoe_index_verify(j->index.index, j->o->repair, &err))
        return cli_fail("%s", err.message);
    if (j->o->general.json)
        cli_print_json(json_pack("{s:s,s:b}", "index", j->index.dir, "verified", 1));
    else
        printf("%s: all checksums are correct\n", j->index.dir);
    return 0;
}

static int compact(job *j) {
    aoe_error err;
    if (aoe_index_compact(j->index.index, &err))
        return cli_fail("%s", err.message);
    return print_stats(j);
}

/* Does one of the tasks for an existing index. */
static int maintain(job *j) {
    aoe_error err;
    const options *o = j->o;
    aoe_index_options index;
    aoe_index_options_defaults(&index);
    index.repair = o->repair;
    index.log = cli_log_once;
    if ((o->repair || o->recall) && cli_index_load_model(&j->index))
        return 1;
    if ((o->repair || o->compact || o->remove.n) && cli_index_reopen(&j->index, AOE_INDEX_WRITE, &index, &err))
        return cli_fail("%s", err.message);
    if (o->recall && cli_index_reopen(&j->index, AOE_INDEX_READ, NULL, &err))
        return cli_fail("%s", err.message);
    if (o->remove.n)
        return remove_documents(j);
    if (o->compact)
        return compact(j);
    if (o->verify || o->repair)
        return verify(j);
    if (o->stats)
        return print_stats(j);
    return cli_export_index(j->index.index, o->export_format, o->export_to);
}

/* Returns the number of maintenance tasks that were chosen. */
static int count_tasks(const options *o) {
    return (o->remove.n > 0) + o->compact + (o->verify || o->repair) + o->stats + (o->export_format != 0);
}

static int run_job(job *j, const cli_args *args) {
    aoe_error err;
    const options *o = j->o;
    j->index = (cli_index){.general = &o->general, .model = &o->model};
    const int tasks = count_tasks(o);
    if (!o->dir && args->n) {
        if (cli_index_is_foreign(CLI_INDEX_DIR))
            return cli_fail(CLI_INDEX_DIR " in this folder belongs to another user, who could read and change the "
                                          "index; choose another directory with -o");
        if (cli_index_is_link(CLI_INDEX_DIR))
            return 1;
        j->index.dir = cli_strdup(CLI_INDEX_DIR);
    } else if (cli_index_find(&j->index, o->dir))
        return 1;
    const int code = cli_index_open_read(&j->index, &err);
    j->exists = !code;
    /* --repair opens a damaged index for writing */
    if (code && (tasks || code != AOE_ENOENT) && !(o->repair && code == AOE_EFORMAT))
        return cli_fail("%s", err.message);
    return tasks ? maintain(j) : update(j, args);
}

static void free_job(job *j) {
    for (size_t i = 0; i < j->n_filters; i++)
        cli_words_free(&j->filter_words[i]);
    free(j->filter_words);
    free(j->filter);
    free(j->source);
    free(j->vectors);
    cli_index_close(&j->index);
}

/* Checks that the options fit together. */
static int check(const options *o, const cli_args *args) {
    const int tasks = count_tasks(o);
    if (tasks > 1)
        return cli_usage("index", "--remove, --compact, --stats, --verify and --export are separate tasks; give only "
                                  "one of them");
    static const char *const creating[] = {"store",  "passage-tokens", "stem",      "no-stem", "exclude",
                                           "filter", "text-column",    "id-column", "vectors"};
    for (size_t i = 0; tasks && i < sizeof creating / sizeof *creating; i++)
        if (cli_given(args, creating[i]))
            return cli_usage("index", "--%s has no effect on this task; remove it", creating[i]);
    for (size_t i = 0; i < o->remove.n; i++)
        if (!*o->remove.item[i])
            return cli_usage("index", "--remove: the name is empty; give a name or a path");
    if (tasks && args->n)
        return cli_usage("index", "this task reads no files; remove '%s'", args->operand[0]);
    if (o->recall && !o->stats)
        return cli_usage("index", "--recall requires --stats");
    if (o->export_to && !o->export_format)
        return cli_usage("index", "--export-to requires --export");
    if (o->export_format && o->export_format != CLI_EXPORT_JSONL && cli_is_stdout(o->export_to))
        return cli_usage("index", "--export %s requires --export-to FILE",
                         o->export_format == CLI_EXPORT_NPY ? "npy" : "faiss");
    if (!o->server.url && (o->server.table || o->server.replace))
        return cli_usage("index", "--%s requires --to", o->server.table ? "table" : "replace");
    if (o->server.url && tasks)
        return cli_usage("index",
                         "--to copies the updated index; give it without --remove, --compact, --stats, --verify "
                         "and --export");
    if (o->vectors && args->n != 1)
        return cli_usage("index", "--vectors requires one table");
    return CLI_GO;
}

static int run_command(int argc, char **argv) {
    options o = {0};
    aoe_index_options_defaults(&o.index);
    cli_general_defaults(&o.general);
    cli_model_defaults(&o.model);
    const cli_group groups[] = {
        CLI_GROUP("index", place_table, &o),
        CLI_FIELDS("index", index_rows, aoe_index_options, &o.index),
        {"index", aoei_embedding_size_rows.options, aoei_embedding_size_rows.n, &o.model.o,
         aoei_embedding_size_rows.type, NULL},
        CLI_GROUP("input", source_table, &o),
        CLI_GROUP("maintenance", task_table, &o),
        CLI_GROUP("server", server_table, &o.server),
        CLI_ROWS("server", cli_server_table, CLI_SERVER_COUNT, &o.server),
        CLI_INDEX_MODEL_GROUPS("model", &o.model),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.general),
    };
    const cli_syntax syntax = {
        .command = "index",
        .operands = "[PATH...]",
        .about = "Creates an index for aoe search, or updates it: only files that changed are read and embedded. A\n"
                 "PATH is a folder (Markdown, text, HTML, source code; PDF, .docx, .odt, .epub and .rtf through\n"
                 "pdftotext and pandoc), a table (.tsv, .csv, .jsonl; columns other than the text column become\n"
                 "metadata) or a .txt file with one text per line. Without PATH, the paths in the record of the\n"
                 "index are used.\n"
                 "Ctrl-C stores the finished files; the same command continues.\n",
        .examples = "  aoe index ~/notes\n"
                    "  aoe index -o articles.index articles.tsv --text-column body --id-column url\n"
                    "  aoe index --stats\n",
        CLI_GROUPS(groups),
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO)
        code = check(&o, &args);
    if (code == CLI_GO) {
        job j = {.o = &o};
        cli_set_quiet(o.general.quiet);
        code = run_job(&j, &args);
        free_job(&j);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_index_command = {
    .name = "index",
    .summary = "create or update an index of documents for aoe search",
    .run = run_command,
};
