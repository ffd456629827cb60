/* SPDX-License-Identifier: MIT
 * compatibility DIR: calls the library with every extensible struct of the public headers and prints the results. DIR
 * is an empty directory for files. The program is compiled twice: with the current headers, and with headers that lack
 * the last field of every extensible struct (tools/old_header.awk). Both programs must print the same. The bytes after
 * each struct are set to a pattern; the program checks that the library does not change them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aoe.h"
#include "aoe_annotate.h"
#include "aoe_collect.h"
#include "aoe_comm.h"
#include "aoe_convert.h"
#include "aoe_data.h"
#include "aoe_eval.h"
#include "aoe_experiment.h"
#include "aoe_hub.h"
#include "aoe_index.h"
#include "aoe_objective.h"
#include "aoe_plan.h"
#include "aoe_postgres.h"
#include "aoe_tokenizer.h"
#include "aoe_train.h"

enum { GUARD = 512, MAX_STRUCTS = 512, PATTERN = 0xA5 };

static struct {
    unsigned char *bytes;
    size_t size;
} structs[MAX_STRUCTS];
static size_t n_structs;

/* Returns memory whose bytes are the pattern, followed by guard bytes. */
static void *new_memory(size_t size) {
    unsigned char *p = malloc(size + GUARD);
    if (!p || n_structs == MAX_STRUCTS)
        exit(2);
    memset(p, PATTERN, size + GUARD);
    structs[n_structs].bytes = p;
    structs[n_structs++].size = size;
    return p;
}

#define NEW(type) ((type *)new_memory(sizeof(type)))
/* Declares a pointer to a result struct. */
#define RESULT(type, name)                                                                                             \
    type *name = NEW(type);                                                                                            \
    name->struct_size = sizeof *name
/* Declares a pointer to an options struct with default values. */
#define OPTIONS(type, name)                                                                                            \
    type *name = NEW(type);                                                                                            \
    type##_defaults(name)

/* Checks the guard bytes of all structs and frees the structs. */
static int finish(void) {
    int bad = 0;
    for (size_t i = 0; i < n_structs; i++) {
        for (size_t k = 0; k < GUARD; k++)
            bad |= structs[i].bytes[structs[i].size + k] != PATTERN;
        free(structs[i].bytes);
    }
    return bad;
}

static aoe_error err;
static char folder[512];

static int report(const char *what, int code) {
    printf("%s: %d%s%s\n", what, code, code ? " " : "", code ? err.message : "");
    return code;
}

/* Returns the path of a file in the folder. */
static const char *path_of(const char *name) {
    char *path = new_memory(strlen(folder) + strlen(name) + 2);
    sprintf(path, "%s/%s", folder, name);
    return path;
}

static const char *write_file(const char *name, const char *text) {
    const char *path = path_of(name);
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f))
        exit(2);
    return path;
}

static int count_bytes(void *user, size_t part, const char *data, size_t len) {
    (void)user;
    (void)data;
    printf("write part %zu: %zu bytes\n", part, len);
    return 0;
}

/* ---- models */

static aoe_model *model_functions(aoe_context *ctx, const char *dir, const char *texts) {
    OPTIONS(aoe_init_options, init);
    RESULT(aoe_init_result, init_result);
    init->shape.hidden = 16;
    init->shape.layers = 2;
    init->shape.heads = 2;
    init->shape.intermediate = 32;
    init->shape.positions = 32;
    init->shape.architecture = NULL;
    init->texts = &texts;
    init->n_texts = 1;
    init->vocab_size = 60;
    if (report("aoe_init", aoe_init(ctx, dir, init, init_result, &err)))
        exit(1);
    printf("parameters %zu hidden %zu layers %zu\n", init_result->parameters, init_result->hidden, init_result->layers);
    OPTIONS(aoe_model_options, o);
    aoe_model *m;
    o->max_length = 16;
    if (report("aoe_model_open", aoe_model_open(&m, ctx, dir, o, &err)))
        exit(1);
    RESULT(aoe_model_info, info);
    aoe_model_get_info(m, info);
    printf("%s, %zu layers, max_length %zu, similarity %s\n", info->architecture, info->layers, info->max_length,
           info->similarity);
    RESULT(aoe_shape, shape);
    report("aoe_shape_named", aoe_shape_named(shape, "bert-tiny", &err));
    OPTIONS(aoe_plan_options, plan);
    RESULT(aoe_memory_plan, memory);
    plan->length = 8;
    report("aoe_model_plan", aoe_model_plan(m, plan, memory, &err));
    printf("weights %zu training %zu\n", memory->weights, memory->training);
    report("aoe_shape_plan", aoe_shape_plan(ctx, shape, plan, memory, &err));
    printf("weights %zu training %zu\n", memory->weights, memory->training);
    OPTIONS(aoe_encode_options, encode);
    aoe_ids ids = {0};
    encode->max_length = 6;
    report("aoe_encode_options_of", aoe_encode_options_of(encode, dir, &err));
    report("aoe_tokenizer_encode",
           aoe_tokenizer_encode(aoe_model_tokenizer(m), aoe_text_of("a b c d"), encode, &ids, &err));
    printf("%zu tokens\n", ids.n);
    aoe_ids_free(&ids);
    return m;
}

static void conversions(aoe_context *ctx, const char *dir, const char *texts) {
    OPTIONS(aoe_convert_options, convert);
    RESULT(aoe_convert_result, converted);
    convert->storage = AOE_STORAGE_BF16;
    report("aoe_convert", aoe_convert(ctx, dir, path_of("bf16"), convert, converted, &err));
    printf("%s to %s, %zu parameters\n", converted->from, converted->to, converted->parameters);
    report("aoe_average", aoe_average(ctx, &dir, 1, path_of("mean"), convert, converted, &err));
    OPTIONS(aoe_whiten_options, whiten);
    RESULT(aoe_whiten_result, whitened);
    whiten->texts = &texts;
    whiten->n_texts = 1;
    whiten->dims = 4;
    report("aoe_whiten", aoe_whiten(ctx, dir, path_of("white"), whiten, whitened, &err));
    printf("texts %zu dims %zu\n", whitened->texts, whitened->dims);
    OPTIONS(aoe_flow_options, flow);
    RESULT(aoe_flow_result, fitted);
    flow->texts = &texts;
    flow->n_texts = 1;
    report("aoe_flow", aoe_flow(ctx, dir, path_of("flow"), flow, fitted, &err));
    printf("texts %zu steps %zu bits %.6g\n", fitted->texts, fitted->steps, fitted->bits_start);
    OPTIONS(aoe_word_vectors_options, words);
    RESULT(aoe_word_vectors_result, read);
    const char *vectors = write_file("words.txt", "one 1 2\ntwo 3 4\n");
    report("aoe_word_vectors", aoe_word_vectors(ctx, vectors, path_of("static"), words, read, &err));
    printf("words %zu dims %zu\n", read->words, read->dims);
}

/* ---- evaluations */

static void on_sts(void *user, const aoe_sts_result *r) {
    (void)user;
    printf("sts %s: %zu pairs, spearman %.6g\n", r->name, r->pairs, r->spearman);
}

static void on_binary(void *user, const aoe_binary_result *r) {
    (void)user;
    printf("binary %s: %zu pairs, spearman %.6g\n", r->name, r->pairs, r->spearman);
}

static void on_triplets(void *user, const aoe_triplet_result *r) {
    (void)user;
    printf("triplets %s: %zu, accuracy %.6g\n", r->name, r->triplets, r->accuracy);
}

static void on_retrieval(void *user, const aoe_retrieval_result *r) {
    (void)user;
    printf("retrieval %s: %zu queries, mrr %.6g\n", r->name, r->queries, r->mrr);
}

static void on_suite(void *user, const aoe_suite_result *r) {
    (void)user;
    printf("suite %s\n", r->name);
}

static void an_index(aoe_embedder *e) {
    OPTIONS(aoe_index_options, o);
    RESULT(aoe_index_stats, stats);
    aoe_index *index;
    const char *dir = path_of("index");
    o->store = AOE_INDEX_BF16;
    if (report("aoe_index_open", aoe_index_open(&index, dir, AOE_INDEX_WRITE, e, o, &err)))
        return;
    const aoe_index_document documents[2] = {
        {.struct_size = sizeof(aoe_index_document), .name = "one", .text = aoe_text_of("a b c")},
        {.struct_size = sizeof(aoe_index_document), .name = "two", .text = aoe_text_of("d e")}};
    report("aoe_index_add", aoe_index_add(index, documents, 2, &err));
    report("aoe_index_commit", aoe_index_commit(index, &err));
    report("aoe_index_get_stats", aoe_index_get_stats(index, stats, &err));
    printf("documents %zu passages %zu dims %zu\n", stats->documents, stats->passages, stats->dims);
    OPTIONS(aoe_index_search_options, search);
    RESULT(aoe_index_hits, hits);
    search->k = 1;
    report("aoe_index_search", aoe_index_search(index, aoe_text_of("d"), search, hits, &err));
    for (size_t i = 0; i < hits->n; i++)
        printf("hit %s, lexical rank %zu\n", hits->hit[i].name, hits->hit[i].lexical_rank);
    aoe_index_hits_free(hits);
    aoe_index_close(index);
}

static void evaluations(aoe_model *m, const char *pairs, const char *triplets, const char *groups) {
    OPTIONS(aoe_embedder_options, o);
    aoe_embedder *e;
    o->batch_tokens = 64;
    report("aoe_embedder_create", aoe_embedder_create(&e, m, o, &err));
    OPTIONS(aoe_sts_options, sts);
    sts->table.skip_bad_rows = 1;
    report("aoe_eval_sts", aoe_eval_sts(e, &pairs, 1, sts, on_sts, NULL, &err));
    OPTIONS(aoe_table_options, table);
    aoe_pairs *loaded;
    RESULT(aoe_sts_result, result);
    report("aoe_pairs_load", aoe_pairs_load(&loaded, pairs, table, &err));
    report("aoe_eval_pairs", aoe_eval_pairs(e, loaded, result, &err));
    printf("%zu pairs, spearman %.6g\n", result->pairs, result->spearman);
    aoe_pairs_free(loaded);
    OPTIONS(aoe_binary_options, binary);
    binary->positive_from = 0.5;
    report("aoe_eval_binary", aoe_eval_binary(e, &pairs, 1, binary, on_binary, NULL, &err));
    OPTIONS(aoe_triplet_options, triplet);
    report("aoe_eval_triplets", aoe_eval_triplets(e, &triplets, 1, triplet, on_triplets, NULL, &err));
    OPTIONS(aoe_retrieval_options, retrieval);
    report("aoe_eval_retrieval", aoe_eval_retrieval(e, &groups, 1, retrieval, on_retrieval, NULL, &err));
    OPTIONS(aoe_suite_options, suite);
    const char *nothing = "/nonexistent";
    report("aoe_eval_suite", aoe_eval_suite(e, &nothing, 1, suite, on_suite, NULL, &err));
    OPTIONS(aoe_rerank_options, rerank);
    RESULT(aoe_rerank_result, reranked);
    report("aoe_eval_rerank", aoe_eval_rerank(e, nothing, rerank, reranked, &err));
    printf("%zu queries\n", reranked->queries);
    OPTIONS(aoe_mine_options, mine);
    RESULT(aoe_mine_result, mined);
    mine->files = &triplets;
    mine->n_files = 1;
    mine->range = 2;
    report("aoe_mine", aoe_mine(e, mine, mined, &err));
    printf("rows %zu triplets %zu positive_score %.6g\n", mined->rows, mined->triplets, mined->positive_score);
    an_index(e);
    aoe_embedder_destroy(e);
}

static void statistics(aoe_context *ctx) {
    const double gold[] = {0, 1, 2, 3}, x[] = {0.1, 0.4, 0.3, 0.9};
    aoe_interval interval;
    OPTIONS(aoe_bootstrap_options, o);
    report("aoe_bootstrap_spearman", aoe_bootstrap_spearman(gold, 4, x, NULL, 1, o, &interval, &err));
    printf("%.6g %.6g\n", interval.low, interval.high);
    const float u[] = {1, 0, 0, 1}, v[] = {1, 1, 0, 2};
    OPTIONS(aoe_objective_options, objective);
    RESULT(aoe_objective_result, loss);
    const double label[] = {0, 1};
    objective->w_angle = 0.5;
    report("aoe_objective", aoe_objective(objective, u, v, 2, label, NULL, 2, 2, NULL, NULL, loss, &err));
    printf("total %.6g positive pairs %zu\n", loss->total, loss->positive_pairs);
    report("aoe_contrastive", aoe_contrastive(objective, u, 2, 1, 2, NULL, loss, &err));
    printf("total %.6g\n", loss->total);
    OPTIONS(aoe_bench_options, bench);
    RESULT(aoe_bench_result, measured);
    report("aoe_shape_named", aoe_shape_named(&bench->shape, "bert-tiny", &err));
    bench->texts = 2;
    bench->length = 4;
    bench->runs = 5;
    report("aoe_bench", aoe_bench(ctx, bench, measured, &err));
    printf("%zu tokens\n", measured->tokens);
}

/* ---- data */

static void on_conflict(void *user, const aoe_data_conflict *c) {
    (void)user;
    printf("conflict: lines %zu and %zu\n", c->first, c->line);
}

static void on_finding(void *user, const aoe_finding *f) {
    (void)user;
    printf("finding %s: line %zu\n", aoe_finding_name(f->kind), f->line);
}

static int on_similar(void *user, size_t first, size_t second, double cosine) {
    (void)user;
    printf("similar: rows %zu and %zu, cosine %.6g\n", first, second, cosine);
    return 0;
}

static void data_tools(aoe_context *ctx, const char *pairs) {
    OPTIONS(aoe_data_convert_options, convert);
    RESULT(aoe_data_convert_result, converted);
    convert->name = "x.jsonl";
    convert->to = AOE_EXAMPLES_POSITIVES;
    convert->write = count_bytes;
    report("aoe_data_convert", aoe_data_convert(pairs, convert, converted, &err));
    printf("rows %zu written %zu\n", converted->rows, converted->written);
    OPTIONS(aoe_data_split_options, split);
    RESULT(aoe_data_split_result, parts);
    aoe_data_split_part part[3];
    split->write = count_bytes;
    report("aoe_data_split", aoe_data_split(pairs, split, part, parts, &err));
    printf("rows %zu clusters %zu, first part %zu\n", parts->rows, parts->clusters, part[0].rows);
    OPTIONS(aoe_data_dedup_options, dedup);
    RESULT(aoe_data_dedup_result, kept);
    dedup->write = count_bytes;
    dedup->report = on_conflict;
    report("aoe_data_dedup", aoe_data_dedup(pairs, dedup, kept, &err));
    printf("rows %zu kept %zu\n", kept->rows, kept->kept);
    OPTIONS(aoe_similar_options, similar);
    RESULT(aoe_similar_result, groups);
    const float vectors[] = {1, 0, 2, 0, 0, 1};
    similar->report = on_similar;
    report("aoe_find_similar", aoe_find_similar(ctx, vectors, 3, 2, similar, NULL, groups, &err));
    printf("pairs %zu groups %zu\n", groups->pairs, groups->groups);
    OPTIONS(aoe_data_stats_options, stats);
    RESULT(aoe_data_stats_result, counted);
    report("aoe_data_stats", aoe_data_stats(pairs, stats, counted, &err));
    printf("rows %zu labels %zu, words %.6g\n", counted->rows, counted->labels, counted->words.mean);
    aoe_data_stats_free(counted);
    OPTIONS(aoe_data_check_options, check);
    RESULT(aoe_data_check_result, found);
    check->report = on_finding;
    report("aoe_data_check", aoe_data_check(&pairs, 1, check, found, &err));
    printf("rows %zu duplicates %zu\n", found->rows, found->found[AOE_FINDING_DUPLICATE]);
}

static int on_prompt(void *user, const aoe_chat_model *model, aoe_text prompt) {
    (void)user;
    printf("prompt for %s: %zu bytes\n", model->name, prompt.len);
    return 0;
}

static void chats(const char *pairs) {
    aoe_chat_model *models = new_memory(2 * sizeof *models);
    aoe_chat_model_defaults(&models[0]);
    aoe_chat_model_defaults(&models[1]);
    models[0].name = "first";
    models[1].name = "second";
    models[0].api = models[1].api = "http://127.0.0.1:1/v1";
    OPTIONS(aoe_annotate_options, annotate);
    RESULT(aoe_annotate_result, annotated);
    annotated->chat.struct_size = sizeof annotated->chat;
    annotate->chat.models = models;
    annotate->chat.n_models = 2;
    annotate->chat.dry_run = 1;
    annotate->chat.prompt = on_prompt;
    annotate->files = &pairs;
    annotate->n_files = 1;
    annotate->name = "out.tsv";
    report("aoe_annotate", aoe_annotate(annotate, annotated, &err));
    printf("texts %zu calls %zu left %zu\n", annotated->texts, annotated->chat.calls, annotated->chat.left);
    OPTIONS(aoe_score_options, score);
    RESULT(aoe_score_result, scored);
    scored->chat.struct_size = sizeof scored->chat;
    score->chat.models = models;
    score->chat.n_models = 2;
    score->chat.dry_run = 1;
    score->file = pairs;
    score->name = "out.tsv";
    report("aoe_score", aoe_score(score, scored, &err));
    printf("rows %zu calls %zu\n", scored->rows, scored->chat.calls);
    OPTIONS(aoe_hub_options, hub);
    RESULT(aoe_hub_result, pulled);
    hub->token = "";
    report("aoe_hub_pull", aoe_hub_pull("not a name", hub, pulled, &err));
    printf("%zu files\n", pulled->files);
    OPTIONS(aoe_github_options, github);
    RESULT(aoe_github_result, issues);
    report("aoe_github_issues", aoe_github_issues(github, issues, &err));
    printf("%zu issues\n", issues->issues);
}

/* ---- training */

static int on_event(void *user, const aoe_train_event *e) {
    (void)user;
    if (e->kind == AOE_TRAIN_STEP)
        printf("step %zu of %zu: loss %.6g, %zu positive pairs\n", e->step, e->steps, e->loss->total,
               e->loss->positive_pairs);
    return 0;
}

static void training(aoe_context *ctx, const char *dir, const char *pairs, const char *triplets) {
    aoe_train_data *data = new_memory(2 * sizeof *data);
    aoe_train_data_defaults(&data[0], pairs);
    aoe_train_data_defaults(&data[1], triplets);
    data[1].weight = 2;
    OPTIONS(aoe_train_options, o);
    o->args.model = dir;
    o->args.output = path_of("trained");
    o->args.max_steps = 3;
    o->args.lr = 1e-3;
    o->args.event = on_event;
    o->args.model_options.max_length = 12;
    o->objective.tau_ibn = 0.1;
    o->lora.r = 2;
    o->layers.temperature = 0.5;
    o->data = data;
    o->n_data = 2;
    o->batch_size = 4;
    RESULT(aoe_train_sizes, sizes);
    report("aoe_train_check", aoe_train_check(o, &err));
    report("aoe_train_check_data", aoe_train_check_data(ctx, o, sizes, &err));
    printf("length %zu, %zu texts per batch\n", sizes->length, aoe_train_batch_texts(o, 2));
    report("aoe_train", aoe_train(ctx, o, &err));
    OPTIONS(aoe_plan_options, plan);
    RESULT(aoe_memory_plan, memory);
    report("aoe_shape_named", 0);
    RESULT(aoe_shape, shape);
    aoe_shape_named(shape, "bert-tiny", NULL);
    report("aoe_shape_plan", aoe_shape_plan(ctx, shape, plan, memory, &err));
    aoe_train_method_defaults(o, AOE_METHOD_CONSERT);
    printf("method %d, view %d with rate %.6g, tau_ibn %.6g, lr %.6g\n", (int)o->method, (int)o->views[0].kind,
           o->views[0].rate, o->objective.tau_ibn, o->args.lr);
    OPTIONS(aoe_pretrain_options, pretrain);
    pretrain->args.model = dir;
    pretrain->args.output = path_of("pretrained");
    pretrain->args.max_steps = 2;
    pretrain->args.event = on_event;
    static const char *const words[] = {"a", "b", "c", "d", "one", "two", "three", "cat", "dog", "sun"};
    char many[1 << 15] = "words\n";
    for (int i = 0; i < 1000; i++)
        sprintf(many + strlen(many), "%s %s %s\n", words[i % 10], words[i / 10 % 10], words[i / 100]);
    const char *texts = write_file("many.tsv", many);
    pretrain->texts = &texts;
    pretrain->n_texts = 1;
    pretrain->table.columns = "text=words";
    pretrain->batch_size = 2;
    report("aoe_pretrain", aoe_pretrain(ctx, pretrain, &err));
}

static int on_experiment(void *user, const aoe_experiment_event *e) {
    (void)user;
    if (e->kind == AOE_EXPERIMENT_START)
        printf("%zu runs\n", e->runs);
    return 0;
}

static void experiments(const char *dir, const char *pairs) {
    aoe_train_data *data = new_memory(2 * sizeof *data);
    aoe_train_data_defaults(&data[0], pairs);
    aoe_train_data_defaults(&data[1], pairs);
    aoe_configuration *c = new_memory(2 * sizeof *c);
    for (int i = 0; i < 2; i++) {
        aoe_configuration_defaults(&c[i]);
        c[i].name = i ? "high" : "low";
        c[i].train.args.model = dir;
        c[i].train.args.max_steps = 1;
        c[i].train.args.lr = i ? 1e-3 : 1e-4;
        c[i].train.data = data;
        c[i].train.n_data = 2;
        c[i].train.batch_size = 4;
    }
    aoe_evaluation_file *files = new_memory(2 * sizeof *files);
    aoe_evaluation_file_defaults(&files[0]);
    aoe_evaluation_file_defaults(&files[1]);
    files[0].path = pairs;
    files[1].path = write_file("other.tsv", "text1\ttext2\tlabel\na b\tb c\t1\nc d\ta\t0\nd\te f\t0.5\n");
    OPTIONS(aoe_compare_options, o);
    RESULT(aoe_compare_result, r);
    o->experiment.output = path_of("compared");
    o->experiment.configurations = c;
    o->experiment.n_configurations = 2;
    o->experiment.dev = files;
    o->experiment.files = files;
    o->experiment.n_files = 2;
    o->experiment.event = on_experiment;
    o->bootstrap.replicates = 20;
    report("aoe_compare", aoe_compare(o, r, &err));
    for (size_t i = 0; i < r->n; i++)
        printf("file %zu configuration %zu: %.6g, interval %.6g %.6g\n", r->rows[i]->file, r->rows[i]->configuration,
               r->rows[i]->scores[0], r->rows[i]->mean.low, r->rows[i]->mean.high);
    aoe_compare_result_free(r);
    OPTIONS(aoe_grid_options, grid);
    RESULT(aoe_grid_result, ranked);
    report("aoe_grid", aoe_grid(grid, ranked, &err));
    printf("%zu rows\n", ranked->n);
    aoe_grid_result_free(ranked);
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    snprintf(folder, sizeof folder, "%s", argv[1]);
    const char *pairs = write_file("pairs.tsv", "text1\ttext2\tlabel\na b c\ta b\t1\nc d\te f\t0\na b c\ta b\t1\n"
                                                "one two\ttwo one\t1\nthree\tfour five\t0\nsix\tsix seven\t1\n"
                                                "a c\tb d\t0.5\ne\te f g\t0.9\n");
    const char *triplets = write_file("triplets.tsv", "query\tpositive\tnegative\na b\ta b c\td e\nc\tc d\tf\n"
                                                      "one\tone two\tsix\nfour\tfour five\tseven\n");
    const char *groups = write_file("groups.tsv", "group\ttext\n1\ta b\n1\ta b c\n2\tone\n2\tone two\n");
    const char *texts = write_file("texts.txt", "a b c d e f g\none two three four five six seven\nthe cat sat\n"
                                                "a dog runs fast\nbirds sing\nwe read books\nsnow is cold\nsun\n");
    const char *dir = path_of("model");
    OPTIONS(aoe_context_options, o);
    aoe_context *ctx;
    o->threads = 2;
    if (report("aoe_context_create", aoe_context_create(&ctx, o, &err)))
        return 1;
    aoe_model *m = model_functions(ctx, dir, texts);
    conversions(ctx, dir, texts);
    evaluations(m, pairs, triplets, groups);
    statistics(ctx);
    data_tools(ctx, pairs);
    chats(pairs);
    training(ctx, dir, pairs, triplets);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    experiments(dir, pairs);
    const int bad = finish();
    printf("bytes after the structs: %s\n", bad ? "CHANGED" : "unchanged");
    return bad;
}
