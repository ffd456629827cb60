/* SPDX-License-Identifier: MIT
 * tags: emulated
 * covers: base/clock
 * Tests the detection of the best supported instruction set (the CPU tier) against /proc/cpuinfo, and the environment
 * variable AOE_CPU. Also tests the number of CPUs under affinity and cgroup limits, the clock, and the peak memory.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../support/support.h"
#include "base/clock.h"
#include "base/compiler.h"
#include "base/cpu.h"
#include "base/dir.h"

/* Returns 1 if `flags`, a line of /proc/cpuinfo, contains all of the names. The array `names` ends with NULL. */
static int has_flags(const char *flags, const char *const *names) {
    for (; *names; names++) {
        char word[32];
        snprintf(word, sizeof word, " %s ", *names);
        if (!strstr(flags, word))
            return 0;
    }
    return 1;
}

/* Beginning of the line of /proc/cpuinfo that lists the extensions of the CPU. */
#if AOEI_ARM64
#define EXTENSIONS "Features"
#else
#define EXTENSIONS "flags"
#endif

/* Extensions that a tier needs in addition to those of the lower tiers, as in /proc/cpuinfo. */
static const char *const needs[AOEI_TIER_COUNT][8] = {
    [AOEI_TIER_C] = {0},
#if AOEI_X86_64
    [AOEI_TIER_AVX2] = {"avx2", "fma", "f16c"},
    [AOEI_TIER_AVXVNNI] = {"avx_vnni"},
    [AOEI_TIER_AVX512] = {"avx512f", "avx512bw", "avx512dq", "avx512vl"},
    [AOEI_TIER_AVX512VNNI] = {"avx512_vnni"},
    [AOEI_TIER_AVX512BF16] = {"avx512_bf16"},
    [AOEI_TIER_AMX] = {"amx_tile", "amx_bf16", "amx_int8"},
#elif AOEI_ARM64
    [AOEI_TIER_NEON] = {"asimd"},
    [AOEI_TIER_NEONDOT] = {"asimddp"},
    [AOEI_TIER_NEONBF16] = {"bf16", "i8mm"},
#endif
};

static void test_detected_tier(void **state) {
    (void)state;
    aoei_tier tier = aoei_cpu_detect();
    assert_in_range(tier, AOEI_TIER_C, AOEI_TIER_COUNT - 1);
    assert_int_equal(aoei_cpu_detect(), tier);
    FILE *f = fopen("/proc/cpuinfo", "r");
    char flags[8192] = "";
    while (f && fgets(flags, sizeof flags, f) && strncmp(flags, EXTENSIONS, strlen(EXTENSIONS)) != 0)
        flags[0] = 0;
    if (f)
        fclose(f);
    if (!flags[0]) {
        printf("SKIP: /proc/cpuinfo does not list the extensions of the CPU\n");
        skip();
    }
    char *end = strchr(flags, '\n');
    if (end)
        *end = ' ';
    int lower = 1; /* 1: the CPU has the extensions of all lower tiers that a tier includes */
    for (int t = 0; t < AOEI_TIER_COUNT; t++) {
        const int has = aoei_cpu_has((aoei_tier)t), wanted = lower && has_flags(flags, needs[t]);
        /* for AMX, /proc/cpuinfo is not sufficient: the kernel may deny permission to use it */
        if (has || !aoei_tier_has_tiles((aoei_tier)t))
            assert_int_equal(has, wanted);
#if AOEI_X86_64
        if (t == AOEI_TIER_AVXVNNI) /* the higher tiers do not include AVX-VNNI */
            continue;
#endif
        lower = wanted;
    }
}

static void test_forced_tier(void **state) {
    (void)state;
    const char *before = getenv("AOE_CPU");
    char *saved = before ? strdup(before) : NULL;
    aoei_tier tier, best = aoei_cpu_detect();
    aoe_error err = {0};
    for (int t = 0; t < AOEI_TIER_COUNT; t++) {
        setenv("AOE_CPU", aoei_tier_name((aoei_tier)t), 1);
        assert_int_equal(aoei_cpu_tier(&tier, NULL), 0);
        assert_true((int)tier <= t && tier <= best && aoei_cpu_has(tier));
        for (int above = (int)tier + 1; above <= t; above++)
            assert_false(aoei_cpu_has((aoei_tier)above));
    }
    setenv("AOE_CPU", "", 1);
    assert_int_equal(aoei_cpu_tier(&tier, NULL), 0);
    assert_int_equal(tier, best);
    unsetenv("AOE_CPU");
    assert_int_equal(aoei_cpu_tier(&tier, NULL), 0);
    assert_int_equal(tier, best);
    setenv("AOE_CPU", "avx9", 1);
    assert_int_equal(aoei_cpu_tier(&tier, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "AOE_CPU=avx9"));
    assert_non_null(strstr(err.message, aoei_tier_name((aoei_tier)(AOEI_TIER_COUNT - 1))));
    if (saved)
        setenv("AOE_CPU", saved, 1);
    else
        unsetenv("AOE_CPU");
    free(saved);
}

static void test_names(void **state) {
    (void)state;
    assert_string_equal(aoei_tier_name(AOEI_TIER_C), "c");
#if AOEI_X86_64
    assert_string_equal(aoei_tier_name(AOEI_TIER_AVX512BF16), "avx512bf16");
    assert_string_equal(aoei_tier_name(AOEI_TIER_AMX), "amx");
    assert_null(aoei_tier_bf16(AOEI_TIER_AVX512));
    assert_string_equal(aoei_tier_bf16(AOEI_TIER_AVX512BF16), "AVX512-BF16");
    assert_true(aoei_tier_has_tiles(AOEI_TIER_AMX) && !aoei_tier_has_tiles(AOEI_TIER_AVX512BF16));
#elif AOEI_ARM64
    assert_string_equal(aoei_tier_name(AOEI_TIER_NEON), "neon");
    assert_string_equal(aoei_tier_name(AOEI_TIER_NEONDOT), "neondot");
    assert_string_equal(aoei_tier_name(AOEI_TIER_NEONBF16), "neonbf16");
    assert_null(aoei_tier_bf16(AOEI_TIER_NEONDOT));
    assert_string_equal(aoei_tier_bf16(AOEI_TIER_NEONBF16), "FEAT_BF16");
#endif
    assert_null(aoei_tier_bf16(AOEI_TIER_C));
    const char *model = aoei_cpu_model();
    assert_true(strlen(model) > 2);
    assert_true(model[0] != ' ' && model[strlen(model) - 1] != ' ');
    assert_ptr_equal(aoei_cpu_model(), model);
}

static void test_affinity(void **state) {
    (void)state;
    cpu_set_t before, one;
    if (sched_getaffinity(0, sizeof before, &before) != 0) {
        printf("SKIP: more CPUs than cpu_set_t supports\n");
        skip();
    }
    size_t count = aoei_cpu_count();
    assert_in_range(count, 1, (size_t)CPU_COUNT(&before));
    size_t first = 0;
    while (!CPU_ISSET(first, &before))
        first++;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    size_t with_one = aoei_cpu_count();
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(with_one, 1);
    assert_int_equal(aoei_cpu_count(), count);
}

/* Writes text to the file cpu.max in root/path. */
static void set_quota(const char *root, const char *path, const char *text) {
    char *dir = test_path(root, path);
    assert_int_equal(aoei_make_dir(dir, NULL), 0);
    free(test_write_text(dir, "cpu.max", text));
    free(dir);
}

static void test_cgroup(void **state) {
    (void)state;
    char *root = test_dir_create();
    char *file = test_path(root, "cgroup");
    assert_true(aoei_cgroup_cpus(root, file) == SIZE_MAX); /* no such file */
    free(test_write_text(root, "cgroup", "1:cpu:/old\n"));
    assert_true(aoei_cgroup_cpus(root, file) == SIZE_MAX); /* the file lists only a group of cgroup version 1 */
    free(test_write_text(root, "cgroup", "1:cpu:/old\n0::/a/b\n"));
    assert_true(aoei_cgroup_cpus(root, file) == SIZE_MAX); /* neither the group of the process nor its parents have a
                                                              limit */
    set_quota(root, "a/b", "max 100000\n");
    assert_true(aoei_cgroup_cpus(root, file) == SIZE_MAX);
    set_quota(root, "a", "350000 100000\n");
    assert_int_equal(aoei_cgroup_cpus(root, file), 4); /* the parent group has a limit of 3.5 CPUs, which is rounded
                                                          up */
    set_quota(root, "a/b", "200000 100000\n");
    assert_int_equal(aoei_cgroup_cpus(root, file), 2); /* the smallest limit of the group and its parents applies */
    set_quota(root, "", "1000 100000\n");
    assert_int_equal(aoei_cgroup_cpus(root, file), 1); /* the root group has a limit of 0.01 CPUs; the result is at
                                                          least 1 */
    free(test_write_text(root, "cgroup", "0::/\n"));
    set_quota(root, "", "300000 100000\n");
    assert_int_equal(aoei_cgroup_cpus(root, file), 3); /* inside a container, the group of the process is the root
                                                          group */
    set_quota(root, "", "0 0\n");
    assert_true(aoei_cgroup_cpus(root, file) == SIZE_MAX);
    free(file);
    test_dir_remove(root);
}

static void test_clock(void **state) {
    (void)state;
    double start = aoei_now();
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    double passed = aoei_now() - start;
    assert_true(passed >= 0.02 && passed < 60);
    enum { BLOCK = 48 << 20 };
    size_t before = aoei_peak_rss_bytes();
    assert_true(before > (size_t)100 << 10);
    volatile char *block = malloc(BLOCK);
    assert_non_null(block);
    for (size_t i = 0; i < BLOCK; i += 1024)
        block[i] = 1;
    size_t after = aoei_peak_rss_bytes();
    free((void *)(uintptr_t)block);
    assert_true(after >= BLOCK && after >= before);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_detected_tier), cmocka_unit_test(test_forced_tier), cmocka_unit_test(test_names),
        cmocka_unit_test(test_affinity),      cmocka_unit_test(test_cgroup),      cmocka_unit_test(test_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
