# SPDX-License-Identifier: BSD-2-Clause
# An interval above the promise is not reported as kept, even if it is not so far above that the promise is
# broken. A filter with more keys than its capacity is also reported as such, with any rate.
for i in 1 2; do
    tamis gen words 600 --seed $i > keys$i
    tamis build -o $i.tamis --kind classic --expect 1000 --fpr 1e-4 keys$i
done
tamis merge -q -o both.tamis 1.tamis 2.tamis
for queries in 1000 30000 200000; do
    tamis audit --queries $queries both.tamis | grep -E 'measured|rate'
    echo "${PIPESTATUS[0]}"
done
tamis audit --queries 30000 --json both.tamis | grep -o '"saturated.*'
tamis audit --queries 200000 1.tamis | grep rate
# DCSO's program rounds its sizes: the rate computed for the rounded size counts.
tamis gen words 2000 > keys
tamis build -q -o f.bloom --format dcso --expect 2000 --fpr 0.1 keys
tamis audit --queries 300000 f.bloom | grep rate
