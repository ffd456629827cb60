# SPDX-License-Identifier: MIT
# Tests the script of `aoe completion fish` with fish.
command -v fish >/dev/null || {
    echo "SKIP: fish is not installed"
    exit 77
}
"$AOE" completion fish >aoe.fish
for line in "aoe tr" "aoe data m" "aoe train --opt" "aoe train --optimizer " "aoe data mine --sa" "aoe grid --jo" \
    "aoe grid -o x -- --sched" "aoe train -d aoe.f" "aoe grid -o x -- --schedule l" "aoe train --features u,pr" \
    "aoe help tr" "aoe options data m" "aoe completion f" "aoe train @aoe.f"; do
    echo "$line: $(HOME=. fish -c 'source aoe.fish; complete -C $argv[1]' "$line" | cut -f 1 | tr '\n' ' ')"
done
