# SPDX-License-Identifier: BSD-2-Clause
# Cases that once lost a record, printed one twice, or replaced a file of somebody else.
# ctest: disk (file systems in memory do not use the number of a removed file again)
refused() { "$@" > stdout; echo "exit $?"; }
# A directory with other files is not changed.
mkdir proj && echo 'my only copy' > proj/lock && touch proj/a.txt && seq 3 > in
refused tamis dedup --state proj in -o out
cat proj/lock
mkdir logs && echo 'my only copy' > logs/log-0000000001
refused tamis dedup --state logs in -o out
cat logs/log-0000000001
refused tamis dedup --state S in -o S/log-0000000002
tamis dedup --state S in -o out
refused tamis dedup --state S in -o S/log-0000000002
# The terminator and the marks of records must not change.
printf '3\n4\n' >> in
refused tamis dedup --state S in -o out -z
refused tamis dedup --state S in -o out --mark
tamis dedup --state S in -o out && cat out
seq 5 7 > more
refused tamis dedup --state S more -o out --compress gzip
refused tamis dedup --state S more -o out --mark
tamis dedup --state S more -o out
# An empty file that becomes a compressed one.
: > late.gz && tamis dedup --state L late.gz -o late && seq 3 | gzip > late.gz
tamis dedup --state L late.gz -o late && cat late
# A last record without its end, in front of another input.
printf '1\n2' > u && : > v && tamis dedup --state U u v -o uv && printf '\n9\n' > v
tamis dedup --state U u v -o uv && printf '[%s]' "$(cat uv)" && echo
printf '\n3\n' >> u && tamis dedup --state U u v -o uv && tail -n 1 uv
# A header alone, and records behind it later.
printf 'id\n' > h.csv && tamis dedup --state H h.csv --key csv:id -o once.csv && printf '1\n2\n1\n' >> h.csv
tamis dedup --state H h.csv --key csv:id -o once.csv && cat once.csv
# Every input that has grown is read on.
seq 3 > a && seq 4 6 > b && tamis dedup --state G a b -o g && echo 7 >> a && echo 8 >> b && tamis dedup --state G a b -o g
tail -n 2 g
# An input grows while a compressed one after it is read in part.
long=$(printf '%50s' x) && seq 3 > p && printf '4\n5\n%s\n6\n' "$long" | gzip > z.gz
limited() { refused tamis dedup --state P p z.gz -o pz --max-record 20 --commit-every 1B; }
limited
printf '7\n%s\n' "$long" >> p
limited
tamis dedup --state P p z.gz -o pz && tr -d ' ' < pz | tr '\n' ' ' && echo
# More of an unterminated line is refused, and --reread reads everything again.
printf 'one\nthr' > half && tamis dedup --state T half -o t && printf 'ee\nfour\n' >> half
refused tamis dedup --state T half -o t
tamis dedup --state T half -o t --reread && tail -n 2 t
# Standard input after another file.
seq 3 > first && tamis dedup --state I first - -o i < <(seq 4) && seq 5 > second && tamis dedup --state J first - -o j < second && cat j
# Moved with its directory.
mkdir job && (cd job && seq 3 > x && tamis dedup --state S x -o o) && mv job moved && (cd moved && echo 4 >> x && tamis dedup --state S x -o o && cat o)
# An older checkpoint of a run does not overrule its last.
printf '1\n1\n' > q1 && seq 5 > q2 && tamis dedup --state Q q1 -o oq1 --duplicates od1 && tamis dedup --state Q q2 -o oq2
printf '2\n2\n' >> q1 && tamis dedup --state Q q1 -o oq1 --duplicates od1 && printf '1\n1\n3\n3\n2\n2\n' > q1
refused tamis dedup --state Q q1 -o oq1 --duplicates od1
# The inode of a file that was removed, under another name.
seq 1 6000 > day1 && tamis dedup --state D day1 -o d && rm day1 && seq 5001 11000 > day2 && tamis dedup --state D day2 -o d && wc -l < d
# A missing file of the state is damage.
rm S/log-0000000001
refused tamis state verify S
tamis state show H --secret-file in
echo "exit $?"
