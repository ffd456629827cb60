/* SPDX-License-Identifier: MIT
 * Tests search in an index: dense lists against a scan in this file, filters that allow 0.1% of the documents, fusion,
 * and results that do not depend on threads, on the order of additions or on other queries of the same call.
 * covers: index/dense index/hits index/get index/search_check
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "../support/tiny_index.h"
#include "base/buffer.h"
#include "base/random.h"

enum { DOCUMENTS = 3000, D = 16, WORDS = 60 };

static float vectors[DOCUMENTS][D]; /* unit vectors; every tenth equals the one before */
static char texts[DOCUMENTS][256];
static aoe_index *shared; /* all documents */
static const char *const queries[] = {"w3 w30 a", "w59", "a b c w50 w51 w52", "w1 w2 w0", "unknown", "!?"};
enum { QUERIES = sizeof queries / sizeof *queries };

static void make_documents(void) {
    aoei_rng rng;
    aoei_rng_init(&rng, 3, 0, 0);
    for (int i = 0; i < DOCUMENTS; i++) {
        double square = 0;
        for (int j = 0; j < D; j++) {
            vectors[i][j] = (float)aoei_rng_normal(&rng);
            square += (double)vectors[i][j] * vectors[i][j];
        }
        for (int j = 0; j < D; j++)
            vectors[i][j] = (float)(vectors[i][j] / sqrt(square));
        if (i % 10 == 1)
            memcpy(vectors[i], vectors[i - 1], sizeof vectors[i]);
        size_t at = 0;
        for (uint32_t n = 1 + aoei_rng_below(&rng, 20); n; n--) {
            uint32_t w = 0;
            while (w + 1 < WORDS && aoei_rng_below(&rng, 100) >= 5)
                w++;
            at += (size_t)snprintf(texts[i] + at, sizeof texts[i] - at, "w%u ", w);
        }
    }
}

/* Adds documents in an order that depends on `step`, which has no common divisor with their number. Three of them have
 * the field rare. */
static aoe_index *create_index(size_t step) {
    char *path = tiny_index_path();
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    aoe_error err;
    for (size_t k = 0, i = 0; k < DOCUMENTS; k++, i = (i + step) % DOCUMENTS) {
        char name[16], number[16];
        (void)snprintf(name, sizeof name, "d%04zu", i);
        (void)snprintf(number, sizeof number, "%zu", i);
        const aoe_index_field field[] = {{"n", aoe_text_of(number)}, {"rare", aoe_text_of("yes")}};
        const aoe_index_document d = {.struct_size = sizeof d,
                                      .name = name,
                                      .text = aoe_text_of(texts[i]),
                                      .field = field,
                                      .n_fields = 1 + (i % 1000 == 500),
                                      .vector = vectors[i]};
        if (aoe_index_add(index, &d, 1, &err))
            fail_msg("%s", err.message);
    }
    if (aoe_index_commit(index, &err))
        fail_msg("%s", err.message);
    free(path);
    return index;
}

static int set_up(void **state) {
    if (tiny_index_begin(state))
        return -1;
    make_documents();
    shared = create_index(1);
    return 0;
}

static int tear_down(void **state) {
    aoe_index_close(shared);
    return tiny_index_end(state);
}

static aoe_index_search_options options_of(aoe_index_mode mode, size_t k) {
    aoe_index_search_options o;
    aoe_index_search_options_defaults(&o);
    o.mode = mode;
    o.k = k;
    return o;
}

static aoe_index_hits search(aoe_index *index, const char *query, const aoe_index_search_options *o) {
    aoe_index_hits hits = {.struct_size = sizeof hits};
    aoe_error err;
    if (aoe_index_search(index, aoe_text_of(query), o, &hits, &err))
        fail_msg("%s: %s", query, err.message);
    return hits;
}

/* Returns all contents of the hits as a text, which the caller frees. */
static char *dump(const aoe_index_hits *h) {
    aoei_buffer b = {0};
    for (size_t i = 0; i < h->n; i++) {
        const aoe_index_hit *x = &h->hit[i];
        (void)aoei_buffer_printf(&b, "%s %s %s [%s] %.*s %zu-%zu %.17g %zu %zu %.17g %.17g", x->id, x->name,
                                 x->path ? x->path : "-", x->heading, (int)x->text.len, x->text.data, x->line,
                                 x->last_line, x->score, x->dense_rank, x->lexical_rank, x->cosine, x->bm25);
        for (size_t f = 0; f < x->n_fields; f++)
            (void)aoei_buffer_printf(&b, " %s=%.*s", x->field[f].key, (int)x->field[f].value.len,
                                     x->field[f].value.data);
        (void)aoei_buffer_putc(&b, '\n');
    }
    for (size_t i = 0; i < h->n_terms; i++)
        (void)aoei_buffer_printf(&b, "term %s\n", h->term[i]);
    char *text = strdup(b.len ? b.data : "");
    aoei_buffer_free(&b);
    return text;
}

static char *search_dump(aoe_index *index, const char *query, const aoe_index_search_options *o) {
    aoe_index_hits hits = search(index, query, o);
    char *text = dump(&hits);
    aoe_index_hits_free(&hits);
    assert_null(hits.hit);
    return text;
}

/* ------------------------------------------------------------------- dense */

/* Checks the hits against all documents that `is_allowed` accepts. */
static void check_dense(const aoe_index_hits *h, const char *query, size_t k, int (*is_allowed)(int)) {
    float q[D];
    double score[DOCUMENTS];
    size_t n = 0;
    const aoe_text text = aoe_text_of(query);
    assert_int_equal(aoe_embed_queries(tiny_index_embedder, &text, 1, q, NULL, NULL), 0);
    double square = 0;
    for (int j = 0; j < D; j++)
        square += (double)q[j] * q[j];
    for (int i = 0; i < DOCUMENTS; i++) {
        double sum = 0;
        for (int j = 0; j < D; j++)
            sum += (double)q[j] / sqrt(square) * vectors[i][j];
        score[i] = is_allowed(i) ? (float)sum : -2;
        n += is_allowed(i) != 0;
    }
    assert_int_equal(h->n, k < n ? k : n);
    for (size_t r = 0; r < h->n; r++) {
        int best = 0; /* ties: the lower number has the lower name */
        for (int i = 1; i < DOCUMENTS; i++)
            if (score[i] > score[best])
                best = i;
        char name[16];
        (void)snprintf(name, sizeof name, "d%04d", best);
        assert_string_equal(h->hit[r].name, name);
        assert_true(fabs(h->hit[r].cosine - score[best]) < 1e-6);
        assert_int_equal(h->hit[r].dense_rank, r + 1);
        score[best] = -2;
    }
}

static int all(int i) {
    return i >= 0;
}

static int rare(int i) {
    return i % 1000 == 500;
}

static void finds_nearest_passages(void **state) {
    (void)state;
    for (size_t k = 1; k <= 1000; k *= 10)
        for (int fast = 0; fast < 2; fast++) {
            aoe_index_search_options o = options_of(AOE_INDEX_DENSE, k);
            o.fast = fast && k == 100; /* rescores more rows than there are, so it is exact */
            aoe_index_hits h = search(shared, "w3 a b", &o);
            check_dense(&h, "w3 a b", k, all);
            assert_true(h.n_terms == 0 && h.hit[0].score == h.hit[0].cosine && isnan(h.hit[0].bm25));
            aoe_index_hits_free(&h);
        }
}

/* 0.1% of the documents are allowed, in both halves. */
static void filters_before_it_selects(void **state) {
    (void)state;
    for (int m = AOE_INDEX_HYBRID; m <= AOE_INDEX_LEXICAL; m++) {
        aoe_index_search_options o = options_of((aoe_index_mode)m, 10);
        o.where = "rare = 'yes' and n >= 0";
        aoei_buffer query = {0};
        for (int i = 500; i < DOCUMENTS; i += 1000)
            (void)aoei_buffer_printf(&query, "%s ", texts[i]);
        aoe_index_hits h = search(shared, query.data, &o);
        assert_int_equal(h.n, 3);
        for (size_t i = 0; i < h.n; i++)
            assert_true(rare(atoi(h.hit[i].name + 1)));
        if (m == AOE_INDEX_DENSE)
            check_dense(&h, query.data, 10, rare);
        if (m == AOE_INDEX_HYBRID)
            for (size_t i = 0; i < h.n; i++)
                assert_true(h.hit[i].dense_rank && h.hit[i].lexical_rank);
        aoe_index_hits_free(&h);
        o.where = "n = 5 and n = 6";
        h = search(shared, query.data, &o);
        assert_int_equal(h.n, 0);
        assert_null(h.hit);
        aoe_index_hits_free(&h);
        o.where = "not rare = 'yes'";
        o.k = DOCUMENTS;
        h = search(shared, query.data, &o);
        for (size_t i = 0; i < h.n; i++)
            assert_false(rare(atoi(h.hit[i].name + 1)));
        assert_int_equal(m == AOE_INDEX_DENSE ? h.n : DOCUMENTS - 3, DOCUMENTS - 3);
        aoe_index_hits_free(&h);
        aoei_buffer_free(&query);
    }
}

/* ------------------------------------------------------------------ hybrid */

static double reciprocal(size_t rank) {
    return rank && rank <= 100 ? 1.0 / (60 + (double)rank) : 0;
}

/* Returns the rank of a passage in a list, or 0. */
static size_t rank_of(const aoe_index_hits *h, const char *id) {
    for (size_t i = 0; i < h->n; i++)
        if (strcmp(h->hit[i].id, id) == 0)
            return i + 1;
    return 0;
}

static void fuses_both_lists(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        aoe_index_search_options o = options_of(AOE_INDEX_DENSE, DOCUMENTS);
        aoe_index_hits dense = search(shared, queries[i], &o);
        o.mode = AOE_INDEX_LEXICAL;
        aoe_index_hits lexical = search(shared, queries[i], &o);
        o = options_of(AOE_INDEX_HYBRID, 50);
        o.dense_weight = 0.5;
        o.lexical_weight = 2;
        aoe_index_hits hybrid = search(shared, queries[i], &o);
        assert_int_equal(hybrid.n, 50);
        for (size_t k = 0; k < hybrid.n; k++) {
            const aoe_index_hit *x = &hybrid.hit[k];
            const size_t d = rank_of(&dense, x->id), l = rank_of(&lexical, x->id);
            assert_int_equal(x->dense_rank, d <= 100 ? d : 0);
            assert_int_equal(x->lexical_rank, l <= 100 ? l : 0);
            assert_true(fabs(x->score - (0.5 * reciprocal(d) + 2 * reciprocal(l))) < 1e-15);
            assert_true(x->cosine == dense.hit[d - 1].cosine); /* also beyond the first 100 */
            assert_true(x->bm25 == (l ? lexical.hit[l - 1].bm25 : 0));
            assert_true(k == 0 || x->score <= hybrid.hit[k - 1].score);
        }
        for (size_t k = 0; k < dense.n; k++) { /* no better passage is missing */
            const size_t l = rank_of(&lexical, dense.hit[k].id);
            assert_true(rank_of(&hybrid, dense.hit[k].id) ||
                        0.5 * reciprocal(k + 1) + 2 * reciprocal(l) <= hybrid.hit[49].score);
        }
        aoe_index_hits_free(&dense);
        aoe_index_hits_free(&lexical);
        aoe_index_hits_free(&hybrid);
    }
}

/* Without words, hybrid search is dense search; without an embedder, it is lexical search. */
static void uses_the_half_that_is_there(void **state) {
    (void)state;
    aoe_index_search_options o = options_of(AOE_INDEX_HYBRID, 10);
    aoe_index_hits h = search(shared, "!?", &o);
    check_dense(&h, "!?", 10, all);
    aoe_index_hits_free(&h);
    o.mode = AOE_INDEX_LEXICAL;
    h = search(shared, "!?", &o);
    assert_int_equal(h.n, 0);
    aoe_index_hits_free(&h);

    char *path = tiny_index_path();
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    aoe_error err;
    assert_int_equal(tiny_index_add(index, "x", "one word", &err), 0);
    assert_int_equal(aoe_index_commit(index, &err), 0);
    aoe_index_close(index);
    assert_int_equal(aoe_index_open(&index, path, AOE_INDEX_READ, NULL, NULL, &err), 0);
    o.mode = AOE_INDEX_HYBRID;
    h = search(index, "word", &o);
    assert_int_equal(h.n, 1);
    assert_true(h.hit[0].lexical_rank == 1 && h.hit[0].dense_rank == 0 && isnan(h.hit[0].cosine));
    aoe_index_hits_free(&h);
    o.mode = AOE_INDEX_DENSE;
    h.struct_size = sizeof h;
    assert_int_equal(aoe_index_search(index, aoe_text_of("word"), &o, &h, &err), AOE_EARG);
    test_message(err.message, "opened without an embedder, so only lexical search is possible");
    aoe_index_close(index);
    free(path);
}

/* --------------------------------------------------------- same result always */

static void is_independent_of_the_order_of_additions(void **state) {
    (void)state;
    aoe_index *other = create_index(1717);
    for (int m = AOE_INDEX_HYBRID; m <= AOE_INDEX_LEXICAL; m++)
        for (size_t i = 0; i < QUERIES; i++) {
            const aoe_index_search_options o = options_of((aoe_index_mode)m, 200);
            char *a = search_dump(shared, queries[i], &o), *b = search_dump(other, queries[i], &o);
            assert_string_equal(a, b);
            free(a);
            free(b);
        }
    aoe_index_close(other);
}

static void searches_many_queries(void **state) {
    (void)state;
    aoe_text text[QUERIES];
    for (int m = AOE_INDEX_HYBRID; m <= AOE_INDEX_LEXICAL; m++) {
        const aoe_index_search_options o = options_of((aoe_index_mode)m, 7);
        aoe_index_hits hits[QUERIES];
        aoe_error err;
        for (size_t i = 0; i < QUERIES; i++) {
            text[i] = aoe_text_of(queries[i]);
            hits[i] = (aoe_index_hits){.struct_size = sizeof *hits};
        }
        if (aoe_index_search_many(shared, text, QUERIES, &o, hits, &err))
            fail_msg("%s", err.message);
        for (size_t i = 0; i < QUERIES; i++) {
            char *a = dump(&hits[i]), *b = search_dump(shared, queries[i], &o);
            assert_string_equal(a, b);
            free(a);
            free(b);
            aoe_index_hits_free(&hits[i]);
        }
        text[3] = aoe_text_of("a \xff");
        assert_int_equal(aoe_index_search_many(shared, text, QUERIES, &o, hits, &err), AOE_EARG);
        test_message(err.message, "query 4 is not valid UTF-8 at byte 3");
        for (size_t i = 0; i < QUERIES; i++)
            assert_true(hits[i].n == 0 && !hits[i].memory);
        assert_int_equal(aoe_index_search_many(shared, text, 0, &o, hits, &err), 0);
    }
}

static void *search_in_thread(void *arg) {
    char **out = arg;
    for (size_t i = 0; i < QUERIES; i++) {
        const aoe_index_search_options o = options_of(AOE_INDEX_HYBRID, 20);
        aoe_index_hits h = {.struct_size = sizeof h};
        if (aoe_index_search(shared, aoe_text_of(queries[i]), &o, &h, NULL))
            return NULL;
        out[i] = dump(&h);
        aoe_index_hits_free(&h);
    }
    return arg;
}

static void searches_in_threads(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t thread[THREADS];
    char *out[THREADS][QUERIES];
    memset(out, 0, sizeof out);
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&thread[t], NULL, search_in_thread, out[t]), 0);
    for (int t = 0; t < THREADS; t++) {
        void *result;
        assert_int_equal(pthread_join(thread[t], &result), 0);
        assert_non_null(result);
    }
    for (size_t i = 0; i < QUERIES; i++) {
        const aoe_index_search_options o = options_of(AOE_INDEX_HYBRID, 20);
        char *want = search_dump(shared, queries[i], &o);
        for (int t = 0; t < THREADS; t++) {
            assert_string_equal(out[t][i], want);
            free(out[t][i]);
        }
        free(want);
    }
}

/* ------------------------------------------------------------------ options */

static void checks_options(void **state) {
    (void)state;
    static const struct {
        const char *query, *where, *message;
        size_t k;
        double dense_weight;
        int mode;
    } cases[] = {
        {"", NULL, "the query is empty", 5, 1, AOE_INDEX_HYBRID},
        {" \t\xc2\xa0", NULL, "the query is empty", 5, 1, AOE_INDEX_LEXICAL},
        {"\xff", NULL, "the query is not valid UTF-8 at byte 1", 5, 1, AOE_INDEX_LEXICAL},
        {"a", NULL, "options.k is 0", 0, 1, AOE_INDEX_HYBRID},
        {"a", NULL, "options.dense_weight is -1", 5, -1, AOE_INDEX_HYBRID},
        {"a", NULL, "options.dense_weight is nan", 5, (double)NAN, AOE_INDEX_HYBRID},
        {"a", NULL, "options.mode is 3", 5, 1, 3},
        {"a", "rar = 'yes'", "did you mean \"rare\"?", 5, 1, AOE_INDEX_LEXICAL},
        {"a", "rare == yes", "a value must be a number or a text in quotes at character 9", 5, 1, AOE_INDEX_DENSE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoe_index_search_options o = options_of((aoe_index_mode)cases[i].mode, cases[i].k);
        aoe_index_hits h = {.struct_size = sizeof h};
        aoe_error err = {0};
        o.where = cases[i].where;
        o.dense_weight = cases[i].dense_weight;
        if (aoe_index_search(shared, aoe_text_of(cases[i].query), &o, &h, &err) != AOE_EARG)
            fail_msg("case %zu: expected AOE_EARG", i);
        test_message(err.message, cases[i].message);
        assert_null(h.memory);
    }
}

static void limits_scores_and_numbers(void **state) {
    (void)state;
    aoe_index_search_options o = options_of(AOE_INDEX_DENSE, 1000000);
    aoe_index_hits h = search(shared, "a b", &o);
    assert_int_equal(h.n, DOCUMENTS);
    const double least = h.hit[40].score;
    const size_t equal = h.hit[41].score >= least;
    aoe_index_hits_free(&h);
    o.min_score = least;
    h = search(shared, "a b", &o);
    assert_int_equal(h.n, 41 + equal);
    aoe_index_hits_free(&h);
    o.min_score = 2;
    h = search(shared, "a b", &o);
    assert_int_equal(h.n, 0);
    aoe_index_hits_free(&h);
    /* a cosine as the limit of a hybrid search would leave out everything */
    aoe_error err = {0};
    o = options_of(AOE_INDEX_HYBRID, 5);
    o.min_score = 3.0 / 61;
    h = search(shared, "a b", &o);
    aoe_index_hits_free(&h);
    o.min_score = 0.35;
    h.struct_size = sizeof h;
    assert_int_equal(aoe_index_search(shared, aoe_text_of("a b"), &o, &h, &err), AOE_EARG);
    test_message(err.message, "options.min_score is 0.35, but no score of a hybrid search is above 0.0492");
    o = options_of(AOE_INDEX_HYBRID, 5);
    o.lexical_weight = 0;
    h = search(shared, "w59 w3", &o);
    check_dense(&h, "w59 w3", 5, all);
    aoe_index_hits_free(&h);
    h.struct_size = sizeof h;
    assert_int_equal(aoe_index_search(shared, aoe_text_of("w59"), NULL, &h, NULL), 0);
    assert_int_equal(h.n, 10);
    aoe_index_hits_free(&h);
    aoe_index_hits_free(&h);
    aoe_index_hits_free(NULL);
}

/* ---------------------------------------------------------- contents of hits */

static void says_whether_words_match_by_stems(void **state) {
    (void)state;
    for (int stem = 0; stem < 2; stem++) {
        char *path = tiny_index_path();
        aoe_index_options o;
        aoe_error err;
        aoe_index_options_defaults(&o);
        o.stem = stem;
        aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, &o);
        if (tiny_index_add(index, "a", "renewed certificates", &err) || aoe_index_commit(index, &err))
            fail_msg("%s", err.message);
        const aoe_index_search_options lexical = options_of(AOE_INDEX_LEXICAL, 10);
        aoe_index_hits h = search(index, "certificate", &lexical);
        assert_int_equal(h.n, stem);
        assert_int_equal(h.stems, stem);
        aoe_index_hits_free(&h);
        aoe_index_close(index);
        free(path);
    }
}

static void fills_hits_and_gets_passages(void **state) {
    (void)state;
    char *path = tiny_index_path();
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    const aoe_index_field fields[] = {{"year", aoe_text_of("2020")}, {"price", aoe_text_of("1.50")}};
    const aoe_index_document d[] = {
        {.struct_size = sizeof *d,
         .name = "notes/a.md",
         .text = aoe_text_of("# Top\n\na b snake_case\n\n## Sub\n\nd e 部署 f\n"),
         .kind = AOE_INDEX_MARKDOWN,
         .field = fields,
         .n_fields = 2},
        {.struct_size = sizeof *d, .name = "b", .text = aoe_text_of("b c"), .title = "The title"}};
    aoe_error err;
    if (aoe_index_add(index, d, 2, &err) || aoe_index_commit(index, &err))
        fail_msg("%s", err.message);

    aoe_index_search_options o = options_of(AOE_INDEX_LEXICAL, 10);
    aoe_index_hits h = search(index, "部署 Snake_Case", &o);
    assert_true(h.n >= 1);
    const aoe_index_hit *x = &h.hit[0];
    assert_string_equal(x->name, "notes/a.md");
    assert_null(x->path);
    assert_int_equal(strlen(x->id), 12);
    assert_true(x->line >= 1 && x->last_line >= x->line && x->last_line <= 7);
    assert_int_equal(x->n_fields, 2);
    assert_string_equal(x->field[0].key, "year");
    assert_memory_equal(x->field[0].value.data, "2020", 5);
    assert_memory_equal(x->field[1].value.data, "1.50", 5);
    assert_true(x->bm25 == x->score && x->lexical_rank == 1 && isnan(x->cosine) && x->dense_rank == 0);
    assert_int_equal(h.n_terms, 4);
    assert_string_equal(h.term[0], "部署");
    assert_string_equal(h.term[1], "Snake_Case");
    assert_string_equal(h.term[3], "Case");
    char *id = strdup(x->id);
    aoe_index_hits_free(&h);
    h = search(index, "title", &o); /* headings are searched */
    assert_int_equal(h.n, 1);
    assert_string_equal(h.hit[0].heading, "The title");
    assert_int_equal(h.hit[0].n_fields, 0);
    assert_null(h.hit[0].field);
    aoe_index_hits_free(&h);

    h = (aoe_index_hits){.struct_size = sizeof h};
    assert_int_equal(aoe_index_get(index, id, 0, 0, &h, &err), 0);
    assert_int_equal(h.n, 1);
    assert_string_equal(h.hit[0].id, id);
    assert_true(isnan(h.hit[0].score) && h.hit[0].n_fields == 2);
    aoe_index_hits_free(&h);
    assert_int_equal(aoe_index_get(index, "notes/a.md", 0, 0, &h, &err), 0);
    const size_t passages = h.n;
    assert_true(passages >= 1 && strcmp(h.hit[0].id, id) == 0);
    aoe_index_hits_free(&h);
    assert_int_equal(aoe_index_get(index, "notes/a.md", 7, 1, &h, &err), 0);
    assert_true(h.n == 1 && h.hit[0].last_line >= 7);
    aoe_index_hits_free(&h);
    assert_int_equal(aoe_index_get(index, "notes/a.md", 1, 100, &h, &err), 0);
    assert_int_equal(h.n, passages);
    aoe_index_hits_free(&h);
    assert_int_equal(aoe_index_get(index, "notes/a.md", 99, 1, &h, &err), AOE_ENOENT);
    test_message(err.message, "no passage of the index contains line 99");
    assert_int_equal(aoe_index_get(index, "nothing", 1, 1, &h, &err), AOE_ENOENT);
    test_message(err.message, "nothing: the index contains no document or passage with this name or id");
    assert_int_equal(aoe_index_get(index, "0123456789ab", 1, 1, &h, &err), AOE_ENOENT);
    assert_null(h.memory);
    free(id);
    aoe_index_close(index);
    free(path);
}

/* The names of these documents have the same 48-bit hash, so that their first passages have the same id. */
static void gets_all_passages_with_an_id(void **state) {
    (void)state;
    char *path = tiny_index_path();
    aoe_index *index = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    aoe_index_hits h = {.struct_size = sizeof h};
    aoe_error err;
    assert_int_equal(tiny_index_add(index, "32001580.txt", "the second text", &err), 0);
    assert_int_equal(tiny_index_add(index, "other", "another text", &err), 0);
    assert_int_equal(tiny_index_add(index, "27956192.txt", "the first text", &err), 0);
    assert_int_equal(aoe_index_commit(index, &err), 0);
    assert_int_equal(aoe_index_get(index, "5199477c9a5e", 0, 0, &h, &err), 0);
    assert_int_equal(h.n, 2);
    assert_string_equal(h.hit[0].name, "27956192.txt");
    assert_string_equal(h.hit[0].text.data, "the first text");
    assert_string_equal(h.hit[1].name, "32001580.txt");
    assert_string_equal(h.hit[1].text.data, "the second text");
    assert_string_equal(h.hit[0].id, "5199477c9a5e");
    assert_string_equal(h.hit[1].id, "5199477c9a5e");
    aoe_index_hits_free(&h);
    aoe_index_close(index);
    free(path);
}

/* A search sees the last commit, and new lengths of passages after it. */
static void sees_the_last_commit(void **state) {
    (void)state;
    char *path = tiny_index_path();
    aoe_index *writer = tiny_index_open(path, AOE_INDEX_WRITE, NULL);
    aoe_error err;
    assert_int_equal(aoe_index_commit(writer, &err), 0);
    aoe_index *reader = tiny_index_open(path, AOE_INDEX_READ, NULL);
    for (int m = AOE_INDEX_HYBRID; m <= AOE_INDEX_LEXICAL; m++) {
        const aoe_index_search_options o = options_of((aoe_index_mode)m, 10);
        aoe_index_hits h = search(reader, "word", &o);
        assert_int_equal(h.n, 0); /* an empty index */
        aoe_index_hits_free(&h);
        assert_int_equal(tiny_index_add(writer, "x", "a word", &err), 0);
        assert_int_equal(tiny_index_add(writer, "y", "word", &err), 0);
        h = search(reader, "word", &o);
        assert_int_equal(h.n, 0);
        aoe_index_hits_free(&h);
        assert_int_equal(aoe_index_commit(writer, &err), 0);
        assert_int_equal(aoe_index_preload(reader, &err), 0); /* does not change results */
        h = search(reader, "word", &o);
        assert_int_equal(h.n, 2);
        aoe_index_hits_free(&h);
        h = search(writer, "word", &o);
        assert_int_equal(h.n, 2);
        aoe_index_hits_free(&h);
        const char *const names[] = {"x", "y"};
        assert_int_equal(aoe_index_remove(writer, names, 2, NULL, &err), 0);
        assert_int_equal(aoe_index_commit(writer, &err), 0);
    }
    aoe_index_close(reader);
    aoe_index_close(writer);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_nearest_passages),
        cmocka_unit_test(filters_before_it_selects),
        cmocka_unit_test(fuses_both_lists),
        cmocka_unit_test(uses_the_half_that_is_there),
        cmocka_unit_test(is_independent_of_the_order_of_additions),
        cmocka_unit_test(searches_many_queries),
        cmocka_unit_test(searches_in_threads),
        cmocka_unit_test(checks_options),
        cmocka_unit_test(limits_scores_and_numbers),
        cmocka_unit_test(fills_hits_and_gets_passages),
        cmocka_unit_test(says_whether_words_match_by_stems),
        cmocka_unit_test(gets_all_passages_with_an_id),
        cmocka_unit_test(sees_the_last_commit),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
