#!/bin/sh
# SPDX-License-Identifier: MIT
# sysroot.sh ARCH DIR PACKAGE...: downloads Debian packages of another architecture, such as arm64, with their
# dependencies, and unpacks them into DIR, the system root of a cross-compiler and of qemu-user. The packages of this
# machine do not change, and no root privileges are required. Does nothing if DIR already contains these packages.
set -eu
arch=$1 dir=$2
shift 2
command -v apt-get >/dev/null || { echo "sysroot: apt-get is not available; unpack these $arch packages into $dir: $*" \
    >&2; exit 1; }
[ "$(cat "$dir/packages" 2>/dev/null)" != "$*" ] || exit 0
rm -rf "$dir"
mkdir -p "$dir/apt/state/lists/partial" "$dir/apt/cache/archives/partial"
: >"$dir/apt/status"
apt="$(cd "$dir" && pwd)/apt"
# apt with its own lists and its own empty list of installed packages
get() {
    apt-get -qq -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o Dir::State="$apt/state" \
        -o Dir::State::status="$apt/status" -o Dir::Cache="$apt/cache" -o APT::Sandbox::User= "$@"
}
get update
get install -y --no-install-recommends --download-only "$@" >/dev/null
for package in "$apt"/cache/archives/*.deb; do
    dpkg-deb -x "$package" "$dir"
done
# Absolute links of the packages would point to the libraries of this machine.
find "$dir" -type l -lname '/*' | while IFS= read -r link; do
    ln -sfnr "$dir$(readlink "$link")" "$link"
done
rm -rf "$apt"
echo "$*" >"$dir/packages"
