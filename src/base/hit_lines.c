/* SPDX-License-Identifier: MIT
 * The lines of a row of a table are known only if its name is FILE:LINE, because the rows of a table are counted in the
 * file, but the lines of a passage in its document.
 */
#include "base/hit_lines.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"

int aoei_hit_is_file(const aoe_index_hit *hit) {
    return hit->path && aoei_name_ends_with(hit->path, hit->name);
}

int aoei_hit_lines(const aoe_index_hit *hit, size_t *first, size_t *last) {
    const char *colon = strrchr(hit->name, ':');
    *first = hit->line;
    *last = hit->last_line;
    if (!hit->path || aoei_hit_is_file(hit))
        return 1;
    *first = *last = 0;
    const size_t path = strlen(hit->path), file = colon ? (size_t)(colon - hit->name) : 0;
    if (file && file < path && memcmp(hit->path + path - file, hit->name, file) == 0 &&
        hit->path[path - file - 1] == '/' && strspn(colon + 1, "0123456789") == strlen(colon + 1) && strlen(colon) < 19)
        *first = *last = (size_t)strtoull(colon + 1, NULL, 10);
    return 0;
}
