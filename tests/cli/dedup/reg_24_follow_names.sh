# SPDX-License-Identifier: BSD-2-Clause
# --follow-input with --state: names of files that are, or are not, those of the followed log.
. "$TAMIS_SOURCE_DIR/tests/support/follow.bash"
follow() {
    tamis dedup --state seen --follow-input "$@" &
}
echo 'other spellings of the name'
echo a > log
follow log -o once
has once a
stop -TERM
echo b >> log
mv log log.2
echo c > log.1
echo d > log
follow "$PWD/log" -o once -q
has once d
stop -TERM
echo e >> log
mv log log.0
echo f > log
mkdir -p sub
cd sub || exit 2
tamis dedup --state ../seen --follow-input ../log -o ../once -q &
cd ..
has once f
stop -TERM
paste -s -d ' ' once
echo 'other files beside the log'
echo x > log.audit
echo y > log.lock
follow log.audit -o audit -q
has audit x
stop -TERM
echo g >> log
follow log -o once -q
has once g
mv log log.1
echo h > log
has once h
stop -TERM
paste -s -d ' ' once
tamis dedup --state unique --follow-input log -o log.unique &
has log.unique h
mv log log.1
echo i > log
has log.unique i
stop -TERM
tamis dedup --state seen --follow-input log -o "$PWD/log-20261127"
tamis dedup --state other --follow-input log -o other --duplicates log.2
echo 'a new file that begins as the one that was replaced'
rm -r seen once log*
printf 'a\n' > log
follow log -o once --duplicates again -q
has once a
printf 'a\nb\n' > new
mv new log
has once b
stop -TERM
cat again
echo 'standard input'
tamis dedup --state input --follow-input -o input.out < log 2> remarks &
has input.out b
: > log
until grep -qs shorter remarks; do sleep 0.02; done
echo d > log
has input.out d
stop -TERM
cat remarks
