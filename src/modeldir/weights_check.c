/* SPDX-License-Identifier: MIT
 * Checks the exponents of the stored values. In NaN and infinity, all exponent bits are 1. The check clears the sign
 * bit of a value and adds 1 at the lowest exponent bit. The sum has the sign bit set only if the value is NaN or
 * infinity.
 */
#include "modeldir/weights_check.h"

#include <string.h>

#include "base/alloc.h"
#include "base/compiler.h"
#include "base/error.h"

/* maximum number of bytes that a task checks; a multiple of the number of bytes per inner loop for every data type */
#define BLOCK_BYTES ((size_t)5 << 18)
#define GROUP       256 /* number of elements per inner loop; the fixed number lets the compiler vectorize the loop */
#define CACHE_LINE  ((size_t)64)
/* distance from the checked bytes to the prefetched bytes, which may follow the last tensor */
#define PREFETCH_BYTES ((size_t)2048)
#define GROUP5         (GROUP / 8 * AOEI_INT5_GROUP_BYTES) /* number of bytes that contain GROUP int5 values */

/* The part of a tensor that one task checks. */
typedef struct block {
    const unsigned char *data; /* [bytes] elements, borrowed */
    size_t bytes;
    size_t tensor; /* index of the tensor in the argument `tensors` of aoei_weights_check */
    aoei_st_dtype dtype;
    int bad; /* 1 if the block contains an invalid value; set by the task */
} block;

/* Returns non-zero if one of the GROUP float32 elements at p is NaN or infinity. */
static uint32_t bad_group32(const unsigned char *p) {
    uint32_t any = 0;
    for (size_t i = 0; i < GROUP; i++) {
        uint32_t bits;
        memcpy(&bits, p + 4 * i, sizeof bits);
        any |= (bits & 0x7f800000u) + 0x00800000u;
    }
    return any & 0x80000000u;
}

/* Returns non-zero if one of the GROUP 16-bit elements at p is NaN or infinity. exponent: mask of the exponent bits.
 * one: mask of the lowest exponent bit. */
static uint32_t bad_group16(const unsigned char *p, uint16_t exponent, uint16_t one) {
    uint16_t any = 0;
    for (size_t i = 0; i < GROUP; i++) {
        uint16_t bits;
        memcpy(&bits, p + 2 * i, sizeof bits);
        any = (uint16_t)(any | ((bits & exponent) + one));
    }
    return any & 0x8000u;
}

/* Returns non-zero if one of the GROUP int8 elements at p is -128, which is not a valid value of a stored int8
 * weight. */
static uint32_t bad_group8(const unsigned char *p) {
    uint8_t any = 0;
    for (size_t i = 0; i < GROUP; i++)
        any = (uint8_t)(any | (p[i] == 0x80));
    return any;
}

/* Returns non-zero if one of the GROUP int5 values at p is -16, whose five bits are 0 and which is not a valid value of
 * a stored int5 weight. Adding 15 to the lower four bits of a value sets its highest bit unless the four bits are 0. */
static uint32_t bad_group5(const unsigned char *p) {
    const uint64_t highest = AOEI_INT5_ZEROS, lower = highest - (highest >> 4); /* masks of the bits of all 8 values */
    uint64_t all = highest;
    for (size_t i = 0; i < GROUP5; i += AOEI_INT5_GROUP_BYTES) {
        const uint64_t x = aoei_int5_group(p + i);
        all &= ((x & lower) + lower) | x;
    }
    return all != highest;
}

/* Returns non-zero if one of the GROUP elements at p, which have the data type dtype, is invalid. */
static uint32_t bad_group(aoei_st_dtype dtype, const unsigned char *p) {
    if (dtype == AOEI_ST_I8 || dtype == AOEI_ST_I5)
        return dtype == AOEI_ST_I8 ? bad_group8(p) : bad_group5(p);
    if (dtype == AOEI_ST_F32)
        return bad_group32(p);
    return dtype == AOEI_ST_F16 ? bad_group16(p, 0x7c00, 0x0400) : bad_group16(p, 0x7f80, 0x0080);
}

/* Returns 1 if the block contains an invalid value. */
static int block_is_bad(const block *b) {
    const size_t group = b->dtype == AOEI_ST_I5 ? GROUP5 : GROUP * aoei_st_dtype_size(b->dtype);
    unsigned char last[GROUP * sizeof(float)]; /* copy of an incomplete last group, padded with valid values */
    uint32_t any = 0;                          /* non-zero if an invalid value was found */
    size_t at = 0;
    memset(last, b->dtype == AOEI_ST_I5 ? 0xff : 0, sizeof last);
    for (; b->bytes - at >= group; at += group) {
        for (size_t line = 0; line < group; line += CACHE_LINE)
            AOEI_PREFETCH_L1(b->data + at + PREFETCH_BYTES + line);
        any |= bad_group(b->dtype, b->data + at);
    }
    memcpy(last, b->data + at, b->bytes - at);
    return (any | bad_group(b->dtype, last)) != 0;
}

/* Argument of the parallel loop. Task 0 is other_work, and task i + 1 checks block i. */
typedef struct check_loop {
    block *blocks;
    void (*other_work)(void *arg); /* may be NULL */
    void *arg;                     /* argument of other_work */
} check_loop;

static void check_task(void *arg, size_t task, size_t worker) {
    const check_loop *loop = arg;
    (void)worker;
    if (task > 0)
        loop->blocks[task - 1].bad = block_is_bad(&loop->blocks[task - 1]);
    else if (loop->other_work)
        loop->other_work(loop->arg);
}

int aoei_weights_check(size_t *bad, aoei_pool *pool, const aoei_st_tensor *const *tensors, size_t n,
                       void (*other_work)(void *arg), void *arg, aoe_error *err) {
    size_t n_blocks = 0, used = 0;
    for (size_t i = 0; i < n; i++)
        n_blocks += tensors[i] ? tensors[i]->bytes / BLOCK_BYTES + 1 : 0;
    block *blocks = aoei_calloc(n_blocks + 1, sizeof *blocks);
    if (!blocks)
        return aoei_fail_nomem(err, n_blocks * sizeof *blocks);
    for (size_t i = 0; i < n; i++)
        for (size_t at = 0; tensors[i] && at < tensors[i]->bytes; at += BLOCK_BYTES) {
            const size_t left = tensors[i]->bytes - at;
            blocks[used++] = (block){.data = tensors[i]->data + at,
                                     .bytes = left < BLOCK_BYTES ? left : BLOCK_BYTES,
                                     .tensor = i,
                                     .dtype = tensors[i]->dtype};
        }
    check_loop loop = {.blocks = blocks, .other_work = other_work, .arg = arg};
    aoei_parallel_for(pool, used + 1, check_task, &loop);
    *bad = n;
    for (size_t b = used; b-- > 0;)
        if (blocks[b].bad)
            *bad = blocks[b].tensor;
    aoei_free(blocks);
    return 0;
}
