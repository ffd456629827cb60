/* SPDX-License-Identifier: MIT
 * Fuzzes the safetensors reader. If a file is accepted, every byte of every tensor must be readable, and every name
 * must be found.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "modeldir/storage.h"

/* Converts the U8 matrix t, if it contains valid int5 values, for every number of columns that its rows can have. */
static void convert_int5(const aoei_safetensors *s, const aoei_st_tensor *t) {
    for (size_t padding = 0; padding < 8 && t->n_dims == 2 && t->shape[1] && t->shape[1] % 5 == 0; padding++) {
        aoei_st_tensor d = *t;
        d.dtype = AOEI_ST_I5;
        d.shape[1] = t->shape[1] / 5 * 8 - padding;
        if (aoei_int5_check(s, t, d.shape[1], NULL))
            continue;
        const size_t n = aoei_st_elements(&d);
        float *v = malloc((n ? n : 1) * sizeof *v);
        if (v)
            aoei_st_to_float(v, &d);
        free(v);
    }
}

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
        if (t->dtype == AOEI_ST_U8)
            convert_int5(s, t);
    }
    aoei_safetensors_close(s);
    return sum == 0x7fffffffu; /* returns a value that depends on the sum, so that the compiler does not remove the
                                  reads */
}
