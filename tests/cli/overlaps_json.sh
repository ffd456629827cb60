# SPDX-License-Identifier: MIT
# Tests which texts recipes/overlaps/test_texts.sh reads from JSON files.
command -v jq >program || { echo "SKIP: jq is not installed"; exit 77; }
mkdir tests
printf '{"_id": "d1", "title": "Wing flow", "text": "Pressure on a\\twing."}\n' | gzip >tests/corpus.jsonl.gz
printf '{\n  "pairs": [["The first text", "caf\\u00e9 &amp; bar"], 7]\n}\n' >tests/pairs.json
"$SRC/recipes/overlaps/test_texts.sh" tests
printf 'not JSON\n' >bad.jsonl
"$SRC/recipes/overlaps/test_texts.sh" bad.jsonl 2>errors || echo "exit code $?"
tail -n 1 errors
