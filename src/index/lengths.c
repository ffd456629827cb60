/* SPDX-License-Identifier: MIT
 * Reads the table words_docsize of FTS5: the key is the id of a passage, and the value has one number for each column
 * of the table `words`, which has one column. A number is a variable-length integer of SQLite: 7 bits per byte, the
 * highest first; the highest bit of a byte is 1 if another byte follows.
 */
#include "index/lengths.h"

#include "base/alloc.h"
#include "base/error.h"
#include "index/ranges.h"

static const char type_name[] = "aoe-lengths"; /* type of the pointer that is bound to parameter 1 */

/* Decodes a number of at most 32 bits. Returns -1 if it is malformed. */
static int decode(aoe_text bytes, uint32_t *value) {
    uint64_t x = 0;
    for (size_t i = 0; i < bytes.len && i < 5; i++) {
        const unsigned char b = (unsigned char)bytes.data[i];
        x = x << 7 | (b & 0x7f);
        if (b < 0x80) {
            *value = (uint32_t)x;
            return i + 1 == bytes.len && x <= UINT32_MAX ? 0 : -1;
        }
    }
    return -1;
}

/* Adds a row. SQL: aoe_lengths(pointer to an aoei_lengths, id, sz), an aggregate function: returning each row from
 * SQLite would take half of the time. */
static void add_row(sqlite3_context *context, int n, sqlite3_value **value) {
    aoei_lengths *l = n == 3 ? sqlite3_value_pointer(value[0], type_name) : NULL;
    if (!l) {
        sqlite3_result_error(context, "aoe_lengths is called without its argument", -1);
        return;
    }
    const sqlite3_int64 id = sqlite3_value_int64(value[1]);
    const char *bytes = sqlite3_value_blob(value[2]);
    uint32_t words;
    if (id < 0 || (uint64_t)id >= l->n || decode((aoe_text){bytes, (size_t)sqlite3_value_bytes(value[2])}, &words)) {
        l->is_malformed = 1;
        return;
    }
    l->words[id] = words;
    l->total += words;
    l->passages++;
}

static void end_rows(sqlite3_context *context) {
    sqlite3_result_int(context, 1);
}

int aoei_lengths_register(aoei_db *d, aoe_error *err) {
    const int code =
        sqlite3_create_function_v2(d->db, "aoe_lengths", 3, SQLITE_UTF8, NULL, NULL, add_row, end_rows, NULL);
    return code == SQLITE_OK ? 0 : aoei_db_fail(d, code, err);
}

static int read_rows(aoei_lengths *l, aoei_db *d, aoe_error *err) {
    sqlite3_stmt *s;
    int code = aoei_db_prepare(d, "SELECT aoe_lengths(?1, id, sz) FROM words_docsize", &s, err);
    if (code)
        return code;
    (void)sqlite3_bind_pointer(s, 1, l, type_name, NULL);
    code = aoei_db_step(d, s, err);
    aoei_db_reset(s);
    return code < 0 ? code : l->is_malformed ? aoei_db_damaged(d, "the length of a passage is malformed", err) : 0;
}

int aoei_lengths_read(aoei_lengths **out, aoei_db *d, aoe_error *err) {
    size_t n = 0;
    *out = NULL;
    int code = aoei_ids_end(d, "SELECT coalesce(max(id), -1) FROM words_docsize", &n, err);
    if (code)
        return code;
    aoei_lengths *l = aoei_calloc(1, sizeof *l);
    if (!l)
        return aoei_fail_nomem(err, sizeof *l);
    l->n = n;
    l->words = aoei_calloc(l->n ? l->n : 1, sizeof *l->words);
    code = l->words ? read_rows(l, d, err) : aoei_fail_nomem(err, l->n * sizeof *l->words);
    if (code)
        aoei_lengths_free(l);
    else
        *out = l;
    return code;
}

void aoei_lengths_free(aoei_lengths *l) {
    if (!l)
        return;
    aoei_free(l->words);
    aoei_free(l);
}
