/* SPDX-License-Identifier: MIT
 * Fuzzes directories of LoRA adapters. The first byte of the input selects the configuration file or the weights file.
 * The remaining bytes are the contents of the selected file; the other file is valid. If the directory can be opened,
 * the shapes of the adapters must match the base model. Otherwise, there must be an error message.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../support/model_dir.h"
#include "../support/support.h"
#include "../support/tiny_adapters.h"
#include "../support/tiny_model.h"
#include "encoder/slots.h"
#include "modeldir/peft.h"
#include "model/open.h"
#include "modeldir/layout.h"

static char *root, *base, *adapters;
static aoe_context *ctx;
static const char *const files[] = {AOEI_PEFT_CONFIG, AOEI_PEFT_WEIGHTS};
static char *valid[2]; /* contents of the valid files, in the order of `files` */
static size_t sizes[2];

static void check(const aoe_model *m) {
    const aoei_lora *l = &m->config.lora;
    if (!l->r || !l->targets || !(l->alpha > 0))
        abort();
    for (size_t i = 0; i < aoei_slot_count(&m->config); i++) {
        aoei_slot d;
        aoei_slot_describe(&m->config, i, &d);
        if (d.adapter && !d.absent &&
            (m->weights[i].rows != d.rows || m->weights[i].cols != d.cols || !m->weights[i].data))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const size_t file = size ? data[0] % 2 : 0;
    aoe_model_options o;
    aoe_model_options_defaults(&o);
    o.dtype = AOE_DTYPE_F32;
    o.base = base;
    aoe_model *m;
    aoe_error err = {0};
    free(test_write(adapters, files[file], data + (size ? 1 : 0), size ? size - 1 : 0));
    free(test_write(adapters, files[!file], valid[!file], sizes[!file]));
    const int rc = aoei_model_open_trainable(&m, ctx, adapters, &o, &err);
    if (rc && (err.code != rc || !*err.message || strchr(err.message, '\n')))
        abort();
    if (!rc)
        check(m);
    aoe_model_close(m);
    return 0;
}

static void clean_up(void) {
    for (size_t i = 0; i < 2; i++)
        free(valid[i]);
    free(base);
    free(adapters);
    aoe_context_destroy(ctx);
    test_dir_remove(root);
}

const size_t fuzz_mutations = 1500;

static void make_dirs(void) {
    tiny_model shape = tiny_defaults();
    shape.layers = 1;
    root = tiny_dir_create();
    base = test_path(root, "base");
    adapters = test_path(root, "adapters");
    ctx = tiny_context(1);
    tiny_model_write(base, &shape);
    tiny_adapters_write(ctx, adapters, base, 1, "query");
    for (size_t i = 0; i < 2; i++) {
        char *path = test_path(adapters, files[i]);
        valid[i] = test_read(path, &sizes[i]);
        free(path);
    }
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    make_dirs();
    atexit(clean_up);
    return 0;
}
