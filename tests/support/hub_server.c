/* SPDX-License-Identifier: MIT
 * Implements the server of the Hub.
 */
#include "hub_server.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/dir.h"
#include "net/digest.h"
#include "support.h"

#define COMMIT     TEST_HUB_COMMIT
#define LARGE_FILE 20000 /* bytes above which a file is stored with Git LFS */

static void note(const test_hub *hub, const char *server, const test_request *q) {
    FILE *f = hub->log ? fopen(hub->log, "a") : NULL;
    const char *range = test_request_header(q, "range");
    if (!f)
        return;
    fprintf(f, "%s %s %s", server, q->method, q->path);
    if (range)
        fprintf(f, " %s", range);
    fprintf(f, "%s\n", test_request_header(q, "authorization") ? " token" : "");
    fclose(f);
}

/* Reads FOLDER/PATH into memory of malloc. Returns NULL if it does not exist. */
static char *read_file(const test_hub *hub, const char *path, size_t *size) {
    char full[4096];
    struct stat st;
    snprintf(full, sizeof full, "%s/%s", hub->folder, path);
    FILE *f = stat(full, &st) == 0 && S_ISREG(st.st_mode) ? fopen(full, "rb") : NULL;
    if (!f)
        return NULL;
    char *data = malloc((size_t)st.st_size + 1);
    *size = data ? fread(data, 1, (size_t)st.st_size, f) : 0;
    fclose(f);
    return data;
}

static void etag_of(char etag[AOEI_DIGEST_HEX], const char *data, size_t size) {
    char prefix[40];
    aoei_digest *d;
    const int large = size > LARGE_FILE, n = snprintf(prefix, sizeof prefix, "blob %zu", size) + 1;
    if (aoei_digest_create(&d, large ? "SHA256" : "SHA1", NULL) || (!large && aoei_digest_add(d, prefix, (size_t)n)) ||
        aoei_digest_add(d, data, size) || aoei_digest_end(d, etag))
        exit(1);
    aoei_digest_free(d);
}

static void send_error(test_answer *a, int status, const char *code, const char *message) {
    a->status = status;
    if (*code)
        test_answer_header(a, "X-Error-Code: %s", code);
    test_answer_header(a, "X-Error-Message: %s", message);
    test_answer_printf(a, "{\"error\": \"%s\"}", message);
}

/* Answers requests for models without access. Returns 1 if it answered. */
static int reject(const test_hub *hub, const test_request *q, const char *id, test_answer *a) {
    const char *authorization = test_request_header(q, "authorization");
    const int good = authorization && strcmp(authorization, "Bearer good") == 0;
    if (hub->limited && q->nth == 0) {
        a->status = 429;
        test_answer_header(a, "RateLimit: \"api\";r=0;t=1");
        test_answer_header(a, "RateLimit-Policy: \"fixed window\";\"api\";q=500;w=300");
        return 1;
    }
    if (hub->busy && q->nth < 2 && strcmp(q->method, "GET") == 0) {
        a->status = q->nth == 0 ? 429 : 500;
        if (q->nth == 0)
            test_answer_header(a, "Retry-After: 1");
        return 1;
    }
    if (hub->down)
        send_error(a, 503, "", "Service Unavailable");
    else if (strncmp(id, "disabled/", 9) == 0)
        send_error(a, 403, "", "Access to this resource is disabled.");
    else if (authorization && strcmp(authorization, "Bearer bad") == 0)
        send_error(a, 401, "", "Invalid credentials in Authorization header");
    else if (strncmp(id, "gated/", 6) == 0 && !good)
        send_error(a, 403, "GatedRepo", "Access to this model is restricted");
    else if (strncmp(id, "private/", 8) == 0 && !good)
        send_error(a, 401, "RepoNotFound", "Invalid username or password.");
    else
        return 0;
    return 1;
}

/* ---------------------------------------------------------------------- API */

/* Appends the files of a directory to a list. tree: 1 for the format of /tree, 0 for the format of "siblings". */
static void list_files(const test_hub *hub, test_answer *a, const char *id, const char *dir, int tree, int *first) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s/%s", hub->folder, id, dir);
    DIR *d = opendir(path);
    for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        char name[1024];
        size_t size = 0;
        if (e->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%.400s%s%.400s", dir, *dir ? "/" : "", e->d_name);
        snprintf(path, sizeof path, "%.400s/%s", id, name);
        char *data = read_file(hub, path, &size), etag[AOEI_DIGEST_HEX];
        if (!data) {
            list_files(hub, a, id, name, tree, first);
            continue;
        }
        etag_of(etag, data, size);
        test_answer_printf(a, "%s{\"%s\": \"%s\", \"size\": %zu, \"%s\": \"%s\", \"type\": \"file\"",
                           *first ? "" : ", ", tree ? "path" : "rfilename", name, size, tree ? "oid" : "blobId", etag);
        if (size > LARGE_FILE)
            test_answer_printf(a, ", \"lfs\": {\"%s\": \"%s\", \"size\": %zu, \"pointerSize\": 130}",
                               tree ? "oid" : "sha256", etag, size);
        test_answer_printf(a, "}");
        *first = 0;
        free(data);
    }
    if (d)
        closedir(d);
}

/* /api/models/ORG/NAME[/revision/REVISION] and /api/models/ORG/NAME/tree/REVISION[/DIR] */
static void answer_api(void *user, const test_request *q, test_answer *a) {
    char id[256], path[512];
    const test_hub *hub = user;
    note(hub, "hub", q);
    snprintf(id, sizeof id, "%.255s", q->path + strlen("/api/models/"));
    char *tree = strstr(id, "/tree/"), *revision = tree ? tree : strstr(id, "/revision/");
    if (revision) {
        *revision = 0;
        revision = strchr(revision + 1, '/') + 1;
    }
    char *dir = tree ? strchr(revision, '/') : NULL;
    if (dir)
        *dir++ = 0;
    snprintf(path, sizeof path, "%s/%s", hub->folder, id);
    if (reject(hub, q, id, a))
        return;
    if (access(path, F_OK)) {
        send_error(a, 404, "RepoNotFound", "Repository not found");
        return;
    }
    if (revision && strcmp(revision, "main") != 0 && strcmp(revision, COMMIT) != 0) {
        send_error(a, 404, "RevisionNotFound", "Invalid rev id");
        return;
    }
    int first = 1;
    test_answer_header(a, "Content-Type: application/json");
    if (tree) {
        snprintf(path, sizeof path, "%s/%s/%s", hub->folder, id, dir ? dir : "");
        if (access(path, F_OK)) {
            send_error(a, 404, "EntryNotFound", "Entry not found");
            return;
        }
        test_answer_printf(a, "[");
        list_files(hub, a, id, dir ? dir : "", 1, &first);
        test_answer_printf(a, "]");
        return;
    }
    test_answer_printf(
        a, "{\"id\": \"%s\", \"modelId\": \"%s\", \"sha\": \"" COMMIT "\", \"private\": false, \"gated\": false, ", id,
        id);
    test_answer_printf(a, "\"disabled\": false, \"tags\": [], \"downloads\": 0, \"siblings\": [");
    list_files(hub, a, id, "", 0, &first);
    if (hub->traversal)
        test_answer_printf(a, "%s{\"rfilename\": \"../../../evil\", \"size\": 1}", first ? "" : ", ");
    test_answer_printf(a, "]}");
}

/* -------------------------------------------------------------------- files */

/* Sends data[size], or the part that the header Range requests. */
static void send_data(const test_hub *hub, const test_request *q, test_answer *a, const char *data, size_t size) {
    const char *range = hub->ignore_range ? NULL : test_request_header(q, "range");
    unsigned long long start = 0, last = 0;
    const int fields = range ? sscanf(range, "bytes=%llu-%llu", &start, &last) : 0;
    if (fields > 0 && (hub->no_range || start >= size)) {
        a->status = 416;
        test_answer_header(a, "Content-Range: bytes */%zu", size);
        return;
    }
    const size_t end = fields == 2 && last < size ? (size_t)last + 1 : size;
    if (fields > 0) {
        a->status = 206;
        test_answer_header(a, "Content-Range: bytes %llu-%zu/%zu", start + (hub->other_part ? 1 : 0), end - 1, size);
    }
    test_answer_header(a, "Accept-Ranges: bytes");
    test_answer_write(a, data + start, end - (size_t)start);
}

/* ORG/NAME/resolve/REVISION/PATH on the first server */
static void answer_file(void *user, const test_request *q, test_answer *a) {
    char id[256], path[1024], etag[AOEI_DIGEST_HEX];
    size_t size = 0;
    const test_hub *hub = user;
    note(hub, "hub", q);
    const char *resolve = strstr(q->path, "/resolve/"), *file = resolve ? strchr(resolve + 9, '/') : NULL;
    if (!file) {
        a->status = 404;
        return;
    }
    snprintf(id, sizeof id, "%.*s", (int)(resolve - q->path - 1), q->path + 1);
    if (reject(hub, q, id, a))
        return;
    if (strncmp(id, "loop/", 5) == 0) {
        a->status = 307;
        test_answer_header(a, "Location: %s", q->path);
        return;
    }
    if (strncmp(id, "renamed/", 8) == 0) {
        a->status = 307;
        test_answer_header(a, "Location: /acme/%s", q->path + 9);
        return;
    }
    snprintf(path, sizeof path, "%s%s", id, file);
    char *data = read_file(hub, path, &size);
    if (!data) {
        send_error(a, 404, "EntryNotFound", "Entry not found");
        return;
    }
    etag_of(etag, data, size);
    test_answer_header(a, "X-Repo-Commit: " COMMIT);
    if (!hub->no_etag && size > LARGE_FILE)
        test_answer_header(a, "X-Linked-Etag: \"%s\"", etag);
    else if (!hub->no_etag)
        test_answer_header(a, "ETag: \"%s\"", etag);
    if (size > LARGE_FILE) {
        a->status = 302;
        test_answer_header(a, "X-Linked-Size: %zu", size + (hub->longer ? 100 : 0));
        test_answer_header(a, "Location: %s/lfs/%s?signature=secret", test_server_url(hub->storage), path);
        test_answer_header(a, "ETag: \"00000000000000000000000000000000\"");
    } else {
        send_data(hub, q, a, data, size);
    }
    free(data);
}

/* /lfs/ORG/NAME/PATH on the second server */
static void answer_storage(void *user, const test_request *q, test_answer *a) {
    size_t size = 0;
    const test_hub *hub = user;
    note(hub, "storage", q);
    char *data = read_file(hub, q->path + strlen("/lfs/"), &size);
    if (!data) {
        a->status = 404;
        return;
    }
    if (hub->loop) {
        a->status = 302;
        test_answer_header(a, "Location: %s%s", test_server_url(hub->storage), q->path);
        free(data);
        return;
    }
    if (hub->stall)
        a->delay = 30;
    if (hub->wrong)
        data[size / 2] ^= 1;
    send_data(hub, q, a, data, size);
    a->cut = hub->cut && a->body_len > hub->cut;
    a->cut_at = hub->cut;
    if (hub->slow)
        a->byte_delay = 0.0005;
    free(data);
}

/* -------------------------------------------------------------------- model */

void test_hub_write_model(const char *folder, const char *id) {
    static unsigned char weights[30000];
    static const char config[] =
        "{\"model_type\":\"bert\",\"architectures\":[\"BertModel\"],\"vocab_size\":30,\"hidden_size\":16,"
        "\"num_hidden_layers\":1,\"num_attention_heads\":2,\"intermediate_size\":32,\"max_position_embeddings\":32,"
        "\"type_vocab_size\":2,\"hidden_act\":\"gelu\",\"layer_norm_eps\":1e-12}";
    static const char modules[] =
        "[{\"idx\":0,\"name\":\"0\",\"path\":\"\",\"type\":\"sentence_transformers.models.Transformer\"},"
        "{\"idx\":1,\"name\":\"1\",\"path\":\"1_Pooling\",\"type\":\"sentence_transformers.models.Pooling\"}]";
    static const char pooling[] = "{\"word_embedding_dimension\":16,\"pooling_mode_mean_tokens\":true}";
    char *dir = test_path(folder, id), *inside = test_path(dir, "1_Pooling");
    assert_int_equal(aoei_make_dir(inside, NULL), 0);
    for (size_t i = 0; i < sizeof weights; i++)
        weights[i] = (unsigned char)(i * 7 + i / 256);
    free(test_write_text(dir, "config.json", config));
    free(test_write_text(dir, "modules.json", modules));
    free(test_write_text(inside, "config.json", pooling));
    free(test_write_text(dir, "tokenizer.json",
                         "{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"[UNK]\": 0}, \"unk_token\": \"[UNK]\", "
                         "\"continuing_subword_prefix\": \"##\"}}"));
    free(test_write(dir, "model.safetensors", weights, sizeof weights));
    free(inside);
    free(dir);
}

/* ------------------------------------------------------------------- server */

void test_hub_fault(test_hub *hub, const char *name) {
    const struct {
        const char *name;
        int *flag;
    } flags[] = {{"busy", &hub->busy},
                 {"wrong", &hub->wrong},
                 {"slow", &hub->slow},
                 {"stall", &hub->stall},
                 {"limited", &hub->limited},
                 {"ignore-range", &hub->ignore_range},
                 {"other-part", &hub->other_part},
                 {"no-range", &hub->no_range},
                 {"traversal", &hub->traversal},
                 {"no-etag", &hub->no_etag},
                 {"loop", &hub->loop},
                 {"long", &hub->longer},
                 {"down", &hub->down}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        *flags[i].flag |= strcmp(name, flags[i].name) == 0;
    if (strncmp(name, "cut=", 4) == 0)
        hub->cut = strtoul(name + 4, NULL, 10);
}

void test_hub_routes(test_hub *hub, test_server *s) {
    hub->storage = test_server_start();
    test_server_route(hub->storage, "*", "/lfs/*", answer_storage, hub);
    test_server_route(s, "GET", "/api/models/*", answer_api, hub);
    test_server_route(s, "*", "/*", answer_file, hub);
}
