# SPDX-License-Identifier: MIT
# covers: cli/text/embedding_store cli/text/ranking
# Tests `aoe similarity --texts`, which ranks the texts of files by their cosine with a query. The cosines must be those
# of `aoe similarity` with two texts. Tests also --flush and the final note of `aoe embed`.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
similarity() { "$AOE" similarity -q -m model "$@"; }
printf 'a dog\nthe cat\n\na man\nthe cat\n' >texts.txt
printf 'n,text\n1,the cat\n2,"a man\nthe bird"\n' >table.csv
similarity 'the cat' --texts texts.txt --top 2 -f tsv | cut -f1,3
similarity 'the cat' --texts texts.txt -k 1 table.csv 2>&1 || echo "exit code $?"
similarity 'the cat' --texts texts.txt table.csv -k 3 | sed 's/ *$//'
similarity 'the cat' --texts table.csv --json | sed 's/"cosine":[-0-9.e]*/"cosine":N/'
similarity 'the cat' --texts - <texts.txt | wc -l
# The cosine of a ranked text is the cosine of the two texts.
similarity 'the bird' --texts texts.txt --json | sed -n '/"a man"/s/.*"cosine":\([-0-9.e]*\),.*/\1/p' >ranked
similarity 'the bird' 'a man' --json | sed 's/.*"cosine":\([-0-9.e]*\),.*/\1/' >compared
paste ranked compared | awk '{ d = $1 - $2; print (d < 1e-6 && d > -1e-6) ? "equal" : "different: " $0 }'
mkdir notes
printf '# the cat\n' >notes/a.md
printf 'a dog\na cow\n' >notes/b.md
similarity 'the cat' --texts notes/*.md --whole-files -k 1
similarity 'the cat' --texts texts.txt -o ranking.tsv
head -1 ranking.tsv
# The documents can have another prompt than the query.
"$AOE" similarity -m model 'the cat' --prompt 'a {text}' --doc-prompt 'the {text}' --texts texts.txt -k 1 | wc -l
# Errors and warnings
similarity 'the cat' texts.txt >plain.out
similarity 'the cat' || echo "exit code $?"
similarity --texts texts.txt 'the cat' || echo "exit code $?"
similarity --texts texts.txt || echo "exit code $?"
similarity a b -k 2 || echo "exit code $?"
similarity a b --texts texts.txt || echo "exit code $?"
similarity a --texts texts.txt --angle-form phase || echo "exit code $?"
similarity a --texts texts.txt --json -f tsv || echo "exit code $?"
fails "$AOE" similarity -q -m model a --texts notes/a.md
fails "$AOE" similarity -q -m model a --texts texts.txt -o texts.txt
: >empty.txt
similarity a --texts empty.txt
# Each embedding is written before the next text is read.
mkfifo in out
"$AOE" embed -q -m model --flush -f tsv --dims 1 <in >out &
exec 3>in 4<out
echo 'the cat' >&3
read -r first <&4
echo 'a dog' >&3
read -r second <&4
exec 3>&- 4<&-
wait
printf 'the cat\na dog\n' | "$AOE" embed -q -m model -f tsv --dims 1 >both
printf '%s\n%s\n' "$first" "$second" | cmp - both
"$AOE" embed -m model --flush -f npy texts.txt || echo "exit code $?"
"$AOE" embed -m model --flush --precision int8 texts.txt || echo "exit code $?"
"$AOE" embed -m model --flush -o a.jsonl texts.txt || echo "exit code $?"
"$AOE" embed -m model -o a.npy --dims 4 texts.txt
"$AOE" embed -q -m model --prompt-name query -o b.npy --dims 4 texts.txt
cmp a.npy b.npy
