#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh: tests the Python package (`make check-python`):
#     tests    pytest with Python's development mode, and with the library in BUILD; nbmake runs the notebook
#     types    mypy --strict and pyright
#     wheel    tests/python/wheel.sh with the wheel in dist
# With SAN, the library and the program in BUILD have sanitizers, whose runtime is loaded before Python, and only the
# tests run. Python itself is not instrumented and frees little at its end, so the search for leaks is off. With
# SAN=thread, tests that fork (test_processes.py) do not run.
#
# The virtual environment is created once in build/python/venv. Prints SKIP if PyPI cannot be reached. The last line
# contains the totals.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${BUILD:-build} venv=$PWD/build/python/venv packages=$PWD/build/python/packages
pip() { "$venv/bin/pip" --disable-pip-version-check -q "$@"; }

# A file `done` in the environment has the contents of requirements.txt if all packages were installed.
if ! cmp -s tests/python/requirements.txt "$venv/done"; then
    rm -rf "$venv" "$packages"
    python3 -m venv "$venv"
    if ! pip download --no-deps -d "$packages" setuptools >"$venv/log" 2>&1; then
        echo "SKIP: PyPI cannot be reached: $(tail -n 1 "$venv/log")"
        exit 0
    fi
    pip install -r tests/python/requirements.txt
    pip download --no-deps -d "$packages" "$(grep '^numpy==' tests/python/requirements.txt)"
    cp tests/python/requirements.txt "$venv/done"
fi

export AOE=$PWD/$build/aoe AOE_LIBRARY=$PWD/$build/libaoe.so PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1
log=$PWD/$build/python-tests
options=()
preload=
case ${SAN-} in
*address*)
    preload=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libstdc++.so)
    export ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
    ;;
*thread*)
    preload=$(gcc -print-file-name=libtsan.so)
    export TSAN_OPTIONS="halt_on_error=0 exitcode=66 report_signal_unsafe=0"
    options=(--ignore tests/python/test_processes.py)
    ;;
esac
[ -n "${SAN-}" ] || options=(--nbmake --nbmake-timeout=300 examples/notebook.ipynb)
code=0
env ${preload:+LD_PRELOAD="$preload"} "$venv/bin/python" -X dev -m pytest -q -p no:cacheprovider "${options[@]}" \
    tests/python >"$log" 2>&1 || code=$?
total=$(grep -E '^[0-9]+ (passed|failed).* in ' "$log" | tail -n 1 || true)
count() { grep -oE "[0-9]+ $1" <<<"$total" | grep -oE '[0-9]+' || echo 0; }
failed=$(($(count failed) + $(count error)))
if [ $code != 0 ] || grep -qE 'ERROR: AddressSanitizer|WARNING: ThreadSanitizer|runtime error:' "$log"; then
    cat "$log"
    [ "$failed" != 0 ] || failed=1
fi
if [ -z "${SAN-}" ]; then
    "$venv/bin/mypy" || failed=$((failed + 1))
    "$venv/bin/pyright" --pythonpath "$venv/bin/python" || failed=$((failed + 1))
    tests/python/wheel.sh dist || failed=$((failed + 1))
fi
echo "python: $(count passed) passed, $failed failed, $(count skipped) skipped"
[ $failed = 0 ]
