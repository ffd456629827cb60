/* SPDX-License-Identifier: MIT
 * covers: dataset/convert_examples dataset/convert_rows table/compress table/table_write
 * Tests aoe_data_convert. The tests cover round trips between formats, with and without compression, values that a
 * format cannot represent, selected and renamed columns, and conversion between pairs, positives and triplets.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "aoe.h"
#include "aoe_data.h"
#include "base/alloc.h"
#include "base/buffer.h"

static int take(void *user, size_t part, const char *data, size_t len) {
    assert_int_equal(part, 0);
    assert_true(len > 0);
    return aoei_buffer_append(user, data, len);
}

static aoe_data_convert_options options(const char *name) {
    aoe_data_convert_options o;
    aoe_data_convert_options_defaults(&o);
    o.name = name;
    o.write = take;
    return o;
}

/* Converts the file `path` with the options o. Returns the contents of the output, which the caller frees with
 * aoei_buffer_free. */
static aoei_buffer convert(const char *path, aoe_data_convert_options o, aoe_data_convert_result *result) {
    aoei_buffer out = {0};
    aoe_error err;
    o.user = &out;
    if (aoe_data_convert(path, &o, result, &err))
        fail_msg("%s", err.message);
    return out;
}

/* Asserts that the file `name` with the contents `text` is converted to the text `want`. */
static void expect(const char *name, const char *text, aoe_data_convert_options o, const char *want) {
    char *path = test_write_text(test_dir, name, text);
    aoei_buffer out = convert(path, o, NULL);
    assert_string_equal(out.data, want);
    aoei_buffer_free(&out);
    free(path);
}

static void expect_error(const char *name, const char *text, aoe_data_convert_options o, int code, const char *want) {
    char *path = test_write_text(test_dir, name, text);
    aoei_buffer out = {0};
    aoe_error err = {0};
    o.user = &out;
    assert_int_equal(aoe_data_convert(path, &o, NULL, &err), code);
    assert_int_equal(err.code, code);
    const size_t skip = strncmp(err.message, test_dir, strlen(test_dir)) ? 0 : strlen(test_dir) + 1;
    assert_string_equal(err.message + skip, want);
    aoei_buffer_free(&out);
    free(path);
}

/* Writes text to the file `name`, converts it to names[0], converts the result to names[1], and so on, and finally
 * converts names[n - 1] to the format of `name`. The file names determine the formats. Asserts that the final output
 * equals text, byte for byte. */
static void round_trip(const char *name, const char *text, const char *const *names, size_t n) {
    char *path = test_write_text(test_dir, name, text);
    for (size_t i = 0; i < n; i++) {
        aoei_buffer out = convert(path, options(names[i]), NULL);
        free(path);
        path = test_write(test_dir, names[i], out.data, out.len);
        aoei_buffer_free(&out);
    }
    aoei_buffer out = convert(path, options(name), NULL);
    assert_string_equal(out.data, text);
    aoei_buffer_free(&out);
    free(path);
}

static void test_round_trips(void **state) {
    (void)state;
    static const char *const all[] = {"a.csv",     "b.jsonl",  "c.tsv",      "d.jsonl.gz",
                                      "e.csv.zst", "f.tsv.gz", "g.jsonl.zst"};
    static const char *const lossless[] = {"a.jsonl", "b.csv.gz", "c.jsonl.zst"};
    round_trip("in.tsv", "text1\tb \"c\"\tlabel\n\"a\" \xc3\xa9, \\n \tx\t5.000\n\t \t\n", all, 7);
    round_trip("one.tsv", "text\n\nx\n\n", all, 7);
    round_trip("in.csv", "a,\"b,\"\n\"x\ny\",\"\"\"\tq\"\"\"\n\"\r\",\n", lossless, 3);
    round_trip("in.txt", "a \"b\"\n\nc\td\n", lossless, 3);
    /* a text that begins with the character U+FEFF, which is a byte order mark at the beginning of a file */
    round_trip("in.jsonl", "{\"\xef\xbb\xbfx\":\"\xef\xbb\xbf\",\"b\":\"x\"}\n", all, 7);
    round_trip("in.txt", "\xef\xbb\xbf\xef\xbb\xbfx\ny\n", lossless, 3);
    /* first lines that would be read as several columns, as a line that sets the delimiter, and as UTF-16 */
    round_trip("in.jsonl", "{\"a;b\":\"c;d\"}\n", lossless, 3);
    round_trip("in.csv", "\"a|b\"\nc|d\n", lossless, 3);
    round_trip("in.jsonl", "{\"sep=;\":\"c;d\"}\n", lossless, 3);
    round_trip("in.jsonl", "{\"sep=\":\"c;d\",\"\":\"x\"}\n", lossless, 3);
    round_trip("in.jsonl", "{\"text\":\"a\\u0000b\\u0000\"}\n", lossless, 3);
    round_trip("in.jsonl", "{\"a\":\"x\\u0000\\u001f\\\"\\\\\\n\\t\",\"b\":\"\xc3\xa9\"}\n", lossless, 3);
}

static void test_json_values(void **state) {
    (void)state;
    static const char text[] = "{\"a\":5,\"b\":[1,{\"c\":null},0.1],\"d\":true,\"e\":\"\"}\n"
                               "{\"e\": \"x\", \"d\": null, \"b\": [], \"a\": -2.50}\n";
    aoe_data_convert_options o = options("out.jsonl");
    expect(
        "in.jsonl", text, o,
        "{\"a\":5,\"b\":[1,{\"c\":null},0.1],\"d\":true,\"e\":\"\"}\n{\"a\":-2.5,\"b\":[],\"d\":null,\"e\":\"x\"}\n");
    o = options("out.csv");
    expect_error(
        "in.jsonl", text, o, AOE_EFORMAT,
        "in.jsonl:1: column 'b' contains a list or an object, which .csv cannot represent; use .jsonl for the output");
    o.keep = "d,a,e";
    o.rename = "a=label";
    expect("in.jsonl", text, o, "d,label,e\ntrue,5,\n,-2.5,x\n");
    expect_error(
        "in.jsonl", "{\"a\":1}\n{\"a\":1,\"b\":2}\n", options("out.csv"), AOE_EFORMAT,
        "in.jsonl:2: the row has 2 keys, but the first row has 1; choose the columns to write with options.keep");
    expect_error(
        "in.jsonl", "{\"a\":12345678901234567890}\n", options("out.csv"), AOE_EFORMAT,
        "in.jsonl:1: the number in 'a' is too large to be converted exactly; write it as a string in the input");
    expect_error("in.jsonl", "{}\n", options("out.csv"), AOE_EFORMAT,
                 "the table has no columns; in .jsonl, the keys of the first row are the columns");
}

static void test_errors(void **state) {
    (void)state;
    aoe_data_convert_options o = options("out.tsv");
    expect_error(
        "in.csv", "a,b\nx,y\n\"p\nq\",r\n", o, AOE_EFORMAT,
        "in.csv:3: column 'a' contains a TAB or a line end, which .tsv cannot represent; use .jsonl or .csv for "
        "the output");
    expect_error(
        "in.csv", "\"a\tb\"\nx\n", o, AOE_EFORMAT,
        "out.tsv: the name of column 'a?b' contains a TAB or a line end, which .tsv cannot represent; rename it");
    expect_error(
        "in.csv", "\"a;b\"\nx\n", o, AOE_EFORMAT,
        "out.tsv: the header 'a;b' would be read as other columns; use .csv or .jsonl for the output, or rename the "
        "column");
    expect_error(
        "in.csv", "sep=,\nsep=,\nx,y\n", o, AOE_EFORMAT,
        "out.tsv: the header 'sep=?' would be read as other columns; use .csv or .jsonl for the output, or rename the "
        "column");
    expect_error(
        "in.jsonl", "{\"text\":\"a\\u0000b\\u0000\"}\n", options("out.txt"), AOE_EFORMAT,
        "in.jsonl: the first line contains NUL characters, so that the output would be read as UTF-16; use .jsonl or "
        ".csv for the output");
    expect_error("in.csv", "a\n", o, AOE_EFORMAT,
                 "in.csv: the table has no valid rows (0 bad rows); use a table with rows");
    expect_error("in.tsv", "a\ta\nx\ty\n", options("out.jsonl"), AOE_EFORMAT,
                 "out.jsonl: two columns are named 'a', but keys of .jsonl must be unique; rename one");
    expect_error("in.tsv", "a\tb\nx\ty\n", options("out.txt"), AOE_EARG,
                 "out.txt: a .txt file has one column, but there are 2; choose one with options.keep");
    o.keep = "a,c";
    expect_error("in.tsv", "a\tb\nx\ty\n", o, AOE_EARG,
                 "options.keep: no column 'c' in the output; name an existing column");
    o.keep = "a,a";
    expect_error("in.tsv", "a\tb\nx\ty\n", o, AOE_EARG, "options.keep: 'a' is given twice; remove one");
    o.keep = NULL;
    o.rename = "a";
    expect_error("in.tsv", "a\tb\nx\ty\n", o, AOE_EARG,
                 "options.rename: 'a' is not OLD=NEW; write for example sentence1=text1");
    o.rename = NULL;
    expect_error("in.tsv", "a\tb\nx\n", o, AOE_EFORMAT,
                 "in.tsv:2: the row has 1 field, but the header has 2; correct the row or set options.skip_bad_rows");
    o.table.skip_bad_rows = 1;
    expect("in.tsv", "a\tb\nx\n1\t2\n", o, "a\tb\n1\t2\n");
}

/* A write callback that cancels the conversion. */
static int cancel(void *user, size_t part, const char *data, size_t len) {
    (void)user;
    (void)part;
    (void)data;
    return len > 0;
}

static void test_cancelled(void **state) {
    (void)state;
    aoe_data_convert_options o = options("out.jsonl.gz");
    aoe_error err;
    char *path = test_write_text(test_dir, "in.tsv", "a\nb\n");
    o.write = cancel;
    assert_int_equal(aoe_data_convert(path, &o, NULL, &err), AOE_ECANCELLED);
    o.name = "out.tsv.zst";
    assert_int_equal(aoe_data_convert(path, &o, NULL, &err), AOE_ECANCELLED);
    free(path);
}

static const char nli[] = "premise\thypothesis\tlabel\n"
                          "p\te1\tentailment\n"
                          "q\te\tentailment\n"
                          "p\tn1\tneutral\n"
                          "P\tc0\tcontradiction\n"
                          "p\tc1\tcontradiction\n"
                          "p\te2\tentailment\n"
                          "p\tc2\tcontradiction\n"
                          "p\tc3\tcontradiction\n"
                          "r\tn\tneutral\n";

static void test_triplets_of_nli(void **state) {
    (void)state;
    aoe_data_convert_options o = options("out.tsv");
    aoe_data_convert_result r = {.struct_size = sizeof r};
    o.to = AOE_EXAMPLES_TRIPLETS;
    expect("nli.tsv", nli, o, "query\tpositive\tnegative\np\te1\tc1\np\te2\tc2\n");
    char *path = test_path(test_dir, "nli.tsv");
    aoei_buffer out = convert(path, o, &r);
    aoei_buffer_free(&out);
    assert_int_equal(r.rows, 7);
    assert_int_equal(r.dropped, 2);
    assert_int_equal(r.written, 2);
    /* without the two neutral rows, which are dropped, the column `premise` contains the texts p, q and P */
    assert_int_equal(r.texts, 3);
    assert_int_equal(r.without, 2);
    assert_int_equal(r.unused, 3);
    o.equality = AOE_TEXT_EQUAL_CASE;
    expect("nli.tsv", nli, o, "query\tpositive\tnegative\np\te1\tc0\np\te2\tc1\n");
    o.equality = AOE_TEXT_EQUAL_EXACT;
    o.pairing = AOE_PAIRING_ALL;
    expect("nli.tsv", nli, o,
           "query\tpositive\tnegative\np\te1\tc1\np\te1\tc2\np\te1\tc3\np\te2\tc1\np\te2\tc2\np\te2\tc3\n");
    o.pairing = AOE_PAIRING_SAMPLE;
    out = convert(path, o, &r);
    aoei_buffer again = convert(path, o, NULL);
    assert_string_equal(out.data, again.data);
    assert_int_equal(r.written, 2);
    /* the unused rows are the rows of q and P, and those rows with c1, c2 or c3 that were not drawn as negatives of
     * p */
    assert_true(r.unused == 3 || r.unused == 4);
    assert_non_null(strstr(out.data, "p\te1\tc"));
    assert_non_null(strstr(out.data, "p\te2\tc"));
    aoei_buffer_free(&out);
    aoei_buffer_free(&again);
    free(path);
    expect_error(
        "nli2.tsv", "premise\thypothesis\tlabel\np\ta\t1\nq\tb\t0\n", o, AOE_EFORMAT,
        "nli2.tsv: none of the 2 rows can be converted: no text1 has both a positive and a negative pair; change "
        "options.threshold or options.label_map, or use other data");
}

static void test_other_conversions(void **state) {
    (void)state;
    static const char sts[] = "score,sentence1,sentence2\n5.0,a,b\n4,\"c,\",d\n3.9,e,f\n0,g,h\n";
    static const char triplets[] = "{\"query\":[\"a\",\"A\"],\"positive\":\"b\",\"negative\":\"c\"}\n";
    aoe_data_convert_options o = options("out.csv");
    o.to = AOE_EXAMPLES_POSITIVES;
    expect("sts.csv", sts, o, "query,positive\na,b\n\"c,\",d\n");
    o.threshold = 4.5;
    o.rename = "query=text";
    expect("sts.csv", sts, o, "text,positive\na,b\n");
    o = options("out.jsonl");
    o.to = AOE_EXAMPLES_PAIRS;
    expect("sts.csv", sts, o,
           "{\"text1\":\"a\",\"text2\":\"b\",\"label\":5}\n{\"text1\":\"c,\",\"text2\":\"d\",\"label\":4}\n"
           "{\"text1\":\"e\",\"text2\":\"f\",\"label\":3.9}\n{\"text1\":\"g\",\"text2\":\"h\",\"label\":0}\n");
    expect("in.jsonl", triplets, o,
           "{\"text1\":[\"a\",\"A\"],\"text2\":\"b\",\"label\":1}\n"
           "{\"text1\":[\"a\",\"A\"],\"text2\":\"c\",\"label\":0}\n");
    o.to = AOE_EXAMPLES_POSITIVES;
    expect("in.jsonl", triplets, o, "{\"query\":[\"a\",\"A\"],\"positive\":\"b\"}\n");
    o.to = AOE_EXAMPLES_TRIPLETS;
    expect("in.jsonl", triplets, o, triplets);
    o.name = "out.tsv";
    expect_error("in.jsonl", triplets, o, AOE_EFORMAT,
                 "in.jsonl:1: column 'query' contains a list or an object, which .tsv cannot represent; use .jsonl for "
                 "the output");
}

/* Tests negatives that are drawn at random. The file contains six texts, each of which forms a positive pair with two
 * other texts. Its possible negatives are the remaining three texts. */
static void test_drawn_negatives(void **state) {
    (void)state;
    static const char ring[] = "query\tpositive\na\tb\nb\tc\nc\td\nd\te\ne\tf\nf\ta\n";
    static const char known[] = "ab bc cd de ef fa ba cb dc ed fe af aa bb cc dd ee ff";
    aoe_data_convert_options o = options("out.tsv");
    aoe_data_convert_result r = {.struct_size = sizeof r};
    char *path = test_write_text(test_dir, "ring.tsv", ring);
    o.to = AOE_EXAMPLES_TRIPLETS;
    o.negatives = 3;
    aoei_buffer out = convert(path, o, &r), again = convert(path, o, NULL);
    assert_int_equal(r.written, 18);
    assert_int_equal(r.without, 0);
    assert_string_equal(out.data, again.data);
    char seen[18][6];
    const char *line = strchr(out.data, '\n') + 1;
    for (size_t i = 0; i < 18; i++, line += 6) {
        const char pair[] = {line[0], line[4], 0};
        assert_null(strstr(known, pair));
        memcpy(seen[i], line, 6);
        for (size_t k = 0; k < i; k++)
            assert_memory_not_equal(seen[k], line, 6);
    }
    aoei_buffer_free(&again);
    o.seed = 7;
    o.negatives = 1;
    o.to = AOE_EXAMPLES_PAIRS;
    aoei_buffer_free(&out);
    out = convert(path, o, &r);
    assert_int_equal(r.written, 12);
    assert_memory_equal(out.data, "text1\ttext2\tlabel\na\tb\t1\na\t", 26);
    aoei_buffer_free(&out);
    o.negatives = 0;
    expect("ring.tsv", ring, o, "text1\ttext2\tlabel\na\tb\t1\nb\tc\t1\nc\td\t1\nd\te\t1\ne\tf\t1\nf\ta\t1\n");
    o.to = AOE_EXAMPLES_TRIPLETS;
    expect_error("ring.tsv", ring, o, AOE_EARG,
                 "triplets need a negative; set options.negatives to at least 1, or mine negatives");
    o.negatives = 1;
    expect_error(
        "two.tsv", "query\tpositive\na\tb\n", o, AOE_EFORMAT,
        "two.tsv: none of the 1 rows can be converted: every text already occurs with every other text; change "
        "options.threshold or options.label_map, or use other data");
    free(path);
}

typedef struct memory_case {
    const char *file, *name;
    aoe_example_kind to;
} memory_case;

static int convert_once(void *arg) {
    const memory_case *c = arg;
    char *path = test_path(test_dir, c->file);
    aoei_buffer out = {0};
    aoe_error err = {0};
    aoe_data_convert_options o = options(c->name);
    o.to = c->to;
    o.user = &out;
    int code = aoe_data_convert(path, &o, NULL, &err);
    if (code == AOE_ECANCELLED && out.failed)
        /* an allocation for the test's own buffer failed, and the callback therefore cancelled the conversion */
        code = AOE_ENOMEM;
    aoei_buffer_free(&out);
    free(path);
    return code;
}

static void test_memory(void **state) {
    (void)state;
    free(test_write_text(test_dir, "m.tsv", nli));
    free(test_write_text(test_dir, "m.jsonl",
                         "{\"query\":\"a\",\"positive\":\"b\"}\n{\"query\":\"c\",\"positive\":\"d\"}\n"));
    memory_case cases[] = {{"m.tsv", "o.csv.gz", AOE_EXAMPLES_AUTO},
                           {"m.jsonl", "o.jsonl", AOE_EXAMPLES_AUTO},
                           {"m.tsv", "o.tsv", AOE_EXAMPLES_TRIPLETS},
                           {"m.tsv", "o.jsonl", AOE_EXAMPLES_POSITIVES},
                           {"m.jsonl", "o.tsv", AOE_EXAMPLES_TRIPLETS}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_true(test_alloc_failures(convert_once, &cases[i], 100) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trips),     cmocka_unit_test(test_json_values),
        cmocka_unit_test(test_errors),          cmocka_unit_test(test_cancelled),
        cmocka_unit_test(test_triplets_of_nli), cmocka_unit_test(test_other_conversions),
        cmocka_unit_test(test_drawn_negatives), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
