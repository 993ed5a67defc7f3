# SPDX-License-Identifier: BSD-2-Clause
# --follow-input with --state: over rotations, also while it is down, and with files that are gone or truncated.
follow() {
    tamis dedup --state seen --follow-input log -o once "$@" &
}
# has RECORD: waits until the output has the record.
has() {
    until grep -qsx "$1" once; do sleep 0.02; done
}
stop() {
    kill "$1" $!
    { wait $!; } 2> shell
    echo "status $?"
}
echo a > log
follow
has a
mv log log.1
echo b >> log.1
printf 'a\nc\n' > log
has c
stop -KILL
echo 'rotated twice while it was down'
echo d >> log
mv log log.2
printf 'd\ne\n' > log.1
echo f > log
follow --stats --json 2> stats
has f
stop -TERM
sed 's/^{"records": \([0-9]*\), "unique": \([0-9]*\).*/\1 records, \2 unique/' stats
echo 'the name has no file yet'
mv log log.1
follow -q
echo g >> log.1
has g
: > log
echo h >> log.1
has h
echo i > log
has i
stop -TERM
paste -s -d ' ' once
echo 'another command reads what is there'
echo j >> log
tamis dedup --state seen log -o once
echo 'truncated'
follow -q 2> remarks
echo jj >> log
has jj
: > log
until grep -qs shorter remarks; do sleep 0.02; done
echo k >> log
has k
stop -TERM
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
has l
stop -TERM
echo 'gone'
rm log
echo m > log
tamis dedup --state seen --follow-input log -o once
echo "status $?"
paste -s -d ' ' once
echo 'refused'
tamis dedup --state seen --follow-input log once -o out
gzip -k log
tamis dedup --state other --follow-input log.gz -o out
printf m > part
tamis dedup --state third part -o third.out
tamis dedup --state third --follow-input part -o third.out
tamis dedup --state third --follow-input none -o none.out
