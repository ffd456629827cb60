/* SPDX-License-Identifier: MIT
 * The loss of Contrastive Tension (Carlsson et al. 2021): the mean binary cross entropy of dot products. Example i is a
 * pair of vectors x_i and y_i of two encoders, with the target t_i: 1 if both texts are equal, otherwise 0.
 *
 *     s_i = <x_i, y_i>,   loss = 1/B sum_i (log(1 + exp(s_i)) - t_i s_i)
 */
#pragma once

#include "aoe_objective.h"
#include "loss/objective.h"

/* Computes the loss of the batch, whose examples have two vectors, and its gradient. target: [B] targets from 0 to 1.
 * Sets result->contrastive and result->total to the loss. Errors: AOE_EARG; AOE_ENUMERIC (a dot product is not finite;
 * the message contains the index of the pair). */
int aoei_tension_objective(const double *target, const aoei_example_batch *b, aoe_objective_result *result,
                           aoe_error *err);
