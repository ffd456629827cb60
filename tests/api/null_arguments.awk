# SPDX-License-Identifier: MIT
# null_arguments.awk HEADER... writes C test cases for every function that the public headers declare. Each case calls
# the function with one pointer argument set to NULL. Arguments marked AOE_NULLABLE are tested only in functions that
# have no other pointer argument. The script also writes the name of every function with an options argument. It fails
# on a declaration that it cannot parse.

function fail(what) {
    print FILENAME ": cannot parse: " what > "/dev/stderr"
    failed = 1
    exit 1
}

# Returns a C expression for an argument of a type. Pointers are not NULL, but a function must not use them before it
# has checked all pointers.
function dummy(type) {
    if (type ~ /_fn$/) return "(" type ")(void (*)(void))dummy_function"
    if (type ~ /\*$/) return "(void *)dummy"
    if (type == "aoe_text") return "(aoe_text){\"a\", 1}"
    if (type ~ /^aoe_/) return "(" type ")0"
    if (type == "double" || type == "float") return "0.5"
    if (type ~ /^(size_t|int|int32_t|uint32_t|uint64_t|unsigned)$/) return "1"
    fail("type '" type "'")
}

# Prints the test cases of one declaration.
function declare(text,    name, result, list, n, i, j, type, call, pointers, args) {
    if (!match(text, /aoe_[a-z0-9_]+\(/)) fail(text)
    name = substr(text, RSTART, RLENGTH - 1)
    result = substr(text, 1, RSTART - 1)
    list = substr(text, RSTART + RLENGTH)
    gsub(/^ +| +$/, "", result)
    if (list !~ /\) *$/ || list ~ /[()].*\)/) fail(text)
    sub(/\) *$/, "", list)
    n = list == "void" ? 0 : split(list, part, / *, */)
    pointers = 0
    for (i = 1; i <= n; i++) {
        gsub(/[ \n]+/, " ", part[i]); gsub(/^ | $/, "", part[i])
        if (!match(part[i], /[a-zA-Z_0-9]+$/)) fail(text)
        arg[i] = substr(part[i], RSTART)
        type = substr(part[i], 1, RSTART - 1)
        nullable[i] = type ~ /AOE_NULLABLE/
        gsub(/AOE_NULLABLE/, "", type); gsub(/ +$/, "", type); gsub(/ +\*/, "*", type); gsub(/^const /, "", type)
        kind[i] = type
        pointer[i] = type ~ /\*$/ || type ~ /_fn$/
        pointers += pointer[i]
        if (nullable[i] && type ~ /_options\*$/) printf "TAKES_OPTIONS(%s)\n", name
    }
    for (i = 1; i <= n; i++) {
        if (!pointer[i] || (nullable[i] && pointers > 1)) continue
        call = ""; quiet = ""
        for (j = 1; j <= n; j++) {
            call = call (j > 1 ? ", " : "") (j == i ? "NULL" : arg[j] == "err" ? "&error" : dummy(kind[j]))
            quiet = quiet (j > 1 ? ", " : "") (j == i || arg[j] == "err" ? "NULL" : dummy(kind[j]))
        }
        if (result == "int" && arg[n] == "err")
            printf "REJECTS(%s, \"%s\", (%s), (%s))\n", name, arg[i], call, quiet
        else
            printf "SURVIVES(%s, (%s))\n", name, call
        cases++
    }
}

{
    gsub(/\/\*([^*]|\*+[^*\/])*\*+\//, "")
    if (comment) { if (!/\*\//) next; sub(/.*\*\//, ""); comment = 0 }
    if (/\/\*/) { sub(/\/\*.*/, ""); comment = 1 }
    if (/^#/ || macro) { macro = /\\$/; next }
    if (/^AOE_OPTIONS(_WITH)?\(/) {
        match($0, /\([a-z_0-9]+/)
        name = substr($0, RSTART + 1, RLENGTH - 1)
        declare("void " name "_fill(" name " *o)")
    }
    if (/AOE_API /) { sub(/.*AOE_API /, ""); text = ""; open = 1 }
    if (!open) next
    text = text " " $0
    if (/;/) { sub(/;.*/, "", text); open = 0; declare(text) }
}

END {
    if (!failed && cases < 50) { print "null_arguments.awk: only " cases " cases" > "/dev/stderr"; exit 1 }
}
