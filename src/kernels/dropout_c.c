/* SPDX-License-Identifier: MIT
 * Dropout of a row, portable tier: the layout of kernels.h, a block of 64 columns from 16
 * Philox counters.
 */
#include "base/random.h"
#include "kernels/kernels.h"

void aoei_dropout_f32_c(float *y, const float *x, const float *residual, const aoei_dropout_row *d, size_t n) {
    for (size_t block = 0; block < n; block += 64) {
        for (size_t lane = 0; lane < 16 && block + lane < n; lane++) {
            const uint32_t counter[4] = {d->counter[0] + (uint32_t)(block / 4 + lane), d->counter[1], d->counter[2],
                                         d->counter[3]};
            uint32_t word[4];
            aoei_philox(word, counter, d->key);
            for (size_t j = 0; j < 4; j++) {
                const size_t c = block + 16 * j + lane;
                if (c >= n)
                    break;
                const float v = word[j] >= d->threshold ? x[c] * d->scale : 0.0f;
                y[c] = residual ? residual[c] + v : v;
            }
        }
    }
}
