# SPDX-License-Identifier: MIT
# names.awk TEXTS SENTENCES: prints triplets that train a model to distinguish rare words such as names. (Its other
# training pairs train it to recognise similar words.) From each sentence a part of 5 to `longest` words is drawn at
# random:
#   query      the part, with some of its rare words replaced by other rare words
#   positive   the query without some of its words, mostly frequent ones
#   negative   another such variant of the query, with half of its rare words replaced again
# The model therefore sees every word of TEXTS in contexts that do not determine its meaning.
# Variables: seed; rare: words that occur at most so often in TEXTS are rare; longest: see above; often=1: draws the
# replacement words by their frequency in TEXTS (default: uniformly).
#     mawk -v seed=1 -v rare=60 -v longest=16 -f names.awk texts.txt sentences.txt >triplets.tsv
# Use mawk: random numbers differ between awk programs.
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
    replaced = 0
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
            replaced++
        }
        if (rand() > dropped) negative = add(negative, w)
    }
    if (replaced && positive != "" && negative != "" && positive != query && negative != positive)
        print query "\t" positive "\t" negative
}
