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

#include "base/distinct.h"
#include "base/hit_lines.h"
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
    const char *name = aoei_hit_is_file(hit) ? shown_path(o, hit) : hit->name;
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
    if (hit->line && aoei_hit_is_file(hit)) {
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
    append_score(b, "BM25", !hit->lexical_rank && hit->bm25 == 0 ? NAN : hit->bm25);
    if (o->rerank)
        append_score(b, "; score before reranking", hit->score);
    aoei_buffer_printf(b, "; id %s%s\n", hit->id, o->color ? PLAIN : "");
}

/* Appends the line of --explain with the words of a query. */
static void append_words(aoei_buffer *b, const cli_hit_output *o, aoe_text query, const aoe_index_hits *found,
                         const aoei_query_words *terms) {
    aoei_buffer unused = {0};
    if (found->n_terms == terms->n_words) /* all words fit into `terms` */
        cli_append_unused_words(&unused, terms, query);
    aoei_buffer_printf(b, "%swords:", o->color ? DIM : "");
    for (size_t i = 0; i < found->n_terms; i++) {
        aoei_buffer_putc(b, ' ');
        cli_append_visible(b, found->term[i], strlen(found->term[i]));
    }
    aoei_buffer_printf(b, "%s", found->n_terms ? "" : " none");
    if (unused.len) {
        aoei_buffer_printf(b, "; too common or in no passage:");
        aoei_buffer_append(b, unused.data, unused.len);
    }
    aoei_buffer_printf(b, "%s\n", o->color ? PLAIN : "");
    b->failed |= unused.failed;
    aoei_buffer_free(&unused);
}

/* Appends the heading of the answer to a query. */
static void append_query(aoei_buffer *b, aoe_text query, size_t number, size_t n_hits) {
    aoei_buffer_printf(b, "%squery %zu: ", number ? "\n" : "", number + 1);
    cli_append_visible(b, query.data, query.len);
    aoei_buffer_printf(b, "%s\n", n_hits ? "" : "\n    nothing found");
}

static void write_text(const cli_hit_output *o, aoe_text query, size_t number, const aoe_index_hits *found,
                       const cli_hit *hits, size_t n, const aoei_query_words *terms) {
    aoei_buffer b = {0};
    cli_snippet snippet = {
        .width = o->width, .rows = o->snippet, .indent = INDENT, .highlight = o->color, .terms = terms};
    if (o->many)
        append_query(&b, query, number, n);
    if (o->explain && o->words)
        append_words(&b, o, query, found, terms);
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

/* Prints the name of the file of each passage that has not been printed for this query, or all as one JSON object. */
static void write_files(const cli_hit_output *o, aoe_text query, size_t number, const cli_hit *hits, size_t n) {
    aoei_buffer b = {0};
    aoei_distinct seen = {.n = 0};
    json_t *list = o->format == CLI_HITS_FILES_JSON ? json_array() : NULL;
    if (o->many && !list)
        append_query(&b, query, number, n);
    for (size_t i = 0; i < n; i++) {
        const aoe_text path = aoe_text_of(shown_path(o, hits[i].hit));
        const size_t before = seen.n;
        size_t index;
        if (aoei_distinct_add(&seen, path, 1, &index, NULL))
            b.failed = 1;
        if (seen.n == before)
            continue;
        if (list) {
            json_array_append_new(list, cli_json_text(path.data, path.len));
            continue;
        }
        cli_append_visible(&b, path.data, path.len);
        aoei_buffer_putc(&b, '\n');
    }
    aoei_distinct_free(&seen);
    if (list && !b.failed) {
        json_t *answer = json_object();
        json_object_set_new(answer, "query", cli_json_text(query.data, query.len));
        json_object_set_new(answer, "files", list);
        cli_print_hit_json(answer);
    }
    print_buffer(&b);
}

void cli_hit_output_write(const cli_hit_output *o, aoe_text query, size_t number, const aoe_index_hits *found,
                          const cli_hit *hits, size_t n, const aoei_query_words *terms) {
    if (o->format == CLI_HITS_TEXT)
        write_text(o, query, number, found, hits, n, terms);
    else if (o->format == CLI_HITS_FILES || o->format == CLI_HITS_FILES_JSON)
        write_files(o, query, number, hits, n);
    else
        write_json(o, query, hits, n);
}
