# SPDX-License-Identifier: MIT
# covers: cli/common/suggest
# Tests the hints for options of other programs: each row of the table in cli/common/suggest.c must lead some command to
# suggest the option in this row, and each name without a counterpart must get a reason.
suggest=$SRC/cli/common/suggest.c
commands="train embed similarity rerank tokenize convert init whiten merge pretrain grid compare pull
    serve eval/retrieval eval/sts data/mine data/split data/convert data/annotate plot/lengths"
sed -n '/ synonyms\[\] = {/,/^};/s/^ *{"\([^"]*\)", "\([^"]*\)"},$/\1 \2/p' "$suggest" >rows
[ "$(wc -l <rows)" -gt 100 ]
while read -r other own; do
    for command in $commands none; do
        if [ $command = none ]; then
            echo "no command suggests --$own for --$other"
            break
        fi
        # shellcheck disable=SC2086
        "$AOE" ${command%/*} $([ "${command#*/}" = "$command" ] || echo "${command#*/}") "--$other" >answer 2>&1 || true
        if grep -q "did you mean --$own?" answer; then
            break
        fi
    done
done <rows
names=$(sed -n '/ foreign\[\] = {/,/^};/s/^ *{"\([^"]*\)",.*/\1/p' "$suggest")
for other in $names; do
    "$AOE" embed "--$other" 2>&1 | grep -q "unknown option --$other; " || echo "no reason for --$other"
done
"$AOE" embed --truncate_dim 64 || echo "exit $?"
"$AOE" embed --device cuda || echo "exit $?"
"$AOE" embed --n_gpu_layers 99 || echo "exit $?"
