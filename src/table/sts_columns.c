/* SPDX-License-Identifier: MIT
 * Recognizes headers by the names of the columns with the sentences.
 */
#include "table/sts_columns.h"

#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "table/labels.h"

/* Names of the columns, in lists that end with NULL. Case is ignored. */
static const char *const text1_names[] = {"sentence_A", "sentence1", NULL};
static const char *const text2_names[] = {"sentence_B", "sentence2", NULL};
static const char *const score_names[] = {"relatedness_score", "score", "similarity_score", "similarity", NULL};

/* The columns of files without a header. */
static const aoei_sts_columns positions[] = {
    [AOEI_STS_FILE_STSB] = {.score = 4, .text1 = 5, .text2 = 6, .columns = 7},
    [AOEI_STS_FILE_SICK] = {.score = 3, .text1 = 1, .text2 = 2, .columns = 4},
};

size_t aoei_sts_columns_split(const aoei_line *line, aoe_text field[AOEI_STS_COLUMNS]) {
    const char *at = line->data, *end = line->data + line->len;
    for (size_t n = 0; n < AOEI_STS_COLUMNS; n++) {
        const char *tab = memchr(at, '\t', (size_t)(end - at));
        field[n] = (aoe_text){at, (size_t)((tab ? tab : end) - at)};
        if (!tab)
            return n + 1;
        at = tab + 1;
    }
    return AOEI_STS_COLUMNS;
}

/* Sets *index to the column with one of the names, of which the first ones have priority. Returns 0 if there is
 * none. */
static int find(size_t *index, const aoe_text *field, size_t n, const char *const *names) {
    for (; *names; names++)
        for (*index = 0; *index < n; ++*index)
            if (field[*index].len == strlen(*names) && !strncasecmp(field[*index].data, *names, field[*index].len))
                return 1;
    return 0;
}

int aoei_sts_columns_find(aoei_sts_columns *c, aoei_sts_file file, const aoei_line *first, int with_score,
                          const char *name, aoe_error *err) {
    aoe_text field[AOEI_STS_COLUMNS];
    const size_t n = aoei_sts_columns_split(first, field);
    double score;
    *c = (aoei_sts_columns){.header = 1};
    if (find(&c->text1, field, n, text1_names) && find(&c->text2, field, n, text2_names)) {
        if (!find(&c->score, field, n, score_names)) {
            if (with_score)
                return aoei_fail(
                    err, AOE_EFORMAT,
                    "%s:1: the header has no column relatedness_score or score; add the name of the scores", name);
            c->score = c->text1;
        }
        c->columns = c->score > c->text2 ? c->score : c->text2;
        c->columns = 1 + (c->text1 > c->columns ? c->text1 : c->columns);
        return 0;
    }
    *c = positions[file];
    if (file == AOEI_STS_FILE_STSB || (n >= c->columns && aoei_number_of(field[c->score], &score) == AOEI_LABEL_VALUE))
        return 0;
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s:1: the first line is neither a header with the columns sentence_A, sentence_B and relatedness_score, "
        "nor a pair with a number in column 4; add the header, or download the file again",
        name);
}
