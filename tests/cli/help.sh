# SPDX-License-Identifier: MIT
# covers: cli/common/help
# Tests the help of the program and of every command. `help`, `--help` and `-h` must print it on stdout with exit code
# 0.
"$AOE" help >help
"$AOE" --help >help2
cmp help help2
for command in $(sed -n 's/^  \([a-z-]*\)  .*/\1/p' help); do
    case $command in data | eval | plot) continue ;; esac # groups of commands, see below
    "$AOE" help "$command" >one
    "$AOE" "$command" --help >two
    "$AOE" "$command" -h >three
    cmp one two
    cmp one three
    head -n 1 one
    awk -v c="$command" 'length > 100 { print c ": a line has " length " columns" }' one
    grep -q -- '--threads N' one || echo "$command has no --threads"
done
grep -q '^  data ' help
"$AOE" help data >one
"$AOE" data --help >two
cmp one two
grep '^  mine ' one
for tool in convert split dedup stats check mine annotate score; do
    "$AOE" data $tool --help >one
    "$AOE" data $tool -h >two
    cmp one two
    awk 'NR == 1; length > 100 { print "a line has " length " columns" }' one
done
grep -q '^  plot ' help
"$AOE" plot --help | grep '^  [a-z]' | while read -r kind _; do
    [ "$kind" != aoe ] || continue
    "$AOE" plot "$kind" --help >one
    awk 'NR == 1; length > 100 { print "a line has " length " columns" }' one
    grep -q -- '-o, --output NAME' one || echo "plot $kind has no --output"
done
grep '^  eval ' help
"$AOE" help eval >one
"$AOE" eval --help >two
cmp one two
sed -n 's/^  \([a-z]*\)  .*/\1/p' one
for evaluation in sts suite pairs retrieval triplets rerank; do
    "$AOE" eval $evaluation --help >one
    "$AOE" eval $evaluation -h >two
    cmp one two
    awk 'NR == 1; length > 100 { print "a line has " length " columns" }' one
    grep -q -- '--threads N' one && grep -q -- '--format NAME' one && { [ $evaluation = rerank ] ||
        grep -q -- '--chunk NAME' one; }
done
grep '^  whiten ' help
grep '^  flow ' help
"$AOE" flow --help | awk 'NR == 1; length > 100 { print "a line has " length " columns" }'
"$AOE" whiten --help | awk 'NR == 1; length > 100 { print "a line has " length " columns" }'
"$AOE" train --help | grep -E -e '--(batch-size|lr|warmup|weight-decay|max-grad-norm|tau-cosine|tau-angle|seed) [NX]' \
    -e '--cache-chunk N|--recompute|--dtype' | sed 's/  */ /g'
"$AOE" --version | sed 's/[0-9][0-9.]*$/VERSION/'
# Help and version are also available for commands and subcommands.
for path in 'data mine' 'eval sts' 'plot curve'; do
    "$AOE" help $path >one
    "$AOE" $path --help >two
    "$AOE" ${path% *} help ${path#* } >three
    cmp one two
    cmp one three
    head -n 1 one
done
for path in '' train data 'data mine'; do
    "$AOE" $path --version | sed 's/[0-9][0-9.]*$/VERSION/'
    "$AOE" $path -V | sed 's/[0-9][0-9.]*$/VERSION/'
done
# If a default depends on the model, the data or the endpoint, the help describes it in words. It must not print the
# value of AOE_AUTO.
for path in train pretrain embed info grid compare 'data annotate' 'data score' 'data convert' 'data mine' \
    'data stats' 'eval sts' 'eval pairs' whiten flow; do
    # shellcheck disable=SC2086
    "$AOE" $path --help | grep '2147483647\|2.14748e+09' || :
done
# The defaults in the help of `aoe train` are those of the method that is given before --help.
default_of() { # default_of METHOD OPTION: prints the default of an option in the help of a method
    "$AOE" train --method "$1" --help | awk -v name="--$2" -v method="$1" '
        /^  (-., |    )?--/ { found = $1 == name || $2 == name }
        /^[a-z]/ || /^$/ { found = 0 }
        found { text = text " " $0 }
        END { gsub(/ +/, " ", text); has = sub(/.*\(default: /, "", text); sub(/\)$/, "", text)
              print method, name ": " (has ? text : "none") }'
}
for method in angle ct consert infersent dan; do
    default_of $method dropout
done
for method in is-bert infersent dan; do
    default_of $method pooling
done
for method in angle sbert-classification consert-sup infersent dan cross-encoder; do
    default_of $method label-map
done
for method in sbert-classification consert-sup infersent dan; do
    default_of $method features
done
for method in angle consert consert-sup; do
    default_of $method views
    default_of $method no-bias-correction
done
"$AOE" train --help | tr '\n' ' ' | sed 's/  */ /g' | grep -o -- '--epochs N .* --max-steps N' |
    sed 's/ --max-steps N$//'
