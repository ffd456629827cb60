#!/bin/sh
# SPDX-License-Identifier: MIT
# page_hashes.sh PAGE: prints compiler options that define AOEI_PAGE_SCRIPT and AOEI_PAGE_STYLE, the base64 text of the
# SHA-256 hashes of the script and of the style of an HTML page, as a Content-Security-Policy needs them. The tags
# <script>, </script>, <style> and </style> must be lines of their own, and occur once.
set -eu

hash() { # hash TAG PAGE: a hash covers all characters between the tags, that is, also the line end after the first tag
    [ "$(grep -c "^<$1>\$" "$2")" = 1 ] && [ "$(grep -c "^</$1>\$" "$2")" = 1 ] ||
        { echo "page_hashes.sh: $2 must contain one line <$1> and one line </$1>" >&2; exit 1; }
    digest=$({ echo; sed "1,/^<$1>\$/d; /^<\/$1>\$/,\$d" "$2"; } | sha256sum | cut -c 1-64)
    # printf of a POSIX shell knows octal escapes only
    octal=$(echo "$digest" | awk '{
        for (i = 1; i < length($0); i += 2) {
            byte = 16 * (index(hex, substr($0, i, 1)) - 1) + index(hex, substr($0, i + 1, 1)) - 1
            printf "\\%03o", byte
        }
    }' hex=0123456789abcdef -)
    # shellcheck disable=SC2059
    printf "$octal" | base64
}

script=$(hash script "$1")
style=$(hash style "$1")
printf '%s' "-DAOEI_PAGE_SCRIPT='\"$script\"' -DAOEI_PAGE_STYLE='\"$style\"'"
