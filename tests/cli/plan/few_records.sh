# SPDX-License-Identifier: BSD-2-Clause
# Below a million records a plain hash set would do, and is said to.
for expect in 1 999999 1M; do
    tamis plan --expect $expect | grep -c 'plain hash set'
    tamis plan --expect $expect --json | grep -c '"hint": "a plain hash set'
done
tamis plan --expect 10000 --memory 1MiB | grep -oE 'a plain hash set.*'
# Not where it does not fit, nor where another program reads the filter.
tamis plan --memory 1MiB | grep -c 'plain hash set'
tamis plan --expect 10000 --bits-per-key 30 --json | grep -c '"hint": null'
tamis plan --expect 10000 --scheme guava64 --kind classic | grep -c 'plain hash set'
tamis plan | grep -c 'plain hash set'
