/* SPDX-License-Identifier: MIT
 * Checks that the ranks of a distributed run compute the same: with the same instruction set and C library, from the
 * same model and data, with the same settings. All functions are collective and do nothing if there is one rank.
 */
#pragma once

#include "train/trainer.h"

/* Compares the CPU tier and a self-test: a hash of products of all types, and of functions of the C library. Errors:
 * AOE_EMISMATCH, AOE_ECOMM, AOE_ENOMEM. */
int aoei_agree_on_machine(aoei_trainer *t, aoe_error *err);
/* Compares the fingerprints of the models that the ranks opened (aoe_model_fingerprint), which include the weights that
 * the run does not train, such as those of the base model of an adapter. Errors: AOE_EMISMATCH, AOE_ECOMM, AOE_ENOMEM.
 */
int aoei_agree_on_model(aoei_trainer *t, aoe_error *err);
/* Compares t->settings, which include fingerprints of the data. Errors: AOE_EMISMATCH, AOE_ECOMM, AOE_ENOMEM. */
int aoei_agree_on_settings(aoei_trainer *t, aoe_error *err);
/* Compares the values of the parameters. what: name for the message, such as "the weights of the start model". Errors:
 * AOE_EMISMATCH, AOE_ECOMM, AOE_ENOMEM. */
int aoei_agree_on_weights(aoei_trainer *t, const char *what, aoe_error *err);
/* Returns the number of bytes that a rank sends in aoei_agree_on_weights if the weights are equal. */
uint64_t aoei_agree_on_weights_sent(size_t ranks);
