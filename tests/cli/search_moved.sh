# SPDX-License-Identifier: MIT
# Tests an index that was copied or moved to another place, which becomes an ordinary index again when the user gives
# all of its sources, and an index that is a symbolic link.
. "$SRC/tests/cli/support/model.sh"
word_model model
top=$PWD
hide() { sed "s|$top|PWD|g"; }
index() { "$AOE" index -q "$@" 2>&1 >/dev/null | hide; }
search() {
    code=0
    "$AOE" search --mode lexical --files "$@" >out 2>err || code=$?
    cat err out | hide
    [ $code = 0 ] || echo "exit $code"
}
mkdir -p project/notes outside other
printf 'The cat.\n' >project/notes/a.txt
printf 'The dog.\n' >outside/b.txt
printf 'The cow.\n' >other/c.txt
(cd project && index -m ../model notes ../outside ../other)
mkdir moved
cp -a project/.aoe-index moved
# A copy does not read changes of its sources elsewhere, also if one of them is given.
printf 'The puppy.\n' >outside/d.txt
search -i moved/.aoe-index puppy
index -o moved/.aoe-index outside other
printf 'The puppy.\n' >project/notes/e.txt
search -i moved/.aoe-index puppy
# All sources are given: the index and its model belong to this place.
cp -r model model2
index -m model2 -o moved/.aoe-index outside other project/notes
"$AOE" index -o moved/.aoe-index --stats --json | grep -o 'model[0-9]*"'
printf 'The wolf.\n' >other/f.txt
search -i moved/.aoe-index wolf
search -i moved/.aoe-index puppy
(cd moved && search wolf)
"$AOE" index -o moved/.aoe-index --verify | hide
# The original index has not changed, and is still used as before.
search -i project/.aoe-index wolf
# A moved folder: its old path is removed, and its new path is given.
mkdir single
printf 'The cat.\n' >single/a.txt
(cd single && index -m ../model .)
cp -a single renamed # as mv does between file systems
rm -r single
(cd renamed && index .)
(cd renamed && search cat)
"$AOE" index -q -o renamed/.aoe-index --remove single
(cd renamed && index .)
(cd renamed && search cat)
# A link that a folder contains is not followed, unless the user names it.
mkdir clone
ln -s ../moved/.aoe-index clone/.aoe-index
printf 'The tiger.\n' >clone/g.txt
(cd clone && search cat)
(cd clone && index .)
(cd clone && index)
(cd clone && "$AOE" get c.txt 2>&1) || echo "exit $?"
(cd clone && mkdir sub && cd sub && search cat)
(cd clone && search -i .aoe-index wolf)
(cd clone && index -o .aoe-index)
ln -s missing/.aoe-index project/notes/.aoe-index
(cd project/notes && index .)
