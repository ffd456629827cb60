# SPDX-License-Identifier: MIT
# covers: cli/model/explain
# Tests `aoe info --explain`: every setting with the file and the key that contain its value, for a model of
# transformers, a model of sentence-transformers with a module, adapters, and settings that options set.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
export AOE_CPU=c
explain() { "$AOE" info "$@" --explain --dtype f32 | sed -n '/^setting/,$p' | sed 's/   */ | /g; s/ *$//'; }
explain model
# Without aoe.json, the settings are those of sentence-transformers, and keys that are missing have default values.
rm model/aoe.json
mkdir -p model/1_Pooling model/2_Dropout
cat >model/modules.json <<END
[{"name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
 {"name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
 {"name": "2", "path": "2_Dropout", "type": "sentence_transformers.models.Dropout"}]
END
echo '{"pooling_mode_max_tokens": true, "include_prompt": false}' >model/1_Pooling/config.json
echo '{"dropout": 0.25}' >model/2_Dropout/config.json
echo '{"max_seq_length": 7, "do_lower_case": true}' >model/sentence_bert_config.json
echo '{"prompts": {"query": "q: "}, "default_prompt_name": "query", "similarity_fn_name": "dot"}' \
    >model/config_sentence_transformers.json
sed -i 's/"layer_norm_eps": [^,]*, *//; s/"hidden_act": [^,]*, *//' model/config.json
explain model | grep -vE '^tokenizer'
echo options
explain model --pooling mean --max-length 5 --prompt 'x {text}' --normalize | grep -E 'option'
# Adapters
small_table table.tsv 8
"$AOE" train --quiet -m model -d table.tsv -o adapters --lora-r 2 --epochs 1 --batch-size 4 --seed 1 >/dev/null
explain adapters | grep '^adapters' | sed 's|"/.*/model"|"/.../model"|'
explain adapters --base model | grep '^adapters.base'
# JSON contains complete values.
"$AOE" info model --explain --json --dtype f32 | sed 's/.*"settings":\[//; s/},{"name"/}\n{"name"/g' |
    grep -E '"name":"(prompts|encoder.hidden_size|modules|dims)"'
"$AOE" info --shape bert-tiny --explain || echo "exit code $?"
