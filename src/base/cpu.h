/* SPDX-License-Identifier: MIT
 * CPU tiers. A CPU tier is a set of instruction set extensions for which the kernels are compiled. The best tier is
 * selected at run time. On x86-64, CPUID reports the extensions of the CPU, and XGETBV reports whether the operating
 * system saves their registers. For AMX, the library also requests permission from Linux. On ARM64, Linux reports the
 * extensions in the auxiliary vector. The environment variable AOE_CPU sets an upper limit; its value is the name of a
 * tier (aoei_tier_name).
 */
#pragma once

#include "aoe.h"
#include "base/compiler.h"

/* The tiers of the architecture for which the library is compiled, in ascending order. */
typedef enum aoei_tier {
    AOEI_TIER_C, /* portable C */
#if AOEI_X86_64
    AOEI_TIER_AVX2,       /* AVX2 + FMA + F16C */
    AOEI_TIER_AVXVNNI,    /* AVX2 tier + AVX-VNNI; CPUs with higher tiers may lack AVX-VNNI and this tier */
    AOEI_TIER_AVX512,     /* AVX2 tier + AVX-512 F, BW, DQ, VL */
    AOEI_TIER_AVX512VNNI, /* AVX512 tier + AVX512-VNNI */
    AOEI_TIER_AVX512BF16, /* AVX512VNNI tier + AVX512-BF16 */
    AOEI_TIER_AMX,        /* AVX512BF16 tier + AMX-TILE, AMX-BF16, AMX-INT8; needs permission from Linux */
#elif AOEI_ARM64
    AOEI_TIER_NEON,     /* Advanced SIMD, which every ARM64 CPU has */
    AOEI_TIER_NEONDOT,  /* NEON tier + FEAT_DotProd */
    AOEI_TIER_NEONBF16, /* NEONDOT tier + FEAT_BF16, FEAT_I8MM */
#endif
    AOEI_TIER_COUNT
} aoei_tier;

aoei_tier aoei_cpu_detect(void);                    /* returns the best tier of this CPU; ignores AOE_CPU */
int aoei_cpu_has(aoei_tier tier);                   /* 1: this CPU has the tier; ignores AOE_CPU */
int aoei_cpu_tier(aoei_tier *tier, aoe_error *err); /* sets *tier to AOE_CPU or, if AOE_CPU is unset or this CPU lacks
                                                       the tier, to the best tier of this CPU up to AOE_CPU; AOE_EARG if
                                                       AOE_CPU is not the name of a tier */
const char *aoei_tier_name(aoei_tier tier);         /* for example "avx512"; static storage */
const char *aoei_tier_bf16(aoei_tier tier); /* name of the bf16 instructions of the tier, such as "AVX512-BF16"; NULL:
                                               the tier has none; static storage */
int aoei_tier_has_tiles(aoei_tier tier);    /* 1: the bf16 matmul of the tier uses tile instructions (AMX) */
size_t aoei_cpu_count(void);      /* number of CPUs this process may use (affinity, cgroup v2 quota); at least 1 */
const char *aoei_cpu_model(void); /* brand string or "unknown"; static storage */

/* Returns the number of CPUs that the cpu.max files of a cgroup and its parents allow, rounded up, or SIZE_MAX if there
 * is no limit. cgroup_file names the cgroup and has the format of /proc/self/cgroup; root is the mount point, such as
 * /sys/fs/cgroup.
 */
size_t aoei_cgroup_cpus(const char *root, const char *cgroup_file);
