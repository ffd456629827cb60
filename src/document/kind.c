/* SPDX-License-Identifier: MIT
 * Recognizes the kind of a document (kind.h). The table contains the extensions of source code and of markup; every
 * other extension means plain text. Configuration files and data (.json, .yaml, .ini) are plain text, because lines
 * are their only structure that matters for a search.
 */
#include "document/kind.h"

#include <string.h>
#include <strings.h>

/* Extensions of each kind, separated by spaces. */
static const struct {
    aoei_document_kind kind;
    const char *extensions;
} known[] = {
    {AOEI_DOCUMENT_MARKDOWN, "md markdown mdown mkd mdx qmd rmd"},
    {AOEI_DOCUMENT_HTML, "html htm xhtml xht"},
    {AOEI_DOCUMENT_CODE,
     "c h cc cpp cxx c++ hh hpp hxx h++ inl ipp tpp cu cuh m mm java kt kts scala groovy gradle cs fs "
     "vb py pyi pyx pxd js jsx mjs cjs ts tsx mts cts vue svelte go rs swift rb rake php pl pm t sh "
     "bash zsh fish ksh awk sed lua r jl hs lhs ml mli ex exs erl hrl clj cljs cljc lisp el scm rkt "
     "sql zig nim d dart v sv vhd vhdl asm s f f90 f95 f03 for pas ada adb ads tcl cmake mk make "
     "ps1 psm1 bat cmd proto thrift graphql css scss sass less glsl hlsl metal cl tf hcl nix def"},
    {AOEI_DOCUMENT_TEXT, "txt text log rst adoc asciidoc org tex csv tsv json jsonl yaml yml toml ini cfg conf xml"},
};

/* Returns 1 if the extension[len] is in the list of words. */
static int in_list(const char *list, const char *extension, size_t len) {
    for (const char *word = list; *word;) {
        const size_t n = strcspn(word, " ");
        if (n == len && strncasecmp(word, extension, n) == 0)
            return 1;
        word += n + (word[n] == ' ');
    }
    return 0;
}

static aoei_document_kind kind_of_name(const char *name) {
    const char *slash = strrchr(name, '/'), *file = slash ? slash + 1 : name, *dot = strrchr(file, '.');
    if (strcmp(file, "Makefile") == 0 || strcmp(file, "Dockerfile") == 0 || strcmp(file, "CMakeLists.txt") == 0)
        return AOEI_DOCUMENT_CODE;
    if (dot && dot > file)
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (in_list(known[i].extensions, dot + 1, strlen(dot + 1)))
                return known[i].kind;
    return AOEI_DOCUMENT_AUTO;
}

static int begins_with(aoe_text text, const char *prefix) {
    const size_t n = strlen(prefix);
    return text.len >= n && strncasecmp(text.data, prefix, n) == 0;
}

aoei_document_kind aoei_document_kind_of(const char *name, aoe_text text) {
    const aoei_document_kind kind = name ? kind_of_name(name) : AOEI_DOCUMENT_AUTO;
    if (kind != AOEI_DOCUMENT_AUTO)
        return kind;
    if (begins_with(text, "\xEF\xBB\xBF"))
        text = (aoe_text){text.data + 3, text.len - 3};
    if (begins_with(text, "#!/") || begins_with(text, "#! /"))
        return AOEI_DOCUMENT_CODE;
    while (text.len && strchr(" \t\r\n", *text.data) && *text.data)
        text = (aoe_text){text.data + 1, text.len - 1};
    return begins_with(text, "<!doctype html") || begins_with(text, "<html") ? AOEI_DOCUMENT_HTML : AOEI_DOCUMENT_TEXT;
}
