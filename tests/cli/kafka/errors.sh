# SPDX-License-Identifier: BSD-2-Clause
# What is refused before any broker is needed.
tamis --version | grep -q rdkafka || exit 77
try() { tamis kafka "$@" && echo "not refused: $*"; }
required=(--brokers localhost:9 --group g --from in --to out)
try
try sum
try dedup more
try dedup
try dedup --brokers localhost:9 --group g --from in
try dedup --from in --from more --to out
try dedup --brokers localhost:9 --group g --from in --to in
try dedup "${required[@]}" --group 'a/b'
try dedup "${required[@]}" --duplicates-to out
try dedup "${required[@]}" --dead-letters-to out
try dedup "${required[@]}" --instance a.tamis.b
try dedup "${required[@]}" --brokers localhost:abc
try dedup "${required[@]}" --brokers '[::1]:9092,:9'
try dedup "${required[@]}" --brokers localhost:70000
try dedup "${required[@]}" --brokers ,
try dedup --brokers localhost:9 --group g --from in,more --to out
try dedup "${required[@]}" --to 'a b'
try dedup "${required[@]}" --commit-every 1h
try repartition "${required[@]}" --window 24h
try repartition "${required[@]}" --duplicates-to again
try repartition "${required[@]}" --standby
try check "${required[@]}"
try check "${required[@]}" --filter missing.tamis
printf 'x\n' | tamis build -q --expect 10 -o list.tamis -
try check "${required[@]}" --filter list.tamis --present-to in
try check "${required[@]}" --filter missing.tamis --expect 5
try check --brokers localhost:9 --group g --from in --filter missing.tamis
printf '1\n2\n' | tamis build -q --type int32 --expect 10 -o numbers.tamis -
try check "${required[@]}" --filter numbers.tamis
try dedup "${required[@]}" --key kafka:value
try dedup "${required[@]}" --key kafka:header:
try dedup "${required[@]}" --key kafka:key --key json:/id
try dedup "${required[@]}" --key kafka:key --trim
try dedup "${required[@]}" --key kafka:key --delimiter ,
try dedup "${required[@]}" --key csv:name
try dedup "${required[@]}" --key json:id
try dedup "${required[@]}" -X nonsense
try dedup "${required[@]}" -X isolation.level=read_uncommitted
try dedup "${required[@]}" -X partition.assignment.strategy=cooperative-sticky
try dedup "${required[@]}" -X no.such.setting=1
try dedup "${required[@]}" -X fetch.min.bytes=many
try dedup "${required[@]}" --exact --fpr 1e-6
try dedup "${required[@]}" --expect 1e9 --memory 1MiB
required=(--brokers localhost:9 --group g --from in --to redis://localhost:9)
try count "${required[@]}"
try count more
try count "${required[@]}" --count total --key line
try count "${required[@]}" --count total --to clicks
try count "${required[@]}" --count total --missing pass
try count "${required[@]}" --count total --on-error pass
try count "${required[@]}" --count total --time nonsense
try count "${required[@]}" --count total --group 'a/b'
try count "${required[@]}" --count total -X group.id=x
try count "${required[@]}" --count total -X partition.assignment.strategy=cooperative-sticky
try count "${required[@]}" --count 'a:{day'
try count "${required[@]}" --count 'a:{day}{kafka:key}'
try count "${required[@]}" --count 'a:{page}'
try count "${required[@]}" --count 'a:{json:id}'
try count "${required[@]}" --count 'a:{csv:name}'
try count "${required[@]}" --count 'a:{regex:(a)(b)}'
try count "${required[@]}" --count 'a:{day}' --count 'a:{kafka:key}'
try count "${required[@]}" --sum 'a:{json:/n}'
try count "${required[@]}" --sum '={json:/n}'
try count "${required[@]}" --sum 'a={day}'
try count "${required[@]}" --distinct 'a:{json:/n}'
try count "${required[@]}" --distinct 'a={json:n}'
try count "${required[@]}" --count total --sum 'total={json:/n}'
try count "${required[@]}" --count 'a:{day}' --distinct '{kafka:key}:{hour}={json:/n}'
try count "${required[@]}" --count total --expire 1d
try dedup "${required[@]}" --count total
try dedup "${required[@]}" --sum 'a={json:/n}'
true
