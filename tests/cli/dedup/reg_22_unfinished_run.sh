# SPDX-License-Identifier: BSD-2-Clause
# The rest of a run that failed is not forgotten when the next command is another one.
refused() { "$@"; echo "exit $?"; }
tamis gen words 100000 --seed 1 > a.log
tamis gen words 1000 --seed 2 > b.log
tamis gen words 1000 --seed 3 > 'c d.log'
fails() { # as a full disk: what it writes may have 800 KiB
    (ulimit -f 800; tamis dedup -q --commit-every 1B "$@" 2> failed; echo "failed $?")
}
tamis dedup a.log b.log > whole
fails --state st a.log -o out
refused tamis dedup --state st b.log -o out          # would cut out back and never read the rest
refused tamis dedup --state st b.log --duplicates out -o other
mkdir deep && (cd deep && refused tamis dedup --state ../st ../b.log -o ../out)
tamis state show st | grep '^finish'
for i in 2 3 5; do cp -r st st.$i; cp out out.$i; done
refused tamis dedup --state st.5 'c d.log' -o apart && wc -l < apart # another output leaves it as it is
tamis state show st.5 | grep '^finish'
# The command that the message names.
tamis dedup --output out --state st a.log
tamis dedup --state st b.log -o out && cmp out whole
# A command that reads the rest too.
tamis dedup --state st.2 b.log a.log -o out.2 && sort out.2 | cmp - <(sort whole)
tamis state show st.2 | grep -c '^finish'
tamis dedup --state st.5 b.log a.log -o out.5; tamis state show st.5 | grep -c '^finish'
# The run is given up, and a message says so once.
refused tamis dedup --state st.3 b.log -o out.3 --abandon
refused tamis dedup --state st.3 b.log 'c d.log' -o out.3
# A run that failed before it did anything is not unfinished.
printf 'id\n1\n' > x.csv && printf 'name\n1\n' > y.csv && printf 'id\n2\n' > z.csv
tamis dedup -q --state csv --key csv:id x.csv -o csv.out
refused tamis dedup --state csv --key csv:id y.csv -o csv.out
refused tamis dedup --state csv --key csv:id z.csv -o csv.out
# --reread of the same run reads it again.
fails --state st.4 'c d.log' a.log -o out.4
refused tamis dedup --state st.4 b.log -o out.4
refused tamis dedup --state st.4 b.log -o out.4 --reread
refused tamis dedup --reread a.log
