# SPDX-License-Identifier: BSD-2-Clause
# 60 to 100 bytes, no two the same; with --duplicates the share that was asked for.
tamis gen urls 200000 --seed 3 > in
awk '{ l = length($0); if (l < 60 || l > 100) bad++ } END { print bad + 0 }' in
sort -u in | wc -l
tamis gen urls 200000 --seed 3 --duplicates 0.25 | sort -u | wc -l | awk '{ print ($1 > 149000 && $1 < 151000) ? "three quarters" : $1 }'
tamis gen urls 1000 --duplicates 100% | sort -u | wc -l
