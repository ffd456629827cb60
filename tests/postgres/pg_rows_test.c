/* SPDX-License-Identifier: MIT
 * Tests rows for COPY: their fields, metadata as JSON, and which changes change the hash.
 */
#include <string.h>

#include "../support/support.h"
#include "postgres/pg_rows.h"

static const aoe_index_field fields[] = {
    {"year", {"2020", 4}}, {"tag", {"a", 1}}, {"q\"\\\n", {"x\0y\x01", 4}}, {"tag", {"007", 3}}, {"n", {"-1.50", 5}},
};

static aoe_index_hit example(void) {
    return (aoe_index_hit){.struct_size = sizeof(aoe_index_hit),
                           .id = "0123456789ab",
                           .name = "docs/a.MD",
                           .heading = "A > B",
                           .text = {"zoo\0bar", 7},
                           .line = 3,
                           .field = fields,
                           .n_fields = 5};
}

static void writes_metadata(void **state) {
    (void)state;
    aoei_buffer b = {0};
    aoei_pg_metadata(&b, fields, 5);
    assert_string_equal(b.data, "{\"year\":2020,\"tag\":[\"a\",\"007\"],\"q\\\"\\\\\\u000a\":\"x\xEF\xBF\xBDy\\u0001\","
                                "\"n\":-1.50}");
    aoei_buffer_clear(&b);
    aoei_pg_metadata(&b, NULL, 0);
    assert_string_equal(b.data, "{}");
    aoei_buffer_free(&b);
}

static void writes_rows(void **state) {
    (void)state;
    static const char head[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0";
    static const char want[] = "\0\x0d\0\0\0\x0c"
                               "0123456789ab\0\0\0\x09"
                               "docs/a.MD\0\0\0\4\0\0\0\2\0\0\0\2md\0\0\0\4\0\0\0\3\xff\xff\xff\xff\0\0\0\5"
                               "A > B\0\0\0\x09zoo\xEF\xBF\xBD"
                               "bar\0\0\0\3\1{}\0\0\0\x08\1\2\3\4\5\6\7\x08";
    static const char words[] = "\0\0\0\4a\0\0\1\0\1b\0\0\1\0\2bar\0\0\1\0\4zoo\0\0\1\0\3";
    static const char tail[] = "\0\0\0\4\0\0\0\4\0\0\0\x08\0\1\0\0\x3f\x80\0\0";
    aoe_index_hit hit = example();
    const float x[] = {1};
    const aoei_pg_passage p = {.hit = &hit, .position = 2, .vector = x, .dims = 1};
    aoei_pg_lexer *l;
    aoei_buffer b = {0};
    hit.n_fields = 0;
    assert_int_equal(aoei_pg_lexer_create(&l, 0, NULL), 0);
    aoei_pg_rows_begin(&b);
    assert_int_equal(b.len, sizeof head - 1);
    assert_memory_equal(b.data, head, b.len);
    assert_int_equal(aoei_pg_row(&b, &p, UINT64_C(0x0102030405060708), l, NULL), 0);
    const char *row = b.data + sizeof head - 1;
    assert_memory_equal(row, want, sizeof want - 1);
    row += sizeof want - 1;
    assert_memory_equal(row, "\0\0\0", 3);
    assert_int_equal(row[3], sizeof words - 1);
    assert_memory_equal(row + 4, words, sizeof words - 1);
    assert_memory_equal(row + 4 + sizeof words - 1, tail, sizeof tail - 1);
    const size_t len = b.len;
    aoei_pg_rows_end(&b);
    assert_memory_equal(b.data + len, "\xff\xff", 2);
    aoei_buffer_free(&b);
    aoei_pg_lexer_free(l);
}

static void hash_depends_on_all_values(void **state) {
    (void)state;
    float x[] = {1, 2};
    aoe_index_hit hit = example();
    aoei_pg_passage p = {.hit = &hit, .position = 2, .vector = x, .dims = 2};
    const uint64_t first = aoei_pg_row_hash(&p);
    uint64_t hash[12] = {first};
    size_t n = 1;
    assert_true(aoei_pg_row_hash(&p) == first);
    p.position = 3;
    hash[n++] = aoei_pg_row_hash(&p);
    p.position = 2;
    x[1] = -2;
    hash[n++] = aoei_pg_row_hash(&p);
    x[1] = 2;
#define CHANGED(change)                                                                                                \
    hit = example();                                                                                                   \
    change;                                                                                                            \
    hash[n++] = aoei_pg_row_hash(&p)
    CHANGED(hit.name = "docs/b.MD");
    CHANGED(hit.heading = "A");
    CHANGED(hit.text.len = 3);
    CHANGED(hit.line = 4);
    CHANGED(hit.last_line = 5);
    CHANGED(hit.n_fields = 4);
    CHANGED(hit.field = fields + 1; hit.n_fields = 4);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            assert_true(hash[i] != hash[k]);
    hit = example();
    assert_true(aoei_pg_row_hash(&p) == first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_metadata),
        cmocka_unit_test(writes_rows),
        cmocka_unit_test(hash_depends_on_all_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
