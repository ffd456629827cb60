/* SPDX-License-Identifier: MIT
 * The routes that describe the server: its state, models, limits, metrics and routes, and the web page.
 */
#pragma once

#include "serve/call.h"

void aoei_route_info(aoei_call *c);
void aoei_route_health(aoei_call *c);
void aoei_route_live(aoei_call *c);
void aoei_route_ready(aoei_call *c);
void aoei_route_metrics(aoei_call *c);
void aoei_route_openapi(aoei_call *c);
void aoei_route_docs(aoei_call *c);
void aoei_route_page(aoei_call *c);
