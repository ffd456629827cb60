/* SPDX-License-Identifier: MIT
 * The method distill: a smaller model learns the vectors of a teacher, and the similarities between them.
 */
#ifndef AOEI_TRAIN_METHOD_DISTILL_H
#define AOEI_TRAIN_METHOD_DISTILL_H

#include "train/method.h"

extern const aoei_method aoei_method_distill;

#endif
