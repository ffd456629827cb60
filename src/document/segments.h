/* SPDX-License-Identifier: MIT
 * Divides the lines of an outline into segments, the smallest parts of a passage, and counts their tokens.
 */
#pragma once

#include "document/outline.h"

/* Sets *tokens to the number of tokens of the text, without special tokens. */
typedef int (*aoei_count_tokens_fn)(void *user, aoe_text text, size_t *tokens, aoe_error *err);

typedef struct aoei_segment { /* a line, a sentence of a line, or a piece of a long sentence */
    uint32_t start, end;      /* bytes of the text, without the newline at its end */
    uint32_t line;            /* index of the line in the outline */
    uint32_t weight;          /* of the break before the segment */
    uint64_t before;          /* number of tokens of all segments before it */
} aoei_segment;

typedef struct aoei_segments { /* a zeroed struct is empty */
    aoei_segment *segment;     /* [n + 1]; the last one is empty and marks the end */
    size_t n, capacity;
    uint32_t *block_start; /* [blocks + 2] first segment of each block; [blocks + 1] and [0] are not used */
    uint32_t *block_end;   /* [blocks + 2] segment after the last segment of each block */
} aoei_segments;

/* Fills the segments of the outline. A segment has at most `longest` tokens, as far as characters permit this. Its cost
 * is at least one token for every 16 bytes, because some tokenizers map a long word to one token. Each segment is
 * counted once. Errors: see `count`; AOE_ENOMEM, AOE_EUNSUPPORTED (more than 2^32 segments). */
int aoei_segments_fill(aoei_segments *s, const aoei_outline *o, size_t longest, aoei_count_tokens_fn count, void *user,
                       aoe_error *err);
void aoei_segments_free(aoei_segments *s);
