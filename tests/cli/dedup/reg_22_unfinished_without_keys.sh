# SPDX-License-Identifier: BSD-2-Clause
# A run in which no record had a key is unfinished. The command that finishes it fails again, so the advice is
# --missing.
run() { "$@"; echo "exit $?"; }
for i in 1 2 3; do echo "{\"other\":$i}"; done > none
echo '{"id":1}' > in
run tamis dedup --state st --key json:/id none -o out
run tamis dedup --state st --key json:/id in -o out 2> said
sed "s|$PWD|DIR|" said
run tamis dedup --output out --state st --key json:/id none
run tamis dedup --output out --state st --key json:/id none --missing drop
run tamis dedup --state st --key json:/id in -o out
cat out
# After --abandon the next run begins.
run tamis dedup --state given-up --key json:/id none -o more
run tamis dedup --state given-up --key json:/id in -o more --abandon
cat more
# Whole lines always have a key, and a run that has read records had one.
tamis gen words 100000 --seed 1 > a.log
(ulimit -f 100; tamis dedup -q --commit-every 1B --state lines a.log -o lines.out 2> failed; echo "failed $?")
run tamis dedup --state lines in -o lines.out 2> said
grep -o 'finish it by: [^,]*' said
