/* SPDX-License-Identifier: MIT
 * covers: table/examples
 * Tests the loading of examples and the planning of the batches of an epoch. Examples are pairs, positives or triplets
 * from files. Invalid files are rejected. Each example must be used as often as its weight specifies, and a batch with
 * in-batch negatives must not contain a text twice. If an example has a list of alternative texts, one of them is
 * chosen at random. Equal seeds give equal plans.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe_data.h"
#include "train/batch_plan.h"

static char *dir;
static aoe_context *ctx;
static aoe_model *model;

static int set_up(void **state) {
    (void)state;
    dir = tiny_dir_create();
    ctx = tiny_context(2);
    tiny_model shape = tiny_defaults();
    char *path = test_path(dir, "model");
    tiny_model_write(path, &shape);
    assert_int_equal(aoe_model_open(&model, ctx, path, NULL, NULL), 0);
    free(path);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    aoe_model_close(model);
    aoe_context_destroy(ctx);
    test_dir_remove(dir);
    return 0;
}

/* Writes text to the file `name` in the test directory and loads its examples. Returns 0 or an error code. */
static int load(aoei_examples *e, const char *name, const char *text, const aoe_table_options *o, aoe_error *err) {
    char *path = test_write_text(dir, name, text);
    const int code = aoei_examples_load(e, path, AOE_EXAMPLES_AUTO, o, err);
    free(path);
    return code;
}

/* Writes text to the file `name` in the test directory and creates a source of training examples from the file. */
static void load_source(aoei_source *s, const char *name, const char *text, double weight) {
    aoei_examples e;
    aoe_error err;
    if (load(&e, name, text, NULL, &err))
        fail_msg("%s", err.message);
    if (aoei_dataset_create(&s->data, model, &e, NULL, NULL, &err))
        fail_msg("%s", err.message);
    s->weight = weight;
    s->distinct = s->data.kind != AOE_EXAMPLES_PAIRS;
    aoei_examples_free(&e);
}

static void check_text(const aoei_examples *e, size_t i, const char *want) {
    assert_int_equal(e->text[i].len, strlen(want));
    assert_memory_equal(e->text[i].data, want, strlen(want));
}

static void test_example_kinds(void **state) {
    (void)state;
    aoei_examples e;
    assert_int_equal(load(&e, "a.tsv",
                          "label\tpremise\thypothesis\tsource\nentailment\ta\tb\tx\nneutral\tc\td\tx\n0.5\te\tf\tx\n",
                          NULL, NULL),
                     0);
    assert_true(e.kind == AOE_EXAMPLES_PAIRS && e.n == 2 && e.roles == 2 && e.dropped == 1);
    assert_true(e.label[0] == 1 && e.label[1] == 0.5 && e.line[1] == 4);
    check_text(&e, 3, "f");
    aoei_examples_free(&e);
    assert_int_equal(load(&e, "c.tsv", "premise\tentailment\tcontradiction\na\tb\tc\nd\te\tf\n", NULL, NULL), 0);
    assert_true(e.kind == AOE_EXAMPLES_TRIPLETS && e.n == 2 && e.roles == 3 && e.n_texts == 6);
    check_text(&e, 5, "f");
    aoei_examples_free(&e);
    const aoe_table_options columns = {.struct_size = sizeof(aoe_table_options), .columns = "query=x,positive=y"};
    assert_int_equal(load(&e, "b.csv", "y,x\nb,a\n", &columns, NULL), 0);
    assert_true(e.kind == AOE_EXAMPLES_POSITIVES && e.n == 1);
    check_text(&e, 0, "a");
    aoei_examples_free(&e);
    assert_int_equal(
        load(&e, "lists.jsonl",
             "{\"query\": [\"a\", \"b\"], \"positive\": \"c\"}\n{\"query\": \"d\", \"positive\": [\"e\"]}\n", NULL,
             NULL),
        0);
    assert_true(e.kind == AOE_EXAMPLES_POSITIVES && e.n == 2 && e.n_texts == 5);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(aoei_examples_line(&e, i), i < 3 ? 1 : 2);
    static const size_t first[] = {0, 2, 3, 4, 5};
    assert_memory_equal(e.first, first, sizeof first);
    aoei_examples_free(&e);
    aoei_examples_free(&e);
}

static void expect_rejected(const char *name, const char *text, const char *part) {
    aoei_examples e;
    aoe_error err;
    assert_int_equal(load(&e, name, text, NULL, &err), AOE_EFORMAT);
    if (!strstr(err.message, part))
        fail_msg("the message '%s' does not contain '%s'", err.message, part);
    aoei_examples_free(&e);
}

static void test_bad_examples(void **state) {
    (void)state;
    expect_rejected("x.tsv", "a\tb\n1\t2\n", "unrecognized columns");
    expect_rejected("x.jsonl", "{\"query\": [], \"positive\": \"c\"}\n",
                    "x.jsonl:1: column 'query': the list is empty");
    expect_rejected("x.jsonl", "{\"query\": [\"a\", 3], \"positive\": \"c\"}\n",
                    "x.jsonl:1: column 'query': an element");
    expect_rejected("x.jsonl", "{\"query\": [\"a\"], \"positive\": \"c\"}\n{\"query\": [\" \"], \"positive\": \"c\"}\n",
                    "x.jsonl:2: column 'query'");
    expect_rejected("x.jsonl", "{\"query\": {\"a\": 1}, \"positive\": \"c\"}\n", "neither a JSON string nor a list");
    expect_rejected("x.tsv", "query\tpositive\n", "no rows");
}

/* Returns a table of n rows. Row i has query number i % 7, which several rows share, and a positive that occurs in no
 * other row. The caller frees the table. */
static char *shared_rows(size_t n) {
    char *text = malloc(64 + n * 160);
    size_t at = (size_t)sprintf(text, "query\tpositive\n");
    for (size_t i = 0; i < n; i++) {
        at += (size_t)sprintf(text + at, "%s\t", tiny_text((uint32_t)(i % 7)));
        at += (size_t)sprintf(text + at, "%s\n", tiny_text((uint32_t)(100 + i)));
    }
    return text;
}

/* Counts the pairs of equal texts that belong to different examples of one batch. Returns the sum over all batches. */
static size_t count_duplicates(const aoei_batches *b) {
    size_t duplicates = 0;
    for (size_t k = 0; k < b->n; k++) {
        const aoei_planned_batch *batch = &b->batch[k];
        const aoei_dataset *d = &b->sources[batch->source].data;
        for (size_t i = 0; i < batch->n * d->arity; i++)
            for (size_t j = 0; j < i / d->arity * d->arity; j++)
                duplicates += d->groups[aoei_batches_texts(b, batch->first + i / d->arity)[i % d->arity]] ==
                              d->groups[aoei_batches_texts(b, batch->first + j / d->arity)[j % d->arity]];
    }
    return duplicates;
}

/* Counts how many times each of the n examples of a source is used in the epoch. */
static void count_examples(const aoei_batches *b, size_t source, size_t *count, size_t n) {
    memset(count, 0, n * sizeof *count);
    for (size_t k = 0; k < b->n; k++)
        for (size_t i = 0; b->batch[k].source == source && i < b->batch[k].n; i++)
            count[b->example[b->batch[k].first + i]]++;
}

static void test_weights(void **state) {
    (void)state;
    enum { PAIRS = 22 };
    static const double weights[] = {1, 2, 2.5, 0.5, 0.01};
    static const size_t batches[] = {6, 11, 14, 3, 1}, total[] = {22, 44, 55, 11, 1};
    char *path = tiny_table(dir, "pairs.tsv", PAIRS, 1), *text = test_read(path, NULL);
    for (size_t k = 0; k < 5; k++) {
        aoei_source s = {0};
        aoei_batches b;
        size_t count[PAIRS], sum = 0, other[PAIRS];
        load_source(&s, "p.tsv", text, weights[k]);
        assert_int_equal(aoei_batches_create(&b, &s, 1, 4, 42, NULL), 0);
        assert_int_equal(b.n, batches[k]);
        assert_int_equal(b.examples, total[k]);
        aoei_batches_plan(&b, 0);
        count_examples(&b, 0, count, PAIRS);
        for (size_t i = 0; i < PAIRS; i++) {
            sum += count[i];
            assert_true(count[i] >= (size_t)weights[k] && count[i] <= (size_t)weights[k] + 1);
        }
        assert_int_equal(sum, total[k]);
        uint32_t *order = malloc(b.examples * sizeof *order);
        memcpy(order, b.example, b.examples * sizeof *order);
        aoei_batches_plan(&b, 1);
        assert_true(k == 4 || memcmp(order, b.example, b.examples * sizeof *order) != 0);
        count_examples(&b, 0, other, PAIRS);
        aoei_batches_plan(&b, 0); /* epoch 0 is planned again and must give the first plan */
        assert_memory_equal(order, b.example, b.examples * sizeof *order);
        free(order);
        aoei_batches_destroy(&b);
        aoei_dataset_destroy(&s.data);
    }
    free(text);
    free(path);
}

/* Tests a data set with only CLASSES different positives. A batch must not contain a text twice, so it has at most
 * CLASSES examples. An example whose text is already in the batch is tried again for the next batch. */
static void test_few_classes(void **state) {
    (void)state;
    enum { N = 4000, CLASSES = 3 };
    static char text[N * 16 + 32];
    static size_t count[N];
    aoei_source s = {0};
    aoei_batches b;
    size_t used = (size_t)sprintf(text, "query\tpositive\n"), without = 0;
    for (int i = 0; i < N; i++)
        used += (size_t)sprintf(text + used, "%c %c %c %c\t%c\n", 'a' + i / 1331 % 11, 'a' + i / 121 % 11,
                                'a' + i / 11 % 11, 'a' + i % 11, 'l' + i % CLASSES);
    load_source(&s, "q.tsv", text, 1);
    assert_int_equal(aoei_batches_create(&b, &s, 1, 4, 1, NULL), 0);
    aoei_batches_plan(&b, 0);
    assert_int_equal(b.n, N / 4);
    assert_int_equal(count_duplicates(&b), 0);
    count_examples(&b, 0, count, N);
    for (size_t i = 0; i < N; i++) {
        assert_true(count[i] <= 1);
        without += count[i] == 0;
    }
    assert_int_equal(without, b.unused);
    for (size_t k = 0; k < b.n; k++)
        assert_true(b.batch[k].n >= 1 && b.batch[k].n <= CLASSES);
    /* N / 4 examples would remain unused if every batch had CLASSES examples; a few batches may have fewer */
    assert_true(without <= N / 2);
    aoei_batches_destroy(&b);
    aoei_dataset_destroy(&s.data);
}

static void test_no_duplicates(void **state) {
    (void)state;
    enum { N = 70 };
    char *text = shared_rows(N);
    aoei_source s = {0};
    aoei_batches b;
    size_t count[N], without = 0;
    load_source(&s, "q.tsv", text, 1);
    s.distinct = 0;
    assert_int_equal(aoei_batches_create(&b, &s, 1, 8, 1, NULL), 0);
    aoei_batches_plan(&b, 0);
    assert_true(count_duplicates(&b) > 0);
    assert_int_equal(b.unused, 0);
    aoei_batches_destroy(&b);
    s.distinct = 1;
    for (size_t epoch = 0; epoch < 5; epoch++) {
        assert_int_equal(aoei_batches_create(&b, &s, 1, 5, epoch, NULL), 0);
        aoei_batches_plan(&b, epoch);
        assert_int_equal(count_duplicates(&b), 0);
        count_examples(&b, 0, count, N);
        without = 0;
        for (size_t i = 0; i < N; i++) {
            assert_true(count[i] <= 1);
            without += count[i] == 0;
        }
        assert_int_equal(without, b.unused);
        assert_true(without < N / 5);
        aoei_batches_destroy(&b);
    }
    /* the batch size 20 exceeds the number of different queries, 7: each batch has 1 to 7 examples */
    assert_int_equal(aoei_batches_create(&b, &s, 1, 20, 1, NULL), 0);
    aoei_batches_plan(&b, 0);
    assert_int_equal(count_duplicates(&b), 0);
    for (size_t k = 0; k < b.n; k++)
        assert_true(b.batch[k].n >= 1 && b.batch[k].n <= 7);
    aoei_batches_destroy(&b);
    aoei_dataset_destroy(&s.data);
    free(text);
}

static void test_alternatives(void **state) {
    (void)state;
    static const char text[] =
        "{\"query\": [\"the cat\", \"a dog\", \"bird\"], \"positive\": [\"the cat\", \"a dog\", \"bird\"]}\n"
        "{\"query\": \"old\", \"positive\": [\"old\", \"old\"]}\n";
    aoei_source s = {0};
    aoei_batches b;
    size_t seen[3][3] = {{0}};
    load_source(&s, "l.jsonl", text, 1);
    assert_int_equal(aoei_batches_create(&b, &s, 1, 1, 7, NULL), 0);
    for (size_t epoch = 0; epoch < 400; epoch++) {
        aoei_batches_plan(&b, epoch);
        for (size_t k = 0; k < 2; k++) {
            const uint32_t *t = aoei_batches_texts(&b, b.batch[k].first);
            if (b.example[b.batch[k].first] == 0)
                seen[t[0]][t[1] - 3]++;
            else
                /* this example contains only the text "old", so either of its two positives may be chosen */
                assert_true(t[0] == 6 && (t[1] == 7 || t[1] == 8));
        }
    }
    for (size_t i = 0; i < 3; i++)
        /* each of the 6 pairs of different texts is expected 400 / 6 times; the tolerance is 4 standard deviations */
        for (size_t k = 0; k < 3; k++)
            assert_true(i == k ? seen[i][k] == 0 : seen[i][k] > 66 - 30 && seen[i][k] < 67 + 30);
    aoei_batches_destroy(&b);
    aoei_dataset_destroy(&s.data);
}

/* Tests training on several files. Each batch must contain examples of only one file, and the order of the batches must
 * differ between epochs. */
static void test_sources(void **state) {
    (void)state;
    aoei_source s[2] = {{.weight = 0}, {.weight = 0}};
    aoei_batches a, b;
    char *text = shared_rows(40), *path = tiny_table(dir, "pairs.tsv", 22, 1), *pairs = test_read(path, NULL);
    load_source(&s[0], "p.tsv", pairs, 1);
    load_source(&s[1], "q.tsv", text, 0.5);
    assert_int_equal(aoei_batches_create(&a, s, 2, 4, 3, NULL), 0);
    assert_int_equal(aoei_batches_create(&b, s, 2, 4, 3, NULL), 0);
    assert_int_equal(a.n, 6 + 5);
    assert_int_equal(a.examples, 22 + 20);
    aoei_batches_plan(&a, 2);
    aoei_batches_plan(&b, 0);
    int differ = 0;
    for (size_t k = 0; k < a.n; k++)
        differ |= a.batch[k].source != b.batch[k].source;
    assert_true(differ);
    aoei_batches_plan(&b, 2);
    size_t count[2] = {0, 0};
    for (size_t k = 0; k < a.n; k++) {
        assert_memory_equal(&a.batch[k], &b.batch[k], sizeof a.batch[k]);
        count[a.batch[k].source]++;
    }
    assert_true(count[0] == 6 && count[1] == 5);
    s[1].weight = 1e9;
    aoei_batches_destroy(&b);
    assert_int_equal(aoei_batches_create(&b, s, 2, 4, 3, NULL), AOE_EARG);
    aoei_batches_destroy(&a);
    aoei_dataset_destroy(&s[0].data);
    aoei_dataset_destroy(&s[1].data);
    free(text);
    free(pairs);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_example_kinds), cmocka_unit_test(test_bad_examples),
                                       cmocka_unit_test(test_weights),       cmocka_unit_test(test_few_classes),
                                       cmocka_unit_test(test_no_duplicates), cmocka_unit_test(test_alternatives),
                                       cmocka_unit_test(test_sources)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
