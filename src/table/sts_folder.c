/* SPDX-License-Identifier: MIT
 * Implements the reading of SentEval's STS folders. aoei_list_dir sorts the names of a folder, so the order of the texts does
 * not depend on the file system.
 */
#include "table/sts_folder.h"

#include <string.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"

enum { MAX_DEPTH = 8 /* maximum number of nested folders, which also ends cycles of symbolic links */ };

/* The columns of the sentences of a kind of files, counted from 0. */
typedef struct sts_layout {
    const char *before, *after; /* start and end of the file name */
    size_t column;              /* column of the first sentence; the second sentence follows */
    int header;                 /* 1: the first line is a header */
} sts_layout;

static const sts_layout layouts[] = {
    {"STS.input.", ".txt", 0, 0},
    {"sts-train", ".csv", 5, 0},
    {"sts-dev", ".csv", 5, 0},
    {"sts-test", ".csv", 5, 0},
    {"SICK_train", ".txt", 1, 1},
    {"SICK_trial", ".txt", 1, 1},
    {"SICK_test_annotated", ".txt", 1, 1},
};
enum { INPUT = 0 /* index of the only layout that has a subset name between `before` and `after` */ };

/* A run over the files of a folder. */
typedef struct search {
    aoei_sts_pair_fn fn;
    void *user;
    size_t files; /* number of files that were read */
} search;

/* Returns the layout of the file, or NULL if its name is not the name of a file with pairs. */
static const sts_layout *layout_of(const char *name) {
    const size_t n = strlen(name);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const size_t before = strlen(layouts[i].before), after = strlen(layouts[i].after);
        if ((i == INPUT ? n > before + after : n == before + after) && !strncmp(name, layouts[i].before, before) &&
            !strcmp(name + n - after, layouts[i].after))
            return &layouts[i];
    }
    return NULL;
}

/* Finds two adjacent columns of a line. The texts are {NULL, 0} if the line does not have them. */
static void split(const aoei_line *line, size_t column, aoe_text pair[2]) {
    const char *at = line->data, *end = line->data + line->len;
    pair[0] = pair[1] = (aoe_text){NULL, 0};
    for (size_t i = 0; at && i <= column + 1; i++) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        if (i >= column)
            pair[i - column] = (aoe_text){at, (size_t)((tab ? tab : end) - at)};
        at = tab ? tab + 1 : NULL;
    }
    if (!pair[1].data)
        pair[0] = pair[1];
}

static int read_file(search *s, const char *path, const sts_layout *layout, aoe_error *err) {
    aoei_lines *lines = NULL;
    aoei_line line;
    aoe_text pair[2];
    int code = aoei_lines_open(&lines, path, err), more = 0;
    while (!code && (more = aoei_lines_next(lines, &line, err)) == 1) {
        if (!line.len || (line.number == 1 && layout->header))
            continue;
        split(&line, layout->column, pair);
        code = s->fn(s->user, aoei_lines_name(lines), line.number, pair, err);
    }
    aoei_lines_close(lines);
    s->files++;
    return code ? code : more;
}

static int read_folder(search *s, const char *dir, size_t depth, aoe_error *err) {
    char **names;
    size_t n;
    if (depth > MAX_DEPTH)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the folders are nested more than %d times; give a folder with SentEval's STS files", dir,
                         MAX_DEPTH);
    int code = aoei_list_dir(&names, &n, dir, err);
    if (code)
        return code;
    for (size_t i = 0; i < n && !code; i++) {
        char *path = aoei_path_join(dir, names[i]);
        const sts_layout *layout = layout_of(names[i]);
        if (!path)
            code = aoei_fail_nomem(err, strlen(dir));
        else if (aoei_is_dir(path))
            code = read_folder(s, path, depth + 1, err);
        else if (layout)
            code = read_file(s, path, layout, err);
        aoei_free(path);
    }
    aoei_list_free(names, n);
    return code;
}

int aoei_sts_folder_read(const char *dir, aoei_sts_pair_fn fn, void *user, aoe_error *err) {
    search s = {.fn = fn, .user = user};
    const int code = read_folder(&s, dir, 0, err);
    if (!code && !s.files)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: the folder contains no files with pairs of SentEval's STS data (STS.input.SUBSET.txt, sts-train.csv, "
            "SICK_train.txt ...); give a file or another folder",
            dir);
    return code;
}
