# SPDX-License-Identifier: MIT
# Tests the script of `aoe completion zsh` with zsh. Functions of the test replace those of the completion system of
# zsh.
command -v zsh >/dev/null || {
    echo "SKIP: zsh is not installed"
    exit 77
}
"$AOE" completion zsh >aoe.zsh
cat >complete.zsh <<'EOF'
compdef() { :; }
compadd() { print -r -- "${words[*]}: ${(M)@:#${words[CURRENT]}*}"; }
_arguments() { # prints the specifications of the options that begin with the last word
    print -r -- "$command ${words[*]}:"
    print -rl -- ${(M)@:#${words[CURRENT]}*}
}
. ./aoe.zsh
complete_words() { # complete_words WORD...: completes the last word
    words=("$@")
    CURRENT=$#
    _aoe
}
complete_words aoe tr
complete_words aoe data m
complete_words aoe train --opt
complete_words aoe data mine --sa
complete_words aoe grid --jo
complete_words aoe grid -o x -- --sched
complete_words aoe tokenize --model
complete_words aoe train --features
complete_words aoe help tr
complete_words aoe options data m
complete_words aoe completion f
EOF
zsh -f complete.zsh
