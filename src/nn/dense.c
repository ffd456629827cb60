/* SPDX-License-Identifier: MIT
 * Linear layers with an optional activation function, in float32.
 */
#include "nn/dense.h"

#include <math.h>

#define SQRT_HALF      0.70710678118654752440
#define NORMAL_DENSITY 0.39894228040143267794 /* 1 / sqrt(2 pi), the standard normal density at 0 */

/* Arguments of the tasks, each of which processes one row. All tensors are float32 with contiguous rows. */
typedef struct activation_job {
    aoei_tensor y, z, dy, dz; /* output, input, and their gradients; which tensors are present depends on the task */
    aoei_dense_activation f;
    int accumulate; /* 1: the result is added to y */
} activation_job;

static double sigmoid(double z) {
    return 1 / (1 + exp(-z));
}

static double value(aoei_dense_activation f, double z) {
    switch (f) {
    case AOEI_DENSE_TANH:
        return tanh(z);
    case AOEI_DENSE_RELU:
        return z < 0 ? 0 : z; /* NaN propagates */
    case AOEI_DENSE_SIGMOID:
        return sigmoid(z);
    case AOEI_DENSE_GELU:
        return z * 0.5 * (1 + erf(z * SQRT_HALF));
    case AOEI_DENSE_SILU:
        return z * sigmoid(z);
    default:
        return z;
    }
}

/* Returns f'(z) for the functions whose derivative needs z. */
static double derivative(aoei_dense_activation f, double z) {
    if (f == AOEI_DENSE_GELU)
        return 0.5 * (1 + erf(z * SQRT_HALF)) + z * NORMAL_DENSITY * exp(-0.5 * z * z);
    return sigmoid(z) * (1 + z * (1 - sigmoid(z)));
}

static void forward_task(void *arg, size_t row, size_t worker) {
    const activation_job *j = arg;
    float *y = aoei_tensor_at(j->y, row, 0);
    const float *z = aoei_tensor_at(j->z, row, 0);
    (void)worker;
    for (size_t k = 0; k < j->y.cols; k++)
        y[k] = j->accumulate ? (float)value(j->f, (double)z[k]) + y[k] : (float)value(j->f, (double)z[k]);
}

static void backward_task(void *arg, size_t row, size_t worker) {
    const activation_job *j = arg;
    float *dz = aoei_tensor_at(j->dz, row, 0);
    const float *dy = aoei_tensor_at(j->dy, row, 0), *y = aoei_tensor_at(j->y, row, 0),
                *z = aoei_tensor_at(j->z, row, 0);
    (void)worker;
    for (size_t k = 0; k < j->dz.cols; k++) {
        const float before = z ? z[k] : 0, v = z ? (float)value(j->f, (double)before) : y[k];
        switch (j->f) {
        case AOEI_DENSE_TANH:
            dz[k] = dy[k] * (1.0f - v * v);
            break;
        case AOEI_DENSE_RELU:
            dz[k] = v > 0 ? dy[k] : 0;
            break;
        case AOEI_DENSE_SIGMOID:
            dz[k] = dy[k] * (v * (1.0f - v));
            break;
        default:
            dz[k] = (float)((double)dy[k] * derivative(j->f, (double)before));
        }
    }
}

void aoei_dense_activate(const aoe_context *ctx, aoei_tensor y, aoei_tensor z, aoei_dense_activation f,
                         int accumulate) {
    activation_job j = {.y = y, .z = z, .f = f, .accumulate = accumulate};
    if (f != AOEI_DENSE_IDENTITY || accumulate || y.data != z.data)
        aoei_parallel_for(ctx->pool, y.rows, forward_task, &j);
}

void aoei_dense_activate_backward(const aoe_context *ctx, aoei_tensor dz, aoei_tensor dy, aoei_tensor y, aoei_tensor z,
                                  aoei_dense_activation f) {
    activation_job j = {.y = y, .z = z, .dy = dy, .dz = dz, .f = f};
    if (f != AOEI_DENSE_IDENTITY)
        aoei_parallel_for(ctx->pool, dz.rows, backward_task, &j);
    else if (dz.data != dy.data)
        aoei_tensor_copy(ctx, dz, dy);
}
