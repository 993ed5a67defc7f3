# SPDX-License-Identifier: BSD-2-Clause
# Parts that are none, and options that do not go together.
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
