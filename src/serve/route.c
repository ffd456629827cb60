/* SPDX-License-Identifier: MIT
 * The search for the route of a request. A path of the table may end in parameters, such as /index/{name}.
 */
#include "serve/route.h"

#include <stdio.h>
#include <string.h>

/* Copies the part of a path up to the next '/', or up to its end if `rest` is 1. Returns the end of the part, or NULL
 * if it is empty or too long. */
static const char *read_part(const char *path, int rest, char *out, size_t size) {
    const size_t n = rest ? strlen(path) : strcspn(path, "/");
    if (!n || n >= size)
        return NULL;
    memcpy(out, path, n);
    out[n] = 0;
    return path + n;
}

/* Returns 1 if a path matches that of a route. The second parameter may contain '/'. */
static int match(const char *pattern, const char *path, char *first, size_t first_size, char *second,
                 size_t second_size) {
    const char *brace = strchr(pattern, '{');
    *first = *second = 0;
    if (!brace)
        return !strcmp(pattern, path);
    const size_t fixed = (size_t)(brace - pattern);
    if (strncmp(pattern, path, fixed) != 0)
        return 0;
    const char *at = read_part(path + fixed, 0, first, first_size);
    if (!at || !strchr(brace + 1, '{'))
        return at && !*at;
    return *at == '/' && read_part(at + 1, 1, second, second_size);
}

aoei_family aoei_route_family(const char *path) {
    static const struct {
        const char *prefix; /* the first one that fits decides */
        aoei_family family;
    } families[] = {{"/v1/rerank", AOEI_COHERE}, {"/reranking", AOEI_COHERE},  {"/v2/", AOEI_COHERE},
                    {"/v1/", AOEI_OPENAI},       {"/embeddings", AOEI_OPENAI}, {"/api/", AOEI_OLLAMA}};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (!strncmp(path, families[i].prefix, strlen(families[i].prefix)))
            return families[i].family;
    return AOEI_TEI;
}

int aoei_route_find(const aoei_route *routes, size_t n, const char *method, const char *path, aoei_route_match *m) {
    const char *used = !strcmp(method, "HEAD") ? "GET" : method;
    size_t at = 0;
    *m = (aoei_route_match){0};
    for (size_t i = 0; i < n; i++) {
        const aoei_route *r = &routes[i];
        if (!match(r->path, path, m->first, sizeof m->first, m->second, sizeof m->second))
            continue;
        if (!strcmp(r->method, used)) {
            m->route = r;
            return 0;
        }
        if (!strstr(m->allowed, r->method) && at < sizeof m->allowed)
            at += (size_t)snprintf(m->allowed + at, sizeof m->allowed - at, "%s%s%s", at ? ", " : "", r->method,
                                   strcmp(r->method, "GET") ? "" : ", HEAD");
    }
    *m->first = *m->second = 0;
    return 1;
}
