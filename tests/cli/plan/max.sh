# SPDX-License-Identifier: BSD-2-Clause
# The number of records that fit a memory size, for each kind; an estimate for kinds that grow.
tamis plan --memory 1GiB --fpr 1e-6 > out
grep -E '^records   [0-9,]+ distinct, (nearly )?the most that fit$' out | wc -l
grep -oE '^  kind +bits/key +records' out
grep -cE '^[* ] (classic|blocked|fingerprint|exact) +[0-9.]+ +[0-9.]+ M ' out
grep -cE '^A filter that grows \(dedup without --expect\) holds about [0-9]{3} M records in that memory\.$' out
grep -E '^A filter that grows' out > grows
tamis plan --memory 1GiB | grep -cE '^(rate      1e-9: |A filter that grows)'
tamis plan --memory 1GiB --probes 8 | grep -c '^A filter that grows'
# A plan for that many records fits the memory, and a plan for one more does not.
records=$(tamis plan --memory 1GiB --fpr 1e-6 --json | grep -oE '^  "expect": [0-9]+' | grep -oE '[0-9]+$')
tamis plan --expect "$records" --fpr 1e-6 --memory 1GiB --kind fingerprint > out
echo "status $?"
tamis plan --expect "$((records + 1))" --fpr 1e-6 --memory 1GiB --kind fingerprint > out
echo "status $?"
