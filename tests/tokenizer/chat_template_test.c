/* SPDX-License-Identifier: MIT
 * Tests the rendering of chat templates: strings that transformers renders, too, the errors, the limits, and failed
 * allocations.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "tokenizer/chat_template.h"

typedef struct rendering {
    const char *template;
    int structured;
    const char *prompt, *text, *second, *expected;
} rendering;

/* The expected strings are those of render_jinja_template of transformers 5.23 (bos_token is <s>, eos_token is
 * </s>). */
static const rendering renderings[] = {
    {"{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ '<|im_start|>system\n"
     "You are a helpful assistant.<|im_end|>\n' }}{% endif %}{{'<|im_start|>' + message['role'] + '\n"
     "' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ "
     "'<|im_start|>assistant\n' }}{% endif %}",
     0, "Be brief.\n", " hello ", NULL,
     "<|im_start|>system\nBe brief.\n<|im_end|>\n<|im_start|>user\n hello <|im_end|>\n"},
    {"{% if messages[0]['role'] == 'system' %}{% set loop_messages = messages[1:] %}{% set system_message = "
     "messages[0]['content'] %}{% else %}{% set loop_messages = messages %}{% set system_message = false %}{% endif "
     "%}{% for message in loop_messages %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ "
     "raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}{% endif %}{% if "
     "loop.index0 == 0 and system_message != false %}{% set content = '<<SYS>>\\n' + system_message + "
     "'\\n<</SYS>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}{% if "
     "message['role'] == 'user' %}{{ bos_token + '[INST] ' + content.strip() + ' [/INST]' }}{% elif message['role'] == "
     "'assistant' %}{{ ' '  + content.strip() + ' ' + eos_token }}{% endif %}{% endfor %}",
     0, "Be brief.\n", " hello ", NULL, "<s>[INST] <<SYS>>\nBe brief.\n\n<</SYS>>\n\n hello [/INST]"},
    {"{% for message in messages %}{% if message['role'] == 'system' and message['content'] %}{{'<|system|>\n"
     "' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'user' %}{{'<|user|>\n"
     "' + message['content'] + '<|end|>\n'}}{% elif message['role'] == 'assistant' %}{{'<|assistant|>\n"
     "' + message['content'] + '<|end|>\n'}}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>\n"
     "' }}{% else %}{{ eos_token }}{% endif %}",
     0, "Be brief.\n", " hello ", NULL, "<|system|>\nBe brief.\n<|end|>\n<|user|>\n hello <|end|>\n</s>"},
    {"{% for message in messages %}\n{% if message['role'] == 'user' %}\n{{ '<|user|>\n"
     "' + message['content'] + eos_token }}\n{% elif message['role'] == 'system' %}\n{{ '<|system|>\n"
     "' + message['content'] + eos_token }}\n{% elif message['role'] == 'assistant' %}\n{{ '<|assistant|>\n"
     "'  + message['content'] + eos_token }}\n{% endif %}\n{% if loop.last and add_generation_prompt %}\n"
     "{{ '<|assistant|>' }}\n{% endif %}\n{% endfor %}",
     0, "Be brief.\n", " hello ", NULL, "<|system|>\nBe brief.\n</s>\n<|user|>\n hello </s>\n"},
    {"<|im_start|>system\nJudge.<|im_end|>\n<|im_start|>user\n"
     "<Query>: {{ messages | selectattr(\"role\", \"eq\", \"query\") | map(attribute=\"content\") | first }}\n"
     "<Document>: {{ messages | selectattr(\"role\", \"eq\", \"document\") | map(attribute=\"content\") | first "
     "}}<|im_end|>\n",
     0, NULL, "q \xc3\xa9", " d\n",
     "<|im_start|>system\nJudge.<|im_end|>\n<|im_start|>user\n<Query>: q \xc3\xa9\n<Document>:  d\n<|im_end|>"},
    {"<Query>: {{ (messages | selectattr(\"role\", \"eq\", \"query\") | first).content[0].text }}\n"
     "    <Document>: {{ (messages | selectattr(\"role\", \"eq\", \"document\") | first).content[0].text }}\n",
     1, NULL, "q", "d", "<Query>: q\n    <Document>: d"},
    {"a\n  {% if true %}\n  b\n  {% endif %}\n  c\n", 0, "p", "hello", NULL, "a\n  b\n  c"},
    {"a {%- if 1 -%}\n b \n{%- endif -%} c", 0, "p", "hello", NULL, "abc"},
    {"x\x0d\ny\n\n", 0, "p", "hello", NULL, "x\ny\n"},
    {"{{ -7 // 2 }} {{ -7 % 2 }} {{ 1 < 2 < 3 }} {{ 'ab' * 2 }}{{ nope }}", 0, "p", "hello", NULL, "-4 1 True abab"},
    {"{{ {'a': [1, none, true, '\xc3\xa9\"\\n']} | tojson }}", 0, "p", "hello", NULL,
     "{\"a\": [1, null, true, \"\xc3\xa9\\\"\\n\"]}"},
    {"{% for i in [1, 2, 3] if i != 2 %}{{ loop.index }}{{ loop.last }},{% else %}e{% endfor %}", 0, "p", "hello", NULL,
     "1False,2True,"},
    {"{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}", 0, "p", "hello", NULL, "231"},
    {"{% set n = namespace(x=1) %}{% for i in [1, 2] %}{% set n.x = n.x + i %}{% endfor %}{{ n.x }}", 0, "p", "hello",
     NULL, "4"},
    {"{% macro m(a, b='d') %}[{{ a }}{{ b }}]{% endmacro %}{{ m(1) }}{{ m(b=2, a=3) }}", 0, "p", "hello", NULL,
     "[1d][32]"},
    {"{{ messages | map(attribute='role') | join(',') }} {{ messages[-1].content | upper }}", 0, "p", "hello", NULL,
     "system,user HELLO"},
    {"{{ 'a,b,,c'.split(',') | join('|') }} {{ ' x '.strip() }}|{{ 'xax' | trim('x') }}", 0, "p", "hello", NULL,
     "a|b||c x|a"},
    {"{% raw %}{{ a }}{% endraw %}{# c #}{{ 'x' if false }}!", 0, "p", "hello", NULL, "{{ a }}!"}};

static json_t *tokens(void) {
    return json_pack("{s:s, s:s}", "bos_token", "<s>", "eos_token", "</s>");
}

static int render(aoei_buffer *out, const rendering *r, aoe_error *err) {
    char *template = aoei_strdup(r->template), name[] = "t";
    json_t *special = tokens();
    const aoei_chat_source source = {.text = template, .found = 1, .name = name};
    const aoei_chat_form form = {.structured = r->structured, .tokens = special};
    const aoe_text second = aoe_text_of(r->second ? r->second : "");
    const aoei_chat_texts texts = {.prompt = r->prompt ? aoe_text_of(r->prompt) : (aoe_text){NULL, 0},
                                   .text = aoe_text_of(r->text),
                                   .second = r->second ? &second : NULL};
    aoei_chat *c = NULL;
    int rc = template && special ? aoei_chat_create(&c, &source, &form, err) : aoei_fail_nomem(err, 0);
    if (!rc)
        rc = aoei_chat_render(c, out, &texts, err);
    if (!rc && out->failed)
        rc = aoei_fail_nomem(err, out->len);
    aoei_chat_free(c);
    json_decref(special);
    aoei_free(template);
    return rc;
}

static void test_renderings(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof renderings / sizeof *renderings; i++) {
        const rendering *r = &renderings[i];
        aoei_buffer out = {0};
        aoe_error err = {0};
        if (render(&out, r, &err))
            fail_msg("%s: %s", r->template, err.message);
        if (out.len != strlen(r->expected) || memcmp(out.data ? out.data : "", r->expected, out.len) != 0)
            fail_msg("%s: got \"%.*s\", expected \"%s\"", r->template, (int)out.len, out.data ? out.data : "",
                     r->expected);
        aoei_buffer_free(&out);
    }
}

static void expect_error(const char *template, int code, const char *part) {
    aoei_buffer out = {0};
    aoe_error err = {0};
    const int rc = render(&out, &(rendering){.template = template, .text = "hello"}, &err);
    if (rc != code || err.code != code || !strstr(err.message, part))
        fail_msg("%.80s: code %d, message \"%s\"; expected \"%s\"", template, rc, err.message, part);
    aoei_buffer_free(&out);
}

static void test_errors(void **state) {
    (void)state;
    expect_error("a\nb\n{% include 'x' %}", AOE_EUNSUPPORTED, "t:3: ");
    expect_error("{% include 'x' %}", AOE_EUNSUPPORTED, "'include'");
    expect_error("\n{{ 1.5 }}", AOE_EUNSUPPORTED, "t:2: the chat template prints a number with a fraction");
    expect_error("{{ 'a' | nope }}", AOE_EUNSUPPORTED, "'nope'");
    expect_error("{{ raise_exception('no texts') }}", AOE_EFORMAT, "no texts");
    expect_error("{{ strftime_now('%Y') }}", AOE_EUNSUPPORTED, "strftime_now");
    expect_error("{% set n = namespace(_a=1) %}", AOE_EFORMAT, "'_a'");
    expect_error("{{ nope.a }}", AOE_EFORMAT, "nope");
    expect_error("\n\n{{ 1 +", AOE_EFORMAT, "t:3: ");
    expect_error("{% if 1 %}", AOE_EFORMAT, "t:1: ");
    expect_error("{% endfor %}", AOE_EUNSUPPORTED, "t:1: ");
}

/* Returns "START" + n times PART + "END"; the caller frees the string with aoei_free. */
static char *repeated(const char *start, const char *part, size_t n, const char *end) {
    aoei_buffer b = {0};
    aoei_buffer_append(&b, start, strlen(start));
    for (size_t i = 0; i < n; i++)
        aoei_buffer_append(&b, part, strlen(part));
    aoei_buffer_append(&b, end, strlen(end) + 1);
    assert_false(b.failed);
    return b.data;
}

static void expect_rejected(const char *template) {
    aoei_buffer out = {0};
    aoe_error err = {0};
    const int rc = render(&out, &(rendering){.template = template, .text = "hello"}, &err);
    if (!rc || rc != err.code || !*err.message)
        fail_msg("%.80s: code %d, message \"%s\"", template, rc, err.message);
    aoei_buffer_free(&out);
}

/* Templates without end, and templates that need too much memory, fail with an error. */
static void test_limits(void **state) {
    (void)state;
    static const char *const long_runs[] = {
        "{% for i in range(10**9) %}x{% endfor %}",
        "{% for i in range(1000000000) %}x{% endfor %}",
        "{% for i in range(9999) %}{% for j in range(9999) %}{% for k in range(9999) %}{% endfor %}{% endfor %}{% "
        "endfor %}",
        "{% set n = namespace(s='x') %}{% for i in range(99) %}{% set n.s = n.s + n.s %}{% endfor %}{{ n.s }}",
        "{{ 'x' * 999999999 }}",
        "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
        "{% set n = namespace(a=0) %}{% set n.a = n %}{{ n | tojson }}",
        "{{ 9223372036854775807 + 1 }}",
        "{{ 9223372036854775807 * 2 }}",
        "{{ 1 // 0 }}",
        "{{ 1 % 0 }}",
    };
    for (size_t i = 0; i < sizeof long_runs / sizeof *long_runs; i++)
        expect_rejected(long_runs[i]);
    static const char *const parts[][3] = {{"{{ ", "(", "1"},
                                           {"{{ ", "[", "1"},
                                           {"{{ ", "-", "1 }}"},
                                           {"{{ ", "not ", "1 }}"},
                                           {"", "{% if 1 %}", ""},
                                           {"", "{% for i in [1] %}", ""},
                                           {"{{ 1", "|string", "(( }}"},
                                           {"{{ {'a': ", "{'a': ", "1"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char *template = repeated(parts[i][0], parts[i][1], 30000, parts[i][2]);
        expect_rejected(template);
        aoei_free(template);
    }
    char *large = repeated("", "0123456789", 120000, "");
    expect_error(large, AOE_EUNSUPPORTED, "larger than 1 MiB");
    aoei_free(large);
}

static int render_all(void *unused) {
    (void)unused;
    int rc = 0;
    for (size_t i = 0; i < sizeof renderings / sizeof *renderings && !rc; i++) {
        aoei_buffer out = {0};
        aoe_error err = {0};
        rc = render(&out, &renderings[i], &err);
        assert_int_equal(rc, err.code);
        aoei_buffer_free(&out);
    }
    return rc;
}

static void test_failed_allocations(void **state) {
    (void)state;
    assert_true(test_alloc_failures(render_all, NULL, 5000) > 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_renderings), cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_limits), cmocka_unit_test(test_failed_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
