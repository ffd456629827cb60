/* SPDX-License-Identifier: MIT
 * Counts the examples of each class.
 */
#include "train/class_counts.h"

#include "base/alloc.h"
#include "base/error.h"

#include <stdio.h>

enum { MAX_LISTED = 16 /* maximum number of classes in the log */ };

int aoei_class_counts_check(const aoe_train_data *files, const aoei_source *sources, size_t n, aoe_error *err) {
    double lowest = sources[0].data.lowest, highest = sources[0].data.highest;
    for (size_t i = 1; i < n; i++) {
        lowest = sources[i].data.lowest < lowest ? sources[i].data.lowest : lowest;
        highest = sources[i].data.highest > highest ? sources[i].data.highest : highest;
    }
    if (lowest < highest)
        return AOE_OK;
    return aoei_fail(
        err, AOE_EFORMAT,
        "%s%s: all examples have the class %g, so there is nothing to learn; add examples of another class, or "
        "correct options.label_map",
        files[0].path, n > 1 ? " and all other training files" : "", lowest);
}

/* Returns the number of examples of each class, from class 0 to the highest class. The caller frees the array with
 * aoei_free. Returns NULL if out of memory. */
static size_t *count(const aoei_dataset *d, size_t *classes) {
    *classes = (size_t)d->highest + 1;
    size_t *counts = aoei_calloc(*classes, sizeof *counts);
    for (size_t i = 0; i < d->n && counts; i++)
        counts[(size_t)d->labels[i]]++;
    return counts;
}

int aoei_class_counts_log(const aoei_log *log, const char *path, const aoei_dataset *d, aoe_error *err) {
    size_t classes, used = 0;
    char list[MAX_LISTED * 40] = "", more[64] = "";
    size_t *counts = count(d, &classes);
    if (!counts)
        return aoei_fail_nomem(err, classes * sizeof *counts);
    for (size_t k = 0; k < classes && k < MAX_LISTED; k++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%zu of class %zu", k ? ", " : "", counts[k], k);
    if (classes > MAX_LISTED)
        snprintf(more, sizeof more, ", and %zu more classes", classes - MAX_LISTED);
    aoei_log_write(log, AOE_LOG_INFO, "%s: examples per class: %s%s", path, list, more);
    aoei_free(counts);
    return AOE_OK;
}

int aoei_class_counts_warn(const aoei_log *log, const aoei_source *sources, size_t n, size_t classes, aoe_error *err) {
    char list[MAX_LISTED * 24] = "", more[48] = "";
    size_t used = 0, missing = 0;
    char *seen = aoei_calloc(classes, 1);
    if (!seen)
        return aoei_fail_nomem(err, classes);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < sources[i].data.n; k++)
            seen[(size_t)sources[i].data.labels[k]] = 1;
    for (size_t k = 0; k < classes; k++)
        if (!seen[k] && missing++ < MAX_LISTED)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%zu", missing > 1 ? ", " : "", k);
    if (missing > MAX_LISTED)
        snprintf(more, sizeof more, " and %zu more", missing - MAX_LISTED);
    if (missing)
        aoei_log_write(
            log, AOE_LOG_WARNING,
            "no examples of class%s %s%s, but the classifier has the classes 0 to %zu; correct options.label_map or "
            "options.classes if this is not intended",
            missing > 1 ? "es" : "", list, more, classes - 1);
    aoei_free(seen);
    return AOE_OK;
}

json_t *aoei_class_counts_json(const aoei_dataset *d) {
    size_t classes;
    size_t *counts = count(d, &classes);
    json_t *list = counts ? json_array() : NULL;
    int bad = !list;
    for (size_t k = 0; k < classes && !bad; k++)
        bad = json_array_append_new(list, json_integer((json_int_t)counts[k]));
    aoei_free(counts);
    if (!bad)
        return list;
    json_decref(list);
    return NULL;
}
