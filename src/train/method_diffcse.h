/* SPDX-License-Identifier: MIT
 * The method diffcse (DiffCSE, Chuang et al. 2022).
 */
#ifndef AOEI_TRAIN_METHOD_DIFFCSE_H
#define AOEI_TRAIN_METHOD_DIFFCSE_H

#include "train/method.h"

extern const aoei_method aoei_method_diffcse;

#endif
