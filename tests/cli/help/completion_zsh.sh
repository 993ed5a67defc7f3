# SPDX-License-Identifier: BSD-2-Clause
# ctest: long
# Verbs, options, enumerated values and files with what they are, as zsh itself offers them at its prompt.
. "$TAMIS_SOURCE_DIR/tests/cli/help.bash"
needs zsh
export HOME=$PWD TMPDIR=$PWD
mkdir functions files
"$(dirname "$(command -v tamis)")"/tamis-docs zsh functions/_tamis
try() {
    cat > ../lines
    zsh -f "$TAMIS_SOURCE_DIR/tests/cli/complete.zsh" ../functions ../lines
}
cd files || exit
touch clicks.log -- --odd
{
    lines_to_complete
    echo 'tamis dedup -ocl'
} | try
rm ./--odd
differing_offers
