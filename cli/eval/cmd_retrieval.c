/* SPDX-License-Identifier: MIT
 * Implements `aoe eval retrieval`: evaluates exact search in groups of texts (such as the captions of an image) and in
 * BEIR directories.
 */
#include "aoe_eval.h"
#include "cli/common/dispatch.h"
#include "cli/eval/eval_common.h"
#include "options/evaluate.h"

#include <string.h>

typedef struct options {
    aoe_retrieval_options r;
    const char *doc_prompt; /* prompt of the documents (the searched texts); NULL: the prompt of the queries */
    int automatic; /* 1: no option sets the prompt of the queries, so the prompts of the model directory are used */
    int noted;     /* 1: the prompts have been printed */
} options;

static const aoei_option input_table[] = {
    {.name = "doc-prompt",
     .kind = AOEI_OPTION_PROMPT,
     .value = "TEMPLATE",
     .offset = offsetof(options, doc_prompt),
     .help = "prompt for documents, in which {text} is replaced by each document",
     .fallback =
         "the prompt for queries, if --prompt or --prompt-name is given; otherwise the prompt document, passage or "
         "corpus of the model directory"},
};

static void keep(void *user, const aoe_retrieval_result *r) {
    cli_eval_keep(user, r, r->name, r->empty, r->truncated);
}

static json_t *recall_object(const aoe_retrieval_result *s, const aoe_retrieval_options *o) {
    json_t *recall = json_object();
    for (size_t i = 0; i < o->n_recall; i++) {
        char key[32];
        snprintf(key, sizeof key, "%zu", o->recall_at[i]);
        json_object_set_new(recall, key, cli_json_real(s->recall[i]));
    }
    return recall;
}

static void print_json(const cli_eval *e) {
    const options *o = e->own;
    const aoe_retrieval_result *results = e->results;
    for (size_t i = 0; i < e->n; i++) {
        const aoe_retrieval_result *s = &results[i];
        const char *name = e->names[i];
        json_t *object = json_pack("{s:o}", "name", cli_json_text(name, strlen(name)));
        cli_eval_size_json(e, object, i);
        cli_eval_similarity_json(o->r.similarity, object);
        json_object_update_new(
            object, json_pack("{s:I,s:I,s:o,s:o,s:o,s:o,s:I,s:I,s:I,s:I}", "texts", (json_int_t)s->texts, "queries",
                              (json_int_t)s->queries, "strict_accuracy", cli_json_real(s->strict), "recall",
                              recall_object(s, &o->r), "mrr", cli_json_real(s->mrr), "ndcg", cli_json_real(s->ndcg),
                              "top", (json_int_t)o->r.top, "without", (json_int_t)s->without, "skipped",
                              (json_int_t)s->skipped, "truncated", (json_int_t)s->truncated));
        json_object_update_new(object,
                               json_pack("{s:I,s:I,s:I}", "missing_texts", (json_int_t)s->missing, "unknown_queries",
                                         (json_int_t)s->unknown_queries, "duplicates", (json_int_t)s->duplicates));
        cli_print_json(object);
    }
}

static void print_table(const cli_eval *e) {
    const options *o = e->own;
    const aoe_retrieval_result *results = e->results;
    char align[8 + AOE_RECALL_MAX + 1] = "lrrr";
    cli_table t;
    memset(align + 4, 'r', o->r.n_recall + (e->size ? 4 : 2));
    cli_table_begin(&t, align);
    cli_table_cell(&t, "name");
    cli_eval_size_headings(e, &t);
    cli_table_cell(&t, "texts");
    cli_table_cell(&t, "queries");
    cli_table_cell(&t, "strict");
    for (size_t k = 0; k < o->r.n_recall; k++)
        cli_table_cell(&t, "recall@%zu", o->r.recall_at[k]);
    cli_table_cell(&t, "MRR@%zu", o->r.top);
    cli_table_cell(&t, "nDCG@%zu", o->r.top);
    for (size_t i = 0; i < e->n; i++) {
        const aoe_retrieval_result *s = &results[i];
        cli_table_cell(&t, "%s", e->names[i]);
        cli_eval_size_cells(e, &t, i);
        cli_table_cell(&t, "%zu", s->texts);
        cli_table_cell(&t, "%zu", s->queries);
        if (s->strict >= 0)
            cli_eval_percent(&t, s->strict);
        else
            cli_table_cell(&t, "-");
        for (size_t k = 0; k < o->r.n_recall; k++)
            cli_eval_percent(&t, s->recall[k]);
        cli_eval_percent(&t, s->mrr);
        cli_eval_percent(&t, s->ndcg);
    }
    cli_table_print_as(&t, e->format);
}

/* Selects the prompt of the queries before the model is opened. */
static void select_prompts(cli_eval *e) {
    options *o = e->own;
    o->automatic = !e->model.o.prompt && !e->model.o.prompt_name;
    cli_select_prompt(&e->model, "query");
}

/* Opens the model again for the documents, if their prompt differs from the prompt of the queries. */
static int open_docs(cli_eval *e, const cli_session *queries) {
    options *o = e->own;
    cli_model_options docs = e->model;
    const int has_names = aoe_model_prompt(queries->model, "query") || aoe_model_prompt(queries->model, "document");
    if (!o->doc_prompt && (!o->automatic || !has_names))
        return 0;
    if (cli_select_doc_prompt(&docs, o->doc_prompt) || cli_session_open(&e->docs, &e->general, &docs))
        return 1;
    o->r.doc_embedder = e->docs.embedder;
    if (o->automatic && has_names && !o->noted) {
        cli_note_prompt("queries", queries->model, NULL);
        cli_note_prompt("documents", e->docs.model, NULL);
        o->noted = 1;
    }
    return 0;
}

static int score(cli_eval *e, aoe_embedder *embedder, const cli_args *args, aoe_error *err) {
    options *o = e->own;
    o->r.seed = e->general.seed;
    o->r.progress = cli_eval_progress;
    o->r.user = e;
    return aoe_eval_retrieval(embedder, args->operand, args->n, &o->r, keep, e, err);
}

static void warn(const cli_eval *e) {
    const aoe_retrieval_result *results = e->results;
    for (size_t i = 0; i < e->n; i++) {
        cli_warn_skipped(e->names[i], results[i].skipped);
        if (results[i].strict >= 0 && results[i].without) /* a table of groups */
            cli_note("%s: skipped %zu quer%s without relevant texts", e->names[i], results[i].without,
                     results[i].without == 1 ? "y" : "ies");
        else
            cli_eval_note_judgments(e->names[i], results[i].without, results[i].missing, results[i].unknown_queries,
                                    results[i].duplicates);
    }
}

static int run_command(int argc, char **argv) {
    options o = {0};
    aoe_retrieval_options_defaults(&o.r);
    const cli_group groups[] = {
        CLI_LIBRARY_GROUP(&aoei_retrieval_metrics_rows, &o.r),
        CLI_LIBRARY_GROUP(&aoei_retrieval_search_rows, &o.r),
        CLI_GROUP("input", input_table, &o),
        CLI_LIBRARY_GROUP(&aoei_retrieval_input_rows, &o.r),
        CLI_TABLE_INPUT_GROUP(&o.r.table),
    };
    const cli_evaluation e = {
        .command = "eval retrieval",
        .operands = "PATH...",
        .about =
            "Evaluates a model on retrieval with exact search. Prints recall, MRR and nDCG, multiplied\n"
            "by 100. Each PATH is a BEIR directory or a table. A BEIR directory contains corpus.jsonl,\n"
            "queries.jsonl and qrels/test.tsv. A table has a group column (group or image) and a text column\n"
            "(text, caption or sentence); an example is a table of image captions grouped by image. In a table,\n"
            "--query selects the texts that are used as queries, and the relevant texts of a query are the other\n"
            "texts of its group. For tables, strict accuracy is also printed: a query in a group of g texts is\n"
            "correct if the g nearest texts, the query included, are exactly the texts of the group. If scores\n"
            "are equal, the text that comes first in a table is ranked higher; in a BEIR directory, the text with\n"
            "the larger id, as in trec_eval. The metrics of a BEIR directory are those of pytrec_eval, BEIR and\n"
            "MTEB. If the model directory has the prompts query or document, they are used for queries and\n"
            "documents unless an option sets a prompt.\n",
        .examples = "  aoe eval retrieval -m model flickr30k/test.tsv\n"
                    "  aoe eval retrieval scifact --recall-at 10,100 --prompt 'query: {text}' --doc-prompt '{text}'\n",
        CLI_GROUPS(groups),
        .seeded = 1,
        .own = &o,
        .similarity = &o.r.similarity,
        .doing = "embedding",
        .unit = "texts",
        .result_size = sizeof(aoe_retrieval_result),
        .prepare = select_prompts,
        .open = open_docs,
        .score = score,
        .warn = warn,
        .print_json = print_json,
        .print_table = print_table,
    };
    return cli_evaluate(&e, argc, argv);
}

const cli_command cli_eval_retrieval_command = {
    .name = "retrieval",
    .summary = "retrieval on BEIR data or tables of grouped texts: recall, MRR, nDCG",
    .run = run_command,
};
