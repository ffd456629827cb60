/* SPDX-License-Identifier: MIT
 * Activation, order and names of the outputs of cross-encoders, for the routes that compute scores.
 */
#include "serve/scores.h"

#include <stdio.h>
#include <stdlib.h>

#include "serve/answer.h"

int aoei_scores_activation(const aoei_served *served, int raw) {
    return raw ? AOE_SCORE_LOGIT : served->dims == 1 ? AOE_SCORE_SIGMOID : AOE_SCORE_SOFTMAX;
}

static int compare(const void *a, const void *b) {
    const aoei_ranked *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

void aoei_scores_sort(aoei_ranked *ranked, size_t n) {
    qsort(ranked, n, sizeof *ranked, compare);
}

void aoei_scores_label(aoei_buffer *b, const aoei_served *served, size_t i) {
    const char *name = aoe_model_class_name(served->model, i);
    if (name)
        aoei_answer_cstring(b, name);
    else
        aoei_buffer_printf(b, "\"LABEL_%zu\"", i);
}
