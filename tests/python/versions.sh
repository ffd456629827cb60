#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# versions.sh DIR [VERSION...]: tests the wheel in DIR with several versions of Python (`make check-versions`), such as
# 3.14; without VERSION, with 3.10 to 3.15. For each version:
#     wheel    tests/python/wheel.sh: the wheel is installed without network and checked outside of the source tree
#     tests    the tests in tests/python with Python's development mode, and with the installed wheel;
#              test_packaging.py is left out, because it builds the source tree
# An interpreter is pythonVERSION in PATH or, if this script runs as root, the one of Debian unstable, which debootstrap
# installs once into build/python/unstable and updates with apt. A version that neither has is skipped with a message.
# numpy, pandas and pytest come from PyPI, at the versions in requirements.txt or, if it exists, in
# requirements-VERSION.txt. The last line contains the totals.
#   MIRROR=URL  the Debian mirror (default: the one in the apt configuration)
set -euo pipefail
cd "$(dirname "$0")/../.."
dist=$1
shift
[ $# -gt 0 ] || set -- 3.10 3.11 3.12 3.13 3.14 3.15
root=$PWD/build/python/unstable work=$PWD/build/python/versions
wheels=("$dist"/aoe_embeddings-*-py3-none-*_"$(uname -m)".whl)
[ -f "${wheels[0]}" ] || { echo "versions: $dist contains no wheel; run make wheel" && exit 1; }
mkdir -p "$work"
tests_passed=0 failed=0 skipped=0
names="exceptiongroup|iniconfig|numpy|packaging|pandas|pluggy|Pygments|pytest|python-dateutil|pytz|six|tomli"
names+="|typing_extensions|tzdata"

# Prints the reason why Debian unstable cannot be installed, or installs it.
install_unstable() {
    [ "$(id -u)" = 0 ] || { echo "debootstrap requires root" && return 1; }
    command -v debootstrap >/dev/null || { echo "debootstrap is missing; run make deps-versions" && return 1; }
    if [ ! -e "$root/installed" ]; then
        local mirror=${MIRROR:-$(grep -rhoE 'https?://[^ ]*debian/?( |$)' /etc/apt/sources.list \
            /etc/apt/sources.list.d 2>/dev/null | head -n 1 | tr -d ' ')}
        rm -rf "$root"
        debootstrap --variant=minbase sid "$root" "${mirror:-http://deb.debian.org/debian}" \
            >"$work/unstable.log" 2>&1 || { tail -n 1 "$work/unstable.log" && return 1; }
        touch "$root/installed"
    fi
}

# inside COMMAND...: runs COMMAND in Debian unstable, with the source tree in /aoe, which cannot be changed there. The
# mounts belong to a namespace of their own, and end with the command.
inside() {
    unshare --mount bash -c 'root=$1 && shift && mkdir -p "$root/aoe" && mount --bind "$PWD" "$root/aoe" &&
        mount -o remount,ro,bind "$root/aoe" && mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" &&
        mount --rbind /sys "$root/sys" && exec chroot "$root" env -i HOME=/root LANG=C.UTF-8 \
            PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"' _ "$root" "$@"
}

# packages VERSION: downloads the packages for VERSION to build/python/versions/VERSION, once per list of packages
packages() {
    local list=tests/python/requirements-$1.txt
    [ -e "$list" ] || list=tests/python/requirements.txt
    grep -E "^($names)==" "$list" >"$work/$1.txt"
    cmp -s "$work/$1.txt" "$work/$1/done" && return 0
    rm -rf "${work:?}/$1"
    build/python/tools/bin/pip --disable-pip-version-check -q download --no-deps --only-binary=:all: \
        --python-version "$1" -d "$work/$1" -r "$work/$1.txt" && cp "$work/$1.txt" "$work/$1/done"
}

# The commands for one version: $1 is the interpreter, $2 the wheel, $3 the folder of the packages.
cat >"$work/test.sh" <<'END'
set -euo pipefail
PACKAGES=$3 tests/python/wheel.sh "$(dirname "$2")" "$1"
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
"$1" -m venv "$directory/venv"
"$directory/venv/bin/pip" --disable-pip-version-check -q install --no-index --find-links "$3" "$2" pandas pytest
unset AOE_LIBRARY AOE_MODEL PYTHONPATH
AOE=$("$directory/venv/bin/python" -c 'import aoe, os; print(os.path.dirname(aoe.__file__) + "/bin/aoe")') \
    PYTHONDONTWRITEBYTECODE=1 "$directory/venv/bin/python" -X dev -m pytest -q -p no:cacheprovider \
        --ignore tests/python/test_packaging.py tests/python
END

options="-o Acquire::Check-Valid-Until=false" # a mirror may be a copy of an earlier day
for version in "$@"; do
    code=0
    if command -v "python$version" >/dev/null && "python$version" -c 'import ensurepip' 2>/dev/null; then
        where="of this machine"
        run() { bash "$work/test.sh" "python$version" "${wheels[0]}" "$work/$version"; }
    elif ! reason=$(install_unstable); then
        echo "SKIP $version: this machine has no python$version with venv, and $reason"
        skipped=$((skipped + 1))
        continue
    elif ! inside sh -c "apt-get $options update && apt-get install -y --no-install-recommends python$version-venv" \
        >"$work/apt.log" 2>&1; then
        echo "SKIP $version: neither this machine nor Debian unstable has it:" \
            "$(grep -m 1 '^E:' "$work/apt.log" || tail -n 1 "$work/apt.log")"
        skipped=$((skipped + 1))
        continue
    else
        where="of Debian unstable"
        run() { inside sh -c "cd /aoe && bash build/python/versions/test.sh python$version ${wheels[0]} \
            /aoe/build/python/versions/$version"; }
    fi
    if ! packages "$version"; then
        echo "FAIL $version: its packages could not be downloaded"
        failed=$((failed + 1))
        continue
    fi
    run >"$work/$version.log" 2>&1 || code=$?
    total=$(grep -E '^[0-9]+ (passed|failed).* in ' "$work/$version.log" | tail -n 1 || true)
    tests_passed=$((tests_passed + $(grep -oE '[0-9]+ passed' <<<"$total" | grep -oE '[0-9]+' || echo 0)))
    if [ $code = 0 ]; then
        grep -E '^import: ' "$work/$version.log"
        echo "ok   $(grep -oE '^Python 3[^:]*' "$work/$version.log" | tail -n 1) $where: $total"
    else
        tail -n 100 "$work/$version.log"
        echo "FAIL $version $where"
        failed=$((failed + 1))
    fi
done
echo "python versions: $tests_passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]
