# SPDX-License-Identifier: BSD-2-Clause
# What is refused before any broker is needed.
tamis --version | grep -q rdkafka || exit 77
try() { tamis kafka "$@" && echo "not refused: $*"; }
all=(--brokers localhost:9 --group g --from in --to out)
try
try sum
try dedup more
try dedup
try dedup --brokers localhost:9 --group g --from in
try dedup --from in --from more --to out
try dedup --brokers localhost:9 --group g --from in --to in
try dedup "${all[@]}" --group 'a/b'
try dedup "${all[@]}" --duplicates-to out
try dedup "${all[@]}" --dead-letters-to out
try dedup "${all[@]}" --instance a.tamis.b
try dedup "${all[@]}" --brokers localhost:abc
try dedup "${all[@]}" --brokers '[::1]:9092,:9'
try dedup "${all[@]}" --brokers localhost:70000
try dedup "${all[@]}" --brokers ,
try dedup --brokers localhost:9 --group g --from in,more --to out
try dedup "${all[@]}" --to 'a b'
try dedup "${all[@]}" --commit-every 1h
try repartition "${all[@]}" --window 24h
try repartition "${all[@]}" --duplicates-to again
try repartition "${all[@]}" --standby
try check "${all[@]}"
try check "${all[@]}" --filter missing.tamis
printf 'x\n' | tamis build -q --expect 10 -o list.tamis -
try check "${all[@]}" --filter list.tamis --present-to in
try check "${all[@]}" --filter missing.tamis --expect 5
try check --brokers localhost:9 --group g --from in --filter missing.tamis
printf '1\n2\n' | tamis build -q --type int32 --expect 10 -o numbers.tamis -
try check "${all[@]}" --filter numbers.tamis
try dedup "${all[@]}" --key kafka:value
try dedup "${all[@]}" --key kafka:header:
try dedup "${all[@]}" --key kafka:key --key json:/id
try dedup "${all[@]}" --key kafka:key --trim
try dedup "${all[@]}" --key kafka:key --delimiter ,
try dedup "${all[@]}" --key csv:name
try dedup "${all[@]}" --key json:id
try dedup "${all[@]}" -X nonsense
try dedup "${all[@]}" -X isolation.level=read_uncommitted
try dedup "${all[@]}" -X partition.assignment.strategy=cooperative-sticky
try dedup "${all[@]}" -X no.such.setting=1
try dedup "${all[@]}" -X fetch.min.bytes=many
try dedup "${all[@]}" --exact --fpr 1e-6
try dedup "${all[@]}" --expect 1e9 --memory 1MiB
all=(--brokers localhost:9 --group g --from in --to redis://localhost:9)
try count "${all[@]}"
try count more
try count "${all[@]}" --count total --key line
try count "${all[@]}" --count total --to clicks
try count "${all[@]}" --count total --missing pass
try count "${all[@]}" --count total --on-error pass
try count "${all[@]}" --count total --time nonsense
try count "${all[@]}" --count total --group 'a/b'
try count "${all[@]}" --count total -X group.id=x
try count "${all[@]}" --count total -X partition.assignment.strategy=cooperative-sticky
try count "${all[@]}" --count 'a:{day'
try count "${all[@]}" --count 'a:{day}{kafka:key}'
try count "${all[@]}" --count 'a:{page}'
try count "${all[@]}" --count 'a:{json:id}'
try count "${all[@]}" --count 'a:{csv:name}'
try count "${all[@]}" --count 'a:{regex:(a)(b)}'
try count "${all[@]}" --count 'a:{day}' --count 'a:{kafka:key}'
try count "${all[@]}" --sum 'a:{json:/n}'
try count "${all[@]}" --sum '={json:/n}'
try count "${all[@]}" --sum 'a={day}'
try count "${all[@]}" --distinct 'a:{json:/n}'
try count "${all[@]}" --distinct 'a={json:n}'
try count "${all[@]}" --count total --sum 'total={json:/n}'
try count "${all[@]}" --count 'a:{day}' --distinct '{kafka:key}:{hour}={json:/n}'
try count "${all[@]}" --count total --expire 1d
try dedup "${all[@]}" --count total
try dedup "${all[@]}" --sum 'a={json:/n}'
true
