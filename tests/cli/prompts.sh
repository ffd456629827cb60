# SPDX-License-Identifier: MIT
# Tests the named prompts of a model directory: --prompt-name, and the prompts that `aoe eval retrieval` and `aoe data
# mine` use automatically. A named prompt must give the same embeddings as the template with the same text.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
rm model/aoe.json
printf '%s' '{"prompts":{"query":"a cat: ","passage":"the bird ","none":null},"default_prompt_name":"document"}' \
    >model/config_sentence_transformers.json
printf 'the dog\na car\nthe bus\n' >texts.txt
embed() { "$AOE" embed -q -m model texts.txt "$@"; }
embed --prompt-name query >named
embed --prompt 'a cat: {text}' | cmp - named
embed --prompt-name document >named
embed --prompt 'the bird {text}' | cmp - named
embed --prompt-name none >named
embed --prompt '' | cmp - named
embed | cmp - named
"$AOE" similarity -q -m model --prompt-name query 'the dog' 'a car' >named
"$AOE" similarity -q -m model --prompt 'a cat: {text}' 'the dog' 'a car' | cmp - named
fails "$AOE" embed -q -m model --prompt-name passages texts.txt
"$AOE" info -m model | grep '^prompt'
printf 'query\tpositive\nthe dog\ta dog\na car\tthe bus\n' >positives.tsv
"$AOE" train -m model -d positives.tsv -o trained --max-steps 1 2>&1 | grep 'not added'
"$AOE" info -m model --json | grep -o '"prompts":{[^}]*}'
# query and document exist in every model; without a text they are empty
tiny_model plain
embed_plain() { "$AOE" embed -q -m plain texts.txt "$@"; }
embed_plain >named
embed_plain --prompt-name query | cmp - named
embed_plain --prompt-name document | cmp - named
"$AOE" embed -q -m model --prompt-name query --prompt x texts.txt || echo "exit $?"
# queries and documents
mkdir -p beir/qrels
printf '{"_id":"q1","text":"the dog"}\n{"_id":"q2","text":"a car"}\n' >beir/queries.jsonl
printf '{"_id":"d%s","title":"","text":"%s"}\n' 1 'a dog' 2 'the bus' 3 'a bird' 4 'the cow' >beir/corpus.jsonl
printf 'query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t1\n' >beir/qrels/test.tsv
"$AOE" eval retrieval -q -m model beir --json >automatic
"$AOE" eval retrieval -q -m model beir --json --prompt-name query --doc-prompt 'the bird {text}' | cmp - automatic
"$AOE" eval retrieval -m model beir --json 2>&1 >/dev/null | grep '^aoe: prompt\|^prompt'
"$AOE" eval retrieval -m model beir --json --prompt '' 2>&1 >/dev/null | grep -c 'prompt of' || true
printf 'query\tpositive\nthe dog\ta dog\na car\tthe bus\n' >pairs.tsv
"$AOE" data mine -m model pairs.tsv --scores >automatic 2>notes
grep 'prompt of' notes
"$AOE" data mine -q -m model pairs.tsv --scores --prompt 'the bird {text}' >documents
if cmp -s automatic documents; then
    echo "the prompt of the queries has no effect"
fi
"$AOE" data mine -q -m model pairs.tsv --scores --threads 2 | cmp - automatic
# the cosine of query and positive is the cosine of the embeddings with the two prompts
printf 'the dog\n' | "$AOE" embed -q -m model --prompt-name query --normalize --format tsv >q
printf 'a dog\n' | "$AOE" embed -q -m model --prompt-name document --normalize --format tsv >d
sed -n 's/.*"query":"the dog".*"positive_score":\([0-9.]*\).*/\1/p' automatic | sed 's/,.*//' >score
paste q d score | awk '{ n = int((NF - 1) / 2); s = 0; for (i = 1; i <= n; i++) s += $i * $(i + n); d = s - $NF
    print (d < 1e-5 && d > -1e-5) ? "equal cosine" : "cosine " s ", score " $NF }'
# a prompt that sentence-transformers cannot express is named on the terminal and in README.md
tiny_model suffix
printf '{"format_version":1,"pooling":"last-avg","normalize":false,"prompts":{"default":"{text} end"}}' >suffix/aoe.json
"$AOE" convert suffix -o written --dtype f32 2>&1 >/dev/null | grep -o 'written: other programs.*'
sed -n '/^library_name/p; /^Use aoe/,/^$/p' written/README.md
grep -c 'SentenceTransformer(' written/README.md || true
# the files of the transformer may be in a subfolder
mkdir -p folder/1_Pooling
cp -r suffix folder/0_Transformer
rm folder/0_Transformer/aoe.json
mv folder/0_Transformer/1_Pooling/config.json folder/1_Pooling
rm -r folder/0_Transformer/modules.json folder/0_Transformer/1_Pooling
printf '%s' '[{"path":"0_Transformer","type":"sentence_transformers.models.Transformer"},' \
    '{"path":"1_Pooling","type":"sentence_transformers.models.Pooling"}]' \
    >folder/modules.json
"$AOE" embed -q -m suffix --prompt '' texts.txt >named
"$AOE" embed -q -m folder texts.txt | cmp - named
"$AOE" tokenize -q -m folder texts.txt >ids
# the path in modules.json decides, even if the directory itself contains another model
tiny_model other --seed 31
cp other/config.json other/model.safetensors folder
printf '[UNK]\nx\n' >folder/vocab.txt
"$AOE" embed -q -m folder texts.txt | cmp - named
"$AOE" tokenize -q -m folder texts.txt | cmp - ids
# a tokenizer only in the directory itself is used, with a warning
mv folder/0_Transformer/tokenizer.json folder/0_Transformer/tokenizer_config.json folder/0_Transformer/vocab.txt folder
"$AOE" embed -q -m folder texts.txt | cmp - named
printf '[{"path":"0_CLIPModel","type":"sentence_transformers.models.CLIPModel"}]' >folder/modules.json
fails "$AOE" embed -q -m folder texts.txt
# a model that was trained for another similarity, which is kept when the model is saved
tiny_model dot
rm dot/aoe.json
printf '{"similarity_fn_name":"dot","truncate_dim":4}' >dot/config_sentence_transformers.json
"$AOE" similarity -q -m dot 'the dog' 'a car' 2>&1 >/dev/null
"$AOE" similarity -q -m dot --normalize 'the dog' 'a car' 2>&1 >/dev/null
"$AOE" convert -q dot -o written --dtype f32 --force
grep 'similarity\|truncate_dim' written/config_sentence_transformers.json written/aoe.json
# a template must contain {text} exactly once; the message names the option or file that contains the template
twice='{text} and {text}'
fails "$AOE" embed -q -m plain --prompt "$twice" texts.txt
fails "$AOE" similarity -q -m plain --prompt "$twice" 'the dog' 'a car'
fails "$AOE" similarity -q -m plain --doc-prompt "$twice" 'the dog' --texts texts.txt
fails "$AOE" eval retrieval -q -m plain beir --doc-prompt 'no text'
fails "$AOE" tokenize -m plain --prompt "$twice" texts.txt
fails "$AOE" data mine -q -m plain pairs.tsv --prompt "$twice"
fails "$AOE" train -q -m plain -d pairs.tsv -o unused --prompt "$twice"
fails "$AOE" train -q -m plain -d pairs.tsv "prompt=$twice" -o unused
fails "$AOE" train -q -m plain -d pairs.tsv "doc-prompt=$twice" -o unused
fails "$AOE" train -q -m plain -d texts.txt -o unused --method promptbert --second-prompt "$twice [MASK]"
printf '{"format_version":1,"pooling":"last-avg","normalize":false,"prompts":{"default":"%s"}}' "$twice" \
    >suffix/aoe.json
fails "$AOE" embed -q -m suffix texts.txt
is_absent unused
