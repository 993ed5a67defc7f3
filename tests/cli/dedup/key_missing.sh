# SPDX-License-Identifier: BSD-2-Clause
# A record without key is passed on, dropped, or ends the run.
printf 'a\t1\nnone\nb\t1\nnone\nc\t2\n' > in
for action in pass drop fail; do
    echo "$action"
    tamis dedup --key field:2 --missing $action in
    echo "status $?"
done | tr '\t' ' '
tamis dedup --key field:2 --count in
tamis dedup --key field:2 --missing drop --count in
tamis dedup --key field:2 --stats in 2>&1 > /dev/null | grep -E '^(records|unique|duplicates|missing|malformed)' | tr -s ' '
tamis dedup --key field:2 --json in 2>&1 > /dev/null | grep -o '"records".*"malformed": [0-9]*, .*"bytes_out' | sed 's/, "bytes.*//'
tamis dedup --key field:2 --missing fail -o out in
echo "status $?"
ls
echo none has one
tamis dedup --key field:3 in | tr '\t' ' '
tamis dedup --key field:3 --missing drop in
tamis dedup --key field:3 -q in | wc -l
tamis dedup --key field:3 --json in 2>&1 > /dev/null | wc -l
