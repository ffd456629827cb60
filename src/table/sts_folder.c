/* SPDX-License-Identifier: MIT
 * Implements the reading of SentEval's STS folders. aoei_list_dir sorts the names of a folder, so the order of the
 * texts does not depend on the file system.
 */
#include "table/sts_folder.h"

#include <string.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/path.h"
#include "table/sts_columns.h"

enum { MAX_DEPTH = 8 /* maximum number of nested folders, which also ends cycles of symbolic links */ };

/* A kind of files. */
typedef struct sts_layout {
    const char *before, *after; /* start and end of the file name */
    int input;                  /* 1: the sentences are in the first two columns, and `file` is not used */
    aoei_sts_file file;         /* layout of the columns */
} sts_layout;

static const sts_layout layouts[] = {
    {"STS.input.", ".txt", 1, AOEI_STS_FILE_STSB},
    {"sts-train", ".csv", 0, AOEI_STS_FILE_STSB},
    {"sts-dev", ".csv", 0, AOEI_STS_FILE_STSB},
    {"sts-test", ".csv", 0, AOEI_STS_FILE_STSB},
    {"SICK_train", ".txt", 0, AOEI_STS_FILE_SICK},
    {"SICK_trial", ".txt", 0, AOEI_STS_FILE_SICK},
    {"SICK_test_annotated", ".txt", 0, AOEI_STS_FILE_SICK},
};
/* A run over the files of a folder. */
typedef struct search {
    aoei_sts_pair_fn fn;
    void *user;
    size_t files; /* number of files that were read */
} search;

/* Returns the layout of the file, or NULL if its name is not the name of a file with pairs. Names of input files
 * contain the name of a subset between `before` and `after`. */
static const sts_layout *layout_of(const char *name) {
    const size_t n = strlen(name);
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        const size_t before = strlen(layouts[i].before), after = strlen(layouts[i].after);
        if ((layouts[i].input ? n > before + after : n == before + after) &&
            !strncmp(name, layouts[i].before, before) && !strcmp(name + n - after, layouts[i].after))
            return &layouts[i];
    }
    return NULL;
}

static int read_file(search *s, const char *path, const sts_layout *layout, aoe_error *err) {
    aoei_sts_columns at = {.text1 = 0, .text2 = 1, .columns = 2};
    aoei_lines *lines = NULL;
    aoei_line line;
    aoe_text field[AOEI_STS_COLUMNS];
    int code = aoei_lines_open(&lines, path, err), more = 0;
    while (!code && (more = aoei_lines_next(lines, &line, err)) == 1) {
        if (line.number == 1 && !layout->input)
            code = aoei_sts_columns_find(&at, layout->file, &line, 0, aoei_lines_name(lines), err);
        if (code || !line.len || (line.number == 1 && at.header))
            continue;
        const size_t n = aoei_sts_columns_split(&line, field), last = at.text1 > at.text2 ? at.text1 : at.text2;
        const aoe_text none = {NULL, 0},
                       pair[2] = {n > last ? field[at.text1] : none, n > last ? field[at.text2] : none};
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
