/* SPDX-License-Identifier: MIT
 * Reads and compares the API key.
 */
#include "serve/auth.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"

static int check_key(const char *text, size_t len, const char *path, aoe_error *err) {
    if (len == 0)
        return aoei_fail(err, AOE_EFORMAT, "%s: the file with the API key is empty; write the key into its first line",
                         path);
    if (len > AOEI_KEY_BYTES)
        return aoei_fail(err, AOE_EFORMAT, "%s: the API key has %zu bytes; use at most %d", path, len, AOEI_KEY_BYTES);
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return aoei_fail(err, AOE_EFORMAT,
                             "%s: byte %zu of the API key is no visible ASCII character; write one line without spaces",
                             path, i);
    return 0;
}

int aoei_key_load(aoei_key *k, const char *path, const aoei_log *log, aoe_error *err) {
    *k = (aoei_key){0};
    char *text = NULL;
    size_t len = 0;
    int rc = aoei_read_file(&text, &len, path, 65536, err);
    if (rc)
        return rc;
    const size_t size = len;
    while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
        len--;
    rc = check_key(text, len, path, err);
    if (rc == 0) {
        memcpy(k->bytes, text, len);
        k->len = len;
    }
    explicit_bzero(text, size);
    aoei_free(text);
    struct stat st;
    if (rc == 0 && stat(path, &st) == 0 && (st.st_mode & S_IROTH))
        aoei_log_write(log, AOE_LOG_WARNING, "%s: every user of this computer can read the API key; run: chmod o-r %s",
                       path, path);
    return rc;
}

/* The loop always reads all bytes of the key. `volatile` keeps the compiler from ending it early. */
int aoei_key_equals(const aoei_key *k, aoe_text given) {
    char padded[AOEI_KEY_BYTES] = {0};
    if (given.len > sizeof padded)
        return 0;
    memcpy(padded, given.data, given.len);
    volatile unsigned different = (unsigned)(k->len ^ given.len);
    for (size_t i = 0; i < sizeof padded; i++)
        different |= (unsigned)(unsigned char)(k->bytes[i] ^ padded[i]);
    return different == 0;
}

int aoei_key_allows(const aoei_key *k, const char *authorization, const char *x_api_key, const char *api_key) {
    if (k->len == 0)
        return 1;
    const char *bearer = NULL;
    if (authorization && strncasecmp(authorization, "bearer ", 7) == 0)
        bearer = authorization + 7 + strspn(authorization + 7, " ");
    return (bearer && aoei_key_equals(k, aoe_text_of(bearer))) ||
           (x_api_key && aoei_key_equals(k, aoe_text_of(x_api_key))) ||
           (api_key && aoei_key_equals(k, aoe_text_of(api_key)));
}
