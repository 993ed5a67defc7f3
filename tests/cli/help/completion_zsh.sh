# SPDX-License-Identifier: BSD-2-Clause
# Verbs, options, enumerated values and files with what they are, as zsh itself offers them at its prompt.
. "$TAMIS_SOURCE_DIR/tests/cli/help.bash"
needs zsh
export HOME=$PWD TMPDIR=$PWD
mkdir functions files
"$(dirname "$(command -v tamis)")"/tamis-docs zsh functions/_tamis
try() { zsh -f "$TAMIS_SOURCE_DIR/tests/cli/complete.zsh" ../functions "$1"; }
cd files || exit
touch clicks.log -- --odd
sed 's/|$//' > ../lines <<'END'
tamis |
tamis de
tamis --
tamis dedup --se
tamis dedup --kind |
tamis dedup --kind=b
tamis dedup --kind exact --ki
tamis dedup --exact --f
tamis dedup -zq --no
tamis dedup -zo x --ou
tamis dedup --expect |
tamis dedup cl
tamis dedup -o cl
tamis dedup -ocl
tamis dedup -- --
tamis dedup -- cl
tamis gen |
tamis gen words --s
tamis gen --seed 7 u
tamis help p
END
try ../lines
rm ./--odd
# Every option that the help lists, with what it says, and no other.
for verb in $(verbs); do
    echo "tamis $verb -" > ../lines
    try ../lines | grep '^-' | sort | diff <(options "$verb") -
done
