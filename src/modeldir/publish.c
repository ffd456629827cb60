/* SPDX-License-Identifier: MIT
 * Publishes a new model, which means that its files are moved from a temporary folder, the staging folder, into the
 * model directory. The steps are:
 * 1. The files of the previous model are moved into the subfolder `old` of the staging folder. The weights are moved
 *    first.
 * 2. When all files of the previous model have been moved, `old` is renamed to `replaced`. After this step, any model
 *    files in the directory belong to the new model.
 * 3. The files of the new model are moved into the directory. The weights are moved last.
 * A directory without weights is not a model, so no reader can open a mixture of two models. If publishing fails, the
 * previous model is restored. If the process is killed, the next save restores the previous model.
 */
#include "modeldir/publish.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/dir.h"
#include "base/io_fault.h"
#include "base/path.h"
#include "base/alloc.h"
#include "base/error.h"
#include "modeldir/layout.h"

#define STAGING         ".staging-"
#define PARTIAL_BACKUP  "old"
#define COMPLETE_BACKUP "replaced"

/* ---------------------------------------------------------------- moving */

static int remove_entry(const char *dir, const char *name, aoe_error *err) {
    char *path = aoei_path_join(dir, name);
    int rc = path ? aoei_remove_tree(path, err) : aoei_fail_nomem(err, strlen(dir));
    aoei_free(path);
    return rc;
}

/* Moves a file or folder. The caller must call aoei_sync_dir after the last move. */
static int move_entry(const char *from_dir, const char *to_dir, const char *name, aoe_error *err) {
    char *from = aoei_path_join(from_dir, name), *to = aoei_path_join(to_dir, name);
    int rc = from && to ? 0 : aoei_fail_nomem(err, strlen(to_dir));
    if (!rc && (aoei_io_step() || rename(from, to)))
        rc = aoei_fail_errno(err, errno, "cannot rename %s to %s", from, to);
    aoei_free(from);
    aoei_free(to);
    return rc;
}

/* Moves files and folders from the directory `from` to the directory `to`. names[n] contains their names. If `weights`
 * is 1, only the weight files (aoei_is_weights_file) are moved; if `weights` is 0, only the other files and folders are
 * moved. */
static int move_entries(const char *from, const char *to, char **names, size_t n, int weights, aoe_error *err) {
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++)
        if (aoei_is_weights_file(names[i]) == weights)
            rc = move_entry(from, to, names[i], err);
    return rc;
}

/* Sets *names to the names of the files and folders in dir that belong to a model. The caller frees the list with
 * aoei_list_free. */
static int list_model(char ***names, size_t *n, const char *dir, aoe_error *err) {
    size_t kept = 0;
    int rc = aoei_list_dir(names, n, dir, err);
    for (size_t i = 0; i < *n && !rc; i++) {
        char *name = (*names)[i];
        if (aoei_is_model_file(name))
            (*names)[kept++] = name;
        else
            aoei_free(name);
    }
    if (!rc)
        *n = kept;
    return rc;
}

/* -------------------------------------------------------------- the previous model */

/* Returns the name of the subfolder of `staging` that contains files of the previous model. The string is static.
 * Returns NULL if there is no such subfolder. */
static const char *backup_name(const char *staging) {
    return aoei_entry_exists(staging, COMPLETE_BACKUP)  ? COMPLETE_BACKUP
           : aoei_entry_exists(staging, PARTIAL_BACKUP) ? PARTIAL_BACKUP
                                                        : NULL;
}

/* Returns 1 if publishing from `staging` was interrupted at a time when `dir` contained no complete model. */
static int is_interrupted(const char *dir, const char *staging) {
    const char *backup = backup_name(staging);
    /* aoei_has_weights(dir) is not sufficient: if the previous model had two weight files and only one of them was
     * moved, it returns 1. */
    return backup && (!aoei_has_weights(dir) || (!strcmp(backup, PARTIAL_BACKUP) && aoei_has_weights(staging)));
}

/* Removes the files of the new model from dir, before the previous model in the folder `backup` is moved back to dir.
 * If `complete` is 1, all model files are removed. Otherwise, a file is removed only if `backup` contains a file with
 * the same name. The weights are removed first. */
static int remove_new_files(const char *dir, const char *backup, int complete, aoe_error *err) {
    char **names = NULL;
    size_t n = 0;
    int rc = list_model(&names, &n, dir, err);
    for (int weights = 1; weights >= 0; weights--)
        for (size_t i = 0; i < n && !rc; i++)
            if (aoei_is_weights_file(names[i]) == weights && (complete || aoei_entry_exists(backup, names[i])))
                rc = remove_entry(dir, names[i], err);
    aoei_list_free(names, n);
    return rc;
}

/* Moves the files in the folder `backup` back into dir. The weights are moved last. */
static int move_back(const char *dir, const char *backup, aoe_error *err) {
    char **previous = NULL;
    size_t n = 0;
    int rc = aoei_list_dir(&previous, &n, backup, err);
    if (!rc && !(rc = move_entries(backup, dir, previous, n, 0, err)) && !(rc = aoei_sync_dir(dir, err)) &&
        !(rc = move_entries(backup, dir, previous, n, 1, err)))
        rc = aoei_sync_dir(dir, err);
    aoei_list_free(previous, n);
    return rc;
}

/* Restores the previous model after publishing from `staging` was interrupted or failed at any step. If restoring
 * fails, the function can be called again. */
static int restore(const char *dir, const char *staging, aoe_error *err) {
    const char *name = backup_name(staging);
    char *partial = aoei_path_join(staging, PARTIAL_BACKUP), *complete = aoei_path_join(staging, COMPLETE_BACKUP);
    int rc = partial && complete ? 0 : aoei_fail_nomem(err, strlen(staging));
    if (!rc && name && !strcmp(name, COMPLETE_BACKUP) && !(rc = remove_new_files(dir, complete, 1, err)))
        rc = aoei_rename(complete, partial, err); /* all model files in dir now belong to the previous model */
    if (!rc && name && !(rc = remove_new_files(dir, partial, 0, err)))
        rc = move_back(dir, partial, err);
    aoei_free(complete);
    aoei_free(partial);
    return rc;
}

/* ------------------------------------------------------------ publishing */

/* Moves the files of the previous model from dir to a subfolder of `staging`. */
static int move_to_backup(const char *dir, const char *staging, aoe_error *err) {
    char **previous = NULL, *partial = aoei_path_join(staging, PARTIAL_BACKUP),
         *complete = aoei_path_join(staging, COMPLETE_BACKUP);
    size_t n_previous = 0;
    int rc = partial && complete ? list_model(&previous, &n_previous, dir, err) : aoei_fail_nomem(err, strlen(staging));
    if (!rc && !(rc = aoei_make_dir(partial, err)) &&
        !(rc = move_entries(dir, partial, previous, n_previous, 1, err)) && !(rc = aoei_sync_dir(dir, err)) &&
        !(rc = move_entries(dir, partial, previous, n_previous, 0, err)) && !(rc = aoei_sync_dir(dir, err)))
        rc = aoei_rename(partial, complete, err);
    aoei_list_free(previous, n_previous);
    aoei_free(complete);
    aoei_free(partial);
    return rc;
}

int aoei_publish(int *keep_staging, const char *dir, const char *staging, aoe_error *err) {
    char **new_files = NULL;
    size_t n_new_files = 0;
    *keep_staging = 0;
    int rc = aoei_list_dir(&new_files, &n_new_files, staging, err);
    if (rc)
        return rc;
    if ((rc = move_to_backup(dir, staging, err)) || (rc = move_entries(staging, dir, new_files, n_new_files, 0, err)) ||
        (rc = aoei_sync_dir(dir, err)) || (rc = move_entries(staging, dir, new_files, n_new_files, 1, err)) ||
        (rc = aoei_sync_dir(dir, err)))
        *keep_staging = restore(dir, staging, NULL) != 0;
    aoei_list_free(new_files, n_new_files);
    return rc;
}

/* -------------------------------------------------------------- recovery */

/* Returns 1 if `name` is the name of a staging folder that no running process uses. The process that created the folder
 * no longer exists, or it was an earlier process with the process id of the current process. */
static int is_stale(const char *name) {
    if (strncmp(name, STAGING, strlen(STAGING)) != 0)
        return 0;
    char *end;
    long pid = strtol(name + strlen(STAGING), &end, 10);
    return !*end && (pid == (long)getpid() || (pid > 0 && kill((pid_t)pid, 0) && errno == ESRCH));
}

/* Searches for the previous model in dir/NAME, a staging folder that no process uses. Returns the path of the previous
 * model relative to dir. The caller frees the path. Returns NULL if the folder contains no previous model. If an error
 * occurs, returns NULL and sets *rc to the error code. */
static char *previous_in(int *rc, const char *dir, const char *name, aoe_error *err) {
    char **names = NULL, *staging = aoei_path_join(dir, name), *relative = NULL, *backup = NULL;
    size_t n = 0;
    if (!staging) {
        *rc = aoei_fail_nomem(err, strlen(dir));
    } else if (is_interrupted(dir, staging)) {
        relative = aoei_path_join(name, backup_name(staging));
        backup = relative ? aoei_path_join(dir, relative) : NULL;
        *rc = backup ? aoei_list_dir(&names, &n, backup, err) : aoei_fail_nomem(err, strlen(dir));
    }
    aoei_list_free(names, n);
    aoei_free(backup);
    aoei_free(staging);
    if (n && !*rc)
        return relative;
    aoei_free(relative);
    return NULL;
}

int aoei_find_previous_model(char **where, const char *dir, aoe_error *err) {
    char **names = NULL;
    size_t n = 0;
    *where = NULL;
    if (!aoei_is_dir(dir))
        return 0;
    int rc = aoei_list_dir(&names, &n, dir, err);
    for (size_t i = 0; i < n && !rc && !*where; i++)
        if (is_stale(names[i]))
            *where = previous_in(&rc, dir, names[i], err);
    aoei_list_free(names, n);
    return rc;
}

/* Restores the previous model from dir/NAME, a staging folder that no process uses, if it contains a previous model.
 * Then removes the folder. */
static int recover(const aoei_log *log, const char *dir, const char *name, aoe_error *err) {
    int rc = 0;
    char *staging = aoei_path_join(dir, name), *previous = staging ? previous_in(&rc, dir, name, err) : NULL;
    if (!staging)
        return aoei_fail_nomem(err, strlen(dir));
    if (!rc && is_interrupted(dir, staging))
        rc = restore(dir, staging, err);
    if (!rc && previous)
        aoei_log_write(log, AOE_LOG_WARNING,
                       "%s: restored the model, which an interrupted save had moved to another folder", dir);
    if (!rc)
        rc = aoei_remove_tree(staging, err);
    aoei_free(previous);
    aoei_free(staging);
    return rc;
}

int aoei_publish_recover(const aoei_log *log, const char *dir, aoe_error *err) {
    char **names = NULL;
    size_t n = 0;
    int rc = aoei_list_dir(&names, &n, dir, err);
    for (size_t i = 0; i < n && !rc; i++)
        if (is_stale(names[i]))
            rc = recover(log, dir, names[i], err);
    aoei_list_free(names, n);
    return rc;
}

/* Returns 1 if the directory contains a model: weights, aoe.json or modules.json. The weights can be missing, for
 * example after an interrupted download. */
static int belongs_to_model(const char *dir) {
    return aoei_has_weights(dir) || aoei_entry_exists(dir, "aoe.json") || aoei_entry_exists(dir, "modules.json");
}

int aoei_model_dir_check(const char *dir, int force, aoe_error *err) {
    char **names = NULL, *previous = NULL;
    size_t n = 0;
    const int is_model = belongs_to_model(dir);
    if (!aoei_is_dir(dir) || (force && is_model))
        return 0;
    int rc = aoei_find_previous_model(&previous, dir, err);
    if (!rc && previous && !force)
        rc = aoei_fail(
            err, AOE_EEXIST,
            "%s: saving a model was interrupted, and the previous model is in %s; move its files back, or use "
            "options.force",
            dir, previous);
    if (!rc && !previous && !(rc = list_model(&names, &n, dir, err)) && n)
        rc = aoei_fail(
            err, AOE_EEXIST,
            "%s: the directory already contains %s, which the new model would replace; choose another directory, or %s",
            dir, names[0], is_model ? "use options.force" : "move the file (options.force replaces only models)");
    aoei_list_free(names, n);
    aoei_free(previous);
    return rc;
}

char *aoei_model_staging(const char *dir) {
    char name[64];
    snprintf(name, sizeof name, STAGING "%ld", (long)getpid());
    return aoei_path_join(dir, name);
}
