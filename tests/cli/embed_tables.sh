# SPDX-License-Identifier: MIT
# Tests that `aoe embed` reads tables: text columns with line breaks, compressed files, stdin and pipes with
# --input-format, and delimiters.
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
# the vectors are equal to those of a text file
printf 'the cat\na "dog"\n' | embed --format tsv >one
embed --format tsv tabs.tsv | cmp - one
fails "$AOE" embed -q -m model --columns text=nope semicolon.csv
fails "$AOE" embed -q -m model missing.csv
