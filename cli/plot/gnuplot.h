/* SPDX-License-Identifier: MIT
 * Functions that write the files of a plot. A plot has four files: NAME.dat (the data), NAME.gp (a gnuplot script that
 * can also be run separately), and the images NAME.svg and NAME.png. A plot command writes the data, and the parameters
 * of its script. The script is one of the files of share/plot; it is copied to NAME.gp after the parameters. Then
 * gnuplot is started, without a shell, and draws the images. Parameters are gnuplot variables: numbers, and quoted
 * texts.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "cli/common/output.h"

enum {
    CLI_PICTURE_FILES = 4, /* number of files of a plot */
    CLI_LINE_STYLES = 7    /* number of line styles that share/plot/common.gp defines */
};

/* A plot whose files are being written. */
typedef struct cli_picture {
    char *name;                    /* path of the plot without file extension, owned */
    char *file[CLI_PICTURE_FILES]; /* paths of NAME.dat, NAME.gp, NAME.svg and NAME.png, owned */
    FILE *dat, *gp;                /* memory streams for the data and for the parameters, owned */
    char *dat_text, *gp_text;      /* contents of the streams, owned; valid after fflush() */
    size_t dat_size, gp_size;      /* size of the contents in bytes */
    size_t blocks;                 /* number of data blocks that were written */
    const char *kind;              /* name of the script in share/plot, borrowed */
    char *share;                   /* directory of the scripts, owned */
} cli_picture;

/* Checks that the files can be written, finds the script of the plot, and begins the data and the parameters. name:
 * path of the plot, with or without the extension .svg or .png; title: title of the plot; kind: name of the script;
 * what: description of the plot for the first line of both files. Returns 0, or 1 after reporting the error. The caller
 * closes *p even after an error. */
int cli_picture_open(cli_picture *p, const char *name, const char *title, const char *kind, const char *what);
/* Begins a new data block and writes a comment, formatted like printf(). Returns the index of the block, counted from
 * 0, for gnuplot's keyword `index`. */
size_t cli_picture_block(cli_picture *p, const char *fmt, ...);
/* Sets a parameter to a text. fmt: name of the parameter, formatted like printf(). Numbers are written to p->gp. */
void cli_picture_text(cli_picture *p, const char *text, const char *fmt, ...);
/* Writes the data file and the script file, and runs gnuplot. characters: 1 defines the gnuplot variable `characters`,
 * so that the script also prints a plot made of characters on stdout. Returns 0, or 1 after reporting the error. */
int cli_picture_draw(cli_picture *p, int characters);
/* Prints the names of the files to stdout as text. If json is 1, prints a JSON object instead, which also contains the
 * keys of `more`. Takes ownership of `more`, which may be NULL. */
void cli_picture_report(const cli_picture *p, int json, json_t *more);
void cli_picture_close(cli_picture *p); /* accepts a zeroed struct */

/* Returns labels for n files or directories. A label is the name of the file without the file extension of a table. If
 * two labels would be equal, parent directories are added to all labels. The caller frees the array with
 * cli_picture_labels_free. */
char **cli_picture_labels(const char *const *path, size_t n);
void cli_picture_labels_free(char **label, size_t n);
