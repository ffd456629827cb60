# SPDX-License-Identifier: MIT
# covers: cli/data/data_tools
# Tests `aoe data check`. Every kind of finding must be printed with file and line, and the exit code must be 1 if
# there are findings. Other tests cover several files, ignored kinds of findings, --max and --json.
. "$SRC/tests/cli/support/model.sh"
printf 'text1\ttext2\tlabel\na\tb\t1\nc\td\t0\n' >good.tsv
"$AOE" data check good.tsv
printf 'text1\ttext2\tlabel\na\tb\t1\nb \tA\t1\na\tb\t0\na\nc\t\t2\nlong long text\td\tno\ne\tf\t6\n' >train.tsv
printf '{"text1":"B","text2":"a","label":0}\n{"text1":"g","text2":"c","label":0}\n{"text1":"h"}\n' |
    gzip -c >test.jsonl.gz
fails "$AOE" data check train.tsv test.jsonl.gz --range 0,5 --longest 10
fails "$AOE" data check train.tsv test.jsonl.gz --range 0,5 --longest 10 --json
fails "$AOE" data check train.tsv test.jsonl.gz --max 0 -f markdown
"$AOE" data check train.tsv --ignore invalid,label,conflict,empty,duplicate
fails "$AOE" data check good.tsv train.tsv --same exact --ordered --ignore invalid,label,conflict,empty --max 1
fails "$AOE" data check good.tsv good.tsv --max 1
# The first row is unreadable.
printf '{"text1":"a"\n{"text1":"a","text2":"b","label":1}\n' >first.jsonl
fails "$AOE" data check first.jsonl
fails "$AOE" data check good.tsv first.jsonl --json
fails "$AOE" data check missing.tsv
printf 'text1\ttext2\tlabel\na\t\377\t1\n' >utf8.tsv
fails "$AOE" data check utf8.tsv
