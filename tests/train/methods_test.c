/* SPDX-License-Identifier: MIT
 * covers: train/class_counts train/method train/method_angle train/method_consert train/method_directions
 * covers: train/method_sbert train/method_simcse train/saved_parts
 * Tests the training methods. Each method must reduce its own loss and log it by name. Results must be bit-identical
 * for any number of threads, with chunked batches, with recomputation, and after an interruption. Every method must be
 * able to train every kind of encoder, and LoRA adapters. Other tests cover which of the layers after the pooling are
 * saved, how labels are read, and which options are rejected.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/train_run.h"
#include "aoe_data.h"
#include "aoe_convert.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/dir.h"
#include "base/json.h"
#include "base/path.h"
#include "model/model.h"
#include "modeldir/safetensors_writer.h"
#include "train/methods.h"

/* The methods, and the name in the log of a loss that each of them minimizes. */
static const struct {
    aoe_method method;
    const char *loss;
} all[] = {
    {AOE_METHOD_ANGLE, "angle"},
    {AOE_METHOD_COSENT, "cosine"},
    {AOE_METHOD_SBERT_CLASSIFICATION, "classification"},
    {AOE_METHOD_SBERT_REGRESSION, "regression"},
    {AOE_METHOD_SIMCSE_UNSUP, "contrastive"},
    {AOE_METHOD_SIMCSE_SUP, "contrastive"},
    {AOE_METHOD_CONTRASTIVE, "contrastive"},
    {AOE_METHOD_SYMMETRIC, "contrastive"},
    {AOE_METHOD_GIST, "contrastive"},
    {AOE_METHOD_CONSERT, "ibn"},
    {AOE_METHOD_CONSERT_SUP, "classification"},
    {AOE_METHOD_DISTILL, "vectors"},
};
enum { METHODS = sizeof all / sizeof *all };

/* Writes a model that is smaller than the start model. The caller frees the path. */
static char *write_small_model(const train_run *r) {
    char *path = test_path(r->dir, "teacher");
    tiny_model shape = tiny_defaults();
    shape.hidden = 12;
    shape.layers = 1;
    shape.seed = 99;
    tiny_model_write(path, &shape);
    return path;
}

/* Prepares a run of the method. The training data are labeled pairs. If with_triplets is 1, methods for positives and
 * triplets use triplets instead. A method that needs a teacher has the start model as teacher or, if it maps vectors, a
 * smaller model.
 */
static void begin(train_run *r, aoe_method method, int with_triplets) {
    const int has_hard_negative = method == AOE_METHOD_SIMCSE_SUP || method == AOE_METHOD_CONTRASTIVE;
    const aoei_method *m = NULL;
    const int found = aoei_method_find(&m, method, NULL) == 0; /* 0: AOE_METHOD_COUNT, which the run must reject */
    train_run_create(r);
    const aoe_train_options run = r->o;
    aoe_train_method_defaults(&r->o, method);
    r->o.method = method;
    r->o.batch_size = run.batch_size;
    r->o.args.epochs = run.args.epochs;
    r->o.args.lr = run.args.lr;
    if (with_triplets && found && m->group == AOEI_METHODS_POSITIVES && m->kinds & AOEI_KIND(TRIPLETS)) {
        train_run_use_triplets(r);
        r->o.objective.hard_negative = has_hard_negative ? 0.5 : 0;
    }
    if (found && m->needs_teacher) {
        static char teacher[512];
        char *path = m->maps_vectors ? write_small_model(r) : strdup(r->o.args.model);
        snprintf(teacher, sizeof teacher, "%s", path);
        free(path);
        r->o.teachers[0] = teacher;
    }
}

/* Returns the concatenated contents of all output files that depend on trained values. *size is set to the number of
 * bytes. The caller frees the result. */
static char *result(const train_run *r, size_t *size) {
    static const char *const names[] = {"model.safetensors", "adapter_model.safetensors", "2_Dense/model.safetensors",
                                        "2_Dense/config.json", "aoe.json"};
    char *out = NULL;
    *size = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t n = 0;
        char *data = train_run_read(r, names[i], &n);
        out = realloc(out, *size + n + 1);
        assert_non_null(out);
        if (data)
            memcpy(out + *size, data, n);
        *size += n;
        free(data);
    }
    return out;
}

static void expect_result(const train_run *r, const char *want, size_t size) {
    size_t n;
    char *got = result(r, &n);
    assert_int_equal(n, size);
    assert_memory_equal(got, want, size);
    free(got);
}

static void begin_again(train_run *r, const char *name) {
    train_run_output(r, name);
    r->n = r->evaluations = 0;
}

static void results_are_bit_identical(void **state) {
    (void)state;
    for (size_t i = 0; i < METHODS; i++) {
        train_run r;
        aoe_error err = {0};
        size_t size;
        begin(&r, all[i].method, 1);
        train_run_ok(&r, 1);
        char *want = result(&r, &size);
        begin_again(&r, "threads");
        r.o.args.recompute = 1;
        train_run_ok(&r, 3);
        expect_result(&r, want, size);
        begin_again(&r, "stop");
        r.stop_kind = AOE_TRAIN_STEP;
        r.stop_step = 5;
        assert_int_equal(train_run_go(&r, 1, &err), AOE_ECANCELLED);
        r.stop_kind = -1;
        r.o.args.resume = 1;
        train_run_ok(&r, 2);
        expect_result(&r, want, size);
        free(want);
        r.o.args.resume = 0;
        begin_again(&r, "chunks"); /* aoe.json records the chunk size, so it differs and only the weights are
                                      compared */
        r.o.cache_chunk = 3;
        train_run_ok(&r, 1);
        char *whole = train_run_read(&r, "model.safetensors", &size);
        begin_again(&r, "whole");
        r.o.cache_chunk = 0;
        train_run_ok(&r, 1);
        size_t other;
        char *chunked = train_run_read(&r, "model.safetensors", &other);
        assert_true(size == other && !memcmp(whole, chunked, size));
        free(whole);
        free(chunked);
        train_run_destroy(&r);
    }
}

/* Returns the sum of the terms of l that belong to the loss of the method. */
static double method_loss(aoe_method m, const aoe_objective_result *l) {
    return m == AOE_METHOD_ANGLE                  ? l->cosine + l->ibn + l->angle
           : m == AOE_METHOD_COSENT               ? l->cosine
           : m == AOE_METHOD_SBERT_CLASSIFICATION ? l->classification
           : m == AOE_METHOD_SBERT_REGRESSION     ? l->regression
           : m == AOE_METHOD_CONSERT              ? 0.3 * l->ibn
           : m == AOE_METHOD_CONSERT_SUP          ? 0.3 * l->ibn + l->classification
           : m == AOE_METHOD_DISTILL              ? l->vectors + l->similarities
                                                  : l->contrastive;
}

/* Tests the loss of every method. It must decrease by at least 17 % in 20 epochs. The total loss must equal the sum of
 * the loss terms of the method. The log must contain this loss under its name, for example "angle". */
static void loss_decreases(void **state) {
    (void)state;
    for (size_t i = 0; i < METHODS; i++) {
        train_run r;
        double first = 0, last = 0;
        size_t steps = 0;
        begin(&r, all[i].method, 1);
        r.o.evaluate = NULL;
        r.o.args.epochs = 20;
        r.o.args.lr = 3e-3;
        r.o.args.save_every = 1000;
        train_run_ok(&r, 2);
        const size_t n = train_run_count(&r, AOE_TRAIN_STEP), tenth = n / 10;
        for (size_t k = 0; k < r.n; k++) {
            if (r.events[k].kind != AOE_TRAIN_STEP)
                continue;
            const aoe_objective_result *l = r.events[k].loss;
            first += steps < tenth ? l->total : 0;
            last += steps >= n - tenth ? l->total : 0;
            assert_true(fabs(l->total - method_loss(all[i].method, l)) <= 1e-6 * (1 + l->total));
            steps++;
        }
        if (!(last < 0.83 * first))
            fail_msg("%s: the loss changed from %g to %g, expected a decrease of at least 17 %%",
                     aoe_method_name(all[i].method), first, last);
        char *log = train_run_read(&r, "train-log.jsonl", NULL), *line = strstr(log, "\"event\":\"step\""), key[32];
        assert_non_null(line);
        line[strcspn(line, "\n")] = '\0';
        snprintf(key, sizeof key, "\"%s\":", all[i].loss);
        assert_non_null(strstr(line, key));
        assert_true(atof(strstr(line, key) + strlen(key)) > 0);
        free(log);
        train_run_destroy(&r);
    }
}

static void traces(void **state) {
    (void)state;
    static const struct {
        aoe_method method;
        double losses[3];
    } cases[] = {
        {AOE_METHOD_ANGLE, {5.2995994, 4.1992169, 5.1093455}},
        {AOE_METHOD_COSENT, {2.8414752, 1.9102478, 1.9731309}},
        {AOE_METHOD_SBERT_CLASSIFICATION, {1.7458987, 1.8728436, 1.8042124}},
        {AOE_METHOD_SBERT_REGRESSION, {0.4333895, 0.2995425, 0.0832848}},
        {AOE_METHOD_SIMCSE_UNSUP, {0.9834726, 1.1404857, 0.8506435}},
        {AOE_METHOD_SIMCSE_SUP, {1.8292798, 2.0934728, 1.2581808}},
        {AOE_METHOD_CONTRASTIVE, {1.4626562, 1.8133912, 1.1241111}},
        {AOE_METHOD_SYMMETRIC, {1.4249592, 1.7709814, 1.0997693}},
        {AOE_METHOD_GIST, {2.7204074, 3.4526827, 0.7629923}},
        {AOE_METHOD_CT, {8.6868158, 6.6516814, 5.3329414}},
        {AOE_METHOD_CT_IN_BATCH, {0.9873368, 1.0922621, 1.0701403}},
        {AOE_METHOD_CONSERT, {0.5607094, 0.5629599, 0.5336954}},
        {AOE_METHOD_CONSERT_SUP, {2.7768292, 3.0438957, 2.6062394}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        train_run r;
        begin(&r, cases[i].method, 1);
        train_run_trace(&r, cases[i].losses);
        train_run_destroy(&r);
    }
}

static char *path_in(const train_run *r, const char *name) {
    return test_path(r->dir, name);
}

/* Writes three models with the vocabulary of the tests: a LLaMA model to paths[0], a RAN (recurrent additive network)
 * to paths[1], and a static model to paths[2]. paths[3] is the path of the static model's vocab.txt. The caller frees
 * the four paths. */
static void write_models(const train_run *r, char *paths[4]) {
    static const char *const names[] = {"llama", "ran", "static", "static/vocab.txt"};
    for (size_t i = 0; i < 4; i++)
        paths[i] = path_in(r, names[i]);
    tiny_model shape = tiny_defaults();
    shape.options = tiny_llama;
    tiny_model_write(paths[0], &shape);
    aoe_context *ctx = tiny_context(1);
    aoe_init_options o;
    aoe_init_options_defaults(&o);
    o.shape = (aoe_shape){.struct_size = sizeof(aoe_shape),
                          .hidden = 16,
                          .layers = 2,
                          .heads = 2,
                          .positions = 32,
                          .architecture = "ran",
                          .head_size = 6,
                          .window = 4};
    o.tokenizer_from = r->model;
    assert_int_equal(aoe_init(ctx, paths[1], &o, NULL, NULL), 0);
    aoe_context_destroy(ctx);
    assert_int_equal(aoei_make_dir(paths[2], NULL), 0);
    char *vocab = test_path(r->model, "vocab.txt"), *text = test_read(vocab, NULL);
    free(test_write_text(paths[2], "vocab.txt", text));
    const aoei_st_entry e = {"embeddings", AOEI_ST_F32, 2, {tiny_vocab(), 16}};
    char *weights = test_path(paths[2], "model.safetensors");
    aoei_st_writer *w;
    assert_int_equal(aoei_st_writer_open(&w, weights, &e, 1, NULL), 0);
    for (size_t i = 0; i < tiny_vocab() * 16; i++) {
        const float v = (float)sin(1.7 * (double)i);
        assert_int_equal(aoei_st_writer_write(w, &v, sizeof v, NULL), 0);
    }
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    free(weights);
    free(text);
    free(vocab);
}

/* Sets v to the embedding of a fixed text, computed with the model in the output directory of the run. */
static void probe(const train_run *r, float v[TRAIN_DIMS]) {
    const aoe_text text = aoe_text_of("the old cat");
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.dtype = AOE_DTYPE_F32;
    aoe_context *ctx = tiny_context(1);
    aoe_model *m;
    aoe_embedder *e;
    aoe_error err = {0};
    if (aoe_model_open(&m, ctx, r->output, &o, &err))
        fail_msg("%s", err.message);
    assert_int_equal(aoe_model_dims(m), TRAIN_DIMS);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    assert_int_equal(aoe_embed(e, &text, 1, v, NULL, NULL), 0);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    aoe_context_destroy(ctx);
}

/* Tests three training steps with every method and every encoder. Training must change the embeddings. The embeddings
 * of the saved model must equal the embeddings in the last evaluation. */
static void every_encoder(void **state) {
    (void)state;
    for (size_t i = 0; i < METHODS; i++)
        for (size_t k = 0; k < 6; k++) {
            train_run r;
            char *paths[4];
            float v[TRAIN_DIMS];
            begin(&r, all[i].method, k % 2);
            write_models(&r, paths);
            if (k < 3)
                r.o.args.model = paths[k];
            r.o.lora.r = k == 4 || k == 5 ? 3 : 0;
            if (k == 5)
                r.o.args.model = paths[0];
            r.o.args.max_steps = 3;
            r.o.args.dropout = 0.1; /* LLaMA and static models ignore dropout */
            r.o.args.eval_every = 1;
            if (k == 1 || k == 2) /* RAN and static models have no embedding layer to which views could be applied */
                r.o.views[0] = r.o.views[1] = (aoe_view){AOE_VIEW_PLAIN, 0};
            static const double scores[] = {0.1, 0.2, 0.3};
            r.scores = scores;
            train_run_ok(&r, 2);
            assert_int_equal(r.evaluations, 3);
            assert_true(memcmp(r.probe[0], r.probe[2], sizeof v) != 0);
            probe(&r, v);
            for (size_t d = 0; d < TRAIN_DIMS; d++)
                assert_true(fabs((double)v[d] - (double)r.probe[2][d]) <= 1e-5 * (1 + fabs((double)v[d])));
            for (size_t p = 0; p < 4; p++)
                free(paths[p]);
            train_run_destroy(&r);
        }
}

static int has(const train_run *r, const char *name) {
    char *path = test_path(r->output, name);
    const int found = aoei_exists(path);
    free(path);
    return found;
}

/* Tests which layers are saved. A layer that only training needs is saved in checkpoints, but not in the final model.
 * The projection of simcse-sup becomes the dense layer of the final model, and a second run continues to train this
 * layer. */
static void saved_layers(void **state) {
    (void)state;
    static const struct {
        aoe_method method;
        int no_projection, head, dense;
    } cases[] = {{AOE_METHOD_SIMCSE_UNSUP, 0, 1, 0},
                 {AOE_METHOD_SIMCSE_UNSUP, 1, 0, 0},
                 {AOE_METHOD_SBERT_CLASSIFICATION, 0, 1, 0},
                 {AOE_METHOD_SIMCSE_SUP, 0, 0, 1},
                 {AOE_METHOD_SIMCSE_SUP, 1, 0, 0},
                 {AOE_METHOD_COSENT, 0, 0, 0},
                 {AOE_METHOD_CONSERT, 0, 0, 0},
                 {AOE_METHOD_CONSERT_SUP, 0, 1, 0},
                 {AOE_METHOD_DISTILL, 0, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        train_run r;
        aoe_context *ctx = tiny_context(1);
        aoe_model *m;
        aoe_model_info info = {.struct_size = sizeof info};
        begin(&r, cases[i].method, 1);
        r.o.no_projection = cases[i].no_projection;
        train_run_ok(&r, 1);
        char newest[64];
        snprintf(newest, sizeof newest, "checkpoints/step-%zu/head.safetensors", r.events[r.n - 1].step);
        assert_int_equal(has(&r, newest), cases[i].head);
        assert_false(has(&r, "head.safetensors"));
        assert_int_equal(has(&r, "2_Dense"), cases[i].dense);
        assert_int_equal(aoe_model_open(&m, ctx, r.output, NULL, NULL), 0);
        aoe_model_get_info(m, &info);
        assert_true(cases[i].dense ? !strcmp(info.modules, "dense (tanh)") : !info.modules);
        aoe_model_close(m);
        if (cases[i].dense) { /* a second run must not add a second dense layer */
            free(r.model);
            r.model = r.output;
            r.output = test_path(r.dir, "again");
            r.o.args.model = r.model;
            r.o.args.output = r.output;
            r.n = r.evaluations = 0;
            train_run_ok(&r, 1);
            assert_true(has(&r, "2_Dense") && !has(&r, "3_Dense"));
            assert_int_equal(aoe_model_open(&m, ctx, r.output, NULL, NULL), 0);
            assert_int_equal(aoe_model_dims(m), TRAIN_DIMS);
            aoe_model_close(m);
        }
        aoe_context_destroy(ctx);
        train_run_destroy(&r);
    }
}

static void use_data(train_run *r, const char *name, const char *text) {
    free(r->data);
    r->data = test_write_text(r->dir, name, text);
    r->source.path = r->data;
    r->o.evaluate = NULL;
    r->o.args.epochs = 1;
}

/* Returns the number of classes of the classification head in the first checkpoint of the run. */
static size_t classes_of(const train_run *r) {
    aoei_safetensors *s;
    char *path = test_path(r->output, "checkpoints/step-1/head.safetensors");
    assert_int_equal(aoei_safetensors_open(&s, path, NULL), 0);
    const aoei_st_tensor *t = aoei_safetensors_find(s, "weight");
    assert_true(t && t->n_dims == 2 && t->shape[1] == 3 * TRAIN_DIMS);
    const size_t n = t->shape[0];
    aoei_safetensors_close(s);
    free(path);
    return n;
}

static const char nli[] =
    "premise\thypothesis\tlabel\nthe cat\ta cat\tentailment\nthe dog\ta cat\tcontradiction\nthe house\tthe "
    "cat\tneutral\nthe\told\tentailment\n";

/* Tests the number of classes. The label names of NLI (natural language inference) data are three classes, unless a
 * label map changes them. A numeric label is the index of its class. */
static void classes(void **state) {
    (void)state;
    static const char numbers[] = "text1\ttext2\tlabel\na\tb\t0\nb\tc\t1\nc\td\t0\n";
    static const struct {
        const char *text, *map;
        size_t classes, want;
    } cases[] = {{nli, NULL, AOE_AUTO, 3},
                 {nli, "neutral=drop", AOE_AUTO, 2},
                 {nli, "contradiction=2,neutral=1,entailment=0", AOE_AUTO, 3},
                 {nli, "contradiction=4", AOE_AUTO, 5},
                 {numbers, NULL, AOE_AUTO, 2},
                 {numbers, NULL, 5, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        train_run r;
        begin(&r, AOE_METHOD_SBERT_CLASSIFICATION, 0);
        use_data(&r, "classes.tsv", cases[i].text);
        r.source.table.label_map = cases[i].map;
        r.o.classes = cases[i].classes;
        r.o.args.max_steps = 1;
        train_run_ok(&r, 1);
        assert_int_equal(classes_of(&r), cases[i].want);
        train_run_destroy(&r);
    }
}

/* Tests how sbert-regression scales labels. Each label is divided by options.label_max or, if this option is not set,
 * by the highest label. If the cosine of every pair equals its scaled label, the loss must be 0. */
static void label_scales(void **state) {
    (void)state;
    static const char text[] = "text1\ttext2\tlabel\nthe cat\tthe cat\t5\nthe cat\tthe cat\t5\n";
    for (int i = 0; i < 2; i++) {
        train_run r;
        begin(&r, AOE_METHOD_SBERT_REGRESSION, 0);
        use_data(&r, "equal.tsv", text);
        r.o.label_max = i ? 10 : AOE_AUTO;
        r.o.args.dropout = 0;
        r.o.args.max_steps = 1;
        train_run_ok(&r, 1);
        for (size_t k = 0; k < r.n; k++)
            if (r.events[k].kind == AOE_TRAIN_STEP)
                assert_true(fabs(r.events[k].loss->regression - (i ? 0.25 : 0)) < 1e-10);
        char *record = train_run_read(&r, "aoe.json", NULL);
        assert_non_null(strstr(record, i ? "\"label_max\": 10.0" : "\"label_max\": 5.0"));
        assert_non_null(strstr(record, "\"method\": \"sbert-regression\""));
        free(record);
        train_run_destroy(&r);
    }
}

/* Returns the number of examples of a run. */
static size_t count_examples(train_run *r) {
    r->o.args.max_steps = 1;
    train_run_ok(r, 1);
    for (size_t k = 0; k < r->n; k++)
        if (r->events[k].kind == AOE_TRAIN_START)
            return r->events[k].pairs;
    return 0;
}

/* Tests which examples the SimCSE methods use. For simcse-sup and contrastive, a labeled pair is a positive pair if its
 * label is at least the threshold. simcse-unsup uses every text of any file, with or without labels. */
static void examples_by_method(void **state) {
    (void)state;
    static const char pairs[] = "text1\ttext2\tlabel\na\tb\t5\nb\tc\t4\nc\td\t3.9\nd\te\t0\n",
                      words[] = "sentence1\tsentence2\tlabel\na\tb\tmaybe\nb\tc\tno\n",
                      plain[] = "the cat\na dog\nb c\n", lists[] = "{\"query\": [\"a\", \"b\"], \"positive\": \"c\"}\n";
    static const struct {
        aoe_method method;
        const char *name, *text, *columns;
        double threshold;
        size_t want;
    } cases[] = {{AOE_METHOD_SIMCSE_SUP, "p.tsv", pairs, NULL, AOE_AUTO, 2},
                 {AOE_METHOD_CONTRASTIVE, "p.tsv", pairs, NULL, 3.9, 3},
                 {AOE_METHOD_SYMMETRIC, "p.tsv", pairs, NULL, AOE_AUTO, 2},
                 {AOE_METHOD_GIST, "p.tsv", pairs, NULL, 3.9, 3},
                 {AOE_METHOD_SIMCSE_UNSUP, "p.tsv", pairs, NULL, AOE_AUTO, 8},
                 {AOE_METHOD_CONSERT, "p.tsv", pairs, NULL, AOE_AUTO, 8},
                 {AOE_METHOD_DISTILL, "p.tsv", pairs, NULL, AOE_AUTO, 8},
                 {AOE_METHOD_SIMCSE_UNSUP, "w.tsv", words, NULL, AOE_AUTO, 4},
                 {AOE_METHOD_SIMCSE_UNSUP, "w.tsv", words, "text=sentence2", AOE_AUTO, 2},
                 {AOE_METHOD_SIMCSE_UNSUP, "t.txt", plain, NULL, AOE_AUTO, 3},
                 {AOE_METHOD_SIMCSE_UNSUP, "l.jsonl", lists, NULL, AOE_AUTO, 3}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        train_run r;
        begin(&r, cases[i].method, 0);
        use_data(&r, cases[i].name, cases[i].text);
        r.source.table.columns = cases[i].columns;
        r.o.objective.ibn_threshold = cases[i].threshold;
        assert_int_equal(count_examples(&r), cases[i].want);
        train_run_destroy(&r);
    }
}

static void count_guide_warnings(void *user, aoe_log_level level, const char *message) {
    *(size_t *)user += level == AOE_LOG_WARNING && strstr(message, "leaves out all negatives") != NULL;
}

/* Returns the number of log messages of a run of gist with this margin that contain "leaves out all negatives". The
 * guide is the start model. */
static size_t guide_warnings(double margin, size_t accumulate, size_t *negatives, size_t *left_out) {
    train_run r;
    size_t warnings = 0;
    aoe_context_options o;
    aoe_context *ctx;
    aoe_error err;
    begin(&r, AOE_METHOD_GIST, 1);
    r.o.objective.guide_margin = margin;
    r.o.accumulate = accumulate;
    aoe_context_options_defaults(&o);
    o.log = count_guide_warnings;
    o.log_user = &warnings;
    assert_int_equal(aoe_context_create(&ctx, &o, NULL), 0);
    if (aoe_train(ctx, &r.o, &err))
        fail_msg("%s", err.message);
    *negatives = *left_out = 0;
    for (size_t i = 0; i < r.n; i++) {
        *negatives += r.events[i].loss->negatives;
        *left_out += r.events[i].loss->left_out;
    }
    aoe_context_destroy(ctx);
    train_run_destroy(&r);
    return warnings;
}

/* The result of a step counts the negatives of all its batches, and of them those that the guide leaves out. A run in
 * which none are left logs one warning. An example has a positive and a negative, so B examples have B (2 B - 1 + B - 1
 * + B - 1) negatives. */
static void negatives_left_out(void **state) {
    enum { EPOCHS = 2, BATCHES = 4, NEGATIVES = 4 * (7 + 3 + 3), REST = 2 * (3 + 1 + 1) };
    (void)state;
    for (size_t accumulate = 1; accumulate <= 2; accumulate++) {
        size_t negatives, left_out;
        assert_int_equal(guide_warnings(0, accumulate, &negatives, &left_out), 0);
        assert_int_equal(negatives, EPOCHS * (BATCHES * NEGATIVES + REST)); /* 18 triplets */
        assert_true(left_out > 0 && left_out < negatives);
        assert_int_equal(guide_warnings(3, accumulate, &negatives, &left_out), 1);
        assert_int_equal(left_out, negatives);
    }
}

/* Asserts that the run fails with this code and a message that contains `fragment`, and creates no output. */
static void expect_rejected(train_run *r, int code, const char *fragment) {
    aoe_error err = {0};
    const int got = train_run_go(r, 1, &err);
    if (got != code || !strstr(err.message, fragment))
        fail_msg("found code %d and the message \"%s\", expected code %d and \"%s\"", got, err.message, code, fragment);
    assert_false(aoei_exists(r->output));
}

static void rejected_options(void **state) {
    (void)state;
    static const char scores[] = "text1\ttext2\tlabel\na\tb\t0.5\nb\tc\t1\n",
                      zeros[] = "text1\ttext2\tlabel\na\tb\t0\nb\tc\t-1\n",
                      one_class[] = "text1\ttext2\tlabel\na\tb\t1\nb\tc\tentailment\nc\td\t1\n",
                      positives[] = "query\tpositive\na\tb\nb\tc\n";
    static const struct {
        aoe_method method;
        const char *text;
        int code;
        const char *fragment;
    } cases[] = {
        {AOE_METHOD_SBERT_CLASSIFICATION, scores, AOE_EFORMAT, "bad.tsv:2: label 0.5 is not a class"},
        {AOE_METHOD_SBERT_CLASSIFICATION, zeros, AOE_EFORMAT, "bad.tsv:3: label -1 is not a class"},
        {AOE_METHOD_SBERT_CLASSIFICATION, one_class, AOE_EFORMAT, "bad.tsv: all examples have the class 1"},
        {AOE_METHOD_DAN, one_class, AOE_EFORMAT, "bad.tsv: all examples have the class 1"},
        {AOE_METHOD_SBERT_CLASSIFICATION, positives, AOE_EARG,
         "options.method sbert-classification trains on labeled pairs"},
        {AOE_METHOD_SBERT_REGRESSION, positives, AOE_EARG, "options.method sbert-regression trains on labeled pairs"},
        {AOE_METHOD_SBERT_REGRESSION, zeros, AOE_EFORMAT, "the highest label is 0; set options.label_max"},
        {AOE_METHOD_COSENT, positives, AOE_EARG, "options.method cosent trains on labeled pairs"},
        {AOE_METHOD_COUNT, scores, AOE_EARG, "is unknown; use a value of aoe_method"},
    };
    train_run r;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(&r, cases[i].method, 0);
        use_data(&r, "bad.tsv", cases[i].text);
        expect_rejected(&r, cases[i].code, cases[i].fragment);
        train_run_destroy(&r);
    }
    begin(&r, AOE_METHOD_GIST, 1);
    r.o.objective.guide_margin = -0.1;
    expect_rejected(&r, AOE_EARG, "options.guide_margin is -0.1");
    r.o.objective.guide_margin = 0;
    r.o.teachers[1] = r.o.teachers[0];
    expect_rejected(&r, AOE_EARG, "twice; give each teacher once");
    r.o.teachers[0] = r.o.teachers[1] = NULL;
    expect_rejected(&r, AOE_EARG, "options.method gist needs a guide");
    train_run_destroy(&r);
    begin(&r, AOE_METHOD_SYMMETRIC, 1);
    r.o.objective.directions = AOE_QUERY_TO_QUERY;
    expect_rejected(&r, AOE_EARG, "options.directions must contain query-to-document");
    r.o.objective.directions = AOE_ALL_DIRECTIONS;
    expect_rejected(&r, AOE_EARG, "set options.joint");
    train_run_destroy(&r);
    begin(&r, AOE_METHOD_SIMCSE_UNSUP, 0);
    r.o.args.dropout = 0;
    expect_rejected(&r, AOE_EARG, "without dropout both embeddings of a text are equal");
    r.o.args.dropout = -1;
    r.source.kind = AOE_EXAMPLES_PAIRS;
    expect_rejected(&r, AOE_EARG, "do not give a kind of examples");
    r.source.kind = AOE_EXAMPLES_AUTO;
    r.o.teachers[0] = r.model;
    expect_rejected(&r, AOE_EARG, "simcse-unsup trains a projection of the embeddings");
    train_run_destroy(&r);
    begin(&r, AOE_METHOD_CONSERT, 0);
    r.o.views[0].rate = 1;
    expect_rejected(&r, AOE_EARG, "the rate of feature-cut is 1");
    r.o.views[0] = r.o.views[1] = (aoe_view){AOE_VIEW_PLAIN, 0};
    expect_rejected(&r, AOE_EARG, "without dropout both views of a text are equal");
    r.source.kind = AOE_EXAMPLES_PAIRS;
    expect_rejected(&r, AOE_EARG, "the method reads plain texts");
    train_run_destroy(&r);
    begin(&r, AOE_METHOD_CONSERT_SUP, 0);
    r.o.teachers[0] = r.model;
    expect_rejected(&r, AOE_EARG, "consert-sup has no distillation loss");
    r.o.teachers[0] = NULL;
    r.o.objective.features = AOE_FEATURE_U;
    expect_rejected(&r, AOE_EARG, "options.features must contain at least two features");
    train_run_destroy(&r);
    begin(&r, AOE_METHOD_CONSERT, 0);
    char *paths[4];
    write_models(&r, paths);
    for (size_t i = 1; i < 3; i++) {
        r.o.args.model = paths[i];
        expect_rejected(&r, AOE_EARG, "model has no embedding layer whose output feature-cut could change");
    }
    for (size_t i = 0; i < 4; i++)
        free(paths[i]);
    train_run_destroy(&r);
    begin(&r, AOE_METHOD_SIMCSE_SUP, 0);
    r.o.objective.ibn_threshold = 6;
    expect_rejected(&r, AOE_EARG, "no label reaches options.ibn_threshold 6");
    r.o.objective.hard_negative = INFINITY;
    expect_rejected(&r, AOE_EARG, "options.hard_negative is inf; give a number");
    train_run_destroy(&r);
    begin(&r, AOE_METHOD_CONTRASTIVE, 1);
    r.o.objective.w_ibn = r.o.objective.w_cln = 0;
    r.o.objective.w_cosine = 1; /* the method does not use this loss */
    expect_rejected(&r, AOE_EARG, "all losses for triplets have the weight 0; set options.w_ibn or options.w_cln");
    train_run_destroy(&r);
    begin(&r, AOE_METHOD_SBERT_CLASSIFICATION, 0);
    r.o.classes = 1;
    expect_rejected(&r, AOE_EARG, "options.classes is 1; give at least 2");
    r.o.classes = 3;
    expect_rejected(&r, AOE_EFORMAT, "from 0 to options.classes - 1");
    r.o.classes = AOE_AUTO;
    r.o.label_max = -1;
    expect_rejected(&r, AOE_EARG, "options.label_max is -1");
    train_run_destroy(&r);
}

/* Tests that resuming is rejected if the options of the method have changed, or if the checkpoint does not contain the
 * head (the layer that only training uses). */
static void rejected_resume(void **state) {
    (void)state;
    train_run r;
    aoe_error err = {0};
    begin(&r, AOE_METHOD_SIMCSE_UNSUP, 0);
    r.stop_kind = AOE_TRAIN_STEP;
    r.stop_step = 4;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_ECANCELLED);
    r.stop_kind = -1;
    r.o.args.resume = 1;
    r.o.no_projection = 1;
    assert_int_equal(train_run_go(&r, 1, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "options.no_projection was false and is now true"));
    r.o.no_projection = 0;
    char *head = test_path(r.output, "checkpoints/step-4/head.safetensors");
    assert_int_equal(remove(head), 0);
    assert_int_equal(train_run_go(&r, 1, &err), AOE_ENOENT);
    assert_non_null(strstr(err.message, "head.safetensors"));
    free(head);
    train_run_destroy(&r);
}

static int run_failing(void *arg) {
    train_run *r = arg;
    aoe_context *ctx;
    aoe_context_options c;
    aoe_context_options_defaults(&c);
    c.threads = 1;
    int code = aoe_context_create(&ctx, &c, NULL);
    if (code)
        return code;
    r->n = r->evaluations = 0;
    code = aoe_train(ctx, &r->o, NULL);
    aoe_context_destroy(ctx);
    return code;
}

/* Tests that methods that train an additional layer report every failed allocation. */
static void out_of_memory(void **state) {
    (void)state;
    static const aoe_method methods[] = {AOE_METHOD_SBERT_CLASSIFICATION, AOE_METHOD_SIMCSE_UNSUP,
                                         AOE_METHOD_SIMCSE_SUP, AOE_METHOD_DISTILL};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        train_run r;
        begin(&r, methods[i], 1);
        r.o.evaluate = NULL;
        r.o.args.max_steps = 1;
        r.o.args.force = 1;
        assert_true(test_alloc_failures(run_failing, &r, 40) > 200);
        train_run_destroy(&r);
    }
}

static void names(void **state) {
    (void)state;
    aoe_error err = {0};
    for (int i = 0; i < AOE_METHOD_COUNT; i++) {
        aoe_method m = AOE_METHOD_COUNT;
        assert_non_null(aoe_method_name((aoe_method)i));
        assert_int_equal(aoe_method_parse(&m, aoe_method_name((aoe_method)i), &err), 0);
        assert_int_equal(m, i);
    }
    aoe_method m = AOE_METHOD_COSENT;
    assert_int_equal(aoe_method_parse(&m, "simcse", &err), AOE_EARG);
    assert_non_null(
        strstr(err.message, "method 'simcse' is unknown; did you mean simcse-sup? Otherwise, use angle, consert, "));
    assert_int_equal(aoe_method_parse(&m, "SimCSE-Unsup", &err), AOE_EARG);
    assert_non_null(strstr(err.message, "did you mean simcse-unsup?"));
    assert_int_equal(aoe_method_parse(&m, "mlm", &err), AOE_EARG);
    assert_non_null(strstr(err.message, "method 'mlm' is unknown; use angle, consert, "));
    assert_int_equal(m, AOE_METHOD_COSENT);
    assert_null(aoe_method_name(AOE_METHOD_COUNT));
}

/* Sets option i of those that a method may not support, and returns its name. Returns NULL if there is no such option.
 */
static const char *set_option(aoe_train_options *o, size_t i) {
    static const aoe_prefix prefix = {8, 1};
    switch (i) {
    case 0:
        o->teachers[0] = "teacher";
        o->w_teacher = 1;
        return "options.teachers";
    case 1:
        o->matryoshka = &prefix;
        o->n_matryoshka = 1;
        return "options.matryoshka";
    case 2:
        o->layers.adaptive = 1;
        return "options.layers.adaptive";
    case 3:
        o->layers.ese = 1;
        return "options.layers.ese";
    case 4:
        o->lora.r = 2;
        return "options.lora.r";
    default:
        return NULL;
    }
}

/* Bit i of the set of a method is 1 if the method does not support option i. */
static void unsupported_options(void **state) {
    (void)state;
    static const unsigned unsupported[AOE_METHOD_COUNT] = {
        [AOE_METHOD_CROSS_ENCODER] = 15, [AOE_METHOD_CONSERT_SUP] = 1,    [AOE_METHOD_IS_BERT] = 15,
        [AOE_METHOD_DIFFCSE] = 15,       [AOE_METHOD_INFERSENT] = 18,     [AOE_METHOD_PROMPTBERT] = 15,
        [AOE_METHOD_DAN] = 18,           [AOE_METHOD_PROMPTBERT_SUP] = 13};
    for (int m = 0; m < AOE_METHOD_COUNT; m++)
        for (size_t i = 0; i < 5; i++) {
            aoe_train_options o;
            aoe_train_data data;
            char message[96];
            aoe_error err = {0};
            aoe_train_data_defaults(&data, "data.tsv");
            aoe_train_options_defaults(&o);
            aoe_train_method_defaults(&o, (aoe_method)m);
            o.args.model = "model";
            o.args.output = "out";
            o.data = &data;
            o.n_data = 1;
            o.generator = "generator";
            const char *option = set_option(&o, i);
            snprintf(message, sizeof message, "%s: options.method %s ", option, aoe_method_name((aoe_method)m));
            const int code = aoe_train_check(&o, &err);
            if (unsupported[m] >> i & 1)
                assert_true(code == AOE_EARG && !strncmp(err.message, message, strlen(message)) &&
                            strstr(err.message, "; choose another method"));
            else
                assert_true(!code || strncmp(err.message, message, strlen(message)));
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_bit_identical),
        cmocka_unit_test(loss_decreases),
        cmocka_unit_test(traces),
        cmocka_unit_test(every_encoder),
        cmocka_unit_test(saved_layers),
        cmocka_unit_test(classes),
        cmocka_unit_test(label_scales),
        cmocka_unit_test(examples_by_method),
        cmocka_unit_test(negatives_left_out),
        cmocka_unit_test(rejected_options),
        cmocka_unit_test(unsupported_options),
        cmocka_unit_test(rejected_resume),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests_name("methods_train", tests, NULL, NULL);
}
