/* SPDX-License-Identifier: MIT
 * Implements `aoe search`: prints the best passages of an index for one query or for many. The index is brought up to
 * date first. Reranking reads the best passages of the search again with a cross-encoder. The exit code is 0 if a
 * passage was found, 1 if none was found, and 2 after an error.
 */
#include "aoe_data.h"
#include "base/utf8.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/common/text_files.h"
#include "cli/common/words.h"
#include "cli/search/hit_output.h"
#include "cli/search/index_session.h"
#include "cli/search/path_patterns.h"
#include "cli/search/place.h"
#include "cli/search/server.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Queries of a file are searched in batches of at most BATCH queries. */
enum { BATCH = 256, BATCH_BYTES = 1 << 20 };
enum { FOUND = 0, NOTHING = 1, FAILED = 2 }; /* exit codes */

/* Weights of the two halves of a hybrid search. */
typedef struct weights {
    double dense, lexical;
} weights;

typedef struct options {
    cli_general general;
    cli_model_options model;
    aoe_index_search_options search;
    aoei_text_list path; /* --path */
    weights weights;
    const char *index;      /* directory of the index; NULL: the nearest one */
    const char *queries;    /* file of queries; NULL: the query is on the command line */
    const char *rerank;     /* cross-encoder; NULL: none */
    const char *class_name; /* output of the cross-encoder that is the score; NULL: its only output */
    size_t rerank_top;
    cli_refresh refresh;
    cli_server_options server; /* --from */
    int jsonl, files, explain;
    size_t snippet;
} options;

typedef struct job {
    const options *o;
    cli_index index;      /* without an index if a server is searched */
    aoe_postgres *server; /* NULL: a local index is searched */
    cli_session reranker;
    size_t classes, chosen; /* number of outputs of the reranker, and the output that is the score */
    cli_hit_output output;
    cli_text_files input;
    cli_path_patterns paths; /* of --path, complete */
    size_t queries;          /* number of queries that were answered */
    int found;               /* 1: a passage was found */
} job;

/* Parses "DENSE,LEXICAL". */
static int parse_weights(void *target, const char *text, aoe_error *err) {
    weights w;
    char *end;
    w.dense = strtod(text, &end);
    const int first = end > text && *end == ',';
    const char *rest = first ? end + 1 : "";
    w.lexical = strtod(rest, &end);
    if (!first || end == rest || *end || !(w.dense >= 0 && w.lexical >= 0 && w.dense + w.lexical > 0) ||
        !isfinite(w.dense + w.lexical)) {
        snprintf(err->message, sizeof err->message,
                 "'%.40s' is not a pair of weights; give two numbers that are not negative, such as 1,0.5", text);
        return err->code = AOE_EARG;
    }
    *(weights *)target = w;
    return 0;
}

#define SEARCH(name) AOEI_AT(aoe_index_search_options, name)

static const aoei_option search_table[] = {
    {.name = "top",
     .letter = 'k',
     .field = "k",
     .kind = AOEI_OPTION_SIZE,
     .value = "K",
     SEARCH(k),
     .min = 1,
     .most = 100000,
     .help = "number of passages"},
    {.name = "mode",
     .kind = AOEI_OPTION_CHOICE,
     SEARCH(mode),
     .choices = AOEI_CHOICES("hybrid", "dense", "lexical"), /* names of the values of aoe_index_mode */
     .noun = "mode",
     .help = "hybrid (by meaning and by words, combined by their ranks), dense (by meaning: the cosine of the "
             "embeddings) or lexical (by words: BM25; needs no model)"},
    {.name = "where",
     .kind = AOEI_OPTION_TEXT,
     .value = "CONDITION",
     SEARCH(where),
     .help =
         "search only documents whose metadata satisfy the condition, such as \"year >= 2020 and lang = 'en'\"; keys "
         "of all files are name, path, ext and modified",
     .fallback = ""},
    {.name = "min-score",
     .kind = AOEI_OPTION_REAL,
     SEARCH(min_score),
     .min = -AOEI_NO_LIMIT,
     .help = "leave out passages with a lower score. This is useful with --mode dense, in which the score is a cosine "
             "(0.35 is a first value for the default model); the scores of the other modes do not say how relevant a "
             "passage is",
     .fallback = "none"},
    {.name = "fast",
     .kind = AOEI_OPTION_FLAG,
     SEARCH(fast),
     .help = "compare the signs of the vectors first: faster with millions of passages, but some of the best passages "
             "may be missing; aoe index --stats --recall measures how many"},
};

static const aoei_option task_table[] = {
    {.name = "path",
     .kind = AOEI_OPTION_LIST,
     .value = "PATTERN",
     .offset = offsetof(options, path),
     .help = "search only this folder or file, such as src/, '*.md' or, to leave it out, '!tests/'; may be repeated. "
             "Relative paths start in this folder or in the indexed one; * stands for any characters, also slashes, ? "
             "for one",
     .fallback = "all documents"},
    {.name = "weights",
     .kind = AOEI_OPTION_NAMED,
     .value = "DENSE,LEXICAL",
     .offset = offsetof(options, weights),
     .parse = parse_weights,
     .help = "mode hybrid: weights of the ranks by meaning and by words",
     .fallback = "see docs/search.md"},
    {.name = "rerank",
     .kind = AOEI_OPTION_MODEL,
     .value = "DIR",
     .offset = offsetof(options, rerank),
     .help = "cross-encoder that reads the query and the best passages again and orders them by its scores; slower",
     .fallback = "none"},
    {.name = "rerank-top",
     .kind = AOEI_OPTION_SIZE,
     .offset = offsetof(options, rerank_top),
     .min = 1,
     .most = 100000,
     .help = "number of passages that --rerank reads"},
    CLI_OPTION_SCORE_CLASS(.offset = offsetof(options, class_name), "--rerank requires this option"),
    {.name = "queries",
     .kind = AOEI_OPTION_TEXT,
     .value = "FILE",
     .offset = offsetof(options, queries),
     .help = "answer all queries of a file in order: one query per line, or a table with the column text; - for stdin",
     .fallback = ""},
};

static const aoei_option index_table[] = {
    CLI_OPTION_INDEX(.offset = offsetof(options, index)),
    CLI_OPTION_REFRESH(.offset = offsetof(options, refresh), "the search", "a message"),
};

static const aoei_option server_table[] = {
    {.name = "from",
     .kind = AOEI_OPTION_TEXT,
     .value = "URL",
     .offset = offsetof(cli_server_options, url),
     .help =
         "search the copy of an index on a PostgreSQL server (aoe index --to) instead of a local index; the password "
         "is read from PGPASSWORD or ~/.pgpass",
     .fallback = ""},
};

static const aoei_option output_table[] = {
    {.name = "jsonl",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, jsonl),
     .excludes = "json",
     .help = "print one JSON object per passage; --json prints one object per query, with the list of its passages"},
    {.name = "files",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, files),
     .help =
         "print only the names of the files, the best first; with several queries, each answer begins with its query. "
         "With --json, one object per query has the list of the names"},
    {.name = "snippet",
     .kind = AOEI_OPTION_SIZE,
     .offset = offsetof(options, snippet),
     .most = 10000,
     .help = "print at most N lines of each passage, those with most words of the query or, without such "
             "words, its first lines after the headings; 0 for the whole passage. Lines "
             "are wrapped at the width of the terminal, otherwise at 100 columns. JSON always contains the whole "
             "passage"},
    {.name = "explain",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, explain),
     .help = "also print which words of the query were searched, and the ranks and scores of both searches"},
};

/* ------------------------------------------------------------------ rerank */

static int open_reranker(job *j) {
    cli_model_options m;
    cli_model_defaults(&m);
    m.dir = j->o->rerank;
    m.o.cross_encoder = 1;
    m.o.dtype = j->o->model.o.dtype;
    if (cli_session_open(&j->reranker, &j->o->general, &m))
        return 1;
    j->classes = aoe_model_classes(j->reranker.model);
    if (j->o->class_name)
        return cli_session_find_class(&j->chosen, &j->reranker, j->o->class_name);
    if (j->classes != 1)
        return cli_fail(
            "%s: the model has %zu outputs per pair; give the name or number of the output that is the score with "
            "--class",
            j->reranker.dir, j->classes);
    return 0;
}

/* Orders hits with descending scores; passages with equal scores keep their order. */
static int compare(const void *a, const void *b) {
    const cli_hit *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return (x->hit > y->hit) - (x->hit < y->hit); /* pointers into one array */
}

/* Replaces the scores of hits[n] by those of the cross-encoder for the heading and the text, and sorts the hits. */
static int rerank(job *j, aoe_text query, cli_hit *hits, size_t n) {
    aoe_text *text = cli_calloc(2 * n + 1, sizeof *text);
    float *score = cli_calloc(n + 1, j->classes * sizeof *score);
    char **joined = cli_calloc(n + 1, sizeof *joined);
    aoe_error err;
    for (size_t i = 0; i < n; i++) {
        const aoe_index_hit *h = hits[i].hit;
        const size_t heading = h->heading ? strlen(h->heading) : 0;
        joined[i] = cli_realloc(NULL, heading + 1 + h->text.len);
        if (heading)
            memcpy(joined[i], h->heading, heading);
        joined[i][heading] = '\n';
        memcpy(joined[i] + heading + 1, h->text.data, h->text.len);
        text[i] = query;
        text[n + i] = heading ? (aoe_text){joined[i], heading + 1 + h->text.len} : h->text;
    }
    const int code = aoe_score_pairs(j->reranker.embedder, text, text + n, n, score, NULL, &err);
    for (size_t i = 0; i < n; i++) {
        hits[i].score = (double)score[i * j->classes + j->chosen];
        free(joined[i]);
    }
    if (!code && n)
        qsort(hits, n, sizeof *hits, compare);
    free(joined);
    free(score);
    free(text);
    return code ? cli_fail("%s: %s", j->reranker.dir, err.message) : 0;
}

/* ------------------------------------------------------------------ search */

/* Prints the answer to a query. */
static int print_hits(job *j, aoe_text query, const aoe_index_hits *found) {
    const options *o = j->o;
    aoei_query_words terms;
    cli_hit *hits = cli_calloc(found->n + 1, sizeof *hits);
    size_t n = found->n;
    int code = 0;
    for (size_t i = 0; i < n; i++)
        hits[i] = (cli_hit){&found->hit[i], found->hit[i].score};
    if (o->rerank && n) {
        code = rerank(j, query, hits, n);
        n = n < o->search.k ? n : o->search.k;
        while (n && hits[n - 1].score < o->search.min_score)
            n--;
    }
    cli_query_words(&terms, found, query);
    if (!code)
        cli_hit_output_write(&j->output, query, j->queries, found, hits, n, &terms);
    aoei_query_words_free(&terms);
    free(hits);
    j->found |= n > 0;
    j->queries++;
    return code;
}

static int search_queries(job *j, const aoe_text *queries, size_t n) {
    aoe_index_search_options o = j->o->search;
    aoe_index_hits *hits = cli_calloc(n + 1, sizeof *hits);
    aoe_error err;
    for (size_t i = 0; i < n; i++)
        hits[i].struct_size = sizeof hits[i];
    o.path = (const char *const *)j->paths.item;
    o.n_paths = j->paths.n;
    if (j->o->rerank) { /* --min-score applies to the scores of the cross-encoder */
        o.k = o.k > j->o->rerank_top ? o.k : j->o->rerank_top;
        o.min_score = NAN;
    }
    int code = j->server ? cli_server_search(j->server, queries, n, &o, hits, &err)
               : n == 1  ? aoe_index_search(j->index.index, queries[0], &o, hits, &err)
                         : aoe_index_search_many(j->index.index, queries, n, &o, hits, &err);
    if (code)
        code = cli_fail("%s", err.message);
    for (size_t i = 0; i < n; i++) {
        if (!code)
            code = print_hits(j, queries[i], &hits[i]) || ferror(stdout);
        aoe_index_hits_free(&hits[i]);
    }
    free(hits);
    return code;
}

/* Receives a batch of queries. An empty query finds nothing; a program that writes queries to stdin also gets an answer
 * to it. */
static int take_queries(void *user, const cli_batch *batch) {
    job *j = user;
    const aoe_index_hits none = {.struct_size = sizeof none};
    int code = 0;
    if (!batch->empty)
        return search_queries(j, batch->text, batch->n);
    for (size_t i = 0; i < batch->n && !code; i++)
        code = aoei_utf8_is_blank(batch->text[i].data, batch->text[i].len) ? print_hits(j, batch->text[i], &none)
                                                                           : search_queries(j, &batch->text[i], 1);
    return code;
}

/* Answers the queries of a file, or of stdin one by one. */
static int search_file(job *j, const char *path, size_t batch) {
    aoe_table_options table;
    const cli_args file = {.operand = &path, .n = 1};
    aoe_table_options_defaults(&table);
    cli_set_table_log(&table);
    cli_batch_create(&j->input.batch, batch, BATCH_BYTES);
    j->input.use = take_queries;
    j->input.user = j;
    return cli_text_files_read(&j->input, &file, &table);
}

/* Joins the words of a query, which may be one argument or several. */
static char *join_words(const cli_args *args) {
    size_t bytes = 1;
    for (size_t i = 0; i < args->n; i++)
        bytes += strlen(args->operand[i]) + 1;
    char *query = cli_calloc(bytes, 1), *to = query;
    for (size_t i = 0; i < args->n; i++) {
        const size_t n = strlen(args->operand[i]);
        if (i)
            *to++ = ' ';
        memcpy(to, args->operand[i], n);
        to += n;
    }
    return query;
}

/* Opens the index, or the table of the server. */
static int open_index(job *j) {
    const options *o = j->o;
    const int with_model = o->search.mode != AOE_INDEX_LEXICAL;
    if (o->server.url)
        return cli_server_open(&j->server, &o->server, &j->index, with_model);
    return cli_index_find(&j->index, o->index) || cli_index_open_search(&j->index, o->refresh, o->search.mode);
}

/* Reads the patterns of --path. The documents of a server have no paths. */
static void set_paths(job *j) {
    const aoei_text_list *list = &j->o->path;
    char *here = cli_absolute_path(".");
    const char *const folder[] = {here, NULL};
    for (size_t i = 0; i < list->n; i++)
        cli_path_patterns_add(&j->paths, list->item[i], strlen(list->item[i]), j->o->server.url ? NULL : folder);
    free(here);
}

static int run_job(job *j, const cli_args *args) {
    const options *o = j->o;
    set_paths(j);
    j->index = (cli_index){.general = &o->general, .model = &o->model};
    if ((o->rerank && open_reranker(j)) || open_index(j))
        return 1;
    cli_hit_output_begin(&j->output);
    if (o->queries)
        return search_file(j, o->queries, BATCH);
    if (args->n == 1 && !strcmp(args->operand[0], "-"))
        return search_file(j, "-", 1);
    char *query = join_words(args);
    const aoe_text text = aoe_text_of(query);
    const int code = search_queries(j, &text, 1);
    free(query);
    return code;
}

static void free_job(job *j) {
    cli_hit_output_end(&j->output);
    cli_batch_destroy(&j->input.batch);
    cli_path_patterns_free(&j->paths);
    cli_session_close(&j->reranker);
    aoe_postgres_close(j->server);
    cli_index_close(&j->index);
}

/* Checks that the options fit together. */
static int check(options *o, const cli_args *args) {
    int blank = 1;
    for (size_t i = 0; i < args->n; i++)
        blank &= aoei_utf8_is_blank(args->operand[i], strlen(args->operand[i]));
    if (!o->queries && blank)
        return cli_usage("search", "give a query, or --queries FILE");
    if (o->queries && args->n)
        return cli_usage("search", "--queries and a query exclude each other; remove '%s'", args->operand[0]);
    if (o->files && o->jsonl)
        return cli_usage("search", "--files and --jsonl exclude each other; --json prints the list of the files");
    if (cli_given(args, "weights")) {
        if (o->search.mode != AOE_INDEX_HYBRID)
            return cli_usage("search", "--weights requires --mode hybrid");
        o->search.dense_weight = o->weights.dense;
        o->search.lexical_weight = o->weights.lexical;
    }
    if (o->server.table && !o->server.url)
        return cli_usage("search", "--table requires --from");
    if (o->server.url && (o->index || o->search.fast || cli_given(args, "refresh")))
        return cli_usage("search", "--from and --%s exclude each other",
                         o->index         ? "index"
                         : o->search.fast ? "fast"
                                          : "refresh");
    if (!o->rerank && (cli_given(args, "rerank-top") || o->class_name))
        return cli_usage("search", "--%s requires --rerank", o->class_name ? "class" : "rerank-top");
    return CLI_GO;
}

/* Returns 1 if a pattern of "like" in the condition contains '*' but no '%', which is the wildcard. */
static int has_star_pattern(const char *where) {
    for (const char *at = where; at && *at; at++) {
        if (*at != '\'' && *at != '"' && *at != '`')
            continue;
        const char *end = strchr(at + 1, *at), *word = at;
        if (!end)
            return 0;
        while (word > where && isspace((unsigned char)word[-1]))
            word--;
        const size_t n = (size_t)(end - at);
        if (word - where >= 4 && strncasecmp(word - 4, "like", 4) == 0 && memchr(at, '*', n) && !memchr(at, '%', n))
            return 1;
        at = end;
    }
    return 0;
}

static void note_nothing(const job *j) {
    if (has_star_pattern(j->o->search.where))
        cli_note("nothing found; in a pattern of \"like\", %% stands for any characters and * for itself");
    else
        cli_note(j->paths.n ? "nothing found in the documents that --path selects" : "nothing found");
}

static int search(const options *o, const cli_args *args) {
    job j = {.o = o,
             .output = {.format = o->files          ? (o->general.json ? CLI_HITS_FILES_JSON : CLI_HITS_FILES)
                                  : o->jsonl        ? CLI_HITS_JSONL
                                  : o->general.json ? CLI_HITS_JSON
                                                    : CLI_HITS_TEXT,
                        .words = o->search.mode != AOE_INDEX_DENSE,
                        .snippet = o->snippet,
                        .explain = o->explain,
                        .many = o->queries || (args->n == 1 && !strcmp(args->operand[0], "-")),
                        .rerank = o->rerank}};
    cli_set_quiet(o->general.quiet);
    const int code = run_job(&j, args);
    if (!code && !j.found)
        note_nothing(&j);
    free_job(&j);
    return code ? FAILED : j.found ? FOUND : NOTHING;
}

static int run_command(int argc, char **argv) {
    options o = {.rerank_top = 50, .snippet = 3};
    aoe_index_search_options_defaults(&o.search);
    cli_general_defaults(&o.general);
    cli_model_defaults(&o.model);
    const cli_group groups[] = {
        CLI_FIELDS("search", search_table, aoe_index_search_options, &o.search),
        CLI_GROUP("search", task_table, &o),
        CLI_GROUP("index", index_table, &o),
        CLI_GROUP("index", server_table, &o.server),
        CLI_ROWS("index", cli_server_table, CLI_SERVER_COUNT, &o.server),
        CLI_GROUP("output", output_table, &o),
        CLI_INDEX_MODEL_GROUPS("model", &o.model),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.general),
    };
    const cli_syntax syntax = {
        .command = "search",
        .operands = "QUERY",
        .about = "Prints the passages of an index (aoe index) that answer the query best, with their files, lines,\n"
                 "headings and scores. Several arguments form one query. If QUERY is -, each line of stdin is a\n"
                 "query, which is answered at once. Without -m, the model is used with which the index was created.\n"
                 "The exit code is 0 if a passage was found, 1 if none was found, and 2 after an error.\n",
        .examples = "  aoe search 'how do I renew the certificate'\n"
                    "  aoe search --path src/ --path '!*/tests/*' 'where is the cache written'\n"
                    "  aoe search -k 3 --where \"year >= 2020\" --json renewal of certificates\n",
        CLI_GROUPS(groups),
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO)
        code = check(&o, &args);
    if (code == CLI_GO)
        code = search(&o, &args);
    else if (code)
        code = FAILED;
    cli_args_free(&args);
    return code;
}

const cli_command cli_search_command = {
    .name = "search",
    .summary = "find passages in an index by meaning and by words",
    .run = run_command,
};
