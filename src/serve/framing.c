/* SPDX-License-Identifier: MIT
 * Checks of targets, headers, hosts and origins. All functions accept any bytes. They only report; serve/http.c
 * answers.
 */
#include "serve/framing.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

static int fail(aoei_framing *f, const char *problem) {
    f->problem = f->problem ? f->problem : problem;
    return 1;
}

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

static int is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static int is_alnum(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static int equals(aoe_text t, const char *word) {
    return t.len == strlen(word) && strncasecmp(t.data, word, t.len) == 0;
}

/* ------------------------------------------------------------------ target */

/* Checks the characters of the target. "%00" would end the decoded path early. */
static int check_target(aoei_framing *f, const char *target) {
    for (const char *p = target; *p; p++) {
        if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 127)
            return fail(f, "the target of the request contains a control character or a character that is not ASCII");
        if (*p != '%')
            continue;
        if (!is_hex(p[1]) || !is_hex(p[2]))
            return fail(f, "a '%' in the target of the request is not followed by two hexadecimal digits");
        if (p[1] == '0' && p[2] == '0')
            return fail(f, "the target of the request contains %00");
    }
    return 0;
}

const char *aoei_framing_target(aoei_framing *f, const char *target) {
    if (check_target(f, target))
        return "";
    if (target[0] == '/' || strcmp(target, "*") == 0)
        return target;
    const size_t scheme = strncasecmp(target, "http://", 7) == 0 ? 7 : strncasecmp(target, "https://", 8) == 0 ? 8 : 0;
    if (!scheme) {
        (void)fail(f, "the target of the request does not start with '/'");
        return "";
    }
    f->host = (aoe_text){.data = target + scheme, .len = strcspn(target + scheme, "/?#")};
    const char *path = f->host.data + f->host.len;
    if (*path == '/')
        return path;
    if (*path)
        (void)fail(f, "the target of the request has no path");
    return *path ? "" : "/";
}

/* ----------------------------------------------------------------- headers */

/* The characters of a token (RFC 9110, section 5.6.2) */
static int is_token(aoe_text t) {
    for (size_t i = 0; i < t.len; i++)
        if (!is_alnum(t.data[i]) && (t.data[i] == '\0' || !strchr("!#$%&'*+-.^_`|~", t.data[i])))
            return 0;
    return t.len > 0;
}

/* Bytes from 128 on are allowed, for example in names of users in old clients. */
static int is_value(aoe_text t) {
    for (size_t i = 0; i < t.len; i++)
        if (((unsigned char)t.data[i] < ' ' && t.data[i] != '\t') || t.data[i] == 127)
            return 0;
    return 1;
}

void aoei_framing_method(aoei_framing *f, const char *method) {
    if (!is_token(aoe_text_of(method)))
        (void)fail(f, "the method of the request contains a character that is not allowed");
}

void aoei_framing_line(aoei_framing *f) {
    (void)fail(f, "a header contains a NUL or continues on the next line, or a line does not end with CR LF");
}

static int read_length(aoe_text t, uint64_t *length) {
    uint64_t n = 0;
    for (size_t i = 0; i < t.len; i++) {
        if (!is_digit(t.data[i]) || n > (UINT64_MAX - 9) / 10)
            return 1;
        n = n * 10 + (uint64_t)(t.data[i] - '0');
    }
    *length = n;
    return t.len == 0;
}

/* A value of Transfer-Encoding that libmicrohttpd understands differently, such as "chunked " or "gzip, chunked", would
 * give the body another end. */
void aoei_framing_header(aoei_framing *f, aoe_text name, aoe_text value) {
    if (!is_token(name))
        (void)fail(f, "the name of a header is empty or contains a character that is not allowed");
    if (!is_value(value))
        (void)fail(f, "the value of a header contains a control character");
    if (equals(name, "content-length")) {
        f->n_length++;
        if (read_length(value, &f->length))
            (void)fail(f, "the value of Content-Length is not a number");
    } else if (equals(name, "transfer-encoding")) {
        f->n_transfer++;
        f->is_chunked = equals(value, "chunked");
        if (!f->is_chunked)
            (void)fail(f, "the only Transfer-Encoding that this server reads is 'chunked'");
    } else if (equals(name, "host")) {
        f->host = f->n_host++ == 0 && f->host.data ? f->host : value; /* the target has priority */
    } else if (equals(name, "origin")) {
        f->n_origin++;
        f->origin = value;
    } else if (equals(name, "expect") && equals(value, "100-continue")) {
        f->expects = 1;
    } else if (equals(name, "content-encoding") && value.len && !equals(value, "identity")) {
        f->is_encoded = 1;
    }
}

int aoei_framing_end(aoei_framing *f, const char *version) {
    const int is_old = strcmp(version, "HTTP/1.0") == 0;
    if (f->n_length > 1)
        (void)fail(f, "there is more than one header Content-Length");
    if (f->n_length && f->n_transfer)
        (void)fail(f, "there are both Content-Length and Transfer-Encoding");
    if (f->n_transfer > 1)
        (void)fail(f, "there is more than one header Transfer-Encoding");
    if (f->n_transfer && is_old)
        (void)fail(f, "HTTP/1.0 has no Transfer-Encoding");
    if (f->n_host > 1)
        (void)fail(f, "there is more than one header Host");
    if (f->n_origin > 1)
        (void)fail(f, "there is more than one header Origin");
    if (f->n_host == 0 && !is_old)
        (void)fail(f, "the header Host is missing");
    if (f->host.data && aoei_host_parse(f->host).kind == AOEI_HOST_INVALID)
        (void)fail(f, "the value of Host is not a host with an optional port");
    return f->problem != NULL;
}

/* ------------------------------------------------------------------- hosts */

static aoei_host_kind kind_of(aoe_text name) {
    char text[64];
    unsigned char address[16];
    if (name.len == 0 || name.len > 253)
        return AOEI_HOST_INVALID;
    if (name.len < sizeof text) {
        memcpy(text, name.data, name.len);
        text[name.len] = '\0';
        if (strlen(text) == name.len && inet_pton(AF_INET, text, address) == 1)
            return AOEI_HOST_IPV4;
    }
    for (size_t i = 0; i < name.len; i++)
        if (!is_alnum(name.data[i]) && (name.data[i] == '\0' || !strchr("-._", name.data[i])))
            return AOEI_HOST_INVALID;
    return AOEI_HOST_NAME;
}

static int is_ipv6(aoe_text name) {
    char text[64];
    unsigned char address[16];
    if (name.len >= sizeof text)
        return 0;
    memcpy(text, name.data, name.len);
    text[name.len] = '\0';
    return strlen(text) == name.len && inet_pton(AF_INET6, text, address) == 1;
}

static int read_port(aoei_host *h, aoe_text rest) {
    if (rest.len == 0)
        return 0;
    if (rest.data[0] != ':' || rest.len > 6)
        return 1;
    unsigned port = 0;
    for (size_t i = 1; i < rest.len; i++) {
        if (!is_digit(rest.data[i]))
            return 1;
        port = port * 10 + (unsigned)(rest.data[i] - '0');
    }
    h->port = (aoe_text){.data = rest.data + 1, .len = rest.len - 1};
    return port > 65535;
}

aoei_host aoei_host_parse(aoe_text text) {
    aoei_host h = {.name = {.data = text.data}};
    const char *end = NULL;
    if (text.len && text.data[0] == '[') {
        end = memchr(text.data, ']', text.len);
        if (!end)
            return h;
        h.name = (aoe_text){.data = text.data + 1, .len = (size_t)(end - text.data) - 1};
        h.kind = is_ipv6(h.name) ? AOEI_HOST_IPV6 : AOEI_HOST_INVALID;
        end++;
    } else if (text.len) {
        const char *colon = memchr(text.data, ':', text.len);
        end = colon ? colon : text.data + text.len;
        h.name.len = (size_t)(end - text.data);
        h.name.len -= h.name.len > 1 && h.name.data[h.name.len - 1] == '.';
        h.kind = kind_of(h.name);
    }
    if (end && read_port(&h, (aoe_text){.data = end, .len = text.len - (size_t)(end - text.data)}))
        h.kind = AOEI_HOST_INVALID;
    return h;
}

/* Writes the 16 bytes of an address; an IPv4 address as an IPv6 address (RFC 4291, section 2.5.5.2). */
static void read_address(const aoei_host *h, unsigned char address[16]) {
    char text[64] = "";
    memcpy(text, h->name.data, h->name.len < sizeof text ? h->name.len : 0);
    memset(address, 0, 16);
    if (h->kind == AOEI_HOST_IPV6) {
        (void)inet_pton(AF_INET6, text, address);
        return;
    }
    address[10] = address[11] = 0xff;
    (void)inet_pton(AF_INET, text, address + 12);
}

int aoei_host_equal(const aoei_host *a, const aoei_host *b) {
    if (a->kind == AOEI_HOST_INVALID || b->kind == AOEI_HOST_INVALID)
        return 0;
    if (a->kind == AOEI_HOST_NAME || b->kind == AOEI_HOST_NAME)
        return a->kind == b->kind && a->name.len == b->name.len &&
               strncasecmp(a->name.data, b->name.data, a->name.len) == 0;
    unsigned char first[16], second[16];
    read_address(a, first);
    read_address(b, second);
    return memcmp(first, second, sizeof first) == 0;
}

int aoei_host_is_loopback(const aoei_host *h) {
    static const unsigned char v4[13] = {[10] = 0xff, [11] = 0xff, [12] = 127}, v6[16] = {[15] = 1};
    if (h->kind == AOEI_HOST_NAME)
        return equals(h->name, "localhost");
    unsigned char address[16];
    read_address(h, address);
    return h->kind != AOEI_HOST_INVALID && (memcmp(address, v4, sizeof v4) == 0 || memcmp(address, v6, sizeof v6) == 0);
}

int aoei_origin_is_host(aoe_text origin, aoe_text host) {
    for (size_t scheme = 7; scheme <= 8; scheme++)
        if (origin.len == scheme + host.len && host.len &&
            strncasecmp(origin.data, scheme == 7 ? "http://" : "https://", scheme) == 0 &&
            strncasecmp(origin.data + scheme, host.data, host.len) == 0)
            return 1;
    return 0;
}
