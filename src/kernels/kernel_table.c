/* SPDX-License-Identifier: MIT
 * Builds the kernel tables from kernels.def at compile time. A tier is a set of instruction set extensions
 * (base/cpu.h). The table of tier T is initialized with the kernels of all tiers up to T. kernels.def lists the kernels
 * of an op in ascending order of tiers, and a later initializer of a field overrides an earlier one. Each field
 * therefore contains the kernel of the highest tier up to T that has one.
 */
#include "kernels/kernel_table.h"

#pragma GCC diagnostic ignored "-Woverride-init"

#define USE(op_, suffix) .op_ = aoei_##op_##_##suffix,
#define SKIP(op_, suffix)
#define AOEI_OP(op, tolerance)
#define AOEI_KERNEL(op, TIER, suffix) TIER_##TIER(op, suffix)

#define TIER_C USE
#if AOEI_X86_64
#define TIER_AVX2       SKIP
#define TIER_AVXVNNI    SKIP
#define TIER_AVX512     SKIP
#define TIER_AVX512VNNI SKIP
#define TIER_AVX512BF16 SKIP
#define TIER_AMX        SKIP
#elif AOEI_ARM64
#define TIER_NEON     SKIP
#define TIER_NEONDOT  SKIP
#define TIER_NEONBF16 SKIP
#endif
static const aoei_kernels kernels_c = {
    .tier = AOEI_TIER_C,
#include "kernels/kernels.def"
};

#if AOEI_X86_64

#undef TIER_AVX2
#define TIER_AVX2 USE
static const aoei_kernels kernels_avx2 = {
    .tier = AOEI_TIER_AVX2,
#include "kernels/kernels.def"
};

#undef TIER_AVXVNNI
#define TIER_AVXVNNI USE
static const aoei_kernels kernels_avxvnni = {
    .tier = AOEI_TIER_AVXVNNI,
#include "kernels/kernels.def"
};

#undef TIER_AVX512
#define TIER_AVX512 USE
static const aoei_kernels kernels_avx512 = {
    .tier = AOEI_TIER_AVX512,
#include "kernels/kernels.def"
};

#undef TIER_AVX512VNNI
#define TIER_AVX512VNNI USE
static const aoei_kernels kernels_avx512vnni = {
    .tier = AOEI_TIER_AVX512VNNI,
#include "kernels/kernels.def"
};

#undef TIER_AVX512BF16
#define TIER_AVX512BF16 USE
static const aoei_kernels kernels_avx512bf16 = {
    .tier = AOEI_TIER_AVX512BF16,
#include "kernels/kernels.def"
};

#undef TIER_AMX
#define TIER_AMX USE
static const aoei_kernels kernels_amx = {
    .tier = AOEI_TIER_AMX,
#include "kernels/kernels.def"
};

#elif AOEI_ARM64

#undef TIER_NEON
#define TIER_NEON USE
static const aoei_kernels kernels_neon = {
    .tier = AOEI_TIER_NEON,
#include "kernels/kernels.def"
};

#undef TIER_NEONDOT
#define TIER_NEONDOT USE
static const aoei_kernels kernels_neondot = {
    .tier = AOEI_TIER_NEONDOT,
#include "kernels/kernels.def"
};

#undef TIER_NEONBF16
#define TIER_NEONBF16 USE
static const aoei_kernels kernels_neonbf16 = {
    .tier = AOEI_TIER_NEONBF16,
#include "kernels/kernels.def"
};

#endif

const aoei_kernels *const aoei_kernel_tables[AOEI_TIER_COUNT] = {
    [AOEI_TIER_C] = &kernels_c,
#if AOEI_X86_64
    [AOEI_TIER_AVX2] = &kernels_avx2,
    [AOEI_TIER_AVXVNNI] = &kernels_avxvnni,
    [AOEI_TIER_AVX512] = &kernels_avx512,
    [AOEI_TIER_AVX512VNNI] = &kernels_avx512vnni,
    [AOEI_TIER_AVX512BF16] = &kernels_avx512bf16,
    [AOEI_TIER_AMX] = &kernels_amx,
#elif AOEI_ARM64
    [AOEI_TIER_NEON] = &kernels_neon,
    [AOEI_TIER_NEONDOT] = &kernels_neondot,
    [AOEI_TIER_NEONBF16] = &kernels_neonbf16,
#endif
};
