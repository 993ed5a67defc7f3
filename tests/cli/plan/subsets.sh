# SPDX-License-Identifier: BSD-2-Clause
# ctest: long
# Every subset of the five numbers: the result, or the reason why there is none.
number=(--expect=1M --fpr=0.1% --memory=4MiB --bits-per-key=20 --probes=8)
for subset in {0..31}; do
    args=()
    for i in {0..4}; do
        ((subset >> i & 1)) && args+=("${number[i]}")
    done
    tamis plan "${args[@]}" > out 2> err
    echo "$? ${args[*]:-nothing}"
    sed -nE 's/^tamis: (.*)/    \1/p' err
    sed -nE '/^  kind.*fill/,$ s/^  (classic .*)/    \1/p' out
    sed -nE 's/^(records|rate|memory|choice)  +/    \1: /p' out
    tamis plan --json "${args[@]}" 2> err | python3 -c '
import json, sys
text = sys.stdin.read()
if text:
    plan = json.loads(text)
    print("    given", *plan["given"], "| derived", *plan["derived"])'
done
