# SPDX-License-Identifier: BSD-2-Clause
# A name in front of a record is one word, with any characters; - is not a valid name of a filter.
for name in $'new\nline' $'a\ttab' 'com,ma' 'plain'; do echo a | tamis build -o "$name"; done
tamis check -f $'new\nline' -f $'a\ttab' -f 'com,ma' -f plain -k a
tamis check - -k a
echo "status $?"
echo a | tamis add -
echo "status $?"
echo a | tamis dedup --filter -
echo "status $?"
tamis copy -o - plain
echo "status $?"
tamis info -
echo "status $?"
ls -A
cp plain ./-
tamis check -c ./- -k a
