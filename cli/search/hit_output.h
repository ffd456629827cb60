/* SPDX-License-Identifier: MIT
 * Prints the passages that a search found: as text with snippets, as JSON, or only the names of their files. On a
 * terminal, file names are links, and the words of the query are highlighted. Names and texts of documents never
 * contain characters that would change the terminal (cli/common/visible.h).
 */
#pragma once

#include <stddef.h>

#include <aoe_index.h>

#include "base/buffer.h"
#include "cli/search/hit_json.h"
#include "cli/search/snippet.h"

typedef enum cli_hit_format {
    CLI_HITS_TEXT,      /* one or more lines per passage */
    CLI_HITS_JSON,      /* one object per query */
    CLI_HITS_JSONL,     /* one object per passage */
    CLI_HITS_FILES,     /* one file name per line, each file once */
    CLI_HITS_FILES_JSON /* one object per query, with the list of the file names */
} cli_hit_format;

/* A passage with the score that is printed. */
typedef struct cli_hit {
    const aoe_index_hit *hit; /* borrowed */
    double score;
} cli_hit;

typedef struct cli_hit_output {
    cli_hit_format format;
    size_t snippet;     /* maximum number of rows of a passage in the text format; 0: the whole passage */
    int explain;        /* 1: the ranks and scores of both searches are printed */
    int many;           /* 1: several queries are answered, and each answer contains its query */
    int words;          /* 1: words are searched, so that an explanation names them */
    const char *rerank; /* model whose scores are printed; NULL: the scores of the search. For explanations */
    /* private, set by cli_hit_output_begin */
    int color, links;  /* 1: stdout is a terminal that shows colors, and links */
    size_t width;      /* number of columns of the output */
    char *here, *host; /* current directory, host name; owned */
} cli_hit_output;

/* Sets the private fields. */
void cli_hit_output_begin(cli_hit_output *o);
/* Prints the answer to query `number`, counted from 0, to stdout and flushes stdout. found: result of the search, with
 * the words that were searched; hits[n]: its passages that are printed; terms: words of the query. */
void cli_hit_output_write(const cli_hit_output *o, aoe_text query, size_t number, const aoe_index_hits *found,
                          const cli_hit *hits, size_t n, const aoei_query_words *terms);
void cli_hit_output_end(cli_hit_output *o); /* frees the memory; accepts a zeroed struct */

/* Appends the line with name, line numbers and heading of a passage, without a line end. The name of a file is its
 * path, relative to the current directory if the file is inside it. */
void cli_append_hit_place(aoei_buffer *b, const cli_hit_output *o, const aoe_index_hit *hit);
