/* SPDX-License-Identifier: MIT
 * Ranks texts by their scores and writes the ranking as a table, as TSV or as JSON lines. All texts are kept in memory.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include <aoe.h>

typedef enum cli_ranking_format {
    CLI_RANKING_TABLE,
    CLI_RANKING_TSV,
    CLI_RANKING_JSONL,
    CLI_RANKING_BY_NAME
} cli_ranking_format;

/* A text with its score. */
typedef struct cli_ranked {
    size_t index;         /* position of the text in the input, from 0 */
    size_t offset, bytes; /* the text is bytes[offset] to bytes[offset + bytes - 1] of the ranking */
    const char *file;     /* file of the text, borrowed */
    float score;
    int truncated; /* 1: the text was truncated */
} cli_ranked;

typedef struct cli_ranking {
    const char *score;      /* name of the score: column heading and JSON key; static string */
    const char *activation; /* value of the JSON key "activation"; NULL: there is no such key */
    int has_files; /* 1: the JSON lines contain the file of each text, and the other formats print it instead of the
                      text */
    size_t n;      /* number of texts */
    /* private */
    cli_ranked *text; /* [n] owned */
    size_t capacity;
    char *bytes; /* [used] the bytes of all texts, owned */
    size_t used, allocated;
} cli_ranking;

/* Appends a copy of a text. file: name of its file, borrowed until the ranking is written. */
void cli_ranking_add(cli_ranking *r, aoe_text text, const char *file, float score, int truncated);
/* Sorts the texts, the highest score first and texts with equal scores in input order, and writes the first `top` of
 * them (0: all) with a heading. Returns 0, or 1 after reporting the error. The caller checks f for write errors. */
int cli_ranking_write(cli_ranking *r, cli_ranking_format format, size_t top, FILE *f);
void cli_ranking_free(cli_ranking *r); /* accepts a zeroed struct */

/* Returns the output format: JSON lines with --json; `given`, unless it is CLI_RANKING_BY_NAME; the format of the
 * extension of the output file; or a table. */
cli_ranking_format cli_ranking_format_of(cli_ranking_format given, int json, const char *output);
/* Writes a score with up to nine significant digits. */
void cli_write_score(FILE *f, float score);
/* Writes a text; control characters, such as line ends and tabs, become spaces. */
void cli_write_plain(FILE *f, const char *s, size_t n);
/* Writes `,"KEY":` and a text as JSON. Returns 0, or 1 after reporting the error. */
int cli_write_json_text(FILE *f, const char *key, const char *s, size_t n);

enum { CLI_SCORE_WIDTH = 9 }; /* width of a column of scores in the table format */
