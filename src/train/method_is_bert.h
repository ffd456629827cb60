/* SPDX-License-Identifier: MIT
 * The method is-bert.
 */
#ifndef AOEI_TRAIN_METHOD_IS_BERT_H
#define AOEI_TRAIN_METHOD_IS_BERT_H

#include "train/method.h"

extern const aoei_method aoei_method_is_bert;

#endif
