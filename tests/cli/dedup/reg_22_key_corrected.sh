# SPDX-License-Identifier: BSD-2-Clause
# A first run with a wrong --key leaves no key in the state, and does not bind the next run.
run() { "$@"; echo "exit $?"; }
for i in 1 2 1 3; do echo "{\"id\":$i}"; done > in
run tamis dedup --state st --key json:/typo in -o out
run tamis dedup --state st --key json:/id --trim in -o out
cat out
tamis state show st | grep 'made with'
run tamis dedup --state st --key json:/typo in -o out # it has keys by now
# From lines to keys, without a remark.
: > empty
run tamis dedup --state st2 empty -o out2
run tamis dedup --state st2 --key json:/id in -o out2 -q
cat out2
# Records that were passed on without a key would not be read again.
run tamis dedup --state st3 --key json:/typo --missing pass in -o out3
run tamis dedup --state st3 --key json:/id in -o out3
wc -l < out3
tamis state show st3 | grep 'made with'
