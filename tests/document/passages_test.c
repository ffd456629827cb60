/* SPDX-License-Identifier: MIT
 * Tests passages: properties of random documents of every kind, the choice of ends, overlap, headings, blocks that stay
 * whole, line numbers, real documents of the project, huge lines, and failed allocations.
 * covers: document/outline document/segments
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../support/support.h"
#include "base/alloc.h"
#include "base/source_tree.h"
#include "base/utf8.h"
#include "document/clean_text.h"
#include "document/passages.h"

typedef struct counter {
    size_t calls, bytes;
    int fail; /* 1: the next call fails */
} counter;

/* One token for each word of up to 8 bytes and for each punctuation character, and one for each newline. */
static int count_tokens(void *user, aoe_text text, size_t *tokens, aoe_error *err) {
    counter *c = user;
    size_t n = 0, word = 0;
    for (size_t i = 0; i < text.len; i++) {
        const unsigned char b = (unsigned char)text.data[i];
        const int letter = b >= 0x80 || (b >= '0' && b <= '9') || ((b | 0x20) >= 'a' && (b | 0x20) <= 'z');
        n += letter ? word % 8 == 0 : b > ' ' || b == '\n';
        word = letter ? word + 1 : 0;
    }
    *tokens = n;
    c->calls++;
    c->bytes += text.len;
    if (c->fail) {
        *err = (aoe_error){.code = AOE_ENUMERIC};
        return AOE_ENUMERIC;
    }
    return 0;
}

static size_t tokens_of(aoe_text text) {
    size_t n;
    assert_int_equal(count_tokens(&(counter){0}, text, &n, NULL), 0);
    return n;
}

/* Splits a text and fails the test on an error. The caller frees p. */
static void split(aoei_passages *p, const char *text, const char *name, size_t tokens, size_t longest) {
    counter c = {0};
    aoe_error err;
    const aoei_passage_options o = {
        .name = name, .tokens = tokens, .longest = longest, .count = count_tokens, .user = &c};
    if (aoei_passages_split(p, aoe_text_of(text), &o, &err))
        fail_msg("%s", err.message);
}

static int contains(const aoei_passage *p, const char *part) {
    const size_t n = strlen(part);
    for (size_t i = 0; i + n <= p->text.len; i++)
        if (memcmp(p->text.data + i, part, n) == 0)
            return 1;
    return 0;
}

/* First passage that contains `part`. */
static const aoei_passage *find(const aoei_passages *p, const char *part) {
    for (size_t i = 0; i < p->n; i++)
        if (contains(&p->passage[i], part))
            return &p->passage[i];
    fail_msg("no passage contains '%s'", part);
    return NULL;
}

/* A growing random document. */
typedef struct document {
    char text[40000];
    size_t len;
    uint32_t seed;
} document;

static uint32_t draw(document *d, uint32_t n) {
    d->seed = d->seed * 1664525u + 1013904223u;
    return (d->seed >> 8) % n;
}

static void put(document *d, const char *s) {
    const size_t n = strlen(s);
    if (d->len + n + 1 < sizeof d->text) {
        memcpy(d->text + d->len, s, n + 1);
        d->len += n;
    }
}

static void put_words(document *d, size_t n) {
    static const char *const word[] = {"the ",
                                       "passage ",
                                       "of ",
                                       "a ",
                                       "certificate. ",
                                       "Renew ",
                                       "it! ",
                                       "e.g. ",
                                       "x86-64, ",
                                       "(in ",
                                       "brackets) ",
                                       "na\xC3\xAFve ",
                                       "\xE6\x97\xA5\xE6\x9C\xAC\xE3\x80\x82",
                                       "\xF0\x9F\x98\x80 ",
                                       "snake_case_name ",
                                       "Is it? "};
    while (n--)
        put(d, word[draw(d, sizeof word / sizeof *word)]);
}

static void put_block(document *d) {
    char line[100];
    const uint32_t lines = draw(d, 30);
    switch (draw(d, 9)) {
    case 0:
        snprintf(line, sizeof line, "%.*s heading %u\n\n", (int)draw(d, 6) + 1, "######", draw(d, 100));
        put(d, line);
        return;
    case 1:
        put(d, "```\n");
        for (uint32_t i = 0; i < lines; i++)
            put(d, i % 5 ? "    if (x) { y(); }\n" : "\nint f(void) {\n");
        put(d, "```\n");
        return;
    case 2:
        put(d, "| a | b |\n| - | - |\n");
        for (uint32_t i = 0; i < lines; i++)
            put(d, "| 1 | 2 |\n");
        return;
    case 3:
        for (uint32_t i = 0; i < lines / 3; i++) {
            put(d, i % 2 ? "- " : "  * ");
            put_words(d, draw(d, 12));
            put(d, "\n");
        }
        return;
    case 4:
        put_words(d, draw(d, 400)); /* a paragraph on one line */
        put(d, "\n\n");
        return;
    case 5:
        for (uint32_t i = 0; i < draw(d, 900); i++)
            put(d, "x0");
        put(d, draw(d, 2) ? "\n" : " \t \n\n\n");
        return;
    case 6:
        put(d, draw(d, 2) ? "Title\n=====\n" : "---\n");
        return;
    default:
        for (uint32_t i = 0; i < lines; i++) {
            put_words(d, draw(d, 14));
            put(d, "\n");
        }
        put(d, "\n");
    }
}

static size_t line_at(const char *text, const char *at) {
    size_t line = 1;
    for (; text < at; text++)
        line += *text == '\n';
    return line;
}

/* Checks all promises of passages.h that hold for every document without front matter. */
static void check_passages(const document *d, const aoei_passages *p, size_t tokens, size_t longest) {
    const char *text = p->outline.text.data, *covered = text;
    char embedded[20000];
    size_t heading = 0;
    for (size_t i = 0; i < p->n; i++) {
        const aoei_passage *x = &p->passage[i];
        const char *end = x->text.data + x->text.len;
        assert_true(x->text.len > 0 && x->text.data >= text && end <= text + p->outline.text.len);
        assert_int_equal(aoei_utf8_valid(x->text.data, x->text.len), x->text.len);
        if (x->text.data > covered) /* only white space is between two passages */
            assert_true(aoei_utf8_is_blank(covered, (size_t)(x->text.data - covered)));
        if (i) {
            const aoei_passage *last = &p->passage[i - 1];
            assert_true(x->text.data > last->text.data && end > covered);
            if (x->text.data < covered)
                assert_true(tokens_of((aoe_text){x->text.data, (size_t)(covered - x->text.data)}) <=
                            tokens * 3 / 10 + 1);
        }
        covered = end;
        if (p->shortened == 0) { /* otherwise the lines do not have the same text, but the same number */
            assert_memory_equal(text, d->text, d->len);
        }
        assert_int_equal(x->line, line_at(text, x->text.data));
        assert_int_equal(x->last_line, line_at(text, end - 1));
        heading = strlen(x->heading);
        assert_true(heading < 240);
        assert_int_equal(aoei_utf8_valid(x->heading, heading), heading);
        snprintf(embedded, sizeof embedded, "%s%s%.*s", x->heading, heading ? "\n" : "", (int)x->text.len,
                 x->text.data);
        assert_true(tokens_of(aoe_text_of(embedded)) <= longest);
        assert_true(tokens_of(x->text) <= tokens);
    }
    assert_true(aoei_utf8_is_blank(covered, (size_t)(text + p->outline.text.len - covered)));
}

static void test_random_documents(void **state) {
    (void)state;
    static const char *const names[] = {"a.md", "a.txt", "a.c", "a.py"};
    static const size_t sizes[][2] = {{400, 510}, {400, 254}, {100, 510}, {32, 32}, {400, 4000}, {60, 64}};
    document *d = malloc(sizeof *d);
    assert_non_null(d);
    for (uint32_t seed = 0; seed < (TEST_SANITIZED ? 100 : 600); seed++) {
        d->len = 0;
        d->seed = seed;
        put(d, "Begin\n"); /* so that there is no front matter */
        for (uint32_t i = draw(d, 40); i; i--)
            put_block(d);
        const size_t *size = sizes[seed % 6];
        aoei_passages p, again;
        counter c = {0};
        aoe_error err;
        const aoei_passage_options o = {
            .name = names[seed / 6 % 4], .tokens = size[0], .longest = size[1], .count = count_tokens, .user = &c};
        assert_int_equal(aoei_passages_split(&p, (aoe_text){d->text, d->len}, &o, &err), 0);
        check_passages(d, &p, size[0], size[1]);
        assert_int_equal(aoei_passages_split(&again, (aoe_text){d->text, d->len}, &o, &err), 0);
        assert_int_equal(again.n, p.n);
        for (size_t i = 0; i < p.n; i++) {
            assert_string_equal(again.passage[i].heading, p.passage[i].heading);
            assert_int_equal(again.passage[i].text.len, p.passage[i].text.len);
            assert_int_equal(again.passage[i].line, p.passage[i].line);
        }
        aoei_passages_free(&p);
        aoei_passages_free(&again);
    }
    free(d);
    assert_int_equal(aoei_alloc_live(), 0);
}

/* Plain prose: passages of nearly 400 tokens that overlap by nearly 15% and begin and end with sentences. The tokens
 * are counted little more than once. */
static void test_overlap(void **state) {
    (void)state;
    char *text = malloc(200000);
    size_t len = 0;
    for (int i = 0; i < 2000; i++)
        len += (size_t)sprintf(text + len, "Sentence %d is about number %d and some other words.%s", i, i * 7,
                               i % 10 == 9 ? "\n" : " ");
    counter c = {0};
    aoei_passages p;
    aoe_error err;
    const aoei_passage_options o = {.tokens = 400, .longest = 510, .count = count_tokens, .user = &c};
    assert_int_equal(aoei_passages_split(&p, (aoe_text){text, len}, &o, &err), 0);
    assert_true(p.n > 50);
    assert_true(c.bytes < len * 12 / 10);
    for (size_t i = 0; i + 1 < p.n; i++) {
        const aoei_passage *x = &p.passage[i];
        const char *end = x->text.data + x->text.len, *next = x[1].text.data;
        assert_int_equal(end[-1], '.');
        assert_memory_equal(next, "Sentence", 8);
        assert_true(tokens_of(x->text) >= 350 && tokens_of(x->text) <= 400);
        const size_t shared = tokens_of((aoe_text){next, (size_t)(end - next)});
        assert_true(shared >= 40 && shared <= 80);
        assert_string_equal(x->heading, "");
    }
    aoei_passages_free(&p);
    free(text);
}

/* Appends n lines of text. */
static size_t put_lines(char *to, size_t n, const char *line) {
    size_t len = 0;
    for (size_t i = 0; i < n; i++)
        len += (size_t)sprintf(to + len, "%s\n", line);
    return len;
}

static void test_headings(void **state) {
    (void)state;
    char *text = malloc(100000), *at = text;
    at += sprintf(at, "---\ntitle: \"Servers\"\ndate: 2020\n---\n\nIntroduction.\n\n# Setup\n\n");
    at += put_lines(at, 20, "The first section has a line of text with ten words.");
    at += sprintf(at, "\n## Certificates\n\n");
    at += put_lines(at, 20, "Another line about the certificates and how they are renewed.");
    at += sprintf(at, "\n### `renew`: [the](http://x.org/) *command*\n\n");
    at += put_lines(at, 60, "The command renews a certificate before it expires.");
    at += sprintf(at, "\n# Other\n\nLast line.\n");
    aoei_passages p;
    split(&p, text, "a.md", 200, 300);
    assert_string_equal(p.title, "Servers");
    assert_string_equal(p.passage[0].heading, "Servers > Setup"); /* which is most of the passage */
    assert_false(contains(&p.passage[0], "date"));
    assert_int_equal(p.passage[0].line, 6);
    /* a heading is a better end than a blank line nearer to the limit */
    const aoei_passage *x = find(&p, "## Certificates");
    assert_memory_equal(x->text.data, "## Certificates", 15);
    assert_string_equal(x->heading, "Servers > Setup > Certificates");
    assert_int_equal(x->line, 31);
    x = find(&p, "renews a certificate");
    assert_string_equal(x->heading, "Servers > Setup > Certificates > renew: the command");
    assert_string_equal(x[1].heading, x->heading);
    assert_string_equal(p.passage[p.n - 1].heading, "Servers > Other");
    aoei_passages_free(&p);
    free(text);
}

/* A title in the options is the first part. A document without a heading has its name as heading, if the options say
 * so. */
static void test_titles(void **state) {
    (void)state;
    aoei_passages p;
    counter c = {0};
    aoe_error err;
    aoei_passage_options o = {
        .name = "notes/today.md", .title = "Mine", .tokens = 400, .longest = 510, .count = count_tokens, .user = &c};
    assert_int_equal(aoei_passages_split(&p, aoe_text_of("# A\n\nText.\n"), &o, &err), 0);
    assert_string_equal(p.passage[0].heading, "Mine > A");
    assert_string_equal(p.title, "Mine");
    aoei_passages_free(&p);
    o.title = "A";
    assert_int_equal(aoei_passages_split(&p, aoe_text_of("# A\n\nText.\n"), &o, &err), 0);
    assert_string_equal(p.passage[0].heading, "A");
    aoei_passages_free(&p);
    o.title = NULL;
    assert_int_equal(aoei_passages_split(&p, aoe_text_of("Text.\n"), &o, &err), 0);
    assert_string_equal(p.passage[0].heading, "");
    aoei_passages_free(&p);
    o.name_as_title = 1;
    assert_int_equal(aoei_passages_split(&p, aoe_text_of("Text.\n"), &o, &err), 0);
    assert_string_equal(p.passage[0].heading, "notes/today.md");
    aoei_passages_free(&p);
    assert_int_equal(aoei_passages_split(&p, aoe_text_of("# A\n\nText.\n"), &o, &err), 0);
    assert_string_equal(p.passage[0].heading, "A");
    assert_string_equal(p.title, "A");
    aoei_passages_free(&p);
}

/* A code block and a table that fit into a passage are whole in a passage; a larger block is divided. */
static void test_blocks(void **state) {
    (void)state;
    char *text = malloc(100000), *at = text;
    at += put_lines(at, 8, "Text before the block with some words in it.");
    char *block = at;
    at += sprintf(at, "\n```c\n");
    at += put_lines(at, 20, "    call(value);\n");
    at += sprintf(at, "```\n");
    const size_t block_len = (size_t)(at - block) - 2; /* without the first and the last newline */
    at += sprintf(at, "\nAfter.\n\n| a | b |\n|---|---|\n");
    at += put_lines(at, 20, "| cell one | cell two |");
    at += sprintf(at, "\n~~~\n");
    at += put_lines(at, 300, "large();");
    sprintf(at, "~~~\n");
    aoei_passages p;
    split(&p, text, "a.md", 200, 300);
    const aoei_passage *x = find(&p, "```c\n");
    block[1 + block_len] = 0;
    assert_true(contains(x, block + 1));
    x = find(&p, "|---|");
    size_t rows = 0;
    for (size_t i = 0; i + 8 < x->text.len; i++)
        rows += memcmp(x->text.data + i, "cell two", 8) == 0;
    assert_int_equal(rows, 20);
    assert_true(find(&p, "large();")->text.len < 2000);
    aoei_passages_free(&p);
    free(text);
}

static void test_source_code(void **state) {
    (void)state;
    char *text = malloc(100000), *at = text;
    at += sprintf(at, "#include <stdio.h>\n\n");
    for (int i = 0; i < 20; i++) {
        at += sprintf(
            at, "/* Comment of function %d. */\nstatic int function_%d(int a,\n                      int b) {\n", i, i);
        at += put_lines(at, 12, "    if (a) {\n        b += call(a, b);\n\n        a--;\n    }");
        at += sprintf(at, "    return a;\n}\n\n");
    }
    aoei_passages p;
    split(&p, text, "src/x.c", 400, 510);
    for (size_t i = 1; i < p.n; i++) { /* each passage begins with a comment, and none in a body */
        char heading[100];
        assert_memory_equal(p.passage[i].text.data, "/* Comment", 10);
        const int n = atoi(strstr(p.passage[i].text.data, "function ") + 9);
        snprintf(heading, sizeof heading, "src/x.c > static int function_%d(int a", n);
        assert_string_equal(p.passage[i].heading, heading);
    }
    assert_true(p.n >= 10 && p.n <= 20);
    aoei_passages_free(&p);
    split(&p, text, "src/x.c", 100, 510); /* functions do not fit: their passages name them */
    assert_string_equal(find(&p, "return a;")->heading, "src/x.c > static int function_0(int a");
    aoei_passages_free(&p);
    free(text);
}

/* README.md and docs/tour.md of the project: headings of known sentences. */
static void test_real_documents(void **state) {
    (void)state;
    static const struct {
        const char *file, *text, *heading;
    } known[] = {
        {"README.md", "Run these commands on a Debian system", "aoe: angle-optimized embeddings"},
        {"docs/tour.md", "src/base/atomic_write.c", "A tour of the code > How a checkpoint is written and read"},
        {"src/base/utf8.c", "(word & UINT64_C(0x8080808080808080))", "src/base/utf8.c"},
    };
    if (!*aoei_source_tree)
        skip();
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char *path = test_path(aoei_source_tree, known[i].file);
        size_t size;
        char *text = test_read(path, &size);
        assert_non_null(text);
        aoei_passages p;
        split(&p, text, known[i].file, 400, 510);
        const aoei_passage *x = find(&p, known[i].text);
        assert_memory_equal(x->heading, known[i].heading, strlen(known[i].heading));
        const size_t n = line_at(text, strstr(text, known[i].text));
        assert_true(x->line <= n && n <= x->last_line);
        aoei_passages_free(&p);
        free(text);
        free(path);
    }
}

static void test_empty(void **state) {
    (void)state;
    static const char *const empty[] = {"", "\n", " \t\r\n\n", "\xEF\xBB\xBF", "\xC2\xA0\n"};
    for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
        for (int kind = AOEI_DOCUMENT_TEXT; kind <= AOEI_DOCUMENT_CODE; kind++) {
            aoei_passages p;
            counter c = {0};
            aoe_error err;
            const aoei_passage_options o = {.kind = (aoei_document_kind)kind,
                                            .name = "x",
                                            .name_as_title = 1,
                                            .tokens = 400,
                                            .longest = 510,
                                            .count = count_tokens,
                                            .user = &c};
            assert_int_equal(aoei_passages_split(&p, aoe_text_of(empty[i]), &o, &err), 0);
            assert_int_equal(p.n, 0);
            aoei_passages_free(&p);
        }
}

/* A line of 20 MB without spaces becomes a short text; with spaces, it is divided. The time is not quadratic. */
static void test_huge_lines(void **state) {
    (void)state;
    const size_t size = TEST_SANITIZED ? 1000000 : 20000000;
    char *text = malloc(size + 1);
    assert_non_null(text);
    memset(text, 'x', size);
    text[size] = 0;
    aoei_passages p;
    split(&p, text, "a.txt", 400, 510);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.passage[0].text.len, AOEI_LONGEST_RUN + 4);
    assert_int_equal(p.shortened, size - AOEI_LONGEST_RUN - 4);
    aoei_passages_free(&p);
    for (size_t i = 7; i < size; i += 8)
        text[i] = ' ';
    split(&p, text, "a.js", 400, 510);
    assert_int_equal(p.shortened, size - AOEI_LONGEST_CODE_LINE - 4);
    aoei_passages_free(&p);
    split(&p, text, "a.txt", 400, 510);
    assert_true(p.n >= size / 8 / 400);
    for (size_t i = 0; i < p.n; i++)
        assert_true(tokens_of(p.passage[i].text) <= 400 && p.passage[i].line == 1 && p.passage[i].last_line == 1);
    aoei_passages_free(&p);
    memset(text, '\n', size);
    memcpy(text + size - 4, "end.", 4);
    split(&p, text, "a.md", 400, 510);
    assert_int_equal(p.n, 1);
    assert_int_equal(p.passage[0].line, size - 3);
    aoei_passages_free(&p);
    free(text);
}

/* A tokenizer that needs more tokens for a text than for its parts: one more for each 60 characters. */
static int count_more(void *user, aoe_text text, size_t *tokens, aoe_error *err) {
    const int rc = count_tokens(user, text, tokens, err);
    *tokens += text.len > 300 ? text.len / 60 : 0;
    return rc;
}

static void test_inexact_sums(void **state) {
    (void)state;
    char *text = malloc(100000);
    size_t len = put_lines(text, 1000, "This line has some words. And there is a second sentence.");
    counter c = {0};
    aoei_passages p;
    aoe_error err;
    const aoei_passage_options o = {
        .name = "folder/a.txt", .name_as_title = 1, .tokens = 400, .longest = 200, .count = count_more, .user = &c};
    assert_int_equal(aoei_passages_split(&p, (aoe_text){text, len}, &o, &err), 0);
    assert_true(p.n > 50);
    for (size_t i = 0; i < p.n; i++) {
        char embedded[2000];
        size_t tokens;
        snprintf(embedded, sizeof embedded, "folder/a.txt\n%.*s", (int)p.passage[i].text.len, p.passage[i].text.data);
        assert_int_equal(count_more(&c, aoe_text_of(embedded), &tokens, NULL), 0);
        assert_true(tokens <= 200);
        assert_string_equal(p.passage[i].heading, "folder/a.txt");
    }
    aoei_passages_free(&p);
    free(text);
}

static void test_errors(void **state) {
    (void)state;
    aoei_passages p;
    aoe_error err;
    counter c = {.fail = 1};
    aoei_passage_options o = {.tokens = 400, .longest = 510, .count = count_tokens, .user = &c};
    assert_int_equal(aoei_passages_split(&p, aoe_text_of("text"), &o, &err), AOE_ENUMERIC);
    assert_int_equal(p.n, 0);
    assert_null(p.passage);
    o.longest = 31;
    assert_int_equal(aoei_passages_split(&p, aoe_text_of("text"), &o, &err), AOE_EARG);
    assert_string_equal(err.message, "passages need at least 32 tokens; the maximum is 31");
}

static int split_once(void *arg) {
    counter c = {0};
    aoei_passages p;
    aoe_error err;
    const aoei_passage_options o = {.name = arg, .tokens = 40, .longest = 100, .count = count_tokens, .user = &c};
    const int rc = aoei_passages_split(
        &p,
        aoe_text_of(
            "---\ntitle: X\n---\n# A\n\nint f() {\n    x;\n}\n\n```\ncode\n```\n\n# B\n\nMore text. And more.\n"
            "\n\nSome more text that is longer than the first, because it has more than one sentence. Like here."),
        &o, &err);
    aoei_passages_free(&p);
    return rc;
}

static void test_failed_allocations(void **state) {
    (void)state;
    assert_true(test_alloc_failures(split_once, "a.md", 0) > 5);
    assert_true(test_alloc_failures(split_once, "a.c", 0) > 5);
    assert_true(test_alloc_failures(split_once, "a.txt", 0) > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_documents),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_headings),
        cmocka_unit_test(test_titles),
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_source_code),
        cmocka_unit_test(test_real_documents),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_huge_lines),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_failed_allocations),
        cmocka_unit_test(test_inexact_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
