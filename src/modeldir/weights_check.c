/* SPDX-License-Identifier: MIT
 * Checks the exponents of the stored values. In NaN and infinity all exponent bits are 1, so adding 1 at the lowest exponent
 * bit (with the sign bit cleared) sets the sign bit only for these values.
 */
#include "modeldir/weights_check.h"

#include <string.h>

#include "base/alloc.h"
#include "base/error.h"

#define BLOCK_BYTES ((size_t)1 << 20) /* bytes per task */
#define GROUP       256               /* elements per inner loop; compilers vectorize loops of fixed length */

/* A part of a tensor that one task checks. */
typedef struct block {
    const unsigned char *data; /* [bytes] elements, borrowed */
    size_t bytes;
    size_t tensor; /* index of the tensor */
    aoei_st_dtype dtype;
    int bad; /* 1: the block contains an invalid value; set by the task */
} block;

/* Returns non-zero if one of the GROUP elements at p is NaN or infinity. */
static uint32_t bad_group32(const unsigned char *p) {
    uint32_t any = 0;
    for (size_t i = 0; i < GROUP; i++) {
        uint32_t bits;
        memcpy(&bits, p + 4 * i, sizeof bits);
        any |= (bits & 0x7f800000u) + 0x00800000u;
    }
    return any & 0x80000000u;
}

/* Like bad_group32 for 16-bit types. exponent: mask of the exponent bits. one: mask of the lowest exponent bit. */
static uint32_t bad_group16(const unsigned char *p, uint16_t exponent, uint16_t one) {
    uint16_t any = 0;
    for (size_t i = 0; i < GROUP; i++) {
        uint16_t bits;
        memcpy(&bits, p + 2 * i, sizeof bits);
        any = (uint16_t)(any | ((bits & exponent) + one));
    }
    return any & 0x8000u;
}

/* Returns non-zero if one of the GROUP elements at p is -128, which int8 storage does not use. */
static uint32_t bad_group8(const unsigned char *p) {
    uint8_t any = 0;
    for (size_t i = 0; i < GROUP; i++)
        any = (uint8_t)(any | (p[i] == 0x80));
    return any;
}

/* Returns non-zero if one of the GROUP elements of this type at p is invalid. */
static uint32_t bad_group(aoei_st_dtype dtype, const unsigned char *p) {
    if (dtype == AOEI_ST_I8)
        return bad_group8(p);
    if (dtype == AOEI_ST_F32)
        return bad_group32(p);
    return dtype == AOEI_ST_F16 ? bad_group16(p, 0x7c00, 0x0400) : bad_group16(p, 0x7f80, 0x0080);
}

/* Returns 1 if the block contains an invalid value. */
static int block_is_bad(const block *b) {
    const size_t group = GROUP * aoei_st_dtype_size(b->dtype);
    unsigned char last[GROUP * sizeof(float)] = {0}; /* the last group if it is incomplete, padded with zeros */
    uint32_t any = 0;                                /* non-zero: an invalid value was found */
    size_t at = 0;
    for (; b->bytes - at >= group; at += group)
        any |= bad_group(b->dtype, b->data + at);
    memcpy(last, b->data + at, b->bytes - at);
    return (any | bad_group(b->dtype, last)) != 0;
}

static void check_task(void *arg, size_t task, size_t worker) {
    block *blocks = arg;
    (void)worker;
    blocks[task].bad = block_is_bad(&blocks[task]);
}

int aoei_weights_check(size_t *bad, aoei_pool *pool, const aoei_st_tensor *const *tensors, size_t n, aoe_error *err) {
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
    aoei_parallel_for(pool, used, check_task, blocks);
    *bad = n;
    for (size_t b = used; b-- > 0;)
        if (blocks[b].bad)
            *bad = blocks[b].tensor;
    aoei_free(blocks);
    return 0;
}
