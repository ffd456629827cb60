/* SPDX-License-Identifier: MIT
 * Ranks texts by their scores. Texts are stored one after the other in one block of memory.
 */
#include "cli/text/ranking.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "cli/common/float_text.h"
#include "cli/common/output.h"

void cli_ranking_add(cli_ranking *r, aoe_text text, const char *file, float score, int truncated) {
    if (r->n == r->capacity) {
        r->capacity = 2 * r->capacity + 256;
        r->text = cli_realloc(r->text, r->capacity * sizeof *r->text);
    }
    if (r->allocated - r->used < text.len || !r->bytes) {
        r->allocated = 2 * (r->used + text.len) + 4096;
        r->bytes = cli_realloc(r->bytes, r->allocated);
    }
    memcpy(r->bytes + r->used, text.data, text.len);
    r->text[r->n] = (cli_ranked){
        .index = r->n, .offset = r->used, .bytes = text.len, .file = file, .score = score, .truncated = truncated};
    r->used += text.len;
    r->n++;
}

/* Compares two texts: the higher score comes first, then the text that is earlier in the input. */
static int compare(const void *a, const void *b) {
    const cli_ranked *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

void cli_write_score(FILE *f, float score) {
    char text[CLI_FLOAT_MAX + 1];
    fwrite(text, 1, cli_format_float(text, score), f);
}

int cli_write_json_text(FILE *f, const char *key, const char *s, size_t n) {
    json_t *text = cli_json_text(s, n);
    fprintf(f, ",\"%s\":", key);
    const int failed = !text || cli_put_json(f, text);
    json_decref(text);
    return failed ? cli_fail("out of memory while printing JSON") : 0;
}

void cli_write_plain(FILE *f, const char *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        putc((unsigned char)s[i] < ' ' || s[i] == 0x7F ? ' ' : s[i], f);
}

/* Writes a ranked text as a JSON object. rank: from 1. */
static int write_json(const cli_ranking *r, const cli_ranked *t, size_t rank, FILE *f) {
    fprintf(f, "{\"rank\":%zu,\"index\":%zu,\"%s\":", rank, t->index, r->score);
    cli_write_score(f, t->score);
    if (r->activation)
        fprintf(f, ",\"activation\":\"%s\"", r->activation);
    if ((r->has_files && cli_write_json_text(f, "file", t->file, strlen(t->file))) ||
        cli_write_json_text(f, "text", r->bytes + t->offset, t->bytes))
        return 1;
    fprintf(f, ",\"truncated\":%s}\n", t->truncated ? "true" : "false");
    return 0;
}

int cli_ranking_write(cli_ranking *r, cli_ranking_format format, size_t top, FILE *f) {
    char digits[24];
    const size_t shown = top && top < r->n ? top : r->n;
    const int least = (int)strlen("rank"), n = snprintf(digits, sizeof digits, "%zu", shown),
              width = n > least ? n : least;
    const char *heading = r->has_files ? "file" : "text";
    if (r->n)
        qsort(r->text, r->n, sizeof *r->text, compare);
    if (format == CLI_RANKING_TABLE)
        fprintf(f, "%*s  %*s  %s\n", width, "rank", CLI_SCORE_WIDTH, r->score, heading);
    else if (format == CLI_RANKING_TSV)
        fprintf(f, "rank\t%s\t%s\n", r->score, heading);
    for (size_t i = 0; i < shown; i++) {
        const cli_ranked *t = &r->text[i];
        if (format == CLI_RANKING_JSONL) {
            if (write_json(r, t, i + 1, f))
                return 1;
            continue;
        }
        if (format == CLI_RANKING_TSV) {
            fprintf(f, "%zu\t", i + 1);
            cli_write_score(f, t->score);
            putc('\t', f);
        } else {
            fprintf(f, "%*zu  %*.4f  ", width, i + 1, CLI_SCORE_WIDTH, (double)t->score);
        }
        if (r->has_files)
            cli_write_plain(f, t->file, strlen(t->file));
        else
            cli_write_plain(f, r->bytes + t->offset, t->bytes);
        putc('\n', f);
    }
    return 0;
}

void cli_ranking_free(cli_ranking *r) {
    free(r->text);
    free(r->bytes);
    *r = (cli_ranking){0};
}

cli_ranking_format cli_ranking_format_of(cli_ranking_format given, int json, const char *output) {
    if (json)
        return CLI_RANKING_JSONL;
    if (given != CLI_RANKING_BY_NAME)
        return given;
    return output && aoei_name_ends_with(output, ".jsonl") ? CLI_RANKING_JSONL
           : output && aoei_name_ends_with(output, ".tsv") ? CLI_RANKING_TSV
                                                           : CLI_RANKING_TABLE;
}
