/* SPDX-License-Identifier: MIT
 * Defines the table of STS test sets, and reads the files of STS-B and SICK-R, whose columns table/sts_columns.h finds.
 * The relatedness scores of SICK-R are from 1 to 5.
 */
#include "eval/suite_sets.h"

#include <string.h>

#include "aoe_data.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/path.h"
#include "table/labels.h"
#include "table/pairs.h"
#include "table/sts_columns.h"

const aoei_suite_set aoei_suite_sets[AOEI_SUITE_SETS] = {
    {"STS12",
     "STS12-en-test",
     AOEI_SUITE_FOLDER,
     5,
     3108,
     {{"MSRpar", 750}, {"MSRvid", 750}, {"SMTeuroparl", 459}, {"surprise.OnWN", 750}, {"surprise.SMTnews", 399}}},
    {"STS13", "STS13-en-test", AOEI_SUITE_FOLDER, 3, 1500, {{"FNWN", 189}, {"OnWN", 561}, {"headlines", 750}}},
    {"STS14",
     "STS14-en-test",
     AOEI_SUITE_FOLDER,
     6,
     3750,
     {{"OnWN", 750},
      {"deft-forum", 450},
      {"deft-news", 300},
      {"headlines", 750},
      {"images", 750},
      {"tweet-news", 750}}},
    {"STS15",
     "STS15-en-test",
     AOEI_SUITE_FOLDER,
     5,
     3000,
     {{"answers-forums", 375}, {"answers-students", 750}, {"belief", 375}, {"headlines", 750}, {"images", 750}}},
    {"STS16",
     "STS16-en-test",
     AOEI_SUITE_FOLDER,
     5,
     1186,
     {{"answer-answer", 254},
      {"headlines", 249},
      {"plagiarism", 230},
      {"postediting", 244},
      {"question-question", 209}}},
    {"STS-B", "STSBenchmark/sts-test.csv", AOEI_SUITE_STSB, 0, 1379, {{NULL, 0}}},
    {"SICK-R", "SICK/SICK_test_annotated.txt", AOEI_SUITE_SICK, 0, 4927, {{NULL, 0}}},
};

/* Returns the path dir + "/" + before + path if it exists; the caller frees it. folder: 1 if the path must be a folder,
 * 0 if it must be a file. Returns NULL if the path does not exist. If out of memory, returns NULL and sets *rc to the
 * error. */
static char *try_path(const char *dir, const char *before, const char *path, int folder, int *rc, aoe_error *err) {
    aoei_buffer b = {0};
    aoei_buffer_printf(&b, "%s/%s%s", dir, before, path);
    if (b.failed)
        *rc = aoei_fail_nomem(err, strlen(dir));
    else if (aoei_exists(b.data) && aoei_is_dir(b.data) == folder)
        return b.data;
    aoei_buffer_free(&b);
    return NULL;
}

int aoei_suite_find(char **path, const aoei_suite_set *set, const char *const *dirs, size_t n, aoe_error *err) {
    /* Prefixes for the path of a set. Users may name any of these folders of the SentEval data. Single files are often
     * stored in a subfolder "senteval/". */
    static const char *const before[] = {
        "", "STS/", "downstream/STS/", "downstream/", "data/downstream/STS/", "data/downstream/", "senteval/"};
    const char *slash = strrchr(set->path, '/');
    int rc = 0;
    *path = NULL;
    for (size_t d = 0; d < n; d++)
        for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
            *path = try_path(dirs[d], before[i], set->path, set->layout == AOEI_SUITE_FOLDER, &rc, err);
            if (!*path && !rc && slash)
                *path = try_path(dirs[d], before[i], slash + 1, 0, &rc, err);
            if (*path || rc)
                return rc;
        }
    return 0;
}

/* Adds the pair of one line to p. Returns 0, AOEI_BAD_ROW or an error. */
static int add_line(aoe_pairs *p, const aoei_lines *from, const aoei_line *line, const aoei_sts_columns *at,
                    aoe_error *err) {
    aoe_text field[AOEI_STS_COLUMNS];
    char excerpt[AOEI_EXCERPT];
    double score = 0;
    const size_t n = aoei_sts_columns_split(line, field);
    if (n < at->columns) {
        aoei_fail(err, AOE_EFORMAT, "%s:%zu: the line has %zu columns but must have at least %zu; " AOEI_ROW_REMEDY,
                  aoei_lines_name(from), line->number, n, at->columns);
        return AOEI_BAD_ROW;
    }
    if (aoei_number_of(field[at->score], &score) != AOEI_LABEL_VALUE) {
        aoei_fail(err, AOE_EFORMAT, "%s:%zu: '%s' is not a score; " AOEI_ROW_REMEDY, aoei_lines_name(from),
                  line->number, aoei_excerpt(excerpt, field[at->score]));
        return AOEI_BAD_ROW;
    }
    return aoei_pairs_append(p, field[at->text1], field[at->text2], score, line->number, err);
}

static int read_lines(aoe_pairs *p, aoei_lines *from, aoei_sts_file file, int skip_bad_rows, size_t *bad,
                      aoe_error *err) {
    aoei_sts_columns at = {0};
    aoei_line line;
    for (;;) {
        int rc = aoei_lines_next(from, &line, err);
        if (rc == 0)
            break;
        if (rc == 1 && line.number == 1 && aoei_sts_columns_find(&at, file, &line, 1, aoei_lines_name(from), err))
            return AOE_EFORMAT;
        if (rc == 1)
            rc = (line.number == 1 && at.header) || !line.len ? 0 : add_line(p, from, &line, &at, err);
        if (rc == AOEI_BAD_ROW && !skip_bad_rows)
            return AOE_EFORMAT; /* err already contains the message */
        if (rc < 0)
            return rc;
        *bad += rc == AOEI_BAD_ROW;
    }
    return aoe_pairs_count(p)
               ? 0
               : aoei_fail(err, AOE_EFORMAT, "%s: the file contains no pair; download it again", aoei_pairs_name(p));
}

int aoei_suite_read_lines(aoe_pairs **p, aoei_suite_layout layout, aoei_lines *from, int skip_bad_rows, size_t *bad,
                          aoe_error *err) {
    *bad = 0;
    int rc = aoei_pairs_create(p, aoei_lines_name(from), err);
    if (!rc)
        rc = read_lines(*p, from, layout == AOEI_SUITE_STSB ? AOEI_STS_FILE_STSB : AOEI_STS_FILE_SICK, skip_bad_rows,
                        bad, err);
    if (rc) {
        aoe_pairs_free(*p);
        *p = NULL;
    }
    return rc;
}

int aoei_suite_read_file(aoe_pairs **p, aoei_suite_layout layout, const char *path, int skip_bad_rows, size_t *bad,
                         aoe_error *err) {
    aoei_lines *from = NULL;
    *p = NULL;
    int rc = aoei_lines_open(&from, path, err);
    if (!rc)
        rc = aoei_suite_read_lines(p, layout, from, skip_bad_rows, bad, err);
    aoei_lines_close(from);
    return rc;
}
