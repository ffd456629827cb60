# SPDX-License-Identifier: MIT
# arxiv.awk: extracts rows "title TAB abstract TAB category" from JSON or JSON Lines files with the fields "title" and
# "summary" or "abstract" (the metadata of arXiv in public repositories). A title and an abstract that follow each other
# belong together. lines=1: a line is one record, and a record without an arXiv number is skipped.
BEGIN { OFS = "\t" }
function field(name,    at, rest) {
    at = index($0, "\"" name "\"")
    if (!at) return ""
    rest = substr($0, at + length(name) + 2)
    if (!match(rest, /^ *: *"/)) return ""
    rest = substr(rest, RLENGTH + 1)
    match(rest, /^([^"\\]|\\.)*/)
    rest = substr(rest, 1, RLENGTH)
    gsub(/\\\\/, "\001", rest)
    gsub("\001(textit|textbf|textsc|textsf|texttt|textrm|text|emph|mathrm|mathbf|mathcal|mathbb|mathsf|mathit|" \
        "operatorname|boldsymbol|bm)", "", rest)
    gsub(/\001['`^~=]/, "", rest)
    gsub(/[{}]/, "", rest)
    gsub(/\\[ntr]/, " ", rest)
    gsub(/\\u2019|\\u2018/, "'", rest)
    gsub(/\\u201[cd]/, "\\\"", rest)
    gsub(/\\u201[0-5]/, "-", rest)
    gsub(/\\u00e[0-5]/, "a", rest)
    gsub(/\\u00e7/, "c", rest)
    gsub(/\\u00e[89ab]/, "e", rest)
    gsub(/\\u00e[c-f]/, "i", rest)
    gsub(/\\u00f[2-68]/, "o", rest)
    gsub(/\\u00f[9a-c]/, "u", rest)
    gsub(/\\u00f1/, "n", rest)
    gsub(/\\u00df/, "ss", rest)
    gsub(/\\u[0-9a-f][0-9a-f][0-9a-f][0-9a-f]/, " ", rest)
    gsub(/\\"/, "\"", rest)
    gsub(/\\\//, "/", rest)
    gsub(/[\001\\]/, "", rest)
    gsub(/\$/, "", rest)
    gsub(/^ *(Abstract|ABSTRACT|Summary) *[:.-]+ */, "", rest)
    gsub(/[ \t]+/, " ", rest)
    return rest
}
lines && !/arxiv.org|"id": *"[0-9][0-9][0-9][0-9][.][0-9]/ { next }
{
    if (lines) title = abstract = ""
    text = field("title")
    if (text != "") title = text
    text = field("summary")
    if (text == "") text = field("abstract")
    if (length(text) > 100) abstract = text
    if (title == "" || abstract == "") next
    key = tolower(title)
    gsub(/[^a-z0-9]/, "", key)
    if (!(key in seen)) {
        seen[key] = 1
        category = ""
        if (match($0, /"categories": *\[? *"[^" ]*/)) {
            category = substr($0, RSTART, RLENGTH)
            sub(/.*"/, "", category)
        }
        print title, abstract, category
    }
    title = abstract = ""
}
