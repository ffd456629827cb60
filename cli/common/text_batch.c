/* SPDX-License-Identifier: MIT
 * Batches of texts. The bytes of all texts of a batch are stored one after the other.
 */
#include "cli/common/text_batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cli/common/output.h"

void cli_batch_create(cli_batch *b, size_t capacity, size_t max_bytes) {
    memset(b, 0, sizeof *b);
    b->capacity = capacity;
    b->max_bytes = max_bytes;
    b->offset = cli_realloc(NULL, (capacity + 1) * sizeof *b->offset);
    b->text = cli_realloc(NULL, capacity * sizeof *b->text);
    b->name = cli_realloc(NULL, capacity * sizeof *b->name);
    b->number = cli_realloc(NULL, capacity * sizeof *b->number);
    b->is_line = cli_realloc(NULL, capacity);
}

void cli_batch_clear(cli_batch *b) {
    b->n = b->used = b->empty = 0;
}

int cli_batch_is_full(const cli_batch *b) {
    return b->n == b->capacity || b->used >= b->max_bytes;
}

void cli_batch_add(cli_batch *b, aoe_text text, const char *name, size_t number, int is_line) {
    if (b->allocated - b->used < text.len || !b->bytes) {
        b->allocated = 2 * (b->used + text.len) + 4096;
        b->bytes = cli_realloc(b->bytes, b->allocated);
    }
    memcpy(b->bytes + b->used, text.data, text.len);
    b->offset[b->n] = b->used;
    b->used += text.len;
    b->name[b->n] = name;
    b->number[b->n] = number;
    b->is_line[b->n] = (unsigned char)is_line;
    b->empty += (size_t)aoei_utf8_is_blank(text.data, text.len);
    b->offset[++b->n] = b->used;
}

void cli_batch_finish(cli_batch *b) {
    for (size_t i = 0; i < b->n; i++)
        b->text[i] = (aoe_text){b->bytes + b->offset[i], b->offset[i + 1] - b->offset[i]};
}

void cli_batch_destroy(cli_batch *b) {
    free(b->bytes);
    free(b->offset);
    free(b->text);
    free((void *)b->name);
    free(b->number);
    free(b->is_line);
    memset(b, 0, sizeof *b);
}
