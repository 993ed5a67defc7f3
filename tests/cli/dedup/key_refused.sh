# SPDX-License-Identifier: BSD-2-Clause
# Invalid parts, and options that cannot be combined.
echo a > in
for part in '' word field: field:0 field:x field:18446744073709551616 bytes:0-1 bytes:3-2 bytes:x csv: csv:0 'csv:a,b' \
    'csv:"a' json json:id json:/a~2 'regex:(' regex:; do
    tamis dedup --key "$part" in
done
tamis dedup --key csv:1 --key json:/a in
tamis dedup --key csv:name in
tamis dedup --delimiter , in
tamis dedup --delimiter , --key json:/a in
tamis dedup --delimiter ab --key field:1 in
tamis dedup --delimiter '' --key field:1 in
tamis dedup --delimiter nul -z --key field:1 in
tamis dedup --delimiter '"' --key csv:1 in
tamis dedup --missing skip in
tamis dedup --on-error drop in
tamis dedup --missing drop in
tamis dedup --on-error skip --trim in
tamis dedup --key --trim in
echo "status $?"
echo several parts and a type
printf '1\t2\n' > in
tamis dedup --key field:1 --key field:2 --type int64 in
tamis dedup --key field:1 --key field:2 --type bytes in | tr '\t' ' '
tamis dedup --key field:1 --key field:2 --hex in
tamis dedup --key 'regex:(.)\t(.)' --type utf16 in
tamis dedup --key 'regex:(.)\t(?:.)' --type utf16 in | tr '\t' ' '
tamis hash --key field:1 --key field:2 --hex --type utf8 < in
tamis build -q --type int64 -o numbers.tamis --key field:1 in
tamis check --key field:1 --key field:2 numbers.tamis in
echo on-error and a type
tamis dedup --key field:1 --type int64 --on-error skip in
tamis dedup --key field:1 --hex --on-error pass in
tamis hash --key field:1 --hex --on-error skip < in
printf '{"id":1}\n{"id":\n{"id":"x"}\n' | tamis dedup --key json:/id --type int64 --on-error skip
tamis dedup --key field:1 --type int64 --on-error fail in | tr '\t' ' '
