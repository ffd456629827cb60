/* SPDX-License-Identifier: MIT
 * The files of a plot: NAME.dat (the data), NAME.gp (a self-contained gnuplot script), and the images NAME.svg and
 * NAME.png. The commands that plot write data and script with these functions. When both are complete, gnuplot is
 * started, without a shell, and draws the images.
 */
#ifndef AOE_CLI_PLOT_GNUPLOT_H
#define AOE_CLI_PLOT_GNUPLOT_H

#include <stddef.h>
#include <stdio.h>

#include "cli/common/output.h"

enum { CLI_PICTURE_FILES = 4 }; /* .dat, .gp, .svg, .png */

/* A plot that is being written. */
typedef struct cli_picture {
    char *name;                    /* path without extension, owned */
    char *file[CLI_PICTURE_FILES]; /* paths of NAME.dat, NAME.gp, NAME.svg and NAME.png, owned */
    FILE *dat, *gp;                /* memory streams for data and script, owned */
    char *dat_text, *gp_text;      /* contents of the streams, owned; valid after fflush */
    size_t dat_size, gp_size;      /* size of the contents in bytes */
    size_t blocks;                 /* number of data blocks written */
} cli_picture;

/* Checks that the files can be written, and begins data and script. name: path of the plot, with or without the extension .svg
 * or .png. what: description of the plot for the first line of both files. Returns 0, or 1 after reporting the error; the
 * caller closes *p in both cases. */
int cli_picture_open(cli_picture *p, const char *name, const char *what);
/* Begins a new data block with a formatted comment. Returns the index of the block, counted from 0, for gnuplot's keyword
 * `index`. */
size_t cli_picture_block(cli_picture *p, const char *fmt, ...);
/* Begins and ends the part of the script that gnuplot executes once per image format. width, height: size of the .svg image in
 * pixels. */
void cli_picture_begin(cli_picture *p, int width, int height);
void cli_picture_end(cli_picture *p);
/* Writes data and script and runs gnuplot. characters: 1 defines the gnuplot variable `characters`, which makes the script also
 * print a plot of characters on stdout. Returns 0, or 1 after reporting the error. */
int cli_picture_draw(cli_picture *p, int characters);
/* Prints the names of the files to stdout: as text, or if json is 1 as a JSON object that also contains the keys of `more`.
 * Takes ownership of `more`, which may be NULL. */
void cli_picture_report(const cli_picture *p, int json, json_t *more);
void cli_picture_close(cli_picture *p); /* accepts a zeroed struct */

/* Returns labels for n files or directories: their names without the extensions of tables, preceded by as many parent
 * directories as are necessary to make the labels different. The caller frees the array with cli_picture_labels_free. */
char **cli_picture_labels(const char *const *path, size_t n);
void cli_picture_labels_free(char **label, size_t n);

/* Defines line styles 1 to CLI_LINE_STYLES and a light grid. Color-blind readers can distinguish the colors (Okabe and Ito
 * 2008); dashes and markers distinguish the lines in grayscale. */
enum { CLI_LINE_STYLES = 7 };
void cli_gp_line_styles(FILE *gp);
/* Color map for ordered values, from light to dark: cli_gp_palette writes it as a gnuplot palette, and cli_ramp_color returns
 * the color "#rrggbb" at x in [0, 1]. */
void cli_gp_palette(FILE *gp);
void cli_ramp_color(char out[8], double x);
int cli_ramp_is_dark(double x); /* returns 1 if text on the color at x must be white */

#endif
