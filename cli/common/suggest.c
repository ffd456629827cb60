/* SPDX-License-Identifier: MIT
 * Suggestions for unknown options.
 */
#include "cli/common/suggest.h"

#include <string.h>

#include "base/closest.h"

/* Names of options in sentence-transformers, transformers, PEFT, angle_emb and Unix tools, and the options of aoe with the same
 * meaning. If a name has several rows, the first option that the command has is suggested. */
static const struct {
    const char *other, *own;
} synonyms[] = {
    {"batch", "batch-size"},
    {"bf16", "dtype"},
    {"bs", "batch-size"},
    {"dataset", "data"},
    {"dim", "dims"},
    {"early-stopping-patience", "patience"},
    {"eval-data", "dev"},
    {"eval-file", "dev"},
    {"eval-steps", "eval-every"},
    {"evaluation-steps", "eval-every"},
    {"field", "columns"},
    {"file", "data"},
    {"fp16", "dtype"},
    {"fp32", "dtype"},
    {"gradient-accumulation-steps", "accumulate"},
    {"gradient-checkpointing", "recompute"},
    {"instruction", "prompt"},
    {"learning-rate", "lr"},
    {"load-in-8bit", "load-8bit"},
    {"loss", "method"},
    {"max-len", "max-length"},
    {"max-seq-length", "max-length"},
    {"mini-batch-size", "cache-chunk"},
    {"model-name", "model"},
    {"model-name-or-path", "model"},
    {"model-path", "model"},
    {"n-epochs", "epochs"},
    {"num-classes", "classes"},
    {"num-epochs", "epochs"},
    {"num-labels", "classes"},
    {"num-threads", "threads"},
    {"num-train-epochs", "epochs"},
    {"num-workers", "threads"},
    {"out", "output"},
    {"output-dir", "output"},
    {"output-path", "output"},
    {"overwrite", "force"},
    {"per-device-train-batch-size", "batch-size"},
    {"pooling-mode", "pooling"},
    {"pooling-strategy", "pooling"},
    {"precision", "dtype"},
    {"rank", "lora-r"},
    {"save-dir", "output"},
    {"save-steps", "save-every"},
    {"save-total-limit", "keep-checkpoints"},
    {"sep", "delimiter"},
    {"separator", "delimiter"},
    {"silent", "quiet"},
    {"target-modules", "lora-targets"},
    {"temperature", "tau-cosine"},
    {"top-k", "top"},
    {"topk", "top"},
    {"train-data", "data"},
    {"train-file", "data"},
    {"valid-data", "dev"},
    {"validation-file", "dev"},
    {"validation-split", "held-out"},
    {"wd", "weight-decay"},
    {"workers", "threads"},
};

/* Returns 1 if the names are equal, except that '_' and '-' are not distinguished. */
static int is_equal(const char *a, const char *b) {
    while (*a && (*a == '_' ? '-' : *a) == *b)
        a++, b++;
    return !*a && !*b;
}

/* Returns the element of names[n] that is the option of aoe for the name `typed` of another program, or NULL. */
static const char *with_meaning(const char *typed, const char *const *names, size_t n) {
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        for (size_t k = 0; k < n && is_equal(typed, synonyms[i].other); k++)
            if (strcmp(names[k], synonyms[i].own) == 0)
                return names[k];
    return NULL;
}

/* Returns the element of names[n] whose first word, up to the first '-', is the first word of `typed`. For example, returns
 * "batch-tokens" if `typed` is "batch-size". Returns NULL if no element or more than one element has this first word. */
static const char *with_first_word(const char *typed, const char *const *names, size_t n) {
    const char *hyphen = strchr(typed, '-'), *found = NULL;
    for (size_t i = 0; hyphen && i < n; i++)
        if (strncmp(typed, names[i], (size_t)(hyphen - typed) + 1) == 0) {
            if (found)
                return NULL;
            found = names[i];
        }
    return found;
}

const char *cli_suggest_option(const char *typed, const char *const *names, size_t n) {
    const char *found = with_meaning(typed, names, n);
    found = found ? found : aoei_closest(typed, names, n);
    return found ? found : with_first_word(typed, names, n);
}
