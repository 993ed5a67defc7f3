# SPDX-License-Identifier: BSD-2-Clause
# Filters whose keys were made by different rules are not merged: a lookup by one rule would miss the keys of
# the other. A filter without a rule fits any other one, and the union has the rule of the others.
. "$TAMIS_SOURCE_DIR/tests/cli/filters.bash"
printf '%s\n' Foo ' bar ' 7 > words
seq 7 9 > in
build() { tamis build -q -o "$1" --kind classic --scheme guava64 --expect 100 --fpr 1e-3 "${@:2}"; }
build plain words
build text --type utf8 words
build folded --ignore-case words
build trimmed --trim words
build both --trim --ignore-case words
build int32 --type int32 in
build int64 --type int64 in
build digits --hex <(echo 07000000)
build folded_digits --ignore-case --hex <(echo 0A000000)
build utf16 --type utf16 --ignore-case words
tamis copy -q -o foreign --format guava folded
echo old > out
rule() { tamis info --json "$1" | grep -oE '"(key_type|ignore_case|trim)[^,]*' | tr '\n' ' '; echo; }
try() {
    tamis merge -o out "$@"
    echo "$*: $? $(cmp -s out <(echo old) && echo 'as it was' || rule out)"
    echo old > out
}
echo "# refused"
try plain folded
try folded plain
try trimmed folded
try both trimmed
try folded plain plain folded
try plain int32
try int32 int64
try utf16 folded
echo "# none says another"
try plain text
try folded folded
try both both both
try foreign foreign
try digits int32
try --format tamis foreign folded
try folded foreign
try folded_digits utf16
try utf16 folded_digits
echo "# who said it first is named"
try digits folded_digits utf16 folded
try --format tamis foreign folded plain
try --format tamis foreign plain folded
echo "# what was added is seen"
tamis merge -o all --format tamis foreign folded
tamis check -k foo -k FOO -k Foo all
echo "# another difference than keys is named as ever"
tamis build -o other --kind classic --scheme guava64 --expect 200 --fpr 1e-3 --ignore-case words
try plain other
