# SPDX-License-Identifier: BSD-2-Clause
# Schemes whose positions repeat in a small filter cannot keep the rate: one remark with the rate it will
# have.
printf '%s\n' a b c > in
for scheme in guava64 guava32 redisbloom bkdr31 fnv-dcso xxh3; do
    tamis build -o f --scheme $scheme --kind classic in
done
tamis build -o f --format guava in
tamis build -o f --format guava -q in
tamis build -o f --format guava --json in 2> json
grep -c . json
tamis build -o f --format guava --expect 1e6 --fpr 1e-3 in
tamis build -o f --format guava --expect 10 --fpr 1e-6 - < in
tamis dedup --filter d --kind classic --scheme guava64 --expect 3 in
tamis dedup --filter d --kind classic --scheme guava64 --expect 3 in
