/* SPDX-License-Identifier: MIT
 * The methods angle, cosent and contrastive, which minimize weighted sums of the objectives of labels.
 */
#ifndef AOEI_TRAIN_METHOD_ANGLE_H
#define AOEI_TRAIN_METHOD_ANGLE_H

#include "train/method.h"

extern const aoei_method aoei_method_angle, aoei_method_cosent, aoei_method_contrastive;

#endif
