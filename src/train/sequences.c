/* SPDX-License-Identifier: MIT
 * Reads texts and divides their tokens into sequences. Texts are read in blocks, and all threads tokenize the texts of
 * a block. The boundaries of the blocks do not affect the sequences.
 */
#include "train/sequences.h"

#include "aoe_data.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"
#include "table/columns.h"
#include "table/examples.h"
#include "table/table.h"
#include "tokenizer/tokenizer_parts.h"

#include <string.h>

enum { BLOCK_TEXTS = 4096, BLOCK_BYTES = 4 << 20 };

struct aoei_sequences {
    const aoe_model *model;         /* model with the tokenizer; borrowed */
    aoei_sequences_options o;       /* files, maximum length and packing */
    const aoei_postprocessor *post; /* special tokens that the tokenizer adds to a text; borrowed */
    aoei_table *table;              /* open file that is read; NULL between files; owned */
    size_t file;                    /* index of the next file to open */
    size_t skipped;                 /* number of bad rows skipped so far */
    /* State of the current block and of the current sequence. */
    aoei_buffer bytes;       /* texts of the block, one after the other; owned */
    size_t *end;             /* [BLOCK_TEXTS] offset in `bytes` of the end of each text; owned */
    size_t *line;            /* [BLOCK_TEXTS] line number in the file of each text; owned */
    aoe_text *texts;         /* [BLOCK_TEXTS] texts, which point into `bytes`; array owned */
    size_t n_texts;          /* number of texts in the block */
    aoei_token_lists tokens; /* tokens of each text of the block, without special tokens; owned */
    size_t text, token; /* text: index in the block of the text that contains the next token; token: index of the next
                           token in this text */
    int32_t *sequence;  /* [max_length] token ids of the current sequence; owned */
    size_t n;           /* number of tokens in the current sequence */
};

/* Returns the maximum number of text tokens (tokens that are not special tokens) in a sequence. */
static size_t capacity(const aoei_sequences *s) {
    return s->o.max_length - s->post->n_before - s->post->n_after;
}

int aoei_sequences_open(aoei_sequences **out, const aoe_model *m, const aoei_sequences_options *o, aoe_error *err) {
    *out = NULL;
    if (!m->tokenizer)
        return aoei_fail(
            err, AOE_ENOENT,
            "%s: the directory contains no tokenizer; add tokenizer.json, or vocab.txt with tokenizer_config.json",
            m->files.dir);
    const aoei_postprocessor *post = &m->tokenizer->post;
    if (o->max_length <= post->n_before + post->n_after)
        return aoei_fail(err, AOE_EARG, "options.max_length is %zu, but must be larger than the %zu special tokens",
                         o->max_length, post->n_before + post->n_after);
    aoei_sequences *s = aoei_calloc(1, sizeof *s);
    if (!s)
        return aoei_fail_nomem(err, sizeof *s);
    s->model = m;
    s->o = *o;
    s->post = post;
    s->end = aoei_malloc_array(BLOCK_TEXTS, sizeof *s->end);
    s->line = aoei_malloc_array(BLOCK_TEXTS, sizeof *s->line);
    s->texts = aoei_malloc_array(BLOCK_TEXTS, sizeof *s->texts);
    s->sequence = aoei_malloc_array(o->max_length, sizeof *s->sequence);
    if (!s->end || !s->line || !s->texts || !s->sequence) {
        aoei_sequences_close(s);
        return aoei_fail_nomem(err, o->max_length * sizeof *s->sequence);
    }
    *out = s;
    return AOE_OK;
}

void aoei_sequences_close(aoei_sequences *s) {
    if (!s)
        return;
    aoei_table_close(s->table);
    aoei_buffer_free(&s->bytes);
    aoei_token_lists_free(&s->tokens);
    aoei_free(s->end);
    aoei_free(s->line);
    aoei_free(s->texts);
    aoei_free(s->sequence);
    aoei_free(s);
}

size_t aoei_sequences_skipped(const aoei_sequences *s) {
    return s->skipped;
}

/* Returns 1 if the text belongs to the part that the caller reads: the held-out texts if s->o.want_held_out is 1,
 * otherwise the other texts. */
static int is_wanted(const aoei_sequences *s, aoe_text text) {
    if (s->o.held_out <= 0)
        return !s->o.want_held_out;
    const uint64_t h = aoei_hash(AOEI_HASH_START, text.data, text.len);
    const int held_out = (double)(h >> 11) * 0x1p-53 < s->o.held_out;
    return held_out == s->o.want_held_out;
}

static int open_file(aoei_sequences *s, aoe_error *err) {
    const char *path = s->o.files[s->file++];
    int rc = aoei_table_open(&s->table, path, s->o.table, err);
    if (!rc)
        rc = aoei_columns_select(s->table, AOE_EXAMPLES_TEXTS, s->o.table->columns, err);
    if (!rc)
        aoei_columns_log(s->table, AOE_EXAMPLES_TEXTS);
    return rc;
}

/* Adds the text of a row to the block. Empty texts, and texts of the part that is not read, are ignored. Returns
 * AOEI_BAD_ROW if the field is not a string. */
static int add_text(aoei_sequences *s, const aoei_row *row, aoe_error *err) {
    const aoe_text text = row->field[0].text;
    if (row->field[0].kind != AOEI_FIELD_TEXT) {
        aoei_fail(err, AOE_EFORMAT, "%s:%zu: the text is not a string; " AOEI_ROW_REMEDY, aoei_table_name(s->table),
                  row->line);
        return AOEI_BAD_ROW;
    }
    if (aoei_text_is_empty(text) || !is_wanted(s, text))
        return AOE_OK;
    if (aoei_buffer_append(&s->bytes, text.data, text.len))
        return aoei_fail_nomem(err, text.len);
    s->line[s->n_texts] = row->line;
    s->end[s->n_texts++] = s->bytes.len;
    return AOE_OK;
}

/* Replaces the block by the next texts of the current file. Reading stops when the block is full or the file ends. If
 * the current file has no more texts, the next file is opened. After the last file, s->n_texts is 0. */
static int read_block(aoei_sequences *s, aoe_error *err) {
    int rc = AOE_OK;
    aoei_buffer_clear(&s->bytes);
    s->n_texts = 0;
    while (!rc && s->n_texts == 0 && (s->table || s->file < s->o.n_files)) {
        if (!s->table && (rc = open_file(s, err)))
            return rc;
        aoei_row row;
        while (s->n_texts < BLOCK_TEXTS && s->bytes.len < BLOCK_BYTES &&
               (rc = aoei_table_next(s->table, &row, err)) != 0) {
            if (rc == 1)
                rc = add_text(s, &row, err);
            if (rc == AOEI_BAD_ROW && s->o.table->skip_bad_rows) {
                s->skipped++;
                rc = AOE_OK;
            }
            if (rc)
                return rc == AOEI_BAD_ROW ? AOE_EFORMAT : rc;
        }
        if (s->n_texts == 0) { /* no text was read, so the file has ended */
            aoei_table_close(s->table);
            s->table = NULL;
        }
    }
    return rc;
}

/* Reads and tokenizes the next block. After the last block, s->n_texts is 0. */
static int next_block(aoei_sequences *s, aoe_error *err) {
    aoei_token_lists_free(&s->tokens);
    s->text = s->token = 0;
    int rc = read_block(s, err);
    if (rc || s->n_texts == 0)
        return rc;
    for (size_t i = 0; i < s->n_texts; i++) {
        const size_t start = i ? s->end[i - 1] : 0;
        s->texts[i] = (aoe_text){s->bytes.data + start, s->end[i] - start};
    }
    const aoe_encode_options o = {.struct_size = sizeof(aoe_encode_options), .no_special_tokens = 1};
    size_t failed;
    aoe_error inner;
    rc = aoei_encode_with_options(s->model, s->texts, s->n_texts, &o, &s->tokens, &failed, &inner);
    if (!rc)
        return AOE_OK;
    if (failed == (size_t)-1)
        return aoei_fail(err, rc, "%s", inner.message);
    return aoei_fail(err, rc, "%s:%zu: %s", aoei_table_name(s->table), s->line[failed], inner.message);
}

static void begin(aoei_sequences *s) {
    memcpy(s->sequence, s->post->id, s->post->n_before * sizeof *s->sequence);
    s->n = s->post->n_before;
}

static void append_tokens(aoei_sequences *s, const int32_t *ids, size_t n) {
    memcpy(s->sequence + s->n, ids, n * sizeof *ids);
    s->n += n;
}

static void end_text(aoei_sequences *s) {
    append_tokens(s, s->post->id + s->post->n_before, s->post->n_after);
}

/* Returns the number of tokens in the current text that are not yet in a sequence. */
static size_t remaining_tokens(const aoei_sequences *s) {
    return aoei_token_count(&s->tokens, s->text) - s->token;
}

/* Appends the remaining tokens of the current text to the current sequence, followed by the special tokens that end a
 * text. If the remaining tokens do not all fit, there are two cases. If the sequence already contains text tokens,
 * nothing is appended and the result is 0. If the sequence contains no text tokens, as many tokens as fit are appended.
 * Returns 1 if tokens were appended. */
static int append_text(aoei_sequences *s) {
    const size_t remaining = remaining_tokens(s), used = s->n + s->post->n_after;
    const size_t free_tokens = s->o.max_length > used ? s->o.max_length - used : 0;
    const int empty = s->n == s->post->n_before;
    if (remaining > free_tokens && !empty)
        return 0;
    const size_t n = remaining < capacity(s) ? remaining : capacity(s);
    append_tokens(s, s->tokens.ids + s->tokens.offsets[s->text] + s->token, n);
    end_text(s);
    s->token += n;
    if (remaining_tokens(s) == 0) {
        s->text++;
        s->token = 0;
    }
    return 1;
}

int aoei_sequences_next(aoei_sequences *s, const int32_t **ids, size_t *n, aoe_error *err) {
    begin(s);
    for (;;) {
        while (s->text < s->tokens.n && remaining_tokens(s) == 0) /* skips texts without tokens */
            s->text++;
        if (s->text == s->tokens.n) {
            const int rc = next_block(s, err);
            if (rc)
                return rc;
            if (s->n_texts == 0)
                break;
            continue;
        }
        if (!append_text(s) || !s->o.pack)
            break;
    }
    *ids = s->sequence;
    *n = s->n;
    return s->n > s->post->n_before;
}
