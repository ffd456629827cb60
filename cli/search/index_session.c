/* SPDX-License-Identifier: MIT
 * Opens an index and its model. A search first opens the index without the model, because a search for words in an
 * index that is up to date needs no model, and opening a model takes most of the time of a search.
 */
#include "cli/search/index_session.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/path.h"
#include "cli/common/interrupt.h"
#include "cli/common/option_rows.h"
#include "cli/common/visible.h"

#define AUTO_SECONDS 1.0 /* work that a search does before its answer */
#define FOREIGN_MODEL                                                                                                  \
    "the recorded model, %s, is not opened, because its path leads into the folder of the index or has links, and "    \
    "the index was not created here; if you trust the model, give it with -m"
#define READ_WAIT    1.0 /* seconds to wait for a program that has locked the database, before a search fails */
#define REFRESH_WAIT 0.1 /* the same, and for a writer, before a search answers from the last commit */

const aoei_option cli_index_model_table[CLI_INDEX_MODEL_COUNT] = {
    CLI_OPTION_MODEL_DIR("the model of the index; for a new index, " CLI_DEFAULT_MODEL),
};

int cli_index_is_foreign(const char *dir) {
    char *path = aoei_path_join(dir, CLI_INDEX_DATABASE);
    const int result = !path || aoei_has_other_owner(dir, geteuid()) || aoei_has_other_owner(path, geteuid());
    aoei_free(path);
    return result;
}

/* Returns 1 if there is an index directory that may be used although the user did not name it. */
static int is_usable(const char *dir) {
    if (!aoei_is_dir(dir))
        return 0;
    if (!cli_index_is_foreign(dir))
        return 1;
    cli_warn("%s belongs to another user and is not used; if you trust this user, give it with -i (`aoe index`: -o)",
             dir);
    return 0;
}

char *cli_nearest_index(void) {
    char path[PATH_MAX + sizeof "/" CLI_INDEX_DIR];
    if (is_usable(CLI_INDEX_DIR))
        return cli_strdup(CLI_INDEX_DIR);
    if (!getcwd(path, PATH_MAX) || path[0] != '/')
        return NULL;
    for (;;) {
        char *slash = strrchr(path, '/');
        if (slash == path && !path[1])
            return NULL;
        memcpy(slash, "/" CLI_INDEX_DIR, sizeof "/" CLI_INDEX_DIR);
        if (is_usable(path))
            return cli_strdup(path);
        slash[slash == path] = 0;
    }
}

int cli_index_is_link(const char *dir) {
    struct stat st;
    char target[PATH_MAX];
    if (lstat(dir, &st) || !S_ISLNK(st.st_mode))
        return 0;
    const ssize_t n = readlink(dir, target, sizeof target - 1);
    target[n > 0 ? n : 0] = 0;
    aoei_buffer shown = {0};
    cli_append_visible(&shown, target, strlen(target));
    (void)cli_fail("%s is a symbolic link to %s, and is not used unless you name it; give -i %s (aoe index: -o %s)",
                   dir, shown.failed || !shown.len ? "another place" : shown.data, dir, dir);
    aoei_buffer_free(&shown);
    return 1;
}

int cli_index_find(cli_index *x, const char *given) {
    x->dir = given ? cli_strdup(given) : cli_nearest_index();
    if (!x->dir)
        return cli_fail("no index (" CLI_INDEX_DIR ") in this folder or the folders above it; create one with "
                        "`aoe index FOLDER`, or give its directory with -i");
    return given ? 0 : cli_index_is_link(x->dir);
}

int cli_index_open_read(cli_index *x, aoe_error *err) {
    aoe_index_stats stats = {.struct_size = sizeof stats};
    char model[PATH_MAX];
    aoe_index_close(x->index);
    x->index = NULL;
    aoe_index_options o;
    aoe_index_options_defaults(&o);
    o.wait = READ_WAIT;
    int code = aoe_index_open(&x->index, x->dir, AOE_INDEX_READ, NULL, &o, err);
    if (!code)
        code = aoe_index_get_stats(x->index, &stats, err);
    if (code == AOE_EFORMAT && !aoe_index_model(x->dir, model, sizeof model, NULL)) /* only the vectors are damaged */
        x->recorded_model = cli_strdup(model);
    if (code)
        return code;
    /* Another program has created the index again, perhaps with another model. */
    if (x->recorded_model && (strcmp(x->recorded_model, stats.model) != 0 || x->recorded.dims != stats.dims ||
                              strcmp(x->created, stats.created) != 0))
        cli_session_close(&x->session);
    free(x->recorded_model);
    x->recorded_model = cli_strdup(stats.model ? stats.model : "");
    (void)snprintf(x->created, sizeof x->created, "%s", stats.created);
    x->recorded = stats;
    x->recorded.model = x->recorded.created = x->recorded.updated = NULL;
    return 0;
}

/* Returns 1 if the recorded model may come from whoever made this copy of an index: its path leads into the folder that
 * contains the index, or may lead there because it is relative or has links. The user can give a model instead. */
static int is_foreign_model(const cli_index *x) {
    return !x->model->dir && !x->recorded.created_here && x->recorded_model && aoei_exists(x->recorded_model) &&
           aoei_path_is_foreign(x->recorded_model, x->dir);
}

int cli_index_load_model(cli_index *x) {
    cli_model_options m = *x->model;
    if (x->session.embedder)
        return 0;
    if (!m.dir && x->recorded_model && *x->recorded_model) {
        if (is_foreign_model(x))
            return cli_fail("%s: " FOREIGN_MODEL, x->dir, x->recorded_model);
        if (aoei_exists(x->recorded_model))
            m.dir = x->recorded_model;
        else
            cli_note("%s: the model of the index, %s, does not exist; the default model is used", x->dir,
                     x->recorded_model);
    }
    if (cli_session_open(&x->session, x->general, &m))
        return 1;
    if (x->model->verbose)
        cli_session_describe(&x->session, 1);
    if (!m.o.dims && x->recorded.dims && x->recorded.dims < aoe_embedder_dims(x->session.embedder)) {
        aoe_error err;
        if (aoe_embedder_set_dims(x->session.embedder, x->recorded.dims, &err))
            return cli_fail("%s", err.message);
    }
    return 0;
}

int cli_index_reopen(cli_index *x, aoe_index_access access, const aoe_index_options *o, aoe_error *err) {
    aoe_index *old = x->index;
    aoe_index_options reading;
    aoe_index_options_defaults(&reading);
    reading.wait = READ_WAIT;
    x->index = NULL;
    if (access == AOE_INDEX_WRITE) {
        aoe_index_close(old);
        old = NULL;
    }
    const int code = aoe_index_open(&x->index, x->dir, access, x->session.embedder,
                                    o || access == AOE_INDEX_WRITE ? o : &reading, err);
    aoe_index_close(old); /* when its last connection is closed, SQLite removes the log, which takes time */
    return code;
}

/* ------------------------------------------------------------------ update */

static int show_progress(void *user, const aoe_index_progress *p) {
    cli_progress *shown = user;
    aoei_buffer extra = {0};
    const double seconds = p->bytes && p->total_bytes > p->bytes
                               ? cli_progress_seconds(shown) * (double)(p->total_bytes - p->bytes) / (double)p->bytes
                               : -1;
    aoei_buffer_printf(&extra, "%zu passages  ", p->passages);
    if (p->file)
        cli_append_visible(&extra, p->file, strlen(p->file));
    cli_progress_update(shown, p->files, p->total_files, NULL, seconds, extra.failed ? NULL : extra.data);
    aoei_buffer_free(&extra);
    return cli_interrupted();
}

int cli_index_update(cli_index *x, const aoe_index_source *sources, size_t n, aoe_index_update_options *o,
                     aoe_index_update_result *result, aoe_error *err) {
    cli_progress progress;
    cli_progress_begin(&progress, "indexing", "files", 0);
    o->progress = show_progress;
    o->user = &progress;
    const int code = aoe_index_update(x->index, sources, n, o, result, err);
    cli_progress_end(&progress);
    return code;
}

/* ----------------------------------------------------------------- refresh */

/* Opens the index for writing and updates it. compared: the index with which the sources were compared; NULL: none.
 * *left_out: number of changed files that were not read. */
static int update_index(cli_index *x, cli_refresh refresh, aoe_index *compared, size_t *left_out, aoe_error *err) {
    aoe_index_update_options o;
    aoe_index_update_result result = {.struct_size = sizeof result};
    aoe_index_options open;
    aoe_index_options_defaults(&open);
    if (refresh == CLI_REFRESH_AUTO)
        open.wait = REFRESH_WAIT;
    int code = cli_index_reopen(x, AOE_INDEX_WRITE, &open, err);
    if (code)
        return code;
    aoe_index_update_options_defaults(&o);
    o.budget = refresh == CLI_REFRESH_AUTO ? AUTO_SECONDS : 0;
    o.own_only = !x->recorded.created_here;
    o.compared = compared;
    code = cli_index_update(x, NULL, 0, &o, &result, err);
    *left_out = result.left_out;
    if (result.computed)
        cli_warn("%s: the model of the index computed the vectors of %zu new or changed row%s, but vectors were given "
                 "for the others; give the vectors of all rows of the table again with `aoe index -o %s TABLE "
                 "--vectors FILE`",
                 x->dir, result.computed, cli_plural(result.computed), x->dir);
    return code;
}

/* Returns 1 if the index cannot be written, such as that of another user. */
static int is_read_only(const cli_index *x) {
    char *path = aoei_path_join(x->dir, CLI_INDEX_DATABASE);
    const int result = path && (access(x->dir, W_OK) || access(path, W_OK));
    aoei_free(path);
    return result;
}

/* Updates the index, and opens the model only if there are texts to embed. compared: see update_index. Returns 0, or 1
 * after reporting an error with which no search is possible. The index can then be open for writing. */
static int refresh_index(cli_index *x, cli_refresh refresh, aoe_index *compared) {
    aoe_error err;
    size_t left_out = 0;
    int code = update_index(x, refresh, compared, &left_out, &err);
    const int may_load = refresh == CLI_REFRESH_ALWAYS || !is_foreign_model(x);
    if (!x->session.embedder && may_load && ((!code && left_out) || code == AOE_EARG)) {
        if (cli_index_load_model(x))
            return 1;
        code = update_index(x, refresh, compared, &left_out, &err);
    }
    if (!may_load && (left_out || code == AOE_EARG)) {
        cli_warn("%s: changed files are not in the answer: " FOREIGN_MODEL, x->dir, x->recorded_model);
        return 0;
    }
    if (!code) {
        if (left_out)
            cli_warn("%s: %zu changed file%s %s not yet in the index; add %s with `aoe index -o %s`, or search with "
                     "--refresh always",
                     x->dir, left_out, cli_plural(left_out), left_out == 1 ? "is" : "are",
                     left_out == 1 ? "it" : "them", x->dir);
        return 0;
    }
    if (refresh == CLI_REFRESH_ALWAYS || code == AOE_EMISMATCH)
        return cli_fail("%s", err.message);
    if (code == AOE_EEXIST)
        cli_warn("%s: another process writes to the index; the answer is from its last commit", x->dir);
    else
        cli_warn("%s; the answer is from the last commit of the index", err.message);
    return 0;
}

/* Work in another thread while the model is opened: the sources are compared with the index, and then what a search by
 * words needs is read. */
typedef struct background {
    aoe_index *index;
    aoe_index_update_options o;
    int compares, preloads;
    int is_current; /* 0 also after an error: the update then finds and reports it */
    pthread_t thread;
    int has_thread;
} background;

static void *run_background(void *arg) {
    background *b = arg;
    aoe_error err;
    if (b->compares && aoe_index_is_current(b->index, &b->o, &b->is_current, &err))
        b->is_current = 0;
    if (b->is_current && b->preloads)
        (void)aoe_index_preload(b->index, &err); /* the search finds the error again */
    return NULL;
}

/* Starts the work, or does it at once if the user wants only one thread. */
static void start_background(background *b, const cli_index *x, cli_refresh refresh, aoe_index_mode mode) {
    const int is_parallel = x->general->threads != 1 && mode != AOE_INDEX_LEXICAL;
    *b = (background){.index = x->index,
                      .compares = refresh != CLI_REFRESH_NEVER && x->recorded.sources,
                      .preloads = is_parallel && mode != AOE_INDEX_DENSE,
                      .is_current = 1};
    aoe_index_update_options_defaults(&b->o);
    b->o.own_only = !x->recorded.created_here;
    if (!b->compares && !b->preloads)
        return;
    b->has_thread = is_parallel && !pthread_create(&b->thread, NULL, run_background, b);
    if (!b->has_thread)
        (void)run_background(b);
}

/* Returns 1 if the index is up to date. */
static int finish_background(background *b) {
    if (b->has_thread)
        (void)pthread_join(b->thread, NULL);
    return b->is_current;
}

static int open_model(cli_index *x) {
    aoe_error err;
    if (cli_index_load_model(x))
        return 1;
    return aoe_index_set_embedder(x->index, x->session.embedder, &err) ? cli_fail("%s", err.message) : 0;
}

int cli_index_open_search(cli_index *x, cli_refresh refresh, aoe_index_mode mode) {
    aoe_error err;
    background b;
    if (cli_index_open_read(x, &err))
        return cli_fail("%s", err.message);
    if (refresh == CLI_REFRESH_AUTO && x->recorded.sources && is_read_only(x)) {
        cli_note("%s: you may not write to the index; the answer is from its last commit", x->dir);
        refresh = CLI_REFRESH_NEVER;
    }
    if (refresh != CLI_REFRESH_NEVER && x->recorded.sources && !x->recorded.created_here)
        cli_warn("%s was copied or moved here, or belongs to another user; changes of its sources outside the folder "
                 "that contains it are not read; give all their paths to `aoe index -o %s PATH...`, or create an index "
                 "here",
                 x->dir, x->dir);
    start_background(&b, x, refresh, mode);
    const int failed = mode != AOE_INDEX_LEXICAL && open_model(x);
    if (finish_background(&b) || failed)
        return failed;
    aoe_index *compared = x->index;
    x->index = NULL;
    const int has_failed = refresh_index(x, refresh, compared);
    aoe_index_close(compared);
    if (has_failed)
        return 1;
    /* Opening the index for reading releases the lock of the writer before the search, which can wait for its input. */
    return cli_index_reopen(x, AOE_INDEX_READ, NULL, &err) ? cli_fail("%s", err.message) : 0;
}

void cli_index_close(cli_index *x) {
    aoe_index_close(x->index);
    cli_session_close(&x->session);
    free(x->dir);
    free(x->recorded_model);
    *x = (cli_index){0};
}
