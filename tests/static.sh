#!/bin/sh
# SPDX-License-Identifier: MIT
# static.sh: tests the static program (`make static`) in an empty root directory, if it runs as root: it needs no other
# file, writes its default model once, computes the vectors of build/aoe, and reports that it cannot load libraries.
set -eu
cd "$(dirname "$0")/.."
program=$PWD/build/package/static/aoe
[ "$(id -u)" = 0 ] || { echo "SKIP: an empty root directory requires root" && exit 0; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
cp "$program" "$root/aoe"
run() { env -i PATH="$PATH" chroot "$root" /aoe "$@"; }
texts=$(printf '%s\n' "She cooks rice." "She boils rice.")
for time in first second; do
    echo "$texts" | run embed - -q >"$root.vectors"
    echo "$texts" | build/aoe embed - -q -m models/aoe-small-en | cmp - "$root.vectors"
done
rm "$root.vectors"
[ "$(ls "$root" | wc -l)" = 2 ] || { echo "static: there are other files:" && ls "$root" && exit 1; }
folder=$(ls -d "$root"/aoe-small-en-*)
diff -r models/aoe-small-en "$folder"
# A changed or foreign folder is not used.
chmod 777 "$folder"
if echo "$texts" | run embed - -q >/dev/null 2>&1; then
    echo "static: a folder that everybody may write to was used" && exit 1
fi
chmod 700 "$folder"
! run serve 2>"$root/message" || exit 1
grep -q 'cannot load shared libraries' "$root/message"
! "$program" pull no-such/model 2>"$root/message" || exit 1
grep -q 'cannot load shared libraries' "$root/message"
echo "static: the program works in an empty root directory"
