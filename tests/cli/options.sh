# SPDX-License-Identifier: MIT
# Tests `aoe options`: the options of one command, of all commands, and as JSON.
"$AOE" options tokenize
"$AOE" options train --json >train.json
for option in lr batch-size no-isp w-layers optimizer views directions method lora-r data max-grad-norm \
    ibn-threshold; do
    grep '"option":"'$option'"' train.json | sed 's/,"methods":.*"help"/,"help"/'
done
"$AOE" options info --json | grep -o '"option":"stored".*"default":null' | wc -l # a choice without a default
grep '"option":"new-head"' train.json | grep -o '"methods":[^]]*]'
# An option that requires another one names it if the command has it, as train has --dev, but pretrain does not.
for command in train pretrain; do
    "$AOE" options $command --json | sed -n 's/.*"option":"\([^"]*\)".*"requires":"\([^"]*\)".*/\1 requires \2/p'
done
# Every command is listed, and its help has the same options.
for command in train pretrain "data mine" grid info "eval sts" options; do
    # shellcheck disable=SC2086
    "$AOE" options $command --json | sed 's/.*"option":"\([^"]*\)".*/\1/' >listed
    # shellcheck disable=SC2086
    "$AOE" $command --help | sed -n 's/^  \(-., \|    \)--\([a-z0-9-]*\).*/\2/p' | grep -vx help | diff - listed
    echo "$command: $(wc -l <listed) options" | sed 's/[0-9][0-9][0-9]* options/many options/'
done
"$AOE" options --json | sed 's/^{"command":"\([^"]*\)".*/\1/' | uniq >listed
for command in train "data mine" "plot curve"; do
    grep -x "$command" listed || echo "$command is not listed"
done
"$AOE" options --json | awk '
    !/"type":/ || !/"default":/ || !/"help":/ { print "incomplete: " $0 }
    /"type":"(integer|number)"/ && !/"min":.*"max":/ { print "without a range: " $0 }'
awk 'END { print (NR > 30 ? "all commands" : "too few: " NR) }' listed
code=0
"$AOE" options nothing || code=$?
echo "exit code $code"
