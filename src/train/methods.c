/* SPDX-License-Identifier: MIT
 * The table of the fine-tuning methods, and the steps that all methods share.
 */
#include "train/methods.h"

#include "aoe_data.h"
#include "base/check.h"
#include "base/closest.h"
#include "base/error.h"
#include "base/options.h"
#include "table/texts.h"
#include "train/method.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LIST_SIZE = 512 /* size of the buffer for a list of names in an error message, NUL included */ };

static const aoei_method *const methods[AOE_METHOD_COUNT] = {
#define AOEI_METHOD(id, name) [AOE_METHOD_##id] = &aoei_method_##name,
#include "train/methods.def"
#undef AOEI_METHOD
};

const char *aoe_method_name(aoe_method m) {
    return m >= 0 && m < AOE_METHOD_COUNT ? methods[m]->name : NULL;
}

const char *aoe_method_describe(aoe_method m) {
    return m >= 0 && m < AOE_METHOD_COUNT ? methods[m]->about : NULL;
}

const char *aoe_method_group(aoe_method m) {
    static const char *const groups[] = {[AOEI_METHODS_LABELS] = "labeled pairs",
                                         [AOEI_METHODS_CLASSES] = "labeled pairs whose labels are classes",
                                         [AOEI_METHODS_POSITIVES] = "positives and triplets",
                                         [AOEI_METHODS_TEXTS] = "plain texts"};
    return m >= 0 && m < AOE_METHOD_COUNT ? groups[methods[m]->group] : NULL;
}

/* Sets names to the names of the methods that support one of these kinds of examples, in alphabetical order. kinds:
 * bits as in aoei_method.kinds. Returns their number. */
static size_t sorted_names(const char *names[AOE_METHOD_COUNT], unsigned kinds) {
    size_t n = 0;
    for (int i = 0; i < AOE_METHOD_COUNT; i++) {
        if (!(methods[i]->kinds & kinds))
            continue;
        size_t k = n++;
        for (; k > 0 && strcmp(names[k - 1], methods[i]->name) > 0; k--)
            names[k] = names[k - 1];
        names[k] = methods[i]->name;
    }
    return n;
}

/* Writes the names of the methods that support one of these kinds of examples to list. kinds: bits as in
 * aoei_method.kinds. Returns list. */
static const char *list_names(char list[LIST_SIZE], unsigned kinds) {
    const char *names[AOE_METHOD_COUNT];
    const size_t n = sorted_names(names, kinds);
    size_t used = 0;
    for (size_t i = 0; i < n && used < LIST_SIZE; i++)
        used += (size_t)snprintf(list + used, LIST_SIZE - used, "%s%s",
                                 i == 0      ? ""
                                 : i < n - 1 ? ", "
                                             : " or ",
                                 names[i]);
    return list;
}

/* Returns the name of a method that is similar to `name`, without regard to case, or NULL. */
static const char *similar_name(const char *name) {
    const char *names[AOE_METHOD_COUNT];
    char lower[64];
    size_t n = 0;
    for (; name[n] && n < sizeof lower - 1; n++)
        lower[n] = (char)(name[n] >= 'A' && name[n] <= 'Z' ? name[n] - 'A' + 'a' : name[n]);
    lower[n] = '\0';
    return aoei_closest(lower, names, sorted_names(names, UINT_MAX));
}

int aoe_method_parse(aoe_method *m, const char *name, aoe_error *err) {
    AOEI_CHECK(err, m, name);
    for (int i = 0; i < AOE_METHOD_COUNT; i++)
        if (!strcmp(methods[i]->name, name)) {
            *m = (aoe_method)i;
            return 0;
        }
    char list[LIST_SIZE];
    const char *similar = similar_name(name);
    list_names(list, UINT_MAX);
    if (similar)
        return aoei_fail(err, AOE_EARG, "method '%s' is unknown; did you mean %s? Otherwise, use %s", name, similar,
                         list);
    return aoei_fail(err, AOE_EARG, "method '%s' is unknown; use %s", name, list);
}

void aoe_train_method_defaults(aoe_train_options *o, aoe_method m) {
    aoe_train_options full;
    aoe_train_options_defaults(&full);
    if (!o || m < 0 || m >= AOE_METHOD_COUNT ||
        aoei_options_read(&full, o, &aoei_layout_aoe_train_options, __func__, NULL))
        return;
    full.method = m;
    if (methods[m]->defaults)
        methods[m]->defaults(&full);
    aoei_struct_write(o, &full, &aoei_layout_aoe_train_options);
}

int aoei_method_find(const aoei_method **m, aoe_method number, aoe_error *err) {
    if (number < 0 || number >= AOE_METHOD_COUNT)
        return aoei_fail(err, AOE_EARG, "method %d is unknown; use a value of aoe_method", (int)number);
    *m = methods[number];
    return AOE_OK;
}

size_t aoei_method_copies(const aoei_method *m, aoe_example_kind kind) {
    return m->copies ? m->copies : kind == AOE_EXAMPLES_TEXTS ? 2 : 1;
}

size_t aoei_method_texts(const aoei_method *m, size_t arity) {
    if (m->kinds & AOEI_KIND(TEXTS))
        return aoei_method_copies(m, AOE_EXAMPLES_TEXTS);
    return m->cross_encoder ? 1 : arity * aoei_method_copies(m, AOE_EXAMPLES_PAIRS);
}

size_t aoei_method_pairs(const aoei_method *m, const aoe_train_options *o) {
    return m->pairs ? m->pairs(o) : 1;
}

size_t aoe_train_batch_texts(const aoe_train_options *o, size_t texts_per_example) {
    aoe_train_options full;
    aoe_train_options_defaults(&full);
    if (!o || aoei_options_read(&full, o, &aoei_layout_aoe_train_options, __func__, NULL) || full.method < 0 ||
        full.method >= AOE_METHOD_COUNT)
        return 0;
    o = &full;
    const aoei_method *m = methods[o->method];
    const size_t examples = o->cache_chunk && o->cache_chunk < o->batch_size ? o->cache_chunk : o->batch_size;
    return examples * aoei_method_pairs(m, o) * aoei_method_texts(m, texts_per_example);
}

int aoei_method_has_teacher(const aoei_method *m, const aoe_train_options *o) {
    return aoei_has_distillation(o) || (m->needs_teacher && o->teachers[0]);
}

/* Checks that a method that requires a teacher has one, and that no teacher is given twice. */
static int check_teachers(const aoei_method *m, const aoe_train_options *o, aoe_error *err) {
    if (m->needs_teacher && !o->teachers[0])
        return aoei_fail(err, AOE_EARG, "options.method %s needs %s; set options.teachers to this model", m->name,
                         m->needs_teacher);
    for (size_t i = 0; i < AOE_MAX_TEACHERS && o->teachers[i]; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(o->teachers[i], o->teachers[k]) == 0)
                return aoei_fail(err, AOE_EARG, "options.teachers contains %s twice; give each teacher once",
                                 o->teachers[i]);
    return AOE_OK;
}

/* Fails if an option is given that the method does not support. */
static int check_unsupported(const aoei_method *m, const aoe_train_options *o, aoe_error *err) {
    const aoei_unsupported_options *r = &m->unsupported;
    const struct {
        int given;
        const char *option, *reason;
    } options[] = {{aoei_has_distillation(o), "options.teachers", r->distillation},
                   {o->n_matryoshka > 0, "options.matryoshka", r->matryoshka},
                   {o->layers.adaptive, "options.layers.adaptive", r->layers},
                   {o->layers.ese, "options.layers.ese", r->layers},
                   {o->lora.r > 0, "options.lora.r", r->lora}};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].given && options[i].reason)
            return aoei_fail(err, AOE_EARG, "%s: options.method %s %s; choose another method", options[i].option,
                             m->name, options[i].reason);
    return AOE_OK;
}

int aoei_method_check(const aoei_method *m, const aoe_train_options *o, aoe_error *err) {
    int code = check_teachers(m, o, err);
    if (!code)
        code = check_unsupported(m, o, err);
    if (code)
        return code;
    if (o->classes == 1 && !m->cross_encoder)
        return aoei_fail(err, AOE_EARG, "options.classes is 1; give at least 2");
    if (o->new_head && !m->cross_encoder)
        return aoei_fail(err, AOE_EARG,
                         "options.new_head: only options.method cross-encoder trains a classification head");
    return m->check ? m->check(o, err) : AOE_OK;
}

size_t aoei_method_scores(const aoei_method *m, const aoe_train_options *o) {
    return !m->cross_encoder ? 0 : o->classes == AOE_AUTO ? 1 : o->classes;
}

int aoei_method_has_classes(const aoei_method *m, const aoe_train_options *o) {
    return m->group == AOEI_METHODS_CLASSES || aoei_method_scores(m, o) > 1;
}

/* Checks that all labels of labeled pairs are classes. file: file of the examples. */
static int check_classes(const aoei_method *m, const aoei_examples *e, const aoe_train_options *o,
                         const aoe_train_data *file, aoe_error *err) {
    const double max_classes = o->classes != AOE_AUTO ? (double)o->classes : AOEI_MAX_LABELS;
    char word[AOEI_EXCERPT], label[AOEI_EXCERPT + 40];
    for (size_t i = 0; i < e->n && e->kind == AOE_EXAMPLES_PAIRS; i++) {
        if (e->label[i] >= 0 && e->label[i] < max_classes && !(e->label[i] > floor(e->label[i])))
            continue;
        if (aoei_examples_label_name(word, file->path, &file->table, e->line[i]))
            snprintf(label, sizeof label, "'%s' has the value %g, which", word, e->label[i]);
        else
            snprintf(label, sizeof label, "%g", e->label[i]);
        return aoei_fail(err, AOE_EFORMAT,
                         "%s:%zu: label %s is not a class: options.method %s expects integers from 0%s map labels with "
                         "options.label_map, or for scores, %s",
                         e->name, e->line[i], label, m->name,
                         o->classes != AOE_AUTO ? " to options.classes - 1; raise options.classes," : ";",
                         m->cross_encoder ? "unset options.classes"
                                          : "choose another method, such as sbert-regression");
    }
    return AOE_OK;
}

/* Fails because the file contains plain texts, which the method does not support. */
static int fail_plain_texts(const aoei_method *m, const char *path, aoe_error *err) {
    char list[LIST_SIZE];
    return aoei_fail(
        err, AOE_EARG,
        "%s: contains plain texts, but options.method %s trains on %s; give a table with these columns, set "
        "options.columns, or choose a method for plain texts: %s",
        path, m->name, m->supported, list_names(list, AOEI_KIND(TEXTS)));
}

int aoei_method_load(const aoei_method *m, aoei_examples *e, aoei_file_loss *file_loss, const aoe_train_options *o,
                     size_t number, aoe_error *err) {
    const aoe_train_data *file = &o->data[number];
    aoe_table_options table = file->table;
    table.allow_empty = 0;
    *file_loss = (aoei_file_loss){.label_scale = 1, .threshold = (double)NAN};
    int code = m->load ? m->load(e, o, file, &table, err) : aoei_examples_load(e, file->path, file->kind, &table, err);
    if (code && code != AOE_ENOMEM && !(m->kinds & AOEI_KIND(TEXTS)) && !table.columns &&
        aoei_texts_are_plain(file->path, &table))
        return fail_plain_texts(m, file->path, err);
    if (!code)
        code = aoei_method_has_classes(m, o) ? check_classes(m, e, o, file, err) : aoei_examples_check_scores(e, err);
    if (!code && e->kind == AOE_EXAMPLES_PAIRS && m->positives_only)
        return aoei_keep_positives(e, &file_loss->threshold, &o->objective, file, err);
    return code;
}

int aoei_method_loss(const aoei_method *m, aoei_file_loss *file_loss, const aoe_train_options *o, size_t number,
                     const aoei_dataset *d, aoe_error *err) {
    const aoe_train_data *file = &o->data[number];
    file_loss->has_labels = d->kind == AOE_EXAMPLES_PAIRS;
    file_loss->copies = aoei_method_copies(m, d->kind);
    file_loss->objective = o->objective;
    file_loss->objective.ibn_threshold = 1;
    if (m->weights)
        m->weights(&file_loss->objective, d->kind);
    if (!(m->kinds >> d->kind & 1)) {
        char list[LIST_SIZE];
        return aoei_fail(
            err, AOE_EARG,
            "%s: options.method %s trains on %s, not on %s; give other data, or choose a method for %s: %s", file->path,
            m->name, m->supported, aoei_kind_name(d->kind), aoei_kind_name(d->kind), list_names(list, 1u << d->kind));
    }
    return m->file_loss ? m->file_loss(file_loss, o, file, d, err) : AOE_OK;
}
