# SPDX-License-Identifier: MIT
# Checks that a file is well-formed XML, as far as SVG pictures require it. Tags must nest, attribute values must be
# quoted, every & must begin an entity, and there must be one root element. Prints the first error.
function bad(what) { print FILENAME ": " what; wrong = 1; exit 1 }
{ text = text $0 "\n" }
END {
    if (wrong) exit 1
    while (match(text, /<[^>]*>|<!--([^-]|-[^-])*-->/)) {
        between = substr(text, 1, RSTART - 1)
        tag = substr(text, RSTART, RLENGTH)
        rest = substr(text, RSTART + RLENGTH)
        if (tag ~ /^<!--/ && tag !~ /-->$/) { # the match ended at a > inside the comment
            end = index(substr(text, RSTART), "-->")
            if (!end) bad("unterminated comment")
            rest = substr(text, RSTART + end + 2); tag = "<!---->"
        }
        if (tag ~ /^<!\[CDATA/) {
            end = index(substr(text, RSTART), "]]>")
            if (!end) bad("unterminated CDATA section")
            rest = substr(text, RSTART + end + 2); tag = "<!---->"
        }
        if (between ~ /[\001-\010\013\014\016-\037]/) bad("invalid control character: " between)
        if (!depth && between ~ /[^ \t\n]/) bad("text outside the root element: " between)
        both = between tag
        gsub(/&(amp|lt|gt|quot|apos|#[0-9]+|#x[0-9a-fA-F]+);/, "", both)
        if (both ~ /&/) bad("& does not begin an entity: " both)
        if (tag ~ /^<\//) {
            name = substr(tag, 3, length(tag) - 3); sub(/[ \t\n]+$/, "", name)
            if (!depth || open[depth] != name) bad("</" name "> does not match <" open[depth] ">")
            depth--
        } else if (tag !~ /^<[?!]/) {
            name = tag; sub(/^</, "", name); sub(/[ \t\n\/>].*/, "", name)
            values = tag; gsub(/"[^"<]*"|'[^'<]*'/, "", values)
            if (values ~ /["']/ || values ~ /=[^ \t\n\/>]/) bad("attribute value without quotes: " tag)
            if (!depth && roots++) bad("more than one root element")
            if (tag !~ /\/>$/) open[++depth] = name
        }
        text = rest
    }
    if (text ~ /[^ \t\n]/) bad("text after the last tag: " text)
    if (depth || !roots) bad("<" open[depth] "> is not closed")
}
