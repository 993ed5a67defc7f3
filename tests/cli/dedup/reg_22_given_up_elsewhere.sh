# SPDX-License-Identifier: BSD-2-Clause
# Records that are given up are not counted in another file that has the name by now.
tamis gen words 100000 --seed 1 > a.log
echo new > b.log
(ulimit -f 800; tamis dedup -q --commit-every 1B --state st a.log -o out 2> failed; echo "failed $?")
tamis gen words 120000 --seed 2 > other && mv other a.log
tamis dedup --state st --abandon b.log -o out 2> said; grep 'gave up' said >&2
