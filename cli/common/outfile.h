/* SPDX-License-Identifier: MIT
 * Output files. They are written under a temporary name and renamed when complete. A command that fails or is
 * interrupted therefore leaves no partial file and does not change an existing file. Devices and pipes are written
 * directly.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "base/atomic_write.h"

/* An output file that is being written. */
typedef struct cli_file {
    FILE *file;         /* stream to write to */
    const char *path;   /* path as given on the command line, borrowed; NULL: stdout */
    aoei_writer writer; /* writer of the file; its temp_path is NULL for devices and pipes, which are written
                           directly */
} cli_file;

int cli_is_stdout(const char *path); /* returns 1 if path is NULL or "-" */
/* Returns 1 if both paths refer to the same file. If neither file exists, returns 1 if both paths have the same file
 * name and the same directory. */
int cli_is_same_file(const char *a, const char *b);
/* If the output file is also one of inputs[n], reports the error and returns 1. Otherwise returns 0. */
int cli_reject_input(const char *output, const char *const *inputs, size_t n);
/* Returns 1 after reporting that the directory of the output file does not exist, otherwise 0. cli_file_open checks it,
 * too; commands that open their output late call this function before. */
int cli_check_parent(const char *path);
/* Prints a note if the parent of an output directory does not exist, because the library creates it. dir: NULL: no
 * output. */
void cli_note_parent(const char *dir);
/* Opens an output file, or stdout if cli_is_stdout(path). The directory of the file must exist. Returns 0, or 1 after
 * reporting the error. */
int cli_file_open(cli_file *f, const char *path);
int cli_file_check(cli_file *f);  /* returns 0, or 1 after reporting that a write has failed; accepts a zeroed struct */
int cli_file_commit(cli_file *f); /* completes the file and renames it; returns 0, or 1 after reporting the error */
/* Commits files[n]. All files are written to disk before the first file is renamed. Zeroed structs are skipped. Returns
 * 0, or 1 after reporting the error. */
int cli_files_commit(cli_file *files, size_t n);
void cli_file_abort(cli_file *f); /* removes the temporary file; accepts a zeroed struct and a committed file */
