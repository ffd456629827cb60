#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh DIR [NAME...]: tests each adapter of the Python package with the real package, at a pinned version, in a
# virtual environment of its own, DIR/NAME. NAME is the part of requirements-NAME.txt between - and .txt; without
# names, all are tested. It needs python3 with the module venv, access to PyPI for packages that are not installed yet,
# and libaoe.so ($AOE_LIBRARY, or build/libaoe.so).
#   PYTHON=PROGRAM  the interpreter of new environments (default: python3)
# A package that PyPI does not have is skipped with a message. If a test or an installation fails, the exit code is 1.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)
dir=${1:?usage: run.sh DIR [NAME...]}
shift
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
if [ $# -eq 0 ]; then
    for file in "$here"/requirements-*.txt; do
        name=${file##*/requirements-}
        set -- "$@" "${name%.txt}"
    done
fi

export AOE_LIBRARY=${AOE_LIBRARY:-$root/build/libaoe.so}
[ -e "$AOE_LIBRARY" ] || { echo "run.sh: $AOE_LIBRARY does not exist; run make lib" >&2; exit 1; }
# no test needs a network: a model that is not on this machine is an error. No package sends statistics of its use.
export PYTHONPATH=$root/python:$root/tests/python PYTHONDONTWRITEBYTECODE=1 HF_HUB_OFFLINE=1 HF_DATASETS_OFFLINE=1
export ANONYMIZED_TELEMETRY=False HAYSTACK_TELEMETRY_ENABLED=False DO_NOT_TRACK=1 TOKENIZERS_PARALLELISM=false

# install NAME: creates DIR/NAME unless it was created with the same requirements. Returns 2 if PyPI lacks a version.
install() {
    local requirements=$here/requirements-$1.txt venv=$dir/$1
    cmp -s "$requirements" "$venv/installed" && return 0
    [ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv" || return 1
    if ! "$venv/bin/pip" --disable-pip-version-check --quiet install -r "$requirements" >"$venv/install.log" 2>&1; then
        grep -q "No matching distribution found\|Could not find a version" "$venv/install.log" && return 2
        tail -5 "$venv/install.log" >&2
        return 1
    fi
    cp "$requirements" "$venv/installed"
}

passed=0 failed=0 skipped=0
for name in "$@"; do
    if [ ! -e "$here/requirements-$name.txt" ]; then
        echo "run.sh: there is no adapter $name" >&2
        exit 1
    fi
    install "$name"
    case $? in
        0) ;;
        2)
            echo "SKIP $name: $(grep -m 1 "No matching distribution\|Could not find" "$dir/$name/install.log")"
            skipped=$((skipped + 1))
            continue ;;
        *)
            echo "FAIL $name: the installation failed"
            failed=$((failed + 1))
            continue ;;
    esac
    version=$(grep -m 1 == "$here/requirements-$name.txt")
    if output=$("$dir/$name/bin/python" -m pytest -q -p no:cacheprovider --confcutdir="$here" \
        "$here/test_$name.py" 2>&1); then
        echo "ok   $name ($version): $(tail -n 1 <<<"$output")"
        passed=$((passed + 1))
    else
        echo "FAIL $name ($version)"
        tail -n 60 <<<"$output"
        failed=$((failed + 1))
    fi
done
echo "$((passed + failed + skipped)) adapters: $passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ]
