#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# wheel.sh DIR: builds the sdist and the wheel of aoe-embeddings with the standard front end `build`, copies the
# libraries that libaoe needs into the wheel, checks its platform tag with auditwheel, and writes both files to DIR.
# `make wheel` runs it after the files of the package were built.
#
# The virtual environment with the tools is created once in build/python/tools. BUILD, CROSS and SYSROOT are the
# variables of the Makefile.
set -euo pipefail
cd "$(dirname "$0")/../.."
dist=$1 work=${BUILD:-build}/python/wheel
tools=build/python/tools
platform=manylinux_2_34_$(if [ -n "${CROSS-}" ]; then echo "${CROSS%%-*}"; else uname -m; fi)

# A file `done` in the environment has the contents of requirements.txt if all packages were installed.
if ! cmp -s packaging/python/requirements.txt $tools/done; then
    rm -rf $tools
    python3 -m venv $tools
    $tools/bin/pip --disable-pip-version-check install -q -r packaging/python/requirements.txt
    cp packaging/python/requirements.txt $tools/done
fi

rm -rf "$work"
mkdir -p "$work" "$dist"
# The backend requires no packages, so the environment needs no isolation and the build no network.
BUILD=${BUILD-} CROSS=${CROSS-} \
    $tools/bin/python -m build --no-isolation --sdist --wheel -o "$work" . >"$work/log" 2>&1 ||
    { cat "$work/log" && exit 1; }
# auditwheel finds the libraries of another architecture in the system root.
[ -z "${SYSROOT-}" ] || export AUDITWHEEL_LD_LIBRARY_PATH=$PWD/$SYSROOT/usr/lib/$CROSS:$PWD/$SYSROOT/lib/$CROSS
# auditwheel chooses the tag with the oldest glibc that has all symbols; it accepts other names only for this machine.
PATH=$PWD/$tools/bin:$PATH $tools/bin/auditwheel repair --plat auto --only-plat -w "$work/repaired" "$work"/*.whl \
    >"$work/log" 2>&1 || { cat "$work/log" && exit 1; }
if ! ls "$work"/repaired/*-"$platform".whl >/dev/null 2>&1; then
    echo "wheel: the tag of the wheel is not $platform; build it on Debian 12:" "$work"/repaired/*
    exit 1
fi
rm -f "$dist"/aoe_embeddings-*
cp "$work"/repaired/*.whl "$work"/*.tar.gz "$dist"
ls -sh "$dist"/aoe_embeddings-*
