# SPDX-License-Identifier: BSD-2-Clause
# Verbs, options, enumerated values and files with what they are, as fish itself offers them.
. "$TAMIS_SOURCE_DIR/tests/cli/help.bash"
needs fish
export HOME=$PWD
"$(dirname "$(command -v tamis)")"/tamis-docs fish tamis.fish
# One fish for all lines of standard input.
try() { fish -N -c 'source tamis.fish; while read -l line; echo "== $line"; complete -C "$line"; end'; }
mkdir files
touch files/clicks.log files/--odd
cd files || exit
ln ../tamis.fish .
sed 's/|$//' <<'END' | IFS='' try
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
tamis dedup -- --
tamis dedup -- cl
tamis gen |
tamis gen words |
tamis gen --seed 7 u
tamis plan |
tamis help p
tamis help plan |
END
rm ./--odd
# Every option that the help lists, with what it says, and no other.
for verb in $(verbs); do
    echo "tamis $verb -" | try | grep '^-' | tr '\t' ' ' | sort | diff <(options "$verb") -
done
