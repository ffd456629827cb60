/* SPDX-License-Identifier: MIT
 * Tests lexemes of passages and queries: their bytes, stems, quotes, and the limits of a tsvector.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "postgres/pg_lexemes.h"

static aoei_pg_lexer *lexer(int stem) {
    aoei_pg_lexer *l;
    assert_int_equal(aoei_pg_lexer_create(&l, stem, NULL), 0);
    return l;
}

static void writes_lexemes_in_order(void **state) {
    (void)state;
    aoei_pg_lexer *l = lexer(0);
    aoei_buffer b = {0};
    size_t words;
    assert_int_equal(aoei_pg_tsvector(l, aoe_text_of("Zoo bar, ZOO caf\xc3\xa9"), &b, &words, NULL), 0);
    assert_int_equal(words, 4);
    const char want[] = "\0\0\0\3bar\0\0\1\0\2cafe\0\0\1\0\4zoo\0\0\2\0\1\0\3";
    assert_int_equal(b.len, sizeof want - 1);
    assert_memory_equal(b.data, want, b.len);
    aoei_buffer_clear(&b);
    assert_int_equal(aoei_pg_tsvector(l, aoe_text_of(" ;' "), &b, &words, NULL), 0);
    assert_int_equal(words, 0);
    assert_int_equal(b.len, 4);
    assert_memory_equal(b.data, "\0\0\0\0", 4);
    aoei_buffer_free(&b);
    aoei_pg_lexer_free(l);
}

static void writes_stems(void **state) {
    (void)state;
    aoei_pg_lexer *l = lexer(1);
    aoei_buffer b = {0};
    size_t n;
    assert_int_equal(aoei_pg_tsquery(l, aoe_text_of("certificates"), 0, &b, &n, NULL), 0);
    assert_int_equal(n, 1);
    assert_string_equal(b.data, "'certif'");
    aoei_buffer_free(&b);
    aoei_pg_lexer_free(l);
}

static void quotes_queries(void **state) {
    (void)state;
    static const struct {
        const char *word;
        int is_prefix;
        size_t lexemes;
        const char *want;
    } cases[] = {
        {"Renew", 0, 1, "'renew'"},         {"\xe4\xb8\xad", 1, 1, "'\xe4\xb8\xad':*"},
        {"a' | 'b:*", 0, 2, "'a' <-> 'b'"}, {"a\\'b", 1, 2, "'a' <-> 'b':*"},
        {"&|!()<->:*'\\", 0, 0, ""},
    };
    aoei_pg_lexer *l = lexer(0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_buffer b = {0};
        size_t n = 9;
        assert_int_equal(aoei_pg_tsquery(l, aoe_text_of(cases[i].word), cases[i].is_prefix, &b, &n, NULL), 0);
        assert_int_equal(n, cases[i].lexemes);
        assert_string_equal(b.len ? b.data : "", cases[i].want);
        aoei_buffer_free(&b);
    }
    aoei_pg_lexer_free(l);
}

static unsigned number(const char *s, size_t bytes) {
    unsigned n = 0;
    for (size_t i = 0; i < bytes; i++)
        n = n << 8 | (unsigned char)s[i];
    return n;
}

/* Checks the rules of the server: ascending lexemes and positions, at most 255 positions up to 16383. Returns the
 * number of lexemes. */
static unsigned check(const aoei_buffer *b) {
    const unsigned n = number(b->data, 4);
    const char *p = b->data + 4, *end = b->data + b->len, *last = "";
    for (unsigned i = 0; i < n; i++) {
        assert_true(strcmp(p, last) > 0);
        last = p;
        p += strlen(p) + 1;
        const unsigned positions = number(p, 2);
        assert_in_range(positions, 1, AOEI_PG_POSITIONS);
        p += 2;
        for (unsigned k = 0, before = 0; k < positions; k++, p += 2) {
            assert_in_range(number(p, 2), before + 1, AOEI_PG_POSITION_MAX);
            before = number(p, 2);
        }
    }
    assert_ptr_equal(p, end);
    return n;
}

static void keeps_limits(void **state) {
    (void)state;
    aoei_pg_lexer *l = lexer(0);
    aoei_buffer text = {0}, b = {0};
    size_t words;
    for (unsigned i = 0; i < 20000; i++)
        aoei_buffer_printf(&text, "same %x ", i + 0xa00000);
    assert_int_equal(aoei_pg_tsvector(l, (aoe_text){text.data, text.len}, &b, &words, NULL), 0);
    assert_int_equal(words, 40000);
    assert_int_equal(check(&b), 20001);
    aoei_buffer_clear(&text);
    aoei_buffer_clear(&b);
    for (unsigned i = 0; i < 100000; i++)
        aoei_buffer_printf(&text, "%x%x ", i + 0xa00000, i + 0xb00000);
    assert_int_equal(aoei_pg_tsvector(l, (aoe_text){text.data, text.len}, &b, &words, NULL), 0);
    assert_int_equal(words, 100000);
    const unsigned n = check(&b);
    assert_in_range(n, 40000, 99999);
    assert_in_range(b.len, AOEI_PG_LEXEME_BYTES, 1 << 20);
    aoei_buffer_free(&text);
    aoei_buffer_free(&b);
    aoei_pg_lexer_free(l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_lexemes_in_order),
        cmocka_unit_test(writes_stems),
        cmocka_unit_test(quotes_queries),
        cmocka_unit_test(keeps_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
