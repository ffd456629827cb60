/* SPDX-License-Identifier: MIT
 * Fuzzes the readers of STS-B and SICK-R files. The first byte of the input selects the reader and whether invalid rows
 * are skipped. The remaining bytes are the contents of the file. If the file is accepted, its texts must be valid
 * UTF-8, its labels finite and its line numbers ascending.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "aoe_data.h"
#include "base/utf8.h"
#include "table/lines.h"
#include "eval/suite_sets.h"

static void require(int condition) {
    if (!condition)
        abort();
}

static void check(const aoe_pairs *p) {
    size_t last = 0;
    require(aoe_pairs_count(p) > 0);
    for (size_t i = 0; i < aoe_pairs_count(p); i++) {
        const aoe_text a = aoe_pairs_text1(p, i), b = aoe_pairs_text2(p, i);
        require(aoei_utf8_valid(a.data, a.len) == a.len && aoei_utf8_valid(b.data, b.len) == b.len);
        require(isfinite(aoe_pairs_label(p, i)) && aoe_pairs_line(p, i) > last);
        last = aoe_pairs_line(p, i);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (!size)
        return 0;
    FILE *file = size > 1 ? fmemopen((void *)(size_t)(data + 1), size - 1, "rb") : fopen("/dev/null", "rb");
    require(file != NULL);
    aoei_stream *s;
    aoei_lines *lines = NULL;
    aoe_pairs *pairs;
    aoe_error err = {0};
    size_t bad = 0;
    require(aoei_stream_attach(&s, file, "fuzz", AOEI_CODEC_PLAIN, &err) == 0);
    require(aoei_lines_from(&lines, s, &err) == 0);
    const int rc =
        aoei_suite_read_lines(&pairs, data[0] & 1 ? AOEI_SUITE_STSB : AOEI_SUITE_SICK, lines, data[0] & 2, &bad, &err);
    if (rc)
        require(!pairs && err.code == rc && strncmp(err.message, "fuzz", 4) == 0);
    else
        check(pairs);
    aoe_pairs_free(pairs);
    aoei_lines_close(lines);
    fclose(file);
    return 0;
}
