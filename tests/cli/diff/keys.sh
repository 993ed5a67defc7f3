# SPDX-License-Identifier: BSD-2-Clause
# Filters with equal bits differ if their keys are made by different rules, since they give other answers for
# the same text.
printf '%s\n' foo bar > words
seq 7 9 > in
build() { tamis build -q -o "$@"; }
for kind in classic blocked fingerprint; do
    build plain --kind $kind --expect 100 --fpr 1e-3 words
    build text --kind $kind --expect 100 --fpr 1e-3 --type utf8 words
    build folded --kind $kind --expect 100 --fpr 1e-3 --ignore-case words
    build both --kind $kind --expect 100 --fpr 1e-3 --ignore-case --trim words
    for b in plain text folded both; do
        tamis diff plain $b | grep -E '^[de]|made'
        echo "plain $b: $(tamis diff -q plain $b; echo $?)"
    done
done
tamis diff plain folded
tamis diff --json plain folded
tamis diff --json plain text
echo "# beside other differences"
build other --kind blocked --expect 200 --fpr 1e-3 --trim words
tamis diff folded other | grep -E '^[de]|made|bits  '
echo "# what tells no rule is asked for bytes"
build int32 --kind classic --scheme guava64 --expect 100 --type int32 in
tamis copy -q -o foreign --format guava int32
tamis diff int32 foreign | grep -E '^[de]|made'
tamis copy -o back --format tamis foreign
tamis diff back foreign | grep -E '^[de]|made'
build bytes --kind classic --scheme guava64 --expect 100 in
tamis copy -q -o foreign --format guava bytes
tamis diff bytes foreign | grep -E '^[de]|made'
