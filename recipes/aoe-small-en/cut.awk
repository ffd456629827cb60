# SPDX-License-Identifier: MIT
# cut.awk: cuts sentences, passages, titles, keyword spans and questions from documents. Reads rows "title TAB text",
# writes rows "source.kind TAB text". Variables: source (name), spans and questions (rates per sentence and per title, 0
# to 1), passages (1: also write passages), seed. All random choices come from a Lehmer generator, so that every awk
# makes the same ones.
BEGIN {
    FS = OFS = "\t"
    state = seed + 48271
    for (i = 0; i < 10; i++) random()
    n = split("a an and are as at be been but by can could do does for from had has have he her his how i if in " \
        "into is it its may might more most no nor not of on one only or our out over own same she should since so " \
        "some such than that the their them then there these they this those through to too under until up upon " \
        "very was we were what when where which while who whom why will with within without would you your using " \
        "used also between both each here however thus et al e.g i.e other any all about", list, " ")
    for (i = 1; i <= n; i++) stop[list[i]] = 1
    n = split("Mr Mrs Ms Dr Prof St Sr Jr vs etc al eq Eq eqs Eqs fig Fig figs Figs ref Ref refs sec Sec no No vol " \
        "Vol pp ca cf e.g i.e approx resp Inc Ltd Co Corp dept Univ ed eds Rev Phys Lett Ch Art viz Gen Col Lt " \
        "Capt Rep Sen Gov incl min max", list, " ")
    for (i = 1; i <= n; i++) abbreviation[list[i]] = 1
}
function random() {
    state = (16807 * state) % 2147483647
    return state / 2147483647
}
function words(text,    list) { return split(text, list, " ") }
# whether most characters are letters of English text
function readable(text,    t) {
    t = text
    gsub(/[A-Za-z ]/, "", t)
    return length(t) <= 0.22 * length(text)
}
# splits text into sentence[1..n] and returns n
function sentences(text,    n, token, count, i, current, last, after) {
    count = split(text, token, " ")
    n = 0
    current = ""
    for (i = 1; i <= count; i++) {
        current = current (current == "" ? "" : " ") token[i]
        if (token[i] !~ /[.!?]["')\]]*$/) continue
        last = token[i]
        gsub(/^["'(\[]+|["')\]]+$/, "", last)
        sub(/\.$/, "", last)
        if (last in abbreviation || last ~ /^[A-Z]$/ || last ~ /^([A-Za-z]\.)+[A-Za-z]$/) continue
        after = i < count ? token[i + 1] : "A"
        if (after !~ /^["'(\[]*[A-Z0-9]/) continue
        sentence[++n] = current
        current = ""
    }
    if (current != "") sentence[++n] = current
    return n
}
# a span of 2 to 8 words without stop words at its ends, "" if the choice is not usable
function span(text,    token, count, first, size, i, result, word) {
    count = split(text, token, " ")
    size = 2 + int(random() * random() * 7)
    if (count < size + 2) return ""
    first = 1 + int(random() * (count - size + 1))
    while (first <= count && (tolower(token[first]) in stop || token[first] !~ /^[A-Za-z][A-Za-z-]*$/)) first++
    result = ""
    for (i = first; i <= count && i < first + size; i++) {
        word = token[i]
        if (word !~ /^[A-Za-z0-9][A-Za-z0-9-]*[,.;:]?$/) break
        result = result (result == "" ? "" : " ") word
        if (word ~ /[,.;:]$/) break
    }
    gsub(/[,.;:]/, "", result)
    count = split(result, token, " ")
    while (count > 0 && tolower(token[count]) in stop) count--
    if (count < 2) return ""
    result = token[1]
    for (i = 2; i <= count; i++) result = result " " token[i]
    return random() < 0.7 ? tolower(result) : result
}
function question(topic,    r) {
    r = random()
    if (r < 0.22) return "what is " topic (random() < 0.5 ? "?" : "")
    if (r < 0.36) return "how does " topic " work" (random() < 0.5 ? "?" : "")
    if (r < 0.50) return "effect of " topic
    if (r < 0.60) return "methods for " topic
    if (r < 0.70) return "theory of " topic
    if (r < 0.80 && other != "") return "effect of " topic " on " other
    if (r < 0.90 && other != "") return "relation between " topic " and " other
    return "what has been written about " topic
}
function emit(kind, text) { print source "." kind, text }
function flush_passage() {
    if (held > 1 && words(passage) >= 15) emit("passage", passage)
    passage = ""
    held = 0
    limit = whole ? 20 : 2 + int(random() * 7)
    most = whole ? 200 : 60 + int(random() * 140)
}
{
    title = $1
    text = $2
    gsub(/[ \r\n]+/, " ", title)
    gsub(/[ \r\n]+/, " ", text)
    gsub(/^ | $/, "", title)
    gsub(/^ | $/, "", text)
    size = words(title)
    if (size >= 2 && size <= 25 && readable(title)) {
        if (!(title in titles)) {
            titles[title] = 1
            emit("title", title)
            if (size <= 6 && random() < questions) {
                emit("question", question(tolower(title)))
                other = tolower(title)
            }
        }
    } else title = ""
    if (text == "") next
    n = sentences(text)
    whole = random() < 0.7
    flush_passage()
    if (title != "" && random() < 0.6) passage = title (title ~ /[.?!]$/ ? "" : ".")
    for (k = 1; k <= n; k++) {
        size = words(sentence[k])
        if (size > 90 || !readable(sentence[k])) {
            flush_passage()
            continue
        }
        if (size >= 5 && size <= 60) emit("sentence", sentence[k])
        if (size >= 7 && random() < spans) {
            topic = span(sentence[k])
            if (topic != "") {
                if (random() < questions) emit("question", question(tolower(topic)))
                else emit("span", topic)
                if (words(topic) <= 4) other = tolower(topic)
            }
        }
        if (!passages) continue
        if (held && words(passage) + size > most) flush_passage()
        passage = passage (passage == "" ? "" : " ") sentence[k]
        if (++held >= limit) flush_passage()
    }
    flush_passage()
}
