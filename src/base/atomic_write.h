/* SPDX-License-Identifier: MIT
 * Writes files so that no other process ever reads a partial file: the content is written to a temporary file in the
 * directory of the final file, synced to disk, and renamed to the final name.
 *
 * Symbolic links are followed as in a shell redirection. If the output path is a symbolic link, the file that the link
 * points to is replaced or created, and the link does not change. This holds for all outputs of the library and of the
 * program.
 *
 * The temporary file is named ".NAME.tmp-PID-N", where N is a counter of this process. The writer holds a lock (flock)
 * on it, which the system releases when the process dies. The next writer of NAME can therefore recognize and remove
 * the temporary files of killed processes. Process ids are not compared, because they are not unique across hosts and
 * containers.
 *
 * A program that writes an output file named by the user calls aoei_writer_open_output. To publish several files
 * together, it first calls aoei_writer_finish for each file, and then aoei_writer_publish for each file. A signal
 * handler can remove the temporary file with unlink if the program has stored a copy of temp_path for it.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "aoe.h"

/* A file that is being written. A zeroed struct means that no file is open. */
typedef struct aoei_writer {
    FILE *file;   /* stream to write to; callers need not check its errors, because aoei_writer_finish detects them */
    char *path;   /* final name as given, for messages; owned */
    char *target; /* final name with symbolic links resolved; owned */
    char *temp_path; /* temporary name; owned. NULL if the output is written in place */
    int lock;        /* owned descriptor that holds the lock on the temporary file; valid if temp_path is set */
} aoei_writer;

/* Creates the temporary file with the permissions of the file that it will replace. Errors: AOE_EARG if path exists and
 * is not a regular file, AOE_ENOENT if its directory does not exist, AOE_ENOSPC, AOE_ENOMEM, AOE_EIO. */
int aoei_writer_open(aoei_writer *w, const char *path, aoe_error *err);
/* Like aoei_writer_open, but also accepts devices and pipes (/dev/null, FIFOs, process substitution). Output to a
 * device or a pipe is written directly, without a temporary file, so aoei_writer_abort cannot undo it. */
int aoei_writer_open_output(aoei_writer *w, const char *path, aoe_error *err);
int aoei_writer_write(aoei_writer *w, const void *data, size_t bytes, aoe_error *err);
/* Flushes, syncs and closes the temporary file. */
int aoei_writer_finish(aoei_writer *w, aoe_error *err);
/* Renames the finished temporary file to its final name and syncs the directory. On success, the writer is empty
 * afterwards. If the rename fails, an existing file is unchanged. If only the sync of the directory fails, the complete
 * new file has replaced the existing file. */
int aoei_writer_publish(aoei_writer *w, aoe_error *err);
/* Calls aoei_writer_finish and then aoei_writer_publish. */
int aoei_writer_commit(aoei_writer *w, aoe_error *err);
/* Removes the temporary file and frees the writer. Accepts a writer that is zeroed, committed, or failed to commit. */
void aoei_writer_abort(aoei_writer *w);

/* Opens, writes and commits a file. */
int aoei_write_file(const char *path, const void *data, size_t bytes, aoe_error *err);
