# SPDX-License-Identifier: MIT
# Tests `aoe search` and `aoe get` in an index on a file system that is mounted read-only, and after it is mounted for
# writing again.
[ "$(id -u)" = 0 ] || { echo "SKIP: mounting a file system needs root"; exit 77; }
mkdir disk
unshare -m mount -t tmpfs none disk 2>/dev/null || { echo "SKIP: this system does not allow a mount"; exit 77; }
. "$SRC/tests/cli/support/model.sh"
word_model model
AOE_MODEL=$PWD/model
export AOE_MODEL
cat >mounted.sh <<'END'
mount -t tmpfs none disk
mkdir disk/notes
printf 'The cat sleeps.\n' >disk/notes/pets.md
cd disk
"$AOE" index -q notes >/dev/null
mount -o remount,ro .
if touch file 2>/dev/null; then echo "the file system is not read-only"; fi
"$AOE" search --files cat
"$AOE" search --files --mode lexical cat
"$AOE" search --refresh always cat || echo "exit $?"
"$AOE" get pets.md
"$AOE" index --stats --json | grep -o '"documents":1'
"$AOE" index --verify
"$AOE" index -q || echo "exit $?"
"$AOE" index --compact || echo "exit $?"
ls -A .aoe-index
mount -o remount,rw .
printf 'The puppy sleeps.\n' >notes/puppy.md
"$AOE" search --files --mode lexical puppy
END
unshare -m sh -eu mounted.sh
