# SPDX-License-Identifier: MIT
# Tests that documents, names and queries of an attacker do no harm: queries are never SQL or FTS5 syntax, control
# characters are printed as escapes, and files outside the folder, FIFOs and devices are not read.
. "$SRC/tests/cli/support/model.sh"
word_model model
AOE_MODEL=$PWD/model
export AOE_MODEL
esc=$(printf '\033') bell=$(printf '\007') csi=$(printf '\302\233') bidi=$(printf '\342\200\256')
mkdir notes
printf '# Head%s[31mred %s\n\nThe cat %s]0;title%s and %s31m and %scod.\n' \
    "$esc" "$bidi" "$esc" "$bell" "$csi" "$bidi" >notes/escape.md
printf 'The secret wolf.\n' >secret.txt
ln -s ../secret.txt notes/link.txt
ln -s /etc/passwd notes/passwd.txt
ln -s /dev/zero notes/zero.txt
ln -s .. notes/up
mkfifo notes/fifo.txt
printf 'The puppy.\n' >"notes/name$esc[31m.txt"
printf '*.md=rm -rf .\n' >notes/.aoefilter
timeout 60 "$AOE" index -q notes 2>err
sed "s|$PWD|PWD|" err
"$AOE" search --mode lexical --files secret || echo "exit $?"
"$AOE" search --mode lexical --files root || echo "exit $?"
# No output contains a control character.
check_output() {
    "$AOE" search --refresh never "$@" >out 2>&1 || echo "exit $?"
    LC_ALL=C grep -cP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]|\xe2\x81[\xa6-\xa9]' out || true
}
check_output cat
check_output --json cat
check_output --jsonl --explain cat
check_output --snippet 0 "cat$esc[31m"
printf 'cat%s\n' "$csi" | check_output -
"$AOE" search --refresh never --mode lexical cat
# The same in the names and the metadata of a table.
printf 'key\ttext\tcolor\na%s[31m\tthe cat\tred%s\n' "$esc" "$bidi" >table.tsv
"$AOE" index -q -o t.index table.tsv --id-column key
check_output -i t.index cat
check_output -i t.index --json cat
check_output -i t.index --files cat
"$AOE" get -i t.index "name$esc[31m:1" 2>&1 | LC_ALL=C grep -c "$esc" || true
"$AOE" index -o t.index --export jsonl | LC_ALL=C grep -c "$bidi" || true
# A copied index, for example in a cloned repository, does not make aoe read files outside its folder.
mkdir clone
cp -r .aoe-index clone
printf 'A private tiger.\n' >notes/private.txt
(cd clone && "$AOE" search --mode lexical --files private) || echo "exit $?"
"$AOE" search -i clone/.aoe-index --mode lexical --files private || echo "exit $?"
(cd clone && "$AOE" index -q)
"$AOE" index -q -o clone/.aoe-index
(cd clone && "$AOE" search --mode lexical --files private) || echo "exit $?"
# The model of a copied index is not opened if it is in the same folder, which can contain links to devices.
mkdir -p project/docs
cp -r model project/model
printf 'The cat.\n' >project/docs/cat.txt
(cd project && "$AOE" index -q -m model docs && "$AOE" search --files cat)
mv project original
cp -r original project
rm project/model/vocab.txt
mkfifo project/model/vocab.txt
printf 'The new wolf.\n' >project/docs/wolf.txt
(
    cd project
    timeout 60 "$AOE" search --files cat 2>../err || echo "exit $?"
    timeout 60 "$AOE" index >/dev/null 2>>../err || echo "exit $?"
    "$AOE" search --mode lexical --files cat 2>>../err
    "$AOE" search -q -m ../model --files wolf
)
sed "s|$PWD|PWD|" err
# The name of the model is also text from the index.
cp -r model "model$esc[31m"
"$AOE" index -q -o m.index table.tsv -m "model$esc[31m" >/dev/null
"$AOE" index -o m.index --stats >out
LC_ALL=C grep -c "$esc" out || true
"$AOE" index -o m.index --stats --json >out
LC_ALL=C grep -c "$esc" out || true
# Queries are words.
for query in '" OR 1=1 --' 'NEAR(' 'NEAR(cat dog, 2)' '*' 'cat*' '^cat' 'w:cat' '{w}:cat' 'cat AND' 'NOT cat' '"' "'" \
    "';DROP TABLE passages;--" '(' '-cat' '+' '\' '%' 'cat; ATTACH' "$(printf '\377\376')" "$esc"; do
    code=0
    "$AOE" search --refresh never --mode lexical --files -q -- "$query" >out 2>err || code=$?
    printf '%s: exit %s, %s lines\n' "$query" $code "$(wc -l <out)" | LC_ALL=C sed 's/[^ -~]/?/g'
    cat err
done
for where in "a = 1; DROP TABLE fields" "a = 'x' OR 1=1" "a = \"" "a LIKE '%" "(a = 1" "a = 1)" "1" ""; do
    code=0
    "$AOE" search --refresh never --mode lexical --files -q --where "$where" cat >out 2>err || code=$?
    printf '%s: exit %s, %s lines\n' "$where" $code "$(wc -l <out)"
    cat err
done
"$AOE" index -q --verify
