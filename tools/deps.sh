#!/bin/sh
# SPDX-License-Identifier: MIT
# deps.sh PACKAGE...: installs the given Debian packages. Prints nothing if all of them are already installed.
set -eu
# `make -j` can run several goals that install packages, but apt-get fails if another apt-get is running.
exec 9<"$0"
! command -v flock >/dev/null || flock 9
missing=
for p in "$@"; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q '^install ok installed' || missing="$missing $p"
done
[ -n "$missing" ] || exit 0
sudo=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "deps: installing packages requires root; run as root: apt-get install$missing" >&2; exit 1; }
    sudo=sudo
fi
command -v apt-get >/dev/null || { echo "deps: apt-get is not available; install these packages:$missing" >&2; exit 1; }
echo "installing:$missing"
$sudo apt-get update -qq
# shellcheck disable=SC2086
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
