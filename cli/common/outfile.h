/* SPDX-License-Identifier: MIT
 * Result files: written under a temporary name and renamed when complete, so that a command that fails or is
 * interrupted leaves no partial file and does not change an existing one. Devices and pipes are written in place.
 */
#ifndef AOE_CLI_COMMON_OUTFILE_H
#define AOE_CLI_COMMON_OUTFILE_H

#include <stddef.h>
#include <stdio.h>

typedef struct cli_file {
    FILE *file;       /* write here */
    const char *path; /* borrowed; NULL: stdout */
    char *target;     /* owned; path with links followed, when temp is set */
    char *temp;       /* owned; NULL when written in place (stdout, devices, pipes) */
} cli_file;

int cli_is_stdout(const char *path); /* NULL, or "-" */
/* 1: both names are one file by device and inode; of files that are not there yet, one name in one folder. */
int cli_is_same_file(const char *a, const char *b);
/* 1 after reporting that the output would take the place of an input; 0: it does not. */
int cli_refuse_input(const char *output, const char *const *inputs, size_t n);
/* path as cli_is_stdout has it, or a file. Returns 0, or 1 after reporting the error. */
int cli_file_open(cli_file *f, const char *path);
int cli_file_check(cli_file *f);                 /* 0, or 1 after reporting that a write failed */
int cli_file_commit(cli_file *f);                /* flush, fsync, rename; likewise */
int cli_files_commit(cli_file *files, size_t n); /* of several: all are on the disk before the first is renamed */
void cli_file_abort(cli_file *f);                /* removes what was written; accepts a zeroed or committed one */
int cli_is_seekable(FILE *f);

#endif
