# SPDX-License-Identifier: BSD-2-Clause
# Any number of threads prints the same, and stops at the same record if the filter is damaged.
seq 1 2 40000 >odd
seq 1 40000 >all
tamis build -q --kind classic --fpr 1e-6 -o odd.tamis odd
tamis build -q --format dcso --fpr 1e-6 -o odd.bloom odd
for filter in odd.tamis odd.bloom; do
    for threads in 1 2 4 7; do
        tamis check --threads $threads $filter all >found && cmp odd found && echo "$filter by $threads: the odd ones"
        [ "$(tamis check --threads $threads -v -c $filter all)" = 20000 ] || echo "$filter by $threads: others are found"
        tamis check --threads $threads -q $filter all || echo "$filter by $threads: none is found"
    done
done
seq 1 500000 | tamis build -q --kind fingerprint --expect 500000 -o damaged.tamis
for _ in {1..2500}; do echo 1; done | cat - all >asked # a key that is not in the damaged block
printf 'damage' | dd of=damaged.tamis bs=1 seek=1500000 conv=notrunc status=none
tamis check --threads 1 damaged.tamis asked >before 2>why
echo "damaged: $? $(wc -l <before | grep -c '[1-9]')"
for threads in 2 4 7; do
    tamis check --threads $threads damaged.tamis asked >found 2>said
    echo "damaged by $threads: $?"
    cmp before found && diff why said
done
