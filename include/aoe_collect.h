/* SPDX-License-Identifier: MIT
 *
 * aoe_collect.h (experimental): training pairs from GitHub issues that were closed as duplicates.
 * docs/github-issues.md is the manual.
 */
#ifndef AOE_COLLECT_H
#define AOE_COLLECT_H

#include "aoe.h"
#include "aoe_data.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { AOE_ISSUES_TRAIN, AOE_ISSUES_VALIDATION, AOE_ISSUES_TEST, AOE_ISSUES_SPLITS };

/* Choice of negatives for a duplicate, which is an issue that was closed as a duplicate of another issue, its original.
 * Issues that are duplicates of each other, directly or through other issues, form a cluster. Negatives are issues of
 * the repository and split of the duplicate that belong to another cluster. */
typedef enum aoe_issue_negatives {
    AOE_ISSUE_NEGATIVES_RANDOM, /* random issues */
    AOE_ISSUE_NEGATIVES_LABEL,  /* issues that share a label, preferably a rare one */
    AOE_ISSUE_NEGATIVES_NEAR    /* issues with the most similar titles (cosine of TF-IDF vectors) */
} aoe_issue_negatives;

/* Parts that are removed from the bodies of issues, except in code blocks. */
enum {
    AOE_ISSUE_CLEAN_COMMENTS = 1, /* HTML comments */
    AOE_ISSUE_CLEAN_IMAGES = 2,   /* ![](...) and <img> */
    AOE_ISSUE_CLEAN_TEMPLATES = 4 /* text of issue templates: lines that occur in at least 5 issues and in at least 5%
                                     of the written issues of a repository, checkboxes, and headings without text */
};

typedef struct aoe_github_progress {
    size_t struct_size;     /* set by the library */
    const char *repository; /* current repository; "" after the last one */
    size_t done, total;     /* number of repositories that were read; number of all repositories */
    size_t issues;          /* number of issues that were read so far in all repositories */
    uint64_t requests;      /* requests sent */
    uint64_t stored;        /* requests answered by the cache */
    int64_t quota;          /* remaining requests (GraphQL: points) of GitHub's rate limit; -1: unknown */
    double waiting;         /* seconds until the next request; 0: not waiting */
    const char *why;        /* reason for waiting, one line; "" if not waiting */
} aoe_github_progress;

typedef struct aoe_github_options {
    size_t struct_size;              /* set by aoe_github_options_defaults */
    const char *const *repositories; /* [n_repositories] "owner/name" */
    size_t n_repositories;
    const char *cache; /* SQLite file with all responses, created if it does not exist; required */
    const char *api;   /* NULL (default): https://api.github.com; GitHub Enterprise: https://HOST/api/v3 */
    const char *token; /* NULL (default): none. Sent only to the origin of `api`; never stored or logged */
    int graphql;       /* 1: use GraphQL, which needs a token; 0 (default): REST */
    int all_comments;  /* used only with REST. 1: read the comments of every issue; 0 (default): read only the comments
                          of issues that are marked as duplicates */
    int refresh;       /* 1: request cached responses again, conditionally where possible; default 0 */
    int offline;       /* 1: send no requests; responses missing in the cache are counted; default 0 */
    size_t limit;      /* read only this many of the oldest issues of a repository; 0 (default): all */
    const char *name[AOE_ISSUES_SPLITS]; /* file names of the outputs; their extensions determine the format and the
                                            compression; NULL (default): the split is not written */
    double ratio[AOE_ISSUES_SPLITS]; /* relative numbers of duplicates in the splits; default 12, 1, 1, as in the AnglE
                                        paper */
    aoe_example_kind kind; /* PAIRS (default): columns text1, text2, label; a row has a duplicate and either its
                              original (label 1) or a negative (label 0). TRIPLETS: columns query, positive, negative */
    int ids; /* 1: add columns with the names of the issues, for example "owner/name#12". PAIRS: id1, id2. TRIPLETS:
                query_id, positive_id, negative_id; default 0 */
    aoe_issue_negatives negatives_by; /* default AOE_ISSUE_NEGATIVES_RANDOM */
    size_t negatives;                 /* negatives per duplicate; default 1 */
    unsigned clean;                   /* sum of AOE_ISSUE_CLEAN_*; default 0 */
    uint64_t seed;                    /* seed of splits and negatives; default 42 */
    aoe_write_fn write; /* receives the splits one after another. Its argument `part` is the index of the split. NULL
                           (default): no output */
    int (*progress)(void *user, const aoe_github_progress *progress); /* returns 0 to continue, otherwise the function
                                                                         returns AOE_ECANCELLED; NULL (default): none */
    int (*stop)(void *user); /* called several times per second while waiting for the network; returns 0 to continue,
                                otherwise the function returns AOE_ECANCELLED; NULL (default): none */
    void (*missing)(void *user, const char *repository, const char *why); /* receives each repository that cannot be
                                                                             read and the reason; NULL (default):
                                                                             none */
    void *user;                                                           /* first argument of all callbacks */
} aoe_github_options;

typedef struct aoe_github_result {
    size_t struct_size;                                                /* set by the caller */
    size_t positives[AOE_ISSUES_SPLITS], negatives[AOE_ISSUES_SPLITS]; /* number of rows written, by split */
    size_t repositories;                                               /* repositories that were read */
    size_t missing;                                                    /* repositories that could not be read */
    size_t issues;                                                     /* issues that were read */
    size_t pull_requests;                                              /* pull requests, which were excluded */
    size_t gone;   /* referenced issues that are deleted, are pull requests, or are not accessible */
    size_t unread; /* number of lists of comments or events that could not be read completely, plus number of referenced
                      issues that the server failed to return */
    size_t transferred; /* referenced issues that were moved to another repository */
    size_t marked;      /* issues closed or labeled as duplicates */
    size_t unknown;     /* marked issues whose original is unknown */
    size_t clusters;    /* clusters of duplicates */
    size_t clustered;   /* issues in clusters */
    size_t largest;     /* issues in the largest cluster */
    size_t equal;       /* duplicates that were excluded because they are empty or their text equals the original's */
    size_t easier;      /* negatives that were chosen at random because negatives_by found none */
    size_t without;     /* duplicates with fewer negatives than requested */
    uint64_t requests;  /* requests sent, repeated ones included */
    uint64_t stored;    /* requests answered by the cache */
    uint64_t unchanged; /* conditional requests that were answered with "not modified" (304) */
    uint64_t absent;    /* offline: responses that are missing in the cache */
} aoe_github_result;

AOE_OPTIONS(aoe_github_options);
/* Collects issues that were closed as duplicates and their originals (section 4.1 of the AnglE paper;
 * docs/github-issues.md), and writes each duplicate with its original and with negatives. A text is the title, a line
 * end and the body; in .tsv files tabs and line ends become spaces. Each response is stored in the cache at once. An
 * interrupted run can therefore be continued, and repeating a complete run sends no requests. Two runs with equal
 * caches, options and seeds write identical bytes. Needs memory for the titles and numbers of all issues and for the
 * texts that are written. Errors: AOE_EIO (network errors after several attempts; a rejected token; a rate limit with a
 * long wait), AOE_ECANCELLED, the errors of the cache file. */
AOE_API int aoe_github_issues(const aoe_github_options *AOE_NULLABLE o, aoe_github_result *result,
                              aoe_error *AOE_NULLABLE err);
/* Returns the repositories of a preset: [*n] static strings "owner/name". Returns NULL if the preset is unknown. The
 * preset "angle" contains the 55 repositories of the AnglE paper (appendix A.1). */
AOE_API const char *const *aoe_github_preset(const char *name, size_t *n);

#ifdef __cplusplus
}
#endif

#endif
