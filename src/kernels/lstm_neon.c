/* SPDX-License-Identifier: MIT
 * The cell of an LSTM and its gradients for NEON. This file instantiates lstm_simd.h with the vector types and operations of
 * simd_neon.h.
 */
#include "kernels/simd_neon.h"
#include "kernels/lstm_simd.h"
