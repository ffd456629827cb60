/* SPDX-License-Identifier: MIT
 * Classes of equal texts. A class contains the texts of a set that are equal under an aoe_text_equality, for example
 * when case is ignored.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "aoe_data.h"
#include "base/distinct.h"

/* Computes the class of each text. class[i] is set to the index of the first text that is equal to text i under
 * `equality`; `class` has d->n elements. Errors: AOE_ENOMEM. */
int aoei_text_classes(const aoei_distinct *d, aoe_text_equality equality, size_t *class, aoe_error *err);
