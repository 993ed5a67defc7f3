# SPDX-License-Identifier: BSD-2-Clause
# Shared by the tests of this directory: builds a model for one run, searches it, and prints the result in one
# line. MODEL is the name of the model; redis_fence if it is not set.
set -u -o pipefail
command -v spin > /dev/null || { echo "spin is missing; ./dev test installs it"; exit 77; }
# Most searches take less time than their compilation by gcc or clang.
compiler=$(command -v tcc || command -v clang || echo "${CC:-cc}")
model=$(dirname "${BASH_SOURCE[0]}")/${MODEL-redis_fence}.pml
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
errors=0

# search FLAG...: the verifier's report is in $work/report.
search() {
    (cd "$work" && rm -f pan* report ./*.trail &&
        spin "$@" -a model.pml > report && "$compiler" -w -O0 -DSAFETY -o pan pan.c >> report 2>&1 &&
        ./pan -E -m2000 -w21 >> report 2>&1) || true
    grep -q 'states, stored' "$work/report" && ! grep -q 'search depth too small\|out of memory' "$work/report" && return
    cat "$work/report"
    echo "FAILED: the search did not end: $*"
    errors=$((errors + 1))
    return 1
}

# property: the name of the property that is violated; nothing if the search found no error.
property() {
    grep -q 'errors: 0$' "$work/report" && return
    sed -n 's/.*assertion violated (\(I[0-9]_[a-zA-Z_]*\)||.*/\1/p' "$work/report" | head -1 | grep . || echo "an error without a name"
}
states() { awk '/states, stored/ { print $1; exit }' "$work/report"; }
story() { (cd "$work" && spin "$@" -t -T model.pml 2> /dev/null | grep -v '^	\|^spin\|^#'); }

# holds WHAT FLAG...: no property is violated.
holds() {
    local what=$1 found
    shift
    search "$@" || return
    found=$(property)
    if [ -n "$found" ]; then
        story "$@"
        echo "FAILED: $what: $found ($*)"
        errors=$((errors + 1))
    else
        echo "holds: $what ($(states) states)"
    fi
}

# finds PROPERTY WHAT FLAG...: that property is violated, or one whose name begins with PROPERTY.
# MODEL_STORY=1 prints the run.
finds() {
    local wanted=$1 what=$2 found
    shift 2
    search "$@" || return
    found=$(property)
    [ -z "${MODEL_STORY-}" ] || story "$@"
    if [ -n "$found" ] && [ "${found#"$wanted"}" != "$found" ]; then
        echo "found: $what: ${found//_/ }"
    else
        echo "FAILED: $what: expected $wanted, found ${found:-nothing} ($*)"
        errors=$((errors + 1))
    fi
}

cp "$model" "$work/model.pml" || exit 2
BUILD=1 CREATE=2 DROP=3 RESIZE=4 EXPIRE=5 PERSIST=6 DROP_FULL=7
