/* SPDX-License-Identifier: MIT
 * Writes the data file and the gnuplot script of a plot.
 */
#include "cli/plot/gnuplot.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/path.h"
#include "base/share_files.h"
#include "cli/common/outfile.h"
#include "cli/common/words.h"
#include "cli/plot/gnuplot_run.h"
#include "cli/plot/quote.h"

enum { DAT, GP, SVG, PNG };
static const char *const suffixes[CLI_PICTURE_FILES] = {".dat", ".gp", ".svg", ".png"};

/* ---- labels */

/* Returns the last `parts` components of a path, without the file extension of a table. The caller frees the text with
 * free(). */
static char *short_label(const char *path, int parts) {
    static const char *const known[] = {".gz", ".zst", ".tsv", ".csv", ".jsonl", ".json", ".txt"};
    char *copy = cli_strdup(path);
    for (size_t n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--)
        copy[n - 1] = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (aoei_name_ends_with(copy, known[i]))
            copy[strlen(copy) - strlen(known[i])] = 0;
    const char *begin = copy + strlen(copy);
    while (begin > copy && (begin[-1] != '/' || --parts))
        begin--;
    char *label = cli_strdup(begin);
    free(copy);
    return label;
}

static int all_differ(char *const *label, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(label[i], label[k]) == 0)
                return 0;
    return 1;
}

char **cli_picture_labels(const char *const *path, size_t n) {
    enum { DEEPEST = 5 }; /* maximum number of path components in a label */
    char **label = cli_realloc(NULL, n * sizeof *label);
    for (int parts = 1; parts <= DEEPEST; parts++) {
        for (size_t i = 0; i < n; i++)
            label[i] = short_label(path[i], parts);
        if (all_differ(label, n) || parts == DEEPEST)
            break;
        for (size_t i = 0; i < n; i++)
            free(label[i]);
    }
    return label;
}

void cli_picture_labels_free(char **label, size_t n) {
    for (size_t i = 0; label && i < n; i++)
        free(label[i]);
    free(label);
}

/* ---- files */

/* Writes the quoted path of a file of the plot, relative to the directory of the script. */
static void put_path(FILE *gp, const char *base, int file) {
    char *path = cli_format("./%s%s", base, suffixes[file]);
    cli_gp_path(gp, path);
    free(path);
}

/* Opens memory streams for the data and the parameters, and writes the first lines of both. */
static int open_streams(cli_picture *p, const char *title, const char *what) {
    p->dat = open_memstream(&p->dat_text, &p->dat_size);
    p->gp = open_memstream(&p->gp_text, &p->gp_size);
    if (!p->dat || !p->gp)
        return cli_fail("out of memory while writing the plot");
    const char *base = aoei_path_name(p->name);
    fprintf(p->dat, "# %s\n", what);
    fprintf(p->gp, "# %s\n# gnuplot ", what);
    cli_gp_comment(p->gp, base);
    fputs(".gp, in this directory, draws the .svg and .png files from the .dat file.\nset encoding utf8\ndata = ",
          p->gp);
    put_path(p->gp, base, DAT);
    fputs("\nif (!exists('svg')) svg = ", p->gp);
    put_path(p->gp, base, SVG);
    fputs("\nif (!exists('png')) png = ", p->gp);
    put_path(p->gp, base, PNG);
    putc('\n', p->gp);
    cli_picture_text(p, title, "title");
    return 0;
}

void cli_picture_text(cli_picture *p, const char *text, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vfprintf(p->gp, fmt, args);
    va_end(args);
    fputs(" = ", p->gp);
    cli_gp_string(p->gp, text);
    putc('\n', p->gp);
}

/* Callback of aoei_share_search. Stores the directory if it contains the script. */
static int try_share(void *user, const char *folder) {
    cli_picture *p = user;
    char *script = cli_format("%s/%s.gp", folder, p->kind);
    const int found = aoei_exists(script);
    if (found)
        p->share = cli_strdup(folder);
    free(script);
    return found;
}

/* Appends a script in share/plot to the parameters, without its first line, which is the license. */
static int append_script(cli_picture *p, const char *name) {
    char *path = cli_format("%s/%s.gp", p->share, name), *text = NULL;
    size_t size;
    aoe_error err;
    const int failed = aoei_read_file(&text, &size, path, 0, &err) ? cli_fail("%s", err.message) : 0;
    const char *line_end = failed ? NULL : strchr(text, '\n');
    fprintf(p->gp, "\n%s", line_end ? line_end + 1 : "");
    aoei_free(text);
    free(path);
    return failed;
}

/* Returns 1 if the name ends with the extension, in upper or lower case, and is longer than the extension. */
static int has_extension(const char *name, const char *extension) {
    const size_t n = strlen(name), k = strlen(extension);
    return n > k && strcasecmp(name + n - k, extension) == 0;
}

int cli_picture_open(cli_picture *p, const char *name, const char *title, const char *kind, const char *what) {
    *p = (cli_picture){.name = cli_strdup(name), .kind = kind};
    for (int i = SVG; i <= PNG; i++)
        if (has_extension(p->name, suffixes[i]))
            p->name[strlen(p->name) - strlen(suffixes[i])] = 0;
    static const char *const formats[] = {".pdf", ".eps", ".ps", ".jpg", ".jpeg", ".gif", ".webp"};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (has_extension(p->name, formats[i]))
            return cli_fail(
                "cannot write %s: plots are written as .svg and .png; for other formats edit the terminal in the "
                ".gp file and run gnuplot",
                name);
    const char *base = aoei_path_name(p->name);
    if (!*base || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
        return cli_fail("'%s' does not end in a file name; write for example -o %s%splot", name, name,
                        *base ? "/" : "");
    for (const char *s = p->name; *s; s++)
        if ((unsigned char)*s < 0x20 || *s == 0x7F)
            return cli_fail("the name of the plot contains a control character; choose another name with -o");
    for (int i = 0; i < CLI_PICTURE_FILES; i++) {
        cli_file f;
        p->file[i] = cli_format("%s%s", p->name, suffixes[i]);
        if (cli_file_open(&f, p->file[i]))
            return 1;
        cli_file_abort(&f);
    }
    if (!aoei_share_search("plot", "share/plot", try_share, p))
        return cli_fail(
            "the gnuplot script %s.gp is not installed; install aoe with make install, or use the program in the "
            "build directory of the source tree",
            kind);
    return open_streams(p, title, what);
}

size_t cli_picture_block(cli_picture *p, const char *fmt, ...) {
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    fputs(p->blocks ? "\n\n# " : "# ", p->dat);
    cli_gp_comment(p->dat, text);
    putc('\n', p->dat);
    return p->blocks++;
}

/* Writes the contents of a memory stream to a file. */
static int write_stream(FILE *f, const char *path, char *const *text, const size_t *size) {
    cli_file out;
    if (fflush(f) || ferror(f))
        return cli_fail("out of memory while writing the plot");
    int failed = cli_file_open(&out, path);
    if (!failed) {
        fwrite(*text, 1, *size, out.file);
        failed = cli_file_commit(&out);
        cli_file_abort(&out);
    }
    return failed;
}

int cli_picture_draw(cli_picture *p, int characters) {
    if (append_script(p, "common") || append_script(p, p->kind) ||
        write_stream(p->dat, p->file[DAT], &p->dat_text, &p->dat_size) ||
        write_stream(p->gp, p->file[GP], &p->gp_text, &p->gp_size))
        return 1;
    return cli_gnuplot_run(p->name, p->file[SVG], p->file[PNG], characters);
}

void cli_picture_report(const cli_picture *p, int json, json_t *more) {
    if (!json) {
        printf("%s and %s (from %s, by %s)\n", p->file[SVG], p->file[PNG], p->file[DAT], p->file[GP]);
        json_decref(more);
        return;
    }
    static const char *const keys[CLI_PICTURE_FILES] = {"data", "script", "svg", "png"};
    json_t *files = more ? more : json_object();
    for (int i = 0; i < CLI_PICTURE_FILES; i++)
        json_object_set_new(files, keys[i], cli_json_text(p->file[i], strlen(p->file[i])));
    cli_print_json(files);
}

void cli_picture_close(cli_picture *p) {
    if (p->dat)
        fclose(p->dat);
    if (p->gp)
        fclose(p->gp);
    free(p->dat_text);
    free(p->gp_text);
    for (int i = 0; i < CLI_PICTURE_FILES; i++)
        free(p->file[i]);
    free(p->name);
    free(p->share);
    memset(p, 0, sizeof *p);
}
