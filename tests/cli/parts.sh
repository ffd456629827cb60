# SPDX-License-Identifier: MIT
# covers: cli/common/part cli/text/embed_part
# Tests the parts of `aoe embed`. The joined output must have the bytes of one process, for every format and precision,
# for tables, several files, compressed files and more parts than texts. Parts that are complete are skipped. Every
# mismatch is reported with the name of the file and the difference.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
awk 'BEGIN { for (i = 1; i <= 90; i++) { printf "line %d", i; for (j = 0; j < i % 17; j++) printf " word%d", j
    print "" } }' >lines.txt
printf 'text\nA plane is taking off.\nA man plays.\n' | gzip >more.tsv.gz
embed() { "$AOE" embed -q -m model "$@"; }

# same N OUTPUT OPTION...: compares N parts with one process
same() {
    n=$1 out=$2
    shift 2
    i=0
    embed "$@" -o "whole-$out"
    while [ $i -lt "$n" ]; do
        embed "$@" -o "$out" --part $i/"$n"
        i=$((i + 1))
    done
    "$AOE" embed -q --join -o "$out"
    cmp "whole-$out" "$out"
}
same 3 a.npy lines.txt more.tsv.gz
same 5 a.tsv lines.txt more.tsv.gz
same 4 a.jsonl lines.txt more.tsv.gz
same 7 few.npy more.tsv.gz
same 1 one.jsonl lines.txt
embed lines.txt --precision int8 --save-ranges ranges.json -o unused.npy
for precision in int8 uint8 binary ubinary; do
    for format in npy tsv jsonl; do
        set -- lines.txt --precision $precision
        case $precision in *int8) set -- "$@" --ranges ranges.json ;; esac
        same 2 $precision.$format "$@"
    done
done
same 2 calibrated.npy lines.txt --precision int8 --calibrate lines.txt
same 3 files.jsonl --whole-files lines.txt model/config.json model/aoe.json
same 3 chunks.jsonl --max-length 8 --chunk mean lines.txt
: >empty.txt
same 2 empty.npy empty.txt 2>/dev/null

echo "auto, notes"
SLURM_ARRAY_TASK_ID=1 "$AOE" embed -m model lines.txt -o auto.npy --part auto/2 2>&1
JOB_COMPLETION_INDEX=0 "$AOE" embed -m model lines.txt -o auto.npy --part auto/2 2>&1
SLURM_PROCID=1 "$AOE" embed -m model lines.txt -o auto.npy --part auto/2 2>&1
"$AOE" embed --join -o auto.npy 2>&1
cmp auto.npy auto.npy
ls auto.npy*
sed -e 's/"fingerprint": "[0-9a-f]*"/"fingerprint": HASH/' -e 's/"cpu": "[a-z0-9]*"/"cpu": CPU/' \
    -e 's/"hash": "[0-9a-f]*"/"hash": HASH/' auto.npy.part-1-of-2.json

echo "usage"
for part in 2/2 1 auto/2 1/0 x/2; do
    code=0
    embed lines.txt -o a.npy --part $part || code=$?
    echo $code
done
for arguments in "--part 0/2" "--join" "--join -o a.npy lines.txt" "--join -o a.npy --dims 3" \
    "--part 0/2 --join -o a.npy" "--part 0/2 -o a.npy --precision int8" \
    "--part 0/2 -o a.npy --precision int8 --calibrate lines.txt --save-ranges r.json"; do
    code=0
    # shellcheck disable=SC2086
    "$AOE" embed $arguments || code=$?
    echo $code
done
fails embed -o a.npy --part 0/2 <lines.txt
fails embed -o a.npy --part 0/2 lines.txt - <lines.txt
fails "$AOE" embed -q --join -o nothing.npy

echo "mismatches"
# Each case begins with two complete parts of m.npy.
two() {
    rm -f m.npy*
    embed lines.txt -o m.npy --part 0/2
    embed lines.txt -o m.npy --part 1/2
}
two
rm m.npy.part-1-of-2.json
fails "$AOE" embed -q --join -o m.npy
embed lines.txt -o m.npy --part 0/3
fails "$AOE" embed -q --join -o m.npy
two
fails embed lines.txt -o m.npy --part 1/2 --dims 8
fails embed more.tsv.gz -o m.npy --part 1/2 2>message
sed 's/"[0-9a-f]\{16\}"/HASH/g' message >&2
two
rm m.npy.part-1-of-2*
embed lines.txt -o m.npy --part 1/2 --prompt 'query: {text}'
fails "$AOE" embed -q --join -o m.npy
tiny_model other --seed 7
rm m.npy.part-1-of-2*
"$AOE" embed -q -m other lines.txt -o m.npy --part 1/2
fails "$AOE" embed -q --join -o m.npy 2>message
sed 's/"[0-9a-f]\{16\}"/HASH/g' message >&2
rm m.npy.part-1-of-2*
AOE_CPU=c embed lines.txt -o m.npy --part 1/2
fails "$AOE" embed -q --join -o m.npy 2>message
sed 's/"[a-z0-9]*" in/CPU in/' message >&2
two
poke m.npy.part-1-of-2 200 'x'
fails "$AOE" embed -q --join -o m.npy 2>message
sed 's/hash [0-9a-f]*/hash HASH/g' message >&2
is_absent m.npy
two
poke m.npy.part-0-of-2 9000 'x'
embed lines.txt -o m.npy --part 0/2 # the size differs, so the part is computed again
"$AOE" embed -q --join -o m.npy
embed lines.txt -o whole.npy
cmp whole.npy m.npy
