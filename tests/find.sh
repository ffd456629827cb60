#!/bin/sh
# SPDX-License-Identifier: MIT
# find.sh UNIT...: prints the tests of units of src and cli. UNIT is the path of a source file (src/base/json.c) or a
# part of it (base/json, json). The tests of a unit are:
#     tests/FOLDER/NAME_test.c        of src/FOLDER/NAME.c
#     tests/kernels/OP*_test.c        of src/kernels/OP_TIER.c and OP_simd.c
#     tests/cli/NAME_test.c           of cli/FOLDER/NAME.c
#     tests/cli/[FOLDER_]NAME*.sh     of the command cli/FOLDER/cmd_NAME.c
#     every test and case that names the unit in a line `covers: FOLDER/NAME ...` of its first comment (units of the
#     program: cli/FOLDER/NAME)
# find.sh --check prints the units without a test, the lines `covers:` that name no unit, and tests in a folder that is
# neither a folder of src nor listed here (tools/lint.sh).
set -eu
cd "$(dirname "$0")/.."

units() { # prints FOLDER/NAME of every unit of the library, and cli/FOLDER/NAME of the program
    ls src/*/*.c cli/*.c cli/*/*.c | sed 's|^src/||; s|\.c$||'
}

# Prints "UNIT<tab>TEST" for each unit and each test of it.
table() {
    {
        units | sed 's/^/unit /'
        ls tests/*/*_test.c tests/*/*_fuzz.c tests/cli/*.sh | sed 's/^/test /'
        # The first comment ends at the first line that is no comment.
        awk 'FNR == 1 { done = 0 } /^( \*\/|[^ #\/])/ || /^$/ { done = 1 }
             !done && /^( \*|#) covers: / { for (i = 3; i <= NF; i++) print "covers", $i, FILENAME }' \
            tests/*/*_test.c tests/*/*_fuzz.c tests/cli/*.sh
    } | awk '
        function add(test) { if (!((unit, test) in seen)) print unit "\t" test; seen[unit, test] = 1 }
        $1 == "unit" { units[++n] = $2; known[$2] = 1 }
        $1 == "test" { tests[++m] = $2; exists[$2] = 1 }
        $1 == "covers" { covers[$2] = covers[$2] " " $3;
            if (!($2 in known)) print "\t" $3 ":1: covers: there is no unit " $2 }
        END {
            for (i = 1; i <= n; i++) {
                unit = units[i]
                parts = split(unit, part, "/")
                name = part[parts]
                folder = part[1]
                if (folder == "cli" && sub(/^cmd_/, "", name)) {
                    for (k = 1; k <= m; k++)
                        if (tests[k] ~ "^tests/cli/(" part[2] "_)?" name "(_[a-z0-9_]+)?\\.sh$") add(tests[k])
                } else if (folder == "kernels") {
                    sub(/_(c|simd|amx|avx[a-z0-9]*|neon[a-z0-9]*)$/, "", name)
                    for (k = 1; k <= m; k++)
                        if (tests[k] ~ "^tests/kernels/" name "(_[a-z0-9_]+)?_test\\.c$") add(tests[k])
                } else if (("tests/" folder "/" name "_test.c") in exists)
                    add("tests/" folder "/" name "_test.c")
                count = split(covers[unit], c, " ")
                for (k = 1; k <= count; k++) add(c[k])
            }
        }'
}

if [ "${1-}" = --check ]; then
    table >"${TMPDIR:-/tmp}/aoe-tests.$$"
    sed -n 's/^\t//p' "${TMPDIR:-/tmp}/aoe-tests.$$"
    units | awk -F'\t' 'NR == FNR { tested[$1] = 1; next } !($1 in tested) {
        print ($1 ~ /^cli\// ? "" : "src/") $1 ".c:1: no test has the name of this unit" \
            " or names it in a line `covers:` (tests/find.sh)" }' \
        "${TMPDIR:-/tmp}/aoe-tests.$$" -
    rm -f "${TMPDIR:-/tmp}/aoe-tests.$$"
    for file in tests/*/*_test.c; do
        folder=$(basename "$(dirname "$file")")
        case $folder in
        api | cli | fault | fuzz | golden | grad | servers) ;;
        *) [ -d "src/$folder" ] ||
            echo "$file:1: src has no folder $folder; tests/README.md lists the folders of tests" ;;
        esac
    done
    exit 0
fi
for unit; do
    name=${unit#src/}
    found=$(table |
        awk -F'\t' -v u="${name%.[ch]}" '$1 == u || substr($1, length($1) - length(u)) == "/" u { print $2 }' | sort -u)
    [ -n "$found" ] || { echo "find.sh: no test of $unit" >&2 && exit 1; }
    echo "$found"
done
