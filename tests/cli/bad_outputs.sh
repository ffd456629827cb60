# SPDX-License-Identifier: MIT
# covers: cli/common/common cli/common/output
# Tests outputs that cannot be written. An unusable output path must be reported before any computation. If writing to
# stdout fails, the command must fail.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
small_table data.tsv 20
echo one >text.txt
echo a file >file
cp file LICENSE
fails "$AOE" train -q -m model -d data.tsv -o file/out
fails "$AOE" train -q -m model -d data.tsv -o file
fails "$AOE" init -q --shape bert-tiny --vocab-from data.tsv -o file/out
fails "$AOE" embed -q -m model -o file/out.npy text.txt
# The directory of an output file must exist. The parents of an output directory are created, with a note.
fails "$AOE" embed -q -m model -o made/folder/out.npy text.txt
fails "$AOE" data dedup data.tsv -o made/unique.tsv
fails "$AOE" plot density -m model data.tsv -o made/plot
is_absent made
"$AOE" data split data.tsv -o made/parts 2>&1 >/dev/null | sed -n /made/p
ls made
"$AOE" embed -q -m model -o .out text.txt # a name that consists of an extension only: the format is jsonl
head -c 13 .out && echo
cat file
fails "$AOE" train -q -m model -d data.tsv -o model
fails "$AOE" init -q --hidden 32 --layers 1 --vocab-from data.tsv -o model
fails "$AOE" init -q --hidden 32 --layers 1 --vocab-from missing.txt -o new
fails "$AOE" init -q --hidden 32 --layers 1 --vocab-from LICENSE -o new
is_absent new

# A new model must not overwrite files that are not part of a model. It also must not overwrite an older model that an
# interrupted save moved to its staging directory.
mkdir mine
echo my notes >mine/README.md
fails "$AOE" train -q -m model -d data.tsv -o mine
fails "$AOE" init -q --hidden 32 --layers 1 --vocab-from data.tsv -o mine
# --force replaces only models, so it does not change a directory without a model
fails "$AOE" train -q -m model -d data.tsv -o mine --force
fails "$AOE" init -q --hidden 32 --layers 1 --vocab-from data.tsv -o mine --force
fails "$AOE" convert -q model -o mine --dtype f32 --force
ls -A mine
cat mine/README.md
cp -r model damaged
rm damaged/model.safetensors
echo my notes >damaged/notes.txt
"$AOE" convert -q model -o damaged --dtype f32 --force
cat damaged/notes.txt
mkdir -p half/.staging-999999/old
cp model/model.safetensors half/.staging-999999/old
fails "$AOE" init -q --hidden 32 --layers 1 --vocab-from data.tsv -o half
cmp model/model.safetensors half/.staging-999999/old/model.safetensors

full() { # full ARGUMENT...: expects an error with stdout on a full device
    fails "$AOE" "$@" >/dev/full
}
full embed -q -m model text.txt
full embed -q -m model --format npy text.txt
full tokenize -m model text.txt
full similarity -q -m model a b
full info model
full eval sts -q -m model data.tsv
full help
full embed --help
full train -q -m model -d data.tsv -o trained
fails "$AOE" embed -q -m model -o /dev/full text.txt
fails "$AOE" embed -q -m model text.txt >&-

cp "$SRC/examples/train.tsv" lines.txt
# If the reader closes the pipe early, SIGPIPE must end the program without a message.
for command in "embed -q -m model" "embed -q -m model --format tsv" "tokenize -m model"; do
    # shellcheck disable=SC2086
    { code=0; "$AOE" $command lines.txt lines.txt || code=$?; echo "exit code $code" >&2; } |
        head -n 1 >/dev/null
done
# With a file size limit, writing fails. There must be a message and no partial file.
seq 200 >numbers.txt
(ulimit -f 1 && ! "$AOE" embed -q -m model -o big.npy numbers.txt) 2>&1 | cat
is_absent big.npy
(ulimit -f 1 && ! "$AOE" embed -q -m model numbers.txt >big.jsonl) 2>&1 | cat
