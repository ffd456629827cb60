/* SPDX-License-Identifier: MIT
 * The method dan. See method_dan.c.
 */
#ifndef AOEI_TRAIN_METHOD_DAN_H
#define AOEI_TRAIN_METHOD_DAN_H

#include "train/method.h"

extern const aoei_method aoei_method_dan;

#endif
