# SPDX-License-Identifier: MIT
# without.awk: prints the rows of the second file, except those with a column that overlaps a text of the first file, which
# test_texts.sh wrote (lowercase words of letters and digits, separated by single spaces). A column overlaps a text if
#   - both have the same letters and digits;
#   - the column contains a text of `least` words or more;
#   - the column has `least` words or more and is contained in a text.
# Containment also compares letters and digits only, so that "it's", "it 's" and "its" are equal. It begins at the start of a word.
#     mawk -v name=NAME [-v least=5] [-v from=1] [-v shortest=0] -f without.awk TEXTS ROWS
# name: the name in the counts on stderr. least: 0 compares for equality only. from: the first column that is compared. shortest:
# columns with fewer letters and digits are not compared for equality.
BEGIN {
    FS = "\t"
    if (least == "") least = 5
    if (from == "") from = 1
    size = 12 # letters and digits at the start of a key by which the tables are searched
}
function reduce(text) { # sets key to the letters and digits of the text, and word[1..] to its words; returns their number
    text = tolower(text)
    gsub(/[^a-z0-9]+/, " ", text)
    gsub(/^ | $/, "", text)
    key = text
    gsub(/ /, "", key)
    return split(text, word, " ")
}
# The texts that begin with the same `size` characters form a list: head[start] is the newest text, older[text] the one before it.
# The same for all words of the texts: at[start] is the newest position, earlier[position] the one before it, and owner[position] its text.
NR == FNR {
    words = reduce($0)
    if (key == "" || key in equal) next
    equal[key] = 1
    if (!least || words < least) next
    texts[++count] = key
    if (length(key) < size) brief[++briefs] = key
    else {
        start = substr(key, 1, size)
        older[count] = head[start]
        head[start] = count
    }
    place = 1
    for (i = 1; i <= words - least + 1; i++) {
        start = substr(key, place, size)
        owner[++places] = count
        earlier[places] = at[start]
        at[start] = places
        place += length(word[i])
    }
    next
}
function overlap(column,    words, place, start, i, text) { # "" or the kind of overlap
    words = reduce(column)
    if (length(key) >= shortest && (key in equal)) return "equal"
    if (!least || words < least) return ""
    for (i = 1; i <= briefs; i++) if (index(key, brief[i])) return "containing"
    place = 1
    for (i = 1; i <= words - least + 1; i++) {
        start = substr(key, place, size)
        if (start in head)
            for (text = head[start]; text; text = older[text])
                if (substr(key, place, length(texts[text])) == texts[text]) return "containing"
        place += length(word[i])
    }
    if (length(key) < size) {
        for (i = 1; i <= count; i++) if (index(texts[i], key)) return "contained"
        return ""
    }
    start = substr(key, 1, size)
    if (start in at)
        for (i = at[start]; i; i = earlier[i]) if (index(texts[owner[i]], key)) return "contained"
    return ""
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
    printf "%s: %d rows kept, %d left out: %d equal to a test text, %d containing one, %d contained in one\n", name, kept,
        dropped["equal"] + dropped["containing"] + dropped["contained"], dropped["equal"], dropped["containing"], dropped["contained"] > "/dev/stderr"
}
