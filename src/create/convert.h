/* SPDX-License-Identifier: MIT
 * Checks and saving that aoe_convert, aoe_average and similar functions share.
 */
#ifndef AOEI_CREATE_CONVERT_H
#define AOEI_CREATE_CONVERT_H

#include "aoe_train.h"
#include "aoe.h"
#include "model/save.h"

/* Checks options and directories before anything is read. Errors: AOE_EARG, AOE_EEXIST, AOE_ENOENT, AOE_EIO. */
int aoei_convert_check(const char *from, const char *to, const aoe_convert_options *o, aoe_error *err);
/* Saves `contents`, which were made from the open model m, in the directory `to`; result may be NULL. */
int aoei_convert_write(const aoe_model *m, const aoei_model_contents *contents, const char *to, aoe_convert_result *result,
                       aoe_error *err);

#endif
