/* SPDX-License-Identifier: MIT
 * Fuzzes the table reader. The first byte of the input selects the format, the compression and the delimiter; the
 * second byte selects the other options. The remaining bytes are the contents of the file. Line numbers must be
 * ascending (several rows of a JSON array may begin in one line), and every selected field must be valid UTF-8. Pairs
 * that are read from the table must have two texts and a finite label.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/compress.h"
#include "../support/support.h"
#include "aoe_data.h"
#include "base/utf8.h"
#include "table/columns.h"
#include "table/examples.h"
#include "table/pairs.h"
#include "table/table.h"

enum { MAX_COLUMNS = 1000 };

static void require(int condition) {
    if (!condition)
        abort();
}

/* Opens the bytes as a table. Returns NULL on an error. The caller must keep `file` open until the table is closed. */
static aoei_table *open_bytes(const uint8_t *data, size_t size, FILE **file) {
    aoei_stream *s;
    aoei_table *t;
    aoe_error err = {0};
    aoei_codec codec = (aoei_codec)(data[0] / 5 % 3);
    const unsigned more = size > 1 ? data[1] : 0;
    const aoe_table_options o = {.struct_size = sizeof(aoe_table_options),
                                 .input_format = (aoe_table_format)(AOE_TABLE_TSV + data[0] % 5),
                                 .delimiter = "\0,;\t|"[data[0] / 15 % 5],
                                 .no_header = more & 1,
                                 .quoting = (aoe_quoting)(more / 4 % 3),
                                 .whole_files = more >> 1 & 1};
    *file = size > 2 ? fmemopen((void *)(size_t)(data + 2), size - 2, "rb") : fopen("/dev/null", "rb");
    require(*file != NULL);
    int rc = aoei_stream_attach(&s, *file, "fuzz", codec, &err);
    if (!rc)
        rc = aoei_table_from(&t, s, &o, &err);
    if (!rc)
        return t;
    require(err.code == rc && err.message[0]);
    fclose(*file);
    return NULL;
}

static void read_rows(aoei_table *t, int is_array) {
    size_t index[MAX_COLUMNS], n = aoei_table_columns(t), last = 0;
    n = n < MAX_COLUMNS ? n : MAX_COLUMNS;
    for (size_t i = 0; i < n; i++)
        index[i] = n - 1 - i;
    require(aoei_table_select(t, index, n, NULL) == 0);
    for (;;) {
        aoei_row row;
        aoe_error err = {0};
        int rc = aoei_table_next(t, &row, &err);
        if (rc != 1 && rc != 0)
            require(err.code < 0 && strncmp(err.message, "fuzz", 4) == 0);
        if (rc <= 0)
            return;
        if (rc == AOEI_BAD_ROW)
            continue;
        require(row.line > last || (is_array && row.line == last));
        last = row.line;
        for (size_t i = 0; i < n; i++)
            require(aoei_utf8_valid(row.field[i].text.data, row.field[i].text.len) == row.field[i].text.len);
    }
}

static void read_pairs(aoei_table *t, int decimal_comma) {
    aoe_table_options o = {.struct_size = sizeof(aoe_table_options),
                           .skip_bad_rows = 1,
                           .label_map = "a=1,b=drop",
                           .decimal_comma = decimal_comma};
    aoe_pairs *p;
    aoe_error err = {0};
    int rc = aoei_pairs_read(&p, t, &o, &err);
    if (rc) {
        require(!p && err.code == rc);
        return;
    }
    require(aoe_pairs_count(p) > 0);
    for (size_t i = 0; i < aoe_pairs_count(p); i++) {
        aoe_text a = aoe_pairs_text1(p, i), b = aoe_pairs_text2(p, i);
        require(!aoei_text_is_empty(a) && !aoei_text_is_empty(b));
        require(aoe_pairs_label(p, i) - aoe_pairs_label(p, i) == 0);
        require(aoei_utf8_valid(a.data, a.len) == a.len && aoei_utf8_valid(b.data, b.len) == b.len);
    }
    aoe_pairs_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    FILE *file;
    if (size == 0)
        return 0;
    for (int pairs = 0; pairs < 2; pairs++) {
        aoei_table *t = open_bytes(data, size, &file);
        if (!t)
            return 0;
        if (pairs)
            read_pairs(t, size > 1 && data[1] >= 128);
        else
            read_rows(t, data[0] % 5 == 4);
        aoei_table_close(t);
        fclose(file);
    }
    return 0;
}
