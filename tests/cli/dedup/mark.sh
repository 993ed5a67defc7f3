# SPDX-License-Identifier: BSD-2-Clause
# Every record, in order, with its answer before it; a header gets a name.
printf 'n\tv\na\t1\nb\t1\nnone\nc\t2\n' > in
tamis dedup --key field:2 --mark in | tr '\t' ' '
echo a header; tamis dedup --key field:2 --mark --header in | tr '\t' ' '
echo its name; tamis dedup --key field:2 --mark=new --header in -o out && tr '\t' ' ' < out
echo dropped; tamis dedup --key field:2 --mark --missing drop in | tr '\t' ' '
echo lines; printf 'a\nb\na\n' | tamis dedup --mark | tr '\t' ' '
echo full; seq 5 | tamis dedup --mark --expect 3 --kind classic --on-full pass -q | tr '\t' ' '
for other in --count "--duplicates x"; do tamis dedup --mark $other in; done
tamis dedup --mark= in
tamis dedup --mark=a$'\t'b in
tamis dedup --mark=$'\377' in
echo "status $?"
