/* SPDX-License-Identifier: MIT
 * Implements `aoe similarity`: prints the cosine and the angle score of two texts, or ranks the texts of files by their
 * cosine with a query.
 */
#include "aoe_data.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/utf8.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/common/text_files.h"
#include "cli/text/ranking.h"

#include <stdlib.h>
#include <sys/stat.h>

/* With --texts, texts are embedded in batches of at most BATCH texts and about BATCH_BYTES bytes. */
enum { BATCH = 4096, BATCH_BYTES = 4 << 20 };

typedef struct options {
    cli_general general;
    cli_model_options model;
    aoe_angle_form angle_form;
    aoei_text_list texts; /* files of the texts that are ranked; none: two texts are compared */
    size_t top;           /* number of texts that are printed; 0: all */
    cli_ranking_format format;
    const char *output; /* path of the output file; NULL: stdout */
    const char *doc_prompt;
    aoe_table_options table;
} options;

/* State of a ranking (--texts). */
typedef struct job {
    const options *o;
    cli_session queries, docs; /* the model; the model with the prompt --doc-prompt, if it is given */
    cli_text_files input;
    cli_ranking ranking;
    cli_file out;
    cli_progress progress;
    float *query, *vectors; /* [dims] embedding of the query, and [BATCH, dims] embeddings of a batch of texts; owned */
    aoe_text_info *info;    /* [BATCH] owned */
    size_t truncated, empty;
} job;

static const aoei_option table[] = {
    AOEI_ROW_ANGLE_FORM(.offset = offsetof(options, angle_form)),
};

static const aoei_option column_table[] = {
    AOEI_ROW_COLUMNS(AOEI_AT(aoe_table_options, columns), "text=NAME", "name of the text column of tables",
                     "text or sentence"),
};

static const aoei_option rank_table[] = {
    {.name = "texts",
     .kind = AOEI_OPTION_TEXTS,
     .value = "FILE...",
     .offset = offsetof(options, texts),
     .help = "rank the texts of these files by their cosine with TEXT1; - for stdin",
     .fallback = ""},
    {.name = "top",
     .letter = 'k',
     .kind = AOEI_OPTION_SIZE,
     .value = "K",
     .offset = offsetof(options, top),
     .min = 1,
     .help = "print only the K texts with the highest cosines",
     .fallback = "all"},
    {.name = "doc-prompt",
     .kind = AOEI_OPTION_PROMPT,
     .value = "TEMPLATE",
     .offset = offsetof(options, doc_prompt),
     .help = "prompt for the texts of the files, in which {text} is replaced by each text",
     .fallback = "the prompt for TEXT1, if --prompt or --prompt-name is given; otherwise the prompt document, passage "
                 "or corpus of the model directory"},
    {.name = "format",
     .letter = 'f',
     .kind = AOEI_OPTION_CHOICE,
     .offset = offsetof(options, format),
     .choices = AOEI_CHOICES("table", "tsv", "jsonl"),
     .noun = "format",
     .help = "output format: table (aligned columns, cosines with four decimals), tsv or jsonl (one object per text)",
     .fallback = "from the extension of --output, otherwise table"},
    CLI_OPTION_OUTPUT_FILE(.offset = offsetof(options, output), ""),
};

static int print_scores(const cli_session *s, const options *o, const float *v, const aoe_text_info *info) {
    size_t dims = aoe_model_dims(s->model);
    double cosine = aoe_cosine(v, v + dims, dims);
    double angle = aoe_angle_score(v, v + dims, dims, o->angle_form) + 0.0; /* adding 0.0 changes -0 to 0 */
    if (dims % 2)
        cli_warn("%s: the angle score requires an even embedding size, not %zu", s->dir, dims);
    if (o->general.json) {
        cli_print_json(json_pack("{s:o,s:o,s:i}", "cosine", cli_json_real(cosine), "angle", cli_json_real(angle),
                                 "truncated", info[0].truncated + info[1].truncated));
        return 0;
    }
    cli_table t;
    cli_table_begin(&t, "lr");
    cli_table_cell(&t, "cosine");
    cli_table_cell(&t, "%.4f", cosine);
    cli_table_cell(&t, "angle");
    if (dims % 2)
        cli_table_cell(&t, "undefined");
    else
        cli_table_cell(&t, "%.4f", angle);
    cli_table_print(&t);
    return 0;
}

/* Prints a warning for each text that has no known tokens, is empty, was truncated, or was split into chunks. */
static void report_texts(const cli_session *s, const aoe_text *texts, const aoe_text_info *info) {
    aoe_model_info m = {.struct_size = sizeof m};
    aoe_model_get_info(s->model, &m);
    for (int i = 0; i < 2; i++) {
        if (!info[i].tokens)
            cli_warn("text %d has no known tokens; its embedding is zero", i + 1);
        else if (aoei_utf8_is_blank(texts[i].data, texts[i].len))
            cli_warn("text %d is empty; only special tokens are embedded", i + 1);
        if (info[i].truncated)
            cli_warn("text %d was truncated to the maximum sequence length of %zu tokens; %suse all tokens with "
                     "--chunk mean",
                     i + 1, m.max_length, m.max_length < m.longest ? "set --max-length, or " : "");
        if (info[i].chunks > 1)
            cli_note("text %d is longer than the maximum sequence length; its embedding is the mean of %u chunks",
                     i + 1, (unsigned)info[i].chunks);
    }
}

static int run_similarity(cli_session *s, const options *o, const cli_args *args) {
    aoe_error err;
    aoe_text_info info[2];
    aoe_text texts[2] = {aoe_text_of(args->operand[0]), aoe_text_of(args->operand[1])};
    if (cli_session_open(s, &o->general, &o->model))
        return 1;
    cli_session_describe(s, 0);
    cli_session_warn_similarity(s, NULL);
    float *vectors = cli_realloc(NULL, 2 * aoe_model_dims(s->model) * sizeof *vectors);
    int code;
    if (aoe_embed(s->embedder, texts, 2, vectors, info, &err)) {
        const size_t failed = aoe_embed_failed_text(s->embedder);
        code = failed < 2 ? cli_fail("text %zu: %s", failed + 1, err.message) : cli_fail("%s", err.message);
    } else {
        report_texts(s, texts, info);
        code = print_scores(s, o, vectors, info);
    }
    free(vectors);
    return code;
}

/* ----------------------------------------------------------------- ranking */

/* Receives a batch of texts: embeds them and computes their cosines with the query. */
static int rank_batch(void *user, const cli_batch *batch) {
    job *j = user;
    aoe_error err;
    const cli_session *s = j->docs.embedder ? &j->docs : &j->queries;
    const size_t dims = aoe_model_dims(s->model);
    if (aoe_embed_documents(s->embedder, batch->text, batch->n, j->vectors, j->info, &err))
        return cli_text_files_fail(&j->input, aoe_embed_failed_text(s->embedder), &err);
    for (size_t i = 0; i < batch->n; i++) {
        const double cosine = aoe_cosine(j->query, j->vectors + i * dims, dims);
        cli_ranking_add(&j->ranking, batch->text[i], batch->name[i], (float)cosine, j->info[i].truncated);
        j->truncated += j->info[i].truncated;
    }
    j->empty += batch->empty;
    cli_progress_update(&j->progress, j->ranking.n, 0, NULL, -1, NULL);
    return 0;
}

/* Opens the model and, if the texts have a prompt of their own (--doc-prompt), opens it with this prompt again. */
static int open_models(job *j) {
    const options *o = j->o;
    cli_model_options docs = o->model;
    const int automatic = !o->model.o.prompt && !o->model.o.prompt_name;
    if (cli_session_open(&j->queries, &o->general, &o->model))
        return 1;
    cli_session_describe(&j->queries, 0);
    cli_session_warn_similarity(&j->queries, NULL);
    if (o->doc_prompt &&
        (cli_select_doc_prompt(&docs, o->doc_prompt) || cli_session_open(&j->docs, &o->general, &docs)))
        return 1;
    const char *query = automatic ? aoe_model_prompt(j->queries.model, "query") : NULL;
    const char *texts = automatic && !o->doc_prompt ? aoe_model_prompt(j->queries.model, "document") : NULL;
    if (!o->doc_prompt && !query && !texts)
        return 0;
    cli_note_prompt("query", j->queries.model, query);
    cli_note_prompt("texts", o->doc_prompt ? j->docs.model : j->queries.model, texts);
    return 0;
}

/* Embeds the query, ranks the texts of all files and writes the ranking. */
static int rank_texts(job *j, const char *text) {
    const options *o = j->o;
    const cli_args files = {.operand = o->texts.item, .n = o->texts.n};
    const aoe_text query = aoe_text_of(text);
    aoe_error err;
    if (cli_reject_input(o->output, files.operand, files.n) || open_models(j) || cli_file_open(&j->out, o->output))
        return 1;
    const size_t dims = aoe_model_dims(j->queries.model);
    j->query = cli_calloc(dims, sizeof *j->query);
    j->vectors = cli_calloc(BATCH, dims * sizeof *j->vectors);
    j->info = cli_calloc(BATCH, sizeof *j->info);
    if (aoe_embed_queries(j->queries.embedder, &query, 1, j->query, j->info, &err))
        return cli_fail("the query: %s", err.message);
    if (j->info[0].truncated)
        cli_warn("the query was truncated to the maximum sequence length");
    j->ranking.score = "cosine";
    j->ranking.has_files = o->table.whole_files;
    cli_batch_create(&j->input.batch, BATCH, BATCH_BYTES);
    j->input.use = rank_batch;
    j->input.user = j;
    cli_progress_begin(&j->progress, "embedding", "texts", 0);
    const int code = cli_text_files_read(&j->input, &files, &o->table);
    cli_progress_end(&j->progress);
    if (code ||
        cli_ranking_write(&j->ranking, cli_ranking_format_of(o->format, o->general.json, o->output), o->top,
                          j->out.file) ||
        cli_file_commit(&j->out))
        return 1;
    if (!j->ranking.n)
        cli_warn("the input contains no texts; the output contains no cosines");
    if (j->empty)
        cli_warn("%zu of %zu text%s %s empty", j->empty, j->ranking.n, cli_plural(j->ranking.n),
                 j->empty == 1 ? "is" : "are");
    cli_warn_truncated(j->queries.model, "text", j->truncated, j->ranking.n, 1);
    return 0;
}

static int run_ranking(const options *o, const char *query) {
    job j = {.o = o};
    const int code = rank_texts(&j, query);
    cli_file_abort(&j.out);
    cli_ranking_free(&j.ranking);
    cli_batch_destroy(&j.input.batch);
    cli_session_close(&j.queries);
    cli_session_close(&j.docs);
    free(j.query);
    free(j.vectors);
    free(j.info);
    return code;
}

/* ----------------------------------------------------------------- command */

/* Checks that the options fit together. Warns if a text is the name of a file. */
static int check(const options *o, const cli_args *args) {
    static const char *const ranking[] = {"top",          "doc-prompt", "format",    "output",  "columns",
                                          "input-format", "delimiter",  "no-header", "quoting", "whole-files"};
    const char *given = cli_first_given(args, ranking, sizeof ranking / sizeof *ranking);
    struct stat st;
    if (!args->n && o->texts.n > 1 && stat(o->texts.item[o->texts.n - 1], &st) != 0)
        return cli_usage(
            "similarity",
            "missing argument: QUERY; '%s' is read as a file of --texts; write the query first: aoe similarity "
            "QUERY --texts FILE...",
            o->texts.item[o->texts.n - 1]);
    if (!args->n)
        return cli_usage("similarity",
                         o->texts.n ? "missing argument: QUERY; write it first: aoe similarity QUERY --texts FILE..."
                                    : "missing argument: TEXT1 [TEXT2], or QUERY --texts FILE...");
    if (o->texts.n) {
        if (args->n > 1)
            return cli_usage("similarity", "with --texts, only one text is given; remove '%s'", args->operand[1]);
        if (cli_given(args, "angle-form"))
            return cli_usage("similarity",
                             "--angle-form has no effect on --texts, which ranks by the cosine; remove it");
        if (o->general.json && o->format != CLI_RANKING_BY_NAME && o->format != CLI_RANKING_JSONL)
            return cli_usage("similarity",
                             "--json selects --format jsonl and excludes other formats; give only one of the options");
        return CLI_GO;
    }
    if (args->n < 2)
        return cli_usage("similarity", "missing argument: TEXT2, or --texts FILE to rank the texts of a file");
    if (given)
        return cli_usage("similarity", "--%s requires --texts", given);
    for (size_t i = 0; i < 2; i++)
        if (stat(args->operand[i], &st) == 0 && S_ISREG(st.st_mode))
            cli_warn("%s is a file, but its name is compared as a text; to rank the texts of the file, use aoe "
                     "similarity TEXT1 --texts %s",
                     args->operand[i], args->operand[i]);
    return CLI_GO;
}

static int run_command(int argc, char **argv) {
    options o = {.angle_form = AOE_ANGLE_REFERENCE, .format = CLI_RANKING_BY_NAME};
    aoe_table_options_defaults(&o.table);
    cli_general_defaults(&o.general);
    cli_model_defaults(&o.model);
    const cli_group groups[] = {
        CLI_GROUP("score", table, &o),
        CLI_GROUP("ranking", rank_table, &o),
        CLI_FIELDS("ranking", column_table, aoe_table_options, &o.table),
        CLI_TEXT_INPUT_GROUP(&o.table),
        CLI_MODEL_GROUPS("model", &o.model),
        CLI_CHUNK_GROUP(&o.model),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.general),
    };
    const cli_syntax syntax = {
        .command = "similarity",
        .operands = "TEXT1 [TEXT2]\n"
                    "       aoe similarity [OPTIONS] QUERY --texts FILE...",
        .about =
            "Prints the cosine similarity of the embeddings of two texts, from -1 to 1, and their angle score,\n"
            "from which the angle loss of AnglE is computed. With --angle-form reference, the angle score has the\n"
            "formula that the code of the AnglE authors uses (docs/objectives.md). This score is between 0 and\n"
            "1.41. Identical texts have the score 1, and different texts can have a higher score. With\n"
            "--angle-form phase, the embeddings are regarded as complex vectors, and the angle score is\n"
            "minus the weighted mean of the angles between corresponding components, in radians. This score is\n"
            "between -3.14 and 0. Identical texts have the score 0. Write -- before texts that begin with - or @.\n"
            "With --texts, ranks the texts of files by the cosine of their embeddings with the embedding of\n"
            "QUERY, best first; texts with equal cosines keep their order. If the model directory contains the\n"
            "prompts query or document, they are used for QUERY and for the texts of the files.\n",
        .examples = "  aoe similarity -m model 'A plane is taking off.' 'An aircraft departs.'\n"
                    "  aoe similarity -m model -- '-5 degrees' 'It is cold.'\n"
                    "  aoe similarity -m model 'capital of Peru' --texts passages.txt -k 10\n",
        CLI_GROUPS(groups),
        .min_operands = 0,
        .max_operands = 2,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO)
        code = check(&o, &args);
    if (code == CLI_GO) {
        cli_session s = {0};
        cli_set_quiet(o.general.quiet);
        code = o.texts.n ? run_ranking(&o, args.operand[0]) : run_similarity(&s, &o, &args);
        cli_session_close(&s);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_similarity_command = {
    .name = "similarity",
    .summary = "compute the similarity of two texts, or rank texts by it",
    .run = run_command,
};
