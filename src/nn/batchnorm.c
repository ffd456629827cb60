/* SPDX-License-Identifier: MIT
 * Batch normalization. A task processes a block of columns in float64, row by row, so the result does not depend on the
 * number of threads.
 */
#include "nn/batchnorm.h"

#include <math.h>

enum { BLOCK = 16 /* columns per task */ };

typedef struct job {
    aoei_tensor x, y, dx, dy, gamma, beta, dgamma, dbeta;
    double eps;
} job;

/* The statistics of one column. */
typedef struct column {
    double mean, inv_sd; /* mean, and 1 / sqrt(variance + eps) */
} column;

static float *at(aoei_tensor t, size_t row, size_t col) {
    return aoei_tensor_at(t, row, col);
}

static column statistics(const job *j, size_t c) {
    const size_t n = j->x.rows;
    double mean = 0, var = 0;
    for (size_t r = 0; r < n; r++)
        mean += (double)*at(j->x, r, c);
    mean /= (double)n;
    for (size_t r = 0; r < n; r++)
        var += ((double)*at(j->x, r, c) - mean) * ((double)*at(j->x, r, c) - mean);
    return (column){.mean = mean, .inv_sd = 1 / sqrt(var / (double)n + j->eps)};
}

static double weight_of(const job *j, size_t c) {
    return j->gamma.data ? (double)*at(j->gamma, 0, c) : 1;
}

static void forward_task(void *arg, size_t task, size_t worker) {
    const job *j = arg;
    (void)worker;
    for (size_t c = task * BLOCK; c < j->x.cols && c < (task + 1) * BLOCK; c++) {
        const column s = statistics(j, c);
        const double factor = weight_of(j, c) * s.inv_sd, bias = j->beta.data ? (double)*at(j->beta, 0, c) : 0;
        for (size_t r = 0; r < j->x.rows; r++)
            *at(j->y, r, c) = (float)(((double)*at(j->x, r, c) - s.mean) * factor + bias);
    }
}

/* With z = (x - mean) / sd, dx = gamma / sd (dy - mean(dy) - z mean(dy z)). */
static void backward_task(void *arg, size_t task, size_t worker) {
    const job *j = arg;
    (void)worker;
    for (size_t c = task * BLOCK; c < j->x.cols && c < (task + 1) * BLOCK; c++) {
        const column s = statistics(j, c);
        const double n = (double)j->x.rows;
        double sum = 0, sum_z = 0;
        for (size_t r = 0; r < j->x.rows; r++) {
            const double dy = (double)*at(j->dy, r, c);
            sum += dy;
            sum_z += dy * ((double)*at(j->x, r, c) - s.mean) * s.inv_sd;
        }
        if (j->dgamma.data) {
            *at(j->dgamma, 0, c) = (float)((double)*at(j->dgamma, 0, c) + sum_z);
            *at(j->dbeta, 0, c) = (float)((double)*at(j->dbeta, 0, c) + sum);
        }
        for (size_t r = 0; r < j->x.rows; r++) {
            const double z = ((double)*at(j->x, r, c) - s.mean) * s.inv_sd;
            *at(j->dx, r, c) =
                (float)(weight_of(j, c) * s.inv_sd * ((double)*at(j->dy, r, c) - sum / n - z * sum_z / n));
        }
    }
}

void aoei_batchnorm_forward(const aoe_context *ctx, aoei_tensor y, aoei_tensor x, aoei_tensor gamma, aoei_tensor beta,
                            double eps) {
    job j = {.x = x, .y = y, .gamma = gamma, .beta = beta, .eps = eps};
    aoei_parallel_for(ctx->pool, (x.cols + BLOCK - 1) / BLOCK, forward_task, &j);
}

void aoei_batchnorm_backward(const aoe_context *ctx, aoei_tensor dx, aoei_tensor dgamma, aoei_tensor dbeta,
                             aoei_tensor dy, aoei_tensor x, aoei_tensor gamma, double eps) {
    job j = {.x = x, .dx = dx, .dy = dy, .gamma = gamma, .dgamma = dgamma, .dbeta = dbeta, .eps = eps};
    aoei_parallel_for(ctx->pool, (x.cols + BLOCK - 1) / BLOCK, backward_task, &j);
}
