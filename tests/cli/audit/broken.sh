# SPDX-License-Identifier: BSD-2-Clause
# ctest: long
# A broken promise is reported in words and by the exit status: a union with too many keys, and a poor hash.
for i in 1 2; do
    tamis gen words 1000 --seed $i > keys$i
    tamis build -o $i.tamis --kind classic --expect 1000 --fpr 1e-3 keys$i
done
tamis merge -q -o both.tamis 1.tamis 2.tamis
tamis audit both.tamis
echo "$?"
cat keys1 keys2 | tamis audit --json --queries 20000 both.tamis -
echo "$?"
tamis gen urls 20000 > urls
tamis build -o poor.tamis --kind classic --scheme bkdr63 --expect 20000 --fpr 1e-6 urls
tamis audit --queries 100000 poor.tamis urls | tail -n 1
# Positions of this scheme repeat in a filter for few keys: the rate is far above the requested one.
seq 20 > few
tamis build -q --kind classic --scheme guava64 -o few.tamis few
tamis audit --queries 2000000 few.tamis few | tail -n 1
echo "${PIPESTATUS[0]}"
