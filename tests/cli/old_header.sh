# SPDX-License-Identifier: MIT
# Runs a program that calls the library with every extensible struct (tests/api/compatibility.c). The program that was
# compiled with headers in which every extensible struct lacks its last field must print the same as the program that
# was compiled with the current headers.
programs=$(dirname "$AOE")/tests/api
for name in compatibility compatibility_old; do
    mkdir "$name"
    (cd "$name" && mkdir files && "$programs/$name" files >../$name.txt) || echo "$name: exit $?"
done
diff compatibility.txt compatibility_old.txt && echo "equal output"
grep -c ': 0$' compatibility.txt
grep ': -' compatibility.txt
tail -n 1 compatibility_old.txt
