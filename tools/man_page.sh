#!/bin/sh
# SPDX-License-Identifier: MIT
# man_page.sh PROGRAM: prints the manual page aoe(1). `PROGRAM COMMAND --help` provides the commands and their options.
# Options that most commands have are printed only once, with the text in `PROGRAM embed --help`.
set -eu
aoe=$1

# names [COMMAND]: prints the names of the commands, or of the subcommands of COMMAND
names() {
    "$aoe" ${1+"$1"} --help | sed -n 's/^  \([a-z][a-z0-9-]*\)  .*/\1/p'
}

# page TITLE GROUPS: converts a help text on stdin to roff. If GROUPS is `own`, prints the command and the groups of
# options that only this command has. If GROUPS is `shared`, prints the groups of options that most commands have.
page() {
    awk -v title="$1" -v groups="$2" '
        function roff(text) {
            gsub(/\\/, "\\e", text)
            gsub(/--/, "\\-\\-", text)
            if (text ~ /^[.\047]/) text = "\\\\&" text
            return text
        }
        function literal(text) { text = roff(text); gsub(/ -/, " \\-", text); sub(/^-/, "\\-", text); return text }
        BEGIN { if (groups == "own") print ".SS " title }
        /^usage: / { part = "usage"; if (groups == "own") print ".B " literal(substr($0, 8)) "\n.PP"; next }
        /^examples?:$/ { part = "examples"; if (groups == "own") print ".PP\nExamples:\n.PP\n.nf"; next }
        part == "examples" { if (groups == "own") print literal($0); next }
        /^[a-z].*:$/ {
            part = "options"
            shared = $0 ~ /^(model|models|general|input files|long texts):$/
            show = groups == "own" ? !shared : shared
            if (show) print ".PP\n.I " substr($0, 1, length($0) - 1)
            next
        }
        /^  (-h, --help|@FILE) / { show = groups == "shared" }
        part == "options" && !show { next }
        part == "options" && /^ ? ? ? ? ? ?[-@]/ {
            name = $0
            text = ""
            if (substr($0, 29, 2) == "  ") { name = substr($0, 1, 28); text = substr($0, 31) }
            sub(/^ +/, "", name)
            sub(/ +$/, "", name)
            print ".TP\n.B " literal(name)
            if (text != "") print roff(text)
            next
        }
        part == "options" { sub(/^ +/, ""); if ($0 != "") print roff($0); next }
        groups == "shared" { next }
        /^  [a-z][a-z0-9-]*  / { name = $1; sub(/^ *[^ ]+ +/, ""); print ".TP\n.B " literal(name) "\n" roff($0); next }
        /^  / { next }
        /^$/ { print ".PP"; next }
        { print roff($0) }
        END { if (part == "examples" && groups == "own") print ".fi" }'
}

cat <<'END'
.\" SPDX-License-Identifier: MIT
.TH AOE 1 "" "aoe" "User commands"
.SH NAME
aoe \- train, evaluate and run text embedding models
.SH SYNOPSIS
.B aoe
.I COMMAND
.RI [ OPTIONS ]
.RI [ FILES ]
.br
.B aoe help
.RI [ COMMAND ]
.br
.B aoe \-\-version
.SH DESCRIPTION
.B aoe
trains text embedding models on labeled text pairs and computes embeddings.
It reads models in the format of Hugging Face or sentence-transformers, fine-tunes them with the
losses of AnglE and other methods, evaluates them, and writes models that these libraries can read.
.PP
Every command uses the default model unless
.B \-m
names another model.
.SH COMMANDS
END
for command in $(names); do
    "$aoe" "$command" --help | page "$command" own
    for sub in $(names "$command"); do
        "$aoe" "$command" "$sub" --help | page "$command $sub" own
    done
done
echo '.SH COMMON OPTIONS'
echo 'Most commands accept these options.'
"$aoe" embed --help | page embed shared
cat <<'END'
.TP
.B \-\-
Arguments after \-\- are files or texts, even if they begin with \- or @.
.SH OPTION FILES
.BI @ FILE
reads options from a file, with one option and its value per line.
A # at the start of a line or after a space begins a comment.
$NAME and ${NAME} are replaced by environment variables; a variable that is not set is an error. $$ is a dollar sign.
A value can be in double quotes, or in single quotes, in which $ has no special meaning.
.SH INPUT FILES
Tables are .tsv, .csv (RFC 4180) or .jsonl files, optionally .gz or .zst. Columns are recognised by their names:
.TP
pairs
text1, sentence1, question1, premise, question or context; text2, sentence2, question2, hypothesis or sentence; label,
score, similarity or gold_label
.TP
triplets
query or premise; positive or entailment; negative or contradiction
.TP
groups
group or image; text or caption
.PP
.B \-\-columns text1=a,text2=b,label=c
selects other columns.
.B \-\-label\-map
defines numbers for label names (default: entailment=1, contradiction=0, neutral=drop, not_entailment=0).
An unreadable row is an error that names file, line and column;
.B \-\-skip\-bad\-rows
skips such rows and reports how many.
.SH ENVIRONMENT
.TP
.B AOE_MODEL
model directory if
.B \-m
is not given
.TP
.B AOE_CPU
highest CPU tier to use: c, avx2, avxvnni, avx512, avx512vnni, avx512bf16 or amx
.TP
.B OPENAI_API_KEY
API key of data annotate and data score, unless
.B \-\-key\-env
names another variable
.TP
.B OPENAI_BASE_URL
endpoint of data annotate and data score if
.B \-\-api
is not given
.SH FILES
If neither
.B \-m
nor AOE_MODEL is given, aoe uses the default model. It searches
.I ../share/aoe/models
relative to the program, then
.I ../models
(the source tree), for a model named
.I default
or for the only model in the directory.
.PP
aoe plot reads its gnuplot scripts from
.I ../share/aoe/plot
relative to the program, or from
.I ../share/plot
in the source tree.
.SH EXIT STATUS
.TP
0
success
.TP
1
failure; a line on standard error states what happened, where, and what to do
.TP
2
wrong usage
.TP
129, 130, 143
training, a grid, a comparison, data annotate or data score was interrupted by SIGHUP, SIGINT or SIGTERM and can be
resumed
.TP
138
training, a grid or a comparison was interrupted by SIGUSR1, for example by a scheduler, and can be resumed
END
