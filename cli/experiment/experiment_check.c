/* SPDX-License-Identifier: MIT
 * Experiments before they run: the options of each trial as aoe train would read
 * them, the files they name and those to score by, and the memory they are planned to take. Memory counts
 * the longest text of a training file of pairs; of other forms, whose texts are not
 * read here, texts of the maximum length, three for an example. A teacher's is left out.
 */
#include "aoe_data.h"
#include "aoe_eval.h"
#include "aoe_train.h"
#include "cli/experiment/experiment_check.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROCESS_BYTES ((size_t)32 << 20) /* of a child beside what is planned */

typedef struct plan_entry {
    char *key; /* owned; all that the memory depends on */
    size_t bytes;
} plan_entry;

struct cli_plans {
    plan_entry *entry; /* [n] */
    size_t n;
    char *texts_key; /* owned; the tokenizer and files of the next two */
    size_t longest;  /* tokens */
    size_t arity;    /* texts of an example */
    json_t *scored;  /* owned; keys are files to score by that were checked, and how they are read */
};

void cli_plans_free(struct cli_plans *p) {
    if (!p)
        return;
    for (size_t i = 0; i < p->n; i++)
        free(p->entry[i].key);
    free(p->entry);
    free(p->texts_key);
    json_decref(p->scored);
    free(p);
}

/* ---- options */

static int is_own(const char *name) {
    static const char *const own[] = {"output", "resume", "force", "threads", "seed", "quiet", "json"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (strcmp(own[i], name) == 0)
            return 1;
    return 0;
}

enum { LOOKED = 100 }; /* what a look returns that has seen what it wanted: no exit code of aoe train */

typedef struct given {
    const char *own; /* an option that is the experiment's, NULL: none */
    const char *dev;
} given;

static int look_at_words(void *user, const cli_train_view *v) {
    given *found = user;
    cli_general g;
    cli_general_defaults(&g);
    found->dev = v->dev;
    found->own = v->train->args.output        ? "--output"
                 : v->train->args.resume      ? "--resume"
                 : v->train->args.force       ? "--force"
                 : v->general->threads        ? "--threads"
                 : v->general->seed != g.seed ? "--seed"
                 : v->general->quiet          ? "--quiet"
                 : v->general->json           ? "--json"
                                              : NULL;
    return LOOKED;
}

int cli_experiment_check_words(const cli_experiment *e, const cli_words *w, const char *where, const char **dev) {
    given found = {0};
    const int code = cli_train_parse((int)w->n, w->word, look_at_words, &found);
    if (code != LOOKED)
        return code;
    if (found.own)
        return cli_usage(e->command, "%s stands %s, among the options of aoe train; aoe %s gives it to each run", found.own,
                         where, e->command);
    if (!dev && found.dev)
        return cli_usage(e->command, "--dev stands %s; it is the same for all runs: give it behind --", where);
    if (dev)
        *dev = found.dev;
    return CLI_GO;
}

typedef struct search {
    const char *name;
    const cli_option *found;
    const char *closest; /* to the name; NULL: none */
} search;

static int look_for_option(void *user, const cli_train_view *v) {
    enum { MOST = 256 };
    search *s = user;
    const char *names[MOST];
    size_t n = 0;
    for (size_t g = 0; g < v->syntax->n_groups; g++) {
        for (size_t i = 0; i < v->syntax->groups[g].n; i++) {
            const cli_option *o = &v->syntax->groups[g].options[i];
            if (strcmp(o->name, s->name) == 0)
                s->found = o;
            if (n < MOST)
                names[n++] = o->name;
        }
    }
    s->closest = cli_closest(s->name, names, n);
    return 0;
}

const cli_option *cli_experiment_option(const cli_experiment *e, const char *what, const char *name) {
    search s = {.name = name + strspn(name, "-")};
    char *none = NULL;
    cli_train_parse(0, &none, look_for_option, &s);
    if (is_own(s.name) || strcmp(s.name, "dev") == 0)
        cli_usage(e->command, "%s %s: that is the same for all runs, or given by aoe %s", what, s.name, e->command);
    else if (s.found)
        return s.found;
    else if (s.closest)
        cli_usage(e->command, "%s %s: aoe train has no such option; did you mean %s?", what, s.name, s.closest);
    else
        cli_usage(e->command, "%s %s: aoe train has no such option; aoe train --help lists them", what, s.name);
    return NULL;
}

/* The words with an output directory behind them, which aoe train wants to be named; borrowed words, free() the array. */
static char **with_output(const cli_words *args, int *n) {
    static char option[] = "--output=.";
    char **argv = cli_realloc(NULL, (args->n + 2) * sizeof *argv);
    for (size_t i = 0; i < args->n; i++)
        argv[i] = args->word[i];
    argv[args->n] = option;
    argv[args->n + 1] = NULL;
    *n = (int)args->n + 1;
    return argv;
}

static int parse_caught(const cli_words *args, cli_train_look look, void *user, char *message, size_t size) {
    int n;
    char **argv = with_output(args, &n);
    message[0] = 0;
    cli_catch_messages(message, size);
    const int code = cli_train_parse(n, argv, look, user);
    cli_catch_messages(NULL, 0);
    free(argv);
    return code;
}

static int look_away(void *user, const cli_train_view *v) {
    (void)v;
    return *(const int *)user ? LOOKED : CLI_GO;
}

int cli_experiment_accepts(const cli_words *args, int part, char *message, size_t size) {
    const int code = parse_caught(args, look_away, &part, message, size);
    return code == (part ? LOOKED : CLI_GO);
}

/* ---- files: FNV-1a of size and content, of large ones of what is at their ends */

#define WHOLE_BYTES ((off_t)64 << 20)

static uint64_t hash_bytes(uint64_t h, const unsigned char *p, size_t n) {
    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(1099511628211);
    return h;
}

static int hash_file(const char *path, uint64_t *h) {
    enum { BLOCK = 1 << 16 };
    struct stat st;
    FILE *f = fopen(path, "rb");
    if (!f)
        return cli_fail("%s: %s; check the path", path, strerror(errno));
    unsigned char *block = cli_realloc(NULL, BLOCK);
    int failed = fstat(fileno(f), &st) != 0;
    *h = hash_bytes(*h, (const unsigned char *)&st.st_size, failed ? 0 : sizeof st.st_size);
    size_t n;
    for (off_t at = 0; !failed && (n = fread(block, 1, BLOCK, f)) > 0;) {
        *h = hash_bytes(*h, block, n);
        at += (off_t)n;
        if (st.st_size > 2 * WHOLE_BYTES && at >= WHOLE_BYTES && at < st.st_size - WHOLE_BYTES) {
            at = st.st_size - WHOLE_BYTES;
            failed = fseeko(f, at, SEEK_SET) != 0;
        }
    }
    failed |= ferror(f);
    fclose(f);
    free(block);
    return failed ? cli_fail("%s: cannot be read: %s", path, strerror(errno)) : 0;
}

static int is_counted(const struct dirent *entry) {
    return entry->d_name[0] != '.' && strcmp(entry->d_name, "checkpoints") != 0;
}

/* Names and contents of the files in a folder of a model or of scored pairs, and in its folders down to `depth`. */
static int hash_directory(const char *dir, int depth, uint64_t *h) {
    struct dirent **entry = NULL;
    const int n = scandir(dir, &entry, is_counted, alphasort);
    if (n < 0)
        return cli_fail("%s: cannot be read: %s", dir, strerror(errno));
    int code = 0;
    for (int i = 0; i < n; i++) {
        struct stat st;
        char *path = cli_format("%s/%s", dir, entry[i]->d_name);
        if (!code && stat(path, &st) == 0 && (S_ISREG(st.st_mode) || (S_ISDIR(st.st_mode) && depth))) {
            *h = hash_bytes(*h, (const unsigned char *)entry[i]->d_name, strlen(entry[i]->d_name) + 1);
            code = S_ISREG(st.st_mode) ? hash_file(path, h) : hash_directory(path, depth - 1, h);
        }
        free(path);
        free(entry[i]);
    }
    free(entry);
    return code;
}

/* Notes for a trial the identity of a file, or of the files of a directory. CLI_GO, or 1 after reporting. */
static int note_file(const cli_experiment *e, const cli_trial *t, const char *path) {
    struct stat st;
    uint64_t h = UINT64_C(14695981039346656037);
    if (!json_object_get(e->files, path)) {
        if (stat(path, &st))
            return cli_fail("%s: %s; check the path", path, strerror(errno));
        if (S_ISDIR(st.st_mode) ? hash_directory(path, 1, &h) : S_ISREG(st.st_mode) ? hash_file(path, &h) : 0)
            return 1;
        char text[32];
        snprintf(text, sizeof text, "%016llx", (unsigned long long)h);
        json_object_set_new(e->files, path, json_string(text));
    }
    json_object_set(t->files, path, json_object_get(e->files, path));
    return CLI_GO;
}

static int note_files(const cli_experiment *e, const cli_trial *t, const cli_train_view *v, const char *model) {
    int code = note_file(e, t, model);
    for (size_t i = 0; code == CLI_GO && i < v->train->n_data; i++)
        code = note_file(e, t, v->train->data[i].path);
    if (code == CLI_GO && v->dev)
        code = note_file(e, t, v->dev);
    if (code == CLI_GO && v->train->teacher)
        code = note_file(e, t, v->train->teacher);
    for (size_t i = 0; code == CLI_GO && i < e->n_files; i++)
        code = note_file(e, t, e->file[i]);
    return code;
}

/* ---- what models are scored by */

aoe_table_options cli_score_table(const cli_train_view *v, const char *path) {
    return v->dev && strcmp(v->dev, path) == 0 ? *v->dev_table : *v->table;
}

/* That a file can be scored by, which is better known before the training. CLI_GO, or 1 after reporting. */
static int check_scores(const cli_experiment *e, const cli_train_view *v, const char *path) {
    const aoe_table_options table = cli_score_table(v, path);
    aoe_error err;
    char *key = cli_format("%s|%s|%s|%d", path, table.columns ? table.columns : "", table.label_map ? table.label_map : "",
                           table.skip_bad_rows);
    int code = CLI_GO;
    if (!json_object_get(e->plans->scored, key)) {
        json_object_set_new(e->plans->scored, key, json_true());
        if (aoe_sts_check(&path, 1, &table, &err))
            code = v->table->columns || v->table->label_map
                       ? cli_fail("%s (--columns and --label-map are for every file; for training data alone they stand behind "
                                  "it: -d FILE columns=... label-map=...)",
                                  err.message)
                       : cli_fail("%s", err.message);
    }
    free(key);
    return code;
}

static int check_all_scores(const cli_experiment *e, const cli_train_view *v) {
    int code = v->dev ? check_scores(e, v, v->dev) : CLI_GO;
    for (size_t i = 0; code == CLI_GO && i < e->n_files; i++)
        code = check_scores(e, v, e->file[i]);
    return code;
}

/* ---- memory */

static size_t count_tokens(const aoe_tokenizer *t, aoe_text text, const aoe_encode_options *o, aoe_ids *ids) {
    aoe_error err;
    return aoe_tokenizer_encode(t, text, o, ids, &err) ? 0 : ids->n;
}

/* Tokens of the longest text of a file of pairs, 0 where it is none. */
static size_t longest_text(const char *path, const aoe_table_options *table, const aoe_tokenizer *t,
                           const aoe_encode_options *o) {
    aoe_pairs *p = NULL;
    aoe_error err;
    aoe_ids ids = {0};
    size_t longest = 0;
    aoe_table_options lenient = *table;
    lenient.skip_bad_rows = lenient.allow_empty = 1;
    if (aoe_pairs_load(&p, path, &lenient, &err))
        return 0;
    for (size_t i = 0; i < 2 * aoe_pairs_count(p); i++) {
        const size_t n = count_tokens(t, i % 2 ? aoe_pairs_text2(p, i / 2) : aoe_pairs_text1(p, i / 2), o, &ids);
        longest = n > longest ? n : longest;
    }
    aoe_ids_free(&ids);
    aoe_pairs_free(p);
    return longest;
}

/* Fills longest and arity over the training files, unless the last trial had the same. */
static void measure_texts(struct cli_plans *p, const cli_train_view *v, const char *dir, const aoe_model *m) {
    aoe_model_info info;
    aoe_model_get_info(m, &info);
    char *key = cli_format("%s|%zu|%s", dir, info.max_length, info.prompt);
    for (size_t i = 0; i < v->train->n_data; i++) {
        char *longer = cli_format("%s|%s", key, v->train->data[i].path);
        free(key);
        key = longer;
    }
    if (p->texts_key && strcmp(p->texts_key, key) == 0) {
        free(key);
        return;
    }
    free(p->texts_key);
    p->texts_key = key;
    p->longest = 1;
    p->arity = 2;
    const aoe_encode_options o = {
        .struct_size = sizeof(aoe_encode_options), .max_length = info.max_length, .prompt = *info.prompt ? info.prompt : NULL};
    for (size_t i = 0; i < v->train->n_data; i++) {
        const aoe_train_data *d = &v->train->data[i];
        const int may_be_pairs = d->kind == AOE_EXAMPLES_AUTO || d->kind == AOE_EXAMPLES_PAIRS;
        size_t n = may_be_pairs && aoe_model_tokenizer(m) && !d->prompt && !d->doc_prompt
                       ? longest_text(d->path, &d->table, aoe_model_tokenizer(m), &o)
                       : 0;
        if (!n) {
            n = info.max_length;
            p->arity = d->kind == AOE_EXAMPLES_POSITIVES ? p->arity : 3;
        }
        p->longest = n > p->longest ? n : p->longest;
    }
}

static size_t data_bytes(const cli_train_view *v) {
    size_t bytes = 0;
    struct stat st;
    for (size_t i = 0; i < v->train->n_data; i++)
        if (stat(v->train->data[i].path, &st) == 0 && st.st_size > 0)
            bytes += (size_t)st.st_size;
    return bytes;
}

/* *bytes of a training with these options, or of scoring alone. CLI_GO, or 1 after reporting. */
static int plan_model(struct cli_plans *p, const cli_train_view *v, const char *dir, int untrained, size_t *bytes) {
    const aoe_train_options *t = v->train;
    cli_general g = *v->general;
    aoe_context *ctx = NULL;
    aoe_model *m = NULL;
    aoe_memory_plan plan;
    aoe_plan_options o;
    aoe_error err;
    g.threads = 1;
    if (cli_open_context(&ctx, &g))
        return 1;
    int code = CLI_GO;
    if (aoe_model_open(&m, ctx, dir, &v->model->o, &err)) {
        code = cli_fail("%s", err.message);
    } else {
        measure_texts(p, v, dir, m);
        aoe_plan_options_defaults(&o);
        const size_t examples = t->cache_chunk && t->cache_chunk < t->batch_size ? t->cache_chunk : t->batch_size;
        o.n_texts = p->arity * examples;
        o.length = p->longest;
        o.lora = t->lora;
        if (aoe_model_plan(m, &o, &plan, &err))
            code = cli_fail("%s", err.message);
        else if (untrained)
            *bytes = plan.weights + plan.packed + plan.activations;
        else
            *bytes = (t->args.recompute ? plan.training_recompute : plan.training) + (v->dev ? plan.evaluation : 0) +
                     3 * data_bytes(v);
        *bytes += PROCESS_BYTES;
    }
    aoe_model_close(m);
    aoe_context_destroy(ctx);
    return code;
}

static int plan_memory(struct cli_plans *p, const cli_train_view *v, const char *dir, int untrained, size_t *bytes) {
    const aoe_train_options *t = v->train;
    const aoe_model_options *o = &v->model->o;
    char *key = cli_format("%s|%s|%d|%d|%zu|%d|%zu|%s|%zu|%zu|%d|%zu|%d|%s|%d", dir, o->base ? o->base : "", (int)o->dtype,
                           (int)o->pooling, o->max_length, o->bidirectional, o->bidirectional_from, o->prompt ? o->prompt : "",
                           t->batch_size, t->cache_chunk, t->args.recompute, t->lora.r, t->lora.load_8bit,
                           t->lora.targets ? t->lora.targets : "", untrained);
    for (size_t i = 0; i < t->n_data; i++) {
        char *longer = cli_format("%s|%s", key, t->data[i].path);
        free(key);
        key = longer;
    }
    for (size_t i = 0; i < p->n; i++) {
        if (strcmp(p->entry[i].key, key) == 0) {
            *bytes = p->entry[i].bytes;
            free(key);
            return CLI_GO;
        }
    }
    const int code = plan_model(p, v, dir, untrained, bytes);
    p->entry = cli_realloc(p->entry, (p->n + 1) * sizeof *p->entry);
    p->entry[p->n++] = (plan_entry){key, *bytes};
    return code;
}

/* ---- all trials */

typedef struct check {
    cli_experiment *e;
    cli_trial *t;
} check;

static int look_at_trial(void *user, const cli_train_view *v) {
    check *c = user;
    char *dir = cli_find_model(v->model->dir);
    int code = dir ? note_files(c->e, c->t, v, dir) : 1;
    if (code == CLI_GO)
        code = check_all_scores(c->e, v);
    if (code == CLI_GO)
        code = plan_memory(c->e->plans, v, dir, c->t->untrained, &c->t->memory);
    free(dir);
    return code;
}

static int same_words(const cli_words *a, const cli_words *b) {
    if (a->n != b->n)
        return 0;
    for (size_t i = 0; i < a->n; i++)
        if (strcmp(a->word[i], b->word[i]) != 0)
            return 0;
    return 1;
}

/* The options first, so that bad ones can be left out; then what they name. */
static int check_trial(cli_experiment *e, size_t i, int *refused) {
    cli_trial *t = &e->trial[i];
    char message[1024];
    check c = {.e = e, .t = t};
    if (i && same_words(&t->args, &e->trial[i - 1].args) && t->untrained == e->trial[i - 1].untrained) {
        t->memory = e->trial[i - 1].memory;
        t->files = json_incref(e->trial[i - 1].files);
        return CLI_GO;
    }
    if (!cli_experiment_accepts(&t->args, 0, message, sizeof message)) {
        *refused = e->skip_refused;
        const char *why = strncmp(message, "aoe: ", 5) == 0 ? message + 5 : message;
        if (!e->skip_refused)
            return cli_message("aoe: %s: %s: %s", e->command, t->label, why), 2;
        cli_note("left out: %s: %s", t->label, why);
        return CLI_GO;
    }
    t->files = json_object();
    if (parse_caught(&t->args, look_at_trial, &c, message, sizeof message) != CLI_GO) {
        cli_message("%s", message);
        return 1;
    }
    return CLI_GO;
}

static int has_twice(const cli_experiment *e) {
    for (size_t i = 1; i < e->n; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(e->trial[i].name, e->trial[k].name) == 0)
                return cli_usage(e->command, "%s: that run stands twice; leave one out", e->trial[i].label), 1;
    return 0;
}

static size_t free_memory(void) {
    FILE *f = fopen("/proc/meminfo", "r");
    char line[256];
    unsigned long long kb = 0;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %llu kB", &kb) == 1)
            break;
    if (f)
        fclose(f);
    return (size_t)kb << 10;
}

static int check_memory(cli_experiment *e) {
    for (size_t i = 0; e->o.memory && i < e->n; i++)
        if (e->trial[i].memory > e->o.memory)
            return cli_fail("%s is planned to take %.1f MiB, more than --memory allows; give it more, or the runs a smaller "
                            "--batch-size or --max-length, --cache-chunk N or --recompute",
                            e->trial[i].label, (double)e->trial[i].memory / (1 << 20));
    if (!e->o.memory)
        e->o.memory = free_memory();
    return CLI_GO;
}

int cli_experiment_check(cli_experiment *e) {
    if (has_twice(e))
        return 2;
    e->plans = cli_realloc(NULL, sizeof *e->plans);
    *e->plans = (struct cli_plans){.scored = json_object()};
    int code = CLI_GO;
    size_t refused_seeds = 0;
    for (size_t i = 0; code == CLI_GO && i < e->n;) {
        int refused = 0;
        code = check_trial(e, i, &refused);
        if (refused) {
            cli_experiment_drop(e, i);
            refused_seeds++;
        } else {
            i++;
        }
    }
    if (code == CLI_GO && !e->n)
        code = cli_usage(e->command, "none of the %zu runs could be made", refused_seeds);
    return code == CLI_GO ? check_memory(e) : code;
}
