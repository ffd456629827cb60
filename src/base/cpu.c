/* SPDX-License-Identifier: MIT
 * Detects the CPU tier and the number of CPUs that this process may use. On x86-64, a tier is available only if CPUID
 * reports every instruction set that base/cpu.h names for it, the operating system saves the registers of these
 * instruction sets and, for AMX, Linux grants access to the tile registers. On ARM64, a tier is available if the
 * auxiliary vector of the process reports the extensions of this tier and of all lower tiers.
 */
#include "base/cpu.h"

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/error.h"

#if AOEI_X86_64
#include <cpuid.h>
#include <sys/syscall.h>
#elif AOEI_ARM64
#include <sys/auxv.h>
#endif

/* Names of the tiers, and of the bf16 instructions that a tier has. */
static const struct {
    const char *name, *bf16;
} tiers[AOEI_TIER_COUNT] = {
    [AOEI_TIER_C] = {"c", NULL},
#if AOEI_X86_64
    [AOEI_TIER_AVX2] = {"avx2", NULL},
    [AOEI_TIER_AVXVNNI] = {"avxvnni", NULL},
    [AOEI_TIER_AVX512] = {"avx512", NULL},
    [AOEI_TIER_AVX512VNNI] = {"avx512vnni", NULL},
    [AOEI_TIER_AVX512BF16] = {"avx512bf16", "AVX512-BF16"},
    [AOEI_TIER_AMX] = {"amx", "AMX-BF16"},
#elif AOEI_ARM64
    [AOEI_TIER_NEON] = {"neon", NULL},
    [AOEI_TIER_NEONDOT] = {"neondot", NULL},
    [AOEI_TIER_NEONBF16] = {"neonbf16", "FEAT_BF16"},
#endif
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static unsigned int supported;     /* bit t: the CPU has tier t; for AMX, Linux may still deny permission */
static char model[64] = "unknown"; /* brand string of the CPU */

#define BIT(n) (1u << (n))

#if AOEI_X86_64

static pthread_once_t amx_once = PTHREAD_ONCE_INIT;
static int amx_granted; /* 1 if Linux has granted access to the tile registers */

#define XCR0_AVX            UINT64_C(0x6)     /* xmm and ymm registers */
#define XCR0_AVX512         UINT64_C(0xe6)    /* xmm, ymm, opmask, upper halves of zmm0-15, zmm16-31 */
#define XCR0_AMX            UINT64_C(0x600e6) /* registers of XCR0_AVX512, tile configuration, tile data */
#define ARCH_REQ_XCOMP_PERM 0x1023
#define XFEATURE_XTILEDATA  18

typedef struct cpuid_regs {
    unsigned int a, b, c, d;
} cpuid_regs;

/* Reads a CPUID leaf. A leaf that the CPU does not have is read as zeros. */
static cpuid_regs cpuid(unsigned int leaf, unsigned int subleaf) {
    cpuid_regs r = {0};
    if (!__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d))
        r = (cpuid_regs){0};
    return r;
}

static int has(unsigned int word, unsigned int bits) {
    return (word & bits) == bits;
}

/* Requests permission from Linux to use the AMX tile registers. The permission applies to the whole process and makes
 * its signal frames larger, so it is requested only on CPUs with AMX, and only if AOE_CPU allows the AMX tier. */
static void request_amx(void) {
    amx_granted = syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

/* Returns 1 if AMX's tile palette 1 has at least 8 tiles of 16 rows with 64 bytes each. */
static int has_tiles(void) {
    const cpuid_regs palette = cpuid(0x1d, 1);
    return palette.b >> 16 >= 8 && (palette.b & 0xffff) == 64 && (palette.c & 0xffff) == 16;
}

/* Returns the tiers of the CPU, one bit for each. */
static unsigned int find_tiers(void) {
    unsigned int found = BIT(AOEI_TIER_C);
    cpuid_regs one = cpuid(1, 0);
    const unsigned int fma = BIT(12), osxsave = BIT(27), avx = BIT(28), f16c = BIT(29);
    if (!has(one.c, osxsave | avx | fma | f16c))
        return found;
    uint64_t saved = aoei_xgetbv();
    cpuid_regs seven = cpuid(7, 0), more = {0};
    if (seven.a >= 1)
        more = cpuid(7, 1);
    if ((saved & XCR0_AVX) != XCR0_AVX || !has(seven.b, BIT(5))) /* bit 5: AVX2 */
        return found;
    found |= BIT(AOEI_TIER_AVX2);
    if (has(more.a, BIT(4))) /* AVX-VNNI */
        found |= BIT(AOEI_TIER_AVXVNNI);
    const unsigned int avx512 = BIT(16) | BIT(17) | BIT(30) | BIT(31); /* AVX512F, AVX512DQ, AVX512BW, AVX512VL */
    if ((saved & XCR0_AVX512) != XCR0_AVX512 || !has(seven.b, avx512))
        return found;
    found |= BIT(AOEI_TIER_AVX512);
    if (!has(seven.c, BIT(11))) /* AVX512-VNNI */
        return found;
    found |= BIT(AOEI_TIER_AVX512VNNI);
    if (!has(more.a, BIT(5))) /* AVX512-BF16 */
        return found;
    found |= BIT(AOEI_TIER_AVX512BF16);
    const unsigned int amx = BIT(22) | BIT(24) | BIT(25); /* AMX-BF16, AMX-TILE, AMX-INT8 */
    if ((saved & XCR0_AMX) != XCR0_AMX || !has(seven.d, amx) || !has_tiles())
        return found;
    return found | BIT(AOEI_TIER_AMX);
}

/* Sets `model` to the CPU's brand string without leading, trailing and repeated blanks. */
static void find_model(void) {
    if ((unsigned int)__get_cpuid_max(0x80000000u, NULL) < 0x80000004u)
        return;
    char brand[49] = {0};
    for (unsigned int i = 0; i < 3; i++) {
        cpuid_regs r = cpuid(0x80000002u + i, 0);
        memcpy(brand + 16 * i, &r, sizeof r);
    }
    size_t out = 0;
    for (size_t i = 0; brand[i]; i++)
        if (brand[i] != ' ' || (out > 0 && model[out - 1] != ' '))
            model[out++] = brand[i];
    while (out > 0 && model[out - 1] == ' ')
        out--;
    model[out] = 0;
    if (aoei_one_line(model, out) == 0)
        memcpy(model, "unknown", sizeof "unknown");
}

/* Returns 1 unless `tier` is the AMX tier and Linux denies access to the tile registers. */
static int permitted(aoei_tier tier) {
    if (tier < AOEI_TIER_AMX)
        return 1;
    pthread_once(&amx_once, request_amx);
    return amx_granted;
}

#else

#if AOEI_ARM64

/* HWCAP_ASIMDDP, HWCAP2_I8MM and HWCAP2_BF16 of Linux, which old headers do not define */
#define HWCAP_FEAT_DOTPROD (1ul << 20)
#define HWCAP2_FEAT_I8MM   (1ul << 13)
#define HWCAP2_FEAT_BF16   (1ul << 14)

/* Returns the tiers of the CPU, one bit for each. */
static unsigned int find_tiers(void) {
    const unsigned long matrix = HWCAP2_FEAT_BF16 | HWCAP2_FEAT_I8MM;
    unsigned int found = BIT(AOEI_TIER_C) | BIT(AOEI_TIER_NEON);
    if (!(getauxval(AT_HWCAP) & HWCAP_FEAT_DOTPROD))
        return found;
    found |= BIT(AOEI_TIER_NEONDOT);
    return (getauxval(AT_HWCAP2) & matrix) == matrix ? found | BIT(AOEI_TIER_NEONBF16) : found;
}

#else

static unsigned int find_tiers(void) {
    return BIT(AOEI_TIER_C);
}

#endif

static void find_model(void) {}

static int permitted(aoei_tier tier) {
    (void)tier;
    return 1;
}

#endif

static void find_all(void) {
    supported = find_tiers();
    find_model();
}

/* Returns the number of CPUs in the affinity mask. The buffer grows until the mask of the Linux kernel fits. */
static size_t affinity_cpus(void) {
    for (size_t cpus = 1024; cpus <= (size_t)1 << 20; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (!set)
            break;
        size_t bytes = CPU_ALLOC_SIZE(cpus);
        int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (count > 0)
            return (size_t)count;
    }
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (size_t)online : 1;
}

/* Reads a cpu.max file, which contains "QUOTA PERIOD" or "max PERIOD" in microseconds. Returns QUOTA / PERIOD, rounded
 * up to whole CPUs, or SIZE_MAX if there is no limit. */
static size_t quota_cpus(const char *path) {
    FILE *f = fopen(path, "re");
    if (!f)
        return SIZE_MAX;
    unsigned long long quota = 0, period = 0;
    size_t cpus = SIZE_MAX;
    if (fscanf(f, "%llu %llu", &quota, &period) == 2 && quota > 0 && period > 0)
        cpus = (size_t)(quota / period + (quota % period != 0));
    fclose(f);
    return cpus;
}

/* Copies the path of this process's cgroup (version 2) to group[size]. The path is the text after "0::" in cgroup_file.
 * Returns 1 if it is found, otherwise 0. */
static int group_path(const char *cgroup_file, char *group, size_t size) {
    FILE *f = fopen(cgroup_file, "re");
    if (!f)
        return 0;
    int found = 0;
    while (!found && fgets(group, (int)size, f))
        found = strncmp(group, "0::", 3) == 0;
    fclose(f);
    if (!found)
        return 0;
    size_t len = strcspn(group + 3, "\n");
    memmove(group, group + 3, len);
    group[len] = 0;
    return 1;
}

size_t aoei_cgroup_cpus(const char *root, const char *cgroup_file) {
    char group[2048], path[4096];
    size_t cpus = SIZE_MAX;
    if (!group_path(cgroup_file, group, sizeof group))
        return cpus;
    for (;;) {
        int n = snprintf(path, sizeof path, "%s%s/cpu.max", root, group);
        size_t limit = n > 0 && (size_t)n < sizeof path ? quota_cpus(path) : SIZE_MAX;
        if (limit < cpus)
            cpus = limit;
        char *slash = strrchr(group, '/');
        if (!slash)
            return cpus;
        *slash = 0;
    }
}

size_t aoei_cpu_count(void) {
    size_t cpus = affinity_cpus();
    size_t quota = aoei_cgroup_cpus("/sys/fs/cgroup", "/proc/self/cgroup");
    return quota < cpus ? quota : cpus;
}

int aoei_cpu_has(aoei_tier tier) {
    pthread_once(&once, find_all);
    return (supported & BIT(tier)) && permitted(tier);
}

/* Returns `wanted`, or the highest available tier below it if `wanted` is not available. */
static aoei_tier tier_up_to(aoei_tier wanted) {
    int tier = (int)wanted;
    while (tier > AOEI_TIER_C && !aoei_cpu_has((aoei_tier)tier))
        tier--;
    return (aoei_tier)tier;
}

aoei_tier aoei_cpu_detect(void) {
    return tier_up_to((aoei_tier)(AOEI_TIER_COUNT - 1));
}

/* Writes the names of all tiers, separated by commas, to text[size]. */
static void list_tiers(char *text, size_t size) {
    size_t at = 0;
    for (size_t i = 0; i < AOEI_TIER_COUNT && at < size; i++)
        at += (size_t)snprintf(text + at, size - at, "%s%s", i ? ", " : "", tiers[i].name);
}

int aoei_cpu_tier(aoei_tier *tier, aoe_error *err) {
    const char *name = getenv("AOE_CPU");
    if (!name || !*name) {
        *tier = aoei_cpu_detect();
        return 0;
    }
    for (size_t i = 0; i < AOEI_TIER_COUNT; i++)
        if (strcmp(name, tiers[i].name) == 0) {
            *tier = tier_up_to((aoei_tier)i);
            return 0;
        }
    *tier = AOEI_TIER_C;
    char known[128];
    list_tiers(known, sizeof known);
    return aoei_fail(err, AOE_EARG, "AOE_CPU=%s is not a CPU tier; use one of %s, or unset it", name, known);
}

const char *aoei_tier_name(aoei_tier tier) {
    return tiers[tier].name;
}

const char *aoei_tier_bf16(aoei_tier tier) {
    return tiers[tier].bf16;
}

int aoei_tier_has_tiles(aoei_tier tier) {
#if AOEI_X86_64
    return tier == AOEI_TIER_AMX;
#else
    (void)tier;
    return 0;
#endif
}

const char *aoei_cpu_model(void) {
    pthread_once(&once, find_all);
    return model;
}
