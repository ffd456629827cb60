# SPDX-License-Identifier: MIT
# covers: cli/common/response cli/common/words
# Tests response files, which contain one option per line. The tests cover comments, quotes and environment variables.
# An error message must contain the file and the line.
. "$SRC/tests/cli/support/model.sh"
tiny_model model
cat >good.args <<'END'
# paths
-m $MODEL
--format   tsv   # components only
--dims=2
  --quiet

--prompt "say: {text}  "
END
echo one | MODEL=model "$AOE" embed @good.args >a.tsv
echo one | "$AOE" embed -m model --format tsv --dims 2 --prompt 'say: {text}  ' >b.tsv
cmp a.tsv b.tsv
printf '%s\n' "-m \${HOME_OF_MODEL}/model" "--prompt 'a \$\$ {text}'" >braces.args
printf '%s\n' "--tokens" "--prompt a \$\$ {text}" "-m model" >dollar.args
echo one | HOME_OF_MODEL=. "$AOE" tokenize @braces.args --tokens
echo one | "$AOE" tokenize @dollar.args
printf '%s\n' "-m model" "text.txt" >operand.args
echo one >text.txt
"$AOE" tokenize @operand.args

trial() { # prints the exit code of aoe train with bad.args
    code=0
    "$AOE" train @bad.args || code=$?
    echo "exit code $code"
}
printf '# data\n-d $AOE_NO_SUCH/train.tsv\n' >bad.args
trial
printf '%s\n' '-d ${AOE_NO_SUCH}/train.tsv' >bad.args
trial
printf '%s\n' '-d ${AOE_NO' >bad.args
trial
printf '%s\n' '--epochs 3' '' '--epocs 4' >bad.args
trial
printf '%s\n' '--epochs three' >bad.args
trial
printf '%s\n' '--resume=yes' >bad.args
trial
printf '%s\n' '--prompt "open' >bad.args
trial
printf '%s\n' '@good.args' >bad.args
trial
printf '%s\n' '--lr' >bad.args
trial
rm bad.args
trial
