/* SPDX-License-Identifier: MIT
 * tags: threads network
 * covers: annotate/calls annotate/chat_options annotate/prompt annotate/score net/secret
 * Tests aoe_annotate and aoe_score against a local chat server. The tests cover the output rows for every kind of
 * response, the reuse of cached responses, limits on tokens and on cost, and errors that end the run. The output must
 * be identical for any concurrency and despite server errors. API keys must not appear in outputs, caches or messages.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/chat_model.h"
#include "../support/support.h"
#include "aoe.h"
#include "aoe_annotate.h"
#include "aoe_data.h"
#include "base/alloc.h"

#define KEY "sk-secret-0123456789"

enum { MODELS = 4, MAX_OUTPUT = 1 << 20 };

typedef struct fixture {
    test_server *server;
    chat_model behavior; /* how the server responds, and how many requests it received */
    char api[64];
    aoe_chat_model model[MODELS];
    char *dir, *texts, *pairs, *cache; /* paths, owned; the file at the path cache does not exist at first */
    const char *file;                  /* path of the input file, the pointer `texts`; a.files points to this field */
    char *out;                         /* output of the last run, NUL-terminated; capacity MAX_OUTPUT */
    size_t len;                        /* bytes in out */
    /* polls: number of calls of the callback `progress` or, in a dry run, of the callback for prompts. stop_after: the
     * callback cancels the run after this number of responses (0: never). */
    size_t polls, stop_after;
    aoe_annotate_options a;
    aoe_annotate_result r;
    aoe_score_options s;
    aoe_score_result sr;
    aoe_error err;
} fixture;

/* Appends the output of a run to b->out. */
static int append_output(void *user, size_t part, const char *data, size_t len) {
    fixture *b = user;
    assert_int_equal(part, 0);
    assert_true(b->len + len < MAX_OUTPUT);
    memcpy(b->out + b->len, data, len);
    b->len += len;
    b->out[b->len] = 0;
    return 0;
}

static int progress(void *user, const aoe_chat_progress *p) {
    fixture *b = user;
    assert_true(p->done <= p->total);
    assert_null(strstr(p->why, KEY));
    b->polls++;
    return b->stop_after && p->done >= b->stop_after;
}

/* Sets the n models that a run calls. The name of a model ("numbered", "json", ...) selects the behavior of the
 * server. */
static void set_models(fixture *b, size_t n, ...) {
    va_list names;
    va_start(names, n);
    for (size_t i = 0; i < n; i++)
        b->model[i] = (aoe_chat_model){.struct_size = sizeof(aoe_chat_model),
                                       .name = va_arg(names, const char *),
                                       .api = b->api,
                                       .price_in = 1,
                                       .price_out = 2};
    va_end(names);
    b->a.chat.n_models = b->s.chat.n_models = n;
}

static void set_chat(fixture *b, aoe_chat_options *c) {
    c->models = b->model;
    c->cache = b->cache;
    c->retry_delay = 0.01;
    c->progress = progress;
    c->user = b;
}

static int set_up(void **state) {
    fixture *b = calloc(1, sizeof *b);
    assert_non_null(b);
    *state = b;
    b->server = test_server_start();
    snprintf(b->api, sizeof b->api, "%s/v1", test_server_url(b->server));
    chat_model_route(b->server, &b->behavior);
    b->dir = test_dir_create();
    b->texts = test_write_text(b->dir, "texts.txt",
                               "A plane is taking off.\nThe old man plays a flute.\nA plane  is taking off.\n"
                               "Prices are very high in \"Rome\".\n");
    b->pairs = test_write_text(
        b->dir, "pairs.tsv",
        "id\tsentence1\tsentence2\tlabel\n7\tA man eats bread.\tA man eats rice.\tx\n8\tIt rains.\tThe cat sleeps.\ty\n"
        "9\tA man eats bread.\tA man eats rice.\tz\n");
    b->cache = test_path(b->dir, "answers.sqlite");
    b->file = b->texts;
    b->out = malloc(MAX_OUTPUT);
    assert_non_null(b->out);
    b->out[0] = 0;
    aoe_annotate_options_defaults(&b->a);
    aoe_score_options_defaults(&b->s);
    set_chat(b, &b->a.chat);
    set_chat(b, &b->s.chat);
    set_models(b, 1, "numbered");
    b->a.files = &b->file;
    b->a.n_files = 1;
    b->a.name = b->s.name = "out.tsv";
    b->a.write = b->s.write = append_output;
    b->a.user = b->s.user = b;
    b->s.file = b->pairs;
    return 0;
}

static int tear_down(void **state) {
    fixture *b = *state;
    test_server_stop(b->server);
    test_dir_remove(b->dir);
    free(b->texts);
    free(b->pairs);
    free(b->cache);
    free(b->out);
    free(b);
    return 0;
}

static void set_texts(fixture *b, const char *texts) {
    free(b->texts);
    b->texts = test_write_text(b->dir, "texts.txt", texts);
    b->file = b->texts;
}

static void set_pairs(fixture *b, const char *name, const char *pairs) {
    free(b->pairs);
    b->pairs = test_write_text(b->dir, name, pairs);
    b->s.file = b->pairs;
}

/* Runs aoe_annotate; the output is stored in b->out, the error in b->err. */
static int annotate(fixture *b) {
    b->len = 0;
    b->out[0] = 0;
    memset(&b->err, 0, sizeof b->err);
    b->r.struct_size = sizeof b->r;
    b->r.chat.struct_size = sizeof b->r.chat;
    return aoe_annotate(&b->a, &b->r, &b->err);
}

/* Runs aoe_score; the output is stored in b->out, the error in b->err. */
static int score(fixture *b) {
    b->len = 0;
    b->out[0] = 0;
    memset(&b->err, 0, sizeof b->err);
    b->sr.struct_size = sizeof b->sr;
    b->sr.chat.struct_size = sizeof b->sr.chat;
    return aoe_score(&b->s, &b->sr, &b->err);
}

static void annotate_ok(fixture *b) {
    if (annotate(b))
        fail_msg("%s", b->err.message);
}

/* Removes the cache and sets the server's counts of requests to 0. */
static void clear_cache(fixture *b) {
    static const char *const files[] = {"answers.sqlite", "answers.sqlite-wal", "answers.sqlite-shm"};
    for (size_t i = 0; i < 3; i++) {
        char *path = test_path(b->dir, files[i]);
        remove(path);
        free(path);
    }
    b->behavior.n_seen = b->behavior.requests = b->behavior.answers = 0;
}

/* ---- output rows */

static void pairs_of_one_model(void **state) {
    fixture *b = *state;
    b->a.positives = 2;
    b->a.negatives = 1;
    annotate_ok(b);
    assert_string_equal(b->out,
                        "text1\ttext2\tlabel\tsource\n"
                        "A plane is taking off.\tOnce more: a plane is taking off.\t1\tnumbered\n"
                        "A plane is taking off.\tA plane is currently taking off.\t1\tnumbered\n"
                        "A plane is taking off.\tA closed is lantern off.\t0\tnumbered\n"
                        "The old man plays a flute.\tOnce more: the old man plays a flute.\t1\tnumbered\n"
                        "The old man plays a flute.\tThe old man plays one flute.\t1\tnumbered\n"
                        "The old man plays a flute.\tThe old man closed a lantern.\t0\tnumbered\n"
                        "Prices are very high in \"Rome\".\tOnce more: prices are very high in \"Rome\".\t1\tnumbered\n"
                        "Prices are very high in \"Rome\".\tPrices are really high in \"Rome\".\t1\tnumbered\n"
                        "Prices are very high in \"Rome\".\tclosed are lantern harbour in \"distant\".\t0\tnumbered\n");
    assert_int_equal(b->r.texts, 3);
    assert_int_equal(b->r.repeated_inputs, 1);
    assert_int_equal(b->r.rows, 9);
    assert_int_equal(b->r.chat.calls, 6);
    assert_int_equal(b->r.chat.asked, 6);
    assert_true(b->r.chat.prompt_tokens == 300 && b->r.chat.completion_tokens == 240);
    assert_true(fabs(b->r.chat.cost - (300 + 2 * 240) / 1e6) < 1e-12);
}

static void labels_and_templates(void **state) {
    fixture *b = *state;
    b->a.positive_prompt = "Write {size} like: {text} {text2}{braces}";
    b->a.positives = 1;
    b->a.negatives = 0;
    b->a.positive_label = 4.5;
    b->a.chat.system = "You write.";
    b->a.chat.request = "{\"top_p\": 0.5, \"max_tokens\": null}";
    annotate_ok(b);
    assert_non_null(strstr(b->out, "\tWrite 1 like: A plane is taking off. {braces} Indeed.\t4.5\tnumbered\n"));
    b->a.positive_prompt = "nothing";
    assert_int_equal(annotate(b), AOE_EARG);
    assert_string_equal(b->err.message,
                        "options.positive_prompt: the template has no {text}; insert it where the input belongs");
    b->a.positive_prompt = NULL;
    b->a.chat.request = "[1]";
    assert_int_equal(annotate(b), AOE_EARG);
    assert_non_null(strstr(b->err.message, "not a JSON object"));
}

/* Tests a run that sends every prompt to four models. Sentences that equal the input text, or that another model has
 * already returned, must be dropped. A later run that writes triplets must reuse the cached responses. */
static void ensemble(void **state) {
    fixture *b = *state;
    set_models(b, 4, "numbered", "json", "bullets", "stream");
    b->model[1].source = "second";
    b->a.positives = b->a.negatives = 5;
    annotate_ok(b);
    assert_int_equal(b->r.texts, 3);
    assert_int_equal(b->r.copies, 3 * 4 * 2);
    assert_int_equal(b->r.rows, b->r.positives + b->r.negatives);
    assert_int_equal(b->r.chat.unreadable + b->r.chat.refused + b->r.without, 0);
    assert_non_null(strstr(b->out, "\tsecond\n"));
    assert_null(strstr(b->out, "\tjson\n"));
    assert_null(strstr(b->out, "A plane is taking off.\tA plane is taking off."));
    b->a.kind = AOE_EXAMPLES_TRIPLETS;
    b->a.name = "out.jsonl";
    annotate_ok(b);
    assert_int_equal(b->r.chat.asked, 0);
    assert_memory_equal(b->out, "{\"query\":", 9);
    assert_non_null(strstr(b->out, "\"negative\":"));
}

static void answers_without_sentences(void **state) {
    static const char *const names[] = {"refuses", "declines", "filtered", "silent"};
    fixture *b = *state;
    for (size_t i = 0; i < 4; i++) {
        set_models(b, 1, names[i]);
        annotate_ok(b);
        assert_int_equal(b->r.rows, 0);
        assert_int_equal(b->r.without, 3);
        assert_int_equal(b->r.chat.asked, 6);
        assert_int_equal(b->r.chat.refused, i < 3 ? 6 : 0);
        assert_int_equal(b->r.chat.unreadable, i < 3 ? 0 : 6);
        annotate_ok(b); /* refusals and unreadable responses are cached, so this run sends no requests */
        assert_int_equal(b->r.chat.kept, 6);
        assert_int_equal(b->r.chat.refused, i < 3 ? 6 : 0);
    }
    set_models(b, 1, "cut");
    b->a.positives = 2;
    b->a.negatives = 0;
    annotate_ok(b);
    assert_int_equal(b->r.rows, 3); /* each response ends in the middle of its second sentence, which is dropped */
}

/* ---- runs that must give identical output */

static void any_concurrency_despite_errors(void **state) {
    fixture *b = *state;
    static const unsigned troubles[] = {0, CHAT_500 | CHAT_MALFORMED | CHAT_CUT | CHAT_STREAM_CUT, CHAT_429 | CHAT_CUT};
    static const size_t concurrency[] = {1, 2, 16};
    char *want = NULL;
    set_models(b, 2, "numbered", "stream");
    for (size_t t = 0; t < 3; t++)
        for (size_t c = 0; c < (t == 2 ? 1 : 3); c++) {
            clear_cache(b);
            b->behavior.trouble = troubles[t];
            b->a.chat.concurrency = concurrency[t == 2 ? 2 : c];
            annotate_ok(b);
            assert_int_equal(b->behavior.answers, 12);
            assert_int_equal(b->r.chat.asked, 12);
            if (!want)
                want = strdup(b->out);
            assert_string_equal(b->out, want);
        }
    free(want);
}

static void calls_once(void **state) {
    fixture *b = *state;
    annotate_ok(b);
    char *want = strdup(b->out);
    annotate_ok(b);
    assert_int_equal(b->behavior.requests, 6);
    assert_int_equal(b->r.chat.kept, 6);
    assert_int_equal(b->r.chat.asked, 0);
    assert_true(b->r.chat.cost == 0);
    assert_string_equal(b->out, want);
    b->a.positives = 4; /* this changes the prompt, so the cached responses cannot be reused */
    annotate_ok(b);
    assert_int_equal(b->behavior.requests, 9);
    free(want);
}

static void stopped_and_resumed(void **state) {
    fixture *b = *state;
    annotate_ok(b);
    char *want = strdup(b->out);
    clear_cache(b);
    b->stop_after = 2;
    b->a.chat.concurrency = 2;
    assert_int_equal(annotate(b), AOE_ECANCELLED);
    assert_int_equal(b->len, 0);
    const size_t paid = b->behavior.answers;
    assert_in_range(paid, 2, 3);
    assert_int_equal(b->r.chat.asked, paid);
    b->stop_after = 0;
    annotate_ok(b);
    assert_int_equal(b->r.chat.kept, paid);
    assert_int_equal(b->behavior.answers, 6);
    assert_string_equal(b->out, want);
    free(want);
}

/* ---- limits on tokens and on cost */

static void limits(void **state) {
    fixture *b = *state;
    char *want = NULL;
    b->a.chat.max_tokens = 200;
    for (size_t concurrency = 1; concurrency <= 8; concurrency *= 8) {
        clear_cache(b);
        b->a.chat.concurrency = concurrency;
        /* A call (one prompt that is sent to one model) is allowed if the limit permits about 270 tokens, the maximum
         * of a call. Each call then uses only 90 tokens. The limit therefore permits four calls: 3 * 90 + 270 <= 600,
         * but 4 * 90 + 270 > 600. */
        b->a.chat.max_total_tokens = 600;
        annotate_ok(b);
        assert_int_equal(b->r.chat.asked, 4);
        assert_int_equal(b->r.chat.left, 2);
        assert_true(b->r.chat.left_prompt_tokens > 0 && b->r.chat.left_most > b->r.chat.left_cost);
        if (!want)
            want = strdup(b->out);
        assert_string_equal(b->out, want);
    }
    b->a.chat.max_total_tokens = 0;
    b->a.chat.max_cost = 0.0001;
    annotate_ok(b);
    assert_int_equal(b->r.chat.asked, 0);
    assert_string_equal(b->out, want);
    b->a.chat.max_cost = 1;
    annotate_ok(b);
    assert_int_equal(b->r.chat.asked, 2);
    b->model[0].price_in = b->model[0].price_out = 0;
    assert_int_equal(annotate(b), AOE_EARG);
    assert_non_null(strstr(b->err.message, "options.price"));
    free(want);
}

/* Tests that a malformed response is counted with the maximum number of tokens of a call. The call is repeated only if
 * the limit permits another call. */
static void malformed_responses_are_counted(void **state) {
    fixture *b = *state;
    double spent = 0;
    b->behavior.trouble = CHAT_MALFORMED | CHAT_STREAM_CUT;
    b->a.chat.max_tokens = 200;
    /* Each call has two malformed responses, which count about 270 tokens each, and then a valid response of 90 tokens.
     * The limit permits two complete calls and the first request of a third call: 2 * (2 * 270 + 90) + 270 <= 1700. */
    b->a.chat.max_total_tokens = 1700;
    for (size_t concurrency = 1; concurrency <= 8; concurrency *= 2) {
        clear_cache(b);
        b->a.chat.concurrency = concurrency;
        annotate_ok(b);
        assert_int_equal(b->r.chat.asked, 2);
        assert_int_equal(b->r.chat.left, 4);
        assert_int_equal(b->r.chat.failed, 0);
        assert_int_equal(b->behavior.requests, 7);
        const double tokens = b->r.chat.prompt_tokens + b->r.chat.completion_tokens;
        assert_true(tokens > 1400 && tokens <= 1700);
        assert_true(concurrency == 1 || tokens == spent);
        spent = tokens;
    }
    clear_cache(b);
    b->behavior.trouble = CHAT_MALFORMED;
    b->a.chat.max_total_tokens = 0;
    b->a.chat.attempts = 1;
    b->a.chat.skip_failed = 1;
    b->a.chat.concurrency = 1;
    b->model[0].price_in = 0;
    b->model[0].price_out = 1000;
    b->a.chat.max_cost = 0.5; /* a response may cost up to 0.2, so three responses would exceed the limit */
    annotate_ok(b);
    assert_int_equal(b->behavior.requests, 2);
    assert_int_equal(b->r.chat.failed, 2);
    assert_int_equal(b->r.chat.left, 4);
    assert_true(fabs(b->r.chat.cost - 0.4) < 1e-9);
}

/* A limit on the cost needs a limit on the tokens of a response: max_tokens or max_completion_tokens. */
static void cost_limit_needs_response_limit(void **state) {
    fixture *b = *state;
    b->a.chat.max_cost = 1;
    b->a.chat.request = "{\"max_tokens\": null}";
    assert_int_equal(annotate(b), AOE_EARG);
    assert_non_null(strstr(b->err.message, "require a limit per response"));
    b->a.chat.request = "{\"n\": 2}";
    assert_int_equal(annotate(b), AOE_EARG);
    assert_non_null(strstr(b->err.message, "requests for a single response"));
    b->a.chat.request = "{\"max_tokens\": null, \"max_completion_tokens\": 4000, \"n\": 1}";
    b->model[0].price_out = 1000;
    b->a.chat.max_cost = 3.9; /* a response of 4000 tokens would cost 4 */
    annotate_ok(b);
    assert_int_equal(b->behavior.requests, 0);
    assert_int_equal(b->r.chat.left, 6);
    assert_true(b->r.chat.left_most > 6 * 4);
    b->a.chat.max_cost = 4.1; /* each response costs only 0.04, so three calls are sent: 2 * 0.04 + 4 <= 4.1 */
    annotate_ok(b);
    assert_int_equal(b->r.chat.asked, 3);
}

/* Tests that a model with the price 0 counts as free of charge only if costs_nothing is set. Otherwise, its price is
 * unknown. */
static void free_models(void **state) {
    fixture *b = *state;
    set_models(b, 2, "numbered", "stream");
    b->a.chat.max_cost = 1;
    b->model[1].price_in = b->model[1].price_out = 0;
    assert_int_equal(annotate(b), AOE_EARG);
    assert_non_null(strstr(b->err.message, "stream: options.max_cost requires the price"));
    b->model[1].costs_nothing = 1;
    annotate_ok(b);
    assert_int_equal(b->r.chat.asked, 12);
    assert_true(fabs(b->r.chat.cost - (300 + 2 * 240) / 1e6) < 1e-12);
}

static int count_prompts(void *user, const aoe_chat_model *m, aoe_text prompt) {
    fixture *b = user;
    assert_string_equal(m->name, "numbered");
    assert_memory_equal(prompt.data, "You are a highly smart ", 23);
    b->polls++;
    return 0;
}

static void dry_run(void **state) {
    fixture *b = *state;
    b->a.chat.dry_run = 1;
    b->a.chat.cache = NULL;
    b->a.chat.prompt = count_prompts;
    annotate_ok(b);
    assert_int_equal(b->polls, 6);
    assert_int_equal(b->behavior.requests, 0);
    assert_int_equal(b->r.chat.left, 6);
    assert_int_equal(b->len, 0);
    assert_true(b->r.chat.left_cost > 0 && b->r.chat.left_most > b->r.chat.left_cost);
}

/* ---- failures */

/* Asserts that a run with one model fails with this code, a message that contains `message`, and no output, after at
 * most max_requests requests. */
static void expect_failure(fixture *b, const char *model, int code, const char *message, size_t max_requests) {
    set_models(b, 1, model);
    b->behavior.requests = 0;
    assert_int_equal(annotate(b), code);
    if (!strstr(b->err.message, message))
        fail_msg("%s", b->err.message);
    assert_true(b->behavior.requests <= max_requests);
    assert_int_equal(b->len, 0);
}

static void permanent_failures(void **state) {
    fixture *b = *state;
    expect_failure(b, "unknown", AOE_EIO,
                   "the endpoint returned status 404 for model unknown: The model does not exist", 4);
    expect_failure(b, "quota", AOE_EIO, "the account has no credit left", 4);
    b->behavior.key = "other";
    expect_failure(b, "numbered", AOE_EIO, "requires an API key", 4);
    b->behavior.key = NULL;
    b->behavior.fail_after = 1;
    b->a.chat.attempts = 2;
    expect_failure(b, "numbered", AOE_EIO, "the server returned status 500", 20);
    b->behavior.fail_after = 0;
    strcat(b->api, "/nowhere");
    expect_failure(b, "numbered", AOE_EIO, "404", 4);
    strcpy(b->api, "http://127.0.0.1:1");
    b->a.chat.concurrency = 1;
    expect_failure(b, "numbered", AOE_EIO, "127.0.0.1:1", 0);
    strcpy(b->api, "https://h/v1?key=1");
    expect_failure(b, "numbered", AOE_EARG, "query", 0);
    strcpy(b->api, "http://user@localhost");
    expect_failure(b, "numbered", AOE_EARG, "user", 0);
    strcpy(b->api, "http://localhost");
    set_models(b, 2, "a", "a");
    assert_int_equal(annotate(b), AOE_EARG);
    assert_non_null(strstr(b->err.message, "given twice"));
}

static void one_call_fails(void **state) {
    fixture *b = *state;
    set_texts(b, "This text is too long.\nA plane is taking off.\n");
    set_models(b, 1, "long");
    assert_int_equal(annotate(b), AOE_EFORMAT);
    assert_non_null(strstr(b->err.message, "2 of 4 calls failed"));
    assert_int_equal(b->r.chat.asked, 2);
    b->a.chat.skip_failed = 1;
    annotate_ok(b);
    assert_int_equal(b->r.chat.failed, 2);
    assert_int_equal(b->r.chat.kept, 2);
    assert_int_equal(b->r.without, 1);
    assert_true(b->r.rows > 0);
}

static void bad_inputs(void **state) {
    fixture *b = *state;
    set_texts(b, "a\tb\n");
    assert_int_equal(annotate(b), AOE_EFORMAT);
    assert_non_null(strstr(b->err.message, "texts.txt:1: the text contains a TAB"));
    assert_int_equal(b->behavior.requests, 0);
    b->a.name = "out.jsonl";
    annotate_ok(b);
    b->a.name = "out.csv";
    annotate_ok(b);
    b->a.positives = b->a.negatives = 0;
    assert_int_equal(annotate(b), AOE_EARG);
    b->a.positives = 1;
    b->a.kind = AOE_EXAMPLES_TRIPLETS;
    assert_int_equal(annotate(b), AOE_EARG);
}

/* ---- API keys */

static void no_key_anywhere(void **state) {
    fixture *b = *state;
    b->behavior.key = KEY;
    /* negatives are not requested, because the server would return the sentences that it returned as positives */
    b->a.negatives = 0;
    set_models(b, 2, "echo", "numbered");
    b->model[0].key = b->model[1].key = KEY;
    annotate_ok(b);
    assert_null(strstr(b->out, KEY));
    assert_non_null(strstr(b->out, "The key is #################### indeed."));
    size_t size;
    static const char *const files[] = {"answers.sqlite", "answers.sqlite-wal"};
    for (size_t i = 0; i < 2; i++) {
        char *path = test_path(b->dir, files[i]), *bytes = test_read(path, &size);
        if (bytes)
            assert_null(memmem(bytes, size, KEY, strlen(KEY)));
        assert_true(bytes || i);
        free(bytes);
        free(path);
    }
    set_models(b, 1, "tells"); /* the server's error message contains the key and is truncated in the middle of the
                                  key */
    b->model[0].key = KEY;
    assert_int_equal(annotate(b), AOE_EIO);
    assert_non_null(strstr(b->err.message, "000####"));
    assert_null(strstr(b->err.message, "sk-"));
    set_models(b, 2, "echo", "numbered");
    b->model[0].key = b->model[1].key = KEY "x";
    b->a.positives = 3;
    assert_int_equal(annotate(b), AOE_EIO);
    assert_non_null(strstr(b->err.message, "rejects the API key"));
    assert_null(strstr(b->err.message, "sk-"));
    b->a.chat.system = "My key is " KEY "x";
    assert_int_equal(annotate(b), AOE_EARG);
    assert_null(strstr(b->err.message, "sk-"));
}

/* ---- scores */

static void scores(void **state) {
    fixture *b = *state;
    if (score(b))
        fail_msg("%s", b->err.message);
    assert_string_equal(b->out, "id\tsentence1\tsentence2\tlabel\n7\tA man eats bread.\tA man eats rice.\t3.8\n"
                                "8\tIt rains.\tThe cat sleeps.\t0\n"
                                "9\tA man eats bread.\tA man eats rice.\t3.8\n");
    assert_int_equal(b->sr.rows, 3);
    assert_int_equal(b->sr.scored, 3);
    assert_int_equal(b->behavior.answers, 2);
    set_models(b, 2, "bullets", "refuses");
    b->s.label = "gold";
    b->s.each = 1;
    b->s.name = "out.csv";
    b->s.table.columns = "text1=sentence2,text2=sentence1";
    assert_int_equal(score(b), 0);
    assert_string_equal(b->out,
                        "id,sentence1,sentence2,label,gold,score:bullets,score:refuses\n"
                        "7,A man eats bread.,A man eats rice.,x,3.8,3.8,\n"
                        "8,It rains.,The cat sleeps.,y,0,0,\n9,A man eats bread.,A man eats rice.,z,3.8,3.8,\n");
    assert_int_equal(b->sr.chat.refused, 3);
    b->s.table.columns = "text1=nothing";
    assert_int_equal(score(b), AOE_EFORMAT);
    assert_non_null(strstr(b->err.message, "no column 'nothing'; found id, sentence1, sentence2, label"));
    b->s.table.columns = NULL;
    b->s.prompt = "{text1}";
    assert_int_equal(score(b), AOE_EARG);
}

/* Tests that a pipe as input is rejected before any request is sent, because the input is read twice. */
static void score_of_a_pipe(void **state) {
    fixture *b = *state;
    set_pairs(b, "pairs.tsv", "sentence1\tsentence2\nIt rains.\tThe cat sleeps.\n");
    b->s.file = "-";
    assert_int_equal(score(b), AOE_EARG);
    assert_non_null(strstr(b->err.message, "read twice"));
    assert_int_equal(b->behavior.requests, 0);
}

/* Tests that the options are rejected before any request is sent if the name of a score column is the name of an input
 * column or of another score column. */
static void score_columns(void **state) {
    fixture *b = *state;
    static const struct {
        const char *label, *message;
        const char *first; /* name of the first model in the columns `source` and "score:NAME" */
    } bad[] = {{"sentence2", "options.label: the column 'sentence2' contains texts", "a"},
               {"score:a", "two columns score:a", "a"},
               {"label", "two columns score:bullets", "bullets"},
               {"label", "two columns score:old", "old"}};
    set_pairs(b, "pairs.tsv", "sentence1\tsentence2\tscore:old\nIt rains.\tThe cat sleeps.\t1\n");
    b->s.each = 1;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        set_models(b, 2, "numbered", "bullets");
        b->model[0].source = bad[i].first;
        b->s.label = bad[i].label;
        assert_int_equal(score(b), AOE_EARG);
        assert_non_null(strstr(b->err.message, bad[i].message));
        assert_int_equal(b->behavior.requests, 0);
    }
    b->s.each = 0;
    b->s.label = "score:old";
    assert_int_equal(score(b), 0);
    assert_string_equal(b->out, "sentence1\tsentence2\tscore:old\nIt rains.\tThe cat sleeps.\t0\n");
}

static void scores_of_json_rows(void **state) {
    fixture *b = *state;
    set_pairs(b, "pairs.jsonl",
              "{\"text1\": \"A man eats.\", \"text2\": \"A man eats.\", \"n\": 3, \"l\": [1, \"x\"], \"b\": true}\n"
              "{\"text1\": \"\", \"text2\": \"b\", \"n\": 3, \"l\": [], \"b\": null}\n");
    b->s.name = "out.jsonl";
    assert_int_equal(score(b), AOE_EFORMAT);
    assert_non_null(strstr(b->err.message, "pairs.jsonl:2: column 'text1': the text is empty"));
    b->s.table.skip_bad_rows = 1;
    assert_int_equal(score(b), 0);
    assert_string_equal(
        b->out,
        "{\"text1\":\"A man eats.\",\"text2\":\"A man eats.\",\"n\":3,\"l\":[1,\"x\"],\"b\":true,\"label\":5}\n");
    assert_int_equal(b->sr.skipped, 1);
    assert_true(b->sr.mean == 5);
}

/* ---- failed allocations */

typedef struct memory_run {
    fixture *b;
    int (*run)(fixture *b);
    char *want; /* output of a run without allocation failures; owned */
} memory_run;

static int run_kept(void *arg) {
    const memory_run *m = arg;
    const int code = m->run(m->b);
    if (code == 0) /* the run may succeed, because SQLite tolerates some failed allocations */
        assert_string_equal(m->b->out, m->want);
    else
        assert_true(code == m->b->err.code && *m->b->err.message);
    if (code && code != AOE_ENOMEM)
        print_message("%s\n", m->b->err.message);
    return code;
}

static void no_memory(void **state) {
    fixture *b = *state;
    set_models(b, 2, "numbered", "json");
    for (int i = 0; i < 2; i++) {
        memory_run m = {b, i ? score : annotate, NULL};
        assert_int_equal(m.run(b), 0);
        m.want = strdup(b->out);
        assert_true(test_alloc_failures_published(run_kept, &m, 200) > 200);
        free(m.want);
    }
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(pairs_of_one_model),
        TEST(labels_and_templates),
        TEST(ensemble),
        TEST(answers_without_sentences),
        TEST(any_concurrency_despite_errors),
        TEST(calls_once),
        TEST(stopped_and_resumed),
        TEST(limits),
        TEST(malformed_responses_are_counted),
        TEST(cost_limit_needs_response_limit),
        TEST(free_models),
        TEST(dry_run),
        TEST(permanent_failures),
        TEST(one_call_fails),
        TEST(bad_inputs),
        TEST(no_key_anywhere),
        TEST(scores),
        TEST(score_columns),
        TEST(score_of_a_pipe),
        TEST(scores_of_json_rows),
        TEST(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
