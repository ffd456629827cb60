/* SPDX-License-Identifier: MIT
 * Fuzzes the parser of conditions. A condition is either evaluated or rejected with a message. The evaluation must keep
 * the bits after the last document 0, and its negation must have the opposite bits. The text is also read as a pattern
 * of paths.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/hash.h"
#include "index/where.h"

enum { DOCUMENTS = 67, WORDS = 2 };

/* Sets bits that depend on the comparison. */
static int compare(void *user, const aoei_comparison *c, uint64_t *bits, size_t n, aoe_error *err) {
    (void)user;
    (void)err;
    const int is_pattern = c->type == AOEI_LIKE && (!strcmp(c->key, "name") || !strcmp(c->key, "path"));
    if (n != DOCUMENTS || (!c->position && !is_pattern) || c->type >= AOEI_COMPARISON_TYPES || !c->key ||
        (c->type == AOEI_EXISTS) != !c->value || (c->is_number && (c->type == AOEI_LIKE || c->type == AOEI_EXISTS)))
        abort();
    uint64_t h = aoei_hash(AOEI_HASH_START, c->key, strlen(c->key)) + (uint64_t)c->type;
    if (c->value)
        h = aoei_hash(h, c->value, strlen(c->value));
    if (bits[0] || bits[1])
        abort();
    bits[0] = h;
    bits[1] = h >> 61;
    return 0;
}

static void check_negation(const char *text, const uint64_t *bits) {
    uint64_t opposite[WORDS];
    aoei_where *w;
    aoei_buffer negation = {0};
    (void)aoei_buffer_printf(&negation, "not (%s)", text);
    if (aoei_where_parse(&w, negation.data, NULL) == 0) {
        if (aoei_where_eval(w, compare, NULL, opposite, DOCUMENTS, NULL) || opposite[0] != ~bits[0] ||
            opposite[1] != (bits[1] ^ 7))
            abort();
        aoei_where_free(w);
    }
    aoei_buffer_free(&negation);
}

/* A pattern with ! finds the other documents. */
static void check_path(const char *text) {
    aoei_buffer negation = {0};
    uint64_t bits[WORDS], opposite[WORDS];
    aoei_where *w;
    if (*text == '!')
        return;
    (void)aoei_buffer_printf(&negation, "!%s", text);
    const char *const path[] = {text, negation.data};
    const int code = aoei_where_create(&w, NULL, path, 1, NULL);
    if (!code && (aoei_where_eval(w, compare, NULL, bits, DOCUMENTS, NULL) || bits[1] > 7))
        abort();
    aoei_where_free(w);
    if (aoei_where_create(&w, " ", path + 1, 1, NULL) != code || !w == !code)
        abort();
    if (!code && (aoei_where_eval(w, compare, NULL, opposite, DOCUMENTS, NULL) || opposite[0] != ~bits[0] ||
                  opposite[1] != (bits[1] ^ 7)))
        abort();
    aoei_where_free(w);
    aoei_buffer_free(&negation);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const int64_t live = aoei_alloc_live();
    char *text = aoei_strndup((const char *)data, size);
    aoei_where *w;
    aoe_error err = {0};
    uint64_t bits[WORDS];
    if (!text)
        abort();
    check_path(text);
    if (aoei_where_parse(&w, text, &err)) {
        if (w || err.code != AOE_EARG || strncmp(err.message, "condition: ", 11) != 0)
            abort();
    } else {
        if (aoei_where_eval(w, compare, NULL, bits, DOCUMENTS, &err) || bits[1] > 7)
            abort();
        check_negation(text, bits);
        aoei_where_free(w);
    }
    aoei_free(text);
    if (aoei_alloc_live() != live)
        abort();
    return 0;
}
