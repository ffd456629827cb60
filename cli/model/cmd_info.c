/* SPDX-License-Identifier: MIT
 * Implements `aoe info`: prints the architecture and the settings of a model directory. For some settings, it also
 * names the file that contains them. With --plan, it prints the memory plan of a model directory or of a predefined
 * shape, which is the number of bytes that inference and training need.
 */
#include "aoe_convert.h"
#include "aoe_plan.h"
#include "aoe_train.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"
#include "cli/model/explain.h"
#include "cli/train/train_options.h"
#include "options/training.h"

#include <stdlib.h>
#include <string.h>

typedef struct options {
    cli_general general;
    cli_model_options model;
    int plan;          /* 1: the memory plan is printed */
    size_t texts;      /* number of texts per batch in the memory plan; 0: not given */
    size_t length;     /* number of tokens per text in the memory plan; 0: the maximum sequence length of the model */
    const char *shape; /* name of a predefined shape; NULL: a model directory is used */
    int explain;       /* 1: all settings are printed with their sources */
    int stored;        /* storage type of the weights, an aoe_storage; -1: not given */
    size_t ranks;      /* number of processes that train together; 0: not given */
    double network;    /* speed of the network in bits per second; 0: not given */
    double rate;       /* tokens per second that one process trains; 0: measured */
    aoe_plan_options p;
    int pretrains;           /* 1: the memory plan is for aoe pretrain */
    aoe_train_options train; /* options of the training run of the memory plan; with `pretrains`, only the rows that aoe
                                pretrain also has */
    aoe_pretrain_options pretrain;
    size_t classes;         /* result: number of outputs of a cross-encoder; 0: not a cross-encoder */
    const char *activation; /* result: activation function of a cross-encoder; static string */
    int no_embeddings;      /* result: 1: the directory can only be opened as a cross-encoder */
} options;

static const aoei_option explain_table[] = {
    {.name = "explain",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, explain),
     .help = "also print every setting that affects the results, with the file and the key that contain its value"},
};

/* Parses the speed of a network, such as 10Gb, in bits per second. */
static int parse_network(void *target, const char *text, aoe_error *err) {
    double *bits = target;
    char *end;
    const double number = strtod(text, &end);
    const double unit = strcmp(end, "Gb") == 0 ? 1e9 : strcmp(end, "Mb") == 0 ? 1e6 : 0;
    if (strspn(text, "0123456789.") == (size_t)(end - text) && unit > 0 && number >= 0.001 && number <= 1e6) {
        *bits = number * unit;
        return AOE_OK;
    }
    const int is_bytes = strcmp(end, "GB") == 0 || strcmp(end, "MB") == 0;
    snprintf(err->message, sizeof err->message,
             "'%.40s' is not the speed of a network; %sgive gigabits per second with the unit Gb, such as 1Gb, 10Gb or "
             "100Gb",
             text, is_bytes ? "networks are measured in bits (b), not in bytes (B): " : "");
    err->code = AOE_EARG;
    return AOE_EARG;
}

static const aoei_option table[] = {
    {.name = "plan",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, plan),
     .help = "also print the memory that inference and training need for a batch of --texts texts with --length tokens "
             "each"},
    {.name = "texts",
     .kind = AOEI_OPTION_SIZE,
     .offset = offsetof(options, texts),
     .min = 1,
     .max = 1e9,
     .help = "with --plan or --shape: number of texts in the batch; a training pair counts as two texts, a pair of a "
             "cross-encoder as one text",
     .fallback = "the texts of a training batch of --method, 64 for angle"},
    {.name = "length",
     .kind = AOEI_OPTION_SIZE,
     .offset = offsetof(options, length),
     .min = 1,
     .max = 1e9,
     .help = "with --plan or --shape: number of tokens per text",
     .fallback = "the maximum sequence length of the model"},
    {.name = "shape",
     .kind = AOEI_OPTION_TEXT,
     .value = "NAME",
     .offset = offsetof(options, shape),
     .help =
         "print only the memory that a model with these predefined sizes needs; no model directory is read. aoe init "
         "--help lists the shapes",
     .fallback = "none"},
    AOEI_ROW_STORAGE("stored", .offset = offsetof(options, stored),
                     "with --shape: assumed data type of the weights in the model file: f32, bf16 or int8", "bf16"),
    {.name = "method",
     .kind = AOEI_OPTION_NAMED,
     .value = "NAME",
     .offset = offsetof(options, train.method),
     .parse = aoei_parse_method,
     .choice = aoei_method_choice,
     .help =
         "with --plan or --shape: assume this training method (aoe train --help): the layers and the encoders that it "
         "adds or removes, but not the generator of diffcse",
     .fallback = "angle"},
    {.name = "pretrain",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, pretrains),
     .help = "with --plan or --shape: assume aoe pretrain with sequences of --length tokens, of which --batch-tokens "
             "tokens are processed at a time (default of --batch-size: 256 sequences)"},
    {.name = "ranks",
     .kind = AOEI_OPTION_SIZE,
     .offset = offsetof(options, ranks),
     .min = 1,
     .max = AOE_MAX_SHARDS,
     .help = "with --plan or --shape: assume a run of N processes (aoe train --distributed mpi), each on a node of its "
             "own; prints the memory of the process that needs most, and the bytes that a process sends in a step. "
             "Without --shards, assumes the smallest possible number of shards",
     .fallback = "one process"},
    {.name = "network",
     .kind = AOEI_OPTION_NAMED,
     .value = "SPEED",
     .offset = offsetof(options, network),
     .parse = parse_network,
     .requires = "ranks",
     .help =
         "with --ranks: speed of the network of a node in bits per second, for example 1Gb, 10Gb or 100Gb, of which "
         "94% are usable; prints the times of a step and the efficiency",
     .fallback = "none"},
    {.name = "rate",
     .kind = AOEI_OPTION_REAL,
     .offset = offsetof(options, rate),
     .min = AOEI_ABOVE_0,
     .max = 1e12,
     .requires = "network",
     .help = "with --network: tokens per second that one process trains alone on a node, as aoe train prints them",
     .fallback = "an estimate from the matmuls of the model, measured on this computer, which is too high because the "
                 "other operations are missing"},
    AOEI_ROW_LORA_R("with --plan or --shape: assume training of new LoRA adapters of rank N",
                    "training of the adapters in the model directory, or of all weights if it has no adapters",
                    .offset = offsetof(options, train.lora.r)),
};

static void pair(cli_table *t, const char *key, const char *value) {
    cli_table_cell(t, "%s", key);
    cli_table_cell(t, "%s", value);
}

static void pair_size(cli_table *t, const char *key, size_t value) {
    cli_table_cell(t, "%s", key);
    cli_table_cell(t, "%zu", value);
}

static void pair_from(cli_table *t, const char *key, const char *value, const char *from) {
    cli_table_cell(t, "%s", key);
    cli_table_cell(t, "%s (%s)", value, from);
}

static void pair_bytes(cli_table *t, const char *key, size_t bytes) {
    cli_table_cell(t, "%s", key);
    cli_table_cell(t, "%.1f MiB", (double)bytes / (1 << 20));
}

/* The rows of the memory plan. Each row has a name for the table, a key for JSON, and the offset in aoe_memory_plan of
 * the number of bytes. */
static const struct {
    const char *name, *key;
    size_t offset;
} parts[] = {
    {"  weights (memory-mapped)", "weights", offsetof(aoe_memory_plan, weights)},
    {"  packed weights", "packed", offsetof(aoe_memory_plan, packed)},
    {"  activations", "activations", offsetof(aoe_memory_plan, activations)},
    {"  frozen weights", "frozen", offsetof(aoe_memory_plan, frozen)},
    {"  parameters, f32", "parameters", offsetof(aoe_memory_plan, parameters)},
    {"  gradients, f32", "gradients", offsetof(aoe_memory_plan, gradients)},
    {"  optimizer moments, f32", "moments", offsetof(aoe_memory_plan, moments)},
    {"  packed weights", "training_packed", offsetof(aoe_memory_plan, training_packed)},
    {"  stored activations", "kept", offsetof(aoe_memory_plan, kept)},
    {"    with --recompute", "kept_recompute", offsetof(aoe_memory_plan, kept_recompute)},
    {"  workspace of a layer", "working", offsetof(aoe_memory_plan, working)},
    {"  losses", "objectives", offsetof(aoe_memory_plan, objectives)},
    {"  exchange of ranks", "exchange", offsetof(aoe_memory_plan, exchange)},
    {"  total", "training", offsetof(aoe_memory_plan, training)},
    {"    with --recompute", "training_recompute", offsetof(aoe_memory_plan, training_recompute)},
    {"    added by --dev", "evaluation", offsetof(aoe_memory_plan, evaluation)},
};
enum { N_PARTS = sizeof parts / sizeof *parts, FIRST_TRAINING_PART = 3 };

/* A phase of a step of several processes. */
typedef struct phase {
    const char *name, *key;
    uint64_t sent;  /* largest number of bytes that a process sends */
    double seconds; /* 0: unknown */
} phase;
enum { PHASES = 5 };

/* The plan of a step of several processes. */
typedef struct step_plan {
    phase phase[PHASES];
    double rate;                          /* tokens per second of a process */
    double computation, step, efficiency; /* seconds, seconds and a fraction; 0: unknown */
} step_plan;

#define USABLE 0.94 /* part of the speed of a network that the contents of messages can use */

/* Returns the number of tokens of a step. */
static size_t step_tokens(const options *o) {
    return o->p.batch_texts * o->p.length * (o->pretrains ? 1 : o->train.accumulate);
}

/* Plans a step. The phases follow one after the other, and each ends when the slowest process has ended it. plan: the
 * largest values of all processes. */
static void plan_step(step_plan *s, const aoe_memory_plan *plan, const options *o) {
    *s = (step_plan){.phase = {{.name = "vectors", .key = "vectors", .sent = plan->sent_vectors},
                               {.name = "gradients", .key = "gradients", .sent = plan->sent_gradients},
                               {.name = "weights", .key = "weights", .sent = plan->sent_weights},
                               {.name = "norm of the gradient", .key = "norm", .sent = plan->sent_norm},
                               {.name = "agreement", .key = "agreement", .sent = plan->sent_agreement}},
                     .rate = o->rate > 0 ? o->rate : plan->tokens_per_second};
    if (!(o->network > 0))
        return;
    double exchange = 0;
    for (size_t i = 0; i < PHASES; i++) {
        s->phase[i].seconds = (double)s->phase[i].sent / (USABLE * o->network / 8);
        exchange += s->phase[i].seconds;
    }
    if (!(s->rate > 0))
        return;
    /* A process with several shards encodes all of them before the loss, and all but one again before their backward
     * pass; a forward pass is a third of the computation. With --cache-chunk, the rate includes this. Pretraining
     * encodes every sequence once. */
    const size_t shards = o->train.args.shards, most = (shards + o->ranks - 1) / o->ranks;
    const double again = o->train.cache_chunk || o->pretrains ? 0 : (double)(most - 1) / (3 * (double)most);
    const double tokens = (double)(step_tokens(o));
    s->computation = tokens / s->rate * (double)most / (double)shards * (1 + again);
    s->step = s->computation + exchange;
    s->efficiency = tokens / s->rate / ((double)o->ranks * s->step);
}

static void step_rows(cli_table *t, const aoe_memory_plan *plan, const options *o) {
    step_plan s;
    plan_step(&s, plan, o);
    cli_table_cell(t, " step of %zu rank%s", o->ranks, cli_plural(o->ranks));
    cli_table_cell(t, "%zu shard%s, %zu tokens, bytes sent by a rank", o->train.args.shards,
                   cli_plural(o->train.args.shards), step_tokens(o));
    if (s.computation > 0) {
        cli_table_cell(t, "  computation");
        cli_table_cell(t, "%.4f s at %.0f tokens/s (%s)", s.computation, s.rate,
                       o->rate > 0 ? "--rate" : "estimated from matmuls on this computer");
    }
    for (size_t i = 0; i < PHASES; i++) {
        cli_table_cell(t, "  %s", s.phase[i].name);
        if (o->network > 0)
            cli_table_cell(t, "%.6f MB in %.4f s", (double)s.phase[i].sent / 1e6, s.phase[i].seconds);
        else
            cli_table_cell(t, "%.6f MB", (double)s.phase[i].sent / 1e6);
    }
    cli_table_cell(t, "  weights, compared");
    cli_table_cell(t, "%.6f MB after every 100 steps", (double)plan->sent_check / 1e6);
    if (s.efficiency > 0) {
        cli_table_cell(t, "  whole step");
        cli_table_cell(t, "%.4f s", s.step);
        cli_table_cell(t, "  efficiency");
        cli_table_cell(t, "%.2f", s.efficiency);
    } else if (o->network > 0) {
        pair(t, "  efficiency", "unknown: the model has no linear layers to measure; give --rate");
    }
}

/* Returns the number of rows in the plan. int8 is only for inference, so a plan for int8 has no rows for training. */
static size_t part_count(const aoe_memory_plan *plan) {
    return plan->dtype == AOE_DTYPE_INT8 ? FIRST_TRAINING_PART : N_PARTS;
}

static size_t part_bytes(const aoe_memory_plan *plan, size_t i) {
    size_t bytes;
    memcpy(&bytes, (const char *)plan + parts[i].offset, sizeof bytes);
    return bytes;
}

/* Returns 1 if a row is printed: frozen weights only if there are any, and the exchange only with --ranks. */
static int shows_part(const aoe_memory_plan *plan, const options *o, size_t i) {
    return parts[i].offset == offsetof(aoe_memory_plan, frozen)     ? plan->frozen > 0
           : parts[i].offset == offsetof(aoe_memory_plan, exchange) ? o->ranks > 0
                                                                    : 1;
}

/* Adds the rows of the memory plan to the table. adapters: 1: training changes only adapters. */
static void plan_rows(cli_table *t, const aoe_memory_plan *plan, const options *o, int adapters) {
    const int joined = o->train.method == AOE_METHOD_CROSS_ENCODER;
    cli_table_cell(t, "memory for");
    cli_table_cell(t, "%zu %s%s of %zu token%s", o->p.n_texts, joined ? "joined pair" : "text",
                   cli_plural(o->p.n_texts), o->p.length, cli_plural(o->p.length));
    cli_table_cell(t, "  computation");
    cli_table_cell(t, "%s", aoei_dtype_names[plan->dtype]);
    pair(t, " inference", "");
    for (size_t i = 0; i < part_count(plan); i++) {
        if (i == FIRST_TRAINING_PART)
            pair(t, " training",
                 !plan->frozen             ? ""
                 : !adapters               ? "word embeddings are not trained"
                 : o->train.lora.load_8bit ? "LoRA adapters, other weights as int8"
                                           : "LoRA adapters");
        if (shows_part(plan, o, i))
            pair_bytes(t, parts[i].name, part_bytes(plan, i));
    }
    if (o->ranks)
        step_rows(t, plan, o);
}

static void print_table(const char *dir, const aoe_model *model, const aoe_model_info *m, const aoe_memory_plan *plan,
                        const options *o) {
    cli_table t;
    char text[64];
    cli_table_begin(&t, "ll");
    pair(&t, "directory", dir);
    pair(&t, "architecture", m->architecture);
    pair_size(&t, "parameters", m->parameters);
    pair_size(&t, "layers", m->layers);
    pair_size(&t, "hidden size", m->hidden);
    pair_size(&t, "heads", m->heads);
    if (m->kv_heads != m->heads)
        pair_size(&t, "key-value heads", m->kv_heads);
    if (m->window) {
        pair_size(&t, "head size", m->head_size);
        pair_size(&t, "window", m->window);
        pair_size(&t, "minimum last window", m->min_window);
        pair_size(&t, "vocabulary", m->vocab);
    } else {
        pair_size(&t, "intermediate size", m->intermediate);
        pair_size(&t, "vocabulary", m->vocab);
        pair_size(&t, "positions", m->positions);
        pair_size(&t, "token types", m->token_types);
    }
    if (m->causal && m->bidirectional_from < m->layers) {
        cli_table_cell(&t, "attention");
        cli_table_cell(&t, "causal, bidirectional in layers %zu and above", m->bidirectional_from);
    } else if (m->causal) {
        pair(&t, "attention", "causal");
    }
    cli_table_cell(&t, "dropout");
    cli_table_cell(&t, "%g", m->dropout);
    if (m->lora_r) {
        pair(&t, "base model", m->base);
        cli_table_cell(&t, "adapters");
        cli_table_cell(&t, "rank %zu, alpha %g, dropout %g: %s", m->lora_r, m->lora_alpha, m->lora_dropout,
                       m->lora_targets);
    }
    pair(&t, "stored as", m->storage);
    pair(&t, "computed in", m->computed);
    pair(&t, "CPU tier", m->tier);
    pair(&t, "tokenizer", m->tokenizer ? m->tokenizer : "none");
    if (m->chat_template)
        pair(&t, "texts", "rendered with the chat template");
    if (o->classes) {
        cli_table_cell(&t, "cross-encoder");
        cli_table_cell(&t, "%zu output%s, scores: %s", o->classes, cli_plural(o->classes), o->activation);
    }
    if (!o->no_embeddings) {
        pair_size(&t, "embedding size", m->dims);
        if (m->modules)
            pair(&t, "modules", m->modules);
        pair_from(&t, "pooling", aoe_pooling_name(m->pooling), m->pooling_from);
    }
    snprintf(text, sizeof text, "%zu", m->max_length);
    pair_from(&t, "max length", text, m->max_length_from);
    pair(&t, "prompt", m->prompt[0] ? m->prompt : "none");
    for (size_t i = 0; aoe_model_prompt_name(model, i); i++) {
        const char *name = aoe_model_prompt_name(model, i);
        snprintf(text, sizeof text, "prompt %.48s", name);
        if (strcmp(name, "default") != 0) /* the row above is this prompt */
            pair(&t, text, aoe_model_prompt(model, name));
    }
    if (!o->no_embeddings)
        pair(&t, "normalize", m->normalize ? "yes" : "no");
    if (plan)
        plan_rows(&t, plan, o, o->train.lora.r || m->lora_r);
    cli_table_print(&t);
}

static void set_size(json_t *o, const char *key, size_t value) {
    json_object_set_new(o, key, json_integer((json_int_t)value));
}

static void set_text(json_t *o, const char *key, const char *value) {
    json_object_set_new(o, key, value ? cli_json_text(value, strlen(value)) : json_null());
}

static json_t *known(double x) {
    return x > 0 ? json_real(x) : json_null();
}

static json_t *step_json(const aoe_memory_plan *plan, const options *o) {
    step_plan s;
    json_t *j = json_object(), *sent = json_object(), *seconds = json_object();
    plan_step(&s, plan, o);
    set_size(j, "ranks", o->ranks);
    set_size(j, "shards", o->train.args.shards);
    set_size(j, "tokens", step_tokens(o));
    for (size_t i = 0; i < PHASES; i++) {
        set_size(sent, s.phase[i].key, s.phase[i].sent);
        json_object_set_new(seconds, s.phase[i].key, json_real(s.phase[i].seconds));
    }
    json_object_set_new(j, "sent", sent);
    set_size(j, "sent_every_100_steps", plan->sent_check);
    if (!(o->network > 0)) {
        json_decref(seconds);
        return j;
    }
    json_object_set_new(j, "bits_per_second", json_real(o->network));
    json_object_set_new(j, "tokens_per_second", known(s.rate));
    json_object_set_new(j, "rate_from", json_string(o->rate > 0 ? "option" : "matmuls"));
    json_object_set_new(seconds, "computation", known(s.computation));
    json_object_set_new(seconds, "step", known(s.step));
    json_object_set_new(j, "seconds", seconds);
    json_object_set_new(j, "efficiency", known(s.efficiency));
    return j;
}

static json_t *plan_json(const aoe_memory_plan *plan, const options *o) {
    json_t *p = json_object();
    set_size(p, "texts", o->p.n_texts);
    set_size(p, "length", o->p.length);
    set_text(p, "dtype", aoei_dtype_names[plan->dtype]);
    if (o->train.lora.r)
        set_size(p, "lora_r", o->train.lora.r);
    for (size_t i = 0; i < part_count(plan); i++)
        if (o->ranks || parts[i].offset != offsetof(aoe_memory_plan, exchange))
            set_size(p, parts[i].key, part_bytes(plan, i));
    if (o->ranks)
        json_object_set_new(p, "step", step_json(plan, o));
    return p;
}

static void print_json(const char *dir, const aoe_model *model, const aoe_model_info *m, const aoe_memory_plan *plan,
                       json_t *settings, const options *o) {
    json_t *j = json_object();
    set_text(j, "directory", dir);
    set_text(j, "architecture", m->architecture);
    set_size(j, "parameters", m->parameters);
    set_size(j, "layers", m->layers);
    set_size(j, "hidden", m->hidden);
    set_size(j, "heads", m->heads);
    set_size(j, "kv_heads", m->kv_heads);
    set_size(j, "intermediate", m->intermediate);
    set_size(j, "vocab", m->vocab);
    set_size(j, "positions", m->positions);
    set_size(j, "token_types", m->token_types);
    if (m->window) {
        set_size(j, "head_size", m->head_size);
        set_size(j, "window", m->window);
        set_size(j, "min_window", m->min_window);
    }
    json_object_set_new(j, "causal", json_boolean(m->causal));
    json_object_set_new(j, "bidirectional_from",
                        m->causal && m->bidirectional_from == m->layers
                            ? json_null()
                            : json_integer((json_int_t)m->bidirectional_from));
    json_object_set_new(j, "dropout", cli_json_real(m->dropout));
    if (m->lora_r) {
        set_text(j, "base", m->base);
        set_size(j, "lora_r", m->lora_r);
        json_object_set_new(j, "lora_alpha", cli_json_real(m->lora_alpha));
        json_object_set_new(j, "lora_dropout", cli_json_real(m->lora_dropout));
        set_text(j, "lora_targets", m->lora_targets);
    }
    set_text(j, "storage", m->storage);
    set_text(j, "dtype", aoei_dtype_names[m->dtype]);
    set_text(j, "tier", m->tier);
    set_text(j, "tokenizer", m->tokenizer);
    json_object_set_new(j, "chat_template", json_boolean(m->chat_template));
    if (o->classes) {
        set_size(j, "outputs", o->classes);
        set_text(j, "activation", o->activation);
    }
    if (!o->no_embeddings) {
        set_size(j, "dims", m->dims);
        if (m->modules)
            set_text(j, "modules", m->modules);
        set_text(j, "pooling", aoe_pooling_name(m->pooling));
        set_text(j, "pooling_from", m->pooling_from);
    }
    set_size(j, "max_length", m->max_length);
    set_text(j, "max_length_from", m->max_length_from);
    set_text(j, "prompt", m->prompt);
    if (aoe_model_prompt_name(model, 0)) {
        json_t *prompts = json_object();
        for (size_t i = 0; aoe_model_prompt_name(model, i); i++)
            set_text(prompts, aoe_model_prompt_name(model, i),
                     aoe_model_prompt(model, aoe_model_prompt_name(model, i)));
        json_object_set_new(j, "prompts", prompts);
    }
    if (!o->no_embeddings)
        json_object_set_new(j, "normalize", json_boolean(m->normalize));
    if (plan)
        json_object_set_new(j, "plan", plan_json(plan, o));
    if (settings)
        json_object_set_new(j, "settings", settings);
    cli_print_json(j);
}

/* Opens a cross-encoder with its classification head, and sets the number of its outputs and its activation function.
 * Returns the model, or NULL after a warning. */
static aoe_model *open_head(options *o, const char *dir, aoe_context *ctx) {
    aoe_model_options with_head;
    aoe_model *model;
    aoe_error err;
    aoe_model_options_defaults(&with_head);
    with_head.base = o->model.o.base;
    with_head.cross_encoder = 1;
    if (aoe_model_open(&model, ctx, dir, &with_head, &err)) {
        cli_warn("%s", err.message);
        return NULL;
    }
    o->classes = aoe_model_classes(model);
    o->activation = aoe_score_activation_name(aoe_model_activation(model));
    return model;
}

/* Sets the options of a pretraining run. The texts of an inference batch then have as many tokens as a micro-batch. */
static void set_pretrain_options(options *o, const char *model) {
    aoe_training_args *args = &o->pretrain.args;
    args->model = model;
    args->optimizer = o->train.args.optimizer;
    args->shards = o->train.args.shards;
    args->batch_tokens = o->model.embedder.batch_tokens;
    o->p.pretrain = &o->pretrain;
    o->p.n_texts = args->batch_tokens > o->p.length ? args->batch_tokens / o->p.length : 1;
    o->p.batch_texts = o->pretrain.batch_size;
}

/* Sets the model or shape of the training run. Unless it is given, the number of texts is set to the batch size of the
 * run. */
static void set_train_options(options *o, const char *model) {
    if (o->pretrains) {
        set_pretrain_options(o, model);
        return;
    }
    o->train.args.model = model;
    o->p.train = &o->train;
    o->p.n_texts = o->texts ? o->texts : aoe_train_batch_texts(&o->train, 2);
    const size_t chunk = o->train.cache_chunk;
    o->train.cache_chunk = 0;
    o->p.batch_texts = o->texts ? o->texts : aoe_train_batch_texts(&o->train, 2);
    o->train.cache_chunk = chunk;
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

/* Sets *plan to the memory plan of a model, or of a shape if `shape` is not NULL. With --ranks, it is that of the rank
 * that needs most memory, with the largest numbers of bytes that a rank sends. */
static int plan_ranks(aoe_memory_plan *plan, options *o, const aoe_model *model, const aoe_shape *shape,
                      aoe_context *ctx, aoe_error *err) {
    aoe_memory_plan all = {.struct_size = sizeof all};
    o->p.ranks = o->ranks;
    for (o->p.rank = 0; o->p.rank < (o->ranks ? o->ranks : 1); o->p.rank++) {
        aoe_memory_plan own = {.struct_size = sizeof own};
        o->p.measure_speed = o->network > 0 && !(o->rate > 0) && !o->p.rank;
        const int code = shape ? aoe_shape_plan(ctx, shape, &o->p, &own, err) : aoe_model_plan(model, &o->p, &own, err);
        if (code)
            return code;
        const aoe_memory_plan most = all;
        if (!o->p.rank || own.training > all.training)
            all = own;
        all.sent_vectors = larger(own.sent_vectors, most.sent_vectors);
        all.sent_gradients = larger(own.sent_gradients, most.sent_gradients);
        all.sent_norm = larger(own.sent_norm, most.sent_norm);
        all.sent_weights = larger(own.sent_weights, most.sent_weights);
        all.sent_agreement = larger(own.sent_agreement, most.sent_agreement);
        all.sent_check = larger(own.sent_check, most.sent_check);
        all.tokens_per_second = o->p.rank ? most.tokens_per_second : own.tokens_per_second;
    }
    *plan = all;
    return 0;
}

/* Computes the memory plan. If the method sets the prompt, the pooling or the maximum sequence length, its values are
 * used unless other ones are given. */
static int plan_memory(aoe_memory_plan *plan, options *o, const aoe_model *model, const char *dir, aoe_context *ctx,
                       aoe_error *err) {
    const aoe_model_options *method = &o->train.args.model_options;
    aoe_model_options with_defaults = o->model.o;
    aoe_model *opened;
    set_train_options(o, dir);
    if (o->pretrains)
        return plan_ranks(plan, o, model, NULL, ctx, err);
    if (method->prompt && !o->model.o.prompt && !o->model.o.prompt_name)
        with_defaults.prompt = method->prompt;
    if (o->model.o.pooling == AOE_POOLING_AUTO)
        with_defaults.pooling = method->pooling;
    if (o->model.o.max_length == AOE_AUTO && method->max_length != AOE_AUTO) {
        with_defaults.max_length = method->max_length;
        if (!o->length && method->max_length < o->p.length)
            o->p.length = method->max_length;
    }
    if (with_defaults.prompt == o->model.o.prompt && with_defaults.pooling == o->model.o.pooling &&
        with_defaults.max_length == o->model.o.max_length)
        return plan_ranks(plan, o, model, NULL, ctx, err);
    int code = aoe_model_open(&opened, ctx, dir, &with_defaults, err);
    if (code)
        return code;
    code = plan_ranks(plan, o, opened, NULL, ctx, err);
    aoe_model_close(opened);
    return code;
}

static int run_info(options *o, const char *dir, aoe_context *ctx) {
    aoe_model *model, *head = NULL;
    aoe_model_info info = {.struct_size = sizeof info};
    aoe_memory_plan plan = {.struct_size = sizeof plan};
    aoe_error err;
    json_t *settings = NULL;
    if (aoe_model_open(&model, ctx, dir, &o->model.o, &err)) {
        o->model.o.cross_encoder = 1; /* the modules.json of a cross-encoder describes no embedding */
        o->no_embeddings = 1;
        if (aoe_model_open(&model, ctx, dir, &o->model.o, NULL))
            return cli_fail("%s", err.message);
    }
    aoe_model_get_info(model, &info);
    o->p.length = o->length ? o->length : info.max_length;
    int code = 0;
    if (aoe_model_is_cross_encoder(model))
        head = open_head(o, dir, ctx);
    const aoe_model *planned = head && o->train.method == AOE_METHOD_CROSS_ENCODER ? head : model;
    if (o->plan && plan_memory(&plan, o, planned, dir, ctx, &err))
        code = cli_fail("%s", err.message);
    else if (o->general.json && o->explain && !(settings = cli_explain_json(head ? head : model)))
        code = 1;
    else if (o->general.json)
        print_json(dir, model, &info, o->plan ? &plan : NULL, settings, o);
    else
        print_table(dir, model, &info, o->plan ? &plan : NULL, o);
    if (!code && o->explain && !o->general.json) {
        putchar('\n');
        code = cli_explain_print(head ? head : model, dir);
    }
    aoe_model_close(head);
    aoe_model_close(model);
    return code;
}

static int run_shape(options *o, aoe_context *ctx) {
    aoe_shape shape = {.struct_size = sizeof shape};
    aoe_memory_plan plan = {.struct_size = sizeof plan};
    aoe_error err;
    cli_table t;
    if (aoe_shape_named(&shape, o->shape, &err))
        return cli_usage("info", "--shape: %s", err.message);
    o->p.length = o->length ? o->length : shape.positions;
    o->p.dtype = o->model.o.dtype;
    set_train_options(o, o->shape);
    o->p.storage = o->stored < 0 ? o->p.storage : (aoe_storage)o->stored;
    if (plan_ranks(&plan, o, NULL, &shape, ctx, &err))
        return cli_fail("%s", err.message);
    if (o->general.json) {
        json_t *j = json_object();
        set_text(j, "shape", o->shape);
        json_object_set_new(j, "plan", plan_json(&plan, o));
        cli_print_json(j);
        return 0;
    }
    cli_table_begin(&t, "ll");
    pair(&t, "shape", o->shape);
    plan_rows(&t, &plan, o, o->train.lora.r > 0);
    cli_table_print(&t);
    return 0;
}

/* The rows of the training options on which the memory estimate depends, with offsets in aoe_train_options. */
typedef struct memory_rows {
    aoei_option row[24];
    size_t n;
} memory_rows;

/* Collects the rows, except those that the command lists otherwise: the method, the adapters, and --recompute, because
 * the estimate contains both cases. */
static void collect_rows(memory_rows *rows) {
    rows->n = 0;
    for (size_t g = 0; g < AOEI_GROUP_LORA; g++) {
        const aoei_option_group *group = &aoei_train_groups[g];
        for (size_t i = 0; i < group->n; i++) {
            const aoei_option *o = &group->options[i];
            if (!o->memory || strcmp(o->name, "method") == 0 || strcmp(o->name, "recompute") == 0 ||
                rows->n == sizeof rows->row / sizeof *rows->row)
                continue;
            aoei_option *row = &rows->row[rows->n++];
            *row = *o;
            row->offset += group->offset;
        }
    }
}

/* Rejects options that aoe pretrain does not have. */
static int check_pretraining(const options *o, const memory_rows *rows, const cli_args *args) {
    static const char *const of_training[] = {"method", "texts", "lora-r", "load-8bit"};
    const char *other = cli_first_given(args, of_training, sizeof of_training / sizeof *of_training);
    for (size_t i = 0; i < rows->n && !other; i++) {
        const char *name = rows->row[i].name;
        if (name && cli_given(args, name) && strcmp(name, "shards") != 0 && strcmp(name, "optimizer") != 0 &&
            strcmp(name, "batch-size") != 0)
            other = name;
    }
    if (!o->pretrains || !other)
        return CLI_GO;
    return cli_usage("info", "--pretrain and --%s exclude each other; give only one of them", other);
}

/* Rejects training options that have no effect on what the command prints. */
static int check_training(const options *o, const memory_rows *rows, const cli_args *args) {
    static const char *const of_batch[] = {"batch-size", "cache-chunk"};
    static const char *const of_plan[] = {"method", "lora-r", "load-8bit"};
    static const char *const of_training[] = {"lora-r", "load-8bit"};
    static const char *const of_new_adapters[] = {"lora-alpha", "lora-dropout", "lora-targets"};
    const char *batch = cli_first_given(args, of_batch, 2), *any = cli_first_given(args, of_plan, 3);
    const char *training = cli_first_given(args, of_training, 2);
    for (size_t i = 0; i < rows->n; i++) {
        const char *name = rows->row[i].name;
        if (!cli_given(args, name))
            continue;
        any = any ? any : name;
        if (!training && strcmp(name, of_batch[0]) != 0 && strcmp(name, of_batch[1]) != 0)
            training = name;
    }
    if (o->ranks && !o->plan && !o->shape)
        return cli_usage("info", "--ranks requires --plan");
    if (o->ranks && o->model.o.dtype == AOE_DTYPE_INT8)
        return cli_usage("info", "--ranks has no effect with --dtype int8, which is only for inference; use f32, bf16 "
                                 "or auto");
    if (o->pretrains && !o->plan && !o->shape)
        return cli_usage("info", "--pretrain requires --plan");
    if (o->pretrains && o->model.o.dtype == AOE_DTYPE_INT8)
        return cli_usage("info", "--pretrain has no effect with --dtype int8, which is only for inference; use f32, "
                                 "bf16 or auto");
    if (any && !o->plan && !o->shape)
        return cli_usage("info", "--%s requires --plan", any);
    const int code = check_pretraining(o, rows, args);
    if (code != CLI_GO)
        return code;
    if (batch && o->texts)
        return cli_usage("info", "--texts and --%s exclude each other; give only one of them", batch);
    /* --method and the options of the batch also change the memory of inference */
    if (training && o->model.o.dtype == AOE_DTYPE_INT8)
        return cli_usage("info",
                         "--%s has no effect with --dtype int8, which is only for inference; use f32, bf16 or auto",
                         training);
    const char *alone = o->train.lora.r ? NULL : cli_first_given(args, of_new_adapters, 3);
    if (alone)
        return cli_usage("info", "--%s applies to new adapters; also give their rank with --lora-r N", alone);
    return cli_check_used("info", args, o->train.method);
}

static int check_options(const options *o, const memory_rows *rows, const cli_args *args) {
    if (o->shape && args->n)
        return cli_usage("info", "--shape and directory %s exclude each other; give only one of them",
                         args->operand[0]);
    if (o->shape && o->explain)
        return cli_usage("info", "--shape and --explain exclude each other; give only one of them");
    if (o->stored >= 0 && !o->shape)
        return cli_usage("info", "--stored requires --shape NAME");
    if (!o->plan && !o->shape && (o->length || o->texts))
        return cli_usage("info", "--texts and --length require --plan");
    return check_training(o, rows, args);
}

/* Parses the arguments with the defaults of the method. If a response file names another method than the command line,
 * the arguments are parsed again. */
static int parse_arguments(options *o, cli_args *args, const cli_syntax *syntax, int argc, char **argv) {
    const aoe_method named = cli_named_method(argc, argv);
    aoe_method method = named == AOE_METHOD_COUNT ? AOE_METHOD_ANGLE : named;
    for (;;) {
        *o = (options){.stored = -1};
        cli_general_defaults(&o->general);
        cli_model_defaults(&o->model);
        aoe_plan_options_defaults(&o->p);
        aoe_train_options_defaults(&o->train);
        aoe_pretrain_options_defaults(&o->pretrain);
        aoe_train_method_defaults(&o->train, method);
        const int code = cli_parse(args, syntax, argc, argv);
        if (code != CLI_GO || o->train.method == method)
            return code;
        method = o->train.method;
        cli_args_free(args);
    }
}

static int run_command(int argc, char **argv) {
    options o;
    memory_rows rows;
    const aoei_option_group *lora = &aoei_train_groups[AOEI_GROUP_LORA];
    collect_rows(&rows);
    const cli_group groups[] = {
        CLI_GROUP("settings", explain_table, &o),
        CLI_GROUP("memory estimate", table, &o),
        CLI_ROWS("memory estimate of training (with --plan or --shape)", rows.row, rows.n, &o.train),
        CLI_ROWS("memory estimate of training with LoRA adapters (with --plan or --shape)", lora->options + 1,
                 lora->n - 1, &o.train.lora),
        CLI_MODEL_GROUPS("model", &o.model),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.general),
    };
    const cli_syntax syntax = {
        .command = "info",
        .operands = "[DIR]",
        .about = "Prints the architecture, the sizes and the settings of the model in DIR (default: the model of -m).\n"
                 "For the pooling and the maximum sequence length, also prints which file or option sets them. With\n"
                 "--explain, also prints the source of every other setting, and with --plan the memory that inference\n"
                 "and training need.\n",
        .examples = "  aoe info model --plan --texts 32 --length 128\n"
                    "  aoe info model --plan --method simcse-sup --batch-size 128 --cache-chunk 16 --optimizer sgd\n"
                    "  aoe info model --plan --ranks 8 --network 10Gb --batch-size 512 --length 32\n"
                    "  aoe info model --plan --pretrain --ranks 8 --network 10Gb --length 128\n"
                    "  aoe info --shape llama2-7b --texts 32 --length 64 --lora-r 32 --load-8bit\n",
        CLI_GROUPS(groups),
        .max_operands = 1,
    };
    cli_args args;
    int code = parse_arguments(&o, &args, &syntax, argc, argv);
    if (code == CLI_GO)
        code = check_options(&o, &rows, &args);
    if (code == CLI_GO && o.ranks && !cli_given(&args, "shards"))
        while (o.train.args.shards < o.ranks)
            o.train.args.shards *= 2;
    if (code == CLI_GO && cli_given(&args, "batch-size"))
        o.pretrain.batch_size = o.train.batch_size;
    if (code == CLI_GO) {
        aoe_context *ctx = NULL;
        cli_set_quiet(o.general.quiet);
        char *dir = o.shape ? NULL : cli_find_model(args.n ? args.operand[0] : o.model.dir);
        code = (!dir && !o.shape) || cli_open_context(&ctx, &o.general);
        if (!code)
            code = o.shape ? run_shape(&o, ctx) : run_info(&o, dir, ctx);
        aoe_context_destroy(ctx);
        free(dir);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_info_command = {
    .name = "info",
    .summary = "show the contents of a model directory",
    .run = run_command,
};
