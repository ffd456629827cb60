/* SPDX-License-Identifier: MIT
 * Decides which files are tables, and reads lines and tables in batches.
 */
#include "cli/common/text_files.h"

#include "base/path.h"
#include "cli/common/output.h"

int cli_text_files_fail(const cli_text_files *f, size_t i, const aoe_error *err) {
    if (i >= f->batch.n)
        return cli_fail("%s", err->message);
    if (f->table_path)
        return cli_fail("%s: text %zu: %s", f->batch.name[i], f->batch.number[i], err->message);
    return cli_fail("%s:%zu: %s", f->batch.name[i], f->batch.number[i], err->message);
}

/* Reads the lines of n files. */
static int read_lines(cli_text_files *f, const char *const *path, size_t n) {
    cli_lines lines = {0};
    int more = 0, code = cli_lines_open(&lines, path, n);
    while (!code && (more = cli_batch_read(&f->batch, &lines)) > 0)
        code = f->use(f->user, &f->batch);
    cli_lines_close(&lines);
    return code || more < 0;
}

/* Callback of aoe_texts_read. Adds a text of a table to the batch, and passes the batch on if it is full. */
static int take_text(void *user, aoe_text text, aoe_error *err) {
    cli_text_files *f = user;
    cli_batch_add(&f->batch, text, f->table_path, ++f->row);
    if (!cli_batch_is_full(&f->batch))
        return 0;
    cli_batch_finish(&f->batch);
    f->reported = f->use(f->user, &f->batch);
    cli_batch_clear(&f->batch);
    if (f->reported)
        *err = (aoe_error){.code = AOE_ECANCELLED};
    return f->reported ? AOE_ECANCELLED : 0;
}

/* Reads the texts of a table. */
static int read_table(cli_text_files *f, const char *path, const aoe_table_options *t) {
    aoe_error err;
    f->table_path = path;
    f->row = 0;
    cli_batch_clear(&f->batch);
    const int code = aoe_texts_read(path, t, take_text, f, &err);
    if (code)
        return f->reported ? 1 : cli_fail("%s", err.message);
    cli_batch_finish(&f->batch);
    f->reported = f->batch.n ? f->use(f->user, &f->batch) : 0;
    f->table_path = NULL;
    return f->reported;
}

/* Returns 1 if aoe_texts_read must read the file: the options or the file extension say that it is a table or is compressed.
 * Also returns 1 if --columns was given, because aoe_texts_read reports an error if the file has no columns. */
static int is_table(const char *path, const aoe_table_options *t) {
    static const char *const extensions[] = {".tsv", ".csv", ".jsonl", ".gz", ".zst"};
    if (t->input_format != AOE_TABLE_AUTO)
        return t->input_format != AOE_TABLE_TXT || t->delimiter || t->columns;
    if (t->delimiter || t->columns)
        return 1;
    for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
        if (aoei_name_ends_with(path, extensions[i]))
            return 1;
    return 0;
}

int cli_text_files_read(cli_text_files *f, const cli_args *args, const aoe_table_options *t) {
    static const char *const standard_input[] = {"-"};
    const char *const *path = args->n ? args->operand : standard_input;
    const size_t n = args->n ? args->n : 1;
    size_t tables = 0;
    aoe_table_options one = *t; /* if `columns` were NULL, aoe_texts_read would read all text columns and mix their texts */
    one.columns = t->columns ? t->columns : "";
    int code = 0;
    for (size_t i = 0; i < n; i++)
        tables += (size_t)is_table(path[i], t);
    if (!tables)
        return read_lines(f, path, n);
    for (size_t i = 0; i < n && !code; i++)
        code = is_table(path[i], t) ? read_table(f, path[i], &one) : read_lines(f, &path[i], 1);
    return code;
}
