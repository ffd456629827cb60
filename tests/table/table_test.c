/* SPDX-License-Identifier: MIT
 * covers: base/closest table/columns table/csv table/json_rows table/quotes
 * Tests reading of tables in all file formats: rows, quoting, delimiters, columns, and the messages for invalid files.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/compress.h"
#include "../support/support.h"
#include "aoe_data.h"
#include "table/columns.h"
#include "table/table.h"

static aoei_table *open_table(const char *name, const char *data, size_t size) {
    aoe_error err = {0};
    aoei_table *t;
    char *path = test_write(test_dir, name, data, size);
    if (aoei_table_open(&t, path, NULL, &err))
        fail_msg("%s", err.message);
    free(path);
    return t;
}

/* Writes a file, opens it as a table and selects all columns. */
static aoei_table *open_all(const char *name, const char *data, size_t size) {
    aoei_table *t = open_table(name, data, size);
    size_t index[16];
    size_t n = aoei_table_columns(t);
    assert_true(n <= 16);
    for (size_t i = 0; i < n; i++)
        index[i] = i;
    assert_int_equal(aoei_table_select(t, index, n, NULL), 0);
    return t;
}

/* Asserts that the next row begins in line `line`. want: the expected fields of the row, joined by '|'. */
static void expect_row(aoei_table *t, size_t line, const char *want) {
    aoe_error err = {0};
    aoei_row row;
    char got[1000] = "";
    size_t len = 0;
    int rc = aoei_table_next(t, &row, &err);
    if (rc != 1)
        fail_msg("expected a row, found code %d: %s", rc, err.message);
    for (size_t i = 0; i < aoei_table_columns(t); i++) {
        const aoei_field *f = &row.field[i];
        if (i)
            got[len++] = '|';
        if (f->kind == AOEI_FIELD_NUMBER)
            len += (size_t)snprintf(got + len, sizeof got - len, "#%g", f->number);
        else if (f->kind == AOEI_FIELD_LIST)
            len += (size_t)snprintf(got + len, sizeof got - len, "list of %zu", json_array_size(f->list));
        else if (f->kind == AOEI_FIELD_OTHER)
            len += (size_t)snprintf(got + len, sizeof got - len, "other");
        else
            for (size_t k = 0; k < f->text.len; k++)
                got[len++] = f->text.data[k] ? f->text.data[k] : '0';
        got[len] = 0;
    }
    assert_string_equal(got, want);
    assert_int_equal(row.line, line);
}

/* Asserts that the next row is bad. want: the expected message, without the directory of the file at its beginning. */
static void expect_bad(aoei_table *t, const char *want) {
    aoe_error err = {0};
    aoei_row row;
    assert_int_equal(aoei_table_next(t, &row, &err), AOEI_BAD_ROW);
    assert_int_equal(err.code, AOE_EFORMAT);
    assert_memory_equal(err.message, test_dir, strlen(test_dir));
    assert_string_equal(err.message + strlen(test_dir) + 1, want);
}

static void expect_end(aoei_table *t) {
    aoei_row row;
    assert_int_equal(aoei_table_next(t, &row, NULL), 0);
    aoei_table_close(t);
}

#define UNFINISHED                                                                                                     \
    ": the line ends before the JSON object does; write each object on one line, for example with jq -c, or set "      \
    "options.skip_bad_rows"
#define ROW_REMEDY "; correct the row or set options.skip_bad_rows"

static void test_tsv(void **state) {
    (void)state;
    static const char text[] = "a\tb\tc\r\n1\t\"two\"\t\r\n\t\t\"\n1\t2\nx\ty\tz\tw\n\n, \t;\t'";
    aoei_table *t = open_all("t.tsv", text, sizeof text - 1);
    assert_int_equal(aoei_table_format(t), AOE_TABLE_TSV);
    assert_int_equal(aoei_table_columns(t), 3);
    expect_row(t, 2, "1|\"two\"|");
    expect_row(t, 3, "||\"");
    expect_bad(t, "t.tsv:4: the row has 2 fields, but the header has 3" ROW_REMEDY);
    expect_bad(t, "t.tsv:5: the row has 4 fields, but the header has 3" ROW_REMEDY);
    expect_row(t, 7, ", |;|'"); /* the empty line before this row is skipped */
    expect_end(t);
}

static void test_csv(void **state) {
    (void)state;
    static const char text[] = "\xEF\xBB\xBF\"a\",b,\"c, d\"\r\n"
                               "1,\"say \"\"hi\"\"\",\"\"\r\n"
                               "\"two\r\nlines\n\",,\"x,y\"\r\n"
                               ",,\r\n"
                               "1,2\r\n"
                               "it's\tfine,\xC3\xA9,\"\"\"\"";
    aoei_table *t = open_all("t.csv", text, sizeof text - 1);
    assert_int_equal(aoei_table_columns(t), 3);
    assert_memory_equal(aoei_table_column(t, 2).data, "c, d", 4);
    expect_row(t, 2, "1|say \"hi\"|");
    expect_row(t, 3, "two\r\nlines\n||x,y");
    expect_row(t, 6, "||");
    expect_bad(t, "t.csv:7: the row has 2 fields, but the header has 3" ROW_REMEDY);
    expect_row(t, 8, "it's\tfine|\xC3\xA9|\"");
    expect_end(t);
}

static void test_csv_bad_quotes(void **state) {
    (void)state;
    static const char text[] = "a,b\n1,x\"y\n\"1\"2,x\n\"long\nfield\" ,x\n3,4\n5,\"open\n6,7\n";
    aoei_table *t = open_all("q.csv", text, sizeof text - 1);
    expect_bad(
        t,
        "q.csv:2:4: a quote inside an unquoted field; enclose the whole field in quotes and double the quotes in it, "
        "set options.quoting to none, or set options.skip_bad_rows");
    expect_bad(
        t, "q.csv:3:4: text after a closing quote; enclose the whole field in quotes and double the quotes in it, set "
           "options.quoting to none, or set options.skip_bad_rows");
    expect_bad(
        t, "q.csv:5:7: text after a closing quote; enclose the whole field in quotes and double the quotes in it, set "
           "options.quoting to none, or set options.skip_bad_rows");
    expect_row(t, 6, "3|4");
    aoe_error err = {0};
    aoei_row row;
    /* reading ends with an error instead of a bad row, because the reader cannot know where the row ends */
    assert_int_equal(aoei_table_next(t, &row, &err), AOE_EFORMAT);
    assert_string_equal(err.message + strlen(test_dir) + 1,
                        "q.csv:7:3: the quoted field that begins here is never closed; add the closing quote");
    aoei_table_close(t);
}

static void test_jsonl(void **state) {
    (void)state;
    static const char text[] = "\n{\"a\": \"x\\u0000y\", \"b\": 1, \"c\": true}\n"
                               "{\"c\": false, \"extra\": 12345678901234567890123, \"b\": -2.5, \"a\": \"\\u00e9\"}\r\n"
                               "  \n"
                               "{\"a\": \"x\", \"b\": null, \"c\": [1]}\n"
                               "{\"a\": \"x\", \"b\": 1}\n"
                               "[1, 2]\n"
                               "{\"a\": \"x\"\n"
                               "{\"a\": \"x\", \"a\": \"y\", \"b\": 1, \"c\": 1}\n"
                               "{\"a\": \"x\", \"b\": 1, \"c\": 1} {}\n"
                               "{\"a\": \"last\", \"b\": 0, \"c\": \"w\"}";
    aoei_table *t = open_all("t.jsonl", text, sizeof text - 1);
    expect_row(t, 2, "x0y|#1|true");
    expect_row(t, 3, "\xC3\xA9|#-2.5|false");
    expect_row(t, 5, "x|other|list of 1");
    expect_bad(t, "t.jsonl:6: the object has no key 'c'" ROW_REMEDY);
    expect_bad(t, "t.jsonl:7: the line is not a JSON object" ROW_REMEDY);
    expect_bad(t, "t.jsonl:8" UNFINISHED);
    aoei_row row;
    assert_int_equal(aoei_table_next(t, &row, NULL), AOEI_BAD_ROW); /* duplicate key */
    assert_int_equal(aoei_table_next(t, &row, NULL), AOEI_BAD_ROW); /* text after the object */
    expect_row(t, 11, "last|#0|w");
    expect_end(t);
}

static void test_txt(void **state) {
    (void)state;
    aoei_table *t = open_all("t.txt", "one\ttab\n\n\"three\"", 16);
    expect_row(t, 1, "one\ttab");
    expect_row(t, 2, "");
    expect_row(t, 3, "\"three\"");
    expect_end(t);
    expect_end(open_all("none.txt", "", 0));
}

static void test_compressed_tables(void **state) {
    (void)state;
    static const char tsv[] = "a\tb\n1\t2\n", csv[] = "a,b\n1,2\n", jsonl[] = "{\"a\": \"1\", \"b\": \"2\"}\n";
    const struct {
        const char *name, *text;
        size_t line;
    } cases[] = {{"c.tsv.gz", tsv, 2}, {"c.CSV.zst", csv, 2}, {"c.jsonl.GZ", jsonl, 1}};
    for (size_t i = 0; i < 3; i++) {
        size_t size;
        char *data = (i == 1 ? test_zstd : test_gzip)(cases[i].text, strlen(cases[i].text), &size);
        aoei_table *t = open_all(cases[i].name, data, size);
        expect_row(t, cases[i].line, "1|2");
        expect_end(t);
        free(data);
    }
}

/* Writes a file, opens it as a table with the options o and selects all its columns. The file has at most 3 columns. */
static aoei_table *open_with(const char *name, const char *data, const aoe_table_options *o) {
    aoe_error err = {0};
    aoei_table *t;
    const size_t index[] = {0, 1, 2};
    char *path = test_write(test_dir, name, data, strlen(data));
    if (aoei_table_open(&t, path, o, &err))
        fail_msg("%s", err.message);
    assert_in_range(aoei_table_columns(t), 1, 3);
    assert_int_equal(aoei_table_select(t, index, aoei_table_columns(t), NULL), 0);
    free(path);
    return t;
}

static void test_delimiters(void **state) {
    static const struct {
        const char *name, *text;
        char delimiter;
        size_t line;
        const char *row;
    } cases[] = {{"s.csv", "a;b;c\nx, y;\"1;2\";z\n", 0, 2, "x, y|1;2|z"},
                 {"t.csv", "a\tb\tc\nx\t\"1\t2\"\tz\n", 0, 2, "x|1\t2|z"},
                 {"p.csv", "a|b|c\nx|y|z\n", 0, 2, "x|y|z"},
                 /* the delimiter of the format has priority over other delimiters that occur in the header */
                 {"o.csv", "a;1,b;2\nx;y,z\n", 0, 2, "x;y|z"},
                 {"q.csv", "\"a,1\";b\nx;\"y\"\n", 0, 2, "x|y"},
                 {"one.csv", "a\nx;y\n", 0, 2, "x;y"},
                 {"c.tsv", "a,b\n\"x,y\",z\n", 0, 2, "x,y|z"},
                 {"t.tsv", "a\tb,c\n\"x\ty\n", 0, 2, "\"x|y"},
                 {"sep.csv", "sep=;\na;b\nx;y\n", 0, 3, "x|y"},
                 {"sep.tsv", "\xEF\xBB\xBFSEP=|\r\na|b\r\nx|y\r\n", 0, 3, "x|y"},
                 {"given.csv", "a;b,c\nx;y,z\n", ';', 2, "x|y,z"},
                 {"given.txt", "a:b\nx:\"y:z\"\n", ':', 2, "x|y:z"},
                 {"given2.txt", "a\tb\nx\t\"y\n", '\t', 2, "x|\"y"},
                 {"text.txt", "a,b\nx;y\n", 0, 1, "a,b"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const aoe_table_options o = {.struct_size = sizeof(aoe_table_options), .delimiter = cases[i].delimiter};
        aoei_table *t = open_with(cases[i].name, cases[i].text, &o);
        expect_row(t, cases[i].line, cases[i].row);
        aoei_table_close(t);
    }
}

/* Tests options.input_format. It is required if the file name has no known extension, for example if the file is a
 * pipe. If the name has a known extension, options.input_format overrides the extension. */
static void test_given_format(void **state) {
    static const aoe_table_options jsonl = {.struct_size = sizeof(aoe_table_options), .input_format = AOE_TABLE_JSONL},
                                   csv = {.struct_size = sizeof(aoe_table_options), .input_format = AOE_TABLE_CSV},
                                   txt = {.struct_size = sizeof(aoe_table_options), .input_format = AOE_TABLE_TXT};
    (void)state;
    aoei_table *t = open_with("fd", "{\"a\":\"x\\ny\"}\n", &jsonl);
    expect_row(t, 1, "x\ny");
    aoei_table_close(t);
    t = open_with("63", "a,b\n\"x\ny\",z\n", &csv);
    expect_row(t, 2, "x\ny|z");
    aoei_table_close(t);
    t = open_with("words.tsv", "a\tb\n", &txt);
    expect_row(t, 1, "a\tb");
    aoei_table_close(t);
}

/* Tests options.no_header: the first line is a row. */
static void test_no_header(void **state) {
    static const aoe_table_options o = {.struct_size = sizeof(aoe_table_options), .no_header = 1};
    (void)state;
    aoei_table *t = open_with("n.csv", "\"a,\nb\",1,x\nc,2\nd,3,y\n", &o);
    assert_false(aoei_table_has_header(t));
    assert_string_equal(aoei_table_column(t, 0).data, "1");
    assert_string_equal(aoei_table_column(t, 2).data, "3");
    assert_int_equal(aoei_table_header_bytes(t).len, 0);
    expect_row(t, 1, "a,\nb|1|x");
    expect_bad(t, "n.csv:3: the row has 2 fields, but the header has 3" ROW_REMEDY);
    expect_row(t, 4, "d|3|y");
    expect_end(t);
    t = open_with("n.tsv",
                  "\xEF\xBB\xBF"
                  "a\tb\nc\td",
                  &o);
    expect_row(t, 1, "a|b");
    expect_row(t, 2, "c|d");
    expect_end(t);
    t = open_with("one.csv", "hello world\n\nrain\n", &o);
    assert_string_equal(aoei_table_column(t, 0).data, "text");
    expect_row(t, 1, "hello world");
    expect_row(t, 2, "");
    expect_row(t, 3, "rain");
    expect_end(t);
}

/* Tests options.whole_files: the whole file is one row, whatever its name and also if it is empty. */
static void test_whole_files(void **state) {
    static const aoe_table_options o = {.struct_size = sizeof(aoe_table_options), .whole_files = 1};
    static const aoe_table_options csv = {
        .struct_size = sizeof(aoe_table_options), .whole_files = 1, .input_format = AOE_TABLE_CSV};
    (void)state;
    aoei_table *t = open_with("a.md", "\xEF\xBB\xBF# Title\r\n\r\ntext\tx\n", &o);
    expect_row(t, 1, "# Title\n\ntext\tx\n");
    expect_end(t);
    t = open_with("a.csv", "x,y", &o);
    expect_row(t, 1, "x,y");
    expect_end(t);
    t = open_with("empty.py", "", &o);
    expect_row(t, 1, "");
    expect_end(t);
    aoe_error err = {0};
    char *path = test_write_text(test_dir, "w.txt", "x");
    assert_int_equal(aoei_table_open(&t, path, &csv, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.whole_files"));
    free(path);
}

static void expect_open_error(const char *name, const char *data, size_t size, int code, const char *want) {
    aoe_error err = {0};
    aoei_table *t;
    char *path = test_write(test_dir, name, data, size);
    assert_int_equal(aoei_table_open(&t, path, NULL, &err), code);
    assert_null(t);
    assert_int_equal(err.code, code);
    assert_string_equal(err.message + strlen(test_dir) + 1, want);
    assert_int_equal(aoei_table_open(&t, path, NULL, NULL), code);
    free(path);
}

/* Tests .jsonl files that begin with bad rows. The columns of the table are the keys of the first valid row. The bad
 * rows before it are returned first. If there are more than 100 such rows, the file is rejected. */
static void test_jsonl_bad_first_rows(void **state) {
    (void)state;
    static const char text[] = "[1]\n\n{\"a\": \n{\"a\": \"x\", \"b\": 1}\n]\n{\"a\": \"y\", \"b\": 2}\n";
    aoei_table *t = open_all("b.jsonl", text, sizeof text - 1);
    expect_bad(t, "b.jsonl:1: the line is not a JSON object" ROW_REMEDY);
    expect_bad(t, "b.jsonl:3" UNFINISHED);
    expect_row(t, 4, "x|#1");
    expect_bad(t, "b.jsonl:5:1: unexpected token near ']'" ROW_REMEDY);
    expect_row(t, 6, "y|#2");
    expect_end(t);
    char many[2 * 150 + 10] = "";
    for (size_t i = 0; i < 150; i++)
        memcpy(many + 2 * i, "1\n", 2);
    memcpy(many + 2 * 150, "{\"a\": 1}\n", 10);
    t = open_all("many.jsonl", many + 2 * 50, sizeof many - 1 - 2 * 50);
    for (int i = 1; i <= 100; i++) {
        char want[160];
        snprintf(want, sizeof want, "many.jsonl:%d: the line is not a JSON object" ROW_REMEDY, i);
        expect_bad(t, want);
    }
    expect_row(t, 101, "#1");
    expect_end(t);
    expect_open_error("more.jsonl", many + 2 * 49, sizeof many - 1 - 2 * 49, AOE_EFORMAT,
                      "more.jsonl:1: the line is not a JSON object" ROW_REMEDY);
}

static void test_open_errors(void **state) {
    (void)state;
    expect_open_error("e.tsv", "", 0, AOE_EFORMAT,
                      "e.tsv: the file is empty; expected a header line with the names of the columns");
    expect_open_error("e.csv", "\xEF\xBB\xBF", 3, AOE_EFORMAT,
                      "e.csv: the file is empty; expected a header line with the names of the columns");
    expect_open_error("e.jsonl", "\n \n", 3, AOE_EFORMAT,
                      "e.jsonl: the file is empty; expected one JSON object per line");
    expect_open_error(
        "h.csv", "a\"b,c\n", 6, AOE_EFORMAT,
        "h.csv:1:2: a quote inside an unquoted field; enclose the whole field in quotes and double the quotes in it, "
        "set options.quoting to none, or set options.skip_bad_rows");
    expect_open_error("h.jsonl", "\"text\"\n", 7, AOE_EFORMAT, "h.jsonl:1: the line is not a JSON object" ROW_REMEDY);
    expect_open_error("u.tsv", "a\t\xFF\n", 4, AOE_EFORMAT,
                      "u.tsv: invalid UTF-8 at byte 2, in line 1; convert the file to UTF-8, for example with iconv");
    expect_open_error("u16.tsv",
                      "\xFF\xFE"
                      "a\0\t\0b\0\n\0",
                      10, AOE_EFORMAT,
                      "u16.tsv: the text is UTF-16; convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8");
    expect_open_error("le.tsv", "a\0\t\0b\0\n\0", 8, AOE_EFORMAT,
                      "le.tsv: the text is UTF-16; convert it to UTF-8, for example with iconv -f UTF-16LE -t UTF-8");
    expect_open_error("be.tsv", "\0a\0\t\0b\0\n", 8, AOE_EFORMAT,
                      "be.tsv: the text is UTF-16; convert it to UTF-8, for example with iconv -f UTF-16BE -t UTF-8");
    expect_open_error(
        "data.dat", "x", 1, AOE_EARG,
        "data.dat: the file name has no known extension (.tsv, .csv, .jsonl, .json or .txt, optionally followed by .gz "
        "or .zst); "
        "rename the file");
#define CR_REMEDY                                                                                                      \
    ": lines end in CR (old Mac OS) instead of LF or CRLF; convert the file, for example with tr '\\r' '\\n'"
    expect_open_error("mac.csv", "a,b\rx,y\r", 8, AOE_EFORMAT, "mac.csv" CR_REMEDY);
    expect_open_error("mac.tsv", "a\tb\rx\ty\r", 8, AOE_EFORMAT, "mac.tsv" CR_REMEDY);
    expect_open_error("mac2.csv", "a,b\rx,\"y\n\"\r", 11, AOE_EFORMAT, "mac2.csv" CR_REMEDY);
    expect_open_error("sep.csv", "sep=x\na,b\n", 10, AOE_EFORMAT,
                      "sep.csv:1: 'sep=x' is not a valid delimiter; write for example sep=,");
    aoei_table *t;
    const aoe_table_options quote = {.struct_size = sizeof(aoe_table_options), .delimiter = '"'};
    aoe_error err;
    char *path = test_write(test_dir, "quote.csv", "a\n", 2);
    assert_int_equal(aoei_table_open(&t, path, &quote, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.delimiter must be one ASCII character"));
    free(path);
    assert_int_equal(aoei_table_open(&t, "/nonexistent/x.unknown", NULL, NULL), AOE_ENOENT);
    aoe_table_format format;
    assert_int_equal(aoei_table_format_of(&format, "-", NULL), 0);
    assert_int_equal(format, AOE_TABLE_TXT);
    assert_int_equal(aoei_table_format_of(&format, ".tsv", NULL), AOE_EARG);
    assert_int_equal(aoei_table_format_of(&format, "tsv.gz", NULL), AOE_EARG);
}

/* A .json file contains an array of objects, which may span several lines, or JSON lines. */
static void test_json(void **state) {
    (void)state;
    static const char text[] =
        "\n [\n  {\"a\": \"x]\\\\\\\"\",\n   \"b\": 1}, {\"b\": [\"y\", {}], \"a\": \"\\u0000\"}\n"
        "  , 3, {\"a\": \"x\"},\n\"text, ]\", {\"a\"\n: 1 2}\n,{\"a\":\n\"last\",\"b\":null}]\r\n\n";
    aoei_table *t = open_all("t.json", text, sizeof text - 1);
    assert_int_equal(aoei_table_format(t), AOE_TABLE_JSONL);
    expect_row(t, 3, "x]\\\"|#1");
    assert_string_equal(aoei_table_row_bytes(t).data, "{\"a\": \"x]\\\\\\\"\",    \"b\": 1}\n");
    expect_row(t, 4, "0|list of 2");
    expect_bad(t, "t.json:5: an element of the array is not a JSON object" ROW_REMEDY);
    expect_bad(t, "t.json:5: the object has no key 'b'" ROW_REMEDY);
    expect_bad(t, "t.json:6: an element of the array is not a JSON object" ROW_REMEDY);
    expect_bad(t, "t.json:6: the element that begins here is invalid: '}' expected near '2'" ROW_REMEDY);
    expect_row(t, 8, "last|other");
    expect_end(t);
    t = open_all("lines.json", "\n{\"a\": \"x\"}\n{\"a\":\n\"y\"}\n", 24);
    expect_row(t, 2, "x");
    expect_bad(t, "lines.json:3" UNFINISHED);
    aoei_table_close(t);
}

static void test_json_errors(void **state) {
    (void)state;
    static const struct {
        const char *name, *text, *want;
    } cases[] = {
        {"empty.json", " \n", "empty.json: the file is empty; expected one JSON object per line"},
        {"none.json", "[\n]\n", "none.json: the JSON array is empty; expected JSON objects"},
        {"open.json", "[\n\n", "open.json:2:1: the file ends before the JSON array does; correct the JSON array"},
        {"cut.json", "[\n{\"a\": \"",
         "cut.json:2: the file ends inside this element of the JSON array; correct the array"},
        {"comma.json", "[,1]", "comma.json:1:2: expected an element of the JSON array; correct the JSON array"},
        {"a.jsonl", "[{\"a\": 1}]",
         "a.jsonl: the file contains a JSON array, not one JSON object per line; rename it to .json, or set "
         "options.input_format "
         "to json"},
        {"b.jsonl", "\n[\n{\"a\": 1},\n{\"a\": 2}]\n",
         "b.jsonl: the file contains a JSON array, not one JSON object per line; rename it to .json, or set "
         "options.input_format "
         "to json"},
    };
    static const struct {
        const char *text, *want;
    } later[] = {
        {"[{\"a\": \"x\"} {\"a\": \"y\"}]",
         ":1:13: expected a comma or ] after an element of the JSON array; correct the JSON array"},
        {"[{\"a\": \"x\"},]", ":1:13: expected an element of the JSON array; correct the JSON array"},
        {"[{\"a\": \"x\"}]\n]", ":2:1: text after the end of the JSON array; correct the JSON array"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_open_error(cases[i].name, cases[i].text, strlen(cases[i].text), AOE_EFORMAT, cases[i].want);
    for (size_t i = 0; i < sizeof later / sizeof *later; i++) {
        aoei_table *t = open_all("l.json", later[i].text, strlen(later[i].text));
        aoei_row row;
        aoe_error err = {0};
        expect_row(t, 1, "x");
        assert_int_equal(aoei_table_next(t, &row, &err), AOE_EFORMAT);
        assert_string_equal(err.message + strlen(test_dir) + 1 + strlen("l.json"), later[i].want);
        aoei_table_close(t);
    }
}

/* A .tsv file whose fields are quoted as in CSV is an error, unless options.quoting is set. */
static void test_quoting(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int line; /* line that the error message names; 0: quotes are literal */
    } cases[] = {
        {"a\tb\n1\t2\n\"He said \"\"hi\"\".\"\tx\n", 3},
        {"a\tb\n\"x\ty\"\t2\n", 2},
        {"a\tb\n1\t\"two\nlines\"\n3\t4\n", 2},
        {"a\tb\n\"x \"\"y\"\"\"\t\"1, 2\"\n", 2},
        {"\"a\"\t\"b\"\n\"x\"\t\"y\"\n", 1},
        {"\"a\"\t\"b\"\n\"x\"\t1.5\n\"y\"\t\n", 1},
        {"a\tb\n\"yes\"\t2\n", 0}, /* quoted without need: the quotes may belong to the text */
        {"a\tb\n\"x \"\"y\"\"\"\t\"no need\"\n", 0},
        {"a\tb\n\"x \"\"y\"\"\"\t5\" wide\n", 0},       /* a quote in an unquoted field */
        {"a\tb\n\"x \"\"y\"\"\" z\t2\n", 0},            /* text after the closing quote */
        {"a\tb\n\"x \"\"y\"\"\"\t2\n1\t2\t\"3\"\n", 0}, /* a row with another number of fields */
        {"a\tb\n\"never closed\t2\n1\t2\n", 0},
        {"\"a\"\t\"b\"\n\"x\"\ty\n", 0},
        {"a\tb\nsay \"\"hi\"\"\t2\n", 0},
    };
    static const aoe_table_options automatic = {.struct_size = sizeof(aoe_table_options)};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoe_error err = {0};
        aoei_table *t;
        char *path = test_write_text(test_dir, "quotes.tsv", cases[i].text), want[40];
        snprintf(want, sizeof want, "quotes.tsv:%d: the fields are", cases[i].line);
        if (aoei_table_open(&t, path, &automatic, &err) != (cases[i].line ? AOE_EFORMAT : 0))
            fail_msg("%s: %s", cases[i].text, err.message);
        if (cases[i].line && !strstr(err.message, want))
            fail_msg("%s: %s", cases[i].text, err.message);
        aoei_table_close(t);
        free(path);
    }
    const aoe_table_options csv = {.struct_size = sizeof csv, .quoting = AOE_QUOTING_CSV},
                            none = {.struct_size = sizeof none, .quoting = AOE_QUOTING_NONE};
    aoei_table *t = open_with("q.tsv", "\"a\"\tb\n\"x \"\"y\"\"\tz\n\"\t2\n", &csv);
    assert_string_equal(aoei_table_column(t, 0).data, "a");
    expect_row(t, 2, "x \"y\"\tz\n|2");
    aoei_table_close(t);
    t = open_with("q.tsv", "a\tb\n\"x \"\"y\"\"\"\t2\n", &none);
    expect_row(t, 2, "\"x \"\"y\"\"\"|2");
    aoei_table_close(t);
    t = open_with("q.csv", "a,b\n5\" wide,\"2\n", &none);
    assert_int_equal(aoei_table_format(t), AOE_TABLE_TSV);
    expect_row(t, 2, "5\" wide|\"2");
    aoei_table_close(t);
    t = open_with("q.csv", "a;b\n5\" wide;2\n", &none);
    expect_row(t, 2, "5\" wide|2");
    aoei_table_close(t);
}

/* Asserts which columns of a table with the header `header` are selected for examples of the given kind. want: the
 * names of the expected columns, joined by '|'. */
static void expect_columns(const char *header, aoe_example_kind kind, const char *columns, const char *want) {
    aoe_error err = {0};
    aoei_table *t = open_table("columns.tsv", header, strlen(header));
    if (aoei_columns_select(t, kind, columns, &err))
        fail_msg("%s", err.message);
    char got[200] = "";
    size_t n = kind == AOE_EXAMPLES_TEXTS ? 1 : kind == AOE_EXAMPLES_POSITIVES ? 2 : 3;
    for (size_t i = 0; i < n; i++) {
        aoe_text name = aoei_table_selected(t, i);
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s%.*s", i ? "|" : "", (int)name.len, name.data);
    }
    assert_string_equal(got, want);
    aoei_table_close(t);
}

static void test_recognized_columns(void **state) {
    (void)state;
    expect_columns("text1\ttext2\tlabel\n", AOE_EXAMPLES_PAIRS, NULL, "text1|text2|label");
    expect_columns("score\tsentence1\tsentence2\tgenre\n", AOE_EXAMPLES_PAIRS, NULL, "sentence1|sentence2|score");
    expect_columns("label\tquestion1\tquestion2\n", AOE_EXAMPLES_PAIRS, NULL, "question1|question2|label");
    expect_columns("label\tpremise\thypothesis\n", AOE_EXAMPLES_PAIRS, NULL, "premise|hypothesis|label");
    expect_columns("label\tquestion\tsentence\tindex\n", AOE_EXAMPLES_PAIRS, NULL, "question|sentence|label");
    expect_columns("label\tcontext\thypothesis\tsubset\n", AOE_EXAMPLES_PAIRS, NULL, "context|hypothesis|label");
    expect_columns("similarity\tsentence2\tsentence1\n", AOE_EXAMPLES_PAIRS, NULL, "sentence1|sentence2|similarity");
    /* the first name in the documented order is selected, regardless of the order of the columns in the file */
    expect_columns("similarity\tscore\tlabel\tsentence1\tsentence2\ttext1\ttext2\n", AOE_EXAMPLES_PAIRS, NULL,
                   "text1|text2|label");
    expect_columns("context\tquestion\tsentence\tscore\n", AOE_EXAMPLES_PAIRS, NULL, "question|sentence|score");
    expect_columns("positive\tquery\n", AOE_EXAMPLES_POSITIVES, NULL, "query|positive");
    expect_columns("query\tpositive\tnegative\n", AOE_EXAMPLES_TRIPLETS, NULL, "query|positive|negative");
    expect_columns("premise\tentailment\tcontradiction\n", AOE_EXAMPLES_TRIPLETS, NULL,
                   "premise|entailment|contradiction");
    expect_columns("id\ttext\n", AOE_EXAMPLES_TEXTS, NULL, "text");
}

/* Tests column names in upper and lower case. A column with exactly a recognized name has priority. If there is no such
 * column, case is ignored. */
static void test_case_of_columns(void **state) {
    (void)state;
    expect_columns("Text1\tTEXT2\tLabel\n", AOE_EXAMPLES_PAIRS, NULL, "Text1|TEXT2|Label");
    expect_columns("Text1\tsentence1\tText2\tlabel\n", AOE_EXAMPLES_PAIRS, NULL, "sentence1|Text2|label");
    expect_columns("Text1\ttext1\ttext2\tlabel\n", AOE_EXAMPLES_PAIRS, NULL, "text1|text2|label");
    expect_columns("Left\tright\tgold\n", AOE_EXAMPLES_PAIRS, "text1=left,text2=RIGHT,label=Gold", "Left|right|gold");
}

static void test_columns_option(void **state) {
    (void)state;
    expect_columns("a\tb\tc\n", AOE_EXAMPLES_PAIRS, "text1=a,text2=b,label=c", "a|b|c");
    expect_columns("a\tb\tc\n", AOE_EXAMPLES_PAIRS, "label=a,text1=c,text2=b", "c|b|a");
    expect_columns("x=1\ttext2\tlabel\tscore\n", AOE_EXAMPLES_PAIRS, "label=score,text1=x=1,", "x=1|text2|score");
    expect_columns("body\ttitle\n", AOE_EXAMPLES_TEXTS, "text=body", "body");
    expect_columns("text1\ttext1\tb\ttext2\tlabel\n", AOE_EXAMPLES_PAIRS, "text1=b", "b|text2|label");
}

static void expect_column_error(const char *name, const char *header, const char *columns, int code, const char *want) {
    aoe_error err = {0};
    aoei_table *t = open_table(name, header, strlen(header));
    assert_int_equal(aoei_columns_select(t, AOE_EXAMPLES_PAIRS, columns, &err), code);
    size_t skip = memcmp(err.message, test_dir, strlen(test_dir)) == 0 ? strlen(test_dir) + 1 : 0;
    assert_string_equal(err.message + skip, want);
    aoei_table_close(t);
}

static void test_column_errors(void **state) {
    (void)state;
    expect_column_error(
        "m.tsv", "id\tsentence1\tscore\n", NULL, AOE_EFORMAT,
        "m.tsv: no column for text2: expected text2, sentence2, question2, hypothesis, sentence, positive, answer; "
        "found id, "
        "sentence1, score; set options.columns to text2=NAME");
    expect_column_error("m.tsv", "text1\ttext2\tlabel\n", "label=gold", AOE_EFORMAT,
                        "m.tsv: no column 'gold' (from options.columns label=gold); found text1, text2, label");
    expect_column_error(
        "m.csv", "a\tb\n", NULL, AOE_EFORMAT,
        "m.csv: no column for text1: expected text1, sentence1, question1, premise, question, context, query, "
        "anchor; found "
        "a, b; set options.columns to text1=NAME");
    expect_column_error(
        "c.tsv", "Text1\ttext2\tTEXT1\tlabel\n", NULL, AOE_EFORMAT,
        "c.tsv: no column for text1: expected text1, sentence1, question1, premise, question, context, query, "
        "anchor; found "
        "Text1, text2, TEXT1, label; set options.columns to text1=NAME");
    expect_column_error(
        "m.jsonl", "{}\n", NULL, AOE_EFORMAT,
        "m.jsonl: no column for text1: expected text1, sentence1, question1, premise, question, context, query, "
        "anchor; found "
        "none; set options.columns to text1=NAME");
    expect_column_error("u.csv", "left^right^rating\n", NULL, AOE_EFORMAT,
                        "u.csv: the header has one field, 'left^right^rating'; set options.delimiter if the fields are "
                        "separated by another character");
    expect_column_error("t.txt", "text1\ttext2\tlabel\n", NULL, AOE_EFORMAT,
                        "t.txt: a .txt file has no columns; use a .tsv, .csv or .jsonl table");
    expect_column_error("d.tsv", "text1\ttext2\ttext1\tlabel\n", NULL, AOE_EFORMAT,
                        "d.tsv: 2 columns are named 'text1'; rename all but one");
    expect_column_error(
        "o.tsv", "a\tb\n", "first=a", AOE_EARG,
        "options.columns: 'first=a' is not ROLE=NAME with one of the roles text1, text2, label; write for example "
        "text1=NAME");
    expect_column_error(
        "o.tsv", "a\tb\n", "text1", AOE_EARG,
        "options.columns: 'text1' is not ROLE=NAME with one of the roles text1, text2, label; write for example "
        "text1=NAME");
    expect_column_error(
        "o.tsv", "a\tb\n", "text1=", AOE_EARG,
        "options.columns: 'text1=' is not ROLE=NAME with one of the roles text1, text2, label; write for example "
        "text1=NAME");
    expect_column_error(
        "o.tsv", "a\tb\n", "txt1=a,text2=b", AOE_EARG,
        "options.columns: 'txt1=a' is not ROLE=NAME with one of the roles text1, text2, label; did you mean "
        "text1=NAME?");
    expect_column_error("o.tsv", "a\tb\n", "text1=a,text1=b", AOE_EARG,
                        "options.columns: text1 is given twice; remove one");
}

/* An unknown role is reported although the kind of the examples is detected. */
static void test_unknown_role(void **state) {
    (void)state;
    static const char header[] = "a\tb\tc\n";
    aoe_error err = {0};
    aoe_example_kind kind;
    aoei_table *t = open_table("role.tsv", header, strlen(header));
    assert_int_equal(aoei_columns_detect(&kind, t, "query=a,positiv=b,negative=c", &err), AOE_EARG);
    assert_string_equal(err.message,
                        "options.columns: 'positiv=b' is not ROLE=NAME with one of the roles text1, text2, label, "
                        "query, positive, negative; did you mean positive=NAME?");
    assert_int_equal(aoei_columns_detect(&kind, t, "query=a,positive=b,negative=c", &err), 0);
    assert_int_equal(kind, AOE_EXAMPLES_TRIPLETS);
    aoei_table_close(t);
}

static void test_many_columns_in_a_message(void **state) {
    (void)state;
    char header[4000] = "";
    for (size_t i = 0; i < 60; i++)
        snprintf(header + strlen(header), sizeof header - strlen(header), "%sa_column_with_a_rather_long_name_%zu",
                 i ? "\t" : "", i);
    aoe_error err = {0};
    aoei_table *t = open_table("wide.tsv", header, strlen(header));
    assert_int_equal(aoei_columns_select(t, AOE_EXAMPLES_PAIRS, NULL, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "a_column_with_a_rather_long_name_7, "));
    assert_non_null(strstr(err.message, ", ...; set options.columns to text1=NAME"));
    aoei_table_close(t);
}

static void test_excerpt(void **state) {
    (void)state;
    char out[AOEI_EXCERPT], text[100];
    assert_string_equal(aoei_excerpt(out, (aoe_text){"a\0b", 3}), "a?b");
    assert_string_equal(aoei_excerpt(out, (aoe_text){NULL, 0}), "");
    memset(text, 'x', sizeof text);
    assert_int_equal(strlen(aoei_excerpt(out, (aoe_text){text, AOEI_EXCERPT - 1})), AOEI_EXCERPT - 1);
    assert_string_equal(aoei_excerpt(out, (aoe_text){text, AOEI_EXCERPT}) + AOEI_EXCERPT - 4, "...");
    /* the excerpt must not end in the middle of a two-byte character */
    for (size_t i = 0; i + 1 < sizeof text; i += 2)
        memcpy(text + i, "\xC3\xA9", 2);
    text[0] = 'x';
    text[1] = 'x';
    text[2] = 'x';
    for (size_t i = 3; i + 1 < sizeof text; i += 2)
        memcpy(text + i, "\xC3\xA9", 2);
    assert_int_equal(strlen(aoei_excerpt(out, (aoe_text){text, 99})), AOEI_EXCERPT - 2);
    assert_memory_equal(out + AOEI_EXCERPT - 7, "\xC3\xA9...", 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tsv),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_bad_quotes),
        cmocka_unit_test(test_jsonl),
        cmocka_unit_test(test_jsonl_bad_first_rows),
        cmocka_unit_test(test_txt),
        cmocka_unit_test(test_compressed_tables),
        cmocka_unit_test(test_open_errors),
        cmocka_unit_test(test_recognized_columns),
        cmocka_unit_test(test_columns_option),
        cmocka_unit_test(test_case_of_columns),
        cmocka_unit_test(test_delimiters),
        cmocka_unit_test(test_given_format),
        cmocka_unit_test(test_no_header),
        cmocka_unit_test(test_whole_files),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_quoting),
        cmocka_unit_test(test_json_errors),
        cmocka_unit_test(test_column_errors),
        cmocka_unit_test(test_unknown_role),
        cmocka_unit_test(test_many_columns_in_a_message),
        cmocka_unit_test(test_excerpt),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
