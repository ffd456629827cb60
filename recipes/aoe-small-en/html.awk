# SPDX-License-Identifier: MIT
# html.awk: converts HTML or CNXML files on stdin to rows "title TAB paragraph". Headings become the title of the
# paragraphs after them. Code, formulas in display, tables, navigation and scripts are left out.
BEGIN { RS = "<"; OFS = "\t" }
function decode(text) {
    if (text !~ /&/) return text
    gsub(/&nbsp;|&#160;|&#xa0;/, " ", text)
    gsub(/&lt;/, "<", text)
    gsub(/&gt;/, ">", text)
    gsub(/&quot;|&#34;|&ldquo;|&rdquo;|&#8220;|&#8221;/, "\"", text)
    gsub(/&#39;|&apos;|&lsquo;|&rsquo;|&#8217;|&#8216;/, "'", text)
    gsub(/&ndash;|&mdash;|&#8211;|&#8212;/, "-", text)
    gsub(/&[A-Za-z0-9#]+;/, " ", text)
    gsub(/&amp;/, "\\&", text)
    return text
}
function flush() {
    gsub(/[ \t\r\n]+/, " ", buffer)
    gsub(/^ | $/, "", buffer)
    gsub(/ ¶$|¶$|#$/, "", buffer)
    if (heading) { if (buffer != "") { title = buffer; used = 0 } }
    else if (length(buffer) > 24) print title, buffer
    buffer = ""
}
function block(tag) {
    return tag ~ /^(p|li|dd|dt|div|td|th|tr|ul|ol|dl|table|section|article|blockquote|br|hr|body|html|head)$/ ||
        tag ~ /^(para|item|note|example|list|exercise|problem|solution|figure|caption|h[1-6]|title)$/ ||
        tag ~ /^(document|content|metadata|glossary|definition|meaning|term_|pre|code_|screen|main)$/ ||
        tag ~ /^(aside|nav|header|footer|form|equation)$/
}
{
    at = index($0, ">")
    if (!at) { if (!skip) buffer = buffer " " decode($0); next }
    tag = substr($0, 1, at - 1)
    text = substr($0, at + 1)
    closing = tag ~ /^\//
    sub(/^\//, "", tag)
    selfclosed = tag ~ /\/$/
    match(tag, /^[A-Za-z0-9:!-]*/)
    name = tolower(substr(tag, 1, RLENGTH))
    if ((name ~ /^(pre|script|style|nav|math|m:math|svg|head|footer|code-block|equation|metadata|screen)$/ ||
        name ~ /^(programlisting|table|code)$/) && !(name == "code" && tag !~ /display="block"/) && !selfclosed) {
        if (name == "math" || name == "m:math") { if (!closing) buffer = buffer " " }
        else flush()
        if (closing) { if (skip > 0) skip-- }
        else skip++
    } else if (name ~ /^(html|body)$/) { flush(); skip = 0; title = ""; heading = 0 }
    else if (name == "document") { flush(); skip = 0; heading = 0; title = "" }
    else if (block(name)) {
        if (!skip) flush()
        if (name ~ /^(h[1-6]|title)$/) heading = !closing && !selfclosed
    }
    if (!skip) buffer = buffer (text ~ /^[A-Za-z0-9.,;:)'"]/ ? "" : "") decode(text)
}
END { flush() }
