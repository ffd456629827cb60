/* SPDX-License-Identifier: MIT
 * The files of a plot: NAME.dat (the data), NAME.gp (a self-contained gnuplot script), and NAME.svg and NAME.png, which
 * gnuplot draws. Each kind of plot writes its data and script through these functions. gnuplot is started without a
 * shell after data and script are complete.
 */
#ifndef AOE_CLI_PLOT_GNUPLOT_H
#define AOE_CLI_PLOT_GNUPLOT_H

#include <stddef.h>
#include <stdio.h>

#include "cli/common/output.h"

enum { CLI_PICTURE_FILES = 4 }; /* .dat, .gp, .svg, .png */

typedef struct cli_picture {
    char *name;                    /* path without extension, owned */
    char *file[CLI_PICTURE_FILES]; /* paths of NAME.dat, NAME.gp, NAME.svg and NAME.png, owned */
    FILE *dat, *gp;                /* memory streams for data and script */
    char *dat_text, *gp_text;      /* contents of the streams, owned; valid after fflush */
    size_t dat_size, gp_size;      /* size of the contents in bytes */
    size_t blocks;                 /* number of data blocks written */
} cli_picture;

/* Checks that the files can be written, and begins data and script. name: path, with or without .svg or .png. what: comment at
 * the start of both files. Returns 0, or 1 after reporting the error; the caller closes *p in both cases. */
int cli_picture_open(cli_picture *p, const char *name, const char *what);
/* Begins a new data block with a comment. Returns its number (gnuplot's `index`, counted from 0). */
size_t cli_picture_block(cli_picture *p, const char *fmt, ...);
/* Begins the part of the script that gnuplot executes once per image format; cli_picture_end ends it. width, height: size of
 * the .svg image in pixels. */
void cli_picture_begin(cli_picture *p, int width, int height);
void cli_picture_end(cli_picture *p);
/* Writes data and script and runs gnuplot. characters: 1 defines the variable `characters`, with which the script first draws
 * text on stdout. Returns 0, or 1 after reporting the error. */
int cli_picture_draw(cli_picture *p, int characters);
/* Prints the names of the files to stdout. json: 1 prints an object with the keys of `more` in addition. more: ownership is
 * taken; may be NULL. */
void cli_picture_report(const cli_picture *p, int json, json_t *more);
void cli_picture_close(cli_picture *p); /* accepts a zeroed struct */

/* Labels of n files or directories: their names without the extensions of tables, preceded by as many parent directories as
 * needed to make them distinct. The caller frees the array with cli_picture_labels_free. */
char **cli_picture_labels(const char *const *path, size_t n);
void cli_picture_labels_free(char **label, size_t n);

/* Defines line styles 1 to CLI_LINE_STYLES and a light grid. The colors are safe for color-blind readers (Okabe and Ito 2008);
 * dashes and markers distinguish the lines in grayscale. */
enum { CLI_LINE_STYLES = 7 };
void cli_gp_line_styles(FILE *gp);
/* The color map for ordered values, from light to dark with evenly decreasing lightness: as a gnuplot palette, and as the color
 * "#rrggbb" at x in [0, 1]. */
void cli_gp_palette(FILE *gp);
void cli_ramp_colour(char out[8], double x);
int cli_ramp_is_dark(double x); /* 1 if text on this color must be white */

#endif
