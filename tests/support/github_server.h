/* SPDX-License-Identifier: MIT
 * As much of GitHub's API as the collector uses, over real sockets, with repositories
 * whose duplicates are known:
 *
 *   acme/anvils    240 numbers, every seventh a pull request; was called old/anvils (301)
 *   acme/rockets   40 numbers, likewise
 *   acme/secret    3 issues; 404 without a token
 *   acme/quiet     issues are turned off (410)
 *
 * Of acme/anvils and acme/rockets every number n with n % 5 == 3 is an issue closed as a duplicate of the last issue
 * before n - 1; how that is said differs (test_github_original). Some are special: a target that is deleted (410), that was
 * transferred (301), that is a pull request, in another repository, or that only GraphQL tells.
 */
#ifndef AOE_TESTS_GITHUB_SERVER_H
#define AOE_TESTS_GITHUB_SERVER_H

#include "http_server.h"

typedef struct test_github {
    test_server *server;
    int page;         /* issues of a page, whatever was asked for; 0: 20 */
    int storm;        /* 1: the first request for an address meets trouble of a kind that depends on the address */
    double delay;     /* seconds before each answer */
    int version;      /* later ones have more to say: from 1 on the last issue of acme/rockets has another body */
    int without_link; /* 1: every link to issues is one to github.com, which this server is not */
    long quota;       /* requests left, as the headers say */
} test_github;

/* Adds the routes; g is zeroed, filled as wished, and stays where it is. */
void test_github_routes(test_github *g, test_server *s);

/* What acme/anvils#number or acme/rockets#number is known to be a duplicate of: "owner/name#N" in out; 0: of nothing that can
 * be found. all: with the comments of all issues read; graphql: through GraphQL. */
int test_github_original(const char *repo, int number, int all, int graphql, char out[64]);
int test_github_is_issue(const char *repo, int number); /* 0: a pull request, or there is none of that number */

#endif
