/* SPDX-License-Identifier: MIT
 * Downloads a blob under a lock (flock, as huggingface_hub uses it): HEAD tells the checksum and the size, GET with a
 * Range continues the partial file blobs/ETAG.incomplete, and the checksum is computed while the data arrive. The file
 * gets its final name only after its checksum was verified.
 */
#include "hub/hub_download.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/dir.h"
#include "base/error.h"
#include "base/io_fault.h"
#include "hub/hub_place.h"
#include "hub/hub_reply.h"

#define MAX_HOPS     5 /* maximum number of redirects of a HEAD request */
#define MAX_RESTARTS 3 /* maximum number of times that a download begins again */

/* A file on the server. */
typedef struct remote {
    char etag[AOEI_DIGEST_HEX]; /* SHA-256 (64 digits) or SHA-1 of the git blob (40 digits) */
    uint64_t size;              /* bytes */
    char *url;                  /* URL of GET, owned */
} remote;

/* A blob that is being downloaded. */
typedef struct blob {
    aoei_hub_access *a;
    const aoei_hub_target *t;
    const remote *file;
    const char *path;    /* partial file, borrowed */
    int fd;              /* owned */
    aoei_digest *digest; /* of the first `have` bytes; owned */
    uint64_t have;       /* bytes in the partial file */
    int restarts;        /* how often the partial file was emptied */
    char range[64];      /* "Range: bytes=N-" */
    const char *header[1];
    aoei_http_request q; /* its headers change when data arrive, so that a retry requests only the rest */
    aoe_error err;       /* error in the callback `receive` */
} blob;

/* --------------------------------------------------------------------- HEAD */

/* Sets *next to the URL of a relative redirect, which the caller frees, or to NULL if the response is not one. */
static int relative_redirect(char **next, const aoei_http_response *r, const aoei_hub_access *a, aoe_error *err) {
    const char *to = r->status >= 301 && r->status <= 308 ? aoei_headers_get(&r->headers, "location", 0) : NULL;
    aoei_buffer url = {0};
    *next = NULL;
    if (!to || to[0] != '/' || to[1] == '/')
        return 0;
    const char *host = strstr(a->endpoint, "://");
    const size_t origin = host ? (size_t)(host - a->endpoint) + 3 + strcspn(host + 3, "/") : 0;
    (void)aoei_buffer_printf(&url, "%.*s%s", (int)origin, a->endpoint, to);
    *next = url.data;
    return url.failed ? aoei_fail_nomem(err, 0) : 0;
}

/* Requests the headers of the file. A redirect to another host is not followed, because its response has other
 * checksums. */
static int request_head(remote *file, aoei_hub_access *a, const aoei_hub_target *t, const char *path, aoe_error *err) {
    static const char *const identity[] = {"Accept-Encoding: identity"};
    aoei_buffer url = {0};
    (void)aoei_buffer_printf(&url, "%s/%s/resolve/%s/", a->endpoint, t->id, t->commit);
    aoei_hub_escape(&url, path, "/");
    file->url = url.data;
    if (url.failed)
        return aoei_fail_nomem(err, 0);
    aoei_http_response r = {0};
    int rc = 0, looped = 0;
    for (int hops = 0; !rc && !looped; hops++) {
        const aoei_http_request q = {.method = "HEAD",
                                     .url = file->url,
                                     .headers = identity,
                                     .n_headers = 1,
                                     .token = a->token,
                                     .stall_timeout = a->reply_timeout};
        rc = aoei_fetch_send(a->fetch, a->http, &q, NULL, NULL, &r, err);
        char *next = NULL;
        if (!rc)
            rc = relative_redirect(&next, &r, a, err);
        if (!next)
            break;
        aoei_free(file->url);
        file->url = next;
        looped = hops == MAX_HOPS;
    }
    if (!rc && r.status >= 400)
        rc = aoei_hub_fail_status(a, &r, t->id, path, err);
    else if (!rc && looped)
        rc = aoei_fail(err, AOE_EIO, "%s: %s: redirected more than %d times; check HF_ENDPOINT", t->id, path, MAX_HOPS);
    else if (!rc && !aoei_hub_reply_file(file->etag, &file->size, &r.headers, r.status))
        rc = aoei_fail(err, AOE_EFORMAT,
                       "%s: %s: the response contains no checksum (ETag) or no size of the file; check HF_ENDPOINT",
                       t->id, path);
    aoei_http_response_free(&r);
    return rc;
}

/* --------------------------------------------------------------------- blob */

static int fail_file(const blob *b, int errnum, const char *what, aoe_error *err) {
    return aoei_fail_errno(err, errnum, "cannot %s %s", what, b->path);
}

/* Starts the digest. A git blob begins with the word "blob" and its size. */
static int start_digest(blob *b, aoe_error *err) {
    char prefix[40];
    const int n = snprintf(prefix, sizeof prefix, "blob %" PRIu64, b->file->size) + 1;
    int rc = aoei_digest_restart(b->digest);
    if (!rc && strlen(b->file->etag) == 40)
        rc = aoei_digest_add(b->digest, prefix, (size_t)n);
    return rc ? aoei_fail_nomem(err, 0) : 0;
}

/* Sets the header of the request to the part of the file that is missing. */
static void set_range(blob *b) {
    (void)snprintf(b->range, sizeof b->range, "Range: bytes=%" PRIu64 "-", b->have);
    b->q.n_headers = b->have ? 1 : 0;
}

/* Empties the partial file. */
static int restart(blob *b, aoe_error *err) {
    if (++b->restarts > MAX_RESTARTS)
        return aoei_fail(err, AOE_EIO, "%s: %s: the server does not continue the download; try again later", b->t->id,
                         b->a->state.file);
    if (aoei_io_step() || ftruncate(b->fd, 0) || lseek(b->fd, 0, SEEK_SET) < 0)
        return fail_file(b, errno, "truncate", err);
    b->have = 0;
    set_range(b);
    return start_digest(b, err);
}

/* Fails if a response says that the file has another size than expected. */
static int check_length(const blob *b, const aoei_http_response *r, aoe_error *err) {
    uint64_t total;
    if (!aoei_hub_reply_length(&total, &r->headers) || total == b->file->size)
        return 0;
    return aoei_fail(err, AOE_EFORMAT,
                     "%s: %s: the server has %" PRIu64 " bytes of the file instead of %" PRIu64 "; try again later",
                     b->t->id, b->a->state.file, total, b->file->size);
}

/* Empties the partial file, because the server cannot send the rest (status 416). */
static int restart_after_416(blob *b, const aoei_http_response *r, aoe_error *err) {
    const int rc = check_length(b, r, err);
    return rc ? rc : restart(b, err);
}

/* Adds the partial file to the digest. A file that is longer than expected is emptied. */
static int read_partial(blob *b, aoe_error *err) {
    char data[1 << 16];
    int rc = start_digest(b, err);
    while (!rc) {
        const ssize_t n = read(b->fd, data, sizeof data);
        if (n < 0)
            return fail_file(b, errno, "read", err);
        if (n == 0)
            break;
        b->have += (uint64_t)n;
        if (b->have > b->file->size)
            return restart(b, err);
        if (aoei_digest_add(b->digest, data, (size_t)n))
            rc = aoei_fail_nomem(err, 0);
    }
    set_range(b);
    return rc;
}

/* Checks that a response continues the partial file. */
static int begin_response(blob *b, const aoei_http_response *r) {
    if (check_length(b, r, &b->err))
        return -1;
    if (r->status == 200)
        return b->have ? restart(b, &b->err) : 0;
    if (!aoei_hub_reply_continues(&r->headers, b->have, b->file->size))
        return aoei_fail(&b->err, AOE_EFORMAT,
                         "%s: the server sent another part of the file than requested; try again later", b->t->id);
    return 0;
}

/* Callback that writes a part of the body (aoei_receive_fn). */
static int receive(void *user, const aoei_http_response *r, uint64_t offset, const void *data, size_t len) {
    blob *b = user;
    if (offset == 0 && begin_response(b, r))
        return -1;
    if (len > b->file->size - b->have)
        return aoei_fail(&b->err, AOE_EFORMAT,
                         "%s: the server sent more than the %" PRIu64 " bytes of the file; try again later", b->t->id,
                         b->file->size);
    for (size_t done = 0; done < len;) {
        const ssize_t n = aoei_io_step() ? -1 : write(b->fd, (const char *)data + done, len - done);
        if (n < 0 && errno != EINTR)
            return fail_file(b, errno, "write", &b->err);
        done += n > 0 ? (size_t)n : 0;
    }
    if (aoei_digest_add(b->digest, data, len))
        return aoei_fail_nomem(&b->err, 0);
    b->have += len;
    *b->t->downloaded += len;
    set_range(b);
    b->a->state.done = b->t->base + b->have;
    aoei_hub_report(b->a);
    return 0;
}

/* Downloads the missing part. Attempts that make progress are not counted. */
static int request_rest(blob *b, aoe_error *err) {
    aoei_http_response r = {0};
    int rc = 0;
    while (!rc && b->have < b->file->size) {
        const uint64_t before = b->have;
        b->err.code = 0;
        rc = aoei_fetch_send(b->a->fetch, b->a->http, &b->q, NULL, NULL, &r, err);
        if (rc && b->err.code)
            rc = aoei_fail(err, b->err.code, "%s", b->err.message);
        else if (rc && r.transient && b->have > before)
            rc = 0;
        else if (!rc && r.status == 416 && b->have)
            rc = restart_after_416(b, &r, err);
        else if (!rc && r.status != 200 && r.status != 206)
            rc = aoei_hub_fail_status(b->a, &r, b->t->id, b->a->state.file, err);
        else if (!rc && b->have == before)
            rc = aoei_fail(err, AOE_EIO, "%s: the server sent no data; try again later", b->t->id);
    }
    aoei_http_response_free(&r);
    return rc;
}

/* Completes the partial file and compares its checksum. If the checksum is wrong and the file contains a part of an
 * earlier download, which a power failure may have damaged, the file is downloaded again from the start. */
static int fill(blob *b, aoe_error *err) {
    char hex[AOEI_DIGEST_HEX];
    int rc = read_partial(b, err);
    for (int kept = b->have > 0;; kept = 0) {
        if (!rc)
            rc = request_rest(b, err);
        if (rc)
            return rc;
        if (aoei_digest_end(b->digest, hex))
            return aoei_fail_nomem(err, 0);
        if (strcmp(hex, b->file->etag) == 0)
            break;
        if (kept) {
            rc = restart(b, err);
            continue;
        }
        (void)unlink(b->path);
        return aoei_fail(
            err, AOE_EFORMAT,
            "%s: %s: the checksum of the downloaded file is %s instead of %s; the file was removed, try again",
            b->t->id, b->a->state.file, hex, b->file->etag);
    }
    if (aoei_io_step() || fsync(b->fd))
        return fail_file(b, errno, "write", err);
    return 0;
}

/* Downloads the blob `path`, unless it exists. *fresh is set to 1 if it was downloaded. The caller holds its lock. */
static int make_blob(aoei_hub_access *a, const aoei_hub_target *t, const remote *file, const char *path, int *fresh,
                     aoe_error *err) {
    struct stat st;
    if (stat(path, &st) == 0 && (uint64_t)st.st_size == file->size)
        return 0;
    *fresh = 1;
    aoei_buffer partial = {0};
    if (aoei_buffer_printf(&partial, "%s.incomplete", path)) {
        aoei_buffer_free(&partial);
        return aoei_fail_nomem(err, strlen(path));
    }
    blob b = {.a = a, .t = t, .file = file, .path = partial.data};
    b.header[0] = b.range;
    b.q = (aoei_http_request){.url = file->url,
                              .headers = b.header,
                              .token = a->token,
                              .stall_timeout = a->download_timeout,
                              .receive = receive,
                              .receive_user = &b};
    b.fd = aoei_io_step() ? -1 : open(b.path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    int rc = b.fd < 0 ? fail_file(&b, errno, "create", err) : 0;
    if (!rc)
        rc = aoei_digest_create(&b.digest, strlen(file->etag) == 64 ? "SHA256" : "SHA1", err);
    if (!rc)
        rc = fill(&b, err);
    if (b.fd >= 0)
        close(b.fd);
    if (!rc)
        rc = aoei_rename(b.path, path, err);
    aoei_digest_free(b.digest);
    aoei_buffer_free(&partial);
    return rc;
}

/* --------------------------------------------------------------------- lock */

/* Opens and locks a file. While another process holds the lock, the function waits and calls the callbacks. */
static int lock_file(int *fd, const aoei_hub_access *a, const char *path, aoe_error *err) {
    static const struct timespec pause = {0, 100000000};
    *fd = aoei_io_step() ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0664);
    if (*fd < 0)
        return aoei_fail_errno(err, errno, "cannot create %s", path);
    for (size_t n = 0; flock(*fd, LOCK_EX | LOCK_NB); n++) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return aoei_fail_errno(err, errno, "cannot lock %s", path);
        if (a->o->stop && a->o->stop(a->o->user))
            return aoei_fail(err, AOE_ECANCELLED,
                             "cancelled by the caller while another process downloads the same file");
        if (n % 10 == 0 && a->o->progress) {
            aoe_hub_progress p = a->state;
            p.waiting = 1;
            p.why = "another process downloads this file";
            a->o->progress(a->o->user, &p);
        }
        (void)nanosleep(&pause, NULL);
    }
    return 0;
}

/* -------------------------------------------------------------------- file */

/* Downloads the blob and adds it to the snapshot, once the headers of the file are known. */
static int make_file(aoei_hub_access *a, const aoei_hub_target *t, const remote *file, const char *path,
                     aoe_error *err) {
    aoei_buffer blob_path = {0}, lock_path = {0}, entry = {0};
    aoei_hub_place p = {.etag = file->etag, .size = file->size, .no_links = a->no_links};
    int fd = -1, fresh = 0;
    for (const char *s = path; *s; s++)
        p.depth += *s == '/';
    p.blob = aoei_buffer_printf(&blob_path, "%s/blobs/%s", t->folder, file->etag) ? NULL : blob_path.data;
    p.path = aoei_buffer_printf(&entry, "%s/%s", t->snapshot, path) ? NULL : entry.data;
    (void)aoei_buffer_printf(&lock_path, "%s/%s.lock", t->locks, file->etag);
    int rc = lock_path.failed || !p.blob || !p.path ? aoei_fail_nomem(err, 0) : 0;
    if (!rc && !aoei_hub_is_placed(&p)) {
        rc = lock_file(&fd, a, lock_path.data, err);
        const int placed = !rc && aoei_hub_is_placed(&p); /* by another process */
        if (!rc && !placed)
            rc = make_blob(a, t, file, p.blob, &fresh, err);
        if (!rc && !placed)
            rc = aoei_hub_place_file(&p, fresh, err);
        if (fd >= 0)
            close(fd); /* releases the lock */
    }
    aoei_buffer_free(&blob_path);
    aoei_buffer_free(&lock_path);
    aoei_buffer_free(&entry);
    return rc;
}

int aoei_hub_download(aoei_hub_access *a, const aoei_hub_target *t, const char *path, uint64_t *size, aoe_error *err) {
    remote file = {.etag = ""};
    a->state.file = path;
    a->state.done = t->base;
    int rc = request_head(&file, a, t, path, err);
    if (!rc)
        rc = make_file(a, t, &file, path, err);
    *size = file.size;
    a->state.done = t->base + file.size;
    a->state.file = "";
    aoei_free(file.url);
    return rc;
}
