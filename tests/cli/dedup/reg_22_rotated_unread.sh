# SPDX-License-Identifier: BSD-2-Clause
# A log is rotated before an unfinished run has read a byte of it: it is read, or a message says that it was
# not.
top=$PWD
run() { "$@" 2> said; echo "exit $?"; sed "s,$top,TOP,g; s/[0-9][0-9]* bytes/N bytes/g; s/byte [0-9]*/byte N/g; s/kept-[0-9]*/kept-N/" said; }
command_of() { sed -n 's/.*finish it by: \([^(]*\)\( (.*)\)\?, or give it up with --abandon/\1/p' said; }
tamis gen words 100000 --seed 1 > a.log
seq 50 > b.log && seq 60 70 > c.log && cat a.log b.log | tamis dedup > whole
begin() { # as a full disk: what it writes may have 800 KiB
    mkdir "$1" && cd "$1" && cp ../[abc].log . && shift
    (ulimit -f 800; tamis dedup -q --commit-every 1B --state st "$@" -o out 2> failed; echo "failed $?")
}
again() { run tamis dedup -q --state st "$@" -o out; }
echo renamed
begin renamed a.log b.log
mv b.log b.log.1 && seq 100 120 > b.log && cp -r st st.2 && cp out out.2 && cp -r st st.3 && cp out out.3
again a.log b.log
again --reread a.log b.log
bash -c "$(command_of)" 2> /dev/null && cmp out ../whole
again a.log b.log && tail -n 1 out
echo the list has it
run tamis dedup -q --state st.2 a.log b.log b.log.1 -o out.2
sort out.2 | cmp - <(sort out)
echo given up: one message
run tamis dedup -q --state st.3 --abandon a.log b.log -o out.3 | sed 's/: [0-9]* records/: N records/; /kept-N/d'
cd ..
echo gone
begin gone a.log b.log c.log
seq 100 120 > new && mv new b.log
again a.log b.log c.log && tail -n 32 out | head -n 1
again a.log b.log c.log
cd ..
echo two are gone
begin both a.log b.log c.log
seq 100 120 > new && mv new b.log && seq 200 330 > new && mv new c.log
again a.log b.log c.log
cd ..
echo copied and truncated
begin truncated a.log b.log
cp b.log b.log.1 && seq 100 120 > b.log
again a.log b.log
cd ..
echo a copied directory, and a log that has grown
begin first a.log b.log
cd .. && cp -r first second && cd second && echo more >> b.log
again a.log b.log && tail -n 1 out
cd ..
echo an empty file of an ended run
mkdir ended && cd ended && cp ../b.log a.log && : > b.log
again a.log b.log
echo late >> b.log && mv b.log b.log.1 && echo new > b.log
again a.log b.log && tail -n 1 out
cd ..
echo a run that failed at once
mkdir failed && cd failed && echo '{' > a.log && echo '{"id":1}' > b.log
again --key json:/id a.log b.log
mv b.log b.log.1 && echo '{"id":2}' > b.log
again --key json:/id a.log b.log
cd ..
echo given up after it was read in part
begin part a.log
mv a.log a.log.1 && seq 100 120 > a.log
again --abandon a.log | sed 's/: [0-9]* records/: N records/; /kept-N/d'
cd ..
echo replaced during the run
mkdir during && cd during && cp ../b.log . && mkfifo a.log
tamis dedup -q --state st a.log b.log -o out 2> said &
exec 3> a.log; until [ -s out ]; do echo x >&3; sleep 0.05; done
mv b.log b.log.1; echo new > b.log; exec 3>&-; wait $!; cat said; tail -n 1 out
