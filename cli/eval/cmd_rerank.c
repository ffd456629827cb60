/* SPDX-License-Identifier: MIT
 * Implements `aoe eval rerank`: evaluates a cross-encoder that reranks the results of a first stage, in BEIR
 * directories.
 */
#include "aoe_eval.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/eval/eval_common.h"
#include "options/evaluate.h"

#include <string.h>

typedef struct options {
    cli_general general;
    cli_model_options model;
    aoe_rerank_options r;
    cli_model_options first; /* embedding model of the first stage */
    const char *class_name;
    const char *output; /* path of the run file with the reranked lists; NULL: none is written */
    cli_table_format format;
} options;

typedef struct job {
    options *o;
    cli_session session, queries, docs; /* the cross-encoder; the first stage, for queries and for documents */
    cli_progress progress;
    cli_file out;
} job;

static const aoei_option stage_table[] = {
    {.name = "first",
     .kind = AOEI_OPTION_MODEL,
     .value = "DIR",
     .offset = offsetof(options, first.dir),
     .help = "first stage: exact search with this embedding model; its prompts query and document are used",
     .fallback = ""},
    CLI_OPTION_SCORE_CLASS(.offset = offsetof(options, class_name), ""),
};

static const aoei_option output_table[] = {
    CLI_OPTION_TABLE_FORMAT(.offset = offsetof(options, format), "output format: table, csv or markdown"),
    AOEI_ROW_OUTPUT(.offset = offsetof(options, output), "FILE", "write the reranked lists as a run file of TREC"),
};

static int show_progress(void *user, size_t done, size_t total) {
    job *j = user;
    cli_progress_update(&j->progress, done, total, NULL, -1, NULL);
    return 0;
}

static int write_run(void *user, size_t part, const char *data, size_t len) {
    job *j = user;
    (void)part;
    return fwrite(data, 1, len, j->out.file) != len;
}

static json_t *metrics_json(const aoe_rerank_metrics *m) {
    return json_pack("{s:o,s:o,s:o,s:o}", "ndcg", cli_json_real(m->ndcg), "mrr", cli_json_real(m->mrr), "recall",
                     cli_json_real(m->recall), "seconds", cli_json_real(m->seconds));
}

static void print_json(const job *j, const char *folder, const aoe_rerank_result *r) {
    json_t *object = json_pack(
        "{s:o,s:I,s:I,s:I,s:I,s:I,s:o,s:o,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "name", cli_json_text(folder, strlen(folder)),
        "texts", (json_int_t)r->texts, "queries", (json_int_t)r->queries, "pairs", (json_int_t)r->pairs, "top",
        (json_int_t)j->o->r.top, "cutoff", (json_int_t)j->o->r.cutoff, "first", metrics_json(&r->first), "reranked",
        metrics_json(&r->reranked), "without", (json_int_t)r->without, "missing", (json_int_t)r->missing, "skipped",
        (json_int_t)r->skipped, "truncated", (json_int_t)r->truncated, "missing_texts",
        (json_int_t)r->missing_documents, "unknown_queries", (json_int_t)r->unknown_queries, "duplicates",
        (json_int_t)r->duplicates);
    cli_eval_similarity_json(j->o->r.similarity, object);
    cli_print_json(object);
}

static void add_row(cli_table *t, const char *stage, const aoe_rerank_metrics *m) {
    cli_table_cell(t, "%s", stage);
    cli_table_real(t, 2, 100 * m->ndcg);
    cli_table_real(t, 2, 100 * m->mrr);
    cli_table_real(t, 2, 100 * m->recall);
    cli_table_real(t, 1, m->seconds);
}

static void print_table(const job *j, const aoe_rerank_result *r) {
    cli_table t;
    cli_table_begin(&t, "lrrrr");
    cli_table_cell(&t, "lists");
    cli_table_cell(&t, "nDCG@%zu", j->o->r.cutoff);
    cli_table_cell(&t, "MRR@%zu", j->o->r.cutoff);
    cli_table_cell(&t, "recall@%zu", j->o->r.top);
    cli_table_cell(&t, "seconds");
    add_row(&t, "first stage", &r->first);
    add_row(&t, "reranked", &r->reranked);
    cli_table_print_as(&t, j->o->format);
}

static void warn(const aoe_model *m, const aoe_rerank_result *r) {
    cli_warn_skipped(NULL, r->skipped);
    cli_eval_note_judgments(NULL, r->without, r->missing_documents, r->unknown_queries, r->duplicates);
    if (r->missing)
        cli_warn("the first stage has no documents for %zu of %zu quer%s; their metrics are 0", r->missing, r->queries,
                 r->queries == 1 ? "y" : "ies");
    cli_warn_truncated(m, "pair", r->truncated, r->pairs, 0);
}

/* Opens the embedding model of the first stage. If it has other prompts for documents than for queries, it is opened
 * twice. */
static int open_first(job *j) {
    options *o = j->o;
    cli_model_options docs = o->first;
    if (!o->first.dir)
        return 0;
    cli_select_prompt(&o->first, "query");
    if (cli_session_open(&j->queries, &o->general, &o->first))
        return 1;
    if (o->r.similarity == AOE_SIMILARITY_COSINE)
        cli_session_warn_similarity(&j->queries, "--similarity");
    o->r.first = j->queries.embedder;
    if (!aoe_model_prompt(j->queries.model, "query") && !aoe_model_prompt(j->queries.model, "document"))
        return 0;
    cli_select_prompt(&docs, "document");
    if (cli_session_open(&j->docs, &o->general, &docs))
        return 1;
    o->r.first_docs = j->docs.embedder;
    cli_note_prompt("queries", j->queries.model, NULL);
    cli_note_prompt("documents", j->docs.model, NULL);
    return 0;
}

static int run_job(job *j, const char *folder) {
    options *o = j->o;
    aoe_rerank_result result = {.struct_size = sizeof result};
    aoe_error err;
    o->model.o.cross_encoder = 1;
    if (cli_session_open(&j->session, &o->general, &o->model))
        return 1;
    cli_session_describe(&j->session, 1);
    if ((o->class_name && cli_session_find_class(&o->r.score_class, &j->session, o->class_name)) || open_first(j) ||
        (o->output && cli_file_open(&j->out, o->output)))
        return 1;
    o->r.write = o->output ? write_run : NULL;
    o->r.progress = show_progress;
    o->r.user = j;
    cli_progress_begin(&j->progress, "evaluating", o->first.dir ? "texts and pairs" : "pairs", 0);
    const int failed = aoe_eval_rerank(j->session.embedder, folder, &o->r, &result, &err);
    cli_progress_end(&j->progress);
    if (failed)
        return cli_file_check(&j->out) ? 1 : cli_fail("%s", err.message);
    if (o->output && cli_file_commit(&j->out))
        return 1;
    warn(j->session.model, &result);
    if (o->general.json)
        print_json(j, folder, &result);
    else
        print_table(j, &result);
    return 0;
}

static int run_command(int argc, char **argv) {
    options o = {.format = CLI_TABLE_ALIGNED};
    cli_general_defaults(&o.general);
    cli_model_defaults(&o.model);
    cli_model_defaults(&o.first);
    aoe_rerank_options_defaults(&o.r);
    const cli_group groups[] = {
        CLI_GROUP("lists", stage_table, &o),
        CLI_LIBRARY_GROUP(&aoei_rerank_lists_rows, &o.r),
        CLI_GROUP("output", output_table, &o),
        CLI_LIBRARY_GROUP(&aoei_rerank_output_rows, &o.r),
        CLI_LIBRARY_GROUP(&aoei_rerank_input_rows, &o.r),
        CLI_SCORE_MODEL_GROUPS("cross-encoder", &o.model),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.general),
    };
    const cli_syntax syntax = {
        .command = "eval rerank",
        .operands = "DIR",
        .about = "Evaluates a cross-encoder that reranks the results of a first stage. DIR is a BEIR directory with\n"
                 "corpus.jsonl, queries.jsonl and qrels/test.tsv. The first stage selects --top documents for each\n"
                 "query: by exact search with the embedding model --first, or from the run file --run. The cross-\n"
                 "encoder scores them, and they are sorted by their scores. Prints nDCG, MRR and recall, multiplied\n"
                 "by 100, and the time, before and after reranking. If scores are equal, the document with the\n"
                 "larger id is ranked higher, as in trec_eval. A document with the id of the query is excluded.\n",
        .examples = "  aoe eval rerank scifact -m cross-encoder/ms-marco-MiniLM-L6-v2 --first model\n"
                    "  aoe eval rerank scifact -m reranker --run bm25.run --top 50 -o reranked.run\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = 1,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO && !o.first.dir && !o.r.run)
        code = cli_usage("eval rerank",
                         "give the first stage: --first DIR (an embedding model) or --run FILE (a run file)");
    if (code == CLI_GO) {
        job j = {.o = &o};
        o.first.o.dtype = o.model.o.dtype;
        o.first.embedder = o.model.embedder;
        cli_set_quiet(o.general.quiet);
        code = run_job(&j, args.operand[0]);
        cli_file_abort(&j.out);
        cli_session_close(&j.session);
        cli_session_close(&j.queries);
        cli_session_close(&j.docs);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_eval_rerank_command = {
    .name = "rerank",
    .summary = "reranking of retrieval results with a cross-encoder: nDCG, MRR, recall",
    .run = run_command,
};
