/* SPDX-License-Identifier: MIT
 * Writes the passages and vectors of an index to files that other programs read.
 */
#pragma once

#include <aoe_index.h>

typedef enum cli_export_format {
    CLI_EXPORT_NONE,
    CLI_EXPORT_NPY,   /* numpy array [passages, dims] of float32, and the passages as JSON lines */
    CLI_EXPORT_JSONL, /* one JSON object per passage, with its vector */
    CLI_EXPORT_FAISS  /* Faiss index IndexFlatIP, and the passages as JSON lines */
} cli_export_format;

/* Writes all passages of an index in the order of document names and positions. path: file that is written. The formats
 * npy and faiss also write PATH.jsonl, whose line i describes vector i, counted from 0; the format jsonl writes to
 * stdout if path is NULL or "-". Returns 0, or 1 after reporting the error; the files are then unchanged. */
int cli_export_index(aoe_index *index, cli_export_format format, const char *path);
