/* SPDX-License-Identifier: MIT
 * An open index with its model, as `aoe index`, `aoe search` and `aoe get` use it: finds the directory of the index,
 * opens the model that the index records, and brings the index up to date before a search. The model is opened only if
 * it is needed.
 */
#pragma once

#include <aoe_index.h>

#include "cli/common/common.h"

#define CLI_INDEX_DATABASE "index.db"   /* file in the directory of an index that a writer changes */
#define CLI_INDEX_DIR      ".aoe-index" /* name of an index that is found automatically */

/* Rows of option tables. target: initializes the offset of a `const char *`, or of a cli_refresh. */
#define CLI_OPTION_INDEX(target)                                                                                       \
    {                                                                                                                  \
        .name = "index", .letter = 'i', .kind = AOEI_OPTION_TEXT, .value = "DIR", target,                              \
        .help = "directory of the index", .fallback = CLI_INDEX_DIR " in this folder or the nearest folder above it"   \
    }
#define CLI_OPTION_REFRESH(target, searches, messenger)                                                                \
    {                                                                                                                  \
        .name = "refresh", .kind = AOEI_OPTION_CHOICE, target, .choices = AOEI_CHOICES("auto", "always", "never"),     \
        .noun = "refresh mode",                                                                                        \
        .help =                                                                                                        \
            "bring the index up to date before " searches                                                              \
            ": auto (if it takes less than a second; otherwise " messenger " says what is left out), always or never"  \
    }

enum { CLI_INDEX_MODEL_COUNT = 1 };
extern const aoei_option cli_index_model_table[CLI_INDEX_MODEL_COUNT]; /* cli_model_options.dir */
/* The groups of all options of the model of an index. base: a cli_model_options. */
#define CLI_INDEX_MODEL_GROUPS(title, base)                                                                            \
    CLI_GROUP(title, cli_index_model_table, base), CLI_ROWS(title, cli_model_table + 1, CLI_MODEL_COUNT - 1, base),    \
        CLI_OPENING_GROUP(title, AOEI_MODEL_ROWS, base), CLI_BATCH_GROUP(title, base)

typedef enum cli_refresh { CLI_REFRESH_AUTO, CLI_REFRESH_ALWAYS, CLI_REFRESH_NEVER } cli_refresh;

/* A zeroed struct is a session without an index. */
typedef struct cli_index {
    const cli_general *general;     /* borrowed */
    const cli_model_options *model; /* options of the command; borrowed */
    char *dir;                      /* directory of the index, owned */
    aoe_index *index;               /* owned */
    cli_session session;            /* the model, owned; session.embedder is NULL if no model is open */
    char *recorded_model;           /* directory of the model in the record of the index, owned; NULL: no index */
    char created[32];               /* time of the creation of the index */
    aoe_index_stats recorded;       /* sizes and settings of the index, without its strings */
} cli_index;

/* Returns 1 if the directory of an index or its database belongs to another user than the effective user and root. */
int cli_index_is_foreign(const char *dir);
/* Returns the directory of the nearest index: .aoe-index in the current folder, or in the nearest parent folder that
 * contains one. Warns of an index of another user and continues: its owner could let it read and store files that only
 * this user may read. The caller frees the path with free(). Returns NULL if there is none. */
char *cli_nearest_index(void);
/* Sets x->dir to `given` or, if it is NULL, to the nearest index. Returns 0, or 1 after reporting that there is none,
 * or that it is a symbolic link. */
int cli_index_find(cli_index *x, const char *given);
/* Returns 1 after reporting that the directory of an index, which the user did not name, is a symbolic link: a folder
 * of somebody else could contain a link to an index of the user, which is then searched and changed unnoticed. */
int cli_index_is_link(const char *dir);
/* Opens an existing index without its model for reading, and reads what the index records about its model. Errors:
 * see aoe_index_open. */
int cli_index_open_read(cli_index *x, aoe_error *err);
/* Opens the model of the options or of the record of the index, unless it is open. Returns 0, or 1 after reporting the
 * error. */
int cli_index_load_model(cli_index *x);
/* Opens the index again, with the model if it is open. o: settings of a new index; NULL: any. Errors: see
 * aoe_index_open; the index is then closed. */
int cli_index_reopen(cli_index *x, aoe_index_access access, const aoe_index_options *o, aoe_error *err);
/* Opens an existing index for a search and brings it up to date before, as `refresh` says. mode: of the search; it
 * needs the model unless it is AOE_INDEX_LEXICAL. Returns 0, or 1 after reporting the error. */
int cli_index_open_search(cli_index *x, cli_refresh refresh, aoe_index_mode mode);
/* Calls aoe_index_update and shows its progress. An interrupt stops the update after a commit. */
int cli_index_update(cli_index *x, const aoe_index_source *sources, size_t n, aoe_index_update_options *o,
                     aoe_index_update_result *result, aoe_error *err);
void cli_index_close(cli_index *x); /* accepts a zeroed struct */
