# SPDX-License-Identifier: BSD-2-Clause
# --follow-input with --state: over rotations, also while it is down, and with files that are gone or
# truncated.
. "$TAMIS_SOURCE_DIR/tests/support/follow.bash"
follow() {
    tamis dedup --state seen --follow-input log -o once "$@" &
}
echo a > log
follow
has once a
mv log log.1
echo b >> log.1
printf 'a\nc\n' > log
has once c
stop -KILL
echo "status $?"
echo 'rotated twice while it was down'
echo d >> log
mv log log.2
printf 'd\ne\n' > log.1
echo f > log
follow --stats --json 2> stats
has once f
stop -TERM
echo "status $?"
sed 's/^{"records": \([0-9]*\), "unique": \([0-9]*\).*/\1 records, \2 unique/' stats
echo 'the name has no file yet'
mv log log.1
follow -q
echo g >> log.1
has once g
: > log
echo h >> log.1
has once h
echo i > log
has once i
stop -TERM
echo "status $?"
paste -s -d ' ' once
echo 'another command reads what is there'
echo j >> log
tamis dedup --state seen log -o once
echo 'truncated'
follow -q 2> remarks
echo jj >> log
has once jj
: > log
until grep -qs shorter remarks; do sleep 0.02; done
echo k >> log
has once k
stop -TERM
echo "status $?"
cat remarks
paste -s -d ' ' once
echo 'truncated while it was down'
echo kk >> log
: > log
follow -q
wait $!
echo "status $?"
echo l > log
follow --reread --abandon -q
has once l
stop -TERM
echo "status $?"
echo 'gone'
rm log
echo m > log
tamis dedup --state seen --follow-input log -o once
echo "status $?"
paste -s -d ' ' once
echo 'refused'
gzip -k log
tamis dedup --state other --follow-input log.gz -o out
printf m > part
tamis dedup --state third part -o third.out
tamis dedup --state third --follow-input part -o third.out
tamis dedup --state third --follow-input none -o none.out
