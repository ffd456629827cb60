/* SPDX-License-Identifier: MIT
 * The methods symmetric and gist.
 */
#ifndef AOEI_TRAIN_METHOD_DIRECTIONS_H
#define AOEI_TRAIN_METHOD_DIRECTIONS_H

#include "train/method.h"

extern const aoei_method aoei_method_symmetric, aoei_method_gist;

#endif
