# SPDX-License-Identifier: MIT
# Tests recipes/overlaps with made-up texts: which rows overlap the texts of test sets, which files are read, and the
# selection set. overlaps_json.sh tests JSON files.
overlaps=$SRC/recipes/overlaps
AWK=${AWK:-$(command -v mawk || command -v awk)} || { echo "SKIP: awk is not installed"; exit 77; }
export AWK
without() { # without ROWS [OPTION...]: the rows that are kept and the counts
    rows=$1
    shift
    "$AWK" -v name=rows "$@" -f "$overlaps/without.awk" texts "$rows" 2>counts
    cat counts
}
mkdir -p tests/STS12-en-test tests/beir/qrels
printf 'A man is playing the flute.\tIt'"'"'s raining in the old town' >tests/STS12-en-test/STS.input.words.txt
printf '5\n' >tests/STS12-en-test/STS.gs.words.txt
printf 'd1\tWing flow\tPressure on a wing.\tWing flow pressure on a wing.\n' | gzip >tests/beir/corpus.tsv.gz
printf 'query-id\tcorpus-id\tscore\nq1\td1\t1\n' >tests/beir/qrels/test.tsv
printf 'score\tsentence1\tsentence2\n1\tShort text\tthe quick &amp; lazy red fox\n' >tests/pairs.tsv
printf 'The text of this file is not data.\n' >tests/README.md
echo "== texts"
"$overlaps/test_texts.sh" tests | tee texts

echo "== equal texts of any length, and five words or more that contain a text or are contained in one"
cat >rows.tsv <<'END'
A man is playing the flute!
a manis playing theflute
Yesterday a man is playing the flute in the park.
The man is playing the flute.
man is playing the flute
is playing the flute
SHORT TEXT
A short text about nothing
Its raining in the old town
it 's raining in the old town again
The quick and lazy red fox
The quick lazy red fox
Wing flow pressure on a wing
pressure on a wing
flow pressure on a wing
definition of rain: its raining in the old towns
free	A man is playing the flute
END
without rows.tsv
echo "== long and short texts, and texts with the same beginning"
cat >>texts <<'END'
an old fisherman repairs his wooden boat near the harbour
an old fisherman repairs his nets
an old fisherman waits
a b c d e f
END
cat >long.tsv <<'END'
See an old fisherman repairs his wooden boat near the harbour at dawn.
An old fisherman repairs his wooden boat near the lake
An old fisherman repairs his nets at dawn.
old fisherman repairs his wooden boat
old fisherman repairs his wooden bench
old fisherman repairs his wood
fisher man repairs his nets now
old fisherman repairs his ne ts
s raining in the old
s raining in the new
an old fisherman waits for a customer
x a b c d e f g h
b c d e f
b c d e g
END
without long.tsv
echo "== equality only, not for short columns, from the second column on"
without rows.tsv -v least=0 -v shortest=12 -v from=1
printf 'a man is playing the flute\tother\n' >second.tsv
without second.tsv -v from=2

echo "== errors"
code=0
printf 'PK' >tests/data.xlsx
"$overlaps/test_texts.sh" tests >/dev/null 2>errors || code=$?
cat errors
echo "exit code $code"
"$overlaps/test_texts.sh" missing 2>&1 || echo "exit code $?"
printf 'no gzip\n' >bad.tsv.gz
"$overlaps/test_texts.sh" bad.tsv.gz 2>&1 | tail -n 1

echo "== selection set"
mkdir -p data/stsb data/sts12_14_15
mv tests data/sts12_14_15/senteval
rm data/sts12_14_15/senteval/data.xlsx
header='score\tsentence1\tsentence2\tgenre\tfile\tyear\tid\n'
{
    printf "$header"
    printf '1.0\tA plane lands on water\tA boat is in the sea\tcaptions\tMSRvid\t2012train\t1\n'
    printf '2.0\tA man is playing the flute.\tA woman sings\tcaptions\tMSRvid\t2012train\t2\n'
    printf '3.0\tA dog runs\tA cat runs\tcaptions\timages\t2014\t3\n'
} >data/stsb/dev.tsv
{
    printf "$header"
    printf '4.0\tA cook cuts onions\tOnions are cut\tcaptions\tMSRvid\t2012train\t1\n'
    printf '0.5\tShares fell\tA boat sinks slowly\tnews\tMSRpar\t2012train\t2\n'
} >data/stsb/train.tsv
{
    printf "$header"
    printf '0.5\tShares fell\tA car stops\tnews\tMSRpar\t2012train\t2\n'
} >data/stsb/test.tsv
AOE_DATA=data "$overlaps/selection.sh" selection.tsv
cat selection.tsv
ls selection.tsv*
rm data/stsb/test.tsv
AOE_DATA=data "$overlaps/selection.sh" selection.tsv 2>&1 || echo "exit code $?"
