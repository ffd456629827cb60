/* SPDX-License-Identifier: MIT
 * Finds folders of files that are installed with the program or the library, such as models.
 */
#pragma once

/* Returns 1 if `folder` contains the wanted files, which ends the search, otherwise 0. */
typedef int (*aoei_share_try)(void *user, const char *folder);

/* Calls try_folder for each folder that may contain shared files, until it returns 1:
 *   1. PREFIX/share/aoe/NAME, if the program or the library is installed in PREFIX
 *   2. the folder `source` of the source tree that contains the program or the library
 *   3. aoe/NAME in a directory of XDG_DATA_DIRS (default: /usr/local/share and /usr/share)
 *   4. the folder `source` of the source tree in which libaoe.a was built
 * Returns 1 if try_folder returned 1, otherwise 0. */
int aoei_share_search(const char *name, const char *source, aoei_share_try try_folder, void *user);
