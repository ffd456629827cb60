/* SPDX-License-Identifier: MIT
 * Implements aoe_init, which trains the vocabulary on the texts of data files. If a file is a table, the texts of all columns
 * with a recognized name, such as "text1", are used.
 */
#include <string.h>

#include "aoe_train.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "table/table.h"
#include "table/texts.h"
#include "create/init.h"

/* Passes the texts in the n selected columns of a row to the trainer. */
static int feed_row(const aoei_table *t, const aoei_row *row, size_t n, aoei_wordpiece_trainer *trainer, aoe_error *err) {
    char column[AOEI_EXCERPT];
    for (size_t i = 0; i < n; i++) {
        const aoei_field *f = &row->field[i];
        aoei_excerpt(column, aoei_table_selected(t, i));
        if (f->kind != AOEI_FIELD_TEXT)
            return aoei_fail(err, AOE_EFORMAT, "%s:%zu: column '%s' does not contain a text; correct the row",
                             aoei_table_name(t), row->line, column);
        int rc = aoei_wordpiece_trainer_add(trainer, f->text.data, f->text.len, err);
        if (rc) {
            aoei_error_prefix(err, "%s:%zu: column '%s'", aoei_table_name(t), row->line, column);
            return rc;
        }
    }
    return 0;
}

/* Passes all texts of a file to the trainer. */
static int feed_file(const char *path, aoei_wordpiece_trainer *trainer, aoe_error *err) {
    aoei_table *t = NULL;
    aoei_row row;
    size_t n = 0;
    int rc = aoei_table_open(&t, path, NULL, err);
    if (!rc)
        rc = aoei_texts_select(t, &n, NULL, err);
    while (!rc && (rc = aoei_table_next(t, &row, err)) == 1)
        rc = feed_row(t, &row, n, trainer, err);
    aoei_table_close(t);
    return rc == AOEI_BAD_ROW ? AOE_EFORMAT : rc;
}

/* The callback of aoei_init_with, which passes the texts of all files to the trainer. `user` points to the options
 * (aoe_init_options), which contain the paths of the files. */
static int feed_files(void *user, aoei_wordpiece_trainer *trainer, aoe_error *err) {
    const aoe_init_options *o = user;
    int rc = 0;
    for (size_t i = 0; i < o->n_texts && !rc; i++)
        rc = feed_file(o->texts[i], trainer, err);
    return rc;
}

void aoe_init_options_defaults(aoe_init_options *o) {
    if (!o)
        return;
    *o = (aoe_init_options){.struct_size = sizeof *o, .vocab_size = 8000, .lowercase = 1, .dropout = 0.1, .seed = 42};
    aoe_shape_named(&o->shape, "bert-mini", NULL);
    o->shape.vocab = 0;
}

int aoe_init(aoe_context *ctx, const char *dir, const aoe_init_options *o, aoe_init_result *result, aoe_error *err) {
    AOEI_CHECK(err, ctx, dir);
    AOEI_OPTIONS(aoe_init_options, o, err);
    return aoei_init_with(ctx, dir, o, feed_files, (void *)(uintptr_t)o, result, err);
}
