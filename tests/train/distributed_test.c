/* SPDX-License-Identifier: MIT
 * covers: train/agreement train/partitioned_step
 * Training with several ranks, which are processes on this computer. Weights, moments, logs without times, and
 * checkpoints have the bits of one process, for every pair of values of the method and the options that change how a
 * gradient is computed. AOE_TEST_RANKS=all trains each variant with all numbers of ranks, not only with those of its
 * row.
 * Runs can be resumed with another number of ranks. Ranks that differ are rejected with one message that names them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <jansson.h>

#include "../support/comm_fork.h"
#include "../support/support.h"
#include "../support/tiny_mlm.h"
#include "../support/train_run.h"
#include "aoe_eval.h"
#include "aoe_train.h"
#include "base/alloc.h"
#include "base/dir.h"
#include "base/file.h"
#include "base/path.h"
#include "train/method.h"
#include "train/methods.h"

enum { SHARDS = 8 };

/* What varies among the runs. */
typedef struct variant {
    aoe_method method;
    aoe_example_kind form; /* AOE_EXAMPLES_AUTO: pairs */
    int bf16, teacher, lora, recompute, matryoshka, layers;
    size_t accumulate, chunk, batch; /* accumulate, chunk: 0: not used; batch: 0: that of train_run_create */
    aoe_optimizer optimizer;
    int ranks[3]; /* numbers of ranks that train the variant unless AOE_TEST_RANKS is set; 0: none */
} variant;

/* Every pair of values of the factors below that aoe accepts, and of each of them with each number of ranks, occurs in
 * this table (every_pair_of_values_occurs). Then come options that are no factors. */
static const variant variants[] = {
    {.method = AOE_METHOD_ANGLE,
     .form = AOE_EXAMPLES_POSITIVES,
     .bf16 = 1,
     .teacher = 1,
     .chunk = 1,
     .accumulate = 2,
     .batch = 6,
     .ranks = {1, 2}},
    {.method = AOE_METHOD_ANGLE, .form = AOE_EXAMPLES_TRIPLETS, .lora = 1, .recompute = 1, .batch = 7, .ranks = {3, 4}},
    {.method = AOE_METHOD_ANGLE,
     .form = AOE_EXAMPLES_PAIRS,
     .bf16 = 1,
     .teacher = 1,
     .lora = 1,
     .batch = 8,
     .ranks = {5, 8}},
    {.method = AOE_METHOD_COSENT,
     .form = AOE_EXAMPLES_PAIRS,
     .chunk = 2,
     .recompute = 1,
     .accumulate = 3,
     .batch = 9,
     .ranks = {2, 3, 4}},
    {.method = AOE_METHOD_COSENT,
     .form = AOE_EXAMPLES_TRIPLETS,
     .bf16 = 1,
     .teacher = 1,
     .lora = 1,
     .batch = 6,
     .ranks = {1, 5, 8}},
    {.method = AOE_METHOD_SBERT_CLASSIFICATION, .form = AOE_EXAMPLES_PAIRS, .batch = 7, .ranks = {3, 4, 5}},
    {.method = AOE_METHOD_SBERT_CLASSIFICATION,
     .form = AOE_EXAMPLES_PAIRS,
     .bf16 = 1,
     .teacher = 1,
     .lora = 1,
     .chunk = 1,
     .recompute = 1,
     .accumulate = 2,
     .batch = 8,
     .ranks = {1, 2, 8}},
    {.method = AOE_METHOD_SBERT_REGRESSION,
     .form = AOE_EXAMPLES_PAIRS,
     .teacher = 1,
     .accumulate = 3,
     .batch = 9,
     .ranks = {4, 5, 8}},
    {.method = AOE_METHOD_SBERT_REGRESSION,
     .form = AOE_EXAMPLES_PAIRS,
     .bf16 = 1,
     .lora = 1,
     .chunk = 1,
     .recompute = 1,
     .batch = 6,
     .ranks = {1, 2, 3}},
    {.method = AOE_METHOD_SIMCSE_UNSUP,
     .form = AOE_EXAMPLES_TEXTS,
     .teacher = 1,
     .lora = 1,
     .chunk = 2,
     .recompute = 1,
     .batch = 7,
     .ranks = {1, 5, 8}},
    {.method = AOE_METHOD_SIMCSE_UNSUP,
     .form = AOE_EXAMPLES_TEXTS,
     .bf16 = 1,
     .accumulate = 2,
     .batch = 8,
     .ranks = {2, 3, 4}},
    {.method = AOE_METHOD_SIMCSE_SUP,
     .form = AOE_EXAMPLES_POSITIVES,
     .lora = 1,
     .recompute = 1,
     .batch = 9,
     .ranks = {1, 2, 8}},
    {.method = AOE_METHOD_SIMCSE_SUP,
     .form = AOE_EXAMPLES_TRIPLETS,
     .bf16 = 1,
     .teacher = 1,
     .chunk = 1,
     .accumulate = 2,
     .batch = 6,
     .ranks = {3, 4, 5}},
    {.method = AOE_METHOD_CONTRASTIVE,
     .form = AOE_EXAMPLES_TRIPLETS,
     .teacher = 1,
     .lora = 1,
     .batch = 7,
     .ranks = {1, 2, 3}},
    {.method = AOE_METHOD_CONTRASTIVE,
     .form = AOE_EXAMPLES_POSITIVES,
     .bf16 = 1,
     .chunk = 1,
     .recompute = 1,
     .accumulate = 2,
     .batch = 8,
     .ranks = {4, 5, 8}},
    {.method = AOE_METHOD_CROSS_ENCODER,
     .form = AOE_EXAMPLES_TRIPLETS,
     .lora = 1,
     .chunk = 2,
     .batch = 9,
     .ranks = {2, 3, 4}},
    {.method = AOE_METHOD_CROSS_ENCODER,
     .form = AOE_EXAMPLES_PAIRS,
     .bf16 = 1,
     .recompute = 1,
     .accumulate = 2,
     .batch = 6,
     .ranks = {1, 5, 8}},
    {.method = AOE_METHOD_SYMMETRIC, .form = AOE_EXAMPLES_POSITIVES, .accumulate = 3, .batch = 7, .ranks = {3, 4, 5}},
    {.method = AOE_METHOD_SYMMETRIC,
     .form = AOE_EXAMPLES_TRIPLETS,
     .bf16 = 1,
     .teacher = 1,
     .lora = 1,
     .chunk = 1,
     .recompute = 1,
     .batch = 8,
     .ranks = {1, 2, 8}},
    {.method = AOE_METHOD_GIST,
     .form = AOE_EXAMPLES_TRIPLETS,
     .teacher = 1,
     .lora = 1,
     .chunk = 2,
     .recompute = 1,
     .batch = 9,
     .ranks = {4, 5, 8}},
    {.method = AOE_METHOD_GIST,
     .form = AOE_EXAMPLES_POSITIVES,
     .bf16 = 1,
     .teacher = 1,
     .accumulate = 2,
     .batch = 6,
     .ranks = {1, 2, 3}},
    {.method = AOE_METHOD_CT, .form = AOE_EXAMPLES_TEXTS, .accumulate = 3, .batch = 7, .ranks = {1, 5, 8}},
    {.method = AOE_METHOD_CT,
     .form = AOE_EXAMPLES_TEXTS,
     .bf16 = 1,
     .lora = 1,
     .chunk = 1,
     .recompute = 1,
     .batch = 8,
     .ranks = {2, 3, 4}},
    {.method = AOE_METHOD_CT_IN_BATCH,
     .form = AOE_EXAMPLES_TEXTS,
     .bf16 = 1,
     .chunk = 2,
     .accumulate = 3,
     .batch = 9,
     .ranks = {1, 2, 8}},
    {.method = AOE_METHOD_CT_IN_BATCH,
     .form = AOE_EXAMPLES_TEXTS,
     .lora = 1,
     .recompute = 1,
     .batch = 6,
     .ranks = {3, 4, 5}},
    {.method = AOE_METHOD_CONSERT,
     .form = AOE_EXAMPLES_TEXTS,
     .teacher = 1,
     .lora = 1,
     .chunk = 2,
     .recompute = 1,
     .batch = 7,
     .ranks = {1, 2, 3}},
    {.method = AOE_METHOD_CONSERT,
     .form = AOE_EXAMPLES_TEXTS,
     .bf16 = 1,
     .accumulate = 2,
     .batch = 8,
     .ranks = {4, 5, 8}},
    {.method = AOE_METHOD_CONSERT_SUP,
     .form = AOE_EXAMPLES_PAIRS,
     .bf16 = 1,
     .recompute = 1,
     .accumulate = 3,
     .batch = 9,
     .ranks = {2, 3, 4}},
    {.method = AOE_METHOD_CONSERT_SUP,
     .form = AOE_EXAMPLES_PAIRS,
     .lora = 1,
     .chunk = 1,
     .batch = 6,
     .ranks = {1, 5, 8}},
    {.method = AOE_METHOD_IS_BERT, .form = AOE_EXAMPLES_TEXTS, .recompute = 1, .batch = 7, .ranks = {3, 4, 5}},
    {.method = AOE_METHOD_IS_BERT,
     .form = AOE_EXAMPLES_TEXTS,
     .bf16 = 1,
     .lora = 1,
     .chunk = 1,
     .accumulate = 2,
     .batch = 8,
     .ranks = {1, 2, 8}},
    {.method = AOE_METHOD_DIFFCSE,
     .form = AOE_EXAMPLES_TEXTS,
     .bf16 = 1,
     .lora = 1,
     .chunk = 2,
     .recompute = 1,
     .accumulate = 3,
     .batch = 9,
     .ranks = {4, 5, 8}},
    {.method = AOE_METHOD_DIFFCSE, .form = AOE_EXAMPLES_TEXTS, .batch = 6, .ranks = {1, 2, 3}},
    {.method = AOE_METHOD_INFERSENT, .form = AOE_EXAMPLES_PAIRS, .accumulate = 3, .batch = 7, .ranks = {1, 5, 8}},
    {.method = AOE_METHOD_INFERSENT,
     .form = AOE_EXAMPLES_PAIRS,
     .bf16 = 1,
     .teacher = 1,
     .chunk = 1,
     .recompute = 1,
     .batch = 8,
     .ranks = {2, 3, 4}},
    {.method = AOE_METHOD_PROMPTBERT,
     .form = AOE_EXAMPLES_TEXTS,
     .recompute = 1,
     .accumulate = 3,
     .batch = 9,
     .ranks = {1, 2, 8}},
    {.method = AOE_METHOD_PROMPTBERT,
     .form = AOE_EXAMPLES_TEXTS,
     .bf16 = 1,
     .lora = 1,
     .chunk = 1,
     .batch = 6,
     .ranks = {3, 4, 5}},
    {.method = AOE_METHOD_DAN, .form = AOE_EXAMPLES_PAIRS, .bf16 = 1, .recompute = 1, .batch = 7, .ranks = {1, 2, 3}},
    {.method = AOE_METHOD_DAN,
     .form = AOE_EXAMPLES_PAIRS,
     .teacher = 1,
     .chunk = 1,
     .accumulate = 2,
     .batch = 8,
     .ranks = {4, 5, 8}},
    {.method = AOE_METHOD_PROMPTBERT_SUP,
     .form = AOE_EXAMPLES_TRIPLETS,
     .chunk = 2,
     .accumulate = 3,
     .batch = 9,
     .ranks = {2, 3, 4}},
    {.method = AOE_METHOD_PROMPTBERT_SUP,
     .form = AOE_EXAMPLES_POSITIVES,
     .bf16 = 1,
     .lora = 1,
     .recompute = 1,
     .batch = 6,
     .ranks = {1, 5, 8}},
    {.method = AOE_METHOD_DISTILL,
     .form = AOE_EXAMPLES_TEXTS,
     .teacher = 1,
     .chunk = 2,
     .recompute = 1,
     .batch = 7,
     .ranks = {3, 4, 5}},
    {.method = AOE_METHOD_DISTILL,
     .form = AOE_EXAMPLES_TEXTS,
     .bf16 = 1,
     .teacher = 1,
     .lora = 1,
     .accumulate = 2,
     .batch = 8,
     .ranks = {1, 2, 8}},
    {.method = AOE_METHOD_ANGLE, .form = AOE_EXAMPLES_TRIPLETS, .matryoshka = 1, .batch = 8, .ranks = {3, 8}},
    {.method = AOE_METHOD_COSENT, .layers = 1, .batch = 8, .ranks = {2, 5}},
    {.method = AOE_METHOD_SBERT_REGRESSION, .optimizer = AOE_OPTIMIZER_RMSPROP, .ranks = {4}},
    {.method = AOE_METHOD_SIMCSE_UNSUP,
     .form = AOE_EXAMPLES_TEXTS,
     .batch = 8,
     .optimizer = AOE_OPTIMIZER_SGD,
     .ranks = {5}},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* Variants of the other tests */
static const variant labels = {.method = AOE_METHOD_ANGLE, .batch = 7},
                     triplets = {.method = AOE_METHOD_CONTRASTIVE,
                                 .form = AOE_EXAMPLES_TRIPLETS,
                                 .chunk = 1,
                                 .batch = 9},
                     guided = {.method = AOE_METHOD_COSENT, .teacher = 1, .accumulate = 2, .chunk = 2, .batch = 6},
                     joined = {.method = AOE_METHOD_CROSS_ENCODER, .batch = 7, .accumulate = 2};

static const int rank_counts[] = {1, 2, 3, 4, 5, 8};
enum { RANKS = sizeof rank_counts / sizeof *rank_counts };

/* ------------------------------------------------------------------ pairs */

/* What varies, and the names of the values. */
typedef enum factor {
    METHOD,
    FORM,
    TYPE,
    TEACHER,
    LORA,
    CHUNKS,
    RECOMPUTE,
    ACCUMULATE,
    NUMBER_OF_RANKS,
    FACTORS
} factor;

static const struct {
    const char *name;
    size_t n;
    const char *values[RANKS];
} factors[FACTORS] = {[METHOD] = {"method", AOE_METHOD_COUNT, {0}},
                      [FORM] = {"data form", 4, {"pairs", "positives", "triplets", "texts"}},
                      [TYPE] = {"type", 2, {"f32", "bf16"}},
                      [TEACHER] = {"teacher", 2, {"no", "yes"}},
                      [LORA] = {"LoRA", 2, {"no", "yes"}},
                      [CHUNKS] = {"gradient caching", 2, {"no", "yes"}},
                      [RECOMPUTE] = {"recomputation", 2, {"no", "yes"}},
                      [ACCUMULATE] = {"accumulation", 2, {"no", "yes"}},
                      [NUMBER_OF_RANKS] = {"ranks", RANKS, {"1", "2", "3", "4", "5", "8"}}};

/* Values that aoe rejects together with a method, and a part of the message that says why. Data forms are not listed:
 * aoei_method.kinds contains those of a method. Methods for plain texts read the texts of any table, and methods for
 * positives read labeled pairs with high labels as positives, which are the forms that they train on. */
static const struct {
    aoe_method method;
    factor factor;
    size_t value;
    const char *message;
} rejected[] = {{AOE_METHOD_GIST, TEACHER, 0, "needs a guide"},
                {AOE_METHOD_DISTILL, TEACHER, 0, "needs another model"},
                {AOE_METHOD_CROSS_ENCODER, TEACHER, 1, "cannot learn from teacher embeddings"},
                {AOE_METHOD_CT, TEACHER, 1, "two encoders"},
                {AOE_METHOD_CT_IN_BATCH, TEACHER, 1, "two encoders"},
                {AOE_METHOD_CONSERT_SUP, TEACHER, 1, "has no distillation loss"},
                {AOE_METHOD_IS_BERT, TEACHER, 1, "a teacher has none"},
                {AOE_METHOD_DIFFCSE, TEACHER, 1, "a teacher has no projection"},
                {AOE_METHOD_PROMPTBERT, TEACHER, 1, "teacher embeddings are not differences"},
                {AOE_METHOD_PROMPTBERT_SUP, TEACHER, 1, "teacher embeddings are not differences"},
                {AOE_METHOD_INFERSENT, LORA, 1, "have no adapters"},
                {AOE_METHOD_DAN, LORA, 1, "have no adapters"}};
enum { REJECTED = sizeof rejected / sizeof *rejected };

static aoe_example_kind form_of(const variant *v) {
    return v->form == AOE_EXAMPLES_AUTO ? AOE_EXAMPLES_PAIRS : v->form;
}

/* Returns the values of a factor in a variant, as bits. */
static unsigned values_of(const variant *v, factor f) {
    const size_t single[] = {[METHOD] = (size_t)v->method,       [FORM] = (size_t)form_of(v) - AOE_EXAMPLES_PAIRS,
                             [TYPE] = (size_t)v->bf16,           [TEACHER] = (size_t)v->teacher,
                             [LORA] = (size_t)v->lora,           [CHUNKS] = v->chunk > 0,
                             [RECOMPUTE] = (size_t)v->recompute, [ACCUMULATE] = v->accumulate > 1};
    unsigned bits = 0;
    if (f != NUMBER_OF_RANKS)
        return 1u << single[f];
    for (size_t k = 0; k < 3; k++)
        for (unsigned i = 0; i < RANKS; i++)
            bits |= (unsigned)(v->ranks[k] == rank_counts[i]) << i;
    return bits;
}

/* Returns 1 if aoe accepts a value of the factor f for the method. */
static int accepts(aoe_method method, factor f, size_t value) {
    const aoei_method *m;
    assert_int_equal(aoei_method_find(&m, method, NULL), 0);
    for (size_t i = 0; i < REJECTED; i++)
        if (rejected[i].method == method && rejected[i].factor == f && rejected[i].value == value)
            return 0;
    return f != FORM || (m->kinds >> (value + AOE_EXAMPLES_PAIRS) & 1);
}

static const char *value_name(factor f, size_t value) {
    return f == METHOD ? aoe_method_name((aoe_method)value) : factors[f].values[value];
}

static int occurs(factor f, size_t x, factor g, size_t y) {
    for (size_t i = 0; i < VARIANTS; i++)
        if ((values_of(&variants[i], f) >> x & 1) && (values_of(&variants[i], g) >> y & 1))
            return 1;
    return 0;
}

/* No pair of values is forgotten, and no variant contains values that aoe rejects. */
static void every_pair_of_values_occurs(void **state) {
    (void)state;
    size_t pairs = 0, missing = 0;
    for (factor f = 0; f < FACTORS; f++)
        for (factor g = f + 1; g < FACTORS; g++)
            for (size_t x = 0; x < factors[f].n; x++)
                for (size_t y = 0; y < factors[g].n; y++) {
                    const int allowed = f != METHOD || accepts((aoe_method)x, g, y);
                    pairs += (size_t)allowed;
                    if (occurs(f, x, g, y) == allowed)
                        continue;
                    print_error("%s %s with %s %s %s\n", factors[f].name, value_name(f, x), factors[g].name,
                                value_name(g, y), allowed ? "is missing" : "is rejected, but a variant has it");
                    missing++;
                }
    if (missing)
        fail_msg("%zu of %zu pairs of values", missing, pairs);
}

/* A line that names the values of a variant. */
static const char *describe(const variant *v) {
    static char text[256];
    snprintf(text, sizeof text, "%s, %s%s%s%s%s%s%s%s%s", aoe_method_name(v->method),
             factors[FORM].values[form_of(v) - AOE_EXAMPLES_PAIRS], v->bf16 ? ", bf16" : "",
             v->teacher ? ", teacher" : "", v->lora ? ", LoRA" : "", v->chunk ? ", chunks" : "",
             v->recompute ? ", recomputation" : "", v->accumulate > 1 ? ", accumulation" : "",
             v->matryoshka ? ", matryoshka" : "", v->layers ? ", layers" : "");
    return text;
}

/* ------------------------------------------------------------------- runs */

/* The score of an evaluation: the Spearman correlation on the dev set. All ranks compute it. */
static int evaluate(void *user, aoe_embedder *e, double *score, aoe_error *err) {
    const train_run *r = user;
    aoe_sts_result result = {.struct_size = sizeof result};
    const int code = aoe_eval_pairs(e, r->dev, &result, err);
    *score = result.spearman;
    return code;
}

/* DiffCSE needs a generator, and PromptBERT a model with a mask token whose texts are short. */
static void begin_with_mlm(train_run *r, aoe_method method) {
    static char path[512];
    char *mlm = tiny_mlm(r->dir, "mlm", r->model, 2);
    snprintf(path, sizeof path, "%s", mlm);
    free(mlm);
    if (method == AOE_METHOD_DIFFCSE) {
        r->o.generator = path;
        return;
    }
    r->o.args.model = path;
    r->o.args.model_options.prompt = "the \"{text}\" [MASK] cat";
    if (method == AOE_METHOD_PROMPTBERT)
        r->o.second_prompt = "{text} : a [MASK]";
    r->o.args.model_options.max_length = 20;
}

/* Replaces the training data by 18 positives, or by plain texts. */
static void use_file(train_run *r, aoe_example_kind form) {
    char text[18 * 100] = "";
    size_t at = (size_t)snprintf(text, sizeof text, "%s\n", form == AOE_EXAMPLES_TEXTS ? "text" : "query\tpositive");
    for (uint32_t i = 0; i < 18; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "the cat %c%sthe %c cat %s\n", 'a' + (char)i,
                               form == AOE_EXAMPLES_TEXTS ? " " : "\t", 'a' + (char)i,
                               i % 3 == 1 ? "a house dog and the old cat" : "");
    free(r->data);
    r->data = test_write_text(r->dir, "rows.tsv", text);
    r->source.path = r->data;
    r->source.kind = form == AOE_EXAMPLES_TEXTS ? AOE_EXAMPLES_AUTO : form;
}

static void begin(train_run *r, const variant *v) {
    train_run_create(r);
    const aoe_train_options run = r->o;
    aoe_train_method_defaults(&r->o, v->method);
    r->o.method = v->method;
    r->o.batch_size = v->batch ? v->batch : run.batch_size;
    r->o.accumulate = v->accumulate ? v->accumulate : 1;
    r->o.cache_chunk = v->chunk;
    r->o.args.lr = run.args.lr;
    r->o.args.max_steps = 5;
    r->o.args.save_every = 2;
    r->o.args.keep_checkpoints = 3;
    r->o.args.eval_every = 2;
    r->o.args.shards = SHARDS;
    r->o.args.recompute = v->recompute;
    r->o.args.optimizer = v->optimizer;
    r->o.args.model_options.dtype = v->bf16 ? AOE_DTYPE_BF16 : AOE_DTYPE_F32;
    r->o.lstm_dims = 6;
    r->o.bigrams = 16;
    if (v->form == AOE_EXAMPLES_TRIPLETS)
        train_run_use_triplets(r);
    else if (v->form == AOE_EXAMPLES_POSITIVES || v->form == AOE_EXAMPLES_TEXTS)
        use_file(r, v->form);
    r->o.evaluate = v->method == AOE_METHOD_CROSS_ENCODER ? NULL : evaluate;
    if (v->lora) {
        r->o.lora.r = 3;
        r->o.lora.dropout = 0.2;
    }
    if (v->teacher)
        r->o.teachers[0] = r->o.args.model;
    /* the projection of this method and a teacher exclude each other */
    r->o.no_projection = v->teacher && v->method == AOE_METHOD_SIMCSE_UNSUP;
    if (v->method == AOE_METHOD_DIFFCSE || v->method == AOE_METHOD_PROMPTBERT || v->method == AOE_METHOD_PROMPTBERT_SUP)
        begin_with_mlm(r, v->method);
    if (v->matryoshka) {
        static const aoe_prefix sizes[] = {{.dims = 16, .weight = 1}, {.dims = 8, .weight = 0.5}};
        r->o.matryoshka = sizes;
        r->o.n_matryoshka = 2;
    }
    if (v->layers)
        r->o.layers.adaptive = 1;
}

/* The work of a rank. */
static int train(aoe_comm *comm, void *user, aoe_error *err) {
    train_run *r = user;
    r->o.args.comm = comm;
    r->o.args.comm_timeout = 60;
    return train_run_go(r, 1, err);
}

/* Trains with this number of ranks; 0: without communication. */
static void train_with(train_run *r, int ranks, const char *name) {
    aoe_error err = {0};
    const int code = ranks ? comm_test_fork(ranks, train, r) : train_run_go(r, 2, &err);
    if (code)
        fail_msg("%s with %d ranks: %s", name, ranks, err.message);
}

/* Returns the log without times. */
static char *read_log(const char *path) {
    char *text = NULL, *out = strdup("");
    size_t size = 0;
    assert_int_equal(aoei_read_file(&text, &size, path, 0, NULL), 0);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        json_t *o = json_loads(line, 0, NULL);
        assert_non_null(o);
        json_object_del(o, "seconds");
        json_object_del(o, "seconds_left");
        json_object_del(o, "tokens_per_second");
        json_object_del(o, "pairs_per_second");
        char *kept = json_dumps(o, JSON_SORT_KEYS);
        out = realloc(out, strlen(out) + strlen(kept) + 2);
        strcat(strcat(out, kept), "\n");
        free(kept);
        json_decref(o);
    }
    aoei_free(text);
    return out;
}

/* Asserts that the files in both directories are equal, except times in logs. */
static void compare(const char *a, const char *b, const char *name) {
    char **names;
    size_t n;
    assert_int_equal(aoei_list_dir(&names, &n, a, NULL), 0);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) {
        char *left = aoei_path_join(a, names[i]), *right = aoei_path_join(b, names[i]);
        if (aoei_is_dir(left)) {
            compare(left, right, name);
        } else if (strcmp(names[i], "train-log.jsonl") == 0) {
            char *x = read_log(left), *y = read_log(right);
            if (strcmp(x, y) != 0)
                fail_msg("%s: the logs differ: %s\n%s", name, x, y);
            free(x);
            free(y);
        } else if (names[i][0] != '.') {
            char *x = NULL, *y = NULL;
            size_t size = 0, other = 0;
            assert_int_equal(aoei_read_file(&x, &size, left, 0, NULL), 0);
            assert_int_equal(aoei_read_file(&y, &other, right, 0, NULL), 0);
            if (size != other || memcmp(x, y, size) != 0)
                fail_msg("%s: %s and %s differ", name, left, right);
            aoei_free(x);
            aoei_free(y);
        }
        aoei_free(left);
        aoei_free(right);
    }
    aoei_list_free(names, n);
}

/* The messages of `rejected` are those of aoe. */
static void rejected_values(void **state) {
    (void)state;
    for (size_t i = 0; i < REJECTED; i++) {
        train_run r;
        aoe_error err = {0};
        const variant v = {.method = rejected[i].method,
                           .teacher = rejected[i].factor == TEACHER && rejected[i].value,
                           .lora = rejected[i].factor == LORA};
        begin(&r, &v);
        assert_int_equal(aoe_train_check(&r.o, &err), AOE_EARG);
        if (!strstr(err.message, rejected[i].message))
            fail_msg("%s: %s", describe(&v), err.message);
        train_run_destroy(&r);
    }
}

/* Trains every variant with the numbers of ranks in its row, or with all of them if AOE_TEST_RANKS is "all". */
static void ranks_do_not_change_the_result(void **state) {
    (void)state;
    const char *set = getenv("AOE_TEST_RANKS");
    const int all = set && strcmp(set, "all") == 0;
    for (size_t i = 0; i < VARIANTS; i++) {
        const variant *v = &variants[i];
        train_run r;
        begin(&r, v);
        train_with(&r, 0, describe(v));
        char *want = strdup(r.output);
        for (size_t k = 0; k < (all ? RANKS : 3); k++) {
            const int p = all ? rank_counts[k] : v->ranks[k];
            char name[32];
            if (!p)
                continue;
            snprintf(name, sizeof name, "ranks-%d", p);
            train_run_output(&r, name);
            train_with(&r, p, describe(v));
            compare(want, r.output, describe(v));
        }
        free(want);
        train_run_destroy(&r);
    }
}

/* One process and every number of ranks give the bits of each other, also if a shard is empty. */
static void every_number_of_ranks(void **state) {
    (void)state;
    train_run r;
    begin(&r, &joined);
    train_with(&r, 0, "one process");
    char *want = strdup(r.output);
    for (int p = 6; p <= 7; p++) { /* the variants use the other numbers */
        char name[32];
        snprintf(name, sizeof name, "p-%d", p);
        train_run_output(&r, name);
        train_with(&r, p, name);
        compare(want, r.output, name);
    }
    free(want);
    train_run_destroy(&r);
}

/* The work of a rank that pretrains. */
typedef struct pretraining {
    aoe_pretrain_options o;
    const char *texts[1];
} pretraining;

static int pretrain(aoe_comm *comm, void *user, aoe_error *err) {
    pretraining *p = user;
    aoe_context *ctx = tiny_context(1);
    p->o.args.comm = comm;
    const int code = aoe_pretrain(ctx, &p->o, err);
    aoe_context_destroy(ctx);
    return code;
}

static void pretraining_with_ranks(void **state) {
    (void)state;
    static const int numbers[] = {0, 2, 5, 8};
    train_run r;
    begin(&r, &labels);
    pretraining p;
    aoe_pretrain_options_defaults(&p.o);
    p.o.args.model = r.model;
    p.o.texts = p.texts;
    p.o.n_texts = 1;
    p.o.table.columns = "text=text1";
    p.texts[0] = r.data;
    p.o.batch_size = 9;
    p.o.held_out = 0.2;
    p.o.args.max_steps = 4;
    p.o.args.save_every = 2;
    p.o.args.batch_tokens = 40;
    p.o.args.shards = SHARDS;
    char *first = NULL;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        char name[32];
        snprintf(name, sizeof name, "pretrain-%d", numbers[i]);
        char *output = test_path(r.dir, name);
        p.o.args.output = output;
        aoe_error err = {0};
        aoe_comm alone = {.struct_size = sizeof alone, .ranks = 1};
        if (numbers[i] ? comm_test_fork(numbers[i], pretrain, &p) : pretrain(&alone, &p, &err))
            fail_msg("%s: %s", name, err.message);
        if (first)
            compare(first, output, name);
        else
            first = strdup(output);
        free(output);
    }
    free(first);
    train_run_destroy(&r);
}

/* A run that stops twice is resumed with other numbers of ranks. */
static void resume_with_other_ranks(void **state) {
    (void)state;
    train_run r;
    comm_test_result results[SHARDS];
    begin(&r, &guided);
    train_with(&r, 0, "undisturbed");
    char *want = strdup(r.output);
    train_run_output(&r, "resumed");
    r.stop_kind = AOE_TRAIN_STEP;
    r.stop_step = 1;
    assert_int_equal(comm_test_fork_results(8, train, &r, results), 8);
    for (int p = 0; p < 8; p++) /* all ranks know that rank 0 was stopped */
        assert_int_equal(results[p].code, AOE_ECANCELLED);
    r.o.args.resume = 1;
    r.stop_step = 3;
    assert_int_equal(comm_test_fork_results(3, train, &r, results), 3);
    r.stop_kind = -1;
    train_with(&r, 1, "resumed");
    /* the checkpoints of the stops are other ones */
    char *a = test_path(want, "model.safetensors"), *b = test_path(r.output, "model.safetensors");
    char *x = NULL, *y = NULL;
    size_t size = 0, other = 0;
    assert_int_equal(aoei_read_file(&x, &size, a, 0, NULL), 0);
    assert_int_equal(aoei_read_file(&y, &other, b, 0, NULL), 0);
    assert_int_equal(size, other);
    assert_memory_equal(x, y, size);
    aoei_free(x);
    aoei_free(y);
    free(a);
    free(b);
    free(want);
    train_run_destroy(&r);
}

/* Rank 2 differs from the others. */
static int train_differently(aoe_comm *comm, void *user, aoe_error *err) {
    train_run *r = user;
    if (comm->rank == 2)
        r->o.args.seed = 43;
    return train(comm, user, err);
}

static int train_on_another_tier(aoe_comm *comm, void *user, aoe_error *err) {
    if (comm->rank == 2)
        setenv("AOE_CPU", "c", 1);
    return train(comm, user, err);
}

/* The base model of rank 2 has the same path, but another value in a weight that LoRA does not train. */
static int train_on_another_base(aoe_comm *comm, void *user, aoe_error *err) {
    train_run *r = user;
    char *node = test_path(r->dir, comm->rank == 2 ? "another" : "."), *model = test_path(node, "model");
    if (comm->rank == 2) {
        size_t size;
        assert_int_equal(mkdir(node, 0700), 0);
        assert_int_equal(mkdir(model, 0700), 0);
        test_copy_dir(r->model, model);
        char *path = test_path(model, "model.safetensors"), *data = test_read(path, &size);
        data[size / 2 & ~(size_t)3] ^= 1; /* the last bit of a value */
        free(test_write(model, "model.safetensors", data, size));
        free(path);
        free(data);
    }
    assert_int_equal(chdir(node), 0);
    r->o.args.model = "model";
    free(node);
    free(model);
    return train(comm, user, err);
}

/* Rank 1 receives a changed bit in the n-th message of the run. */
static uint64_t flipped;
static int train_with_flip(aoe_comm *comm, void *user, aoe_error *err) {
    if (comm->rank == 1)
        comm_test_flip(comm, flipped);
    return train(comm, user, err);
}

static void differences_are_rejected(void **state) {
    (void)state;
    train_run r;
    comm_test_result results[4];
    static const variant lora = {.method = AOE_METHOD_ANGLE, .lora = 1, .batch = 7};
    begin(&r, &triplets);
    assert_int_equal(comm_test_fork_results(4, train_differently, &r, results), 4);
    for (int p = 0; p < 4; p++) {
        assert_int_equal(results[p].code, AOE_EMISMATCH);
        assert_non_null(strstr(results[p].message, "rank 2"));
        assert_non_null(strstr(results[p].message, "seed = 43"));
    }
    assert_int_equal(comm_test_fork_results(4, train_on_another_tier, &r, results), 4);
    for (int p = 0; p < 4; p++) {
        assert_int_equal(results[p].code, AOE_EMISMATCH);
        assert_non_null(strstr(results[p].message, "rank 2"));
        assert_non_null(strstr(results[p].message, "AOE_CPU"));
    }
    train_run_destroy(&r);
    begin(&r, &lora);
    assert_int_equal(comm_test_fork_results(4, train_on_another_base, &r, results), 4);
    for (int p = 0; p < 4; p++) {
        assert_int_equal(results[p].code, AOE_EMISMATCH);
        assert_non_null(strstr(results[p].message, "rank 2"));
        assert_non_null(strstr(results[p].message, "base model"));
    }
    train_run_destroy(&r);
}

/* A changed bit in a message to rank 1 does not change the result, which rank 0 writes: the run fails, or the result
 * has the same bits. This holds for vectors, hashes and weights, to which every fifth message from 24 on belongs. It
 * does not hold for gradients, which only the transport protects: each is sent to the one rank that adds it. */
static void changed_bits_are_noticed(void **state) {
    (void)state;
    train_run r;
    comm_test_result results[2];
    begin(&r, &triplets);
    train_with(&r, 0, "undisturbed");
    char *want = strdup(r.output);
    size_t failed = 0;
    for (flipped = 24; flipped <= 64; flipped += 5) {
        char name[32];
        snprintf(name, sizeof name, "flip-%d", (int)flipped);
        train_run_output(&r, name);
        failed += comm_test_fork_results(2, train_with_flip, &r, results) > 0;
        if (results[0].code == 0)
            compare(want, r.output, name);
        for (int p = 0; p < 2; p++)
            if (results[p].code && results[p].code != AOE_EMISMATCH && results[p].code != AOE_ECOMM)
                fail_msg("%s: rank %d: %d, signal %d: %s", name, p, results[p].code, results[p].signal,
                         results[p].message);
    }
    assert_true(failed > 0);
    free(want);
    train_run_destroy(&r);
}

static void invalid_options(void **state) {
    (void)state;
    train_run r;
    aoe_error err = {0};
    begin(&r, &labels);
    r.o.args.shards = 6;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "power of two"));
    r.o.args.shards = 2 * AOE_MAX_SHARDS;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.shards"));
    r.o.args.shards = 2;
    comm_test_result results[4];
    assert_int_equal(comm_test_fork_results(4, train, &r, results), 4);
    assert_non_null(strstr(results[3].message, "options.shards is 2, but the run has 4 ranks"));
    train_run_destroy(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_values_occurs),
        cmocka_unit_test(rejected_values),
        cmocka_unit_test(ranks_do_not_change_the_result),
        cmocka_unit_test(every_number_of_ranks),
        cmocka_unit_test(pretraining_with_ranks),
        cmocka_unit_test(resume_with_other_ranks),
        cmocka_unit_test(differences_are_rejected),
        cmocka_unit_test(changed_bits_are_noticed),
        cmocka_unit_test(invalid_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
