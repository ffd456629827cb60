/* SPDX-License-Identifier: MIT
 * The sources of an update with their files, which are listed before anything is changed.
 */
#pragma once

#include "index/update_run.h"
#include "index/update_source.h"

struct aoei_update_plan {
    aoei_update u;
    char *base;                 /* folder that contains the directory of the index, owned */
    aoei_update_source *source; /* [n] owned; one without a folder is left out */
    size_t n;
    size_t n_given;   /* arguments of aoe_index_update */
    char *place;      /* identity of the directory of the index, owned */
    int is_copy;      /* 1: the index was copied or moved there */
    uint64_t commits; /* of the index before the files were listed, for options.compared */
};

/* Sets the sources to those of the record and given[n], and lists their files. p->u.index and p->u.o are set. Errors:
 * AOE_ENOENT (a source does not exist), AOE_EARG (the index has no source), AOE_ECANCELLED, and those of
 * aoei_source_list. The caller calls aoei_update_plan_free also after an error. */
int aoei_update_plan_make(aoei_update_plan *p, const aoe_index_source *given, size_t n, aoe_error *err);
void aoei_update_plan_destroy(aoei_update_plan *p); /* frees the members and p; accepts NULL */
void aoei_update_plan_free(aoei_update_plan *p);    /* accepts a zeroed struct, and leaves p->u as it is */
/* Returns the first source that options.own_only leaves out, also if this option is 0; NULL: there is none. */
const aoei_update_source *aoei_update_plan_foreign(const aoei_update_plan *p);
/* Returns 1 if path is dir or inside it. Both are absolute, without symbolic links. */
int aoei_update_is_inside(const char *path, const char *dir);
