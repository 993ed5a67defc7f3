# SPDX-License-Identifier: BSD-2-Clause
# logs/*.log on the second day: processed files are skipped, with any other files in the list.
run() { "$@"; echo "exit $?"; }
mkdir logs
for i in 1 2 3 4; do tamis gen words 2000 --seed "$i" > "logs/$i.log"; done
cat logs/*.log > all && tamis dedup all > whole
mv logs/3.log logs/4.log .
run tamis dedup --state st logs/*.log -o out
mv 3.log logs/
run tamis dedup --state st logs/*.log -o out
run tamis dedup --state st logs/*.log -o out
run tamis dedup --state st logs/1.log -o out
mv 4.log logs/
head -c 9000 logs/4.log > half && tail -c +9001 logs/4.log > rest && cp half logs/4.log
run tamis dedup --state st logs/*.log -o out --defer-unterminated
cat rest >> logs/4.log && cp logs/1.log again.log
run tamis dedup --state st logs/4.log again.log -o out # one has grown, one is a copy
cmp out whole
# To another output only new files can go, not files that have grown, nor a list of only known files.
echo new > 5.log
run tamis dedup --state st logs/*.log 5.log -o five && cat five
echo more >> logs/2.log
run tamis dedup --state st logs/*.log 5.log -o six
run tamis dedup --state st 5.log -o six
# Header, options and record format must be those of the output.
printf 'id,n\n1,a\n' > a.csv && printf 'id,n\n1,b\n2,c\n' > b.csv && cp a.csv c.csv
run tamis dedup -q --state csv --key csv:id a.csv -o csv.out
printf '3,d\n' >> a.csv
run tamis dedup -q --state csv --key csv:id a.csv b.csv -o csv.out && cat csv.out
printf '4,e\n' >> a.csv
run tamis dedup --state csv --key csv:id a.csv b.csv c.csv -o csv.out -z
