# SPDX-License-Identifier: BSD-2-Clause
# A follower goes on with another output where it stopped, if nothing is behind the last commit of the old
# one.
. "$TAMIS_SOURCE_DIR/tests/support/follow.bash"
follow() {
    tamis dedup --state seen --follow-input log -o "$@" &
}
seq 5 > log
follow monday
has monday 5
stop -TERM
echo "status $?"
echo 'stopped'
seq 4 8 >> log
follow tuesday
has tuesday 8
stop -TERM
echo "status $?"
paste -s -d ' ' monday
paste -s -d ' ' tuesday
echo 'rotated meanwhile, and the old output moved away afterwards'
echo 9 >> log
mv log log.1
seq 9 11 > log
follow wednesday
has wednesday 11
stop -TERM
echo "status $?"
paste -s -d ' ' wednesday
echo 'killed'
seq 12 13 >> log
follow wednesday --commit-every 1h
has wednesday 13
stop -KILL
echo "status $?"
follow thursday
wait $!
echo "status $?"
follow wednesday 2> remarks
until grep -qs 'continues after' remarks; do sleep 0.02; done # the output ends at its last commit now
has wednesday 13
stop -TERM
echo "status $?"
cat remarks >&2
follow thursday
seq 13 14 >> log
has thursday 14
stop -TERM
echo "status $?"
cat wednesday thursday | sort -n | uniq -d
echo 'back to an old output'
echo 15 >> log
follow wednesday
has wednesday 15
stop -TERM
echo "status $?"
cat wednesday thursday | paste -s -d ' '
