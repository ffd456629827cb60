# SPDX-License-Identifier: MIT
# old_header.awk HEADER: prints a public header without comments and without the last field of every struct that begins
# with struct_size, as if the current version of the library had appended these fields. A program that is compiled with
# such headers must work with the current library (tests/cli/old_header.sh).

function trim(s) {
    gsub(/^[ \t\n]+|[ \t\n]+$/, "", s)
    return s
}

# Returns the declarations of a struct without the last field, whose name is stored in `field`.
function shorten(body,    list, n, last, depth, i, c, cut, result) {
    n = split(body, list, ";")
    while (n && trim(list[n]) == "") n--
    last = list[n]
    depth = 0
    cut = 0
    for (i = 1; i <= length(last); i++) {
        c = substr(last, i, 1)
        if (c ~ /[(\[]/) depth++
        if (c ~ /[)\]]/) depth--
        if (c == "," && !depth) cut = i
    }
    result = ""
    for (i = 1; i < n; i++) result = result list[i] ";"
    if (cut) {
        result = result substr(last, 1, cut - 1) ";"
        last = substr(last, cut + 1)
    }
    sub(/\[.*/, "", last)
    if (match(last, /\(\*[a-z_0-9]+\)/))
        field = substr(last, RSTART + 2, RLENGTH - 3)
    else {
        match(last, /[a-z_0-9]+[ \n]*$/)
        field = trim(substr(last, RSTART))
    }
    return result
}

# Prints AOE_OPTIONS_WITH(TYPE, ARGUMENTS) without the argument that names the removed field.
function print_options(text,    inside, part, n, i, kept) {
    inside = substr(text, index(text, "(") + 1)
    sub(/\);[ \n]*$/, "", inside)
    n = split(inside, part, ",")
    part[1] = trim(part[1])
    kept = ""
    for (i = 2; i <= n; i++)
        if (part[i] !~ ("o->" removed[part[1]] "[^a-z_0-9]")) kept = kept "," part[i]
    print (kept == "" ? "AOE_OPTIONS(" part[1] ");" : "AOE_OPTIONS_WITH(" part[1] kept ");")
}

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

options != "" { # the rest of an AOE_OPTIONS_WITH
    options = options "\n" $0
    if (/;/) {
        print_options(options)
        options = ""
    }
    next
}

/^AOE_OPTIONS_WITH\(/ {
    options = $0
    if (/;/) {
        print_options(options)
        options = ""
    }
    next
}

/^(typedef )?struct aoe_[a-z_0-9]+ \{/ {
    match($0, /aoe_[a-z_0-9]+/)
    type = substr($0, RSTART, RLENGTH)
    start = $0
    body = ""
    next
}

type != "" && /^\}/ {
    print start
    if (trim(body) ~ /^size_t struct_size;/) {
        body = shorten(body)
        removed[type] = field
        count++
    }
    print body
    print
    type = ""
    next
}

type != "" {
    body = body $0 "\n"
    next
}

{ print }

END {
    if (type != "" || comment) {
        print "old_header.awk: " FILENAME ": cannot parse the header" > "/dev/stderr"
        exit 1
    }
}
