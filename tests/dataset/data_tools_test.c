/* SPDX-License-Identifier: MIT
 * covers: dataset/check dataset/dedup dataset/records dataset/split dataset/stats
 * Tests aoe_data_split, aoe_data_dedup, aoe_data_stats and aoe_data_check. Small tables have known results. Random
 * tables are used to check invariants. Other tests cover failed allocations.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "aoe.h"
#include "aoe_data.h"
#include "base/buffer.h"
#include "base/random.h"

enum { PARTS = 3, ROWS = 400 };

typedef struct outputs {
    aoei_buffer part[PARTS]; /* contents of the output files */
    aoei_buffer report;      /* text of all calls of the report callback */
} outputs;

static int take(void *user, size_t part, const char *data, size_t len) {
    outputs *o = user;
    assert_true(part < PARTS && len > 0);
    return aoei_buffer_append(&o->part[part], data, len);
}

static void outputs_free(outputs *o) {
    for (size_t p = 0; p < PARTS; p++)
        aoei_buffer_free(&o->part[p]);
    aoei_buffer_free(&o->report);
}

/* ---- split */

static aoe_data_split_options split_options(outputs *out) {
    aoe_data_split_options o;
    aoe_data_split_options_defaults(&o);
    o.write = take;
    o.user = out;
    return o;
}

static void split(const char *path, const aoe_data_split_options *o, aoe_data_split_part part[PARTS],
                  aoe_data_split_result *r) {
    aoe_error err;
    if (aoe_data_split(path, o, part, r, &err))
        fail_msg("%s", err.message);
}

/* Returns the only part that contains this line. */
static size_t part_of(const outputs *o, const char *line) {
    size_t found = PARTS;
    for (size_t p = 0; p < PARTS; p++) {
        const size_t len = strlen(line);
        for (const char *s = o->part[p].data; (s = strstr(s, line)); s += len)
            if (s[-1] == '\n') {
                assert_int_equal(found, PARTS);
                found = p;
            }
    }
    assert_true(found < PARTS);
    return found;
}

/* Splits random pairs of 300 texts, some of which differ only in case. The parts must contain every row exactly once,
 * and no text may be in two parts. */
static void test_split_invariants(void **state) {
    (void)state;
    aoei_buffer text = {0};
    outputs out = {0}, again = {0};
    aoei_rng rng;
    size_t first[300], rows = 0;
    char line[ROWS][64];
    aoei_rng_init(&rng, 3, AOEI_STREAM_TEST, 0);
    aoei_buffer_printf(&text, "id\ttext1\ttext2\tlabel\r\n");
    for (size_t i = 0; i < ROWS; i++) {
        const uint32_t a = aoei_rng_below(&rng, 300), b = aoei_rng_below(&rng, 6) ? a : aoei_rng_below(&rng, 300);
        snprintf(line[i], sizeof line[i], "%zu\t%s %u\t Text  %u\tword%zu\r\n", i, i % 2 ? "text" : "Text", a, b,
                 i % 3);
        aoei_buffer_append(&text, line[i], strlen(line[i]));
    }
    char *path = test_write(test_dir, "pairs.tsv", text.data, text.len);
    aoe_data_split_options o = split_options(&out);
    aoe_data_split_part part[PARTS];
    aoe_data_split_result r = {.struct_size = sizeof r};
    split(path, &o, part, &r);
    for (size_t i = 0; i < 300; i++)
        first[i] = PARTS;
    for (size_t i = 0; i < ROWS; i++) {
        unsigned a, b;
        const size_t p = part_of(&out, line[i]);
        assert_int_equal(sscanf(strchr(line[i], '\t'), " %*s %u Text %u", &a, &b), 2);
        assert_true(first[a] == PARTS || first[a] == p);
        first[a] = p;
        assert_true(first[b] == PARTS || first[b] == p);
        first[b] = p;
    }
    size_t texts = 0, clusters = 0;
    for (size_t p = 0; p < PARTS; p++) {
        assert_memory_equal(out.part[p].data, text.data, strlen("id\ttext1\ttext2\tlabel\r\n"));
        rows += part[p].rows;
        texts += part[p].texts;
        clusters += part[p].clusters;
        assert_true(fabs((double)part[p].rows - o.ratios[p] * ROWS) <= 2);
    }
    assert_int_equal(rows, ROWS);
    assert_int_equal(r.rows, ROWS);
    assert_int_equal(r.texts, texts);
    assert_int_equal(r.clusters, clusters);
    o.user = &again;
    split(path, &o, part, NULL);
    for (size_t p = 0; p < PARTS; p++)
        assert_string_equal(out.part[p].data, again.part[p].data);
    outputs_free(&again);
    o.seed = 43;
    split(path, &o, part, NULL);
    assert_string_not_equal(out.part[1].data, again.part[1].data);
    outputs_free(&out);
    outputs_free(&again);
    aoei_buffer_free(&text);
    free(path);
}

static void test_split_clusters(void **state) {
    (void)state;
    outputs out = {0};
    aoe_data_split_options o = split_options(&out);
    aoe_data_split_part part[PARTS];
    aoe_data_split_result r = {.struct_size = sizeof r};
    static const double halves[] = {1, 1};
    char *path = test_write_text(test_dir, "a.jsonl",
                                 "{\"text\":[\"a b c\",\"x\"],\"g\":1}\n{\"text\":\"a b C.\",\"g\":2}\n"
                                 "{\"text\":\"X\",\"g\":3}\n{\"text\":\"q\",\"g\":2.0}\n{\"text\":\"z\",\"g\":\"w\"}");
    o.ratios = halves;
    o.parts = 2;
    split(path, &o, part, &r);
    assert_int_equal(r.clusters, 4); /* rows 1 and 3 are in one cluster, because "x" in the list of row 1 equals "X" */
    outputs_free(&out);
    o.group = "g";
    split(path, &o, part, &r);
    assert_int_equal(r.clusters, 3);
    outputs_free(&out);
    o.near_duplicates = 0.9;
    split(path, &o, part, &r);
    assert_int_equal(r.clusters, 2);
    assert_int_equal(r.near_pairs, 1);
    assert_int_equal(r.largest, 4);
    assert_int_equal(r.largest_line, 1);
    const size_t small = part[0].rows == 1 ? 0 : 1;
    assert_string_equal(out.part[small].data, "{\"text\":\"z\",\"g\":\"w\"}\n"); /* the missing line end is added */
    outputs_free(&out);
    free(path);
}

static void test_split_errors(void **state) {
    (void)state;
    outputs out = {0};
    aoe_data_split_options o = split_options(&out);
    aoe_data_split_part part[PARTS];
    aoe_error err;
    static const double bad[] = {1, 0};
    char *path = test_write_text(test_dir, "one.tsv", "text1\ttext2\na\tb\nb\tc\nc\td\n");
    assert_int_equal(aoe_data_split(path, &o, part, NULL, &err), AOE_EFORMAT);
    assert_non_null(
        strstr(err.message,
               "one.tsv: split 2 of 3 would have no rows, because rows that share a text are in one split "
               "(number of clusters of such rows: 1; largest cluster: 3 of 3 rows, from line 2); use fewer splits"));
    assert_null(out.part[0].data);
    o.group = "h";
    assert_int_equal(aoe_data_split(path, &o, part, NULL, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "no column 'h'; found text1, text2"));
    o.ratios = bad;
    o.parts = 2;
    assert_int_equal(aoe_data_split(path, &o, part, NULL, &err), AOE_EARG);
    free(path);
}

/* ---- dedup */

static void report_conflict(void *user, const aoe_data_conflict *c) {
    outputs *o = user;
    aoei_buffer_printf(&o->report, "%zu:%.*s %zu:%.*s", c->first, (int)c->first_label.len, c->first_label.data, c->line,
                       (int)c->label.len, c->label.data);
    for (size_t i = 0; i < c->n; i++)
        aoei_buffer_printf(&o->report, " %.*s", (int)c->text[i].len, c->text[i].data);
    aoei_buffer_printf(&o->report, "|");
}

static void expect_dedup(const char *name, const char *text, aoe_data_dedup_options o, const char *want,
                         const char *report, size_t duplicates, size_t conflicts, size_t dropped) {
    outputs out = {0};
    aoe_data_dedup_result r = {.struct_size = sizeof r};
    aoe_error err;
    char *path = test_write_text(test_dir, name, text);
    o.write = take;
    o.report = report_conflict;
    o.user = &out;
    if (aoe_data_dedup(path, &o, &r, &err))
        fail_msg("%s", err.message);
    assert_string_equal(out.part[0].data, want);
    assert_string_equal(out.report.data ? out.report.data : "", report);
    assert_int_equal(r.duplicates, duplicates);
    assert_int_equal(r.conflicts, conflicts);
    assert_int_equal(r.dropped, dropped);
    assert_int_equal(r.rows, r.kept + r.duplicates + r.dropped);
    outputs_free(&out);
    free(path);
}

static void test_dedup(void **state) {
    (void)state;
    static const char pairs[] = "text1\tid\ttext2\tlabel\n"
                                "a\t1\tb\t1\n"
                                "b\t2\ta\t1.0\n"
                                "a\t3\tb\t0\n"
                                "A\t4\tb\t1\n"
                                "a\t5\tb\t0\n"
                                "c\t6\td\tx\n";
    aoe_data_dedup_options o;
    aoe_data_dedup_options_defaults(&o);
    expect_dedup("p.tsv", pairs, o, "text1\tid\ttext2\tlabel\na\t1\tb\t1\nA\t4\tb\t1\nc\t6\td\tx\n",
                 "2:1 4:0 a b|2:1 6:0 a b|", 1, 2, 2);
    o.ordered = 1;
    expect_dedup("p.tsv", pairs, o, "text1\tid\ttext2\tlabel\na\t1\tb\t1\nb\t2\ta\t1.0\nA\t4\tb\t1\nc\t6\td\tx\n",
                 "2:1 4:0 a b|2:1 6:0 a b|", 0, 2, 2);
    o.ordered = 0;
    o.conflicts = AOE_CONFLICTS_KEEP;
    expect_dedup("p.tsv", pairs, o, "text1\tid\ttext2\tlabel\na\t1\tb\t1\na\t3\tb\t0\nA\t4\tb\t1\nc\t6\td\tx\n",
                 "2:1 4:0 a b|2:1 6:0 a b|", 2, 2, 0);
    o.conflicts = AOE_CONFLICTS_DROP;
    o.equality = AOE_TEXT_EQUAL_CASE;
    expect_dedup("p.tsv", pairs, o, "text1\tid\ttext2\tlabel\nc\t6\td\tx\n", "2:1 4:0 a b|2:1 6:0 a b|", 0, 2, 5);
    aoe_data_dedup_options_defaults(&o);
    expect_dedup("t.csv", "query,positive\r\n\"a\r\nb\",c\r\nc,\"a\r\nb\"\r\n\"a\r\nb\",\"c\"\r\n", o,
                 "query,positive\r\n\"a\r\nb\",c\r\nc,\"a\r\nb\"\r\n", "", 1, 0, 0);
    expect_dedup("l.txt", "a\nb\na\n\n\nb", o, "a\nb\n\n", "", 3, 0, 0);
    expect_dedup(
        "l.jsonl", "{\"query\":[\"a\",\"b\"],\"positive\":\"c\"}\n{\"query\":\"a\",\"positive\":[\"b\",\"c\"]}\n", o,
        "{\"query\":[\"a\",\"b\"],\"positive\":\"c\"}\n{\"query\":\"a\",\"positive\":[\"b\",\"c\"]}\n", "", 0, 0, 0);
}

static void test_dedup_nothing_left(void **state) {
    (void)state;
    outputs out = {0};
    aoe_data_dedup_options o;
    aoe_error err;
    aoe_data_dedup_options_defaults(&o);
    o.conflicts = AOE_CONFLICTS_DROP;
    o.write = take;
    o.user = &out;
    char *path = test_write_text(test_dir, "n.tsv", "text1\ttext2\tlabel\na\tb\t1\na\tb\t0\n");
    assert_int_equal(aoe_data_dedup(path, &o, NULL, &err), AOE_EFORMAT);
    assert_non_null(
        strstr(err.message, "no rows are left: every row has a duplicate with a different label; correct the labels"));
    outputs_free(&out);
    free(path);
}

/* ---- stats */

static int count_bytes(void *user, aoe_text text, size_t *n, aoe_error *err) {
    (void)user;
    (void)err;
    *n = text.len;
    return 0;
}

static void test_stats(void **state) {
    (void)state;
    aoe_data_stats_options o;
    aoe_data_stats_result r = {.struct_size = sizeof r};
    aoe_error err;
    aoe_data_stats_options_defaults(&o);
    o.longer = 3;
    o.tokens = count_bytes;
    char *path = test_write_text(test_dir, "s.jsonl",
                                 "{\"text1\":\"a b\\u00a0 c\",\"text2\":\"\\u00e9\",\"label\":5}\n"
                                 "{\"text1\":[\"A\",\"a\"],\"text2\":\"\",\"label\":\"5.0\"}\n"
                                 "{\"text1\":\"a\",\"text2\":\"\\u00e9\",\"label\":1}\n"
                                 "{\"text1\":\"a\",\"text2\":\"a\",\"label\":\"neutral\"}\n"
                                 "{\"text1\":\"a\",\"text2\":\"a\",\"label\":\"maybe\"}\n"
                                 "{\"text1\":\"a\",\"text2\":\"a\",\"label\":true}\n");
    if (aoe_data_stats(path, &o, &r, &err))
        fail_msg("%s", err.message);
    assert_int_equal(r.rows, 6);
    assert_int_equal(r.texts, 13);
    assert_int_equal(r.distinct, 5);
    assert_true(r.has_labels && r.threshold == 4.2);
    assert_int_equal(r.positive, 2);
    assert_int_equal(r.negative, 2);
    assert_int_equal(r.dropped, 1);
    assert_int_equal(r.unknown, 1);
    assert_int_equal(r.labels, 5);
    static const struct {
        const char *label;
        size_t rows;
    } want[] = {{"1", 1}, {"5", 2}, {"maybe", 1}, {"neutral", 1}, {"true", 1}};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(r.label[i].label.len, strlen(want[i].label));
        assert_memory_equal(r.label[i].label.data, want[i].label, r.label[i].label.len);
        assert_int_equal(r.label[i].rows, want[i].rows);
    }
    assert_true(r.characters.quantile[0] == 0 && r.characters.quantile[2] == 1 && r.characters.quantile[6] == 6);
    assert_true(fabs(r.characters.mean - 17.0 / 13) < 1e-12);
    /* the quantile 0.99 is at position 0.99 * 12 = 11.88, between the sorted values 1 and 6: 1 + 0.88 * 5 = 5.4 */
    assert_true(fabs(r.characters.quantile[5] - 5.4) < 1e-12);
    assert_int_equal(r.characters.longer, 1);
    assert_true(fabs(r.words.mean - 14.0 / 13) < 1e-12 && r.words.quantile[6] == 3);
    assert_true(r.has_tokens && r.tokens.quantile[6] == 7);
    aoe_data_stats_free(&r);
    o.equality = AOE_TEXT_EQUAL_CASE;
    assert_int_equal(aoe_data_stats(path, &o, &r, &err), 0);
    assert_int_equal(r.distinct, 4);
    aoe_data_stats_free(&r);
    free(path);
}

static void test_stats_bins(void **state) {
    (void)state;
    aoei_buffer text = {0};
    aoe_data_stats_options o;
    aoe_data_stats_result r = {.struct_size = sizeof r};
    aoe_error err;
    aoe_data_stats_options_defaults(&o);
    o.bins = 30;
    aoei_buffer_printf(&text, "text1,text2,label\n");
    for (int i = 0; i <= 30; i++)
        aoei_buffer_printf(&text, "a,b,%d\na,b,%s\n", i, i ? "w" : "0");
    char *path = test_write(test_dir, "b.csv", text.data, text.len);
    if (aoe_data_stats(path, &o, &r, &err))
        fail_msg("%s", err.message);
    assert_int_equal(r.labels, 31);
    assert_int_equal(r.label[0].rows, 2);
    assert_int_equal(r.label[1].rows, 1);
    assert_int_equal(r.label[29].rows, 2); /* the last bin includes its upper bound, 30 */
    assert_true(r.label[29].low == 29 && r.label[29].high == 30 && r.label[29].label.len == 0);
    assert_int_equal(r.label[30].rows, 30);
    assert_int_equal(r.unknown, 30);
    aoe_data_stats_free(&r);
    o.bins = 0;
    assert_int_equal(aoe_data_stats(path, &o, &r, &err), AOE_EARG);
    aoe_data_stats_free(&r);
    aoei_buffer_free(&text);
    free(path);
}

/* ---- check */

static void report_finding(void *user, const aoe_finding *f) {
    outputs *o = user;
    const char *file = strrchr(f->file, '/') + 1;
    aoei_buffer_printf(&o->report, "%s %s:%zu", aoe_finding_name(f->kind), file, f->line);
    if (f->other_file)
        aoei_buffer_printf(&o->report, " %s:%zu", strrchr(f->other_file, '/') + 1, f->other_line);
    if (f->text.len)
        aoei_buffer_printf(&o->report, " %.*s", (int)f->text.len, f->text.data);
    if (f->other_label.len)
        aoei_buffer_printf(&o->report, " (%.*s)", (int)f->other_label.len, f->other_label.data);
    aoei_buffer_printf(&o->report, "\n");
}

static void expect_findings(const char *const *paths, size_t n, aoe_data_check_options o, const char *want) {
    outputs out = {0};
    aoe_data_check_result r = {.struct_size = sizeof r};
    aoe_error err;
    size_t lines = 0, total = 0;
    o.report = report_finding;
    o.user = &out;
    if (aoe_data_check(paths, n, &o, &r, &err))
        fail_msg("%s", err.message);
    assert_string_equal(out.report.data ? out.report.data : "", want);
    for (const char *s = want; (s = strchr(s, '\n')); s++)
        lines++;
    for (int k = 0; k < AOE_FINDING_COUNT; k++)
        total += r.found[k];
    assert_int_equal(r.total, lines);
    assert_int_equal(total, lines);
    outputs_free(&out);
}

static void test_check(void **state) {
    (void)state;
    char *paths[3];
    paths[0] = test_write_text(test_dir, "train.tsv",
                               "text1\ttext2\tlabel\n"
                               "a\tb\t1\n"
                               "b \tA\t1\n"
                               "a\tb\n"
                               "a\tb\t0\n"
                               "c\t \tbad\n"
                               "long text\tc\t7\n"
                               "d\te\tneutral\n"
                               "x");
    paths[1] = test_write_text(test_dir, "dev.csv", "text1,text2,label\nB,a,0\nc,f,0\ng,h,0\ng,h,0\na\"b,c,1\n");
    paths[2] =
        test_write_text(test_dir, "test.jsonl", "{\"text1\":\"G\",\"text2\":\"i\",\"label\":1}\n{\"text1\":1}\n");
    const char *const files[] = {paths[0], paths[1], paths[2]};
    aoe_data_check_options o;
    aoe_data_check_options_defaults(&o);
    o.low = 0;
    o.high = 5;
    o.longest = 8;
    expect_findings(files, 3, o,
                    "duplicate train.tsv:3 train.tsv:2\n"
                    "invalid train.tsv:4 the row has 2 fields, but the header has 3\n"
                    "conflict train.tsv:5 train.tsv:2 0 (1)\n"
                    "label train.tsv:6 bad\n"
                    "empty train.tsv:6\n"
                    "range train.tsv:7 7\n"
                    "long train.tsv:7 long text\n"
                    "invalid train.tsv:9 the row has 1 field, but the header has 3\n"
                    "leak dev.csv:2 train.tsv:2\n"
                    "shared dev.csv:3 train.tsv:6 c\n"
                    "duplicate dev.csv:5 dev.csv:4\n"
                    "invalid dev.csv:6 a quote inside an unquoted field\n"
                    "class dev.csv:0 0\n"
                    "shared test.jsonl:1 dev.csv:4 G\n"
                    "invalid test.jsonl:2 the object has no key 'text2'\n");
    o.ignore = ~0u & ~(1u << AOE_FINDING_LEAK | 1u << AOE_FINDING_DUPLICATE);
    o.ordered = 1;
    expect_findings(files, 3, o, "leak dev.csv:2 train.tsv:3\nduplicate dev.csv:5 dev.csv:4\n");
    o.ordered = 0;
    o.equality = AOE_TEXT_EQUAL_EXACT;
    expect_findings(files, 3, o, "duplicate dev.csv:5 dev.csv:4\n");
    for (int i = 0; i < 3; i++)
        free(paths[i]);
}

static void test_check_errors(void **state) {
    (void)state;
    aoe_error err;
    aoe_data_check_options o;
    aoe_data_check_options_defaults(&o);
    char *path = test_write_text(test_dir, "e.tsv", "text1\ttext2\tlabel\n");
    const char *const files[] = {path};
    assert_int_equal(aoe_data_check(files, 1, &o, NULL, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "e.tsv: the table has no rows"));
    free(path);
    path = test_write_text(test_dir, "u.tsv", "text1\ttext2\tlabel\na\t\xff\t1\n");
    const char *const bad[] = {path};
    assert_int_equal(aoe_data_check(bad, 1, &o, NULL, &err), AOE_EFORMAT);
    assert_non_null(strstr(err.message, "invalid UTF-8"));
    o.table.label_map = "x";
    assert_int_equal(aoe_data_check(bad, 1, &o, NULL, &err), AOE_EARG);
    for (int k = 0; k < AOE_FINDING_COUNT; k++)
        assert_true(strlen(aoe_finding_name((aoe_finding_kind)k)) > 3 &&
                    strlen(aoe_finding_text((aoe_finding_kind)k)) > 10);
    free(path);
}

/* ---- failed allocations */

static char *memory_path;

static int split_once(void *arg) {
    outputs out = {0};
    aoe_data_split_options o = split_options(&out);
    aoe_data_split_part part[PARTS];
    o.near_duplicates = 0.5;
    o.group = "id";
    o.name = arg;
    int code = aoe_data_split(memory_path, &o, part, NULL, NULL);
    for (size_t p = 0; p < PARTS && code == AOE_ECANCELLED; p++)
        /* if an allocation for the test's own buffer fails, the callback cancels the split, which counts as a failed
         * allocation */
        code = out.part[p].failed ? AOE_ENOMEM : code;
    outputs_free(&out);
    return code;
}

static int dedup_once(void *arg) {
    outputs out = {0};
    aoe_data_dedup_options o;
    aoe_data_dedup_options_defaults(&o);
    o.equality = AOE_TEXT_EQUAL_CASE;
    o.name = arg;
    o.write = take;
    o.report = report_conflict;
    o.user = &out;
    int code = aoe_data_dedup(memory_path, &o, NULL, NULL);
    code = (code == AOE_ECANCELLED && out.part[0].failed) || (!code && out.report.failed) ? AOE_ENOMEM : code;
    outputs_free(&out);
    return code;
}

static int stats_once(void *arg) {
    aoe_data_stats_options o;
    aoe_data_stats_result r = {.struct_size = sizeof r};
    (void)arg;
    aoe_data_stats_options_defaults(&o);
    o.equality = AOE_TEXT_EQUAL_LETTERS;
    const int code = aoe_data_stats(memory_path, &o, &r, NULL);
    aoe_data_stats_free(&r);
    return code;
}

static int check_once(void *arg) {
    aoe_data_check_options o;
    const char *const paths[] = {memory_path, memory_path};
    (void)arg;
    aoe_data_check_options_defaults(&o);
    return aoe_data_check(paths, 2, &o, NULL, NULL);
}

static void test_memory(void **state) {
    (void)state;
    static char gz[] = "x.gz", zst[] = "x.zst";
    aoei_buffer text = {0};
    aoei_buffer_printf(&text, "id\ttext1\ttext2\tlabel\n");
    for (int i = 0; i < 30; i++)
        aoei_buffer_printf(&text, "%d\tt%d \xc3\x89\tu%d b\t%d.5\n", i / 2, i, i, i % 25);
    aoei_buffer_printf(&text, "1\tT29 \xc3\xa9\tU29 B\t0\n");
    memory_path = test_write(test_dir, "memory.tsv", text.data, text.len);
    aoei_buffer_free(&text);
    assert_true(test_alloc_failures(split_once, gz, 60) > 20);
    assert_true(test_alloc_failures(dedup_once, zst, 60) > 20);
    assert_true(test_alloc_failures(stats_once, NULL, 60) > 20);
    text = (aoei_buffer){0};
    aoei_buffer_printf(&text, "text1\ttext2\tlabel\na\tb\t1\nb\tA\t2\nc\n");
    free(memory_path);
    memory_path = test_write(test_dir, "memory2.tsv", text.data, text.len);
    aoei_buffer_free(&text);
    assert_true(test_alloc_failures(check_once, NULL, 60) > 20);
    free(memory_path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split_invariants),   cmocka_unit_test(test_split_clusters),
        cmocka_unit_test(test_split_errors),       cmocka_unit_test(test_dedup),
        cmocka_unit_test(test_dedup_nothing_left), cmocka_unit_test(test_stats),
        cmocka_unit_test(test_stats_bins),         cmocka_unit_test(test_check),
        cmocka_unit_test(test_check_errors),       cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, test_dir_set_up, test_dir_tear_down);
}
