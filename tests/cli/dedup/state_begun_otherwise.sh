# SPDX-License-Identifier: BSD-2-Clause
# A run that was refused before its first commit does not bind the next one; records of another header are not
# appended.
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
# The handling of malformed records may change after one has ended a run; the content of an output may not.
printf '{"a":1}\n{bad\n{"a":2}\n' > j
refused tamis dedup --state J --key json:/a j -o jo
tamis dedup -q --state J --key json:/a j -o jo --on-error skip
cat jo
seq 5 > five && seq 7 > seven
tamis dedup -q --state F in -o firsts
refused tamis dedup --state F five five -o new --duplicates firsts
tamis dedup -q --state F five seven -o new --duplicates twice
cat new twice
# If several starts make a state at once, one succeeds and the others fail with a message.
for i in $(seq 20); do
    for j in 1 2 3 4; do tamis dedup --lock-wait 0 -q --state "many$i" in -o "o$i" 2>> many & done
    wait
done
grep -vE "(another process|process .*) has it open; wait for that to end, or give a larger --lock-wait$" many
echo "status $?"
# Options that are too few to make a state suffice for an existing one, or contradict it.
tamis dedup -q --state B --kind blocked --expect 100 in -o blocked
tamis dedup -q --state B --kind blocked five -o blocked && cat blocked
refused tamis dedup --state B --kind classic seven -o blocked
refused tamis dedup --state none --kind classic seven -o blocked
flock B/lock tamis dedup --lock-wait 0 --state B --kind blocked seven -o blocked 2>&1 | sed 's/process .* has/process has/'
printf x | dd of=B/manifest bs=1 seek=40 conv=notrunc status=none
refused tamis dedup --state B --kind blocked seven -o blocked
# A file that was truncated, or rewritten after its head, is not a new input, for any output. A finished run
# keeps its options.
seq 2000 > long && cp long kept
tamis dedup -q --state L long -o lo
head -c 6000 kept > long
refused tamis dedup --state L long -o lo2
{ cat long; seq 5000 6000; } > longer && cp longer long
refused tamis dedup --state L long -o lo2
cp kept long
refused tamis dedup -q --state L long -o lo
refused tamis dedup --state L long -o lo --mark
refused tamis dedup --state L -z long -o lo
seq 5000 5010 >> long
refused tamis dedup --state L long -o lo2 2>&1 | sed "s,$PWD/,,"
ls lo2 2>&1
refused tamis dedup -q --state T --type int64 j -o to
refused tamis dedup -q --state T five -o to
tamis dedup -q --state J --key json:/a j -o jo --on-error skip
tamis dedup --state J --key json:/a j -o jo
rm L/manifest
refused tamis state show L
: > T/manifest
refused tamis state verify T
