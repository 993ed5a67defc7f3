# SPDX-License-Identifier: BSD-2-Clause
# --follow-input with several files, and with --files, over rotations, new files and removed ones.
. "$TAMIS_SOURCE_DIR/tests/support/follow.bash"
mkdir log
printf 'a\nb\n' > log/x.log
printf 'b\nc\n' > log/y.log
echo old > log/x.log.1
echo packed | gzip > log/p.log.gz
echo hidden > log/.h.log
tamis dedup --follow-input --files 'log/*' > once &
has once c
echo d >> log/x.log
has once d
echo e >> log/y.log
has once e
printf 'f\nrest' > log/new.log
has once f
mv log/y.log log/y.log.1
echo g >> log/y.log.1
has once g
echo h > log/y.log
has once h
mv log/x.log log/x.log.2
mv log/y.log log/y.log.2
printf 'i\n' > log/x.log.1
printf 'j\n' > log/x.log
printf 'k\n' > log/y.log
has once k
has once j
echo 'a writer that has the rotated file open still'
exec 3>> log/x.log
mv log/x.log log/x.log.1
echo m > log/x.log
sleep 0.2
echo late >&3
exec 3>&-
has once late
has once m
rm log/new.log
until grep -qsx rest once; do sleep 0.1; done
echo l > log/new.log
has once l
stop -TERM
echo "status $?"
sort once | paste -s -d ' '

echo 'operands, of which one cannot be followed'
printf 'b\nc' > b
gzip -c b > b.gz
printf 'a\npart' > a
rm once
tamis dedup --follow-input a b.gz b --stats --json > once 2> stats &
has once c
echo d >> a
has once partd
stop -TERM
paste -s -d ' ' once
sed 's/.*"files"/"files"/' stats

echo 'a file that has two names, and then another one'
mkdir named
echo a > named/a.log
ln named/a.log named/link.log
rm once
tamis dedup --follow-input --files 'named/*.log' --stats --json > once 2> stats &
has once a
mv named/a.log named/old.log
echo b > named/a.log
has once b
stop -TERM
sed 's/^{"records": \([0-9]*\), .*/\1 records/' stats

echo 'a last record without its end'
printf 'x\ny' > a
printf 'v\nw' > b
rm once
tamis dedup --follow-input a b > once &
has once v
has once x
stop -TERM

echo 'no file yet'
rm once
tamis dedup --follow-input --files 'n*.log' > once 2> remarks &
until grep -qs waiting remarks; do sleep 0.02; done
echo new > n1.log
has once new
stop -TERM
cat remarks once

echo 'wrong'
tamis dedup --files 'n*.log'
tamis dedup --follow-input --files 'n*.log' b
tamis dedup --follow-input --files 'log*/x.log'
tamis dedup --follow-input --files 'log/'
tamis dedup --follow-input --files 'gone/*.log'
tamis dedup --follow-input --files '*.log' > out.log
cat out.log
tamis dedup --follow-input a missing
mkfifo fifo
tamis dedup --follow-input fifo
tamis dedup --follow-input --state piped -o once a fifo
ls piped 2> /dev/null
echo 'a pipe beside a followed file, in any order'
echo file > e
for order in 'e fifo' 'fifo e'; do
    rm once
    echo pipe > fifo &
    tamis dedup --follow-input $order > once &
    has once file
    has once pipe
    stop -TERM
    sort once
done
