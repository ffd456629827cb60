# SPDX-License-Identifier: MIT
# stub_library.awk HEADER...: prints C definitions without a result for all functions that the public headers declare. A
# library that is compiled from them has the binary interface of the headers (tests/cli/abi.sh).

{
    gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "")
    if (comment) {
        if (!/\*\//) next
        sub(/.*\*\//, "")
        comment = 0
    }
    if (/\/\*/) {
        sub(/\/\*.*/, "")
        comment = 1
    }
}

FNR == 1 {
    n = split(FILENAME, path, "/")
    print "#include \"" path[n] "\""
}

/^#/ || macro {
    macro = /\\$/
    next
}

/^AOE_OPTIONS(_WITH)?\(/ {
    match($0, /\([a-z_0-9]+/)
    type = substr($0, RSTART + 1, RLENGTH - 1)
    print "void " type "_fill(" type " *o) { (void)o; }"
}

/^AOE_API / {
    sub(/^AOE_API /, "")
    text = ""
    open = 1
}

open {
    text = text " " $0
    if (/;/) {
        sub(/;.*/, "", text)
        gsub(/AOE_NULLABLE/, "", text)
        print text " { for (;;) {} }"
        open = 0
    }
}
