# SPDX-License-Identifier: BSD-2-Clause
# ctest: long
# --follow-input with --state and several files: rotations, also while it is down, new files, removed and
# truncated ones.
. "$TAMIS_SOURCE_DIR/tests/support/follow.bash"
follow() {
    tamis dedup --state seen --follow-input --files 'log/*.log' -o once "$@" &
}
mkdir log
printf 'a\nb\n' > log/x.log
printf 'b\nc\n' > log/y.log
follow
has once c
echo d >> log/x.log
has once d
echo 'a new file'
echo e > log/z.log
has once e
echo f >> log/z.log
has once f
stop -KILL
echo "status $?"
echo 'rotated while it was down, also a file whose name is gone then'
echo g >> log/x.log
mv log/x.log log/x.log.1
echo h > log/x.log
echo i >> log/y.log
mv log/y.log log/y.log.1
follow -q 2> remarks # the order of records of several files is open, so the end of the output may be kept
has once i
has once h
echo j >> log/y.log.1
has once j
echo k > log/y.log
has once k
stop -TERM
echo "status $?"
sort once | paste -s -d ' '
echo 'one of them is truncated'
follow -q 2> remarks
echo 'l which is long' >> log/z.log
has once 'l which is long'
: > log/z.log
until grep -qs shorter remarks; do sleep 0.02; done
echo m >> log/z.log
has once m
echo n >> log/x.log
has once n
stop -KILL
echo "status $?"
follow -q 2>> remarks
echo o >> log/z.log
has once o
grep shorter remarks
echo 'one is removed, and comes again'
rm log/z.log
sleep 6.5
echo p > log/z.log
has once p
stop -TERM
echo "status $?"
sort once | paste -s -d ' '
echo 'one is gone that was not read to its end'
echo q >> log/y.log
rm log/y.log
follow
wait $!
echo "status $?"
follow -q --reread --abandon
echo r >> log/x.log
has once r
stop -TERM
echo "status $?"
echo 'operands'
tamis dedup --state other --follow-input log/x.log log/z.log -o others --duplicates twice --stats --json 2> stats &
has others p
has others r
echo r >> log/z.log
has twice r
stop -TERM
sed 's/.*"files"/"files"/; s/, "run".*//' stats
echo 'wrong'
gzip -k log/x.log
tamis dedup --state third --follow-input log/z.log log/x.log.gz -o out
tamis dedup --state fourth --follow-input log/z.log none -o out
tamis dedup --state fourth --follow-input --files 'log/*.log' -o log/x.log.2
tamis dedup --state fourth --follow-input --files 'log/*.log' -o log/out.log
echo 'two are truncated at once, one has a second name, one was rotated and has no successor'
mkdir two
printf 'a\nb\nc\n' > two/a.log
printf 'd\ne\nf\n' > two/b.log
printf 'g\n' > two/c.log
ln two/c.log two/link.log
tamis dedup --state sixth --follow-input --files 'two/*.log' -o sixth.out --duplicates sixth.again 2> remarks &
has sixth.out g
: > two/a.log
: > two/b.log
until grep -qs a.log remarks && grep -qs b.log remarks; do sleep 0.02; done
echo h > two/a.log
echo i > two/b.log
has sixth.out h
has sixth.out i
mv two/c.log two/c.log.1
echo j >> two/c.log.1
has sixth.out j
stop -KILL
echo k >> two/c.log.1
tamis dedup --state sixth --follow-input --files 'two/*.log' -o sixth.out --duplicates sixth.again 2> /dev/null &
has sixth.out k
stop -KILL
echo l >> two/c.log.1
tamis dedup --state sixth --follow-input --files 'two/*.log' -o sixth.out --duplicates sixth.again 2> /dev/null &
has sixth.out l
stop -TERM
sort sixth.out sixth.again | paste -s -d ' '
grep -o 'two/..log' remarks | sort | paste -s -d ' '
echo 'a name that came and was rotated while nobody looked'
mkdir in
echo a > in/a.log
tamis dedup --state fifth --follow-input --files 'in/*.log' -o fifth.out &
has fifth.out a
stop -TERM
echo b > in/b.log.1
echo c > in/b.log
tamis dedup --state fifth --follow-input --files 'in/*.log' -o fifth.out -q &
has fifth.out c
stop -TERM
paste -s -d ' ' fifth.out
