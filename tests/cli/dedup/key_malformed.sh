# SPDX-License-Identifier: BSD-2-Clause
# A malformed record ends the run, is skipped or passed on. The message has file, line and byte, or the number
# of such records.
printf '{"id":1}\n{"id":2\n{"id":1}\n{"a":"\\ud800","id":3}\n{"id":NaN}\n{}\n{"id":4}\n' > in
for action in fail skip pass; do
    echo "$action"
    tamis dedup --key json:/id --on-error $action in
    echo "status $?"
done
tamis dedup --key json:/id --on-error skip --count in
tamis dedup --key json:/id --on-error pass --count -q in
tamis dedup --key json:/id --on-error skip --stats in 2>&1 > /dev/null | grep -E '^(records|unique|duplicates|missing|malformed)' | tr -s ' '
printf '1,a\n2,"b"x\n3,c\n' | tamis dedup --key csv:2
printf '1,a\n2,"b"x\n3,c\n' | tamis dedup --key csv:2 --on-error skip
echo both; tamis dedup --key json:/id --on-error fail --missing fail in
echo one; tamis dedup --key json:/id --on-error skip --missing fail in
echo "status $?"
tamis dedup --key field:2 --type int32 --missing pass << 'END' | tr '\t' ' '
none
a	1
none
b	x
END
echo later and not where the run begins
printf '{"id":"a\n' > bad
printf '{"id":9}\n' > one
tamis dedup --key json:/id --on-error pass --count one bad in
tamis dedup --key json:/id --on-error skip --stats bad 2>&1 > /dev/null | grep -E '^(tamis|malformed)' | tr -s ' '
tamis dedup --key json:/id --on-error skip --json bad 2>&1 > /dev/null | wc -l
echo an open quote and what it takes
printf 'a\n"b"x\n1,"c\n2,d\n3,e\n' > open.csv
tamis dedup --key csv:1 --on-error skip open.csv
sed -i 2d open.csv
tamis dedup --key csv:1 open.csv
echo marks of two files
printf '\357\273\277{"id":1}\n' > one.jsonl
printf '\357\273\277{"id":2}\n{"id":1}\n' > two.jsonl
tamis dedup --key json:/id one.jsonl two.jsonl -o out && tamis dedup --key json:/id out | od -An -c
