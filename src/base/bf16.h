/* SPDX-License-Identifier: MIT
 * bfloat16: the upper half of a float32. Values are rounded to nearest, ties to even, including subnormals. A NaN
 * becomes a quiet NaN. The vector kernels round in the same way, so a rounded value has the same bits with every
 * instruction set.
 */
#pragma once

#include <stdint.h>
#include <string.h>

typedef uint16_t aoei_bf16;

static inline float aoei_bf16_to_f32(aoei_bf16 x) {
    const uint32_t bits = (uint32_t)x << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline aoei_bf16 aoei_bf16_from_f32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    if ((bits & 0x7fffffffu) > 0x7f800000u)
        return (aoei_bf16)((bits >> 16) | 0x40u);
    return (aoei_bf16)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
