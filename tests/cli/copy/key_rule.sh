# SPDX-License-Identifier: BSD-2-Clause
# If the format cannot store how keys are made, a remark says so, with the options for lookups in such a
# filter.
printf '%s\n' Foo ' bar ' > words
seq 7 9 > in
build() { tamis build -q -o f --kind classic --expect 100 --fpr 1e-3 "$@"; }
guava() { build --scheme guava64 "$@"; tamis copy -o c --format guava f; }
dcso() { build --scheme fnv-dcso "$@"; tamis copy -o c --format dcso f; }
for to in guava dcso; do
    echo "# $to" >&2
    $to words
    $to --type utf8 words
    $to --ignore-case words
    $to --ignore-case --trim --label a=b words
    $to --type int32 in
    $to --trim --hex <(echo 07)
done
tamis copy -q -o c --format guava f
echo "# merge" >&2
build --scheme guava64 --ignore-case --data-version 3 words
tamis merge -o c --format guava f f
tamis check --ignore-case -k fOO c
tamis merge -q -o c --format guava f f
echo "# build" >&2
tamis build -o c --expect 10 --format dcso --trim --ignore-case words
tamis build -q -o c --expect 10 --format dcso --trim --ignore-case words
