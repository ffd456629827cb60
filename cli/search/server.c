/* SPDX-License-Identifier: MIT
 * Writes to and reads from a PostgreSQL server. The URL may contain a password, so it is never printed.
 */
#include "cli/search/server.h"

#include <stdlib.h>
#include <string.h>

#include "cli/common/interrupt.h"

const aoei_option cli_server_table[CLI_SERVER_COUNT] = {
    {.name = "table",
     .kind = AOEI_OPTION_TEXT,
     .value = "NAME",
     .offset = offsetof(cli_server_options, table),
     .help = "table on the server, TABLE or SCHEMA.TABLE",
     .fallback = "aoe_passages"},
};

/* ------------------------------------------------------------------- write */

/* The progress of one phase. */
typedef struct shown {
    cli_progress progress;
    int phase; /* an aoe_postgres_phase, or -1 before the first one */
} shown;

static int show_progress(void *user, const aoe_postgres_progress *p) {
    shown *s = user;
    if (s->phase != (int)p->phase) {
        if (s->phase >= 0)
            cli_progress_end(&s->progress);
        s->phase = (int)p->phase;
        if (p->phase == AOE_POSTGRES_COPYING)
            cli_progress_begin(&s->progress, "copying", "passages", 0);
        else
            cli_progress_begin(&s->progress, "indexing on the server", "units", 0);
    }
    cli_progress_update(&s->progress, p->done, p->total, NULL, -1, NULL);
    return cli_interrupted();
}

static void print_result(const aoe_postgres_write_result *r, const char *dir, const char *table, int json) {
    static const char *const kinds[] = {"none", "hnsw", "hnsw, 16 bits per component"};
    if (json) {
        cli_print_json(json_pack("{s:s,s:s,s:I,s:I,s:I,s:I,s:I,s:s}", "index", dir, "table", table, "passages",
                                 (json_int_t)r->passages, "added", (json_int_t)r->added, "changed",
                                 (json_int_t)r->changed, "removed", (json_int_t)r->removed, "unchanged",
                                 (json_int_t)r->unchanged, "vector_index", kinds[r->vector_index]));
        return;
    }
    printf("table %s: %zu passage%s added, %zu changed, %zu removed, %zu unchanged\n", table, r->added,
           cli_plural(r->added), r->changed, r->removed, r->unchanged);
    if (r->vector_index == AOE_POSTGRES_NO_INDEX)
        cli_note("pgvector cannot index vectors of this size, so every search reads all vectors");
}

int cli_server_check(const cli_server_options *o) {
    aoe_error err;
    return aoe_postgres_check(o->url, o->table, &err) ? cli_fail("%s", err.message) : 0;
}

int cli_server_write(const cli_server_options *o, aoe_index *index, const char *dir, int json) {
    aoe_error err;
    shown s = {.phase = -1};
    aoe_postgres_write_options write;
    aoe_postgres_write_result result = {.struct_size = sizeof result};
    aoe_postgres_write_options_defaults(&write);
    write.table = o->table;
    write.replace = o->replace;
    write.progress = show_progress;
    write.user = &s;
    cli_watch_interrupts();
    const int code = aoe_postgres_write(o->url, index, &write, &result, &err);
    if (s.phase >= 0)
        cli_progress_end(&s.progress);
    if (code == AOE_ECANCELLED && cli_interrupted()) {
        cli_message("aoe: interrupted; the passages until now are on the server; run the command again to continue");
        return 128 + cli_interrupted();
    }
    if (code)
        return cli_fail("%s", err.message);
    print_result(&result, dir, o->table ? o->table : "aoe_passages", json);
    return 0;
}

/* ------------------------------------------------------------------ search */

int cli_server_open(aoe_postgres **server, const cli_server_options *o, cli_index *x, int with_model) {
    aoe_error err;
    aoe_postgres_options open;
    aoe_postgres_options_defaults(&open);
    open.table = o->table;
    open.log = cli_log_once;
    if (aoe_postgres_open(server, o->url, &open, &err))
        return cli_fail("%s", err.message);
    if (!with_model)
        return 0;
    x->dir = cli_strdup(o->table ? o->table : "aoe_passages");
    x->recorded_model = cli_strdup(aoe_postgres_model(*server));
    x->recorded.dims = aoe_postgres_dims(*server);
    x->recorded.created_here = 1; /* the user names the server */
    if (cli_index_load_model(x))
        return 1;
    if (aoe_postgres_set_embedder(*server, x->session.embedder, x->session.dir, &err))
        return cli_fail("%s", err.message);
    return 0;
}

int cli_server_search(aoe_postgres *server, const aoe_text *queries, size_t n, const aoe_index_search_options *o,
                      aoe_index_hits *hits, aoe_error *err) {
    int code = 0;
    for (size_t i = 0; !code && i < n; i++)
        code = aoe_postgres_search(server, queries[i], o, &hits[i], err);
    return code;
}
