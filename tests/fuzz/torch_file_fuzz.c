/* SPDX-License-Identifier: MIT
 * Fuzzes the reader of files that torch.save wrote. If the first byte of the input is odd, the rest is a whole archive.
 * Otherwise, the rest is the program of the tensors of a valid file with one storage of 64 bytes, so that mutations
 * reach the pickle machine. The file has the format of PyTorch before version 1.6 if the second bit of the first byte
 * is set. If a file is accepted, every byte of every tensor must be readable.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/torch_writer.h"
#include "modeldir/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const unsigned char values[64];
    aoei_safetensors *s;
    aoe_error err;
    unsigned sum = 0;
    if (!size)
        return 0;
    test_bytes program = {0}, file = {0};
    test_bytes_add(data[0] & 1 ? &file : &program, data + 1, size - 1);
    if (!(data[0] & 1))
        file = data[0] & 2 ? test_torch_legacy(&program, sizeof values / sizeof(float), values, sizeof values)
                           : test_torch_file(&program, values, sizeof values);
    const int rc = aoei_safetensors_open_memory(&s, file.data, file.size, "fuzz", &err);
    if (rc && (s || err.code != rc || !*err.message))
        abort();
    for (size_t i = 0; !rc && i < aoei_safetensors_count(s); i++) {
        const aoei_st_tensor *t = aoei_safetensors_at(s, i);
        for (size_t k = 0; k < t->bytes; k++)
            sum += t->data[k];
        if (aoei_safetensors_find(s, t->name) != t)
            abort();
    }
    aoei_safetensors_close(s);
    test_bytes_free(&program);
    test_bytes_free(&file);
    return sum == 0x7fffffffu; /* returns a value that depends on the sum, so that the compiler does not remove the
                                  reads */
}
