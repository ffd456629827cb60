# shellcheck shell=sh disable=SC2034
# SPDX-License-Identifier: MIT
# Sourced by the recipes in the root folder of the repository, with AOE_WORK set. Defines the path of the program, and
# steps that are not repeated.
: "${AOE_DATA:?folder of the data sets (see prepare.sh)}"
aoe=${AOE:-build/aoe}
export AOE_DATA AOE_WORK

step() { # step FILE COMMAND...: runs the command unless FILE exists
    [ -e "$1" ] && return
    shift
    echo "== $*" >&2
    "$@"
}
