/* SPDX-License-Identifier: MIT
 * The methods of Sentence-BERT (Reimers and Gurevych 2019): classification and regression.
 */
#ifndef AOEI_TRAIN_METHOD_SBERT_H
#define AOEI_TRAIN_METHOD_SBERT_H

#include "train/method.h"

extern const aoei_method aoei_method_sbert_classification, aoei_method_sbert_regression;

#endif
