# SPDX-License-Identifier: MIT
# collect.awk: reads rows "source.kind TAB text", drops texts that equal an earlier text (compared by letters and
# digits), and texts that are too short, too long or not English. Copies about one tenth of the texts in lowercase
# without punctuation. Writes "random number TAB source.kind TAB text"; sorting the rows gives the order of the training
# file.
# rates: "source.kind=rate ..." keeps only this share of the texts of a source and kind.
BEGIN {
    FS = OFS = "\t"
    state = 48271
    for (i = 0; i < 10; i++) random()
    n = split(rates, list, " ")
    for (i = 1; i <= n; i++) {
        split(list[i], pair, "=")
        rate[pair[1]] = pair[2]
    }
}
function random() {
    state = (16807 * state) % 2147483647
    return state / 2147483647
}
function write(kind, text) { printf "%010d\t%s\t%s\n", random() * 4294967296, kind, text }
{
    draw = random()
    if (($1 in rate) && draw >= rate[$1]) next
    text = $2
    gsub(/[\001-\037 ]+/, " ", text)
    gsub(/^ | $/, "", text)
    key = tolower(text)
    gsub(/[^a-z0-9]/, "", key)
    if (length(key) < 4 || length(text) > 1600 || length(key) < 0.6 * length(text)) { unusable++; next }
    if (key in keys) { dropped++; next }
    keys[key] = 1
    write($1, text)
    if (random() < 0.1) {
        copy = tolower(text)
        gsub(/[][.,;:!?"'()]/, " ", copy)
        gsub(/ +/, " ", copy)
        gsub(/^ | $/, "", copy)
        if (copy != text) write($1 "-plain", copy)
    }
}
END { print "collect.awk: " dropped + 0 " texts left out as repeated, " unusable + 0 " as unusable" > "/dev/stderr" }
