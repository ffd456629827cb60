# SPDX-License-Identifier: MIT
# Tests `aoe convert` with f32, bf16 and int8, and with int5 token embeddings. Converting a bf16, int8 or int5 model to
# f32 and back must reproduce every byte. Every command must read all types. Impossible conversions must be rejected.
. "$SRC/tests/cli/support/model.sh"
tiny_model model --pooling cls-last-avg
small_table data.tsv 40
printf 'A plane is taking off.\nAn aircraft departs.\n' >text.txt
for type in f32 bf16 int8 int5; do
    storage="--dtype $type"
    [ $type != int5 ] || storage='--dtype int8 --embedding-dtype int5'
    # shellcheck disable=SC2086
    "$AOE" convert model $storage -o $type
    # shellcheck disable=SC2086
    "$AOE" convert -q -m $type $storage -o again 2>/dev/null
    cmp $type/model.safetensors again/model.safetensors
    "$AOE" convert -q $type --dtype f32 -o wide
    # shellcheck disable=SC2086
    AOE_MODEL=wide "$AOE" convert -q $storage -o again --force 2>/dev/null
    cmp $type/model.safetensors again/model.safetensors
    "$AOE" info $type | grep -E '^(stored|pooling)' | sed 's/  */ /g'
    grep -o '"torch_dtype": "[a-z0-9]*"' $type/config.json
    # The model and the model converted to float32 must give equal embeddings, scores and training results.
    for dir in $type wide; do
        "$AOE" embed -q -m $dir --dtype f32 --format tsv text.txt >$dir.vectors
        "$AOE" eval sts -q -m $dir --dtype f32 data.tsv >$dir.scores
        "$AOE" similarity -q -m $dir --dtype f32 "a plane" "a cat" >$dir.similarity
        "$AOE" train -q -m $dir --dtype f32 -d data.tsv -o $dir-trained --max-steps 2 >/dev/null
        for result in vectors scores similarity; do cmp $dir.$result $type.$result; done
    done
    cmp $type-trained/model.safetensors wide-trained/model.safetensors
    "$AOE" info $type-trained | sed -n 's/^stored as  */trained: stored as /p'
    rm -rf again wide wide-trained
done
cmp model/model.safetensors f32/model.safetensors
diff -r -q model f32
diff -r -q model bf16 | sort
diff -r -q model int8 | sort
diff -r -q int8 int5 | sort
"$AOE" convert int5 --dtype int8 -o json --json 2>/dev/null
rm -r json
"$AOE" merge model int8 --dtype int8 --embedding-dtype int5 -o merged 2>&1 | grep -v warning
"$AOE" convert model --dtype int8 -o json --json 2>/dev/null
cmp int8/model.safetensors json/model.safetensors

fails "$AOE" convert model --dtype bf16 -o model
fails "$AOE" convert model --dtype bf16 -o int8
cmp int8/model.safetensors json/model.safetensors
fails "$AOE" convert missing --dtype bf16 -o new
fails "$AOE" convert missing.txt.gz -o new
for command in 'convert model' 'convert model --dtype f32' 'merge model int8'; do
    code=0
    # shellcheck disable=SC2086
    "$AOE" $command --embedding-dtype int5 -o new || code=$?
    echo "exit code $code"
done
cp -r int5 damaged
poke damaged/model.safetensors "$(tensor_offset int5/model.safetensors embeddings.word_embeddings.weight)" '\340'
fails "$AOE" embed -q -m damaged text.txt
sed -i 's/word_embeddings\.weight_scale"/word_embeddings.weight_scald"/' damaged/model.safetensors
fails "$AOE" embed -q -m damaged text.txt
mkdir mine
echo my notes >mine/README.md
fails "$AOE" convert model --dtype bf16 -o mine
cat mine/README.md
sed -i 's/query\.weight_scale"/query.weight_scald"/' json/model.safetensors
fails "$AOE" embed -q -m json text.txt
fails "$AOE" convert json --dtype f32 -o new
is_absent new
"$AOE" convert -q bf16 --dtype f32 -o bf16 --force # input and output are the same directory
"$AOE" info bf16 | grep '^stored' | sed 's/  */ /g'
# The head of a language model is not copied.
"$AOE" convert -q "$SRC/tests/golden/cross_encoders/qwen3_reranker" --dtype bf16 -o language 2>&1 | sed "s|$SRC/||"
fails "$AOE" rerank -q -m language --query a text.txt
# A file that is not of word vectors, and no option that converts anything.
fails "$AOE" convert data.tsv -o new
code=0
"$AOE" convert model -o new || code=$?
echo "exit code $code"
is_absent new
