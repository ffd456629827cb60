/* SPDX-License-Identifier: MIT
 * The method that trains a cross-encoder on text pairs.
 */
#pragma once

#include "train/method.h"

/* Returns the number of outputs of the cross-encoder that the run trains, or 0 if it trains an embedding model. */
size_t aoei_cross_classes(const aoe_train_options *o);
