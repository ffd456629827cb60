/* SPDX-License-Identifier: MIT
 * The methods ct and ct-in-batch.
 */
#ifndef AOEI_TRAIN_METHOD_CT_H
#define AOEI_TRAIN_METHOD_CT_H

#include "train/method.h"

extern const aoei_method aoei_method_ct, aoei_method_ct_in_batch;

#endif
