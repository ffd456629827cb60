/* SPDX-License-Identifier: MIT
 * Fuzzes the safetensors reader. If a file is accepted, every byte of every tensor must be readable, and every name must be
 * found.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "modeldir/storage.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    aoei_safetensors *s;
    aoe_error err;
    int rc = aoei_safetensors_open_memory(&s, data, size, "fuzz", &err);
    if (rc) {
        if (s || err.code != rc || !*err.message)
            abort();
        return 0;
    }
    unsigned sum = 0;
    for (size_t i = 0; i < aoei_safetensors_count(s); i++) {
        const aoei_st_tensor *t = aoei_safetensors_at(s, i);
        for (size_t k = 0; k < t->bytes; k++)
            sum += t->data[k];
        if (aoei_safetensors_find(s, t->name) != t || !aoei_safetensors_path(s, t))
            abort();
        size_t n = aoei_st_elements(t);
        const int rows = t->dtype == AOEI_ST_I8 && !aoei_int8_check(s, t, NULL);
        if (rows && aoei_safetensors_scaled(s, t->scale) != t)
            abort();
        if (t->dtype <= AOEI_ST_BF16 || rows) {
            float *v = malloc((n ? n : 1) * sizeof *v);
            if (v)
                aoei_st_to_float(v, t);
            free(v);
        }
    }
    aoei_safetensors_close(s);
    return sum == 0x7fffffffu; /* returns a value that depends on the sum, so that the compiler does not remove the reads */
}
