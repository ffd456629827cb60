# SPDX-License-Identifier: MIT
# exclude.awk: prints the rows of the second file, except those with a column whose letters and digits are a line of the first file.
# shortest: keys with fewer characters are ignored.
BEGIN { FS = "\t" }
NR == FNR { keys[$1] = 1; next }
{
    for (i = 1; i <= NF; i++) {
        key = tolower($i)
        gsub(/[^a-z0-9]/, "", key)
        if (length(key) >= shortest && (key in keys)) { dropped++; next }
    }
    print
}
END { print name ": " dropped + 0 " rows left out" > "/dev/stderr" }
