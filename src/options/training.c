/* SPDX-License-Identifier: MIT
 * The option tables of aoe_train_options and its structs.
 */
#include "options/training.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "options/rows.h"
#include "options/view_option.h"

#define AT(field)    AOEI_AT(aoe_train_options, field)
#define ARG(field)   AOEI_AT(aoe_training_args, field)
#define LORA(field)  AOEI_AT(aoe_lora, field)
#define METHOD(name) AOEI_METHOD_BIT(AOE_METHOD_##name)

/* Sets of methods that use the same options. */
#define CLASSIFIERS METHOD(SBERT_CLASSIFICATION) | METHOD(INFERSENT) | METHOD(DAN) | METHOD(CONSERT_SUP)
#define CONTRASTIVE_METHODS                                                                                            \
    METHOD(ANGLE) | METHOD(SIMCSE_UNSUP) | METHOD(SIMCSE_SUP) | METHOD(CONTRASTIVE) | METHOD(SYMMETRIC) |              \
        METHOD(GIST) | METHOD(CT_IN_BATCH) | METHOD(DIFFCSE) | METHOD(PROMPTBERT) | METHOD(PROMPTBERT_SUP) |           \
        METHOD(CONSERT) | METHOD(CONSERT_SUP)
#define POSITIVE_METHODS                                                                                               \
    METHOD(ANGLE) | METHOD(SIMCSE_SUP) | METHOD(CONTRASTIVE) | METHOD(SYMMETRIC) | METHOD(GIST) | METHOD(PROMPTBERT_SUP)
#define WITH_TEACHER (~(METHOD(CT) | METHOD(CT_IN_BATCH) | METHOD(DISTILL)))

const char *aoei_method_choice(size_t i) {
    return aoe_method_name((aoe_method)i);
}

int aoei_parse_method(void *target, const char *text, aoe_error *err) {
    return aoe_method_parse(target, text, err);
}

/* Offset of the field n_lr_steps from the field lr_steps. */
enum { N_LR_STEPS = offsetof(aoe_training_args, n_lr_steps) - offsetof(aoe_training_args, lr_steps) };

/* Parses a list of changes of the learning rate, such as "500:8e-6,1000:6e-6". The target is the field lr_steps; the
 * number of changes is in the field n_lr_steps after it. */
static int parse_lr_steps(void *target, const char *text, aoe_error *err) {
    aoe_lr_step *steps = target;
    size_t n = 0;
    for (const char *s = text; s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL) {
        char *end = NULL, *last = NULL;
        const unsigned long step = strtoul(s, &end, 10);
        const double lr = *end == ':' ? strtod(end + 1, &last) : 0;
        if (!(*s >= '0' && *s <= '9') || *end != ':' || last == end + 1 || (*last && *last != ',') ||
            n == AOE_MAX_LR_STEPS)
            return aoei_fail(err, AOE_EARG, "'%s' is not a list of at most %d changes STEP:LR, separated by commas",
                             text, AOE_MAX_LR_STEPS);
        steps[n++] = (aoe_lr_step){.step = step, .lr = lr};
    }
    *(size_t *)(void *)((char *)target + N_LR_STEPS) = n;
    return 0;
}

/* The target is the field lr_steps, as for parse_lr_steps. */
static json_t *lr_steps_json(const void *target) {
    const aoe_lr_step *steps = target;
    const size_t n = *(const size_t *)(const void *)((const char *)target + N_LR_STEPS);
    json_t *list = json_array();
    int bad = !list;
    for (size_t i = 0; i < n; i++)
        bad |= json_array_append_new(list, json_pack("[I,f]", (json_int_t)steps[i].step, steps[i].lr));
    if (!bad)
        return list;
    json_decref(list);
    return NULL;
}

static json_t *direction_number(const void *target) {
    return json_integer(*(const unsigned *)target);
}

static const aoei_option output_options[] = {
    {.name = "output",
     .record = AOEI_RECORD_NEVER,
     .letter = 'o',
     .kind = AOEI_OPTION_TEXT,
     .value = "DIR",
     ARG(output),
     .help = "output directory of the trained model"},
    {.name = "resume",
     .record = AOEI_RECORD_NEVER,
     .kind = AOEI_OPTION_FLAG,
     ARG(resume),
     .excludes = "force",
     .help = "resume from the newest checkpoint in the output directory"},
    AOEI_ROW_FORCE(ARG(force), .record = AOEI_RECORD_NEVER),
    {.name = "network-timeout",
     .record = AOEI_RECORD_NEVER,
     .kind = AOEI_OPTION_REAL,
     .value = "SECONDS",
     .field = "comm_timeout",
     ARG(comm_timeout),
     .most = 1e6,
     .requires = "distributed",
     .help = "end all processes if they exchange nothing for this time, with a message that names those that do not"
             " respond; 0: never"},
};

static const aoei_option batch_options[] = {
    {.name = "batch-size",
     .memory = 1,
     .letter = 'b',
     .kind = AOEI_OPTION_SIZE,
     AT(batch_size),
     .min = 1,
     .least = 2,
     .most = 1e6,
     .help = "number of pairs, triplets or plain texts per batch"},
    {.name = "allow-duplicates",
     .kind = AOEI_OPTION_FLAG,
     AT(allow_duplicates),
     .help = "allow a text to occur twice in a batch of positives or triplets. A text equal to the positive"
             " of a query may then be one of the negatives of this query"},
    {.name = "accumulate",
     .memory = 1,
     .kind = AOEI_OPTION_SIZE,
     AT(accumulate),
     .min = 1,
     .most = 1e6,
     .help = "number of batches whose gradients are accumulated before each optimizer step"},
    {.name = "cache-chunk",
     .memory = 1,
     .kind = AOEI_OPTION_SIZE,
     AT(cache_chunk),
     .least = 1,
     .most = 1e6,
     .help = "gradient caching (GradCache): pass only N pairs, triplets or texts through the model at a time, which "
             "needs less memory and about 1.3 times the computation; the losses still use the whole batch",
     .fallback = "the whole batch"},
};

static const aoei_option schedule_options[] = {
    {.name = "epochs",
     .letter = 'e',
     .kind = AOEI_OPTION_SIZE,
     ARG(epochs),
     .max = INT32_MAX,
     .least = 1,
     .most = 1e6,
     .help = "number of passes over the training data; --max-steps and --max-minutes override this option"},
    {.name = "max-steps",
     .kind = AOEI_OPTION_SIZE,
     ARG(max_steps),
     .max = INT32_MAX,
     .least = 1,
     .help = "train for N optimizer steps instead of --epochs",
     .fallback = "all steps of --epochs"},
    {.name = "max-minutes",
     .kind = AOEI_OPTION_REAL,
     ARG(max_minutes),
     .max = 1e6,
     .least = 0.001,
     .help = "train for X minutes instead of --epochs; the learning rate then depends on the elapsed "
             "time, so two runs do not give bit-identical results",
     .fallback = "no time limit"},
    {.name = "recompute",
     .memory = 1,
     .record = AOEI_RECORD_NEVER,
     .kind = AOEI_OPTION_FLAG,
     ARG(recompute),
     .help =
         "gradient checkpointing: recompute activations in the backward pass, which needs less memory and about 1.3 "
         "times the computation"},
    {.name = "shards",
     .memory = 1,
     .record = AOEI_RECORD_OWN,
     .kind = AOEI_OPTION_SIZE,
     ARG(shards),
     .min = 1,
     .max = AOE_MAX_SHARDS,
     .help = "number of shards of a batch, whose gradients are added in a fixed order: a power of two, at least the "
             "number of processes that will ever train this run together. It changes only the rounding"},
    {.name = "lr", .kind = AOEI_OPTION_REAL, ARG(lr), .most = 1e3, .help = "peak learning rate"},
    {.name = "warmup",
     .kind = AOEI_OPTION_REAL,
     ARG(warmup),
     .max = INT32_MAX,
     .help = "length of the linear warmup: a number of steps, or a fraction of all steps if X is below"
             " 1; after the warmup, the learning rate follows --schedule"},
    {.name = "schedule",
     .kind = AOEI_OPTION_CHOICE,
     ARG(schedule),
     .choices = AOEI_CHOICES("linear", "constant"),
     .noun = "schedule",
     .help = "learning rate after the warmup: linear (decays linearly to 0) or constant"},
    {.name = "lr-steps",
     .kind = AOEI_OPTION_NAMED,
     .value = "STEP:LR,...",
     ARG(lr_steps),
     .parse = parse_lr_steps,
     .json_of = lr_steps_json,
     .help = "constant schedule: the learning rate is LR from step STEP, for example 500:8e-6,1000:6e-6",
     .fallback = "no changes; ct without --lr and --schedule: 500:8e-6,1000:6e-6,1500:4e-6,2000:2e-6"},
    {.name = "lr-epoch-factor",
     .kind = AOEI_OPTION_REAL,
     ARG(lr_epoch_factor),
     .min = AOEI_ABOVE_0,
     .max = 1,
     .least = 1e-9,
     .help = "constant schedule: multiply the learning rate by X at the start of each epoch after the first"},
    {.name = "lr-divide",
     .kind = AOEI_OPTION_REAL,
     ARG(lr_divide),
     .min = 1,
     .most = 1e9,
     .help = "constant schedule: divide the learning rate by X after each evaluation without improvement"},
    {.name = "min-lr",
     .kind = AOEI_OPTION_REAL,
     ARG(min_lr),
     .most = 1e3,
     .help = "stop when --lr-divide has reduced the learning rate below X"},
    {.name = "optimizer",
     .memory = 1,
     .kind = AOEI_OPTION_CHOICE,
     ARG(optimizer),
     .choices = AOEI_CHOICES("adamw", "rmsprop", "sgd"),
     .noun = "optimizer",
     .help = "optimizer: adamw, rmsprop (smoothing constant 0.9) or sgd (without momentum); weight decay is decoupled "
             "for all of them"},
    {.name = "optimizer-eps",
     .kind = AOEI_OPTION_REAL,
     ARG(optimizer_eps),
     .min = AOEI_ABOVE_0,
     .least = 1e-30,
     .most = 1,
     .help = "epsilon of AdamW and RMSprop"},
    {.name = "no-bias-correction",
     .kind = AOEI_OPTION_FLAG,
     ARG(no_bias_correction),
     .help = "AdamW: use the moments without bias correction"},
    {.name = "decay-all",
     .kind = AOEI_OPTION_FLAG,
     ARG(decay_all),
     .help = "apply the weight decay also to biases and normalization weights"},
    {.name = "weight-decay",
     .kind = AOEI_OPTION_REAL,
     ARG(weight_decay),
     .help = "weight decay of all weight matrices; biases and normalization weights have no weight decay without "
             "--decay-all"},
    {.name = "max-grad-norm",
     .kind = AOEI_OPTION_REAL,
     ARG(max_grad_norm),
     .help = "clip gradients to norm X; 0 disables clipping"},
    {.name = "dropout",
     .record = AOEI_RECORD_OWN,
     .kind = AOEI_OPTION_REAL,
     .value = "P",
     ARG(dropout),
     .max = AOEI_BELOW_1,
     .most = 0.99,
     .automatic = 1,
     .help = "dropout probability",
     .name_of = aoei_real_text,
     .fallback = "from config.json"},
    {.name = "save-every",
     .record = AOEI_RECORD_NEVER,
     .kind = AOEI_OPTION_SIZE,
     ARG(save_every),
     .least = 1,
     .help = "number of steps between checkpoints",
     .fallback = "one checkpoint per epoch"},
    {.name = "keep-checkpoints",
     .record = AOEI_RECORD_NEVER,
     .kind = AOEI_OPTION_SIZE,
     ARG(keep_checkpoints),
     .min = 1,
     .help = "keep only the N newest checkpoints"},
    {.name = "eval-every",
     .requires = "dev",
     .kind = AOEI_OPTION_SIZE,
     ARG(eval_every),
     .least = 1,
     .help = "number of steps between evaluations",
     .fallback = "one evaluation per epoch"},
    {.name = "patience",
     .requires = "dev",
     .kind = AOEI_OPTION_SIZE,
     ARG(patience),
     .least = 1,
     .help = "early stopping: stop after N consecutive evaluations without improvement",
     .fallback = "no early stopping"},
};

static const aoei_option loss_options[] = {
    {.name = "method",
     .memory = 1,
     .record = AOEI_RECORD_OWN,
     .kind = AOEI_OPTION_NAMED,
     .value = "NAME",
     AT(method),
     .parse = aoei_parse_method,
     .choice = aoei_method_choice,
     .help = "training method; see the list of methods below. If a method is given before --help, this help shows the "
             "defaults of this method, without the options that it rejects",
     .fallback = "angle"},
    {.name = "w-cosine",
     .methods = METHOD(ANGLE),
     .record = AOEI_RECORD_ALWAYS,
     .kind = AOEI_OPTION_REAL,
     AT(objective.w_cosine),
     .help = "weight of the cosine loss; 0 disables this loss"},
    {.name = "w-ibn",
     .methods = METHOD(ANGLE) | METHOD(CONTRASTIVE) | METHOD(CONSERT) | METHOD(CONSERT_SUP),
     .record = AOEI_RECORD_ALWAYS,
     .kind = AOEI_OPTION_REAL,
     AT(objective.w_ibn),
     .help = "pairs: weight of the in-batch negatives loss; positives and triplets: weight of the contrastive loss "
             "that compares each query with all positives of the batch; 0 disables these losses"},
    {.name = "w-angle",
     .methods = METHOD(ANGLE),
     .record = AOEI_RECORD_ALWAYS,
     .kind = AOEI_OPTION_REAL,
     AT(objective.w_angle),
     .help = "weight of the angle loss; 0 disables this loss"},
    {.name = "w-cln",
     .methods = METHOD(ANGLE) | METHOD(CONTRASTIVE),
     .record = AOEI_RECORD_ALWAYS,
     .kind = AOEI_OPTION_REAL,
     AT(objective.w_cln),
     .help = "triplets: weight of the contrastive loss that compares each query with all positives and"
             " all negatives of the batch; 0 disables this loss"},
    {.name = "tau-cosine",
     .methods = METHOD(ANGLE) | METHOD(COSENT),
     .record = AOEI_RECORD_ALWAYS,
     .kind = AOEI_OPTION_REAL,
     AT(objective.tau_cosine),
     .min = AOEI_ABOVE_0,
     .least = 1e-6,
     .most = 1e6,
     .help = "temperature of the cosine loss"},
    {.name = "tau-ibn",
     .methods = CONTRASTIVE_METHODS,
     .record = AOEI_RECORD_ALWAYS,
     .kind = AOEI_OPTION_REAL,
     AT(objective.tau_ibn),
     .min = AOEI_ABOVE_0,
     .least = 1e-6,
     .most = 1e6,
     .help = "temperature of the in-batch negatives and contrastive losses"},
    {.name = "tau-angle",
     .methods = METHOD(ANGLE),
     .record = AOEI_RECORD_ALWAYS,
     .kind = AOEI_OPTION_REAL,
     AT(objective.tau_angle),
     .min = AOEI_ABOVE_0,
     .least = 1e-6,
     .most = 1e6,
     .help = "temperature of the angle loss"},
    {.name = "ibn-threshold",
     .methods = POSITIVE_METHODS,
     .record = AOEI_RECORD_OWN,
     .kind = AOEI_OPTION_REAL,
     AT(objective.ibn_threshold),
     .min = -INFINITY,
     .max = INFINITY,
     .help = "pairs with a label of at least X are positive in the in-batch negatives loss and in the contrastive loss",
     .fallback = AOEI_DEFAULT_THRESHOLD},
    {.name = "no-isp",
     .field = "isp",
     .methods = METHOD(ANGLE),
     .record = AOEI_RECORD_ALWAYS,
     .kind = AOEI_OPTION_FLAG,
     AT(objective.isp),
     .clears = 1,
     .help = "disable identical sentence pair detection: the in-batch negatives loss then treats equal"
             " texts in a batch as negatives of each other"},
    {.name = "hard-negative",
     .methods = METHOD(ANGLE) | METHOD(SIMCSE_SUP) | METHOD(CONTRASTIVE) | METHOD(PROMPTBERT_SUP),
     .record = AOEI_RECORD_ALWAYS,
     .kind = AOEI_OPTION_REAL,
     AT(objective.hard_negative),
     .min = -DBL_MAX,
     .max = DBL_MAX,
     .help = "triplets: value added to the logit of each query and its own negative in the contrastive loss"},
    {.name = "classes",
     .memory = 1,
     .methods = CLASSIFIERS | METHOD(CROSS_ENCODER),
     .record = AOEI_RECORD_ALWAYS,
     .kind = AOEI_OPTION_SIZE,
     AT(classes),
     .min = 1,
     .max = 10000,
     .automatic = 1,
     .help =
         "sbert-classification, consert-sup, infersent and dan: number of classes. cross-encoder: number of scores per "
         "pair: 1 for binary or graded labels (binary cross entropy), otherwise labels are classes (cross entropy)",
     .fallback = "the highest label + 1; cross-encoder: 1"},
    {.name = "features",
     .memory = 1,
     .methods = CLASSIFIERS,
     .record = AOEI_RECORD_CHANGED,
     .kind = AOEI_OPTION_SET,
     .value = "LIST",
     AT(objective.features),
     .choices = AOEI_CHOICES("u", "v", "absdiff", "product", "max2"),
     .noun = "feature",
     .help = "sbert-classification, consert-sup, infersent and dan: at least two features of the embeddings u and v of "
             "a pair, separated by commas, from which the classifier computes the class: u, v, absdiff (|u - v|), "
             "product (u times v), max2 (squared maximum of u and v)"},
    {.name = "views",
     .methods = METHOD(CONSERT) | METHOD(CONSERT_SUP),
     .kind = AOEI_OPTION_NAMED,
     .value = "A,B",
     AT(views),
     .parse = aoei_views_parse,
     .name_of = aoei_views_text,
     .json_of = aoei_views_json,
     .help =
         "consert and consert-sup: transformations of the two copies of each text: none, shuffle (permuted positions), "
         "feature-cut:RATE (this fraction of the columns of the embedding layer's output is set to 0) or "
         "token-cut:RATE (this fraction of the tokens is set to 0)",
     .fallback = "consert: feature-cut:0.2,shuffle; consert-sup: none,token-cut:0.1"},
    {.name = "new-head",
     .methods = METHOD(CROSS_ENCODER),
     .kind = AOEI_OPTION_FLAG,
     AT(new_head),
     .help = "cross-encoder: start with a new classification head, although the model already has one"},
    {.name = "no-projection",
     .memory = 1,
     .methods = METHOD(SIMCSE_UNSUP) | METHOD(SIMCSE_SUP),
     .record = AOEI_RECORD_ALWAYS,
     .kind = AOEI_OPTION_FLAG,
     AT(no_projection),
     .help = "simcse-unsup and simcse-sup: do not add a dense layer with tanh after the pooling; without this option, "
             "simcse-unsup uses such a layer during training, and simcse-sup also saves it with the model"},
    {.name = "label-max",
     .methods = METHOD(SBERT_REGRESSION) | METHOD(CROSS_ENCODER),
     .record = AOEI_RECORD_OWN,
     .kind = AOEI_OPTION_REAL,
     AT(label_max),
     .min = AOEI_ABOVE_0,
     .automatic = 1,
     .help = "sbert-regression: label that corresponds to a cosine of 1; cross-encoder: label that corresponds to a "
             "score of 1",
     .fallback = "the highest label of each file; cross-encoder: at least 1"},
};

/* Options of the losses of single methods. */
static const aoei_option method_options[] = {
    AOEI_ROW_ANGLE_FORM(AT(objective.angle_form), .methods = METHOD(ANGLE), .record = AOEI_RECORD_ALWAYS),
    {.name = "directions",
     .methods = METHOD(SYMMETRIC),
     .kind = AOEI_OPTION_SET,
     .value = "LIST",
     AT(objective.directions),
     .choices = AOEI_CHOICES("query-to-document", "query-to-query", "document-to-query", "document-to-document", "all"),
     .noun = "direction",
     .json_of = direction_number,
     .help = "symmetric: directions of the in-batch negatives, separated by commas: query-to-document, query-to-query, "
             "document-to-query and document-to-document, or all",
     .fallback = "query-to-document,document-to-query"},
    {.name = "joint",
     .methods = METHOD(SYMMETRIC),
     .kind = AOEI_OPTION_FLAG,
     AT(objective.joint),
     .help = "symmetric: use one softmax over the candidates of all directions instead of one softmax per direction"},
    {.name = "negatives",
     .methods = METHOD(CT),
     .kind = AOEI_OPTION_SIZE,
     AT(negatives),
     .min = 1,
     .max = 1000,
     .help = "ct: number of pairs of random texts that are added to each text as negatives"},
    {.name = "generator",
     .methods = METHOD(DIFFCSE),
     .record = AOEI_RECORD_OWN,
     .kind = AOEI_OPTION_MODEL,
     .value = "DIR",
     AT(generator),
     .help = "diffcse: masked language model that replaces tokens; it must have the vocabulary of the model; required",
     .fallback = "none"},
    {.name = "w-detection",
     .methods = METHOD(DIFFCSE),
     .kind = AOEI_OPTION_REAL,
     AT(w_detection),
     .help = "diffcse: weight of the loss of the discriminator, which detects replaced tokens"},
    {.name = "mask-rate",
     .methods = METHOD(DIFFCSE),
     .kind = AOEI_OPTION_REAL,
     AT(mask_rate),
     .min = AOEI_ABOVE_0,
     .max = 1,
     .least = 1e-6,
     .help = "diffcse: probability that a token is selected for masking"},
    {.name = "second-prompt",
     .methods = METHOD(PROMPTBERT),
     .kind = AOEI_OPTION_PROMPT,
     .value = "TEMPLATE",
     AT(second_prompt),
     .help =
         "promptbert: second prompt template, with {text} and the token [MASK]; the first one is --prompt, by default "
         "This sentence of \"{text}\" means [MASK]."},
    {.name = "lstm-dims",
     .memory = 1,
     .methods = METHOD(INFERSENT),
     .kind = AOEI_OPTION_SIZE,
     AT(lstm_dims),
     .min = 1,
     .max = 16384,
     .automatic = 1,
     .help = "infersent: number of outputs of each direction of the LSTM",
     .fallback = "2048, or the value of the start model"},
    {.name = "bigrams",
     .memory = 1,
     .methods = METHOD(DAN),
     .kind = AOEI_OPTION_SIZE,
     AT(bigrams),
     .max = 16777216,
     .automatic = 1,
     .help = "dan: number of bigram embeddings, a power of two, or 0 for none",
     .fallback = "65536, or the value of the start model"},
    {.name = "guide-margin",
     .methods = METHOD(GIST),
     .kind = AOEI_OPTION_REAL,
     AT(objective.guide_margin),
     .help = "gist: exclude a negative if its cosine, computed by the guide, is above the guide's cosine of query and "
             "positive, minus X"},
    {.name = "guide-relative",
     .methods = METHOD(GIST),
     .kind = AOEI_OPTION_FLAG,
     AT(objective.guide_relative),
     .help = "gist: the margin is the fraction X of the guide's cosine of query and positive"},
};

static const aoei_option prefix_options[] = {
    {.name = "matryoshka-per-step",
     .requires = "matryoshka",
     .record = AOEI_RECORD_OWN,
     .kind = AOEI_OPTION_SIZE,
     AT(matryoshka_per_step),
     .least = 1,
     .most = AOE_MAX_PREFIXES,
     .help = "compute the loss of only N of the sizes in each step, drawn at random",
     .fallback = "all sizes"},
};

static const aoei_option layer_options[] = {
    {.name = "adaptive-layers",
     .memory = 1,
     .record = AOEI_RECORD_OWN,
     .field = "layers.adaptive",
     .kind = AOEI_OPTION_FLAG,
     AT(layers.adaptive),
     .help = "adaptive layers (AdaptiveLayerLoss of sentence-transformers): also compute the loss from the outputs of "
             "other layers than the last one, which are drawn for each step, and train their embeddings to match the "
             "distribution of the final embeddings. The trained model can be truncated to fewer layers, unless a norm "
             "follows its last layer, as in LLaMA and ModernBERT. Requires a transformer"},
    {.name = "layers-per-step",
     .requires = "adaptive-layers",
     .memory = 1,
     .record = AOEI_RECORD_OWN,
     .field = "layers.per_step",
     .kind = AOEI_OPTION_SIZE,
     AT(layers.per_step),
     .min = 1,
     .most = 1024,
     .help = "--adaptive-layers: number of layers that are drawn for each step; the embedding layer is one of the "
             "candidates"},
    {.name = "layer-prior",
     .requires = "adaptive-layers",
     .record = AOEI_RECORD_OWN,
     .field = "layers.prior",
     .kind = AOEI_OPTION_CHOICE,
     AT(layers.prior),
     .choices = aoei_layer_prior_names,
     .noun = "layer prior",
     .help = "--adaptive-layers: weight of the loss of layer i (0: embedding layer): uniform (1), log (1 / (1 + ln(1 + "
             "i))) or linear (1 / (1 + i))"},
    {.name = "layer-temperature",
     .requires = "adaptive-layers",
     .record = AOEI_RECORD_OWN,
     .field = "layers.temperature",
     .kind = AOEI_OPTION_REAL,
     AT(layers.temperature),
     .min = AOEI_ABOVE_0,

     .help = "--adaptive-layers: temperature of the distributions"},
    {.name = "w-last-layer",
     .requires = "adaptive-layers",
     .record = AOEI_RECORD_OWN,
     .field = "layers.w_last",
     .kind = AOEI_OPTION_REAL,
     AT(layers.w_last),
     .help = "--adaptive-layers: weight of the loss of the last layer"},
    {.name = "w-layers",
     .requires = "adaptive-layers",
     .record = AOEI_RECORD_OWN,
     .field = "layers.w_layers",
     .kind = AOEI_OPTION_REAL,
     AT(layers.w_layers),
     .help = "--adaptive-layers: weight of the mean loss of the drawn layers"},
    {.name = "w-layer-kl",
     .requires = "adaptive-layers",
     .record = AOEI_RECORD_OWN,
     .field = "layers.w_kl",
     .kind = AOEI_OPTION_REAL,
     AT(layers.w_kl),
     .help =
         "--adaptive-layers: weight of the KL divergence between the distributions of the last layer and of each drawn "
         "layer"},
};

static const aoei_option ese_options[] = {
    {.name = "ese",
     .memory = 1,
     .record = AOEI_RECORD_OWN,
     .field = "layers.ese",
     .kind = AOEI_OPTION_FLAG,
     AT(layers.ese),
     .help = "Espresso sentence embeddings (Li et al. 2024): also compute the loss from the first components of the "
             "outputs of all layers, and let these components learn the principal components of the same outputs. The "
             "trained model can be truncated to fewer layers and components. Requires a transformer"},
    {.name = "ese-dims",
     .requires = "ese",
     .memory = 1,
     .record = AOEI_RECORD_OWN,
     .field = "layers.ese_dims",
     .kind = AOEI_OPTION_SIZE,
     AT(layers.ese_dims),
     .min = 1,
     .most = 1e6,
     .help = "--ese: number of components"},
};

static const aoei_option teacher_options[] = {
    {.name = "teacher-cache",
     .requires = "teacher",
     .record = AOEI_RECORD_OWN,
     .kind = AOEI_OPTION_TEXT,
     .value = "DIR",
     AT(teacher_cache),
     .help = "store the teacher embeddings in this directory as bf16, and read those that are already there. Later and "
             "interrupted runs do not compute them again, and they need not fit in memory",
     .fallback = "none; the teacher embeddings are kept in memory as float32"},
    {.name = "w-teacher",
     .requires = "teacher",
     .methods = WITH_TEACHER,
     .record = AOEI_RECORD_OWN,
     .kind = AOEI_OPTION_REAL,
     AT(w_teacher),
     .help = "weight of the distillation loss; if X is above 0, all other loss weights may be 0"},
    {.name = "distill",
     .requires = "teacher",
     .methods = WITH_TEACHER,
     .record = AOEI_RECORD_OWN,
     .kind = AOEI_OPTION_CHOICE,
     AT(distill),
     .choices = aoei_distill_names,
     .noun = "distillation loss",
     .help = "distillation loss: cosine or kl. cosine: squared difference between the student's and the teacher's "
             "cosine of a pair. kl: KL divergence between the softmax of the student embedding and the softmax of "
             "the teacher embedding, which must have the same size"},
};

/* Options of the method distill. */
static const aoei_option distill_options[] = {
    {.name = "w-vectors",
     .methods = METHOD(DISTILL),
     .kind = AOEI_OPTION_REAL,
     AT(objective.w_vectors),
     .help = "distill: weight of the loss between the student and teacher embeddings of a text"},
    {.name = "vector-loss",
     .methods = METHOD(DISTILL),
     .kind = AOEI_OPTION_CHOICE,
     AT(objective.vector_loss),
     .choices = AOEI_CHOICES("cosine", "squares"),
     .noun = "vector loss",
     .help = "distill: loss between the student and teacher embeddings of a text: cosine (1 - cosine) or squares (mean "
             "squared difference of the components)"},
    {.name = "w-similarities",
     .methods = METHOD(DISTILL),
     .kind = AOEI_OPTION_REAL,
     AT(objective.w_similarities),
     .help =
         "distill: weight of the mean squared difference between the student's and the teacher's cosines of all text "
         "pairs in a batch"},
    {.name = "teacher-map",
     .methods = METHOD(DISTILL),
     .record = AOEI_RECORD_OWN,
     .kind = AOEI_OPTION_CHOICE,
     AT(teacher_map),
     .choices = aoei_teacher_map_names,
     .noun = "map",
     .help = "distill: linear map from the student to the teacher embeddings: none (both have the same size), dropped "
             "(used only for --w-vectors) or kept (a dense layer of the model, whose embeddings then have the size of "
             "the teacher embeddings). auto: dropped if the sizes differ or with --matryoshka, otherwise none"},
};

static const aoei_option lora_options[] = {
    AOEI_ROW_LORA_R("add LoRA adapters of rank N and train only the adapters",
                    "train the adapters in the model directory; if it contains none, train all weights", LORA(r),
                    .memory = 1, .record = AOEI_RECORD_OWN),
    {.name = "lora-alpha",
     .requires = "lora-r",
     .record = AOEI_RECORD_OWN,
     .field = "lora.alpha",
     .kind = AOEI_OPTION_REAL,
     LORA(alpha),
     .help = "scale the output of new adapters by X / rank",
     .fallback = "32"},
    {.name = "lora-dropout",
     .record = AOEI_RECORD_OWN,
     .field = "lora.dropout",
     .kind = AOEI_OPTION_REAL,
     .value = "P",
     LORA(dropout),
     .max = 0.99,
     .help = "dropout probability for the inputs of the adapters",
     .fallback = "0.1, or the value of existing adapters"},
    {.name = "lora-targets",
     .requires = "lora-r",
     .memory = 1,
     .record = AOEI_RECORD_OWN,
     .field = "lora.targets",
     .kind = AOEI_OPTION_TEXT,
     .value = "NAME,...",
     LORA(targets),
     .help = "names of the linear layers that receive adapters; the last part of a name is enough, for"
             " example q_proj,v_proj",
     .fallback = "all linear layers"},
    {.name = "load-8bit",
     .memory = 1,
     .record = AOEI_RECORD_OWN,
     .field = "lora.load_8bit",
     .kind = AOEI_OPTION_FLAG,
     LORA(load_8bit),
     .help = "keep the frozen linear weights in memory as int8, with one scale per row, to save memory"},
};

#define GROUP(title, table)      AOEI_GROUP(title, aoe_train_options, table)
#define ARGS_GROUP(title, table) AOEI_GROUP_AT(title, aoe_training_args, table, offsetof(aoe_train_options, args))

const aoei_option_group aoei_train_groups[AOEI_TRAIN_GROUPS] = {
    [AOEI_GROUP_OUTPUT] = ARGS_GROUP("output", output_options),
    [AOEI_GROUP_SCHEDULE] = ARGS_GROUP("schedule", schedule_options),
    [AOEI_GROUP_BATCHES] = GROUP("batches", batch_options),
    [AOEI_GROUP_LOSSES] = GROUP("losses", loss_options),
    [AOEI_GROUP_METHODS] = GROUP("losses", method_options),
    [AOEI_GROUP_PREFIXES] = GROUP("Matryoshka sizes", prefix_options),
    [AOEI_GROUP_LAYERS] = GROUP("layers", layer_options),
    [AOEI_GROUP_ESE] = GROUP("layers", ese_options),
    [AOEI_GROUP_TEACHER] = GROUP("teacher", teacher_options),
    [AOEI_GROUP_DISTILL] = GROUP("teacher", distill_options),
    [AOEI_GROUP_LORA] = AOEI_GROUP_AT("adapters (LoRA)", aoe_lora, lora_options, offsetof(aoe_train_options, lora)),
};

int aoei_train_options_check(const aoe_train_options *o, aoe_error *err) {
    int code = AOE_OK;
    for (size_t i = AOEI_GROUP_BATCHES; i < AOEI_GROUP_LORA && !code; i++) {
        const int one_method = i == AOEI_GROUP_METHODS || i == AOEI_GROUP_DISTILL;
        if ((i != AOEI_GROUP_LAYERS || o->layers.adaptive) && (i != AOEI_GROUP_ESE || o->layers.ese))
            code =
                aoei_option_group_check(&aoei_train_groups[i], o, one_method ? (int)o->method : AOEI_ALL_METHODS, err);
    }
    return code;
}
