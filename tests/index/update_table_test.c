/* SPDX-License-Identifier: MIT
 * Tests updates of an index from tables: rows that are equal keep their documents and given vectors.
 */
#include "../support/compress.h"
#include "../support/update_index.h"

static int update_table(aoe_index_source s, const char *name, aoe_index_update_result *r) {
    char *path = test_path(base, name);
    s.struct_size = sizeof s;
    s.path = path;
    *r = (aoe_index_update_result){.struct_size = sizeof *r};
    const int code = aoe_index_update(index_, &s, 1, NULL, r, &err);
    free(path);
    return code;
}

static void updates_tables(void **state) {
    (void)state;
    begin("tables");
    aoe_index_update_result r;
    const aoe_index_source plain = {.text_column = NULL};
    add("t.csv", "text,year,lang\na b c,2020,en\n\"b, c\nd\",2021,\ne f,2022,de\n");
    check(update_table(plain, "t.csv", &r));
    assert_int_equal(r.added, 3);
    assert_names("t.csv:2;t.csv:3;t.csv:5;");
    char *dump = tiny_index_dump(index_);
    assert_has(dump, "  year=2020 integer\n  lang=en text\n");
    assert_has(dump, "  year=2021 integer\nt.csv:5|");
    free(dump);
    check(update_table(plain, "t.csv", &r));
    assert_int_equal(r.unchanged, 3);
    assert_int_equal(r.passages, 0);
    /* one row changes, and one is removed */
    add("t.csv", "text,year,lang\na b c,2020,en\n\"b, c\ne\",2021,\n");
    check(update_table(plain, "t.csv", &r));
    assert_int_equal(r.unchanged, 1);
    assert_int_equal(r.changed, 1);
    assert_int_equal(r.removed, 1);
    assert_int_equal(r.passages, 1);
    /* names from a column: all documents get new names, but keep their vectors */
    const aoe_index_source named = {.id_column = "lang"};
    assert_int_equal(update_table(named, "t.csv", &r), AOE_EFORMAT);
    assert_has(err.message, "t.csv:3: column 'lang' is not a name");
    assert_names("t.csv:2;t.csv:3;");
    add("t.csv", "text,year,lang\na b c,2020,en\nb,2021,en\n");
    assert_int_equal(update_table(named, "t.csv", &r), AOE_EFORMAT);
    assert_has(err.message, "t.csv:3: 'en' in column 'lang' is also the name of an earlier row");
    add("t.csv", "text,year,lang\na b c,2020,en\nb,2021,de\n");
    check(update_table(named, "t.csv", &r));
    assert_int_equal(r.reused, 1);
    assert_names("de;en;");
    check(update_table((aoe_index_source){.text_column = "lang"}, "t.csv", &r)); /* another column of texts */
    assert_names("t.csv:2;t.csv:3;");
    assert_int_equal(update_table((aoe_index_source){.text_column = "body"}, "t.csv", &r), AOE_EFORMAT);
    assert_has(err.message, "the table has no column 'body'; found text, year, lang");
    add("t.csv", "text,year,lang\n");
    check(update_table(plain, "t.csv", &r));
    assert_names("");
    end();
}

static void updates_other_formats(void **state) {
    (void)state;
    begin("formats");
    aoe_index_update_result r;
    const aoe_index_source plain = {.text_column = NULL};
    add("t.txt", "a b\nc d\n");
    check(update_table(plain, "t.txt", &r));
    assert_names("t.txt:1;t.txt:2;");
    add("t.jsonl", "{\"text\": \"a b\", \"id\": 7, \"n\": 1.5, \"tags\": [\"x\", \"y\"], \"none\": null}\n"
                   "{\"id\": \"k\", \"text\": \"c d\", \"more\": true, \"o\": {\"a\": 1, \"b\": [2, 0.5, [3]]}}\n");
    check(update_table((aoe_index_source){.id_column = "id"}, "t.jsonl", &r));
    char *dump = tiny_index_dump(index_);
    assert_has(dump, "t.jsonl:7|");
    assert_has(dump, "  n=1.5 real\n  tags=x text\n  tags=y text\n");
    assert_has(dump, "t.jsonl:k|");
    assert_has(dump, "  more=true text\n  o={\"a\":1,\"b\":[2,0.5,[3]]} text\n");
    free(dump);
    add("bad.jsonl", "{\"text\": \"a b\"}\n{\"text\": 5}\n");
    assert_int_equal(update_table(plain, "bad.jsonl", &r), AOE_EFORMAT);
    assert_has(err.message, "bad.jsonl:2: the value of column 'text' is not a text");
    add("none.csv", "x,y\n1,2\n");
    assert_int_equal(update_table(plain, "none.csv", &r), AOE_EFORMAT);
    assert_has(err.message, "found x, y");
    add("two.csv", "query,positive\n1,2\n");
    assert_int_equal(update_table(plain, "two.csv", &r), AOE_EFORMAT);
    assert_has(err.message, "several columns have recognized names");
    /* a table with an error leaves no trace */
    dump = tiny_index_dump(index_);
    assert_null(strstr(dump, "bad.jsonl"));
    free(dump);
    check(update(NULL, NULL, &r));
    add("a.md", "a");
    assert_int_equal(update_table((aoe_index_source){.text_column = "text"}, "a.md", &r), AOE_EARG);
    end();
}

/* The size of a compressed table is not known, so a refresh with a time limit leaves it out if it changed. */
static void leaves_out_compressed_tables(void **state) {
    (void)state;
    begin("compressed");
    static const char *const texts[] = {"text\na b\n", "text\na b\nc d\n"};
    aoe_index_update_options o;
    aoe_index_update_options_defaults(&o);
    o.budget = 1000;
    aoe_index_update_result r;
    for (size_t i = 0; i < 2; i++) {
        size_t size;
        char *packed = test_gzip(texts[i], strlen(texts[i]), &size);
        free(test_write(base, "t.csv.gz", packed, size));
        free(packed);
        if (i) {
            check(update(NULL, &o, &r));
            assert_int_equal(r.left_out, 1);
            assert_int_equal(r.added, 0);
        }
        (void)counts("t.csv.gz", 1, 0, 0, i);
    }
    check(update(NULL, &o, &r));
    assert_int_equal(r.left_out, 0);
    assert_int_equal(r.unchanged, 2);
    end();
}

static void takes_given_vectors(void **state) {
    (void)state;
    begin("vectors");
    aoe_index_update_result r;
    const size_t dims = aoe_embedder_dims(tiny_index_embedder);
    float *v = calloc(3 * dims, sizeof *v);
    for (size_t i = 0; i < 3; i++)
        v[i * dims + i] = 1;
    add("t.csv", "text\na b\nc d\n");
    assert_int_equal(update_table((aoe_index_source){.vectors = v, .n_vectors = 3}, "t.csv", &r), AOE_EARG);
    assert_has(err.message, "the table has 2 rows, but source.vectors has 3");
    assert_int_equal(update_table((aoe_index_source){.vectors = v, .n_vectors = 1}, "t.csv", &r), AOE_EARG);
    assert_names("");
    check(update_table((aoe_index_source){.vectors = v, .n_vectors = 2}, "t.csv", &r));
    assert_int_equal(r.added, 2);
    assert_int_equal(r.tokens, 0);
    (void)counts(NULL, 0, 0, 0, 2);
    /* a new row: the others keep their vectors, and a refresh leaves the table to the user */
    add("t.csv", "text\na b\nc d\ne f\n");
    aoe_index_update_options o;
    aoe_index_update_options_defaults(&o);
    o.budget = 1000;
    check(update(NULL, &o, &r));
    assert_int_equal(r.left_out, 1);
    r = counts(NULL, 1, 0, 0, 2);
    assert_int_equal(r.passages, 1);
    assert_int_equal(r.computed, 1);
    assert_true(r.tokens > 0);
    assert_has(messages, "t.csv: the model of the index computed the vectors of 1 new or changed row, but vectors were "
                         "given for the others; give the vectors of all rows again\n");
    (void)counts(NULL, 0, 0, 0, 3);
    check(update_table((aoe_index_source){.vectors = v, .n_vectors = 3}, "t.csv", &r));
    assert_int_equal(r.unchanged, 2);
    assert_int_equal(r.changed, 1);
    assert_int_equal(r.computed, 0);
    assert_int_equal(r.tokens, 0);
    free(v);
    end();
}

/* Replaces the folder or the table of a test, once, by what has the name `other`. */
typedef struct replacement {
    const char *name, *other;
} replacement;

static int replace_once(void *user, const aoe_index_progress *p) {
    replacement *r = user;
    (void)p;
    if (!r->name)
        return 0;
    char *away = test_path(base, "away");
    check(aoei_remove_tree(away, &err));
    free(away);
    move(r->name, "away");
    move(r->other, r->name);
    r->name = NULL;
    return 0;
}

/* A table is read from the folder that was checked, also if the folder or the table is replaced meanwhile. */
static void keeps_the_checked_folder(void **state) {
    (void)state;
    begin("replaced");
    aoe_index_update_result r;
    add("data/t.csv", "text\na b\n");
    check(update_table((aoe_index_source){.text_column = NULL}, "data/t.csv", &r));
    add("data/t.csv", "text\na b\nc d\n");
    add("secret/t.csv", "text\nx y z\n");
    char *link = test_path(base, "link"), *fifo = test_path(base, "fifo");
    assert_int_equal(symlink("secret", link), 0);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    replacement to_link = {"data", "link"}, to_fifo = {"data/t.csv", "fifo"};
    aoe_index_update_options o;
    aoe_index_update_options_defaults(&o);
    o.own_only = 1;
    o.progress = replace_once;
    o.user = &to_link;
    check(update(NULL, &o, &r));
    assert_null(to_link.name);
    char *dump = tiny_index_dump(index_);
    assert_null(strstr(dump, "x y z"));
    free(dump);
    assert_names("t.csv:2;t.csv:3;");
    /* a FIFO without a writer: opening it would wait forever */
    char *data = test_path(base, "data");
    assert_int_equal(unlink(data), 0);
    free(data);
    add("data/t.csv", "text\na b\ne f\n");
    o.user = &to_fifo;
    assert_int_equal(update(NULL, &o, &r), AOE_EIO);
    assert_has(err.message, "data/t.csv was replaced while it was read; try again");
    assert_names("t.csv:2;t.csv:3;");
    free(link);
    free(fifo);
    end();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(updates_tables),
        cmocka_unit_test(updates_other_formats),
        cmocka_unit_test(leaves_out_compressed_tables),
        cmocka_unit_test(takes_given_vectors),
        cmocka_unit_test(keeps_the_checked_folder),
    };
    return cmocka_run_group_tests(tests, tiny_index_begin, tiny_index_end);
}
