# SPDX-License-Identifier: MIT
# Is a file well-formed XML, as far as pictures need it? Tags nest, values are quoted, & begins an entity, one element is
# outermost. Prints what is wrong.
function bad(what) { print FILENAME ": " what; wrong = 1; exit 1 }
{ text = text $0 "\n" }
END {
    if (wrong) exit 1
    while (match(text, /<[^>]*>|<!--([^-]|-[^-])*-->/)) {
        between = substr(text, 1, RSTART - 1); tag = substr(text, RSTART, RLENGTH); rest = substr(text, RSTART + RLENGTH)
        if (tag ~ /^<!--/ && tag !~ /-->$/) { # a > inside a comment
            end = index(substr(text, RSTART), "-->")
            if (!end) bad("a comment has no end")
            rest = substr(text, RSTART + end + 2); tag = "<!---->"
        }
        if (tag ~ /^<!\[CDATA/) {
            end = index(substr(text, RSTART), "]]>")
            if (!end) bad("a CDATA section has no end")
            rest = substr(text, RSTART + end + 2); tag = "<!---->"
        }
        if (between ~ /[\001-\010\013\014\016-\037]/) bad("a character that may not be there: " between)
        if (!depth && between ~ /[^ \t\n]/) bad("text outside of an element: " between)
        both = between tag
        gsub(/&(amp|lt|gt|quot|apos|#[0-9]+|#x[0-9a-fA-F]+);/, "", both)
        if (both ~ /&/) bad("& is no entity: " both)
        if (tag ~ /^<\//) {
            name = substr(tag, 3, length(tag) - 3); sub(/[ \t\n]+$/, "", name)
            if (!depth || open[depth] != name) bad("</" name "> closes " open[depth])
            depth--
        } else if (tag !~ /^<[?!]/) {
            name = tag; sub(/^</, "", name); sub(/[ \t\n\/>].*/, "", name)
            values = tag; gsub(/"[^"<]*"|'[^'<]*'/, "", values)
            if (values ~ /["']/ || values ~ /=[^ \t\n\/>]/) bad("a value without quotes: " tag)
            if (!depth && roots++) bad("two outermost elements")
            if (tag !~ /\/>$/) open[++depth] = name
        }
        text = rest
    }
    if (text ~ /[^ \t\n]/) bad("text behind the last tag: " text)
    if (depth || !roots) bad("<" open[depth] "> is not closed")
}
