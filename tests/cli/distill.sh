# SPDX-License-Identifier: MIT
# Tests the method distill: the losses in the log and in the training record, a map that is kept, several teachers with
# a cache, runs that are resumed, and the rejection of wrong options.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
"$AOE" init --quiet --hidden 24 --layers 1 --heads 2 --intermediate 32 --positions 64 \
    --vocab-from "$SRC/examples/test.tsv" --vocab-size 300 --seed 7 -o big
"$AOE" init --quiet --hidden 16 --layers 1 --heads 2 --intermediate 32 --positions 64 --tokenizer start --seed 8 \
    -o other
small_table train.tsv 64
distill() { # distill OUTPUT OPTION...: trains start on train.tsv with the method
    out=$1
    shift
    "$AOE" train -m start -d train.tsv -o "$out" --method distill -t 1 --dtype f32 "$@" >/dev/null
}
distill one --teacher big --w-vectors 0.5 --w-similarities 2 --epochs 8 --batch-size 16 --lr 2e-3 2>notes
grep -F -e 'with the teacher' -e 'saved:' notes | sed 's/[0-9.]* MB/N MB/'
sed -n 's/.*"event":"step".*"loss":\([^,]*\),.*"vectors":\([^,]*\),"similarities":\([^,]*\),.*/\1 \2 \3/p' \
    one/train-log.jsonl >terms
awk '{ d = $1 - 0.5 * $2 - 2 * $3 } d > 1e-6 || d < -1e-6 { print "the total loss is not the sum of the terms: " $0 }
     NR <= 8 { first += $1 } { last += $1 } NR > 8 { last -= loss[NR % 8] } { loss[NR % 8] = $1 }
     END { print NR " steps"
         print (last < 0.8 * first ? "the loss decreases" : "the loss changes from " first " to " last) }' terms
grep -o '"\(method\|teacher\|w_teacher\|distill\|teacher_map\|w_vectors\|w_similarities\|vector_loss\)": *[^,]*' \
    one/aoe.json
tr -d ' \n' <one/aoe.json | grep -o '"kept_parts":[^]]*],"dropped_parts":[^]]*]'
is_absent one/2_Dense
# A map that is kept is a dense layer, and the embeddings have the size of the teacher embeddings.
distill kept --teacher big --teacher-map kept --vector-loss squares --batch-size 16 2>&1 | grep '^saved'
"$AOE" info -m kept | grep 'embedding size\|^modules' | sed 's/  */ /g'
tr -d ' \n' <kept/modules.json | grep -o '"type":"[^"]*"'
tr -d ' \n' <kept/aoe.json | grep -o '"kept_parts":[^]]*],"dropped_parts":[^]]*]'
# The second run reads all vectors from the cache, and its result is equal.
distill first --teacher big --teacher other --teacher-cache cache --batch-size 16 2>&1 |
    grep -e 'with the teacher' -e 'reading the' -e 'in the cache'
ls cache | sed 's/[0-9a-f]\{16\}/KEY/'
distill second --teacher big --teacher other --teacher-cache cache --batch-size 16 --threads 2 2>&1 |
    grep -e 'with the teacher' -e 'reading the' -e 'in the cache'
cmp first/model.safetensors second/model.safetensors
tr -d ' \n' <first/aoe.json | grep -o '"teacher":[^]]*]'
grep -o '"teacher_cache": *[a-z]*' first/aoe.json
file=$(find cache -name '*.safetensors' | sort | head -n 1)
head -c 100 "$file" >truncated
mv truncated "$file"
fails distill third -q --teacher big --teacher other --teacher-cache cache 2>error
sed 's/[0-9a-f]\{16\}/KEY/; s/128, [0-9]*/128, N/' error
is_absent third
# A run is resumed with the same options, also with the cache, and not with others.
rm "$file" second/model.safetensors
distill second -q --teacher big --teacher other --teacher-cache cache --batch-size 16 --resume
cmp first/model.safetensors second/model.safetensors
fails distill second -q --teacher big --teacher other --teacher-cache cache --batch-size 16 --resume --w-vectors 2
fails distill second -q --teacher big --teacher other --batch-size 16 --resume
fails distill second -q --teacher big --teacher-cache cache --batch-size 16 --resume 2>error
sed 's/"[0-9a-f]\{16\}"/"F"/g' error >&2
# The help shows the defaults of the method.
"$AOE" train --method distill --help | tr '\n' ' ' | sed 's/  */ /g' |
    grep -o -e 'per batch (default: [0-9]*' -e 'dropout probability (default: [0-9]'
"$AOE" train --help | grep '^  distill'
# Experiments accept several teachers, and runs with other teachers are other runs.
compare() { # compare ARM...: trains start with each arm
    "$AOE" compare -q -o experiment --seeds 2 --test train.tsv --replicates 50 --arm "$@" -- -m start -d train.tsv \
        --dev train.tsv --method distill --max-steps 2 --batch-size 16
}
compare 'one: --teacher big' 'two: --teacher big --teacher other --w-vectors 0' | awk '{ print $1 }'
grep -o '"teachers\[1\]":"other"' experiment/runs/two_seed=42/record.json
fails compare 'one: --teacher other' 'two: --teacher big --teacher other --w-vectors 0'
fails compare 'one: --teacher big' 'two: --teacher big --teacher other --w-vectors 0 --w-similarities 2'
rejected() { # rejected OPTION...: expects a usage error: exit code 2
    code=0
    "$AOE" train -m start -d train.tsv -o out "$@" || code=$?
    [ $code = 2 ] || echo "expected exit code 2, got $code: $*"
}
rejected --method distill --teacher big --w-teacher 1
rejected --method distill --teacher big --distill kl
rejected --method distill --teacher big --w-ibn 1
rejected --method distill --teacher-cache cache
rejected --method distill --teacher big --teacher big --teacher big --teacher big --teacher big
rejected --method distill --teacher big --vector-loss euclid
rejected --vector-loss cosine
rejected --teacher big --teacher-map kept
rejected --method distill --teacher nowhere --w-vectors -1
fails distill out -q
fails distill out -q --teacher nowhere
fails distill out -q --teacher big --w-vectors 0 --w-similarities 0
fails distill out -q --teacher big --teacher-map none
fails "$AOE" train -q -m start -d train.tsv form=pairs -o out --method distill --teacher big
fails distill out -q --teacher big --teacher-cache train.tsv
is_absent out
