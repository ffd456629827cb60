# SPDX-License-Identifier: MIT
# Tests options that reduce the memory of training. --recompute must not change the weights in float32 and bf16, and
# --cache-chunk must not change them in float32. The data type and the chunk size are recorded, and a run cannot be
# resumed with other values. The data type auto must be f32 or bf16.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
small_table train.tsv 64
train() { # train OUTPUT OPTION...: trains on train.tsv
    output=$1
    shift
    "$AOE" train -q -m start -d train.tsv --batch-size 16 --epochs 2 --lr 1e-3 -o "$output" "$@" >/dev/null
}
expect_equal() { cmp "$1/model.safetensors" "$2/model.safetensors" && echo "equal weights"; }
recorded() { sed -n 's/^ *"\(dtype\|cache_chunk\)": *\([^,]*\),*$/\1 \2/p' "$1/aoe.json"; }
train f32 --dtype f32
train f32-recompute --dtype f32 --recompute
expect_equal f32 f32-recompute
train f32-chunks --dtype f32 --cache-chunk 3
expect_equal f32 f32-chunks
train f32-both --dtype f32 --cache-chunk 5 --recompute -t 1
expect_equal f32 f32-both
recorded f32-both
train bf16 --dtype bf16 -t 1
train bf16-recompute --dtype bf16 --recompute -t 3
expect_equal bf16 bf16-recompute
train bf16-chunks --dtype bf16 --cache-chunk 3
recorded bf16-chunks
cmp -s f32/model.safetensors bf16/model.safetensors || echo "the weights of bf16 differ from those of f32"
train auto
cmp -s auto/model.safetensors f32/model.safetensors || expect_equal auto bf16 >/dev/null
rm -r f32-chunks/model.safetensors
fails train f32-chunks --dtype f32 --cache-chunk 4 --resume
fails train f32-chunks --dtype bf16 --cache-chunk 3 --resume
train f32-chunks --dtype f32 --cache-chunk 3 --recompute --resume
expect_equal f32 f32-chunks
