# SPDX-License-Identifier: BSD-2-Clause
# If KEYS has only some of the keys, random keys of the same shape may be among the others. That breaks no
# promise, and a remark says why.
seq 100 999 > keys
tamis build --frozen -o f.tamis keys
head -n 50 keys > few
tamis audit --queries 200 f.tamis few
echo "$?"
tamis audit --queries 200 --json f.tamis few 2> /dev/null | grep -o '"verdict": .*}'
tamis audit --queries 200 f.tamis keys | tail -n 1
# A rate that the bits explain is a broken promise, whatever KEYS has.
tamis gen words 3000 --seed 1 > words
tamis build -q -o a.tamis --kind classic --expect 1000 --fpr 1e-3 /dev/null
tamis add -q --allow-over-capacity a.tamis words
head -n 50 words > few
tamis audit a.tamis few | tail -n 1
echo "${PIPESTATUS[0]}"
