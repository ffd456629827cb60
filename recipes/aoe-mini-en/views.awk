# SPDX-License-Identifier: MIT
# views.awk: pairs of views of a sentence, one a line on stdin: the whole of it twice, or two parts of 7 to 14 words that lie at
# most two words apart, each without about a fifth of its words.
function view(from, to,   i, s) {
    s = ""
    for (i = from; i <= to; i++)
        if (rand() > 0.2) s = s (s == "" ? "" : " ") $i
    return s
}
BEGIN { srand(1); print "query\tpositive" }
NF >= 6 {
    if (rand() < 0.5) {
        a = view(1, NF)
        b = view(1, NF)
    } else {
        n = 7 + int(rand() * 8)
        if (n > NF) n = NF
        first = 1 + int(rand() * (NF - n + 1))
        a = view(first, first + n - 1)
        first += int(rand() * 5) - 2
        if (first < 1) first = 1
        if (first > NF - n + 1) first = NF - n + 1
        b = view(first, first + n - 1)
    }
    if (a != "" && b != "" && a != b) print a "\t" b
}
