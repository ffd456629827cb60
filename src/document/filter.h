/* SPDX-License-Identifier: MIT
 * Programs that convert files to text: pdftotext for PDF, pandoc for .docx, .odt, .epub and .rtf, and programs of the
 * caller. A program is started without a shell, and never because of the contents of an indexed folder.
 *
 * A program is found only in the absolute folders of PATH that are not inside the indexed folder. It runs in the
 * folder / with a small environment, without input, in a process group of its own, and with limits for time, memory
 * and output. At a limit, the whole group is killed; if this process dies, the program is killed.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"
#include "aoe_index.h"
#include "document/ignore.h"

/* Limits of one conversion. */
typedef struct aoei_filter_limits {
    double seconds; /* time until the program is killed */
    size_t memory;  /* bytes of address space */
    size_t output;  /* bytes of text */
} aoei_filter_limits;

#define AOEI_FILTER_LIMITS                                                                                             \
    { .seconds = 60, .memory = (size_t)4 << 30, .output = (size_t)64 << 20 }

/* A row of the table of programs. */
typedef struct aoei_filter {
    aoei_ignore names;       /* pattern of the names, in lowercase */
    const char *const *argv; /* [n] program and arguments, borrowed; an argument "-" stands for the file, except in a
                                predefined row, where it is AOEI_FILTER_FILE */
    size_t n;
    const char *package; /* Debian package that contains the program; NULL: a program of the caller */
    aoe_index_kind kind; /* format of the output */
    char *program;       /* absolute path, owned; NULL: not found or not searched */
    int searched;        /* 1: the program was searched */
    size_t left_out;     /* files that were left out because the program is missing */
    char *left_out_path; /* absolute path of the first of them, owned; NULL: none, or out of memory */
} aoei_filter;

typedef struct aoei_filters {
    aoei_filter *row; /* [n] owned; the rows of the caller are first */
    size_t n;
} aoei_filters;

/* Initializes the table. filter: [n] rows of the caller, borrowed. Errors: AOE_EARG (a row without pattern or program,
 * without "-", or with a relative path as program), AOE_EFORMAT (the pattern is too long), AOE_ENOMEM. */
int aoei_filters_init(aoei_filters *f, const aoe_index_filter *filter, size_t n, aoe_error *err);
void aoei_filters_free(aoei_filters *f); /* accepts a zeroed struct */
/* Returns the first row whose pattern matches the name of a file, or NULL. Upper and lower case are equal. */
aoei_filter *aoei_filters_find(const aoei_filters *f, const char *path);

/* Returns 1 if the program is not installed; see aoei_filter_run.folder. Programs are searched once. */
int aoei_filter_is_missing(aoei_filter *filter, const char *folder);
/* Counts a file that is left out because the program is missing. path: in the folder, or absolute if it is NULL. */
void aoei_filter_leave_out(aoei_filter *filter, const char *folder, const char *path);

/* What became of a conversion. */
typedef enum aoei_filter_result {
    AOEI_FILTER_DONE,
    AOEI_FILTER_MISSING, /* the program is not installed; the file was counted in filter->left_out */
    AOEI_FILTER_FAILED   /* the program failed or exceeded a limit; `why` says so */
} aoei_filter_result;

typedef struct aoei_filter_run {
    const char *path;   /* absolute path of the file */
    const char *folder; /* indexed folder, in which no program is searched; absolute, without symbolic links */
    aoei_filter_limits limits;
    int (*cancelled)(void *user); /* called several times per second; a value other than 0 ends the program; may be
                                     NULL */
    void *user;
    aoei_filter_result result; /* set by aoei_filter_convert */
    char why[300];             /* reason of AOEI_FILTER_FAILED: the last line that the program wrote, or the limit */
} aoei_filter_run;

/* Converts a file. Sets *text, which the caller frees with aoei_free, and *size. If run->result is not
 * AOEI_FILTER_DONE, *text is NULL and the function returns 0. Errors: AOE_ENOMEM, AOE_ECANCELLED, AOE_EIO (no process
 * can be started). */
int aoei_filter_convert(aoei_filter *filter, aoei_filter_run *run, char **text, size_t *size, aoe_error *err);
