/* SPDX-License-Identifier: MIT
 * The texts of a job are tokenized with one call, except those that are in the cache. If a model has prompts for
 * several kinds of texts in one request, texts with the same prompt are tokenized together.
 */
#include "serve/job.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

enum {
    EXPANSION = 4,        /* largest quotient of the bytes that are tokenized and those that a body may have */
    LEAST_BODY = 2000000, /* bytes from which EXPANSION counts if a body may have fewer */
    /* largest job that starts in the thread of the connections; each of the limits takes about a millisecond */
    SHORT_BYTES = 16384,     /* bytes that are tokenized */
    SHORT_COMPONENTS = 32768 /* components of embeddings, which may all be in the cache */
};

static void destroy_job(aoei_job *j) {
    for (size_t i = 0; j->task && i < j->n; i++)
        aoe_sequence_destroy(j->task[i].sequence);
    for (size_t i = 0; j->row && i < j->n && j->list.kind == AOEI_TASK_STATES; i++)
        aoei_free(j->row[i]);
    aoei_models_release(j->server->models, j->served);
    aoei_request_free(&j->request);
    aoei_free(j->task);
    aoei_free(j->row);
    aoei_free(j->values);
    aoei_free(j->is_cut);
    aoei_free(j->is_known);
    aoei_free(j->user);
    aoei_free(j);
}

void aoei_job_fail(aoei_job *j, aoei_error_kind kind, const char *message) {
    aoe_server *s = j->server;
    aoei_exchange *x = j->x;
    const aoei_route *route = j->route;
    destroy_job(j);
    atomic_fetch_sub(&s->requests, 1);
    aoei_call_fail_exchange(x, route, kind, message, NULL);
}

aoei_job *aoei_job_create(aoei_call *c, aoei_served *served, size_t n, aoei_task_kind kind, aoei_job_answer_fn answer) {
    aoei_job *j = aoei_calloc(1, sizeof *j);
    if (!j) {
        aoei_models_release(c->server->models, served);
        aoei_call_fail(c, AOEI_INTERNAL, "out of memory for the request");
        return NULL;
    }
    *j = (aoei_job){.list = {.kind = kind, .activation = AOE_AUTO, .n = n},
                    .server = c->server,
                    .x = c->x,
                    .route = c->route,
                    .served = served,
                    .request = c->request,
                    .n = n,
                    .value_bytes = AOEI_FLOAT_TEXT,
                    .answer = answer};
    aoe_sequence_options_defaults(&j->o);
    j->must_be_short = !c->may_wait && aoei_exchange_body(c->x).len <= AOEI_HTTP_SMALL_BODY;
    aoei_exchange_free_body(c->x);
    aoei_request_free_document(&j->request);
    c->request = (aoei_request){0};
    c->counted = 0; /* the job counts instead */
    return j;
}

int aoei_call_check_count(aoei_call *c, size_t n, int is_native, const char *key) {
    const size_t max = is_native ? c->server->o.max_texts : c->server->o.max_list;
    if (!n) {
        aoei_call_fail(c, AOEI_EMPTY, "`%s` cannot be empty", key);
        return 1;
    }
    if (n > max) {
        aoei_metrics_count(c->server->metrics, AOEI_REQUEST_FAILURE, AOEI_FAILED_BATCH_SIZE);
        aoei_call_fail(c, AOEI_VALIDATION, "batch size %zu > maximum allowed batch size %zu", n, max);
        return 1;
    }
    return 0;
}

/* ----------------------------------------------------------------- cache */

/* Writes what the vectors of the job depend on, besides the text, to key[size]. Returns the length; 0: no cache. */
static size_t cache_key(const aoei_job *j, const char *prompt_name, char *key, size_t size) {
    const aoe_sequence_options *o = &j->o;
    const int n = snprintf(key, size, "%llu %d %d %zu %zu %s%s%s%s", (unsigned long long)j->served->serial,
                           o->truncation, o->normalize, o->max_length, o->dims, prompt_name ? "n" : "",
                           prompt_name ? prompt_name : "", o->prompt ? "p" : "", o->prompt ? o->prompt : "");
    return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

static const char *prompt_name_of(const aoei_job *j, size_t i) {
    return j->prompt_names ? j->prompt_names[i] : j->o.prompt_name;
}

static int uses_cache(const aoei_job *j) {
    return j->server->cache && j->text && j->list.kind == AOEI_TASK_EMBED;
}

/* Copies the known embeddings from the cache. */
static void read_cache(aoei_job *j) {
    char key[512];
    size_t hits = 0;
    if (!uses_cache(j))
        return;
    for (size_t i = 0; i < j->n; i++) {
        aoei_cached found;
        const size_t len = cache_key(j, prompt_name_of(j, i), key, sizeof key);
        if (!len || !aoei_cache_get(j->server->cache, (aoe_text){key, len}, j->text[i], j->row[i], j->dims, &found) ||
            (found.truncated && j->refuses_long))
            continue;
        j->is_known[i] = 1;
        j->is_cut[i] = found.truncated;
        j->task[i].tokens = found.tokens;
        hits++;
    }
    aoei_metrics_add(j->server->metrics, AOEI_CACHE_HITS, 0, hits);
    aoei_metrics_add(j->server->metrics, AOEI_CACHE_MISSES, 0, j->n - hits);
}

static void write_cache(aoei_job *j) {
    char key[512];
    for (size_t i = 0; uses_cache(j) && i < j->n; i++) {
        const size_t len = cache_key(j, prompt_name_of(j, i), key, sizeof key);
        if (len && !j->is_known[i])
            aoei_cache_put(j->server->cache, (aoe_text){key, len}, j->text[i], j->row[i], j->dims,
                           &(aoei_cached){.tokens = j->task[i].tokens, .truncated = j->is_cut[i]});
    }
}

/* -------------------------------------------------------------- tokenize */

/* Returns 1 if text i is scored alone, not as a pair. */
static int is_alone(const aoei_job *j, size_t i) {
    return j->second && !j->second[i].data;
}

/* Tokenizes the texts from `begin` to `end` - 1, of which none is known, and which have the same prompt. All are pairs,
 * or none is. */
static int tokenize_range(aoei_job *j, size_t begin, size_t end, aoe_sequence **out, aoe_error *err) {
    aoe_sequence_options o = j->o;
    aoe_embedder *e = j->served->one;
    o.prompt_name = prompt_name_of(j, begin);
    o.truncation = j->refuses_long ? AOE_TRUNCATE_NONE : o.truncation;
    if (j->first)
        return aoe_sequences_create_pairs(e, j->first + begin, is_alone(j, begin) ? NULL : j->second + begin,
                                          end - begin, &o, out, err);
    if (j->text)
        return aoe_sequences_create(e, j->text + begin, end - begin, &o, out, err);
    int code = AOE_OK;
    size_t i = begin;
    for (; i < end && !code; i++)
        code = aoe_sequence_create_ids(e, j->ids[i], j->n_ids[i], &o, &out[i - begin], err);
    for (size_t k = begin; k < i && code; k++)
        aoe_sequence_destroy(out[k - begin]);
    return code;
}

static int same_prompt(const char *a, const char *b) {
    return a == b || (a && b && !strcmp(a, b));
}

/* Tokenizes the texts that are not known. */
static int tokenize(aoei_job *j, aoe_error *err) {
    aoe_sequence **out = aoei_calloc(j->n, sizeof *out);
    int code = out ? AOE_OK : aoei_fail_nomem(err, j->n * sizeof *out);
    for (size_t i = 0, end; i < j->n && !code; i = end) {
        end = i + 1;
        if (j->is_known[i])
            continue;
        while (end < j->n && !j->is_known[end] && is_alone(j, end) == is_alone(j, i) &&
               same_prompt(prompt_name_of(j, i), prompt_name_of(j, end)))
            end++;
        code = tokenize_range(j, i, end, out, err);
        for (size_t k = i; k < end && !code; k++) {
            aoe_sequence_info info = {.struct_size = sizeof info};
            j->task[k].sequence = out[k - i];
            aoe_sequence_get_info(out[k - i], &info);
            j->task[k].tokens = (uint32_t)info.tokens;
            j->is_cut[k] = (uint8_t)info.truncated;
        }
    }
    aoei_free(out);
    return code;
}

/* Writes that text i has more than `limit` tokens, in the words of the family of the route. */
static void describe_long(const aoei_job *j, size_t i, size_t limit, char *message, size_t size) {
    const unsigned tokens = j->task[i].tokens;
    if (j->route->family == AOEI_OLLAMA)
        snprintf(message, size,
                 "the input length exceeds the context length: text %zu has %u tokens, the maximum is %zu", i, tokens,
                 limit);
    else if (j->route->family == AOEI_COHERE)
        snprintf(message, size, "too many tokens: %s %zu has %u tokens%s, the maximum is %zu; set `truncate` to %s",
                 j->first ? "document" : "text", i, tokens, j->first ? " with the query" : "", limit,
                 j->first ? "true" : "END");
    else { /* clients read both numbers from this message of text-embeddings-inference, where the first is the limit */
        char which[40] = "";
        if (j->n > 1)
            (void)snprintf(which, sizeof which, " (text %zu)", i);
        snprintf(message, size, "`%s` must have less than %zu tokens. Given: %u%s",
                 j->route->family == AOEI_OPENAI ? "input" : "inputs", limit, tokens, which);
    }
}

/* Answers that a text is too long, or that all are, and frees the job. Returns 1 if it did. */
static int fail_long(aoei_job *j) {
    char message[200] = "";
    size_t tokens = 0;
    const size_t limit = j->o.max_length ? j->o.max_length : j->served->info.max_length;
    for (size_t i = 0; i < j->n && !*message; i++) {
        tokens += j->task[i].tokens;
        if (j->refuses_long && j->task[i].tokens > limit)
            describe_long(j, i, limit, message, sizeof message);
    }
    if (!*message && j->max_tokens && tokens > j->max_tokens)
        snprintf(message, sizeof message,
                 "the request has %zu tokens, but at most %zu are allowed; divide the texts among several requests",
                 tokens, j->max_tokens);
    if (!*message)
        return 0;
    aoei_metrics_count(j->server->metrics, AOEI_REQUEST_FAILURE, AOEI_FAILED_VALIDATION);
    aoei_job_fail(j, AOEI_VALIDATION, message);
    return 1;
}

/* ---------------------------------------------------------------- answer */

static size_t characters_of(const aoe_text *texts, size_t n) {
    size_t characters = 0;
    for (size_t i = 0; texts && i < n; i++)
        characters += aoei_utf8_chars(texts[i].data, texts[i].len);
    return characters;
}

static void add_headers(const aoei_job *j, double now) {
    aoei_exchange *x = j->x;
    const size_t characters =
        characters_of(j->text, j->n) + characters_of(j->first, j->n) + characters_of(j->second, j->n);
    const double start = (double)aoei_exchange_start(x) * 1e-9;
    aoei_exchange_add_header(x, "x-compute-type", "cpu");
    aoei_exchange_add_header(x, "x-compute-characters", "%zu", characters);
    aoei_exchange_add_header(x, "x-compute-tokens", "%zu", j->tokens);
    aoei_exchange_add_header(x, "x-total-time", "%.0f", (now - start) * 1e3);
    aoei_exchange_add_header(x, "x-compute-time", "%.0f", (now - start) * 1e3);
    aoei_exchange_add_header(x, "x-tokenization-time", "%.0f", j->tokenization * 1e3);
    aoei_exchange_add_header(x, "x-queue-time", "%.0f", (j->list.started - j->list.added) * 1e3);
    aoei_exchange_add_header(x, "x-inference-time", "%.0f", (now - j->list.started) * 1e3);
    if (j->truncated)
        aoei_exchange_add_header(x, "x-aoe-truncated", "%zu", j->truncated);
    if (j->request.n_ignored)
        aoei_exchange_add_header(x, "x-aoe-ignored", "%s", j->request.ignored);
    if (j->list.kind == AOEI_TASK_EMBED && j->dims < j->served->dims)
        aoei_exchange_add_header(x, "x-aoe-dimensions", "truncated from %zu", j->served->dims);
    aoei_exchange_note(x, j->served->name, j->n, j->tokens);
}

/* Records a finished job. The durations of the job count for each of its texts, as in text-embeddings-inference. */
static void observe(const aoei_job *j, double now) {
    aoei_metrics *m = j->server->metrics;
    const int scores = j->list.kind == AOEI_TASK_SCORE;
    const double start = (double)aoei_exchange_start(j->x) * 1e-9;
    const double duration[] = {now - start, j->tokenization, j->list.started - j->list.added, now - j->list.started};
    aoei_metrics_count(m, AOEI_REQUEST_SUCCESS, j->n > 1 ? AOEI_BATCH : AOEI_SINGLE);
    aoei_metrics_add(m, scores ? AOEI_PREDICT_SUCCESS : AOEI_EMBED_SUCCESS, 0, j->n);
    aoei_metrics_add(m, AOEI_TOKENS, 0, j->computed);
    aoei_metrics_add(m, AOEI_TRUNCATED, 0, j->truncated);
    for (int i = 0; i < 4; i++) {
        aoei_metrics_observe(m, (aoei_histogram)(AOEI_REQUEST_DURATION + i), duration[i]);
        for (size_t k = 0; k < j->n; k++)
            aoei_metrics_observe(m, (aoei_histogram)((scores ? AOEI_PREDICT_DURATION : AOEI_EMBED_DURATION) + i),
                                 duration[i]);
    }
    for (size_t i = 0; i < j->n; i++)
        aoei_metrics_observe(m, AOEI_REQUEST_INPUT_LENGTH, (double)j->task[i].tokens);
}

/* The function `done` of the list. */
static void finish(aoei_task_list *list) {
    aoei_job *j = (aoei_job *)list;
    aoei_buffer body = {0};
    char message[sizeof list->err.message];
    if (list->code == AOE_ECANCELLED) {
        aoei_metrics_count(j->server->metrics, AOEI_REQUEST_FAILURE, AOEI_FAILED_DROPPED);
        aoei_job_fail(j, AOEI_UNHEALTHY, "the client closed the connection");
        return;
    }
    if (list->code) {
        snprintf(message, sizeof message, "%s", list->err.message);
        aoei_metrics_count(j->server->metrics, AOEI_REQUEST_FAILURE, AOEI_FAILED_INFERENCE);
        aoei_job_fail(j, AOEI_BACKEND, message);
        return;
    }
    write_cache(j);
    j->answer(j, &body);
    const double now = aoei_now();
    add_headers(j, now);
    observe(j, now);
    aoe_server *s = j->server;
    aoei_exchange *x = j->x;
    destroy_job(j);
    atomic_fetch_sub(&s->requests, 1);
    aoei_exchange_answer(x, 200, "application/json", &body);
}

static int is_gone(aoei_task_list *list) {
    aoei_job *j = (aoei_job *)list;
    return atomic_load(&j->server->state) == AOEI_STOPPING || aoei_exchange_is_gone(j->x);
}

/* Allocates the results. States are allocated when the numbers of tokens are known. */
static int allocate(aoei_job *j, aoe_error *err) {
    j->task = aoei_calloc(j->n, sizeof *j->task);
    j->row = aoei_calloc(j->n, sizeof *j->row);
    j->is_cut = aoei_calloc(j->n, 1);
    j->is_known = aoei_calloc(j->n, 1);
    const int has_values = j->list.kind != AOEI_TASK_STATES;
    j->values = has_values ? aoei_malloc_array(j->n, j->dims * sizeof *j->values) : NULL;
    if (!j->task || !j->row || !j->is_cut || !j->is_known || (has_values && !j->values))
        return aoei_fail_nomem(err, j->n * j->dims * sizeof *j->values);
    for (size_t i = 0; i < j->n && has_values; i++)
        j->row[i] = j->values + i * j->dims;
    return AOE_OK;
}

/* Returns the bytes that are tokenized: those of all texts with their prompts. Pairs contain the query once per text.
 */
static size_t bytes_to_tokenize(const aoei_job *j) {
    const char *prompt = j->o.prompt ? j->o.prompt : j->served->info.prompt, *name = NULL;
    size_t len = prompt && !j->ids ? strlen(prompt) : 0, sum = 0;
    for (size_t i = 0; i < j->n; i++) {
        if (prompt_name_of(j, i) && prompt_name_of(j, i) != name) {
            name = prompt_name_of(j, i);
            prompt = aoe_model_prompt(j->served->model, name);
            len = prompt ? strlen(prompt) : 0;
        }
        sum += len + (j->text ? j->text[i].len : 0) + (j->first ? j->first[i].len : 0) +
               (j->second ? j->second[i].len : 0);
    }
    return sum;
}

/* Answers that a prompt or query, together with the texts, is too long, and frees the job. Returns 1 if it did. A body
 * in which a long prompt or query applies to many short texts would otherwise need thousands of times its size. */
static int fail_bytes(aoei_job *j, size_t bytes) {
    const size_t body = j->server->o.max_body > LEAST_BODY ? j->server->o.max_body : LEAST_BODY;
    const size_t limit = body < SIZE_MAX / EXPANSION ? EXPANSION * body : SIZE_MAX;
    char message[200];
    if (bytes <= limit)
        return 0;
    snprintf(message, sizeof message,
             "the texts with their %s have %zu bytes, but at most %zu are allowed; shorten the %s, or divide the texts "
             "among several requests",
             j->first ? "query" : "prompt", bytes, limit, j->first ? "query" : "prompt");
    aoei_metrics_count(j->server->metrics, AOEI_REQUEST_FAILURE, AOEI_FAILED_VALIDATION);
    aoei_job_fail(j, AOEI_TOO_LARGE, message);
    return 1;
}

/* Reserves memory for the components of the results, and for the answer, which replaces them when it is complete.
 * Returns 0, or 1 after answering an error and freeing the job. */
static int reserve(aoei_job *j, size_t components) {
    const size_t each = j->value_bytes > sizeof(float) ? j->value_bytes : sizeof(float);
    const size_t bytes = components < SIZE_MAX / each ? components * each : SIZE_MAX;
    char message[200] = "the answers to other requests need too much memory; try again later";
    size_t limit;
    const int code = aoei_exchange_reserve(j->x, bytes, &limit), is_too_large = code == 1;
    if (!code)
        return 0;
    if (is_too_large)
        snprintf(message, sizeof message,
                 "the answer would have about %zu bytes, but all answers in memory may have only %zu bytes; divide the "
                 "texts among several requests",
                 bytes, limit);
    aoei_metrics_count(j->server->metrics, AOEI_REQUEST_FAILURE,
                       is_too_large ? AOEI_FAILED_VALIDATION : AOEI_FAILED_OVERLOADED);
    aoei_job_fail(j, is_too_large ? AOEI_TOO_LARGE : AOEI_OVERLOADED, message);
    return 1;
}

/* Answers an error of the library, and frees the job. */
static void fail_code(aoei_job *j, int code, const aoe_error *err) {
    char message[sizeof err->message];
    const int is_tokenizer = code == AOE_EFORMAT || code == AOE_EARG;
    aoei_metrics_count(j->server->metrics, AOEI_REQUEST_FAILURE,
                       is_tokenizer ? AOEI_FAILED_TOKENIZATION : AOEI_FAILED_VALIDATION);
    aoei_call_name_keys(err->message, j->length_key, message, sizeof message);
    aoei_job_fail(j, code == AOE_EFORMAT ? AOEI_TOKENIZER : aoei_call_error_kind(code), message);
}

/* Reserves and allocates the hidden states of all texts. Returns 0, or 1 after answering an error and freeing the job.
 */
static int allocate_states(aoei_job *j) {
    aoe_sequence_info info = {.struct_size = sizeof info};
    aoe_error err = {0};
    size_t components = 0;
    for (size_t i = 0; i < j->n; i++) {
        aoe_sequence_get_info(j->task[i].sequence, &info);
        components += info.tokens * info.token_dims;
    }
    j->dims = info.token_dims;
    if (reserve(j, components))
        return 1;
    for (size_t i = 0; i < j->n; i++) {
        const size_t tokens = j->task[i].tokens ? j->task[i].tokens : 1;
        j->row[i] = aoei_malloc_array(tokens, j->dims * sizeof *j->row[i]);
        if (!j->row[i]) {
            fail_code(j, aoei_fail_nomem(&err, tokens * j->dims * sizeof *j->row[i]), &err);
            return 1;
        }
    }
    return 0;
}

void aoei_job_start(aoei_job *j) {
    const size_t bytes = bytes_to_tokenize(j);
    if (j->list.kind == AOEI_TASK_EMBED && j->o.dims > j->served->dims) {
        char message[120];
        snprintf(message, sizeof message, "`dimensions` is %zu, but the embeddings have %zu components", j->o.dims,
                 j->served->dims);
        aoei_job_fail(j, AOEI_VALIDATION, message);
        return;
    }
    aoei_metrics *m = j->server->metrics;
    aoei_metrics_count(m, AOEI_REQUEST_COUNT, j->n > 1 ? AOEI_BATCH : AOEI_SINGLE);
    aoei_metrics_add(m, j->list.kind == AOEI_TASK_SCORE ? AOEI_PREDICT_COUNT : AOEI_EMBED_COUNT, 0, j->n);
    j->dims = j->list.kind == AOEI_TASK_EMBED && j->o.dims ? j->o.dims : j->served->dims;
    if (fail_bytes(j, bytes))
        return;
    if (!j->must_be_short || (bytes <= SHORT_BYTES && j->n * j->dims <= SHORT_COMPONENTS)) {
        aoei_job_continue(j);
        return;
    }
    aoei_exchange_set_work(j->x, j);
    if (aoei_request_threads_add(&j->server->waiting, j->x))
        aoei_job_fail(j, AOEI_OVERLOADED, "too many requests wait for threads of the server; try again later");
}

void aoei_job_continue(aoei_job *j) {
    aoe_error err = {0};
    const int has_states = j->list.kind == AOEI_TASK_STATES;
    const double start = aoei_now();
    if (atomic_load(&j->server->state) == AOEI_STOPPING) {
        aoei_job_fail(j, AOEI_UNHEALTHY, "the server is stopping");
        return;
    }
    if (!has_states && reserve(j, j->n * j->dims))
        return;
    int code = allocate(j, &err);
    if (!code) {
        read_cache(j);
        code = tokenize(j, &err);
    }
    if (code) {
        fail_code(j, code, &err);
        return;
    }
    if (fail_long(j) || (has_states && allocate_states(j)))
        return;
    for (size_t i = 0; i < j->n; i++) {
        j->task[i].out = j->row[i];
        j->tokens += j->task[i].tokens;
        j->computed += j->is_known[i] ? 0 : j->task[i].tokens;
        j->truncated += j->is_cut[i] || (j->is_shortened && j->is_shortened[i]);
    }
    j->tokenization = aoei_now() - start;
    j->list.task = j->task;
    j->list.n = j->n;
    j->list.is_gone = is_gone;
    j->list.done = finish;
    aoei_text_queue_add(j->served->queue, &j->list);
}
