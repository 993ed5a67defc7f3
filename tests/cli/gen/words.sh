# SPDX-License-Identifier: BSD-2-Clause
# ctest: long
# Lengths 4 to 12; 10 million words hold 9,253,200 distinct ones on average, give or take 930.
# ctest: timeout=900
tamis gen words 900000 --seed 7 > in
awk '{ n[length($0)]++ } END { for (i = 0; i < 20; i++) if (n[i]) printf "%d %s\n", i, (n[i] > 98500 && n[i] < 101500) ? "a ninth" : n[i] }' in
grep -cvE '^[a-z]+$' in
tamis gen words 10000000 --seed 7 | tamis dedup --count --fpr 1e-12 | awk '{ print ($1 > 9248500 && $1 < 9257900) ? "as expected" : $1 }'
