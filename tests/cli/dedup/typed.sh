# SPDX-License-Identifier: BSD-2-Clause
# Duplicates are decided by the typed key; the first text of a key is printed.
printf '%s\n' 7 +7 007 -7 8 -07 0 -0 +0 > in
tamis dedup --type int64 in | tr '\n' ' '
tamis dedup --type int32 --duplicates again in | tr '\n' ' '
tr '\n' ' ' < again
tamis dedup --count in
tamis dedup --type int64 --count --stats in 2>&1 | tr -s ' ' | grep -E '^(unique|duplicates)'
printf '%s\n' 6A 6a 4a | tamis dedup --hex --exact
printf 'a\0b\0a\0' | tamis dedup -z --type utf16 | od -An -c
printf '\303\251\n\303\251' | tamis dedup --type utf16
seq 5 | tamis dedup --type int64 --filter f.tamis > /dev/null
seq -w 10 | tamis dedup --type int64 --filter f.tamis | tr '\n' ' '
seq -w 12 | tamis dedup --type int64 --filter f.tamis | tr '\n' ' '
echo

# Guava's own file, of longs
seq 100 > ids
tamis build -o ids.bloom --format guava --type int64 --fpr 1e-9 --expect 1000 ids
seq 0099 102 | tamis dedup --type int64 --filter ids.bloom
tamis check -c --type int64 ids.bloom -k 101 -k 102 -k 103
