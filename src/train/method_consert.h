/* SPDX-License-Identifier: MIT
 * The methods of ConSERT (Yan et al. 2021).
 */
#ifndef AOEI_TRAIN_METHOD_CONSERT_H
#define AOEI_TRAIN_METHOD_CONSERT_H

#include "train/method.h"

extern const aoei_method aoei_method_consert, aoei_method_consert_sup;

#endif
