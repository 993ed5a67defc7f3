# SPDX-License-Identifier: BSD-2-Clause
# Keys of a type are added, and printed as they came; a bad one ends the run, and nothing is saved.
printf '%s\n' 1 2 > in
tamis build -o f.tamis --expect 100 --fpr 1e-9 --type int64 in
printf '%s\n' 02 3 +3 4 | tamis add --type int64 --print fresh f.tamis
printf '%s\n' 002 5 0003 | tamis add --type int64 --print seen f.tamis
tamis check -c f.tamis --type int64 -k 1 -k 2 -k 3 -k 4 -k 5 -k 6
tamis check -c f.tamis -k 1 -k 2 -k 3 -k 4 -k 5 -k 6
printf '%s\n' 6 7 eight 9 | tamis add --type int64 --print fresh f.tamis
echo "status $?"
tamis check -c f.tamis --type int64 -k 6 -k 7 -k 9
printf '00\0ff\0' | tamis add -z --hex f.tamis
tamis check --hex f.tamis -k 00 -k FF -k 01
printf '%s\n' 00 f | tamis add --hex f.tamis
echo "status $?"
tamis build -o u.tamis --hex --expect 10 /dev/null
printf '\303\251\n' | tamis add --type utf16 u.tamis
tamis check --hex u.tamis -k e900 -k c3a9
