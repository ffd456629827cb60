/* SPDX-License-Identifier: MIT
 * The methods of SimCSE (Gao et al. 2021): unsupervised and supervised.
 */
#ifndef AOEI_TRAIN_METHOD_SIMCSE_H
#define AOEI_TRAIN_METHOD_SIMCSE_H

#include "train/method.h"

extern const aoei_method aoei_method_simcse_unsup, aoei_method_simcse_sup;

#endif
