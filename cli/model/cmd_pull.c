/* SPDX-License-Identifier: MIT
 * `aoe pull`: downloads models from the Hugging Face Hub into the cache on this machine.
 */
#include "aoe_hub.h"
#include "base/clock.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/interrupt.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"

#include <stdio.h>
#include <string.h>

typedef struct job {
    cli_general general;
    cli_progress progress;
    uint64_t first; /* bytes that were on disk when the progress display began */
    double start;   /* time in seconds when the progress display began */
    int shown;      /* 1: the progress display of the current model has begun */
} job;

static double mib(uint64_t bytes) {
    return (double)bytes / 0x1p20;
}

static void show_plan(void *user, const char *model, size_t files, uint64_t bytes, uint64_t missing) {
    job *j = user;
    cli_progress_end(&j->progress);
    j->shown = 0;
    if (missing)
        cli_note("%s: %zu files, %.1f MiB; %.1f MiB to download", model, files, mib(bytes), mib(missing));
    else
        cli_note("%s: %zu files, %.1f MiB, already in the cache", model, files, mib(bytes));
}

static void show_progress(void *user, const aoe_hub_progress *p) {
    job *j = user;
    char rate[48] = "", extra[300];
    if (!p->total)
        return; /* the configuration files are small */
    if (!j->shown) {
        cli_progress_begin(&j->progress, "downloading", "MiB", (size_t)(p->done >> 20));
        j->first = p->done;
        j->start = aoei_now();
        j->shown = 1;
    }
    const double seconds = aoei_now() - j->start;
    if (seconds > 0 && p->done >= j->first)
        snprintf(rate, sizeof rate, "%.1f MiB/s", mib(p->done - j->first) / seconds);
    if (p->waiting > 0)
        snprintf(extra, sizeof extra, "waiting %.0f s  %.200s", p->waiting, p->why);
    else
        snprintf(extra, sizeof extra, "%.200s", p->file);
    cli_progress_update(&j->progress, (size_t)(p->done >> 20), (size_t)(p->total >> 20), rate, -1, extra);
}

static int asked_to_stop(void *user) {
    (void)user;
    return cli_interrupted();
}

static void print_result(const char *name, const aoe_hub_result *r, int json) {
    if (!json) {
        printf("%s\n", r->dir);
        return;
    }
    cli_print_json(json_pack("{s:s,s:s,s:o,s:I,s:I,s:I}", "name", name, "commit", r->commit, "directory",
                             cli_json_text(r->dir, strlen(r->dir)), "files", (json_int_t)r->files, "bytes",
                             (json_int_t)r->bytes, "downloaded", (json_int_t)r->downloaded));
}

static int pull(job *j, const char *name) {
    aoe_hub_options o;
    aoe_hub_result result = {.struct_size = sizeof result};
    aoe_error err;
    aoe_hub_options_defaults(&o);
    o.plan = show_plan;
    o.progress = show_progress;
    o.stop = asked_to_stop;
    o.user = j;
    j->shown = 0;
    const int code = aoe_hub_pull(name, &o, &result, &err);
    cli_progress_end(&j->progress);
    if (code == AOE_ECANCELLED && cli_interrupted()) {
        cli_message("aoe: stopped; the downloaded part is kept, run the same command to continue");
        return 128 + cli_interrupted();
    }
    if (code)
        return cli_fail("%s", err.message);
    print_result(name, &result, j->general.json);
    return 0;
}

static int run_command(int argc, char **argv) {
    job j = {.shown = 0};
    cli_general_defaults(&j.general);
    const cli_group groups[] = {CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &j.general)};
    const cli_syntax syntax = {
        .command = "pull",
        .operands = "ORG/NAME[@REVISION]...",
        .about = "Downloads models from the Hugging Face Hub into the cache that Python programs also use, and prints\n"
                 "their directories. Every command then opens the model by its name, for example aoe embed -m\n"
                 "ORG/NAME. Only the files that aoe needs are downloaded. To continue an interrupted download, run\n"
                 "the command again. The checksum of each file is verified.\n"
                 "REVISION is a branch, a tag or a commit (default: main).\n"
                 "The environment variables of huggingface_hub apply: HF_HOME, HF_HUB_CACHE, HF_ENDPOINT,\n"
                 "HF_HUB_OFFLINE, and HF_TOKEN for private and gated models. The token is sent to the Hub only.\n",
        .examples = "  aoe pull sentence-transformers/all-MiniLM-L6-v2\n"
                    "  HF_TOKEN=... aoe pull google/embeddinggemma-300m\n"
                    "  aoe pull BAAI/bge-small-en-v1.5@main --json\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = SIZE_MAX,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO) {
        cli_set_quiet(j.general.quiet);
        cli_watch_interrupts();
        code = 0;
        for (size_t i = 0; i < args.n && !code; i++)
            code = pull(&j, args.operand[i]);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_pull_command = {
    .name = "pull",
    .summary = "download a model from the Hugging Face Hub",
    .run = run_command,
};
