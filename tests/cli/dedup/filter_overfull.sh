# SPDX-License-Identifier: BSD-2-Clause
# Many more records than the capacity of the filter in the file (Guava's or tamis): they are refused or passed
# on, not dropped.
tamis gen urls 20000 | LC_ALL=C sort -u > in
head -n 2000 in > some
for format in guava tamis; do
    file=f.$format
    tamis build -o $file --format $format --kind classic --expect 1000 --fpr 0.01 /dev/null
    cp $file empty
    tamis dedup --filter $file in > out
    echo "status $?"
    cmp $file empty
    tamis dedup --filter $file --on-full pass in > out
    dropped=$(($(wc -l < in) - $(wc -l < out)))
    echo "more than 3 in 100 dropped: $((100 * dropped > 3 * $(wc -l < in)))"

    echo 'past its capacity when it is opened'
    tamis add -q --allow-over-capacity $file some
    cp $file past
    tamis dedup -q --filter $file some
    cp past $file
    tail -n +2001 in | tamis dedup -q --filter $file > out
    echo "status $?"
    wc -l < out
    cmp $file past
done
