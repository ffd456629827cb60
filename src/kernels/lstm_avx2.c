/* SPDX-License-Identifier: MIT
 * The cell of an LSTM and its gradients for AVX2. This file instantiates lstm_simd.h with the vector types and operations of
 * simd_avx2.h.
 */
#include "kernels/simd_avx2.h"
#include "kernels/lstm_simd.h"
