/* SPDX-License-Identifier: MIT
 * Reads the tensors of a file that torch.save wrote (pytorch_model.bin, adapter_model.bin): the program data.pkl
 * (torch_pickle.h) names the tensors, and the records data/KEY (torch_zip.h) contain their values.
 * Files of PyTorch before version 1.6 have another layout (torch_legacy.h).
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "modeldir/torch_pickle.h"

/* A tensor with contiguous elements in row-major order. */
typedef struct aoei_torch_tensor {
    const char *name;          /* borrowed */
    const char *dtype;         /* data type in the notation of safetensors, such as "F32"; static */
    const size_t *shape;       /* [n_dims] borrowed */
    size_t n_dims;             /* at most AOEI_TORCH_MAX_DIMS */
    const unsigned char *data; /* [bytes] little-endian; in the mapped file, or a copy; borrowed */
    size_t bytes;
} aoei_torch_tensor;

typedef struct aoei_torch_file aoei_torch_file; /* an open file */

/* Returns 1 if data[size] begins as a file of torch.save does, in any of its formats. */
int aoei_torch_is(const unsigned char *data, size_t size);
/* Opens the file data[size], which must remain valid until aoei_torch_file_close. Tensors may share memory, because
 * tied weights and views do. Tensors that are not contiguous and float64 tensors are copied; float64 values are rounded
 * to float32. If all names begin with "module." (torch.nn.DataParallel), this prefix is removed. path: name of the file
 * in messages. Errors: AOE_EFORMAT (damaged file, or tensors outside their storage), AOE_EUNSUPPORTED (TorchScript, and
 * the cases of torch_pickle.h, torch_zip.h and torch_legacy.h), AOE_ENOMEM. */
int aoei_torch_file_open(aoei_torch_file **f, const unsigned char *data, size_t size, const char *path, aoe_error *err);
void aoei_torch_file_close(aoei_torch_file *f); /* accepts NULL */
size_t aoei_torch_file_count(const aoei_torch_file *f);
aoei_torch_tensor aoei_torch_file_at(const aoei_torch_file *f, size_t i);
