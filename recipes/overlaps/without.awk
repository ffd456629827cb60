# SPDX-License-Identifier: MIT
# without.awk: prints the rows of the second file, except those with a column that overlaps a text of the first file,
# which test_texts.sh wrote (lowercase words of letters and digits, separated by single spaces). A column overlaps a
# text if
#   - both have the same letters and digits;
#   - the column contains a text of `least` words or more;
#   - the column has `least` words or more and is contained in a text.
# Containment also compares letters and digits only, so that "it's", "it 's" and "its" are equal. It begins at the start
# of a word.
#     mawk -v name=NAME [-v least=5] [-v from=1] [-v shortest=0] -f without.awk TEXTS ROWS
# name: the name in the counts on stderr. least: 0 compares for equality only. from: the first column that is compared.
# shortest: columns with fewer letters and digits are not compared for equality.
BEGIN {
    FS = "\t"
    if (least == "") least = 5
    if (from == "") from = 1
    size = 12 # letters and digits at the start of a key by which the tables are searched
    part = 8  # letters and digits for quicker comparisons
}
# sets key to the letters and digits of the text, and word[1..] to its words; returns their number
function reduce(text) {
    text = tolower(text)
    gsub(/[^a-z0-9]+/, " ", text)
    gsub(/^ | $/, "", text)
    key = text
    gsub(/ /, "", key)
    return split(text, word, " ")
}
# texts[number] is the key of a text. head[start] lists the numbers of the texts that begin with start, which has 2 *
# size characters, or `size` characters for shorter texts; head also has all starts of `size` characters of longer
# texts. The small table known has all starts of `part` characters; most places of a column are found to be no start of
# a text there. at[start] lists the places of all texts where a word begins and the next `size` characters are start, as
# "NEXT=NUMBER ": the `part` characters after start, and the number of the text.
NR == FNR {
    words = reduce($0)
    if (key == "" || key in equal) next
    equal[key] = 1
    if (!least || words < least) next
    texts[++count] = key
    if (length(key) < size) brief[++briefs] = key
    else {
        known[substr(key, 1, part)]
        head[substr(key, 1, size)]
        start = substr(key, 1, length(key) < 2 * size ? size : 2 * size)
        head[start] = head[start] count " "
    }
    place = 1
    entry = "=" count " "
    for (i = 1; i <= words - least + 1; i++) {
        start = substr(key, place, size)
        at[start] = at[start] substr(key, place + size, part) entry
        place += length(word[i])
    }
    next
}
function begins(place,    length_of_start, start, list, n, i) { # whether a text begins at the place
    for (length_of_start = size; length_of_start <= 2 * size; length_of_start += size) {
        start = substr(key, place, length_of_start)
        if (!(start in head)) return 0
        n = split(head[start], list, " ")
        for (i = 1; i <= n; i++) if (substr(key, place, length(texts[list[i]])) == texts[list[i]]) return 1
    }
    return 0
}
function contained(    list, next_part, i) { # whether a text contains the key
    if (length(key) < size) {
        for (i = 1; i <= count; i++) if (index(texts[i], key)) return 1
        return 0
    }
    if (!(substr(key, 1, size) in at)) return 0
    list = " " at[substr(key, 1, size)]
    next_part = " " substr(key, size + 1, part)
    if (length(key) <= size + part) return index(list, next_part)
    while (i = index(list, next_part "=")) {
        list = substr(list, i + part + 2)
        if (index(texts[list + 0], key)) return 1 # list + 0: the number at the start of the list
    }
    return 0
}
function overlap(column,    words, place, i) { # "" or the kind of overlap
    words = reduce(column)
    if (length(key) >= shortest && (key in equal)) return "equal"
    if (!least || words < least) return ""
    for (i = 1; i <= briefs; i++) if (index(key, brief[i])) return "containing"
    place = 1
    for (i = 1; i <= words - least + 1; i++) {
        if ((substr(key, place, part) in known) && begins(place)) return "containing"
        place += length(word[i])
    }
    return contained() ? "contained" : ""
}
{
    for (column = from; column <= NF; column++) {
        kind = overlap($column)
        if (kind != "") {
            dropped[kind]++
            next
        }
    }
    print
    kept++
}
END {
    printf "%s: %d rows kept, %d left out: %d equal to a test text, %d containing one, %d contained in one\n", name,
        kept, dropped["equal"] + dropped["containing"] + dropped["contained"], dropped["equal"], dropped["containing"],
        dropped["contained"] > "/dev/stderr"
}
