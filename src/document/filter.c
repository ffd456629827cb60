/* SPDX-License-Identifier: MIT
 * The table of programs, the search for them in PATH, and messages about failures. command.c runs the programs.
 */
#include "document/filter.h"

#include <assert.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/path.h"
#include "document/command.h"

enum { MAX_ARGUMENTS = 64 }; /* arguments of a program, including its name */

/* Stands for the path of the file in a predefined row, where "-" can have another meaning. */
static const char AOEI_FILTER_FILE[] = "FILE";

/* Predefined programs. The formats are named explicitly, so that the program does not guess. pandoc runs in its
 * sandbox, in which a document cannot include other files. Its output is Markdown, because passages need headings. */
#define PANDOC(format)                                                                                                 \
    { "pandoc", "--sandbox", "--from", format, "--to=commonmark+pipe_tables-raw_html", "--wrap=none", AOEI_FILTER_FILE }
static const char *const pdf[] = {"pdftotext", "-enc", "UTF-8", "-nopgbrk", AOEI_FILTER_FILE, "-"};
static const char *const docx[] = PANDOC("docx"), *const odt[] = PANDOC("odt"), *const epub[] = PANDOC("epub"),
                         *const rtf[] = PANDOC("rtf");

static const struct {
    const char *pattern;
    const char *const *argv;
    size_t n;
    const char *package;
    aoe_index_kind kind;
} predefined[] = {
    {"*.pdf", pdf, 6, "poppler-utils", AOE_INDEX_TEXT}, {"*.docx", docx, 7, "pandoc", AOE_INDEX_MARKDOWN},
    {"*.odt", odt, 7, "pandoc", AOE_INDEX_MARKDOWN},    {"*.epub", epub, 7, "pandoc", AOE_INDEX_MARKDOWN},
    {"*.rtf", rtf, 7, "pandoc", AOE_INDEX_MARKDOWN},
};
enum { PREDEFINED = sizeof predefined / sizeof *predefined };

/* ------------------------------------------------------------------------- table */

static char *lowercase(const char *s) {
    char *copy = aoei_strdup(s);
    for (char *p = copy; p && *p; p++)
        *p = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
    return copy;
}

static int set_pattern(aoei_filter *row, const char *pattern, aoe_error *err) {
    char *lower = lowercase(pattern);
    const int code =
        lower ? aoei_ignore_add(&row->names, aoe_text_of(lower), err) : aoei_fail_nomem(err, strlen(pattern) + 1);
    aoei_free(lower);
    return code;
}

static int check_row(const aoe_index_filter *f, size_t i, aoe_error *err) {
    int has_file = 0;
    if (!f->pattern || !*f->pattern || *f->pattern == '!' || *f->pattern == '#')
        return aoei_fail(err, AOE_EARG,
                         "options.filter[%zu]: the pattern is empty or begins with '!' or '#'; give a "
                         "pattern such as *.pdf",
                         i);
    if (!f->n || !f->argv || !f->argv[0] || !*f->argv[0])
        return aoei_fail(err, AOE_EARG, "options.filter[%zu]: no program for %s; give a program and its arguments", i,
                         f->pattern);
    for (size_t k = 1; k < f->n; k++)
        has_file |= f->argv[k] && strcmp(f->argv[k], "-") == 0;
    if (!has_file || f->n >= MAX_ARGUMENTS)
        return aoei_fail(
            err, AOE_EARG,
            "options.filter[%zu]: the program %s needs an argument -, which is replaced by the path of the "
            "file, and at most %d arguments",
            i, f->argv[0], MAX_ARGUMENTS - 1);
    if (strchr(f->argv[0], '/') && *f->argv[0] != '/')
        return aoei_fail(
            err, AOE_EARG,
            "options.filter[%zu]: %s is a relative path; give the name of a program in PATH, or an absolute "
            "path",
            i, f->argv[0]);
    return 0;
}

int aoei_filters_init(aoei_filters *f, const aoe_index_filter *filter, size_t n, aoe_error *err) {
    int code = 0;
    *f = (aoei_filters){.row = aoei_calloc(n + PREDEFINED, sizeof *f->row)};
    if (!f->row)
        return aoei_fail_nomem(err, (n + PREDEFINED) * sizeof *f->row);
    for (size_t i = 0; i < n && code == 0; i++) {
        aoei_filter *row = &f->row[f->n++];
        code = check_row(&filter[i], i, err);
        row->argv = filter[i].argv;
        row->n = filter[i].n;
        if (code == 0)
            code = set_pattern(row, filter[i].pattern, err);
    }
    for (size_t i = 0; i < PREDEFINED && code == 0; i++) {
        aoei_filter *row = &f->row[f->n++];
        row->argv = predefined[i].argv;
        row->n = predefined[i].n;
        row->package = predefined[i].package;
        row->kind = predefined[i].kind;
        code = set_pattern(row, predefined[i].pattern, err);
    }
    if (code)
        aoei_filters_free(f);
    return code;
}

void aoei_filters_free(aoei_filters *f) {
    for (size_t i = 0; i < f->n; i++) {
        aoei_ignore_free(&f->row[i].names);
        aoei_free(f->row[i].program);
        aoei_free(f->row[i].left_out_path);
    }
    aoei_free(f->row);
    *f = (aoei_filters){.row = NULL};
}

aoei_filter *aoei_filters_find(const aoei_filters *f, const char *path) {
    char lower[PATH_MAX];
    const size_t len = strlen(path);
    if (len >= sizeof lower)
        return NULL;
    for (size_t i = 0; i <= len; i++)
        lower[i] = (char)(path[i] >= 'A' && path[i] <= 'Z' ? path[i] + 32 : path[i]);
    for (size_t i = 0; i < f->n; i++)
        if (aoei_ignore_find(&f->row[i].names, (aoe_text){lower, len}, 0) == AOEI_IGNORE_EXCLUDED)
            return &f->row[i];
    return NULL;
}

/* ----------------------------------------------------------------------- programs */

static int is_program(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* Sets filter->program, unless the program is missing. Errors: AOE_ENOMEM. */
static int find_program(aoei_filter *filter, const char *folder, aoe_error *err) {
    const char *name = filter->argv[0], *p = getenv("PATH");
    filter->searched = 1;
    if (*name == '/') {
        const int exists = is_program(name);
        filter->program = exists ? aoei_strdup(name) : NULL;
        return exists && !filter->program ? aoei_fail_nomem(err, strlen(name) + 1) : 0;
    }
    if (!p)
        p = "/usr/local/bin:/usr/bin:/bin";
    for (const char *end; *p; p = *end ? end + 1 : end) {
        end = p + strcspn(p, ":");
        if (*p != '/')
            continue; /* empty or relative: the current folder */
        char *dir = aoei_strndup(p, (size_t)(end - p));
        char *path = dir ? aoei_path_join(dir, name) : NULL;
        const int usable =
            path && is_program(path) && !aoei_path_within(dir, folder) && !aoei_path_within(path, folder);
        aoei_free(dir);
        if (!path)
            return aoei_fail_nomem(err, (size_t)(end - p) + strlen(name) + 2);
        if (usable) {
            filter->program = path;
            return 0;
        }
        aoei_free(path);
    }
    return 0;
}

int aoei_filter_is_missing(aoei_filter *filter, const char *folder) {
    if (!filter->searched && find_program(filter, folder, NULL)) {
        filter->searched = 0; /* out of memory: aoei_filter_convert reports it */
        return 0;
    }
    return !filter->program;
}

void aoei_filter_leave_out(aoei_filter *filter, const char *folder, const char *path) {
    if (!filter->left_out++)
        filter->left_out_path = folder ? aoei_path_join(folder, path) : aoei_strdup(path);
}

/* Returns the last line of a text that is not blank, and cuts the text after it. */
static const char *last_line(char *text) {
    size_t len = strlen(text);
    while (len && strchr(" \t\r\n", text[len - 1]))
        len--;
    text[len] = 0;
    const char *lf = strrchr(text, '\n');
    return lf ? lf + 1 : text;
}

/* Sets run->result and run->why. */
static void judge(const aoei_filter *filter, aoei_filter_run *run, aoei_command *c) {
    const char *name = filter->argv[0], *line = last_line(c->errors);
    char *why = run->why;
    run->result = AOEI_FILTER_FAILED;
    if (c->end == AOEI_COMMAND_TIME)
        snprintf(why, sizeof run->why, "%s needed more than %g seconds", name, run->limits.seconds);
    else if (c->end == AOEI_COMMAND_OUTPUT)
        snprintf(why, sizeof run->why, "%s wrote more than %zu MiB of text", name, run->limits.output >> 20);
    else if (c->end == AOEI_COMMAND_NO_START)
        snprintf(why, sizeof run->why, "%s cannot be started: %s", filter->program, strerror(c->status));
    else if (WIFSIGNALED(c->status))
        snprintf(why, sizeof run->why, "%s was killed by signal %d (%s)%s%.150s", name, WTERMSIG(c->status),
                 strsignal(WTERMSIG(c->status)), *line ? ": " : "", line);
    else if (WEXITSTATUS(c->status))
        snprintf(why, sizeof run->why, "%s failed with exit status %d%s%.200s", name, WEXITSTATUS(c->status),
                 *line ? ": " : "", line);
    else
        run->result = AOEI_FILTER_DONE;
    aoei_one_line(why, strlen(why));
}

int aoei_filter_convert(aoei_filter *filter, aoei_filter_run *run, char **text, size_t *size, aoe_error *err) {
    const char *argv[MAX_ARGUMENTS + 1];
    const char *marker = filter->package ? AOEI_FILTER_FILE : "-";
    *text = NULL;
    *size = 0;
    run->why[0] = 0;
    int code = filter->searched ? 0 : find_program(filter, run->folder, err);
    if (code)
        return code;
    if (!filter->program) {
        run->result = AOEI_FILTER_MISSING;
        aoei_filter_leave_out(filter, NULL, run->path);
        return 0;
    }
    assert(*run->path == '/' && filter->n < MAX_ARGUMENTS);
    for (size_t i = 0; i < filter->n; i++)
        argv[i] = i && strcmp(filter->argv[i], marker) == 0 ? run->path : filter->argv[i];
    argv[filter->n] = NULL;
    aoei_command c = {.program = filter->program,
                      .argv = argv,
                      .seconds = run->limits.seconds,
                      .memory = run->limits.memory,
                      .output_limit = run->limits.output,
                      .cancelled = run->cancelled,
                      .user = run->user};
    code = aoei_command_run(&c, err);
    if (code == 0)
        judge(filter, run, &c);
    if (code || run->result != AOEI_FILTER_DONE) {
        aoei_buffer_free(&c.output);
        return code;
    }
    *size = c.output.len;
    *text = c.output.data ? c.output.data : aoei_strdup("");
    return *text ? 0 : aoei_fail_nomem(err, 1);
}
