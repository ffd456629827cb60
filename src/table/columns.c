/* SPDX-License-Identifier: MIT
 * Selects the columns of a table by their names. A role is a text or the label of an example, for example text1. The
 * array `kinds` lists the recognized column names of each role. If several columns of a table have recognized names for
 * one role, the column whose name comes first in the list of the role is selected. Negatives are an exception: every
 * column with a name such as negative_2 (column_names.h) is selected, in the order of the numbers.
 */
#include "table/columns.h"

#include <stdio.h>
#include <string.h>

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/closest.h"
#include "base/error.h"
#include "table/column_names.h"
#include "table/labels.h"

enum {
    MAX_ROLES = 3,
    MAX_KINDS = 3, /* number of the kinds that aoei_columns_detect distinguishes */
    MAX_NAMES = 12,
    LIST_SIZE = 400, /* size of the buffer for a list of column names in an error message, NUL included */
    LOG_SIZE = 900   /* size of the buffer for a list of column names in the log, NUL included */
};

typedef struct role {
    const char *name;             /* name of the role in options.columns */
    const char *names[MAX_NAMES]; /* recognized column names in order of precedence; NULL marks the end */
    int repeats; /* 1: several columns may have the role; the recognized names are then those of aoei_negative_number,
                    and `names` only lists examples for messages */
} role;

static const char ignore[] = "ignore"; /* name in options.columns of the columns that are deliberately not used */

#define LABELS                                                                                                         \
    {                                                                                                                  \
        "label", {"label",  "score",  "similarity",       "gold_label",                                                \
                  "labels", "scores", "similarity_score", "relatedness_score"},                                        \
            0                                                                                                          \
    }
#define NEGATIVES                                                                                                      \
    { "negative", {"negative", "negative_1", "hard_negative", "neg", "negatives", "contradiction", "rejected"}, 1 }

/* kinds[kind] contains the roles of one kind of examples. aoei_columns_select selects columns in the order of these
 * roles. Unused elements are zero. */
static const role kinds[][MAX_ROLES] = {
    [AOE_EXAMPLES_PAIRS] =
        {{"text1", {"text1", "sentence1", "question1", "premise", "question", "context", "query", "anchor"}, 0},
         {"text2", {"text2", "sentence2", "question2", "hypothesis", "sentence", "positive", "answer"}, 0},
         LABELS},
    [AOE_EXAMPLES_POSITIVES] = {{"query", {"query", "anchor", "question", "prompt"}, 0},
                                {"positive", {"positive", "pos", "positives", "answer", "chosen"}, 0}},
    [AOE_EXAMPLES_TRIPLETS] = {{"query", {"query", "anchor", "premise", "question", "prompt"}, 0},
                               {"positive", {"positive", "entailment", "pos", "positives", "answer", "chosen"}, 0},
                               NEGATIVES},
    [AOE_EXAMPLES_TEXTS] = {{"text", {"text", "sentence"}, 0}},
    [AOE_EXAMPLES_GROUPS] = {{"group", {"group", "image"}, 0}, {"text", {"text", "caption", "sentence"}, 0}},
};

/* The roles of pairs without labels, which a cross-encoder scores. */
static const role unlabeled_pair[MAX_ROLES] = {
    {"text1", {"text1", "sentence1", "question1", "premise", "query", "question", "context"}, 0},
    {"text2", {"text2", "sentence2", "question2", "hypothesis", "document", "positive", "sentence"}, 0}};

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

/* Returns the number of columns with this name. If there is one, *index is set to the index of the first such
 * column. */
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

/* Returns 1 if the header is a single field that contains a character such as ',' or ';'. In this case, the file
 * probably uses a different delimiter. */
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

/* Returns 1 if a column name is a number, contains a space or is long. In this case, the file probably has no
 * header. */
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

/* Returns 1 if the word is a recognized name of a role. */
static int is_recognized(aoe_text word) {
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
        for (size_t k = 0; k < role_count(kinds[kind]); k++)
            for (size_t i = 0; i < MAX_NAMES && kinds[kind][k].names[i]; i++)
                if (is_equal(aoe_text_of(kinds[kind][k].names[i]), word, 1))
                    return 1;
    return 0;
}

/* Returns the number of words, separated by spaces, that are recognized names of roles. */
static size_t count_names(aoe_text header) {
    size_t count = 0;
    for (size_t i = 0, start = 0; i <= header.len; i++)
        if (i == header.len || header.data[i] == ' ') {
            count += (size_t)is_recognized((aoe_text){header.data + start, i - start});
            start = i + 1;
        }
    return count;
}

int aoei_columns_fail(const aoei_table *t, const char *problem, const char *remedy, aoe_error *err) {
    char found[LIST_SIZE] = "", excerpt[AOEI_EXCERPT];
    size_t n = aoei_table_columns(t), shown = 0;
    if (aoei_table_format(t) == AOE_TABLE_TXT)
        return fail_txt(t, err);
    if (is_unsplit(t))
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: the header has one field, '%s'; set options.delimiter if the fields are separated by another "
            "character",
            aoei_table_name(t), aoei_excerpt(excerpt, aoei_table_column(t, 0)));
    if (n == 1 && aoei_table_has_header(t) && aoei_table_format(t) != AOE_TABLE_JSONL &&
        count_names(aoei_table_column(t, 0)) > 1)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: the header has one field, '%s', without a comma, semicolon, tab or '|'; set options.delimiter to "
            "' ' if spaces separate the fields, or options.no_header if this line is a row",
            aoei_table_name(t), aoei_excerpt(excerpt, aoei_table_column(t, 0)));
    for (; shown < n && strlen(found) + AOEI_EXCERPT + 8 < LIST_SIZE; shown++)
        add_to_list(found, aoei_excerpt(excerpt, aoei_table_column(t, shown)));
    if (shown < n)
        add_to_list(found, "...");
    const int bare = lacks_header(t);
    return aoei_fail(err, AOE_EFORMAT, "%s: %s; found %s%s%s%s%s%s", aoei_table_name(t), problem,
                     *found ? found : "none", bare ? " in the first line, which is taken as the header" : "",
                     remedy ? "; " : "", remedy ? remedy : "", bare ? (remedy ? ", or " : "; ") : "",
                     bare ? "set options.no_header if this line is a row" : "");
}

int aoei_columns_check_txt(const aoei_table *t, const char *columns, aoe_error *err) {
    return columns && *columns && aoei_table_format(t) == AOE_TABLE_TXT ? fail_txt(t, err) : 0;
}

static size_t roles_found(const aoei_table *t, aoe_example_kind kind, const char *columns);

/* Fails because the table has no column for role r. given: the column name that options.columns contains for this role.
 * given.data is NULL if options.columns does not contain the role. */
static int fail_missing(const aoei_table *t, const role *r, aoe_text given, aoe_error *err) {
    char names[LIST_SIZE] = "", problem[2 * LIST_SIZE + 64], remedy[LIST_SIZE];
    if (given.data) {
        aoei_excerpt(names, given);
        snprintf(problem, sizeof problem, "no column '%s' (from options.columns %s=%s)", names, r->name, names);
        return aoei_columns_fail(t, problem, NULL, err);
    }
    if (r >= kinds[AOE_EXAMPLES_PAIRS] && r < kinds[AOE_EXAMPLES_PAIRS] + MAX_ROLES &&
        roles_found(t, AOE_EXAMPLES_TRIPLETS, NULL) == MAX_ROLES)
        return aoei_columns_fail(
            t, "labeled pairs are expected, but these columns are those of triplets, which have no labels",
            "give a file of labeled pairs (text1, text2, label); the evaluation of triplets is aoe eval triplets", err);
    for (size_t i = 0; i < MAX_NAMES && r->names[i]; i++)
        add_to_list(names, r->names[i]);
    snprintf(problem, sizeof problem, "no column for %s: expected %s", r->name, names);
    snprintf(remedy, sizeof remedy, "set options.columns to %s=NAME", r->name);
    return aoei_columns_fail(t, problem, remedy, err);
}

/* Sets *name to the column name in the k-th element ROLE=NAME of `columns` with this role. Returns 0 if there is no
 * such element. */
static int given_name(const char *columns, const char *role_name, size_t k, aoe_text *name) {
    const size_t role_len = strlen(role_name);
    for (const char *s = columns ? columns : ""; *s; s += *s == ',') {
        const size_t len = strcspn(s, ",");
        if (len > role_len && s[role_len] == '=' && !memcmp(s, role_name, role_len) && k-- == 0) {
            *name = (aoe_text){s + role_len + 1, len - role_len - 1};
            return 1;
        }
        s += len;
    }
    return 0;
}

/* Returns 1 if options.columns tells aoe to ignore the column with this name. */
static int is_ignored(aoe_text column, const char *columns) {
    aoe_text name;
    for (size_t k = 0; given_name(columns, ignore, k, &name); k++)
        if (is_equal(name, column, 1))
            return 1;
    return 0;
}

/* Sets *index to the column of role r. If `columns` contains the role, its column is used. Otherwise, the first name in
 * r->names that is a column of the table is used. An exact match takes precedence over a match that ignores case. */
static int resolve(const aoei_table *t, const role *r, const char *columns, size_t k, size_t *index, aoe_error *err) {
    char excerpt[AOEI_EXCERPT];
    aoe_text name = {NULL, 0};
    const int given = given_name(columns, r->name, k, &name);
    size_t count = given ? aoei_columns_find(t, name, index) : 0;
    for (int ignore_case = 0; !given && ignore_case < 2; ignore_case++)
        for (size_t i = 0; !count && i < MAX_NAMES && r->names[i]; i++) {
            name = aoe_text_of(r->names[i]);
            if (!is_ignored(name, columns))
                count = ignore_case ? aoei_columns_find(t, name, index) : count_columns(t, name, 0, index);
        }
    if (count == 0)
        return fail_missing(t, r, given ? name : (aoe_text){NULL, 0}, err);
    if (count > 1)
        return aoei_fail(err, AOE_EFORMAT, "%s: %zu columns are named '%s'; rename all but one", aoei_table_name(t),
                         count, aoei_excerpt(excerpt, name));
    return 0;
}

/* Appends the columns of role r, which repeats, to index[*n]. If `columns` contains the role, these are its columns.
 * Otherwise, these are all columns with a recognized name, in the order of their numbers. */
static int resolve_all(const aoei_table *t, const role *r, const char *columns, size_t *index, size_t *n,
                       aoe_error *err) {
    const size_t first = *n;
    aoe_text name;
    int rc = 0;
    for (size_t k = 0; !rc && given_name(columns, r->name, k, &name); k++)
        rc = resolve(t, r, columns, k, &index[(*n)++], err);
    if (rc || *n > first)
        return rc;
    for (size_t i = 0; i < aoei_table_columns(t); i++) {
        size_t number, other, at = *n;
        if (!aoei_negative_number(aoei_table_column(t, i), &number) || is_ignored(aoei_table_column(t, i), columns))
            continue;
        if (count_columns(t, aoei_table_column(t, i), 0, &other) > 1)
            return resolve(t, &(role){r->name, {aoei_table_column(t, i).data}, 0}, NULL, 0, &other, err);
        for (; at > first; at--) { /* insertion sort by number */
            size_t before;
            aoei_negative_number(aoei_table_column(t, index[at - 1]), &before);
            if (before <= number)
                break;
            index[at] = index[at - 1];
        }
        index[at] = i;
        ++*n;
    }
    return *n > first ? 0 : fail_missing(t, r, (aoe_text){NULL, 0}, err);
}

/* Fails because `item`, an element of options.columns, is not ROLE=NAME with one of the roles r[n]. Suggests the role
 * with the most similar name. */
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

/* Returns the number of columns that `columns` can select for one role, an upper bound. */
static size_t element_count(const char *columns) {
    size_t n = 1;
    for (const char *s = columns ? columns : ""; *s; s++)
        n += *s == ',';
    return n;
}

/* Checks that `columns` has the form "role=name,..." with the roles r[n] or `ignore`, and contains each role once,
 * except roles that repeat. */
static int check_columns(const char *columns, const role *r, size_t n, aoe_error *err) {
    for (const char *s = columns ? columns : ""; *s; s += *s == ',') {
        const size_t len = strcspn(s, ",");
        const char *equals = memchr(s, '=', len);
        const aoe_text name = {s, equals ? (size_t)(equals - s) : 0};
        size_t i = n;
        aoe_text second;
        if (equals && equals + 1 < s + len)
            for (i = 0; i < n && !is_equal(aoe_text_of(r[i].name), name, 0); i++) {
            }
        if (i == n && !(equals && equals + 1 < s + len && is_equal(aoe_text_of(ignore), name, 0)))
            return fail_role((aoe_text){s, len}, r, n, err);
        if (i < n && !r[i].repeats && given_name(columns, r[i].name, 1, &second))
            return aoei_fail(err, AOE_EARG, "options.columns: %s is given twice; remove one", r[i].name);
        s += len;
    }
    return 0;
}

/* Selects the columns of the roles r. */
static int select_roles(aoei_table *t, const role *r, const char *columns, aoe_error *err) {
    const size_t n = role_count(r);
    size_t count = 0;
    int rc = check_columns(columns, r, n, err);
    rc = rc ? rc : aoei_columns_check_txt(t, columns, err);
    if (rc)
        return rc;
    size_t *index = aoei_malloc_array(n + element_count(columns) + aoei_table_columns(t), sizeof *index);
    if (!index)
        return aoei_fail_nomem(err, aoei_table_columns(t) * sizeof *index);
    for (size_t i = 0; !rc && i < n; i++)
        rc = r[i].repeats ? resolve_all(t, &r[i], columns, index, &count, err)
                          : resolve(t, &r[i], columns, 0, &index[count++], err);
    rc = rc ? rc : aoei_table_select(t, index, count, err);
    aoei_free(index);
    return rc;
}

int aoei_columns_select(aoei_table *t, aoe_example_kind kind, const char *columns, aoe_error *err) {
    return select_roles(t, kinds[kind], columns, err);
}

int aoei_columns_select_pair(aoei_table *t, const char *columns, aoe_error *err) {
    return select_roles(t, unlabeled_pair, columns, err);
}

/* Returns 1 if the table has a column for role r. */
static int has_role(const aoei_table *t, const role *r, const char *columns) {
    size_t index, number;
    aoe_text name;
    if (!r->repeats || given_name(columns, r->name, 0, &name))
        return !resolve(t, r, columns, 0, &index, NULL);
    for (size_t i = 0; i < aoei_table_columns(t); i++)
        if (aoei_negative_number(aoei_table_column(t, i), &number) && !is_ignored(aoei_table_column(t, i), columns))
            return 1;
    return 0;
}

/* Returns the number of roles of `kind` for which the table has a column. */
static size_t roles_found(const aoei_table *t, aoe_example_kind kind, const char *columns) {
    const role *r = kinds[kind];
    const size_t n = role_count(r);
    size_t found = 0;
    if (check_columns(columns, r, n, NULL))
        return 0;
    for (size_t i = 0; i < n; i++)
        found += (size_t)has_role(t, &r[i], columns);
    return found;
}

/* Fails if options.columns contains an element whose role belongs to none of the kinds order[MAX_KINDS]. */
static int check_roles(const char *columns, const aoe_example_kind order[MAX_KINDS], aoe_error *err) {
    role all[MAX_KINDS * MAX_ROLES] = {{NULL, {NULL}, 0}};
    size_t n = 0;
    for (size_t i = 0; i < MAX_KINDS; i++)
        for (size_t k = 0; k < role_count(kinds[order[i]]); k++) {
            size_t same = 0;
            while (same < n && strcmp(all[same].name, kinds[order[i]][k].name) != 0)
                same++;
            if (same == n)
                all[n++] = kinds[order[i]][k];
        }
    return check_columns(columns, all, n, err);
}

/* Returns 1 if the table, which has all columns of labeled pairs, has the columns of triplets, and both texts of a pair
 * are the query and the positive of a triplet. */
static int are_triplets(const aoei_table *t, const char *columns) {
    const role *pair = kinds[AOE_EXAMPLES_PAIRS], *triplet = kinds[AOE_EXAMPLES_TRIPLETS];
    size_t a = 0, b = 0;
    if (roles_found(t, AOE_EXAMPLES_TRIPLETS, columns) < role_count(triplet))
        return 0;
    for (size_t i = 0; i < 2; i++)
        if (resolve(t, &pair[i], columns, 0, &a, NULL) || resolve(t, &triplet[i], columns, 0, &b, NULL) || a != b)
            return 0;
    return 1;
}

/* Fails because the table has the two texts of a pair, but no other column, so that none can be the label. */
static int fail_unlabeled(const aoei_table *t, aoe_error *err) {
    char name[2][AOEI_EXCERPT], remedy[LIST_SIZE];
    for (size_t i = 0; i < 2; i++) {
        size_t index = 0;
        resolve(t, &kinds[AOE_EXAMPLES_PAIRS][i], NULL, 0, &index, NULL);
        aoei_excerpt(name[i], aoei_table_column(t, index));
    }
    snprintf(remedy, sizeof remedy,
             "add a column label, or set options.columns to query=%s,positive=%s if each pair is a positive", name[0],
             name[1]);
    return aoei_columns_fail(t, "the pairs have no labels", remedy, err);
}

int aoei_columns_detect(aoe_example_kind *kind, aoei_table *t, const char *columns, aoe_error *err) {
    static const aoe_example_kind order[MAX_KINDS] = {AOE_EXAMPLES_PAIRS, AOE_EXAMPLES_TRIPLETS,
                                                      AOE_EXAMPLES_POSITIVES};
    size_t fewest = MAX_ROLES + 1; /* missing columns of *kind */
    const int rc = columns ? check_roles(columns, order, err) : 0;
    if (rc)
        return rc;
    for (size_t i = 0; i < MAX_KINDS; i++) {
        const size_t found = roles_found(t, order[i], columns);
        if (found == role_count(kinds[order[i]])) {
            *kind = order[i] == AOE_EXAMPLES_PAIRS && are_triplets(t, columns) ? AOE_EXAMPLES_TRIPLETS : order[i];
            return 0;
        }
        if (found && role_count(kinds[order[i]]) - found < fewest) {
            fewest = role_count(kinds[order[i]]) - found;
            *kind = order[i];
        }
    }
    if (fewest <= MAX_ROLES && *kind == AOE_EXAMPLES_PAIRS && !(columns && *columns) && aoei_table_columns(t) == 2 &&
        has_role(t, &kinds[*kind][0], NULL) && has_role(t, &kinds[*kind][1], NULL))
        return fail_unlabeled(t, err);
    if (fewest <= MAX_ROLES) /* *kind is the kind with the fewest missing columns; the message names the first one */
        return aoei_columns_select(t, *kind, columns, err);
    return aoei_columns_fail(
        t,
        "unrecognized columns: expected labeled pairs (text1, text2, label), triplets (query, positive, "
        "negative) or positives (query, positive)",
        "set options.columns to ROLE=NAME,...", err);
}

/* ---- columns that are not used */

/* Returns 1 if column i is selected. */
static int is_selected(const aoei_table *t, size_t i) {
    for (size_t k = 0; k < aoei_table_selected_count(t); k++)
        if (aoei_table_selected_index(t, k) == i)
            return 1;
    return 0;
}

/* Returns 1 if the column of positives or triplets must not be left unused: it looks like a label, a score or a
 * negative, and `columns` neither ignores it nor selects the negatives. Corresponds to aoei_key_fn. */
static int is_informative(aoe_text column, const char *columns) {
    aoe_text name;
    if (is_ignored(column, columns))
        return 0;
    return aoei_looks_like_label(column) ||
           (aoei_looks_like_negative(column) && !given_name(columns, "negative", 0, &name));
}

int aoei_columns_check_used(aoei_table *t, aoe_example_kind kind, const char *columns, aoe_error *err) {
    const int rc = aoei_columns_select(t, kind, columns, err);
    if (rc || (kind != AOE_EXAMPLES_POSITIVES && kind != AOE_EXAMPLES_TRIPLETS))
        return rc;
    aoei_table_reject_keys(t, is_informative, columns);
    for (size_t i = 0; i < aoei_table_columns(t); i++) {
        char name[AOEI_EXCERPT];
        const aoe_text column = aoei_table_column(t, i);
        if (is_selected(t, i) || !is_informative(column, columns))
            continue;
        aoei_excerpt(name, column);
        if (aoei_looks_like_negative(column))
            return aoei_fail(err, AOE_EFORMAT,
                             "%s: the column '%s' seems to contain negatives, but its name is not recognized; set "
                             "options.columns to negative=%s, or to ignore=%s if it is not to be used",
                             aoei_table_name(t), name, name, name);
        if (kind == AOE_EXAMPLES_TRIPLETS)
            return aoei_fail(err, AOE_EFORMAT,
                             "%s: the column '%s' seems to contain labels or scores, which triplets do not have; set "
                             "options.columns to ignore=%s if it is not to be used",
                             aoei_table_name(t), name, name);
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: the column '%s' seems to contain labels or scores; set options.columns to label=%s for labeled "
            "pairs, or to ignore=%s if it is not to be used",
            aoei_table_name(t), name, name, name);
    }
    return 0;
}

int aoei_columns_detect_used(aoe_example_kind *kind, aoei_table *t, const char *columns, aoe_error *err) {
    const int rc = aoei_columns_detect(kind, t, columns, err);
    return rc ? rc : aoei_columns_check_used(t, *kind, columns, err);
}

int aoei_columns_find_label(const aoei_table *t, const char *columns, size_t *index) {
    for (size_t i = 0; i < aoei_table_columns(t); i++) {
        const aoe_text column = aoei_table_column(t, i);
        if (!is_selected(t, i) && aoei_looks_like_label(column) && !is_ignored(column, columns)) {
            *index = i;
            return 1;
        }
    }
    return 0;
}

/* Appends formatted text to list, which has LOG_SIZE bytes. */
static void append(char *list, size_t *len, const char *before, aoe_text name, const char *after) {
    char excerpt[AOEI_EXCERPT];
    if (*len + AOEI_EXCERPT + strlen(before) + strlen(after) < LOG_SIZE)
        *len += (size_t)snprintf(list + *len, LOG_SIZE - *len, "%s%s%s", before, aoei_excerpt(excerpt, name), after);
}

void aoei_columns_log_roles(aoei_table *t, const char *const *roles, size_t n) {
    char used[LOG_SIZE] = "", unused[LOG_SIZE] = "", role_start[64];
    size_t len = 0, unused_len = 0, left = 0;
    if (!n || aoei_table_format(t) == AOE_TABLE_TXT || !aoei_table_log(t)->fn)
        return;
    for (size_t k = 0; k < aoei_table_selected_count(t); k++) {
        const char *name = roles[k < n ? k : n - 1], *before = k == 0 ? NULL : roles[k - 1 < n ? k - 1 : n - 1];
        snprintf(role_start, sizeof role_start, "%s%s from '", before ? ", " : "", name);
        append(used, &len, before && !strcmp(before, name) ? ", '" : role_start, aoei_table_selected(t, k), "'");
    }
    for (size_t i = 0; i < aoei_table_columns(t); i++) {
        const size_t before = unused_len;
        if (is_selected(t, i))
            continue;
        append(unused, &unused_len, unused_len ? ", '" : "'", aoei_table_column(t, i), "'");
        left += unused_len == before;
    }
    aoei_table_log_keys(t);
    if (left)
        snprintf(role_start, sizeof role_start, " and %zu more", left);
    aoei_log_write(aoei_table_log(t), AOE_LOG_INFO, "%s: %s%s%s%s", aoei_table_name(t), used,
                   *unused ? "; not used: " : "", unused, left ? role_start : "");
}

void aoei_columns_log(aoei_table *t, aoe_example_kind kind) {
    const char *names[MAX_ROLES];
    const size_t n = role_count(kinds[kind]);
    for (size_t i = 0; i < n; i++)
        names[i] = kinds[kind][i].name;
    aoei_columns_log_roles(t, names, n);
}
