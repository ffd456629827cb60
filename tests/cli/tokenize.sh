# SPDX-License-Identifier: MIT
# Tests `aoe tokenize`. It must print one JSON array per line, and accept JSON strings with line breaks and NUL as
# input. The ids must be equal with tokenizer.json and with vocab.txt.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
printf 'The cat\nA DOG!\r\n' >text.txt
"$AOE" tokenize -m model --tokens text.txt
"$AOE" tokenize -m model text.txt >ids
grep -c '^\[[0-9,]*\]$' ids
printf '"two\\nlines and a \\u0000 NUL"\n "\\u00e9t\\u00e9"\n' >strings.jsonl
"$AOE" tokenize -m model --jsonl strings.jsonl >ids2
wc -l <ids2
"$AOE" tokenize -m model --jsonl --tokens --json strings.jsonl | sed 's/"ids":\[[0-9,]*\]/"ids":[]/'
mkdir files
cp model/vocab.txt model/tokenizer_config.json files
"$AOE" tokenize -m files text.txt | cmp - ids
rm files/*
cp model/tokenizer.json files
"$AOE" tokenize -m files --jsonl strings.jsonl | cmp - ids2
AOE_MODEL=files "$AOE" tokenize text.txt | cmp - ids
printf '"fine"\n"open\n' >bad.jsonl
fails "$AOE" tokenize -m files --jsonl bad.jsonl >/dev/null
printf '"fine"\n12\n' >bad.jsonl
fails "$AOE" tokenize -m files --jsonl bad.jsonl >/dev/null
fails "$AOE" tokenize -m nowhere text.txt
mkdir empty
fails "$AOE" tokenize -m empty text.txt
fails "$AOE" tokenize -m files missing.txt
fails "$AOE" tokenize -m files files
