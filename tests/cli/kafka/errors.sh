# SPDX-License-Identifier: BSD-2-Clause
# What is refused before any broker is needed.
tamis --version | grep -q rdkafka || exit 77
try() { tamis kafka "$@" && echo "not refused: $*"; }
all=(--brokers localhost:9 --group g --from in --to out)
try
try count
try dedup more
try dedup
try dedup --brokers localhost:9 --group g --from in
try dedup "${all[@]}" --to in
try dedup "${all[@]}" --group 'a/b'
try dedup "${all[@]}" --duplicates-to out
try dedup "${all[@]}" --instance a.tamis.b
try dedup "${all[@]}" --key kafka:value
try dedup "${all[@]}" --key kafka:header:
try dedup "${all[@]}" --key kafka:key --key json:/id
try dedup "${all[@]}" --key kafka:key --trim
try dedup "${all[@]}" --key kafka:key --delimiter ,
try dedup "${all[@]}" --key csv:name
try dedup "${all[@]}" --key json:id
try dedup "${all[@]}" -X nonsense
try dedup "${all[@]}" -X isolation.level=read_uncommitted
try dedup "${all[@]}" -X no.such.setting=1
try dedup "${all[@]}" -X fetch.min.bytes=many
try dedup "${all[@]}" --exact --fpr 1e-6
try dedup "${all[@]}" --expect 1e9 --memory 1MiB
true
