/* SPDX-License-Identifier: MIT
 * Implements `aoe data mine`: adds hard negatives to training files. The summary is printed to stdout, or to stderr if
 * the triplets are written to stdout.
 */
#include "aoe_data.h"
#include "base/path.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/data/data_tools.h"
#include "options/dataset.h"

#include <string.h>

typedef enum format { FORMAT_TSV, FORMAT_JSONL, FORMAT_BY_NAME } format;

typedef struct options {
    cli_general general;
    cli_model_options model;
    aoe_mine_options m;
    aoei_text_list corpus;
    const char *output; /* path of the output triplets; NULL: stdout */
    format format;
    int scores;
} options;

typedef struct job {
    const options *o;
    cli_session session;
    cli_file out;
    cli_progress progress;
    int stage; /* stage of the computation whose progress is shown; -1: no progress is shown */
    size_t written;
    json_t *tuple; /* .jsonl and --tuples: the row that is written when it is complete, owned; NULL: none */
    int failed;    /* 1: writing failed, and the error was reported */
} job;

#define AT(field) .offset = offsetof(options, field)

static const aoei_option output_table[] = {
    CLI_OPTION_OUTPUT_FILE(AT(output), ""),
    {.name = "format",
     .letter = 'f',
     .kind = AOEI_OPTION_CHOICE,
     AT(format),
     .choices = AOEI_CHOICES("tsv", "jsonl"),
     .noun = "format",
     .help = "output format: tsv or jsonl; tsv cannot store texts with tabs or line breaks, or values "
             "of .jsonl files that are lists of texts",
     .fallback = "from the extension of --output, otherwise jsonl"},
    {.name = "scores",
     .kind = AOEI_OPTION_FLAG,
     AT(scores),
     .help = "add two columns: the cosine of query and positive, and the cosine of query and negative"},
};

static const aoei_option candidate_table[] = {
    {.name = "corpus",
     .kind = AOEI_OPTION_TEXTS,
     .value = "FILE...",
     AT(corpus),
     .help = "select negatives from the texts of these files: .txt files (one text per line) or tables"
             " with a text column",
     .fallback = "the positives and negatives of the input"},
};

/* Returns texts[n] as JSON: a string if n is 1, otherwise an array of strings. */
static json_t *texts_value(const aoe_text *texts, size_t n) {
    if (n == 1)
        return cli_json_text(texts->data, texts->len);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        if (json_array_append_new(list, cli_json_text(texts[i].data, texts[i].len))) {
            json_decref(list);
            return NULL;
        }
    return list;
}

static int write_jsonl(const job *j, const aoe_mined *t) {
    json_t *o = json_pack("{s:o,s:o,s:o}", "query", texts_value(t->query, t->n_query), "positive",
                          texts_value(t->positive, t->n_positive), "negative", texts_value(&t->negative, 1));
    if (o && j->o->scores &&
        (json_object_set_new(o, "positive_score", json_real(t->positive_score)) ||
         json_object_set_new(o, "negative_score", json_real(t->negative_score)))) {
        json_decref(o);
        o = NULL;
    }
    const int failed = !o || cli_put_json(j->out.file, o);
    json_decref(o);
    if (failed)
        return cli_fail("out of memory while printing JSON");
    putc('\n', j->out.file);
    return 0;
}

static void write_tsv(const job *j, const aoe_mined *t) {
    FILE *f = j->out.file;
    if (!j->written)
        fprintf(f, "query\tpositive\tnegative%s\n", j->o->scores ? "\tpositive_score\tnegative_score" : "");
    fwrite(t->query->data, 1, t->query->len, f);
    putc('\t', f);
    fwrite(t->positive->data, 1, t->positive->len, f);
    putc('\t', f);
    fwrite(t->negative.data, 1, t->negative.len, f);
    if (j->o->scores)
        fprintf(f, "\t%.9g\t%.9g", t->positive_score, t->negative_score);
    putc('\n', f);
}

/* Writes a negative of a row as the column negative_K. */
static void write_tsv_tuple(const job *j, const aoe_mined *t) {
    FILE *f = j->out.file;
    if (!j->written) {
        fprintf(f, "query\tpositive");
        for (size_t k = 1; k <= t->of; k++)
            fprintf(f, "\tnegative_%zu", k);
        putc('\n', f);
    }
    if (t->number == 0) {
        fwrite(t->query->data, 1, t->query->len, f);
        putc('\t', f);
        fwrite(t->positive->data, 1, t->positive->len, f);
    }
    putc('\t', f);
    fwrite(t->negative.data, 1, t->negative.len, f);
    if (t->number + 1 == t->of)
        putc('\n', f);
}

/* Adds a negative to the row, and writes the row after its last negative. */
static int write_jsonl_tuple(job *j, const aoe_mined *t) {
    char key[32];
    snprintf(key, sizeof key, "negative_%zu", t->number + 1);
    if (t->number == 0)
        j->tuple = json_pack("{s:o,s:o}", "query", texts_value(t->query, t->n_query), "positive",
                             texts_value(t->positive, t->n_positive));
    int failed = !j->tuple || json_object_set_new(j->tuple, key, texts_value(&t->negative, 1));
    if (!failed && t->number + 1 < t->of)
        return 0;
    failed = failed || cli_put_json(j->out.file, j->tuple);
    json_decref(j->tuple);
    j->tuple = NULL;
    if (failed)
        return cli_fail("out of memory while printing JSON");
    putc('\n', j->out.file);
    return 0;
}

static int write_triplet(void *user, const aoe_mined *t) {
    job *j = user;
    const int tuples = j->o->m.complete;
    if (j->o->m.for_tsv && tuples)
        write_tsv_tuple(j, t);
    else if (j->o->m.for_tsv)
        write_tsv(j, t);
    else
        j->failed = tuples ? write_jsonl_tuple(j, t) : write_jsonl(j, t);
    j->written++;
    return j->failed || ferror(j->out.file);
}

static int show_progress(void *user, aoe_mine_stage stage, size_t done, size_t total) {
    job *j = user;
    if (j->stage != (int)stage) {
        cli_progress_end(&j->progress);
        if (stage == AOE_MINE_EMBED)
            cli_progress_begin(&j->progress, "embedding", "texts", 0);
        else
            cli_progress_begin(&j->progress, "mining", "rows", 0);
        j->stage = (int)stage;
    }
    cli_progress_update(&j->progress, done, total, NULL, -1, NULL);
    return 0;
}

static void print_json(const job *j, const aoe_mine_result *r) {
    const char *output = j->o->output;
    cli_print_json(json_pack(
        "{s:o,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:o,s:o}", "output", cli_json_text(output, strlen(output)), "rows",
        (json_int_t)r->rows, "without", (json_int_t)r->without, "triplets", (json_int_t)r->triplets, "texts",
        (json_int_t)r->texts, "candidates", (json_int_t)r->candidates, "below_threshold", (json_int_t)r->below,
        "dropped", (json_int_t)r->dropped, "skipped", (json_int_t)r->skipped, "truncated", (json_int_t)r->truncated,
        "positive_score", cli_json_real(r->positive_score), "negative_score", cli_json_real(r->negative_score)));
}

static void print_summary(const job *j, const aoe_mine_result *r) {
    char text[512];
    const size_t rows = r->rows - r->without;
    int at = j->o->m.complete ? snprintf(text, sizeof text, "%zu row%s with %zu negative%s from %zu rows", rows,
                                         cli_plural(rows), j->o->m.negatives, cli_plural(j->o->m.negatives), r->rows)
                              : snprintf(text, sizeof text, "%zu triplet%s from %zu of %zu rows", r->triplets,
                                         cli_plural(r->triplets), rows, r->rows);
    if (r->without)
        at += snprintf(text + at, sizeof text - (size_t)at, " (%zu skipped without %s)", r->without,
                       j->o->m.complete ? "enough negatives" : "a negative");
    snprintf(text + at, sizeof text - (size_t)at, ", %zu candidates; mean cosine of positives %.4f, of negatives %.4f",
             r->candidates, r->positive_score, r->negative_score);
    cli_summary(j->out.file == stdout, "%s", text);
}

static void report_counts(const aoe_model *m, const aoe_mine_result *r) {
    cli_warn_skipped(NULL, r->skipped);
    if (r->dropped)
        cli_note("%zu row%s dropped by --label-map", r->dropped, r->dropped == 1 ? " was" : "s were");
    cli_warn_truncated(m, "text", r->truncated, r->texts, 0);
}

/* Sets the prompt of the queries from the prompts of the model directory and prints a note with both prompts. The model
 * was opened with the prompt of the documents. */
static void use_query_prompt(const job *j, options *o) {
    const aoe_model *m = j->session.model;
    const char *query = aoe_model_prompt(m, "query"), *other = aoe_model_prompt(m, "default");
    if (!query && !aoe_model_prompt(m, "document"))
        return;
    aoe_model_info info = {.struct_size = sizeof info};
    aoe_model_get_info(m, &info);
    o->m.query_prompt = query ? query : other ? other : "";
    cli_note("prompt of the queries: %s", *o->m.query_prompt ? o->m.query_prompt : "none");
    cli_note("prompt of the other texts: %s", *info.prompt ? info.prompt : "none");
}

static int run_job(job *j, options *o, const cli_args *args) {
    aoe_mine_result result = {.struct_size = sizeof result};
    aoe_error err;
    o->m.files = args->operand;
    o->m.n_files = args->n;
    o->m.corpus = o->corpus.item;
    o->m.n_corpus = o->corpus.n;
    o->m.seed = o->general.seed;
    o->m.report = write_triplet;
    o->m.progress = show_progress;
    o->m.user = j;
    const int automatic = !o->model.o.prompt && !o->model.o.prompt_name;
    cli_select_prompt(&o->model, "document");
    if (cli_reject_input(o->output, args->operand, args->n) ||
        cli_reject_input(o->output, o->corpus.item, o->corpus.n) ||
        cli_session_open(&j->session, &o->general, &o->model) || cli_file_open(&j->out, o->output))
        return 1;
    cli_session_describe(&j->session, 0);
    if (automatic)
        use_query_prompt(j, o);
    cli_session_warn_similarity(&j->session, NULL);
    const int code = aoe_mine(j->session.embedder, &o->m, &result, &err);
    cli_progress_end(&j->progress);
    if (code == AOE_ECANCELLED && (j->failed || cli_file_check(&j->out)))
        return 1; /* the error was reported */
    if (code)
        return cli_fail("%s", err.message);
    if (!result.triplets)
        return cli_fail("%s for any of the %zu rows; add candidates with --corpus, or relax --skip, "
                        "--margin, --min-score or --max-score",
                        o->m.complete ? "not enough negatives found" : "no negatives found", result.rows);
    report_counts(j->session.model, &result);
    const int to_stdout = j->out.file == stdout;
    if (to_stdout)
        print_summary(j, &result);
    if (cli_file_commit(&j->out))
        return 1;
    if (o->general.json)
        print_json(j, &result);
    else if (!to_stdout)
        print_summary(j, &result);
    return 0;
}

static int check_options(options *o) {
    const int to_stdout = cli_is_stdout(o->output);
    if (o->m.skip >= o->m.range)
        return cli_usage("data mine", "--skip %zu must be less than --range %zu", o->m.skip, o->m.range);
    if (o->m.min_score > o->m.max_score)
        return cli_usage("data mine", "--min-score must not be above --max-score");
    const int code = cli_check_summary("data mine", o->general.json, o->output, "triplets");
    if (code != CLI_GO)
        return code;
    o->m.corpus_table.log = o->m.table.log;
    if (!o->corpus.n && o->m.corpus_table.columns)
        return cli_usage("data mine", "--corpus-columns requires --corpus FILE");
    if (!o->corpus.n && (o->m.corpus_table.whole_files || o->m.corpus_table.input_format))
        return cli_usage("data mine", "--%s requires --corpus FILE",
                         o->m.corpus_table.whole_files ? "whole-files" : "corpus-format");
    if (o->format == FORMAT_BY_NAME && !to_stdout && !aoei_name_ends_with(o->output, ".tsv") &&
        !aoei_name_ends_with(o->output, ".jsonl"))
        return cli_usage(
            "data mine",
            "%s: unknown extension; use .tsv or .jsonl (aoe data convert writes other formats), or give --format",
            o->output);
    o->m.for_tsv = o->format == FORMAT_TSV ||
                   (o->format == FORMAT_BY_NAME && !to_stdout && aoei_name_ends_with(o->output, ".tsv"));
    return CLI_GO;
}

static int run_command(int argc, char **argv) {
    options o = {.format = FORMAT_BY_NAME};
    cli_general_defaults(&o.general);
    cli_model_defaults(&o.model);
    aoe_mine_options_defaults(&o.m);
    const cli_group groups[] = {
        CLI_GROUP("output", output_table, &o),
        CLI_LIBRARY_GROUP(&aoei_mine_data_rows, &o.m),
        CLI_TABLE_INPUT_GROUP(&o.m.table),

        CLI_GROUP("candidates", candidate_table, &o),
        CLI_LIBRARY_GROUP(&aoei_mine_candidates_rows, &o.m),
        CLI_LIBRARY_GROUP(&aoei_mine_choice_rows, &o.m),
        CLI_MODEL_GROUPS("model", &o.model),
        CLI_GROUP("general", cli_general_table, &o.general),
    };
    const cli_syntax syntax = {
        .command = "data mine",
        .operands = "FILE...",
        .about = "Finds hard negatives. Reads tables of labeled pairs, positives or triplets (--form), embeds every\n"
                 "distinct text and writes triplets (query, positive, negative). The negatives of a query are the\n"
                 "texts with the highest cosine to the query, except the texts that any row contains as a positive of\n"
                 "this query. Rows for which no negative is found are skipped, and their number is reported.\n"
                 "If the model directory has the prompts query or document, the first is used for the queries and the\n"
                 "second for all other texts, unless --prompt or --prompt-name is given.\n",
        .examples = "  aoe data mine -m model pairs.tsv -o triplets.tsv\n"
                    "  aoe data mine -m model qa.jsonl --corpus passages.txt.gz --margin 0.05 --sample -o hard.jsonl\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO)
        code = check_options(&o);
    if (code == CLI_GO) {
        job j = {.o = &o, .stage = -1};
        cli_set_quiet(o.general.quiet);
        code = run_job(&j, &o, &args);
        cli_progress_end(&j.progress);
        cli_file_abort(&j.out);
        json_decref(j.tuple);
        cli_session_close(&j.session);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_data_mine_command = {
    .name = "mine",
    .summary = "find hard negatives for queries",
    .run = run_command,
};
