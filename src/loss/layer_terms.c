/* SPDX-License-Identifier: MIT
 * Computes the terms that compare hidden states with constant targets.
 */
#include "loss/layer_terms.h"

#include <math.h>

/* Returns log sum_k exp(x_k / T) for D values x_k. */
static double log_sum(const double *x, size_t D, double T) {
    double max = -INFINITY, sum = 0;
    for (size_t k = 0; k < D; k++)
        max = x[k] / T > max ? x[k] / T : max;
    for (size_t k = 0; k < D; k++)
        sum += exp(x[k] / T - max);
    return max + log(sum);
}

/* Computes the sum of the term over one row and its gradient. */
static void row_task(void *arg, size_t i, size_t worker) {
    const aoei_layer_term *p = arg;
    const size_t D = p->D;
    const double *u = p->u + i * D, *t = p->t + i * D, T = p->temperature;
    const double student = log_sum(u, D, T), target = log_sum(t, D, T), n = (double)p->N;
    double kl = 0, squares = 0;
    (void)worker;
    for (size_t k = 0; k < D; k++) {
        const double log_q = t[k] / T - target, log_p = u[k] / T - student, q = exp(log_q), difference = u[k] - t[k];
        double g = (exp(log_p) - q) / n; /* the factors T and 1 / T cancel */
        kl += q * (log_q - log_p);
        if (p->with_squares) {
            squares += difference * difference;
            g += 2 * difference / (n * (double)D);
        }
        if (p->grad)
            p->grad[i * D + k] += p->weight * g;
    }
    p->row[i] = T * kl / n + squares / (n * (double)D);
}

double aoei_layer_term_compute(const aoei_layer_term *p) {
    double sum = 0;
    aoei_layer_term job = *p;
    aoei_parallel_for(p->ctx->pool, p->N, row_task, &job);
    for (size_t i = 0; i < p->N; i++)
        sum += p->row[i];
    return sum;
}
