/* SPDX-License-Identifier: MIT
 * The compiler extensions that aoe uses. No other file contains attributes or builtins.
 */
#pragma once

#if defined(__GNUC__) || defined(__clang__)
#define AOEI_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#define AOEI_LIKELY(x)         __builtin_expect(!!(x), 1)
#define AOEI_UNLIKELY(x)       __builtin_expect(!!(x), 0)
#define AOEI_UNUSED            __attribute__((unused))
#define AOEI_CLEANUP(f)        __attribute__((cleanup(f)))   /* calls f with the address of the variable at its end */
#define AOEI_PREFETCH(p)       __builtin_prefetch((p), 0, 2) /* loads the cache line at p into the second-level cache */
#define AOEI_PREFETCH_L1(p)    __builtin_prefetch((p), 0, 3) /* loads the cache line at p into all cache levels */
#define AOEI_ORDER_LOADS(p)                                                                                            \
    __asm__ __volatile__("" : "+r"(p)) /* keeps later loads through the pointer p after this point */
#define AOEI_ALWAYS_INLINE inline __attribute__((always_inline))
#define AOEI_TARGET(isa)                                                                                               \
    __attribute__((target(isa)))      /* attribute of a function that uses the instruction set `isa`                   \
                                       */
#define AOEI_TYPE_OF(x) __typeof__(x) /* type of x, for functions that are loaded with dlsym */
/* Defines the array `name` of the bytes of a file, and its end `name`_end, in the read-only data of the program. */
#define AOEI_EMBED(name, file)                                                                                         \
    __asm__(".pushsection .rodata\n"                                                                                   \
            ".global " #name "\n.hidden " #name "\n.global " #name "_end\n.hidden " #name "_end\n" #name               \
            ":\n.incbin \"" file "\"\n" #name "_end:\n.byte 0\n.popsection\n");                                        \
    extern const char name[], name##_end[];
#else
#define AOEI_PRINTF(fmt, args)
#define AOEI_LIKELY(x)   (x)
#define AOEI_UNLIKELY(x) (x)
#define AOEI_UNUSED
#define AOEI_PREFETCH(p)    ((void)(p))
#define AOEI_PREFETCH_L1(p) ((void)(p))
#define AOEI_ORDER_LOADS(p) ((void)(p))
#define AOEI_ALWAYS_INLINE  inline
#define AOEI_TARGET(isa)
#define AOEI_TYPE_OF(x) typeof(x)
#endif

#if defined(__x86_64__)
#define AOEI_X86_64 1
#else
#define AOEI_X86_64 0
#endif

#if defined(__aarch64__)
#define AOEI_ARM64 1
#else
#define AOEI_ARM64 0
#endif

/* Tells the CPU that the program is in a spin-wait loop. */
static inline void aoei_cpu_relax(void) {
#if AOEI_X86_64
    __builtin_ia32_pause();
#elif AOEI_ARM64
    __asm__ __volatile__("yield");
#endif
}

#if AOEI_X86_64
/* Returns XCR0, the set of register states that the operating system saves. May only be called if CPUID reports
 * OSXSAVE. */
static inline unsigned long long aoei_xgetbv(void) {
    unsigned int low, high;
    __asm__ __volatile__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return ((unsigned long long)high << 32) | low;
}
#endif
