/* SPDX-License-Identifier: MIT
 * Fuzzes the data tools (aoe_data_convert and others). The first byte of the input selects the formats of the input
 * file and of the output file. The remaining bytes are the contents of the input file. If aoe_data_convert writes a
 * file, it must be readable, and converting it to .jsonl and back must give the same bytes. The other tools read the
 * input file, and the counts that they report must be consistent.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "aoe.h"
#include "aoe_data.h"
#include "base/buffer.h"

enum { FORMATS = 4 };
const size_t fuzz_mutations = 1500;

static const char *const extensions[FORMATS] = {".tsv", ".csv", ".jsonl", ".txt"};
static char *dir;

static void require(int condition) {
    if (!condition)
        abort();
}

static int append(void *user, size_t part, const char *data, size_t len) {
    aoei_buffer *out = user;
    return aoei_buffer_append(&out[part], data, len);
}

/* Converts the file `path` to examples of the kind `to`, in the format of the file name `name`, and stores the result
 * in `out`. Returns 0 or an error code. Asserts that an error has a message. */
static int convert(const char *path, const char *name, aoe_example_kind to, aoei_buffer *out) {
    aoe_data_convert_options o;
    aoe_error err = {0};
    aoe_data_convert_options_defaults(&o);
    o.name = name;
    o.to = to;
    o.table.skip_bad_rows = 1;
    o.write = append;
    o.user = out;
    aoei_buffer_clear(out);
    const int code = aoe_data_convert(path, &o, NULL, &err);
    require(!code || (code == err.code && err.message[0]));
    return code;
}

/* Asserts that converting `written` to .jsonl and back gives the same bytes. The conversion to .jsonl may fail for .tsv
 * and .csv files, because some lists of column names cannot be stored as JSON keys. */
static void check_round_trip(const aoei_buffer *written, const char *extension) {
    char name[32];
    aoei_buffer json = {0}, again = {0};
    snprintf(name, sizeof name, "out%s", extension);
    char *path = test_write(dir, name, written->data, written->len);
    if (!convert(path, "back.jsonl", AOE_EXAMPLES_AUTO, &json)) {
        char *back = test_write(dir, "back.jsonl", json.data, json.len);
        require(!convert(back, name, AOE_EXAMPLES_AUTO, &again));
        require(again.len == written->len && !memcmp(again.data, written->data, again.len));
        free(back);
    } else {
        require(!strcmp(extension, ".tsv") || !strcmp(extension, ".csv"));
    }
    aoei_buffer_free(&json);
    aoei_buffer_free(&again);
    free(path);
}

static void split_and_dedup(const char *path) {
    static const double ratios[] = {1, 2};
    aoei_buffer out[2] = {{0}, {0}};
    aoe_data_split_part part[2];
    aoe_data_split_result split = {.struct_size = sizeof split};
    aoe_data_dedup_result dedup = {.struct_size = sizeof dedup};
    aoe_data_split_options s;
    aoe_data_dedup_options d;
    aoe_data_split_options_defaults(&s);
    s.ratios = ratios;
    s.parts = 2;
    s.near_duplicates = 0.5;
    s.table.skip_bad_rows = 1;
    s.write = append;
    s.user = out;
    if (!aoe_data_split(path, &s, part, &split, NULL))
        require(part[0].rows + part[1].rows == split.rows && part[0].texts + part[1].texts == split.texts);
    aoe_data_dedup_options_defaults(&d);
    d.equality = AOE_TEXT_EQUAL_LETTERS;
    d.table.skip_bad_rows = 1;
    d.write = append;
    d.user = out;
    if (!aoe_data_dedup(path, &d, &dedup, NULL))
        require(dedup.kept + dedup.duplicates + dedup.dropped == dedup.rows);
    aoei_buffer_free(&out[0]);
    aoei_buffer_free(&out[1]);
}

static void count_and_check(const char *path) {
    const char *const paths[] = {path, path};
    aoe_data_stats_result stats = {.struct_size = sizeof stats};
    aoe_data_check_result check = {.struct_size = sizeof check};
    aoe_data_stats_options s;
    aoe_data_check_options c;
    aoe_data_stats_options_defaults(&s);
    s.table.skip_bad_rows = 1;
    if (!aoe_data_stats(path, &s, &stats, NULL))
        require(stats.distinct <= stats.texts &&
                (!stats.has_labels || stats.positive + stats.negative + stats.dropped + stats.unknown == stats.rows));
    aoe_data_stats_free(&stats);
    aoe_data_check_options_defaults(&c);
    if (!aoe_data_check(paths, 2, &c, &check, NULL))
        require(check.found[AOE_FINDING_LEAK] <= check.rows && check.found[AOE_FINDING_SHARED] == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0)
        return 0;
    if (!dir)
        dir = test_dir_create();
    char name[32];
    aoei_buffer out = {0};
    const char *extension = extensions[data[0] / FORMATS % FORMATS];
    snprintf(name, sizeof name, "in%s", extensions[data[0] % FORMATS]);
    char *path = test_write(dir, name, data + 1, size - 1);
    snprintf(name, sizeof name, "out%s", extension);
    if (!convert(path, name, AOE_EXAMPLES_AUTO, &out))
        check_round_trip(&out, extension);
    for (int to = AOE_EXAMPLES_PAIRS; to <= AOE_EXAMPLES_TRIPLETS; to++)
        (void)convert(path, name, (aoe_example_kind)to, &out);
    split_and_dedup(path);
    count_and_check(path);
    aoei_buffer_free(&out);
    free(path);
    return 0;
}

static void clean_up(void) {
    if (dir)
        test_dir_remove(dir);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    atexit(clean_up);
    return 0;
}
