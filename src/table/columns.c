/* SPDX-License-Identifier: MIT
 * Selects the columns of a table by their names. A role is a text or the label of an example, for example text1. The array
 * `kinds` lists the recognized column names of each role. If several columns of a table have recognized names for one role, the
 * column whose name comes first in the list of the role is selected.
 */
#include "table/columns.h"

#include <stdio.h>
#include <string.h>

#include "aoe_data.h"
#include "base/closest.h"
#include "base/error.h"
#include "table/labels.h"

enum {
    MAX_ROLES = 3,
    MAX_KINDS = 3, /* number of the kinds that aoei_columns_detect distinguishes */
    MAX_NAMES = 7,
    LIST_SIZE = 400 /* size of the buffer for a list of column names in an error message, NUL included */
};

typedef struct role {
    const char *name;             /* name of the role in options.columns */
    const char *names[MAX_NAMES]; /* recognized column names in order of precedence; NULL marks the end */
} role;

/* kinds[kind] contains the roles of one kind of examples. aoei_columns_select selects columns in the order of these roles.
 * Unused elements are zero. */
static const role kinds[][MAX_ROLES] = {
    [AOE_EXAMPLES_PAIRS] = {{"text1", {"text1", "sentence1", "question1", "premise", "question", "context"}},
                            {"text2", {"text2", "sentence2", "question2", "hypothesis", "sentence"}},
                            {"label", {"label", "score", "similarity", "gold_label"}}},
    [AOE_EXAMPLES_POSITIVES] = {{"query", {"query", "anchor"}}, {"positive", {"positive"}}},
    [AOE_EXAMPLES_TRIPLETS] = {{"query", {"query", "anchor", "premise"}},
                               {"positive", {"positive", "entailment"}},
                               {"negative", {"negative", "contradiction"}}},
    [AOE_EXAMPLES_TEXTS] = {{"text", {"text", "sentence"}}},
    [AOE_EXAMPLES_GROUPS] = {{"group", {"group", "image"}}, {"text", {"text", "caption", "sentence"}}},
};

/* The roles of pairs without labels, which a cross-encoder scores. */
static const role unlabeled_pair[MAX_ROLES] = {
    {"text1", {"text1", "sentence1", "question1", "premise", "query", "question", "context"}},
    {"text2", {"text2", "sentence2", "question2", "hypothesis", "document", "positive", "sentence"}}};

static size_t role_count(const role *r) {
    size_t n = 0;
    while (n < MAX_ROLES && r[n].name)
        n++;
    return n;
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Returns 1 if the texts are equal. If ignore_case is 1, the case of ASCII letters is ignored. */
static int is_equal(aoe_text a, aoe_text b, int ignore_case) {
    size_t i = 0;
    while (i < a.len && i < b.len && (a.data[i] == b.data[i] || (ignore_case && lower(a.data[i]) == lower(b.data[i]))))
        i++;
    return a.len == b.len && i == a.len;
}

/* Returns the number of columns with this name. If there is one, *index is set to the index of the first such column. */
static size_t count_columns(const aoei_table *t, aoe_text name, int ignore_case, size_t *index) {
    size_t count = 0;
    for (size_t i = aoei_table_columns(t); i-- > 0;)
        if (is_equal(aoei_table_column(t, i), name, ignore_case)) {
            *index = i;
            count++;
        }
    return count;
}

size_t aoei_columns_find(const aoei_table *t, aoe_text name, size_t *index) {
    const size_t count = count_columns(t, name, 0, index);
    size_t other;
    if (count || count_columns(t, name, 1, &other) != 1)
        return count;
    *index = other;
    return 1;
}

static void add_to_list(char list[LIST_SIZE], const char *name) {
    size_t len = strlen(list);
    snprintf(list + len, LIST_SIZE - len, "%s%s", len ? ", " : "", name);
}

/* Fails because a table with named columns is required, but the file is read as .txt. */
static int fail_txt(const aoei_table *t, aoe_error *err) {
    aoe_table_format by_name;
    if (aoei_table_format_of(&by_name, aoei_table_name(t), NULL) == 0 && by_name == AOE_TABLE_TXT)
        return aoei_fail(err, AOE_EFORMAT, "%s: a .txt file has no columns; use a .tsv, .csv or .jsonl table",
                         aoei_table_name(t));
    return aoei_fail(err, AOE_EFORMAT,
                     "%s is read as .txt, which has no columns; set options.input_format to tsv, csv or jsonl",
                     aoei_table_name(t));
}

/* Returns 1 if the header is a single field that contains a character such as ',' or ';'. In this case, the file probably uses
 * a different delimiter. */
static int is_unsplit(const aoei_table *t) {
    static const char separators[] = ",;|\t^~";
    if (aoei_table_format(t) == AOE_TABLE_JSONL || aoei_table_columns(t) != 1)
        return 0;
    const aoe_text name = aoei_table_column(t, 0);
    for (size_t i = 0; i < name.len; i++)
        if (memchr(separators, name.data[i], sizeof separators - 1))
            return 1;
    return 0;
}

/* Returns 1 if a column name is a number, contains a space or is long. In this case, the file probably has no header. */
static int lacks_header(const aoei_table *t) {
    double value;
    for (size_t i = 0; aoei_table_has_header(t) && i < aoei_table_columns(t); i++) {
        const aoe_text name = aoei_table_column(t, i);
        if (name.len > 40 || memchr(name.data, ' ', name.len) || aoei_number_of(name, &value) == AOEI_LABEL_VALUE ||
            aoei_has_decimal_comma(name))
            return 1;
    }
    return 0;
}

int aoei_columns_fail(const aoei_table *t, const char *problem, const char *remedy, aoe_error *err) {
    char found[LIST_SIZE] = "", excerpt[AOEI_EXCERPT];
    size_t n = aoei_table_columns(t), shown = 0;
    if (aoei_table_format(t) == AOE_TABLE_TXT)
        return fail_txt(t, err);
    if (is_unsplit(t))
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: the header has one field, '%s'; set options.delimiter if the fields are separated by another "
                         "character",
                         aoei_table_name(t), aoei_excerpt(excerpt, aoei_table_column(t, 0)));
    for (; shown < n && strlen(found) + AOEI_EXCERPT + 8 < LIST_SIZE; shown++)
        add_to_list(found, aoei_excerpt(excerpt, aoei_table_column(t, shown)));
    if (shown < n)
        add_to_list(found, "...");
    const int bare = lacks_header(t);
    return aoei_fail(err, AOE_EFORMAT, "%s: %s; found %s%s%s%s%s%s", aoei_table_name(t), problem, *found ? found : "none",
                     bare ? " in the first line, which is taken as the header" : "", remedy ? "; " : "", remedy ? remedy : "",
                     bare ? (remedy ? ", or " : "; ") : "", bare ? "set options.no_header if this line is a row" : "");
}

int aoei_columns_check_txt(const aoei_table *t, const char *columns, aoe_error *err) {
    return columns && *columns && aoei_table_format(t) == AOE_TABLE_TXT ? fail_txt(t, err) : 0;
}

/* Fails because the table has no column for role r. given: the column name that options.columns contains for this role.
 * given.data is NULL if options.columns does not contain the role. */
static int fail_missing(const aoei_table *t, const role *r, aoe_text given, aoe_error *err) {
    char names[LIST_SIZE] = "", problem[LIST_SIZE + 64], remedy[LIST_SIZE];
    if (given.data) {
        aoei_excerpt(names, given);
        snprintf(problem, sizeof problem, "no column '%s' (from options.columns %s=%s)", names, r->name, names);
        return aoei_columns_fail(t, problem, NULL, err);
    }
    for (size_t i = 0; i < MAX_NAMES && r->names[i]; i++)
        add_to_list(names, r->names[i]);
    snprintf(problem, sizeof problem, "no column for %s: expected %s", r->name, names);
    snprintf(remedy, sizeof remedy, "set options.columns to %s=NAME", r->name);
    return aoei_columns_fail(t, problem, remedy, err);
}

/* Sets *index to the column of role r. If given.data is not NULL, the column named `given` is used. Otherwise, the first name
 * in r->names that is a column of the table is used. An exact match takes precedence over a match that ignores case. */
static int resolve(const aoei_table *t, const role *r, aoe_text given, size_t *index, aoe_error *err) {
    char excerpt[AOEI_EXCERPT];
    size_t count = given.data ? aoei_columns_find(t, given, index) : 0;
    aoe_text name = given;
    for (size_t i = 0; !given.data && !count && i < MAX_NAMES && r->names[i]; i++) {
        name = aoe_text_of(r->names[i]);
        count = count_columns(t, name, 0, index);
    }
    for (size_t i = 0; !given.data && !count && i < MAX_NAMES && r->names[i]; i++)
        count = aoei_columns_find(t, aoe_text_of(r->names[i]), index);
    if (count == 0)
        return fail_missing(t, r, given, err);
    if (count > 1)
        return aoei_fail(err, AOE_EFORMAT, "%s: %zu columns are named '%s'; rename all but one", aoei_table_name(t), count,
                         aoei_excerpt(excerpt, name));
    return 0;
}

/* Fails because `item`, an element of options.columns, is not ROLE=NAME with one of the roles r[n]. Suggests the role with the
 * most similar name. */
static int fail_role(aoe_text item, const role *r, size_t n, aoe_error *err) {
    char excerpt[AOEI_EXCERPT], typed[AOEI_EXCERPT], roles[LIST_SIZE] = "";
    const char *names[MAX_KINDS * MAX_ROLES], *equals = memchr(item.data, '=', item.len);
    for (size_t k = 0; k < n; k++) {
        names[k] = r[k].name;
        add_to_list(roles, r[k].name);
    }
    const size_t len = equals ? (size_t)(equals - item.data) : item.len;
    snprintf(typed, sizeof typed, "%.*s", (int)(len < sizeof typed ? len : sizeof typed - 1), item.data);
    const char *closest = equals && equals + 1 < item.data + item.len ? aoei_closest(typed, names, n) : NULL;
    return aoei_fail(err, AOE_EARG, "options.columns: '%s' is not ROLE=NAME with one of the roles %s; %s %s=NAME%s",
                     aoei_excerpt(excerpt, item), roles, closest ? "did you mean" : "write for example",
                     closest ? closest : r[0].name, closest ? "?" : "");
}

/* Parses "role=name,...". given[i] is set to the column name for the role r[i], i < n. For a role that `columns` does not
 * contain, given[i] is not changed; the caller zeroes `given` first. */
static int parse_columns(const char *columns, const role *r, size_t n, aoe_text *given, aoe_error *err) {
    for (const char *s = columns; *s;) {
        size_t len = strcspn(s, ",");
        const char *equals = memchr(s, '=', len);
        size_t i = n;
        if (equals && equals + 1 < s + len)
            for (i = 0; i < n; i++)
                if (strlen(r[i].name) == (size_t)(equals - s) && memcmp(s, r[i].name, (size_t)(equals - s)) == 0)
                    break;
        if (i == n)
            return fail_role((aoe_text){s, len}, r, n, err);
        if (given[i].data)
            return aoei_fail(err, AOE_EARG, "options.columns: %s is given twice; remove one", r[i].name);
        given[i] = (aoe_text){equals + 1, (size_t)(s + len - (equals + 1))};
        s += len;
        s += *s == ',';
    }
    return 0;
}

/* Selects the columns of the roles r. */
static int select_roles(aoei_table *t, const role *r, const char *columns, aoe_error *err) {
    size_t n = role_count(r), index[MAX_ROLES];
    aoe_text given[MAX_ROLES] = {{NULL, 0}};
    int rc = columns ? parse_columns(columns, r, n, given, err) : 0;
    rc = rc ? rc : aoei_columns_check_txt(t, columns, err);
    for (size_t i = 0; !rc && i < n; i++)
        rc = resolve(t, &r[i], given[i], &index[i], err);
    return rc ? rc : aoei_table_select(t, index, n, err);
}

int aoei_columns_select(aoei_table *t, aoe_example_kind kind, const char *columns, aoe_error *err) {
    return select_roles(t, kinds[kind], columns, err);
}

int aoei_columns_select_pair(aoei_table *t, const char *columns, aoe_error *err) {
    return select_roles(t, unlabeled_pair, columns, err);
}

/* Returns the number of roles of `kind` for which the table has a column. */
static size_t roles_found(const aoei_table *t, aoe_example_kind kind, const char *columns) {
    const role *r = kinds[kind];
    size_t n = role_count(r), found = 0, index;
    aoe_text given[MAX_ROLES] = {{NULL, 0}};
    if (columns && parse_columns(columns, r, n, given, NULL))
        return 0;
    for (size_t i = 0; i < n; i++)
        found += !resolve(t, &r[i], given[i], &index, NULL);
    return found;
}

/* Fails if options.columns contains an element whose role belongs to none of the kinds order[MAX_KINDS]. */
static int check_roles(const char *columns, const aoe_example_kind order[MAX_KINDS], aoe_error *err) {
    role all[MAX_KINDS * MAX_ROLES] = {{NULL, {NULL}}};
    aoe_text given[MAX_KINDS * MAX_ROLES] = {{NULL, 0}};
    size_t n = 0;
    for (size_t i = 0; i < MAX_KINDS; i++)
        for (size_t k = 0; k < role_count(kinds[order[i]]); k++) {
            size_t same = 0;
            while (same < n && strcmp(all[same].name, kinds[order[i]][k].name) != 0)
                same++;
            if (same == n)
                all[n++] = kinds[order[i]][k];
        }
    return parse_columns(columns, all, n, given, err);
}

int aoei_columns_detect(aoe_example_kind *kind, aoei_table *t, const char *columns, aoe_error *err) {
    static const aoe_example_kind order[MAX_KINDS] = {AOE_EXAMPLES_PAIRS, AOE_EXAMPLES_TRIPLETS, AOE_EXAMPLES_POSITIVES};
    size_t most = 0;
    const int rc = columns ? check_roles(columns, order, err) : 0;
    if (rc)
        return rc;
    for (size_t i = 0; i < MAX_KINDS; i++) {
        const size_t found = roles_found(t, order[i], columns);
        if (found == role_count(kinds[order[i]])) {
            *kind = order[i];
            return 0;
        }
        if (found > most) {
            most = found;
            *kind = order[i];
        }
    }
    if (most) /* *kind is the kind with the most roles found; the message names its first missing column */
        return aoei_columns_select(t, *kind, columns, err);
    return aoei_columns_fail(t,
                             "unrecognized columns: expected labeled pairs (text1, text2, label), triplets (query, positive, "
                             "negative) or positives (query, positive)",
                             "set options.columns to ROLE=NAME,...", err);
}
