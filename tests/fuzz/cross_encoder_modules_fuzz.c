/* SPDX-License-Identifier: MIT
 * covers: modeldir/cross_encoder_modules
 * Fuzzes the files that describe the head of a cross-encoder: modules.json, the configuration of the module LogitScore,
 * config_sentence_transformers.json and the chat template. The first byte of the input selects the file, and the
 * remaining bytes are its contents. The other files are valid.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "aoe.h"
#include "base/dir.h"
#include "modeldir/cross_encoder_modules.h"

#define TYPE "\"type\":\"sentence_transformers."
static const struct {
    const char *name, *valid;
} files[] = {
    {"modules.json", "[{" TYPE "Transformer\",\"path\":\"\"},{" TYPE "LogitScore\",\"path\":\"1_LogitScore\"}]"},
    {"1_LogitScore/config.json", "{\"true_token_id\": 3, \"false_token_id\": 4}"},
    {"config_sentence_transformers.json", "{\"model_type\": \"CrossEncoder\"}"},
    {"chat_template.jinja", "{{ messages }}"}};
enum { N_FILES = sizeof files / sizeof *files };

static char root[256];

static void put(const char *name, const void *data, size_t size) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f))
        abort();
}

static void make_dirs(void) {
    char path[512];
    const char *base = getenv("TMPDIR");
    snprintf(root, sizeof root, "%s/aoe-fuzz-XXXXXX", base && *base ? base : "/tmp");
    if (!mkdtemp(root))
        abort();
    snprintf(path, sizeof path, "%s/1_LogitScore", root);
    if (mkdir(path, 0700))
        abort();
}

static void check_error(int rc, const aoe_error *err) {
    if (rc && (err->code != rc || !*err->message))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    aoei_module_head head;
    aoei_logit_score score;
    aoe_error err = {0};
    const size_t file = size ? data[0] % N_FILES : 0;
    for (size_t i = 0; i < N_FILES; i++)
        put(files[i].name, files[i].valid, strlen(files[i].valid));
    put(files[file].name, data + (size ? 1 : 0), size ? size - 1 : 0);
    check_error(aoei_cross_encoder_modules_read(&head, &score, test_model_dir(root), &err), &err);
    return 0;
}

static void clean_up(void) {
    (void)aoei_remove_tree(root, NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    test_use_memory();
    make_dirs();
    atexit(clean_up);
    return 0;
}
