/* SPDX-License-Identifier: MIT
 * Tests the outline of source code in several languages: the definitions that enclose a line, and weights of breaks.
 */
#include <string.h>

#include "../support/support.h"
#include "document/code_outline.h"

/* Source code. The line that contains "HERE" is in the sections `path`. */
static const struct {
    const char *language, *code, *path;
} cases[] = {
    {"C", "int x;\n\nstatic int\nf(int a,\n  int b)\n{\n    if (a) {\n        HERE;\n    }\n}\n", "f(int a"},
    {"C after a function", "int f(void) {\n    return 1;\n}\n\nint HERE;\n", ""},
    {"C label", "int f(void) {\n    a();\nfail:\n    HERE;\n}\n", "int f(void)"},
    {"C preprocessor", "int f(void) {\n    a();\n#ifdef X\n    HERE;\n#endif\n}\n", "int f(void)"},
    {"C table", "static const int table[] = {\n    1,\n    HERE,\n};\n", "static const int table[]"},
    {"C macro", "#define F(x) \\\n    do { \\\n        HERE; \\\n    } while (0)\n", "#define F(x)"},
    {"C comment", "int f(void) {\n    a;\n}\n\n/* About g:\n   HERE */\nint g(void) {\n    b;\n}\n", "int g(void)"},
    {"C++",
     "namespace n {\n\nclass A : public B {\npublic:\n    template <class T>\n    void f(int a) const {\n        HERE;\n",
     "class A : public B > void f(int a) const"},
    {"Java", "public class A {\n    @Override\n    public int f() {\n        while (x) {\n            HERE;\n",
     "public class A > public int f()"},
    {"Java method without a word", "class A {\n\tint f(int x) {\n\t\tHERE;\n", "class A > int f(int x)"},
    {"Python",
     "import x\n\nclass A(B):\n    \"\"\"Doc.\"\"\"\n\n    @property\n    async def f(\n        self,\n    ):\n        if x:\n            HERE\n",
     "class A(B) > async def f"},
    {"Python after a class", "class A:\n    x = 1\n\n# comment\nHERE = 1\n", ""},
    {"Python decorator", "class A:\n    x = 1\n\n@HERE\ndef f():\n    pass\n", "def f()"},
    {"Python string", "class A:\n    def f(self):\n        \"\"\"Doc:\n\nNo class:\n    x\n\"\"\"\n        HERE\n",
     "class A > def f(self)"},
    {"Python module", "'''Doc:\n    text\n  HERE\n'''\n\nclass A:\n    x\n", ""},
    {"Python text", "x = f(\"\"\"\na:\n    HERE\n\"\"\")\n", ""},
    {"JavaScript", "export const f = async (x) => {\n  const y = await g(x);\n  return {\n    HERE: 1,\n",
     "export const f = async (x) =>"},
    {"JavaScript call", "describe('a', () => {\n  it('works', () => {\n    HERE();\n",
     "describe('a', () => > it('works', () =>"},
    {"Go", "package x\n\nfunc (s *T) F(a int) error {\n\tif err != nil {\n\t\tHERE\n", "func (s *T) F(a int) error"},
    {"Rust", "impl<T> Foo for T {\n    #[inline]\n    pub fn f(&self) -> T {\n        match x {\n            HERE\n",
     "impl<T> Foo for T > pub fn f(&self) -> T"},
    {"shell", "f() { # comment\n    if x; then\n        HERE\n    fi\n}\n", "f() { # comment"},
    {"shell after a function", "f() {\n    x\n}\n\nHERE\n", ""},
    {"Ruby", "module M\n  class A\n    def f(x)\n      HERE\n    end\n  end\nend\n", "module M > class A > def f(x)"},
    {"Ruby after a method", "class A\n  def f(x)\n    y\n  end\n\n  HERE\nend\n", "class A"},
    {"Makefile", "all: x\n\tcc -o $@\n\tHERE\n", "all: x"},
};

static void read_code(aoei_outline *o, const char *code) {
    aoe_error err;
    *o = (aoei_outline){0};
    assert_int_equal(aoei_buffer_append(&o->text, code, strlen(code)), 0);
    assert_int_equal(aoei_code_outline(o, &err), 0);
}

static void test_definitions(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        aoei_outline o;
        char path[240];
        read_code(&o, cases[i].code);
        const size_t here = (size_t)(strstr(cases[i].code, "HERE") - cases[i].code);
        size_t line = 0;
        while (line + 1 < o.n_lines && o.line[line + 1].start <= here)
            line++;
        aoei_outline_path(&o, NULL, o.line[line].section, path, sizeof path);
        if (strcmp(path, cases[i].path) != 0)
            fail_msg("%s: expected '%s', found '%s'", cases[i].language, cases[i].path, path);
        aoei_outline_free(&o);
    }
}

/* A break is better the smaller the indentation, and after blank lines; comments stay with their definition. */
static void test_weights(void **state) {
    (void)state;
    aoei_outline o;
    read_code(&o, "int f(void) {\n" /* 0 */
                  "    a;\n\n"      /* 1 */
                  "    b;\n"        /* 2 */
                  "    if (x) {\n"  /* 3 */
                  "        c;\n\n"  /* 4 */
                  "        d;\n"    /* 5 */
                  "    }\n"         /* 6 */
                  "}\n\n"           /* 7 */
                  "/* Comment\n"    /* 8 */
                  " * of g. */\n"   /* 9 */
                  "int g(void)\n"   /* 10 */
                  "{\n"             /* 11 */
                  "    e;\n"        /* 12 */
                  "}\n"             /* 13 */
                  "int y;\n");      /* 14 */
    const aoei_outline_line *l = o.line;
    assert_int_equal(o.n_lines, 15);
    assert_true(l[8].weight > l[14].weight); /* a definition after a blank line, before one without */
    assert_true(l[14].weight > l[2].weight);
    assert_true(l[2].weight > l[5].weight); /* blank lines: less indentation is better */
    assert_true(l[5].weight > l[3].weight); /* a blank line in a block, before a line without one */
    assert_true(l[3].weight > l[4].weight);
    assert_int_equal(l[7].weight, AOEI_BREAK_BAD); /* closing and opening braces */
    assert_int_equal(l[6].weight, AOEI_BREAK_BAD);
    assert_int_equal(l[11].weight, AOEI_BREAK_BAD);
    assert_int_equal(l[10].weight, AOEI_BREAK_BAD); /* between comment and definition */
    assert_true(l[8].flags & AOEI_LINE_FRESH);
    assert_false(l[2].flags & AOEI_LINE_FRESH);
    aoei_outline_free(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_definitions), cmocka_unit_test(test_weights)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
