# SPDX-License-Identifier: BSD-2-Clause
# A run that was refused before its first commit does not bind the next one; records of another header are not appended.
refused() { "$@" > stdout; echo "exit $?"; }
seq 3 > in
refused tamis dedup --state S --exact --key csv:1 nothere -o out
tamis dedup -q --state S --fpr 1e-3 in -o out && cat out
refused tamis dedup --state S --fpr 1e-4 in -o out
printf 'id,name\n1,a\n' > monday.csv
printf 'id,name\n1,a\n2,b\n' > tuesday.csv
printf 'name,id\nc,3\n' > wednesday.csv
tamis dedup -q --state C --key csv:id monday.csv -o all.csv
tamis dedup -q --state C --key csv:id tuesday.csv -o all.csv
refused tamis dedup --state C --key csv:id wednesday.csv -o all.csv
tamis dedup -q --state C --key csv:id wednesday.csv -o other.csv
cat all.csv other.csv
printf 'name,id\nc,3\n' | gzip > thursday.csv.gz
refused tamis dedup --state C --key csv:id thursday.csv.gz -o all.csv
