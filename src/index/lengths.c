/* SPDX-License-Identifier: MIT
 * Reads the table words_docsize of FTS5: the key is the id of a passage, and the value has one number for each column
 * of the table `words`, which has one column. A number is a variable-length integer of SQLite: 7 bits per byte, the
 * highest first; the highest bit of a byte is 1 if another byte follows.
 */
#include "index/lengths.h"

#include "base/alloc.h"
#include "base/error.h"
#include "index/ranges.h"

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

static int read_rows(aoei_lengths *l, aoei_db *d, aoe_error *err) {
    sqlite3_stmt *s;
    int code = aoei_db_prepare(d, "SELECT id, sz FROM words_docsize", &s, err);
    if (code)
        return code;
    while ((code = aoei_db_step(d, s, err)) > 0) {
        const sqlite3_int64 id = sqlite3_column_int64(s, 0);
        uint32_t words;
        if (id < 0 || (uint64_t)id >= l->n || decode(aoei_column_blob(s, 1), &words)) {
            aoei_db_reset(s);
            return aoei_db_damaged(d, "the length of a passage is malformed", err);
        }
        l->words[id] = words;
        l->total += words;
        l->passages++;
    }
    return code;
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
