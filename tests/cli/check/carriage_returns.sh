# SPDX-License-Identifier: BSD-2-Clause
# With DCSO's hashes, lines are read as by DCSO's bloom, in every command and format; other filters use all
# bytes.
printf 'foo\r\nbar\r\nbaz' > windows
printf 'foo\nbar\nbaz\n' > unix
tamis build -q --format dcso --expect 10 -o a.bloom windows
tamis build -q --format dcso --expect 10 -o b.bloom unix
cmp a.bloom b.bloom && echo "built alike"
tamis build -q --format dcso --expect 10 -o b.bloom /dev/null
tamis add b.bloom windows
cmp a.bloom b.bloom && echo "added alike"
tamis check a.bloom windows | od -An -c
tamis check a.bloom --type utf8 -c windows
tamis copy -o a.tamis a.bloom
tamis check -c a.tamis windows
tamis build --expect 10 -o plain.tamis unix
tamis check -c plain.tamis windows
tamis check -f plain.tamis -f a.bloom windows | od -An -c
printf 'new\r\nfoo\r\nnew\n' | tamis dedup --filter b.bloom | od -An -c
tamis audit --queries 1000 a.bloom windows --json | grep -o '"missing": [0-9]*'
echo "--- every byte"
tamis check -c a.bloom -k $'foo\r' -k bar
printf 'foo\r\0bar\0' | tamis check -z -c a.bloom
printf '666f6f0d\n666f6f\n' | tamis check --hex a.bloom
printf '13\n' > ids
tamis build -q --format dcso --expect 10 --type int32 -o ids.bloom ids
tamis check --type int32 -f ids.bloom -f a.bloom -k 13 -k 0
tamis check --type int32 ids.bloom ids
printf 'x\tfoo\r\nx\tbar\n' | tamis check --key field:2 -c a.bloom
printf 'x\tfoo\r\nx\tbar\n' | tamis check --key field:2 --trim -c a.bloom
echo "--- by several threads"
seq 1 2 40000 | sed 's/$/\r/' >odd
seq 1 40000 | sed '7~3s/$/\r/' >mixed
tamis build -q --format dcso --fpr 1e-9 -o odd.bloom odd
awk '{ number = $0 + 0 } number % 2' mixed >wanted
for threads in 1 2 7; do
    tamis check --threads $threads odd.bloom mixed | cmp - wanted && echo "$threads: the odd ones"
done
sed 's/^/x\t/' mixed >fields
tamis check --threads 4 --key field:2 -c odd.bloom fields
