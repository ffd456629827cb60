/* SPDX-License-Identifier: MIT
 * Functions that several data commands use.
 */
#include "cli/data/data_tools.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aoe_data.h"

int cli_sink_write(void *user, size_t part, const char *data, size_t len) {
    const cli_sink *s = user;
    FILE *file = s->file[part].file;
    if (fwrite(data, 1, len, file) == len)
        return 0;
    if (file == stdout)
        cli_flush_stdout(); /* records the error in errno before another call changes it */
    return 1;
}

int cli_sink_end(cli_sink *s, int code, const aoe_error *err) {
    if (!code)
        return cli_files_commit(s->file, s->n);
    for (size_t i = 0; code == AOE_ECANCELLED && i < s->n; i++)
        if (cli_file_check(&s->file[i]))
            return 1; /* the error was reported */
    return cli_fail("%s", err->message);
}

int cli_check_summary(const char *command, int json, const char *output, const char *rows) {
    if (!json || !cli_is_stdout(output))
        return CLI_GO;
    return cli_usage(command,
                     "--json prints a summary to stdout, which already receives the %s; write the %s to a file with -o",
                     rows, rows);
}

/* Returns 1 if the file name ends in .gz, 2 if it ends in .zst, and 0 otherwise. The case of the letters is ignored. */
static size_t compression_of(const char *path) {
    const size_t len = strlen(path);
    return len > 3 && !strcasecmp(path + len - 3, ".gz") ? 1 : len > 4 && !strcasecmp(path + len - 4, ".zst") ? 2 : 0;
}

/* Returns the format that the extension of a file name determines, or AOE_TABLE_AUTO. */
static aoe_table_format format_of(const char *path) {
    aoe_table_format format;
    return strcmp(path, "-") == 0 || aoe_table_format_of(&format, path, NULL) ? AOE_TABLE_AUTO : format;
}

const char *cli_table_end(const char *path) {
    static const size_t packed[] = {0, sizeof ".gz" - 1, sizeof ".zst" - 1};
    const aoe_table_format format = format_of(path);
    const char *end = path + strlen(path);
    if (format == AOE_TABLE_AUTO || format == AOE_TABLE_JSON)
        return end;
    end -= packed[compression_of(path)];
    do
        end--;
    while (*end != '.');
    return end;
}

const char *cli_rows_end(const char *path) {
    static const char *const lines[] = {".jsonl", ".jsonl.gz", ".jsonl.zst"};
    return format_of(path) == AOE_TABLE_JSON ? lines[compression_of(path)] : cli_table_end(path);
}

int cli_same_format(const char *input, const char *output) {
    const aoe_table_format format = format_of(input);
    return (format == AOE_TABLE_JSON ? AOE_TABLE_JSONL : format) == format_of(output);
}

void cli_excerpt(char *out, aoe_text text, size_t most) {
    size_t n = 0, i = 0;
    for (; i < text.len && n <= most; i++) {
        n += ((unsigned char)text.data[i] & 0xc0) != 0x80;
        if (n > most)
            break;
        *out++ = (unsigned char)text.data[i] < ' ' || text.data[i] == 0x7f ? ' ' : text.data[i];
    }
    memcpy(out, i < text.len ? "..." : "", i < text.len ? 4 : 1);
}

void cli_summary(int results_on_stdout, const char *fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (results_on_stdout)
        cli_note("%s", text);
    else
        printf("%s\n", text);
}
