/* SPDX-License-Identifier: MIT
 * Prints the passages that a search found. Links are OSC 8 escape sequences; terminals that do not know them ignore
 * them.
 */
#include "cli/search/hit_output.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/json.h"
#include "base/alloc.h"
#include "base/path.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "cli/common/visible.h"

enum {
    PIPE_WIDTH = 100, /* number of columns if stdout is not a terminal */
    INDENT = 4        /* spaces before the rows of a passage */
};
#define BOLD  "\033[1m"
#define DIM   "\033[2m"
#define PLAIN "\033[0m"

void cli_hit_output_begin(cli_hit_output *o) {
    struct winsize w;
    char host[256] = "", here[PATH_MAX];
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    const int terminal = isatty(STDOUT_FILENO);
    o->links = terminal && term && strcmp(term, "dumb") != 0;
    o->color = o->links && !(no_color && *no_color);
    o->width = PIPE_WIDTH;
    if (terminal)
        o->width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col ? w.ws_col : 80;
    if (gethostname(host, sizeof host - 1))
        host[0] = 0;
    o->host = cli_strdup(host);
    o->here = cli_strdup(getcwd(here, sizeof here) ? here : "");
}

void cli_hit_output_end(cli_hit_output *o) {
    free(o->host);
    free(o->here);
    o->host = o->here = NULL;
}

/* Writes the buffer to stdout and frees it. */
static void print_buffer(aoei_buffer *b) {
    if (b->failed) {
        cli_fail("out of memory while printing");
        exit(1);
    }
    cli_progress_clear();
    if (b->len)
        fwrite(b->data, 1, b->len, stdout);
    aoei_buffer_free(b);
    cli_flush_stdout();
}

/* -------------------------------------------------------------------- JSON */

int cli_write_hit_json(FILE *f, json_t *value) {
    aoei_buffer b = {0};
    char *text = value ? aoei_json_text(value, JSON_COMPACT) : NULL;
    if (text)
        cli_append_visible_json(&b, text, strlen(text));
    aoei_buffer_putc(&b, '\n');
    const int failed = !text || b.failed;
    if (!failed)
        fwrite(b.data, 1, b.len, f);
    aoei_buffer_free(&b);
    aoei_free(text);
    json_decref(value);
    return failed;
}

void cli_print_hit_json(json_t *value) {
    cli_progress_clear();
    if (cli_write_hit_json(stdout, value)) {
        cli_fail("out of memory while printing JSON");
        exit(1);
    }
    cli_flush_stdout();
}

/* Returns metadata. All values are strings; several values of a key are an array. */
static json_t *fields_json(const aoe_index_hit *hit) {
    json_t *fields = json_object();
    for (size_t i = 0; i < hit->n_fields; i++) {
        const aoe_index_field *f = &hit->field[i];
        json_t *value = cli_json_text(f->value.data, f->value.len), *earlier = json_object_get(fields, f->key);
        if (json_is_array(earlier))
            json_array_append_new(earlier, value);
        else if (earlier)
            json_object_set_new(fields, f->key, json_pack("[O,o]", earlier, value));
        else
            json_object_set_new(fields, f->key, value);
    }
    return fields;
}

static json_t *name_json(const char *s) {
    return s ? cli_json_text(s, strlen(s)) : json_null();
}

/* Returns 1 if the document is a whole file; 0: it is a row of a table, or its text was given by a program. */
static int is_file(const aoe_index_hit *hit) {
    return hit->path && aoei_name_ends_with(hit->path, hit->name);
}

int cli_hit_lines(const aoe_index_hit *hit, size_t *first, size_t *last) {
    const char *colon = strrchr(hit->name, ':');
    *first = hit->line;
    *last = hit->last_line;
    if (!hit->path || is_file(hit))
        return 1;
    *first = *last = 0;
    const size_t path = strlen(hit->path), file = colon ? (size_t)(colon - hit->name) : 0;
    if (file && file < path && memcmp(hit->path + path - file, hit->name, file) == 0 &&
        hit->path[path - file - 1] == '/' && strspn(colon + 1, "0123456789") == strlen(colon + 1) && strlen(colon) < 19)
        *first = *last = (size_t)strtoull(colon + 1, NULL, 10);
    return 0;
}

json_t *cli_hit_json(const aoe_index_hit *hit, double score, int explain) {
    json_t *o = json_object();
    size_t line, last_line;
    (void)cli_hit_lines(hit, &line, &last_line);
    json_object_set_new(o, "id", name_json(hit->id));
    json_object_set_new(o, "name", name_json(hit->name));
    json_object_set_new(o, "path", name_json(hit->path));
    json_object_set_new(o, "line", json_integer((json_int_t)line));
    json_object_set_new(o, "last_line", json_integer((json_int_t)last_line));
    json_object_set_new(o, "heading", name_json(hit->heading));
    if (!isnan(score))
        json_object_set_new(o, "score", cli_json_real(score));
    if (explain) {
        json_object_set_new(o, "dense_rank", hit->dense_rank ? json_integer((json_int_t)hit->dense_rank) : json_null());
        json_object_set_new(o, "cosine", cli_json_real(hit->cosine));
        json_object_set_new(o, "lexical_rank",
                            hit->lexical_rank ? json_integer((json_int_t)hit->lexical_rank) : json_null());
        json_object_set_new(o, "bm25", cli_json_real(hit->bm25));
        json_object_set_new(o, "search_score", cli_json_real(hit->score));
    }
    json_object_set_new(o, "text", cli_json_text(hit->text.data, hit->text.len));
    if (hit->n_fields)
        json_object_set_new(o, "fields", fields_json(hit));
    return o;
}

static void write_json(const cli_hit_output *o, aoe_text query, const cli_hit *hits, size_t n) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *hit = cli_hit_json(hits[i].hit, hits[i].score, o->explain);
        if (o->format == CLI_HITS_JSON) {
            json_array_append_new(list, hit);
            continue;
        }
        json_t *line = json_pack("{s:I}", "rank", (json_int_t)(i + 1));
        if (o->many)
            json_object_set_new(line, "query", cli_json_text(query.data, query.len));
        json_object_update(line, hit);
        json_decref(hit);
        cli_print_hit_json(line);
    }
    if (o->format != CLI_HITS_JSON) {
        json_decref(list);
        return;
    }
    json_t *answer = json_object();
    json_object_set_new(answer, "query", cli_json_text(query.data, query.len));
    json_object_set_new(answer, "hits", list);
    cli_print_hit_json(answer);
}

/* -------------------------------------------------------------------- text */

/* Returns the path of the file, relative to the current directory if the file is inside it; if the document is not in a
 * file, returns its name. */
static const char *shown_path(const cli_hit_output *o, const aoe_index_hit *hit) {
    const size_t n = strlen(o->here);
    if (!hit->path)
        return hit->name;
    if (n > 1 && strncmp(hit->path, o->here, n) == 0 && hit->path[n] == '/')
        return hit->path + n + 1;
    return hit->path;
}

/* Appends the name of a document: the path of a file, or the name of any other document. */
static void append_name(aoei_buffer *b, const cli_hit_output *o, const aoe_index_hit *hit) {
    const char *name = is_file(hit) ? shown_path(o, hit) : hit->name;
    cli_append_visible(b, name, strlen(name));
}

/* Appends the start of a link to a file. The bytes of the path that are not valid in a URL are percent-encoded. */
static void append_link(aoei_buffer *b, const cli_hit_output *o, const char *path) {
    aoei_buffer_printf(b, "\033]8;;file://");
    for (const char *s = o->host; *s; s++)
        if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._", *s))
            aoei_buffer_putc(b, *s);
    for (const char *s = path; *s; s++) {
        if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/", *s))
            aoei_buffer_putc(b, *s);
        else
            aoei_buffer_printf(b, "%%%02X", (unsigned char)*s);
    }
    aoei_buffer_printf(b, "\033\\");
}

void cli_append_hit_place(aoei_buffer *b, const cli_hit_output *o, const aoe_index_hit *hit) {
    const int link = o->links && hit->path;
    if (link)
        append_link(b, o, hit->path);
    aoei_buffer_printf(b, "%s", o->color ? BOLD : "");
    append_name(b, o, hit);
    aoei_buffer_printf(b, "%s", o->color ? PLAIN : "");
    if (hit->line && is_file(hit)) {
        aoei_buffer_printf(b, ":%zu", hit->line);
        if (hit->last_line > hit->line)
            aoei_buffer_printf(b, "-%zu", hit->last_line);
    }
    if (link)
        aoei_buffer_printf(b, "\033]8;;\033\\");
    if (*hit->heading && strcmp(hit->heading, hit->name) != 0) {
        aoei_buffer_printf(b, "  ");
        cli_append_visible(b, hit->heading, strlen(hit->heading));
    }
}

/* Appends a number, or "-" if it is NaN. */
static void append_score(aoei_buffer *b, const char *name, double x) {
    if (isnan(x))
        aoei_buffer_printf(b, "%s -", name);
    else
        aoei_buffer_printf(b, "%s %.4f", name, x);
}

static void append_rank(aoei_buffer *b, const char *name, size_t rank) {
    if (rank)
        aoei_buffer_printf(b, "%s rank %zu, ", name, rank);
    else
        aoei_buffer_printf(b, "%s rank -, ", name);
}

/* Appends the line of --explain. */
static void append_explanation(aoei_buffer *b, const cli_hit_output *o, const aoe_index_hit *hit) {
    aoei_buffer_printf(b, "%*s%s", INDENT, "", o->color ? DIM : "");
    append_rank(b, "dense", hit->dense_rank);
    append_score(b, "cosine", hit->cosine);
    append_rank(b, "; lexical", hit->lexical_rank);
    append_score(b, "BM25", hit->bm25);
    if (o->rerank)
        append_score(b, "; score before reranking", hit->score);
    aoei_buffer_printf(b, "; id %s%s\n", hit->id, o->color ? PLAIN : "");
}

/* Appends the heading of the answer to a query. */
static void append_query(aoei_buffer *b, aoe_text query, size_t number, size_t n_hits) {
    aoei_buffer_printf(b, "%squery %zu: ", number ? "\n" : "", number + 1);
    cli_append_visible(b, query.data, query.len);
    aoei_buffer_printf(b, "%s\n", n_hits ? "" : "\n    nothing found");
}

static void write_text(const cli_hit_output *o, aoe_text query, size_t number, const cli_hit *hits, size_t n,
                       const cli_terms *terms) {
    aoei_buffer b = {0};
    cli_snippet snippet = {
        .width = o->width, .rows = o->snippet, .indent = INDENT, .highlight = o->color, .terms = terms};
    if (o->many)
        append_query(&b, query, number, n);
    for (size_t i = 0; i < n; i++) {
        aoei_buffer_printf(&b, "%zu. ", i + 1);
        cli_append_hit_place(&b, o, hits[i].hit);
        append_score(&b, " ", hits[i].score);
        aoei_buffer_putc(&b, '\n');
        if (o->explain)
            append_explanation(&b, o, hits[i].hit);
        snippet.heading = hits[i].hit->heading;
        cli_append_snippet(&b, hits[i].hit->text, &snippet);
    }
    print_buffer(&b);
}

/* Prints the name of the file of each passage that has not been printed for this query. */
static void write_files(const cli_hit_output *o, aoe_text query, size_t number, const cli_hit *hits, size_t n) {
    aoei_buffer b = {0};
    if (o->many)
        append_query(&b, query, number, n);
    for (size_t i = 0; i < n; i++) {
        int seen = 0;
        for (size_t k = 0; k < i && !seen; k++)
            seen = strcmp(shown_path(o, hits[k].hit), shown_path(o, hits[i].hit)) == 0;
        if (seen)
            continue;
        const char *path = shown_path(o, hits[i].hit);
        cli_append_visible(&b, path, strlen(path));
        aoei_buffer_putc(&b, '\n');
    }
    print_buffer(&b);
}

void cli_hit_output_write(const cli_hit_output *o, aoe_text query, size_t number, const cli_hit *hits, size_t n,
                          const cli_terms *terms) {
    if (o->format == CLI_HITS_TEXT)
        write_text(o, query, number, hits, n, terms);
    else if (o->format == CLI_HITS_FILES)
        write_files(o, query, number, hits, n);
    else
        write_json(o, query, hits, n);
}
