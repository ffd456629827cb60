/* SPDX-License-Identifier: MIT
 * Implements aoe_init, which trains the vocabulary on the texts of data files. If a file is a table, the texts of all
 * columns with a recognized name, such as "text1", are used.
 */
#include <string.h>

#include "aoe_convert.h"
#include "base/check.h"
#include "base/error.h"
#include "base/options.h"
#include "table/columns.h"
#include "table/table.h"
#include "table/texts.h"
#include "create/init.h"

/* Passes the texts in the n selected columns of a row to the trainer. */
static int feed_row(const aoei_table *t, const aoei_row *row, size_t n, aoei_wordpiece_trainer *trainer,
                    aoe_error *err) {
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

/* The files whose texts are passed to the trainer. Both pointers are borrowed. */
typedef struct text_files {
    const aoe_init_options *o; /* options, which contain the paths */
    const aoei_log *log;       /* receives the notes on columns */
} text_files;

/* Passes all texts of a file to the trainer. */
static int feed_file(const char *path, const aoei_log *log, aoei_wordpiece_trainer *trainer, aoe_error *err) {
    static const char *const roles[] = {"texts"};
    aoe_table_options options;
    aoei_table *t = NULL;
    aoei_row row;
    size_t n = 0;
    aoe_table_options_defaults(&options);
    options.log = log->fn;
    options.log_user = log->user;
    int rc = aoei_table_open(&t, path, &options, err);
    if (!rc)
        rc = aoei_texts_select(t, &n, NULL, err);
    if (!rc)
        aoei_columns_log_roles(t, roles, 1);
    while (!rc && (rc = aoei_table_next(t, &row, err)) == 1)
        rc = feed_row(t, &row, n, trainer, err);
    aoei_table_close(t);
    return rc == AOEI_BAD_ROW ? AOE_EFORMAT : rc;
}

/* The callback of aoei_init_with, which passes the texts of all files to the trainer. user: the files (text_files). */
static int feed_files(void *user, aoei_wordpiece_trainer *trainer, aoe_error *err) {
    const text_files *f = user;
    int rc = 0;
    for (size_t i = 0; i < f->o->n_texts && !rc; i++)
        rc = feed_file(f->o->texts[i], f->log, trainer, err);
    return rc;
}

AOEI_DEFAULTS(aoe_init_options) {
    *o = (aoe_init_options){.struct_size = sizeof *o,
                            .shape = {.struct_size = sizeof o->shape},
                            .vocab_size = 8000,
                            .lowercase = 1,
                            .dropout = 0.1,
                            .seed = 42};
    aoe_shape_named(&o->shape, "bert-mini", NULL);
    o->shape.vocab = 0;
}

int aoe_init(aoe_context *ctx, const char *dir, const aoe_init_options *o, aoe_init_result *result, aoe_error *err) {
    AOEI_CHECK(err, ctx, dir);
    AOEI_RESULT(aoe_init_result, result, err);
    AOEI_OPTIONS(aoe_init_options, o, err);
    text_files files = {o, &ctx->log};
    return aoei_init_with(ctx, dir, o, feed_files, &files, result, err);
}
