/* SPDX-License-Identifier: MIT
 * Quantization of activations to int8, with one scale per row (token), as inputs of linear layers (nn/linear.h).
 */
#pragma once

#include "base/context.h"
#include "nn/tensor.h"

/* Returns the size in bytes of a description of split channels: n additional columns for an input of `cols`
 * channels. */
size_t aoei_int8_split_bytes(size_t n, size_t cols);
/* Creates this description in `memory`, which has aoei_int8_split_bytes(n, cols) bytes, is aligned to AOEI_ALIGN bytes
 * and must outlive it. Sets all elements of `factors` to 1: they are the numbers of columns of the channels until
 * aoei_int8_split_complete is called. */
aoei_int8_split *aoei_int8_split_create(void *memory, size_t n, size_t cols);
/* Completes the description. The elements of split->factors must be the numbers of columns of the channels, whose sum
 * is cols + n. They are replaced by their reciprocals. */
void aoei_int8_split_complete(aoei_int8_split *split, size_t cols);

/* Returns the size in bytes of a workspace for an int8 tensor of at most n rows and `cols` columns. */
size_t aoei_int8_rows_bytes(size_t n, size_t cols);
/* Quantizes the rows of x, a float32 or bf16 tensor, as aoei_quantize_f32_fn describes. Returns the int8 tensor, whose
 * data and scales are in `workspace` until the next call with this workspace. If `split` is NULL, the tensor has x.cols
 * columns, otherwise x.cols + split->n. With split channels, the scale of a row is max(|x[k]| factors[k]) / 127, and
 * the sum of the values of the n columns of channel k is x[k] / scale, rounded to the nearest integer and limited to
 * [-127 n, 127 n]. The n values differ by at most 1. workspace: at least aoei_int8_rows_bytes(x.rows, number of
 * columns) bytes. */
aoei_tensor aoei_quantize_rows(const aoe_context *ctx, aoei_tensor x, const aoei_int8_split *split,
                               aoei_tensor workspace);
