/* SPDX-License-Identifier: MIT
 * Implements what `aoe data annotate` and `aoe data score` have in common: options for chat models, API keys, progress,
 * output and summary.
 */
#include "cli/data/chat_job.h"
#include "options/annotate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "aoe_annotate.h"
#include "cli/data/data_tools.h"
#include "cli/common/interrupt.h"
#include "cli/common/option_rows.h"
#include "cli/common/words.h"

#define AT(field) .offset = offsetof(cli_chat, field)

enum { MAX_OWN_GROUPS = 4 };

static int parse_price(void *target, const char *text, aoe_error *err) {
    cli_price *p = target;
    char *end = NULL;
    p->in = strtod(text, &end);
    p->given = 1;
    const int one = end != text && *end == ',';
    p->out = one ? strtod(end + 1, &end) : 0;
    if (one && !*end && isfinite(p->in) && isfinite(p->out) && p->in >= 0 && p->out >= 0)
        return 0;
    err->code = AOE_EARG;
    snprintf(err->message, sizeof err->message,
             "expected IN,OUT, the prices per million prompt and completion tokens, not '%s'", text);
    return err->code;
}

static const aoei_option output_table[] = {
    CLI_OPTION_OUTPUT_FILE(AT(output), " (.tsv, .csv or .jsonl, optionally compressed as .gz or .zst)"),
    {.name = "format",
     .letter = 'f',
     .kind = AOEI_OPTION_TEXT,
     .value = "NAME",
     AT(format),
     .help = "output format: tsv, csv or jsonl",
     .fallback = "from the extension of --output, otherwise jsonl"},
};

static const aoei_option model_table[] = {
    {.name = "model",
     .letter = 'm',
     .kind = AOEI_OPTION_TEXTS,
     .value = "NAME...",
     AT(models),
     .help = "names of the chat models at the endpoint. Settings after a name apply only "
             "to this model: source= is its name in the output (default: the model name); api=, "
             "key-env= and price= have the meaning of the options with these names",
     .fallback = ""},
    {.name = "api",
     .kind = AOEI_OPTION_TEXT,
     .value = "URL",
     AT(api),
     .help = "URL of an OpenAI-compatible endpoint, for example https://host/v1; http:// is allowed "
             "only for endpoints on this machine",
     .fallback = "$OPENAI_BASE_URL"},
    {.name = "key-env",
     .kind = AOEI_OPTION_TEXT,
     .value = "NAME",
     AT(key_env),
     .help = "environment variable that holds the API key for --api",
     .fallback = "OPENAI_API_KEY, if it is set"},
    {.name = "price",
     .kind = AOEI_OPTION_NAMED,
     .value = "IN,OUT",
     AT(price),
     .parse = parse_price,
     .help = "price of one million prompt tokens (IN) and of one million completion tokens (OUT), used for --max-cost "
             "and for the reported cost",
     .fallback = "unknown; costs are not reported"},
};

/* ---- models */

enum { SETTING_SOURCE, SETTING_API, SETTING_KEY, SETTING_PRICE, SETTINGS };
static const char *const settings[SETTINGS] = {"source", "api", "key-env", "price"};

static const char *environment(const char *name) {
    const char *value = name ? getenv(name) : NULL;
    return value && *value ? value : NULL;
}

static int read_key(aoe_chat_model *m, const char *command, const char *name) {
    m->key = environment(name);
    if (m->key)
        return CLI_GO;
    if (cli_env_name_shown(name) != name)
        return cli_usage(
            command,
            "%s: key-env= does not name an environment variable that is set; export the API key and give the "
            "variable's name",
            m->name);
    return cli_usage(command, "%s: environment variable %s is not set; set it to the API key", m->name, name);
}

static int unknown_setting(const aoe_chat_model *m, const char *command, const char *text, size_t n) {
    const int shown = n > 0 && n < 20 &&
                      strspn(text, "abcdefghijklmnopqrstuvwxyz-_") >=
                          n; /* a longer text, or a text with other characters, may be an API key and is not printed */
    return cli_usage(command, "%s: unknown setting%s%.*s%s; choose source=, api=, key-env= or price=", m->name,
                     shown ? " '" : "", shown ? (int)n + 1 : 0, text, shown ? "'" : "");
}

static int read_setting(aoe_chat_model *m, const char *command, const char *text) {
    const size_t n = strcspn(text, "=");
    const char *value = text + n + 1;
    size_t i = 0;
    while (i < SETTINGS && (strlen(settings[i]) != n || strncmp(settings[i], text, n) != 0))
        i++;
    if (i < SETTINGS && !*value)
        return cli_usage(command, "%s: setting '%s' has no value", m->name, text);
    switch (i) {
    case SETTING_SOURCE:
        m->source = value;
        break;
    case SETTING_API: /* if a model has its own endpoint, the common API key is not sent to this endpoint */
        m->api = value;
        break;
    case SETTING_KEY:
        return read_key(m, command, value);
    case SETTING_PRICE: {
        cli_price p;
        aoe_error err;
        if (parse_price(&p, value, &err))
            return cli_usage(command, "%s: price=: %s", m->name, err.message);
        m->price_in = p.in;
        m->price_out = p.out;
        m->costs_nothing = p.in == 0 && p.out == 0;
        break;
    }
    default:
        return unknown_setting(m, command, text, n);
    }
    return CLI_GO;
}

static int read_models(cli_chat *c, const char *command) {
    int code = CLI_GO;
    size_t n = 0;
    c->model = cli_realloc(NULL, (c->models.n + 1) * sizeof *c->model);
    for (size_t i = 0; i < c->models.n && code == CLI_GO; i++) {
        const char *text = c->models.item[i];
        if (n && strchr(text, '='))
            code = read_setting(&c->model[n - 1], command, text);
        else
            c->model[n++] = (aoe_chat_model){.struct_size = sizeof(aoe_chat_model),
                                             .name = text,
                                             .price_in = c->price.in,
                                             .price_out = c->price.out,
                                             .costs_nothing = c->price.given && c->price.in == 0 && c->price.out == 0};
    }
    if (code == CLI_GO && !n)
        code = cli_usage(command, "missing chat model: --model NAME");
    const char *key = environment(c->key_env ? c->key_env : "OPENAI_API_KEY");
    if (code == CLI_GO && c->key_env && !key)
        code = cli_usage(
            command, "--key-env: environment variable %s is not set; set it to the API key, or leave out the option",
            cli_env_name_shown(c->key_env));
    const char *api = c->api ? c->api : environment("OPENAI_BASE_URL");
    for (size_t i = 0; i < n && code == CLI_GO; i++) {
        aoe_chat_model *m = &c->model[i];
        if (!m->api && !api)
            code = cli_usage(command, "missing endpoint: --api URL or $OPENAI_BASE_URL");
        if (!m->api && !m->key)
            m->key = key;
        m->api = m->api ? m->api : api;
    }
    c->o.models = c->model;
    c->o.n_models = n;
    return code;
}

/* ---- output */

static int name_output(cli_chat *c, const char *command) {
    static const char *const formats[] = {"tsv", "csv", "jsonl", NULL};
    const char *end = c->to_stdout ? ".jsonl" : cli_table_end(c->output);
    aoe_error err;
    if (c->format && !formats[aoei_choose(formats, c->format, "format", &err)])
        return cli_usage(command, "--format: %s", err.message);
    if (c->format) {
        const char *packed = strchr(*end ? end + 1 : end, '.');
        c->name = cli_format("rows.%s%s", c->format, packed ? packed : "");
        return CLI_GO;
    }
    if (!*end || strncmp(end, ".txt", 4) == 0)
        return cli_usage(command,
                         "%s: unknown extension; use .tsv, .csv or .jsonl, optionally followed by .gz or .zst, or give "
                         "--format",
                         c->output);
    c->name = cli_format("rows%s", end);
    return CLI_GO;
}

static int show_progress(void *user, const aoe_chat_progress *p) {
    cli_chat *c = user;
    const int stop = cli_interrupted() != 0;
    c->done = p->done;
    if (stop && !c->told) {
        c->told = 1;
        cli_note("waiting for requests in progress, which are already charged; press Ctrl-C again to stop immediately");
    }
    if (!c->progress.active && p->total)
        cli_progress_begin(&c->progress, "asking", "calls", 0);
    char extra[160];
    int n = snprintf(extra, sizeof extra, "%.0f tokens", p->prompt_tokens + p->completion_tokens);
    if (p->cost > 0)
        n += snprintf(extra + n, sizeof extra - (size_t)n, ", cost %.4f", p->cost);
    if (p->state == AOE_CHAT_WAIT)
        snprintf(extra + n, sizeof extra - (size_t)n, "; %.80s: %.0f s", p->why, p->seconds);
    cli_progress_update(&c->progress, p->done, p->total, NULL, -1, extra);
    return stop;
}

static int show_prompt(void *user, const aoe_chat_model *model, aoe_text prompt) {
    cli_chat *c = user;
    if (c->shown)
        json_array_append_new(c->shown, cli_json_text(prompt.data, prompt.len));
    else
        printf("prompt for %s:\n%.*s\n\n", model->name, (int)prompt.len, prompt.data);
    return ++c->prompts >= c->most_prompts;
}

/* Checks the options and sets the fields that depend on several options. Returns CLI_GO, or the exit code after
 * reporting a usage error. */
static int prepare(cli_chat *c, const char *command) {
    int code = read_models(c, command);
    c->to_stdout = cli_is_stdout(c->output);
    if (code == CLI_GO)
        code = name_output(c, command);
    if (code == CLI_GO)
        code = cli_check_summary(command, c->general.json && !c->o.dry_run, c->output, "rows");
    if (code != CLI_GO)
        return code;
    if (!c->o.cache && !c->to_stdout)
        c->o.cache = c->cache = cli_format("%s.sqlite", c->output);
    if (!c->o.cache && !c->o.dry_run)
        return cli_usage(command, "rows on stdout require a file for the responses: --cache FILE");
    if (c->general.json && c->o.dry_run)
        c->shown = json_array();
    if (c->o.dry_run && c->cache) { /* a dry run uses the cache only if it exists */
        FILE *f = fopen(c->cache, "rb");
        c->o.cache = f ? c->cache : NULL;
        if (f)
            fclose(f);
    }
    c->o.progress = show_progress;
    c->o.prompt = show_prompt;
    c->o.user = c;
    return CLI_GO;
}

/* Checks that the output file can be written and that it is neither an input file nor the cache. Returns 0, or 1 after
 * reporting the error. */
static int try_output(cli_chat *c, const cli_args *args) {
    if (cli_reject_input(c->output, args->operand, args->n))
        return 1;
    if (!c->to_stdout && cli_is_same_file(c->output, c->o.cache))
        return cli_fail("%s is the cache and would be overwritten; choose another output with -o", c->output);
    if (cli_file_open(&c->file, c->output))
        return 1;
    cli_file_abort(&c->file);
    return 0;
}

int cli_chat_write(void *user, size_t part, const char *data, size_t len) {
    cli_chat *c = user;
    (void)part;
    if (!c->file.file && cli_file_open(&c->file, c->output))
        return 1;
    if (fwrite(data, 1, len, c->file.file) == len)
        return 0;
    if (c->to_stdout)
        cli_flush_stdout(); /* records the error, so that cli_stdout_closed works */
    return 1;
}

/* ---- summary */

int cli_chat_fail(cli_chat *c, int code, const aoe_chat_result *r, const aoe_error *err) {
    cli_progress_end(&c->progress);
    if (code == AOE_ECANCELLED && cli_interrupted()) {
        cli_message("aoe: stopped; %zu responses are stored in %s; run the same command to continue",
                    r->kept + r->asked, c->o.cache ? c->o.cache : "no file");
        return 128 + cli_interrupted();
    }
    if (code == AOE_ECANCELLED && (!c->file.file || cli_file_check(&c->file)))
        return 1; /* writing the output failed; the error was reported */
    if (r->asked)
        cli_note("%zu responses are stored in %s", r->kept + r->asked, c->o.cache);
    return cli_fail("%s", err->message);
}

void cli_chat_warn(cli_chat *c, const aoe_chat_result *r, size_t skipped) {
    cli_progress_end(&c->progress);
    cli_warn_skipped(NULL, skipped);
    if (r->failed)
        cli_warn("%zu request%s failed and %s skipped; run the same command to send them again", r->failed,
                 cli_plural(r->failed), r->failed == 1 ? "was" : "were");
    if (r->left && !c->o.dry_run)
        cli_warn("the limit of --max-cost or --max-total-tokens is reached: %zu of %zu requests were not sent; run "
                 "the same command to continue",
                 r->left, r->calls);
    if (r->refused)
        cli_note("%zu response%s", r->refused, r->refused == 1 ? " is a refusal" : "s are refusals");
    if (r->unreadable)
        cli_note("%zu response%s could not be read", r->unreadable, cli_plural(r->unreadable));
}

static size_t without_price(const cli_chat *c) {
    size_t n = 0;
    for (size_t i = 0; i < c->o.n_models; i++)
        n += c->model[i].price_in == 0 && c->model[i].price_out == 0 && !c->model[i].costs_nothing;
    return n;
}

/* Prints the number of calls and their cost. */
static void print_calls(const cli_chat *c, const aoe_chat_result *r) {
    char text[512];
    int n = snprintf(text, sizeof text, "%zu call%s: ", r->calls, cli_plural(r->calls));
    if (c->o.dry_run) {
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "%zu to send, %zu cached; about %.0f prompt tokens and %.0f completion tokens", r->left, r->kept,
                      r->left_prompt_tokens, r->left_completion_tokens);
        if (r->left_cost > 0)
            n += snprintf(text + n, sizeof text - (size_t)n, ", cost about %.4f", r->left_cost);
        if (r->left_cost > 0 && isfinite(r->left_most))
            snprintf(text + n, sizeof text - (size_t)n, " (at most %.4f)", r->left_most);
    } else {
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "%zu sent, %zu cached; %.0f prompt tokens and %.0f completion tokens", r->asked, r->kept,
                      r->prompt_tokens, r->completion_tokens);
        if (r->cost > 0)
            n += snprintf(text + n, sizeof text - (size_t)n, ", cost %.4f", r->cost);
        if (r->cost > 0 && without_price(c))
            snprintf(text + n, sizeof text - (size_t)n, " (without %zu model%s of unknown price)", without_price(c),
                     cli_plural(without_price(c)));
    }
    cli_summary(c->to_stdout && !c->o.dry_run, "%s", text);
}

/* Adds the number of calls and their cost to the JSON object o. Returns 0, or -1 if memory allocation failed. */
static int add_calls(const cli_chat *c, json_t *o, const aoe_chat_result *r) {
    json_t *more =
        json_pack("{s:I,s:I,s:I,s:I,s:I,s:I,s:I,s:f,s:f,s:f}", "calls", (json_int_t)r->calls, "asked",
                  (json_int_t)r->asked, "kept", (json_int_t)r->kept, "failed", (json_int_t)r->failed, "left",
                  (json_int_t)r->left, "refused", (json_int_t)r->refused, "unreadable", (json_int_t)r->unreadable,
                  "prompt_tokens", r->prompt_tokens, "completion_tokens", r->completion_tokens, "cost", r->cost);
    int bad = !more || json_object_update(o, more);
    json_decref(more);
    if (c->o.dry_run && !bad) {
        more = json_pack("{s:f,s:f,s:f,s:o,s:O}", "left_prompt_tokens", r->left_prompt_tokens, "left_completion_tokens",
                         r->left_completion_tokens, "left_cost", r->left_cost, "left_most", cli_json_real(r->left_most),
                         "prompts", c->shown);
        bad = !more || json_object_update(o, more);
        json_decref(more);
    }
    return bad ? -1 : 0;
}

int cli_chat_finish(cli_chat *c, const aoe_chat_result *r, const char *rows, json_t *line) {
    const int code = c->o.dry_run ? 0 : cli_file_commit(&c->file);
    if (!code && !c->general.json) {
        if (!c->o.dry_run)
            cli_summary(c->to_stdout, "%s", rows);
        print_calls(c, r);
    }
    if (code || !c->general.json || (line && add_calls(c, line, r))) {
        json_decref(line);
        line = NULL;
    }
    if (!code && c->general.json)
        cli_print_json(line);
    return code;
}

/* ---- the command */

static int run(cli_chat *c, const cli_chat_command *command, const cli_args *args) {
    int code = command->check(command->own);
    if (code == CLI_GO)
        code = prepare(c, command->command);
    if (code != CLI_GO)
        return code;
    cli_set_quiet(c->general.quiet);
    c->o.seed = c->general.seed;
    if (!c->o.dry_run && try_output(c, args))
        return 1;
    cli_watch_interrupts();
    return command->run(command->own, c, args);
}

int cli_chat_run(cli_chat *c, const cli_chat_command *command, int argc, char **argv) {
    cli_group groups[MAX_OWN_GROUPS + 6], *next = groups;
    *next++ = (cli_group)CLI_GROUP("output", output_table, c);
    *next++ = (cli_group)CLI_LIBRARY_GROUP(&aoei_chat_output_rows, &c->o);
    for (size_t i = 0; i < command->n_groups; i++)
        *next++ = command->groups[i];
    *next++ = (cli_group)CLI_GROUP("models", model_table, c);
    *next++ = (cli_group)CLI_LIBRARY_GROUP(&aoei_chat_models_rows, &c->o);
    *next++ = (cli_group)CLI_LIBRARY_GROUP(&aoei_chat_calls_rows, &c->o);
    *next++ = (cli_group)CLI_GROUP("general", cli_general_table, &c->general);
    const cli_syntax syntax = {
        .command = command->command,
        .operands = command->operands,
        .about = command->about,
        .examples = command->examples,
        .groups = groups,
        .n_groups = (size_t)(next - groups),
        .min_operands = 1,
        .max_operands = command->max_operands,
    };
    cli_args args;
    cli_general_defaults(&c->general);
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO)
        code = run(c, command, &args);
    cli_progress_end(&c->progress);
    cli_file_abort(&c->file);
    json_decref(c->shown);
    free(c->model);
    free(c->cache);
    free(c->name);
    cli_args_free(&args);
    return code;
}
