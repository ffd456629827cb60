# SPDX-License-Identifier: MIT
# Tests `aoe completion`: the script for bash completes commands, options and values.
"$AOE" completion bash >aoe.bash
cat >complete.bash <<'EOF'
compopt() { :; }
. ./aoe.bash
complete_words() { # complete_words WORD...: completes the last word
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _aoe
    echo "$*: ${COMPREPLY[*]}"
}
complete_words aoe tr
complete_words aoe data m
complete_words aoe train --opt
complete_words aoe train --optimizer ''
complete_words aoe train --optimizer = r
complete_words aoe train --lr ''
complete_words aoe train --method sim
complete_words aoe data mine --sa
complete_words aoe grid --jo
complete_words aoe grid -o x -- --sched
complete_words aoe train -d aoe.b
complete_words aoe grid -o x -- --schedule l
complete_words aoe train --features u,pr
complete_words aoe train --pooling cls-
complete_words aoe help tr
complete_words aoe help data m
complete_words aoe options eval s
complete_words aoe completion f
complete_words aoe train @ aoe.b
EOF
bash complete.bash
code=0
"$AOE" completion tcsh || code=$?
echo "exit code $code"
