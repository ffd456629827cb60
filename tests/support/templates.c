/* SPDX-License-Identifier: MIT
 * Renders chat templates; see templates.h.
 */
#include "templates.h"

#include <string.h>

#include "jinja/eval.h"
#include "jinja/parse.h"
#include "support.h"

int template_render(aoei_buffer *out, aoe_error *err, const char *source) {
    aoei_jinja_arena tree = {.limit = 64 << 20};
    aoei_jinja_run run = {.name = "t", .max_work = 4000000, .err = err};
    const aoei_jinja_dict variables = {0};
    aoei_jinja_node *statements;
    run.arena.limit = 64 << 20;
    int rc = aoei_jinja_parse(&statements, &tree, aoe_text_of(source), "t", err);
    if (!rc)
        rc = aoei_jinja_render(&run, out, statements, &variables);
    aoei_jinja_arena_free(&run.arena);
    aoei_jinja_arena_free(&tree);
    return rc;
}

void template_output(const char *source, const char *expected) {
    aoei_buffer out = {0};
    aoe_error err = {0};
    if (template_render(&out, &err, source))
        fail_msg("%s: %s", source, err.message);
    if (out.len != strlen(expected) || (out.len && memcmp(out.data, expected, out.len) != 0))
        fail_msg("%s: got \"%.*s\", expected \"%s\"", source, (int)out.len, out.data ? out.data : "", expected);
    aoei_buffer_free(&out);
}

void template_error(const char *source, int code, const char *part) {
    aoei_buffer out = {0};
    aoe_error err = {0};
    const int rc = template_render(&out, &err, source);
    if (rc != code || err.code != code || !strstr(err.message, part))
        fail_msg("%.80s: code %d, message \"%s\"; expected code %d, message \"%s\"", source, rc, err.message, code,
                 part);
    aoei_buffer_free(&out);
}
