/* SPDX-License-Identifier: MIT
 * The scale of a row that is quantized to int8, for the kernels of all instruction sets.
 */
#pragma once

#include <math.h>
#include <string.h>

#include "kernels/kernels.h"

/* The scale of a row, and the factor by which the values of the row are multiplied before they are rounded. inverse is
 * 0 if all int8 values of the row are 0. */
typedef struct aoei_row_scale {
    float scale, inverse;
} aoei_row_scale;

/* Returns the scale of a row whose largest magnitude has the bits `most`, as aoei_quantize_f32_fn describes. */
static inline aoei_row_scale aoei_row_scale_of(uint32_t most) {
    float max;
    memcpy(&max, &most, sizeof max);
    if (!(max <= 0x1.fffffep127f))
        return (aoei_row_scale){NAN, 0};
    if (max < AOEI_QUANTIZE_LEAST)
        return (aoei_row_scale){0, 0};
    return (aoei_row_scale){max / 127.0f, 127.0f / max};
}
