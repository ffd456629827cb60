# SPDX-License-Identifier: MIT
# wordnet.awk: converts the data files of WordNet 3.0 to rows "lemma, lemma TAB definition TAB examples".
{
    at = index($0, " | ")
    gloss = substr($0, at + 3)
    split($0, part, " ")
    size = 0
    for (i = 1; i <= length(part[4]); i++) size = size * 16 + index("0123456789abcdef", substr(part[4], i, 1)) - 1
    lemmas = ""
    for (i = 0; i < size; i++) {
        lemma = part[5 + 2 * i]
        gsub(/_/, " ", lemma)
        sub(/\([a-z]*\)$/, "", lemma)
        lemmas = lemmas (lemmas == "" ? "" : ", ") lemma
    }
    examples = ""
    if (match(gloss, /; *"/)) {
        examples = substr(gloss, RSTART + 1)
        gloss = substr(gloss, 1, RSTART - 1)
    }
    gsub(/^ +| +$/, "", gloss)
    print lemmas "\t" gloss "\t" examples
}
