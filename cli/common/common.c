/* SPDX-License-Identifier: MIT
 * Code that several commands use: option tables, the default model, opening and closing of models, and messages.
 */
#include "aoe_data.h"
#include "aoe_train.h"
#include "cli/common/option_rows.h"
#include "cli/common/common.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define AT(type, field) .offset = offsetof(type, field)

const aoei_option cli_general_table[CLI_SEEDED_COUNT] = {
    {.name = "threads",
     .letter = 't',
     .kind = AOEI_OPTION_SIZE,
     AT(cli_general, threads),
     .min = 1,
     .max = 1024,
     .help = "number of threads",
     .fallback = "all CPUs available to the process"},
    {.name = "quiet",
     .letter = 'q',
     .kind = AOEI_OPTION_FLAG,
     AT(cli_general, quiet),
     .help = "do not print progress and notes to stderr"},
    {.name = "json",
     .kind = AOEI_OPTION_FLAG,
     AT(cli_general, json),
     .help = "print results as JSON, one object per line"},
    {.name = "seed", .kind = AOEI_OPTION_SEED, AT(cli_general, seed), .help = "random seed"},
};

const aoei_option cli_model_table[CLI_MODEL_COUNT] = {
    CLI_OPTION_MODEL_DIR(CLI_DEFAULT_MODEL),
    {.name = "verbose",
     .letter = 'v',
     .kind = AOEI_OPTION_FLAG,
     AT(cli_model_options, verbose),
     .help = "print the pooling, the data type and the CPU tier to stderr; evaluations always print them, and other "
             "commands if the model directory does not specify the pooling"},
};

void cli_set_table_log(void *base) {
    aoe_table_options *o = base;
    o->log = cli_log_once;
}

void cli_general_defaults(cli_general *g) {
    memset(g, 0, sizeof *g);
    g->seed = 42;
}

void cli_model_defaults(cli_model_options *m) {
    memset(m, 0, sizeof *m);
    aoe_model_options_defaults(&m->o);
    aoe_embedder_options_defaults(&m->embedder);
}

char *cli_find_model(const char *given) {
    char usual[PATH_MAX], dir[PATH_MAX];
    aoe_error err;
    if (!given || !*given)
        given = aoe_default_model(usual, sizeof usual, &err) ? NULL : usual;
    if (given && !aoe_model_find(dir, sizeof dir, given, &err))
        return cli_strdup(dir);
    cli_fail("%s", err.message);
    return NULL;
}

static void log_message(void *user, aoe_log_level level, const char *message) {
    (void)user;
    if (level == AOE_LOG_WARNING)
        cli_warn("%s", message);
    else
        cli_note("%s", message);
}

int cli_open_context(aoe_context **ctx, const cli_general *g) {
    aoe_context_options o;
    aoe_error err;
    aoe_context_options_defaults(&o);
    if (g->threads)
        o.threads = g->threads;
    o.log = log_message;
    return aoe_context_create(ctx, &o, &err) ? cli_fail("%s", err.message) : 0;
}

void cli_select_prompt(cli_model_options *m, const char *name) {
    if (m->o.prompt || m->o.prompt_name)
        return;
    m->o.prompt_name = name;
    m->o.prompt_optional = 1;
}

int cli_select_doc_prompt(cli_model_options *m, const char *doc_prompt) {
    static const char mark[] = "{text}";
    const char *at = doc_prompt ? strstr(doc_prompt, mark) : NULL;
    if (doc_prompt && *doc_prompt && (!at || strstr(at + 1, mark)))
        return cli_fail("--doc-prompt \"%.80s\" %s; write {text} exactly once, at the position of the text", doc_prompt,
                        at ? "contains {text} more than once" : "does not contain {text}");
    m->o.prompt = doc_prompt;
    m->o.prompt_name = NULL;
    cli_select_prompt(m, "document");
    return 0;
}

void cli_note_prompt(const char *texts, const aoe_model *m, const char *prompt) {
    aoe_model_info info = {.struct_size = sizeof info};
    aoe_model_get_info(m, &info);
    prompt = prompt ? prompt : info.prompt;
    cli_note("prompt of the %s: %s", texts, *prompt && strcmp(prompt, "{text}") != 0 ? prompt : "none");
}

/* Warns if the user has selected a prompt by its name, but the model directory contains no prompts. Like in
 * sentence-transformers, every model has the prompts query and document, which are empty by default. */
static void warn_prompt_name(const cli_session *s, const cli_model_options *m) {
    const char *name;
    if (!m->o.prompt_name || m->o.prompt_optional)
        return;
    for (size_t i = 0; (name = aoe_model_prompt_name(s->model, i)) != NULL; i++) {
        const char *prompt = aoe_model_prompt(s->model, name);
        if (prompt && *prompt)
            return;
    }
    cli_warn(
        "%s: the model directory contains no prompts, so --prompt-name %s has no effect; if the texts need a prompt, "
        "set it with --prompt",
        s->dir, m->o.prompt_name);
}

int cli_session_open(cli_session *s, const cli_general *g, const cli_model_options *m) {
    aoe_error err;
    memset(s, 0, sizeof *s);
    s->verbose = m->verbose;
    s->dir = cli_find_model(m->dir);
    if (!s->dir || cli_open_context(&s->ctx, g))
        return 1;
    if (aoe_model_open(&s->model, s->ctx, s->dir, &m->o, &err) ||
        aoe_embedder_create(&s->embedder, s->model, &m->embedder, &err))
        return cli_fail("%s", err.message);
    warn_prompt_name(s, m);
    if (!aoe_model_classes(s->model) && aoe_model_is_cross_encoder(s->model))
        cli_warn("%s: the model is a cross-encoder, whose classification head has no effect on embeddings; score text "
                 "pairs with aoe rerank",
                 s->dir);
    return 0;
}

void cli_session_describe(const cli_session *s, int always) {
    char text[512];
    aoe_model_info info = {.struct_size = sizeof info};
    aoe_model_get_info(s->model, &info);
    if (!always && !s->verbose && strcmp(info.pooling_from, "default") != 0)
        return;
    aoe_model_describe(s->model, text, sizeof text);
    cli_note("%s", text);
}

void cli_session_warn_similarity(const cli_session *s, const char *option) {
    aoe_model_info info = {.struct_size = sizeof info};
    aoe_model_get_info(s->model, &info);
    if (!info.normalize && strcmp(info.similarity, "cosine") != 0)
        cli_warn(
            "%s: similarity_fn_name of the model is %s, but cosine similarities are computed; sentence-transformers "
            "may rank texts differently%s%s%s%s",
            s->dir, info.similarity, option ? "; set " : "", option ? option : "", option ? " " : "",
            option ? info.similarity : "");
}

int cli_session_find_class(size_t *index, const cli_session *s, const char *name) {
    const size_t classes = aoe_model_classes(s->model);
    char *end = NULL;
    for (size_t k = 0; k < classes; k++) {
        const char *label = aoe_model_class_name(s->model, k);
        if (label && !strcmp(label, name)) {
            *index = k;
            return 0;
        }
    }
    const unsigned long k = *name >= '0' && *name <= '9' ? strtoul(name, &end, 10) : classes;
    if (k >= classes || *end)
        return cli_fail(
            "%s: the model has no output '%s'; give a number from 0 to %zu with --class, or a name in id2label of "
            "config.json",
            s->dir, name, classes - 1);
    *index = k;
    return 0;
}

void cli_session_close(cli_session *s) {
    aoe_embedder_destroy(s->embedder);
    aoe_model_close(s->model);
    aoe_context_destroy(s->ctx);
    free(s->dir);
    memset(s, 0, sizeof *s);
}

void cli_warn_skipped(const char *path, size_t n) {
    if (n)
        cli_warn("%s%sskipped %zu bad row%s", path ? path : "", path ? ": " : "", n, cli_plural(n));
}

void cli_warn_truncated(const aoe_model *m, const char *unit, size_t n, size_t total, int chunk) {
    aoe_model_info info = {.struct_size = sizeof info};
    char of[32] = "";
    if (!n)
        return;
    aoe_model_get_info(m, &info);
    const int can_grow = info.max_length < info.longest;
    if (total)
        snprintf(of, sizeof of, " of %zu", total);
    cli_warn("%zu%s %s%s truncated to the maximum sequence length%s%s%s", n, of, unit,
             total == 1 || (!total && n == 1) ? " was"
             : n == 1                         ? "s was"
                                              : "s were",
             can_grow ? "; set --max-length" : " of the model", chunk ? can_grow ? ", or " : "; " : "",
             chunk ? "use all tokens with --chunk mean" : "");
}

const char *cli_plural(size_t n) {
    return n == 1 ? "" : "s";
}

const char *cli_env_name_shown(const char *name) {
    const size_t n = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return n && !name[n] ? name : "(name not shown)";
}
