/* SPDX-License-Identifier: MIT
 * The route /v2/embed of Cohere.
 */
#pragma once

#include "serve/job.h"

enum { AOEI_COHERE_FIELDS = 9 };
extern const aoei_field aoei_cohere_fields[AOEI_COHERE_FIELDS];

void aoei_route_cohere(aoei_call *c);
