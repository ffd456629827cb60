/* SPDX-License-Identifier: MIT
 * Reads the format in which torch.save wrote files before version 1.6 of PyTorch: a sequence of pickle programs (a
 * magic number, the version of the format, a description of the system, the dict of tensors, and the list of the keys
 * of the storages), followed by the data of each storage, after its number of elements.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "modeldir/torch_pickle.h"
#include "modeldir/torch_zip.h"

/* Returns 1 if data[size] begins with the magic number of the format. */
int aoei_torch_legacy_is(const unsigned char *data, size_t size);
/* Reads the file data[size]. Sets *p to the tensors, and *z to the records "data/KEY" of their storages, as in the
 * newer format. Data of *z is borrowed from the file. The caller frees *p and *z. path: name of the file in messages.
 * Errors: AOE_EFORMAT (damaged file, or storages outside the file), AOE_EUNSUPPORTED (other versions or byte orders,
 * and the cases of torch_pickle.h), AOE_ENOMEM. */
int aoei_torch_legacy_open(aoei_torch_program *p, aoei_zip *z, const unsigned char *data, size_t size, const char *path,
                           aoe_error *err);
