/* SPDX-License-Identifier: MIT
 * Fuzzes the reader of .npy files. If a file is accepted, every row must be readable. Otherwise, there must be an error
 * message of one line.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "vectors/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    aoei_npy a;
    aoe_error err;
    const int rc = aoei_npy_parse(&a, data, size, "fuzz.npy", &err);
    if (rc) {
        if (err.code != rc || !*err.message || strchr(err.message, '\n'))
            abort();
        return 0;
    }
    if (a.rows && a.columns > size / a.rows)
        abort();
    float *rows = malloc((a.rows * a.columns + 1) * sizeof *rows);
    if (rows)
        aoei_npy_rows(&a, 0, a.rows, rows);
    free(rows);
    aoei_npy_close(&a);
    return 0;
}
