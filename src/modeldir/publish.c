/* SPDX-License-Identifier: MIT
 * Publishing moves the older model into the staging folder, its weights first, and then renames the new files into the
 * directory, the weights last. A directory without weights is not a model, so no reader can open a mixture of two models. After
 * a failure the older model is restored, after a kill the next save restores it. Moved files are in the folder `old` of the
 * staging folder while some files of the older model are still in the directory, and in `replaced` once all of them were moved:
 * model files in the directory then belong to the new model.
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

#define STAGING  ".staging-"
#define PARTIAL  "old"
#define COMPLETE "replaced"

/* ---------------------------------------------------------------- moving */

static int remove_entry(const char *dir, const char *name, aoe_error *err) {
    char *path = aoei_path_join(dir, name);
    int rc = path ? aoei_remove_tree(path, err) : aoei_fail_nomem(err, strlen(dir));
    aoei_free(path);
    return rc;
}

/* Does not sync the directories; the caller syncs them once after several moves. */
static int move_entry(const char *from_dir, const char *to_dir, const char *name, aoe_error *err) {
    char *from = aoei_path_join(from_dir, name), *to = aoei_path_join(to_dir, name);
    int rc = from && to ? 0 : aoei_fail_nomem(err, strlen(to_dir));
    if (!rc && (aoei_io_step() || rename(from, to)))
        rc = aoei_fail_errno(err, errno, "cannot rename %s to %s", from, to);
    aoei_free(from);
    aoei_free(to);
    return rc;
}

/* Moves the entries for which aoei_is_weights_file returns `with_keys`. */
static int move_entries(const char *from, const char *to, char **names, size_t n, int with_keys, aoe_error *err) {
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++)
        if (aoei_is_weights_file(names[i]) == with_keys)
            rc = move_entry(from, to, names[i], err);
    return rc;
}

/* Names in dir that belong to a model. */
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

/* -------------------------------------------------------------- the older */

/* Name of the folder in `staging` that contains the moved files of the older model; static. NULL: there is none. */
static const char *aside_name(const char *staging) {
    return aoei_entry_exists(staging, COMPLETE) ? COMPLETE : aoei_entry_exists(staging, PARTIAL) ? PARTIAL : NULL;
}

/* 1: a publication from `staging` began but did not finish, so the older model, if any, is incomplete. */
static int is_unfinished(const char *dir, const char *staging) {
    const char *aside = aside_name(staging);
    /* possibly only one of two weights files was moved */
    return aside && (!aoei_has_weights(dir) || (!strcmp(aside, PARTIAL) && aoei_has_weights(staging)));
}

/* Removes the files in dir that the older model replaces: all files of the new model if `complete`, otherwise files of equal
 * names. */
static int clear_way(const char *dir, const char *aside, int complete, aoe_error *err) {
    char **names = NULL;
    size_t n = 0;
    int rc = list_model(&names, &n, dir, err);
    for (int with_keys = 1; with_keys >= 0; with_keys--)
        for (size_t i = 0; i < n && !rc; i++)
            if (aoei_is_weights_file(names[i]) == with_keys && (complete || aoei_entry_exists(aside, names[i])))
                rc = remove_entry(dir, names[i], err);
    aoei_list_free(names, n);
    return rc;
}

/* Moves the files in `aside` back into dir, the weights last. */
static int move_back(const char *dir, const char *aside, aoe_error *err) {
    char **old = NULL;
    size_t n = 0;
    int rc = aoei_list_dir(&old, &n, aside, err);
    if (!rc && !(rc = move_entries(aside, dir, old, n, 0, err)) && !(rc = aoei_sync_dir(dir, err)) &&
        !(rc = move_entries(aside, dir, old, n, 1, err)))
        rc = aoei_sync_dir(dir, err);
    aoei_list_free(old, n);
    return rc;
}

/* Undoes a publication from `staging`, regardless of the step at which it stopped. Can be called again if it fails. */
static int restore(const char *dir, const char *staging, aoe_error *err) {
    const char *name = aside_name(staging);
    char *partial = aoei_path_join(staging, PARTIAL), *complete = aoei_path_join(staging, COMPLETE);
    int rc = partial && complete ? 0 : aoei_fail_nomem(err, strlen(staging));
    if (!rc && name && !strcmp(name, COMPLETE) && !(rc = clear_way(dir, complete, 1, err)))
        rc = aoei_rename(complete, partial, err); /* from now on, model files in dir belong to the older model */
    if (!rc && name && !(rc = clear_way(dir, partial, 0, err)))
        rc = move_back(dir, partial, err);
    aoei_free(complete);
    aoei_free(partial);
    return rc;
}

/* ------------------------------------------------------------ publishing */

/* Moves the older model from dir to the staging folder. */
static int move_aside(const char *dir, const char *staging, aoe_error *err) {
    char **old = NULL, *partial = aoei_path_join(staging, PARTIAL), *complete = aoei_path_join(staging, COMPLETE);
    size_t n_old = 0;
    int rc = partial && complete ? list_model(&old, &n_old, dir, err) : aoei_fail_nomem(err, strlen(staging));
    if (!rc && !(rc = aoei_make_dir(partial, err)) && !(rc = move_entries(dir, partial, old, n_old, 1, err)) &&
        !(rc = aoei_sync_dir(dir, err)) && !(rc = move_entries(dir, partial, old, n_old, 0, err)) &&
        !(rc = aoei_sync_dir(dir, err)))
        rc = aoei_rename(partial, complete, err);
    aoei_list_free(old, n_old);
    aoei_free(complete);
    aoei_free(partial);
    return rc;
}

int aoei_publish(int *held, const char *dir, const char *staging, aoe_error *err) {
    char **fresh = NULL;
    size_t n_fresh = 0;
    *held = 0;
    int rc = aoei_list_dir(&fresh, &n_fresh, staging, err);
    if (rc)
        return rc;
    if ((rc = move_aside(dir, staging, err)) || (rc = move_entries(staging, dir, fresh, n_fresh, 0, err)) ||
        (rc = aoei_sync_dir(dir, err)) || (rc = move_entries(staging, dir, fresh, n_fresh, 1, err)) ||
        (rc = aoei_sync_dir(dir, err)))
        *held = restore(dir, staging, NULL) != 0;
    aoei_list_free(fresh, n_fresh);
    return rc;
}

/* -------------------------------------------------------------- recovery */

/* 1 for a staging folder of a process that no longer exists, or that had the process id of this one. */
static int is_stale(const char *name) {
    if (strncmp(name, STAGING, strlen(STAGING)) != 0)
        return 0;
    char *end;
    long pid = strtol(name + strlen(STAGING), &end, 10);
    return !*end && (pid == (long)getpid() || (pid > 0 && kill((pid_t)pid, 0) && errno == ESRCH));
}

/* Returns the relative path of the older model that the stale staging folder dir/NAME contains, owned by the caller, or NULL.
 * Sets *rc on error. */
static char *stranded_in(int *rc, const char *dir, const char *name, aoe_error *err) {
    char **names = NULL, *staging = aoei_path_join(dir, name), *relative = NULL, *aside = NULL;
    size_t n = 0;
    if (!staging) {
        *rc = aoei_fail_nomem(err, strlen(dir));
    } else if (is_unfinished(dir, staging)) {
        relative = aoei_path_join(name, aside_name(staging));
        aside = relative ? aoei_path_join(dir, relative) : NULL;
        *rc = aside ? aoei_list_dir(&names, &n, aside, err) : aoei_fail_nomem(err, strlen(dir));
    }
    aoei_list_free(names, n);
    aoei_free(aside);
    aoei_free(staging);
    if (n && !*rc)
        return relative;
    aoei_free(relative);
    return NULL;
}

int aoei_model_stranded(char **where, const char *dir, aoe_error *err) {
    char **names = NULL;
    size_t n = 0;
    *where = NULL;
    if (!aoei_is_dir(dir))
        return 0;
    int rc = aoei_list_dir(&names, &n, dir, err);
    for (size_t i = 0; i < n && !rc && !*where; i++)
        if (is_stale(names[i]))
            *where = stranded_in(&rc, dir, names[i], err);
    aoei_list_free(names, n);
    return rc;
}

/* Restores the older model in a stale staging folder, if there is one, and removes the folder. */
static int recover(const aoei_log *log, const char *dir, const char *name, aoe_error *err) {
    int rc = 0;
    char *staging = aoei_path_join(dir, name), *stranded = staging ? stranded_in(&rc, dir, name, err) : NULL;
    if (!staging)
        return aoei_fail_nomem(err, strlen(dir));
    if (!rc && is_unfinished(dir, staging))
        rc = restore(dir, staging, err);
    if (!rc && stranded)
        aoei_log_write(log, AOE_LOG_WARNING, "%s: an interrupted save had moved the model aside; it is back in its place", dir);
    if (!rc)
        rc = aoei_remove_tree(staging, err);
    aoei_free(stranded);
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

int aoei_model_dir_check(const char *dir, int force, aoe_error *err) {
    char **names = NULL, *stranded = NULL;
    size_t n = 0;
    if (force || !aoei_is_dir(dir))
        return 0;
    int rc = aoei_model_stranded(&stranded, dir, err);
    if (!rc && stranded)
        rc = aoei_fail(
            err, AOE_EEXIST,
            "%s: an interrupted save left the model it was replacing in %s; move its files back, or use options.force", dir,
            stranded);
    if (!rc && !(rc = list_model(&names, &n, dir, err)) && n)
        rc = aoei_fail(err, AOE_EEXIST,
                       "%s: already holds %s, which a model would replace; choose another directory, or use options.force", dir,
                       names[0]);
    aoei_list_free(names, n);
    aoei_free(stranded);
    return rc;
}

char *aoei_model_staging(const char *dir) {
    char name[64];
    snprintf(name, sizeof name, STAGING "%ld", (long)getpid());
    return aoei_path_join(dir, name);
}
