/* SPDX-License-Identifier: MIT
 *
 * aoe_annotate.h (experimental): creates training data with chat models, which write sentences or score text pairs. The
 * models are called through any OpenAI-compatible endpoint. docs/annotate.md is the manual.
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
    size_t struct_size; /* set by aoe_chat_model_defaults */
    const char *name;   /* model name that is sent to the endpoint */
    const char *source; /* name of the model in the output column `source`; NULL: `name` */
    const char *api;   /* base URL, for example "https://host/v1"; requests are sent to API/chat/completions. http:// is
                          allowed only for loopback addresses */
    const char *key;   /* API key; NULL: none. Sent only to the origin of `api`; never printed, logged or stored */
    int costs_nothing; /* 1: the model is free, and a price of 0 means 0 instead of unknown */
    double price_in, price_out; /* price of a million prompt tokens; price of a million response tokens; 0: unknown */
} aoe_chat_model;

AOE_OPTIONS(aoe_chat_model);

typedef enum aoe_chat_state {
    AOE_CHAT_ANSWER, /* a request was answered, was rejected or failed */
    AOE_CHAT_WAIT,   /* requests wait for a rate limit or a retry; `why` and `seconds` are set */
    AOE_CHAT_POLL    /* nothing has changed; the call only lets the callback cancel the run */
} aoe_chat_state;

typedef struct aoe_chat_progress {
    size_t struct_size; /* set by the library */
    aoe_chat_state state;
    size_t done, total; /* number of finished requests; number of all requests of this run, without requests answered by
                           the cache */
    double prompt_tokens, completion_tokens, cost; /* usage in this run so far: tokens of prompts, tokens of responses,
                                                      cost */
    const char *why; /* reason for waiting, one line, borrowed for the call; "" if not waiting */
    double seconds;  /* remaining waiting time */
} aoe_chat_progress;

/* Receives the progress. The callback may be called on any thread, but never on two threads at the same time. It
 * returns 0 to continue. If it returns another value, no further request is sent, running requests are completed and
 * stored, and aoe_annotate or aoe_score returns AOE_ECANCELLED. */
typedef int (*aoe_chat_progress_fn)(void *user, const aoe_chat_progress *p);
/* Receives a prompt that would be sent to `model`. Returns 0 to continue. After another value, it is not called
 * again. */
typedef int (*aoe_chat_prompt_fn)(void *user, const aoe_chat_model *model, aoe_text prompt);

typedef struct aoe_chat_options {
    size_t struct_size;           /* set by aoe_chat_options_defaults */
    const aoe_chat_model *models; /* [n_models] chat models; each model receives every prompt */
    size_t n_models;
    const char *cache;   /* SQLite file. Every response is stored in it as soon as it arrives. A request is not sent if
                            the file already contains its response. NULL is allowed only with dry_run */
    size_t concurrency;  /* maximum concurrent requests; default 4. The output does not depend on this value */
    double per_minute;   /* maximum requests per minute and model; 0 (default): no limit */
    size_t attempts;     /* attempts per request; default 6 */
    double retry_delay;  /* seconds before the first retry; doubled before every further retry; default 1 */
    double timeout;      /* maximum duration of a request in seconds; default 120 */
    size_t max_tokens;   /* maximum tokens of a response; default 1024; 0: the limit of the endpoint */
    double temperature;  /* sampling temperature; AOE_AUTO (default): the default of the endpoint */
    const char *system;  /* system message; NULL (default): none */
    const char *request; /* JSON object that is merged into every request. The value null removes a key. NULL (default):
                            none */
    double max_cost; /* maximum cost of this run; 0 (default): no limit. The largest cost of a request is estimated from
                        its prompt and max_tokens. If it could exceed max_cost or max_total_tokens, this request and all
                        later requests are not sent */
    double max_total_tokens; /* maximum tokens of prompts and responses in this run; 0 (default): no limit */
    int skip_failed; /* 1: exclude texts whose requests fail, and count them; 0 (default): return an error after the
                        last request */
    int dry_run;     /* 1: send nothing, and count the requests that would be sent; default 0 */
    uint64_t seed;   /* seed of random delays between attempts; default 42 */
    aoe_chat_prompt_fn prompt;     /* dry_run: receives each prompt that would be sent; NULL (default): none */
    aoe_chat_progress_fn progress; /* NULL (default): none */
    void *user;                    /* first argument of prompt and progress */
} aoe_chat_options;

typedef struct aoe_chat_result {
    size_t struct_size; /* set by the caller */
    size_t calls;       /* number of distinct requests */
    size_t kept;        /* requests answered by the cache */
    size_t asked;       /* requests answered by an endpoint in this run, including responses counted in `refused` */
    size_t failed;      /* requests that failed in all attempts */
    size_t left;        /* requests that were not sent because of dry_run or a limit on cost or tokens */
    size_t refused;     /* responses in which the model or the endpoint's content filter declined to answer */
    size_t unreadable;  /* responses that contain no list of sentences (aoe_annotate) or no score (aoe_score) */
    double prompt_tokens, completion_tokens, cost; /* usage of the `asked` requests: tokens of prompts, tokens of
                                                      responses, cost. If an endpoint does not report the usage, it is
                                                      estimated. If a response is unusable, the maximum is assumed */
    double left_prompt_tokens, left_completion_tokens, left_cost; /* estimated usage of the `left` requests: tokens of
                                                                     prompts, tokens of responses, cost */
    double left_most; /* cost of the `left` requests if every response has max_tokens tokens; NaN if max_tokens is 0 */
} aoe_chat_result;

AOE_OPTIONS(aoe_chat_options);

/* ----------------------------------------------------------------- annotation */

typedef struct aoe_annotate_options {
    size_t struct_size; /* set by aoe_annotate_options_defaults */
    aoe_chat_options chat;
    const char *const *files; /* [n_files] .txt files or tables of input texts. All columns of texts are read, unless
                                 table.columns is "text=NAME", which selects one column */
    size_t n_files;
    aoe_table_options table; /* options of all files; label_map and allow_empty are ignored */
    size_t positives; /* number of sentences with the same meaning requested per text and model; default 5; 0: none */
    size_t negatives; /* number of sentences with the opposite meaning requested per text and model; default 5; 0:
                         none */
    const char *positive_prompt, *negative_prompt; /* prompt templates, in which {size} stands for the number of
                                                      sentences and {text} for the input text; NULL (default): figure 4
                                                      of the AnglE paper */
    double positive_label, negative_label;         /* labels of pairs of a text and a positive (default 1) or a negative
                                                      (default 0) */
    aoe_example_kind kind; /* AOE_EXAMPLES_PAIRS or AUTO (default): columns text1, text2, label, source.
                              AOE_EXAMPLES_TRIPLETS: columns query, positive, negative, source */
    const char *name;      /* file name of the output; its extension determines the format and the compression */
    aoe_write_fn write; /* receives the output after the last response. Rows have the order of the texts. Rows of a text
                           are sorted by model, and positives are before negatives */
    void *user;         /* first argument of write */
} aoe_annotate_options;

typedef struct aoe_annotate_result {
    size_t struct_size; /* set by the caller */
    aoe_chat_result chat;
    size_t texts;                /* distinct input texts */
    size_t repeated_inputs;      /* input texts that repeat an earlier one */
    size_t without;              /* distinct texts without an output row */
    size_t rows;                 /* output rows */
    size_t positives, negatives; /* number of sentences in the output, each counted once */
    size_t copies;    /* sentences that were excluded because they differ from the input text only in punctuation or
                         case */
    size_t repeated;  /* sentences that were excluded because they repeat another sentence for this text */
    size_t conflicts; /* sentences that were excluded because they are both positive and negative */
    size_t skipped;   /* bad rows of the input files that were skipped */
} aoe_annotate_result;

AOE_OPTIONS_WITH(aoe_annotate_options, aoe_chat_options_defaults(&o->chat), aoe_table_options_defaults(&o->table));
/* Asks chat models for sentences with the same meaning as each input text and for sentences with the opposite meaning,
 * and writes training examples (LLM-supervised learning, figure 4 and table 5 of the AnglE paper). Inputs that differ
 * only in white space are one text. The output does not depend on options.chat.concurrency. If a run is interrupted,
 * the next run with this cache file continues it. *result is set even if the function fails. Errors: AOE_EFORMAT (input
 * files), AOE_EIO (the endpoint fails, or rejects the key, the model or the request), AOE_ECANCELLED, the errors of the
 * cache file. */
AOE_API int aoe_annotate(const aoe_annotate_options *AOE_NULLABLE o, aoe_annotate_result *AOE_NULLABLE result,
                         aoe_error *AOE_NULLABLE err);

/* -------------------------------------------------------------------- scoring */

typedef struct aoe_score_options {
    size_t struct_size;      /* set by aoe_score_options_defaults */
    aoe_chat_options chat;   /* options of the chat models; here the default of temperature is 0, and the default of
                                max_tokens is 64 */
    const char *file;        /* table with the columns text1 and text2; a label column is ignored */
    aoe_table_options table; /* label_map and allow_empty are ignored */
    const char *prompt; /* template that contains {text1} and {text2}; NULL (default): the prompt in docs/annotate.md */
    const char *label;  /* column with the mean score of all models; replaces an existing column; default "label" */
    int each; /* 1: add a column "score:SOURCE" for each model with its scores (SOURCE: see aoe_chat_model); default
                 0 */
    const char *name;   /* file name of the output; its extension determines the format and the compression */
    aoe_write_fn write; /* receives the rows that have a score, in input order, with all their columns */
    void *user;         /* first argument of write */
} aoe_score_options;

typedef struct aoe_score_result {
    size_t struct_size; /* set by the caller */
    aoe_chat_result chat;
    size_t rows;    /* number of rows that were read */
    size_t scored;  /* rows that were written */
    size_t skipped; /* bad rows that were skipped */
    double mean;    /* mean of all scores; NaN if no row has a score */
} aoe_score_result;

AOE_OPTIONS_WITH(aoe_score_options, aoe_chat_options_defaults(&o->chat), aoe_table_options_defaults(&o->table));
/* Asks chat models to rate the similarity of text pairs from 0 to 5. The cache, the limits and the errors are the same
 * as for aoe_annotate. */
AOE_API int aoe_score(const aoe_score_options *AOE_NULLABLE o, aoe_score_result *AOE_NULLABLE result,
                      aoe_error *AOE_NULLABLE err);

#ifdef __cplusplus
}
#endif

#endif
