/* SPDX-License-Identifier: MIT
 * The method promptbert. See method_promptbert.c.
 */
#ifndef AOEI_TRAIN_METHOD_PROMPTBERT_H
#define AOEI_TRAIN_METHOD_PROMPTBERT_H

#include "train/method.h"

extern const aoei_method aoei_method_promptbert, aoei_method_promptbert_sup;

#endif
