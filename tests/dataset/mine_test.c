/* SPDX-License-Identifier: MIT
 * tags: threads
 * covers: dataset/mine_texts
 * Tests the mining of hard negatives. The model is a static model whose words are five degrees apart on a circle, so
 * that every cosine is known. The tests cover texts that must never be negatives, options that limit the candidates,
 * random sampling of candidates, rows in which the query or the positive is a list of alternative texts, and invalid
 * input. For a BERT model and thousands of rows, the results are compared with a direct computation, with several
 * numbers of threads.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/grad_check.h"
#include "../support/support.h"
#include "../support/tiny_model.h"
#include "aoe.h"
#include "aoe_data.h"
#include "base/dir.h"
#include "modeldir/safetensors.h"
#include "modeldir/safetensors_writer.h"

enum { WORDS = 73, FIRST = 5, MAX_TRIPLETS = 20000 };

static char *dir, *circle, *bert;
static aoe_context *context;

/* Writes a static model with the words w00 to w72. The embedding of wNN is at 5 * NN degrees on a circle, so w72 and
 * w00 have equal embeddings. */
static void write_circle(const char *path) {
    char vocab[8 * (WORDS + FIRST)] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n", name[] = "embeddings";
    const aoei_st_entry e = {name, AOEI_ST_F32, 2, {FIRST + WORDS, 2}};
    aoei_st_writer *w;
    char *file = test_path(path, "model.safetensors");
    size_t at = strlen(vocab);
    assert_int_equal(aoei_st_writer_open(&w, file, &e, 1, NULL), 0);
    for (int i = -FIRST; i < WORDS; i++) {
        const double angle = 5 * i * acos(-1) / 180;
        const float v[2] = {(float)(2 * cos(angle)), (float)(2 * sin(angle))};
        assert_int_equal(aoei_st_writer_write(w, v, sizeof v, NULL), 0);
        if (i >= 0)
            at += (size_t)snprintf(vocab + at, sizeof vocab - at, "w%02d\n", i);
    }
    assert_int_equal(aoei_st_writer_commit(w, NULL), 0);
    free(test_write_text(path, "vocab.txt", vocab));
    free(file);
}

static int set_up(void **state) {
    (void)state;
    const tiny_model shape = tiny_defaults();
    dir = tiny_dir_create();
    circle = test_path(dir, "circle");
    bert = test_path(dir, "bert");
    assert_int_equal(aoei_make_dir(circle, NULL), 0);
    write_circle(circle);
    tiny_model_write(bert, &shape);
    context = tiny_context(2);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    aoe_context_destroy(context);
    free(circle);
    free(bert);
    test_dir_remove(dir);
    return 0;
}

/* The results of a run. A triplet is stored as a string "query|positive|negative". Alternative texts are joined by
 * '/'. */
typedef struct outcome {
    char *triplet[MAX_TRIPLETS]; /* [n] triplets, owned */
    double positive_score[MAX_TRIPLETS], negative_score[MAX_TRIPLETS];
    size_t n;    /* number of triplets */
    size_t most; /* number of triplets after which the callback stops the run; 0: never */
    aoe_mine_result result;
    aoe_error err;
    size_t done[2], total[2]; /* arguments of the latest progress call of each stage */
    int stop_stage;           /* 1 + the stage in which the callback stops the run; 0: no stage */
} outcome;

static size_t add_texts(char *out, size_t size, const aoe_text *texts, size_t n) {
    size_t at = 0;
    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%.*s", i ? "/" : "", (int)texts[i].len, texts[i].data);
    return at;
}

static int keep(void *user, const aoe_mined *m) {
    outcome *o = user;
    char line[1024];
    size_t at = add_texts(line, sizeof line, m->query, m->n_query);
    line[at++] = '|';
    at += add_texts(line + at, sizeof line - at, m->positive, m->n_positive);
    snprintf(line + at, sizeof line - at, "|%.*s", (int)m->negative.len, m->negative.data);
    assert_true(o->n < MAX_TRIPLETS);
    o->positive_score[o->n] = m->positive_score;
    o->negative_score[o->n] = m->negative_score;
    o->triplet[o->n++] = strdup(line);
    return o->n == o->most;
}

static int progress(void *user, aoe_mine_stage stage, size_t done, size_t total) {
    outcome *o = user;
    assert_true(done <= total && done >= o->done[stage]);
    o->done[stage] = done;
    o->total[stage] = total;
    return o->stop_stage == 1 + (int)stage;
}

static void clear(outcome *o) {
    for (size_t i = 0; i < o->n; i++)
        free(o->triplet[i]);
    memset(o, 0, sizeof *o);
}

/* Mines o->files with the model in model_dir and writes the results to out. The fields `most` and `stop_stage` of out
 * are inputs and must be set by the caller. Returns the error code. */
static int mine_with(outcome *out, aoe_context *ctx, const char *model_dir, aoe_mine_options *o) {
    aoe_model *m;
    aoe_embedder *e;
    aoe_model_options options;
    aoe_model_options_defaults(&options);
    options.dtype = AOE_DTYPE_F32;
    const size_t most = out->most;
    const int stop_stage = out->stop_stage;
    clear(out);
    out->most = most;
    out->stop_stage = stop_stage;
    o->report = keep;
    o->progress = progress;
    o->user = out;
    assert_int_equal(aoe_model_open(&m, ctx, model_dir, &options, NULL), 0);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    out->result.struct_size = sizeof out->result;
    const int code = aoe_mine(e, o, &out->result, &out->err);
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    return code;
}

static aoe_mine_options defaults(void) {
    aoe_mine_options o;
    aoe_mine_options_defaults(&o);
    return o;
}

/* Writes text to the file `name` and mines this file with the model that maps words to a circle. */
static int mine_text(outcome *out, const char *name, const char *text, aoe_mine_options o) {
    char *path = test_write_text(dir, name, text);
    const char *const files[] = {path};
    o.files = files;
    o.n_files = 1;
    const int code = mine_with(out, context, circle, &o);
    free(path);
    return code;
}

/* Asserts that mining the text gives the expected triplets, and that `without` rows have no negative. triplets: the
 * expected triplets, separated by spaces. */
static void expect(const char *name, const char *text, aoe_mine_options o, const char *triplets, size_t without) {
    static outcome out;
    char got[4096] = "";
    if (mine_text(&out, name, text, o))
        fail_msg("%s", out.err.message);
    for (size_t i = 0, at = 0; i < out.n; i++)
        at += (size_t)snprintf(got + at, sizeof got - at, "%s%s", i ? " " : "", out.triplet[i]);
    assert_string_equal(got, triplets);
    assert_int_equal(out.result.without, without);
    assert_int_equal(out.result.triplets, out.n);
    clear(&out);
}

static void expect_failure(const char *name, const char *text, aoe_mine_options o, int code, const char *message) {
    static outcome out;
    assert_int_equal(mine_text(&out, name, text, o), code);
    assert_int_equal(out.err.code, code);
    if (!strstr(out.err.message, message) || strchr(out.err.message, '\n'))
        fail_msg("the message \"%s\" is not one line with \"%s\"", out.err.message, message);
    assert_int_equal(out.result.rows, 0);
    clear(&out);
}

static const char simple[] = "query\tpositive\nw00\tw10\nw30\tw33\nw50\tw53\nw20\tw24\n";

/* Tests which candidates are chosen. The candidates are w10, w33, w53 and w24. Two words that are N steps apart on the
 * circle have the cosine of 5 * N degrees. */
static void test_choice(void **state) {
    (void)state;
    aoe_mine_options o = defaults();
    expect("a.tsv", simple, o, "w00|w10|w53 w30|w33|w24 w50|w53|w33 w20|w24|w10", 0);
    o.negatives = 2;
    expect("a.tsv", simple, o,
           "w00|w10|w53 w00|w10|w24 w30|w33|w24 w30|w33|w10 w50|w53|w33 w50|w53|w24 w20|w24|w10 w20|w24|w33", 0);
    o.negatives = 9;
    o.range = 2;
    o.skip = 1;
    expect("a.tsv", simple, o, "w00|w10|w24 w30|w33|w10 w50|w53|w24 w20|w24|w33", 0);
    o = defaults();
    o.range = 1;
    /* the maximum cosine is the cosine of 7 steps; w24 is only 6 steps from w30, so it is too similar */
    o.max_score = cos(7 * 5 * acos(-1) / 180);
    expect("a.tsv", simple, o, "w00|w10|w53 w50|w53|w33 w20|w24|w10", 1);
    o.range = 2;
    expect("a.tsv", simple, o, "w00|w10|w53 w30|w33|w10 w50|w53|w33 w20|w24|w10", 0);
    o = defaults();
    /* the minimum cosine is the cosine of 11 steps; only w24 (for the query w30) and w10 (for the query w20) are
     * similar enough */
    o.min_score = cos(11 * 5 * acos(-1) / 180);
    expect("a.tsv", simple, o, "w30|w33|w24 w20|w24|w10", 2);
    o.max_score = cos(9 * 5 * acos(-1) / 180);
    expect("a.tsv", simple, o, "w20|w24|w10", 3);
}

/* Tests options.margin. The positives are 10, 2, 5 and 18 steps from their queries, so the cosines are 0.64, 0.98, 0.91
 * and
 * 0. */
static void test_margin(void **state) {
    (void)state;
    aoe_mine_options o = defaults();
    static const char near[] = "query\tpositive\nw00\tw10\nw31\tw33\nw03\tw70\nw32\tw50\n";
    expect("a.tsv", near, o, "w00|w10|w70 w31|w33|w50 w03|w70|w10 w32|w50|w33", 0);
    o.margin = 0;
    expect("a.tsv", near, o, "w00|w10|w50 w31|w33|w50 w03|w70|w10 w32|w50|w10", 0);
    o.margin = 0.5;
    expect("a.tsv", near, o, "w00|w10|w50 w31|w33|w50 w03|w70|w50 w32|w50|w70", 0);
    o.margin = -2;
    expect("a.tsv", near, o, "w00|w10|w70 w31|w33|w50 w03|w70|w10 w32|w50|w33", 0);
    o.margin = 1.99;
    expect("a.tsv", near, o, "", 4);
}

static void test_known(void **state) {
    (void)state;
    aoe_mine_options o = defaults();
    /* w02 and w03 are positives of w00, so neither is a negative of w00 in any row. A row contains both w05 and w00, so
     * w05 is not a negative of w00 either. */
    static const char rows[] = "query\tpositive\nw00\tw02\nw00\tw03\nw05\tw00\nw20\tw21\n";
    expect("a.tsv", rows, o, "w00|w02|w21 w00|w03|w21 w05|w00|w03 w20|w21|w03", 0);
    o.from_queries = 1;
    expect("a.tsv", rows, o, "w00|w02|w20 w00|w03|w20 w05|w00|w03 w20|w21|w05", 0);
    /* the model ignores case and unknown words, so texts that differ only in case or in unknown words are equal */
    o = defaults();
    static const char equal[] = "query\tpositive\nw00\tw02\nW00\tw04\nw60\tW02 xyz\nw61\tw00 xyz\nw62\tw10\n";
    expect("a.tsv", equal, o, "w00|w02|w10 W00|w04|w10 w60|W02 xyz|w00 xyz w61|w00 xyz|w02 w62|w10|w00 xyz", 0);
    /* the negative of a triplet in the file is a candidate, like any other text */
    static const char triplets[] = "query\tpositive\tnegative\nw00\tw05\tw08\nw09\tw12\tw01\n";
    expect("a.tsv", triplets, o, "w00|w05|w01 w09|w12|w08", 0);
    /* no candidates remain: the positives of a query are never its negatives */
    expect("a.tsv", "query\tpositive\nw00\tw01\n", o, "", 1);
    expect("a.tsv", "query\tpositive\nw00\tw01\nw00\tw02\nw03\tW00\n", o, "w03|W00|w02", 2);
    /* The model does not know the words xyz and zyx. A query without known words gets no negative. A candidate without
     * known words has the cosine 0 with every query. */
    expect("a.tsv", "query\tpositive\nxyz\tw01\nw00\tw01\nw30\tzyx\nw36\tw37\n", o,
           "w00|w01|zyx w30|zyx|w37 w36|w37|zyx", 1);
}

/* Tests that the first candidate in the file is chosen if several candidates have equal embeddings. */
static void test_ties(void **state) {
    (void)state;
    aoe_mine_options o = defaults();
    o.negatives = 3;
    expect("a.tsv", "query\tpositive\nw10\tw40\nw00\tw12\nw00\tw12 w12\nw00\tw12 w12 w12\n", o,
           "w10|w40|w12 w10|w40|w12 w12 w10|w40|w12 w12 w12 w00|w12|w40 w00|w12 w12|w40 w00|w12 w12 w12|w40", 0);
    o.negatives = 1;
    expect("a.tsv", "query\tpositive\nw10\tw40\nw00\tw12 w12\nw00\tw12\n", o,
           "w10|w40|w12 w12 w00|w12 w12|w40 w00|w12|w40", 0);
}

static void test_pairs(void **state) {
    (void)state;
    aoe_mine_options o = defaults();
    static outcome out;
    /* for labels from 0 to 5 the default threshold is 4; text2 of pairs below the threshold is a candidate */
    static const char pairs[] = "text1\ttext2\tlabel\nw00\tw01\t5\nw10\tw11\t4\nw20\tw03\t3.9\nw30\tw31\t0\n";
    expect("a.tsv", pairs, o, "w00|w01|w03 w10|w11|w03", 0);
    o.threshold = 5;
    expect("a.tsv", pairs, o, "w00|w01|w03", 0);
    o.threshold = -1;
    expect("a.tsv", pairs, o, "w00|w01|w03 w10|w11|w03 w20|w03|w11 w30|w31|w11", 0);
    o.threshold = 5.5;
    expect_failure("a.tsv", pairs, o, AOE_EFORMAT, "threshold");
    o.threshold = AOE_AUTO;
    static const char words[] =
        "premise\thypothesis\tlabel\nw00\tw01\tentailment\nw00\tw02\tneutral\nw00\tw03\tcontradiction\n";
    assert_int_equal(mine_text(&out, "a.tsv", words, o), 0);
    assert_string_equal(out.triplet[0], "w00|w01|w03");
    assert_true(out.result.dropped == 1 && out.result.below == 1 && out.result.rows == 1 && out.result.candidates == 2);
    assert_int_equal(out.result.texts, 3);
    assert_true(fabs(out.positive_score[0] - cos(acos(-1) / 36)) < 1e-6);
    assert_true(fabs(out.negative_score[0] - cos(3 * acos(-1) / 36)) < 1e-6);
    assert_true(fabs(out.result.positive_score - out.positive_score[0]) < 1e-15);
    assert_true(out.done[0] == 3 && out.total[0] == 3 && out.done[1] == 1 && out.total[1] == 1);
    o.table.label_map = "neutral=1";
    expect("a.tsv", words, o, "w00|w01|w03 w00|w02|w03", 0);
    o.table = (aoe_table_options){
        .struct_size = sizeof(aoe_table_options), .columns = "text1=b,text2=a,label=c", .skip_bad_rows = 1};
    assert_int_equal(mine_text(&out, "a.tsv", "a\tb\tc\nw00\tw01\t1\nw02\nw05\tw02\t0\n", o), 0);
    assert_string_equal(out.triplet[0], "w01|w00|w05");
    assert_int_equal(out.result.skipped, 1);
    /* the file has the columns of pairs and the columns of positives; it is read as pairs, unless options.kind is
     * set */
    aoe_table_options_defaults(&o.table);
    static const char both[] = "text1\ttext2\tlabel\tquery\tpositive\nw00\tw01\t1\tw20\tw21\nw00\tw03\t0\tw30\tw31\n";
    expect("a.tsv", both, o, "w00|w01|w03", 0);
    o.kind = AOE_EXAMPLES_POSITIVES;
    expect("a.tsv", both, o, "w20|w21|w31 w30|w31|w21", 0);
    clear(&out);
}

/* Tests rows in which the query or the positive is a list of alternative texts. The cosine of a row and a candidate is
 * the highest cosine of an alternative query and the candidate. An alternative must never be a negative of its own
 * row. */
static void test_alternatives(void **state) {
    (void)state;
    aoe_mine_options o = defaults();
    static outcome out;
    static const char rows[] = "{\"query\": [\"w00\", \"w10\"], \"positive\": [\"w00\", \"w10\", \"w02\"]}\n"
                               "{\"query\": \"w30\", \"positive\": [\"w29\"]}\n"
                               "{\"query\": \"w10\", \"positive\": \"w14\"}\n"
                               "{\"query\": [\"w50\"], \"positive\": [\"w51\", \"w60\"]}\n";
    expect("a.jsonl", rows, o, "w00/w10|w00/w10/w02|w60 w30|w29|w14 w10|w14|w29 w50|w51/w60|w29", 0);
    o.negatives = 3;
    o.range = 2; /* the range limits the number of candidates of the row, not of each alternative */
    expect("a.jsonl", rows, o,
           "w00/w10|w00/w10/w02|w60 w00/w10|w00/w10/w02|w29 w30|w29|w14 w30|w29|w10 w10|w14|w29 w10|w14|w60 "
           "w50|w51/w60|w29 w50|w51/w60|w00",
           0);
    /* the margin is relative to the highest cosine of a query and a different positive of the row: w00 and w02, 2 steps
     * apart */
    o = defaults();
    o.margin = 0;
    assert_int_equal(mine_text(&out, "a.jsonl", rows, o), 0);
    assert_true(fabs(out.positive_score[0] - cos(2 * acos(-1) / 36)) < 1e-6);
    assert_true(fabs(out.positive_score[3] - cos(1 * acos(-1) / 36)) < 1e-6);
    assert_string_equal(out.triplet[0], "w00/w10|w00/w10/w02|w60");
    /* if the only positive equals the query, the cosine is 1 */
    assert_int_equal(mine_text(&out, "a.jsonl",
                               "{\"query\": \"w00\", \"positive\": \"W00\"}\n{\"query\": \"w20\", \"positive\": "
                               "\"w22\"}\n",
                               o),
                     0);
    assert_true(fabs(out.positive_score[0] - 1) < 1e-6);
    clear(&out);
}

static void test_corpus(void **state) {
    (void)state;
    aoe_mine_options o = defaults();
    static outcome out;
    char *texts = test_write_text(dir, "corpus.txt", "w07\n\nw01\n  \nw05\n"),
         *table = test_write_text(dir, "corpus.csv", "id,body\n1,w12\n2,\"w02, w02\"\n");
    const char *const one[] = {texts}, *const two[] = {texts, table}, *const other[] = {table};
    o.corpus = one;
    o.n_corpus = 1;
    expect("a.tsv", simple, o, "w00|w10|w01 w30|w33|w07 w50|w53|w01 w20|w24|w07", 0);
    o.from_queries = 1;
    expect("a.tsv", "query\tpositive\nw20\tw10\nw22\tw30\n", o, "w20|w10|w22 w22|w30|w20", 0);
    o.from_queries = 0;
    o.corpus = two;
    o.n_corpus = 2;
    expect_failure("a.tsv", simple, o, AOE_EFORMAT, "corpus.csv: no column for text");
    o.corpus_table.columns = "text=body";
    expect_failure("a.tsv", simple, o, AOE_EFORMAT, "corpus.txt: a .txt file has no columns");
    o.corpus = other;
    o.n_corpus = 1;
    expect("a.tsv", simple, o, "w00|w10|w02, w02 w30|w33|w12 w50|w53|w02, w02 w20|w24|w12", 0);
    assert_int_equal(mine_text(&out, "a.tsv", simple, o), 0);
    assert_int_equal(out.result.candidates, 2);
    assert_int_equal(out.result.texts, 10);
    /* a text of the corpus that equals a query or its positive is not a negative of this query */
    expect("a.tsv", "query\tpositive\nw00\tw12\nw12\tw02\nw20\tw02 w02\n", o,
           "w00|w12|w02, w02 w12|w02|w02, w02 w20|w02 w02|w12", 0);
    free(test_write_text(dir, "corpus.txt", " \n\n"));
    o.corpus = one;
    o.corpus_table.columns = NULL;
    expect_failure("a.tsv", simple, o, AOE_EFORMAT, "corpus.txt: the corpus contains no texts");
    free(texts);
    free(table);
    clear(&out);
}

/* Tests options.sample. Negatives are drawn at random from the `range` most similar candidates, except the first `skip`
 * candidates. A row gets each text at most once, and its negatives are sorted by decreasing cosine. The samples depend
 * on the seed and on the row. */
static void test_sample(void **state) {
    (void)state;
    static outcome a, b;
    aoe_mine_options o = defaults();
    char text[4096] = "query\tpositive\n";
    size_t at = strlen(text), seen[WORDS] = {0};
    for (int i = 0; i < 36; i++) /* 36 rows have the query w00; later rows with the query w35 add the candidates w36 to
                                    w71 */
        at += (size_t)snprintf(text + at, sizeof text - at, "%s\t%s%02d\n", "w00", i ? "w01 w" : "w", i ? 0 : 2);
    for (int i = 36; i < 72; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "w35\tw%02d\n", i);
    o.sample = 1;
    o.range = 12;
    o.skip = 2;
    o.negatives = 3;
    assert_int_equal(mine_text(&a, "a.tsv", text, o), 0);
    assert_int_equal(mine_text(&b, "a.tsv", text, o), 0);
    assert_true(a.n == b.n && a.n >= 36 * 3);
    for (size_t i = 0; i < a.n; i++)
        assert_string_equal(a.triplet[i], b.triplet[i]);
    for (size_t i = 0; i < 36 * 3; i++) {
        const int word = atoi(strrchr(a.triplet[i], '|') + 2);
        /* w71 and w70 are skipped; w60 is the twelfth candidate, the last one in the range */
        assert_true(word >= 60 && word <= 69);
        seen[word]++;
        assert_true(i % 3 == 0 || a.negative_score[i] < a.negative_score[i - 1]);
    }
    for (size_t w = 60; w <= 69; w++)
        assert_in_range(seen[w], 2, 25); /* the expected number is 36 * 3 / 10 = 10.8 */
    o.seed++;
    assert_int_equal(mine_text(&b, "a.tsv", text, o), 0);
    size_t differ = 0;
    for (size_t i = 0; i < 36 * 3; i++)
        differ += strcmp(a.triplet[i], b.triplet[i]) != 0;
    assert_true(differ > 36);
    clear(&a);
    clear(&b);
}

static void test_invalid_input(void **state) {
    (void)state;
    static outcome out;
    aoe_mine_options o = defaults();
    assert_int_equal(mine_with(&out, context, circle, &o), AOE_EARG);
    assert_non_null(strstr(out.err.message, "options.n_files"));
    o.negatives = 0;
    expect_failure("a.tsv", simple, o, AOE_EARG, "at least 1");
    o = defaults();
    o.skip = o.range;
    expect_failure("a.tsv", simple, o, AOE_EARG, "options.range");
    o = defaults();
    o.min_score = 0.5;
    o.max_score = 0.4;
    expect_failure("a.tsv", simple, o, AOE_EARG, "options.min_score");
    o = defaults();
    o.threshold = NAN;
    expect_failure("a.tsv", simple, o, AOE_EARG, "options.threshold is not a number");
    o = defaults();
    o.margin = NAN;
    expect_failure("a.tsv", simple, o, AOE_EARG, "options.margin is not a number");
    o = defaults();
    o.max_score = NAN;
    expect_failure("a.tsv", simple, o, AOE_EARG, "options.max_score is not a number");
    o = defaults();
    expect_failure("a.tsv", "query\tpositive\nw00\t\n", o, AOE_EFORMAT,
                   "a.tsv:2: column 'positive': the text is empty");
    expect_failure("a.tsv", "query\nw00\n", o, AOE_EFORMAT, "no column for positive");
    expect_failure("a.tsv", "query\tpositive\n", o, AOE_EFORMAT, "no rows");
    expect_failure("a.dat", simple, o, AOE_EARG, "no known extension");
    /* With for_tsv, a text that a .tsv file cannot contain is rejected, whether it is a query, a positive or a
     * negative. */
    o.for_tsv = 1;
    expect("a.jsonl", "{\"query\": \"w00\", \"positive\": [\"w01\"]}\n{\"query\": \"w09\", \"positive\": \"w10\"}\n", o,
           "w00|w01|w10 w09|w10|w01", 0);
    expect_failure(
        "a.jsonl",
        "{\"query\": \"w00\", \"positive\": \"w01\"}\n{\"query\": \"w09\", \"positive\": [\"w08\", \"w10\"]}\n", o,
        AOE_EFORMAT, "a.jsonl:2: the row contains a list of alternatives");
    expect_failure("a.jsonl",
                   "{\"query\": \"w00\", \"positive\": \"w01\"}\n{\"query\": \"w0\\t9\", \"positive\": \"w08\"}\n", o,
                   AOE_EFORMAT, "a.jsonl:2: the text contains a TAB");
    expect_failure("a.csv", "query,positive\nw00,\"w0\n1\"\n", o, AOE_EFORMAT,
                   "a.csv:2: the text contains a TAB or a line end");
    /* a callback stops the run */
    o = defaults();
    for (out.stop_stage = 1; out.stop_stage <= 2; out.stop_stage++) {
        assert_int_equal(mine_text(&out, "a.tsv", simple, o), AOE_ECANCELLED);
        assert_int_equal(out.n, 0);
    }
    out.stop_stage = 0;
    out.most = 2;
    assert_int_equal(mine_text(&out, "a.tsv", simple, o), AOE_ECANCELLED);
    assert_int_equal(out.n, 2);
    clear(&out);
}

typedef struct row {
    char *query, *positive;
} row;

/* Returns 1 if the texts a and b occur in the same row. */
static int related(const row *rows, size_t n, const char *a, const char *b) {
    for (size_t i = 0; i < n; i++)
        if ((!strcmp(rows[i].query, a) || !strcmp(rows[i].positive, a)) &&
            (!strcmp(rows[i].query, b) || !strcmp(rows[i].positive, b)))
            return 1;
    return 0;
}

/* Asserts for every 37th row that no candidate that is unrelated to the query has a higher cosine than the negative,
 * except for rounding errors. */
static void check_best(const outcome *out, const row *rows, size_t n, const aoe_model_options *options) {
    aoe_model *m;
    aoe_embedder *e;
    float *v = malloc(2 * n * 16 * sizeof *v);
    aoe_text *texts = malloc(2 * n * sizeof *texts);
    for (size_t i = 0; i < n; i++) {
        texts[i] = aoe_text_of(rows[i].query);
        texts[n + i] = aoe_text_of(rows[i].positive);
    }
    assert_int_equal(aoe_model_open(&m, context, bert, options, NULL), 0);
    assert_int_equal(aoe_embedder_create(&e, m, NULL, NULL), 0);
    assert_int_equal(aoe_embed(e, texts, 2 * n, v, NULL, NULL), 0);
    assert_int_equal(out->n, n);
    for (size_t i = 0; i < n; i += 37) {
        double best = -1;
        const char *negative = strrchr(out->triplet[i], '|') + 1;
        assert_false(related(rows, n, rows[i].query, negative));
        assert_true(fabs(out->positive_score[i] - aoe_cosine(v + i * 16, v + (n + i) * 16, 16)) < 2e-6);
        for (size_t k = 0; k < n; k++) {
            const double c = aoe_cosine(v + i * 16, v + (n + k) * 16, 16);
            if (c > best && !related(rows, n, rows[i].query, rows[k].positive))
                best = c;
            if (!strcmp(rows[k].positive, negative))
                assert_true(fabs(c - out->negative_score[i]) < 2e-6);
        }
        assert_true(fabs(out->negative_score[i] - best) < 2e-6);
    }
    aoe_embedder_destroy(e);
    aoe_model_close(m);
    free(v);
    free(texts);
}

/* Tests a file with more rows, queries and candidates than the function processes at a time. Some queries occur in many
 * rows. The results must be equal with 1 to 3 threads. */
static void test_large(void **state) {
    (void)state;
    enum { N = 5000 };
    static outcome out, again;
    aoe_model_options options;
    aoe_model_options_defaults(&options);
    options.dtype = AOE_DTYPE_F32;
    aoe_mine_options o = defaults();
    row *rows = malloc(N * sizeof *rows);
    char *text = malloc(N * 512), *path;
    size_t at = (size_t)sprintf(text, "query\tpositive\n");
    for (uint32_t i = 0; i < N; i++) {
        rows[i].query = strdup(tiny_text(i % 9 == 4 ? 4 : i % 5 == 0 ? i - i % 10 : i));
        rows[i].positive = strdup(tiny_text(i % 11 == 3 ? 7 : 10000 + i));
        at += (size_t)sprintf(text + at, "%s\t%s\n", rows[i].query, rows[i].positive);
    }
    path = test_write_text(dir, "large.tsv", text);
    const char *const files[] = {path};
    o.files = files;
    o.n_files = 1;
    o.range = 7;
    for (size_t threads = 1; threads <= 3; threads++) {
        aoe_context *ctx = tiny_context(threads);
        if (mine_with(threads == 1 ? &out : &again, ctx, bert, &o))
            fail_msg("%s", threads == 1 ? out.err.message : again.err.message);
        aoe_context_destroy(ctx);
        if (threads == 1)
            continue;
        assert_int_equal(again.n, out.n);
        assert_memory_equal(again.negative_score, out.negative_score, out.n * sizeof *out.negative_score);
        assert_memory_equal(again.positive_score, out.positive_score, out.n * sizeof *out.positive_score);
        for (size_t i = 0; i < out.n; i++)
            assert_string_equal(again.triplet[i], out.triplet[i]);
    }
    check_best(&out, rows, N, &options);
    for (size_t i = 0; i < N; i++) {
        free(rows[i].query);
        free(rows[i].positive);
    }
    free(rows);
    free(text);
    free(path);
    clear(&out);
    clear(&again);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_choice),        cmocka_unit_test(test_margin),
                                       cmocka_unit_test(test_known),         cmocka_unit_test(test_ties),
                                       cmocka_unit_test(test_pairs),         cmocka_unit_test(test_alternatives),
                                       cmocka_unit_test(test_corpus),        cmocka_unit_test(test_sample),
                                       cmocka_unit_test(test_invalid_input), cmocka_unit_test(test_large)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
