# SPDX-License-Identifier: MIT
# names.awk TEXTS SENTENCES: triples that teach a model to tell rare words apart, as names are, where its other pairs teach it what
# words have in common. TEXTS say which words are rare. Each part of a sentence (5 words to LONGEST), with some of its rare words
# exchanged for others, is a query; the positive is the same without some of its words, mostly frequent ones; the negative is the
# same again, with half of its rare words exchanged once more. So the model meets every word of the texts, in places where
# nothing else tells what it stands for. rare: times that TEXTS have a word, at most; often=1: a word comes in another's place as
# often as TEXTS have it, else all alike.
#     mawk -v seed=1 -v rare=60 -v longest=16 -f names.awk texts.txt sentences.txt >triples.tsv
# mawk: every awk draws other numbers.
function letters(w) {
    w = tolower(w)
    gsub(/[^a-z0-9]/, "", w)
    return w
}
function other() { return words[1 + int(rand() * n)] }
function add(s, w) { return s == "" ? w : s " " w }

BEGIN {
    srand(seed)
    print "query\tpositive\tnegative"
}
FNR == 1 { file++ }
file == 1 {
    for (i = 1; i <= NF; i++) {
        w = letters($i)
        if (w != "" && count[w]++ == 0) met[++m] = w
    }
    next
}
n == 0 {
    for (i = 1; i <= m; i++)
        if (count[met[i]] <= rare && length(met[i]) > 2)
            for (k = 0; k < (often ? count[met[i]] : 1); k++) words[++n] = met[i]
}
NF >= 5 {
    size = 5 + int(rand() * (longest - 4))
    if (size > NF) size = NF
    first = 1 + int(rand() * (NF - size + 1))
    query = positive = negative = ""
    exchanged = 0
    for (i = first; i < first + size; i++) {
        w = $i
        k = letters(w)
        is_rare = k != "" && count[k] <= rare
        if (is_rare && rand() < 0.5) w = other()
        query = add(query, w)
        dropped = is_rare ? 0.1 : 0.35
        if (rand() > dropped) positive = add(positive, w)
        if (is_rare && rand() < 0.5) {
            w = other()
            exchanged++
        }
        if (rand() > dropped) negative = add(negative, w)
    }
    if (exchanged && positive != "" && negative != "" && positive != query && negative != positive) print query "\t" positive "\t" negative
}
