# SPDX-License-Identifier: BSD-2-Clause
# A record that is not a valid key ends the run: the records before it are on standard output, and a file is
# unchanged.
printf '%s\n' 1 01 2 ' 7' 3 > in
tamis dedup --type int64 in
echo "status $?"
tamis dedup --type int64 --stats in 2>&1 | grep -E '^(records|failed|tamis)' | tr -s ' '
echo old > out
tamis dedup --type int64 -o out in
echo "status $?"
cat out
seq 3 | tamis dedup --type int64 --filter f.tamis > /dev/null
printf '4\nx\n' | tamis dedup --type int64 --filter f.tamis
tamis check -c --type int64 f.tamis -k 4
printf '1\r\n' | tamis dedup --type int32
printf '\n' | tamis dedup --type int32
tamis dedup --hex --type int32 in
echo "status $?"
