/* SPDX-License-Identifier: MIT
 * Quantization of activations to int8, with one scale per row (token), as inputs of linear layers (nn/linear.h).
 */
#ifndef AOEI_NN_INT8_ROWS_H
#define AOEI_NN_INT8_ROWS_H

#include "base/context.h"
#include "nn/tensor.h"

/* Returns the size in bytes of a workspace for an int8 tensor of at most n rows and `cols` columns. */
size_t aoei_int8_rows_bytes(size_t n, size_t cols);
/* Quantizes the rows of x, a float32 or bf16 tensor, as aoei_quantize_f32_fn describes. Returns the int8 tensor, whose data and
 * scales are in `workspace` until the next call with this workspace. workspace: at least aoei_int8_rows_bytes(x.rows, x.cols)
 * bytes. */
aoei_tensor aoei_quantize_rows(const aoe_context *ctx, aoei_tensor x, aoei_tensor workspace);

#endif
