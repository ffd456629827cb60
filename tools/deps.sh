#!/bin/sh
# SPDX-License-Identifier: MIT
# deps.sh PACKAGE...: installs the given Debian packages. Prints nothing if all of them are already installed.
set -eu

find_missing() { # find_missing PACKAGE...: sets missing to the packages that are not installed; exits if there are none
    missing=
    for p in "$@"; do
        dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q '^install ok installed' || missing="$missing $p"
    done
    [ -n "$missing" ] || exit 0
}

find_missing "$@"
# make builds several targets at a time, and apt-get fails if another apt-get is running, so only one instance of this
# script installs packages at a time. If the file system does not support locks, the script does not wait.
exec 9<"$0"
if command -v flock >/dev/null && ! flock -n 9 2>/dev/null; then
    flock 9 2>/dev/null || true
    find_missing "$@"
fi
sudo=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null ||
        { echo "deps: installing packages requires root; run as root: apt-get install$missing" >&2; exit 1; }
    sudo=sudo
fi
command -v apt-get >/dev/null || { echo "deps: apt-get is not available; install these packages:$missing" >&2; exit 1; }
echo "installing:$missing"
$sudo apt-get update -qq
# shellcheck disable=SC2086
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
