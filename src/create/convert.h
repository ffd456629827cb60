/* SPDX-License-Identifier: MIT
 * What programs that write a model directory from others have in common:
 * aoe_convert and aoe_average. Opening and computing are theirs.
 */
#ifndef AOEI_CREATE_CONVERT_H
#define AOEI_CREATE_CONVERT_H

#include "aoe_train.h"
#include "aoe.h"
#include "model/save.h"

/* Whether o can be done, from one directory to another, as far as that is known before anything is read. */
int aoei_convert_check(const char *from, const char *to, const aoe_convert_options *o, aoe_error *err);
/* Saves `contents`, which were made from the open model m, in the directory `to`; result may be NULL. */
int aoei_convert_write(const aoe_model *m, const aoei_model_contents *contents, const char *to, aoe_convert_result *result,
                       aoe_error *err);

#endif
