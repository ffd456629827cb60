/* SPDX-License-Identifier: MIT
 * A server for tests that implements the part of GitHub's API that `aoe data github-issues` uses. It has these
 * repositories:
 *
 *    acme/anvils    numbers 1 to 240; every seventh is a pull request, all others are issues
 *    acme/rockets   numbers 1 to 40; every seventh is a pull request, all others are issues
 *    acme/secret    3 issues; requests without a token are answered with status 404
 *    acme/quiet     issues are disabled (status 410)
 *    old/anvils     was renamed to acme/anvils (status 301)
 *
 * In acme/anvils and acme/rockets, issue n was closed as a duplicate if n > 5 and n % 5 == 3. Its original is the last
 * issue before n - 1. The issues refer to their originals in different forms. In acme/anvils, some originals are
 * special: one was deleted (410), one was transferred (301), one is a pull request, one is in acme/rockets, and one is
 * only in GraphQL answers.
 */
#pragma once

#include "http_server.h"

typedef struct test_github {
    test_server *server;
    int page;         /* issues per page; 0: 20; the number in the request is ignored */
    int storm;        /* 1: the first request for a target fails; the target determines the kind of failure */
    double delay;     /* seconds before each answer */
    int version;      /* 0: original texts; otherwise the body of the last issue of acme/rockets has been edited */
    int without_link; /* 1: links to issues point to github.com; 0: links to issues point to this server */
    long quota;       /* number of remaining requests in the rate-limit headers */
} test_github;

/* Adds the routes of the API to s. The caller initializes g with zeros and may set its options. g must stay valid until
 * the server stops. */
void test_github_routes(test_github *g, test_server *s);

/* Writes the original that `aoe data github-issues` should find for issue repo#number to out, in the format
 * "owner/name#N". repo is "acme/anvils" or "acme/rockets". all: 1 if the command reads the comments of all issues.
 * graphql: 1 if the command uses GraphQL. Returns 1, or 0 if the issue is not a duplicate or if the command cannot find
 * its original. */
int test_github_original(const char *repo, int number, int all, int graphql, char out[64]);
int test_github_is_issue(const char *repo, int number); /* returns 0 if the number is a pull request or does not
                                                           exist */
