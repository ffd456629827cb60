/* SPDX-License-Identifier: MIT
 * The order of passages.
 */
#include "index/ranked.h"

#include <stdlib.h>
#include <string.h>

int aoei_ranked_compare(const void *a, const void *b) {
    const aoei_ranked *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    const int order = strcmp(x->place->name, y->place->name);
    return order ? order : (x->passage > y->passage) - (x->passage < y->passage);
}

int aoei_ranked_order(aoei_ranked *list, size_t n, aoei_locator *l, aoe_error *err) {
    for (size_t i = 0; i < n; i++) {
        const int code = aoei_locate_passage(l, list[i].passage, &list[i].place, err);
        if (code)
            return code;
    }
    if (n)
        qsort(list, n, sizeof *list, aoei_ranked_compare);
    return 0;
}
