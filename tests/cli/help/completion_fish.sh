# SPDX-License-Identifier: BSD-2-Clause
# ctest: long
# Verbs, options, enumerated values and files with what they are, as fish itself offers them.
. "$TAMIS_SOURCE_DIR/tests/cli/help.bash"
needs fish
export HOME=$PWD
"$(dirname "$(command -v tamis)")"/tamis-docs fish tamis.fish
# One fish for all lines.
try() { IFS='' fish -N -c 'source tamis.fish; while read -l line; echo "== $line"; complete -C "$line"; end'; }
mkdir files
touch files/clicks.log files/--odd
cd files || exit
ln ../tamis.fish .
{
    lines_to_complete
    printf 'tamis %s \n' 'gen words' plan 'help plan' # no files
} | try
rm ./--odd
differing_offers
