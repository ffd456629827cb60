/* SPDX-License-Identifier: MIT
 * Names of the functions of a CPU tier. The Makefile defines AOEI_TIER as the name of the tier for which it compiles a
 * file.
 */
#pragma once

#define AOEI_TIER_NAME2(op, tier) aoei_##op##_##tier
#define AOEI_TIER_NAME(op, tier)  AOEI_TIER_NAME2(op, tier)
/* The name of the function for `op`, such as aoei_gelu_f32_avx2. */
#define AOEI_SIMD(op) AOEI_TIER_NAME(op, AOEI_TIER)
