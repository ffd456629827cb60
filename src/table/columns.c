/* SPDX-License-Identifier: MIT
 * Roles and their recognised names are one table; of several recognised columns
 * in a file the one named first here is taken. Names are matched exactly.
 */
#include "table/columns.h"

#include <stdio.h>
#include <string.h>

#include "aoe_data.h"
#include "base/error.h"

enum { MAX_ROLES = 3, MAX_NAMES = 6, LIST_SIZE = AOEI_COLUMN_LIST };

typedef struct role {
    const char *name;             /* of the role, in --columns */
    const char *names[MAX_NAMES]; /* recognised column names by precedence, up to NULL */
} role;

static const role kinds[][MAX_ROLES] = {
    [AOE_EXAMPLES_PAIRS] = {{"text1", {"text1", "sentence1", "question1", "premise", "question", "context"}},
                            {"text2", {"text2", "sentence2", "question2", "hypothesis", "sentence"}},
                            {"label", {"label", "score", "similarity"}}},
    [AOE_EXAMPLES_POSITIVES] = {{"query", {"query"}}, {"positive", {"positive"}}},
    [AOE_EXAMPLES_TRIPLETS] = {{"query", {"query", "premise"}},
                               {"positive", {"positive", "entailment"}},
                               {"negative", {"negative", "contradiction"}}},
    [AOE_EXAMPLES_TEXTS] = {{"text", {"text", "sentence"}}},
    [AOE_EXAMPLES_GROUPS] = {{"group", {"group", "image"}}, {"text", {"text", "caption", "sentence"}}},
};

static size_t role_count(const role *r) {
    size_t n = 0;
    while (n < MAX_ROLES && r[n].name)
        n++;
    return n;
}

/* Number of columns of that name; *index is the first. */
static size_t find(const aoei_table *t, aoe_text name, size_t *index) {
    size_t count = 0;
    for (size_t i = aoei_table_columns(t); i-- > 0;) {
        aoe_text c = aoei_table_column(t, i);
        if (c.len == name.len && memcmp(c.data, name.data, c.len) == 0) {
            *index = i;
            count++;
        }
    }
    return count;
}

static void add_to_list(char list[LIST_SIZE], const char *name) {
    size_t len = strlen(list);
    snprintf(list + len, LIST_SIZE - len, "%s%s", len ? ", " : "", name);
}

void aoei_columns_list(const aoei_table *t, char found[LIST_SIZE]) {
    char excerpt[AOEI_EXCERPT];
    size_t n = aoei_table_columns(t), shown = 0;
    found[0] = 0;
    for (; shown < n && strlen(found) + AOEI_EXCERPT + 8 < LIST_SIZE; shown++)
        add_to_list(found, aoei_excerpt(excerpt, aoei_table_column(t, shown)));
    if (shown < n)
        add_to_list(found, "...");
}

static int fail_missing(const aoei_table *t, const role *r, const char *wanted, aoe_error *err) {
    char found[LIST_SIZE];
    aoei_columns_list(t, found);
    const char *hint = "";
    if (aoei_table_format(t) == AOEI_FORMAT_CSV && strchr(found, '\t'))
        hint = " (the line has TABs: a file separated by TABs is named .tsv)";
    return aoei_fail(err, AOE_EFORMAT,
                     "%s: no column for %s: looked for %s; found %s%s; name the right one with --columns %s=NAME",
                     aoei_table_name(t), r->name, wanted, *found ? found : "none", hint, r->name);
}

/* The column of one role: the one given, else the first recognised name. */
static int resolve(const aoei_table *t, const role *r, aoe_text given, size_t *index, aoe_error *err) {
    char wanted[LIST_SIZE] = "", excerpt[AOEI_EXCERPT];
    size_t count = 0;
    aoe_text name = given;
    if (given.data) {
        count = find(t, given, index);
        add_to_list(wanted, aoei_excerpt(excerpt, given));
    }
    for (size_t i = 0; !given.data && !count && i < MAX_NAMES && r->names[i]; i++) {
        name = aoe_text_of(r->names[i]);
        count = find(t, name, index);
        add_to_list(wanted, r->names[i]);
    }
    if (count == 0)
        return fail_missing(t, r, wanted, err);
    if (count > 1)
        return aoei_fail(err, AOE_EFORMAT, "%s: %zu columns are named '%s'; rename all but one", aoei_table_name(t), count,
                         aoei_excerpt(excerpt, name));
    return 0;
}

/* Splits "role=name,..." into given[n], in the order of the roles. */
static int parse_columns(const char *columns, const role *r, size_t n, aoe_text *given, aoe_error *err) {
    char excerpt[AOEI_EXCERPT];
    for (const char *s = columns; *s;) {
        size_t len = strcspn(s, ",");
        const char *equals = memchr(s, '=', len);
        size_t i = n;
        if (equals && equals + 1 < s + len)
            for (i = 0; i < n; i++)
                if (strlen(r[i].name) == (size_t)(equals - s) && memcmp(s, r[i].name, (size_t)(equals - s)) == 0)
                    break;
        if (i == n) {
            char roles[LIST_SIZE] = "";
            for (size_t k = 0; k < n; k++)
                add_to_list(roles, r[k].name);
            return aoei_fail(err, AOE_EARG, "--columns: '%s' is not ROLE=NAME with a role of %s; write for example %s=NAME",
                             aoei_excerpt(excerpt, (aoe_text){s, len}), roles, r[0].name);
        }
        if (given[i].data)
            return aoei_fail(err, AOE_EARG, "--columns: %s is given twice; leave one", r[i].name);
        given[i] = (aoe_text){equals + 1, (size_t)(s + len - (equals + 1))};
        s += len;
        s += *s == ',';
    }
    return 0;
}

int aoei_columns_select(aoei_table *t, aoe_example_kind kind, const char *columns, aoe_error *err) {
    const role *r = kinds[kind];
    size_t n = role_count(r), index[MAX_ROLES];
    aoe_text given[MAX_ROLES] = {{NULL, 0}};
    int rc = columns ? parse_columns(columns, r, n, given, err) : 0;
    for (size_t i = 0; !rc && i < n; i++)
        rc = resolve(t, &r[i], given[i], &index[i], err);
    return rc ? rc : aoei_table_select(t, index, n, err);
}

/* Roles of a kind whose columns are there. */
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

int aoei_columns_detect(aoe_example_kind *kind, aoei_table *t, const char *columns, aoe_error *err) {
    static const aoe_example_kind order[] = {AOE_EXAMPLES_PAIRS, AOE_EXAMPLES_TRIPLETS, AOE_EXAMPLES_POSITIVES};
    char list[LIST_SIZE];
    size_t most = 0;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
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
    if (most) /* the kind that is nearest says what it lacks */
        return aoei_columns_select(t, *kind, columns, err);
    aoei_columns_list(t, list);
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s: columns of no known form: labelled pairs (text1, text2, label), triples (query, positive, negative) or "
        "positives (query, positive); found %s; name them with --columns ROLE=NAME,...",
        aoei_table_name(t), *list ? list : "none");
}
