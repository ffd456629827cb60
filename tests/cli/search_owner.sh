# SPDX-License-Identifier: MIT
# Tests that an index of another user is not used unless it is named: its owner could let it read files of this user,
# and read their texts in it.
[ "$(id -u)" = 0 ] || {
    echo "SKIP: only the superuser can give files to another user"
    exit 77
}
. "$SRC/tests/cli/support/model.sh"
word_model model
AOE_MODEL=$PWD/model
export AOE_MODEL
here=$PWD
hide() { sed "s|$here|PWD|g"; }
mkdir -p private own/shared/folder own/notes
printf 'The secret wolf.\n' >private/wolf.txt
printf 'The cat.\n' >own/notes/cat.txt
cd own/shared
"$AOE" index -q ../../private >/dev/null
chown 65534 .aoe-index .aoe-index/*
printf 'A new secret tiger.\n' >"$here/private/tiger.txt"
# Found automatically: it is not used.
cd folder
("$AOE" search --mode lexical tiger 2>&1 || echo "exit $?") | hide
("$AOE" get tiger.txt 2>&1 || echo "exit $?") | hide
fails "$AOE" index 2>&1 | hide
fails "$AOE" index --stats 2>&1 | hide
cd ..
("$AOE" search --mode lexical tiger 2>&1 || echo "exit $?") | hide
fails "$AOE" index -q "$here/private" 2>&1 | hide
# The nearest index of the user or of root is used instead.
(cd "$here/own" && "$AOE" index -q notes >/dev/null)
(cd folder && "$AOE" search --mode lexical --files cat) 2>&1 | hide
# Named: it is used, but does not read files outside the folder that contains it.
"$AOE" search -i .aoe-index --mode lexical --files tiger 2>&1 | hide
"$AOE" search -i .aoe-index --mode lexical --files --refresh never wolf 2>&1 | hide
"$AOE" index -q -o .aoe-index 2>&1 | hide
"$AOE" search -i .aoe-index --mode lexical --files --refresh never tiger 2>&1 || echo "exit $?"
# The owners of the database and of a link count too.
chown 0 .aoe-index
fails "$AOE" index --stats 2>&1 | hide | head -n 1
chown 0 .aoe-index/*
"$AOE" search --mode lexical --files tiger | sed 's|.*/||'
mv .aoe-index real
ln -s real .aoe-index
chown -h 65534 .aoe-index
fails "$AOE" index -q notes 2>&1 | hide
chown -h 0 .aoe-index
"$AOE" search -i .aoe-index --mode lexical --files wolf | sed 's|.*/||'
