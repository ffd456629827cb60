/* SPDX-License-Identifier: MIT
 * Reads the list of records of a file that torch.save wrote: a ZIP archive whose records are not compressed. The data
 * of a record can therefore be used in the mapped file. All offsets and sizes are checked when the archive is opened.
 * The format of ZIP archives: APPNOTE.TXT of PKWARE.
 */
#pragma once

#include <stddef.h>

#include "aoe.h"

/* A record (file) of the archive. */
typedef struct aoei_zip_record {
    char *name;                /* name without the top folder, such as "data/0"; owned */
    const unsigned char *data; /* [size] contents, borrowed */
    size_t size;               /* bytes */
} aoei_zip_record;

typedef struct aoei_zip {
    aoei_zip_record *records; /* [n] records, sorted by name; owned */
    size_t n;
} aoei_zip;

/* Returns 1 if data[size] begins as a ZIP archive does. */
int aoei_zip_is(const unsigned char *data, size_t size);
/* Reads the records of the archive data[size], which must remain valid until aoei_zip_close. All records must be in one
 * top folder, as in all archives of torch.save. path: name of the file in messages. Errors: AOE_EFORMAT (damaged
 * archive, records outside the file, overlapping records, two records with one name, names that lead out of the
 * archive), AOE_EUNSUPPORTED (compressed or encrypted records), AOE_ENOMEM. */
int aoei_zip_open(aoei_zip *z, const unsigned char *data, size_t size, const char *path, aoe_error *err);
void aoei_zip_close(aoei_zip *z);                                          /* accepts a zeroed struct */
const aoei_zip_record *aoei_zip_find(const aoei_zip *z, const char *name); /* returns NULL if there is no such record */
