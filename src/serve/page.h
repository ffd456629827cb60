/* SPDX-License-Identifier: MIT
 * The web page of the server: src/serve/page/index.html, which is a part of the library. The page loads nothing from
 * other hosts. Its policy permits only the script and the style of the page, which it names by their SHA-256 hashes,
 * and requests to the server that the page comes from. So a text that an index contains cannot run as a script.
 */
#pragma once

#include "aoe.h"

/* Returns the HTML text of the page, in UTF-8. The memory belongs to the library. */
aoe_text aoei_page(void);

/* Returns the value of the header Content-Security-Policy of the page. The memory belongs to the library. */
const char *aoei_page_policy(void);
