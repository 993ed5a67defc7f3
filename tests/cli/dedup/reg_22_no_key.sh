# SPDX-License-Identifier: BSD-2-Clause
# A wrong --key ends in an error that names it, and no output, filter or state keeps anything of the run.
run() { "$@"; echo "exit $?"; }
for i in 1 2 1 3; do echo "{\"id\":$i}"; done > in
for i in 1 2 3 4; do echo "{\"other\":$i}"; done > none
printf '{"id":7}\n{"other":1}\n{"other":2}\n{"other":3}\n' > few
echo before > out
run tamis dedup --key json:/typo in -o out
run tamis dedup --key json:/typo --key field:2 in --duplicates again
run tamis dedup --key json:/typo in --count -q
run tamis dedup --key json:/typo in --filter f.tamis -o out
run tamis dedup --key json:/typo in --json -o out 2>&1 | sed 's|"files".*\]|,|' | grep -o '"missing": .\|"failed": .*\|tamis.*\|exit.*'
cat out; ls
echo pipe
run tamis dedup --key json:/id none | cat
echo some
run tamis dedup --key json:/id few
run tamis dedup --key json:/id in none -o out
run tamis dedup --key json:/id in none -o out -q
run tamis dedup --key json:/id --stats few 2>&1 > /dev/null | grep missing | tr -s ' '
echo decided
run tamis dedup --key json:/id --missing pass few
run tamis dedup --key json:/id --missing drop few
run tamis dedup --key json:/id --missing pass none
run tamis dedup --key json:/id < /dev/null
echo malformed
echo '{' | run tamis dedup --key json:/id --on-error skip - none
echo state
run tamis dedup --state S --key json:/typo --commit-every 1B in -o once --duplicates more
wc -c < once; wc -c < more
rm -r S
run tamis dedup --state S --key json:/id --commit-every 1B in -o once --duplicates more
cat once more
run tamis dedup --state S --key json:/id none -o once
wc -l < once
run tamis dedup --state S --key json:/id none -o once --missing pass
wc -l < once
run tamis dedup --state S --key json:/id few -o once
wc -l < once
