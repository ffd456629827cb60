/* SPDX-License-Identifier: MIT
 * Matches module names with the names and regular expressions in adapter_config.json.
 */
#include "modeldir/peft_match.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/json.h"
#include "tokenizer/pattern.h"

/* The arguments that all functions share. */
typedef struct matching {
    const json_t *root; /* parsed adapter_config.json, borrowed */
    const char *key;    /* name of the module */
    size_t layer;       /* number of its layer */
    const char *file;   /* path for messages */
    aoe_error *err;
} matching;

/* Returns 1 if m->key is `name` or ends with a dot and `name`. */
static int has_name(const matching *m, const char *name) {
    const size_t len = strlen(name), full = strlen(m->key);
    return len <= full && !strcmp(m->key + full - len, name) && (len == full || m->key[full - len - 1] == '.');
}

/* Returns 1 if m->key matches the regular expression `expression` completely, 0 if not, and an error code if the
 * expression is not valid. */
static int matches_regex(const matching *m, const char *expression) {
    aoei_pattern p = {0};
    aoei_pattern_search search = {.n_matches = 0};
    size_t start, end;
    int rc = aoei_pattern_regex(&p, expression, strlen(expression), m->err);
    if (!rc) {
        aoei_pattern_begin(&search, &p, m->key, strlen(m->key));
        rc = aoei_pattern_next(&search, &start, &end, m->err);
        aoei_pattern_end(&search);
    }
    aoei_pattern_free(&p);
    if (rc < 0)
        aoei_error_prefix(m->err, "%s", m->file);
    return rc;
}

/* Like matches_regex. The expression is before + expression + after. */
static int matches_parts(const matching *m, const char *before, const char *expression, const char *after) {
    aoei_buffer b = {0};
    const int failed = aoei_buffer_printf(&b, "^(?:%s(?:%s)%s)$", before, expression, after);
    const int rc = failed ? aoei_fail_nomem(m->err, strlen(expression)) : matches_regex(m, b.data);
    aoei_buffer_free(&b);
    return rc;
}

/* Returns 1 if m->key, or its end after a dot, matches the expression `pattern` of rank_pattern or alpha_pattern.
 * Expressions of letters and dots, which are the most frequent, are compared without a regular expression. */
static int matches_pattern(const matching *m, const char *pattern) {
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.";
    const size_t len = strlen(pattern), full = strlen(m->key);
    if (pattern[strspn(pattern, plain)])
        return matches_parts(m, "(?:.*\\.)?", pattern, "");
    if (len > full || (len < full && m->key[full - len - 1] != '.'))
        return 0;
    for (size_t i = 0; i < len; i++)
        if (pattern[i] != '.' && pattern[i] != m->key[full - len + i])
            return 0;
    return 1;
}

/* Returns 1 if `names`, a string with a regular expression or an array of names, matches m->key, 0 if not, and a
 * negative error code if an element is not a name. */
static int in_names(const matching *m, const char *setting) {
    const json_t *names = json_object_get(m->root, setting);
    if (json_is_string(names))
        return matches_parts(m, "", json_string_value(names), "");
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        if (!name || !*name)
            return aoei_fail(m->err, AOE_EFORMAT, "%s: an element of %s is not a name; correct it", m->file, setting);
        if (has_name(m, name))
            return 1;
    }
    return 0;
}

/* Returns 1 if m->key is a module in modules_to_save or a part of one. Such a module has no adapter. */
static int is_saved(const matching *m) {
    const json_t *names = json_object_get(m->root, "modules_to_save");
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        const size_t len = name ? strlen(name) : 0;
        for (const char *at = len ? strstr(m->key, name) : NULL; at; at = strstr(at + 1, name))
            if ((at == m->key || at[-1] == '.') && (!at[len] || at[len] == '.'))
                return 1;
    }
    return 0;
}

/* Returns 1 if target_modules contains the complete name m->key. layers_to_transform does not apply to complete
 * names. */
static int is_complete_name(const matching *m) {
    const json_t *names = json_object_get(m->root, "target_modules");
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        if (name && !strcmp(name, m->key))
            return 1;
    }
    return 0;
}

/* Returns 1 if layers_to_transform, an integer or an array of integers, contains the layer, or if it is not set. */
static int is_layer_selected(const matching *m) {
    const json_t *layers = json_object_get(m->root, "layers_to_transform");
    if (json_is_integer(layers))
        return json_integer_value(layers) == (json_int_t)m->layer;
    for (size_t i = 0; i < json_array_size(layers); i++)
        if (json_integer_value(json_array_get(layers, i)) == (json_int_t)m->layer)
            return 1;
    return !json_array_size(layers);
}

/* Returns 1 if the number of the layer in m->key follows the component `pattern`, any component if `pattern` is
 * NULL. */
static int follows(const matching *m, const char *pattern) {
    char after[32];
    snprintf(after, sizeof after, "\\.%zu\\..*", m->layer);
    return matches_parts(m, pattern ? "(?:.*?\\.)?" : ".*?\\.", pattern ? pattern : "[^.]*", after);
}

/* Returns 1 if layers_to_transform and layers_pattern select the module. */
static int is_transformed(const matching *m) {
    const json_t *layers = json_object_get(m->root, "layers_to_transform"),
                 *patterns = json_object_get(m->root, "layers_pattern");
    if (!json_is_integer(layers) && !json_array_size(layers))
        return 1;
    if (!is_layer_selected(m))
        return 0;
    if (json_is_string(patterns) && json_string_length(patterns))
        return follows(m, json_string_value(patterns));
    int rc = json_array_size(patterns) ? 0 : follows(m, NULL);
    for (size_t i = 0; i < json_array_size(patterns) && !rc; i++) {
        const char *pattern = json_string_value(json_array_get(patterns, i));
        rc = pattern ? follows(m, pattern)
                     : aoei_fail(m->err, AOE_EFORMAT, "%s: an element of layers_pattern is not a name; correct it",
                                 m->file);
    }
    return rc;
}

/* Returns 1 if the module has an adapter, 0 if not, and a negative error code. */
static int is_target(const matching *m) {
    const char *text = json_string_value(json_object_get(m->root, "target_modules"));
    int rc = in_names(m, "exclude_modules");
    if (rc)
        return rc < 0 ? rc : 0;
    if (is_saved(m))
        return 0;
    if (text && !strcmp(text, "all-linear"))
        return 1;
    rc = in_names(m, "target_modules");
    return rc <= 0 || text || is_complete_name(m) ? rc : is_transformed(m);
}

/* Sets *value to the value of the first expression in the object `setting` that matches m->key. */
static int read_pattern(const matching *m, const char *setting, double *value) {
    json_t *patterns = json_object_get(m->root, setting);
    if (patterns && !json_is_null(patterns) && !json_is_object(patterns))
        return aoei_fail(m->err, AOE_EFORMAT, "%s: %s is not an object {module: number}; correct or remove it", m->file,
                         setting);
    for (void *it = json_object_iter(patterns); it; it = json_object_iter_next(patterns, it)) {
        const int rc = matches_pattern(m, json_object_iter_key(it));
        if (rc < 0)
            return rc;
        if (rc)
            return aoei_json_double(patterns, json_object_iter_key(it), value, m->file, m->err);
    }
    return 0;
}

int aoei_peft_match(aoei_lora_layer *out, const json_t *root, const char *key, size_t layer, const char *file,
                    aoe_error *err) {
    const matching m = {root, key, layer, file, err};
    double r = (double)out->r;
    int rc = is_target(&m);
    out->r = rc > 0 ? out->r : 0;
    if (rc <= 0)
        return rc;
    if ((rc = read_pattern(&m, "rank_pattern", &r)) || (rc = read_pattern(&m, "alpha_pattern", &out->alpha)))
        return rc;
    if (!(r >= 1 && r <= 1e6) || r != (double)(size_t)r)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: rank_pattern gives module '%s' the rank %g; ranks must be positive integers", file, key,
                         r);
    out->r = (size_t)r;
    return 0;
}
