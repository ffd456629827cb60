/* SPDX-License-Identifier: MIT
 * Recognizes the relevance judgments of TREC (qrels). Their fields are separated by white space.
 */
#include "eval/trec_qrels.h"

#include "base/error.h"
#include "table/labels.h"
#include "table/lines.h"

enum { MAX_FIELDS = 4 };

static int is_separator(char c) {
    return c == ' ' || c == '\t';
}

/* Sets *last to the last field of a line. Returns the number of fields, or MAX_FIELDS + 1 if there are more. */
static size_t count_fields(const aoei_line *line, aoe_text *last) {
    size_t n = 0;
    for (size_t i = 0, end; i < line->len; i = end) {
        end = i;
        while (end < line->len && !is_separator(line->data[end]))
            end++;
        if (end > i && ++n > MAX_FIELDS)
            return n;
        if (end > i)
            *last = (aoe_text){line->data + i, end - i};
        else
            end++;
    }
    return n;
}

int aoei_trec_qrels_explain(int rc, const char *path, aoe_error *err) {
    aoei_lines *lines;
    aoei_line line;
    aoe_text last = {"", 0};
    double grade;
    if (aoei_lines_open(&lines, path, NULL))
        return rc;
    const size_t n = aoei_lines_next(lines, &line, NULL) == 1 ? count_fields(&line, &last) : 0;
    const int is_judgment = aoei_number_of(last, &grade) == AOEI_LABEL_VALUE;
    aoei_lines_close(lines);
    if (n == 4 && is_judgment)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: the file contains relevance judgments of TREC (query, 0, document, grade), which aoe does not read; "
            "convert it to the file qrels/test.tsv of a BEIR folder: awk -v OFS='\\t' 'BEGIN {print \"query-id\", "
            "\"corpus-id\", \"score\"} {print $1, $3, $4}' %s",
            path, path);
    if (n == 3 && is_judgment)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the file has no header; its first line must be query-id TAB corpus-id TAB score", path);
    return rc;
}
