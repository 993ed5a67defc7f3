# SPDX-License-Identifier: BSD-2-Clause
# A plan for Redis: fewer probes than with the fewest bits, at the same rate; and impossible combinations.
for rate in 0.5 0.3 1e-2 1e-4 1e-6 1e-9; do
    tamis plan --store redis --expect 1M --fpr $rate
done
tamis plan --store redis --expect 1M --fpr 1e-4 --probes 6 | tail -1
tamis plan --store redis --expect 1000 --scheme sip | head -1
tamis plan --store redis --json --expect 1M --fpr 1e-6
tamis plan --store memory --expect 1M --fpr 1e-6 | head -3
tamis plan --store redis
tamis plan --store redis --fpr 0.1 --bits-per-key 10
tamis plan --store redis --expect 5 --memory 1M
tamis plan --store redis --expect 5 --kind classic
tamis plan --store redis --plot
tamis plan --store redis --measure
tamis plan --store redis --expect 1M --scheme bkdr31
tamis plan --store disk
echo "$?"
