/* SPDX-License-Identifier: MIT
 * A server that implements the part of GitHub's API that `aoe data github-issues` uses, over real sockets, with
 * repositories whose duplicates are known:
 *
 *    acme/anvils    240 numbers, every seventh is a pull request; was renamed from old/anvils (301)
 *    acme/rockets   40 numbers, every seventh is a pull request
 *    acme/secret    3 issues; 404 without a token
 *    acme/quiet     issues are disabled (410)
 *
 * In acme/anvils and acme/rockets, every number n with n % 5 == 3 is an issue that was closed as a duplicate of the
 * last issue before n - 1. The form of the reference varies (see test_github_original). Some references are special:
 * the target was deleted (410), was transferred (301), is a pull request, is in another repository, or appears only
 * in GraphQL answers.
 */
#ifndef AOE_TESTS_GITHUB_SERVER_H
#define AOE_TESTS_GITHUB_SERVER_H

#include "http_server.h"

typedef struct test_github {
    test_server *server;
    int page;         /* number of issues per page, regardless of the number that the request asks for; 0: 20 */
    int storm;        /* 1: the first request for an address fails; the kind of failure depends on the address */
    double delay;     /* seconds before each answer */
    int version;      /* 0: initial contents; at least 1: the last issue of acme/rockets has another body */
    int without_link; /* 1: every link to an issue points to github.com instead of this server */
    long quota;       /* remaining requests as the rate-limit headers report them */
} test_github;

/* Adds the routes to s. The caller initializes g with zeros and then sets the options that the test needs. g must stay valid
 * until the server stops. */
void test_github_routes(test_github *g, test_server *s);

/* Finds the original of acme/anvils#number or acme/rockets#number and writes it to out as "owner/name#N". Returns 0 if the
 * issue is not a duplicate, or if its original cannot be found. all: 1 if the comments of all issues are read; graphql: 1 if
 * GraphQL is used. */
int test_github_original(const char *repo, int number, int all, int graphql, char out[64]);
int test_github_is_issue(const char *repo, int number); /* returns 0 if the number is a pull request or does not exist */

#endif
