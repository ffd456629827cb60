# SPDX-License-Identifier: MIT
# Functions for the test scripts in tests/cli. They create small models and tables, damage weights files, and check
# results.
export LC_ALL=C

# tiny_model DIR [OPTION...]: creates a BERT with random weights in DIR. It has one layer, hidden size 32, and a
# vocabulary of at most 600 tokens, which is trained on examples/train.tsv. OPTION: further options of aoe init
tiny_model() {
    tiny=$1
    shift
    "$AOE" init --quiet --hidden 32 --layers 1 --heads 2 --intermediate 64 --positions 64 \
        --vocab-from "$SRC/examples/train.tsv" --vocab-size 600 -o "$tiny" "$@"
}

# small_table FILE N: writes the header and the first N pairs of examples/train.tsv to FILE
small_table() {
    head -n $(($2 + 1)) "$SRC/examples/train.tsv" >"$1"
}

# header_bytes FILE: prints the length of the JSON header of a safetensors file in bytes
header_bytes() {
    od -An -tu4 -N4 "$1" | tr -d ' '
}

# tensor_offset FILE NAME: prints the offset in bytes at which the data of the tensor NAME begin in FILE
tensor_offset() {
    bytes=$(header_bytes "$1")
    offset=$(head -c $((8 + bytes)) "$1" | tail -c "$bytes" |
        sed "s/.*\"$2\": *{[^}]*\"data_offsets\": *\[ *\([0-9]*\).*/\1/")
    echo $((8 + bytes + offset))
}

# poke FILE OFFSET BYTES: writes BYTES to FILE at OFFSET. BYTES is a printf format, for example '\377\000'
poke() {
    # shellcheck disable=SC2059
    printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

# fails COMMAND...: runs COMMAND; the test fails unless the exit code is 1
fails() {
    code=0
    "$@" || code=$?
    if [ $code != 1 ]; then
        echo "expected exit code 1, got $code: $*"
        exit 3
    fi
}

# is_absent PATH...: the test fails if one of the paths exists
is_absent() {
    for path in "$@"; do
        if [ -e "$path" ]; then
            echo "expected no file, but it exists: $path"
            exit 3
        fi
    done
}

# needs_shared PATH: skips the test if the directory of shared data does not contain PATH
needs_shared() {
    if [ ! -e "${AOE_SHARED:-/nowhere}/$1" ]; then
        echo "SKIP: $1 not found; set AOE_SHARED to the directory of shared data (tests/README.md)"
        exit 77
    fi
}

# word_model DIR: creates a static model in DIR with six words and two dimensions: cat (4 0), kitten (4 1), tiger (4 2),
# dog (0 4), puppy (1 4), wolf (2 4)
word_model() {
    mkdir "$1"
    printf '[UNK]\ncat\nkitten\ntiger\ndog\npuppy\nwolf\n' >"$1/vocab.txt"
    # The safetensors file consists of the length of the header (72, octal 110), the header padded to 72 bytes, and the
    # float32 tensor [7, 2].
    printf '\110\0\0\0\0\0\0\0%s        ' '{"embeddings":{"dtype":"F32","shape":[7,2],"data_offsets":[0,56]}}' |
        head -c 80 >"$1/model.safetensors"
    one='\0\0\200\077' two='\0\0\0\100' four='\0\0\200\100' zero='\0\0\0\0'
    # shellcheck disable=SC2059
    printf "$zero$zero$four$zero$four$one$four$two$zero$four$one$four$two$four" >>"$1/model.safetensors"
}
