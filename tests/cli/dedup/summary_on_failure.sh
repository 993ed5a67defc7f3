# SPDX-License-Identifier: BSD-2-Clause
# What was answered before an error is summed up too, then comes the error; before the first record there is
# nothing to sum up.
tamis gen urls 3000 > in
tamis dedup --kind blocked --expect 1000 --stats in > /dev/null 2> text
echo "status $?"
grep -cE '^(records|failed +yes) ' text
tail -n 1 text | grep -o '^tamis: filter: full'
tamis dedup --kind blocked --expect 1000 --json in > /dev/null 2> json
echo "status $?"
head -n 1 json | grep -o '"interrupted": false, "failed": true'
tail -n 1 json | grep -o '^tamis: filter: full'
tamis gen urls 300000 | tamis dedup --json 2> json > /dev/full
grep -cE '^(\{.*"failed": true\}|tamis: standard output: no space left on device; .*)$' json
tamis dedup --json nowhere 2>&1 | wc -l
# A summary that is lost is an error.
tamis dedup --stats in > out 2> /dev/full
echo "status $?"
cmp in out
tamis dedup --json -q in 2>&- | cmp - in
echo "status ${PIPESTATUS[0]}"
