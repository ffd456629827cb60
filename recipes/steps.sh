# shellcheck shell=sh disable=SC2034
# SPDX-License-Identifier: MIT
# Sourced by the recipes, in the root of the repository, with AOE_WORK set: the data, the program, and steps that are not repeated.
: "${AOE_DATA:?the folder of the data sets (see prepare.sh)}"
aoe=${AOE:-build/aoe}
export AOE_DATA AOE_WORK

step() { # step FILE COMMAND...: runs the command unless FILE is there
    [ -e "$1" ] && return
    shift
    echo "== $*" >&2
    "$@"
}
