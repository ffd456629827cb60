/* SPDX-License-Identifier: MIT
 * The table of all routes. If several routes have the same path and method, requests are passed to the first.
 */
#pragma once

#include "serve/route.h"

extern const aoei_route aoei_routes[];
extern const size_t aoei_n_routes;
