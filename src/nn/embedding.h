/* SPDX-License-Identifier: MIT
 * The embedding layer: the sum of token, position and token type embeddings.
 */
#pragma once

#include <stddef.h>

#include "base/context.h"
#include "nn/batch.h"
#include "nn/tensor.h"

/* Computes row i of y[N, D] as word[id] + position[pos + position_offset] + token_type[type], where id, pos and type
 * are batch->ids[i], batch->positions[i] and batch->types[i]. A type that the table does not have is replaced by 0. y
 * is float32 or bf16. The tables may have any type. position and token_type may be absent. */
void aoei_embedding_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor word, aoei_tensor position,
                            size_t position_offset, aoei_tensor token_type, const aoei_batch *batch);
/* Adds the gradients of the three tables to dword, dposition and dtoken_type. dy[N, D] is the gradient of y. All
 * gradients are float32. A gradient whose tensor is absent is not computed. */
void aoei_embedding_backward(const aoe_context *ctx, aoei_tensor dword, aoei_tensor dposition, size_t position_offset,
                             aoei_tensor dtoken_type, aoei_tensor dy, const aoei_batch *batch);
