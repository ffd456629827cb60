/* SPDX-License-Identifier: MIT
 * Models on the Hugging Face Hub: downloading a model into the cache on this machine, and listing the cache.
 * aoe_model_find (aoe.h) finds a downloaded model. No other function of the library downloads models.
 */
#ifndef AOE_HUB_H
#define AOE_HUB_H

#include <stddef.h>
#include <stdint.h>

#include "aoe.h"

#ifdef __cplusplus
extern "C" {
#endif

#define AOE_HUB_PATH 4096 /* size in bytes of the path of a model, with its NUL */

typedef struct aoe_hub_progress {
    size_t struct_size;   /* set by the library */
    const char *model;    /* name of the model that is being downloaded, "ORG/NAME" */
    const char *file;     /* path of the current file in the repository */
    uint64_t done, total; /* bytes of the model on disk; bytes of all its files that are needed */
    double waiting;       /* seconds until the next attempt; 0: not waiting */
    const char *why;      /* reason for waiting, one line; "" if not waiting */
} aoe_hub_progress;

typedef struct aoe_hub_options {
    size_t struct_size;   /* set by aoe_hub_options_defaults */
    const char *endpoint; /* NULL (default): $HF_ENDPOINT, otherwise https://huggingface.co */
    const char *token;    /* NULL (default): $HF_TOKEN, otherwise $HUGGING_FACE_HUB_TOKEN, otherwise the file
                             $HF_TOKEN_PATH or $HF_HOME/token, unless HF_HUB_DISABLE_IMPLICIT_TOKEN is set. "": none.
                             Sent only to the origin of the endpoint; never stored or logged */
    void (*plan)(void *user, const char *model, size_t files, uint64_t bytes,
                 uint64_t missing); /* called once for each model before its weights are downloaded. files, bytes: files
                                       that are needed; missing: bytes that must be downloaded; NULL (default): none */
    void (*progress)(void *user, const aoe_hub_progress *progress); /* NULL (default): none */
    int (*stop)(void *user); /* called several times per second; returns 0 to continue, otherwise the function returns
                                AOE_ECANCELLED and keeps the downloaded part; NULL (default): none */
    void *user;              /* first argument of all callbacks */
} aoe_hub_options;

typedef struct aoe_hub_result {
    size_t struct_size;     /* set by the caller */
    char dir[AOE_HUB_PATH]; /* model directory, for aoe_model_open */
    char commit[41];        /* commit of the revision, 40 hexadecimal digits */
    size_t files;           /* number of files that the model needs, including the base model of adapters */
    uint64_t bytes;         /* size of these files */
    uint64_t downloaded;    /* bytes that were downloaded; the rest was already in the cache */
} aoe_hub_result;

AOE_OPTIONS(aoe_hub_options);
/* Downloads a model from the Hub into the cache on this machine, which aoe_model_find documents. name: "ORG/NAME" or
 * "NAME", optionally followed by "@REVISION". Only the files that aoe needs are downloaded. Configuration files are
 * downloaded first, so that unsupported models are rejected before their weights are downloaded. If the model consists
 * of adapters, their base model is also downloaded. The size and the checksum of each file are verified. An interrupted
 * download continues where it stopped. Several processes may download the same model. If $HF_HUB_OFFLINE or
 * $TRANSFORMERS_OFFLINE is 1, no request is sent, and the function succeeds only if the model is in the cache. Errors:
 * AOE_EARG (invalid name, endpoint or token), AOE_ENOENT (no such model or revision, or no access to it; the message
 * explains how to get access), AOE_EUNSUPPORTED, AOE_EFORMAT (invalid answer, wrong checksum), AOE_ENOSPC, AOE_EIO
 * (network, disk), AOE_ECANCELLED, AOE_ENOMEM. */
AOE_API int aoe_hub_pull(const char *name, const aoe_hub_options *AOE_NULLABLE o, aoe_hub_result *result,
                         aoe_error *AOE_NULLABLE err);

/* A model in the cache. All strings are borrowed until the callback returns. */
typedef struct aoe_hub_entry {
    size_t struct_size;   /* set by the library */
    const char *name;     /* "ORG/NAME" */
    const char *revision; /* branches and tags of this commit, separated by ", "; "" if there are none */
    const char *commit;   /* 40 hexadecimal digits */
    const char *dir;      /* model directory */
    uint64_t bytes;       /* size of its files */
    const char *problem;  /* reason why aoe cannot open the model, one line; NULL: aoe can open it */
    int cross_encoder;    /* 1: the model is a cross-encoder; 0: an embedding model, or a model that aoe cannot open */
} aoe_hub_entry;

/* Receives a model of the list. A nonzero result ends the list. */
typedef int (*aoe_hub_entry_fn)(void *user, const aoe_hub_entry *entry);
/* Calls entry for each revision of each model in the cache, ordered by name. A nonzero result of entry ends the list
 * and is returned. An empty or missing cache is not an error. Errors: AOE_EIO, AOE_ENOMEM. */
AOE_API int aoe_hub_list(aoe_hub_entry_fn entry, void *AOE_NULLABLE user, aoe_error *AOE_NULLABLE err);

#ifdef __cplusplus
}
#endif

#endif
