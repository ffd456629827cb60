/* SPDX-License-Identifier: MIT
 * Writes pairs and groups of similar rows. Pairs of rows with equal texts are inserted between the pairs of distinct
 * texts, so that all pairs are in the order of their rows. If only the best pairs are wanted, at most twice their
 * number is kept in memory.
 */
#include "cli/search/similar_texts.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli/common/output.h"

int cli_similar_add(cli_similar *s, aoe_text text, const char *file, size_t number, int *is_new) {
    const size_t before = s->texts.n;
    aoe_error err;
    size_t t;
    if (aoei_distinct_add(&s->texts, text, 0, &t, &err))
        return cli_fail("%s", err.message);
    if (s->n == s->row_capacity) {
        s->row_capacity = 2 * s->row_capacity + 256;
        s->row = cli_realloc(s->row, s->row_capacity * sizeof *s->row);
    }
    if (t == s->text_capacity) {
        s->text_capacity = 2 * s->text_capacity + 256;
        s->first = cli_realloc(s->first, s->text_capacity * sizeof *s->first);
        s->last = cli_realloc(s->last, s->text_capacity * sizeof *s->last);
    }
    *is_new = t == before;
    if (*is_new)
        s->first[t] = s->n;
    else
        s->row[s->last[t]].next = s->n;
    s->last[t] = s->n;
    s->row[s->n++] = (cli_similar_row){.text = t, .number = number, .file = file, .next = SIZE_MAX};
    return 0;
}

/* ------------------------------------------------------------------ output */

/* Writes the place of a row: its number, its file, or both. Returns the number of bytes. */
static int write_place(const cli_similar *s, const cli_similar_row *row, FILE *f) {
    int n = 0;
    if (s->has_files) {
        cli_write_plain(f, row->file, strlen(row->file));
        n = (int)strlen(row->file);
    }
    return n + (s->whole_files ? 0 : fprintf(f, s->has_files ? ":%zu" : "%zu", row->number));
}

/* Returns the width of a column of places with the given heading. */
static int place_width(const cli_similar *s, const char *heading) {
    size_t width = strlen(heading);
    for (size_t i = 0; i < s->n; i++) {
        size_t n = s->whole_files ? 0 : (size_t)snprintf(NULL, 0, s->has_files ? ":%zu" : "%zu", s->row[i].number);
        n += s->has_files ? strlen(s->row[i].file) : 0;
        width = n > width ? n : width;
    }
    return (int)width;
}

/* Writes the place of a row as a column of the table: numbers are right-aligned, names of files left-aligned. */
static void write_place_column(const cli_similar *s, const cli_similar_row *row) {
    if (s->has_files)
        fprintf(s->file, "%*s  ", s->width - write_place(s, row, s->file), "");
    else
        fprintf(s->file, "%*zu  ", s->width, row->number);
}

static void write_place_heading(const cli_similar *s, const char *name) {
    fprintf(s->file, "%*s  ", s->has_files ? -s->width : s->width, name);
}

static void write_text(const cli_similar *s, const cli_similar_row *row) {
    const aoe_text text = s->texts.text[row->text];
    cli_write_plain(s->file, text.data, text.len);
}

/* Writes the file and the number of a row as columns of TSV, each after a tab. */
static void write_place_fields(const cli_similar *s, const cli_similar_row *row) {
    if (s->has_files) {
        putc('\t', s->file);
        cli_write_plain(s->file, row->file, strlen(row->file));
    }
    if (!s->whole_files)
        fprintf(s->file, "\t%zu", row->number);
}

/* Writes the file and the number of a row as members of a JSON object. The keys end with `suffix`. */
static int write_place_members(const cli_similar *s, const cli_similar_row *row, const char *suffix) {
    char key[16];
    snprintf(key, sizeof key, "file%s", suffix);
    if (s->has_files && cli_write_json_text(s->file, key, row->file, strlen(row->file)))
        return 1;
    if (!s->whole_files)
        fprintf(s->file, ",\"row%s\":%zu", suffix, row->number);
    return 0;
}

static int write_text_member(const cli_similar *s, const cli_similar_row *row, const char *key) {
    const aoe_text text = s->texts.text[row->text];
    return cli_write_json_text(s->file, key, text.data, text.len);
}

/* ------------------------------------------------------------------- pairs */

static void write_pairs_heading(cli_similar *s) {
    if (s->format == CLI_RANKING_TSV) {
        fprintf(s->file, "cosine%s%s%s%s%s\n", s->has_files ? "\tfile1" : "", s->whole_files ? "" : "\trow1",
                s->has_files ? "\tfile2" : "", s->whole_files ? "" : "\trow2", s->whole_files ? "" : "\ttext1\ttext2");
    } else if (s->format == CLI_RANKING_TABLE) {
        s->width = place_width(s, s->has_files ? "file1" : "row1");
        fprintf(s->file, "%*s  ", CLI_SCORE_WIDTH, "cosine");
        write_place_heading(s, s->has_files ? "file1" : "row1");
        if (s->whole_files) {
            fputs("file2\n", s->file);
        } else {
            write_place_heading(s, s->has_files ? "file2" : "row2");
            fputs("texts\n", s->file);
        }
    }
}

static int write_pair(cli_similar *s, const cli_similar_pair *p) {
    const cli_similar_row *a = &s->row[p->first], *b = &s->row[p->second];
    if (s->format == CLI_RANKING_JSONL) {
        fputs("{\"cosine\":", s->file);
        cli_write_score(s->file, (float)p->cosine);
        if (write_place_members(s, a, "1") || write_place_members(s, b, "2") || write_text_member(s, a, "text1") ||
            write_text_member(s, b, "text2"))
            return 1;
        fputs("}\n", s->file);
    } else if (s->format == CLI_RANKING_TSV) {
        cli_write_score(s->file, (float)p->cosine);
        write_place_fields(s, a);
        write_place_fields(s, b);
        for (int i = 0; i < 2 && !s->whole_files; i++) {
            putc('\t', s->file);
            write_text(s, i ? b : a);
        }
        putc('\n', s->file);
    } else {
        fprintf(s->file, "%*.4f  ", CLI_SCORE_WIDTH, p->cosine);
        write_place_column(s, a);
        if (s->whole_files) {
            write_place(s, b, s->file);
        } else {
            write_place_column(s, b);
            write_text(s, a);
            fputs(" | ", s->file);
            write_text(s, b);
        }
        putc('\n', s->file);
    }
    return 0;
}

static int in_order(const cli_similar_pair *x, const cli_similar_pair *y) {
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->second > y->second) - (x->second < y->second);
}

static int best_first(const void *a, const void *b) {
    const cli_similar_pair *x = a, *y = b;
    if (x->cosine != y->cosine)
        return x->cosine > y->cosine ? -1 : 1;
    return in_order(x, y);
}

/* Writes a pair, or keeps it if only the best pairs are wanted. */
static int take_pair(cli_similar *s, cli_similar_pair p) {
    s->pairs++;
    if (!s->most)
        return write_pair(s, &p);
    if (s->n_best == s->best_capacity) {
        if (s->n_best)
            qsort(s->best, s->n_best, sizeof *s->best, best_first);
        if (s->n_best >= 2 * s->most) {
            s->n_best = s->most;
        } else {
            const size_t wanted = 2 * s->best_capacity + 256;
            s->best_capacity = wanted / 2 < s->most ? wanted : 2 * s->most;
            s->best = cli_realloc(s->best, s->best_capacity * sizeof *s->best);
        }
    }
    s->best[s->n_best++] = p;
    return 0;
}

/* Takes the pairs of rows with equal texts that come before the pair `end`. */
static int take_repetitions(cli_similar *s, const cli_similar_pair *end) {
    for (; s->repeated < s->texts.n; s->repeated++) {
        const size_t first = s->first[s->repeated];
        if (end && first > end->first)
            return 0;
        if (s->repetition == SIZE_MAX)
            s->repetition = s->row[first].next;
        for (; s->repetition != SIZE_MAX; s->repetition = s->row[s->repetition].next) {
            const cli_similar_pair p = {first, s->repetition, 1};
            if (end && in_order(&p, end) > 0)
                return 0;
            if (take_pair(s, p))
                return 1;
        }
    }
    return 0;
}

void cli_similar_begin_pairs(cli_similar *s) {
    s->repeated = 0;
    s->repetition = SIZE_MAX;
    write_pairs_heading(s);
}

int cli_similar_pair_found(cli_similar *s, size_t first_text, size_t second_text, double cosine) {
    const cli_similar_pair p = {s->first[first_text], s->first[second_text], cosine};
    return take_repetitions(s, &p) || take_pair(s, p) || ferror(s->file);
}

int cli_similar_end_pairs(cli_similar *s) {
    if (take_repetitions(s, NULL))
        return 1;
    if (s->n_best)
        qsort(s->best, s->n_best, sizeof *s->best, best_first);
    for (size_t i = 0; i < s->n_best && i < s->most; i++)
        if (write_pair(s, &s->best[i]))
            return 1;
    return ferror(s->file) != 0;
}

/* ------------------------------------------------------------------ groups */

/* A group of rows. */
typedef struct group {
    size_t first, rows; /* first row, number of rows */
    size_t begin;       /* index of its first row in the list of the rows of all groups */
} group;

static int largest_first(const void *a, const void *b) {
    const group *x = a, *y = b;
    if (x->rows != y->rows)
        return x->rows > y->rows ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

static int write_member(const cli_similar *s, size_t number, const cli_similar_row *row) {
    if (s->format == CLI_RANKING_JSONL) {
        fprintf(s->file, "{\"group\":%zu", number);
        if (write_place_members(s, row, "") || write_text_member(s, row, "text"))
            return 1;
        fputs("}\n", s->file);
        return 0;
    }
    if (s->format == CLI_RANKING_TSV) {
        fprintf(s->file, "%zu", number);
        write_place_fields(s, row);
        if (!s->whole_files)
            putc('\t', s->file);
    } else {
        fprintf(s->file, "%5zu  ", number);
        if (s->whole_files)
            write_place(s, row, s->file);
        else
            write_place_column(s, row);
    }
    if (!s->whole_files)
        write_text(s, row);
    putc('\n', s->file);
    return 0;
}

static void write_groups_heading(cli_similar *s) {
    if (s->format == CLI_RANKING_TSV) {
        fprintf(s->file, "group%s%s%s\n", s->has_files ? "\tfile" : "", s->whole_files ? "" : "\trow",
                s->whole_files ? "" : "\ttext");
    } else if (s->format == CLI_RANKING_TABLE) {
        s->width = place_width(s, s->has_files ? "file" : "row");
        fputs("group  ", s->file);
        if (s->whole_files) {
            fputs("file\n", s->file);
        } else {
            write_place_heading(s, s->has_files ? "file" : "row");
            fputs("text\n", s->file);
        }
    }
}

/* Sets of[i] to the group of row i, numbered in the order of their first rows, or to SIZE_MAX. text_group: as for
 * cli_similar_groups; number: [2 * texts.n] scratch. Returns the number of groups. */
static size_t number_rows(const cli_similar *s, const size_t *text_group, size_t *number, size_t *of) {
    size_t groups = 0;
    for (size_t i = 0; i < 2 * s->texts.n; i++)
        number[i] = SIZE_MAX;
    for (size_t i = 0; i < s->n; i++) {
        const size_t t = s->row[i].text;
        /* a text that occurs several times, but is in no group of distinct texts, has a group of its own */
        const size_t key = text_group[t] != SIZE_MAX ? text_group[t] : s->texts.n + t;
        of[i] = SIZE_MAX;
        if (text_group[t] == SIZE_MAX && s->first[t] == s->last[t])
            continue;
        if (number[key] == SIZE_MAX)
            number[key] = groups++;
        of[i] = number[key];
    }
    return groups;
}

/* Sets the groups g[s->groups] and the list of the rows of all groups: first those of group 0. of: [n] group of each
 * row, or SIZE_MAX. */
static void list_rows(cli_similar *s, group *g, size_t *list, const size_t *of) {
    size_t begin = 0;
    for (size_t i = s->n; i-- > 0;)
        if (of[i] != SIZE_MAX) {
            g[of[i]].first = i;
            g[of[i]].rows++;
        }
    for (size_t i = 0; i < s->groups; i++) {
        g[i].begin = begin;
        begin += g[i].rows;
        g[i].rows = 0; /* counted again below */
    }
    for (size_t i = 0; i < s->n; i++)
        if (of[i] != SIZE_MAX)
            list[g[of[i]].begin + g[of[i]].rows++] = i;
    s->grouped = begin;
}

int cli_similar_groups(cli_similar *s, const size_t *text_group, int write) {
    size_t *number = cli_calloc(2 * s->texts.n + 1, sizeof *number), *of = cli_calloc(s->n + 1, sizeof *of),
           *list = cli_calloc(s->n + 1, sizeof *list);
    s->groups = number_rows(s, text_group, number, of);
    group *g = cli_calloc(s->groups + 1, sizeof *g);
    int failed = 0;
    list_rows(s, g, list, of);
    if (write)
        write_groups_heading(s);
    if (s->most)
        qsort(g, s->groups, sizeof *g, largest_first);
    const size_t written = !write ? 0 : s->most && s->most < s->groups ? s->most : s->groups;
    for (size_t i = 0; i < written; i++)
        for (size_t k = 0; k < g[i].rows && !failed; k++)
            failed = write_member(s, i + 1, &s->row[list[g[i].begin + k]]) || ferror(s->file);
    free(number);
    free(of);
    free(list);
    free(g);
    return failed;
}

void cli_similar_free(cli_similar *s) {
    aoei_distinct_free(&s->texts);
    free(s->row);
    free(s->first);
    free(s->last);
    free(s->best);
    *s = (cli_similar){0};
}
