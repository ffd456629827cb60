/* SPDX-License-Identifier: MIT
 * Fuzzes the JSON parser. It must accept exactly the texts that jansson's parser accepts, and return the same values.
 * NUL bytes are an exception: jansson ignores them after a number. It must either fail with a message or return a
 * value. The value must not change when it is written and read again. Reading a member as any type must not crash, and
 * no block may be leaked.
 */
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/json.h"
#include "base/json_decode.h"

static void look_up(const json_t *root) {
    static const char *const keys[] = {"a", "model_max_length", "hidden_size", "prompts", ""};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t n = 0, len = 0;
        double x = 0;
        int b = 0;
        const char *s = NULL;
        aoe_error err = {0};
        (void)aoei_json_size(root, keys[i], &n, "f", &err);
        (void)aoei_json_need_size(root, keys[i], &n, "f", &err);
        (void)aoei_json_double(root, keys[i], &x, "f", &err);
        if (aoei_json_bool(root, keys[i], &b, "f", &err) == 0 && b != 0 && b != 1)
            abort();
        if (aoei_json_string(root, keys[i], &s, &len, "f", &err) == 0 && s && s[len] != 0)
            abort();
    }
}

static void check_round_trip(const json_t *root) {
    char *text = json_dumps(root, JSON_ENCODE_ANY);
    if (!text)
        abort();
    json_t *again;
    if (aoei_json_parse(&again, text, strlen(text), "again", NULL) || !json_equal(root, again))
        abort();
    json_decref(again);
    aoei_free(text);
}

static void compare_with_jansson(const char *data, size_t size) {
    static const size_t flags[] = {0,
                                   JSON_ALLOW_NUL | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL | JSON_REJECT_DUPLICATES};
    for (size_t i = 0; i < 2 && !memchr(data, 0, size); i++) {
        json_error_t error, expected_error;
        int no_memory;
        json_t *value = aoei_json_decode(data, size, flags[i], &error, &no_memory),
               *expected = json_loadb(data, size, flags[i], &expected_error);
        if (no_memory || (value ? !json_equal(value, expected) : expected || error.line != expected_error.line))
            abort();
        json_decref(value);
        json_decref(expected);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    int64_t live = aoei_alloc_live();
    json_t *root;
    aoe_error err = {0};
    int code = aoei_json_parse(&root, (const char *)data, size, "input", &err);
    if (code != err.code || (code == 0) != (root != NULL) || (code && strncmp(err.message, "input:", 6) != 0))
        abort();
    if (root) {
        look_up(root);
        check_round_trip(root);
        json_decref(root);
    }
    compare_with_jansson((const char *)data, size);
    if (aoei_alloc_live() != live)
        abort();
    return 0;
}
