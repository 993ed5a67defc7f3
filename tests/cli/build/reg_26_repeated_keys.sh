# SPDX-License-Identifier: BSD-2-Clause
# Lists with repeated records: each add counts in kinds cuckoo and counting, and the filter becomes as large as its
# copies need, without --expect. From a file, which is read again, and from a pipe.
seq 1000 > distinct
for times in 2 4 9; do
    for ((i = 0; i < times; i++)); do cat distinct; done > "list$times"
    for ((i = 0; i < times; i++)); do seq 20; done >> "list$times"
    for kind in cuckoo counting exact; do
        tamis build -o file.tamis --kind $kind "list$times"; echo "$kind $times: $?"
        tamis build -o pipe.tamis --kind $kind < <(cat "list$times"); echo "$?"
        tamis check -c file.tamis distinct
        tamis check -c pipe.tamis distinct
    done
done
tamis build -o file.tamis --kind cuckoo list2
tamis remove file.tamis list2 && tamis check -v -c file.tamis distinct # as often as they came, but for 20 kept ones
