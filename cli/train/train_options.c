/* SPDX-License-Identifier: MIT
 * Defines the option tables of `aoe train`, parses the settings of data files, and checks the options.
 */
#include "cli/train/train_options.h"

#include "aoe_data.h"
#include "aoe_objective.h"
#include "aoe_train.h"
#include "base/closest.h"
#include "cli/common/hints.h"
#include "cli/common/common.h"
#include "cli/common/help.h"
#include "cli/common/option_rows.h"
#include "cli/train/training_args.h"
#include "options/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef cli_train_config options;

#define AT(field) .offset = offsetof(options, field)

static const aoei_option data_table[] = {
    {.name = "data",
     .letter = 'd',
     .kind = AOEI_OPTION_TEXTS,
     .value = "FILE [KEY=VALUE...]",
     AT(data),
     .help = "training data: .tsv, .csv, .jsonl or .json, optionally compressed (.gz or .zst), with the columns "
             "(text1, text2, label), (query, positive) or (query, positive, negative). Methods for plain texts read "
             "the texts of any table, the lines of a .txt file, or a folder of SentEval's STS data. Several files may "
             "follow this option, which may also be repeated. Settings after a file apply only to this file. weight=X "
             "uses each row X times per epoch (default: 1). form=NAME is pairs, positives or triplets (default: "
             "detected from the columns). prompt=TEMPLATE is the prompt for queries and for both texts of pairs. "
             "doc-prompt=TEMPLATE is the prompt for positives and negatives. columns=, label-map= and ibn-threshold= "
             "have the meaning of the options with these names",
     .fallback = ""},
    {.name = "dev",
     .kind = AOEI_OPTION_TEXTS,
     .value = "FILE [KEY=VALUE...]",
     AT(dev_texts),
     .help = "table of labeled pairs on which the model is evaluated during training; the model with the highest "
             "Spearman correlation is saved. The settings columns= and label-map= may follow the file",
     .fallback = "none; the model after the last step is saved"},
};

static const aoei_option prefix_table[] = {
    {.name = "matryoshka",
     .kind = AOEI_OPTION_TEXT,
     .value = "DIM[:WEIGHT],...",
     AT(prefix_text),
     .help =
         "Matryoshka representation learning (Kusupati et al. 2022): the loss is the sum of the losses of the first "
         "DIM components of the embeddings, each times its weight (1 if omitted), for example 384,256,128:0.5. The "
         "trained embeddings can be truncated to these sizes",
     .fallback = "whole embeddings"},
};

static const aoei_option teacher_table[] = {
    {.name = "teacher",
     .kind = AOEI_OPTION_MODELS,
     .value = "DIR",
     .field = "teachers",
     AT(teachers),
     .help =
         "distill from the model in this directory, which may have any architecture; before training, this model "
         "embeds all training texts. gist: the model is the guide. distill: required. Repeat this option for several "
         "teachers: the teacher embedding of a text is then the concatenation of their normalized embeddings",
     .fallback = "none"},
    {.name = "part",
     .kind = AOEI_OPTION_NAMED,
     .value = "I/N",
     .offset = offsetof(cli_train_config, part),
     .parse = cli_part_parse,
     .requires = "teacher-cache",
     .excludes = "distributed",
     .help = "compute only the teacher embeddings of part I of N, with I from 0 to N-1, write them to --teacher-cache, "
             "and end without training; auto/N takes I from SLURM_ARRAY_TASK_ID, SLURM_PROCID or JOB_COMPLETION_INDEX "
             "(docs/cluster.md)",
     .fallback = "the whole, then training"},
};

/* Settings (KEY=VALUE) that may follow the name of a training file. */
enum {
    SETTING_WEIGHT,
    SETTING_FORM,
    SETTING_PROMPT,
    SETTING_DOC_PROMPT,
    SETTING_COLUMNS,
    SETTING_LABEL_MAP,
    SETTING_THRESHOLD,
    SETTINGS
};

static const char *const setting_names[SETTINGS] = {"weight",  "form",      "prompt",       "doc-prompt",
                                                    "columns", "label-map", "ibn-threshold"};

static size_t setting_of(const char *key, size_t len) {
    size_t i = 0;
    while (i < SETTINGS && !(strlen(setting_names[i]) == len && memcmp(setting_names[i], key, len) == 0))
        i++;
    return i;
}

/* Returns 1 if the text is a setting and not the name of a file. A text KEY=VALUE is a setting if the key is known or
 * if no file has the name `text`. */
static int is_setting(const char *text) {
    const size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_");
    return n && text[n] == '=' && (setting_of(text, n) < SETTINGS || access(text, F_OK) != 0);
}

static int unknown_setting(const char *path, const char *text) {
    char key[64];
    snprintf(key, sizeof key, "%.*s", (int)strcspn(text, "="), text);
    const char *closest = aoei_closest(key, setting_names, SETTINGS);
    if (closest)
        return cli_usage("train", "%s: unknown setting '%s'; did you mean %s?", path, key, closest);
    return cli_usage(
        "train",
        "%s: '%s' is neither a setting nor an existing file ('%s' is unknown); the settings of a file are weight, "
        "form, prompt, doc-prompt, columns, label-map and ibn-threshold",
        path, text, key);
}

/* Parses a setting KEY=VALUE of a training file. key_length: length of KEY. Returns CLI_GO, or the exit code after
 * reporting an error. */
static int read_setting(aoe_train_data *d, const char *text, size_t key_length) {
    const char *value = text + key_length + 1;
    char *end = NULL;
    const double number = strtod(value, &end);
    const int is_number = *value && !*end && isfinite(number);
    aoe_error err;
    switch (setting_of(text, key_length)) {
    case SETTING_WEIGHT:
        if (!is_number || !(number > 0))
            return cli_usage("train", "%s: setting '%s' must be a positive number", d->path, text);
        d->weight = number;
        break;
    case SETTING_THRESHOLD:
        if (!is_number)
            return cli_usage("train", "%s: setting '%s' must be a number", d->path, text);
        d->ibn_threshold = number;
        break;
    case SETTING_FORM:
        if (aoei_parse_form(&d->kind, value, &err))
            return cli_usage("train", "%s: %s", d->path, err.message);
        break;
    case SETTING_PROMPT:
        d->prompt = value;
        break;
    case SETTING_DOC_PROMPT:
        d->doc_prompt = value;
        break;
    case SETTING_COLUMNS:
        d->table.columns = value;
        break;
    default:
        d->table.label_map = value;
    }
    return CLI_GO;
}

/* Parses the values of --data, which are names of files and their settings, and sets o->files. */
static int read_data(options *o) {
    aoe_train_data *d = cli_realloc(NULL, (o->data.n + 1) * sizeof *d);
    size_t n = 0;
    int code = CLI_GO;
    for (size_t i = 0; i < o->data.n && code == CLI_GO; i++) {
        const char *text = o->data.item[i];
        const size_t key_length = strcspn(text, "=");
        if (n && is_setting(text)) {
            code = setting_of(text, key_length) < SETTINGS ? read_setting(&d[n - 1], text, key_length)
                                                           : unknown_setting(d[n - 1].path, text);
        } else {
            aoe_train_data_defaults(&d[n], text);
            d[n++].table = o->table;
        }
    }
    o->files = d;
    o->t.data = d;
    o->t.n_data = n;
    return code;
}

/* Parses the value of --matryoshka, a list of sizes with optional weights. */
static int read_prefixes(options *o) {
    if (!o->prefix_text)
        return CLI_GO;
    for (const char *s = o->prefix_text; s; s = strchr(s, ',') ? strchr(s, ',') + 1 : NULL) {
        char *end = NULL;
        const unsigned long dims = strtoul(s, &end, 10);
        double weight = 1;
        const int has_dims = *s >= '0' && *s <= '9', has_weight = has_dims && *end == ':';
        const char *number = end + 1;
        if (has_weight)
            weight = strtod(number, &end);
        if (!has_dims || (has_weight && end == number) || (*end && *end != ','))
            return cli_usage("train",
                             "--matryoshka: '%s' is not a list of sizes; give DIM or DIM:WEIGHT, separated by commas",
                             o->prefix_text);
        if (o->t.n_matryoshka == AOE_MAX_PREFIXES)
            return cli_usage("train", "--matryoshka: more than %d sizes", AOE_MAX_PREFIXES);
        o->prefixes[o->t.n_matryoshka++] = (aoe_prefix){.dims = dims, .weight = weight};
    }
    o->t.matryoshka = o->prefixes;
    return CLI_GO;
}

static int read_teachers(options *o) {
    if (o->teachers.n > AOE_MAX_TEACHERS)
        return cli_usage("train", "--teacher: %zu teachers; give at most %d", o->teachers.n, AOE_MAX_TEACHERS);
    for (size_t i = 0; i < o->teachers.n; i++)
        o->t.teachers[i] = o->teachers.item[i];
    return CLI_GO;
}

/* Parses the values of --dev, which are the name of a file and its settings. If several files are given, the last file
 * is used. */
static int read_dev(options *o) {
    for (size_t i = 0; i < o->dev_texts.n; i++) {
        const char *text = o->dev_texts.item[i];
        const size_t n = strcspn(text, "="), key = setting_of(text, n);
        if (!o->dev || !is_setting(text)) {
            o->dev = text;
            o->dev_table = o->table;
        } else if (key == SETTING_COLUMNS) {
            o->dev_table.columns = text + n + 1;
        } else if (key == SETTING_LABEL_MAP) {
            o->dev_table.label_map = text + n + 1;
        } else if (key < SETTINGS) {
            return cli_usage("train",
                             "%s: setting '%s' applies to training data; a --dev file accepts columns and label-map",
                             o->dev, text);
        } else {
            return unknown_setting(o->dev, text);
        }
    }
    return CLI_GO;
}

int cli_check_used(const char *command, const cli_args *args, aoe_method method) {
    for (size_t i = 0; i < args->n_given; i++)
        if (!aoei_option_is_used(args->given[i], (int)method))
            return cli_usage(command, "--%s has no effect with --method %s; leave it out", args->given[i]->name,
                             aoe_method_name(method));
    return CLI_GO;
}

int cli_train_config_check(const cli_train_config *o) {
    const aoe_objective_options *w = &o->t.objective;
    if (!o->t.n_data)
        return cli_usage("train", "missing training data: -d FILE");
    if (!o->t.args.output)
        return cli_usage("train", "missing output directory: -o DIR");
    if (cli_check_used("train", &o->args, o->t.method) != CLI_GO)
        return 2;
    if (w->w_cosine <= 0 && w->w_ibn <= 0 && w->w_angle <= 0 && w->w_cln <= 0 &&
        !(o->t.teachers[0] && o->t.w_teacher > 0))
        return cli_usage("train", "all loss weights are 0; at least one must be above 0");
    return CLI_GO;
}

/* Prints the methods of a group with their descriptions and sources. */
static void print_group(const cli_syntax *s, const char *group) {
    printf("\nmethods for %s:\n", group);
    for (int m = 0; m < AOE_METHOD_COUNT; m++) {
        char text[512];
        if (strcmp(aoe_method_group((aoe_method)m), group) != 0)
            continue;
        cli_name_flags(text, sizeof text, aoe_method_describe((aoe_method)m), s);
        cli_help_entry(aoe_method_name((aoe_method)m), text);
    }
}

/* Prints the training methods by group. A group is printed when its first method occurs. */
static void print_methods(const cli_syntax *s) {
    for (int m = 0; m < AOE_METHOD_COUNT; m++) {
        const char *group = aoe_method_group((aoe_method)m);
        int before = 0;
        while (before < m && strcmp(aoe_method_group((aoe_method)before), group) != 0)
            before++;
        if (before == m)
            print_group(s, group);
    }
    printf("\ndocs/objectives.md defines the losses of the methods.\n");
}

int cli_trains_on_classes(aoe_method method) {
    return strcmp(aoe_method_group(method), aoe_method_group(AOE_METHOD_SBERT_CLASSIFICATION)) == 0;
}

/* Sets the default that the help shows for an option. */
static void set_help_default(aoei_option *table, size_t n, const char *name, const char *text) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(table[i].name, name) == 0)
            table[i].fallback = text;
}

/* Sets the defaults that depend on the method, but that are not defaults of options of the library: the label map, and
 * the poolings of the methods that do not use the pooling of the model. */
static void set_help_defaults(cli_train_config *o, aoe_method method) {
    memcpy(o->table_options, aoei_table_table, sizeof o->table_options);
    memcpy(o->model_options, aoei_model_table, sizeof o->model_options);
    if (cli_trains_on_classes(method))
        set_help_default(o->table_options, AOEI_COLUMN_ROWS, "label-map", AOEI_DEFAULT_CLASSES);
    if (method == AOE_METHOD_CROSS_ENCODER)
        set_help_default(o->table_options, AOEI_COLUMN_ROWS, "label-map",
                         AOEI_DEFAULT_LABELS "; with --classes above 2: " AOEI_DEFAULT_CLASSES);
    if (method == AOE_METHOD_INFERSENT || method == AOE_METHOD_DAN)
        set_help_default(o->model_options, AOEI_MODEL_ROWS, "pooling",
                         aoe_pooling_name(method == AOE_METHOD_DAN ? AOE_POOLING_LAST_AVG : AOE_POOLING_LAST_MAX));
}

/* Sets the defaults of all options. The defaults of some options depend on the method. */
static void set_defaults(cli_train_config *o, aoe_method method) {
    set_help_defaults(o, method);
    cli_general_defaults(&o->general);
    cli_model_defaults(&o->model);
    aoe_train_options_defaults(&o->t);
    aoe_train_method_defaults(&o->t, method);
    o->model.o.pooling = o->t.args.model_options.pooling;
    o->model.o.max_length = o->t.args.model_options.max_length;
    o->model.o.prompt = o->t.args.model_options.prompt;
    aoe_table_options_defaults(&o->table);
    aoe_table_options_defaults(&o->dev_table);
}

aoe_method cli_named_method(int argc, char **argv) {
    static const char option[] = "--method";
    aoe_method method = AOE_METHOD_COUNT;
    for (int i = 0; i < argc && argv[i]; i++) {
        const size_t n = sizeof option - 1;
        const char *name = strncmp(argv[i], option, n) != 0     ? NULL
                           : argv[i][n] == '='                  ? argv[i] + n + 1
                           : argv[i][n] == '\0' && i + 1 < argc ? argv[i + 1]
                                                                : NULL;
        aoe_method found;
        aoe_error err;
        if (name && !aoe_method_parse(&found, name, &err))
            method = found;
    }
    return method;
}

/* Removes the default changes of the learning rate, which belong to the default learning rate and schedule of the
 * method, if another learning rate or schedule was given. */
static void remove_lr_steps(cli_train_config *o) {
    static const char *const others[] = {"lr", "schedule"};
    if (!cli_given(&o->args, "lr-steps") && cli_first_given(&o->args, others, 2))
        o->t.args.n_lr_steps = 0;
}

/* Parses the arguments with the defaults of the method. If a response file names another method than the command line,
 * the arguments are parsed again. */
static int parse_arguments(cli_train_config *o, int argc, char **argv) {
    const aoe_method named = cli_named_method(argc, argv),
                     expected = named == AOE_METHOD_COUNT ? AOE_METHOD_ANGLE : named;
    set_defaults(o, expected);
    o->help_method = expected;
    o->syntax.method = named == AOE_METHOD_COUNT ? NULL : &o->help_method;
    int code = cli_parse(&o->args, &o->syntax, argc, argv);
    const aoe_method method = o->t.method;
    if (code != CLI_GO)
        return code;
    if (method == expected) {
        remove_lr_steps(o);
        return code;
    }
    cli_args_free(&o->args);
    o->data = o->dev_texts = o->teachers = (aoei_text_list){0};
    o->prefix_text = NULL;
    set_defaults(o, method);
    o->help_method = method;
    o->syntax.method = &o->help_method;
    code = cli_parse(&o->args, &o->syntax, argc, argv);
    remove_lr_steps(o);
    return code;
}

int cli_train_config_parse(cli_train_config *o, int argc, char **argv) {
    memset(o, 0, sizeof *o);
    const cli_group groups[] = {
        CLI_GROUP("data", data_table, o),
        CLI_LIBRARY_GROUP(&aoei_train_groups[AOEI_GROUP_OUTPUT], &o->t.args),
        CLI_GROUP(aoei_train_groups[AOEI_GROUP_OUTPUT].title, cli_distributed_table, &o->distributed),
        CLI_LIBRARY_GROUP(&aoei_train_groups[AOEI_GROUP_BATCHES], &o->t),
        CLI_LIBRARY_GROUP(&aoei_train_groups[AOEI_GROUP_SCHEDULE], &o->t.args),
        CLI_LIBRARY_GROUP(&aoei_train_groups[AOEI_GROUP_LOSSES], &o->t),
        CLI_LIBRARY_GROUP(&aoei_train_groups[AOEI_GROUP_METHODS], &o->t),
        CLI_GROUP(aoei_train_groups[AOEI_GROUP_PREFIXES].title, prefix_table, o),
        CLI_LIBRARY_GROUP(&aoei_train_groups[AOEI_GROUP_PREFIXES], &o->t),
        CLI_LIBRARY_GROUP(&aoei_train_groups[AOEI_GROUP_LAYERS], &o->t),
        CLI_LIBRARY_GROUP(&aoei_train_groups[AOEI_GROUP_ESE], &o->t),
        CLI_GROUP(aoei_train_groups[AOEI_GROUP_TEACHER].title, teacher_table, o),
        CLI_LIBRARY_GROUP(&aoei_train_groups[AOEI_GROUP_TEACHER], &o->t),
        CLI_LIBRARY_GROUP(&aoei_train_groups[AOEI_GROUP_DISTILL], &o->t),
        CLI_LIBRARY_GROUP(&aoei_train_groups[AOEI_GROUP_LORA], &o->t.lora),
        {"tables", o->table_options, AOEI_COLUMN_ROWS, &o->table, "aoe_table_options", NULL},
        CLI_TABLE_INPUT_GROUP(&o->table),
        CLI_GROUP("model", cli_model_table, &o->model),
        {"model", o->model_options, AOEI_MODEL_ROWS, &o->model.o, "aoe_model_options", NULL},
        CLI_BATCH_GROUP("model", &o->model),
        CLI_GROUP("general", cli_general_table, &o->general),
    };
    _Static_assert(sizeof groups == sizeof o->groups, "one element per group");
    memcpy(o->groups, groups, sizeof groups);
    o->syntax = (cli_syntax){
        .command = "train",
        .operands = "",
        .operand_note = "give training files with -d FILE",
        .about =
            "Fine-tunes a model with the losses of AnglE on labeled pairs (text1, text2, label), positives\n"
            "(query, positive) or triplets (query, positive, negative). --method selects other losses, and\n"
            "--teacher adds distillation. The output directory contains train-log.jsonl, the newest checkpoint,\n"
            "and the model with the best score on the --dev file (without --dev, the model after the last step).\n"
            "The start model is evaluated first. If no step has a better score, the start model is saved.\n"
            "Ctrl-C saves a checkpoint and stops the run. To continue the run, add --resume to the same command.\n",
        .examples =
            "  aoe train -d examples/train.tsv -o model --epochs 8 --lr 3e-4\n"
            "  aoe train -m start -d train.tsv --dev dev.tsv -o model --pooling cls --max-length 128 --patience 3\n"
            "  aoe train -m base -d triplets.tsv -d questions.jsonl weight=0.5 'prompt=query: {text}' -o model\n"
            "  aoe train -m small -d pairs.tsv -o model --teacher large --w-cosine 0 --w-ibn 0 --w-angle 0\n"
            "  aoe train -m llama -d pairs.tsv -o adapters --lora-r 32 --lr 2e-4 --load-8bit\n"
            "  aoe train -m bert -d nli.tsv -o sbert --method sbert-classification --pooling mean\n"
            "  aoe train @my-recipe.args --seed 1\n",
        .groups = o->groups,
        .n_groups = CLI_TRAIN_GROUPS,
        .more = print_methods,
    };
    int code = parse_arguments(o, argc, argv);
    if (code == CLI_GO)
        code = read_data(o);
    if (code == CLI_GO)
        code = read_prefixes(o);
    if (code == CLI_GO)
        code = read_teachers(o);
    return code == CLI_GO ? read_dev(o) : code;
}

int cli_train_config_resolve(cli_train_config *o) {
    return cli_training_args_fill(&o->t.args, &o->model_dir, &o->model, &o->general);
}

void cli_train_config_free(cli_train_config *o) {
    free(o->files);
    free(o->model_dir);
    cli_args_free(&o->args);
}
