# SPDX-License-Identifier: BSD-2-Clause
# Below a million records a plain hash set suffices, and the output says so.
for expect in 1 999999 1M; do
    tamis plan --expect $expect | grep -c 'plain hash set'
    tamis plan --expect $expect --json | grep -c '"hint": "a plain hash set'
done
tamis plan --expect 10000 --memory 1MiB | grep -oE 'a plain hash set.*'
# Not if the set does not fit the memory, nor if another program reads the filter.
tamis plan --memory 1MiB | grep -c 'plain hash set'
tamis plan --expect 10000 --bits-per-key 30 --json | grep -c '"hint": null'
tamis plan --expect 10000 --scheme guava64 --kind classic | grep -c 'plain hash set'
tamis plan | grep -c 'plain hash set'
