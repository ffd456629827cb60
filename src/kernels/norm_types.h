/* SPDX-License-Identifier: MIT
 * Instantiates the vectorized code of a normalization layer twice, for float32 and for bf16 activations. Define
 * NORM_BODY first as the name of the header with the code: layernorm_body_simd.h or
 * rmsnorm_body_simd.h.
 */
#include "kernels/simd.h"

#define NORM(op)                 AOEI_SIMD(op##_f32)
#define NORM_X                   float
#define NORM_LOAD(p)             vf_load(p)
#define NORM_LOAD_PART(p, n)     vf_load_part(p, n)
#define NORM_STORE(p, v)         vf_store(p, v)
#define NORM_STORE_PART(p, n, v) vf_store_part(p, n, v)
#include NORM_BODY

#undef NORM
#undef NORM_X
#undef NORM_LOAD
#undef NORM_LOAD_PART
#undef NORM_STORE
#undef NORM_STORE_PART
#define NORM(op)                 AOEI_SIMD(op##_bf16)
#define NORM_X                   aoei_bf16
#define NORM_LOAD(p)             vf_load_bf16(p)
#define NORM_LOAD_PART(p, n)     vf_load_bf16_part(p, n)
#define NORM_STORE(p, v)         vf_store_bf16(p, v)
#define NORM_STORE_PART(p, n, v) vf_store_bf16_part(p, n, v)
#include NORM_BODY
