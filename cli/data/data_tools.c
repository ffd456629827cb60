/* SPDX-License-Identifier: MIT
 * Functions that several data commands use.
 */
#include "cli/data/data_tools.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "aoe_data.h"
#include "cli/common/words.h"

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
                     "--json prints a summary to stdout, which already receives the %s; write the %s to a file with -o", rows,
                     rows);
}

const char *cli_table_end(const char *path) {
    static const char *const formats[] = {".tsv", ".csv", ".jsonl", ".txt"}, *const packed[] = {"", ".gz", ".zst"};
    const size_t len = strlen(path);
    for (size_t f = 0; f < 4; f++)
        for (size_t p = 0; p < 3; p++) {
            const size_t a = strlen(formats[f]), b = strlen(packed[p]);
            if (len > a + b && !strncasecmp(path + len - a - b, formats[f], a) && !strcasecmp(path + len - b, packed[p]))
                return path + len - a - b;
        }
    return path + len;
}

int cli_same_format(const char *a, const char *b) {
    const char *x = cli_table_end(a), *y = cli_table_end(b);
    const size_t n = *x ? strcspn(x + 1, ".") : 0;
    return n == (*y ? strcspn(y + 1, ".") : 0) && !strncasecmp(x, y, n + 1);
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
