/* SPDX-License-Identifier: MIT
 * RMSNorm of float32 and bf16 in portable C.
 */
#define NORM(op)    aoei_##op##_f32_c
#define NORM_X      float
#define NORM_GET(x) (x)
#define NORM_PUT(x) (x)
#include "kernels/rmsnorm_body_c.h"

#undef NORM
#undef NORM_X
#undef NORM_GET
#undef NORM_PUT
#define NORM(op)    aoei_##op##_bf16_c
#define NORM_X      aoei_bf16
#define NORM_GET(x) aoei_bf16_to_f32(x)
#define NORM_PUT(x) aoei_bf16_from_f32(x)
#include "kernels/rmsnorm_body_c.h"
