/* SPDX-License-Identifier: MIT
 * Implements `aoe similar`: finds the rows of tables whose texts are equal or have similar embeddings, and writes the
 * pairs, or the groups that the pairs connect. Distinct texts are embedded once, and all their embeddings are kept in
 * memory.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "aoe_data.h"
#include "base/utf8.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/common/text_files.h"
#include "cli/search/similar_texts.h"
#include "options/dataset.h"

/* Texts are read and embedded in batches of at most BATCH texts and about BATCH_BYTES bytes. */
enum { BATCH = 4096, BATCH_BYTES = 4 << 20 };

typedef struct options {
    cli_general general;
    cli_model_options model;
    aoe_similar_options similar;
    int groups; /* 1: groups are written, otherwise pairs */
    size_t top; /* number of pairs or groups that are written; 0: all */
    cli_ranking_format format;
    const char *output; /* path of the output file; NULL: stdout */
    aoe_table_options table;
} options;

typedef struct job {
    const options *o;
    cli_session session;
    cli_text_files input;
    cli_progress progress;
    cli_file out;
    cli_similar similar;
    float *vectors;      /* [similar.texts.n, dims] embeddings of the distinct texts; owned */
    size_t capacity;     /* allocated rows of `vectors` */
    aoe_text *text;      /* [BATCH] texts of the batch that are new; owned */
    size_t *at;          /* [BATCH] their indices in the batch; owned */
    aoe_text_info *info; /* [BATCH] owned */
    size_t dims;
    size_t texts, empty, truncated, zero; /* number of all texts; of empty, truncated and unknown texts */
} job;

static const aoei_option table[] = {
    {.name = "groups",
     .letter = 'g',
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, groups),
     .help = "write the groups that the pairs connect, one row per text, instead of the pairs"},
    {.name = "top",
     .letter = 'k',
     .kind = AOEI_OPTION_SIZE,
     .value = "K",
     .offset = offsetof(options, top),
     .min = 1,
     .help = "write only the K pairs with the highest cosines, or with --groups the K largest groups, in this order",
     .fallback = "all, in the order of their first rows"},
    {.name = "format",
     .letter = 'f',
     .kind = AOEI_OPTION_CHOICE,
     .offset = offsetof(options, format),
     .choices = AOEI_CHOICES("table", "tsv", "jsonl"),
     .noun = "format",
     .help =
         "output format: table (aligned columns, cosines with four decimals), tsv or jsonl (one object per pair, or "
         "per row of a group)",
     .fallback = "from the extension of --output, otherwise table"},
    CLI_OPTION_OUTPUT_FILE(.offset = offsetof(options, output), ""),
};

static const aoei_option column_table[] = {
    AOEI_ROW_COLUMNS(AOEI_AT(aoe_table_options, columns), "text=NAME", "name of the text column of tables",
                     "text or sentence"),
};

/* Receives a batch of texts: embeds those that are new. */
static int add_batch(void *user, const cli_batch *batch) {
    job *j = user;
    cli_similar *s = &j->similar;
    const size_t before = s->texts.n;
    size_t n = 0;
    aoe_error err;
    for (size_t i = 0; i < batch->n; i++) {
        int is_new;
        j->texts++;
        if (aoei_utf8_is_blank(batch->text[i].data, batch->text[i].len)) {
            j->empty++;
            continue;
        }
        if (cli_similar_add(s, batch->text[i], batch->name[i], batch->number[i], &is_new))
            return 1;
        if (is_new) {
            j->text[n] = batch->text[i];
            j->at[n++] = i;
        }
    }
    if (s->texts.n > j->capacity) {
        j->capacity = s->texts.n + s->texts.n / 2;
        j->vectors = cli_realloc(j->vectors, j->capacity * j->dims * sizeof *j->vectors);
    }
    if (n && aoe_embed(j->session.embedder, j->text, n, j->vectors + before * j->dims, j->info, &err)) {
        const size_t failed = aoe_embed_failed_text(j->session.embedder);
        return cli_text_files_fail(&j->input, failed < n ? j->at[failed] : SIZE_MAX, &err);
    }
    for (size_t i = 0; i < n; i++) {
        j->truncated += j->info[i].truncated;
        j->zero += j->info[i].tokens == 0;
    }
    cli_progress_update(&j->progress, j->texts, 0, NULL, -1, NULL);
    return 0;
}

static int embed_all(job *j, const cli_args *args) {
    cli_batch_create(&j->input.batch, BATCH, BATCH_BYTES);
    j->input.use = add_batch;
    j->input.user = j;
    j->text = cli_calloc(BATCH, sizeof *j->text);
    j->at = cli_calloc(BATCH, sizeof *j->at);
    j->info = cli_calloc(BATCH, sizeof *j->info);
    cli_progress_begin(&j->progress, "embedding", "texts", 0);
    const int code = cli_text_files_read(&j->input, args, &j->o->table);
    cli_progress_end(&j->progress);
    return code;
}

/* ------------------------------------------------------------------ search */

static int take_pair(void *user, size_t first, size_t second, double cosine) {
    job *j = user;
    if (j->o->groups) {
        j->similar.pairs++;
        return 0;
    }
    return cli_similar_pair_found(&j->similar, first, second, cosine);
}

static int show_progress(void *user, double fraction) {
    job *j = user;
    const size_t n = j->similar.texts.n;
    const double pairs = (double)n * ((double)n - 1) / 2;
    cli_progress_update(&j->progress, (size_t)(fraction * pairs), (size_t)pairs, NULL, -1, NULL);
    return 0;
}

/* Finds the similar texts and writes the pairs or the groups. */
static int search(job *j) {
    cli_similar *s = &j->similar;
    aoe_similar_options o = j->o->similar;
    aoe_error err;
    size_t *group = cli_calloc(s->texts.n + 1, sizeof *group);
    o.report = take_pair;
    o.progress = show_progress;
    o.user = j;
    if (!j->o->groups)
        cli_similar_begin_pairs(s);
    cli_progress_begin(&j->progress, "comparing", "pairs", 0);
    int code = aoe_find_similar(j->session.ctx, j->vectors, s->texts.n, j->dims, &o, group, NULL, &err);
    cli_progress_end(&j->progress);
    if (code && code != AOE_ECANCELLED)
        cli_fail("%s", err.message);
    if (!code && !j->o->groups)
        code = cli_similar_end_pairs(s);
    if (!code)
        code = cli_similar_groups(s, group, j->o->groups);
    free(group);
    return code != 0;
}

/* Prints warnings about empty, unknown and truncated texts, and a note with the counts. */
static void report_counts(const job *j) {
    const cli_similar *s = &j->similar;
    if (j->empty)
        cli_warn("%zu of %zu text%s %s empty and not compared", j->empty, j->texts, cli_plural(j->texts),
                 j->empty == 1 ? "is" : "are");
    if (j->zero)
        cli_warn("%zu of %zu distinct text%s %s no known tokens and only match equal texts", j->zero, s->texts.n,
                 cli_plural(s->texts.n), j->zero == 1 ? "has" : "have");
    cli_warn_truncated(j->session.model, "text", j->truncated, s->texts.n, 1);
    cli_note("%zu of %zu text%s %s similar to another one (cosine of at least %g), in %zu group%s", s->grouped,
             j->texts, cli_plural(j->texts), s->grouped == 1 ? "is" : "are", j->o->similar.threshold, s->groups,
             cli_plural(s->groups));
}

static int run_job(job *j, const cli_args *args) {
    const options *o = j->o;
    if (cli_reject_input(o->output, args->operand, args->n) || cli_session_open(&j->session, &o->general, &o->model))
        return 1;
    cli_session_describe(&j->session, 0);
    cli_session_warn_similarity(&j->session, NULL);
    j->dims = aoe_embedder_dims(j->session.embedder);
    if (cli_file_open(&j->out, o->output))
        return 1;
    j->similar.file = j->out.file;
    j->similar.format = cli_ranking_format_of(o->format, o->general.json, o->output);
    j->similar.whole_files = o->table.whole_files;
    j->similar.has_files = args->n > 1 || o->table.whole_files;
    j->similar.most = o->top;
    if (embed_all(j, args) || search(j) || cli_file_commit(&j->out))
        return 1;
    report_counts(j);
    return 0;
}

static int run_command(int argc, char **argv) {
    options o = {.format = CLI_RANKING_BY_NAME};
    aoe_similar_options_defaults(&o.similar);
    aoe_table_options_defaults(&o.table);
    cli_general_defaults(&o.general);
    cli_model_defaults(&o.model);
    const cli_group groups[] = {
        CLI_LIBRARY_GROUP(&aoei_similar_rows, &o.similar),
        CLI_GROUP("output", table, &o),
        CLI_FIELDS("input", column_table, aoe_table_options, &o.table),
        CLI_TEXT_INPUT_GROUP(&o.table),
        CLI_MODEL_GROUPS("model", &o.model),
        CLI_CHUNK_GROUP(&o.model),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.general),
    };
    const cli_syntax syntax = {
        .command = "similar",
        .operands = "[FILE...]",
        .about =
            "Finds near-duplicates: pairs of rows whose embeddings have a cosine of at least --threshold, and the\n"
            "groups that these pairs connect. A text that occurs several times makes a pair of its first row with\n"
            "each later row, with the cosine 1, and its first row represents it in all other pairs. Empty texts\n"
            "are skipped. Rows are counted from 1, without the header line. All pairs of distinct texts are\n"
            "compared, so the time grows with the square of their number.\n" CLI_FILES_HELP,
        .examples = "  aoe similar questions.csv --columns text=question\n"
                    "  aoe similar train.tsv test.tsv --threshold 0.95 -k 20\n"
                    "  aoe similar --groups --json comments.jsonl\n"
                    "  aoe similar --whole-files notes/*.md\n",
        CLI_GROUPS(groups),
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO && o.general.json && o.format != CLI_RANKING_BY_NAME && o.format != CLI_RANKING_JSONL)
        code = cli_usage("similar",
                         "--json selects --format jsonl and excludes other formats; give only one of the options");
    if (code == CLI_GO && o.table.columns && strchr(o.table.columns, ','))
        code =
            cli_usage("similar", "--columns: one text per row is compared; name one column, not '%s'", o.table.columns);
    if (code == CLI_GO) {
        job j = {.o = &o};
        cli_set_quiet(o.general.quiet);
        code = run_job(&j, &args);
        cli_file_abort(&j.out);
        cli_similar_free(&j.similar);
        cli_batch_destroy(&j.input.batch);
        cli_session_close(&j.session);
        free(j.vectors);
        free(j.text);
        free(j.at);
        free(j.info);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_similar_command = {
    .name = "similar",
    .summary = "find near-duplicates and groups of similar texts in tables",
    .run = run_command,
};
