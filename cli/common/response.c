/* SPDX-License-Identifier: MIT
 * Reads response files (@FILE) line by line. A response file cannot include another response file.
 */
#include "cli/common/response.h"

#include "cli/common/output.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cli_response {
    FILE *file;       /* response file, owned */
    const char *path; /* path of the file, for messages; borrowed */
    char *text;       /* buffer for the current line, owned */
    size_t capacity;  /* size of the buffer `text` in bytes */
    size_t line;      /* number of the current line, counted from 1 */
};

/* A text to which other texts are appended. */
typedef struct builder {
    char *text; /* owned, NUL-terminated */
    size_t len;
} builder;

static void append(builder *b, const char *s, size_t len) {
    b->text = cli_realloc(b->text, b->len + len + 1);
    memcpy(b->text + b->len, s, len);
    b->len += len;
    b->text[b->len] = 0;
}

int cli_response_open(cli_response **out, const char *path) {
    *out = NULL;
    FILE *f = fopen(path, "r");
    if (!f)
        return cli_fail("%s: cannot open the response file: %s; check the path after @", path, strerror(errno)), -1;
    cli_response *r = cli_realloc(NULL, sizeof *r);
    *r = (cli_response){.file = f, .path = path};
    *out = r;
    return 0;
}

void cli_response_close(cli_response *r) {
    if (!r)
        return;
    fclose(r->file);
    free(r->text);
    free(r);
}

static int name_char(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* Appends the value of an environment variable. s: the text after the '$', which starts with NAME or {NAME}; if it
 * starts with '$', a dollar sign is appended. Returns the number of bytes of s that were read, or 0 after reporting an
 * error. */
static size_t expand(const cli_response *r, builder *b, const char *s) {
    char name[256];
    size_t len = 0, taken;
    if (s[0] == '$') {
        append(b, "$", 1);
        return 1;
    }
    if (s[0] == '{') {
        len = strcspn(s + 1, "}");
        taken = len + 2;
        if (!s[1 + len] || len == 0) {
            cli_fail("%s:%zu: incomplete ${; write ${NAME}, or $$ for a dollar sign", r->path, r->line);
            return 0;
        }
        snprintf(name, sizeof name, "%.*s", (int)(len < 255 ? len : 255), s + 1);
    } else {
        while (name_char(s[len]))
            len++;
        taken = len;
        if (len == 0) {
            cli_fail("%s:%zu: $ is not followed by a name; write $NAME, or $$ for a dollar sign", r->path, r->line);
            return 0;
        }
        snprintf(name, sizeof name, "%.*s", (int)(len < 255 ? len : 255), s);
    }
    const char *value = getenv(name);
    if (!value) {
        cli_fail("%s:%zu: environment variable %s is not set; set it with export %s=...", r->path, r->line, name, name);
        return 0;
    }
    append(b, value, strlen(value));
    return taken;
}

/* Returns the value that starts at s. The comment after the value and its quotes are removed, and environment variables
 * are replaced. Returns NULL after reporting an error. The caller frees the value with free(). */
static char *read_value(const cli_response *r, const char *s) {
    builder b = {0};
    char quote = *s == '\'' || *s == '"' ? *s++ : 0;
    append(&b, "", 0);
    for (; *s; s++) {
        if (quote ? *s == quote : (*s == '#' && isspace((unsigned char)s[-1])))
            break;
        if (*s == '$' && quote != '\'') {
            size_t taken = expand(r, &b, s + 1);
            if (!taken) {
                free(b.text);
                return NULL;
            }
            s += taken;
        } else {
            append(&b, s, 1);
        }
    }
    if (quote) {
        const char *rest = *s ? s + 1 : s;
        rest += strspn(rest, " \t");
        if (!*s || (*rest && *rest != '#')) {
            cli_fail("%s:%zu: a value that begins with %c must end with %c", r->path, r->line, quote, quote);
            free(b.text);
            return NULL;
        }
    } else {
        while (b.len && isspace((unsigned char)b.text[b.len - 1]))
            b.text[--b.len] = 0;
    }
    return b.text;
}

/* Splits a line into one or two arguments: an option and its value, or an option or operand alone. Sets word[] to the
 * arguments, which the caller frees with free(), and *n to their number. Returns 1, or -1 after reporting an error. */
static int split(const cli_response *r, const char *s, char *word[2], size_t *n) {
    const int is_long = s[0] == '-' && s[1] == '-';
    size_t name = is_long ? strcspn(s, " \t=") : s[0] == '-' && s[1] ? 2 : 0;
    *n = 0;
    if (name == 0) {
        word[0] = read_value(r, s);
        *n = word[0] != NULL;
        return word[0] ? 1 : -1;
    }
    const char *rest = s + name + strspn(s + name, " \t");
    const int attached = is_long && s[name] == '=';
    if (attached || (*rest && (*rest != '#' || rest == s + name))) {
        char *value = read_value(r, attached ? s + name + 1 : rest);
        if (!value)
            return -1;
        if (attached) { /* "--name=value" remains one argument, so that the parser rejects a value after a flag */
            builder b = {0};
            append(&b, s, name + 1);
            append(&b, value, strlen(value));
            free(value);
            word[0] = b.text;
            *n = 1;
            return 1;
        }
        word[1] = value;
        *n = 1;
    }
    builder b = {0};
    append(&b, s, name);
    word[0] = b.text;
    *n += 1;
    return 1;
}

int cli_response_next(cli_response *r, char *word[2], size_t *n, size_t *line) {
    ssize_t len;
    while ((len = getline(&r->text, &r->capacity, r->file)) >= 0) {
        r->line++;
        *line = r->line;
        while (len > 0 && isspace((unsigned char)r->text[len - 1]))
            r->text[--len] = 0;
        const char *s = r->text + strspn(r->text, " \t");
        if (*s && *s != '#')
            return split(r, s, word, n);
    }
    if (ferror(r->file))
        return cli_fail("%s: cannot read the response file: %s", r->path, strerror(errno)), -1;
    return 0;
}
