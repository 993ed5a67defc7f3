# SPDX-License-Identifier: BSD-2-Clause
# Every example of help and manual runs.
tamis gen words 2000 --seed 1 > a.log
tamis gen words 2000 --seed 2 > b.log
tamis gen clicks 2000 --duplicates 0.1 > clicks.log
for verb in dedup gen plan help; do
    tamis help $verb | sed -n 's/^  \$ //p' > examples
    while read -r line; do
        bash -eo pipefail -c "$line" < /dev/null > out 2> err || echo "failed: $line"
        echo "$verb"
    done < examples
done | uniq -c | tr -s ' '
cmp <(awk '!seen[$0]++' a.log b.log) once.log
