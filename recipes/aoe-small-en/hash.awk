# SPDX-License-Identifier: MIT
# hash.awk: puts a hash of the text in column `column` and a TAB in front of each row. The hash depends on the letters
# and digits of the text only, so that sorting by it gives a pseudo-random order that is the same with every awk.
BEGIN {
    FS = "\t"
    for (i = 32; i < 127; i++) code[sprintf("%c", i)] = i
}
{
    text = tolower($column)
    gsub(/[^a-z0-9]/, "", text)
    hash = 7
    size = length(text)
    if (size > 80) text = substr(text, 1, 40) substr(text, size - 39, 40)
    size = length(text)
    for (i = 1; i <= size; i++) hash = (hash * 16807 + code[substr(text, i, 1)] * 7919) % 2147483647
    for (i = 1; i <= 3; i++) hash = (hash * 48271 + 12345) % 2147483647
    printf "%010d\t%s\n", hash, $0
}
