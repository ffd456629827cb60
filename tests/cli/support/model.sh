# SPDX-License-Identifier: MIT
# Sourced by the cases: a tiny model, and ways to damage its weights file.
export LC_ALL=C

# tiny_model DIR [OPTION...]: hidden size 32, one layer, vocabulary of examples/train.tsv
tiny_model() {
    tiny=$1
    shift
    "$AOE" init --quiet --hidden 32 --layers 1 --heads 2 --intermediate 64 --positions 64 \
        --vocab-from "$SRC/examples/train.tsv" --vocab-size 600 -o "$tiny" "$@"
}

# small_table FILE N: the header and the first N pairs of examples/train.tsv
small_table() {
    head -n $(($2 + 1)) "$SRC/examples/train.tsv" >"$1"
}

# header_bytes FILE: length of the JSON header of a safetensors file
header_bytes() {
    od -An -tu4 -N4 "$1" | tr -d ' '
}

# tensor_offset FILE NAME: where the data of a tensor begins in the file
tensor_offset() {
    bytes=$(header_bytes "$1")
    offset=$(head -c $((8 + bytes)) "$1" | tail -c "$bytes" | sed "s/.*\"$2\": *{[^}]*\"data_offsets\": *\[ *\([0-9]*\).*/\1/")
    echo $((8 + bytes + offset))
}

# poke FILE OFFSET BYTES: overwrites; BYTES as for printf
poke() {
    # shellcheck disable=SC2059
    printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# fails COMMAND...: runs it; exit code 1 is expected, anything else ends the case
fails() {
    code=0
    "$@" || code=$?
    if [ $code != 1 ]; then
        echo "exit code $code instead of 1: $*"
        exit 3
    fi
}

# is_absent PATH...: ends the case when one exists
is_absent() {
    for path in "$@"; do
        if [ -e "$path" ]; then
            echo "was written: $path"
            exit 3
        fi
    done
}

# needs_shared PATH: skips the case when the shared material is not there
needs_shared() {
    if [ ! -e "${AOE_SHARED:-/nowhere}/$1" ]; then
        echo "SKIP: $1 is not in AOE_SHARED"
        exit 77
    fi
}

# word_model DIR: a static model of six words and two dimensions: cat (4 0), kitten (4 1), tiger (4 2), dog (0 4), puppy (1 4),
# wolf (2 4)
word_model() {
    mkdir "$1"
    printf '[UNK]\ncat\nkitten\ntiger\ndog\npuppy\nwolf\n' >"$1/vocab.txt"
    # {"embeddings": F32 [7, 2]}
    printf '\110\0\0\0\0\0\0\0%s        ' '{"embeddings":{"dtype":"F32","shape":[7,2],"data_offsets":[0,56]}}' |
        head -c 80 >"$1/model.safetensors"
    one='\0\0\200\077' two='\0\0\0\100' four='\0\0\200\100' zero='\0\0\0\0'
    # shellcheck disable=SC2059
    printf "$zero$zero$four$zero$four$one$four$two$zero$four$one$four$two$four" >>"$1/model.safetensors"
}
