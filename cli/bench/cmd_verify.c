/* SPDX-License-Identifier: MIT
 * Implements `aoe verify`: compares the results of this build with reference values and prints one line per check. No
 * tokenizer is needed, because the test cases contain token ids.
 */
#include "aoe_eval.h"
#include "cli/common/common.h"
#include "cli/common/dispatch.h"
#include "cli/common/option_rows.h"

#include <string.h>

typedef struct options {
    cli_general general;
    aoe_dtype dtype;
} options;

typedef struct tally {
    const options *o;
    size_t checks, failed; /* checks: number of checks so far; failed: number of failed checks so far */
} tally;

static const aoei_option table[] = {
    AOEI_ROW_DTYPE(.offset = offsetof(options, dtype)),
};

/* Prints the result of a check. Each line is printed immediately, because checks are slow. The column widths are
 * therefore fixed. */
static void print_check(void *user, const aoe_verify_result *r) {
    tally *t = user;
    if (t->o->general.json)
        cli_print_json(json_pack("{s:o,s:o,s:o,s:I,s:b}", "name", cli_json_text(r->name, strlen(r->name)), "error",
                                 cli_json_real(r->error), "tolerance", cli_json_real(r->tolerance), "checks",
                                 (json_int_t)r->checks, "passed", r->passed));
    else {
        if (t->checks == 0)
            printf("%-40s  %9s  %9s  result\n", "name", "error", "tolerance");
        printf("%-40s  %9.2e  %9.2e  %s\n", r->name, r->error, r->tolerance, r->passed ? "pass" : "fail");
        cli_flush_stdout();
    }
    t->checks++;
    t->failed += !r->passed;
}

static int run_verify(const options *o, const char *dir, aoe_context *ctx) {
    tally r = {.o = o};
    aoe_error err;
    int code = aoe_verify(ctx, dir, o->dtype, print_check, &r, &err);
    if (code == AOE_EMISMATCH)
        return cli_fail("%s: %zu of %zu checks failed", dir, r.failed, r.checks);
    if (code)
        return cli_fail("%s", err.message);
    cli_note("%zu check%s passed (%s kernels, %s)", r.checks, cli_plural(r.checks), aoe_context_tier(ctx),
             aoei_dtype_names[o->dtype]);
    return 0;
}

static int run_command(int argc, char **argv) {
    options o = {.dtype = AOE_DTYPE_AUTO};
    cli_general_defaults(&o.general);
    const cli_group groups[] = {
        CLI_GROUP("computation", table, &o),
        CLI_ROWS("general", cli_general_table, CLI_GENERAL_COUNT, &o.general),
    };
    const cli_syntax syntax = {
        .command = "verify",
        .operands = "DIR",
        .about =
            "Compares the results of this build with the reference values in DIR. DIR is a test case or contains\n"
            "one subdirectory per test case. A test case consists of config.json, model.safetensors, cases.json\n"
            "and expected.safetensors. DIR may also contain objectives.json with reference values of the losses.\n"
            "In int8, only embeddings are compared. Prints the largest error and the tolerance of each check. The\n"
            "exit code is 1 if a check fails.\n",
        .examples = "  aoe verify tests/golden/data/bert --dtype f32\n",
        CLI_GROUPS(groups),
        .min_operands = 1,
        .max_operands = 1,
    };
    cli_args args;
    int code = cli_parse(&args, &syntax, argc, argv);
    if (code == CLI_GO) {
        aoe_context *ctx = NULL;
        cli_set_quiet(o.general.quiet);
        code = cli_open_context(&ctx, &o.general) || run_verify(&o, args.operand[0], ctx);
        aoe_context_destroy(ctx);
    }
    cli_args_free(&args);
    return code;
}

const cli_command cli_verify_command = {
    .name = "verify",
    .summary = "check the numerical results of this build against reference values",
    .run = run_command,
};
