# SPDX-License-Identifier: BSD-2-Clause
# Records are passed on without being remembered: perhaps twice, never lost. Remembered ones are still found.
tamis gen urls 20000 > in
cat in in | tamis dedup --kind blocked --expect 1000 --on-full pass > out
sort -u out | wc -l
[ "$(wc -l < out)" -lt 40000 ] && echo 'the remembered ones are dropped'
cat in in | tamis dedup --kind blocked --expect 1000 --on-full pass -q | cmp - out
cat in in | tamis dedup --kind blocked --expect 1000 --on-full pass --json 2> json > /dev/null
grep -c '"unknown": [1-9].*"saturated": true' json
