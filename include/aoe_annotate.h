/* SPDX-License-Identifier: MIT
 *
 * aoe_annotate.h: training data that a chat model writes or scores. docs/annotate.md is the manual.
 */
#ifndef AOE_ANNOTATE_H
#define AOE_ANNOTATE_H

#include "aoe.h"
#include "aoe_data.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A model behind an OpenAI-compatible chat endpoint. */
typedef struct aoe_chat_model {
    const char *name;   /* as the endpoint knows it */
    const char *source; /* what rows call it; NULL: name */
    const char *api;    /* "https://host/v1"; requests go to API/chat/completions. http:// for loopback addresses alone */
    const char *key;    /* API key, sent to the origin of `api` and never printed, logged or stored; NULL: none */
    double price_in, price_out; /* money for a million tokens of prompts and of answers; 0: not known */
    int costs_nothing;          /* 1: prices of 0 are known to be 0 */
} aoe_chat_model;

typedef enum aoe_chat_state {
    AOE_CHAT_ANSWER, /* one came, or is refused or failed */
    AOE_CHAT_WAIT,   /* for the endpoint's limits, or before another try: `why`, `seconds` */
    AOE_CHAT_POLL    /* nothing new: shall it go on? */
} aoe_chat_state;

typedef struct aoe_chat_progress {
    aoe_chat_state state;
    size_t done, total;                            /* calls of this run; what the cache answers is not among them */
    double prompt_tokens, completion_tokens, cost; /* paid in this run so far */
    const char *why;                               /* one line, "" when there is nothing to say; borrowed */
    double seconds;                                /* left to wait */
} aoe_chat_progress;

/* Called by any thread, one at a time. Not 0: no further call is begun, what is under way is waited for and kept, and the run
 * ends with AOE_ECANCELLED. */
typedef int (*aoe_chat_progress_fn)(void *user, const aoe_chat_progress *p);
/* A prompt that would be sent; returns 0 to see more. */
typedef int (*aoe_chat_prompt_fn)(void *user, const aoe_chat_model *model, aoe_text prompt);

typedef struct aoe_chat_options {
    size_t struct_size;           /* set by aoe_chat_options_defaults */
    const aoe_chat_model *models; /* [n_models] each is asked everything */
    size_t n_models;
    const char
        *cache; /* file (SQLite) in which every answer is kept as it comes, and looked for first; NULL only for dry_run */
    size_t concurrency;  /* 4: requests under way at a time. Changes no byte of what comes out */
    double per_minute;   /* 0: requests a minute to each model; 0: as many as it answers */
    size_t attempts;     /* 6: of a request that fails */
    double retry_delay;  /* 1: seconds before the second of them, doubled each time */
    double timeout;      /* 120: seconds until an answer has to be there */
    size_t max_tokens;   /* 1024: of an answer; 0: the endpoint decides */
    double temperature;  /* NaN: the endpoint's */
    const char *system;  /* system message; NULL: none */
    const char *request; /* JSON object merged into every request; a null takes a key out; NULL: nothing */
    double max_cost;     /* money and tokens that this run may spend at most: a call that might exceed it (by the estimate of */
    double max_total_tokens;       /* its prompt and max_tokens) is not begun or tried again, nor any behind it. 0: no bound */
    int skip_failed;               /* 1: texts whose calls fail are left out and counted; else it is an error in the end */
    int dry_run;                   /* 1: nothing is sent; the result says what would be */
    uint64_t seed;                 /* 42: of the waits between tries */
    aoe_chat_prompt_fn prompt;     /* for dry_run: called with each prompt that would be sent; NULL: none */
    aoe_chat_progress_fn progress; /* NULL: none */
    void *user;                    /* of both */
} aoe_chat_options;

typedef struct aoe_chat_result {
    size_t calls;                                  /* that the job is made of: distinct requests */
    size_t kept;                                   /* of these, answered by the cache */
    size_t asked;                                  /* answered by an endpoint in this run, refusals included */
    size_t failed;                                 /* without an answer, for good */
    size_t left;                                   /* not begun: dry_run, or the bound on what may be spent */
    size_t refused;                                /* of the answers: the model or the endpoint's filter declined */
    size_t unreadable;                             /* of the answers: there is no list, or no score, in them */
    double prompt_tokens, completion_tokens, cost; /* of `asked`: as the endpoints count, else estimated; of
                                                      answers that could not be used: the most they may be */
    double left_prompt_tokens, left_completion_tokens, left_cost; /* estimate for `left` */
    double left_most; /* what `left` can cost at most, were every answer max_tokens long; NaN: max_tokens is 0 */
} aoe_chat_result;

AOE_API void aoe_chat_options_defaults(aoe_chat_options *o);

typedef struct aoe_annotate_options {
    size_t struct_size; /* set by aoe_annotate_options_defaults */
    aoe_chat_options chat;
    const char *const *files; /* [n_files] texts: .txt, or tables (columns: "text=NAME", else all columns of texts) */
    size_t n_files;
    aoe_table_options table;                       /* label_map and allow_empty are ignored */
    size_t positives;                              /* 5: synonymous sentences asked for of each text and model; 0: none */
    size_t negatives;                              /* 5: opposite ones */
    const char *positive_prompt, *negative_prompt; /* templates with {size} and {text}; NULL: those of the paper's figure 4 */
    double positive_label, negative_label;         /* 1, 0 */
    aoe_example_kind kind; /* PAIRS (AUTO too): text1, text2, label, source; TRIPLES: query, positive, negative, source */
    const char *name;      /* of the output: its format and compression, as of inputs */
    aoe_write_fn write;    /* takes it, once all answers are there: text after text, model after model, positives first */
    void *user;
} aoe_annotate_options;

typedef struct aoe_annotate_result {
    aoe_chat_result chat;
    size_t texts; /* distinct inputs */
    size_t repeated_inputs;
    size_t without; /* texts of which no row was made */
    size_t rows;
    size_t positives, negatives; /* sentences kept; of triplets each is in one or more */
    size_t copies;               /* sentences left out: the input again, in other punctuation or case */
    size_t repeated;             /* there already for that text */
    size_t conflicts;            /* given as synonymous and as opposite */
    size_t skipped;              /* bad rows of the files */
} aoe_annotate_result;

AOE_API void aoe_annotate_options_defaults(aoe_annotate_options *o);
/* Has chat models write sentences that mean the same as each input, and the opposite, and makes training rows of them (the
 * paper's LLM-supervised learning, figure 4 and table 5). Inputs that differ in white space alone are one. Rows are written
 * when all answers are there, the same for any concurrency; a run that was stopped is continued by the next with the same
 * cache. Errors: AOE_EARG (options, templates, endpoints), AOE_EFORMAT (files), AOE_EIO (the endpoint fails, or refuses key,
 * model or request), AOE_ECANCELLED, those of the cache. result is filled on failure too, as far as it got. */
AOE_API int aoe_annotate(const aoe_annotate_options *AOE_NULLABLE o, aoe_annotate_result *AOE_NULLABLE result,
                         aoe_error *AOE_NULLABLE err);

typedef struct aoe_score_options {
    size_t struct_size;      /* set by aoe_score_options_defaults */
    aoe_chat_options chat;   /* temperature 0, max_tokens 64 */
    const char *file;        /* a table with text1 and text2; a label is not needed and not looked at */
    aoe_table_options table; /* label_map and allow_empty are ignored */
    const char *prompt;      /* template with {text1} and {text2}; NULL: the manual's */
    const char *label;       /* "label": column of the mean of the models' scores; takes the place of one of that name */
    int each;                /* 1: and a column for each model, "score:SOURCE" */
    const char *name;        /* of the output, as above */
    aoe_write_fn write;      /* takes it: all columns of the rows with a score, in their order */
    void *user;
} aoe_score_options;

typedef struct aoe_score_result {
    aoe_chat_result chat;
    size_t rows;    /* read */
    size_t scored;  /* written */
    size_t skipped; /* bad rows */
    double mean;    /* of the scores; NaN without any */
} aoe_score_result;

AOE_API void aoe_score_options_defaults(aoe_score_options *o);
/* Has chat models rate the similarity of pairs from 0 to 5. Otherwise as aoe_annotate. */
AOE_API int aoe_score(const aoe_score_options *AOE_NULLABLE o, aoe_score_result *AOE_NULLABLE result,
                      aoe_error *AOE_NULLABLE err);

#ifdef __cplusplus
}
#endif

#endif
