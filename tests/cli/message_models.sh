# SPDX-License-Identifier: MIT
# Tests model directories whose chat template, adapters or tokenizer settings change the embedded texts: every command
# renders the texts, rejects the directory by name, or warns. Also tests the warning for an escape sequence in a prompt.
. "$SRC/tests/cli/support/model.sh"
tiny_model plain
small_table pairs.tsv 8
cut -f 1 pairs.tsv | sed 1d >texts.txt
rm -r plain/aoe.json plain/modules.json plain/1_Pooling plain/sentence_bert_config.json \
    plain/config_sentence_transformers.json
printf '{%% for m in messages %%}<{{ m.role }}> {{ m.content }}{%% endfor %%}' >template

echo "modality_config with message"
cp -r plain message
cat >message/modules.json <<'END'
[{"idx":0,"name":"0","path":"","type":"sentence_transformers.models.Transformer"},
 {"idx":1,"name":"1","path":"1_Pooling","type":"sentence_transformers.models.Pooling"}]
END
mkdir message/1_Pooling
echo '{"pooling_mode":"mean"}' >message/1_Pooling/config.json
cp template message/chat_template.jinja
config() {
    {
        printf '{"transformer_task":"feature-extraction","module_output_name":"token_embeddings","modality_config":'
        printf '{"text":{"method":"forward","method_output_name":"last_hidden_state"}%s}}' "$1"
    } >message/sentence_bert_config.json
}
config ',"message":{"method":"forward","method_output_name":"last_hidden_state","format":"flat"}'
sed 's/^/<user> /' texts.txt >rendered.txt
"$AOE" tokenize -q -m message texts.txt >ids
"$AOE" tokenize -q -m plain --no-specials rendered.txt | cmp - ids
"$AOE" tokenize -q -m message --prompt 'find {text}' texts.txt >prompted
sed 's/^/<system> find /' rendered.txt | "$AOE" tokenize -q -m plain --no-specials | cmp - prompted
"$AOE" tokenize -q -m message --max-length 3 texts.txt | grep -c '^\[[0-9]*,[0-9]*,[0-9]*\]$'
"$AOE" info -q message | grep texts
"$AOE" info -q --json message | grep -o '"chat_template":true'
"$AOE" info -q --explain message | grep 'chat_template' | sed 's/   */ | /g'
"$AOE" embed -q -m message --dtype f32 texts.txt >vectors
"$AOE" embed -q -m plain --pooling mean --dtype f32 texts.txt 2>/dev/null | cmp -s - vectors ||
    echo "the template changes the vectors"
"$AOE" embed -q -m message --dtype f32 -o whole.npy texts.txt
"$AOE" embed -q -m message --dtype f32 --chunk mean -o chunks.npy texts.txt
cmp whole.npy chunks.npy
printf 'a b c d e f g h i j k l m n o p q r s t u v w x y z\n' >long.txt
# each chunk has the template
"$AOE" embed -q -m message --max-length 12 --chunk mean long.txt | grep -o '"chunks":[0-9]*'

echo "saved models keep the template"
"$AOE" convert -q message --dtype f32 -o converted
"$AOE" embed -q -m converted --dtype f32 texts.txt | cmp - vectors
rm converted/aoe.json # the files of sentence-transformers are sufficient
"$AOE" embed -q -m converted --dtype f32 texts.txt | cmp - vectors
"$AOE" train -q -m message -d pairs.tsv -o trained --max-steps 1 | sed "s, in [0-9]* s,,"
"$AOE" tokenize -q -m trained texts.txt | cmp - ids
"$AOE" train -q -m message -d pairs.tsv -o lora --max-steps 1 --lora-r 2 | sed "s, in [0-9]* s,,"
"$AOE" embed -q -m lora --dtype f32 texts.txt >adapted
rm lora/aoe.json
"$AOE" embed -q -m lora --dtype f32 texts.txt | cmp - adapted
"$AOE" train -q --method cross-encoder -m message -d pairs.tsv -o cross --max-steps 1 | sed "s, in [0-9]* s,,"
printf '["a b","c"]\n' | "$AOE" tokenize -q -m cross --jsonl >pair
echo '<query> a b<document> c' | "$AOE" tokenize -q -m plain --no-specials | cmp - pair

# adapters without settings of their own use those of their base model
cp -r lora own
rm -r own/modules.json own/sentence_bert_config.json own/1_Pooling own/config_sentence_transformers.json
"$AOE" tokenize -q -m own texts.txt | cmp - ids
rm own/chat_template.jinja own/tokenizer.json own/tokenizer_config.json own/vocab.txt own/special_tokens_map.json
"$AOE" tokenize -q -m own texts.txt | cmp - ids
# a smaller vocabulary keeps the tokens of the template
echo '{% for m in messages %}{{ m.role }} quixotic {{ m.content }} {% endfor %}' >cross/chat_template.jinja
"$AOE" convert -q cross --vocab-size 200 --count-on texts.txt -o reduced 2>/dev/null
printf '["a","a"]\n' | "$AOE" tokenize -q -m reduced --jsonl --tokens >reduced.tokens
printf '["a","a"]\n' | "$AOE" tokenize -q -m cross --jsonl --tokens | cmp - reduced.tokens
# models with different templates cannot be averaged
cp -r message other
echo '{% for m in messages %}[{{ m.role }}] {{ m.content }}{% endfor %}' >other/chat_template.jinja
fails "$AOE" merge -q message other -o merged
"$AOE" merge -q message trained -o merged
"$AOE" tokenize -q -m merged texts.txt | cmp - ids

echo "templates that are rejected"
fails "$AOE" embed -q -m message --prompt 'find {text} now' texts.txt
for template in '{% include "x" %}' '{{ 1' 'the same' '{{ raise_exception("no texts") }}' \
    '{{ bos_token }}{{ messages[0].content }}'; do
    echo "$template" >message/chat_template.jinja
    sed '/tokenizer_class/d' plain/tokenizer_config.json >message/tokenizer_config.json
    fails "$AOE" embed -q -m message texts.txt
    fails "$AOE" tokenize -q -m message texts.txt
done
rm message/chat_template.jinja
fails "$AOE" embed -q -m message texts.txt
cp template message/chat_template.jinja
mkdir message/additional_chat_templates
fails "$AOE" embed -q -m message texts.txt
rmdir message/additional_chat_templates
config ',"message":{"method":"forward","method_output_name":"last_hidden_state","format":"other"}'
fails "$AOE" embed -q -m message texts.txt
config '},"processing_kwargs":{"chat_template":{"tools":["x"]},"ignored":{},"message":{}'
forward='{"method":"forward","method_output_name":"last_hidden_state"}'
sed "s/,\"ignored\":{},\"message\":{}//; s/\"last_hidden_state\"}}/\"last_hidden_state\"},\"message\":$forward}/" \
    message/sentence_bert_config.json >edited
mv edited message/sentence_bert_config.json
fails "$AOE" embed -q -m message texts.txt

echo '{"modality_config":{"message":{"method":"forward","method_output_name":"last_hidden_state"}}}' \
    >message/sentence_bert_config.json
fails "$AOE" embed -q -m message texts.txt # sentence-transformers needs the modality "text", too

echo "modality_config without message"
config ''
"$AOE" embed -q -m message texts.txt --dtype f32 >rendered
# without the modality, the template is not used
"$AOE" embed -q -m plain --pooling mean texts.txt --dtype f32 2>/dev/null | cmp - rendered

echo "a directory without modules.json and with a chat template"
# aoe does not render; sentence-transformers does
for place in chat_template.jinja tokenizer_config.json additional_chat_templates; do
    cp -r plain raw
    case $place in
    chat_template.jinja) cp template raw/chat_template.jinja ;;
    additional_chat_templates) mkdir raw/additional_chat_templates ;;
    *) sed 's/^{/{"chat_template": [{"name": "default", "template": "x"}],/' plain/tokenizer_config.json \
        >raw/tokenizer_config.json ;;
    esac
    "$AOE" similarity -q -m raw a a | head -n 1
    rm -r raw
done

cp -r plain raw # tokenizers ignore chat_template.json, so there is no warning
printf '{"chat_template": "%s"}' "$(cat template)" >raw/chat_template.json
"$AOE" similarity -q -m raw a a | head -n 1
rm -r raw

echo "a model and adapters in one directory"
"$AOE" train -q -m plain -d pairs.tsv -o adapters --lora-r 2 --max-steps 1 | sed "s, in [0-9]* s,,"
cp -r plain both
cp adapters/adapter_config.json adapters/adapter_model.safetensors both
fails "$AOE" embed -q -m both texts.txt
fails "$AOE" info both
rm both/adapter_model.safetensors # a configuration without weights has no effect in transformers
"$AOE" similarity -q -m both a a | head -n 1

echo "settings of the tokenizer"
cp -r plain split
sed 's/^{/{"split_special_tokens": true,/' plain/tokenizer_config.json >split/tokenizer_config.json
fails "$AOE" tokenize -q -m split texts.txt
fails "$AOE" embed -q -m split texts.txt

echo "escape sequences in prompts"
"$AOE" tokenize -q -m plain --prompt 'a\nb {text}' texts.txt >literal
"$AOE" tokenize -q -m plain --prompt 'a
b {text}' texts.txt | cmp -s - literal || echo "the tokens differ"
"$AOE" eval retrieval -q --doc-prompt 'a\tb {text}' missing || echo "exit $?"
