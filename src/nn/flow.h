/* SPDX-License-Identifier: MIT
 * The normalizing flow of BERT-flow (Li et al. 2020, "On the sentence embeddings from pre-trained language models"), an
 * invertible function of a vector. It consists of levels of steps. The steps of level l have C = D / 2^l components. A
 * step computes, with the parameters b, s, W1, W2, W3, b1, s1, b2, s2, b3, s3:
 *     y = (x + b) exp(3 s), with the components in reversed order; p and q are the halves of y
 *     h1 = relu((p W1 + b1) exp(3 s1)),  h2 = relu((h1 W2 + b2) exp(3 s2))
 *     output: p, q + (h2 W3 + b3) exp(3 s3)
 * The logarithm of the determinant of its Jacobian is 3 sum s. After each level except the last, the second half of the
 * vector is part of the output, and the first half is the input of the next level. The output z consists of the second
 * halves of all levels except the last, in order, and of the output of the last level.
 *
 * All arithmetic is in double. Every sum has one fixed order, so the results do not depend on the number of threads or
 * on the number of rows that are computed at a time. In comments, D is the number of components, H is C / 2, W is the
 * width.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/pool.h"

enum { AOEI_FLOW_MAX_LEVELS = 8, AOEI_FLOW_MAX_DEPTH = 64, AOEI_FLOW_MAX_WIDTH = 1024 };

typedef struct aoei_flow_shape {
    size_t dims;   /* D, number of components; a multiple of 2^levels */
    size_t levels; /* number of levels, 1 to AOEI_FLOW_MAX_LEVELS */
    size_t depth;  /* number of steps per level, 1 to AOEI_FLOW_MAX_DEPTH */
    size_t width;  /* W, number of components of h1 and h2, 1 to AOEI_FLOW_MAX_WIDTH */
} aoei_flow_shape;

/* The parameters of a flow and the buffers for up to max_rows vectors. All arrays are in the caller's memory. */
typedef struct aoei_flow {
    aoei_flow_shape shape;
    size_t parameters; /* number of parameters */
    size_t max_rows;
    double *value;  /* [parameters] parameters of the steps in order; the parameters of a step are b [C], s [C], W1 [H,
                       W], b1 [W], s1 [W], W2 [W, W], b2 [W], s2 [W], W3 [W, H], b3 [H] and s3 [H] */
    double *scale;  /* [parameters] exp(3 v) of each parameter s, s1, s2 and s3; the other elements are unused */
    double *input;  /* [max_rows, D] input of the forward pass, which overwrites it; gradient of the input after the
                       backward pass */
    double *output; /* [max_rows, D] output of the forward pass; the caller replaces it by its gradient for the backward
                       pass */
    double *kept;   /* [max_rows, ...] y, h1, h2 and the change of q of every step */
    double *grad;   /* [parameters] sums of the gradients of the parameters; training only, otherwise NULL */
    double *delta;  /* [max_rows, ...] gradients of the values of every step; training only, otherwise NULL */
} aoei_flow;

/* Returns 1 if shape->dims is a positive multiple of 2^levels. */
int aoei_flow_dims_valid(const aoei_flow_shape *shape);
/* Returns the number of parameters. */
size_t aoei_flow_parameters(const aoei_flow_shape *shape);
/* Returns the number of doubles that a flow needs as memory. training: 1 if there are backward passes. */
size_t aoei_flow_doubles(const aoei_flow_shape *shape, size_t max_rows, int training);
/* Sets *f to a flow whose arrays are in memory[aoei_flow_doubles(...)]. The arrays are not initialized. */
void aoei_flow_place(aoei_flow *f, const aoei_flow_shape *shape, size_t max_rows, int training, double *memory);

/* Sets the initial parameters. W1 and W2 are random values with mean 0 and standard deviation 0.05, which depend on the
 * seed only. W3, b3 and s3 are 0. The other parameters are computed from x [n, D], so that (x + b) exp(3 s) and the
 * arguments of relu have mean 0 and variance 1 over the rows: b = -mean and s = ln(1 / (root mean square of x + b +
 * 1e-6)) / 3. x is overwritten. workspace: [2 n W]. */
void aoei_flow_init(aoei_flow *f, double *x, size_t n, double *workspace, uint64_t seed);
/* Computes f->scale. The caller calls this function whenever f->value has changed. */
void aoei_flow_update(aoei_flow *f);
/* Computes f->output from f->input for n rows, at most f->max_rows. */
void aoei_flow_forward(const aoei_flow *f, aoei_pool *pool, size_t n);
/* Computes f->input from f->output for n rows. */
void aoei_flow_inverse(const aoei_flow *f, size_t n);
/* Computes the gradients after a forward pass of n rows: f->input from f->output, which the caller has replaced by its
 * gradient. The gradients of the parameters are added to f->grad. The rows are added in order, so the result does not
 * depend on the number of rows per call. */
void aoei_flow_backward(const aoei_flow *f, aoei_pool *pool, size_t n);
/* Returns the logarithm of the determinant of the Jacobian, which is equal for all inputs. */
double aoei_flow_logdet(const aoei_flow *f);
/* Adds the gradients of the parameters to f->grad, if `gradient` is the gradient of the result of aoei_flow_logdet. */
void aoei_flow_logdet_backward(const aoei_flow *f, double gradient);
/* Returns the loss of an example with the output z [D] in bits per component: its negative log-likelihood, if z has a
 * standard normal distribution, divided by D ln 2. The gradient with respect to z is z / (D ln 2), and the gradient
 * with respect to logdet is -1 / (D ln 2). */
double aoei_flow_bits(const double *z, size_t dims, double logdet);
