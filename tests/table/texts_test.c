/* SPDX-License-Identifier: MIT
 * Tests aoe_texts_read and aoe_text_pairs_read: the order of the texts in every kind of file, selected columns, pipes,
 * compressed files, error messages, and failed allocations.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../support/compress.h"
#include "../support/support.h"
#include "aoe.h"
#include "aoe_data.h"
#include "base/error.h"

typedef struct collected {
    char text[400]; /* texts that the callback received, each followed by '|' */
} collected;

/* A callback that appends the text and '|' to the `collected` object that user points to. Fails if the text is
 * "stop". */
static int collect(void *user, aoe_text text, aoe_error *err) {
    collected *c = user;
    if (text.len == 4 && memcmp(text.data, "stop", 4) == 0)
        return aoei_fail(err, AOE_ECANCELLED, "no more");
    const size_t at = strlen(c->text);
    snprintf(c->text + at, sizeof c->text - at, "%.*s|", (int)text.len, text.data);
    return 0;
}

/* Asserts that the callback receives the expected texts of the file. want: these texts, each followed by '|'. */
static void expect_texts(const char *path, const char *columns, const char *want) {
    collected c = {{0}};
    aoe_error err = {0};
    if (aoe_texts_read(path, &(aoe_table_options){.struct_size = sizeof(aoe_table_options), .columns = columns},
                       collect, &c, &err))
        fail_msg("%s", err.message);
    assert_string_equal(c.text, want);
}

static void check_text(const char *name, const char *text, const char *columns, const char *want) {
    char *path = test_write_text(test_dir, name, text);
    expect_texts(path, columns, want);
    free(path);
}

static void check_error(const char *name, const char *text, const char *columns, int code, const char *want) {
    char *path = test_write_text(test_dir, name, text);
    collected c = {{0}};
    aoe_error err = {0};
    assert_int_equal(aoe_texts_read(path,
                                    &(aoe_table_options){.struct_size = sizeof(aoe_table_options), .columns = columns},
                                    collect, &c, &err),
                     code);
    assert_int_equal(err.code, code);
    assert_memory_equal(err.message, test_dir, strlen(test_dir));
    assert_string_equal(err.message + strlen(test_dir) + 1, want);
    assert_int_equal(aoe_texts_read(path,
                                    &(aoe_table_options){.struct_size = sizeof(aoe_table_options), .columns = columns},
                                    collect, &c, NULL),
                     code);
    free(path);
}

static void file_kinds(void **state) {
    (void)state;
    check_text("a.txt", "one\n\nthree\n", NULL, "one||three|");
    check_text("a.tsv", "score\tsentence1\tyear\tsentence2\n1\ta\tx\tb\n2\tc\ty\td\n", NULL, "a|b|c|d|");
    check_text("s.tsv", "text1\tSentence\n1\ta\n", "", "a|");
    check_text("s.tsv", "sentence\ttext\n1\ta\n", "", "a|");
    check_text("s.txt", "one\n", "", "one|");
    check_text("a.csv", "query,positive,negative\nq,\"p,\",n\n", NULL, "q|p,|n|");
    check_text(
        "a.jsonl",
        "{\"query\": [\"a\", \"b\"], \"positive\": \"c\", \"n\": 1}\n{\"query\": [], \"positive\": \"d\", \"n\": 2}\n",
        NULL, "a|b|c|d|");
    check_text("b.tsv", "body\ttext\ttitle\nb\tt\tc\n", "title,body", "b|c|");
    check_text("b.tsv", "body\ttext\ttitle\nb\tt\tc\n", NULL, "t|");
    check_text("empty.txt", "", NULL, "");
    check_text("lines.csv", "id,text\n1,\"a\nb\"\n", NULL, "a\nb|"); /* a text may contain line ends */
    check_text("lines.jsonl", "{\"text\": \"a\\nb\"}\n", NULL, "a\nb|");
    check_text("case.csv", "Id;Text;Sentence1\n1;a;b\n", NULL, "a|b|");
    check_text("case.csv", "Id;Text;Sentence1\n1;a;b\n", "sentence1", "b|");
}

static void *write_fifo(void *path) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(fputs("id|text\n1|\"a\nb\"\n", f) >= 0 && fclose(f) == 0);
    return NULL;
}

/* Tests reading from a pipe, such as a process substitution of a shell. A pipe has no file name extension and can be
 * read only once. */
static void pipes(void **state) {
    const aoe_table_options o = {.struct_size = sizeof(aoe_table_options), .input_format = AOE_TABLE_CSV};
    pthread_t writer;
    collected c = {{0}};
    aoe_error err = {0};
    char *path = test_path(test_dir, "fifo");
    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(pthread_create(&writer, NULL, write_fifo, path), 0);
    if (aoe_texts_read(path, &o, collect, &c, &err))
        fail_msg("%s", err.message);
    assert_string_equal(c.text, "a\nb|");
    pthread_join(writer, NULL);
    free(path);
}

static void compressed(void **state) {
    size_t size;
    char *gz = test_gzip("text\na\nb\n", 9, &size);
    (void)state;
    char *path = test_write(test_dir, "c.tsv.gz", gz, size);
    expect_texts(path, NULL, "a|b|");
    free(path);
    free(gz);
}

static void errors(void **state) {
    (void)state;
    check_error("a.tsv", "label\tx\n1\ta\n", NULL, AOE_EFORMAT,
                "a.tsv: no column has a recognized name for texts (text, text1, text2, sentence, sentence1, sentence2, "
                "question, question1, "
                "question2, premise, hypothesis, context, query, positive, negative, entailment, contradiction); found "
                "label, x; set "
                "options.columns to the names of the columns of texts");
    check_error("a.tsv", "label\tx\n1\ta\n", "x,y", AOE_EFORMAT,
                "a.tsv: no column 'y'; found label, x; correct options.columns");
    check_error("a.tsv", "label\tx\n1\ta\n", "text=y", AOE_EFORMAT,
                "a.tsv: no column 'y' (from options.columns text=y); found label, x");
    check_error("a.txt", "text\na\n", "text", AOE_EFORMAT,
                "a.txt: a .txt file has no columns; use a .tsv, .csv or .jsonl table");
    check_error(
        "a.jsonl", "{\"text\": 5}\n", NULL, AOE_EFORMAT,
        "a.jsonl:1: column 'text': the value is neither a JSON string nor a list of JSON strings; correct the row");
    check_error("a.jsonl", "{\"text\": [\"a\", 5]}\n", NULL, AOE_EFORMAT,
                "a.jsonl:1: column 'text': an element of the list is not a JSON string; correct the row");
    check_error("b.tsv", "x\ttext\nx\tgo\nx\tstop\nx\tgo\n", NULL, AOE_ECANCELLED, "b.tsv:3: column 'text': no more");
    collected c = {{0}};
    assert_int_equal(aoe_texts_read("/nowhere/a.tsv", NULL, collect, &c, NULL), AOE_ENOENT);
}

static int read_again(void *path) {
    collected c = {{0}};
    aoe_error err = {0};
    const int code = aoe_texts_read(
        path, &(aoe_table_options){.struct_size = sizeof(aoe_table_options), .columns = "b,a"}, collect, &c, &err);
    assert_true(code || !strcmp(c.text, "1|2|3|4|"));
    return code;
}

static void without_memory(void **state) {
    char *path =
        test_write_text(test_dir, "m.jsonl", "{\"a\": [\"1\", \"2\"], \"b\": \"3\"}\n{\"a\": \"4\", \"b\": []}\n");
    (void)state;
    assert_true(test_alloc_failures(read_again, path, 0) > 5);
    free(path);
}

/* A callback that appends the line number and the two texts. Fails if the first text is "stop". */
static int collect_pair(void *user, aoe_text a, aoe_text b, size_t line, aoe_error *err) {
    collected *c = user;
    if (a.len == 4 && memcmp(a.data, "stop", 4) == 0)
        return aoei_fail(err, AOE_ECANCELLED, "no more");
    const size_t at = strlen(c->text);
    snprintf(c->text + at, sizeof c->text - at, "%zu:%.*s-%.*s|", line, (int)a.len, a.data, (int)b.len, b.data);
    return 0;
}

/* Asserts the result of aoe_text_pairs_read. want: the expected texts if code is 0, otherwise the end of the
 * message. */
static void expect_pairs(const char *name, const char *rows, const char *columns, int code, const char *want) {
    collected c = {{0}};
    aoe_error err = {0};
    char *path = test_write_text(test_dir, name, rows);
    const aoe_table_options o = {.struct_size = sizeof o, .columns = columns};
    assert_int_equal(aoe_text_pairs_read(path, &o, collect_pair, &c, &err), code);
    if (!code)
        assert_string_equal(c.text, want);
    else if (!strstr(err.message, want))
        fail_msg("%s", err.message);
    free(path);
}

static void pairs(void **state) {
    (void)state;
    expect_pairs("a.tsv", "query\tx\tdocument\na\t1\tb\n\t2\tc d\n", NULL, 0, "2:a-b|3:-c d|");
    expect_pairs("a.csv", "Text2,Text1\nb,a\n", NULL, 0, "2:a-b|");
    expect_pairs("a.csv", "text1,text2,other\na,b,\"c\nd\"\ne,f,g\n", "text2=other", 0, "2:a-c\nd|4:e-g|");
    expect_pairs("a.jsonl", "{\"sentence1\": \"a\", \"sentence2\": \"b\", \"label\": 1}\n", NULL, 0, "1:a-b|");
    expect_pairs("a.tsv", "text1\ttext2\n", NULL, 0, "");
    expect_pairs("a.tsv", "text1\tlabel\na\t1\n", NULL, AOE_EFORMAT, "a.tsv: no column for text2: expected text2,");
    expect_pairs("a.tsv", "text1\ttext2\na\tb\n", "text3=x", AOE_EARG, "roles text1, text2");
    expect_pairs("a.tsv", "text1\ttext2\na\n", NULL, AOE_EFORMAT, "a.tsv:2: ");
    expect_pairs("a.tsv", "text1\ttext2\na\tb\nstop\tb\n", NULL, AOE_ECANCELLED, "a.tsv:3: no more");
    expect_pairs("a.jsonl", "{\"text1\": \"a\", \"text2\": [\"b\"]}\n", NULL, AOE_EFORMAT,
                 "a.jsonl:1: column 'text2': the value is not a JSON string");
    expect_pairs("a.txt", "a\n", NULL, AOE_EFORMAT, "a .txt file has no columns");
}

static int read_pairs_again(void *path) {
    collected c = {{0}};
    aoe_error err = {0};
    const int code = aoe_text_pairs_read(path, NULL, collect_pair, &c, &err);
    assert_true(code || !strcmp(c.text, "1:a-b|"));
    return code;
}

static void pairs_without_memory(void **state) {
    (void)state;
    char *path = test_write_text(test_dir, "p.jsonl", "{\"text1\": \"a\", \"text2\": \"b\"}\n");
    assert_true(test_alloc_failures(read_pairs_again, path, 0) > 5);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_kinds),           cmocka_unit_test(pipes),
        cmocka_unit_test(compressed),           cmocka_unit_test(errors),
        cmocka_unit_test(without_memory),       cmocka_unit_test(pairs),
        cmocka_unit_test(pairs_without_memory),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
