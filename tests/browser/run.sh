#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# run.sh DIR [OPTION...]: tests the web page of the server in Chromium (tests/browser/test_*.py). The options are those
# of pytest. DIR receives the Python packages of requirements.txt, once. BUILD/browser receives axe-core, which npm
# downloads, and pictures of the page. If Chromium, its driver, npm or a download is missing, a line that starts with
# SKIP: says so, and the exit code is 0. Chromium runs as root only without its sandbox, so the tests load only pages of
# servers that they start.
set -euo pipefail
cd "$(dirname "$0")/../.."
dir=${1:?usage: run.sh DIR [OPTION...]} out=${BUILD:-build}/browser axe=axe-core@4.14.1
shift
skip() { echo "SKIP: $1"; exit 0; }
for program in chromium chromedriver; do
    command -v "$program" >/dev/null ||
        skip "$program is not installed; install it with apt-get install chromium chromium-driver"
done
command -v npm >/dev/null || skip "npm is not installed; install it with apt-get install npm"
mkdir -p "$dir" "$out"
if ! cmp -s tests/browser/requirements.txt "$dir/installed"; then
    python3 -m venv "$dir/venv" && "$dir/venv/bin/pip" --disable-pip-version-check --quiet install \
        -r tests/browser/requirements.txt || skip "the Python packages of requirements.txt cannot be installed"
    cp tests/browser/requirements.txt "$dir/installed"
fi
if [ ! -e "$out/package/axe.min.js" ]; then
    (cd "$out" && tar xzf "$(npm pack --silent "$axe")") || skip "npm cannot download $axe"
fi
AOE_BROWSER_OUT=$(cd "$out" && pwd)
AOE=$(cd "${BUILD:-build}" && pwd)/aoe
export AOE AOE_BROWSER_OUT PYTHONDONTWRITEBYTECODE=1
exec "$dir/venv/bin/python" -m pytest -q -p no:cacheprovider tests/browser "$@"
