# SPDX-License-Identifier: BSD-2-Clause
# Verbs, options, enumerated values and files, as bash asks for them.
. "$TAMIS_SOURCE_DIR/tests/cli/help.bash"
"$(dirname "$(command -v tamis)")"/tamis-docs bash completion
source completion
compopt() { :; }
try() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _tamis
    echo "${COMPREPLY[*]}"
}
touch clicks.log
try tamis ''
try tamis de
try tamis dedup --se
try tamis dedup --kind ''
try tamis dedup --kind = b
try tamis dedup --scheme xx
try tamis dedup --expect ''
try tamis dedup cl
try tamis dedup -o cl
try tamis gen ''
try tamis gen --seed 7 u
try tamis gen words ''
try tamis plan --f
try tamis help p
try tamis hash --t
try tamis hash --type u
try tamis hash cl
touch -- --odd
try tamis dedup -- --
try tamis dedup -- cl
try tamis gen -- -
# Every option that the help lists, and no other.
for verb in $(verbs); do
    try tamis "$verb" - | tr ' ' '\n' | sort | diff <(options "$verb" | cut -d ' ' -f 1) -
done
