/* SPDX-License-Identifier: MIT
 * aoe eval retrieval: exact search in groups of texts (such as the captions of an image) and in BEIR folders.
 */
#include "aoe_eval.h"
#include "cli/common/dispatch.h"
#include "cli/eval/eval_common.h"

#include <stdlib.h>
#include <string.h>

typedef struct options {
    cli_eval_options eval;
    aoe_retrieval_options r;
    const char *doc_prompt; /* prompt of the searched texts; NULL: the prompt of the queries */
} options;

typedef struct row {
    aoe_retrieval_result result;
    char *name; /* owned */
} row;

typedef struct report {
    options o;
    row *rows; /* [n] owned */
    size_t n;
    size_t empty, truncated;
    cli_session docs; /* embedder of the searched texts; used only if their prompt differs */
} report;

/* Parses a list such as "1,5,10". */
static int parse_numbers(void *target, const char *text, aoe_error *err) {
    aoe_retrieval_options *r = target;
    const char *at = text;
    r->n_recall = 0;
    do {
        char *end;
        const unsigned long n = strtoul(at, &end, 10);
        if (*at < '1' || *at > '9' || (*end && *end != ',') || n > 1000000 || r->n_recall == AOE_RECALL_MAX) {
            err->code = AOE_EARG;
            snprintf(err->message, sizeof err->message,
                     "expected up to %d integers from 1 to 1000000, for example 1,5,10, not '%.100s'", AOE_RECALL_MAX, text);
            return err->code;
        }
        r->recall_at[r->n_recall++] = n;
        at = *end ? end + 1 : end;
    } while (*at);
    return 0;
}

static int parse_query(void *target, const char *text, aoe_error *err) {
    static const char *const names[] = {"random", "first", "all"}; /* in the order of aoe_query_choice */
    const size_t i = cli_choose(names, 3, text, "query choice", err);
    if (i == 3)
        return err->code;
    *(aoe_query_choice *)target = (aoe_query_choice)i;
    return 0;
}

static const cli_option measure_table[] = {
    {.name = "recall-at",
     .kind = CLI_NAMED,
     .value = "K,...",
     .offset = offsetof(options, r),
     .parse = parse_numbers,
     .help = "recall among the K nearest texts, for each K",
     .fallback = "1,5,10"},
    {.name = "top",
     .kind = CLI_SIZE,
     .value = "K",
     .offset = offsetof(options, r.top),
     .min = 1,
     .max = 1e6,
     .help = "number of nearest texts considered by MRR and nDCG"},
};

static const cli_option input_table[] = {
    {.name = "query",
     .kind = CLI_NAMED,
     .value = "NAME",
     .offset = offsetof(options, r.query),
     .parse = parse_query,
     .help = "queries of each group: random (one text chosen at random), first (the first text) or all (every "
             "text)",
     .fallback = "random"},
    {.name = "count-query",
     .kind = CLI_FLAG,
     .offset = offsetof(options, r.count_query),
     .set = 1,
     .help = "count the query as a relevant text in recall, MRR and nDCG; otherwise it is excluded from the "
             "results"},
    {.name = "split",
     .kind = CLI_TEXT,
     .value = "NAME",
     .offset = offsetof(options, r.split),
     .help = "BEIR folders: read the relevance judgements from qrels/NAME.tsv"},
    {.name = "columns",
     .kind = CLI_TEXT,
     .value = "ROLE=NAME,...",
     .offset = offsetof(options, r.table.columns),
     .help = "columns to read, for example group=a,text=b",
     .fallback = "recognised names: group or image; text, caption or sentence"},
    {.name = "skip-bad-rows",
     .kind = CLI_FLAG,
     .offset = offsetof(options, r.table.skip_bad_rows),
     .set = 1,
     .help = "skip unreadable rows and judgements of missing texts and report how many, instead of failing at the "
             "first one"},
    {.name = "doc-prompt",
     .kind = CLI_TEXT,
     .value = "TEMPLATE",
     .offset = offsetof(options, doc_prompt),
     .help = "template with {text} for the searched texts; --prompt applies to queries",
     .fallback = "same as --prompt"},
};

static void keep_row(void *user, const aoe_retrieval_result *result) {
    report *r = user;
    r->rows = cli_realloc(r->rows, (r->n + 1) * sizeof *r->rows);
    r->rows[r->n++] = (row){*result, cli_strdup(result->name)};
    r->empty += result->empty;
    r->truncated += result->truncated;
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

static void print_json(const void *found) {
    const report *r = found;
    const options *o = &r->o;
    for (size_t i = 0; i < r->n; i++) {
        const aoe_retrieval_result *s = &r->rows[i].result;
        const char *name = r->rows[i].name;
        cli_print_json(json_pack("{s:o,s:I,s:I,s:o,s:o,s:o,s:o,s:I,s:I,s:I,s:I}", "name", cli_json_text(name, strlen(name)),
                                 "texts", (json_int_t)s->texts, "queries", (json_int_t)s->queries, "strict_accuracy",
                                 cli_json_real(s->strict), "recall", recall_object(s, &o->r), "mrr", cli_json_real(s->mrr),
                                 "ndcg", cli_json_real(s->ndcg), "top", (json_int_t)o->r.top, "without", (json_int_t)s->without,
                                 "skipped", (json_int_t)s->skipped, "truncated", (json_int_t)s->truncated));
    }
}

static void print_table(const void *found) {
    const report *r = found;
    const options *o = &r->o;
    char align[6 + AOE_RECALL_MAX + 1] = "lrrr";
    cli_table t;
    memset(align + 4, 'r', o->r.n_recall + 2);
    cli_table_begin(&t, align);
    cli_table_cell(&t, "name");
    cli_table_cell(&t, "texts");
    cli_table_cell(&t, "queries");
    cli_table_cell(&t, "strict");
    for (size_t k = 0; k < o->r.n_recall; k++)
        cli_table_cell(&t, "recall@%zu", o->r.recall_at[k]);
    cli_table_cell(&t, "MRR@%zu", o->r.top);
    cli_table_cell(&t, "nDCG@%zu", o->r.top);
    for (size_t i = 0; i < r->n; i++) {
        const aoe_retrieval_result *s = &r->rows[i].result;
        cli_table_cell(&t, "%s", r->rows[i].name);
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
    cli_eval_print(&t, &o->eval);
}

static int open_docs(void *found) {
    report *r = found;
    cli_model_options docs = r->o.eval.model;
    if (!r->o.doc_prompt)
        return 0;
    docs.o.prompt = r->o.doc_prompt;
    const int failed = cli_session_open(&r->docs, &r->o.eval.general, &docs);
    r->o.r.doc_embedder = r->docs.embedder;
    return failed;
}

static int score(void *found, aoe_embedder *e, const cli_args *args, cli_progress *progress, aoe_error *err) {
    report *r = found;
    r->o.r.seed = r->o.eval.general.seed;
    r->o.r.progress = cli_eval_progress;
    r->o.r.user = progress;
    return aoe_eval_retrieval(e, args->operand, args->n, &r->o.r, keep_row, r, err);
}

static void count(const void *found, size_t *empty, size_t *truncated) {
    const report *r = found;
    *empty = r->empty;
    *truncated = r->truncated;
    for (size_t i = 0; i < r->n; i++) {
        const aoe_retrieval_result *s = &r->rows[i].result;
        cli_warn_skipped(r->rows[i].name, s->skipped);
        if (s->without)
            cli_note("%s: skipped %zu quer%s without relevant texts", r->rows[i].name, s->without,
                     s->without == 1 ? "y" : "ies");
    }
}

static int run_command(int argc, char **argv) {
    report r = {0};
    cli_eval_defaults(&r.o.eval);
    aoe_retrieval_options_defaults(&r.o.r);
    const cli_group groups[] = {
        CLI_GROUP("output", cli_eval_format_table, &r.o.eval),
        CLI_GROUP("metrics", measure_table, &r.o),
        CLI_GROUP("input", input_table, &r.o),
        CLI_GROUP("input files", cli_input_table, &r.o.r.table),

        CLI_GROUP("model", cli_model_table, &r.o.eval.model),
        CLI_GROUP("long texts", cli_chunk_table, &r.o.eval.model),
        CLI_GROUP("general", cli_general_table, &r.o.eval.general),
    };
    const cli_syntax syntax = {
        .command = "eval retrieval",
        .operands = "PATH...",
        .about = "Exact search by cosine in tables of groups of texts (columns group or image, text or caption) and in\n"
                 "BEIR folders (corpus.jsonl, queries.jsonl, qrels/test.tsv); metrics are printed times 100. In a\n"
                 "table all texts are searched, including the query: strict is the fraction of queries whose g nearest\n"
                 "texts are the g texts of their group. If cosines are equal, the text that comes first is ranked\n"
                 "higher.\n",
        .examples = "  aoe eval retrieval -m model flickr30k/test.tsv\n"
                    "  aoe eval retrieval scifact --recall-at 10,100 --prompt 'query: {text}' --doc-prompt '{text}'\n",
        .groups = groups,
        .n_groups = sizeof groups / sizeof *groups,
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    const cli_evaluation e = {
        .syntax = &syntax,
        .options = &r.o.eval,
        .doing = "embedding",
        .unit = "texts",
        .report = &r,
        .open = open_docs,
        .score = score,
        .count = count,
        .print_json = print_json,
        .print_table = print_table,
    };
    const int code = cli_evaluate(&e, argc, argv);
    for (size_t i = 0; i < r.n; i++)
        free(r.rows[i].name);
    free(r.rows);
    cli_session_close(&r.docs);
    return code;
}

const cli_command cli_eval_retrieval_command = {
    .name = "retrieval",
    .summary = "retrieval in groups of texts and BEIR folders: recall, MRR, nDCG",
    .run = run_command,
};
