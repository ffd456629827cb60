# SPDX-License-Identifier: MIT
# Tests damaged model directories. embed and info must print one line with the file and the error on stderr, print
# nothing on stdout, and exit with code 1.
. "$SRC/tests/cli/support/model.sh"
tiny_model good
echo one >text.txt
size=$(wc -c <good/model.safetensors)
header=$(header_bytes good/model.safetensors)

fresh() { # restores model/ from good/
    rm -rf model
    cp -r good model
}
try() { # expects embed and info to fail on model/
    fails "$AOE" embed -q -m model text.txt
    fails "$AOE" info -q model >/dev/null 2>&1
}
# damaged weights file: truncated header, truncated data, impossible header lengths, invalid JSON, empty file
fresh; head -c 5 good/model.safetensors >model/model.safetensors; try
fresh; head -c 500 good/model.safetensors >model/model.safetensors; try
fresh; head -c $((size - 4)) good/model.safetensors >model/model.safetensors; try
fresh; poke model/model.safetensors 0 '\377\377\377\177'; try
fresh; poke model/model.safetensors 0 '\377\377\377\377\377\377\377\377'; try
fresh; poke model/model.safetensors 8 'x'; try
fresh; : >model/model.safetensors; try
# damaged tensors: missing, wrong shape, NaN, infinite value
fresh; sed -i 's/query\.bias"/query.bios"/' model/model.safetensors; try
fresh; sed -i 's/"shape":\[600,32\]/"shape":[300,64]/' model/model.safetensors; try
fresh; poke model/model.safetensors $((8 + header)) '\000\000\300\177'; try
fresh; poke model/model.safetensors $((8 + header + 4)) '\000\000\200\377'; try
# damaged config.json: unknown architecture, truncated, impossible sizes, missing. Then missing weights.
# The list of supported architectures is cut after the third name.
fresh; sed -i 's/"bert"/"gru"/' model/config.json; try 2>&1 | sed 's/, llama,.*)/, ...)/' >&2
fresh; head -c 100 good/config.json >model/config.json; try
fresh; sed -i 's/"num_attention_heads": *2/"num_attention_heads": 3/' model/config.json; try
fresh; rm model/config.json; try
fresh; rm model/model.safetensors; try
# The folder of the module Pooling is missing. An option replaces it, and an aoe.json with "pooling" and "normalize".
fresh; rm -r model/1_Pooling model/aoe.json; try
printf '{"format_version":1,"pooling":"cls"}' >model/aoe.json; try
"$AOE" embed -q -m model --pooling cls text.txt >option
printf '{"format_version":1,"pooling":"cls","normalize":false}' >model/aoe.json
"$AOE" embed -q -m model text.txt | cmp - option
rm option
# damaged tokenizer: truncated, invalid UTF-8, missing. Then a truncated aoe.json.
fresh; head -c 300 good/tokenizer.json >model/tokenizer.json; try2() { fails "$AOE" embed -q -m model text.txt; }; try2
fresh; rm model/tokenizer.json; printf 'a\n\377\n' >>model/vocab.txt; try2
fresh; rm model/tokenizer.json model/vocab.txt; try2
fresh; printf '{"pooling": "cls"' >model/aoe.json; try2
# Git LFS pointers instead of tokenizer files
pointer='version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 466247\n'
# shellcheck disable=SC2059
fresh; printf "$pointer" >model/tokenizer.json; try2
# shellcheck disable=SC2059
fresh; rm model/tokenizer.json; printf "$pointer" >model/vocab.txt; try2
# files that are not JSON, symbolic links to missing files, and directories
printf '<!DOCTYPE html>\n<html></html>\n' >page
fresh; cp page model/config.json; try2
fresh; cp page model/model.safetensors; try2
fresh; printf '\377\376{\000}\000' >model/modules.json; try2
fresh; { printf '\357\273\277'; cat good/tokenizer_config.json; } >model/tokenizer_config.json; try2
for file in config.json modules.json 1_Pooling/config.json sentence_bert_config.json tokenizer.json \
    model.safetensors; do
    fresh; rm "model/$file"; ln -s missing "model/$file"; try2
done
fresh; rm model/vocab.txt; ln -s vocab.txt model/vocab.txt; try2
fresh; rm model/special_tokens_map.json; mkdir model/special_tokens_map.json; try2
fresh; rm model/model.safetensors; mkdir model/model.safetensors; try2
# an index without its weight files
fresh; rm model/model.safetensors; echo '{"weight_map": {"a": "part-1.safetensors"}}' \
    >model/model.safetensors.index.json; try2
echo '{"weight_map": {}}' >model/model.safetensors.index.json; try2
# config.json and the weights contradict each other
fresh; sed -i 's/"type_vocab_size": *2/"type_vocab_size": 0/' model/config.json; try2
fresh; sed -i 's/"embeddings.word_embeddings.weight"/"embeddings.word_embeddingz.weight"/' model/model.safetensors; try2
rm -r model
tiny_model model --shape tinyllama-1.1b --kv-heads 2
sed -i 's/"mlp_bias": *false/"mlp_bias": true/' model/config.json; try2
sed -i 's/"attention_bias": *false/"attention_bias": true/' model/config.json; try2
fresh; printf '{"processing_kwargs":{"common":{"padding_side":"left"}}}' >model/sentence_bert_config.json; try2
# the model is in a folder of the directory
rm -rf model
mkdir -p model/copy model/1_Pooling other/snapshots/1234
cp good/1_Pooling/config.json model/1_Pooling
cp -r good/. model/copy
cp -r good/. other/snapshots/1234
try2
fails "$AOE" embed -q -m other text.txt
rm -r other page
# -m with a file, and with the output directory of an unfinished training run
fails "$AOE" embed -q -m good/model.safetensors text.txt
fails "$AOE" tokenize -m good/tokenizer.json text.txt
mkdir -p unfinished/checkpoints/step-5
fails "$AOE" embed -q -m unfinished text.txt
rm -r unfinished
# -m with a file of another format, an archive, the folder of a module, a folder of models, and a model with other
# weights
touch model.gguf model.tar.gz
fails "$AOE" embed -q -m model.gguf text.txt
fails "$AOE" tokenize -m model.gguf text.txt
fails "$AOE" embed -q -m model.tar.gz text.txt
rm model.gguf model.tar.gz
fresh
mkdir models
fails "$AOE" embed -q -m model/1_Pooling text.txt 2>&1 | sed 's/ [^ ]*\/model$/ .../' >&2
mv model models/checkpoint-5
fails "$AOE" embed -q -m models text.txt
rm -r models/checkpoint-5
touch models/model.gguf
fails "$AOE" embed -q -m models text.txt
rm -r models
fresh; mv model/model.safetensors model/model.fp16.safetensors; try
ls
# A damaged modules.json is an error although aoe.json contains the settings.
tiny_model damaged-modules
printf '{"modules": 3}\n' >damaged-modules/modules.json
fails "$AOE" embed -q -m damaged-modules "$SRC/examples/train.tsv"
