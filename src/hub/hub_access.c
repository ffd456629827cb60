/* SPDX-License-Identifier: MIT
 * Reads the environment variables of the Hub, and explains the Hub's error responses. The token is passed to the HTTP
 * client only, which sends it to the origin of the endpoint.
 */
#include "hub/hub_access.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/hub_cache.h"
#include "base/path.h"
#include "net/url.h"

#define MAX_TOKEN       4096 /* maximum bytes of a file with a token */
#define DEFAULT_TIMEOUT 10   /* seconds */

/* ------------------------------------------------------------- environment */

static int is_true(const char *variable) {
    static const char *const words[] = {"1", "ON", "YES", "TRUE"};
    const char *value = getenv(variable);
    for (size_t i = 0; value && i < sizeof words / sizeof *words; i++)
        if (strcasecmp(value, words[i]) == 0)
            return 1;
    return 0;
}

int aoei_hub_is_offline(void) {
    return is_true("HF_HUB_OFFLINE") || is_true("TRANSFORMERS_OFFLINE");
}

static const char *value_of(const char *variable) {
    const char *value = getenv(variable);
    return value && *value ? value : NULL;
}

static int is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Reads a number of seconds from an environment variable. A missing value and 0 stand for the default of
 * huggingface_hub. */
static int read_timeout(double *seconds, const char *variable, aoe_error *err) {
    const char *value = value_of(variable);
    const size_t digits = value ? strspn(value, "0123456789") : 0;
    *seconds = DEFAULT_TIMEOUT;
    if (value && (!digits || digits > 6 || value[digits]))
        return aoei_fail(err, AOE_EARG, "%s: '%s' is not a whole number of seconds; correct or unset this variable",
                         variable, value);
    if (value && strtod(value, NULL) > 0)
        *seconds = strtod(value, NULL);
    return 0;
}

/* Reads the token from $HF_TOKEN_PATH or $HF_HOME/token into *text, which the caller frees. A file that does not exist
 * is not an error. */
static int read_token_file(char **text, aoe_error *err) {
    char *home = aoei_hub_home();
    char *path = value_of("HF_TOKEN_PATH") ? aoei_strdup(value_of("HF_TOKEN_PATH"))
                 : home                    ? aoei_path_join(home, "token")
                                           : NULL;
    size_t size = 0;
    int rc = !path               ? aoei_fail_nomem(err, 0)
             : aoei_exists(path) ? aoei_read_file(text, &size, path, MAX_TOKEN, err)
                                 : 0;
    aoei_free(home);
    aoei_free(path);
    return rc;
}

/* Sets a->token. */
static int find_token(aoei_hub_access *a, aoe_error *err) {
    char *text = NULL;
    int rc = 0;
    if (a->o->token)
        text = aoei_strdup(a->o->token);
    else if (is_true("HF_HUB_DISABLE_IMPLICIT_TOKEN"))
        return 0;
    else if (value_of("HF_TOKEN"))
        text = aoei_strdup(value_of("HF_TOKEN"));
    else if (value_of("HUGGING_FACE_HUB_TOKEN"))
        text = aoei_strdup(value_of("HUGGING_FACE_HUB_TOKEN"));
    else if ((rc = read_token_file(&text, err)) || !text)
        return rc;
    if (!text)
        return aoei_fail_nomem(err, 0);
    size_t start = 0, len = strlen(text);
    while (is_blank(text[start]))
        start++;
    while (len > start && is_blank(text[len - 1]))
        len--;
    if (len > start && !(a->token = aoei_strndup(text + start, len - start)))
        rc = aoei_fail_nomem(err, len);
    aoei_free(text);
    return rc;
}

/* ------------------------------------------------------------------ client */

/* Callback of aoei_fetch: passes waits on to the progress callback. */
static void report_wait(void *user, const aoei_fetch_progress *p) {
    aoei_hub_access *a = user;
    if (p->event == AOEI_FETCH_RESPONSE)
        return;
    a->state.waiting = p->seconds;
    a->state.why = p->why;
    aoei_hub_report(a);
    a->state.waiting = 0;
    a->state.why = "";
}

int aoei_hub_access_open(aoei_hub_access *a, const aoe_hub_options *o, aoe_error *err) {
    *a = (aoei_hub_access){.o = o, .state = {.struct_size = sizeof a->state, .model = "", .file = "", .why = ""}};
    const char *endpoint = o->endpoint               ? o->endpoint
                           : value_of("HF_ENDPOINT") ? value_of("HF_ENDPOINT")
                                                     : "https://huggingface.co";
    size_t len = strlen(endpoint);
    while (len && endpoint[len - 1] == '/')
        len--;
    aoei_url url = {0};
    if (!(a->endpoint = aoei_strndup(endpoint, len)))
        return aoei_fail_nomem(err, len);
    int rc = aoei_url_read(&url, a->endpoint, err);
    aoei_url_free(&url);
    if (rc)
        return rc == AOE_EARG ? aoei_error_prefix(err, "HF_ENDPOINT") : rc;
    const aoei_http_options http = {.stop = o->stop, .stop_user = o->user};
    const aoei_fetch_options fetch = {.attempts = 5,
                                      .max_delay = 8,
                                      .stop = o->stop,
                                      .stop_user = o->user,
                                      .progress = report_wait,
                                      .progress_user = a};
    a->no_links = is_true("HF_HUB_DISABLE_SYMLINKS");
    if ((rc = read_timeout(&a->reply_timeout, "HF_HUB_ETAG_TIMEOUT", err)) ||
        (rc = read_timeout(&a->download_timeout, "HF_HUB_DOWNLOAD_TIMEOUT", err)))
        return rc;
    if ((rc = find_token(a, err)) || (rc = aoei_http_create(&a->http, &http, err)))
        return rc;
    return aoei_fetch_create(&a->fetch, &fetch, err);
}

void aoei_hub_access_close(aoei_hub_access *a) {
    aoei_fetch_destroy(a->fetch);
    aoei_http_destroy(a->http);
    if (a->token)
        memset(a->token, 0, strlen(a->token));
    aoei_free(a->token);
    aoei_free(a->endpoint);
    *a = (aoei_hub_access){0};
}

void aoei_hub_report(const aoei_hub_access *a) {
    if (a->o->progress)
        a->o->progress(a->o->user, &a->state);
}

/* ---------------------------------------------------------------- requests */

void aoei_hub_escape(aoei_buffer *url, const char *text, const char *keep) {
    for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
        const int plain = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9');
        if (plain || strchr("-_.~", *s) || strchr(keep, *s))
            (void)aoei_buffer_putc(url, (char)*s);
        else
            (void)aoei_buffer_printf(url, "%%%02X", *s);
    }
}

static int header_has(const aoei_http_response *r, const char *name, const char *text) {
    const char *value = aoei_headers_get(&r->headers, name, 0);
    return value && strstr(value, text) != NULL;
}

int aoei_hub_fail_status(const aoei_hub_access *a, const aoei_http_response *r, const char *id, const char *what,
                         aoe_error *err) {
    const char *code = "x-error-code", *message = "x-error-message";
    if ((r->status == 401 || r->status == 403) && header_has(r, code, "GatedRepo"))
        return aoei_fail(
            err, AOE_ENOENT,
            "%s: access to this model is restricted (status %d); accept its terms at %s/%s, and set HF_TOKEN to a "
            "token of the same account",
            id, r->status, a->endpoint, id);
    if (r->status == 401 && header_has(r, message, "Invalid credentials"))
        return aoei_fail(err, AOE_ENOENT,
                         "%s: the server rejected the token (status 401); set HF_TOKEN to a valid token", id);
    if (r->status == 403 && header_has(r, message, "disabled"))
        return aoei_fail(err, AOE_ENOENT, "%s: the Hub has disabled access to this model; choose another model", id);
    if (r->status == 404 && header_has(r, code, "RevisionNotFound"))
        return aoei_fail(err, AOE_ENOENT, "%s: there is no revision '%s'; check the branch, tag or commit after '@'",
                         id, what);
    if (r->status == 404 && header_has(r, code, "EntryNotFound"))
        return aoei_fail(err, AOE_ENOENT, "%s: there is no file %s in this revision; try again later", id, what);
    if (r->status == 401 || r->status == 403 || r->status == 404)
        return aoei_fail(
            err, AOE_ENOENT, "%s: there is no such model at %s, or it is private (status %d); check the name%s", id,
            a->endpoint, r->status, a->token ? " and the rights of HF_TOKEN" : ", or set HF_TOKEN if it is private");
    return aoei_fail(err, AOE_EIO, "%s: %s: the server returned status %d; try again later", id, what, r->status);
}
