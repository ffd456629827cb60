/* SPDX-License-Identifier: MIT
 * Prints messages on stderr, and JSON lines and tables on stdout.
 */
#include "cli/common/output.h"

#include "base/alloc.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/utf8.h"
#include "cli/common/progress.h"
#include "cli/common/visible.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SEEN = 256 /* number of the last messages that cli_log_once does not repeat */ };

static int quiet_mode;

void *cli_realloc(void *p, size_t bytes) {
    void *q = realloc(p, bytes ? bytes : 1);
    if (!q) {
        cli_fail("out of memory: cannot allocate %zu bytes", bytes);
        exit(1);
    }
    return q;
}

void *cli_calloc(size_t count, size_t size) {
    size_t bytes;
    if (aoei_mul_size(count, size, &bytes))
        bytes = SIZE_MAX;
    return memset(cli_realloc(NULL, bytes), 0, bytes);
}

char *cli_strdup(const char *s) {
    size_t bytes = strlen(s) + 1;
    return memcpy(cli_realloc(NULL, bytes), s, bytes);
}

void cli_set_quiet(int quiet) {
    quiet_mode = quiet;
    cli_progress_enable(!quiet);
}

int cli_is_quiet(void) {
    return quiet_mode;
}

static char *caught; /* [caught_size] buffer for messages, borrowed; NULL: messages are printed */
static size_t caught_size;

void cli_catch_messages(char *text, size_t size) {
    caught = text;
    caught_size = size;
}

static cli_message_filter message_filter; /* function that changes messages; NULL: messages are printed unchanged */
static const void *message_filter_user;

void cli_set_message_filter(cli_message_filter filter, const void *user) {
    message_filter = filter;
    message_filter_user = user;
}

/* Prints a message as one line on stderr. If `caught` is not NULL, stores the message there instead. The message filter
 * changes the message first. */
static void print_line(const char *prefix, const char *fmt, va_list args) {
    char message[2048], text[2048];
    vsnprintf(message, sizeof message, fmt, args);
    if (message_filter)
        message_filter(text, sizeof text, message, message_filter_user);
    else
        memcpy(text, message, sizeof text);
    if (caught) {
        snprintf(caught, caught_size, "%s%s", prefix, text);
        return;
    }
    cli_progress_clear();
    cli_flush_stdout();
    char shown[4 * sizeof text];
    cli_visible v;
    size_t used = 0;
    /* names of files may contain control characters */
    for (size_t i = 0, n = strlen(text); i < n && used + CLI_VISIBLE_MAX < sizeof shown; i += v.bytes) {
        cli_visible_char(&v, text + i, n - i);
        memcpy(shown + used, v.out, v.n);
        used += v.n;
    }
    fprintf(stderr, "%s%.*s\n", prefix, (int)used, shown);
}

void cli_message(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    print_line("", fmt, args);
    va_end(args);
}

void cli_note(const char *fmt, ...) {
    va_list args;
    if (quiet_mode)
        return;
    va_start(args, fmt);
    print_line("", fmt, args);
    va_end(args);
}

/* Returns 1 if the function is called for the first time with this message. Messages are compared by their hash. */
static int is_new(const char *message) {
    static uint64_t seen[MAX_SEEN];
    static size_t n;
    const uint64_t hash = aoei_hash(AOEI_HASH_START, message, strlen(message));
    for (size_t i = 0; i < n && i < MAX_SEEN; i++)
        if (seen[i] == hash)
            return 0;
    seen[n++ % MAX_SEEN] = hash;
    return 1;
}

void cli_log_once(void *user, aoe_log_level level, const char *message) {
    (void)user;
    if (caught || (level != AOE_LOG_WARNING && quiet_mode) || !is_new(message))
        return;
    if (level == AOE_LOG_WARNING)
        cli_warn("%s", message);
    else
        cli_note("%s", message);
}

void cli_warn(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    print_line("aoe: warning: ", fmt, args);
    va_end(args);
}

int cli_fail(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    print_line("aoe: ", fmt, args);
    va_end(args);
    return 1;
}

/* errno of the first write to stdout that failed; 0: no write has failed */
static int stdout_error;

void cli_flush_stdout(void) {
    if (!ferror(stdout)) /* if a write has failed before, errno is still the error of this write */
        errno = 0;
    if ((fflush(stdout) || ferror(stdout)) && !stdout_error)
        stdout_error = errno ? errno : EIO;
}

int cli_check_stdout(void) {
    static int reported;
    cli_flush_stdout();
    if (stdout_error && stdout_error != EPIPE && !reported)
        cli_fail("cannot write to standard output: %s; %s",
                 stdout_error == EFBIG ? "the file size limit is reached" : strerror(stdout_error),
                 stdout_error == EFBIG ? "raise it (ulimit -f)" : "the output is incomplete");
    reported = stdout_error != 0;
    return reported;
}

int cli_stdout_closed(void) {
    return stdout_error == EPIPE;
}

int cli_put_json(FILE *f, const json_t *value) {
    char *text = value ? aoei_json_text(value, JSON_COMPACT) : NULL;
    if (text)
        fputs(text, f);
    aoei_free(text);
    return text ? 0 : -1;
}

void cli_print_json(json_t *value) {
    cli_progress_clear();
    if (cli_put_json(stdout, value)) {
        cli_fail("out of memory while printing JSON");
        exit(1);
    }
    json_decref(value);
    putchar('\n');
    cli_flush_stdout();
}

json_t *cli_json_real(double x) {
    return isfinite(x) ? json_real(x) : json_null();
}

json_t *cli_json_text(const char *s, size_t len) {
    json_t *text = json_stringn(s, len);
    if (text)
        return text;
    char *copy = cli_realloc(NULL, len);
    for (size_t i = 0; i < len; i++)
        copy[i] = (unsigned char)s[i] < 0x80 ? s[i] : '?';
    text = json_stringn(copy, len);
    free(copy);
    return text;
}

char *cli_json_value_text(const json_t *value) {
    char number[32];
    if (json_is_string(value))
        return cli_strdup(json_string_value(value));
    if (json_is_boolean(value))
        return cli_strdup(json_is_true(value) ? "on" : "off");
    if (json_is_number(value)) {
        snprintf(number, sizeof number, "%.6g", json_number_value(value));
        return cli_strdup(number);
    }
    char *text = aoei_json_text(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    char *copy = cli_strdup(text ? text : "");
    aoei_free(text);
    return copy;
}

void cli_table_begin(cli_table *t, const char *align) {
    memset(t, 0, sizeof *t);
    t->align = align;
    t->columns = strlen(align);
}

void cli_table_cell(cli_table *t, const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    t->cell = cli_realloc(t->cell, (t->cells + 1) * sizeof *t->cell);
    t->cell[t->cells] = cli_strdup(text);
    t->cells++;
}

void cli_format_score(char out[32], double score) {
    if (isfinite(score))
        snprintf(out, 32, "%.2f", score);
    else
        snprintf(out, 32, "-");
}

void cli_table_real(cli_table *t, int digits, double x) {
    if (isnan(x))
        cli_table_cell(t, "-");
    else
        cli_table_cell(t, "%.*f", digits, x);
}

void cli_table_cells(cli_table *t, const char *const *texts, size_t n) {
    for (size_t i = 0; i < n; i++)
        cli_table_cell(t, "%s", texts[i]);
}

/* Returns the number of UTF-8 characters of a text, which is its width in columns on a terminal. */
static int text_width(const char *s) {
    return (int)aoei_utf8_chars(s, strlen(s));
}

static int column_width(const cli_table *t, size_t column) {
    int width = 0;
    for (size_t i = column; i < t->cells; i += t->columns) {
        int n = text_width(t->cell[i]);
        width = n > width ? n : width;
    }
    return width;
}

void cli_table_print(cli_table *t) {
    cli_progress_clear();
    for (size_t i = 0; i < t->cells; i++) {
        size_t column = i % t->columns;
        int pad = column_width(t, column) - text_width(t->cell[i]);
        int last = column + 1 == t->columns;
        if (column)
            fputs("  ", stdout);
        if (t->align[column] == 'r')
            printf("%*s%s", pad, "", t->cell[i]);
        else
            printf("%s%*s", t->cell[i], last ? 0 : pad, "");
        if (last)
            putchar('\n');
    }
    cli_table_free(t);
}

/* Prints a CSV field (RFC 4180). The field is quoted if necessary. */
static void print_csv_cell(const char *s) {
    if (!strpbrk(s, ",\"\r\n")) {
        fputs(s, stdout);
        return;
    }
    putchar('"');
    for (; *s; s++) {
        if (*s == '"')
            putchar('"');
        putchar(*s);
    }
    putchar('"');
}

static void print_markdown_cell(const char *s) {
    for (; *s; s++) {
        if (*s == '|' || *s == '\\')
            putchar('\\');
        putchar(*s == '\n' || *s == '\r' ? ' ' : *s);
    }
}

/* Prints the second line of a Markdown table, which defines the alignment of the columns. */
static void print_markdown_rule(const cli_table *t) {
    for (size_t i = 0; i < t->columns; i++)
        fputs(t->align[i] == 'r' ? "| ---: " : "| --- ", stdout);
    puts("|");
}

void cli_table_print_as(cli_table *t, cli_table_format format) {
    if (format == CLI_TABLE_ALIGNED) {
        cli_table_print(t);
        return;
    }
    cli_progress_clear();
    for (size_t i = 0; i < t->cells; i++) {
        const int first = i % t->columns == 0, last = (i + 1) % t->columns == 0;
        if (format == CLI_TABLE_CSV) {
            print_csv_cell(t->cell[i]);
            putchar(last ? '\n' : ',');
            continue;
        }
        fputs(first ? "| " : "", stdout);
        print_markdown_cell(t->cell[i]);
        fputs(last ? " |\n" : " | ", stdout);
        if (i + 1 == t->columns)
            print_markdown_rule(t);
    }
    cli_table_free(t);
}

void cli_table_free(cli_table *t) {
    for (size_t i = 0; i < t->cells; i++)
        free(t->cell[i]);
    free(t->cell);
    memset(t, 0, sizeof *t);
}
