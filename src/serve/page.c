/* SPDX-License-Identifier: MIT
 * The assembler copies the page into the library. The Makefile passes the hashes of its script and of its style, which
 * tools/page_hashes.sh computes. Tools that only parse this file need no hashes.
 */
#include "serve/page.h"

#include "base/compiler.h"

#ifndef AOEI_PAGE_SCRIPT
#define AOEI_PAGE_SCRIPT ""
#define AOEI_PAGE_STYLE  ""
#endif

AOEI_EMBED(aoei_page_html, "src/serve/page/index.html") /* the path is relative to the source tree, where make runs */

aoe_text aoei_page(void) {
    return (aoe_text){aoei_page_html, (size_t)(aoei_page_html_end - aoei_page_html)};
}

const char *aoei_page_policy(void) {
    return "default-src 'none'; script-src 'sha256-" AOEI_PAGE_SCRIPT "'; style-src 'sha256-" AOEI_PAGE_STYLE
           "'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}
