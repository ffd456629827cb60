/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: train/masking train/sequences
 * Tests pretraining: the token sequences formed from texts, whole-word masking, and training runs. The trained weights
 * must not depend on the number of threads, on recomputation of activations, or on whether a run is stopped and
 * resumed. The head that predicts masked tokens must be saved and loaded. Invalid options and files must be rejected.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_data.h"
#include "aoe_train.h"
#include "base/path.h"
#include "encoder/slots.h"
#include "model/model.h"
#include "tokenizer/tokenizer.h"
#include "train/masking.h"
#include "train/sequences.h"
#include "model/open.h"

enum { MASK = 4, CLS = 2, SEP = 3, TEXTS = 300 };

static char *dir, *model_dir, *texts;
static aoe_context *ctx;
static aoe_model *model;

static int set_up(void **state) {
    (void)state;
    dir = tiny_dir_create();
    ctx = tiny_context(2);
    tiny_model shape = tiny_defaults();
    model_dir = test_path(dir, "model");
    tiny_model_write(model_dir, &shape);
    assert_int_equal(aoe_model_open(&model, ctx, model_dir, NULL, NULL), 0);
    char *all = malloc(TEXTS * 256);
    size_t at = 0;
    for (uint32_t i = 0; i < TEXTS; i++)
        at += (size_t)sprintf(all + at, "%s\n", tiny_text(i));
    texts = test_write_text(dir, "texts.txt", all);
    free(all);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    aoe_model_close(model);
    aoe_context_destroy(ctx);
    test_dir_remove(dir);
    free(model_dir);
    free(texts);
    return 0;
}

/* ------------------------------------------------------------------ sequences */

/* Forms token sequences from the text and returns them as one string, which the caller frees. Spaces separate tokens,
 * and '|' separates sequences, for example: "[CLS] the cat [SEP]|[CLS] a dog [SEP]". */
static char *sequences_of(const char *text, size_t max_length, int pack) {
    static const aoe_table_options table;
    char *path = test_write_text(dir, "s.txt", text), *out = calloc(1, 1 << 16);
    const char *files[] = {path};
    const aoei_sequences_options o = {
        .files = files, .n_files = 1, .table = &table, .max_length = max_length, .pack = pack};
    aoei_sequences *s;
    const int32_t *ids;
    size_t n;
    int rc;
    assert_int_equal(aoei_sequences_open(&s, model, &o, NULL), 0);
    while ((rc = aoei_sequences_next(s, &ids, &n, NULL)) == 1) {
        assert_true(n <= max_length && n > 0);
        for (size_t i = 0; i < n; i++) {
            const aoe_text t = aoe_tokenizer_token(model->tokenizer, ids[i]);
            sprintf(out + strlen(out), "%s%.*s", i ? " " : *out ? "|" : "", (int)t.len, t.data);
        }
    }
    assert_int_equal(rc, 0);
    assert_int_equal(aoei_sequences_next(s, &ids, &n, NULL), 0); /* a call after the end also returns 0 */
    aoei_sequences_close(s);
    free(path);
    return out;
}

static void expect_sequences(const char *text, size_t max_length, int pack, const char *want) {
    char *got = sequences_of(text, max_length, pack);
    assert_string_equal(got, want);
    free(got);
}

static void test_sequences(void **state) {
    (void)state;
    static const char text[] = "The cat\n\n  \na dog runs\nbird\n";
    expect_sequences(text, 32, 0, "[CLS] the cat [SEP]|[CLS] a dog runs [SEP]|[CLS] bird [SEP]");
    expect_sequences(text, 32, 1, "[CLS] the cat [SEP] a dog runs [SEP] bird [SEP]");
    expect_sequences(text, 8, 1, "[CLS] the cat [SEP] a dog runs [SEP]|[CLS] bird [SEP]");
    expect_sequences(text, 7, 1, "[CLS] the cat [SEP]|[CLS] a dog runs [SEP] bird [SEP]");
    expect_sequences(text, 4, 1, "[CLS] the cat [SEP]|[CLS] a dog [SEP]|[CLS] runs [SEP]|[CLS] bird [SEP]");
    expect_sequences(text, 3, 0,
                     "[CLS] the [SEP]|[CLS] cat [SEP]|[CLS] a [SEP]|[CLS] dog [SEP]|[CLS] runs [SEP]|[CLS] bird [SEP]");
    expect_sequences("\n\n", 8, 1, "");
    aoei_sequences *s;
    aoe_error err;
    static const aoe_table_options table;
    const aoei_sequences_options o = {
        .files = (const char *const[]){texts}, .n_files = 1, .table = &table, .max_length = 2};
    assert_int_equal(aoei_sequences_open(&s, model, &o, &err), AOE_EARG);
    assert_non_null(strstr(err.message, "special tokens"));
}

/* Tests held-out texts. About a quarter of the texts must be held out. Each text occurs twice; either both copies must
 * be held out, or both must be used for training. */
static void test_held_out(void **state) {
    (void)state;
    static const aoe_table_options table;
    size_t count[2] = {0, 0};
    for (int side = 0; side < 2; side++) {
        const aoei_sequences_options o = {.files = (const char *const[]){texts, texts},
                                          .n_files = 2,
                                          .table = &table,
                                          .max_length = 32,
                                          .held_out = 0.25,
                                          .want_held_out = side};
        aoei_sequences *s;
        const int32_t *ids;
        size_t n;
        assert_int_equal(aoei_sequences_open(&s, model, &o, NULL), 0);
        while (aoei_sequences_next(s, &ids, &n, NULL) == 1)
            count[side]++;
        aoei_sequences_close(s);
    }
    assert_int_equal(count[0] + count[1], 2 * TEXTS);
    assert_int_equal(count[1] % 2, 0);
    /* The number of distinct held-out texts may differ from TEXTS / 4 by at most 30, which is 4 standard deviations.
     * count[1] counts each of them twice. */
    assert_true(count[1] > 2 * TEXTS / 4 - 2 * 30 && count[1] < 2 * TEXTS / 4 + 2 * 30);
}

/* -------------------------------------------------------------------- masking */

static void test_masking(void **state) {
    (void)state;
    enum { LONGEST = 30, ROUNDS = 20000 };
    aoei_masking m;
    size_t masked = 0, as_mask = 0, kept = 0, tokens = 0, random_special = 0;
    uint32_t index[LONGEST];
    int32_t target[LONGEST], before[LONGEST], ids[LONGEST];
    assert_int_equal(aoei_masking_create(&m, model, 0.15, LONGEST, NULL), 0);
    assert_int_equal(m.mask, MASK);
    aoei_rng rng;
    aoei_rng_init(&rng, 3, AOEI_STREAM_TEST, 0);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        const size_t n = 3 + aoei_rng_below(&rng, LONGEST - 2);
        size_t maskable = 0;
        before[0] = CLS;
        before[n - 1] = SEP;
        for (size_t i = 1; i + 1 < n; i++) /* fills the sequence with random tokens that may be masked */
            before[i] = m.ordinary[aoei_rng_below(&rng, (uint32_t)m.n_ordinary)];
        for (size_t i = 1; i + 1 < n; i++)
            maskable += m.kind[before[i]] == AOEI_TOKEN_WORD || m.kind[before[i]] == AOEI_TOKEN_CONTINUATION;
        assert_int_equal(maskable, n - 2);
        memcpy(ids, before, sizeof ids);
        aoei_rng draw;
        aoei_rng_init(&draw, 1, AOEI_STREAM_MASK, round);
        const size_t count = aoei_masking_apply(&m, &draw, ids, n, index, target);
        const double wanted = nearbyint(0.15 * (double)maskable);
        assert_true((double)count <= fmax(wanted, 1));
        unsigned char hit[LONGEST] = {0};
        for (size_t i = 0; i < count; i++) {
            assert_true(index[i] > 0 && index[i] + 1 < n && (i == 0 || index[i] > index[i - 1]));
            assert_int_equal(target[i], before[index[i]]);
            hit[index[i]] = 1;
            as_mask += ids[index[i]] == MASK;
            kept += ids[index[i]] == target[i];
            random_special += ids[index[i]] != MASK && m.kind[ids[index[i]]] == AOEI_TOKEN_SPECIAL;
        }
        for (size_t i = 0; i < n; i++)
            assert_true(hit[i] || ids[i] == before[i]); /* tokens that are not selected must not change */
        /* a continuation token must be selected if and only if the token before it is selected, because whole words are
         * selected */
        for (size_t i = 2; i + 1 < n; i++)
            if (m.kind[before[i]] == AOEI_TOKEN_CONTINUATION)
                assert_int_equal(hit[i], hit[i - 1]);
        masked += count;
        tokens += maskable;
    }
    const double share = (double)masked / (double)tokens, n = (double)masked;
    /* a word is skipped if selecting it would select more than 15% of the tokens, so the fraction of selected tokens
     * may be below 0.15 */
    assert_true(share > 0.10 && share < 0.16);
    assert_true(fabs((double)as_mask / n - 0.8) < 4 * sqrt(0.8 * 0.2 / n));
    /* 10% of the selected tokens are kept, 10% are replaced by a random token, and this random token may equal the
     * original token */
    const double unchanged = 0.1 + 0.1 / (double)m.n_ordinary;
    assert_true(fabs((double)kept / n - unchanged) < 4 * sqrt(unchanged * (1 - unchanged) / n));
    assert_int_equal(random_special, 0);
    int32_t nothing[2] = {CLS, SEP};
    assert_int_equal(aoei_masking_apply(&m, &rng, nothing, 2, index, target), 0);
    aoei_masking_destroy(&m);
}

/* ----------------------------------------------------------------------- runs */

typedef struct run {
    /* options of the run; o.texts points to the field `file`, and o.args.output equals `output` */
    aoe_pretrain_options o;
    char *output;                 /* path of the output directory, owned */
    const char *file;             /* path of the text file */
    size_t stop;                  /* step after which the run is cancelled; 0: not cancelled */
    size_t steps, evaluations;    /* steps: number of training steps. evaluations: number of evaluations. */
    double first_loss, last_loss; /* training losses of the first and of the last step */
    double held_out;              /* loss of the last evaluation on the held-out texts */
} run;

static int on_event(void *user, const aoe_train_event *e) {
    run *r = user;
    if (e->kind == AOE_TRAIN_STEP) {
        r->steps++;
        assert_true(e->accuracy >= 0 && e->accuracy <= 1 && e->tokens_per_second > 0);
        r->last_loss = e->loss->total;
        if (e->step == 1)
            r->first_loss = e->loss->total;
    }
    if (e->kind == AOE_TRAIN_EVAL) {
        r->evaluations++;
        r->held_out = e->loss->total;
        assert_true(e->score == -e->loss->total);
    }
    return r->stop && e->kind == AOE_TRAIN_STEP && e->step == r->stop;
}

static void run_create(run *r, const char *output) {
    memset(r, 0, sizeof *r);
    r->output = test_path(dir, output);
    r->file = texts;
    aoe_pretrain_options_defaults(&r->o);
    r->o.args.model = model_dir;
    r->o.args.output = r->output;
    r->o.args.model_options.dtype = AOE_DTYPE_F32;
    r->o.args.event = on_event;
    r->o.args.event_user = r;
    r->o.args.epochs = 2;
    r->o.args.lr = 1e-2;
    r->o.args.save_every = 5;
    r->o.texts = &r->file;
    r->o.n_texts = 1;
    r->o.batch_size = 16;
    r->o.pack = 0;
    r->o.shuffle = 50;
    r->o.held_out = 0.1;
}

static int run_pretraining(run *r, size_t threads, aoe_error *err) {
    aoe_context *own = tiny_context(threads);
    const int code = aoe_pretrain(own, &r->o, err);
    aoe_context_destroy(own);
    return code;
}

static void run_ok(run *r, size_t threads) {
    aoe_error err;
    if (run_pretraining(r, threads, &err))
        fail_msg("%s", err.message);
}

static char *weights_of(const run *r, size_t *size) {
    char *path = test_path(r->output, "model.safetensors"), *data = test_read(path, size);
    free(path);
    return data;
}

static void assert_weights(const run *r, const char *want, size_t size) {
    size_t got_size;
    char *got = weights_of(r, &got_size);
    assert_int_equal(got_size, size);
    assert_memory_equal(got, want, size);
    free(got);
}

static void test_runs(void **state) {
    (void)state;
    for (int type = AOE_DTYPE_F32; type <= AOE_DTYPE_BF16; type++) {
        char name[32];
        size_t size;
        run r;
        snprintf(name, sizeof name, "whole-%d", type);
        run_create(&r, name);
        r.o.args.model_options.dtype = (aoe_dtype)type;
        run_ok(&r, 1);
        assert_true(r.steps > 20 && r.evaluations == 3);
        assert_true(r.held_out < r.first_loss && isfinite(r.held_out)); /* training must reduce the loss */
        char *want = weights_of(&r, &size);
        free(r.output);
        /* Two runs are stopped and then resumed with 1 thread. The first run has 2 threads and stops in the first
         * epoch. The second run has 3 threads, recomputes activations and stops in the second epoch. */
        for (size_t threads = 2; threads <= 3; threads++) {
            snprintf(name, sizeof name, "stopped-%d-%zu", type, threads);
            run_create(&r, name);
            r.o.args.model_options.dtype = (aoe_dtype)type;
            r.stop = threads == 2 ? 7 : 21;
            r.o.args.recompute = threads == 3;
            assert_int_equal(run_pretraining(&r, threads, NULL), AOE_ECANCELLED);
            r.stop = 0;
            r.o.args.resume = 1;
            run_ok(&r, 1);
            assert_weights(&r, want, size);
            free(r.output);
        }
        free(want);
    }
}

/* Tests a run that packs several texts into a sequence, and a second run that starts from the encoder and the head of
 * the first run. aoe_model_open must open the encoder without the head. */
static void test_head(void **state) {
    (void)state;
    run r, next;
    aoe_model *m, *encoder;
    run_create(&r, "head");
    r.o.pack = 1;
    run_ok(&r, 2);
    assert_int_equal(aoei_model_open_mlm(&m, ctx, r.output, NULL, 1, NULL), 0);
    assert_null(m->memory.generated); /* the head was read from the file and not initialized with random numbers */
    assert_string_equal(m->files.prefix, "bert.");
    assert_int_equal(aoei_slot_count(&m->config), aoei_slot_count(&model->config) + AOEI_HW_COUNT);
    assert_int_equal(aoe_model_open(&encoder, ctx, r.output, NULL, NULL), 0);
    aoe_model_info info = {.struct_size = sizeof info}, before = {.struct_size = sizeof before};
    aoe_model_get_info(encoder, &info);
    aoe_model_get_info(model, &before);
    assert_int_equal(info.parameters, before.parameters);
    char *config = test_path(r.output, "config.json"), *text = test_read(config, NULL);
    assert_non_null(strstr(text, "BertForMaskedLM"));
    free(text);
    free(config);
    run_create(&next, "head-2");
    next.o.args.model = r.output;
    run_ok(&next, 1);
    assert_true(next.first_loss < r.first_loss - 0.2);
    aoe_model_close(encoder);
    aoe_model_close(m);
    free(next.output);
    free(r.output);
}

/* Asserts that the run fails with the error `code` and a message that contains `part`, and that it writes no output
 * directory. */
static void expect_rejected(run *r, int code, const char *part) {
    aoe_error err;
    const int got = run_pretraining(r, 1, &err);
    if (got != code || !strstr(err.message, part))
        fail_msg("expected code %d and a message with \"%s\", found code %d, \"%s\"", code, part, got, err.message);
    assert_int_equal(aoei_exists(r->output), 0);
}

static void test_bad_input(void **state) {
    (void)state;
    run r;
    run_create(&r, "bad");
    r.o.n_texts = 0;
    expect_rejected(&r, AOE_EARG, "texts");
    r.o.n_texts = 1;
    r.o.mask_rate = 1;
    expect_rejected(&r, AOE_EARG, "options.mask_rate");
    r.o.mask_rate = 0.15;
    r.o.held_out = 1;
    expect_rejected(&r, AOE_EARG, "options.held_out");
    r.o.held_out = 1e-9;
    expect_rejected(&r, AOE_EFORMAT, "options.held_out");
    r.o.held_out = 0.1;
    r.o.batch_size = 0;
    expect_rejected(&r, AOE_EARG, "options.batch_size");
    r.o.batch_size = 4;
    r.file = "nowhere.txt";
    expect_rejected(&r, AOE_ENOENT, "nowhere.txt");
    char *empty = test_write_text(dir, "empty.txt", "\n\n"),
         *broken = test_write_text(dir, "broken.txt", "the cat\nb\xff\n"),
         *table = test_write_text(dir, "columns.tsv", "a\tb\nc\td\n");
    r.file = empty;
    expect_rejected(&r, AOE_EFORMAT, "no text to train on");
    r.file = broken;
    expect_rejected(&r, AOE_EFORMAT, "UTF-8");
    r.file = table;
    expect_rejected(&r, AOE_EFORMAT, "no column for text");
    free(empty);
    free(broken);
    free(table);
    free(r.output);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sequences), cmocka_unit_test(test_held_out),
                                       cmocka_unit_test(test_masking),   cmocka_unit_test(test_runs),
                                       cmocka_unit_test(test_head),      cmocka_unit_test(test_bad_input)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
