/* SPDX-License-Identifier: MIT
 * The method infersent. See method_infersent.c.
 */
#ifndef AOEI_TRAIN_METHOD_INFERSENT_H
#define AOEI_TRAIN_METHOD_INFERSENT_H

#include "train/method.h"

extern const aoei_method aoei_method_infersent;

#endif
