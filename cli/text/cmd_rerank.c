/* SPDX-License-Identifier: MIT
 * Implements `aoe rerank`: scores text pairs with a cross-encoder. With --query, it ranks texts by their scores with a
 * query; all texts and scores are kept in memory. With --pairs, it scores the rows of a table in batches, so memory use
 * does not depend on the size of the table.
 */
#include "aoe_data.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/common/text_files.h"
#include "cli/text/ranking.h"

#include <stdlib.h>
#include <string.h>

/* Pairs are read and scored in batches of at most BATCH pairs and about BATCH_BYTES bytes. */
enum { BATCH = 1024, BATCH_BYTES = 4 << 20 };

typedef struct options {
    cli_general general;
    cli_model_options model;
    const char *query, *pairs;
    size_t top; /* number of texts that are printed; 0: all */
    int scores; /* index of the value of --scores: 0: auto; otherwise 1 + aoe_score_activation */
    const char *class_name;
    cli_ranking_format format;
    const char *output; /* path of the output file; NULL: stdout */
    aoe_table_options table;
} options;

typedef struct job {
    const options *o;
    cli_session session;
    size_t classes; /* number of outputs of the model */
    size_t chosen;  /* index of the output that is the score; `classes`: all outputs are printed */
    const char *activation;
    cli_ranking_format format;
    cli_file out;
    cli_progress progress;
    cli_text_files input;    /* --query: the texts */
    cli_batch first, second; /* --pairs: the texts of the pairs in the current batch */
    int reported;            /* 1: scoring or writing failed while a table was read, and the error was reported */
    aoe_text *query;         /* [BATCH] copies of the query, owned */
    float *scores;           /* [BATCH, classes] scores of the current batch, owned */
    aoe_text_info *info;     /* [BATCH] owned */
    cli_ranking ranking;     /* --query: the texts and their scores */
    size_t pairs, truncated, empty; /* numbers of all pairs, of truncated pairs, and of pairs with an empty text */
} job;

static const aoei_option task_table[] = {
    {.name = "query",
     .kind = AOEI_OPTION_TEXT,
     .value = "TEXT",
     .offset = offsetof(options, query),
     .help = "rank the texts of the files by their score with this text",
     .fallback = ""},
    {.name = "pairs",
     .kind = AOEI_OPTION_TEXT,
     .value = "FILE",
     .offset = offsetof(options, pairs),
     .excludes = "query",
     .help = "score each row of a table with two columns of texts, in the order of the rows; - for stdin",
     .fallback = ""},
    {.name = "top",
     .letter = 'k',
     .kind = AOEI_OPTION_SIZE,
     .value = "K",
     .offset = offsetof(options, top),
     .min = 1,
     .excludes = "pairs",
     .help = "print only the K texts with the highest scores",
     .fallback = "all"},
    {.name = "scores",
     .kind = AOEI_OPTION_CHOICE,
     .offset = offsetof(options, scores),
     .choices = AOEI_CHOICES("auto", "logit", "sigmoid", "softmax", "tanh"),
     .noun = "activation function",
     .field = "activation",
     .help =
         "activation function that is applied to the outputs of the model: logit (none), sigmoid, softmax (over the "
         "outputs of a pair) or tanh; auto: the activation function of the model directory, otherwise sigmoid for one "
         "output and logit for several"},
    CLI_OPTION_SCORE_CLASS(.offset = offsetof(options, class_name),
                           "--pairs prints all outputs; --query requires this option"),
};

static const aoei_option output_table[] = {
    {.name = "format",
     .letter = 'f',
     .kind = AOEI_OPTION_CHOICE,
     .offset = offsetof(options, format),
     .choices = AOEI_CHOICES("table", "tsv", "jsonl"),
     .noun = "format",
     .help = "output format: table (aligned columns, scores with four decimals), tsv or jsonl (one object per text "
             "or pair)",
     .fallback = "from the extension of --output, otherwise table"},
    CLI_OPTION_OUTPUT_FILE(.offset = offsetof(options, output), ""),
};

static const aoei_option column_table[] = {
    AOEI_ROW_COLUMNS(
        AOEI_AT(aoe_table_options, columns), "ROLE=NAME,...",
        "names of the text columns of tables: text=NAME with --query, and for example text1=question,text2=answer "
        "with --pairs",
        "text or sentence; with --pairs, names such as text1 and text2, or query and document"),
};

/* ------------------------------------------------------------------ output */

/* Writes to name[32] the name of output k, or its number if it has no name. Returns name. */
static const char *name_output(const job *j, size_t k, char name[32]) {
    const char *given = aoe_model_class_name(j->session.model, k);
    if (given && *given)
        snprintf(name, 32, "%s", given);
    else
        snprintf(name, 32, "class %zu", k);
    return name;
}

static const char *score_heading(const job *j, size_t k, char name[32]) {
    return j->chosen < j->classes ? "score" : name_output(j, k, name);
}

/* Writes the outputs of a pair, x[classes], as the values of JSON keys. */
static int write_json_scores(const job *j, const float *x) {
    FILE *f = j->out.file;
    if (j->chosen < j->classes) {
        fputs("\"score\":", f);
        cli_write_score(f, x[j->chosen]);
    } else {
        size_t best = 0;
        char name[32];
        fputs("\"scores\":[", f);
        for (size_t k = 0; k < j->classes; k++) {
            fputs(k ? "," : "", f);
            cli_write_score(f, x[k]);
            best = x[k] > x[best] ? k : best;
        }
        putc(']', f);
        name_output(j, best, name);
        if (cli_write_json_text(f, "label", name, strlen(name)))
            return 1;
    }
    fprintf(f, ",\"activation\":\"%s\"", j->activation);
    return 0;
}

/* Writes the heading of the scores of pairs. */
static void write_pair_heading(const job *j) {
    char name[32];
    const size_t first = j->chosen < j->classes ? j->chosen : 0, end = j->chosen < j->classes ? first + 1 : j->classes;
    for (size_t k = first; k < end && j->format != CLI_RANKING_JSONL; k++) {
        if (j->format == CLI_RANKING_TSV)
            fprintf(j->out.file, "%s%s", k > first ? "\t" : "", score_heading(j, k, name));
        else
            fprintf(j->out.file, "%s%*s", k > first ? "  " : "", CLI_SCORE_WIDTH, score_heading(j, k, name));
    }
    if (j->format != CLI_RANKING_JSONL)
        putc('\n', j->out.file);
}

/* Writes the scores of pair i of the current batch, x[classes]. */
static int write_pair(const job *j, size_t i, const float *x) {
    FILE *f = j->out.file;
    char name[32];
    const size_t first = j->chosen < j->classes ? j->chosen : 0, end = j->chosen < j->classes ? first + 1 : j->classes;
    if (j->format == CLI_RANKING_JSONL) {
        const aoe_text a = j->first.text[i], b = j->second.text[i];
        fprintf(f, "{\"index\":%zu,", j->pairs + i);
        if (write_json_scores(j, x) || cli_write_json_text(f, "text1", a.data, a.len) ||
            cli_write_json_text(f, "text2", b.data, b.len))
            return 1;
        fprintf(f, ",\"tokens\":%u,\"truncated\":%s}\n", (unsigned)j->info[i].tokens,
                j->info[i].truncated ? "true" : "false");
        return 0;
    }
    for (size_t k = first; k < end; k++) {
        if (j->format == CLI_RANKING_TSV) {
            fputs(k > first ? "\t" : "", f);
            cli_write_score(f, x[k]);
        } else {
            const int width = (int)strlen(score_heading(j, k, name));
            fprintf(f, "%s%*.4f", k > first ? "  " : "", width > CLI_SCORE_WIDTH ? width : CLI_SCORE_WIDTH,
                    (double)x[k]);
        }
    }
    putc('\n', f);
    return 0;
}

/* ------------------------------------------------------------------- query */

/* Receives a batch of texts and scores them with the query. */
static int score_texts(void *user, const cli_batch *batch) {
    job *j = user;
    aoe_error err;
    if (aoe_score_pairs(j->session.embedder, j->query, batch->text, batch->n, j->scores, j->info, &err))
        return cli_text_files_fail(&j->input, aoe_embed_failed_text(j->session.embedder), &err);
    for (size_t i = 0; i < batch->n; i++) {
        cli_ranking_add(&j->ranking, batch->text[i], batch->name[i], j->scores[i * j->classes + j->chosen],
                        j->info[i].truncated);
        j->truncated += j->info[i].truncated;
    }
    j->pairs += batch->n;
    j->empty += batch->empty;
    cli_progress_update(&j->progress, j->pairs, 0, NULL, -1, NULL);
    return 0;
}

/* Scores the texts of all files, and writes them in the order of their scores. */
static int rank_texts(job *j, const cli_args *args) {
    j->ranking.score = "score";
    j->ranking.activation = j->activation;
    j->ranking.has_files = j->o->table.whole_files;
    for (size_t i = 0; i < BATCH; i++)
        j->query[i] = aoe_text_of(j->o->query);
    cli_batch_create(&j->input.batch, BATCH, BATCH_BYTES);
    j->input.use = score_texts;
    j->input.user = j;
    cli_progress_begin(&j->progress, "scoring", "texts", 0);
    int code = cli_text_files_read(&j->input, args, &j->o->table);
    cli_progress_end(&j->progress);
    return code || cli_ranking_write(&j->ranking, j->format, j->o->top, j->out.file) || cli_file_check(&j->out);
}

/* ------------------------------------------------------------------- pairs */

/* Scores the pairs of the current batch, writes the scores and clears the batch. Writes the heading before the first
 * batch. */
static int score_batch(job *j) {
    aoe_error err;
    int code = 0;
    const size_t n = j->first.n;
    cli_batch_finish(&j->first);
    cli_batch_finish(&j->second);
    if (!j->pairs)
        write_pair_heading(j);
    if (!n)
        return cli_file_check(&j->out);
    if (aoe_score_pairs(j->session.embedder, j->first.text, j->second.text, n, j->scores, j->info, &err)) {
        const size_t i = aoe_embed_failed_text(j->session.embedder);
        return i < n ? cli_fail("%s:%zu: %s", j->o->pairs, j->first.number[i], err.message)
                     : cli_fail("%s", err.message);
    }
    for (size_t i = 0; i < n && !code; i++) {
        code = write_pair(j, i, j->scores + i * j->classes);
        j->truncated += j->info[i].truncated;
        j->empty += !j->first.text[i].len || !j->second.text[i].len;
    }
    j->pairs += n;
    cli_batch_clear(&j->first);
    cli_batch_clear(&j->second);
    cli_progress_update(&j->progress, j->pairs, 0, NULL, -1, NULL);
    return code || cli_file_check(&j->out);
}

/* Callback of aoe_text_pairs_read. Adds a pair to the batch, and scores the batch if it is full. */
static int take_pair(void *user, aoe_text text1, aoe_text text2, size_t line, aoe_error *err) {
    job *j = user;
    cli_batch_add(&j->first, text1, j->o->pairs, line, 1);
    cli_batch_add(&j->second, text2, j->o->pairs, line, 1);
    if (!cli_batch_is_full(&j->first) && !cli_batch_is_full(&j->second))
        return 0;
    j->reported = score_batch(j);
    if (j->reported)
        *err = (aoe_error){.code = AOE_ECANCELLED};
    return j->reported ? AOE_ECANCELLED : 0;
}

/* Scores the rows of the table. */
static int score_table(job *j) {
    aoe_error err;
    cli_batch_create(&j->first, BATCH, BATCH_BYTES);
    cli_batch_create(&j->second, BATCH, BATCH_BYTES);
    cli_progress_begin(&j->progress, "scoring", "pairs", 0);
    int code = aoe_text_pairs_read(j->o->pairs, &j->o->table, take_pair, j, &err);
    if (code)
        code = j->reported ? 1 : cli_fail("%s", err.message);
    else if (j->first.n || !j->pairs)
        code = score_batch(j);
    cli_progress_end(&j->progress);
    return code;
}

/* --------------------------------------------------------------------- run */

/* Sets j->chosen to the output that --class names. */
static int choose_class(job *j) {
    const char *name = j->o->class_name;
    j->chosen = j->classes == 1 ? 0 : j->classes;
    if (!name && j->classes > 1 && j->o->query)
        return cli_fail(
            "%s: the model has %zu outputs per pair; give the name or number of the output that is the score with "
            "--class, for example --class %zu",
            j->session.dir, j->classes, j->classes - 1);
    return name ? cli_session_find_class(&j->chosen, &j->session, name) : 0;
}

/* Opens the cross-encoder. */
static int open_model(job *j) {
    cli_model_options m = j->o->model;
    m.o.cross_encoder = 1;
    m.o.activation = j->o->scores ? j->o->scores - 1 : AOE_AUTO;
    if (cli_session_open(&j->session, &j->o->general, &m))
        return 1;
    cli_session_describe(&j->session, 0);
    j->classes = aoe_model_classes(j->session.model);
    j->activation = aoe_score_activation_name(aoe_model_activation(j->session.model));
    cli_note("scores: %s (%s)", j->activation, j->o->scores ? "from --scores" : "from the model");
    return choose_class(j);
}

static void report_counts(const job *j) {
    const char *unit = j->o->query ? "text" : "pair";
    if (!j->pairs)
        cli_warn("the input contains no %ss; the output contains no scores", unit);
    if (j->empty)
        cli_warn("%zu of %zu %s%s %s", j->empty, j->pairs, unit, cli_plural(j->pairs),
                 j->o->query ? (j->empty == 1 ? "is empty" : "are empty")
                             : (j->empty == 1 ? "has an empty text" : "have an empty text"));
    cli_warn_truncated(j->session.model, "pair", j->truncated, j->pairs, 0);
}

static int run_job(job *j, const cli_args *args) {
    const options *o = j->o;
    if (cli_reject_input(o->output, args->operand, args->n) ||
        (o->pairs && cli_reject_input(o->output, &o->pairs, 1)) || open_model(j) || cli_file_open(&j->out, o->output))
        return 1;
    j->query = cli_calloc(BATCH, sizeof *j->query);
    j->scores = cli_calloc(BATCH * j->classes, sizeof *j->scores);
    j->info = cli_calloc(BATCH, sizeof *j->info);
    if ((o->query ? rank_texts(j, args) : score_table(j)) || cli_file_commit(&j->out))
        return 1;
    report_counts(j);
    return 0;
}

static void free_job(job *j) {
    cli_file_abort(&j->out);
    cli_batch_destroy(&j->input.batch);
    cli_batch_destroy(&j->first);
    cli_batch_destroy(&j->second);
    cli_session_close(&j->session);
    free(j->query);
    free(j->scores);
    free(j->info);
    cli_ranking_free(&j->ranking);
}

/* Checks that the options fit together. */
static int check(const options *o, const cli_args *args) {
    if (!o->query && !o->pairs)
        return cli_usage("rerank", "give --query TEXT to rank texts, or --pairs FILE to score the pairs of a table");
    if (o->pairs && args->n)
        return cli_usage("rerank", "with --pairs, no other file is read; remove '%s'", args->operand[0]);
    if (o->general.json && o->format != CLI_RANKING_BY_NAME && o->format != CLI_RANKING_JSONL)
        return cli_usage("rerank",
                         "--json selects --format jsonl and excludes other formats; give only one of the options");
    return CLI_GO;
}

static int run_command(int argc, char **argv) {
    options o = {.format = CLI_RANKING_BY_NAME};
    aoe_table_options_defaults(&o.table);
    cli_general_defaults(&o.general);
    cli_model_defaults(&o.model);
    const cli_group groups[] = {
        CLI_GROUP("scores", task_table, &o),
        CLI_GROUP("output", output_table, &o),
        CLI_FIELDS("input", column_table, aoe_table_options, &o.table),
        CLI_TEXT_INPUT_GROUP(&o.table),
        CLI_SCORE_MODEL_GROUPS("model", &o.model),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.general),
    };
    const cli_syntax syntax = {
        .command = "rerank",
        .operands = "[FILE...]",
        .about = "Scores text pairs with a cross-encoder, a model that reads both texts at once. Its scores are\n"
                 "more accurate than the cosine of two embeddings, and slower to compute. With --query, ranks the\n"
                 "texts of the files by their score with the query, best first; texts with equal scores keep their\n"
                 "order.\n" CLI_FILES_HELP
                 "With --pairs, scores the rows of a table. A prompt is added to the query, or to the first text of a\n"
                 "pair. If a pair is longer than the maximum sequence length, its longer text is truncated first.\n",
        .examples = "  aoe rerank -m cross-encoder/ms-marco-MiniLM-L6-v2 --query 'capital of Peru' --top 10 texts.txt\n"
                    "  aoe rerank -m nli-model --pairs pairs.tsv --scores softmax --json\n",
        CLI_GROUPS(groups),
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO)
        code = check(&o, &args);
    if (code == CLI_GO) {
        job j = {.o = &o, .format = cli_ranking_format_of(o.format, o.general.json, o.output)};
        cli_set_quiet(o.general.quiet);
        code = run_job(&j, &args);
        free_job(&j);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_rerank_command = {
    .name = "rerank",
    .summary = "score and rank texts with a cross-encoder",
    .run = run_command,
};
