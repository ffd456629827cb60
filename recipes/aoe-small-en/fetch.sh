#!/bin/sh
# SPDX-License-Identifier: MIT
# fetch.sh: downloads the sources in sources.tsv to $AOE_TEXT. Repositories become bare clones in
# $AOE_TEXT/git/OWNER+NAME, packages of Debian 12 are unpacked to $AOE_TEXT/debian/PACKAGE. Requires git, apt-get, dpkg
# and about 30 GB.
set -eu
: "${AOE_TEXT:?folder for the sources}"
sources=$(dirname "$0")/sources.tsv
mkdir -p "$AOE_TEXT/git" "$AOE_TEXT/debian"
AOE_TEXT=$(cd "$AOE_TEXT" && pwd)
grep -v '^#' "$sources" | while IFS="$(printf '\t')" read -r _ _ place version _; do
    case $place in
    debian:*)
        package=${place#debian:}
        [ -e "$AOE_TEXT/debian/$package" ] && continue
        (
            cd "$AOE_TEXT/debian"
            apt-get download "$package=$version"
            dpkg -x "$package"_*.deb "$package.part"
            mv "$package.part" "$package"
        )
        ;;
    *)
        folder=$AOE_TEXT/git/$(echo "$place" | tr / +)
        [ -e "$folder" ] || git clone --bare "https://github.com/$place" "$folder"
        git -C "$folder" cat-file -e "$version^{commit}" || git -C "$folder" fetch origin "$version"
        ;;
    esac
done
apt-get install -y wordnet-base
apt-get update -o Acquire::Languages=en
apt-get indextargets -o Acquire::Languages=en --format '$(FILENAME)' 'Created-By: Translations' |
    grep -E 'bookworm_main_i18n_Translation-en' | head -n 1 |
    while read -r file; do /usr/lib/apt/apt-helper cat-file "$file" >"$AOE_TEXT/translation-en.txt"; done
