# SPDX-License-Identifier: MIT
# covers: cli/search/similar_texts
# Tests `aoe similar`: pairs and groups of equal and similar texts in all formats, several files, whole files, the best
# pairs and the largest groups, and errors. The cosines must be those of `aoe similarity`.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
similar() { "$AOE" similar -m model "$@"; }
printf 'a dog runs in the park\n\nthe snow is cold\na dog runs in the park\nthe dog runs in the park\n' >texts.txt
printf 'the snow is cold\na dog runs in the park\nwe read two old books at home\n' >>texts.txt
similar texts.txt --threshold 1
similar texts.txt --threshold 1 -q --groups
similar texts.txt --threshold 1 -q -f tsv
similar texts.txt --threshold 1 -q --groups --json
# Pairs are in the order of their rows; equal texts make pairs with their first row only.
similar texts.txt --threshold 0.8 -q --json | sed 's/"cosine":0[.0-9]*/"cosine":C/'
# The cosine of a pair is the cosine of the two texts.
similar texts.txt --threshold 0.8 -q --json | sed -n '/"row2":5/s/.*"cosine":\([-0-9.e]*\),.*/\1/p' | head -1 >found
"$AOE" similarity -q -m model 'a dog runs in the park' 'the dog runs in the park' --json |
    sed 's/.*"cosine":\([-0-9.e]*\),.*/\1/' >compared
paste found compared | awk '{ d = $1 - $2; print (d < 1e-6 && d > -1e-6) ? "equal" : "different: " $0 }'
# The output does not depend on the number of threads, and the best pairs are those with the highest cosines.
small_table pairs.tsv 60
similar pairs.tsv --columns sentence1 --threshold 0.3 -q --json --threads 1 >one
similar pairs.tsv --columns sentence1 --threshold 0.3 -q --json --threads 3 >three
cmp one three && [ "$(wc -l <one)" -gt 100 ] && echo identical
similar pairs.tsv --columns sentence1 --threshold 0.3 -q --json -k 7 >best
sed 's/{"cosine":\([^,]*\),.*/\1/' one | sort -rg | head -7 >want
sed 's/{"cosine":\([^,]*\),.*/\1/' best | cmp - want && echo best
similar texts.txt --threshold 1 -q --groups -k 1
# Several files and whole files
printf 'id,text\n1,the snow is cold\n2,"a\tb"\n3,"a\tb"\n' >table.csv
similar texts.txt table.csv --threshold 1 -q -k 3
similar table.csv texts.txt --threshold 1 -q --groups -f tsv
mkdir notes
printf '# the cat\n' | tee notes/a.md >notes/b.md
printf 'a dog\na cow\n' >notes/c.md
similar --whole-files notes/*.md --threshold 1
similar --whole-files notes/*.md --threshold 1 -q --groups
similar --whole-files notes/*.md --threshold 1 -q --json
similar --whole-files notes/*.md --threshold 1 -q -f tsv -o pairs.out
cat pairs.out
# No texts, one text, and texts from stdin
similar - </dev/null
echo 'a dog' | similar -q
# Errors and warnings
similar texts.txt --threshold 0 2>&1 | sed 's/;.*//'
similar texts.txt --threshold 1.5 2>&1 | sed 's/;.*//'
similar pairs.tsv --columns sentence1,sentence2 || echo "exit code $?"
similar texts.txt --json -f tsv || echo "exit code $?"
fails similar missing.txt
fails similar texts.txt -o texts.txt
printf 'a\nb\377\n' >bad.txt
fails similar bad.txt -o kept.out
is_absent kept.out
similar texts.txt --max-length 4 --threshold 1 --groups -f tsv | wc -l
