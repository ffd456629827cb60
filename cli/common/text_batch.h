/* SPDX-License-Identifier: MIT
 * A batch of texts in memory, which a command processes together.
 */
#pragma once

#include <stddef.h>

#include <aoe.h>

/* A batch of texts in memory, with the file and the line number of each text. */
typedef struct cli_batch {
    char *bytes;            /* the bytes of all texts, owned */
    size_t used, allocated; /* used: number of bytes of the texts; allocated: size of `bytes` */
    size_t *offset;         /* [capacity + 1] offset of the start of each text in `bytes`, owned */
    aoe_text *text;         /* [n] texts; the array is owned; valid after cli_batch_finish */
    const char **name;      /* [n] file of each text; the array is owned, the strings are borrowed */
    size_t *number;         /* [n] line number (or other position) of each text in its file, owned */
    unsigned char *is_line; /* [n] 1: `number` is a line number; owned */
    size_t n, capacity;     /* n: number of texts; capacity: maximum number of texts */
    size_t max_bytes;       /* number of bytes of texts at which the batch is full */
    size_t empty;           /* number of empty texts */
} cli_batch;

/* Creates an empty batch. The arguments are the values of the fields `capacity` and `max_bytes`. */
void cli_batch_create(cli_batch *b, size_t capacity, size_t max_bytes);
void cli_batch_clear(cli_batch *b);        /* removes all texts and keeps the memory */
int cli_batch_is_full(const cli_batch *b); /* returns 1 if the batch contains `capacity` texts or at least max_bytes
                                              bytes */
/* Copies a text into the batch, which must not be full. name: file of the text, borrowed; number: position of the text
 * in the file; is_line: 1 if the position is a line number. */
void cli_batch_add(cli_batch *b, aoe_text text, const char *name, size_t number, int is_line);
void cli_batch_finish(cli_batch *b);  /* sets the field `text`; called after the last cli_batch_add */
void cli_batch_destroy(cli_batch *b); /* accepts a zeroed struct */
