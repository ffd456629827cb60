/* SPDX-License-Identifier: MIT
 * CPU tiers: bundles of instruction sets, asked of CPUID, of XGETBV (does the
 * system save the registers) and, for AMX, of Linux (permission call).
 * AOE_CPU=c|avx2|avx512|avx512bf16|amx caps the tier; a name that is unknown is an error.
 */
#ifndef AOEI_BASE_CPU_H
#define AOEI_BASE_CPU_H

#include "aoe.h"

typedef enum aoei_tier {
    AOEI_TIER_C,          /* portable C */
    AOEI_TIER_AVX2,       /* AVX2 + FMA + F16C */
    AOEI_TIER_AVX512,     /* F, BW, DQ, VL */
    AOEI_TIER_AVX512BF16, /* + AVX512-BF16 */
    AOEI_TIER_AMX,        /* + AMX-TILE, AMX-BF16, permission granted */
    AOEI_TIER_COUNT
} aoei_tier;

aoei_tier aoei_cpu_detect(void);                    /* the best tier of this CPU, ignoring AOE_CPU */
int aoei_cpu_tier(aoei_tier *tier, aoe_error *err); /* min(detected, AOE_CPU); AOE_EARG for an unknown name */
const char *aoei_tier_name(aoei_tier tier);         /* "avx512" ... */
size_t aoei_cpu_count(void);                        /* CPUs this process may use: affinity, cgroup v2 quota; >= 1 */
const char *aoei_cpu_model(void);                   /* brand string or "unknown"; static storage */

/* CPUs allowed by the cpu.max files (rounded up) of the cgroup named in cgroup_file (as /proc/self/cgroup) and of its
 * parents, below root (as /sys/fs/cgroup); SIZE_MAX when there is no limit. */
size_t aoei_cgroup_cpus(const char *root, const char *cgroup_file);

#endif
