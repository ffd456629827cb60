/* SPDX-License-Identifier: MIT
 * Implements `aoe serve`, an HTTP server for embeddings, reranking and search. The main thread waits for signals:
 * SIGTERM and SIGINT stop the server after the requests in flight, and SIGHUP opens the models and indexes anew.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <aoe_serve.h>

#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"

enum {
    STOP_SECONDS = 30,         /* time that requests in flight have after a signal */
    MAX_DESCRIPTION = 1 << 18, /* bytes of the resolved configuration */
    LARGE_BLOCK = 1 << 20,     /* see set_allocator */
    KEPT_MEMORY = 4 << 20      /* bytes of unused memory that the allocator keeps at the end of a heap */
};

typedef struct options {
    cli_general general;
    aoe_serve_options serve;
    aoei_text_list models, indexes, allow_hosts;
    int no_truncate;
    int check;
    size_t cache_mb, answer_mb;
} options;

static const aoei_option what_table[] = {
    {.name = "model",
     .letter = 'm',
     .kind = AOEI_OPTION_LIST,
     .value = "NAME=MODEL",
     .offset = offsetof(options, models),
     .help =
         "model directory, or name on the Hugging Face Hub, with the name that requests use (default: the last part "
         "of the path); the first model is the default, others are opened at their first request; repeatable",
     .fallback = "$AOE_MODEL, else the model installed with aoe"},
    {.name = "index",
     .letter = 'i',
     .kind = AOEI_OPTION_LIST,
     .value = "NAME=DIR",
     .offset = offsetof(options, indexes),
     .help = "directory of an index (aoe index) that requests may search; repeatable",
     .fallback = ""},
    {.name = "writable",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, serve.writable),
     .help = "allow requests to add documents to indexes and to remove them"},
    {.name = "dtype",
     .kind = AOEI_OPTION_CHOICE,
     .offset = offsetof(options, serve.dtype),
     .choices = AOEI_CHOICES("auto", "f32", "bf16", "int8"),
     .noun = "data type",
     .help = "data type of activations: auto, f32, bf16 or int8"},
    {.name = "no-truncate",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, no_truncate),
     .help = "answer with an error if a text is longer than the maximum sequence length, unless the request says "
             "otherwise"},
    {.name = "allow-token-ids",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, serve.allow_token_ids),
     .help = "accept token ids of the model's tokenizer on the routes of OpenAI"},
};

static const aoei_option where_table[] = {
    {.name = "host",
     .kind = AOEI_OPTION_TEXT,
     .value = "ADDRESS",
     .offset = offsetof(options, serve.host),
     .help = "address to listen on; '*' listens on every address"},
    {.name = "port",
     .letter = 'p',
     .kind = AOEI_OPTION_SIZE,
     .max = 65535,
     .offset = offsetof(options, serve.port),
     .help = "port to listen on; 0 chooses a free port"},
    {.name = "tls-cert",
     .kind = AOEI_OPTION_TEXT,
     .value = "FILE",
     .offset = offsetof(options, serve.tls_cert),
     .help = "PEM file of the certificate chain, for HTTPS"},
    {.name = "tls-key",
     .kind = AOEI_OPTION_TEXT,
     .value = "FILE",
     .offset = offsetof(options, serve.tls_key),
     .help = "PEM file of the key of the certificate"},
    {.name = "api-key-file",
     .kind = AOEI_OPTION_TEXT,
     .value = "FILE",
     .offset = offsetof(options, serve.api_key_file),
     .help = "file with the key that requests need (Authorization: Bearer KEY)"},
    {.name = "allow-host",
     .kind = AOEI_OPTION_LIST,
     .value = "NAME",
     .offset = offsetof(options, allow_hosts),
     .help = "further name under which clients reach the server, such as that of a proxy; repeatable"},
    {.name = "cors-origin",
     .kind = AOEI_OPTION_TEXT,
     .value = "ORIGIN",
     .offset = offsetof(options, serve.cors_origin),
     .help = "origin whose web pages may send requests, such as https://example.org"},
    {.name = "access-log",
     .kind = AOEI_OPTION_TEXT,
     .value = "FILE",
     .offset = offsetof(options, serve.access_log),
     .help = "append one line of JSON per request to this file ('-': stdout); texts are never logged"},
    {.name = "systemd",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, serve.systemd),
     .help = "use the socket that systemd passes, if there is one, and report the state to systemd"},
};

static const aoei_option limit_table[] = {
    {.name = "max-batch-tokens",
     .kind = AOEI_OPTION_SIZE,
     .min = 1,
     .offset = offsetof(options, serve.max_batch_tokens),
     .help = "tokens that are computed in one batch"},
    {.name = "max-client-batch-size",
     .kind = AOEI_OPTION_SIZE,
     .min = 1,
     .offset = offsetof(options, serve.max_texts),
     .help = "texts of a request on the routes of text-embeddings-inference"},
    {.name = "max-list",
     .kind = AOEI_OPTION_SIZE,
     .min = 1,
     .offset = offsetof(options, serve.max_list),
     .help = "texts of a request on the other routes"},
    {.name = "max-request-tokens",
     .kind = AOEI_OPTION_SIZE,
     .min = 1,
     .offset = offsetof(options, serve.max_request_tokens),
     .help = "tokens of a request on the other routes"},
    {.name = "max-concurrent-requests",
     .kind = AOEI_OPTION_SIZE,
     .min = 1,
     .offset = offsetof(options, serve.max_requests),
     .help = "requests at the same time; further requests get the status 429"},
    {.name = "max-connections",
     .kind = AOEI_OPTION_SIZE,
     .min = 1,
     .offset = offsetof(options, serve.max_connections),
     .help = "open connections; further ones wait"},
    {.name = "payload-limit",
     .kind = AOEI_OPTION_SIZE,
     .min = 1,
     .offset = offsetof(options, serve.max_body),
     .help = "bytes of the body of a request"},
    {.name = "cache-mb",
     .kind = AOEI_OPTION_SIZE,
     .max = 1 << 20,
     .offset = offsetof(options, cache_mb),
     .help = "MiB for the embeddings of recent texts; 0: none"},
    {.name = "answer-mb",
     .kind = AOEI_OPTION_SIZE,
     .min = 1,
     .max = 1 << 20,
     .offset = offsetof(options, answer_mb),
     .help = "MiB for the results of requests in progress and for answers that clients have not read"},
    {.name = "header-timeout",
     .kind = AOEI_OPTION_SIZE,
     .min = 1,
     .max = 86400,
     .offset = offsetof(options, serve.header_timeout),
     .help = "seconds that the headers of a request may take"},
    {.name = "body-timeout",
     .kind = AOEI_OPTION_SIZE,
     .min = 1,
     .max = 86400,
     .offset = offsetof(options, serve.body_timeout),
     .help = "seconds that the body of a request may take"},
    {.name = "idle-timeout",
     .kind = AOEI_OPTION_SIZE,
     .min = 1,
     .max = 86400,
     .offset = offsetof(options, serve.idle_timeout),
     .help = "seconds after which an idle connection is closed"},
};

static const aoei_option check_table[] = {
    {.name = "check",
     .kind = AOEI_OPTION_FLAG,
     .offset = offsetof(options, check),
     .help = "open all models and indexes, print the resolved configuration as JSON, and exit"},
};

static int check(const aoe_serve_options *o) {
    aoe_error err;
    char *text = cli_calloc(1, MAX_DESCRIPTION);
    int code = aoe_server_check(o, text, MAX_DESCRIPTION, &err);
    if (code)
        code = cli_fail("%s", err.message);
    else
        puts(text);
    free(text);
    return code;
}

/* Waits for signals until one of them stops the server. Returns the exit code. */
static int wait_for_signals(aoe_server *server, const sigset_t *set) {
    aoe_error err;
    for (;;) {
        int number = 0;
        if (sigwait(set, &number))
            continue;
        if (number == SIGHUP) {
            cli_note("opening the models and indexes anew");
            if (aoe_server_reload(server, &err))
                cli_warn("the old models and indexes remain in use: %s", err.message);
            continue;
        }
        cli_note("finishing the requests in flight; a second signal ends the program at once");
        sigset_t ends = *set;
        sigdelset(&ends, SIGHUP); /* has no effect any more */
        pthread_sigmask(SIG_UNBLOCK, &ends, NULL);
        return aoe_server_stop(server, STOP_SECONDS)
                   ? cli_fail("some requests were not finished within %d seconds", STOP_SECONDS)
                   : 0;
    }
}

/* Lets blocks of at least LARGE_BLOCK bytes be mapped separately, so that their memory is returned when they are freed.
 * By default, glibc raises this limit to 32 MiB when large blocks are freed. The weights of models then share heaps
 * with small blocks, and after each reload, more of the memory of the old models would stay allocated. */
static void set_allocator(void) {
#ifdef __GLIBC__
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BLOCK);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT_MEMORY);
#endif
}

static int serve(const options *o) {
    aoe_server *server;
    aoe_error err;
    sigset_t set;
    set_allocator();
    /* blocked before threads are created, which inherit the mask, so that only sigwait receives the signals */
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (aoe_server_start(&server, &o->serve, &err))
        return cli_fail("%s", err.message);
    if (o->general.json) {
        cli_print_json(
            json_pack("{s:s,s:I}", "address", aoe_server_address(server), "port", (json_int_t)aoe_server_port(server)));
        fflush(stdout);
    } else
        cli_note("listening on %s; press Ctrl-C to stop", aoe_server_address(server));
    return wait_for_signals(server, &set);
}

static int run(options *o) {
    aoe_serve_options *s = &o->serve;
    char *found = NULL;
    const char *list[1];
    if (!o->models.n) {
        if (!(found = cli_find_model(NULL)))
            return 1;
        list[0] = found;
        o->models = (aoei_text_list){list, 1};
    }
    s->models = o->models.item;
    s->n_models = o->models.n;
    s->indexes = o->indexes.item;
    s->n_indexes = o->indexes.n;
    s->allow_hosts = o->allow_hosts.item;
    s->n_allow_hosts = o->allow_hosts.n;
    s->cache_bytes = o->cache_mb << 20;
    s->answer_bytes = o->answer_mb << 20;
    s->truncate = !o->no_truncate;
    s->threads = o->general.threads ? o->general.threads : AOE_AUTO;
    s->log = cli_log_once;
    const int code = o->check ? check(s) : serve(o);
    free(found);
    return code;
}

static int run_command(int argc, char **argv) {
    options o = {0};
    cli_general_defaults(&o.general);
    aoe_serve_options_defaults(&o.serve);
    o.cache_mb = o.serve.cache_bytes >> 20;
    o.answer_mb = o.serve.answer_bytes >> 20;
    const cli_group groups[] = {
        CLI_GROUP("models and indexes", what_table, &o),
        CLI_GROUP("connections", where_table, &o),
        CLI_GROUP("limits", limit_table, &o),
        CLI_GROUP("check", check_table, &o),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.general),
    };
    const cli_syntax syntax = {
        .command = "serve",
        .operands = "",
        .about =
            "Serves embeddings, reranking and search over HTTP, for clients of text-embeddings-inference, OpenAI,\n"
            "Jina, Cohere and ollama: only the URL changes. A web page is at /. docs/serve.md describes the\n"
            "routes, the limits and the metrics. SIGHUP opens the models and indexes anew without losing a\n"
            "request, and SIGTERM stops the server after the requests in flight.\n",
        .examples =
            "  aoe serve\n"
            "  aoe serve -m sentence-transformers/all-MiniLM-L6-v2 --port 8081\n"
            "  aoe serve -i notes=notes/.aoe-index\n"
            "  curl http://127.0.0.1:8080/embed -H 'Content-Type: application/json' -d '{\"inputs\": \"a text\"}'"
            "\n",
        CLI_GROUPS(groups),
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO) {
        cli_set_quiet(o.general.quiet);
        code = run(&o);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_serve_command = {
    .name = "serve",
    .summary = "serve embeddings, reranking and search over HTTP",
    .run = run_command,
};
