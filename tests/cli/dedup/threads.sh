# SPDX-License-Identifier: BSD-2-Clause
# The same output for any number of threads, from a file and through pipes; an invalid number is refused.
tamis gen urls 30000 --duplicates 30% > in
tamis gen clicks 5000 --duplicates 30% > json
tamis dedup --threads 1 --duplicates seen.1 in > fresh.1
tamis dedup --threads 1 --key json:/user_id --mark json > marked.1
gzip -k json
for n in 2 4 7; do
    tamis dedup --threads $n --duplicates seen.$n in > fresh.$n
    cmp fresh.1 fresh.$n && cmp seen.1 seen.$n
    cat in | tamis dedup --threads $n | cat | cmp - fresh.1
    tamis dedup --threads $n --key json:/user_id --mark json.gz | cmp - marked.1
    tamis build --threads $n -o set.$n fresh.1 && tamis check --threads $n --count set.$n in
    tamis add --threads $n --print fresh set.$n in
done
# Reports the threads used: one for a single record; how many of three depends on timing.
tamis dedup --threads 3 --json in 2>&1 > /dev/null | grep -o '"threads": [0-9]*' | sed 's/[23]$/2 or 3/'
echo a | tamis dedup --threads 3 --json 2>&1 > /dev/null | grep -o '"threads": [0-9]*'
tamis dedup --threads 0 in
tamis dedup --threads 257 in
