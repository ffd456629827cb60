/* SPDX-License-Identifier: MIT
 * Determines the formats of the input files and passes their texts on in batches.
 */
#include "cli/common/text_files.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/common/output.h"

int cli_text_files_fail(const cli_text_files *f, size_t i, const aoe_error *err) {
    if (i >= f->batch.n)
        return cli_fail("%s", err->message);
    if (f->whole_files)
        return cli_fail("%s: %s", f->batch.name[i], err->message);
    if (!f->batch.is_line[i])
        return cli_fail("%s: text %zu: %s", f->batch.name[i], f->batch.number[i], err->message);
    return cli_fail("%s:%zu: %s", f->batch.name[i], f->batch.number[i], err->message);
}

/* Passes the batch on and empties it. */
static int pass_batch(cli_text_files *f) {
    if (!f->batch.n)
        return 0;
    cli_batch_finish(&f->batch);
    f->reported = f->use(f->user, &f->batch);
    cli_batch_clear(&f->batch);
    return f->reported;
}

/* Callback of aoe_texts_read. Adds a text to the batch, and passes the batch on if it is full. */
static int take_text(void *user, aoe_text text, aoe_error *err) {
    cli_text_files *f = user;
    if (f->discard)
        return 0;
    f->row++;
    if (f->accept && !f->accept(f->user, f->name, text))
        return 0;
    cli_batch_add(&f->batch, text, f->name, f->row, !f->is_table);
    if (!cli_batch_is_full(&f->batch) || !pass_batch(f))
        return 0;
    *err = (aoe_error){.code = AOE_ECANCELLED};
    return AOE_ECANCELLED;
}

/* Sets one->input_format to the format of a file: the file has one text per line if its extension is unknown. Returns
 * 0, or 1 after reporting that the file is missing or cannot be read. */
static int choose_format(aoe_table_options *one, const char *path) {
    struct stat st = {0};
    aoe_error err;
    if (strcmp(path, "-") != 0 && stat(path, &st) != 0)
        return errno == ENOENT || errno == ENOTDIR
                   ? cli_fail("%s: no such file; %s", path,
                              strchr(path, ' ') ? "texts, instead of files, are read from standard input"
                                                : "check the path")
                   : cli_fail("%s: cannot open: %s; check the path", path, strerror(errno));
    if (strcmp(path, "-") != 0 && S_ISDIR(st.st_mode))
        return cli_fail("%s: is a directory; give the files in it, for example %s%s*%s", path, path,
                        path[strlen(path) - 1] == '/' ? "" : "/", one->whole_files ? ".md" : ".txt");
    if (one->whole_files || one->input_format != AOE_TABLE_AUTO)
        return 0;
    if (aoe_table_format_of(&one->input_format, path, &err))
        return cli_fail("%s", err.message);
    if (one->input_format == AOE_TABLE_AUTO)
        one->input_format = AOE_TABLE_TXT;
    return 0;
}

/* Reads the texts of a file. */
static int read_file(cli_text_files *f, const char *path, const aoe_table_options *t) {
    aoe_error err;
    aoe_table_options one = *t;
    /* if `columns` were NULL, aoe_texts_read would read all text columns and mix their texts */
    one.columns = t->columns ? t->columns : "";
    if (choose_format(&one, path))
        return 1;
    f->name = strcmp(path, "-") ? path : "stdin";
    f->whole_files = one.whole_files;
    f->is_table = one.input_format != AOE_TABLE_TXT || one.delimiter;
    f->row = 0;
    return aoe_texts_read(path, &one, take_text, f, &err) ? (f->reported ? 1 : cli_fail("%s", err.message)) : 0;
}

/* Checks a regular file without columns by reading it to its end. Afterwards, it can be read again; other files, such
 * as pipes, are not checked. Returns 0, or 1 after reporting the error. */
static int check_file(cli_text_files *f, const char *path, const aoe_table_options *t) {
    struct stat st;
    aoe_table_options one = *t;
    const int is_stdin = strcmp(path, "-") == 0;
    if (choose_format(&one, path))
        return 1;
    if ((is_stdin ? fstat(STDIN_FILENO, &st) : stat(path, &st)) || !S_ISREG(st.st_mode) || one.columns ||
        one.delimiter || (one.input_format != AOE_TABLE_TXT && !one.whole_files))
        return 0;
    const off_t start = is_stdin ? lseek(STDIN_FILENO, 0, SEEK_CUR) : 0;
    f->discard = 1;
    const int code = read_file(f, path, t);
    f->discard = 0;
    if (!code && is_stdin && (start < 0 || lseek(STDIN_FILENO, start, SEEK_SET) < 0))
        return cli_fail("%s: cannot read it twice: %s", f->name, strerror(errno));
    return code;
}

int cli_text_files_read(cli_text_files *f, const cli_args *args, const aoe_table_options *t) {
    static const char *const standard_input[] = {"-"};
    const char *const *path = args->n ? args->operand : standard_input;
    const size_t n = args->n ? args->n : 1;
    int code = 0;
    cli_batch_clear(&f->batch);
    for (size_t i = 0; i < n && !code; i++) {
        code = check_file(f, path[i], t);
        if (!code && strcmp(path[i], "-") == 0 && isatty(STDIN_FILENO))
            cli_note("reading texts from the terminal, one per line; press Ctrl-D to finish");
    }
    for (size_t i = 0; i < n && !code; i++)
        code = read_file(f, path[i], t);
    return code || pass_batch(f);
}
