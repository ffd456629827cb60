/* SPDX-License-Identifier: MIT
 * Logs the description of a model that aoe_model_describe writes.
 */
#pragma once

#include "aoe.h"

/* Logs the pooling, the data type and the CPU tier of the model as a message of the level AOE_LOG_INFO. */
void aoei_model_log_description(const aoe_model *m);
