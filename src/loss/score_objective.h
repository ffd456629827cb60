/* SPDX-License-Identifier: MIT
 * The loss of cross-encoders. The vector of an example (arity 1) contains the outputs (logits) of the model for a text
 * pair. With one output x and a target t from 0 to 1, the loss is the binary cross entropy log(1 + exp(x)) - t x. With
 * several outputs, the loss is the cross entropy of their softmax with the class of the pair. The losses are the same
 * as in BinaryCrossEntropyLoss and CrossEntropyLoss in sentence-transformers. docs/objectives.md contains the formulas.
 */
#pragma once

#include "aoe_objective.h"
#include "loss/objective.h"

/* Computes the mean loss of the batch and its gradient, in double precision. label: [B] targets from 0 to 1 if b->D is
 * 1, otherwise classes, integers from 0 to b->D - 1. Sets result->total and result->classification. Errors: AOE_EARG
 * (b->arity is not 1), AOE_ENUMERIC (an output is not finite; the message contains the index of the pair). */
int aoei_score_objective(const double *label, const aoei_example_batch *b, aoe_objective_result *result,
                         aoe_error *err);
