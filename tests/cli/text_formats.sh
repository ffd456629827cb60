# SPDX-License-Identifier: MIT
# All commands read files with the same reader. Tables are recognized by their extension in upper and lower case;
# documents, and files that must be converted, are rejected with a message that says how to read them; --whole-files
# reads documents.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
# embed ARGUMENT...: prints the output of aoe embed without the numbers
embed() { "$AOE" embed -q -m model --dims 1 "$@" | sed 's/"embedding":\[[^]]*\]/"embedding":[]/'; }
printf 'text,id\nthe cat,1\na man,2\n' >t.CSV
printf 'text\tid\nthe cat\t1\na man\t2\n' >t.tab
printf '{"text":"the cat"}\n{"text":"a man"}\n' >t.ndjson
printf '[\n  {"text": "the cat",\n   "id": 1},\n  {"text": "a man"}\n]\n' >t.json
cp t.ndjson lines.json
printf 'the cat\na man\n' >t.log
printf '\357\273\277the cat\r\na man\r\n' >bom.txt
for file in t.CSV t.tab t.ndjson t.json lines.json t.log bom.txt; do
    echo "$file: $(embed "$file" | md5sum | cut -c1-8) $("$AOE" tokenize -m model "$file" | tr '\n' ' ')"
done
"$AOE" data stats -q t.CSV t.tab t.ndjson t.json lines.json | sed -n 1,6p
"$AOE" data dedup t.json -o unique.jsonl -q && cat unique.jsonl
"$AOE" data dedup t.json -o unique.json -q || echo "exit code $?"
fails "$AOE" data check t.log
# Files that are not text are rejected, by their name or by their first bytes.
printf 'PAR1\025\004\025' >t.parquet
printf 'PK\003\004\024' >t.docx
printf '%%PDF-1.5\n' >book
printf '\375' >t.txt.xz
printf 'the cat\n' | gzip >packed.txt
printf '\377\376a\000\n\000' >utf16.txt
printf 'the cat\ra man\r' >mac.txt
printf 'the cat\ra man\n' >mixed.txt
for file in t.parquet t.docx t.txt.xz packed.txt utf16.txt mac.txt mixed.txt; do
    fails "$AOE" embed -q -m model "$file"
    fails "$AOE" tokenize -m model "$file"
    fails "$AOE" data stats "$file"
done
fails "$AOE" embed -q -m model book
fails "$AOE" embed -q -m model - <packed.txt
printf '[{"text1":"a"}]' >array.jsonl
printf '{"text1":\n"a"}\n' >pretty.jsonl
fails "$AOE" embed -q -m model array.jsonl
fails "$AOE" embed -q -m model pretty.jsonl
"$AOE" data check pretty.jsonl || true
# A document is one text, or contains one text per line.
mkdir notes
printf '# the cat\n\na man\n' >notes/a.md
: >notes/b.md
printf 'a dog\r\n' >notes/c.py
fails "$AOE" embed -q -m model notes/a.md
fails "$AOE" tokenize -m model notes/a.md
fails "$AOE" data stats notes/a.md
fails "$AOE" train -q -m model -d notes/a.md -o out
embed --whole-files notes/a.md notes/b.md notes/c.py
embed --whole-files --precision int8 notes/a.md notes/c.py
embed --input-format txt notes/a.md
"$AOE" tokenize -m model --whole-files notes/*
"$AOE" embed -q -m model --whole-files --columns text=a notes/a.md || echo "exit code $?"
fails "$AOE" embed -q -m model --whole-files --input-format csv notes/a.md
fails "$AOE" embed -q -m model --whole-files notes
# A table without header
printf 'the cat\na man\n' >bare.csv
fails "$AOE" embed -q -m model bare.csv
embed --no-header bare.csv
printf 'the cat,a man,1\na dog,a cow,0\na cow,a cow,2\n' >pairs.csv
"$AOE" eval sts -q -m model --no-header --columns text1=1,text2=2,label=3 pairs.csv | wc -l
# A decimal comma, and .tsv files that are quoted as in CSV
printf 'text1;text2;label\nthe cat;a man;0,5\na dog;a cow;1\na cow;a cow;2,25\n' >comma.csv
fails "$AOE" eval sts -q -m model comma.csv
"$AOE" eval sts -q -m model --decimal-comma comma.csv | wc -l
"$AOE" data stats -q --decimal-comma --format csv comma.csv | sed -n 2p
printf 'text\tn\n"the ""cat"""\t1\n"a\tman"\t2\n' >quoted.tsv
fails "$AOE" embed -q -m model quoted.tsv
fails "$AOE" data stats quoted.tsv
embed --quoting csv quoted.tsv
fails "$AOE" embed -q -m model --quoting none quoted.tsv
printf 'text,n\n5" wide,1\n' >inches.csv
fails "$AOE" embed -q -m model inches.csv
embed --quoting none inches.csv
# Options for .tsv and .csv files that have no effect on a file give one warning, also with -q.
printf 'the cat\n' >lines.txt
printf '{"text1":"a","text2":"b","label":1}\n{"text1":"a","text2":"c","label":0}\n' >pairs.jsonl
mkdir -p beir/qrels
printf '{"_id":"d1","text":"a"}\n' >beir/corpus.jsonl
printf '{"_id":"q1","text":"a"}\n' >beir/queries.jsonl
printf 'query-id\tcorpus-id\tscore\nq1\td1\t1\n' >beir/qrels/test.tsv
embed lines.txt t.ndjson t.json --no-header --quoting none >with
embed lines.txt t.ndjson t.json >without
cmp with without
embed --whole-files lines.txt --no-header >/dev/null
embed t.ndjson --delimiter ';' >/dev/null
"$AOE" tokenize -m model lines.txt --quoting csv >/dev/null
"$AOE" similarity -q -m model a --texts t.ndjson --no-header >/dev/null
"$AOE" train -q -m model -d pairs.jsonl -o out --max-steps 1 --no-header >/dev/null
"$AOE" eval sts -q -m model pairs.jsonl --no-header --quoting csv --delimiter tab >/dev/null
"$AOE" eval retrieval -q -m model beir --delimiter ';' --no-header >/dev/null
"$AOE" data check -q pairs.jsonl --no-header >/dev/null || true
