/* SPDX-License-Identifier: MIT
 * Reads the results of evaluations of models of several sizes. Each result becomes a record, a JSON object with the
 * keys and values of the line. A row of a CSV table becomes a record with the headings as keys, except that the key of
 * the first column is "name". The key LINE contains the line number.
 */
#include "cli/plot/size_results.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "cli/plot/plot.h"

#define LINE "line number" /* no metric has this name */

static const char advice[] = "give the output of aoe eval with --dims or --layers, and with --json or --format csv";

/* ---- lines */

static json_t *parse_json(const char *line, size_t len, const char *path, size_t number) {
    json_t *o = json_loadb(line, len, 0, NULL);
    if (json_is_object(o) && json_is_string(json_object_get(o, "name")))
        return o;
    json_decref(o);
    cli_fail("%s:%zu: not a result of aoe eval; %s", path, number, advice);
    return NULL;
}

/* Splits a line of a CSV file and returns its cells as an array of strings. Returns NULL after reporting an error. The
 * function changes the line. */
static json_t *split_csv(char *line, const char *path, size_t number) {
    json_t *cells = json_array();
    line[strcspn(line, "\r\n")] = 0;
    for (char *from = line; from;) {
        char *to, *start = from;
        if (*from == '"') {
            start = to = ++from;
            for (; *from && (*from != '"' || from[1] == '"'); from++) {
                from += *from == '"';
                *to++ = *from;
            }
            if (!*from++) {
                json_decref(cells);
                cli_fail("%s:%zu: a quoted cell has no end; %s", path, number, advice);
                return NULL;
            }
        } else {
            to = from += strcspn(from, ",");
        }
        char *next = strchr(from, ',');
        *to = 0;
        json_array_append_new(cells, cli_json_text(start, strlen(start)));
        from = next ? next + 1 : NULL;
    }
    return cells;
}

/* Returns a cell as a number, or as text if it is not a finite number. */
static json_t *cell_value(json_t *cell) {
    const char *text = json_string_value(cell);
    char *end;
    const double x = strtod(text, &end);
    return end != text && !*end && isfinite(x) ? json_real(x) : json_incref(cell);
}

/* Returns 1 if a cell is equal to the text. */
static int has_text(const json_t *cells, const char *text) {
    size_t i;
    json_t *cell;
    json_array_foreach(cells, i, cell) if (strcmp(json_string_value(cell), text) == 0) return 1;
    return 0;
}

/* Parses a line of a CSV table. *header: array of the headings of the table; replaced by a line that begins a table.
 * Returns NULL for a header, and NULL with *failed set to 1 after an error. */
static json_t *parse_csv(char *line, json_t **header, const char *path, size_t number, int *failed) {
    json_t *cells = split_csv(line, path, number), *o = NULL;
    *failed = !cells;
    if (cells && !*header) {
        *header = cells;
        *failed = !has_text(cells, "layers") || !has_text(cells, "dims");
        if (*failed)
            cli_fail("%s:%zu: the header has no columns layers and dims; %s", path, number, advice);
        return NULL;
    }
    if (*failed)
        return NULL;
    const size_t n = json_array_size(*header), found = json_array_size(cells);
    if (found != n) {
        *failed = cli_fail("%s:%zu: the row has %zu cells, but the header has %zu; %s", path, number, found, n, advice);
    } else {
        o = json_object();
        json_object_set(o, "name", json_array_get(cells, 0));
        for (size_t i = 1; i < n; i++)
            json_object_set_new(o, json_string_value(json_array_get(*header, i)), cell_value(json_array_get(cells, i)));
    }
    json_decref(cells);
    return o;
}

/* Returns the value of "layers" or "dims" of a record, or SIZE_MAX if it is not a non-negative integer. */
static size_t size_of(const json_t *record, const char *key) {
    const json_t *value = json_object_get(record, key);
    const double x = json_number_value(value);
    return json_is_number(value) && x >= 0 && x <= 1e9 && floor(x) >= x ? (size_t)x : SIZE_MAX;
}

static int add_record(cli_size_results *r, json_t *o, const char *path, size_t number) {
    const size_t dims = size_of(o, "dims");
    if (size_of(o, "layers") == SIZE_MAX || dims == SIZE_MAX || !dims) {
        json_decref(o);
        return cli_fail("%s:%zu: the result has no size; %s", path, number, advice);
    }
    json_object_set_new(o, LINE, json_integer((json_int_t)number));
    json_array_append_new(r->record, o);
    return 0;
}

typedef struct reader {
    cli_size_results *r;
    const char *path;
    json_t *header; /* headings of the CSV table that is being read, owned; NULL: a table begins with the next line */
} reader;

static int take_line(void *user, char *line, size_t len, size_t number) {
    reader *to = user;
    cli_size_results *r = to->r;
    if (!line[strspn(line, " \t\r\n")]) { /* an empty line separates two tables */
        json_decref(to->header);
        to->header = NULL;
        return 0;
    }
    if (!to->header && !json_array_size(r->record))
        r->is_json = *line == '{';
    int failed = 0;
    json_t *o =
        r->is_json ? parse_json(line, len, to->path, number) : parse_csv(line, &to->header, to->path, number, &failed);
    return o ? add_record(r, o, to->path, number) : failed || r->is_json;
}

/* ---- inputs and metrics */

static const char *name_of(const json_t *record) {
    return json_string_value(json_object_get(record, "name"));
}

/* Appends a name to a list for a message, unless the list is too long. */
static void append_name(char *list, size_t size, const char *name, const char *inner, char separator) {
    const size_t at = strlen(list);
    if (inner)
        snprintf(list + at, size - at, "%s%s%c%s", at ? ", " : "", name, separator, inner);
    else
        snprintf(list + at, size - at, "%s%s", at ? ", " : "", name);
}

/* Chooses the input whose results are drawn. Returns 0, or 1 after reporting that the choice is impossible. */
static int choose_row(cli_size_results *r, const char *path, const char *row) {
    static const char *const totals[] = {"all", "average", "mean"};
    json_t *names = json_object(), *record;
    const char *name, *chosen = NULL;
    char list[512] = "";
    size_t i;
    json_array_foreach(r->record, i, record) json_object_set_new(names, name_of(record), json_true());
    json_object_foreach(names, name, record) append_name(list, sizeof list, name, NULL, 0);
    if (row)
        chosen = json_object_get(names, row) ? row : NULL;
    else if (json_object_size(names) == 1)
        chosen = json_object_iter_key(json_object_iter(names));
    for (size_t k = 0; !row && !chosen && k < sizeof totals / sizeof *totals; k++)
        chosen = json_object_get(names, totals[k]) ? totals[k] : NULL;
    if (chosen)
        r->row = cli_strdup(chosen);
    json_decref(names);
    if (!chosen && row)
        return cli_fail("%s: no results of '%s'; the file has results of %s", path, row, list);
    return chosen ? 0 : cli_fail("%s: the file has results of %s; choose one of them with --row", path, list);
}

/* Returns 1 if a key of a record is the metric: it is equal, except for upper and lower case, or it is the metric with
 * the number of nearest texts or of data sets, as in "nDCG@10" and "average of 5". */
static int is_metric(const char *key, const char *metric) {
    const size_t n = strlen(metric);
    return strncasecmp(key, metric, n) == 0 && (!key[n] || key[n] == '@' || strncmp(key + n, " of ", 4) == 0);
}

/* Returns the value of a metric in a record, or NULL if the record has no such metric. A metric in an object of the
 * record has a name such as "all.spearman" or "recall@5". */
static const json_t *find_metric(const json_t *record, const char *metric) {
    const size_t n = strcspn(metric, ".@");
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)record, key, value) {
        if (!json_is_object(value) && strcmp(key, LINE) != 0 && strcmp(key, "name") != 0 && is_metric(key, metric))
            return value;
        if (json_is_object(value) && metric[n] && strlen(key) == n && strncasecmp(key, metric, n) == 0)
            return json_object_get(value, metric + n + 1);
    }
    return NULL;
}

/* Writes the names of the numbers of a record, except the size, to list[size]. */
static void list_metrics(const json_t *record, char *list, size_t size) {
    const char *key, *inner;
    json_t *value, *number;
    list[0] = 0;
    json_object_foreach((json_t *)(uintptr_t)record, key, value) {
        if (json_is_number(value) && strcmp(key, "layers") != 0 && strcmp(key, "dims") != 0 && strcmp(key, LINE) != 0)
            append_name(list, size, key, NULL, 0);
        json_object_foreach(value, inner, number)
            append_name(list, size, key, inner, strcmp(key, "recall") != 0 ? '.' : '@');
    }
}

/* Chooses the metric from the first result of the chosen input. */
static int choose_metric(cli_size_results *r, const json_t *record, const char *path, const char *metric) {
    static const char *const usual[] = {"spearman", "all.spearman", "average", "ndcg", "accuracy"};
    char list[1024];
    for (size_t i = 0; !metric && i < sizeof usual / sizeof *usual; i++)
        metric = find_metric(record, usual[i]) ? usual[i] : NULL;
    if (metric && find_metric(record, metric)) {
        r->metric = cli_strdup(metric);
        return 0;
    }
    list_metrics(record, list, sizeof list);
    if (metric)
        return cli_fail("%s: the results of '%s' have no metric '%s'; choose one of %s", path, r->row, metric, list);
    return cli_fail("%s: the results of '%s' have none of the usual metrics; choose one of %s with --metric", path,
                    r->row, list);
}

/* ---- results */

/* Adds the result of a record. If its metric is undefined, only increases *undefined. */
static int add_result(cli_size_results *r, const json_t *record, const char *path, size_t *undefined) {
    const json_t *value = find_metric(record, r->metric);
    const cli_size_result new = {size_of(record, "layers"), size_of(record, "dims"),
                                 json_number_value(value) * (r->is_json ? 100 : 1),
                                 (size_t)json_integer_value(json_object_get(record, LINE))};
    for (size_t i = 0; i < r->n; i++)
        if (r->result[i].layers == new.layers && r->result[i].dims == new.dims)
            return cli_fail(
                "%s:%zu: the result of '%s' with %zu layers and %zu components is already in line %zu; give the "
                "results of each model in its own file",
                path, new.line, r->row, new.layers, new.dims, r->result[i].line);
    if (!json_is_number(value)) {
        ++*undefined;
        return 0;
    }
    r->result = cli_realloc(r->result, (r->n + 1) * sizeof *r->result);
    r->result[r->n++] = new;
    return 0;
}

static int choose_results(cli_size_results *r, const char *path, const char *row, const char *metric) {
    size_t i, undefined = 0;
    json_t *record;
    int failed = choose_row(r, path, row);
    json_array_foreach(r->record, i, record) {
        if (failed || strcmp(name_of(record), r->row) != 0)
            continue;
        failed = (!r->metric && choose_metric(r, record, path, metric)) || add_result(r, record, path, &undefined);
    }
    if (!failed && undefined)
        cli_warn("%s: skipped %zu result%s of '%s' without a number", path, undefined, undefined == 1 ? "" : "s",
                 r->row);
    if (!failed && !r->n)
        failed = cli_fail("%s: the metric '%s' of '%s' is undefined for all sizes", path, r->metric, r->row);
    return failed;
}

int cli_size_results_read(cli_size_results *r, const char *path, const char *row, const char *metric) {
    struct stat st;
    *r = (cli_size_results){.record = json_array()};
    if (!stat(path, &st) && S_ISDIR(st.st_mode))
        return cli_fail(
            "%s: this is a directory; give the path of a file: the output of aoe eval with --dims or --layers, and "
            "with --json or --format csv",
            path);
    reader to = {.r = r, .path = path};
    int failed = cli_plot_read_lines(path, advice, take_line, &to);
    json_decref(to.header);
    if (!failed && !json_array_size(r->record))
        failed = cli_fail("%s: no results found; %s", path, advice);
    return failed || choose_results(r, path, row, metric);
}

void cli_size_results_free(cli_size_results *r) {
    json_decref(r->record);
    free(r->row);
    free(r->metric);
    free(r->result);
    memset(r, 0, sizeof *r);
}
