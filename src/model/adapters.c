/* SPDX-License-Identifier: MIT
 * Finding adapters and merging them. A merged row is the stored one in float32 plus
 * scale * B A, one chain over the rank, added last: the same bits whatever rows are
 * merged at a time, in the packed copies of an open model and in a merged file.
 */
#include "model/adapters.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "aoe_train.h"
#include "base/alloc.h"
#include "base/buffer.h"
#include "base/context.h"
#include "base/error.h"
#include "base/path.h"
#include "base/pool.h"
#include "encoder/arch.h"
#include "encoder/slots.h"
#include "modeldir/peft.h"
#include "nn/adapter.h"

#define DEFAULT_ALPHA   32.0
#define DEFAULT_DROPOUT 0.1
#define BLOCK           ((size_t)1 << 16) /* elements that a task reads, or a row */

void aoe_lora_defaults(aoe_lora *l) {
    *l = (aoe_lora){.alpha = (double)NAN, .dropout = (double)NAN};
}

/* Splits "a,b" into names in copy, which it changes. *names: aoei_free. */
static int split(const char ***names, size_t *n, char *copy, aoe_error *err) {
    size_t commas = 0;
    for (const char *p = copy; *p; p++)
        commas += *p == ',';
    *n = 0;
    *names = aoei_calloc(commas + 1, sizeof **names);
    if (!*names)
        return aoei_fail_nomem(err, (commas + 1) * sizeof **names);
    for (char *at = copy, *end; at; at = end ? end + 1 : NULL) {
        end = strchr(at, ',');
        if (end)
            *end = '\0';
        (*names)[(*n)++] = at;
        if (!*at)
            return aoei_fail(err, AOE_EARG, "--lora-targets has an empty name; separate names by single commas");
    }
    return 0;
}

static int read_targets(unsigned *targets, const char *list, const aoei_encoder_config *c, aoe_error *err) {
    const char **names = NULL;
    size_t n = 0;
    if (!list)
        return aoei_peft_targets(targets, NULL, 0, c, 0, err);
    char *copy = aoei_strdup(list);
    int rc = copy ? split(&names, &n, copy, err) : aoei_fail_nomem(err, strlen(list));
    if (!rc && (rc = aoei_peft_targets(targets, names, n, c, 0, err)))
        aoei_error_prefix(err, "--lora-targets");
    aoei_free(names);
    aoei_free(copy);
    return rc;
}

int aoei_adapters_wanted(aoei_lora *lora, const aoe_lora *wanted, const aoei_encoder_config *c, aoe_error *err) {
    *lora = (aoei_lora){.r = wanted->r,
                        .alpha = isnan(wanted->alpha) ? DEFAULT_ALPHA : wanted->alpha,
                        .dropout = isnan(wanted->dropout) ? DEFAULT_DROPOUT : wanted->dropout};
    int rc = aoei_peft_check(c, err);
    if (rc)
        return rc;
    if (lora->r > c->hidden)
        return aoei_fail(err, AOE_EARG, "--lora-r %zu is above the model's hidden size of %zu; use less", lora->r, c->hidden);
    if (!(lora->alpha > 0 && lora->alpha <= AOEI_MOST_ALPHA) || !(lora->dropout >= 0 && lora->dropout < 1))
        return aoei_fail(err, AOE_EARG, "--lora-alpha must be above 0, up to 1e6, --lora-dropout from 0 to below 1");
    return read_targets(&lora->targets, wanted->targets, c, err);
}

/* Of saved adapters r, alpha and targets stay; dropout, which decides nothing but the training, may be another. */
static int go_on(aoei_lora *lora, const char *dir, const aoe_lora *wanted, aoe_error *err) {
    if (wanted->r || !isnan(wanted->alpha) || wanted->targets)
        return aoei_fail(err, AOE_EARG,
                         "%s holds adapters of rank %zu, which go on as they are; leave --lora-r, --lora-alpha and "
                         "--lora-targets out, or merge them first (aoe merge)",
                         dir, lora->r);
    if (!isnan(wanted->dropout) && !(wanted->dropout >= 0 && wanted->dropout < 1))
        return aoei_fail(err, AOE_EARG, "--lora-dropout must be from 0 to below 1");
    if (!isnan(wanted->dropout))
        lora->dropout = wanted->dropout;
    return 0;
}

/* "q_proj, v_proj" */
static int name_targets(aoe_model *m, aoe_error *err) {
    aoei_buffer names = {0};
    const int rc = aoei_peft_list(&names, &m->lora, &m->config) || !(m->lora_targets = aoei_strdup(names.data))
                       ? aoei_fail_nomem(err, names.len)
                       : 0;
    aoei_buffer_free(&names);
    return rc;
}

int aoei_adapters_configure(aoe_model *m, const aoe_lora *wanted, aoe_error *err) {
    aoei_lora *lora = &m->config.lora;
    int rc = 0;
    if (m->base_dir) {
        char *path = aoei_path_join(m->dir, AOEI_PEFT_WEIGHTS);
        rc = path ? aoei_peft_read(lora, m->dir, &m->config, err) : aoei_fail_nomem(err, strlen(m->dir));
        if (!rc && wanted)
            rc = go_on(lora, m->dir, wanted, err);
        if (!rc)
            rc = aoei_safetensors_open(&m->adapter_file, path, err);
        aoei_free(path);
    } else if (wanted && wanted->r) {
        rc = aoei_adapters_wanted(lora, wanted, &m->config, err);
    } else if (wanted && (wanted->load_8bit || wanted->targets || !isnan(wanted->alpha) || !isnan(wanted->dropout))) {
        rc = aoei_fail(err, AOE_EARG,
                       "--load-8bit and the options of adapters need adapters: give --lora-r N, or a directory of saved ones");
    }
    m->lora = *lora;
    return rc || !lora->r ? rc : name_targets(m, err);
}

const char *aoei_adapters_prefix(const aoe_model *m) {
    return m->config.causal ? m->prefix : "";
}

/* PEFT's name of an adapter's tensor, whatever class the base was opened with when it was trained. */
static const aoei_st_tensor *find(const aoe_model *m, const char *slot_name) {
    const aoei_st_tensor *t = NULL;
    char name[256];
    for (const char *const *p = m->config.arch->prefixes; *p && !t; p++) {
        aoei_peft_name(name, sizeof name, *p, slot_name);
        t = aoei_safetensors_find(m->adapter_file, name);
    }
    return t;
}

static int check(const aoe_model *m, const aoei_slot *slot, const aoei_st_tensor *t, aoe_error *err) {
    char name[256];
    if (!t) {
        aoei_peft_name(name, sizeof name, aoei_adapters_prefix(m), slot->name);
        return aoei_fail(err, AOE_EFORMAT,
                         "%s/" AOEI_PEFT_WEIGHTS ": tensor '%s' is missing, which " AOEI_PEFT_CONFIG
                         " asks for with the base %s: they do not belong together",
                         m->dir, name, m->base_dir);
    }
    const char *path = aoei_safetensors_path(m->adapter_file, t);
    if (t->n_dims != 2 || t->shape[0] != slot->rows || t->shape[1] != slot->cols)
        return aoei_fail(err, AOE_EFORMAT,
                         "%s: tensor '%s' is not of shape [%zu, %zu], as " AOEI_PEFT_CONFIG
                         " and the base %s ask for: they do not belong together",
                         path, t->name, slot->rows, slot->cols, m->base_dir);
    if (t->dtype != AOEI_ST_F32 && t->dtype != AOEI_ST_F16 && t->dtype != AOEI_ST_BF16)
        return aoei_fail(err, AOE_EUNSUPPORTED, "%s: tensor '%s' is of %s; adapters are read as F32, F16 or BF16", path,
                         t->name, aoei_st_dtype_name(t->dtype));
    return 0;
}

/* What the file holds beyond n adapters of the encoder's layers changes the result where PEFT reads it; a language-model head
 * has no use here. */
static int check_others(const aoe_model *m, size_t n, aoe_error *err) {
    const size_t slots = aoei_slot_count(&m->config);
    for (size_t i = 0; i < aoei_safetensors_count(m->adapter_file) && n < aoei_safetensors_count(m->adapter_file); i++) {
        const aoei_st_tensor *t = aoei_safetensors_at(m->adapter_file, i);
        size_t slot = 0;
        while (slot < slots && m->stored[slot] != t)
            slot++;
        if (slot == slots && !strstr(t->name, "lm_head."))
            return aoei_fail(err, AOE_EUNSUPPORTED,
                             "%s: tensor '%s' is no adapter that " AOEI_PEFT_CONFIG
                             " and the base speak of; only those of the layers' linear layers are read",
                             aoei_safetensors_path(m->adapter_file, t), t->name);
    }
    return 0;
}

int aoei_adapters_find(aoe_model *m, aoe_error *err) {
    size_t n = 0;
    if (!m->adapter_file)
        return 0;
    for (size_t i = 0; i < aoei_slot_count(&m->config); i++) {
        aoei_slot slot;
        aoei_slot_describe(&m->config, i, &slot);
        if (!slot.adapter || slot.absent)
            continue;
        m->stored[i] = find(m, slot.name);
        const int rc = check(m, &slot, m->stored[i], err);
        if (rc)
            return rc;
        n++;
    }
    return check_others(m, n, err);
}

typedef struct reading {
    const aoei_st_tensor *from;
    float *to;
    size_t first, n, cols, step; /* rows; elements of a row; rows of a task */
} reading;

static void read_task(void *arg, size_t task, size_t worker) {
    (void)worker;
    const reading *r = arg;
    const size_t at = task * r->step, rows = r->n - at < r->step ? r->n - at : r->step;
    aoei_st_rows_to_float(r->to + at * r->cols, r->from, r->first + at, rows);
}

void aoei_model_rows(const aoe_model *m, float *to, size_t slot, size_t first, size_t n) {
    aoei_slot d;
    aoei_slot_describe(&m->config, slot, &d);
    const aoei_tensor rows = aoei_tensor_wrap(to, n, d.cols);
    if (m->source) {
        m->source->rows(m->source, m, to, slot, first, n);
    } else if (m->weights[slot].data) {
        aoei_tensor_read(m->ctx, to, aoei_tensor_rows(m->weights[slot], first, n));
    } else {
        const size_t step = d.cols < BLOCK ? BLOCK / d.cols : 1;
        reading r = {.from = m->stored[slot], .to = to, .first = first, .n = n, .cols = d.cols, .step = step};
        aoei_parallel_for(m->ctx->pool, (n + step - 1) / step, read_task, &r);
    }
    const size_t down = aoei_adapter_slot(&m->config, slot);
    if (down)
        aoei_adapter_merge(m->ctx, rows, m->weights[down], aoei_tensor_rows(m->weights[down + 1], first, n),
                           aoei_lora_scale(&m->config.lora));
}
