# SPDX-License-Identifier: MIT
# tags: numbers
# Tests `aoe verify`. All checks must pass for the reference cases. The exit code must be 1 if a weight was changed or
# if a reference value is NaN.
. "$SRC/tests/cli/support/model.sh"
cases=$SRC/tests/golden/data/bert
if [ ! -e "$cases/cases.json" ]; then
    needs_shared golden/bert/cases.json
    cases=$AOE_SHARED/golden/bert
fi
"$AOE" verify "$cases" --dtype f32 -q >good
grep -c ' pass$' good
grep -v ' pass$' good
"$AOE" verify "$cases" --dtype f32 -q --json >json
head -n 1 json | sed 's/"error":[^,]*/"error":E/'
# bf16 has its own tolerances. The data type auto must be f32 or bf16.
"$AOE" verify "$cases" --dtype bf16 -q >good
grep -c ' pass$' good
"$AOE" verify "$cases" --dtype bf16 -q --json | sed -n 's/.*hidden.3".*\("tolerance":[^,]*\).*/\1/p'
"$AOE" verify "$cases" -q | grep -c ' pass$'
# int8 does not support training, so only embeddings are compared.
"$AOE" verify "$cases" --dtype int8 -q >good
grep -c ' pass$' good
"$AOE" verify "$cases" --dtype int8 -q --json | sed -n 's/.*pooled.cls".*\("tolerance":[^,]*\).*/\1/p'
"$AOE" verify "$SRC/tests/golden/data" --dtype int8 -q | sed -n 's|/pooled.cls .* pass$||p'
# The argument is the parent folder of all reference cases.
"$AOE" verify "$SRC/tests/golden/data" --dtype f32 -q >all
grep -c '^objectives/' all
mkdir changed
cp "$cases"/* changed
chmod u+w changed/*
poke changed/model.safetensors "$(tensor_offset changed/model.safetensors embeddings.LayerNorm.weight)" \
    '\000\000\200\077'
fails "$AOE" verify changed --dtype f32 >bad 2>err
grep -q ' fail$' bad
sed 's/[0-9]* of [0-9]*/N of M/' err
# A reference value is NaN.
cp "$cases/model.safetensors" changed
chmod u+w changed/*
header=$(header_bytes changed/expected.safetensors)
poke changed/expected.safetensors $((8 + header)) '\000\000\300\177'
fails "$AOE" verify changed --dtype f32 >bad 2>err
grep -q ' fail$' bad
fails "$AOE" verify . --dtype f32 >bad
sed "s/ [0-9.]*e-[0-9]* /        E /" bad # errors depend on the CPU tier
fails "$AOE" verify nowhere
