/* SPDX-License-Identifier: MIT
 * Fine-tuning with a method that is not in the table of methods (methods.c), such as the example of docs/methods.md.
 */
#pragma once

#include "train/method.h"

/* Fine-tunes a model as aoe_train does, but with the given method. options.method is ignored, except by checks that
 * depend on a certain method. Errors: see aoe_train. */
int aoei_train_with_method(aoe_context *ctx, const aoe_train_options *o, const aoei_method *method, aoe_error *err);
