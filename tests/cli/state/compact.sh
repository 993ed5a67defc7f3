# SPDX-License-Identifier: BSD-2-Clause
# A log becomes a snapshot, and the state goes on from there.
seq 20000 > a.log
tamis dedup --state seen a.log -o once
tamis state show seen | grep snapshot
tamis state compact seen > sizes
[ "$(sed -n 's/^log *\([0-9]*\) .*/\1/p' sizes)" -lt 1000 ] && echo 'the log is short'
tamis state compact seen --json | sed 's/[0-9][0-9]*/N/g'
tamis state verify seen
seq 19999 20002 >> a.log
tamis dedup --state seen a.log -o once -q
tail -n 2 once
mkfifo pipe
tamis dedup --state seen -o other < pipe -q &
exec 3> pipe
until [ -e other ]; do sleep 0.02; done
tamis state compact seen 2> refused
echo "status $?"
sed 's/process .* has/process PID has/' refused
exec 3>&-
wait $!
tamis state compact nowhere
echo 'no state, and a state without its snapshot'
mkdir empty
tamis state compact empty
ls -A empty
rm seen/snapshot-*
tamis state verify seen
echo "status $?"
