/* SPDX-License-Identifier: MIT
 * Hashes input files and directories, and checks evaluation files.
 */
#include "experiment/inputs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/path.h"
#include "experiment/describe.h"

/* Number of bytes that are hashed at each end of a file larger than twice this number. */
#define END_BYTES ((size_t)64 << 20)

int aoei_inputs_create(aoei_inputs *in, aoe_error *err) {
    in->hash = json_object();
    in->checked = json_object();
    if (in->hash && in->checked)
        return 0;
    aoei_inputs_free(in);
    return aoei_fail_nomem(err, 0);
}

void aoei_inputs_free(aoei_inputs *in) {
    json_decref(in->hash);
    json_decref(in->checked);
    *in = (aoei_inputs){0};
}

static int hash_file(const char *path, uint64_t *h, aoe_error *err) {
    aoei_map m;
    const int code = aoei_map_open(&m, path, err);
    if (code)
        return code;
    const int64_t size = (int64_t)m.size;
    *h = aoei_hash(*h, &size, sizeof size);
    if (m.size > 2 * END_BYTES) {
        *h = aoei_hash(*h, m.data, END_BYTES);
        *h = aoei_hash(*h, m.data + m.size - END_BYTES, END_BYTES);
    } else if (m.size) {
        *h = aoei_hash(*h, m.data, m.size);
    }
    aoei_map_close(&m);
    return 0;
}

static int hash_directory(const char *dir, int depth, uint64_t *h, aoe_error *err);

/* Hashes the name and the contents of a directory entry. depth: maximum number of directory levels to descend; if it is
 * 0, an entry that is a directory is ignored. An entry that is neither a file nor a directory is always ignored. */
static int hash_entry(const char *path, const char *name, int depth, uint64_t *h, aoe_error *err) {
    struct stat st;
    if (stat(path, &st) || !(S_ISREG(st.st_mode) || (S_ISDIR(st.st_mode) && depth)))
        return 0;
    *h = aoei_hash(*h, name, strlen(name) + 1);
    return S_ISREG(st.st_mode) ? hash_file(path, h, err) : hash_directory(path, depth - 1, h, err);
}

static int hash_directory(const char *dir, int depth, uint64_t *h, aoe_error *err) {
    char **names;
    size_t n;
    int code = aoei_list_dir(&names, &n, dir, err);
    if (code)
        return code;
    for (size_t i = 0; i < n && !code; i++) {
        if (names[i][0] == '.' || strcmp(names[i], "checkpoints") == 0)
            continue;
        char *path = aoei_path_join(dir, names[i]);
        code = path ? hash_entry(path, names[i], depth, h, err) : aoei_fail_nomem(err, 0);
        aoei_free(path);
    }
    aoei_list_free(names, n);
    return code;
}

static int hash_path(json_t *hashes, const char *path, aoe_error *err) {
    struct stat st;
    uint64_t h = AOEI_HASH_START;
    char text[32];
    if (stat(path, &st))
        return aoei_fail_errno(err, errno, "%s", path);
    const int code = S_ISDIR(st.st_mode)   ? hash_directory(path, 1, &h, err)
                     : S_ISREG(st.st_mode) ? hash_file(path, &h, err)
                                           : 0;
    if (code)
        return code;
    snprintf(text, sizeof text, "%016llx", (unsigned long long)h);
    return json_object_set_new_nocheck(hashes, path, json_string(text)) ? aoei_fail_nomem(err, 0) : 0;
}

int aoei_inputs_add(aoei_inputs *in, json_t *files, const char *path, aoe_error *err) {
    if (!path)
        return 0;
    const int code = json_object_get(in->hash, path) ? 0 : hash_path(in->hash, path, err);
    if (code)
        return code;
    return json_object_set_nocheck(files, path, json_object_get(in->hash, path)) ? aoei_fail_nomem(err, 0) : 0;
}

int aoei_inputs_check(aoei_inputs *in, const aoe_evaluation_file *f, aoe_error *err) {
    json_t *description = aoei_describe_file(f);
    char *key = description ? aoei_json_text(description, JSON_COMPACT) : NULL;
    int code = 0;
    json_decref(description);
    if (!key)
        return aoei_fail_nomem(err, 0);
    if (!json_object_get(in->checked, key)) {
        code = aoe_sts_check(&f->path, 1, &f->table, err);
        if (!code && json_object_set_new(in->checked, key, json_true()))
            code = aoei_fail_nomem(err, 0);
    }
    aoei_free(key);
    return code;
}
