/* SPDX-License-Identifier: MIT
 * Reads and writes views as text and JSON.
 */
#include "options/view_option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/error.h"

const char *const aoei_view_names[] = {"none", "shuffle", "feature-cut", "token-cut", NULL};

int aoei_view_has_rate(const aoe_view *view) {
    return view->kind == AOE_VIEW_FEATURE_CUT || view->kind == AOE_VIEW_TOKEN_CUT;
}

int aoe_view_parse(aoe_view *v, const char *text, aoe_error *err) {
    AOEI_CHECK(err, v, text);
    const size_t n = strcspn(text, ":");
    char *end = NULL;
    size_t kind = 0;
    while (aoei_view_names[kind] && !(strlen(aoei_view_names[kind]) == n && !memcmp(aoei_view_names[kind], text, n)))
        kind++;
    *v = (aoe_view){.kind = (aoe_view_kind)kind, .rate = text[n] ? strtod(text + n + 1, &end) : 0};
    if (!aoei_view_names[kind] || (end && *end) || aoei_view_has_rate(v) != !!text[n] || (end && end == text + n + 1))
        return aoei_fail(
            err, AOE_EARG,
            "'%s' is not a view; use none, shuffle, feature-cut:RATE or token-cut:RATE, for example feature-cut:0.2",
            text);
    return AOE_OK;
}

int aoei_views_parse(void *target, const char *text, aoe_error *err) {
    aoe_view *views = target;
    char item[AOEI_NAME_SIZE];
    size_t n = 0;
    int code = 0;
    for (const char *rest = text; rest && !code; n++) {
        rest = aoei_next_item(rest, item);
        if (n < AOE_VIEWS)
            code = aoe_view_parse(&views[n], item, err);
    }
    return code || n == AOE_VIEWS
               ? code
               : aoei_fail(err, AOE_EARG, "'%s' does not contain two views; give for example feature-cut:0.2,shuffle",
                           text);
}

const char *aoei_views_text(char out[AOEI_NAME_SIZE], const void *target) {
    const aoe_view *views = target;
    size_t used = 0, transformations = 0;
    for (size_t i = 0; i < AOE_VIEWS; i++) {
        used +=
            (size_t)snprintf(out + used, AOEI_NAME_SIZE - used, "%s%s", i ? "," : "", aoei_view_names[views[i].kind]);
        if (aoei_view_has_rate(&views[i]))
            used += (size_t)snprintf(out + used, AOEI_NAME_SIZE - used, ":%g", views[i].rate);
        transformations += views[i].kind != AOE_VIEW_PLAIN;
    }
    return transformations ? out : NULL;
}

json_t *aoei_views_json(const void *target) {
    const aoe_view *views = target;
    json_t *list = json_array();
    int bad = !list;
    for (size_t i = 0; i < AOE_VIEWS; i++)
        bad |= json_array_append_new(list, json_pack("{s:s,s:f}", "view", aoei_view_names[views[i].kind], "rate",
                                                     aoei_view_has_rate(&views[i]) ? views[i].rate : 0.0));
    if (!bad)
        return list;
    json_decref(list);
    return NULL;
}
