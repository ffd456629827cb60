/* SPDX-License-Identifier: MIT
 * The description of the API as an OpenAPI 3.0.3 document, generated from the table of routes and their fields.
 */
#pragma once

#include <stddef.h>

#include "base/buffer.h"
#include "serve/route.h"

/* Appends the document of routes [n] as JSON. Routes of one path are described together. If several routes have the
 * same path and method, their bodies and answers are alternatives; the first one provides the summary. */
void aoei_openapi(aoei_buffer *b, const aoei_route *routes, size_t n);
