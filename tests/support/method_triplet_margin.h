/* SPDX-License-Identifier: MIT
 * The example of a training method in docs/methods.md.
 */
#ifndef AOE_TESTS_METHOD_TRIPLET_MARGIN_H
#define AOE_TESTS_METHOD_TRIPLET_MARGIN_H

#include "train/method.h"

extern const aoei_method aoei_method_triplet_margin;

#endif
