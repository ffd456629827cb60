# SPDX-License-Identifier: MIT
# covers: cli/common/text_files
# Tests that `aoe embed` reads tables. The tests cover text columns with line breaks, compressed files, delimiters, and
# --input-format for stdin and pipes.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
# embed ARGUMENT...: prints the output of aoe embed without the numbers
embed() { "$AOE" embed -q -m model --dims 1 "$@" | sed 's/"embedding":\[[^]]*\]/"embedding":[]/'; }
printf 'id;Text;x\n1;the cat;a man\n2;"the; dog\nthe bird";a cow\n' >semicolon.csv
printf 'id\ttext\n1\tthe cat\n2\ta "dog"\n' >tabs.tsv
printf '{"text":"the cat\\nthe dog"}\n' >lines.jsonl
gzip -k tabs.tsv lines.jsonl
printf 'the cat\nthe dog\n' | gzip >plain.txt.gz
embed semicolon.csv tabs.tsv lines.jsonl
embed tabs.tsv.gz lines.jsonl.gz plain.txt.gz
embed --columns text=x semicolon.csv
embed --input-format csv <semicolon.csv
embed --input-format jsonl - <lines.jsonl
mkfifo pipe
cat semicolon.csv >pipe &
embed --input-format csv --delimiter ';' pipe
wait
# The vectors must be equal to the vectors of a text file with the same texts.
printf 'the cat\na "dog"\n' | embed --format tsv >one
embed --format tsv tabs.tsv | cmp - one
cp one one.txt
fails "$AOE" embed -q -m model --columns text=nope semicolon.csv
fails "$AOE" embed -q -m model missing.csv
# If the input is read as .txt, --columns must be rejected. Without --columns, a column with the name sentence must be
# recognized.
fails "$AOE" embed -q -m model --columns text=Text <semicolon.csv
fails "$AOE" embed -q -m model --columns x - <semicolon.csv
fails "$AOE" embed -q -m model --columns text=Text --input-format txt semicolon.csv
fails "$AOE" embed -q -m model --columns text=Text one.txt
fails "$AOE" embed -q -m model --columns text=Text one
printf 'id\tSentence\n1\tthe cat\n' >sentence.tsv
embed sentence.tsv
# These tables cannot be split into columns.
printf 'left^right^rating\nthe cat^a cow^1\na dog^a man^0\n' >caret.csv
fails "$AOE" eval sts -q -m model caret.csv
"$AOE" eval sts -q -m model --delimiter '^' --columns text1=left,text2=right,label=rating caret.csv >caret.out
fails "$AOE" eval sts -q -m model - <caret.csv
: >empty.txt
fails "$AOE" eval sts -q -m model empty.txt
fails "$AOE" train -q -m model -d - -o out <caret.csv
