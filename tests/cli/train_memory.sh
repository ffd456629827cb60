# SPDX-License-Identifier: MIT
# Ways to train in less memory: recomputation leaves the same model in both types, chunks do in float32; the type and the
# chunks are part of the run's record, and a run is not resumed with others; auto is one of the two types.
. "$SRC/tests/cli/support/model.sh"
tiny_model start
small_table train.tsv 64
train() { # train OUTPUT OPTION...
    output=$1
    shift
    "$AOE" train -q -m start -d train.tsv --batch-size 16 --epochs 2 --lr 1e-3 -o "$output" "$@" >/dev/null
}
same() { cmp "$1/model.safetensors" "$2/model.safetensors" && echo "the same model"; }
recorded() { sed -n 's/^ *"\(dtype\|cache_chunk\)": *\([^,]*\),*$/\1 \2/p' "$1/aoe.json"; }
train f32 --dtype f32
train f32-recompute --dtype f32 --recompute
same f32 f32-recompute
train f32-chunks --dtype f32 --cache-chunk 3
same f32 f32-chunks
train f32-both --dtype f32 --cache-chunk 5 --recompute -t 1
same f32 f32-both
recorded f32-both
train bf16 --dtype bf16 -t 1
train bf16-recompute --dtype bf16 --recompute -t 3
same bf16 bf16-recompute
train bf16-chunks --dtype bf16 --cache-chunk 3
recorded bf16-chunks
cmp -s f32/model.safetensors bf16/model.safetensors || echo "another model"
train auto
cmp -s auto/model.safetensors f32/model.safetensors || same auto bf16 >/dev/null
rm -r f32-chunks/model.safetensors
fails train f32-chunks --dtype f32 --cache-chunk 4 --resume
fails train f32-chunks --dtype bf16 --cache-chunk 3 --resume
train f32-chunks --dtype f32 --cache-chunk 3 --recompute --resume
same f32 f32-chunks
