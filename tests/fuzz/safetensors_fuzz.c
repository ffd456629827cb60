/* SPDX-License-Identifier: MIT
 * The safetensors reader on hostile files. Whatever is accepted must be safe to
 * use: every byte of every tensor is read, every name is found again.
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
    return sum == 0x7fffffffu; /* so that the sum is not left out */
}

#ifndef AOE_LIBFUZZER
int main(void) {
    static const aoei_fuzz_seed seeds[] = {
        AOEI_FUZZ_SEED("\x02\0\0\0\0\0\0\0{}"),
        AOEI_FUZZ_SEED("\x38\0\0\0\0\0\0\0"
                       "{\"a\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[0,8]}}"
                       "12345678"),
        AOEI_FUZZ_SEED(
            "\x90\0\0\0\0\0\0\0"
            "{\"__metadata__\":{\"format\":\"pt\"},\"a.b\":{\"dtype\":\"F16\",\"shape\":[3],\"data_offsets\":[0,6]},\"c\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[6,8]}}    "
            "12345678"),
        AOEI_FUZZ_SEED(
            "\xa0\0\0\0\0\0\0\0"
            "{\"a\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,8]},\"b\":{\"dtype\":\"F4\",\"shape\":[0],\"data_offsets\":[8,8]},\"c\":{\"dtype\":\"I8\",\"shape\":[2],\"data_offsets\":[8,10]}} "
            "1234567890"),
        AOEI_FUZZ_SEED(
            "\x80\0\0\0\0\0\0\0"
            "{\"a\":{\"dtype\":\"I8\",\"shape\":[2,4],\"data_offsets\":[0,8]},\"a_scale\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,16]}}             "
            "1234567812345678"),
    };
    return aoei_fuzz_main(LLVMFuzzerTestOneInput, seeds, sizeof seeds / sizeof *seeds);
}
#endif
