/* SPDX-License-Identifier: MIT
 * The cache of the Hugging Face Hub on this machine, which aoe shares with the Python package huggingface_hub. A model
 * is a repository, and each of its revisions that was downloaded is a directory of symbolic links ("snapshot"):
 *
 *     ROOT/models--ORG--NAME/blobs/ETAG                  contents of a file
 *     ROOT/models--ORG--NAME/snapshots/COMMIT/PATH       symbolic link to a blob
 *     ROOT/models--ORG--NAME/refs/REVISION               the commit of a branch or tag
 *     ROOT/models--ORG--NAME/.no_exist/COMMIT/PATH       empty file: the revision has no file PATH
 *     ROOT/models--ORG--NAME/trees/COMMIT.json           optional list of the files of the revision
 *     ROOT/.locks/models--ORG--NAME/ETAG.lock            lock of a blob that is being downloaded
 *
 * ROOT is $HF_HUB_CACHE, otherwise $HUGGINGFACE_HUB_CACHE, otherwise $HF_HOME/hub. HF_HOME is
 * $XDG_CACHE_HOME/huggingface or ~/.cache/huggingface if it is not set. "~" and environment variables in these values
 * are expanded. If SENTENCE_TRANSFORMERS_HOME is set, it names a second cache, which is only read. The functions of
 * this file only read the cache.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"

enum {
    AOEI_HUB_ID_MAX = 96,        /* maximum bytes of a repository id */
    AOEI_HUB_REVISION_MAX = 255, /* maximum bytes of a revision */
    AOEI_HUB_COMMIT = 40         /* hexadecimal digits of a commit */
};

/* A model on the Hub, "ORG/NAME@REVISION" or "NAME@REVISION". */
typedef struct aoei_hub_name {
    char id[AOEI_HUB_ID_MAX + 1];             /* "ORG/NAME" or "NAME" */
    char revision[AOEI_HUB_REVISION_MAX + 1]; /* branch, tag or commit; "main" if the text contains no '@' */
} aoei_hub_name;

/* Parses text of the form ORG/NAME[@REVISION] or NAME[@REVISION]. The parts of the id consist of letters, digits, '-',
 * '_' and '.', as the Hub requires. Returns 1, or 0 if the text has another form. */
int aoei_hub_name_parse(aoei_hub_name *name, const char *text);
/* Returns 1 if text is a relative path that cannot leave its directory: at most 1024 bytes, no empty component, no "."
 * or "..", no backslash, no colon and no control character. */
int aoei_hub_safe_path(const char *text);
/* Returns 1 if text consists of exactly n lower-case hexadecimal digits. */
int aoei_is_hex(const char *text, size_t n);

/* Both functions return a directory, which the caller frees with aoei_free, or NULL if out of memory. aoei_hub_home
 * returns $HF_HOME or its default, and aoei_hub_root the root of the cache. */
char *aoei_hub_home(void);
char *aoei_hub_root(void);
/* Sets root[0] to the root of the cache, and root[1] to $SENTENCE_TRANSFORMERS_HOME, or to NULL if the variable is not
 * set. The caller frees the elements with aoei_hub_roots_free. Returns 0 or AOE_ENOMEM. */
enum { AOEI_HUB_ROOTS = 2 };
int aoei_hub_roots(char *root[AOEI_HUB_ROOTS]);
void aoei_hub_roots_free(char *root[AOEI_HUB_ROOTS]);
/* Sets commits[n] to the commits of which FOLDER/snapshots contains a directory, in ascending order. The caller frees
 * them with aoei_list_free. */
int aoei_hub_commits(char ***commits, size_t *n, const char *folder, aoe_error *err);
/* Returns ROOT/models--ORG--NAME, which the caller frees with aoei_free, or NULL if out of memory. */
char *aoei_hub_folder(const char *root, const char *id);
/* Reads FOLDER/refs/REVISION into commit, or copies the revision if it is itself a commit. Returns 1, or 0 if the cache
 * does not contain the revision. */
int aoei_hub_commit(char commit[AOEI_HUB_COMMIT + 1], const char *folder, const char *revision);
/* Sets *dir to the snapshot of the revision in the cache. *dir is NULL if there is none. The caller frees *dir with
 * aoei_free. Errors: AOE_ENOMEM. */
int aoei_hub_snapshot(char **dir, const aoei_hub_name *name, aoe_error *err);
/* Sets *name to the model of which `path` is the snapshot in the cache, with its commit as the revision. name->id is ""
 * if `path` is another directory. Returns 0 or AOE_ENOMEM. */
int aoei_hub_name_of(aoei_hub_name *name, const char *path);
/* Returns the name "ORG/NAME@COMMIT" of the model of which `path` is the snapshot in the cache, or a copy of `path` if
 * it is another directory. Records of training runs contain these names, because a path is only valid on one machine.
 * The caller frees the name with aoei_free. Returns NULL if out of memory. */
char *aoei_hub_model_name(const char *path);
/* Sets *name to the model of the snapshot `path`, as aoei_hub_name_of does, if the snapshot lacks this file and the
 * model on the Hub may have it: neither an entry in .no_exist nor a file list shows that there is no such file. In all
 * other cases, name->id is "". Returns 0 or AOE_ENOMEM. */
int aoei_hub_may_miss(aoei_hub_name *name, const char *path, const char *file);
/* Returns 1 if the snapshot or one of its subdirectories contains a file of weights (.safetensors or .bin). A program
 * may have downloaded only the configuration or the tokenizer. */
int aoei_hub_has_weights(const char *snapshot);
/* Returns 1 if the snapshot has weights and no symbolic link to a missing file. */
int aoei_hub_is_complete(const char *snapshot);
