# SPDX-License-Identifier: BSD-2-Clause
# Verbs, options, enumerated values and files, as bash asks for them.
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
try tamis dedup --scheme g
try tamis dedup --expect ''
try tamis dedup cl
try tamis dedup -o cl
try tamis gen ''
try tamis plan --f
try tamis help p
touch -- --odd
try tamis dedup -- --
try tamis dedup -- cl
try tamis gen -- -
