# SPDX-License-Identifier: BSD-2-Clause
# Half a record at the end of a log. If it was answered, it cannot get longer; --defer-unterminated waits for
# its end.
run() { "$@"; echo "exit $?"; }
printf 'one\ntwo\nthr' > early
run tamis dedup -q --state E early -o early.out
printf 'ee\n' >> early
run tamis dedup --state E early -o early.out
run tamis dedup -q --state E --reread --defer-unterminated early -o early.out
cat early.out
# With the option from the beginning, the output is that of the whole log.
printf 'one\ntwo\nthr' > log
run tamis dedup --state S --defer-unterminated log -o out
run tamis dedup --state S --defer-unterminated log -o out
cat out
printf 'ee\nfo' >> log
run tamis dedup -q --state S --defer-unterminated --json log -o out 2> json
jq -c '[.run, .records, .bytes_in, .partial]' json
printf 'ur\n' >> log
run tamis dedup -q --state S --defer-unterminated --json log -o out 2> json
jq -c '[.run, .records, .bytes_in, .partial]' json
run tamis dedup --state S --defer-unterminated log -o out
cmp log out
# An input before another one, a header, an open quote.
printf 'id,na' > a.csv; printf 'id,name\n1,"x\ny' > b.csv
run tamis dedup --state C --defer-unterminated --key csv:id a.csv b.csv -o all.csv
printf 'me\n2,b\n1,a\n' >> a.csv; printf '"\n3,c' >> b.csv
run tamis dedup -q --state C --defer-unterminated --key csv:id a.csv b.csv -o all.csv
printf '\n' >> b.csv
run tamis dedup -q --state C --defer-unterminated --key csv:id a.csv b.csv -o all.csv
cat all.csv
# A byte order mark and half a header are read when the header is complete. A header read without its end
# cannot get longer.
printf '\357\273\277id,name\n1,x\n' > whole; head -c 6 whole > part
run tamis dedup --state M --defer-unterminated --key csv:name part -o marked
run tamis dedup --state M --defer-unterminated --key csv:name part -o marked
cat whole > part
run tamis dedup -q --state M --defer-unterminated --key csv:name part -o marked
printf '2,x\n3,y\n' | tee -a whole >> part
run tamis dedup -q --state M --defer-unterminated --key csv:name part -o marked
tamis dedup --key csv:name whole | cmp - marked
printf 'id,na' > head
run tamis dedup -q --state H --header head -o headed
printf 'me\n1,a\n' >> head
run tamis dedup --state H --header head -o headed
# Standard input may be such a file. More bytes than a record may have are not half a record.
run tamis dedup --state I --defer-unterminated --max-record 4 - -o from.in < log
printf 'fives' >> log
run tamis dedup --state I --defer-unterminated --max-record 5 log - -o from.in < early
run tamis dedup -q --state I --defer-unterminated --max-record 4 log - -o from.in < early
cat from.in
# These inputs cannot grow.
printf 'x\ny' | gzip > in.gz
run tamis dedup -q --state P --defer-unterminated in.gz - -o packed < <(printf 'z\nzz')
cat packed; echo
run tamis dedup --defer-unterminated log
