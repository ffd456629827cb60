#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# deb.sh BUILD DIR: builds two Debian packages from the files in BUILD and writes them to DIR, and checks them with
# lintian if it is installed:
#     aoe         the program, the library, the default model, the completions and the manual page
#     libaoe-dev  the headers, the static library and aoe.pc
# `make deb` runs it after the files of the packages were built.
set -euo pipefail
cd "$(dirname "$0")/../.."
build=$1 dist=$2
version=$(sed -n 's/^#define AOE_VERSION *"\(.*\)"/\1/p' include/aoe.h)-1
arch=$(dpkg --print-architecture)
libraries=usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
maintainer=${MAINTAINER:-aoe maintainers <maintainers@users.noreply.github.com>}
date=$(LC_ALL=C date -u -R -d "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}")
work=$build/deb
umask 022
rm -rf "$work"
mkdir -p "$work/debian" "$dist"

# Both packages start with the files that `make install` copies, without debug information.
env -u MAKEFLAGS -u MFLAGS make -s BUILD="$build" install DESTDIR="$PWD/$work/aoe" PREFIX=/usr >"$work/log" 2>&1 ||
    { cat "$work/log" && exit 1; }
main=$work/aoe development=$work/libaoe-dev
install -m 755 "$build/package/aoe" "$main/usr/bin/aoe"
mkdir -p "$main/$libraries" "$development/$libraries/pkgconfig" "$development/usr"
install -m 644 "$build/package/libaoe.so.0" "$main/$libraries/libaoe.so.0"
mv "$main/usr/include" "$development/usr/include"
mv "$main/usr/lib/libaoe.a" "$development/$libraries/libaoe.a"
strip --strip-debug "$development/$libraries/libaoe.a"
ln -s libaoe.so.0 "$development/$libraries/libaoe.so"
sed "s|^libdir=.*|libdir=/$libraries|; s|-I\${includedir}||" "$main/usr/lib/pkgconfig/aoe.pc" \
    >"$development/$libraries/pkgconfig/aoe.pc"
rm -r "$main/usr/lib/pkgconfig" "$main/usr/lib/libaoe.so" "$main/usr/lib/libaoe.so.0"
gzip -9n "$main/usr/share/man/man1/aoe.1"
mkdir -p "$main/usr/share/zsh/vendor-completions" # Debian's folder
mv "$main/usr/share/zsh/site-functions/_aoe" "$main/usr/share/zsh/vendor-completions/_aoe"
rmdir "$main/usr/share/zsh/site-functions"
# Debian refers to this license by its file in /usr/share/common-licenses.
rm "$main/usr/share/aoe/models/aoe-small-en/LICENSE"

# dpkg-shlibdeps finds the packages of the linked libraries. It reads debian/control.
cat >"$work/debian/control" <<END
Source: aoe
Package: aoe
Architecture: any
END
depends=$(cd "$work" && dpkg-shlibdeps -O "aoe/usr/bin/aoe" "aoe/$libraries/libaoe.so.0" 2>log |
    sed -n 's/^shlibs:Depends=//p')
[ -n "$depends" ] || { cat "$work/log" && exit 1; }

finish() { # finish PACKAGE SECTION SYNOPSIS FIELD...: writes the control files from standard input and builds PACKAGE
    local name=$1 section=$2 synopsis=$3 directory=$work/$1 description
    shift 3
    description=$(cat)
    mkdir -p "$directory/DEBIAN" "$directory/usr/share/doc/$name"
    {
        printf 'Package: %s\nSource: aoe\nVersion: %s\nArchitecture: %s\nMaintainer: %s\n' \
            "$name" "$version" "$arch" "$maintainer"
        printf 'Section: %s\nPriority: optional\nInstalled-Size: %s\n' "$section" "$(du -ks "$directory" | cut -f 1)"
        printf '%s\n' "$@"
        printf 'Description: %s\n%s\n' "$synopsis" "$description"
    } >"$directory/DEBIAN/control"
    {
        printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: aoe\n\n'
        printf 'Files: *\nCopyright: %s\nLicense: Expat\n\n' "$(sed -n 's/^Copyright (c) //p' LICENSE)"
        printf 'Files: usr/share/aoe/models/aoe-small-en/*\nCopyright: %s\n' "$(sed -n 's/^Copyright (c) //p' LICENSE)"
        printf ' and the authors named in /usr/share/aoe/models/aoe-small-en/NOTICE\nLicense: Apache-2.0\n'
        printf ' The text of this license is in /usr/share/common-licenses/Apache-2.0.\n\nLicense: Expat\n'
        sed -n '/^Permission/,$p' LICENSE | sed 's/^$/./; s/^/ /'
    } >"$directory/usr/share/doc/$name/copyright"
    gzip -9nc CHANGELOG.md >"$directory/usr/share/doc/$name/changelog.gz"
    printf 'aoe (%s) unstable; urgency=medium\n\n  * Package of version %s.\n\n -- %s  %s\n' \
        "$version" "${version%-*}" "$maintainer" "$date" |
            gzip -9n >"$directory/usr/share/doc/$name/changelog.Debian.gz"
    (cd "$directory" && find usr -type f | LC_ALL=C sort | xargs md5sum >DEBIAN/md5sums)
    dpkg-deb --root-owner-group -Zxz --build "$directory" "$dist/${name}_${version}_$arch.deb" >/dev/null
}

mkdir -p "$main/DEBIAN"
echo "libaoe 0 aoe (>= ${version%-*})" >"$main/DEBIAN/shlibs"
echo "activate-noawait ldconfig" >"$main/DEBIAN/triggers"
finish aoe utils "text embeddings: training, evaluation, search and a server" "Depends: $depends" \
    "Recommends: libcurl4, libmicrohttpd12, ca-certificates" "Suggests: libpq5, gnuplot-nox" <<'END'
 aoe trains, evaluates, searches and serves text embeddings on CPUs, without
 Python. It opens the models on the Hugging Face Hub and computes the
 embeddings of sentence-transformers. The package contains the program, the
 library libaoe and a small English model.
END
# pkg-config requires the packages in Requires.private of aoe.pc, also for dynamic linking.
dependencies="libjansson-dev, libutf8proc-dev, libpcre2-dev, libzstd-dev, zlib1g-dev, libsqlite3-dev"
finish libaoe-dev libdevel "text embeddings: development files of libaoe" \
    "Depends: aoe (= $version), $dependencies" <<'END'
 libaoe is a C library that trains, evaluates, searches and serves text
 embeddings on CPUs. This package contains its headers, the static library,
 and aoe.pc for pkg-config.
END
for name in aoe libaoe-dev; do
    file=$dist/${name}_${version}_$arch.deb
    ls -sh "$file"
    # Tags that are suppressed: the package is not meant for the archive of Debian, so it closes no bug.
    if command -v lintian >/dev/null; then
        lintian --allow-root --fail-on error --suppress-tags initial-upload-closes-no-bugs "$file"
    fi
done
