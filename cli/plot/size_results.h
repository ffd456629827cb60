/* SPDX-License-Identifier: MIT
 * Reads the quality of models of several sizes: the output of `aoe eval` with the option --dims or --layers, as JSON
 * lines or CSV.
 */
#pragma once

#include <stddef.h>

#include <jansson.h>

/* The quality of a model of one size. */
typedef struct cli_size_result {
    size_t layers, dims; /* number of layers, and of components of the embeddings */
    double value;        /* metric, multiplied by 100 */
    size_t line;         /* line number in the file */
} cli_size_result;

/* The results of a file that belong to one input of the evaluation. */
typedef struct cli_size_results {
    json_t *record; /* array of all results of the file, owned; see size_results.c */
    int is_json;  /* 1: the file contains JSON lines, whose metrics are at most 1; 0: CSV, whose metrics are multiplied
                     by 100 */
    char *row;    /* name of the input, for example "all"; owned */
    char *metric; /* name of the metric, owned */
    cli_size_result *result; /* [n] results in the order of the file, owned */
    size_t n;
} cli_size_results;

/* Reads the file `path`. row: name of the input; NULL: the only input, or the total over all inputs. metric: name of
 * the metric; NULL: the first of the usual metrics that the results contain. Returns 0, or 1 after reporting the error.
 * The caller frees *r even after an error. */
int cli_size_results_read(cli_size_results *r, const char *path, const char *row, const char *metric);
void cli_size_results_free(cli_size_results *r); /* accepts a zeroed struct */
