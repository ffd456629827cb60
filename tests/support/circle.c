/* SPDX-License-Identifier: MIT
 * Implements an encoder whose texts are angles; see circle.h.
 */
#include "circle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "table/examples.h"
#include "support.h"

static double angle_of(aoe_text text) {
    char copy[32] = "";
    assert_true(text.len < sizeof copy);
    memcpy(copy, text.data, text.len);
    return strtod(copy, NULL);
}

static int embed(void *user, const aoe_text *texts, size_t n, float *vectors, uint8_t *cut, size_t *failed,
                 aoe_error *err) {
    circle *c = user;
    c->calls++;
    c->texts += n;
    for (size_t i = 0; i < n; i++) {
        if (c->poisoned && texts[i].len == strlen(c->poisoned) && !memcmp(texts[i].data, c->poisoned, texts[i].len)) {
            *failed = i;
            if (err)
                *err = (aoe_error){AOE_ENUMERIC, "the vector is not finite"};
            return AOE_ENUMERIC;
        }
        cut[i] = texts[i].len >= 2;
        vectors[2 * i] = (float)cos(angle_of(texts[i]) * CIRCLE_RADIANS);
        vectors[2 * i + 1] = (float)sin(angle_of(texts[i]) * CIRCLE_RADIANS);
    }
    return 0;
}

static int count_tokens(void *user, aoe_text text, size_t *n, aoe_error *err) {
    (void)err;
    *n = ((const circle *)user)->specials + !aoei_text_is_empty(text);
    return 0;
}

aoei_eval_model circle_encoder(circle *c) {
    return (aoei_eval_model){
        .dims = 2, .similarity = c->similarity, .ctx = c->ctx, .embed = embed, .count_tokens = count_tokens, .user = c};
}
