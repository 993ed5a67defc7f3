#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run_case.sh CASE.sh TAMIS: runs one case of the command and compares what it printed and its status with
# CASE.out, CASE.err and CASE.exit. What each file means: ../README.md.
set -u

case_script=$(realpath "$1")
command_dir=$(dirname "$(realpath "$2")")
expected=${case_script%.sh}
name=$(basename "$(dirname "$case_script")")/$(basename "$expected")

work=$(mktemp -d "${TMPDIR:-/tmp}/tamis-case.XXXXXX") || exit 2
trap 'chmod -R u+rwX "$work"; rm -rf "$work"' EXIT
mkdir "$work/empty"

# The caller's settings must not influence the output: colours, kernel, width, locale.
(
    cd "$work/empty" || exit 125
    exec env -u NO_COLOR -u TAMIS_KERNEL -u COLUMNS PATH="$command_dir:$PATH" LC_ALL=C.UTF-8 \
        TAMIS_SOURCE_DIR="${TAMIS_SOURCE_DIR:-$(realpath "$(dirname "$0")/../..")}" \
        bash "$case_script" </dev/null >"$work/out" 2>"$work/err"
)
status=$?
if [ "$status" = 77 ]; then
    cat "$work/err"
    exit 77 # ctest: skipped
fi

failed=0
complain() {
    echo "$name: $*"
    failed=1
}

expected_status=0
[ -e "$expected.exit" ] && expected_status=$(<"$expected.exit")
[ "$status" = "$expected_status" ] || complain "exit status $status, expected $expected_status"

expected_out=/dev/null
[ -e "$expected.out" ] && expected_out=$expected.out
if ! cmp -s "$expected_out" "$work/out"; then
    complain "standard output differs (- expected, + printed)"
    diff -a -u --label expected "$expected_out" --label printed "$work/out" | head -n 60
fi

# Line by line: a line of .err that begins with ~ is an extended regular expression for the whole line.
expected_err=()
[ -e "$expected.err" ] && mapfile -t expected_err <"$expected.err"
mapfile -t got_err <"$work/err"
err_differs=0
[ "${#expected_err[@]}" = "${#got_err[@]}" ] || err_differs=1
for i in "${!expected_err[@]}"; do
    [ "$err_differs" = 0 ] || break
    if [ "${expected_err[i]:0:1}" = "~" ]; then
        pattern="^(${expected_err[i]:1})\$"
        [[ ${got_err[i]} =~ $pattern ]] || err_differs=1
    else
        [ "${expected_err[i]}" = "${got_err[i]}" ] || err_differs=1
    fi
done
if [ "$err_differs" = 1 ]; then
    complain "standard error differs (- expected, ~ begins a regular expression, + printed)"
    diff -a -u --label expected <(printf '%s\n' "${expected_err[@]}") --label printed "$work/err" | head -n 60
fi
exit "$failed"
