# SPDX-License-Identifier: MIT
# cycles.awk: reports dependency cycles between units, and functions that one unit declares and another unit defines.
# Usage: awk -f tools/cycles.awk FILE...   with every .c and .h file of src/ and cli/, formatted with clang-format.
# A unit is a .c file with its .h file. It depends on another unit
#   - whose header it includes,
#   - that defines a function which its own header declares, or
#   - that defines a function of the public headers which it calls.
# Exception: kernels/kernels.h declares every kernel through kernels.def, but does not depend on the files that define
# the kernels.

function unit_of(path) {
    sub(/\.[ch]$/, "", path)
    return path
}

function add_edge(from, to, why) {
    if (from == to || ((from, to) in edge))
        return
    edge[from, to] = why
    successors[from] = successors[from] " " to
}

# Returns the name of the function whose declaration or definition begins on this line, or "".
function function_name(line,   name) {
    if (line !~ /^[A-Za-z_].*[ *](aoei?|cli)_[a-z0-9_]+\(/ || line ~ /^(typedef|static|return|#|extern)/)
        return ""
    match(line, /[ *](aoei?|cli)_[a-z0-9_]+\(/)
    name = substr(line, RSTART + 1, RLENGTH - 2)
    return name
}

FNR == 1 {
    unit = unit_of(FILENAME)
    exists[FILENAME] = 1
    header = FILENAME ~ /\.h$/
    pending = ""
}

/^ *# *include "/ {
    match($0, /"[^"]*"/)
    included[++n_included] = unit SUBSEP substr($0, RSTART + 1, RLENGTH - 2) SUBSEP FILENAME ":" FNR
}

{
    if (pending == "") {
        name = function_name($0)
        if (name != "") {
            pending = name
            pending_line = FNR
        }
    }
    if (pending != "" && /[;{]$|[;{] *(\/\*.*)?$/) {
        if (header && /;/)
            declared[pending] = unit SUBSEP FILENAME ":" pending_line
        else if (!header && /\{ *$/ && !(pending in defined))
            defined[pending] = unit
        pending = ""
    }
    if (!header && /[^a-z0-9_]aoe_[a-z0-9_]+\(/) {
        line = $0
        sub(/^ *\*.*/, "", line)
        while (match(line, /[^a-z0-9_]aoe_[a-z0-9_]+\(/)) {
            called[unit SUBSEP substr(line, RSTART + 1, RLENGTH - 2)] = FILENAME ":" FNR
            line = substr(line, RSTART + RLENGTH - 1)
        }
    }
}

# Returns 1 if unit `from` depends on unit `to`, directly or through other units. `seen` collects the visited units; the
# caller passes an empty array.
function reaches(from, to, seen,   parts, n, i) {
    n = split(successors[from], parts, " ")
    for (i = 1; i <= n; i++) {
        if (parts[i] == to)
            return 1
        if (!(parts[i] in seen)) {
            seen[parts[i]] = 1
            if (reaches(parts[i], to, seen))
                return 1
        }
    }
    return 0
}

END {
    for (i = 1; i <= n_included; i++) {
        split(included[i], part, SUBSEP)
        target = ""
        dir = part[1]
        sub(/[^\/]*$/, "", dir)
        if (("src/" part[2]) in exists) target = "src/" part[2]
        else if (part[2] in exists) target = part[2]
        else if ((dir part[2]) in exists) target = dir part[2]
        if (target != "")
            add_edge(part[1], unit_of(target), part[3] " includes " part[2])
    }
    for (name in declared) {
        split(declared[name], part, SUBSEP)
        if ((name in defined) && defined[name] != part[1]) {
            print part[2] ": " name " is defined in " defined[name] ".c: declare it in " defined[name] ".h"
            add_edge(part[1], defined[name], part[2] " declares " name)
        }
    }
    for (c in called) {
        split(c, part, SUBSEP)
        if (part[2] in defined)
            add_edge(part[1], defined[part[2]], called[c] " calls " part[2])
    }
    for (pair in edge) {
        split(pair, part, SUBSEP)
        split("", seen)
        if (reaches(part[2], part[1], seen))
            print edge[pair] ", which closes a cycle: " part[2] " depends on " part[1]
    }
}
