/* SPDX-License-Identifier: MIT
 * Suggestions for unknown options.
 */
#include "cli/common/suggest.h"

#include <string.h>

#include "base/closest.h"

/* Names of options in sentence-transformers, transformers, PEFT, FlagEmbedding, angle_emb, text-embeddings-inference,
 * fastText, the embedding program of llama.cpp and Unix tools, and the options of aoe with the same meaning. If a name
 * has several rows, the first option that the command has is suggested. */
static const struct {
    const char *other, *own;
} synonyms[] = {
    {"adam-epsilon", "optimizer-eps"},
    {"api-key", "api-key-file"},
    {"batch", "batch-size"},
    {"bf16", "dtype"},
    {"bs", "batch-size"},
    {"chunk-size", "chunk"},
    {"corpus-prompt", "doc-prompt"},
    {"ctx-size", "max-length"},
    {"dataset", "data"},
    {"default-prompt", "prompt"},
    {"default-prompt-name", "prompt-name"},
    {"dim", "dims"},
    {"document-prompt", "doc-prompt"},
    {"early-stopping-patience", "patience"},
    {"embd-normalize", "normalize"},
    {"embd-output-format", "format"},
    {"embedding-dim", "dims"},
    {"epoch", "epochs"},
    {"eval-batch-size", "batch-tokens"},
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
    {"hf-repo", "model"},
    {"input", "data"},
    {"input-file", "data"},
    {"instruction", "prompt"},
    {"learning-rate", "lr"},
    {"load-in-8bit", "load-8bit"},
    {"log-disable", "quiet"},
    {"lora-rank", "lora-r"},
    {"loss", "method"},
    {"lr-scheduler-type", "schedule"},
    {"matryoshka-dims", "matryoshka"},
    {"max-batch-tokens", "batch-tokens"},
    {"max-len", "max-length"},
    {"max-seq-len", "max-length"},
    {"max-seq-length", "max-length"},
    {"max-source-length", "max-length"},
    {"mini-batch-size", "cache-chunk"},
    {"model-id", "model"},
    {"model-name", "model"},
    {"model-name-or-path", "model"},
    {"model-path", "model"},
    {"n-epochs", "epochs"},
    {"normalize-embeddings", "normalize"},
    {"num-classes", "classes"},
    {"num-epochs", "epochs"},
    {"num-labels", "classes"},
    {"num-threads", "threads"},
    {"num-train-epochs", "epochs"},
    {"num-train-steps", "max-steps"},
    {"num-workers", "threads"},
    {"optim", "optimizer"},
    {"out", "output"},
    {"output-dir", "output"},
    {"output-file", "output"},
    {"output-format", "format"},
    {"output-path", "output"},
    {"overwrite", "force"},
    {"passage-prompt", "doc-prompt"},
    {"per-device-eval-batch-size", "batch-tokens"},
    {"per-device-train-batch-size", "batch-size"},
    {"per-gpu-train-batch-size", "batch-size"},
    {"pooling-mode", "pooling"},
    {"pooling-strategy", "pooling"},
    {"pooling-type", "pooling"},
    {"precision", "dtype"},
    {"query-instruction", "prompt"},
    {"query-instruction-for-retrieval", "prompt"},
    {"query-prompt", "prompt"},
    {"rank", "lora-r"},
    {"resume-from-checkpoint", "resume"},
    {"save-dir", "output"},
    {"save-steps", "save-every"},
    {"save-total-limit", "keep-checkpoints"},
    {"scheduler", "schedule"},
    {"sep", "delimiter"},
    {"separator", "delimiter"},
    {"silent", "quiet"},
    {"target-modules", "lora-targets"},
    {"temperature", "tau-cosine"},
    {"thread", "threads"},
    {"tokenization-workers", "threads"},
    {"top-k", "top"},
    {"top-n", "top"},
    {"topk", "top"},
    {"train-batch-size", "batch-size"},
    {"train-data", "data"},
    {"train-file", "data"},
    {"truncate-dim", "dims"},
    {"ubatch-size", "batch-tokens"},
    {"valid-data", "dev"},
    {"validation-file", "dev"},
    {"validation-split", "held-out"},
    {"vocabulary-size", "vocab-size"},
    {"warmup-ratio", "warmup"},
    {"warmup-steps", "warmup"},
    {"wd", "weight-decay"},
    {"workers", "threads"},
};

/* Names of options in these programs that have no counterpart in aoe, and the reason. Names are separated by spaces. */
static const struct {
    const char *names, *reason;
} foreign[] = {
    {"device backend gpu gpus gpu-layers n-gpu-layers ngl cuda use-cuda no-cuda main-gpu", "aoe computes on the CPU"},
    {"trust-remote-code", "aoe runs no code of a model"},
    {"cache-dir cache-folder huggingface-hub-cache local-dir", "the environment variable HF_HOME sets the model cache"},
    {"hf-token hf-api-token huggingface-token use-auth-token", "the environment variable HF_TOKEN contains the token"},
    {"local-files-only", "only aoe pull downloads models"},
    {"host hostname port", "aoe serve is the server; aoe embed --flush answers line by line on standard output"},
    {"auto-truncate", "texts are truncated unless aoe serve has the option --no-truncate"},
    {"served-model-name alias", "aoe serve -m NAME=MODEL gives a model a name"},
    {"show-progress-bar progress", "a terminal shows progress unless --quiet is given"},
    {"load-in-4bit", "adapters are trained on weights of 8 or 16 bits"},
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

/* Returns the element of names[n] whose first word, up to the first '-', is the first word of `typed`. For example,
 * returns "batch-tokens" if `typed` is "batch-size". Returns NULL if no element or more than one element has this first
 * word. */
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

const char *cli_foreign_option(const char *typed) {
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        for (const char *name = foreign[i].names; *name; name += *name == ' ') {
            size_t n = 0;
            while (name[n] && name[n] != ' ' && (typed[n] == '_' ? '-' : typed[n]) == name[n])
                n++;
            if (!typed[n] && (!name[n] || name[n] == ' '))
                return foreign[i].reason;
            name += strcspn(name, " ");
        }
    return NULL;
}

const char *cli_suggest_option(const char *typed, const char *const *names, size_t n) {
    const char *found = with_meaning(typed, names, n);
    found = found ? found : aoei_closest(typed, names, n);
    return found ? found : with_first_word(typed, names, n);
}
