/* SPDX-License-Identifier: MIT
 * The list of the indexes of a server.
 */
#include "serve/indexes.h"

#include "aoe_index.h"
#include "base/alloc.h"
#include "base/error.h"
#include "serve/answer.h"

#include <string.h>

typedef struct slot {
    char *name, *dir; /* owned */
} slot;

struct aoei_indexes {
    slot *slots; /* [n] */
    size_t n;
};

/* Splits "NAME=DIR". Without a name, it is the last part of the path, or of the folder of a directory .aoe-index. */
static int read_slot(slot *s, const char *text, aoe_error *err) {
    const char *equals = strchr(text, '='), *dir = equals ? equals + 1 : text, *name = text;
    char model[4096];
    size_t len = equals ? (size_t)(equals - text) : strlen(text);
    if (!equals) {
        while (len > 1 && text[len - 1] == '/')
            len--;
        const char *const hidden = "/.aoe-index";
        const size_t n_hidden = strlen(hidden);
        if (len > n_hidden && !strncmp(text + len - n_hidden, hidden, n_hidden))
            len -= n_hidden;
        for (size_t i = 0; i < len; i++)
            if (text[i] == '/' && i + 1 < len)
                name = text + i + 1;
        len -= (size_t)(name - text);
    }
    if (!len || !*dir)
        return aoei_fail(err, AOE_EARG, "the index '%s' has no name or no directory; write NAME=DIR or DIR", text);
    s->name = aoei_strndup(name, len);
    s->dir = aoei_strdup(dir);
    if (!s->name || !s->dir)
        return aoei_fail_nomem(err, len);
    return aoe_index_model(dir, model, sizeof model, err);
}

int aoei_indexes_create(aoei_indexes **indexes, const aoe_serve_options *o, aoe_error *err) {
    aoei_indexes *x = *indexes = aoei_calloc(1, sizeof *x);
    if (!x)
        return aoei_fail_nomem(err, sizeof *x);
    x->slots = aoei_calloc(o->n_indexes ? o->n_indexes : 1, sizeof *x->slots);
    int code = x->slots ? AOE_OK : aoei_fail_nomem(err, o->n_indexes * sizeof *x->slots);
    for (; x->n < o->n_indexes && !code; x->n++) {
        code = read_slot(&x->slots[x->n], o->indexes[x->n], err);
        for (size_t i = 0; i < x->n && !code; i++)
            if (!strcmp(x->slots[i].name, x->slots[x->n].name))
                code =
                    aoei_fail(err, AOE_EARG, "two indexes have the name '%s'; give one of them another name: NAME=DIR",
                              x->slots[i].name);
    }
    return code;
}

void aoei_indexes_destroy(aoei_indexes *indexes) {
    if (!indexes)
        return;
    for (size_t i = 0; i < indexes->n; i++) {
        aoei_free(indexes->slots[i].name);
        aoei_free(indexes->slots[i].dir);
    }
    aoei_free(indexes->slots);
    aoei_free(indexes);
}

int aoei_indexes_reload(aoei_indexes *indexes, aoe_error *err) {
    (void)indexes;
    (void)err;
    return AOE_OK;
}

void aoei_indexes_describe(aoei_indexes *indexes, aoei_buffer *body) {
    for (size_t i = 0; i < indexes->n; i++) {
        aoei_buffer_printf(body, "%s{\"name\":", i ? "," : "");
        aoei_answer_cstring(body, indexes->slots[i].name);
        aoei_buffer_printf(body, ",\"dir\":");
        aoei_answer_cstring(body, indexes->slots[i].dir);
        aoei_buffer_putc(body, '}');
    }
}
