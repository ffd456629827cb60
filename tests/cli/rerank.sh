# SPDX-License-Identifier: MIT
# Tests `aoe rerank`: ranking of lines and tables, scores of the rows of a table, output formats, activation functions,
# the choice of an output, warnings and errors.
. "$SRC/tests/cli/support/model.sh"
cp -r "$SRC/tests/golden/cross_encoders/bert" model
sed -i 's/"num_labels": 2/"id2label": {"0": "other", "1": "relevant"}, "label2id": {"other": 0, "relevant": 1}/' \
    model/config.json
# rerank ARGUMENT...: the printed scores do not depend on the CPU
rerank() { "$AOE" rerank -m model --dtype f32 "$@"; }
printf 'w1 w2\nw3 w4\n\nw5\nw1 w2\n' >texts.txt
rerank --query 'w1 w7' --class relevant texts.txt
rerank -q --query 'w1 w7' --class 0 --top 2 <texts.txt
rerank -q --query 'w1 w7' --class 1 --scores softmax --json texts.txt | sed 's/\(score":0\.[0-9]\{5\}\)[0-9]*/\1/'
rerank -q --query 'w1 w7' --class 1 --top 1 --format tsv texts.txt | cut -f 1,3
# Tables and compressed files are read as in aoe embed.
printf 'id,text\n1,"w3\nw4"\n2,w5\n' >table.csv
printf 'w5\n' | gzip >more.txt.gz
rerank -q --query 'w1 w7' --class relevant table.csv more.txt.gz
rerank -q --query 'w1 w7' --class relevant --columns text=id table.csv | wc -l
# Pairs: all outputs, or one output.
printf 'query\tdocument\nw1\tw2 w3\nw5\tw9\n' >pairs.tsv
rerank --pairs pairs.tsv
rerank -q --pairs pairs.tsv --class relevant --scores sigmoid
rerank -q --pairs - --input-format tsv --json --scores tanh <pairs.tsv | sed 's/\(0\.[0-9]\{5\}\)[0-9]*/\1/g'
rerank -q --pairs pairs.tsv --columns text1=document,text2=query -o out.tsv
cut -f 1 out.tsv | head -n 1
rerank -q --pairs pairs.tsv -o out.jsonl
wc -l <out.jsonl
# A pair has the same score in both modes, and in large inputs.
rerank -q --pairs pairs.tsv --class relevant -f tsv | sed -n 2p >one
printf 'w2 w3\n' | rerank -q --query w1 --class relevant -f tsv | sed -n 2p | cut -f 2 | cmp - one
{ head -n 1 pairs.tsv && yes "$(sed -n 2p pairs.tsv)" | head -n 2500; } >many.tsv
rerank -q --pairs many.tsv --class relevant -f tsv | sed 1d | sort -u | cmp - one
# A prompt is added to the query.
printf 'w2 w3\n' | rerank -q --query 'w9' --prompt 'w1 {text}' --class relevant -f tsv >prompt
printf 'w2 w3\n' | rerank -q --query 'w1 w9' --class relevant -f tsv | cmp - prompt
# Token types are passed to the model only if the tokenizer of transformers passes them.
rm -rf plain typed
cp -r model plain
cp -r model typed
echo '{"model_input_names": ["input_ids", "attention_mask"]}' >plain/tokenizer_config.json
echo '{"model_input_names": ["input_ids", "token_type_ids", "attention_mask"]}' >typed/tokenizer_config.json
for name in plain typed; do
    printf 'w2 w3\n' | "$AOE" rerank -q -m $name --dtype f32 --query w1 --class relevant -f tsv | sed -n 2p |
        cut -f 2 >$name.score
done
cmp typed.score one
fails cmp -s plain.score typed.score
# Warnings: empty input, empty and truncated texts.
rerank -q --query w1 --class 1 </dev/null
printf 'text1\ttext2\nw1 w2 w3\t\nw1 w2 w3\tw4\n' >long.tsv
rerank -q --pairs long.tsv --max-length 6
# Errors.
fails rerank -q --query w1 texts.txt
fails rerank -q --query w1 --class 2 texts.txt
fails rerank -q --query w1 --class LABEL_1 texts.txt
fails rerank -q --query w1 --class 1 missing.txt
fails rerank -q --pairs table.csv
fails rerank -q --pairs texts.txt
: >empty.tsv
rerank -q --pairs empty.tsv
fails rerank -q --pairs pairs.tsv --columns text1=nope
fails rerank -q --pairs pairs.tsv -o pairs.tsv
printf '{"query":"w1","document":["w2","w3"]}\n' >lists.jsonl
fails rerank -q --pairs lists.jsonl
printf 'w1\n\377\n' >bad.txt
fails rerank -q --query w1 --class 1 bad.txt
tiny_model embedding
fails "$AOE" rerank -q -m embedding --query w1 texts.txt
for arguments in '' '--query w1 --pairs pairs.tsv' '--pairs pairs.tsv texts.txt' '--pairs pairs.tsv --top 3' \
    '--query w1 --scores max' '--query w1 --json --format tsv' '--query w1 --normalize'; do
    code=0
    # shellcheck disable=SC2086
    "$AOE" rerank $arguments || code=$?
    [ $code = 2 ]
done
# aoe info describes the head, embedding commands warn that it has no effect, and copies of the model keep it.
"$AOE" info model --dtype f32 | grep -E '^(cross-encoder|embedding size)' | sed 's/  */ /g'
"$AOE" info model --json | grep -o '"outputs":.*"dims"'
"$AOE" embed -q -m model --dims 1 one | wc -l
for storage in f32 bf16 int8; do
    "$AOE" convert -q model -o $storage --dtype $storage
    rerank -q -m $storage --pairs pairs.tsv >scores.$storage
done
rerank -q --pairs pairs.tsv | cmp - scores.f32
head -n 1 scores.int8
grep -o '"BertForSequenceClassification"\|"activation_fn": *"[^"]*"' f32/config.json
is_absent f32/1_Pooling
grep -c Transformer f32/modules.json
# In directories of sentence-transformers, modules.json contains one module.
cp -r model modules
printf '[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}]' \
    >modules/modules.json
printf '{"model_type": "CrossEncoder", "activation_fn": "torch.nn.modules.activation.Softmax"}' \
    >modules/config_sentence_transformers.json
"$AOE" info modules --dtype f32 | grep -E '^(cross-encoder|embedding size|pooling)' | sed 's/  */ /g'
"$AOE" convert -q modules --dtype f32 -o copy
"$AOE" rerank -q -m modules --dtype f32 --pairs pairs.tsv >one
"$AOE" rerank -q -m copy --dtype f32 --pairs pairs.tsv | cmp - one
fails "$AOE" embed -q -m modules one
