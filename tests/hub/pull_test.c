/* SPDX-License-Identifier: MIT
 * covers: hub/hub_access hub/hub_download hub/hub_files hub/hub_place hub/hub_reply hub/list modeldir/model_kind
 * Tests downloads of models on the Hub from a server with faults (tests/support/hub_server.h): messages, redirects, the
 * token, wrong answers, waits, time-outs, and caches without symbolic links. tests/fault/hub_fault_test.c tests
 * interrupted downloads, and tests/cli/pull.sh the program.
 *
 * The program starts itself as "pull_test pull", which downloads acme/tiny and is killed by a test.
 * tags: network
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/hub_server.h"
#include "../support/program.h"
#include "../support/support.h"
#include "../support/tokenizers.h"
#include "aoe_hub.h"
#include "hub/hub_reply.h"

#define SNAPSHOT "snapshots/" TEST_HUB_COMMIT
#define TOKEN    "good"

static test_hub hub;
static test_server *server;
static aoe_hub_result result = {.struct_size = sizeof result};
static aoe_error err;

/* What the progress callback reported since the last call of `pull`. */
static struct {
    double longest;     /* longest wait, in seconds */
    char why[1100];     /* reason of the last wait */
    int stop_when_wait; /* 1: the download is cancelled as soon as it waits */
    pid_t kill;         /* process that is killed as soon as the download waits; 0: none */
} reported;

static void record_progress(void *user, const aoe_hub_progress *p) {
    (void)user;
    if (p->waiting <= 0)
        return;
    reported.longest = p->waiting > reported.longest ? p->waiting : reported.longest;
    snprintf(reported.why, sizeof reported.why, "%s", p->why);
    if (!reported.kill)
        return;
    kill(reported.kill, SIGKILL);
    (void)waitpid(reported.kill, NULL, 0);
    reported.kill = 0;
    hub.slow = 0;
}

static int stop_asked(void *user) {
    (void)user;
    return reported.stop_when_wait && *reported.why;
}

static int pull(const char *name) {
    aoe_hub_options o;
    aoe_hub_options_defaults(&o);
    o.progress = record_progress;
    o.stop = stop_asked;
    reported.longest = 0;
    *reported.why = 0;
    err = (aoe_error){0};
    const int rc = aoe_hub_pull(name, &o, &result, &err);
    assert_int_equal(rc, err.code);
    assert_null(strstr(err.message, TOKEN));
    return rc;
}

/* Checks that the download fails with this code and a message that contains `text`. */
static void expect_failure(const char *name, int code, const char *text) {
    const int rc = pull(name);
    if (rc != code || !strstr(err.message, text))
        fail_msg("%s: the code is %d, expected %d; '%s' does not contain '%s'", name, rc, code, err.message, text);
}

/* Uses a new, empty cache and no faults. Returns the directory of the model acme/tiny in the cache, which the caller
 * frees. */
static char *begin(void) {
    static int n;
    const char *folder = hub.folder;
    test_server *storage = hub.storage;
    char name[40];
    snprintf(name, sizeof name, "cache%d", n++);
    char *home = test_path(test_dir, name), *model = test_path(home, "hub/models--acme--tiny");
    setenv("HF_HOME", home, 1);
    unsetenv("HF_TOKEN");
    unsetenv("HF_HUB_DISABLE_SYMLINKS");
    unsetenv("HF_HUB_ETAG_TIMEOUT");
    unsetenv("HF_HUB_DOWNLOAD_TIMEOUT");
    hub = (test_hub){.folder = folder, .storage = storage};
    reported.stop_when_wait = 0;
    test_server_forget(server);
    test_server_forget(storage);
    free(home);
    return model;
}

/* Returns the path of the file in the snapshot of the model, which the caller frees. */
static char *in_snapshot(const char *model, const char *name) {
    char *snapshot = test_path(model, SNAPSHOT), *path = test_path(snapshot, name);
    free(snapshot);
    return path;
}

/* Downloads the model and compares its weights with those on the server. */
static void expect_complete(const char *model) {
    if (pull("acme/tiny"))
        fail_msg("%s", err.message);
    char *path = in_snapshot(model, "model.safetensors"),
         *served = test_path(hub.folder, "acme/tiny/model.safetensors");
    size_t size = 0, expected = 0;
    char *data = test_read(path, &size), *want = test_read(served, &expected);
    assert_true(data && want && size == expected);
    assert_memory_equal(data, want, size);
    free(data);
    free(want);
    free(served);
    free(path);
}

/* Downloads the model, and replaces the blob of its weights by a partial file with `size` bytes. intact: 1 if they are
 * the beginning of the weights. */
static void make_partial(const char *model, size_t size, int intact) {
    char *path = in_snapshot(model, "model.safetensors"), blob[4096], partial[4200];
    expect_complete(model);
    assert_non_null(realpath(path, blob));
    snprintf(partial, sizeof partial, "%s.incomplete", blob);
    assert_int_equal(rename(blob, partial), 0);
    assert_int_equal(truncate(partial, (off_t)size), 0);
    FILE *f = intact ? NULL : fopen(partial, "r+b");
    if (f) {
        fputs("damaged", f);
        fclose(f);
    }
    free(path);
}

/* ------------------------------------------------------------------- access */

static void test_messages(void **state) {
    (void)state;
    free(begin());
    expect_failure("gated/tiny", AOE_ENOENT, "accept its terms at http://127.0.0.1:");
    expect_failure("private/tiny", AOE_ENOENT, "or set HF_TOKEN if it is private");
    expect_failure("disabled/tiny", AOE_ENOENT, "disabled access to this model");
    expect_failure("acme/none", AOE_ENOENT, "no such model");
    expect_failure("acme/tiny@v9", AOE_ENOENT, "no revision 'v9'");
    expect_failure("loop/tiny", AOE_EIO, "redirected more than 5 times");
    setenv("HF_TOKEN", "bad", 1);
    expect_failure("private/tiny", AOE_ENOENT, "set HF_TOKEN to a valid token");
    setenv("HF_TOKEN", "two words", 1);
    expect_failure("acme/tiny", AOE_EARG, "the token is empty or contains a space");
    unsetenv("HF_TOKEN");
    hub.no_etag = 1;
    expect_failure("acme/tiny", AOE_EFORMAT, "no checksum (ETag)");
    free(begin());
    hub.traversal = 1;
    expect_failure("acme/tiny", AOE_EFORMAT, "is not allowed, so nothing was downloaded");
}

static void test_token(void **state) {
    (void)state;
    char *model = begin();
    setenv("HF_TOKEN", TOKEN, 1);
    expect_complete(model);
    assert_int_equal(test_server_count_header(server, "Bearer " TOKEN), test_server_count(server, NULL));
    assert_true(test_server_count(hub.storage, NULL) > 0);
    assert_int_equal(test_server_count_header(hub.storage, TOKEN), 0);
    free(model);
    model = begin(); /* nor after further redirects */
    setenv("HF_TOKEN", TOKEN, 1);
    hub.loop = 1;
    expect_failure("acme/tiny", AOE_EIO, "redirected more than 5 times");
    assert_true(test_server_count(hub.storage, NULL) > 1);
    assert_int_equal(test_server_count_header(hub.storage, TOKEN), 0);
    free(model);
}

static void test_variables(void **state) {
    (void)state;
    static const char *const bad[] = {"ten", "-1", "1.5", "10s", "9999999"};
    char *model = begin();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setenv("HF_HUB_ETAG_TIMEOUT", bad[i], 1);
        expect_failure("acme/tiny", AOE_EARG, "HF_HUB_ETAG_TIMEOUT");
        unsetenv("HF_HUB_ETAG_TIMEOUT");
        setenv("HF_HUB_DOWNLOAD_TIMEOUT", bad[i], 1);
        expect_failure("acme/tiny", AOE_EARG, "HF_HUB_DOWNLOAD_TIMEOUT");
        unsetenv("HF_HUB_DOWNLOAD_TIMEOUT");
    }
    setenv("HF_HUB_ETAG_TIMEOUT", "0", 1);
    setenv("HF_HUB_DOWNLOAD_TIMEOUT", "", 1);
    expect_complete(model);
    free(model);
}

/* ------------------------------------------------------------------- answers */

static void test_continue(void **state) {
    (void)state;
    char *model = begin();
    make_partial(model, 12345, 1);
    expect_complete(model);
    assert_int_equal(result.downloaded, 30000 - 12345);
    make_partial(model, 30000, 1); /* the file is complete, but not renamed */
    expect_complete(model);
    assert_int_equal(result.downloaded, 0);
    make_partial(model, 40000, 1); /* too long */
    expect_complete(model);
    assert_int_equal(result.downloaded, 30000);
    make_partial(model, 12345, 0); /* damaged: the checksum is wrong, so the whole file is requested */
    expect_complete(model);
    make_partial(model, 12345, 1);
    hub.ignore_range = 1;
    expect_complete(model);
    assert_int_equal(result.downloaded, 30000);
    hub.ignore_range = 0;
    make_partial(model, 12345, 1);
    hub.no_range = 1; /* status 416 */
    expect_complete(model);
    assert_int_equal(result.downloaded, 30000);
    free(model);
}

static void test_wrong_answers(void **state) {
    (void)state;
    char *model = begin();
    hub.wrong = 1;
    expect_failure("acme/tiny", AOE_EFORMAT, "the file was removed, try again");
    hub.wrong = 0;
    hub.longer = 1;
    expect_failure("acme/tiny", AOE_EFORMAT, "30000 bytes of the file instead of 30100");
    hub.longer = 0;
    make_partial(model, 12345, 1);
    hub.other_part = 1;
    expect_failure("acme/tiny", AOE_EFORMAT, "another part of the file than requested");
    hub.other_part = 0;
    expect_complete(model);
    free(model);
}

static void test_waits(void **state) {
    (void)state;
    char *model = begin();
    hub.cut = 20000; /* the answer ends early; after a wait, the rest is requested */
    expect_complete(model);
    assert_int_equal(result.downloaded, result.bytes);
    assert_true(reported.longest > 0);
    free(model);
    model = begin();
    hub.down = 1;
    reported.stop_when_wait = 1;
    assert_int_equal(pull("acme/tiny"), AOE_ECANCELLED);
    assert_non_null(strstr(reported.why, "status 503"));
    free(model);
    model = begin();
    hub.limited = 1;
    reported.stop_when_wait = 1;
    assert_int_equal(pull("acme/tiny"), AOE_ECANCELLED);
    assert_string_equal(reported.why, "rate limit");
    assert_true(reported.longest > 0.9 && reported.longest <= 1.1); /* as the header RateLimit says */
    reported.stop_when_wait = 0;
    hub.limited = 0;
    expect_complete(model);
    free(model);
}

static void test_timeout(void **state) {
    (void)state;
    char *model = begin();
    make_partial(model, 12345, 1);
    setenv("HF_HUB_DOWNLOAD_TIMEOUT", "1", 1);
    hub.stall = 1;
    reported.stop_when_wait = 1;
    assert_int_equal(pull("acme/tiny"), AOE_ECANCELLED);
    assert_non_null(strstr(reported.why, "no data received for 1 s"));
    hub.stall = 0;
    reported.stop_when_wait = 0;
    expect_complete(model);
    free(model);
}

/* -------------------------------------------------------------------- cache */

static void test_without_links(void **state) {
    (void)state;
    char *model = begin(), *path = in_snapshot(model, "1_Pooling/config.json"), *blobs = test_path(model, "blobs");
    struct stat st;
    setenv("HF_HUB_DISABLE_SYMLINKS", "1", 1);
    expect_complete(model);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(test_count_entries(blobs), 0); /* the blobs became the files */
    expect_complete(model);
    assert_int_equal(result.downloaded, 0);
    free(path);
    free(model);
    free(blobs);
    model = begin(); /* if the blob exists, the file is a copy */
    expect_complete(model);
    path = in_snapshot(model, "1_Pooling/config.json");
    assert_int_equal(unlink(path), 0);
    setenv("HF_HUB_DISABLE_SYMLINKS", "YES", 1);
    expect_complete(model);
    assert_int_equal(result.downloaded, 0);
    assert_int_equal(lstat(path, &st), 0);
    assert_true(S_ISREG(st.st_mode));
    free(path);
    free(model);
}

static void test_absent_files(void **state) {
    (void)state;
    static const char *const absent[] = {"adapter_config.json", "special_tokens_map.json",
                                         "model.safetensors.index.json"};
    static const char *const present[] = {"config.json", "modules.json", "tokenizer.json", "model.safetensors"};
    char *model = begin(), *folder = test_path(model, ".no_exist/" TEST_HUB_COMMIT);
    struct stat st;
    expect_complete(model);
    for (size_t i = 0; i < sizeof absent / sizeof *absent; i++) {
        char *path = test_path(folder, absent[i]);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_size, 0);
        free(path);
    }
    for (size_t i = 0; i < sizeof present / sizeof *present; i++) {
        char *path = test_path(folder, present[i]);
        assert_int_not_equal(stat(path, &st), 0);
        free(path);
    }
    free(folder);
    free(model);
}

/* Returns 1 if the directory contains a partial file with data. */
static int has_partial(const char *dir) {
    DIR *d = opendir(dir);
    int found = 0;
    for (const struct dirent *e = d ? readdir(d) : NULL; e; e = readdir(d)) {
        struct stat st;
        char *path = test_path(dir, e->d_name);
        found |= strstr(e->d_name, ".incomplete") && stat(path, &st) == 0 && st.st_size > 0;
        free(path);
    }
    if (d)
        closedir(d);
    return found;
}

/* While another process downloads the weights, the download waits. When the other process is killed, the download
 * continues its partial file. */
static void test_killed_owner(void **state) {
    (void)state;
    char *model = begin(), *blobs = test_path(model, "blobs");
    hub.slow = 1;
    const pid_t other = fork();
    if (other == 0) {
        execl("/proc/self/exe", "pull_test", "pull", (char *)NULL);
        _exit(127);
    }
    test_server_forget(hub.storage);
    while (test_server_count(hub.storage, NULL) == 0 || !has_partial(blobs)) {
        assert_int_equal(waitpid(other, NULL, WNOHANG), 0); /* the process still downloads */
        usleep(10000);
    }
    reported.kill = other;
    expect_complete(model);
    assert_int_equal(reported.kill, 0);
    assert_string_equal(reported.why, "another process downloads this file");
    assert_true(result.downloaded < 30000);
    assert_true(test_server_count_header(hub.storage, "bytes=") > 0);
    assert_false(has_partial(blobs));
    free(blobs);
    free(model);
}

/* ------------------------------------------------------------- cross-encoders */

#define TRANSFORMER_ONLY                                                                                               \
    "[{\"idx\":0,\"name\":\"0\",\"path\":\"\",\"type\":\"sentence_transformers.base.modules.transformer.Transformer\"}]"

/* Copies the model to the server, so that its name is acme/NAME. */
static char *serve(const char *from, const char *name) {
    char *acme = test_path(hub.folder, "acme"), *to = test_path(acme, name);
    assert_int_equal(mkdir(to, 0700), 0);
    test_copy_dir(from, to);
    free(acme);
    return to;
}

/* Result of the last list: what the entry of the model says. */
static struct {
    const char *name;
    int found, opens, cross_encoder;
} listed;

static int record_entry(void *user, const aoe_hub_entry *e) {
    (void)user;
    if (strcmp(e->name, listed.name) != 0)
        return 0;
    listed.found = 1;
    listed.opens = !e->problem;
    listed.cross_encoder = e->cross_encoder;
    return 0;
}

/* Downloads the model and checks the kind of model in the list. */
static void expect_kind(const char *name, int cross_encoder) {
    free(begin());
    if (pull(name))
        fail_msg("%s", err.message);
    memset(&listed, 0, sizeof listed);
    listed.name = name;
    assert_int_equal(aoe_hub_list(record_entry, NULL, &err), 0);
    if (!listed.found || !listed.opens || listed.cross_encoder != cross_encoder)
        fail_msg("%s: found %d, opens %d, cross-encoder %d", name, listed.found, listed.opens, listed.cross_encoder);
}

/* All forms of cross-encoders are downloaded and listed as such: a head in the weights, with and without a modules.json
 * that contains only a Transformer, a language model with LogitScore, and a head that consists of modules. */
static void test_kinds(void **state) {
    (void)state;
    free(serve("tests/golden/cross_encoders/bert", "plain"));
    expect_kind("acme/plain", 1);
    char *dir = serve("tests/golden/cross_encoders/bert", "modules");
    free(test_write_text(dir, "modules.json", TRANSFORMER_ONLY));
    expect_kind("acme/modules", 1);
    free(dir);
    free(serve("tests/golden/cross_encoders/logit_score", "logits"));
    expect_kind("acme/logits", 1);
    free(serve("tests/golden/cross_encoders/pooled_modules", "pooled"));
    expect_kind("acme/pooled", 1);
    dir = serve("tests/golden/qwen2", "embedding"); /* this directory has no tokenizer */
    char *tokenizer = test_tokenizer_json(&(test_tokenizer_spec){.words = ""});
    free(test_write_text(dir, "tokenizer.json", tokenizer));
    free(test_write_text(dir, "tokenizer_config.json", "{\"tokenizer_class\": \"BertTokenizer\"}"));
    free(tokenizer);
    free(dir);
    expect_kind("acme/embedding", 0);
    dir = serve("tests/golden/cross_encoders/bert", "broken"); /* an error of a cross-encoder, whose weights are not
                                                                  downloaded */
    free(test_write_text(dir, "modules.json", TRANSFORMER_ONLY));
    free(test_write_text(dir, "config_sentence_transformers.json",
                         "{\"activation_fn\": \"torch.nn.modules.activation.GELU\"}"));
    char *model = begin();
    expect_failure("acme/broken", AOE_EUNSUPPORTED, "were not downloaded");
    expect_failure("acme/broken", AOE_EUNSUPPORTED, "GELU' of the scores is not supported");
    free(model);
    free(dir);
}

/* The chat template of a reranker is downloaded, because its scores depend on it. */
static void test_chat_template(void **state) {
    (void)state;
    char *dir = serve("tests/golden/cross_encoders/logit_score", "chat");
    free(test_write_text(dir, "chat_template.jinja", "a template without texts"));
    free(test_write_text(dir, "sentence_bert_config.json",
                         "{\"transformer_task\": \"text-generation\", \"modality_config\": {"
                         "\"text\": {\"method\": \"forward\", \"method_output_name\": \"logits\"},"
                         "\"message\": {\"method\": \"forward\", \"method_output_name\": \"logits\"}}}"));
    free(begin());
    expect_failure("acme/chat", AOE_EUNSUPPORTED, "the chat template prints the same string for different texts");
    free(dir);
}

/* ------------------------------------------------------------------ headers */

static aoei_headers headers_of(const char *text) {
    aoei_headers h = {0};
    for (const char *s = text; *s;) {
        const size_t len = strcspn(s, "\n");
        assert_int_equal(aoei_headers_add(&h, s, len), 0);
        s += len + (s[len] == '\n');
    }
    return h;
}

static void test_headers(void **state) {
    (void)state;
#define SHA1 "0123456789abcdef0123456789abcdef01234567"
    static const struct {
        const char *text;
        int status, valid;
        uint64_t size;
    } cases[] = {
        {"ETag: \"" SHA1 "\"\nContent-Length: 12", 200, 1, 12},
        {"ETag: W/\"" SHA1 "\"\nContent-Length: 0", 200, 1, 0},
        {"ETag: \"x\"\nX-Linked-Etag: " SHA1 "\nX-Linked-Size: 7\nContent-Length: 99", 302, 1, 7},
        {"ETag: \"" SHA1 "\"\nContent-Length: 12", 302, 0, 0}, /* the length of the redirect, not of the file */
        {"ETag: \"" SHA1 "\"", 200, 0, 0},
        {"ETag: \"abc\"\nContent-Length: 12", 200, 0, 0},
        {"ETag: \"../3456789abcdef0123456789abcdef01234567\"\nContent-Length: 12", 200, 0, 0},
        {"ETag: \"0123456789ABCDEF0123456789abcdef01234567\"\nContent-Length: 12", 200, 0, 0},
        {"ETag: \"" SHA1 "\"\nContent-Length: -1", 200, 0, 0},
        {"ETag: \"" SHA1 "\"\nContent-Length: 12x", 200, 0, 0},
        {"ETag: \"" SHA1 "\"\nContent-Length: 9223372036854775808", 200, 0, 0},
        {"Content-Length: 12", 200, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char etag[AOEI_DIGEST_HEX];
        uint64_t size = 0;
        aoei_headers h = headers_of(cases[i].text);
        if (aoei_hub_reply_file(etag, &size, &h, cases[i].status) != cases[i].valid)
            fail_msg("%s", cases[i].text);
        if (cases[i].valid) {
            assert_string_equal(etag, SHA1);
            assert_int_equal(size, cases[i].size);
        }
        aoei_headers_free(&h);
    }
    static const struct {
        const char *range;
        int valid;
    } ranges[] = {{"bytes 500-999/1000", 1},  {"bytes 500-600/1000", 1}, {"bytes 501-999/1000", 0},
                  {"bytes 500-1000/1000", 0}, {"bytes 500-499/1000", 0}, {"bytes 500-999/*", 0},
                  {"bytes */1000", 0},        {"items 500-999/1000", 0}, {"bytes 500-999/1001", 0}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        char line[80];
        snprintf(line, sizeof line, "Content-Range: %s", ranges[i].range);
        aoei_headers h = headers_of(line);
        if (aoei_hub_reply_continues(&h, 500, 1000) != ranges[i].valid)
            fail_msg("%s", line);
        aoei_headers_free(&h);
    }
}

/* --------------------------------------------------------------------- main */

static int start(void **state) {
    static const char *const variables[] = {"HF_HUB_CACHE",         "HUGGINGFACE_HUB_CACHE",  "HF_HUB_OFFLINE",
                                            "TRANSFORMERS_OFFLINE", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH"};
    static const char *const models[] = {"acme/tiny", "gated/tiny", "private/tiny", "disabled/tiny", "loop/tiny"};
    test_dir_set_up(state);
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    char *folder = test_path(test_dir, "served");
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        test_hub_write_model(folder, models[i]);
    hub.folder = folder;
    server = test_server_start();
    test_hub_routes(&hub, server);
    return setenv("HF_ENDPOINT", test_server_url(server), 1);
}

static int stop(void **state) {
    char *folder = (char *)(uintptr_t)hub.folder;
    test_server_stop(server);
    test_server_stop(hub.storage);
    free(folder);
    return test_dir_tear_down(state);
}

int main(void) {
    if (test_argc == 2 && strcmp(test_argv[1], "pull") == 0)
        return aoe_hub_pull("acme/tiny", NULL, &result, &err) ? 1 : 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages),      cmocka_unit_test(test_token),         cmocka_unit_test(test_variables),
        cmocka_unit_test(test_continue),      cmocka_unit_test(test_wrong_answers), cmocka_unit_test(test_waits),
        cmocka_unit_test(test_timeout),       cmocka_unit_test(test_without_links), cmocka_unit_test(test_absent_files),
        cmocka_unit_test(test_killed_owner),  cmocka_unit_test(test_headers),       cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_chat_template),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
