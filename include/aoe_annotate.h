/* SPDX-License-Identifier: MIT
 *
 * aoe_annotate.h (experimental): training data that a chat model writes or scores, through any OpenAI-compatible endpoint.
 * docs/annotate.md is the manual.
 */
#ifndef AOE_ANNOTATE_H
#define AOE_ANNOTATE_H

#include "aoe.h"
#include "aoe_data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------- chat endpoints */

/* A model at an OpenAI-compatible chat endpoint. */
typedef struct aoe_chat_model {
    const char *name;   /* model name that is sent to the endpoint */
    const char *source; /* name of the model in the output; NULL: `name` */
    const char *api; /* base URL, "https://host/v1"; requests go to API/chat/completions. http:// only for loopback addresses */
    const char *key; /* API key, sent only to the origin of `api`, never printed, logged or stored; NULL: no key */
    double price_in, price_out; /* price per million tokens of prompts and of responses, in any currency; 0: unknown */
    int costs_nothing;          /* 1: the model is free; prices of 0 are then known to be 0 */
} aoe_chat_model;

typedef enum aoe_chat_state {
    AOE_CHAT_ANSWER, /* a request is finished: it was answered, rejected or failed */
    AOE_CHAT_WAIT,   /* waiting because of a rate limit or before a retry: `why` and `seconds` are set */
    AOE_CHAT_POLL    /* nothing has changed; the callback can cancel the run */
} aoe_chat_state;

typedef struct aoe_chat_progress {
    aoe_chat_state state;
    size_t done, total; /* number of finished requests, and of all requests of this run; requests answered by the cache are not
                           counted */
    double prompt_tokens, completion_tokens, cost; /* tokens of prompts, tokens of responses, and cost of this run so far */
    const char *why;                               /* reason for waiting, one line, borrowed for the call; "" if not waiting */
    double seconds;                                /* remaining waiting time */
} aoe_chat_progress;

/* Receives the progress. It may be called on any thread, but never on two threads at the same time. Returns 0 to continue.
 * Otherwise no further request is sent, running requests are completed and stored, and the function returns AOE_ECANCELLED. */
typedef int (*aoe_chat_progress_fn)(void *user, const aoe_chat_progress *p);
/* Receives a prompt that would be sent. Returns 0 to receive further prompts. */
typedef int (*aoe_chat_prompt_fn)(void *user, const aoe_chat_model *model, aoe_text prompt);

typedef struct aoe_chat_options {
    size_t struct_size;           /* set by aoe_chat_options_defaults */
    const aoe_chat_model *models; /* [n_models] each model receives every prompt */
    size_t n_models;
    const char *cache;   /* SQLite file in which every response is stored at once and looked up first; may be NULL only
                            with dry_run */
    size_t concurrency;  /* concurrent requests; default 4; the output does not depend on it */
    double per_minute;   /* maximum requests per minute to each model; 0 (default): no limit */
    size_t attempts;     /* attempts per request; default 6 */
    double retry_delay;  /* seconds before the first retry, doubled for each further one; default 1 */
    double timeout;      /* maximum duration of a request in seconds; default 120 */
    size_t max_tokens;   /* maximum tokens of a response; default 1024; 0: the limit of the endpoint */
    double temperature;  /* sampling temperature; AOE_AUTO (default): the default of the endpoint */
    const char *system;  /* system message; NULL (default): none */
    const char *request; /* JSON object that is merged into every request, where null removes a key; NULL (default):
                            none */
    double max_cost; /* maximum cost of this run; 0 (default): no limit. A request that might exceed a limit, as estimated from
                        its prompt and max_tokens, is not sent, and neither is any later request */
    double max_total_tokens;   /* maximum tokens of prompts and responses in this run; 0 (default): no limit */
    int skip_failed;           /* 1: leave out and count texts whose requests fail; 0 (default): report an error at the end */
    int dry_run;               /* 1: send nothing; the result contains the requests that would be sent; default 0 */
    uint64_t seed;             /* seed of random delays between attempts; default 42 */
    aoe_chat_prompt_fn prompt; /* dry_run: receives each prompt that would be sent; NULL (default): none */
    aoe_chat_progress_fn progress; /* NULL (default): none */
    void *user;                    /* first argument of prompt and progress */
} aoe_chat_options;

typedef struct aoe_chat_result {
    size_t calls;      /* distinct requests */
    size_t kept;       /* requests answered by the cache */
    size_t asked;      /* requests answered by an endpoint in this run, refusals included */
    size_t failed;     /* requests that failed in all attempts */
    size_t left;       /* requests that were not sent because of dry_run or a limit on cost or tokens */
    size_t refused;    /* responses in which the model or the filter of the endpoint refused */
    size_t unreadable; /* responses without a list or a score */
    double prompt_tokens, completion_tokens,
        cost; /* tokens and cost of the `asked` requests, as reported by the endpoints. If an endpoint reports no usage, it is
                 estimated; for an unusable response, the maximum is assumed */
    double left_prompt_tokens, left_completion_tokens, left_cost; /* estimated usage of the `left` requests */
    double left_most; /* maximum cost of the `left` requests, if every response has max_tokens; NaN if max_tokens is 0 */
} aoe_chat_result;

AOE_API void aoe_chat_options_defaults(aoe_chat_options *o);

/* ----------------------------------------------------------------- annotation */

typedef struct aoe_annotate_options {
    size_t struct_size; /* set by aoe_annotate_options_defaults */
    aoe_chat_options chat;
    const char *const *files; /* [n_files] files of input texts, .txt or tables. table.columns "text=NAME" selects one column;
                                 by default, all columns of texts are read */
    size_t n_files;
    aoe_table_options table;                       /* label_map and allow_empty are ignored */
    size_t positives;                              /* synonymous sentences requested per text and model; default 5; 0: none */
    size_t negatives;                              /* sentences of opposite meaning requested per text and model; default 5 */
    const char *positive_prompt, *negative_prompt; /* templates with {size} and {text}; NULL (default): figure 4 of the paper */
    double positive_label, negative_label;         /* labels of the pairs; default 1 and 0 */
    aoe_example_kind kind;                         /* PAIRS (also AUTO, the default): columns text1, text2, label, source;
                                                      TRIPLETS: query, positive, negative, source */
    const char *name;                              /* name of the output, whose extension determines format and compression */
    aoe_write_fn write; /* receives the output after the last response, sorted by text, then by model,
                           positives first */
    void *user;         /* first argument of write */
} aoe_annotate_options;

typedef struct aoe_annotate_result {
    aoe_chat_result chat;
    size_t texts;                /* distinct input texts */
    size_t repeated_inputs;      /* input texts that repeat an earlier one */
    size_t without;              /* texts without an output row */
    size_t rows;                 /* output rows */
    size_t positives, negatives; /* sentences in the output; in triplets, a sentence may be in several rows */
    size_t copies;    /* sentences that were left out because they differ from the input only in punctuation or case */
    size_t repeated;  /* sentences that were left out because the text already has them */
    size_t conflicts; /* sentences that were left out because they are both positive and negative */
    size_t skipped;   /* bad rows of the input files that were skipped */
} aoe_annotate_result;

AOE_API void aoe_annotate_options_defaults(aoe_annotate_options *o);
/* Asks chat models for sentences with the same and with the opposite meaning of each input text, and writes training examples
 * (LLM-supervised learning, figure 4 and table 5 of the AnglE paper). Inputs that differ only in white space are one text. The
 * output does not depend on the concurrency. If a run is interrupted, the next run with the same cache continues it. The result
 * is also set after an error. Errors: AOE_EFORMAT (input files), AOE_EIO (the endpoint fails, or rejects the key, the model or
 * the request), AOE_ECANCELLED, the errors of the cache file. */
AOE_API int aoe_annotate(const aoe_annotate_options *AOE_NULLABLE o, aoe_annotate_result *AOE_NULLABLE result,
                         aoe_error *AOE_NULLABLE err);

/* -------------------------------------------------------------------- scoring */

typedef struct aoe_score_options {
    size_t struct_size;      /* set by aoe_score_options_defaults */
    aoe_chat_options chat;   /* default temperature 0, max_tokens 64 */
    const char *file;        /* table with the columns text1 and text2; labels are ignored */
    aoe_table_options table; /* label_map and allow_empty are ignored */
    const char *prompt;      /* template with {text1} and {text2}; NULL (default): the prompt in docs/annotate.md */
    const char *label;       /* column of the mean score of all models; replaces an existing column; default "label" */
    int each;                /* 1: add a column "score:SOURCE" with the score of each model; default 0 */
    const char *name;        /* name of the output, whose extension determines format and compression */
    aoe_write_fn write;      /* receives the output: the rows with a score, with all columns, in input order */
    void *user;              /* first argument of write */
} aoe_score_options;

typedef struct aoe_score_result {
    aoe_chat_result chat;
    size_t rows;    /* rows that were read */
    size_t scored;  /* rows that were written */
    size_t skipped; /* bad rows that were skipped */
    double mean;    /* mean score; NaN without a score */
} aoe_score_result;

AOE_API void aoe_score_options_defaults(aoe_score_options *o);
/* Asks chat models to rate the similarity of pairs of texts from 0 to 5. The cache, the limits and the errors are those of
 * aoe_annotate. */
AOE_API int aoe_score(const aoe_score_options *AOE_NULLABLE o, aoe_score_result *AOE_NULLABLE result,
                      aoe_error *AOE_NULLABLE err);

#ifdef __cplusplus
}
#endif

#endif
