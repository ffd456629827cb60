/* SPDX-License-Identifier: MIT
 * Checks the options of parts, and collects the values that identify the work of a command.
 */
#include "cli/common/part.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/common/output.h"

int cli_part_parse(void *target, const char *text, aoe_error *err) {
    return aoei_part_parse(target, text, err);
}

/* Returns 1 if the NULL-terminated list contains the name. */
static int contains(const char *const *list, const char *name) {
    for (; list && *list; list++)
        if (strcmp(*list, name) == 0)
            return 1;
    return 0;
}

int cli_part_usage(const char *command, const cli_args *args, aoei_part part, int join, const char *output,
                   const char *const *joined) {
    static const char *const usual[] = {"join", "output", "quiet", "threads", NULL};
    if (!part.n && !join)
        return CLI_GO;
    if (!output || strcmp(output, "-") == 0)
        return cli_usage(command, "--%s needs the name of the output, next to which the parts are stored; give -o",
                         join ? "join" : "part");
    if (!join)
        return CLI_GO;
    if (args->n)
        return cli_usage(command, "--join reads only the parts of the output; remove the argument '%s'",
                         args->operand[0]);
    for (size_t i = 0; i < args->n_given; i++)
        if (!contains(usual, args->given[i]->name) && !contains(joined, args->given[i]->name))
            return cli_usage(command, "--join excludes --%s: the markers of the parts contain the options; remove it",
                             args->given[i]->name);
    return CLI_GO;
}

json_t *cli_part_options_json(const cli_syntax *s, const char *const *without) {
    static const char *const usual[] = {"join",    "part",         "output", "quiet", "threads", "json",
                                        "verbose", "batch-tokens", "model",  "force", "resume",  NULL};
    json_t *all = json_object();
    for (size_t g = 0; g < s->n_groups; g++)
        for (size_t i = 0; i < s->groups[g].n; i++) {
            const aoei_option *o = &s->groups[g].options[i];
            if (o->help && !contains(usual, o->name) && !contains(without, o->name))
                json_object_set_new(all, o->name, aoei_option_json(o, (const char *)s->groups[g].base + o->offset, 1));
        }
    return all;
}

json_t *cli_part_program_json(const aoe_context *ctx) {
    return json_pack("{s:s, s:s}", "version", aoe_version(), "cpu", aoe_context_tier(ctx));
}

json_t *cli_part_hash_json(uint64_t hash) {
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    return json_string(text);
}

int cli_part_model_json(json_t **model, const aoe_model *m) {
    uint64_t hash = 0;
    aoe_error err;
    if (aoe_model_fingerprint(m, &hash, &err))
        return cli_fail("%s", err.message);
    *model = json_pack("{s:o}", "fingerprint", cli_part_hash_json(hash));
    return 0;
}

int cli_part_find(int *complete, const char *output, aoei_part p, const json_t *identity) {
    aoe_error err;
    if (aoei_part_check(complete, output, p, identity, &err))
        return cli_fail("%s", err.message);
    if (*complete)
        cli_note("part %zu of %zu of %s is complete and is skipped", p.i, p.n, output);
    return 0;
}

int cli_part_complete(const char *output, aoei_part p, const json_t *identity) {
    aoe_error err;
    return aoei_part_complete(output, p, identity, &err) ? cli_fail("%s", err.message) : 0;
}
