# SPDX-License-Identifier: BSD-2-Clause
# Typed records and keys: looked up by their bytes, printed unchanged; with several filters, and any
# terminator.
seq 100 > in
tamis build -o a.tamis --type int32 in
tamis build -o b.bloom --format guava --fpr 1e-9 --type int32 in
printf '%s\n' 1000 2000 > other
tamis build -o c.tamis --kind blocked --type int32 other
printf '%s\n' 007 1000 +42 -42 0 100 > asked
tamis check --type int32 a.tamis asked
echo "status $?"
tamis check --type int32 -v b.bloom asked
tamis check --type int32 -f a.tamis -f b.bloom -f c.tamis asked
tamis check --type int32 -f a.tamis -f c.tamis -k 1000 -k 007 -k 5000
tamis check --type int32 -c a.tamis asked
tamis check --type int32 -q a.tamis -k 101
echo "status $?"
yes 5 | tamis check --type int32 -q a.tamis
echo "status $?"
tamis check --type int64 -c a.tamis asked
tr '\n' '\0' < asked | tamis check -z --type int32 a.tamis | od -An -c
printf 'caf\303\251\n\360\237\230\200\n' > words
tamis build -o w.tamis --type utf16 words
tamis check --type utf16 w.tamis words
tamis check -c w.tamis words
tamis check --hex w.tamis -k 630061006600e900
tamis build -o e.tamis --hex <(echo) --expect 1
tamis check -c e.tamis --hex --lookup=
