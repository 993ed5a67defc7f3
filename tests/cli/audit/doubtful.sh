# SPDX-License-Identifier: BSD-2-Clause
# An interval that lies above the promise is not called kept, where it does not lie so far above that it is broken. Of a
# filter with more keys than it was made for that is said too, whatever the rate.
for i in 1 2; do
    tamis gen words 600 --seed $i > keys$i
    tamis build -o $i.tamis --kind classic --expect 1000 --fpr 1e-4 keys$i
done
tamis merge -q -o both.tamis 1.tamis 2.tamis
for questions in 1000 30000 200000; do
    tamis audit --questions $questions both.tamis | grep -E 'measured|rate'
    echo "${PIPESTATUS[0]}"
done
tamis audit --questions 30000 --json both.tamis | grep -o '"saturated.*'
tamis audit --questions 200000 1.tamis | grep rate
# DCSO's program rounds its sizes: the rate that is computed for that counts.
tamis gen words 2000 > keys
tamis build -q -o f.bloom --format dcso --expect 2000 --fpr 0.1 keys
tamis audit --questions 300000 f.bloom | grep rate
