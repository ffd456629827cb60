/* SPDX-License-Identifier: MIT
 * The losses of ConSERT (Yan et al. 2021; yym6472/ConSERT). Each text of a batch has two vectors: those of its two
 * views. The in-batch negatives loss compares the first vector of a text with the second vectors of all texts, and with
 * the first vectors of the other texts, and vice versa. The loss NT-Xent of the authors is the sum of both directions,
 * which is twice the in-batch negatives loss. Text pairs with classes also have a classification loss
 * (loss/classification_objective.h). docs/objectives.md contains the formulas.
 */
#pragma once

#include "aoe_objective.h"
#include "base/context.h"
#include "loss/classification_objective.h"
#include "loss/objective.h"

/* Returns the size in bytes of the workspace for batches of up to B examples of D components, or 0 if the size
 * overflows. classes: number of classes; 0: the examples are texts without labels. The size does not decrease if an
 * argument increases. */
size_t aoei_view_objective_workspace(size_t B, size_t D, size_t classes);

/* Computes the loss of a batch and its gradients:
 * - c NULL: the examples are texts (arity 2: the two views of a text). The loss is o->w_ibn times the in-batch
 *   negatives loss with the temperature o->tau_ibn.
 * - c not NULL: the examples are text pairs with classes label[B] (arity 4: the two views of the first text, and
 *   the two views of the second text). The loss is the cross entropy of the first views, plus the loss above for the
 *   first texts and for the second texts. result->ibn is the sum of both in-batch negatives losses.
 * Equal texts of a batch are negatives of each other. If ctx is NULL, one thread is used. Errors: AOE_EARG (for
 * example, the workspace is too small); AOE_ENUMERIC (a value is not finite; the message contains the index of the
 * pair). */
int aoei_view_objective(const aoe_objective_options *o, const aoei_classifier *c, const double *label,
                        const aoei_example_batch *batch, void *workspace, size_t workspace_bytes,
                        const aoe_context *ctx, aoe_objective_result *result, aoe_error *err);
