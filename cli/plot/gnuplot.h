/* SPDX-License-Identifier: MIT
 * A picture: NAME.dat (the numbers), NAME.gp (a gnuplot script that draws them,
 * alone) and what gnuplot makes of them, NAME.svg and NAME.png. The kinds of pictures
 * write data and script; what all scripts begin with, colours, quoting and running
 * gnuplot are here. gnuplot is run as a program, without a shell; data and script
 * are there whole before it starts.
 */
#ifndef AOE_CLI_PLOT_GNUPLOT_H
#define AOE_CLI_PLOT_GNUPLOT_H

#include <stddef.h>
#include <stdio.h>

#include "cli/common/output.h"

enum { CLI_PICTURE_FILES = 4 }; /* .dat, .gp, .svg, .png */

typedef struct cli_picture {
    char *name;                    /* without suffix, owned */
    char *file[CLI_PICTURE_FILES]; /* NAME.dat, NAME.gp, NAME.svg, NAME.png, each owned */
    FILE *dat, *gp;                /* write here: streams in memory */
    char *dat_text, *gp_text;      /* of these, owned; valid once they are flushed */
    size_t dat_size, gp_size;      /* bytes */
    size_t blocks;                 /* of the data so far */
} cli_picture;

/* Checks that files of that name (less a suffix .svg or .png) can be written, and begins data and script. what: the comment
 * they begin with. 0, or 1 after reporting the error; *p is to be closed either way. */
int cli_picture_open(cli_picture *p, const char *name, const char *what);
/* Begins the next block of the data (gnuplot's `index`, from 0) with a comment; returns its number. */
size_t cli_picture_block(cli_picture *p, const char *fmt, ...);
/* Begins the part of the script that is run once for each format, from gnuplot's defaults, of pictures of so many pixels;
 * cli_picture_end ends it. */
void cli_picture_begin(cli_picture *p, int width, int height);
void cli_picture_end(cli_picture *p);
/* Writes data and script and has gnuplot draw. characters: 1: what the script draws on stdout when `characters` exists comes
 * first. 0, or 1 after reporting the error. */
int cli_picture_draw(cli_picture *p, int characters);
/* Says on stdout which files there are now, json: as an object beside the keys of `more` (taken; may be NULL). */
void cli_picture_report(const cli_picture *p, int json, json_t *more);
void cli_picture_close(cli_picture *p); /* accepts a zeroed one */

/* Labels of n files or directories: their names without the suffixes of tables, with as many of the folders before them as it
 * takes to tell them apart. The array and its elements are to be freed with cli_picture_labels_free. */
char **cli_picture_labels(const char *const *path, size_t n);
void cli_picture_labels_free(char **label, size_t n);

/* Defines line styles 1 to CLI_LINE_STYLES, and a faint grid. Their colours are told apart by colour-blind readers (Okabe and
 * Ito 2008), their dashes and markers in grey. */
enum { CLI_LINE_STYLES = 7 };
void cli_gp_line_styles(FILE *gp);
/* The ramp of ordered quantities, light for low ones, of a lightness that falls evenly: as a palette, and as the colour at
 * x in [0, 1] ("#rrggbb"). */
void cli_gp_palette(FILE *gp);
void cli_ramp_colour(char out[8], double x);
int cli_ramp_is_dark(double x); /* 1: text on it has to be white */

#endif
