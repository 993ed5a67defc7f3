# SPDX-License-Identifier: BSD-2-Clause
# The message about an unfinished run names its inputs, and the command that finishes it if only an option was
# missing.
tamis gen words 100000 --seed 1 > a.log
echo new > b.log
(ulimit -f 800; tamis dedup -q --commit-every 1B --state st a.log -o out --duplicates again 2> failed; echo "failed $?")
tamis dedup --state st a.log -o other; echo "exit $?"
tamis dedup -q --state st --output out --duplicates again a.log && tamis dedup a.log | cmp - out
tamis dedup --state st a.log -o other; echo "exit $?"
# To a pipe.
tamis dedup -q --state pipe --commit-every 1B a.log | head -n 1 > first
tamis dedup --state pipe b.log -o out.2; cat out.2
