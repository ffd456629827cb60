/* SPDX-License-Identifier: MIT
 * Tests the parser and the evaluation of conditions. The documents are rows of a small table in this file, so that the
 * expected result of every condition can be read; where_sql_test.c tests the comparisons in a database.
 * covers: base/plain_number
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "base/plain_number.h"
#include "index/where.h"

/* Metadata: document, key, value. Document 3 has no year, and 4 has two tags. Document 5 has no metadata. */
static const struct {
    size_t document;
    const char *key, *value;
} fields[] = {
    {0, "year", "2019"},        {0, "lang", "en"},     {0, "tag", "a"},   {1, "year", "2020"}, {1, "lang", "de"},
    {1, "file-name.x", "it's"}, {2, "year", "2021.5"}, {2, "lang", "en"}, {2, "and", "1"},     {3, "lang", "fr"},
    {3, "größe", "\"q\""},      {4, "tag", "a"},       {4, "tag", "b"},   {4, "year", "-3"},
};
enum { DOCUMENTS = 6 };

static int is_true(const aoei_comparison *c, const char *value) {
    if (c->type == AOEI_EXISTS)
        return 1;
    if (c->type == AOEI_LIKE) { /* in these tests, a pattern is a prefix and '%' */
        const size_t n = strlen(c->value) - 1;
        return strncmp(value, c->value, n) == 0;
    }
    const int is_number = aoei_is_plain_number((aoe_text){value, strlen(value)});
    if (is_number != c->is_number)
        return 0;
    const double x = is_number ? atof(value) - atof(c->value) : strcmp(value, c->value);
    switch (c->type) {
    case AOEI_EQUAL:
        return x == 0;
    case AOEI_LESS:
        return x < 0;
    case AOEI_LESS_OR_EQUAL:
        return x <= 0;
    case AOEI_GREATER:
        return x > 0;
    default:
        return x >= 0;
    }
}

static int compare(void *user, const aoei_comparison *c, uint64_t *bits, size_t n, aoe_error *err) {
    (void)user;
    (void)err;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (fields[i].document < n && strcmp(fields[i].key, c->key) == 0 && is_true(c, fields[i].value))
            bits[fields[i].document / 64] |= UINT64_C(1) << fields[i].document % 64;
    return 0;
}

static void evaluates_conditions(void **state) {
    (void)state;
    static const struct {
        const char *where;
        uint64_t want; /* octal: one digit for three documents; document 0 is the lowest bit */
    } cases[] = {
        {"year >= 2020", 006},
        {"year > 2020", 004},
        {"year < 2020", 021},
        {"year <= 2020", 023},
        {"year=2020", 002},
        {"year == '2020'", 002}, /* the form of the value decides */
        {"year = 2.0205e3", 000},
        {"year = -3", 020},
        {"year != 2020", 025}, /* not document 3, which has no year */
        {"year <> 2020", 025},
        {"not year = 2020", 075},
        {"not not year = 2020", 002},
        {"lang = 'en'", 005},
        {"lang = \"en\"", 005},
        {"lang = 2020", 000},
        {"lang < 'f'", 007},
        {"LANG = 'en'", 000},
        {"lang in ('en','fr')", 015},
        {"lang in ( 'de' )", 002},
        {"lang not in ('en', 'fr')", 002},
        {"not lang in ('en', 'fr')", 062},
        {"year in (2020, '2021.5')", 006},
        {"lang like 'e%'", 005},
        {"lang NOT LIKE 'e%'", 012},
        {"tag = 'b'", 020},
        {"tag != 'b'", 001}, /* document 4 has two tags */
        {"exists year", 027},
        {"not exists year", 050},
        {"year >= 2020 and lang = 'en'", 004},
        {"year >= 2020 AND lang = 'en' Or tag = 'a'", 025},
        {"tag = 'a' or year >= 2020 and lang = 'en'", 025},
        {"(tag = 'a' or year >= 2020) and lang = 'en'", 005},
        {"not (year >= 2020 or tag = 'a')", 050},
        {"not year >= 2020 or tag = 'a'", 071},
        {"not year >= 2020 and tag = 'a'", 021},
        {"file-name.x = 'it''s'", 002},
        {"`file-name.x`=\"it's\"", 002},
        {"`and` = 1", 004},
        {"größe = \"\"\"q\"\"\"", 010},
        {"größe = '\"q\"'", 010},
        {" \t\n ( ( year>2020 ) ) ", 004},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_where *w;
        aoe_error err = {0};
        uint64_t bits = 0;
        const int code = aoei_where_parse(&w, cases[i].where, &err);
        if (code)
            fail_msg("%s: %s", cases[i].where, err.message);
        assert_int_equal(aoei_where_eval(w, compare, NULL, &bits, DOCUMENTS, &err), 0);
        if (bits != cases[i].want)
            fail_msg("%s: expected %03llo, found %03llo", cases[i].where, (unsigned long long)cases[i].want,
                     (unsigned long long)bits);
        aoei_where_free(w);
    }
}

static void reports_positions(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"", "a key is missing (write it in backticks if it is the name of an operator) at the end of \"\""},
        {"year >> 2020", "a number or a text in quotes is missing at character 7: > 2020"},
        {"year", "an operator is missing (=, !=, <, <=, >, >=, in, like) at the end of \"year\""},
        {"lang = en", "a value must be a number or a text in quotes at character 8: en"},
        {"größe = en", "at character 9: en"},
        {"lang = 'en", "the closing quote is missing at character 8: 'en"},
        {"'en' = lang", "a comparison begins with a key; unusual keys are written in backticks at character 1"},
        {"2020 <= year", "a comparison begins with a key"},
        {"a = 1 b = 2", "\"and\" or \"or\" is missing at character 7: b = 2"},
        {"a = 1 and and b = 2", "a key is missing (write it in backticks"},
        {"(a = 1", "\"and\", \"or\" or \")\" is missing at the end"},
        {"a = 1)", "\"and\" or \"or\" is missing at character 6: )"},
        {"a in 1", "\"(\" is missing after \"in\" at character 6"},
        {"a in ()", "a number or a text in quotes is missing at character 7: )"},
        {"a in (1 2)", "\",\" or \")\" is missing in the list of values at character 9"},
        {"a in (1,", "a number or a text in quotes is missing at the end"},
        {"a like 5", "a pattern in quotes is missing after \"like\" at character 8"},
        {"a not = 5", "\"in\" or \"like\" is missing after \"not\" at character 7"},
        {"a = 1; drop table documents", "this is neither a key nor a value"},
        {"a = 12x", "this is neither a key nor a value (write texts in quotes and unusual keys in backticks)"},
        {"a = 12and b = 1", "this is neither a key nor a value"},
        {"exists", "a key is missing"},
        {"a = -", "this is neither a key nor a value"},
        {"a = \xff", "byte 5 is not valid UTF-8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_where *w;
        aoe_error err = {0};
        if (aoei_where_parse(&w, cases[i][0], &err) != AOE_EARG)
            fail_msg("\"%s\" is accepted", cases[i][0]);
        assert_null(w);
        test_message(err.message, "condition: ");
        test_message(err.message, cases[i][1]);
    }
}

/* Returns n times s, in memory that the caller frees. */
static char *repeat(const char *s, size_t n, const char *end) {
    const size_t len = strlen(s), rest = strlen(end);
    char *out = malloc(n * len + rest + 1);
    assert_non_null(out);
    for (size_t i = 0; i < n; i++)
        memcpy(out + i * len, s, len);
    memcpy(out + n * len, end, rest + 1);
    return out;
}

static void limits_depth_and_length(void **state) {
    (void)state;
    static const struct {
        const char *part;
        size_t n;
        const char *end, *message;
    } cases[] = {
        {"not ", AOEI_WHERE_DEPTH, "a = 1", NULL},
        {"not ", AOEI_WHERE_DEPTH + 1, "a = 1", "too many nested parentheses at character 129"},
        {"(", 10000, "", "too many nested parentheses at character 33"},
        {"a = 1 or ", 5000, "a = 1", NULL}, /* a chain is not nested */
        {"a = 1 or b != 2 and ", 3000, "a = 1", NULL},
        {" ", AOEI_WHERE_BYTES, "a = 1", "at most 65536 are allowed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_where *w;
        aoe_error err = {0};
        uint64_t bits[2];
        char *where = repeat(cases[i].part, cases[i].n, cases[i].end);
        const int code = aoei_where_parse(&w, where, &err);
        assert_int_equal(code, cases[i].message ? AOE_EARG : 0);
        if (code)
            test_message(err.message, cases[i].message);
        else
            assert_int_equal(aoei_where_eval(w, compare, NULL, bits, 100, &err), 0);
        aoei_where_free(w);
        free(where);
    }
}

static void limits_patterns(void **state) {
    (void)state;
    for (size_t n = AOEI_LIKE_BYTES; n <= AOEI_LIKE_BYTES + 1; n++) {
        aoei_where *w;
        aoe_error err = {0};
        char *pattern = repeat("x", n, "'"), where[AOEI_LIKE_BYTES + 32];
        (void)snprintf(where, sizeof where, "a like '%s", pattern);
        assert_int_equal(aoei_where_parse(&w, where, &err), n > AOEI_LIKE_BYTES ? AOE_EARG : 0);
        if (n > AOEI_LIKE_BYTES)
            test_message(err.message, "a pattern of \"like\" is longer than 1,000 bytes at character 8: 'xxx");
        aoei_where_free(w);
        free(pattern);
    }
}

/* Bits after the last document stay 0, also after `not`, and no document is no error. */
static void keeps_bits_after_the_last_document(void **state) {
    (void)state;
    aoei_where *w;
    uint64_t bits[3] = {0, 0, 42};
    assert_int_equal(aoei_where_parse(&w, "not year = 5", NULL), 0);
    assert_int_equal(aoei_where_eval(w, compare, NULL, bits, 70, NULL), 0);
    assert_true(bits[0] == UINT64_MAX && bits[1] == 077 && bits[2] == 42);
    assert_int_equal(aoei_where_eval(w, compare, NULL, bits, 128, NULL), 0);
    assert_true(bits[1] == UINT64_MAX && bits[2] == 42);
    assert_int_equal(aoei_where_eval(w, compare, NULL, NULL, 0, NULL), 0);
    aoei_where_free(w);
    aoei_where_free(NULL);
}

static void recognizes_plain_numbers(void **state) {
    (void)state;
    static const char *const numbers[] = {"0", "-0", "7", "2020", "-3", "0.5", "12.50", "-0.0"},
                             *const texts[] = {"",    "-",  ".",   ".5",  "5.",    "+1",
                                               "007", "00", "1e5", "0x1", "1,000", "1.0.2",
                                               " 1",  "1 ", "--1", "inf", "nan",   "1234567890123456789012345678901"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        assert_true(aoei_is_plain_number((aoe_text){numbers[i], strlen(numbers[i])}));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_false(aoei_is_plain_number((aoe_text){texts[i], strlen(texts[i])}));
}

static int fail_comparison(void *user, const aoei_comparison *c, uint64_t *bits, size_t n, aoe_error *err) {
    (void)user;
    (void)bits;
    (void)n;
    (void)err;
    return strcmp(c->key, "bad") == 0 ? AOE_EIO : 0;
}

static int where_once(void *arg) {
    aoei_where *w;
    aoe_error err = {0};
    uint64_t bits[2];
    int code = aoei_where_parse(&w, arg, &err);
    if (!code)
        code = aoei_where_eval(w, compare, NULL, bits, 100, &err);
    aoei_where_free(w);
    return code;
}

static void reports_failures(void **state) {
    (void)state;
    char where[] = "a != 'x' and (b in (1, 2) or not `c` like 'x%') or d = 5";
    assert_true(test_alloc_failures(where_once, where, 0) > 0);
    aoei_where *w;
    uint64_t bits;
    assert_int_equal(aoei_where_parse(&w, "a = 1 or not (b = 2 and bad = 5)", NULL), 0);
    assert_int_equal(aoei_where_eval(w, fail_comparison, NULL, &bits, 5, NULL), AOE_EIO);
    aoei_where_free(w);
}

/* Appends an element of a condition to the string `user`. */
static int write_element(void *user, aoei_where_element element, aoei_where_element parent, const aoei_comparison *c,
                         aoe_error *err) {
    char *out = user;
    const size_t n = strlen(out);
    static const char *const begin[] = {"", "and(", "or(", "not("};
    (void)err;
    if (c && strcmp(c->key, "stop") == 0)
        return AOE_ECANCELLED;
    if (element == AOEI_WHERE_COMPARISON)
        snprintf(out + n, 200 - n, "%s%d%s", c->key, (int)c->type, c->value ? c->value : "");
    else if (element == AOEI_WHERE_NEXT)
        snprintf(out + n, 200 - n, parent == AOEI_WHERE_BEGIN_OR ? "|" : "&");
    else
        snprintf(out + n, 200 - n, "%s", element == AOEI_WHERE_END ? ")" : begin[element]);
    return 0;
}

static void visits_elements(void **state) {
    (void)state;
    static const struct {
        const char *where, *want;
    } cases[] = {
        {"a = 1", "a01"},
        {"a = 1 and b < 2 and exists c", "and(a01&b12&c6)"},
        {"a in (1, 2) or not (b > 3 and c like 'x')", "or(or(a01|a02)|not(and(b33&c5x)))"},
        {"a != 1", "and(a6&not(a01))"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_where *w;
        char out[200] = "";
        assert_int_equal(aoei_where_parse(&w, cases[i].where, NULL), 0);
        assert_int_equal(aoei_where_visit(w, write_element, out, NULL), 0);
        assert_string_equal(out, cases[i].want);
        aoei_where_free(w);
    }
    aoei_where *w;
    char out[200] = "";
    assert_int_equal(aoei_where_parse(&w, "a = 1 or (stop = 1 and b = 2) or c = 3", NULL), 0);
    assert_int_equal(aoei_where_visit(w, write_element, out, NULL), AOE_ECANCELLED);
    assert_string_equal(out, "or(a01|and(");
    aoei_where_free(w);
}

static void compares_paths(void **state) {
    (void)state;
    static const struct {
        const char *where, *path[4], *want;
    } cases[] = {
        {NULL, {"src/"}, "and(or(name5src/%))"},
        {NULL, {"src"}, "and(or(or(name5src|name5src/%)))"},
        {NULL, {"*.c"}, "and(or(or(name5%.c|name5%.c/%)))"},
        {"", {"src/*"}, "and(or(name5src/%))"},
        {NULL, {"/a_b%\\c?/"}, "and(or(path5/a\\_b\\%\\\\c_/%))"},
        {NULL, {"!t/"}, "and(not(or(name5t/%)))"},
        {" ", {"a/", "!t/", "b/", "!/u/"}, "and(or(name5a/%|name5b/%)&not(or(name5t/%|path5/u/%)))"},
        {"a = 1 or b = 2", {"a/", "!t/"}, "and(or(a01|b02)&or(name5a/%)&not(or(name5t/%)))"},
        {"a = 1", {NULL}, "a01"},
    };
    aoei_where *w;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char out[400] = "";
        size_t n = 0;
        while (n < 4 && cases[i].path[n])
            n++;
        assert_int_equal(aoei_where_create(&w, cases[i].where, cases[i].path, n, NULL), 0);
        assert_int_equal(aoei_where_visit(w, write_element, out, NULL), 0);
        assert_string_equal(out, cases[i].want);
        aoei_where_free(w);
    }
    assert_int_equal(aoei_where_create(&w, "\n", NULL, 0, NULL), 0);
    assert_null(w);
    char *longest = repeat("x", 1001, "");
    const char *const bad[][2] = {{"", "pattern 2 of options.path is empty"},
                                  {"!", "pattern 2 of options.path is empty"},
                                  {NULL, "pattern 2 of options.path is empty"},
                                  {"\xff", "pattern 2 of options.path is not valid UTF-8"},
                                  {longest, "pattern 2 of options.path has more than 1,000 bytes"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *const path[] = {"a", bad[i][0]};
        aoe_error err = {0};
        assert_int_equal(aoei_where_create(&w, "a = 1", path, 2, &err), AOE_EARG);
        assert_null(w);
        test_message(err.message, bad[i][1]);
    }
    free(longest);
}

static int paths_once(void *arg) {
    static const char *const path[] = {"a", "!b", "c/"};
    aoei_where *w;
    const int code = aoei_where_create(&w, arg, path, 3, NULL);
    aoei_where_free(w);
    return code;
}

static void survives_failed_allocations(void **state) {
    (void)state;
    char where[] = "a = 1";
    assert_true(test_alloc_failures(paths_once, where, 0) > 2);
    assert_true(test_alloc_failures(paths_once, NULL, 0) > 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(visits_elements),          cmocka_unit_test(evaluates_conditions),
        cmocka_unit_test(reports_positions),        cmocka_unit_test(limits_depth_and_length),
        cmocka_unit_test(limits_patterns),          cmocka_unit_test(keeps_bits_after_the_last_document),
        cmocka_unit_test(recognizes_plain_numbers), cmocka_unit_test(reports_failures),
        cmocka_unit_test(compares_paths),           cmocka_unit_test(survives_failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
