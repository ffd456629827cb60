# SPDX-License-Identifier: MIT
# Tests `aoe flow`: the printed results, the files of the model, copies and further training of the model, the same bits
# for any number of threads, errors, and an interrupted run, which writes nothing.
. "$SRC/tests/cli/support/model.sh"
pairs=train.tsv
cp "$SRC/examples/train.tsv" "$pairs"
tiny_model start --pooling last-max
"$AOE" flow -m start "$pairs" -o flow --json | sed 's/"bits_start":.*/"bits":S}/'
"$AOE" flow -m start "$pairs" -o flow --json --force |
    sed 's/.*"bits_start":\([^,]*\),"bits":\([^}]*\)}/\1 \2/' |
    awk '{ print ($2 < $1 ? "fits better" : "fits no better: " $0) }'
(cd flow && LC_ALL=C ls -d -- * 2_Flow/*)
tr -d ' \n' <flow/2_Flow/config.json; echo
grep -o '"format_version": *[0-9]*' flow/aoe.json
tr -d ' \n' <flow/aoe.json | grep -o '"flow":{"data":.*"steps":[0-9]*'
sed -n '/^library_name/,/^---/p; /^Use aoe/p' flow/README.md
tr -d ' \n' <flow/modules.json | grep -o '"type":"[^"]*"'
"$AOE" info -m flow | grep -E '^(modules|embedding)'
for threads in 1 2 3; do
    "$AOE" flow -q -m start "$pairs" -o "threads-$threads" -t $threads
    cmp flow/2_Flow/model.safetensors "threads-$threads/2_Flow/model.safetensors"
done
# The pooling of the paper, plain texts, another shape of the flow, and another seed.
cut -f 2 "$pairs" | sed 1d >plain.txt
tiny_model layers --layers 2
"$AOE" flow -m layers plain.txt -o paper --pooling layer1-last-avg --max-length 64 --levels 2 --depth 1 --width 8 \
    --epochs 2 \
    --batch-size 100 --lr 5e-4 --seed 3 2>&1 | sed '/^pooling: /d; s/; .* bits/; B bits/; s/component, .*/component/'
tr -d ' \n' <paper/2_Flow/config.json; echo
tr -d ' \n' <paper/aoe.json |
    grep -o '"texts":[0-9]*,"examples":[0-9]*,"epochs":[0-9]*,"batch_size":[0-9]*,"lr":[0-9.]*,"seed":[0-9]*'
# A folder of SentEval's STS data.
mkdir -p sts/STS12
printf 'a cat\ta dog\nthe bird\tan old dog\n' >sts/STS12/STS.input.one.txt
printf 'a man\ta woman\n' >sts/STS12/STS.input.two.txt
"$AOE" flow -m start sts -o of-folder --levels 1 --width 4 2>&1 | grep '^sts'
"$AOE" whiten -m start sts -o whitened 2>&1 | grep '^sts'
# Copies keep the flow, and the vectors of a copy are those of the model.
"$AOE" convert -q -m flow --dtype f32 -o copy
cmp flow/2_Flow/model.safetensors copy/2_Flow/model.safetensors
"$AOE" embed -q -m flow --dtype f32 <plain.txt >vectors
"$AOE" embed -q -m copy --dtype f32 <plain.txt | cmp vectors -
[ "$(wc -l <vectors)" = "$(wc -l <plain.txt)" ]
# Training continues with the flow, which it changes. Methods with two encoders reject it.
"$AOE" train -q -m flow -d "$pairs" -o trained -t 1 --max-steps 2 >/dev/null
[ -e trained/2_Flow/config.json ] && ! cmp -s flow/2_Flow/model.safetensors trained/2_Flow/model.safetensors &&
    echo trained
"$AOE" eval sts -q -m trained "$pairs" --json | grep -o '"pairs":[0-9]*'
fails "$AOE" train -q -m flow -d "$pairs" -o out --method ct
fails "$AOE" flow -m flow "$pairs" -o out
fails "$AOE" whiten -m flow "$pairs" -o out
fails "$AOE" flow -m start "$pairs" -o flow
fails "$AOE" flow -m start "$pairs" -o out --levels 6
fails "$AOE" flow -m start "$pairs" -o out --lr 1e3 --epochs 3
printf 'the cat\n' >one.txt
fails "$AOE" flow -m start one.txt -o out
code=0
"$AOE" flow -m start "$pairs" || code=$?
echo "exit code $code"
# An interrupted run writes no model.
# the shell makes background
env --default-signal=INT "$AOE" flow -m start "$pairs" -o out --epochs 100000 2>interrupted &
pid=$!                                                                                          # jobs ignore SIGINT
while ! grep -qs fitting interrupted; do sleep 0.1; done
kill -INT $pid
code=0
wait $pid || code=$?
echo "exit code $code"
tail -n 1 interrupted
is_absent out
# Damaged files give one error.
file=copy/2_Flow/model.safetensors
poke "$file" "$(tensor_offset "$file" parameters)" '\0\0\300\177'
fails "$AOE" embed -m copy <one.txt
rm "$file"
fails "$AOE" embed -m copy <one.txt
is_absent out
