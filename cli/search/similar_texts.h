/* SPDX-License-Identifier: MIT
 * The rows of `aoe similar`, and the output of pairs and groups of similar rows.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "base/distinct.h"
#include "cli/text/ranking.h"

/* A row of the input. */
typedef struct cli_similar_row {
    size_t text;      /* index of its text in `texts` */
    size_t number;    /* number of the row in its file, counted from 1 */
    const char *file; /* name of its file, borrowed */
    size_t next;      /* index of the next row with this text; SIZE_MAX: none */
} cli_similar_row;

/* Two similar rows; first < second. */
typedef struct cli_similar_pair {
    size_t first, second; /* indices of the rows */
    double cosine;
} cli_similar_pair;

typedef struct cli_similar {
    aoei_distinct texts;  /* distinct texts of the rows; owned */
    cli_similar_row *row; /* [n] rows in input order; owned */
    size_t n, row_capacity;
    size_t *first, *last; /* [texts.n] first and last row with each text; owned */
    size_t text_capacity;
    FILE *file;                /* output */
    cli_ranking_format format; /* table, TSV or JSON lines */
    int has_files;             /* 1: the output names the file of each row */
    int whole_files;        /* 1: each file is one text: rows have no numbers, and only JSON lines contain the texts */
    size_t most;            /* number of pairs or groups that are written; 0: all */
    size_t pairs;           /* number of pairs up to now */
    size_t groups, grouped; /* number of groups, and of the rows in them; set by cli_similar_write_groups */
    /* private */
    cli_similar_pair *best; /* [n_best] pairs that are written last, because only the best are wanted; owned */
    size_t n_best, best_capacity;
    size_t repeated, repetition; /* next pair of rows with equal texts: the text, and its later row; SIZE_MAX: its
                                    second row */
    int width;                   /* width of a column of rows or files in the table */
} cli_similar;

/* Appends a row. Sets *is_new to 1 if no earlier row has this text. Returns 0, or 1 after reporting the error. */
int cli_similar_add(cli_similar *s, aoe_text text, const char *file, size_t number, int *is_new);

/* Write all pairs, first those of the first row. A text that occurs several times makes a pair of its first row with
 * each later one, with the cosine 1; its first row alone represents it in other pairs. cli_similar_pair_found receives
 * the pairs of distinct texts in the order of the texts. Return 0, or 1 if writing failed. */
void cli_similar_begin_pairs(cli_similar *s);
int cli_similar_pair_found(cli_similar *s, size_t first_text, size_t second_text, double cosine);
int cli_similar_end_pairs(cli_similar *s);

/* Counts the groups and, if `write` is 1, writes all rows that are in a group. text_group: [texts.n] number of the
 * group of each distinct text, less than texts.n, or SIZE_MAX. Returns 0, or 1 if writing failed. */
int cli_similar_groups(cli_similar *s, const size_t *text_group, int write);

void cli_similar_free(cli_similar *s); /* accepts a zeroed struct */
