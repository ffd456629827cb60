# SPDX-License-Identifier: MIT
# covers: cli/common/outfile
# Tests a full disk. The exit code must be 1, the message must be one line, and there may be no partial model or file.
# The test needs permission to mount a small file system.
. "$SRC/tests/cli/support/model.sh"
mkdir disk
if ! mount -t tmpfs -o size=200k none disk 2>/dev/null; then
    echo "SKIP: mounting a small file system is not permitted"
    exit 77
fi
trap 'umount disk' EXIT
tiny_model model
small_table data.tsv 40
awk 'BEGIN { for (i = 0; i < 3000; i++) print "line", i }' >lines.txt
fails "$AOE" embed -q -m model -o disk/vectors.jsonl lines.txt
fails "$AOE" embed -q -m model --format npy -o disk/vectors.npy lines.txt
ls -A disk
# If the ranges cannot be written, the embeddings are not written either.
fails "$AOE" embed -q -m model --precision int8 -o disk/vectors.jsonl lines.txt
head -c 300000 /dev/zero >disk/full 2>/dev/null || true
fails "$AOE" embed -q -m model --precision int8 --save-ranges disk/ranges.json -o vectors.npy lines.txt
ls -A disk
is_absent vectors.npy
rm disk/full
fails "$AOE" init -q --hidden 64 --layers 2 --vocab-from data.tsv --vocab-size 1000 -o disk/new
find disk | sort
rm -rf disk/*
# Training checks the free space for the first checkpoint before the first step. If the disk is full later, the run
# stops and keeps no partial file.
fails "$AOE" train -q -m model -d data.tsv -o disk/out
find disk | sort
mount -o remount,size=400k disk
fails "$AOE" train -q -m model -d data.tsv -o disk/out --save-every 1
find disk | sed 's/step-[0-9]*/step-N/' | sort
rm -rf disk/*
mount -o remount,size=200k disk
# The cache of a teacher contains no partial file, and a run with enough space continues.
rm -rf disk/*
"$AOE" init --quiet --hidden 64 --layers 1 --heads 2 --intermediate 32 --tokenizer model -o teacher
fails "$AOE" train -q -m model -d lines.txt -o out --method distill --teacher teacher --teacher-cache disk/cache
find disk | sort
is_absent out
mv disk/cache cache
"$AOE" train -q -m model -d lines.txt -o out --method distill --teacher teacher --teacher-cache cache \
    --max-steps 1 >/dev/null
find cache -type f | sed 's/[0-9a-f]\{16\}/KEY/'
