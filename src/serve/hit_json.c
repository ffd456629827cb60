/* SPDX-License-Identifier: MIT
 * Metadata that are plain numbers with at most 15 digits are JSON numbers, written with the characters of the document;
 * other metadata are strings. Several values of a key are an array, in their order.
 */
#include "serve/hit_json.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hit_lines.h"
#include "base/plain_number.h"
#include "serve/answer.h"

static void append_value(aoei_buffer *b, aoe_text value) {
    if (aoei_is_exact_number(value))
        aoei_buffer_append(b, value.data, value.len);
    else
        aoei_answer_string(b, value);
}

/* Returns the index of the first field with the key of field i. */
static size_t first_of(const aoe_index_hit *hit, size_t i) {
    size_t k = 0;
    while (strcmp(hit->field[k].key, hit->field[i].key) != 0)
        k++;
    return k;
}

static void append_fields(aoei_buffer *b, const aoe_index_hit *hit) {
    const char *comma = "";
    aoei_buffer_printf(b, ",\"fields\":{");
    for (size_t i = 0; i < hit->n_fields; i++) {
        size_t values = 0;
        if (first_of(hit, i) != i)
            continue;
        for (size_t k = i; k < hit->n_fields; k++)
            values += strcmp(hit->field[k].key, hit->field[i].key) == 0;
        aoei_buffer_printf(b, "%s", comma);
        comma = ",";
        aoei_answer_cstring(b, hit->field[i].key);
        aoei_buffer_printf(b, values > 1 ? ":[" : ":");
        append_value(b, hit->field[i].value);
        for (size_t k = i + 1; k < hit->n_fields && values > 1; k++)
            if (strcmp(hit->field[k].key, hit->field[i].key) == 0) {
                aoei_buffer_putc(b, ',');
                append_value(b, hit->field[k].value);
            }
        aoei_buffer_printf(b, values > 1 ? "]" : "");
    }
    aoei_buffer_putc(b, '}');
}

/* Appends the ranges of the words in the text. Each byte that is not valid UTF-8 is one character of the answer. */
static void append_highlights(aoei_buffer *b, aoe_text text, const aoei_query_words *words) {
    aoei_word_match *match;
    size_t n, at = 0, characters = 0, start = 0;
    uint32_t c;
    const char *comma = "";
    if (aoei_query_words_find(words, text, &match, &n, NULL))
        b->failed = 1;
    aoei_buffer_printf(b, ",\"highlights\":[");
    for (size_t i = 0; i < n; i++) {
        if (match[i].term >= words->n_words)
            continue;
        for (; at < match[i].start; characters++)
            at += aoei_word_decode(text, at, &c);
        start = characters;
        for (; at < match[i].end; characters++)
            at += aoei_word_decode(text, at, &c);
        aoei_buffer_printf(b, "%s[%zu,%zu]", comma, start, characters);
        comma = ",";
    }
    aoei_buffer_putc(b, ']');
    aoei_free(match);
}

static void append_rank(aoei_buffer *b, const char *key, size_t rank) {
    if (rank)
        aoei_buffer_printf(b, ",\"%s\":%zu", key, rank);
    else
        aoei_buffer_printf(b, ",\"%s\":null", key);
}

static void append_score(aoei_buffer *b, const char *key, double score) {
    aoei_buffer_printf(b, ",\"%s\":", key);
    aoei_answer_double(b, score);
}

void aoei_answer_hit(aoei_buffer *b, const aoe_index_hit *hit, const aoei_query_words *words, int explain) {
    size_t line, last_line;
    (void)aoei_hit_lines(hit, &line, &last_line);
    aoei_buffer_printf(b, "{\"id\":");
    aoei_answer_cstring(b, hit->id);
    aoei_buffer_printf(b, ",\"name\":");
    aoei_answer_cstring(b, hit->name);
    aoei_buffer_printf(b, ",\"path\":null,\"line\":%zu,\"last_line\":%zu,\"heading\":", line, last_line);
    aoei_answer_cstring(b, hit->heading);
    append_score(b, "score", hit->score);
    if (explain) {
        append_rank(b, "dense_rank", hit->dense_rank);
        append_score(b, "cosine", hit->cosine);
        append_rank(b, "lexical_rank", hit->lexical_rank);
        append_score(b, "bm25", hit->bm25);
        append_score(b, "search_score", hit->score);
    }
    aoei_buffer_printf(b, ",\"text\":");
    aoei_answer_string(b, hit->text);
    if (hit->n_fields)
        append_fields(b, hit);
    append_highlights(b, hit->text, words);
    aoei_buffer_putc(b, '}');
}
