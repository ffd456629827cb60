# SPDX-License-Identifier: MIT
# descriptions.awk: converts the package descriptions of Debian (Translation-en) to rows "package TAB short description
# TAB paragraph".
/^Package: / { package = $2 }
/^Description-en: / {
    short = $0
    sub(/^[^:]*: /, "", short)
    long = ""
    inside = 1
    next
}
inside && /^ / {
    if ($0 == " ." || /^  /) long = long "\n"
    else long = long $0
    next
}
inside { inside = 0 }
/^$/ {
    if (package == "") next
    n = split(long, paragraph, "\n")
    for (i = 1; i <= n; i++) {
        gsub(/^ +/, "", paragraph[i])
        if (length(paragraph[i]) > 30) print package "\t" short "\t" paragraph[i]
        else if (n < 2) print package "\t" short "\t"
    }
    package = ""
}
