# SPDX-License-Identifier: BSD-2-Clause
# With several inputs, the summary has a line for each, and --json an object.
printf '{"id":1}\n{"id":2}\n{}\n' > a.jsonl
printf '{"id":1}\n{"id":3\n' > b.jsonl
: > empty
tamis dedup --key json:/id --on-error skip --stats a.jsonl empty b.jsonl 2>&1 > /dev/null | sed -n "/^file/,\$p"
tamis dedup --key json:/id --on-error skip --json a.jsonl empty b.jsonl 2>&1 > /dev/null | grep -o '"files".*\]'
echo one that fails; tamis dedup --key json:/id --json b.jsonl a.jsonl 2>&1 > /dev/null | grep -o '"files".*\]'
echo one that is full
seq 4 > a
seq 9 > b
tamis dedup --expect 3 --kind blocked --on-full pass --stats a b 2>&1 > /dev/null | sed -n '/^file/,$p'
tamis dedup --expect 3 --kind blocked --on-full pass --json a b 2>&1 > /dev/null | grep -o '"files".*\]'
