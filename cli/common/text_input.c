/* SPDX-License-Identifier: MIT
 * Reads lines of text from files, checks that they are valid UTF-8, and stores them in batches.
 */
#include "cli/common/text_input.h"

#include "base/utf8.h"
#include "cli/common/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens the next file. Returns 0, or 1 after reporting the error. */
static int open_next(cli_lines *l) {
    const char *path = l->n ? l->path[l->next] : "-";
    struct stat st;
    l->next++;
    l->number = 0;
    l->offset = 0;
    if (strcmp(path, "-") == 0) {
        l->file = stdin;
        l->name = "stdin";
        return 0;
    }
    l->name = path;
    l->file = fopen(path, "rb");
    if (!l->file && errno == ENOENT)
        return cli_fail("%s: no such file; check the path", path);
    if (!l->file)
        return cli_fail("%s: cannot open: %s; check the path", path, strerror(errno));
    if (fstat(fileno(l->file), &st) == 0 && S_ISDIR(st.st_mode))
        return cli_fail("%s: is a directory; give a file", path);
    return 0;
}

static void close_file(cli_lines *l) {
    if (l->file && l->file != stdin)
        fclose(l->file);
    l->file = NULL;
}

/* Returns 1 if s starts with the magic number of the gzip or zstd format. */
static int is_compressed(const char *s, size_t len) {
    return len >= 2 && (memcmp(s, "\x1f\x8b", 2) == 0 || (len >= 4 && memcmp(s, "\x28\xb5\x2f\xfd", 4) == 0));
}

/* Reads the next line of the open file. Returns 1 if a line was read, 0 at the end of the file, or -1 after reporting an
 * error. */
static int next_of_file(cli_lines *l, aoe_text *line) {
    errno = 0;
    ssize_t got = getline(&l->text, &l->capacity, l->file);
    if (got < 0) {
        if (ferror(l->file) || !feof(l->file))
            return cli_fail("%s: cannot read: %s", l->name, strerror(errno)), -1;
        return 0;
    }
    size_t len = (size_t)got;
    size_t bom = l->number == 0 && len >= 3 && memcmp(l->text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0;
    size_t all = len;
    if (l->text[len - 1] == '\n')
        len -= len > 1 && l->text[len - 2] == '\r' ? 2 : 1;
    l->number++;
    const char *utf16 = l->number == 1 ? aoei_utf16_name(l->text, len) : NULL;
    if (utf16) {
        cli_fail("%s: the text is UTF-16; convert it to UTF-8, for example with iconv -f %s -t UTF-8", l->name, utf16);
        return -1;
    }
    size_t valid = aoei_utf8_valid(l->text, len);
    if (valid < len) {
        if (l->number == 1 && is_compressed(l->text, len))
            cli_fail("%s: the file is compressed; pipe the output of zcat or zstdcat into aoe", l->name);
        else
            cli_fail("%s: invalid UTF-8 at byte %llu, in line %zu; convert the text to UTF-8, for example with iconv", l->name,
                     l->offset + valid, l->number);
        return -1;
    }
    l->offset += all;
    *line = (aoe_text){l->text + bom, len - bom};
    return bom && all == bom ? 0 : 1;
}

int cli_lines_next(cli_lines *l, aoe_text *line) {
    size_t files = l->n ? l->n : 1;
    for (;;) {
        if (!l->file) {
            if (l->next == files)
                return 0;
            if (open_next(l))
                return -1;
        }
        int more = next_of_file(l, line);
        if (more)
            return more;
        close_file(l);
    }
}

/* Checks the open file by reading it to its end, and then restores the current position. Pipes and other files that are not
 * regular are not checked. Returns 0, or 1 after reporting the error. */
static int check_file(cli_lines *l) {
    aoe_text line;
    struct stat st;
    off_t start = ftello(l->file);
    if (start < 0 || fstat(fileno(l->file), &st) || !S_ISREG(st.st_mode))
        return 0;
    int more;
    while ((more = next_of_file(l, &line)) > 0)
        continue;
    if (more < 0)
        return 1;
    clearerr(l->file);
    if (fseeko(l->file, start, SEEK_SET))
        return cli_fail("%s: cannot read it twice: %s", l->name, strerror(errno));
    return 0;
}

int cli_lines_open(cli_lines *l, const char *const *path, size_t n) {
    memset(l, 0, sizeof *l);
    l->path = path;
    l->n = n;
    int code = 0;
    while (!code && l->next < (n ? n : 1)) {
        struct stat st;
        const char *name = n ? path[l->next] : "-";
        if (strcmp(name, "-") != 0 && stat(name, &st) == 0 && S_ISFIFO(st.st_mode)) {
            l->next++; /* a named pipe is not checked, because it can be read only once */
            continue;
        }
        code = open_next(l) || check_file(l);
        if (!code && l->file == stdin && isatty(STDIN_FILENO))
            cli_note("reading texts from the terminal, one per line; press Ctrl-D to finish");
        close_file(l);
    }
    l->next = 0;
    l->number = 0;
    return code;
}

void cli_lines_close(cli_lines *l) {
    close_file(l);
    free(l->text);
    memset(l, 0, sizeof *l);
}

void cli_batch_create(cli_batch *b, size_t capacity, size_t max_bytes) {
    memset(b, 0, sizeof *b);
    b->capacity = capacity;
    b->max_bytes = max_bytes;
    b->offset = cli_realloc(NULL, (capacity + 1) * sizeof *b->offset);
    b->text = cli_realloc(NULL, capacity * sizeof *b->text);
    b->name = cli_realloc(NULL, capacity * sizeof *b->name);
    b->number = cli_realloc(NULL, capacity * sizeof *b->number);
}

void cli_batch_clear(cli_batch *b) {
    b->n = b->used = b->empty = 0;
}

int cli_batch_is_full(const cli_batch *b) {
    return b->n == b->capacity || b->used >= b->max_bytes;
}

void cli_batch_add(cli_batch *b, aoe_text text, const char *name, size_t number) {
    if (b->allocated - b->used < text.len || !b->bytes) {
        b->allocated = 2 * (b->used + text.len) + 4096;
        b->bytes = cli_realloc(b->bytes, b->allocated);
    }
    memcpy(b->bytes + b->used, text.data, text.len);
    b->offset[b->n] = b->used;
    b->used += text.len;
    b->name[b->n] = name;
    b->number[b->n] = number;
    b->empty += text.len == 0;
    b->offset[++b->n] = b->used;
}

void cli_batch_finish(cli_batch *b) {
    for (size_t i = 0; i < b->n; i++)
        b->text[i] = (aoe_text){b->bytes + b->offset[i], b->offset[i + 1] - b->offset[i]};
}

int cli_batch_read(cli_batch *b, cli_lines *l) {
    aoe_text line;
    int more = 1;
    cli_batch_clear(b);
    while (!cli_batch_is_full(b) && (more = cli_lines_next(l, &line)) > 0)
        cli_batch_add(b, line, l->name, l->number);
    if (more < 0)
        return -1;
    cli_batch_finish(b);
    return b->n > 0;
}

void cli_batch_destroy(cli_batch *b) {
    free(b->bytes);
    free(b->offset);
    free(b->text);
    free((void *)b->name);
    free(b->number);
    memset(b, 0, sizeof *b);
}
