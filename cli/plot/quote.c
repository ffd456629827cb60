/* SPDX-License-Identifier: MIT
 * Quotes strings, file names and comments for gnuplot scripts.
 */
#include "cli/plot/quote.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/common/output.h"

/* Returns the length in bytes of the character at s, or 0 if the character is not permitted in a gnuplot script or in
 * XML. */
static size_t plain_bytes(const char *s) {
    uint32_t c = 0;
    const size_t n = aoei_utf8_decode(s, strlen(s), &c);
    const int control = c < 0x20 || c == 0x7F, noncharacter = c == 0xFFFE || c == 0xFFFF;
    return control || noncharacter ? 0 : n;
}

/* Writes a text. Each character that is not permitted becomes '?'. The character `doubled` is written twice, to escape
 * it. */
static void put_text(FILE *f, const char *text, char doubled) {
    while (*text) {
        const size_t n = plain_bytes(text);
        if (n == 0)
            putc('?', f);
        else
            fwrite(text, 1, n, f);
        if (n && *text == doubled)
            putc(doubled, f);
        text += n ? n : 1;
    }
}

void cli_gp_string(FILE *gp, const char *text) {
    putc('\'', gp);
    put_text(gp, text, '\'');
    putc('\'', gp);
}

void cli_gp_path(FILE *gp, const char *path) {
    putc('\'', gp);
    for (const char *s = path; *s; s++) {
        putc(*s, gp);
        if (*s == '\'')
            putc(*s, gp);
    }
    putc('\'', gp);
}

/* Writes the text of a comment and replaces backslashes and backquotes. A backslash at the end of a comment would
 * continue the comment on the next line, and gnuplot executes commands in backquotes even in comments. */
void cli_gp_comment(FILE *f, const char *text) {
    char *plain = cli_strdup(text);
    for (char *s = plain; *s; s++)
        if (*s == '`' || *s == '\\')
            *s = '\'';
    put_text(f, plain, 0);
    free(plain);
}
