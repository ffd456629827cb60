/* SPDX-License-Identifier: MIT
 * Writes and reads checkpoints. OUTPUT/checkpoints/step-N is a complete model directory that also contains the state of
 * the run:
 *   trainer.json           progress of the run, and the options that affect the result
 *   optimizer.safetensors  moments m and v of all parameters, as far as the optimizer has them, each as one flat tensor
 *   best.safetensors       best weights so far as one flat tensor; absent if the current weights are the best
 *   twin.safetensors       weights of the second encoder as one flat tensor, if there is one; the saved model does not
 *                          contain it
 *   head.safetensors       training head, if the method has one; the saved model does not contain it
 * A checkpoint is written to a directory named .step-N, which is renamed after all files are on disk. Therefore, a
 * directory named step-N is always complete.
 */
#include "train/checkpoint.h"

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/json.h"
#include "base/path.h"
#include "encoder/slots.h"
#include "modeldir/safetensors.h"
#include "model/save.h"
#include "modeldir/safetensors_writer.h"
#include "train/schedule.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHECKPOINT_FORMAT = 1 };
#define HEAD_FILE    "head.safetensors"
#define TWIN_FILE    "twin.safetensors"
#define MOMENTS_FILE "optimizer.safetensors"

char *aoei_checkpoints_dir(const char *output) {
    return aoei_path_join(output, "checkpoints");
}

#define SLICE ((size_t)1 << 18) /* number of float32 values copied at a time */

/* ---------------------------------------------------------------- writing */

/* A flat tensor of a checkpoint file. */
typedef struct flat {
    const char *name;
    aoei_tensor tensor; /* [1, count], or [1, aoei_share_count] if the ranks share it */
    int shared;         /* 1: every rank has the elements of its share (nn/optimizer.h) */
} flat;

/* Returns the number of elements that are copied at a time. Elements that the ranks share are copied in their blocks.
 */
static size_t slice_length(const aoei_trainer *t, const flat *f) {
    return f->shared && t->params->share.ranks > 1 ? t->params->share.block : SLICE;
}

/* Copies the elements [at, at + length) of a flat tensor to `slice` in rank 0, from the rank that has them. */
static int read_slice(aoei_trainer *t, float *slice, const flat *f, size_t at, size_t length, aoe_error *err) {
    const aoei_share *share = &t->params->share;
    const size_t block = at / share->block, from = f->shared ? block % share->ranks : 0;
    if (share->rank == from)
        aoei_tensor_read(t->ctx, slice,
                         aoei_tensor_slice(f->tensor,
                                           f->shared ? at - (block - block / share->ranks) * share->block : at, 1,
                                           length));
    return aoei_comm_to_first(&t->comm, slice, length * sizeof *slice, (int)from, err);
}

/* Writes n flat tensors to the file dir/file, in slices, so that no full copy is in memory. In a distributed run, all
 * ranks call this function if a tensor is shared; then only rank 0 writes, and the other ranks send their elements to
 * it, even if it cannot write the file. */
static int write_flat(aoei_trainer *t, const char *dir, const char *file, const flat *tensors, size_t n,
                      aoe_error *err) {
    const size_t count = t->params->count, most = slice_length(t, tensors);
    const int writes = aoei_trainer_writes(t);
    aoei_st_entry entries[2];
    memset(entries, 0, sizeof entries);
    for (size_t i = 0; i < n; i++) {
        entries[i].name = tensors[i].name;
        entries[i].dtype = AOEI_ST_F32;
        entries[i].n_dims = 1;
        entries[i].shape[0] = tensors[i].shared ? count : tensors[i].tensor.cols;
    }
    char *path = aoei_path_join(dir, file);
    float *slice = aoei_malloc_array(most, sizeof *slice);
    aoei_st_writer *w = NULL;
    int code = path && slice ? AOE_OK : aoei_fail_nomem(err, most * sizeof *slice);
    if (tensors->shared) /* a rank without memory could not take part in the exchange */
        code = aoei_comm_agree(&t->comm, code, err);
    int failed = code, lost = code; /* failed: the file cannot be written; lost: elements cannot be read */
    if (!failed && writes)
        failed = aoei_st_writer_open(&w, path, entries, n, err);
    for (size_t i = 0; i < n; i++)
        for (size_t at = 0, length; at < entries[i].shape[0] && !lost && (!failed || tensors[i].shared); at += length) {
            aoe_error unused;
            length = entries[i].shape[0] - at < most ? entries[i].shape[0] - at : most;
            lost = read_slice(t, slice, &tensors[i], at, length, failed ? &unused : err);
            if (!lost && !failed && writes)
                failed = aoei_st_writer_write(w, slice, length * sizeof *slice, err);
        }
    code = failed ? failed : lost;
    if (w && code)
        aoei_st_writer_abort(w);
    else if (w)
        code = aoei_st_writer_commit(w, err);
    aoei_free(slice);
    aoei_free(path);
    return code;
}

static int write_moments(aoei_trainer *t, const char *dir, aoe_error *err) {
    const flat moments[] = {{"m", t->params->m, 1}, {"v", t->params->v, 1}};
    const size_t n = (size_t)aoei_optimizer_moments(aoei_optimizer_of(t->o->optimizer)), first = n == 1; /* RMSprop has
                                                                                        only the second moment */
    return write_flat(t, dir, MOMENTS_FILE, moments + first, n, err);
}

/* Returns 1 if the best weights are the current weights. Those of two encoders may be exchanged, so they are always
 * stored. */
static int best_is_current(const aoei_trainer *t) {
    return t->progress.best_step == t->progress.step && t->params->encoders == 1;
}

/* Returns the values of the second encoder as one flat tensor. */
static aoei_tensor twin_values(const aoei_trainer *t) {
    const size_t half = t->params->count / 2;
    return aoei_tensor_slice(t->params->value, half, 1, half);
}

static int write_twin(aoei_trainer *t, const char *dir, aoe_error *err) {
    if (t->params->encoders == 1)
        return AOE_OK;
    const flat twin = {"twin", twin_values(t), 0};
    return write_flat(t, dir, TWIN_FILE, &twin, 1, err);
}

static int write_best(aoei_trainer *t, const char *dir, aoe_error *err) {
    if (!t->progress.has_best || best_is_current(t))
        return AOE_OK;
    const flat best = {"best", aoei_tensor_wrap(t->best, 1, t->params->count), 0};
    return write_flat(t, dir, "best.safetensors", &best, 1, err);
}

/* Describes the next weight of the projection or of the training head, starting at *slot, and writes its name in the
 * file to name[size]. Returns 0 if there is none. */
static int next_training_weight(const aoei_encoder_config *c, size_t *slot, aoei_slot *d, char *name, size_t size) {
    const size_t first = aoei_pooled_slot(c, 0), n = aoei_slot_count(c);
    for (; *slot < n; ++*slot) {
        aoei_slot_describe(c, *slot, d);
        if (*slot < first || d->absent || (d->pooled != AOEI_POOLED_HEAD && d->pooled != AOEI_POOLED_PROJECTION))
            continue;
        /* the names of a single layer are "weight" and "bias" */
        const size_t k = *slot - first;
        const int is_weight =
            d->pooled == AOEI_POOLED_HEAD ? k == AOEI_PW_HEAD : (k - AOEI_PW_PROJECTION) % AOEI_MODULE_WEIGHTS == 0;
        const char *kind = is_weight ? "weight" : "bias";
        if (d->pooled == AOEI_POOLED_HEAD)
            snprintf(name, size, "%s%s", aoei_training_layers_of(c)->n_projection ? "head." : "", kind);
        else if (k - AOEI_PW_PROJECTION < AOEI_MODULE_WEIGHTS)
            snprintf(name, size, "%s", kind);
        else
            snprintf(name, size, "%zu.%s", (k - AOEI_PW_PROJECTION) / AOEI_MODULE_WEIGHTS, kind);
        return 1;
    }
    return 0;
}

enum { TRAINING_WEIGHTS = 2 + AOEI_MODULE_WEIGHTS * AOEI_MAX_PROJECTION, NAME_SIZE = 32 };

/* Writes the weights of the projection and of the training head, if the method has them. They are small, so they are
 * written without slices. */
static int write_head(const aoei_trainer *t, const char *dir, aoe_error *err) {
    const aoei_encoder_config *c = &t->base->config;
    aoei_st_entry entries[TRAINING_WEIGHTS];
    char names[TRAINING_WEIGHTS][NAME_SIZE];
    size_t slots[TRAINING_WEIGHTS], n = 0, largest = 0;
    aoei_slot d;
    for (size_t slot = 0; next_training_weight(c, &slot, &d, names[n], NAME_SIZE); slot++) {
        entries[n] = d.vector ? (aoei_st_entry){names[n], AOEI_ST_F32, 1, {d.cols}}
                              : (aoei_st_entry){names[n], AOEI_ST_F32, 2, {d.rows, d.cols}};
        slots[n++] = slot;
        largest = d.rows * d.cols > largest ? d.rows * d.cols : largest;
    }
    if (!n)
        return AOE_OK;
    char *path = aoei_path_join(dir, HEAD_FILE);
    float *values = aoei_malloc_array(largest, sizeof *values);
    aoei_st_writer *w = NULL;
    int code = path && values ? aoei_st_writer_open(&w, path, entries, n, err)
                              : aoei_fail_nomem(err, largest * sizeof *values);
    for (size_t i = 0; i < n && !code; i++) {
        const aoei_tensor v = t->params->values[slots[i]];
        aoei_tensor_read(t->ctx, values, v);
        code = aoei_st_writer_write(w, values, v.rows * v.cols * sizeof *values, err);
    }
    if (code)
        aoei_st_writer_abort(w);
    else
        code = aoei_st_writer_commit(w, err);
    aoei_free(values);
    aoei_free(path);
    return code;
}

/* Sets a key to a score, or to null if the score is undefined. */
static int set_score(json_t *o, const char *key, double score) {
    return json_object_set_new(o, key, isfinite(score) ? json_real(score) : json_null());
}

static int write_state(const aoei_trainer *t, const char *dir, aoe_error *err) {
    const aoei_progress *p = &t->progress;
    json_t *o = json_object();
    int bad = !o;
    bad |= json_object_set_new(o, "format_version", json_integer(CHECKPOINT_FORMAT));
    bad |= json_object_set_new(o, "step", json_integer((json_int_t)p->step));
    if (t->o->max_minutes > 0)
        bad |= json_object_set_new(o, "seconds", json_real(p->seconds));
    if (p->has_best) {
        bad |= set_score(o, "best_score", p->best_score);
        bad |= json_object_set_new(o, "best_step", json_integer((json_int_t)p->best_step));
    }
    if (p->has_start)
        bad |= set_score(o, "start_score", p->start_score);
    if (p->has_trained) {
        bad |= set_score(o, "trained_score", p->trained_score);
        bad |= json_object_set_new(o, "trained_step", json_integer((json_int_t)p->trained_step));
        bad |= json_object_set_new(o, "bad_evals", json_integer((json_int_t)p->bad_evals));
        bad |= json_object_set_new(o, "lr_divisions", json_integer((json_int_t)p->divisions));
    }
    bad |= json_object_set(o, "options", t->settings);
    char *path = aoei_path_join(dir, "trainer.json");
    int code;
    if (bad || !path)
        code = aoei_fail_nomem(err, 0);
    else
        code = aoei_json_save(o, path, err);
    aoei_free(path);
    json_decref(o);
    return code;
}

/* If the name has the form "step-N", sets *step to N and returns 1. Otherwise returns 0. */
static int parse_step(const char *name, uint64_t *step) {
    char *end;
    if (strncmp(name, "step-", 5) != 0 || name[5] < '0' || name[5] > '9')
        return 0;
    *step = strtoull(name + 5, &end, 10);
    return *end == '\0';
}

int aoei_checkpoints_prune(const char *dir, size_t keep, aoe_error *err) {
    char **names;
    size_t n;
    int code = aoei_list_dir(&names, &n, dir, err);
    if (code)
        return code;
    for (size_t i = 0; i < n && !code; i++) {
        uint64_t step, other;
        size_t newer = 0;
        const int is_staging = strncmp(names[i], ".step-", 6) == 0;
        if (!is_staging && !parse_step(names[i], &step))
            continue;
        for (size_t k = 0; k < n && !is_staging; k++)
            newer += parse_step(names[k], &other) && other > step;
        if (!is_staging && newer < keep)
            continue;
        char *path = aoei_path_join(dir, names[i]);
        code = path ? aoei_remove_tree(path, err) : aoei_fail_nomem(err, 0);
        aoei_free(path);
    }
    aoei_list_free(names, n);
    return code;
}

/* Writes the files of rank 0 that need nothing from the other ranks. */
static int write_own(aoei_trainer *t, const char *dir, aoe_error *err) {
    int code = write_best(t, dir, err);
    if (!code)
        code = write_twin(t, dir, err);
    if (!code)
        code = write_head(t, dir, err);
    if (!code)
        code = write_state(t, dir, err);
    if (!code)
        code = aoei_sync_dir(dir, err);
    return code;
}

/* Creates the directory `staging` in rank 0, and writes the model to it. */
static int begin_staging(aoei_trainer *t, const char *staging, aoe_error *err) {
    if (!aoei_trainer_writes(t))
        return AOE_OK;
    int code = aoei_remove_tree(staging, err);
    if (!code)
        code = aoei_make_dir(staging, err);
    if (!code && (code = aoei_model_write(t->view[0], staging, t->settings, err)))
        aoei_remove_tree(staging, NULL);
    return code;
}

int aoei_checkpoint_write(aoei_trainer *t, char **path, aoe_error *err) {
    char name[40], staging_name[40];
    snprintf(name, sizeof name, "step-%llu", (unsigned long long)t->progress.step);
    snprintf(staging_name, sizeof staging_name, ".step-%llu", (unsigned long long)t->progress.step);
    char *dir = aoei_checkpoints_dir(t->o->output);
    char *staging = dir ? aoei_path_join(dir, staging_name) : NULL;
    *path = dir ? aoei_path_join(dir, name) : NULL;
    int code = AOE_ENOMEM;
    if (!dir || !staging || !*path) {
        aoei_fail_nomem(err, 0);
        goto done;
    }
    code = begin_staging(t, staging, err);
    code = aoei_comm_agree(&t->comm, code, err);
    if (code)
        goto done;
    code = write_moments(t, staging, err);
    if (!code && aoei_trainer_writes(t))
        code = write_own(t, staging, err);
    if (!code && aoei_trainer_writes(t))
        code = aoei_remove_tree(*path, err);
    if (!code && aoei_trainer_writes(t))
        code = aoei_rename(staging, *path, err);
    if (code && aoei_trainer_writes(t))
        aoei_remove_tree(staging, NULL);
    if (!code && aoei_trainer_writes(t))
        code = aoei_checkpoints_prune(dir, t->o->keep_checkpoints, err);
    code = aoei_comm_agree(&t->comm, code, err);
done:
    aoei_free(dir);
    aoei_free(staging);
    if (code) {
        aoei_free(*path);
        *path = NULL;
    }
    return code;
}

/* ---------------------------------------------------------------- reading */

/* Finds the newest checkpoint whose step is below `before`. *path is set to the path of its directory, and *step to its
 * step. The caller frees *path with aoei_free. If there is no such checkpoint, *path is set to NULL. */
static int find_before(char **path, uint64_t *step, uint64_t before, const char *output, aoe_error *err) {
    *path = NULL;
    char *dir = aoei_checkpoints_dir(output);
    if (!dir)
        return aoei_fail_nomem(err, 0);
    char **names = NULL;
    size_t n = 0;
    int code = aoei_is_dir(dir) ? aoei_list_dir(&names, &n, dir, err) : AOE_OK;
    uint64_t other;
    size_t best = n;
    for (size_t i = 0; i < n && !code; i++)
        if (parse_step(names[i], &other) && other < before && (best == n || other > *step)) {
            *step = other;
            best = i;
        }
    if (!code && best < n) {
        *path = aoei_path_join(dir, names[best]);
        if (!*path)
            code = aoei_fail_nomem(err, 0);
    }
    aoei_list_free(names, n);
    aoei_free(dir);
    return code;
}

int aoei_checkpoint_find(char **path, const char *output, aoe_error *err) {
    uint64_t step;
    return find_before(path, &step, UINT64_MAX, output, err);
}

/* Checks a JSON or safetensors file by opening it. Other files are not checked. */
static int check_file(const char *path, aoe_error *err) {
    const size_t len = strlen(path);
    int code = AOE_OK;
    if (len > 5 && !strcmp(path + len - 5, ".json")) {
        json_t *o = NULL;
        code = aoei_json_load(&o, path, err);
        json_decref(o);
    } else if (len > 12 && !strcmp(path + len - 12, ".safetensors")) {
        aoei_safetensors *s = NULL;
        code = aoei_safetensors_open(&s, path, err);
        aoei_safetensors_close(s);
    }
    return code;
}

/* Checks the files of a checkpoint. Returns AOE_EFORMAT if a file is damaged and AOE_ENOENT if a file is missing. Any
 * other error means that the check itself failed. */
static int check_files(const char *dir, aoe_error *err) {
    static const char *const needed[] = {"trainer.json", MOMENTS_FILE};
    char **names;
    size_t n;
    int code = aoei_list_dir(&names, &n, dir, err);
    if (code)
        return code;
    for (size_t i = 0; i < n + sizeof needed / sizeof *needed && !code; i++) {
        char *path = aoei_path_join(dir, i < n ? names[i] : needed[i - n]);
        code = path ? check_file(path, err) : aoei_fail_nomem(err, 0);
        aoei_free(path);
    }
    aoei_list_free(names, n);
    return code;
}

static int is_damaged(int code) {
    return code == AOE_EFORMAT || code == AOE_ENOENT;
}

/* Removes the advice from an error message: the last semicolon and the text after it. The advice, such as "download it
 * again", does not apply to checkpoints. */
static void remove_advice(char *message) {
    char *end = strrchr(message, ';');
    if (end)
        *end = 0;
}

/* Renames a damaged checkpoint from step-N to damaged-step-N, so that later runs ignore it. */
static int rename_damaged(const char *path, uint64_t step, const char *output, const aoei_log *log, aoe_error *err) {
    char name[48];
    aoe_error damage = {0};
    snprintf(name, sizeof name, "damaged-step-%llu", (unsigned long long)step);
    char *dir = aoei_checkpoints_dir(output), *new_path = dir ? aoei_path_join(dir, name) : NULL;
    int code = new_path ? aoei_remove_tree(new_path, err) : aoei_fail_nomem(err, 0);
    check_files(path, &damage);
    remove_advice(damage.message);
    if (!code)
        code = aoei_rename(path, new_path, err);
    if (!code)
        aoei_log_write(log, AOE_LOG_WARNING, "%s; the checkpoint is damaged and was renamed; delete %s", damage.message,
                       new_path);
    aoei_free(new_path);
    aoei_free(dir);
    return code;
}

/* Renames all checkpoints with a step above `step`. The caller has found that these checkpoints are damaged. */
static int rename_damaged_after(uint64_t step, const char *output, const aoei_log *log, aoe_error *err) {
    for (;;) {
        char *path;
        uint64_t newest = 0;
        int code = find_before(&path, &newest, UINT64_MAX, output, err);
        if (!code && newest > step)
            code = rename_damaged(path, newest, output, log, err);
        aoei_free(path);
        if (code || newest <= step)
            return code;
    }
}

int aoei_checkpoint_choose(char **path, const char *output, const aoei_log *log, aoe_error *err) {
    uint64_t step = UINT64_MAX;
    aoe_error damage = {0}; /* error of the newest checkpoint, if it is damaged */
    char *newest = NULL;    /* path of the newest checkpoint if it is damaged, or NULL; owned */
    int code;
    while (!(code = find_before(path, &step, step, output, err)) && *path) {
        aoe_error reason;
        code = check_files(*path, &reason);
        if (!is_damaged(code)) {
            code = code ? aoei_fail(err, code, "%s", reason.message) : AOE_OK;
            break;
        }
        if (newest) {
            aoei_free(*path);
        } else {
            newest = *path;
            damage = reason;
        }
        *path = NULL;
    }
    remove_advice(damage.message);
    if (!code && newest)
        code = *path
                   ? rename_damaged_after(step, output, log, err)
                   : aoei_fail(err, damage.code, "%s; the checkpoint is damaged; delete %s to start from the beginning",
                               damage.message, newest);
    aoei_free(newest);
    if (code) {
        aoei_free(*path);
        *path = NULL;
    }
    return code;
}

/* Copies the elements of the one-dimensional tensor f->name of the open safetensors file s to f->tensor. If the ranks
 * share the tensor, only the elements of this rank are copied. file: path of the file for messages. slice: [SLICE]
 * workspace. */
static int read_flat(const aoei_trainer *t, const flat *f, float *slice, const char *file, const aoei_safetensors *s,
                     aoe_error *err) {
    const aoei_share *share = &t->params->share;
    const int partly = f->shared && share->ranks > 1;
    const size_t count = f->shared ? share->count : f->tensor.cols, block = partly ? share->block : count;
    const aoei_st_tensor *from = aoei_safetensors_find(s, f->name);
    if (!from || from->dtype != AOEI_ST_F32 || aoei_st_elements(from) != count)
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: tensor \"%s\" must have %zu F32 values; delete this checkpoint and resume from an older one", file,
            f->name, count);
    for (size_t first = partly ? share->rank * block : 0, to = 0; first < count;
         first += partly ? share->ranks * block : count) {
        const size_t end = count - first < block ? count : first + block;
        for (size_t at = first, length; at < end; at += length, to += length) {
            length = end - at < SLICE ? end - at : SLICE;
            memcpy(slice, (const unsigned char *)from->data + at * sizeof *slice, length * sizeof *slice);
            aoei_tensor_write(t->ctx, aoei_tensor_slice(f->tensor, to, 1, length), slice);
        }
    }
    return AOE_OK;
}

static int read_head(aoei_trainer *t, const char *dir, aoe_error *err) {
    const aoei_encoder_config *c = &t->base->config;
    const aoei_training_layers *training = aoei_training_layers_of(c);
    char name[NAME_SIZE];
    aoei_slot d;
    aoei_safetensors *s = NULL;
    if (!training->head_rows && !training->n_projection)
        return AOE_OK;
    char *path = aoei_path_join(dir, HEAD_FILE);
    int code = path ? aoei_safetensors_open(&s, path, err) : aoei_fail_nomem(err, 0);
    for (size_t slot = 0; !code && next_training_weight(c, &slot, &d, name, sizeof name); slot++) {
        const aoei_tensor v = t->params->values[slot];
        const aoei_st_tensor *from = aoei_safetensors_find(s, name);
        if (!from || from->dtype != AOEI_ST_F32 || aoei_st_elements(from) != v.rows * v.cols) {
            code = aoei_fail(
                err, AOE_EFORMAT,
                "%s: tensor \"%s\" must have %zu F32 values; delete this checkpoint and resume from an older one", path,
                name, v.rows * v.cols);
            break;
        }
        float *values = aoei_malloc_array(v.rows * v.cols, sizeof *values);
        if (!values) {
            code = aoei_fail_nomem(err, v.rows * v.cols * sizeof *values);
            break;
        }
        memcpy(values, from->data, v.rows * v.cols * sizeof *values);
        aoei_tensor_write(t->ctx, v, values);
        aoei_free(values);
    }
    aoei_safetensors_close(s);
    aoei_free(path);
    return code;
}

/* Reads the values of the second encoder, if there is one. */
static int read_twin(aoei_trainer *t, const char *dir, aoe_error *err) {
    if (t->params->encoders == 1)
        return AOE_OK;
    aoei_safetensors *s = NULL;
    float *slice = aoei_malloc_array(SLICE, sizeof *slice);
    char *path = aoei_path_join(dir, TWIN_FILE);
    int code = slice && path ? aoei_safetensors_open(&s, path, err) : aoei_fail_nomem(err, SLICE * sizeof *slice);
    if (!code)
        code = read_flat(t, &(flat){"twin", twin_values(t), 0}, slice, path, s, err);
    if (!code)
        aoei_params_pack(t->ctx, t->params);
    aoei_safetensors_close(s);
    aoei_free(slice);
    aoei_free(path);
    return code;
}

static int read_tensors(aoei_trainer *t, const char *dir, aoe_error *err) {
    aoei_params *p = t->params;
    const int has_best_file = t->progress.has_best && !best_is_current(t);
    float *slice = aoei_malloc_array(SLICE, sizeof *slice);
    char *moments = aoei_path_join(dir, MOMENTS_FILE), *best = aoei_path_join(dir, "best.safetensors");
    aoei_safetensors *s = NULL;
    int code = AOE_ENOMEM;
    if (!slice || !moments || !best) {
        aoei_fail_nomem(err, SLICE * sizeof *slice);
        goto done;
    }
    code = aoei_safetensors_open(&s, moments, err);
    if (!code && p->m.data)
        code = read_flat(t, &(flat){"m", p->m, 1}, slice, moments, s, err);
    if (!code && p->v.data)
        code = read_flat(t, &(flat){"v", p->v, 1}, slice, moments, s, err);
    if (code)
        goto done;
    if (has_best_file) {
        aoei_safetensors_close(s);
        s = NULL;
        code = aoei_safetensors_open(&s, best, err);
        if (!code)
            code = read_flat(t, &(flat){"best", aoei_tensor_wrap(t->best, 1, p->count), 0}, slice, best, s, err);
    } else if (t->progress.has_best) {
        aoei_tensor_read(t->ctx, t->best, p->value);
    }
done:
    aoei_safetensors_close(s);
    aoei_free(slice);
    aoei_free(moments);
    aoei_free(best);
    return code;
}

/* Returns 1 if the values `now` and `before` of the option `key` are equal. A missing value equals null; both mean "not
 * set". Two paths of the base model are equal if they refer to the same directory. Paths of training data, texts, dev
 * set and teachers count as equal, because fingerprints of the contents are compared instead; only the number of
 * teachers is compared. */
static int equal_option(const char *key, const json_t *now, const json_t *before) {
    const int set = now && !json_is_null(now), was_set = before && !json_is_null(before);
    if (!set || !was_set)
        return set == was_set;
    if (strcmp(key, "data") == 0 || strcmp(key, "dev") == 0 || strcmp(key, "texts") == 0)
        return 1;
    if (strcmp(key, "teacher") == 0)
        return json_array_size(now) == json_array_size(before);
    if (strcmp(key, "pooling") == 0) { /* earlier versions recorded the names of the AnglE paper */
        aoe_pooling a = AOE_POOLING_AUTO, b = AOE_POOLING_AUTO;
        return json_equal(now, before) ||
               (json_is_string(now) && json_is_string(before) && !aoe_pooling_parse(&a, json_string_value(now), NULL) &&
                !aoe_pooling_parse(&b, json_string_value(before), NULL) && a == b);
    }
    return json_equal(now, before) ||
           (strcmp(key, "base_model") == 0 && aoei_same_path(json_string_value(now), json_string_value(before)));
}

/* Appends the value of an option for a message. */
static void put_value(aoei_buffer *b, const json_t *value) {
    if (!value || json_is_null(value))
        aoei_buffer_printf(b, "not set");
    else if (aoei_json_append(b, value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9)))
        b->failed = 1;
}

/* Appends the name of a setting for messages: the field of the options that sets it, or a description if there is no
 * such field. key: key of the setting in the training record. */
static void put_setting(aoei_buffer *b, const char *key) {
    static const char *const names[][2] = {{"base_model", "options.model"},
                                           {"hidden_dropout", "options.dropout"},
                                           {"attention_dropout", "options.dropout"},
                                           {"lora_r", "options.lora.r"},
                                           {"lora_alpha", "options.lora.alpha"},
                                           {"lora_dropout", "options.lora.dropout"},
                                           {"lora_targets", "options.lora.targets"},
                                           {"load_8bit", "options.lora.load_8bit"},
                                           {"aoe_version", "the version of aoe"},
                                           {"task", "the training task"},
                                           {"teacher", "options.teachers"},
                                           {"adaptive_layers", "options.layers.adaptive"},
                                           {"ese", "options.layers.ese"},
                                           {"pairs", "the number of training examples"},
                                           {"sequences", "the number of training sequences"},
                                           {"kept_parts", "the list of trained parts that are saved"},
                                           {"dropped_parts", "the list of trained parts that are not saved"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(key, names[i][0]) == 0) {
            aoei_buffer_printf(b, "%s", names[i][1]);
            return;
        }
    aoei_buffer_printf(b, "options.%s", key);
}

/* Appends a description of the difference between the training files of this run and of the checkpoint. */
static void put_sources(aoei_buffer *b, const json_t *now, const json_t *before) {
    const size_t n = json_array_size(now), was = json_array_size(before);
    if (n != was) {
        aoei_buffer_printf(b, "the training data (options.data) were %zu file%s and are now %zu", was,
                           was == 1 ? "" : "s", n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *source = json_array_get(now, i), *old = json_array_get(before, i);
        const json_int_t examples = json_integer_value(json_object_get(source, "examples")),
                         old_examples = json_integer_value(json_object_get(old, "examples"));
        if (json_equal(source, old))
            continue;
        aoei_buffer_printf(b, "the training data (options.data) differ: file %zu of %zu ", i + 1, n);
        if (examples != old_examples)
            aoei_buffer_printf(b, "had %lld examples and now has %lld", (long long)old_examples, (long long)examples);
        else if (json_equal(json_object_get(source, "fingerprint"), json_object_get(old, "fingerprint")))
            aoei_buffer_printf(b, "has the same examples, but other settings or another options.ibn_threshold");
        else
            aoei_buffer_printf(b, "has %lld examples as before, but their texts, labels or order have changed",
                               (long long)examples);
        return;
    }
}

static int has_objects(const json_t *v) {
    return json_is_object(v) || json_is_object(json_array_get(v, 0));
}

/* Appends a description of a changed setting. */
static void put_difference(aoei_buffer *b, const char *key, const json_t *now, const json_t *before) {
    static const char *const contents[][2] = {
        {"teacher_fingerprint", "options.teachers is another model, or its files have changed"},
        {"generator_fingerprint", "options.generator is another model, or its files have changed"},
        {"dev_fingerprint", "the dev set is another one, or its contents have changed"},
        {"data_fingerprint", "the training texts have changed"}};
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++)
        if (strcmp(key, contents[i][0]) == 0) {
            aoei_buffer_printf(b, "%s", contents[i][1]);
            return;
        }
    if (strcmp(key, "sources") == 0) {
        put_sources(b, now, before);
        return;
    }
    put_setting(b, key);
    if (has_objects(now) && has_objects(before)) {
        aoei_buffer_printf(b, " has changed");
        return;
    }
    aoei_buffer_printf(b, " was ");
    put_value(b, before);
    aoei_buffer_printf(b, " and is now ");
    put_value(b, now);
}

static int fail_option(const char *key, const json_t *now, const json_t *before, const char *file, aoe_error *err) {
    aoei_buffer difference = {0};
    const int trains_longer = !strcmp(key, "epochs") || !strcmp(key, "max_steps");
    put_difference(&difference, key, now, before);
    const int code =
        difference.failed
            ? aoei_fail_nomem(err, difference.len)
            : aoei_fail(err, AOE_EARG, "%s: %s; resume with unchanged options%s, %sor start again with options.force",
                        file, difference.data, strcmp(key, "sources") == 0 ? " and data" : "",
                        trains_longer ? "train the result further as a new run with another output, " : "");
    aoei_buffer_free(&difference);
    return code;
}

/* Checks that the options of this run (`now`) equal the options in the checkpoint (`before`). If an option is set in
 * only one of the two objects, it counts as different. except: key that is not compared, or "". */
static int check_options(const json_t *now, const json_t *before, const char *except, const char *file,
                         aoe_error *err) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)now, key, value) {
        const json_t *old = json_object_get(before, key);
        if (strcmp(key, except) != 0 && !equal_option(key, value, old))
            return fail_option(key, value, old, file, err);
    }
    json_object_foreach((json_t *)before, key, value) {
        if (strcmp(key, except) != 0 && !json_object_get(now, key) && !equal_option(key, NULL, value))
            return fail_option(key, NULL, value, file, err);
    }
    return AOE_OK;
}

/* Loads trainer.json of a checkpoint, which the caller frees with json_decref even if this function fails. Compares its
 * format and its options, except the one with the key `except`, with the run. */
static int load_state(const aoei_trainer *t, const char *path, const char *except, json_t **o, aoe_error *err) {
    size_t version = 0;
    *o = NULL;
    int code = aoei_json_load(o, path, err);
    if (!code)
        code = aoei_json_need_size(*o, "format_version", &version, path, err);
    if (!code && version != CHECKPOINT_FORMAT)
        code = aoei_fail(
            err, AOE_EUNSUPPORTED,
            "%s: format_version %zu is not supported; resume with the version of aoe that wrote the checkpoint", path,
            version);
    return code ? code : check_options(t->settings, json_object_get(*o, "options"), except, path, err);
}

int aoei_checkpoint_check(const aoei_trainer *t, const char *dir, aoe_error *err) {
    json_t *o;
    char *path = aoei_path_join(dir, "trainer.json");
    if (!path)
        return aoei_fail_nomem(err, 0);
    const int code = load_state(t, path, AOEI_LATE_SETTING, &o, err);
    json_decref(o);
    aoei_free(path);
    return code;
}

/* Reads the scores of the evaluations up to the checkpoint. Checkpoints of earlier versions contain neither the score
 * of the start model nor "trained_score"; all their scores are scores after a step. */
static int read_scores(const aoei_trainer *t, const json_t *o, aoei_progress *p, const char *path, aoe_error *err) {
    size_t none = (size_t)-1, best_step = none, trained_step = none, bad_evals = 0, divisions = 0;
    p->best_score = p->start_score = p->trained_score = (double)NAN;
    int code = aoei_json_size(o, "best_step", &best_step, path, err);
    if (!code)
        code = aoei_json_double(o, "start_score", &p->start_score, path, err);
    p->has_start = json_object_get(o, "start_score") != NULL;
    if (code || best_step == none || !t->best)
        return code;
    code = aoei_json_double(o, "best_score", &p->best_score, path, err);
    if (!code)
        code = aoei_json_size(o, "trained_step", &trained_step, path, err);
    if (!code)
        code = aoei_json_double(o, "trained_score", &p->trained_score, path, err);
    if (!code)
        code = aoei_json_size(o, "bad_evals", &bad_evals, path, err);
    if (!code)
        code = aoei_json_size(o, "lr_divisions", &divisions, path, err);
    p->has_best = 1;
    p->best_step = best_step;
    if (!p->has_start && trained_step == none) {
        p->trained_score = p->best_score;
        trained_step = best_step;
    }
    p->has_trained = trained_step != none;
    p->trained_step = p->has_trained ? trained_step : 0;
    p->bad_evals = bad_evals;
    p->divisions = divisions;
    return code;
}

int aoei_checkpoint_read(aoei_trainer *t, const char *dir, aoe_error *err) {
    json_t *o;
    aoei_progress *p = &t->progress;
    size_t step = 0;
    char *path = aoei_path_join(dir, "trainer.json");
    if (!path)
        return aoei_fail_nomem(err, 0);
    int code = load_state(t, path, "", &o, err);
    if (!code)
        code = aoei_json_need_size(o, "step", &step, path, err);
    if (!code)
        code = read_scores(t, o, p, path, err);
    if (!code && t->o->max_minutes > 0) {
        code = aoei_json_double(o, "seconds", &p->seconds, path, err);
        t->total_steps = step + (p->seconds < 60 * t->o->max_minutes);
    }
    if (!code && (step > t->total_steps || p->best_step > step || p->trained_step > step))
        code = aoei_fail(
            err, AOE_EFORMAT,
            "%s: step %zu, \"best_step\" or \"trained_step\" is after the end of the run; delete this checkpoint "
            "and resume from an older one",
            path, step);
    if (!code) {
        p->step = step;
        code = read_tensors(t, dir, err);
        if (!code)
            code = read_twin(t, dir, err);
        if (!code)
            code = read_head(t, dir, err);
    }
    json_decref(o);
    aoei_free(path);
    return code;
}
